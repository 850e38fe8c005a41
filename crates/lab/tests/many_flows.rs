//! Runs of thousands of flows of which few send: they end, and what they do grows with the flows and no faster.

use std::path::Path;

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;

/// So many flows with a transfer each, one after the other.
fn staggered(flows: u32) -> RunResult {
    let text = format!(
        "name = \"staggered\"\nduration = \"{duration} ms\"\n[link]\nkind = \"rate\"\nrate = \"50 Mbit/s\"\n\
         [[flow]]\ncontroller = \"cubic\"\ncount = {flows}\nstagger = \"5 ms\"\n\
         app = {{ kind = \"transfers\", min = \"3 kB\", max = \"3 kB\", count = 1 }}\n",
        duration = flows * 5 + 1000,
    );
    let scenario = Scenario::from_toml(&text, Path::new(".")).expect("a good scenario");
    run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run")
}

#[test]
fn eight_thousand_staggered_flows_end_and_cost_what_eight_times_a_thousand_do() {
    let (few, many) = (staggered(1_000), staggered(8_000));
    let whole = |run: &RunResult| {
        let flows = run.summary.flows.iter();
        flows.filter(|f| f.delivered >= 3).count()
    };
    assert_eq!((whole(&few), whole(&many)), (1_000, 8_000));
    // Samples of so many flows are 660 ms apart, and each is over in less.
    assert!(many.summary.flows.iter().all(|f| f.goodput_mbps > 0.0));
    // Events of the kernel, and what is recorded: counted, so that no machine's load decides.
    let ratio = many.events as f64 / few.events as f64;
    assert!(
        (7.5..8.5).contains(&ratio),
        "{} and {} events",
        few.events,
        many.events
    );
    let bins = |run: &RunResult| {
        run.records
            .flows
            .iter()
            .map(|f| f.bins.len())
            .sum::<usize>()
    };
    let (some, all) = (bins(&few), bins(&many));
    assert!(all <= 9 * some, "{some} and {all} bins");
}
