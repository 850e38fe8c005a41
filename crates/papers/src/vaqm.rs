//! vAQM (Ihlar, Nazari, Skog: "Low latency, high flexibility: Virtual AQM", Ericsson Technology Review, 2018).
//!
//! The article has no formulas and its measurements were made in a live network; `docs/vaqm.md` says how what it leaves
//! open was decided.

mod beside;
mod cases;
mod chained;
mod crowd;
mod flows;
mod handover;
mod live;
mod loads;
mod lost;
mod measures;
mod quic;
mod signal;
mod upload;

use super::study::{Part, Study};
use super::variant::Variant;

/// What every figure's file uses.
mod prelude {
    pub(super) use super::super::draw::{Entry, bar, table};
    pub(super) use super::super::measure as m;
    pub(super) use super::super::study::{
        Experiment, Measure, Options, Outcome, Outcomes, Part, Runs, StudyError,
    };
    pub(super) use super::super::variant::{Changes, Variant};
    pub(super) use super::measures::{keep, rtts};
    pub(super) use super::{FAIR, LITERAL, SIGNALS, VAQM, VARIANTS, length};
    pub(super) use slackwater_lab::run::RunResult;
    pub(super) use slackwater_report::paper::{Axis, Drawing, Figure, Panel};
    pub(super) use slackwater_results::check::{Check, Tolerance};
    pub(super) use slackwater_results::metrics::Estimate;

    /// Three bulk downloads and a user who loads, in one cell.
    pub(super) const SIGNAL: &str = include_str!("../scenarios/vaqm/signal.toml");
}

/// The study.
pub const STUDY: Study = Study {
    name: "vaqm",
    title: "vAQM reproduced",
    citation: "M. Ihlar, A. Nazari, R. Skog: Low latency, high flexibility: Virtual AQM. Ericsson Technology Review, \
               10 April 2018",
    about: &[
        "A function in the core network measures the round-trip times and the flight of each session's flows, and lets the \
         queue stand where it can be managed: in itself, with CoDel, in place of the radio.",
    ],
    notes: &[
        "The article measured in a live network and names neither the cell nor its buffers. Here: an LTE cell of 10 MHz whose \
         users have 192 kB of RLC buffer each; strong signal gives about 36 Mbit/s, weak 9, very weak 4.4. With 1 MB in place \
         of 192 kB the delays without AQM are far larger than the article's, so its cell must hold about 192 kB a user.",
        "CoDel in the radio is the ideal that vAQM imitates from afar: the queue is measured and managed where it stands. \
         FQ-CoDel in the radio gives each kind of flow a bearer of its own, of equal priority and with CoDel.",
        "RTTs are those of three bulk CUBIC flows, one a user, each sampled every 10 ms and pooled.",
    ],
    claims: include_str!("../claims/vaqm.toml"),
    parts: |options| {
        Ok(vec![
            signal::part(options)?,
            signal::modes(options)?,
            signal::buffers(options)?,
            loads::part(options)?,
            loads::session(options)?,
            quic::part(options)?,
            handover::part(options)?,
            upload::part(options)?,
            beside::unanswered(options)?,
            beside::scalable(options)?,
            crowd::sessions(options)?,
            crowd::fading(options)?,
            flows::part(options)?,
            chained::part(options)?,
            cases::part(options)?,
            lost::part(options)?,
        ] as Vec<Part>)
    },
};

/// Figure 2 on real packets, each run of `seconds`.
pub(crate) fn live(seconds: u32) -> Result<super::live::Live, super::study::StudyError> {
    live::live(seconds)
}

/// What ships.
const VAQM: (&str, &str) = ("upf.vaqm.mode", "auto");
/// As the article words its shaper.
const LITERAL: (&str, &str) = ("upf.vaqm.mode", "literal");

const VARIANTS: [Variant; 3] = [
    Variant::new("none", "no AQM", "no-aqm", &[]),
    Variant::new("vaqm", "vAQM", "vaqm", &[VAQM]),
    Variant::new(
        "codel",
        "CoDel in the radio",
        "codel",
        &[("cell.rlc.law", "codel")],
    ),
];

/// FQ-CoDel where the queue stands: a bearer of its own with CoDel for each of a user's two kinds of flows.
const FAIR: Variant = Variant::new(
    "fair",
    "FQ-CoDel in the radio",
    "fq-codel",
    &[
        ("cell.rlc.law", "codel"),
        ("ue.bearers", "[{ qfi = [1] }, { qfi = [2] }]"),
    ],
);

/// Short name, title, MCS.
const SIGNALS: [(&str, &str, &str); 3] = [
    ("strong", "strong", "28"),
    ("weak", "weak", "11"),
    ("poor", "very weak", "5"),
];

const fn length(quick: bool) -> &'static str {
    if quick { "20 s" } else { "60 s" }
}
