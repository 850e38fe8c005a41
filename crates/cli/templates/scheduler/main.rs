//! A scheduler and a queue law of one's own, run by name: `cargo run --release -- compare cell.toml`.

use slackwater_cli::lab::Plugins;
use slackwater_cli::lab::core::{Draw, Duration, Instant};
use slackwater_cli::lab::plugins::{OwnLaw, OwnScheduler};
use slackwater_cli::lab::queue::{Law, PacketMeta, QueueView, Verdict};
use slackwater_cli::lab::ran::mac::{BitSet, Scheduler, Setup, UeSample};

// 1. The scheduler: M-LWDF, modified largest weighted delay first (Andrews et al., "Providing quality of service over a
// shared wireless link", IEEE Communications Magazine 39(2), 2001).

/// Serves the UE with the greatest `a W r / R`: `a = -ln(error rate) / delay budget` of its class, `W` the delay of its oldest
/// packet, `r` its rate now and `R` its mean rate.
struct Mlwdf {
    /// The metric of each UE in this slot.
    metric: Vec<f64>,
}

impl Scheduler for Mlwdf {
    fn wants_samples(&self) -> bool {
        true
    }
    fn on_samples(&mut self, _now: Instant, samples: &[UeSample]) {
        for sample in samples {
            let class = sample.class;
            let a = -class.error_rate().ln() / class.delay_budget().as_secs_f64();
            // A packet that came this instant waits too; the uplink shows no delays and is proportional fair.
            let waited = sample.head_of_line.map_or(1.0, |w| w.as_secs_f64() + 1e-3);
            let fair = sample.instantaneous.as_mbps() / sample.average.as_mbps().max(1e-3);
            self.metric[sample.ue.index()] = a * waited * fair;
        }
    }
    fn pick(&mut self, candidates: &BitSet) -> usize {
        let greatest = candidates
            .iter()
            .max_by(|a, b| self.metric[*a].total_cmp(&self.metric[*b]));
        greatest.expect("the cell calls this only where a UE is backlogged")
    }
    fn served(&mut self, _slot: u64, _ue: usize, _bytes: u32) {}
}

// 2. The queue law: BLUE (Feng et al., "The BLUE active queue management algorithms", IEEE/ACM ToN 10(4), 2002).

/// One probability: it grows while the queue is too long, and shrinks when the queue runs empty. The queue's delay stands for
/// its length, since a cell's rate varies.
struct Blue {
    limit: Duration,
    probability: f64,
    changed: Instant,
    draw: Draw,
    drawn: u64,
}

impl Blue {
    /// At most one step in the freeze time: the sender needs a round trip to answer.
    fn step(&mut self, now: Instant, by: f64) {
        if now.since(self.changed) >= Duration::from_millis(100) {
            self.probability = (self.probability + by).clamp(0.0, 1.0);
            self.changed = now;
        }
    }
}

impl Law for Blue {
    fn on_enqueue(
        &mut self,
        now: Instant,
        delay: Duration,
        _queue: &QueueView,
        _packet: &PacketMeta,
    ) -> Verdict {
        if delay > self.limit {
            self.step(now, 0.0025);
        }
        self.drawn += 1;
        if self.draw.uniform(self.drawn) < self.probability {
            Verdict::Mark
        } else {
            Verdict::Pass
        }
    }
    fn on_empty(&mut self, now: Instant) {
        self.step(now, -0.00025);
    }
}

// And a name for each.

fn main() -> std::process::ExitCode {
    let mlwdf = OwnScheduler::new(
        "m-lwdf",
        "delay, class and rate (Andrews 2001)",
        |setup: &Setup, parameters| match parameters {
            "" => Ok(Box::new(Mlwdf {
                metric: vec![0.0; setup.ues],
            })),
            other => Err(format!("no parameters, not {other:?}")),
        },
    );
    let blue = OwnLaw::new(
        "blue",
        "one probability (Feng 2002); blue:40 for 40 ms",
        |draw, limit| {
            let limit = match limit {
                "" => 50,
                ms => ms
                    .parse()
                    .map_err(|_| "whole milliseconds after \"blue:\"")?,
            };
            Ok(Box::new(Blue {
                limit: Duration::from_millis(limit),
                probability: 0.0,
                changed: Instant::ZERO,
                draw,
                drawn: 0,
            }))
        },
    );
    let plugins = Plugins::new().with_scheduler(mlwdf);
    let plugins = plugins.and_then(|plugins| plugins.with_law(blue));
    slackwater_cli::main_with(&plugins.expect("no built-in part has these names"))
}
