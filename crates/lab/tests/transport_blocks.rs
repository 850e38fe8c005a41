//! What a UE tells its sender about its transport blocks, over links and cells and by each carrier.

use std::path::Path;

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;

const LINK: &str = r#"
name = "blocks"
duration = "6 s"
[path]
rtt = "40 ms"
[link]
kind = "rate"
rate = "12 Mbit/s"
[feedback]
[[flow]]
controller = "rule2"
"#;

const CELL: &str = r#"
name = "blocks"
duration = "4 s"
[path]
rtt = "40 ms"
[cell]
rat = "lte"
bandwidth = "10 MHz"
[feedback]
[[ue]]
channel = { kind = "mcs", mcs = 20 }
[[flow]]
controller = "rule2"
"#;

fn run(text: &str, changes: &[(&str, &str)]) -> RunResult {
    let mut scenario = Scenario::parse("blocks", text, Path::new(".")).expect("a scenario");
    for (key, value) in changes {
        scenario = scenario.with(key, value).expect("a key and its value");
    }
    run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("a run")
}

/// The last value of the sender's internal `name`.
fn internal(run: &RunResult, name: &str) -> f64 {
    let internals = &run.records.flows[0].internals;
    let column = internals.columns.iter().find(|c| c.0 == name);
    *column.expect("a column").1.last().expect("a sample")
}

#[test]
fn every_carrier_tells_the_capacity_of_a_link() {
    for carrier in ["tcp-option", "datagram", "socket"] {
        for loss in ["0 %", "40 %"] {
            let r = run(
                LINK,
                &[
                    ("feedback.carrier", carrier),
                    ("feedback.faults.loss", loss),
                ],
            );
            let tbs = internal(&r, "tbs_mbps");
            // One opportunity of 1,504 bytes each millisecond. What is lost is not taken for zero.
            assert!((tbs - 12.032).abs() < 0.4, "{carrier}, {loss}: {tbs}");
            assert_eq!(internal(&r, "mode"), 0.0, "{carrier}, {loss}");
        }
    }
}

#[test]
fn an_agent_that_falls_silent_hands_over_and_one_that_lies_is_found_out() {
    let silent = run(LINK, &[("feedback.faults.stop", "1 s")]);
    assert_eq!(
        (internal(&silent, "frozen"), internal(&silent, "fallbacks")),
        (1.0, 1.0)
    );
    assert_eq!(internal(&silent, "mode"), 2.0);
    let half = run(LINK, &[("feedback.faults.rate_scale", "0.5")]);
    assert!(internal(&half, "doubts") >= 1.0);
    let stale = run(
        LINK,
        &[
            ("feedback.faults.stop", "1 s"),
            ("feedback.faults.stale", "true"),
        ],
    );
    // The link is constant: what it said then is still right.
    assert_eq!(internal(&stale, "mode"), 0.0);
}

#[test]
fn in_a_cell_the_three_counts_differ_as_they_should() {
    let of = |blocks: &str| {
        let r = run(CELL, &[("feedback.tyrus.blocks", blocks)]);
        internal(&r, "tbs_mbps")
    };
    let (capacity, allocated, both) = (of("capacity"), of("allocated"), of("allocated+idle"));
    // Alone in the cell, its own and the idle blocks are all there are.
    assert!((both / capacity - 1.0).abs() < 0.1, "{both} {capacity}");
    assert!(allocated <= capacity * 1.02, "{allocated} {capacity}");
    assert!(allocated > 1.0);
}

/// The largest one-way delay, and the largest rate that the sender took for the link's, of `rule2` with these changes.
fn worst(changes: &[(&str, &str)]) -> (f64, f64) {
    let r = run(LINK, changes);
    let flow = &r.records.flows[0];
    let delay = flow.one_way.quantile(1.0).expect("packets arrived");
    let tbs = flow.internals.columns.iter().find(|c| c.0 == "tbs_mbps");
    let most = tbs.expect("a column").1.iter().copied().fold(0.0, f64::max);
    (delay.as_millis_f64(), most)
}

/// What a link of 10 Mbit/s may be told to have. Its opportunities are of 1,504 bytes, one for each 1,500: in ten
/// milliseconds, the shortest span of a first report, there may be one more than its share.
fn most(opportunities: &str) -> f64 {
    if opportunities == "true" {
        10.0 * 1504.0 / 1500.0 + 1504.0 * 8e-6 / 10e-3
    } else {
        10.001
    }
}

#[test]
fn a_late_start_is_no_other_experiment() {
    for carrier in ["tcp-option", "datagram", "socket"] {
        for opportunities in ["true", "false"] {
            let at = |start: u64| {
                let (from, upto) = (format!("{start} s"), format!("{} s", start + 15));
                worst(&[
                    ("feedback.carrier", carrier),
                    ("link.rate", "10 Mbit/s"),
                    ("link.opportunities", opportunities),
                    ("duration", &upto),
                    ("flow.start", &from),
                ])
            };
            let (delay, told) = at(0);
            let most = most(opportunities);
            assert!(told < most, "{carrier}: told {told}");
            for start in [37, 74, 111] {
                let (late, told) = at(start);
                assert!(
                    (late - delay).abs() < 1.0,
                    "{carrier}, from {start} s: {late} ms, from 0 {delay} ms"
                );
                assert!(told < most, "{carrier}, from {start} s: told {told}");
            }
        }
    }
}

#[test]
fn a_pause_does_not_raise_what_is_told() {
    for carrier in ["tcp-option", "datagram", "socket"] {
        let after = |gap: &str, duration: &str| {
            let app = format!(
                "{{ kind = \"transfers\", min = \"3 MB\", max = \"3 MB\", gap = \"{gap}\", reconnect = false }}"
            );
            worst(&[
                ("feedback.carrier", carrier),
                ("link.rate", "10 Mbit/s"),
                ("flow.app", &app),
                ("duration", duration),
            ])
        };
        let (delay, _) = after("0 s", "20 s");
        // Pauses of some 1, 10, 64 and 100 s: 65.5 s is where the reporter's clock wraps.
        for (gap, duration) in [
            ("3.4 s", "20 s"),
            ("13 s", "40 s"),
            ("67 s", "150 s"),
            ("103 s", "220 s"),
        ] {
            let (late, told) = after(gap, duration);
            assert!(
                late < delay + 1.0,
                "{carrier}, each {gap}: {late} ms, without a pause {delay} ms"
            );
            assert!(told < most("true"), "{carrier}, each {gap}: told {told}");
        }
    }
}
