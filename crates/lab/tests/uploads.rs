//! Uploads of `ebb`: the queue is that of the UE, and what lies behind the radio is not in the reports.

use std::path::Path;

use slackwater_lab::run::{Control, run_variants};
use slackwater_results::metrics::FlowSummary;
use slackwater_scenario::Scenario;

/// A cell whose uplink has some 35 Mbit/s.
const CELL: &str = "name = \"up\"\nduration = \"20 s\"\nwarmup = \"4 s\"\n[path]\nrtt = \"40 ms\"\n\
     [cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\nfading = \"epa\"\nrlc = { buffer = \"750 kB\" }\n\
     [[ue]]\nmobility = { kind = \"static\", distance = \"150 m\" }\n";

/// What a flow has.
#[derive(Debug)]
struct Had {
    mbps: f64,
    /// 95th percentile of the one-way delay, ms.
    late: f64,
    retransmits: u64,
}

/// A flow under `controller` in `direction`, for each of three seeds; `cell` is as [`CELL`], and `more` are other sections.
fn flows(cell: &str, controller: &str, direction: &str, more: &str) -> Vec<Had> {
    let flow = format!("[[flow]]\ncontroller = \"{controller}\"\ndirection = \"{direction}\"\n");
    let text = format!("{cell}{flow}{more}[vary]\nseed = [1, 2, 3]\n");
    let scenario = Scenario::from_toml(&text, Path::new(".")).expect("a good scenario");
    let variants = scenario.expand().expect("good variants");
    let runs = run_variants(&variants, 1, &|_, _| Control::Continue).expect("runs");
    let of = |flow: &FlowSummary| Had {
        mbps: flow.goodput_mbps,
        late: flow.one_way_ms.as_ref().expect("packets arrived").p95,
        retransmits: flow.retransmits,
    };
    runs.iter().map(|run| of(&run.summary.flows[0])).collect()
}

fn uploads(controller: &str, more: &str) -> Vec<Had> {
    flows(CELL, controller, "up", more)
}

fn mean(all: &[Had], of: impl Fn(&Had) -> f64) -> f64 {
    all.iter().map(of).sum::<f64>() / all.len() as f64
}

/// Of the rate that CUBIC has it has nine tenths and more, at a fifth of the queue.
#[test]
fn an_upload_keeps_the_queue_of_its_ue_short() {
    let [cubic, ebb] = ["cubic", "ebb"].map(|controller| uploads(controller, ""));
    let rates = [&cubic, &ebb].map(|all| mean(all, |f| f.mbps));
    assert!(rates[1] > 0.9 * rates[0], "{cubic:?} {ebb:?}");
    // 20 ms are the wired part.
    let queues = [&cubic, &ebb].map(|all| mean(all, |f| f.late) - 20.0);
    assert!(queues[1] < 0.2 * queues[0], "{cubic:?} {ebb:?}");
}

/// A wired hop that is narrower than the radio, with a queue of a quarter of a second: ACKs show it, and reports do not.
#[test]
fn a_hop_behind_the_radio_is_found_by_acks() {
    let hop = "[wired]\nrate = \"8 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }\n";
    let [cubic, ebb] = ["cubic", "ebb"].map(|controller| uploads(controller, hop));
    let rates = [&cubic, &ebb].map(|all| mean(all, |f| f.mbps));
    assert!(rates[1] > 0.85 * rates[0], "{cubic:?} {ebb:?}");
    let late = [&cubic, &ebb].map(|all| mean(all, |f| f.late));
    assert!(late[1] < 0.75 * late[0], "{cubic:?} {ebb:?}");

    // A buffer of twenty packets.
    let short = hop.replace("250 kB", "30 kB");
    let [cubic, ebb] = ["cubic", "ebb"].map(|controller| uploads(controller, &short));
    assert!(
        mean(&ebb, |f| f.mbps) > 0.8 * mean(&cubic, |f| f.mbps),
        "{cubic:?} {ebb:?}"
    );
    // Some 13,000 packets are sent.
    let again = mean(&ebb, |f| f.retransmits as f64);
    assert!(again < 780.0, "{ebb:?}");
}

/// A packet in a hundred that is lost by chance takes little of the rate, whichever way the data goes.
#[test]
fn losses_by_chance_take_little() {
    let lossy = CELL.replace("rtt = \"40 ms\"", "rtt = \"40 ms\"\nloss = \"1 %\"");
    assert_ne!(lossy, CELL);
    for direction in ["up", "down"] {
        let [clean, lossy] = [CELL, &lossy].map(|cell| flows(cell, "ebb", direction, ""));
        assert!(mean(&clean, |f| f.retransmits as f64) < 1.0, "{clean:?}");
        let rates = [&clean, &lossy].map(|all| mean(all, |f| f.mbps));
        assert!(
            rates[1] > 0.9 * rates[0],
            "{direction}: {clean:?} {lossy:?}"
        );
    }
}
