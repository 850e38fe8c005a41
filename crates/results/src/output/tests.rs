//! Files are read back with a reader that did not write them.

use std::sync::Arc;

use ::parquet::file::reader::{FileReader, SerializedFileReader};
use ::parquet::record::RowAccessor;
use slackwater_core::record::{FlowSample, LinkSample, PacketEvent};
use slackwater_core::{Bytes, Datagram, Duration, FlowId, Instant, NodeId, Packet, Recorder};

use super::*;
use crate::metrics::{Estimate, summarize};
use crate::record::{RecorderConfig, RunRecorder};
use crate::table::{Cell, Column, Table, Tone};

fn scenario() -> Scenario {
    let text = r#"
name = "files"
duration = "2 s"
[link]
kind = "rate"
rate = "10 Mbit/s"
[[flow]]
controller = "reno"
label = "only one"
[record]
packets = true
pcap = true
"#;
    Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"))
}

fn run(scenario: &Scenario) -> RunRecorder {
    let mut r = RunRecorder::new(RecorderConfig::of(scenario, NodeId(0), None));
    for k in 0..20u64 {
        let now = Instant::from_millis(100 * k);
        let mut s = FlowSample::default();
        s.cwnd = Bytes(14_480 + k);
        s.srtt = Duration::from_millis(k);
        s.delivered = Bytes(1000 * k);
        r.flow(now, FlowId(0), &s);
        r.internals(now, FlowId(0), &[("w_max", k as f64)]);
        r.link(now, NodeId(0), 0, &LinkSample::default());
        let p = Packet {
            created: now,
            len: 1500,
            body: Datagram::new(0, 1448).into(),
            ..Packet::default()
        };
        r.packet(now, NodeId(0), &p, PacketEvent::Sent);
        r.packet(
            now + Duration::from_millis(20),
            NodeId(0),
            &p,
            PacketEvent::Delivered,
        );
    }
    r
}

/// A folder of its own below the system's temporary folder, gone when dropped.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("slackwater-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a temporary folder");
        Self(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn a_run_leaves_files_that_can_be_read_back() {
    let scratch = Scratch::new("files");
    let scenario = scenario();
    let run = run(&scenario);
    let mut summary = summarize(&run);
    summary.identify(&scenario, &[], 7);
    let files = write_run(&scratch.0, &scenario, &summary, &run).expect("written");
    let names: Vec<String> = files
        .iter()
        .filter_map(|f| Some(f.file_name()?.to_string_lossy().into_owned()))
        .collect();
    assert_eq!(
        names,
        [
            "scenario.toml",
            "flow0.sqlog",
            "senders.pcapng",
            "flows.parquet",
            "links.parquet",
            "throughput.parquet",
            "internals.parquet",
            "packets.parquet",
            "summary.json",
        ]
    );

    let json = std::fs::read_to_string(scratch.0.join("summary.json")).expect("read");
    let back: RunSummary = serde_json::from_str(&json).expect("our own format");
    assert_eq!(back, summary);
    assert_eq!(back.seed, 7);

    let again = Scenario::load(scratch.0.join("scenario.toml")).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again.to_toml(), scenario.to_toml());

    let file = std::fs::File::open(scratch.0.join("flows.parquet")).expect("open");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let rows: Vec<_> = reader
        .get_row_iter(None)
        .expect("rows")
        .collect::<Result<_, _>>()
        .expect("rows");
    assert_eq!(rows.len(), 20);
    let row = &rows[3];
    assert_eq!(row.get_long(0).expect("time"), 300_000_000);
    assert_eq!(row.get_string(2).expect("label"), "only one");
    assert_eq!(row.get_long(3).expect("cwnd"), 14_483);
    assert!(row.get_double(4).expect("ssthresh").is_nan());
}

#[test]
fn two_writes_of_one_run_are_the_same_bytes() {
    let (a, b) = (Scratch::new("same-a"), Scratch::new("same-b"));
    let scenario = scenario();
    for s in [&a, &b] {
        let run = run(&scenario);
        write_run(&s.0, &scenario, &summarize(&run), &run).expect("written");
    }
    for entry in std::fs::read_dir(&a.0).expect("folder") {
        let name = entry.expect("entry").file_name();
        let read = |s: &Scratch| std::fs::read(s.0.join(&name)).expect("read");
        assert_eq!(read(&a), read(&b), "{}", name.to_string_lossy());
    }
}

#[test]
fn a_folder_that_cannot_be_made_is_named() {
    let scratch = Scratch::new("blocked");
    let file = scratch.0.join("file");
    std::fs::write(&file, "").expect("written");
    let scenario = scenario();
    let run = run(&scenario);
    let error =
        write_run(&file.join("below"), &scenario, &summarize(&run), &run).expect_err("blocked");
    assert!(error.to_string().contains("file/below"), "{error}");
}

