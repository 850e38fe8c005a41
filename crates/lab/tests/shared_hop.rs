//! A wired hop that is narrower than the cell, and that others share: the radio offers what no flow can have.

use std::path::Path;

use slackwater_lab::run::{Control, run_variants};
use slackwater_scenario::Scenario;

/// A cell of 36 Mbit/s behind a hop of 8.
const CELL: &str = "name = \"hop\"\nduration = \"30 s\"\nwarmup = \"5 s\"\n[path]\nrtt = \"30 ms\"\n\
     [cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\nfading = \"epa\"\nrlc = { buffer = \"500 packets\" }\n\
     [wired]\nrate = \"8 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"250 kB\" }\n\
     [[ue]]\nmobility = { kind = \"static\", distance = \"150 m\" }\n";

/// What a flow has.
#[derive(Debug)]
struct Had {
    controller: String,
    mbps: f64,
    /// Part of its packets that was lost.
    loss: f64,
    /// 95th percentile of the delay at the hop, ms.
    wired: f64,
}

/// The flows of `text`, over five seeds.
fn flows(text: &str) -> Vec<Vec<Had>> {
    let text = format!("{CELL}{text}[vary]\nseed = [1, 2, 3, 4, 5]\n");
    let scenario = Scenario::from_toml(&text, Path::new(".")).expect("a good scenario");
    let variants = scenario.expand().expect("good variants");
    let runs = run_variants(&variants, 1, &|_, _| Control::Continue).expect("runs");
    let of = |f: &slackwater_results::metrics::FlowSummary| Had {
        controller: f.controller.clone(),
        mbps: f.goodput_mbps,
        loss: f.loss,
        wired: f.wired_delay_ms.as_ref().map_or(0.0, |d| d.p95),
    };
    runs.iter()
        .map(|run| run.summary.flows.iter().map(of).collect())
        .collect()
}

/// Mean of `of` over all flows of all seeds.
fn mean(runs: &[Vec<Had>], of: impl Fn(&Had) -> f64) -> f64 {
    let all: Vec<f64> = runs.iter().flatten().map(of).collect();
    all.iter().sum::<f64>() / all.len() as f64
}

/// Of the hop, one flow has 93 % and more at a queue of 20 ms; CUBIC fills its buffer of 250 ms.
#[test]
fn one_flow_keeps_the_queue_of_the_hop_short() {
    for (flow, least) in [
        ("controller = \"ebb\"\n", 0.93),
        (
            "controller = \"ebb-media\"\napp = { kind = \"media\", max = \"60 Mbit/s\" }\n",
            0.85,
        ),
    ] {
        let runs = flows(&format!("[[flow]]\n{flow}"));
        let (rate, wired) = (mean(&runs, |f| f.mbps), mean(&runs, |f| f.wired));
        assert!(rate > 8.0 * least && wired < 20.0, "{runs:#?}");
    }
}

/// Four of them lose no more than twice what four CUBIC flows lose, or a packet in a hundred; media as GCC, which loses nothing.
#[test]
fn several_flows_fill_the_hop_and_lose_little() {
    let cubic = flows("[[flow]]\ncontroller = \"cubic\"\ncount = 4\n");
    let ebb = flows("[[flow]]\ncontroller = \"ebb\"\ncount = 4\n");
    let bound = (2.0 * mean(&cubic, |f| f.loss)).max(0.01);
    assert!(mean(&ebb, |f| f.loss) <= bound, "{ebb:#?}");
    assert!(mean(&ebb, |f| f.mbps) > 0.93 * 2.0, "{ebb:#?}");
    let media = "[[flow]]\ncontroller = \"ebb-media\"\ncount = 4\napp = { kind = \"media\", max = \"60 Mbit/s\" }\n";
    let media = flows(media);
    assert!(mean(&media, |f| f.loss) <= 0.01, "{media:#?}");
    assert!(mean(&media, |f| f.mbps) > 0.8 * 2.0, "{media:#?}");
}

/// Beside as many CUBIC flows neither kind has less than half of its part.
#[test]
fn beside_cubic_neither_has_less_than_half_of_its_part() {
    for count in [1, 2] {
        let of = |controller: &str| {
            format!("[[flow]]\ncontroller = \"{controller}\"\ncount = {count}\n")
        };
        let runs = flows(&format!("{}{}", of("ebb"), of("cubic")));
        let part = 8.0 / (2.0 * f64::from(count));
        for controller in ["ebb", "cubic"] {
            let own = runs.iter().flatten().filter(|f| f.controller == controller);
            let own: Vec<f64> = own.map(|f| f.mbps).collect();
            let mean = own.iter().sum::<f64>() / own.len() as f64;
            assert!(mean > part / 2.0, "{controller}: {runs:#?}");
        }
    }
}
