//! Zhuge in scenarios (Meng et al., SIGCOMM 2022).

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;
use slackwater_scenario::embedded::embedded;

/// Copa's p95 on steps of the rate differs between seeds by a factor of five: one alone decides nothing.
const SEEDS: [u64; 2] = [1, 2];

/// A download over `scenario` by `controller`, with Zhuge or with an empty function in its place.
fn run(scenario: &str, controller: &str, zhuge: bool, seed: u64) -> RunResult {
    let text = embedded(scenario).expect("a scenario of the arena");
    let mut scenario = Scenario::from_toml(&text, ".").expect("a good scenario");
    for (key, value) in [
        ("flow[0].controller", controller),
        ("upf.zhuge.on", "true"),
        ("upf.zhuge.most", if zhuge { "200 ms" } else { "0 s" }),
        ("duration", "30 s"),
    ] {
        scenario = scenario.with(key, value).expect("a good change");
    }
    run_scenario(&scenario, seed, &mut |_| Control::Continue).expect("it runs")
}

/// Goodput in Mbit/s, and the queue delay: its median, p95 and p99 in milliseconds.
fn seen(run: &RunResult) -> [f64; 4] {
    let flow = &run.summary.flows[0];
    let queue = flow.queue_delay_ms.as_ref().expect("it sent packets");
    [flow.goodput_mbps, queue.p50, queue.p95, queue.p99]
}

/// The means of that over runs.
fn mean(runs: &[RunResult]) -> [f64; 4] {
    let each: Vec<[f64; 4]> = runs.iter().map(seen).collect();
    core::array::from_fn(|i| each.iter().map(|s| s[i]).sum::<f64>() / each.len() as f64)
}

/// The longest hold in milliseconds, and the share of samples with one.
fn holds(run: &RunResult) -> (f64, f64) {
    let columns = &run.records.flows[0].internals.columns;
    let found = columns.iter().find(|c| c.0 == "zhuge_hold_ms");
    let values = &found.expect("the function is on the path").1;
    let some = values.iter().filter(|v| **v > 0.0).count();
    let most = values.iter().copied().fold(0.0, f64::max);
    (most, some as f64 / values.len() as f64)
}

/// Prints what Zhuge does to three senders where rates change at once, and where the channel fades.
#[test]
#[expect(
    clippy::print_stdout,
    reason = "the table of docs/controllers-measured.md"
)]
fn zhuge_tells_senders_earlier_and_starves_none() {
    println!(
        "| cell | sender | without: Mbit/s, ms p50, p95, p99 | with Zhuge | longest hold, share |"
    );
    for cell in ["arena/lte-steps", "arena/lte-fading"] {
        for sender in ["cubic", "copa", "bbr"] {
            let runs = |zhuge| SEEDS.map(|seed| run(cell, sender, zhuge, seed));
            let (without, with) = (runs(false), runs(true));
            let (a, b) = (mean(&without), mean(&with));
            let held = with.each_ref().map(holds);
            let longest = held.iter().fold(0.0, |most: f64, h| most.max(h.0));
            let h = (
                longest,
                held.iter().map(|h| h.1).sum::<f64>() / held.len() as f64,
            );
            println!("| {cell} | {sender} | {a:.1?} | {b:.1?} | {h:.2?} |");
            assert!(h.0 > 0.0 && h.0 <= 200.0, "{cell} {sender}: {h:?}");
            assert!(b[0] > 0.5 * a[0], "{cell} {sender}: {a:?} {b:?}");
            // A sender that fills the buffer waits less; what Copa and BBR make of held ACKs, docs/controllers-measured.md tells.
            if sender == "cubic" {
                assert!(b[2] < a[2], "{cell} {sender}: {a:?} {b:?}");
            }
        }
    }
}

#[test]
fn without_reports_zhuge_changes_nothing() {
    let silent = |most: &str| {
        let text = embedded("arena/lte-steps").expect("a scenario of the arena");
        let mut scenario = Scenario::from_toml(&text, ".").expect("a good scenario");
        for (key, value) in [
            ("upf.zhuge.on", "true"),
            ("upf.zhuge.most", most),
            ("upf.reports.loss", "100 %"),
            ("duration", "10 s"),
        ] {
            scenario = scenario.with(key, value).expect("a good change");
        }
        let run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("it runs");
        seen(&run)
    };
    assert_eq!(
        silent("200 ms").map(f64::to_bits),
        silent("0 s").map(f64::to_bits)
    );
}
