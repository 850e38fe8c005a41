//! One log of arrivals through an edge function in the simulator and through the user plane function on real buffers: the same
//! packets leave at the same time, with the same marks, windows and acknowledgments, and the same are dropped.

mod replay;
mod simulated;

use slackwater_edge::upf::cecc::{self, CeccConfig};
use slackwater_edge::upf::l4s_marker::{L4sMarker, L4sMarkerConfig};
use slackwater_edge::upf::vaqm::{Mode, Vaqm, VaqmConfig};
use slackwater_upf::user::FunctionConfig;

use replay::replay;
use simulated::{Run, simulate};

/// No function.
const NOTHING: FunctionConfig = FunctionConfig {
    vaqm: None,
    cecc: None,
    marker: None,
};

/// Compares both; what the simulator did.
fn agree(run: Run, functions: FunctionConfig, least: usize) -> Run {
    let replayed = replay(&run, functions);
    assert!(run.left.len() >= least, "{} departures", run.left.len());
    for (k, (simulated, real)) in run.left.iter().zip(&replayed.left).enumerate() {
        assert_eq!(simulated, real, "departure {k} of {}", run.left.len());
    }
    assert_eq!(run.left.len(), replayed.left.len());
    assert_eq!(run.dropped, replayed.dropped, "drops");
    assert_eq!(run.held, replayed.held, "bytes that wait at the end");
    run
}

/// Three users of an LTE cell: two downloads and a load of a third kind, datagrams with a guaranteed rate, an upload.
const MIX: &str = r#"
    name = "mix"
    duration = "4 s"
    [path]
    rtt = "30 ms"
    [cell]
    rat = "lte"
    bandwidth = "10 MHz"
    rlc = { buffer = "192 kB", law = "none" }
    [upf]
    system = "logged"
    [[ue]]
    channel = { kind = "mcs", mcs = 15 }
    ambr = "9 Mbit/s"
    bearers = [{ qfi = [1, 2] }, { qfi = [3], gbr = "1 Mbit/s", mbr = "2 Mbit/s", priority = 4 }]
    [[ue]]
    channel = { kind = "mcs", mcs = 12 }
    [[ue]]
    channel = { kind = "mcs", mcs = 20 }
    [[flow]]
    ue = 0
    qfi = 1
    controller = "cubic"
    [[flow]]
    ue = 0
    qfi = 2
    controller = "reno"
    start = "1 s"
    [[flow]]
    ue = 0
    qfi = 3
    app = { kind = "cbr", rate = "3 Mbit/s" }
    [[flow]]
    ue = 1
    controller = "cubic"
    transport = "quic"
    [[flow]]
    ue = 1
    controller = "prague"
    start = "500 ms"
    [[flow]]
    ue = 2
    controller = "cubic"
    tcp = { ecn = "classic" }
    [[flow]]
    ue = 2
    controller = "cubic"
    direction = "up"
"#;

#[test]
fn vaqm_does_the_same() {
    for mode in [Mode::Auto, Mode::Window, Mode::Direct] {
        let config = VaqmConfig::with_mode(mode);
        let run = simulate(MIX, {
            let config = config.clone();
            move || Vaqm::new(config.clone())
        });
        let functions = FunctionConfig {
            vaqm: Some(config),
            ..NOTHING
        };
        let run = agree(run, functions, 3_000);
        assert!(run.marked > 20, "{mode:?}: {} marks", run.marked);
        assert!(run.dropped > 20, "{mode:?}: {} drops", run.dropped);
    }
}

#[test]
fn vaqm_marks_alike_what_is_reported() {
    let text = MIX.replace("\"logged\"", "\"logged:congestion\"");
    let run = simulate(&text, || Vaqm::new(VaqmConfig::default()));
    let functions = FunctionConfig {
        vaqm: Some(VaqmConfig::default()),
        ..NOTHING
    };
    let run = agree(run, functions, 3_000);
    assert!(run.marked > 20, "{} marks", run.marked);
    assert!(run.reports > 1_000, "{} reports", run.reports);
}

/// Four users of an NR cell who watch virtual reality at the same beat.
const VR: &str = r#"
    name = "vr"
    duration = "2 s"
    [path]
    rtt = "0.6 ms"
    [cell]
    rat = "nr"
    bandwidth = "40 MHz"
    scs = "30 kHz"
    duplex = "tdd"
    tdd = "DDDSU"
    special = "10:2:2"
    ues_per_slot = 4
    rlc = { buffer = "unlimited" }
    timing = { processing = "2 ms", k1 = 2, k2 = 2 }
    uplink = { sr_period = "10 ms", first_grant = 3000, min_grant = 3000 }
    [upf]
    n3 = "0.2 ms"
    system = "logged:reports"
    [[ue]]
    count = 4
    channel = { kind = "mcs", mcs = 20 }
    [[flow]]
    ue = "each"
    controller = "cubic"
    app = { kind = "vr", rate = "15 Mbit/s", fps = 60, transport = "tcp", clock = "grid", interval_sigma = "0.5 ms", random_phase = false, lead = "50 ms" }
    tcp = { recv_buffer = "6 MB" }
"#;

#[test]
fn cecc_does_the_same() {
    for mode in [cecc::Mode::Paper, cecc::Mode::Credit, cecc::Mode::Hold] {
        let mut config = CeccConfig::default();
        config.mode = mode;
        let run = simulate(VR, move || cecc::Cecc::new(config));
        let functions = FunctionConfig {
            cecc: Some(config),
            ..NOTHING
        };
        let run = agree(run, functions, 3_000);
        assert!(run.reports > 1_000, "{mode:?}: {} reports", run.reports);
        // Held packets, or windows that are not those of the UE.
        let changed = match mode {
            cecc::Mode::Hold => run.waited,
            _ => run.rewritten,
        };
        assert!(changed > 100, "{mode:?}: {changed}");
    }
}

#[test]
fn the_marker_does_the_same() {
    let text = MIX.replace("\"logged\"", "\"logged:congestion\"");
    let text = text.replace("controller = \"reno\"", "controller = \"prague\"");
    let config = L4sMarkerConfig::default();
    let functions = FunctionConfig {
        marker: Some(config),
        ..NOTHING
    };
    let run = agree(
        simulate(&text, move || L4sMarker::new(config)),
        functions,
        3_000,
    );
    assert!(run.marked > 20, "{} marks", run.marked);
}
