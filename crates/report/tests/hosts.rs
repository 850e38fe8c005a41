//! A comparison of a kernel's senders with simulated ones shows both, and says what its tables leave out.

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_report::view::{HOSTS, report};
use slackwater_scenario::Scenario;
use std::path::Path;

const TEXT: &str = r#"
name = "hosts"
duration = "1 s"
warmup = "200 ms"
[link]
kind = "rate"
rate = "10 Mbit/s"
[[flow]]
controller = "reno"
"#;

fn run(hosts: &str, controller: &str) -> RunResult {
    let text = TEXT.replace("reno", controller);
    let scenario = Scenario::parse("t.toml", &text, Path::new(".")).expect("a scenario");
    let mut result = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("it runs");
    let labels = [("flow.controller", controller), (HOSTS, hosts)];
    let labels = labels.map(|(k, v)| (k.to_owned(), v.to_owned())).to_vec();
    result.summary.identify(&scenario, &labels, 1);
    result.labels = labels;
    result
}

#[test]
fn both_kinds_of_hosts_are_drawn() {
    let all = ["reno", "cubic"].map(|c| ["simulated", "kernel"].map(|h| run(h, c)));
    let page = report(&all.concat(), "slackwater run --live");
    let shown: Vec<(&str, bool)> = page
        .runs
        .iter()
        .map(|r| (r.name.as_str(), r.shown))
        .collect();
    assert_eq!(
        shown,
        [
            ("reno, simulated", true),
            ("reno, kernel", true),
            ("cubic, simulated", true),
            ("cubic, kernel", true)
        ]
    );
}

#[test]
fn a_warm_up_is_named_where_tables_leave_it_out() {
    let one = run("simulated", "reno");
    let page = report(std::slice::from_ref(&one), "slackwater run");
    let said = page
        .notes
        .iter()
        .filter(|n| n.contains("leave out the first 200 ms"));
    assert_eq!(said.count(), 1, "{:?}", page.notes);
    let mut without = one;
    without.scenario.warmup = slackwater_core::Duration::ZERO;
    assert!(report(&[without], "slackwater run").notes.is_empty());
}
