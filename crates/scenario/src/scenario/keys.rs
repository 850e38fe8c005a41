//! The keys of a scenario at its top.

/// All but [`RECORD`], in the order of a document.
pub(super) const KEYS: [&str; 15] = [
    "name",
    "title",
    "description",
    "duration",
    "warmup",
    "seed",
    "path",
    "link",
    "cell",
    "wired",
    "feedback",
    "upf",
    "ue",
    "flow",
    "vary",
];

/// What is recorded of a run.
pub(super) const RECORD: &str = "record";
