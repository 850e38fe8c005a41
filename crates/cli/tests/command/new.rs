//! `slackwater new` and `slackwater trace make`: what they write runs as they say.

use std::path::Path;
use std::process::Command;

use slackwater_scenario::builtin;
use slackwater_scenario::data::{read_bytes, read_text};

use crate::shell::Folder;

const CHECKOUT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");

/// The words of the command that `said` names after `next:`.
fn next(said: &str) -> Vec<String> {
    let line = said.lines().find_map(|l| l.strip_prefix("next: "));
    let line = line.expect("a next command");
    line.split(' ').map(str::to_owned).collect()
}

#[test]
fn a_new_scenario_runs_by_the_printed_command_and_is_not_overwritten() {
    let f = Folder::new("new-scenario");
    for what in ["cell", "link"] {
        let name = format!("my-{what}");
        let said = f.run(&["new", what, &name]).fine().out;
        let words = next(&said);
        let (program, words) = words.split_first().expect("a program");
        assert_eq!(program, "slackwater");
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        // A note says that `compare` runs all that varies.
        let ran = f.run(&words);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        assert!(Path::new(&f.path(&format!("runs/{name}/report.html"))).is_file());
        let before = f.read(&format!("{name}/{what}.toml"));
        let again = f.run(&["new", what, &name]);
        assert_eq!(again.code, Some(2));
        assert!(
            again.err.contains("nothing is overwritten"),
            "{}",
            again.err
        );
        assert_eq!(f.read(&format!("{name}/{what}.toml")), before);
    }
}

#[test]
fn new_programs_are_those_of_the_tutorials() {
    let read = |path: &str| std::fs::read_to_string(Path::new(CHECKOUT).join(path)).expect(path);
    for (template, example) in [
        ("controller/main.rs", "my-controller/src/main.rs"),
        ("scheduler/main.rs", "my-scheduler/src/main.rs"),
        ("scheduler/cell.toml", "my-scheduler/cell.toml"),
        ("system/main.rs", "sixth-system/src/main.rs"),
        ("system/cell.toml", "sixth-system/cell.toml"),
    ] {
        let ours = read(&format!("crates/cli/templates/{template}"));
        assert_eq!(ours, read(&format!("examples/{example}")), "{template}");
    }
}

#[test]
fn a_new_controller_compiles_against_the_checkout() {
    let f = Folder::new("new-controller");
    let said = f
        .run(&["new", "controller", "own-law", "--checkout", CHECKOUT])
        .fine()
        .out;
    assert_eq!(next(&said)[..2], ["cargo", "run"]);
    assert!(
        said.contains("-- compare lte-demo --controllers own-law,cubic"),
        "{said}"
    );
    assert!(
        f.read("own-law/src/main.rs")
            .contains("Plugin::new(\"own-law\"")
    );
    // The manifest is one, and its dependency is there.
    let told = Command::new(env!("CARGO"))
        .args([
            "metadata",
            "--no-deps",
            "--offline",
            "--format-version",
            "1",
            "--manifest-path",
        ])
        .arg(f.path("own-law/Cargo.toml"))
        .output()
        .expect("cargo starts");
    let told = String::from_utf8_lossy(&told.stdout).into_owned();
    assert!(told.contains("\"name\":\"slackwater-cli\""), "{told}");
    // The library that this test's build has made: the whole of it once more would take minutes.
    let deps = std::env::current_exe()
        .expect("a test")
        .parent()
        .expect("in deps")
        .to_owned();
    let built = std::fs::read_dir(&deps)
        .expect("a folder")
        .filter_map(|entry| {
            let path = entry.ok()?.path();
            let name = path.file_name()?.to_str()?;
            let ours = name.starts_with("libslackwater_cli-") && path.extension()? == "rlib";
            ours.then(|| Some((path.metadata().ok()?.modified().ok()?, path.clone())))?
        });
    let (_, newest) = built.max().expect("this package was built");
    let rustc = std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into());
    let checked = Command::new(rustc)
        .args([
            "--edition",
            "2024",
            "--crate-name",
            "own_law",
            "--emit",
            "metadata",
            "-D",
            "warnings",
        ])
        .arg("--extern")
        .arg(format!("slackwater_cli={}", newest.display()))
        .arg("-L")
        .arg(format!("dependency={}", deps.display()))
        .arg("-o")
        .arg(f.path("own_law.rmeta"))
        .arg(f.path("own-law/src/main.rs"))
        .output()
        .expect("rustc starts");
    assert!(
        checked.status.success(),
        "{}",
        String::from_utf8_lossy(&checked.stderr)
    );
}

