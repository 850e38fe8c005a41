//! A QUIC sender as sockets have it (late timers, a search for the path's MTU) against the one that simulations have.

use std::fmt::Write as _;
use std::path::Path;

use slackwater_lab::run::{Control, run_variants};
use slackwater_scenario::Scenario;

/// The cell of `scenarios/live/ebb.toml`.
const CELL: &str = "name = \"pace\"\nduration = \"12 s\"\nwarmup = \"2 s\"\n[path]\nrtt = \"30 ms\"\n\
     [cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\nfading = \"epa\"\nrlc = { buffer = \"128 packets\" }\n\
     [feedback]\ncarrier = \"datagram\"\n[[ue]]\nmobility = { kind = \"static\", distance = \"150 m\" }\n";

/// Mean goodput in Mbit/s, and the 95th percentile of the one-way delay in ms, over five seeds.
fn mean(controller: &str, flow: &str) -> [f64; 2] {
    let text = format!(
        "{CELL}[[flow]]\ncontroller = \"{controller}\"\n{flow}\n[vary]\nseed = [1, 2, 3, 4, 5]\n"
    );
    let scenario = Scenario::from_toml(&text, Path::new(".")).expect("a good scenario");
    let variants = scenario.expand().expect("good variants");
    let runs = run_variants(&variants, 1, &|_, _| Control::Continue).expect("runs");
    let mut sums = [0.0; 2];
    for run in &runs {
        let flow = &run.summary.flows[0];
        sums[0] += flow.goodput_mbps / runs.len() as f64;
        sums[1] += flow.one_way_ms.as_ref().expect("it had packets").p95 / runs.len() as f64;
    }
    sums
}

/// The bounds were set before the first run: 3 % of goodput, 10 % of the 95th percentile of the one-way delay.
///
/// `cargo test -p slackwater-lab --test pace -- --nocapture` prints the table of docs/quic-measured.md.
#[test]
fn a_sender_on_sockets_does_what_the_simulated_one_does() {
    let mut table = String::new();
    let mut missed = Vec::new();
    for controller in ["cubic", "bbr", "bbr3", "prague", "xrc", "tyrus", "ebb"] {
        let exact = mean(controller, "transport = \"quinn\"");
        let real = mean(
            controller,
            "transport = \"quinn\"\nquic = { mtu_discovery = true, timer_step = \"1 ms\" }",
        );
        let off = [0, 1].map(|i| (real[i] / exact[i] - 1.0) * 100.0);
        writeln!(
            table,
            "| {controller} | {:.2} / {:.2} | {:+.1} | {:.1} / {:.1} | {:+.1} |",
            exact[0], real[0], off[0], exact[1], real[1], off[1],
        )
        .expect("a string takes all");
        if off[0].abs() > 3.0 || off[1].abs() > 10.0 {
            missed.push(controller);
        }
    }
    eprintln!("{table}");
    assert!(missed.is_empty(), "{missed:?}\n{table}");
}
