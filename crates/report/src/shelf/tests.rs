use std::path::{Path, PathBuf};

use slackwater_control::registry::Plugin;
use slackwater_control::{Ack, CongestionEvent, Controller, Intent, PathView};
use slackwater_core::{Bytes, Instant};
use slackwater_lab::beacon::Beacon;
use slackwater_lab::run::{Control, run_scenario};
use slackwater_results::metrics::Closed;
use slackwater_results::output;
use slackwater_scenario::{Plugins, Scenario};

use super::*;
use crate::{self as report, view};

const TEXT: &str = r#"
name = "shelved"
duration = "2 s"

[path]
rtt = "20 ms"
[link]
kind = "rate"
rate = "10 Mbit/s"
queue = { kind = "fifo", limit = "50 packets" }

[[flow]]
controller = "bbr"
"#;

/// A folder of results that goes when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path =
            std::env::temp_dir().join(format!("slackwater-shelf-{name}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn put(folder: &Path, seed: u64) {
    let scenario = Scenario::parse("shelved.toml", TEXT, Path::new(".")).expect("a scenario");
    let run = run_scenario(&scenario, seed, &mut |_| Control::Continue).expect("a run");
    output::write_run(folder, &run.scenario, &run.summary, &run.records).expect("written");
}

/// What runs below `shelf`.
fn running(shelf: &Shelf) -> Vec<(String, slackwater_lab::beacon::Live)> {
    live::running(shelf, shelf.glance().1)
}

#[test]
fn a_summary_is_read_again_where_it_changed_and_hidden_folders_are_not_read() {
    let folder = Folder::new("again");
    let shelf = Shelf::new(&folder.0);
    assert_eq!(shelf.glance().0, Glance::default());
    put(&folder.0.join("a"), 1);
    put(&folder.0.join(".b.part"), 2);
    let first = shelf.glance().0;
    assert_eq!((first.runs, first.pages, shelf.entries().len()), (1, 0, 1));

    // Another length, whatever the clock of the file system says.
    let file = folder.0.join("a/summary.json");
    let text = std::fs::read_to_string(&file).expect("a file");
    let other = text.replace("\"seed\": 1,", "\"seed\": 12345,");
    assert_ne!(text, other);
    std::fs::write(&file, other).expect("a file");
    assert_eq!(shelf.entries()[0].seed, 12345);
    assert_ne!(shelf.glance().0, first);

    std::fs::write(folder.0.join("page.html"), "").expect("a file");
    assert_eq!(shelf.glance().0.pages, 1);
    std::fs::remove_dir_all(folder.0.join("a")).expect("a folder");
    assert_eq!((shelf.glance().0.runs, shelf.entries().len()), (0, 0));
    let without = shelf.glance().0;
    std::fs::write(folder.0.join("arena.json"), "").expect("a file");
    assert_ne!(shelf.glance().0, without);
}

#[test]
fn a_row_of_seeds_mixes_no_controllers_and_no_settings() {
    let folder = Folder::new("groups");
    let put = |name: &str, seed: u64, changes: &[(&str, &str)]| {
        let mut scenario =
            Scenario::parse("shelved.toml", TEXT, Path::new(".")).expect("a scenario");
        for (key, value) in changes {
            scenario = scenario.with(key, value).expect("a change");
        }
        scenario.seed = seed;
        let run = run_scenario(&scenario, seed, &mut |_| Control::Continue).expect("a run");
        let at = folder.0.join(name);
        output::write_run(&at, &run.scenario, &run.summary, &run.records).expect("written");
    };
    put("one", 1, &[]);
    put("two", 2, &[]);
    put("again", 2, &[]);
    put("cubic", 3, &[("flow.controller", "cubic")]);
    put("slower", 4, &[("link.rate", "5 Mbit/s")]);
    put("below/one", 5, &[]);
    let entries = Shelf::new(&folder.0).entries();
    let mut groups = Group::of(&entries);
    groups.sort_by_key(|g| g.seeds.iter().min().copied());
    let seeds: Vec<Vec<u64>> = groups
        .iter()
        .map(|g| {
            let mut seeds = g.seeds.clone();
            seeds.sort_unstable();
            seeds
        })
        .collect();
    assert_eq!(seeds, [vec![1, 2], vec![3], vec![4], vec![5]]);
    let goodput = groups[0].values["goodput"];
    assert!(goodput.n == 2 && goodput.interval.is_some());
    assert!(groups[1].values["goodput"].interval.is_none());
}

#[test]
fn rows_differ_seed_by_seed_within_their_scenario() {
    let entry = |path: &str, scenario: &str, controller: &str, seed: u64, goodput: f64| Entry {
        path: path.to_owned(),
        scenario: scenario.to_owned(),
        labels: vec![],
        controllers: vec![controller.to_owned()],
        seed,
        duration_s: 1.0,
        written: 0,
        scenario_hash: "0".to_owned(),
        metrics: serde_json::from_value(serde_json::json!({ "goodput": goodput })).expect("a map"),
    };
    let entries = [
        entry("c/a-1", "lte", "cubic", 1, 10.0),
        entry("c/a-2", "lte", "cubic", 2, 20.0),
        entry("c/a-3", "lte", "cubic", 3, 30.0),
        // Seed 3 is missing, seed 4 is nobody else's.
        entry("c/b-2", "lte", "bbr", 2, 17.0),
        entry("c/b-1", "lte", "bbr", 1, 7.1),
        entry("c/b-4", "lte", "bbr", 4, 99.0),
        entry("c/d-1", "nr", "bbr", 1, 50.0),
        entry("c/e-5", "lte", "copa", 5, 50.0),
    ];
    // Any run of the row names it.
    let found = differences(&entries, "c/a-2").expect("there");
    assert_eq!(found.keys().collect::<Vec<_>>(), ["c/b-2"]);
    let goodput = found["c/b-2"]["goodput"];
    assert_eq!(goodput.estimate.n, 2);
    assert!((goodput.estimate.mean + 2.95).abs() < 1e-12);
    assert!(
        goodput.stands,
        "the intervals of both rows overlap, the seeds agree"
    );
    assert!(differences(&entries, "c/x").is_none());
}

#[test]
fn a_page_says_how_many_flows_have_no_curves() {
    let notes = |count: &str| {
        let scenario = Scenario::parse("shelved.toml", TEXT, Path::new("."))
            .and_then(|s| s.with("flow.count", count))
            .expect("a scenario");
        let run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run");
        view::report(&[run], "").notes.join("\n")
    };
    assert!(notes("13").contains("the first 12 of 13 flows"));
    assert!(!notes("12").contains("flows"), "all of them are drawn");
}

#[test]
fn a_page_names_a_connection_that_was_closed() {
    let scenario = Scenario::parse("shelved.toml", TEXT, Path::new(".")).expect("a scenario");
    let mut run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run");
    run.summary.flows[0].closed = Some(Closed {
        at_s: 1.25,
        reason: "timed out".to_owned(),
    });
    let notes = view::report(&[run], "").notes.join("\n");
    assert!(
        notes.contains("closed at 1.250 s (timed out)") && notes.contains("seed 1"),
        "{notes}"
    );
}

#[test]
fn a_run_is_read_back_as_it_was_written() {
    let folder = Folder::new("back");
    put(&folder.0.join("a/seed-1"), 1);
    put(&folder.0.join("b"), 2);
    let shelf = Shelf::new(&folder.0);
    let mut entries = shelf.entries();
    entries.sort_by_key(|e| e.seed);
    let paths: Vec<&str> = entries.iter().map(|e| e.path.as_str()).collect();
    assert_eq!(paths, ["a/seed-1", "b"]);
    assert_eq!(entries[0].controllers, ["bbr"]);
    let goodput = entries[0].metrics["goodput"].as_f64().expect("a number");
    let page = overlay(&shelf, &["a/seed-1".to_owned(), "b".to_owned()]).expect("both are there");
    assert_eq!(page.runs.len(), 2);
    let run = &page.runs[0];
    let of =
        |kind: &report::SeriesKind| run.series.iter().find(|s| s.kind == *kind).expect("drawn");
    let rate = &of(&report::SeriesKind::Throughput).y;
    let mean = rate.iter().sum::<f64>() / rate.len() as f64;
    assert!((mean - goodput).abs() < 0.05 * goodput, "{mean} {goodput}");
    assert!(
        of(&report::SeriesKind::Capacity)
            .y
            .iter()
            .all(|c| (c - 10.0).abs() < 0.2)
    );
    let states: Vec<&str> = run.bands[0]
        .bands
        .iter()
        .map(|b| b.state.as_str())
        .collect();
    assert_eq!(states[0], "STARTUP");
    assert!(states.len() > 1, "{states:?}");
}

/// A window that stands still, in one of two states.
#[derive(Clone, Debug)]
struct Still(bool);

impl Controller for Still {
    fn on_ack(&mut self, now: Instant, _path: &PathView, _ack: &Ack) {
        self.0 = now >= Instant::from_millis(1000);
    }
    fn on_congestion(&mut self, _now: Instant, _path: &PathView, _event: &CongestionEvent) {}
    fn intent(&self) -> Intent {
        Intent {
            window: Some(Bytes(20 * 1448)),
            ..Intent::default()
        }
    }
    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("mode", f64::from(u8::from(self.0))));
    }
    fn name(&self) -> &'static str {
        "still"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

