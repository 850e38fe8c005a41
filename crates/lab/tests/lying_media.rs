//! The law of `lying_reports.rs` over media senders that take what the network tells: aL4S, which hears the marker's thresholds
//! and its fair rate. Neither is authenticated.

use std::path::Path;

use slackwater_control::registry::{AnyMedia, Plugin, build_media};
use slackwater_control::{
    Config, Counters, Feedback, Intent, MediaController, PathReport, PathView, Sent,
};
use slackwater_core::{Duration, Instant, Rate};
use slackwater_lab::run::{Control, run_scenario};
use slackwater_scenario::Scenario;
use slackwater_scenario::plugins::Plugins;
use slackwater_signal::MarkingScheme;

/// An LTE cell of 10 MHz whose queue marks by a ramp, with one stream.
const CELL: &str = r#"
name = "lies"
duration = "30 s"
warmup = "10 s"
[path]
rtt = "30 ms"
[cell]
rat = "lte"
bandwidth = "10 MHz"
rlc = { buffer = "1 MB", law = "ramp" }
[[ue]]
channel = { kind = "mcs", mcs = 20 }
[[flow]]
app = { kind = "media" }
controller = "al4s-c"
"#;

/// What is told after each feedback.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lie {
    /// Nothing: what the world tells arrives.
    Truth,
    /// Nothing, and what the world tells is lost.
    Silence,
    /// Thresholds, in ms.
    Scheme(u64, u64),
    /// A fair rate, bit/s, with this head-of-line delay, ms.
    Share(u64, u64),
    /// Counters that hold so many thousandths of what was offered, what waits, and what others have waiting.
    Counted([u32; 3]),
    /// Counters that stand still.
    Still,
}

/// A sender that is told lies.
#[derive(Clone, Debug)]
struct Deceived {
    inner: AnyMedia,
    lie: Lie,
    /// Reports that were made up.
    told: u16,
}

impl MediaController for Deceived {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.inner.on_sent(now, path, sent);
    }
    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        self.inner.on_feedback(now, path, feedback);
        self.told = self.told.wrapping_add(1);
        let report = match self.lie {
            Lie::Truth | Lie::Silence | Lie::Counted(_) | Lie::Still => return,
            Lie::Scheme(low, high) => PathReport::MarkingScheme(MarkingScheme {
                low: Duration::from_millis(low),
                high: Duration::from_millis(high),
            }),
            Lie::Share(bps, ms) => PathReport::Share {
                rate: Rate::from_bps(bps),
                hol_delay: Duration::from_millis(ms),
                seq: self.told,
                shared: false,
            },
        };
        self.inner.on_report(now, path, &report);
    }
    fn takes_reports(&self) -> bool {
        self.inner.takes_reports()
    }
    fn takes_counters(&self) -> bool {
        self.inner.takes_counters()
    }
    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        let told = match (self.lie, report) {
            (Lie::Truth, told) => *told,
            (Lie::Counted(parts), PathReport::Counters(c)) => {
                let of = |bytes: u32, part: u32| (u64::from(bytes) * u64::from(part) / 1000) as u32;
                let [offered, backlog, company] = parts;
                PathReport::Counters(Counters {
                    offered: of(c.offered, offered),
                    backlog: of(c.backlog, backlog),
                    company: of(c.company.max(1000), company),
                    ..*c
                })
            }
            (Lie::Still, PathReport::Counters(c)) => PathReport::Counters(Counters {
                gone: 0,
                offered: 0,
                ..*c
            }),
            _ => return,
        };
        self.inner.on_report(now, path, &told);
    }
    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.inner.on_timer(now, path);
    }
    fn next_timer(&self) -> Option<Instant> {
        self.inner.next_timer()
    }
    fn intent(&self) -> Intent {
        self.inner.intent()
    }
    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.inner.snapshot(out);
    }
    fn name(&self) -> &str {
        self.inner.name()
    }
    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}

