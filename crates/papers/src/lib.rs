//! Papers reproduced: each study runs its paper's experiments and lays our numbers beside the paper's claims.

pub mod al4s;
pub mod cecc;
mod draw;
pub mod ebb;
pub mod ledger;
pub mod live;
pub mod measure;
mod recordings;
pub mod rfc8867;
pub mod study;
pub mod tyrus;
pub mod vaqm;
mod variant;
pub mod xrc;

pub use study::{
    Experiment, Measure, Options, Outcome, Outcomes, Part, Reproduction, Runs, Study, StudyError,
};

/// Every study, in the order of the command line.
pub const ALL: &[Study] = &[
    xrc::STUDY,
    cecc::STUDY,
    vaqm::STUDY,
    al4s::STUDY,
    tyrus::STUDY,
    ebb::STUDY,
    rfc8867::STUDY,
];

/// The study called `name`.
pub fn find(name: &str) -> Option<&'static Study> {
    ALL.iter().find(|s| s.name == name)
}
