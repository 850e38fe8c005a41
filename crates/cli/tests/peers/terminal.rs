//! A terminal for tests: Python's `pty` makes one.

use std::process::{Command, Stdio};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/terminal.py");

/// What is typed: once the text was drawn so often, the line.
type Answer<'a> = (&'a str, usize, &'a str);

/// The `slackwater` command on a terminal of `width` columns, its words still to come. What the terminal gets comes out on standard output.
pub(crate) fn on_terminal(width: &str, answer: Option<Answer<'_>>) -> Command {
    let (mark, times, line) = answer.unwrap_or(("", 0, ""));
    let mut command = Command::new("python3");
    command
        .args([SCRIPT, width, mark, &times.to_string(), line])
        .arg(env!("CARGO_BIN_EXE_slackwater"))
        .env("TERM", "xterm")
        .stdin(Stdio::null());
    command
}