#[test]
fn folders_are_named_after_what_varies() {
    let labels = |v: &[&str]| -> Vec<(String, String)> {
        v.iter()
            .map(|s| ("key".to_owned(), (*s).to_owned()))
            .collect()
    };
    assert_eq!(run_folder(&[], 1), "seed-1");
    assert_eq!(
        run_folder(&labels(&["cubic", "128 packets"]), 3),
        "cubic-128-packets-seed-3"
    );
    assert_eq!(run_folder(&labels(&["../etc"]), 3), "..-etc-seed-3");
    assert!(run_folder(&labels(&["x".repeat(900).as_str()]), 3).len() < 200);
}

fn texts(table: &Table) -> Vec<Vec<String>> {
    let row = |row: &Vec<Cell>| row.iter().map(|c| c.text.clone()).collect();
    table.rows().iter().map(row).collect()
}

#[test]
fn a_comparison_shows_means_with_intervals_and_the_number_of_seeds() {
    let run = |controller: &str, goodput: f64| RunSummary {
        labels: vec![("flow.controller".to_owned(), controller.to_owned())],
        goodput_mbps: goodput,
        utilisation: Some(goodput / 12.0),
        ..RunSummary::default()
    };
    let runs = [run("cubic", 10.0), run("bbr", 9.0), run("cubic", 11.0)];
    let table = comparison_table(&runs);
    let heads: Vec<String> = table.columns().iter().map(Column::heading).collect();
    assert_eq!(
        heads[..4],
        ["run", "seeds", "total goodput (Mbit/s)", "utilisation (%)"]
    );
    let texts = texts(&table);
    // 10.5 exp(-+ 12.706 sqrt(0.5 / 2) / 10.5)
    assert_eq!(texts[0][..3], ["cubic", "2", "10.500 [5.733, 19.229]"]);
    assert_eq!(texts[1][..3], ["bbr", "1", "9.000"]);
    assert_eq!(texts.len(), 2);
    let e = Estimate::of(&[10.0, 11.0]).expect("values");
    assert_eq!(e.n, 2);
}

#[test]
fn a_comparison_shows_differences_seed_by_seed() {
    let run = |controller: &str, seed: u64, goodput: f64| RunSummary {
        labels: vec![("flow.controller".to_owned(), controller.to_owned())],
        seed,
        goodput_mbps: goodput,
        ..RunSummary::default()
    };
    // The cell of a seed decides more than the controller: the intervals overlap, the differences do not hold zero.
    let runs = [
        run("cubic", 1, 10.0),
        run("cubic", 2, 20.0),
        run("cubic", 3, 30.0),
        run("bbr", 3, 28.9),
        run("bbr", 1, 9.0),
        run("bbr", 2, 18.9),
        run("reno", 9, 5.0),
    ];
    let table = difference_table(&runs).expect("pairs");
    assert_eq!(table.columns()[0].label, "less cubic");
    assert_eq!(table.columns()[2].key, "goodput_total");
    let texts = texts(&table);
    // 4.303 * sqrt((0.0667^2 * 1.5) / 2 / 3)
    assert_eq!(texts[0][..3], ["bbr", "3", "-1.067 ± 0.143 *"]);
    assert_eq!(table.rows()[0][2].tone, Tone::Bad);
    assert_eq!(texts[1][..3], ["reno", "0", "-"], "no seed in common");
    assert!(difference_table(&runs[..3]).is_none());
    assert!(difference_table(&[runs[0].clone(), runs[4].clone()]).is_none());
}

/// A table of as many parts as flows, whose words are collected once, takes no time that grows with their square.
#[test]
fn all_flows_share_one_list_of_internals() {
    let mut scenario = scenario();
    scenario.flows = vec![scenario.flows[0].clone(); 3];
    let mut r = RunRecorder::new(RecorderConfig::of(&scenario, NodeId(0), None));
    for (flow, name) in [(0, "w_max"), (2, "alpha")] {
        r.internals(Instant::ZERO, FlowId(flow), &[(name, 1.0)]);
    }

    let tables = frame::frames(&r);
    let parts = tables.into_iter().find(|t| t.0 == "internals");
    let names: Vec<_> = parts
        .expect("the table is there")
        .1
        .map(|part| part.columns.into_iter().find(|c| c.0 == "name"))
        .map(|column| match column {
            Some((_, frame::Column::Text { codes, words })) => (codes, words),
            other => panic!("found {other:?}, expected texts"),
        })
        .collect();

    let codes: Vec<&[u32]> = names.iter().map(|n| n.0.as_slice()).collect();
    assert_eq!(codes, [&[1][..], &[], &[0]]);
    assert_eq!(*names[0].1, ["alpha".to_owned(), "w_max".to_owned()]);
    assert!(names.iter().all(|n| Arc::ptr_eq(&n.1, &names[0].1)));
}
