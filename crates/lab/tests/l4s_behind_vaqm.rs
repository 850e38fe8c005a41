//! A scalable sender alone behind vAQM in a cell: grants put its RTT milliseconds above the least, and no queue does.

use std::path::Path;

use slackwater_lab::run::{Control, run_scenario};
use slackwater_scenario::Scenario;

const CELL: &str = r#"
name = "lone"
duration = "12 s"
warmup = "2 s"
[path]
rtt = "40 ms"
[cell]
rat = "lte"
bandwidth = "10 MHz"
[upf]
vaqm.mode = "window"
[[ue]]
channel = { kind = "mcs", mcs = 11 }
[[flow]]
controller = "prague"
"#;

#[test]
fn a_lone_scalable_flow_keeps_most_of_its_rate() {
    for mcs in ["5", "11", "20"] {
        let goodput = |mode: &str| {
            let key = format!(r#"{{ kind = "mcs", mcs = {mcs} }}"#);
            let scenario = Scenario::parse("lone", CELL, Path::new("."))
                .and_then(|s| s.with("ue.channel", &key))
                .and_then(|s| s.with("upf.vaqm.mode", mode))
                .expect("a scenario");
            let run = run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run");
            run.summary.goodput_mbps
        };
        let (with, without) = (goodput("window"), goodput("off"));
        assert!(
            with > 0.5 * without,
            "mcs {mcs}: {with} of {without} Mbit/s"
        );
    }
}
