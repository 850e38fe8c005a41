//! CECC where servers are farther than those of its paper, connections begin, or a bulk transfer is near.

use std::path::Path;

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;

/// A run in which the base station is `n3` from the UPF.
fn run(text: &str, n3: &str, mode: &str, seed: u64) -> RunResult {
    let text = format!(
        "name = \"far\"\nduration = \"10 s\"\nwarmup = \"2 s\"\n{text}[upf]\nn3 = \"{n3}\"\ncecc = {{ mode = \"{mode}\" }}\n"
    );
    let scenario = Scenario::from_toml(&text, Path::new(".")).expect("a good scenario");
    run_scenario(&scenario, seed, &mut |_| Control::Continue).expect("it runs")
}

/// The 95th percentile of a frame's delay, ms: the largest of all flows with frames.
fn frames(run: &RunResult) -> f64 {
    let delays = run.summary.flows.iter().filter_map(|f| f.fct_ms.as_ref());
    delays.map(|d| d.p95).fold(0.0, f64::max)
}

/// Frames for `users`, from servers that are `rtt` away.
fn vr(users: u32, rtt: &str, rate: &str) -> String {
    format!(
        "[path]\nrtt = \"{rtt}\"\n[cell]\nrat = \"nr\"\nbandwidth = \"100 MHz\"\nscs = \"30 kHz\"\nduplex = \"fdd\"\nrlc = {{ buffer = \"500 kB\" }}\n\
         [[ue]]\ncount = {users}\nmobility = {{ kind = \"static\", distance = \"88 m\" }}\n\
         [[flow]]\nue = \"each\"\ncontroller = \"cubic\"\napp = {{ kind = \"vr\", rate = \"{rate}\", transport = \"tcp\" }}\n"
    )
}

/// The server opens these connections, so the round trip to it was not known: `credit` granted frames to a server 15 ms away, and
/// those of 20 ms took ten times as long.
#[test]
fn grants_are_not_for_servers_that_are_far() {
    let text = vr(2, "31 ms", "60 Mbit/s");
    let [off, credit] = ["off", "credit"].map(|mode| frames(&run(&text, "200 us", mode, 1)));
    assert!(credit < 1.2 * off, "{credit} and {off} ms");
}

/// What frames waited at the UPF ended slow start early, and then they waited in the server for half a second.
#[test]
fn slow_start_is_not_ended_by_a_hold() {
    let text = vr(5, "53.57 ms", "47.5 Mbit/s");
    let [off, hold] = ["off", "hold"].map(|mode| frames(&run(&text, "1 ms", mode, 1)));
    assert!(hold < 1.2 * off, "{hold} and {off} ms");
}

/// A bulk transfer whose queue had emptied passed for frames. It was held, so its queue in the radio stayed short, and all frames waited
/// for two periods.
#[test]
fn a_bulk_transfer_that_is_held_is_found() {
    let text = "[path]\nrtt = \"5.23 ms\"\n[cell]\nrat = \"nr\"\nbandwidth = \"40 MHz\"\nscs = \"30 kHz\"\nduplex = \"tdd\"\nfading = \"tdl-d\"\nscheduler = \"rr\"\n\
                rlc = { buffer = \"500 kB\" }\n[[ue]]\ncount = 2\nmobility = { kind = \"static\", distance = \"111 m\" }\n\
                [[flow]]\nue = \"each\"\ncontroller = \"reno\"\napp = { kind = \"vr\", rate = \"18 Mbit/s\", fps = 30, transport = \"udp\" }\n\
                [[flow]]\nue = 0\ncontroller = \"reno\"\n";
    for seed in 1..4 {
        let [off, hold] = ["off", "hold"].map(|mode| frames(&run(text, "1 ms", mode, seed)));
        assert!(hold < 1.3 * off, "seed {seed}: {hold} and {off} ms");
    }
}
