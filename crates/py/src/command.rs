//! The `slackwater` command, inside of the interpreter: whoever has the package has the command.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use pyo3::prelude::*;
use slackwater_cli::{Start, main_from};
use slackwater_scenario::Plugins;

/// Runs the command with `words`, as `python` (the interpreter's file) starts it. Returns the exit status.
#[pyfunction]
pub(crate) fn command(py: Python<'_>, python: PathBuf, words: Vec<OsString>) -> u8 {
    let code = py.detach(|| main_from(Start::inside_of(python, words), &Plugins::new()));
    // A code tells its number to the system alone; it can be compared.
    let is = |number: &u8| ExitCode::from(*number) == code;
    (0..=u8::MAX).find(is).unwrap_or(1)
}
