//! Results of real packets are old or new and never a mix: after a kill at each step of writing them.
//!
//! `crates/cli/tests/command/kills.rs` has the same of simulations, whose results are the same bytes each time. These are not: a run is
//! known by its command, and by the digest of all its files that its manifest has.

use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{ExitStatus, Output};

use slackwater_results::output::{Manifest, content};

use super::gnb::peer::{GNB, UPF, n3};
use super::{Folder, allowed, command, text, went};

/// More steps of writing than there are.
const STEPS: usize = 60;
/// A step that none reaches.
const NEVER: usize = 0;
const KILL_AT: &str = "SLACKWATER_KILL_AT";
const SIGKILL: i32 = 9;

/// It was killed: by its own signal, or behind a process that passes that on.
fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(SIGKILL) || status.code() == Some(128 + SIGKILL)
}

/// Which of two runs stands in `folder`, whole: the one whose command has `old`, or that with `new`.
fn is_new(folder: &Path, old: &str, new: &str) -> bool {
    let manifest = Manifest::of(folder).expect("a manifest");
    let digest = content::of_folder(folder).expect("files");
    assert_eq!(
        manifest.content,
        Some(digest),
        "{}: files of two runs",
        manifest.command
    );
    // The page is not in the digest, since it has the command.
    let page = std::fs::read_to_string(folder.join("report.html")).expect("a page");
    let named = |word: &str| [&manifest.command, &page].map(|text| text.contains(word));
    match (named(old), named(new)) {
        ([true, true], [false, false]) => false,
        ([false, false], [true, true]) => true,
        found => panic!("{}: {found:?}", manifest.command),
    }
}

/// A run of a command with this delay, killed at this step of writing.
type Made<'a> = dyn Fn(&str, usize) -> Output + 'a;

/// Kills what `made` runs at each step of writing in turn. `delays` tell its old run and its new one apart.
fn old_or_new(folder: &Folder, delays: [&str; 2], made: &Made<'_>) {
    let [old, new] = delays;
    let place = folder.0.join("at");
    let whole = |word: &str| {
        let done = made(word, NEVER);
        assert!(went(&done), "{}", text(&done.stderr));
    };
    whole(old);
    assert!(!is_new(&place, old, new));

    let mut seen = [0, 0];
    for at in 1..STEPS {
        let done = made(new, at);
        let stopped = was_killed(done.status);
        assert!(stopped || went(&done), "{}", text(&done.stderr));
        let replaced = is_new(&place, old, new);
        if !stopped {
            assert!(replaced, "it ended, and its results stand there");
            // Nothing beside them, of all the kills, but what the test gave.
            let mut left: Vec<_> = std::fs::read_dir(&folder.0)
                .expect("ours")
                .flatten()
                .map(|entry| entry.file_name())
                .filter(|name| name != "gnb.toml")
                .collect();
            left.sort();
            assert_eq!(left, ["at"]);
            break;
        }
        seen[usize::from(replaced)] += 1;
        if replaced {
            whole(old);
        }
    }
    assert!(
        seen[0] > 5 && seen[1] > 0,
        "kills before and after the exchange: {seen:?}"
    );
}

#[test]
fn a_kill_at_any_step_leaves_the_old_emulation_or_the_new_one() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("kills-emulate");
    let out = folder.file("at");
    let made = |delay: &str, at: usize| {
        let words = ["emulate", "--isolated", "--rate", "12", "--quiet"];
        let mut all = words.to_vec();
        all.extend(["--out", &out, "--delay", delay, "--", "true"]);
        let mut command = command(&all);
        command.env(KILL_AT, at.to_string());
        command.output().expect("it starts")
    };
    old_or_new(&folder, ["51ms", "52ms"], &made);
}

#[test]
fn a_kill_at_any_step_leaves_the_old_run_of_a_base_station_or_the_new_one() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("kills-gnb");
    let space = n3();
    let toml = format!(
        "cell = \"lte\"\n[n3]\naddress = [\"{GNB}\"]\n[reports]\nprofile = \"off\"\n\
         [[ue]]\nname = \"alice\"\naddress = [\"10.45.0.2\"]\nuplink = {{ address = \"{UPF}\", teid = 17 }}\ndownlink = 1001\n"
    );
    let (file, out) = (folder.file("gnb.toml"), folder.file("at"));
    std::fs::write(&file, toml).expect("it can be written");
    let made = |delay: &str, at: usize| {
        let set = format!("path.rtt={delay}");
        let words = ["gnb", &file, "--quiet", "--set", &set];
        let mut all = words.to_vec();
        all.extend(["--out", &out, "--", "true"]);
        let mut command = command(&all);
        command.env(KILL_AT, at.to_string());
        let done = space.inside(|| Ok(command.output()));
        done.expect("a namespace").expect("it starts")
    };
    old_or_new(&folder, ["51ms", "52ms"], &made);
}
