//! A controller of one's own, run by name: `cargo run --release -- compare lte-demo --controllers mine,cubic,bbr`.

use slackwater_cli::lab::Plugins;
use slackwater_cli::lab::control::registry::Plugin;
use slackwater_cli::lab::control::{Ack, CongestionEvent, Controller, Intent, PathView};
use slackwater_cli::lab::core::{Bytes, Duration, Instant};

/// A tenth more each round while the queue delays by less than 20 ms, a tenth less while it delays by more.
#[derive(Clone, Debug)]
struct Mine {
    window: f64,
    least: f64,
}

impl Controller for Mine {
    fn on_ack(&mut self, _now: Instant, path: &PathView, ack: &Ack) {
        if ack.round_start {
            let queue = path.srtt.saturating_sub(path.min_rtt);
            let short = queue < Duration::from_millis(20);
            self.window = (self.window * if short { 1.1 } else { 0.9 }).max(self.least);
        }
    }
    fn on_congestion(&mut self, _now: Instant, _path: &PathView, _event: &CongestionEvent) {
        self.window = (self.window / 2.0).max(self.least);
    }
    fn intent(&self) -> Intent {
        Intent {
            window: Some(Bytes(self.window as u64)),
            ..Intent::default()
        }
    }
    fn name(&self) -> &'static str {
        "mine"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

fn main() -> std::process::ExitCode {
    let mine = Plugin::new("mine", "20 ms of queue, by tenths", |config| Mine {
        window: f64::from(config.initial_window * config.mss),
        least: f64::from(2 * config.mss),
    });
    let plugins = Plugins::new().with_controller(mine);
    slackwater_cli::main_with(&plugins.expect("no built-in controller has this name"))
}
