//! Results are old or new and never a mix: after a kill at each step of writing them, and on a full disk.

use std::os::unix::process::ExitStatusExt as _;
use std::process::Command;

use crate::shell::{Folder, Ran};

/// More steps of writing than there are.
const STEPS: usize = 100;
const SIGKILL: i32 = 9;

/// Whether `command` was killed at the step `at` of writing; false where it ended before that.
fn killed(mut command: Command, at: usize, args: &[&str]) -> bool {
    command.env("SLACKWATER_KILL_AT", at.to_string());
    let output = command.output().expect("the command starts");
    let killed = output.status.signal() == Some(SIGKILL);
    assert!(
        killed || output.status.success(),
        "{:?}",
        Ran::of(&output, args)
    );
    killed
}

/// A command that writes its results to the folder `at`, of this seed.
type Made = fn(&'static str) -> Vec<&'static str>;

fn run(seed: &'static str) -> Vec<&'static str> {
    let words = ["run", "constant-12mbps", "--out", "at", "--seed", seed];
    [&words[..], &["--set", "duration=1 s"]].concat()
}

fn compare(seed: &'static str) -> Vec<&'static str> {
    let words = [
        "compare",
        "constant-12mbps",
        "--controllers",
        "cubic,reno",
        "--seeds",
        "2",
        "--out",
        "at",
        "--seed",
        seed,
    ];
    [&words[..], &["--set", "duration=1 s"]].concat()
}

/// Kills the `made` at each step of writing in turn: what it leaves is old or new, and never a mix.
fn old_or_new(f: &Folder, made: Made, summary: &str) {
    // The page names the command, and so do these.
    f.run(&made("2")).fine();
    let new = f.tree("at");
    f.run(&made("1")).fine();
    let old = f.tree("at");
    assert!(old.iter().any(|file| file.0 == summary) && old != new);

    let mut seen = [0, 0];
    for at in 1..STEPS {
        let stopped = killed(f.command(&made("2")), at, &made("2"));
        // What says that a run is under way is no result.
        let mut found = f.tree("at");
        found.retain(|file| !["running.json", "running.part"].contains(&file.0.as_str()));
        let is_new = found == new;
        assert!(is_new || found == old, "a kill at step {at} left a mix");
        if !stopped {
            assert!(is_new, "it ended, and its results stand there");
            // Nothing beside them, of all the kills.
            let left = std::fs::read_dir(f.path("")).expect("ours").count();
            assert_eq!(left, 1);
            break;
        }
        seen[usize::from(is_new)] += 1;
        if is_new {
            f.run(&made("1")).fine();
        }
    }
    assert!(
        seen[0] > 5 && seen[1] > 0,
        "kills before and after the exchange: {seen:?}"
    );
}

#[test]
fn a_kill_at_any_step_leaves_the_old_run_or_the_new_one() {
    old_or_new(&Folder::new("kills-run"), run, "summary.json");
}

#[test]
fn a_kill_at_any_step_leaves_the_old_comparison_or_the_new_one() {
    old_or_new(&Folder::new("kills-compare"), compare, "compare.json");
}

#[test]
fn a_kill_leaves_no_table_of_one_arena_beside_that_of_another() {
    let f = Folder::new("kills-arena");
    let arena = |seeds: &'static str| {
        [
            "arena",
            "--quick",
            "--cells",
            "lte-steps",
            "--systems",
            "cubic",
            "--seeds",
            seeds,
        ]
    };
    let file = |name: &str| std::fs::read(f.path(&format!("runs/arena-quick/{name}"))).ok();
    let tables = || ["arena.json", "table.parquet"].map(file);
    let made = |seeds| {
        let made = f.run(&arena(seeds));
        assert_eq!(made.code, Some(0), "{}", made.err);
        tables()
    };
    let (new, old) = (made("2"), made("1"));
    assert!(old != new && old.iter().chain(&new).all(Option::is_some));
    let old_page = file("index.html");
    let mut unfinished = 0;
    for at in 1..STEPS {
        let stopped = killed(f.command(&arena("2")), at, &arena("2"));
        let found = tables();
        if found[0].is_some() {
            assert!(
                found == old || found == new,
                "a kill at step {at} left a mix"
            );
        } else {
            assert!(stopped);
            // A page without the table of all cells stands beside the rows that it shows.
            let page = file("index.html");
            let shown = if page == old_page { &old } else { &new };
            assert!(page.is_none() || found[1] == shown[1], "step {at}");
            unfinished += 1;
        }
        if !stopped {
            assert!(found == new);
            break;
        }
    }
    assert!(unfinished > 1, "kills between the files: {unfinished}");
    assert_eq!(f.read("runs/arena-quick/results.jsonl").lines().count(), 2);
}

/// In a mount namespace of its own, on a file system of 2 MB.
#[test]
fn a_full_disk_leaves_the_old_run() {
    let f = Folder::new("full-disk");
    std::fs::create_dir(f.path("small")).expect("ours");
    let script = "
        set -e
        mount -t tmpfs -o size=2m tmpfs small 2>/dev/null || exit 77
        \"$0\" run constant-12mbps --out small/at --seed 1 --set 'duration=1 s' >/dev/null
        cp -r small/at before
        # Room for less than another run.
        head -c 10m /dev/zero >small/fill 2>/dev/null || true
        truncate -s -4096 small/fill
        \"$0\" run constant-12mbps --out small/at --seed 2 --set 'duration=1 s' && exit 3
        cp -r small/at after
        rm small/fill
        \"$0\" run constant-12mbps --out small/at --seed 2 --set 'duration=1 s' >/dev/null
        ls -A small
    ";
    let made = Command::new("unshare")
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", script])
        .arg(env!("CARGO_BIN_EXE_slackwater"))
        .current_dir(f.path(""))
        .output();
    let Ok(made) = made else {
        eprintln!("skipped: no unshare");
        return;
    };
    let said = String::from_utf8_lossy(&made.stderr);
    if made.status.code() == Some(77)
        || said.contains("unshare failed")
        || said.starts_with("unshare:")
    {
        eprintln!("skipped: no file system can be mounted here: {said}");
        return;
    }
    assert_eq!(made.status.code(), Some(0), "{said}");
    assert!(said.contains("No space left"), "{said}");
    assert!(
        f.tree("before") == f.tree("after"),
        "the old run stands as it was"
    );
    assert_eq!(String::from_utf8_lossy(&made.stdout).trim(), "at", "{said}");
}
