//! Papers reproduced: each study runs its paper's experiments and lays our numbers beside the paper's claims.

pub mod al4s;
pub mod cecc;
mod draw;
pub mod measure;
pub mod rfc8867;
pub mod study;
pub mod tyrus;
pub mod vaqm;
pub mod xrc;

pub use study::{
    Experiment, Options, Outcome, Outcomes, Part, Reproduction, Runs, Study, StudyError,
};

/// Every study, in the order of the command line.
pub const ALL: &[Study] = &[
    xrc::STUDY,
    cecc::STUDY,
    vaqm::STUDY,
    al4s::STUDY,
    tyrus::STUDY,
    rfc8867::STUDY,
];

/// The study called `name`.
pub fn find(name: &str) -> Option<&'static Study> {
    ALL.iter().find(|s| s.name == name)
}

/// How a controller is called in text: `cubic` is CUBIC.
pub fn title(controller: &str) -> &str {
    match controller {
        "xrc" => "XRC",
        "xrc-paper" => "XRC (paper profile)",
        "cubic" => "CUBIC",
        "cubic-ns3" => "CUBIC (ns-3)",
        "reno" => "NewReno",
        "reno-ns3" => "NewReno (ns-3)",
        "veno" => "Veno",
        "veno-ns3" => "Veno (ns-3)",
        "illinois" => "Illinois",
        "illinois-ns3" => "Illinois (ns-3)",
        "vegas" => "Vegas",
        "westwood" => "Westwood+",
        "bbr" => "BBR",
        "bbr3" => "BBRv3",
        "copa" => "Copa",
        "tyrus" => "Tyrus",
        "sprout" => "Sprout",
        "claw" => "CLAW",
        "pbe" => "PBE-CC",
        "rule2-acks" => "rule2 without PHY",
        "dctcp" => "DCTCP",
        "prague" => "Prague",
        "gcc" => "GCC",
        "scream" => "SCReAMv2",
        "l4s-cc" => "L4S-CC",
        "al4s-c" => "cL4S",
        "al4s-s" => "sL4S",
        other => other,
    }
}
