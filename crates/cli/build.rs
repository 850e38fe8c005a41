//! Of which commit the program is, for the manifests of results.

use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let revision = packed().or_else(checked_out).unwrap_or_default();
    println!("cargo:rustc-env=SLACKWATER_REVISION={revision}");
}

/// What `cargo package` left beside the manifest.
fn packed() -> Option<String> {
    let text = std::fs::read_to_string(".cargo_vcs_info.json").ok()?;
    let sha1 = text.split("\"sha1\": \"").nth(1)?.split('"').next()?;
    let dirty = text.contains("\"dirty\": true");
    Some(format!("{sha1}{}", if dirty { "-dirty" } else { "" }))
}

/// The commit of the checkout that this crate belongs to.
fn checked_out() -> Option<String> {
    // A crate that was unpacked inside of somebody's repository is none of its files.
    git(&["ls-files", "--error-unmatch", "Cargo.toml"])?;
    let commit = git(&["rev-parse", "HEAD"])?;
    let names = git(&["symbolic-ref", "-q", "HEAD"]).unwrap_or_default();
    for name in ["HEAD", "packed-refs", &names] {
        let file = git(&["rev-parse", "--git-path", name]);
        if let Some(file) = file.filter(|f| Path::new(f).is_file()) {
            println!("cargo:rerun-if-changed={file}");
        }
    }
    // Any source of the workspace is a part of the program.
    println!("cargo:rerun-if-changed=..");
    let changed = git(&[
        "--no-optional-locks",
        "status",
        "--porcelain",
        "--untracked-files=no",
        "..",
    ])?;
    let dirty = if changed.is_empty() { "" } else { "-dirty" };
    Some(format!("{commit}{dirty}"))
}

/// What git says; `None` where it fails or is not there.
fn git(args: &[&str]) -> Option<String> {
    let output = Command::new("git").args(args).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}
