//! What each controller reaches on three bottlenecks, as one table: a change of performance shows in its diff.

use std::fmt::Write as _;

use slackwater_core::{Duration, Instant};
use slackwater_sim::NoClock;

use crate::audit::Audit;
use crate::worlds::{CONTROLLERS, Load, Path};

const SECONDS: u64 = 10;

/// The table as it was last accepted. To accept another, run this test with `SLACKWATER_ACCEPT=1` and look at the
/// difference.
const ACCEPTED: &str = include_str!("performance.txt");

/// Goodput in Mbit/s and the median queue delay of data packets in ms; seed 1, ten seconds from a cold start.
fn measure(path: Path, controller: &'static str) -> String {
    let load = Load::bulk(path, controller, SECONDS);
    let mut world = load.world(1).build(Audit::default());
    let end = Instant::ZERO + Duration::from_secs(SECONDS);
    world.run_until(end, &mut NoClock);
    let mut audit = world.into_recorder();
    let goodput = audit.payloads()[0] as f64 * 8e-6 / SECONDS as f64;
    audit.sojourns.sort_unstable();
    let median = audit.sojourns[audit.sojourns.len() / 2] as f64 * 1e-6;
    format!("{goodput:7.3} {median:6.1}")
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "the accepted table is a file, rewritten on demand"
)]
fn performance_by_controller_and_bottleneck() {
    let mut table = String::from("Mbit/s, ms    12 Mbit/s       12-3-20 step    LTE steps\n");
    for controller in CONTROLLERS {
        let row = [Path::Trace, Path::Step, Path::Lte].map(|p| measure(p, controller));
        writeln!(table, "{controller:<9} {}", row.join("  ")).expect("a string takes any text");
    }
    if std::env::var_os("SLACKWATER_ACCEPT").is_some() {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/end_to_end/performance.txt"
        );
        std::fs::write(path, &table).expect("the table can be written");
        return;
    }
    assert!(
        table == ACCEPTED,
        "performance changed; where that is meant, accept it with SLACKWATER_ACCEPT=1\naccepted:\n{ACCEPTED}\nnow:\n{table}"
    );
}
