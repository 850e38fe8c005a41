//! Every controller of the registry on every transport, where a link stands nearly still at times: a run ends, and data arrive.

use std::path::Path;

use slackwater_control::registry::{media_entries, transport_entries};
use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;

/// From 20 Mbit/s to 50 kbit/s within a second, with a queue of 256 packets: RTTs of seconds, timeouts, and thousands of losses.
const LINK: &str = r#"
[link]
kind = "series"
points = [[0, 8.0], [2, 1.0], [3, 0.1], [5, 20.0], [7, 3.0], [8, 0.05], [11, 12.0]]
up_rate = "1 Mbit/s"
queue = { kind = "fifo", limit = "256 packets" }
"#;

/// Two users, of whom one is far away for half of the time.
const CELL: &str = r#"
[cell]
rat = "lte"
bandwidth = "5 MHz"
[[ue]]
channel = { kind = "mcs-series", points = [[0, 20], [3, 1], [6, 25]] }
[[ue]]
channel = { kind = "mcs", mcs = 10 }
"#;

fn run(bottleneck: &str, flows: &str, seed: u64) -> RunResult {
    let text = format!(
        "name = \"every\"\nduration = \"14 s\"\n[path]\nrtt = \"30 ms\"\nloss = \"0.1 %\"\n{bottleneck}\n[feedback]\ncarrier = \"datagram\"\n{flows}"
    );
    let scenario =
        Scenario::from_toml(&text, Path::new(".")).unwrap_or_else(|e| panic!("{flows}: {e}"));
    run_scenario(&scenario, seed, &mut |_| Control::Continue)
        .unwrap_or_else(|e| panic!("{flows}: {e}"))
}

/// Panics where a flow has nothing, or more than was sent.
fn check(run: &RunResult, flows: &str) {
    for (flow, record) in run.summary.flows.iter().zip(&run.records.flows) {
        assert!(
            flow.goodput_mbps > 0.05 && flow.delivered <= flow.sent,
            "{flows}: {} has {} Mbit/s, {} of {} packets",
            flow.label,
            flow.goodput_mbps,
            flow.delivered,
            flow.sent
        );
        // quinn gives up where half of all packets are lost, as under PCC Allegro here.
        let gaps = flow
            .closed
            .as_ref()
            .is_none_or(|c| c.reason.contains("too many gaps"));
        assert!(gaps, "{flows}: {:?}", flow.closed);
        let times = &record.series.time;
        assert!(times.is_sorted(), "{flows}: samples in order of time");
    }
}

/// Names of the controllers that run without a file.
fn controllers() -> impl Iterator<Item = &'static str> {
    transport_entries()
        .map(|e| e.name)
        .filter(|n| *n != "oracle")
}

fn over(transport: &str) {
    for controller in controllers() {
        let flow = |ue: &str, app: &str| {
            format!(
                "[[flow]]\n{ue}controller = \"{controller}\"\ntransport = \"{transport}\"\napp = {app}\n"
            )
        };
        let transfers = "{ kind = \"transfers\", max = \"300 kB\", gap = \"300 ms\" }";

        let alone = flow("", "\"bulk\"");
        for seed in 1..4 {
            check(&run(LINK, &alone, seed), &alone);
        }
        let two = flow("ue = 0\n", "\"bulk\"") + &flow("ue = 1\n", transfers);
        check(&run(CELL, &two, 1), &two);
    }
}

#[test]
fn over_tcp() {
    over("tcp");
}

#[test]
fn over_quic() {
    over("quic");
}

#[test]
fn over_quinn() {
    over("quinn");
}

#[test]
fn of_media() {
    for entry in media_entries() {
        let flow = |ue: &str| {
            format!(
                "[[flow]]\n{ue}controller = \"{}\"\napp = {{ kind = \"media\" }}\n",
                entry.name
            )
        };
        check(&run(LINK, &flow(""), 1), entry.name);
        let two = flow("ue = 0\n") + &flow("ue = 1\n");
        check(&run(CELL, &two, 1), entry.name);
    }
}
