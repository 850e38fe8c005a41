//! Names of files in a folder of results that are no results.

/// Name of the file that says what a folder of results holds.
pub const MANIFEST: &str = "results.json";
/// Files that may stand in a folder that nothing was written into yet: what a running command says of itself.
pub(super) const PASSING: [&str; 2] = ["running.json", "running.part"];