/// Goodput after the warm-up, Mbit/s, where `controller` hears `lie`.
fn delivers(controller: &'static str, lie: Lie) -> f64 {
    let deceived = Plugin::media(
        "deceived",
        "a media controller that is told lies",
        move |config: &Config| Deceived {
            inner: build_media(controller, config).expect("a listed name builds"),
            lie,
            told: 0,
        },
    );
    let plugins = Plugins::new()
        .with_controller(deceived)
        .expect("a free name");
    let scenario = Scenario::parse("lies", CELL, Path::new("."))
        .expect("a scenario")
        .with_plugins(&plugins)
        .with("flow.controller", "deceived")
        .expect("a known name");
    let run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run");
    run.summary.flows[0].goodput_mbps
}

/// Lies that a marker could tell: thresholds that are none, that are far away, that lie together; rates of nothing and of a backbone.
const TABLE: [Lie; 15] = [
    Lie::Scheme(0, 0),
    Lie::Scheme(0, 1),
    Lie::Scheme(1, 1),
    Lie::Scheme(0, 60_000),
    Lie::Scheme(60_000, 60_000),
    Lie::Scheme(20, 5),
    Lie::Scheme(5, 20),
    Lie::Scheme(50, 51),
    Lie::Share(0, 0),
    Lie::Share(1, 0),
    Lie::Share(10_000, 1_000),
    Lie::Share(100_000, 0),
    Lie::Share(1_000_000, 100),
    Lie::Share(20_000_000, 0),
    Lie::Share(100_000_000_000, 0),
];

/// The law's known misses: the paper's cL4S goes by the marker's thresholds alone, and has no guard where they are far above its queue.
const MISSES: [(&str, Lie, &str); 2] = [
    ("al4s-c:paper", Lie::Scheme(0, 60_000), "8.0 of 16.0"),
    ("al4s-c:paper", Lie::Scheme(60_000, 60_000), "4.3 of 16.0"),
];

/// At least half of what is delivered without reports, and at most twice of that or of what true ones give.
#[test]
fn no_lie_of_the_table_starves_a_media_sender() {
    let mut broken = Vec::new();
    for name in ["al4s-c", "al4s-s", "al4s-c:paper", "al4s-s:paper"] {
        let (alone, truth) = (delivers(name, Lie::Silence), delivers(name, Lie::Truth));
        assert!(alone > 15.0, "{name}: the cell has 19 Mbit/s, {alone}");
        for lie in TABLE {
            let lied = delivers(name, lie);
            if lied < alone / 2.0 || lied > alone.max(truth) * 2.0 {
                broken.push((name, lie, format!("{lied:.1} of {alone:.1}")));
            }
        }
    }
    let known = MISSES.map(|(name, lie, figures)| (name, lie, figures.to_owned()));
    assert_eq!(broken, known);
}

/// Lies that a base station could tell of its counters.
const COUNTED: [Lie; 12] = [
    Lie::Counted([10, 1000, 0]),
    Lie::Counted([100, 100, 0]),
    Lie::Counted([100, 1000, 0]),
    Lie::Counted([30, 1000, 0]),
    Lie::Counted([250, 250, 0]),
    Lie::Counted([500, 1000, 0]),
    Lie::Counted([2000, 1000, 0]),
    Lie::Counted([10_000, 10_000, 0]),
    Lie::Counted([1_000_000, 1000, 0]),
    Lie::Counted([1000, 100_000, 0]),
    Lie::Counted([1000, 1000, 10_000_000]),
    Lie::Still,
];

/// The same law over those that hear counters. Frames may be late where more is promised than there is; what is delivered is held.
#[test]
fn no_counters_of_the_table_starve_a_media_sender() {
    let mut broken = Vec::new();
    for name in ["ebb-media", "al4s-c:r0=ebb"] {
        let (alone, truth) = (delivers(name, Lie::Silence), delivers(name, Lie::Truth));
        for lie in COUNTED {
            let lied = delivers(name, lie);
            if lied < alone / 2.0 || lied > alone.max(truth) * 2.0 {
                broken.push((name, lie, format!("{lied:.1} of {alone:.1}")));
            }
        }
    }
    assert_eq!(broken, []);
}
