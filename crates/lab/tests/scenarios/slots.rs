//! Rows of grants, where a scenario wants them.

use slackwater_lab::run::{Control, run_scenario};
use slackwater_scenario::Scenario;

#[test]
fn grants_carry_what_the_flow_delivered() {
    let text = "name = \"s\"\nduration = \"1 s\"\n[cell]\nrat = \"lte\"\n[[flow]]\ncontroller = \"cubic\"\n\
                [record]\nslots = true\n";
    let scenario = Scenario::from_toml(text, ".").expect("a scenario");
    let run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run");
    let rows = &run.records.slots;
    let down: u64 = (0..rows.time.len())
        .filter(|i| rows.up[*i] == 0 && rows.ndi[*i] == 1)
        .map(|i| rows.tbs[i])
        .sum();
    let delivered = run.summary.goodput_mbps * 1e6 / 8.0;
    assert!(
        delivered > 1e6 && down as f64 > delivered,
        "{down} {delivered}"
    );
    assert!(rows.up.contains(&1), "ACKs go up");
    let off = scenario.with("record.slots", "false").expect("a switch");
    let run = run_scenario(&off, 1, &mut |_| Control::Continue).expect("a run");
    assert!(run.records.slots.time.is_empty());
}
