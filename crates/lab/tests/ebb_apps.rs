//! `ebb` under applications that do not always send: frames, chunks and pages. What they leave unused is no bottleneck and no lie.

use std::path::Path;

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_scenario::Scenario;

fn run(text: &str, seed: u64) -> RunResult {
    let text = format!("name = \"apps\"\nduration = \"15 s\"\nwarmup = \"2 s\"\n{text}");
    let scenario = Scenario::from_toml(&text, Path::new(".")).expect("a good scenario");
    run_scenario(&scenario, seed, &mut |_| Control::Continue).expect("it runs")
}

/// Part of the samples of the first flow from `from` to `to`, in seconds, in which the radio steers.
fn by_radio(run: &RunResult, from: f64, to: f64) -> f64 {
    let internals = &run.records.flows[0].internals;
    let (_, mode) = internals
        .columns
        .iter()
        .find(|(name, _)| *name == "mode")
        .expect("ebb has a mode");
    let times = internals.time.iter().map(|ns| *ns as f64 * 1e-9);
    let modes: Vec<f64> = times
        .zip(mode)
        .filter(|(t, _)| (from..to).contains(t))
        .map(|(_, mode)| *mode)
        .collect();
    modes.iter().filter(|mode| **mode == 0.0).count() as f64 / modes.len() as f64
}

/// Median time of a message of the first flow, ms.
fn median(run: &RunResult) -> f64 {
    let flow = &run.summary.flows[0];
    flow.fct_ms.as_ref().expect("messages ended").p50
}

/// HARQ repeats some of their blocks, some packets are lost, and less leaves than the radio offers: rule 6 saw a bottleneck in that.
#[test]
fn frames_that_leave_some_of_the_radio_unused_show_no_bottleneck() {
    let text = "[path]\nrtt = \"20 ms\"\nloss = \"0.5 %\"\n[feedback]\ndelay = \"5 ms\"\n[cell]\nrat = \"nr\"\nbandwidth = \"40 MHz\"\nrlc = { buffer = \"500 kB\" }\n\
         [[ue]]\nmobility = { kind = \"steps\", min = \"60 m\", max = \"900 m\", period = \"1 s\" }\n\
         [[flow]]\ncontroller = \"ebb\"\napp = { kind = \"vr\", fps = 60.0, rate = \"9.33 Mbit/s\", transport = \"quic\" }\n";
    for seed in 1..4 {
        let part = by_radio(&run(text, seed), 1.0, 15.0);
        assert!(part > 0.95, "seed {seed}: {part}");
    }
}

/// The first packets reach the radio sooner than the round trip of the handshake shows, which waited for a grant. They passed for packets
/// that nobody had sent, and the base station was ignored for ten seconds.
#[test]
fn a_base_station_near_by_is_believed_from_the_start() {
    let text = "[path]\nrtt = \"8 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"20 MHz\"\nrlc = { buffer = \"1500 kB\", mode = \"um\" }\n\
         [[ue]]\nmobility = { kind = \"steps\", min = \"60 m\", max = \"600 m\", period = \"5 s\" }\n\
         [[flow]]\ncontroller = \"ebb\"\napp = { kind = \"vr\", fps = 60.0, rate = \"8 Mbit/s\", transport = \"quic\" }\n";
    for seed in 1..4 {
        let part = by_radio(&run(text, seed), 1.0, 15.0);
        assert!(part > 0.99, "seed {seed}: {part}");
    }
}

/// ACKs of a chunk come before the first report after a pause. Its counters seemed to stand still, and the base station was ignored.
#[test]
fn the_first_report_after_a_pause_is_believed() {
    let text = "[path]\nrtt = \"50 ms\"\n[feedback]\ndelay = \"20 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"20 MHz\"\nrlc = { buffer = \"1500 kB\" }\n\
         [[ue]]\nchannel = { kind = \"mcs\", mcs = 20 }\n\
         [[flow]]\ncontroller = \"ebb\"\napp = { kind = \"video\", rate = \"10.4 Mbit/s\", on = \"500 ms\", period = \"6 s\", burst = true }\n";
    let run = run(text, 1);
    for chunk in [6.0, 12.0] {
        let part = by_radio(&run, chunk + 0.15, chunk + 1.0);
        assert!(part > 0.99, "chunk at {chunk} s: {part}");
    }
}

