//! Peers in Go, built from their folders; the modules come from Go's proxy, of exact versions.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// `go` in the path, or where its installer puts it.
fn go() -> Option<PathBuf> {
    let runs = |path: &PathBuf| {
        let version = Command::new(path)
            .arg("version")
            .stdout(Stdio::null())
            .status();
        version.is_ok_and(|s| s.success())
    };
    ["go", "/usr/local/go/bin/go"]
        .map(PathBuf::from)
        .into_iter()
        .find(runs)
}

/// The program in `folder` of the tests, built as `name`; or why there is none.
pub(crate) fn build(folder: &str, name: &str) -> Result<PathBuf, String> {
    let go = go().ok_or("there is no Go")?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(folder);
    let run = |arguments: &[&OsStr]| {
        let done = Command::new(&go)
            .args(arguments)
            .current_dir(&source)
            .status();
        done.is_ok_and(|s| s.success())
    };
    if !run(&["mod", "download"].map(OsStr::new)) {
        return Err("Go cannot get the module".to_owned());
    }
    let binary = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let words = [
        OsStr::new("build"),
        OsStr::new("-o"),
        binary.as_os_str(),
        OsStr::new("."),
    ];
    assert!(run(&words), "the peer does not build");
    Ok(binary)
}
