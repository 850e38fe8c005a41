//! aioquic as a client of `slackwater quic serve`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A Python that has aioquic; without one the reason is printed.
pub(crate) fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pythons = [root.join("../../.venv/bin/python"), "python3".into()];
    let has = |python: &PathBuf| {
        Command::new(python)
            .args(["-c", "import aioquic"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let found = pythons.into_iter().find(has);
    if found.is_none() {
        eprintln!("skipped: no Python here has aioquic (`make python` installs it)");
    }
    found
}

/// The words of a command that gets `file` from the server into `to`.
pub(crate) fn words(python: &Path, server: [&str; 2], file: &str, to: &Path) -> Vec<String> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/peers/with_aioquic.py");
    let to = to.display().to_string();
    let python = python.display().to_string();
    [&python, script, server[0], server[1], file, &to]
        .map(str::to_owned)
        .into()
}
