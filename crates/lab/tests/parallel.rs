//! How many threads simulate changes nothing.

use std::path::Path;

use slackwater_lab::run::{Control, RunResult, run_variants};
use slackwater_scenario::Scenario;

const LINK: &str = r#"
name = "link"
duration = "3 s"
[path]
rtt = "30 ms"
loss = "0.1 %"
[link]
kind = "rate"
rate = "12 Mbit/s"
[[flow]]
count = 2
controller = "cubic"
[vary]
"flow.controller" = ["reno", "cubic", "vegas", "veno", "illinois", "westwood", "bbr"]
"#;

const LTE: &str = r#"
name = "lte"
duration = "2 s"
[cell]
rat = "lte"
bandwidth = "10 MHz"
[[ue]]
count = 3
mobility = { kind = "steps", min = "60 m", max = "400 m", period = "1 s" }
[[flow]]
ue = "each"
controller = "cubic"
[[flow]]
ue = 0
direction = "up"
controller = "bbr"
[vary]
"cell.rlc.mode" = ["um", "am"]
seed = [1, 2, 3]
"#;

fn run(text: &str, jobs: usize) -> Vec<RunResult> {
    let scenario = Scenario::from_toml(text, Path::new(".")).expect("a good scenario");
    let variants = scenario.expand().expect("good variants");
    run_variants(&variants, jobs, &|_, _| Control::Continue).expect("runs")
}

#[test]
fn one_thread_and_two_give_the_same_summaries() {
    for text in [LINK, LTE] {
        let (one, two) = (run(text, 1), run(text, 2));
        assert_eq!(one.len(), two.len());
        for (a, b) in one.iter().zip(&two) {
            assert_eq!(a.summary, b.summary);
            assert_eq!((a.seed, &a.labels, a.events), (b.seed, &b.labels, b.events));
            assert!(a.summary.goodput_mbps > 1.0, "{:?} is alive", a.labels);
            let u = a.summary.utilisation.expect("a bottleneck");
            assert!(u > 0.0 && u <= 1.0, "{:?}: {u}", a.labels);
        }
        // The variants do differ.
        let mut goodputs: Vec<String> = one
            .iter()
            .map(|r| format!("{:?}", r.summary.one_way_ms))
            .collect();
        goodputs.sort();
        goodputs.dedup();
        assert!(goodputs.len() > one.len() / 2, "{goodputs:?}");
    }
}

#[test]
fn a_listener_can_stop_all_runs() {
    let scenario = Scenario::from_toml(LINK, Path::new(".")).expect("a good scenario");
    // Without the stop it would take hours.
    let long = scenario
        .with("duration", "1000000 s")
        .expect("a good value");
    let variants = long.expand().expect("good variants");
    let stopped = run_variants(&variants, 2, &|_, _| Control::Stop);
    assert_eq!(
        stopped.err(),
        Some(slackwater_lab::run::RunError::Interrupted)
    );
}

#[test]
fn a_flow_between_two_samples_has_a_summary() {
    let text = r#"
name = "short"
duration = "900 ms"
warmup = "250 ms"
[record]
interval = "200 ms"
[link]
kind = "rate"
rate = "12 Mbit/s"
[[flow]]
controller = "cubic"
start = "210 ms"
stop = "390 ms"
[[flow]]
controller = "bbr"
start = "850 ms"
"#;
    let results = run(text, 1);
    let flows = &results[0].summary.flows;
    // Neither flow meets a sample within its measured part: 250 to 390 ms, and from 850 ms.
    assert!(
        flows[0].goodput_mbps > 0.1 && flows[0].goodput_mbps < 12.0,
        "{:?}",
        flows[0]
    );
    assert!(flows[0].srtt_ms.is_none() && flows[0].cwnd_packets.is_none());
    assert!(flows[1].sent <= 10, "{:?}", flows[1]);
}
