//! A radio that carries next to nothing while `ebb` begins: the queue of its first bytes is not taken for the path.

use std::fmt::Write as _;
use std::path::Path;

use slackwater_lab::run::{Control, run_scenario};
use slackwater_scenario::Scenario;

/// A link that begins with most of a second of nothing, as two recordings of docs/design/0126 do, and then varies from 3 to 6 Mbit/s.
fn scenario() -> Scenario {
    let mut points =
        "[0, 0], [0.8, 0.1], [1.2, 0.5], [1.4, 1.5], [1.6, 3], [1.8, 6], [2, 5]".to_owned();
    for k in 0..55 {
        let at = 2.5 + 0.5 * f64::from(k);
        write!(points, ", [{at}, {}]", [4, 6, 3, 5][k as usize % 4]).expect("a string takes all");
    }
    let text = format!(
        "name = \"late\"\nduration = \"30 s\"\nwarmup = \"10 s\"\n[path]\nrtt = \"40 ms\"\n\
         [link]\nkind = \"series\"\nperiod = \"30 s\"\npoints = [{points}]\n\
         queue = {{ kind = \"fifo\", limit = \"1000 packets\" }}\n[feedback]\n[[flow]]\ncontroller = \"ebb\"\n"
    );
    Scenario::from_toml(&text, Path::new(".")).expect("a good scenario")
}

#[test]
fn a_first_loop_through_a_queue_is_not_the_base_for_good() {
    let run = run_scenario(&scenario(), 1, &mut |_| Control::Continue).expect("a run");
    let flow = &run.summary.flows[0];
    let delay = flow.one_way_ms.as_ref().expect("it had packets").p95;
    // With its first loop as base it had 700 ms.
    assert!(delay < 100.0, "{delay} ms");
    assert!(flow.goodput_mbps > 4.0, "{} Mbit/s", flow.goodput_mbps);
}
