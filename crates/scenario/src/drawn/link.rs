//! Links without a base station.

use std::fmt::Write as _;

use super::World;
use super::dice::Dice;

/// A link with its path.
pub(super) struct Link {
    /// What it is, in words.
    pub(super) about: String,
    /// Path and link.
    pub(super) text: String,
}

impl Link {
    /// One with one of the queues `queues`.
    pub(super) fn new(dice: &mut Dice, queues: &[&str]) -> Self {
        let rtt = (dice.factor(4.0, 300.0) * 1e3) as u64;
        let loss = dice.one(&["0 %", "0 %", "0 %", "0.01 %", "0.1 %", "1 %"]);
        let jitter = dice.one(&["0 ms", "0 ms", "1 ms", "5 ms"]);
        let mbps = dice.factor(1.0, 200.0);
        let (what, mut link) = shape(dice, mbps);
        let up = dice.one(&[None, None, Some(10.0), Some(40.0)]);
        let limit = dice.one(&["20 kB", "60 kB", "250 kB", "1 MB", "4 MB"]);
        let queue = dice.one(queues);
        if let Some(part) = up {
            let _ = writeln!(link, "up_rate = \"{:.3} Mbit/s\"", (mbps / part).max(0.1));
        }
        let keys = match queue {
            "codel" | "pie" => format!("kind = \"fifo\", limit = \"{limit}\", law = \"{queue}\""),
            kind => format!("kind = \"{kind}\", limit = \"{limit}\""),
        };
        Self {
            about: format!("{what}, {queue} {limit}, {:.1} ms", rtt as f64 / 1e3),
            text: format!(
                "[path]\nrtt = \"{rtt} us\"\nloss = \"{loss}\"\njitter = \"{jitter}\"\n\n[link]\n{link}queue = {{ {keys} }}\n"
            ),
        }
    }
}

/// How the rate of a link of about `mbps` Mbit/s goes, in words and as keys.
fn shape(dice: &mut Dice, mbps: f64) -> (String, String) {
    match dice.one(&["rate", "steps", "slopes", "trace"]) {
        "rate" => (
            format!("{mbps:.1} Mbit/s"),
            format!("kind = \"rate\"\nrate = \"{mbps:.3} Mbit/s\"\n"),
        ),
        "trace" => {
            let name = dice.one(&[
                "driving.down",
                "driving.up",
                "walking.down",
                "shared.down",
                "handover.down",
                "outage.down",
            ]);
            (
                name.to_owned(),
                format!("kind = \"trace\"\nfile = \"builtin:{name}\"\n"),
            )
        }
        word => {
            let every = dice.one(&[1.0, 2.0, 4.0]);
            let count = dice.one(&[2, 3, 5]);
            let points: Vec<String> = (0..count)
                .map(|k| {
                    let now = mbps * dice.factor(0.3, 1.0);
                    format!("[{}, {now:.3}]", f64::from(k) * every)
                })
                .collect();
            let period = f64::from(count) * every;
            (
                format!("{word} up to {mbps:.1} Mbit/s each {every} s"),
                format!(
                    "kind = \"series\"\npoints = [{}]\nsmooth = {}\nperiod = \"{period} s\"\n",
                    points.join(", "),
                    word == "slopes"
                ),
            )
        }
    }
}

/// Bulk flows.
pub(super) fn link(dice: &mut Dice) -> World {
    let queues = [
        "fifo", "fifo", "fifo", "codel", "pie", "fq-codel", "dualpi2",
    ];
    let link = Link::new(dice, &queues);
    let flows = dice.one(&[1, 1, 2, 4]);
    World {
        about: format!("{}, {flows} flows", link.about),
        seconds: 20,
        warmup: 4,
        text: format!(
            "{}\n[[flow]]\ncontroller = \"cubic\"\ncount = {flows}\n",
            link.text
        ),
    }
}