#[test]
fn names_that_are_no_names_and_wrong_options_are_refused() {
    let f = Folder::new("new-wrong");
    for words in [
        vec!["new", "cell", "../up"],
        vec!["new", "cell", "Big"],
        vec!["new", "cell", "x", "--python"],
        vec!["new", "controller", "cubic"],
        vec!["new", "system", "mine", "--checkout", "."],
    ] {
        let ran = f.run(&words);
        assert_eq!(ran.code, Some(2), "{words:?}");
        assert!(ran.err.contains("expected"), "{}", ran.err);
    }
    assert_eq!(std::fs::read_dir(f.path("")).expect("there").count(), 0);
}

#[test]
fn traces_inside_the_program_are_what_their_commands_make() {
    let f = Folder::new("trace-make");
    for trace in builtin::ALL {
        let file = format!("{}.xz", trace.name);
        let mut words = trace.made_by.to_vec();
        words.extend(["--out", &file]);
        f.run(&words).fine();
        let made = read_text(Path::new(&f.path(&file))).expect("a trace");
        let inside = format!("{}{}", builtin::PREFIX, trace.name);
        let inside = read_text(Path::new(&inside)).expect("inside the program");
        assert!(
            made == inside,
            "{} is not what its command makes",
            trace.name
        );
    }
}

#[test]
fn a_packed_trace_is_written_read_and_run() {
    let f = Folder::new("trace-packed");
    let words = ["trace", "make", "steps", "--length", "20s", "-o"];
    f.run(&[&words[..], &["plain.down"]].concat()).fine();
    let plain = std::fs::read(f.path("plain.down")).expect("a trace");
    f.run(&["new", "link", "line"]).fine();
    for ending in ["xz", "gz", "zst"] {
        let (made, copy) = (format!("made.{ending}"), format!("copy.{ending}"));
        f.run(&[&words[..], &[&made]].concat()).fine();
        f.run(&["trace", "import", "plain.down", "-o", &copy])
            .fine();
        for file in [&made, &copy] {
            let packed = std::fs::read(f.path(file)).expect("written");
            assert!(packed.len() < plain.len() / 2, "{file}: {}", packed.len());
            let back = read_bytes(Path::new(&f.path(file))).expect("a trace");
            assert!(back == plain, "{file}");
        }

        let set = format!("link.file=../{made}");
        let words = ["run", "line/link.toml", "--no-files", "--set", &set];
        let ran = f.run(&[&words[..], &["--set", "duration=4 s"]].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
}

#[test]
fn a_made_trace_runs_in_both_forms_and_wrong_options_name_what_is_expected() {
    let f = Folder::new("trace-make-run");
    let make = |more: [&str; 2]| {
        let words = ["trace", "make", "steps", "-o", "steps.down"];
        f.run(&[&words[..], &more].concat())
    };
    // The same once more is no harm, another trace is.
    for _ in 0..2 {
        make(["--length", "20s"]).fine();
    }
    assert_eq!(make(["--seed", "2"]).code, Some(2));
    let stats = f
        .run(&[
            "trace",
            "stats",
            "--json",
            "steps.down",
            "builtin:outage.down",
        ])
        .fine()
        .json();
    let mean = stats[0]["mean_mbps"].as_f64().expect("a mean");
    assert!((mean - 12.0).abs() < 0.01, "{mean}");
    assert!(stats[1]["longest_gap_s"].as_f64().expect("a gap") >= 1.0);
    f.run(&["new", "link", "line"]).fine();
    for file in ["../steps.down", "builtin:handover.down"] {
        let set = format!("link.file={file}");
        let ran = f.run(&[
            "run",
            "line/link.toml",
            "--no-files",
            "--set",
            &set,
            "--set",
            "duration=4 s",
        ]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
    }
    for (words, part) in [
        (vec!["--mean", "12 Mbps"], "12 Mbit/s"),
        (vec!["--length", "0 s"], "--length"),
        (vec!["--gap", "20 s"], "--every"),
    ] {
        let mut all = vec!["trace", "make", "outage", "-o", "x"];
        all.extend(words);
        let ran = f.run(&all);
        assert_eq!(ran.code, Some(2), "{all:?}");
        assert!(ran.err.contains(part), "{}", ran.err);
    }
}
