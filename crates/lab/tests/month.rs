//! Thirty days of little traffic: a run ends, what it holds does not grow with the time, and what happened on the last day is in it.

use std::path::Path;

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;

/// Seconds of 30 days.
const MONTH: f64 = 2_592_000.0;

/// Days of a run with a transfer each `gap`, over the bottleneck that `toml` describes.
fn days(days: u32, toml: &str, gap: &str) -> RunResult {
    let text = format!(
        "name = \"days\"\nduration = \"{} s\"\n{toml}[[flow]]\ncontroller = \"cubic\"\n\
         app = {{ kind = \"transfers\", min = \"10 kB\", max = \"100 kB\", gap = \"{gap}\" }}\n",
        days * 86_400
    );
    let scenario = Scenario::from_toml(&text, Path::new(".")).expect("a good scenario");
    run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run")
}

/// Values that the records hold: samples, bins and transfers, and the histograms' are bounded by themselves.
fn held(run: &RunResult) -> usize {
    let records = &run.records;
    let of_flows = records.flows.iter().map(|f| {
        f.series.time.len() * 13
            + f.internals.time.len() * (1 + f.internals.columns.len())
            + f.bins.len() * 5
            + f.transfers.len() * 4
            + f.drop_times.len()
    });
    let of_links = records.links.iter().map(|l| l.series.time.len() * 6);
    of_flows.chain(of_links).sum()
}

fn a_month_over(toml: &str, gap: &str, transfers: usize) {
    let (fifteen, thirty) = (days(15, toml, gap), days(30, toml, gap));
    let flow = &thirty.summary.flows[0];
    assert!((thirty.summary.duration_s - MONTH).abs() < 1e-6);
    let ended = &thirty.records.flows[0].transfers;
    assert!(
        ended.len().abs_diff(transfers) * 20 <= transfers,
        "{} transfers",
        ended.len()
    );
    let last = ended.last().expect("some").end.as_secs_f64();
    assert!(last > MONTH - 3.0 * 86_400.0, "the last ended at {last} s");
    assert!(flow.goodput_mbps > 0.0 && flow.loss < 0.01);
    let rtt = flow.rtt_ms.expect("sampled");
    assert!(rtt.p50 > 0.0 && rtt.max < 1000.0, "{rtt:?}");
    // Samples have a room, and so have bins: twice the time has no more of either.
    let (half, whole) = (held(&fifteen), held(&thirty));
    assert!(whole * 10 <= half * 11, "{half} values, then {whole}");
}

#[test]
fn a_link_runs_for_thirty_days() {
    a_month_over(
        "[link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\n",
        "3600 s",
        720,
    );
}

#[test]
fn a_cell_runs_for_thirty_days() {
    a_month_over(
        "[cell]\nrat = \"lte\"\n[[ue]]\nchannel = { kind = \"mcs\", mcs = 20 }\n",
        "36000 s",
        72,
    );
}
