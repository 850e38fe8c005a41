//! `slackwater tcp` and signals: its command ends with it, whatever that ignores. Needs root, BTF and a build with the feature `bpf`.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Stdio};

use crate::shell::Folder;
use crate::signal::{Signal, send};

/// A process in the background that ignores what would end it, and one in front that does too.
const STUBBORN: &str =
    "trap '' INT TERM HUP QUIT; (sleep 600) & echo ready; while :; do sleep 600; done";

/// Whether BPF can be loaded here; prints why not.
fn allowed(f: &Folder) -> bool {
    let done = f.run(&["tcp", "xrc", "--", "true"]);
    if done.code != Some(0) {
        eprintln!("skipped: {}", done.err);
    }
    done.code == Some(0)
}

/// The exit code of a command that a signal ends. Comes back when no process of it holds its output any more.
fn ended_by(f: &Folder, signal: Signal, command: &[&str]) -> Option<i32> {
    // Below `nohup` SIGHUP is ignored, which a command leaves as it found it.
    let plain = f.command(&[&["tcp", "xrc", "--"], command].concat());
    let mut child = Command::new("env")
        .arg("--default-signal=HUP")
        .arg(plain.get_program())
        .args(plain.get_args())
        .current_dir(f.path("."))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("it starts");
    let mut out = BufReader::new(child.stdout.take().expect("piped"));
    let mut line = String::new();
    out.read_line(&mut line).expect("text");
    assert_eq!(line, "ready\n");
    send(child.id(), signal);
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("an end");
    child.wait().expect("it ends").code()
}

#[test]
fn a_signal_ends_the_whole_command() {
    let f = Folder::new("tcp-signals");
    if !allowed(&f) {
        return;
    }
    let shell = ["sh", "-c", STUBBORN];
    for (signal, code) in [
        (Signal::SIGINT, 130),
        (Signal::SIGTERM, 143),
        (Signal::SIGHUP, 129),
        (Signal::SIGQUIT, 131),
    ] {
        assert_eq!(ended_by(&f, signal, &shell), Some(code), "{signal}");
    }
    // Nobody hears of this one but the guard.
    assert_eq!(ended_by(&f, Signal::SIGKILL, &shell), None);

    // What a command leaves in the background ends with it, and its exit code stays.
    let done = f.run(&[
        "tcp",
        "xrc",
        "--",
        "sh",
        "-c",
        "(trap '' TERM; sleep 600) & exit 7",
    ]);
    assert_eq!(done.code, Some(7), "{}", done.err);
}
