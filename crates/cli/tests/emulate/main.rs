//! Real packets, from outside: these tests make network namespaces and devices, and skip with a reason where they may not.

#[path = "../peers/aioquic.rs"]
mod aioquic;
mod core;
mod ebb;
mod faults;
mod frames;
mod gnb;
mod kills;
#[path = "../peers/terminal.rs"]
mod on_terminal;
mod outward;
mod packets;
mod quic;
#[path = "../peers/signal.rs"]
mod signal;
mod terminal;
mod xrc;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Why nothing can be made here, if so: looked at once for all tests.
static REASON: LazyLock<Option<String>> = LazyLock::new(|| {
    if !Path::new("/dev/net/tun").exists() {
        return Some("no /dev/net/tun".to_owned());
    }
    if Command::new("ip").arg("-V").output().is_err() {
        return Some("no `ip` (iproute2)".to_owned());
    }
    if Command::new("python3").arg("-V").output().is_err() {
        return Some("no python3".to_owned());
    }
    let made = slackwater(&[
        "emulate",
        "--rate",
        "1",
        "--isolated",
        "--no-files",
        "--quiet",
        "--",
        "true",
    ]);
    (!went(&made)).then(|| text(&made.stderr))
});

/// Whether to go on; the reason is printed where not. Tests run side by side: each has its interfaces in namespaces of its own.
fn allowed() -> bool {
    if let Some(reason) = &*REASON {
        eprintln!("skipped: {reason}");
    }
    REASON.is_none()
}

/// The status of a void run, as docs/emulate.md has it.
const VOID: i32 = 75;

/// How often a relation between measured times is looked at: a machine with other work comes late in one run and not in the next.
const TRIES: usize = 4;

/// The first of `measured` that `holds`, and those before it that do not.
fn until<T>(measured: impl Iterator<Item = T>, holds: impl Fn(&T) -> bool) -> (Option<T>, Vec<T>) {
    let mut others = Vec::new();
    for one in measured {
        if holds(&one) {
            return (Some(one), others);
        }
        others.push(one);
    }
    (None, others)
}

fn command(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_slackwater"));
    command.args(args).stdin(Stdio::null());
    command
}

fn slackwater(args: &[&str]) -> Output {
    command(args).output().expect("the command starts")
}

/// It ended well. A loaded machine may miss slots: that makes a run void, says so by a status of its own, and changes nothing of what
/// these tests look at.
fn went(done: &Output) -> bool {
    matches!(done.status.code(), Some(0 | VOID))
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim().to_owned()
}

/// A folder of its own, gone afterwards.
struct Folder(PathBuf);

/// Folders made: two tests may give theirs the same name.
static FOLDERS: AtomicUsize = AtomicUsize::new(0);

impl Folder {
    fn new(name: &str) -> Self {
        let (process, k) = (std::process::id(), FOLDERS.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(format!("slackwater-{name}-{process}-{k}"));
        std::fs::create_dir_all(&path).expect("a folder can be made");
        Self(path)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).display().to_string()
    }

    fn json(&self, name: &str) -> serde_json::Value {
        let text = std::fs::read_to_string(self.0.join(name)).expect("the file is there");
        serde_json::from_str(&text).expect("it is JSON")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