/// The servers of pages did not read datagrams with reports, and CUBIC steered.
#[test]
fn pages_are_steered_by_reports() {
    let text = |transport: &str, controller: &str| {
        format!(
            "[path]\nrtt = \"30 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\n\
             [[ue]]\nchannel = {{ kind = \"mcs\", mcs = 20 }}\n\
             [[flow]]\ncontroller = \"{controller}\"\ntransport = \"{transport}\"\napp = {{ kind = \"page\", connections = 1, multiplexed = true, gap = \"500 ms\" }}\n"
        )
    };
    for transport in ["tcp", "quic"] {
        let [ebb, cubic] = ["ebb", "cubic"].map(|c| run(&text(transport, c), 1));
        let part = by_radio(&ebb, 1.0, 15.0);
        assert!(part > 0.5, "{transport}: {part}");
        let [ebb, cubic] = [median(&ebb), median(&cubic)];
        assert!(ebb < cubic, "{transport}: {ebb} and {cubic} ms");
    }
    // Reports of another kind take the same way.
    let [tyrus, deaf] = ["", "feedback.faults.loss = \"100 %\"\n"].map(|deaf| {
        let text = text("tcp", "tyrus");
        median(&run(&format!("{deaf}{text}"), 1))
    });
    assert!((tyrus - deaf).abs() > 1.0, "{tyrus} and {deaf} ms");
}

/// The first packet after a pause meets no other, so its loop is shorter than the least one by the time of a packet: 17 ms.
#[test]
fn chunks_on_a_slow_link_take_no_longer_than_under_cubic() {
    let text = |controller: &str| {
        format!(
            "[path]\nrtt = \"30 ms\"\n[feedback]\ndelay = \"5 ms\"\n[link]\nkind = \"rate\"\nrate = \"0.7 Mbit/s\"\nup_rate = \"0.3 Mbit/s\"\n\
             queue = {{ kind = \"dualpi2\" }}\n\
             [[flow]]\ncontroller = \"{controller}\"\ntransport = \"quic\"\n\
             app = {{ kind = \"video\", rate = \"0.54 Mbit/s\", on = \"2 s\", period = \"3 s\", burst = true }}\n"
        )
    };
    let [ebb, cubic] = ["ebb", "cubic"].map(|c| median(&run(&text(c), 1)));
    assert!(ebb < 1.05 * cubic, "{ebb} and {cubic} ms");
}

/// Its handshake waits in the queue of another, and the first packets come sooner than that shows: they passed for those of the handshake,
/// and seemed to be on their way for ever.
#[test]
fn who_comes_to_the_queue_of_another_on_a_short_path_is_not_starved() {
    let text = "[path]\nrtt = \"8 ms\"\n[link]\nkind = \"rate\"\nrate = \"1.82 Mbit/s\"\nup_rate = \"0.8 Mbit/s\"\nqueue = { kind = \"dualpi2\" }\n\
         [[flow]]\ncontroller = \"ebb\"\nstart = \"3 s\"\n[[flow]]\ncontroller = \"bbr3\"\n";
    for seed in 1..4 {
        let run = run(text, seed);
        let mbps = run.summary.flows[0].goodput_mbps;
        assert!(mbps > 0.3, "seed {seed}: {mbps} Mbit/s");
    }
}

/// CUBIC begins again with what the radio had, at its rate, and for as long as reports need to come. A chunk takes 18 ms of the wired path and 147 ms
/// of the radio, and took 184.
#[test]
fn a_chunk_after_a_pause_takes_no_longer_than_its_bytes() {
    let text = |controller: &str| {
        format!(
            "[path]\nrtt = \"30 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\nrlc = {{ buffer = \"500 kB\" }}\n\
             [[ue]]\nmobility = {{ kind = \"static\", distance = \"100 m\" }}\n\
             [[flow]]\ncontroller = \"{controller}\"\napp = {{ kind = \"video\", rate = \"5.2 Mbit/s\", on = \"1 s\", period = \"3 s\", burst = true }}\n"
        )
    };
    let [ebb, bbr] = ["ebb", "bbr"].map(|c| run(&text(c), 1));
    assert!(median(&ebb) <= median(&bbr) + 2.0, "{} ms", median(&ebb));
    // Nor does it fill the radio's queue at once.
    let [ebb, bbr] = [ebb, bbr].map(|run| run.summary.flows[0].one_way_ms.as_ref().map(|d| d.p95));
    assert!(ebb < bbr, "{ebb:?} and {bbr:?} ms");
}

/// The first flight overflows a short buffer. What leaves of a chunk is then little of what is offered, and the base station was believed a ninth.
#[test]
fn a_short_buffer_that_a_chunk_overflows_is_no_lie() {
    let text = "[path]\nrtt = \"181.51 ms\"\njitter = \"1 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"20 MHz\"\nfading = \"flat\"\nrlc = { buffer = \"100 packets\" }\n\
                [[ue]]\nmobility = { kind = \"static\", distance = \"60 m\" }\n\
                [[flow]]\ncontroller = \"ebb\"\ntransport = \"quic\"\napp = { kind = \"video\", rate = \"7.27 Mbit/s\", on = \"500 ms\", period = \"2 s\", burst = true }\n";
    for seed in 1..4 {
        let ms = median(&run(text, seed));
        assert!(ms < 250.0, "seed {seed}: {ms} ms");
    }
}

