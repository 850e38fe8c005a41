//! Packets are conserved from end to end: what a sender emitted arrived, or was dropped by somebody who said so.
//!
//! Queues, cells and edge functions have this law by themselves (`queue/tests/model.rs`, `ran/src/cell/tests/laws.rs`,
//! `edge/tests/vaqm.rs`). Here it holds of whole worlds, in which they are joined.

use std::fmt::Write as _;
use std::path::Path;

use proptest::prelude::*;
use slackwater_lab::run::{Control, run_scenario};
use slackwater_scenario::Scenario;

/// A bottleneck as a scenario has it, and where its flows go.
#[derive(Clone, Debug)]
struct Bottleneck {
    toml: &'static str,
    ues: u32,
}

const BOTTLENECKS: [Bottleneck; 6] = [
    Bottleneck {
        toml: "[link]\nkind = \"rate\"\nrate = \"6 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"20 packets\" }\n",
        ues: 0,
    },
    Bottleneck {
        toml: "[link]\nkind = \"rate\"\nrate = \"6 Mbit/s\"\nqueue = { kind = \"fifo\", law = \"codel\" }\n",
        ues: 0,
    },
    Bottleneck {
        toml: "[link]\nkind = \"rate\"\nrate = \"6 Mbit/s\"\nqueue = { kind = \"fq-codel\" }\n[wired]\nrate = \"5 Mbit/s\"\n",
        ues: 0,
    },
    Bottleneck {
        toml: "[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\nrlc = { mode = \"um\", law = \"pie\" }\n",
        ues: 2,
    },
    Bottleneck {
        toml: "[cell]\nrat = \"nr\"\nbandwidth = \"20 MHz\"\nrlc = { mode = \"am\" }\n",
        ues: 2,
    },
    Bottleneck {
        toml: "[cell]\nrat = \"lte\"\nbandwidth = \"5 MHz\"\n[upf]\ncecc = {}\n",
        ues: 2,
    },
];

/// Flows that stop after two seconds of a run that lets all of it settle.
fn text(bottleneck: &Bottleneck, loss: u32, controllers: &[&str], up: bool, quic: bool) -> String {
    let mut text = format!(
        "name = \"conserved\"\nduration = \"60 s\"\nwarmup = \"0 s\"\n[path]\nrtt = \"30 ms\"\nloss = \"{loss} %\"\n{}",
        bottleneck.toml
    );
    for _ in 0..bottleneck.ues {
        text += "[[ue]]\nchannel = { kind = \"mcs\", mcs = 10 }\n";
    }
    for (k, controller) in controllers.iter().enumerate() {
        let ue = match bottleneck.ues {
            0 => String::new(),
            ues => format!("ue = {}\n", k as u32 % ues),
        };
        let transport = if quic { "transport = \"quic\"\n" } else { "" };
        let way = if up && k == 0 { "up" } else { "down" };
        let _ = write!(
            text,
            "[[flow]]\ncontroller = \"{controller}\"\n{ue}{transport}direction = \"{way}\"\nstart = \"{k} ms\"\nstop = \"2 s\"\n"
        );
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_arrives_or_is_dropped(
        bottleneck in prop::sample::select(BOTTLENECKS.to_vec()),
        loss in 0u32..4,
        controllers in prop::collection::vec(prop::sample::select(vec!["cubic", "reno", "bbr", "copa"]), 1..4),
        up: bool,
        quic: bool,
        seed in 1u64..1000,
    ) {
        let text = text(&bottleneck, loss, &controllers, up, quic);
        let scenario = Scenario::from_toml(&text, Path::new(".")).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let run = run_scenario(&scenario, seed, &mut |_| Control::Continue).expect("a run");
        prop_assert_eq!(run.summary.flows.len(), controllers.len());
        for (flow, record) in run.summary.flows.iter().zip(&run.records.flows) {
            let dropped: u64 = record.drops.iter().sum();
            // A handshake that is lost twice takes two seconds (RFC 6298, 2.1), after which the flow stops.
            prop_assert!(loss > 0 || record.sent > 20, "{}: {} packets\n{text}", flow.label, record.sent);
            prop_assert_eq!(
                record.sent,
                record.delivered + dropped,
                "{}: {} delivered, {} dropped\n{}",
                flow.label,
                record.delivered,
                dropped,
                text
            );
        }
    }
}
