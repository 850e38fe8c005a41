//! A cross-layer sender of one's own, run by name: an agent at the cell, a carrier, and a controller that acts on the report.
//!
//! Brim keeps a few milliseconds of data in the UE's queue, so that the cell never lacks any and nothing waits for long:
//! `cargo run --release -- compare cell.toml`.

use slackwater_cli::lab::Plugins;
use slackwater_cli::lab::control::registry::Plugin;
use slackwater_cli::lab::control::{
    Ack, Cause, CongestionEvent, Controller, Intent, PathReport, PathView,
};
use slackwater_cli::lab::core::{Bytes, Direction, Duration, Instant, Rate, UeId};
use slackwater_cli::lab::edge::{Agent, CellView, FlowAt};
use slackwater_cli::lab::plugins::OwnAgent;
use slackwater_cli::lab::signal::{Observer, SlotView};

/// Names Brim's reports among those of other systems.
const KIND: u8 = 7;

// 1. The agent: what does the cell see?

/// Follows what each UE gets of the cell and could get, and reports that rate beside the bytes that wait.
struct Gauge {
    slot: Duration,
    /// Bytes of a slot, smoothed; by UE.
    offered: Vec<f64>,
}

impl Observer for Gauge {
    fn on_slot(&mut self, _now: Instant, slot: &SlotView<'_>) {
        if slot.direction == Direction::Up {
            return;
        }
        // Who is served shares the blocks that nobody wanted.
        let free = f64::from(slot.free.0) / slot.grants.len().max(1) as f64;
        self.offered.resize(slot.bytes_per_prb_q8.len(), 0.0);
        for (ue, per_block) in (0..).map(UeId).zip(slot.bytes_per_prb_q8) {
            let own = slot.grants.iter().filter(|g| g.ue == ue && g.ndi);
            let granted: u64 = own.map(|g| g.tbs.get()).sum();
            let bytes = granted as f64 + free * f64::from(*per_block) / 256.0;
            let mean = &mut self.offered[ue.index()];
            *mean += (bytes - *mean) / 32.0;
        }
    }
}

impl Agent for Gauge {
    fn report(
        &mut self,
        _now: Instant,
        flow: &FlowAt,
        cell: &mut dyn CellView,
    ) -> Option<PathReport> {
        let bytes = self.offered.get(flow.ue.index())?;
        let kbps = (bytes * 8.0 / self.slot.as_secs_f64() / 1e3) as u64;
        let waiting = cell.queue(flow.ue, flow.bearer).backlog.get();
        // Seven bytes: 28 bits each.
        let [rate, backlog] = [kbps, waiting].map(|v| v.min((1 << 28) - 1));
        Some(PathReport::Own {
            kind: KIND,
            value: rate << 28 | backlog,
        })
    }
}

// 2. The controller: what is done about it?

/// Sends at the cell's rate, and a little faster or slower while less or more waits than should.
#[derive(Clone, Debug)]
struct Brim {
    /// How long what waits should take to leave.
    target: Duration,
    /// The window before the first report.
    start: Bytes,
    /// The window and the rate by the last report.
    told: Option<(Bytes, Rate)>,
}

impl Controller for Brim {
    fn takes_reports(&self) -> bool {
        true
    }
    fn on_report(&mut self, _now: Instant, path: &PathView, report: &PathReport) {
        let PathReport::Own { kind: KIND, value } = *report else {
            return;
        };
        let rate = Rate::from_bps((value >> 28) * 1_000);
        let wanted = rate.bytes_in(self.target).get() as f64;
        let missing = wanted - (value & ((1 << 28) - 1)) as f64;
        // What is missing comes within a round trip, but at half or one and a half times the rate at most.
        let round = rate.bytes_in(path.min_rtt).get().max(1) as f64;
        let pace = rate.mul_f64(1.0 + (missing / round).clamp(-0.5, 0.5));
        let window = rate.bytes_in(path.srtt + self.target);
        let least = Bytes(4 * u64::from(path.mss));
        self.told = Some((window.max(least), pace));
    }
    fn on_ack(&mut self, _now: Instant, _path: &PathView, _ack: &Ack) {}
    fn on_congestion(&mut self, _now: Instant, _path: &PathView, event: &CongestionEvent) {
        // The reports say what a loss does not; a timeout says that there are none.
        if event.cause == Cause::Timeout {
            self.told = None;
        }
    }
    fn intent(&self) -> Intent {
        let (window, pacing) = self.told.map_or((self.start, None), |(w, r)| (w, Some(r)));
        Intent {
            window: Some(window),
            pacing,
            ..Intent::default()
        }
    }
    fn name(&self) -> &'static str {
        "brim"
    }
    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        if let Some((window, rate)) = self.told {
            out.push(("brim_window_kb", window.get() as f64 / 1e3));
            out.push(("brim_rate_mbps", rate.as_mbps()));
        }
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

// And a name for each. What carries the reports is the scenario's choice.

fn main() -> std::process::ExitCode {
    let gauge = OwnAgent::new(
        "gauge",
        "what a UE gets and what waits for it",
        |setup, parameters| match parameters {
            "" => Ok(Box::new(Gauge {
                slot: setup.cell.slot_duration(),
                offered: Vec::new(),
            })),
            other => Err(format!("no parameters, not {other:?}")),
        },
    );
    let brim = Plugin::new("brim", "a few ms in the UE's queue", |config| Brim {
        target: Duration::from_millis(5),
        start: Bytes(u64::from(config.initial_window * config.mss)),
        told: None,
    });
    let plugins = Plugins::new().with_agent(gauge);
    let plugins = plugins.and_then(|plugins| plugins.with_controller(brim));
    slackwater_cli::main_with(&plugins.expect("no built-in part has these names"))
}