/// Packets of frames are not all full. Their headers passed for bytes that were lost before the radio, and the least loop became shorter than
/// the path.
#[test]
fn frames_of_packets_that_are_not_full_are_not_written_off() {
    let text = "[path]\nrtt = \"14.17 ms\"\n[feedback]\nfaults = { loss = \"20 %\" }\n[link]\nkind = \"trace\"\nfile = \"builtin:driving.down\"\nqueue = { kind = \"fifo\", limit = \"100 packets\" }\n\
                [[flow]]\ncontroller = \"ebb\"\napp = { kind = \"vr\", rate = \"2.19 Mbit/s\", transport = \"quic\" }\n";
    let run = run(text, 1);
    let p95 = run.summary.flows[0].fct_ms.as_ref().expect("frames").p95;
    assert!(p95 < 200.0, "{p95} ms");
}

/// A UE is granted what waits in it. Frames that left at the rate of the grants had less and less, and waited for seconds.
#[test]
fn frames_that_go_up_are_not_held_to_the_rate_of_their_grants() {
    let text = "[path]\nrtt = \"35 ms\"\nloss = \"1 %\"\njitter = \"1 ms\"\n[cell]\nrat = \"nr\"\nbandwidth = \"20 MHz\"\nscs = \"15 kHz\"\nfading = \"tdl-e\"\nduplex = \"tdd\"\nscheduler = \"rr\"\n\
                rlc = { mode = \"um\", buffer = \"4 MB\" }\n[feedback]\ndelay = \"5 ms\"\nebb = { every = \"10 ms\" }\n\
                [[ue]]\nspeed = \"120 km/h\"\nmobility = { kind = \"steps\", min = \"40 m\", max = \"82 m\" }\n\
                [[flow]]\ncontroller = \"ebb\"\ndirection = \"up\"\napp = { kind = \"vr\", rate = \"10.37 Mbit/s\", transport = \"quic\" }\n";
    for seed in 1..5 {
        let run = run(text, seed);
        let p95 = run.summary.flows[0].fct_ms.as_ref().expect("frames").p95;
        assert!(p95 < 150.0, "seed {seed}: {p95} ms");
    }
}

/// The base station's counters of a flow that connects again hold what its connections before sent. No loop counted until as much had been
/// sent again, so CUBIC steered the later uploads.
#[test]
fn later_connections_of_an_upload_are_steered_by_reports() {
    let text = "[path]\nrtt = \"36 ms\"\n[feedback]\ndelay = \"5 ms\"\n[cell]\nrat = \"lte\"\nbandwidth = \"15 MHz\"\nrlc = { buffer = \"100 packets\" }\n\
         [[ue]]\nmobility = { kind = \"static\", distance = \"100 m\" }\n\
         [[flow]]\ncontroller = \"ebb\"\ndirection = \"up\"\napp = { kind = \"transfers\", min = \"200 kB\", max = \"600 kB\", gap = \"1 s\", reconnect = true }\n";
    for direction in ["up", "down"] {
        let text = text.replace("\"up\"", &format!("\"{direction}\""));
        let run = run(&text, 1);
        for second in 3..15 {
            let from = f64::from(second);
            let part = by_radio(&run, from + 0.1, from + 0.18);
            assert!(part > 0.99, "{direction}, transfer at {second} s: {part}");
        }
    }
}

/// Reports go on in a pause that is short, and come later than the ACKs do on a short path.
#[test]
fn a_chunk_that_is_acknowledged_ahead_of_its_report_is_no_lie() {
    let text = "[path]\nrtt = \"12 ms\"\n[feedback]\ndelay = \"30 ms\"\nebb.every = \"1 ms\"\n[cell]\nrat = \"nr\"\nbandwidth = \"40 MHz\"\nrlc = { buffer = \"30 packets\" }\n\
         [[ue]]\nmobility = { kind = \"static\", distance = \"60 m\" }\n\
         [[flow]]\ncontroller = \"ebb\"\napp = { kind = \"video\", rate = \"5 Mbit/s\", on = \"500 ms\", period = \"2 s\", burst = true }\n";
    let run = run(text, 1);
    for chunk in [4.0, 6.0, 8.0, 10.0, 12.0] {
        let part = by_radio(&run, chunk + 0.15, chunk + 0.25);
        assert!(part > 0.99, "chunk at {chunk} s: {part}");
    }
}