/// A run names the states of controllers that the program which reads it back does not know.
#[test]
fn states_of_a_controller_from_outside_are_read_back() {
    let folder = Folder::new("own");
    let still =
        Plugin::new("still", "20 segments", |_| Still(false)).with_modes(&["EARLY", "LATE"]);
    let plugins = Plugins::new().with_controller(still).expect("a free name");
    let text = TEXT.replace("bbr", "still");
    let scenario = Scenario::parse("own.toml", &text, Path::new(".")).expect("a scenario");
    let scenario = scenario.with_plugins(&plugins);
    let run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run");
    let own = folder.0.join("own");
    output::write_run(&own, &run.scenario, &run.summary, &run.records).expect("written");
    put(&folder.0.join("built-in"), 1);
    assert!(!folder.0.join("built-in").join(output::STATES).exists());

    let shelf = Shelf::new(&folder.0);
    let page = overlay(&shelf, &["own".to_owned()]).expect("it is there");
    let bands = &page.runs[0].bands[0];
    let states: Vec<&str> = bands.bands.iter().map(|b| b.state.as_str()).collect();
    assert_eq!(
        (bands.controller.as_str(), &states[..]),
        ("still", &["EARLY", "LATE"][..])
    );

    std::fs::write(own.join(output::STATES), "[]").expect("written");
    let broken = overlay(&shelf, &["own".to_owned()]).expect_err("no object");
    assert!(broken.to_string().contains(output::STATES), "{broken}");
}

