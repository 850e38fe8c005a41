//! The reference cells, the ways to treat flows, and the runs that figures share.

use super::prelude::*;

pub(super) const OFF: Variant = Variant::new("off", "CUBIC", "cubic", &[]);
pub(super) const BBR: Variant = Variant::new("bbr", "BBR", "bbr", &[("flow.controller", "bbr")]);
pub(super) const UDP: Variant = Variant::new("udp", "UDP", "udp", &[("flow.app.transport", "udp")]);
pub(super) const PAPER: Variant = Variant::new(
    "paper",
    "CECC, paper",
    "cecc-paper",
    &[("upf.cecc.mode", "paper")],
);
pub(super) const CREDIT: Variant = Variant::new(
    "credit",
    "CECC, credit",
    "cecc-credit",
    &[("upf.cecc.mode", "credit")],
);
pub(super) const HOLD: Variant =
    Variant::new("hold", "CECC, hold", "cecc", &[("upf.cecc.mode", "hold")]);
pub(super) const HOLD_ALG1: Variant = Variant::new(
    "hold-alg1",
    "CECC, hold, Algorithm 1",
    "cecc-alg1",
    &[("upf.cecc.mode", "hold"), ("upf.cecc.schedule", "alg1")],
);
pub(super) const HOLD_UDP: Variant = Variant::new(
    "hold-udp",
    "CECC, hold, over UDP",
    "cecc-udp",
    &[("upf.cecc.mode", "hold"), ("flow.app.transport", "udp")],
);

/// All of them, in the order of tables.
pub(super) const VARIANTS: [Variant; 8] = [OFF, BBR, UDP, PAPER, CREDIT, HOLD, HOLD_ALG1, HOLD_UDP];

/// One of the reference cells.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) setup: &'static str,
    pub(super) changes: Changes,
}

/// Frames apart by chance.
const APART: [(&str, &str); 3] = [
    ("flow.app.clock", "gaps"),
    ("flow.app.interval_sigma", "1 ms"),
    ("flow.app.random_phase", "true"),
];

/// A cell of about 640 Mbit/s.
const QAM64: [(&str, &str); 3] = [
    ("cell.mcs_table", "64qam"),
    ("ue.channel.mcs", "28"),
    ("cell.n_rb", "1136"),
];

pub(super) const PLACES: [Place; 6] = [
    Place {
        id: "a",
        name: "A",
        setup: "About 860 Mbit/s, UEs share slots, all users' frames at once, each 0.5 ms (standard deviation) off a common grid",
        changes: &[],
    },
    Place {
        id: "b",
        name: "B",
        setup: "About 860 Mbit/s, UEs share slots, all users start at once, gaps between frames of 0.05 ms deviation: they drift \
                apart slowly",
        changes: &[
            ("flow.app.clock", "gaps"),
            ("flow.app.interval_sigma", "50 us"),
        ],
    },
    Place {
        id: "c",
        name: "C",
        setup: "About 860 Mbit/s, one UE per slot (polled, in turn; what it does not need of the slot is lost), random phases, gaps \
                of 1 ms deviation",
        changes: &[
            APART[0],
            APART[1],
            APART[2],
            ("cell.ues_per_slot", "1"),
            ("cell.scheduler", "rr"),
        ],
    },
    Place {
        id: "d",
        name: "D",
        setup: "About 640 Mbit/s (64QAM), UEs share slots, random phases, gaps of 1 ms deviation",
        changes: &[APART[0], APART[1], APART[2], QAM64[0], QAM64[1], QAM64[2]],
    },
    Place {
        id: "e",
        name: "E",
        setup: "About 860 Mbit/s, UEs share slots, random phases, gaps of 1 ms deviation: nothing to gain",
        changes: &APART,
    },
    Place {
        id: "f",
        name: "F",
        setup: "About 750 Mbit/s, UEs share slots, random phases, each frame 0.5 ms (standard deviation) off its own grid",
        changes: &[("flow.app.random_phase", "true"), ("cell.n_rb", "1004")],
    },
];

/// Flows.
pub(super) const COUNTS: [&str; 7] = ["1", "2", "3", "4", "5", "6", "7"];
/// Those of them that fill a cell.
pub(super) const MANY: [&str; 4] = ["4", "5", "6", "7"];

impl Place {
    /// Numbers of flows that are run here: all in A, the paper's cell, and elsewhere those that fill the cell.
    pub(super) fn counts(&self) -> &'static [&'static str] {
        if self.id == "a" { &COUNTS } else { &MANY }
    }

    /// Ways that are run here: BBR in A alone.
    pub(super) fn variants(&self) -> Vec<Variant> {
        let all = VARIANTS.into_iter();
        all.filter(|w| w.key != BBR.key || self.id == "a").collect()
    }
}

/// Name of the run of `n` flows at `place`, treated in the way `way`.
pub(super) fn name(place: &Place, variant: &str, n: &str) -> String {
    format!("{}{n}/{variant}", place.id)
}

/// What every run changes: its length, and samples no finer than its figures need.
pub(super) fn base(options: &Options) -> [(&'static str, &'static str); 2] {
    [
        ("duration", length(options.quick)),
        ("record.interval", "100 ms"),
    ]
}

/// The scenario `text` with the changes of a place and a way.
pub(super) fn experiment(
    options: &Options,
    text: &str,
    changes: &[Changes],
    name: String,
) -> Result<Experiment, StudyError> {
    let mut all = base(options).to_vec();
    all.extend(changes.iter().copied().flatten());
    Experiment::new(name, text, all, keep)
}

/// The run that all figures share.
pub(super) fn shared(
    options: &Options,
    place: &Place,
    variant: &Variant,
    n: &'static str,
) -> Result<Experiment, StudyError> {
    let mut changes = base(options).to_vec();
    changes.push(("ue.count", n));
    changes.extend(place.changes);
    changes.extend(variant.changes);
    Experiment::new(name(place, variant.key, n), SCENARIO, changes, keep)
}
