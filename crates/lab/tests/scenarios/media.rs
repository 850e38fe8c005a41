//! A run of media and the files that it leaves.

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::RowAccessor;
use slackwater_lab::run::{Control, run_scenario};
use slackwater_results::metrics::Metric;
use slackwater_results::output::{tables::MEDIA_COLUMNS, write_run};
use slackwater_results::record::RunRecorder;
use slackwater_scenario::Scenario;

#[test]
fn a_run_of_media_gives_these_numbers_and_its_frames() {
    let scenario = Scenario::embedded("media-demo")
        .expect("built in")
        .and_then(|s| s.with("duration", "12 s"))
        .unwrap_or_else(|e| panic!("{e}"));
    let result = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("runs");
    let flow = &result.summary.flows[0];
    let media = flow.media.as_ref().expect("a media flow");
    assert_eq!(media.shown, flow_table_frames(&result.records));
    let text: Vec<String> = MEDIA_COLUMNS
        .iter()
        .filter_map(|k| Some(format!("{k} {:.2}", Metric::find(k)?.of_flow(flow)?)))
        .collect();
    assert_eq!(text.join(", "), SNAPSHOT);
    let folder = std::env::temp_dir().join(format!("slackwater-media-{}", std::process::id()));
    let files = write_run(&folder, &scenario, &result.summary, &result.records);
    assert!(
        files
            .expect("written")
            .contains(&folder.join("frames.parquet"))
    );
    let file = std::fs::File::open(folder.join("frames.parquet")).expect("open");
    let reader = SerializedFileReader::new(file).expect("a Parquet file");
    let row = reader.get_row_iter(None).expect("rows").nth(100);
    let row = row.expect("a row").expect("readable");
    let (captured, completed) = (
        row.get_long(0).expect("time"),
        row.get_long(6).expect("time"),
    );
    assert_eq!(row.get_long(3).expect("number"), 100);
    assert!(captured > 1_600_000_000 && completed > captured);
    std::fs::remove_dir_all(&folder).expect("removed");
}

const SNAPSHOT: &str = "goodput 6.76, target 6.76, queue_p95 8.68, queue_p99 13.07, frame_p50 19.07, \
     frame_p95 27.72, late_frames 0.00, marks 2.52, loss 0.00";

fn flow_table_frames(run: &RunRecorder) -> u64 {
    let frames = run.flows[0].media.frames.iter();
    frames.filter(|f| f.shown.is_some()).count() as u64
}

/// cL4S hears of the ramp by its UE, a part of a second after the start, and again where that was lost.
#[test]
fn thresholds_reach_a_media_sender_by_a_carrier_that_may_fail() {
    let text = r#"
        name = "told"
        duration = "8 s"
        [path]
        rtt = "20 ms"
        [link]
        kind = "rate"
        rate = "10 Mbit/s"
        queue = { kind = "fifo", limit = "500 kB", law = { kind = "ramp", low = "10 ms", high = "60 ms" } }
        [[flow]]
        controller = "al4s-c"
        app = { kind = "media", start = "8 Mbit/s", max = "20 Mbit/s" }
    "#;
    let base = Scenario::from_toml(text, ".").expect("a good scenario");
    let run = |changes: &[(&str, &str)]| {
        let mut scenario = base.clone();
        for (key, value) in changes {
            scenario = scenario.with(key, value).expect("a good change");
        }
        let run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("it runs");
        let flow = &run.summary.flows[0];
        let queue = flow.queue_delay_ms.as_ref().expect("it sent packets");
        [flow.goodput_mbps, queue.p50, queue.p95].map(f64::to_bits)
    };
    let told = run(&[]);
    let silent = run(&[("flow.app.told", "false")]);
    assert_ne!(told, silent);
    assert_eq!(run(&[("feedback.faults.loss", "100 %")]), silent);
    assert_eq!(run(&[("feedback.delay", "9 s")]), silent);
    let late = run(&[("feedback.delay", "3 s")]);
    assert!(late != told && late != silent);
}