const EDGES: &str = r#"
name = "edges"
duration = "4 s"

[path]
rtt = "20 ms"
[cell]
rat = "lte"
rlc = { buffer = "500 kB" }
[upf]
vaqm.mode = "window"
l4s.on = true
[[ue]]
channel = { kind = "mcs", mcs = 12 }

[[flow]]
controller = "cubic"
"#;

/// An overlay has the bands and curves that the run's own report has.
#[test]
fn states_of_edge_functions_are_read_back() {
    let folder = Folder::new("edges");
    let scenario = Scenario::parse("edges.toml", EDGES, Path::new(".")).expect("a scenario");
    let run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run");
    output::write_run(
        &folder.0.join("x"),
        &run.scenario,
        &run.summary,
        &run.records,
    )
    .expect("written");
    let page = overlay(&Shelf::new(&folder.0), &["x".to_owned()]).expect("it is there");
    let own = view::report(std::slice::from_ref(&run), "");
    let labels = |view: &report::RunView| -> Vec<String> {
        view.bands.iter().map(|b| b.label.clone()).collect()
    };
    assert_eq!(labels(&page.runs[0])[0], "UE 0, vAQM");
    assert_eq!(labels(&page.runs[0]), labels(&own.runs[0]));
    let vaqm = &page.runs[0].bands[0];
    assert!(vaqm.bands.iter().any(|b| b.state == "shape"), "{vaqm:?}");
    assert_eq!(vaqm, &own.runs[0].bands[0]);
    let plot = |view: &report::RunView| {
        view.series
            .iter()
            .filter(|s| s.controller == "vaqm")
            .map(|s| s.label.clone())
            .collect::<Vec<_>>()
    };
    assert!(!plot(&own.runs[0]).is_empty());
    assert_eq!(plot(&page.runs[0]), plot(&own.runs[0]));
}

#[test]
fn paths_that_lead_out_and_runs_that_are_not_there_are_refused() {
    let folder = Folder::new("out");
    put(&folder.0.join("inside/run"), 1);
    let shelf = Shelf::new(folder.0.join("inside"));
    assert!(shelf.resolve("run").is_some());
    for path in [
        "",
        "..",
        "../inside/run",
        "/etc/passwd",
        "run/../..",
        "none",
        "./run",
    ] {
        assert!(shelf.resolve(path).is_none(), "{path}");
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc", folder.0.join("inside/etc")).expect("a link");
        assert!(
            shelf.resolve("etc/passwd").is_none(),
            "a link must not lead out"
        );
    }
    let error = overlay(&shelf, &["none".to_owned()]).expect_err("it is not there");
    assert!(
        error.to_string().starts_with("none: no run of this name"),
        "{error}"
    );
}

#[test]
fn files_that_are_broken_are_left_out_or_named() {
    let folder = Folder::new("broken");
    put(&folder.0.join("good"), 1);
    put(&folder.0.join("torn"), 2);
    std::fs::write(folder.0.join("torn/throughput.parquet"), b"PAR1").expect("written");
    std::fs::create_dir_all(folder.0.join("half")).expect("made");
    std::fs::write(folder.0.join("half/summary.json"), "{").expect("written");
    let shelf = Shelf::new(&folder.0);
    assert_eq!(shelf.entries().len(), 2, "half a summary is none");
    let error = overlay(&shelf, &["torn".to_owned()]).expect_err("torn");
    assert!(error.to_string().contains("throughput.parquet"), "{error}");
    assert!(overlay(&shelf, &["good".to_owned()]).is_ok());
}

#[test]
fn what_runs_is_seen_until_it_ends() {
    let folder = Folder::new("live");
    let shelf = Shelf::new(&folder.0);
    let mut beacon = Beacon::light(&folder.0.join("x"), "training", "a policy");
    assert_eq!(running(&shelf).len(), 1);
    beacon.point("reward", "", 1.0, 0.5);
    // It writes now and then: until it does.
    while running(&shelf)[0].1.share.is_none() {
        beacon.share(0.5);
    }
    let (path, said) = running(&shelf).remove(0);
    assert_eq!((path.as_str(), said.share), ("x", Some(0.5)));
    assert_eq!(said.curves[0].y, [0.5]);
    drop(beacon);
    assert!(running(&shelf).is_empty());
}
