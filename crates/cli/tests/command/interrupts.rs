//! Ctrl-C keeps what is done, marks it, and ends with 130.

use std::io::{BufRead as _, BufReader};

use crate::shell::{Folder, Ran};
use crate::signal::{Signal, send};

/// Runs `args`, with a line of progress for each of so many `parts`, presses Ctrl-C once `lines` were read, and waits for the end.
fn interrupted(f: &Folder, args: &[&str], parts: &str, lines: usize) -> Ran {
    let mut child = f
        .command(args)
        .env("SLACKWATER_PROGRESS_PARTS", parts)
        .spawn()
        .expect("the command starts");
    let mut said = BufReader::new(child.stderr.take().expect("piped"));
    let mut all = String::new();
    let mut read = 0;
    while read < lines {
        let mut line = String::new();
        let n = said.read_line(&mut line).expect("text");
        assert!(n > 0, "it ended before: {all}");
        read += usize::from(line.starts_with("progress: "));
        all += &line;
    }
    send(child.id(), Signal::SIGINT);
    // What it says until its end, so that no pipe is full.
    let rest = std::thread::spawn(move || {
        let mut text = String::new();
        std::io::Read::read_to_string(&mut said, &mut text).map(|_| text)
    });
    let mut output = child.wait_with_output().expect("it ends");
    output.stderr = rest.join().expect("read").expect("text").into_bytes();
    Ran::of(&output, args)
}

fn json(f: &Folder, file: &str) -> serde_json::Value {
    serde_json::from_str(&f.read(file)).expect("JSON")
}

#[test]
fn a_comparison_keeps_its_whole_seeds() {
    let f = Folder::new("interrupt-compare");
    let args = [
        "compare",
        "constant-12mbps",
        "--controllers",
        "cubic,reno",
        "--seeds",
        "400",
        "--jobs",
        "1",
        "--set",
        "duration=1 s",
    ];
    // 800 runs, a line each at most, which comes while its run goes on: that of the fourteenth may be stopped, and six seeds are whole.
    let ran = interrupted(&f, &args, "800", 14);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    let numbers = json(&f, "runs/constant-12mbps-compare/compare.json");
    let seeds = numbers["seeds"].as_array().expect("seeds").len();
    assert!((6..400).contains(&seeds), "{seeds}");
    let rows = numbers["rows"].as_array().expect("rows");
    assert_eq!(rows.len(), 2);
    for row in rows {
        // Each row has all of them.
        assert_eq!(row["metrics"][0]["n"], seeds, "{row}");
    }
    let said = format!(
        "interrupted with {seeds} of 400 seeds whole, {} of 800 runs",
        2 * seeds
    );
    let manifest = json(&f, "runs/constant-12mbps-compare/results.json");
    let partial = manifest["partial"].as_str().expect("it is marked");
    assert!(partial.starts_with(&said), "{partial}");
    assert!(ran.err.contains(&said), "{}", ran.err);
    assert!(
        ran.out.contains("cubic") && ran.out.contains("report.html"),
        "{}",
        ran.out
    );
    let page = f.read("runs/constant-12mbps-compare/report.html");
    assert!(
        page.contains(&format!("Partial results: {said}")),
        "the page says so too"
    );
    assert!(f.run(&["ls"]).fine().out.contains("comparison (partial)"));
}

#[test]
fn a_run_keeps_its_first_part_and_is_repeated_to_the_digit() {
    let f = Folder::new("interrupt-run");
    let long = ["run", "lte-demo", "--set", "duration=100000 s"];
    let ran = interrupted(&f, &long, "100000", 2);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    let summary = json(&f, "runs/lte-demo/summary.json");
    let length = summary["duration_s"].as_f64().expect("a number");
    assert!(length > 0.0 && length < 100_000.0, "{length}");
    assert!(summary["goodput_mbps"].as_f64().is_some_and(|g| g > 0.0));
    let manifest = json(&f, "runs/lte-demo/results.json");
    let partial = manifest["partial"].as_str().expect("it is marked");
    assert!(
        partial.starts_with("interrupted at ") && partial.ends_with(" of 100000 s"),
        "{partial}"
    );
    assert!(f.path("runs/lte-demo/flows.parquet").exists());
    let again = f.run(&["rerun", "runs/lte-demo"]).fine().out;
    assert!(
        again.ends_with("1 of 1 runs equal to the digit\n"),
        "{again}"
    );

    // Whole results take its place, and the next part of a run takes none of theirs.
    f.run(&["run", "lte-demo", "--set", "duration=1 s"]).fine();
    let whole = f.tree("runs/lte-demo");
    let ran = interrupted(&f, &long, "100000", 1);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(whole == f.tree("runs/lte-demo"));
    assert!(
        ran.out.contains("lte-demo-partial/report.html"),
        "{}",
        ran.out
    );
    assert!(json(&f, "runs/lte-demo-partial/results.json")["partial"].is_string());
}

#[test]
fn nothing_measured_leaves_nothing() {
    let f = Folder::new("interrupt-warmup");
    let args = [
        "run",
        "constant-12mbps",
        "--set",
        "duration=1000000 s",
        "--set",
        "warmup=999999 s",
    ];
    let ran = interrupted(&f, &args, "1000000", 1);
    assert_eq!((ran.code, ran.out.as_str()), (Some(130), ""));
    assert_eq!(ran.err, "slackwater: interrupted, nothing is kept\n");
    assert!(!f.path("runs/constant-12mbps/results.json").exists());
}

#[test]
fn a_reproduction_keeps_its_whole_seeds() {
    let f = Folder::new("interrupt-repro");
    let args = [
        "repro",
        "xrc",
        "--only",
        "fig3",
        "--seeds",
        "300",
        "--max-seeds",
        "300",
        "--jobs",
        "1",
    ];
    // Eight thousandths of 300 seeds: two are whole.
    let ran = interrupted(&f, &args, "1000", 8);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    let checks = json(&f, "runs/repro-xrc/checks.json");
    let seeds = checks["seeds"].as_array().expect("seeds").len();
    assert!((2..300).contains(&seeds), "{seeds}");
    let said = format!("interrupted with {seeds} of 300 seeds whole");
    assert_eq!(checks["partial"], said);
    assert!(ran.err.contains(&said), "{}", ran.err);
    let manifest = json(&f, "runs/repro-xrc/results.json");
    assert_eq!(manifest["partial"], said);
    assert!(f.read("runs/repro-xrc/index.html").contains(&said));
}

#[test]
fn a_validation_shows_the_references_that_are_whole() {
    let f = Folder::new("interrupt-validate");
    let ran = interrupted(&f, &["validate"], "5", 1);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(ran.err.contains("interrupted with 1 of 5 references whole"));
    assert!(ran.out.starts_with("Linux 6.18 TCP"), "{}", ran.out);
}

#[test]
fn an_arena_keeps_its_rows() {
    let f = Folder::new("interrupt-arena");
    let args = [
        "arena",
        "--quick",
        "--cells",
        "lte-steps",
        "--systems",
        "cubic",
        "--seeds",
        "900",
        "--jobs",
        "1",
    ];
    let ran = interrupted(&f, &args, "900", 3);
    assert_eq!(ran.code, Some(130), "{}", ran.err);
    assert!(
        ran.err
            .contains("runs/arena-quick keeps; the same command goes on"),
        "{}",
        ran.err
    );
    let rows = f.read("runs/arena-quick/results.jsonl").lines().count();
    assert!((3..900).contains(&rows), "{rows}");
    let left = f.run(&[&args[..], &["--estimate"]].concat());
    let said = format!("{} runs ({rows} of 900 are there already)", 900 - rows);
    assert!(left.err.contains(&said), "{}", left.err);
}
