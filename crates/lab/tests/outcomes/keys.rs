//! What a key of a scenario changes: a mix of flows on a link, in an LTE cell, in an NR cell and behind a UPF, and each of them
//! once more with one thing changed. A key that nothing obeys has the line of the scenario itself.

use std::fmt::Write as _;
use std::path::Path;

use slackwater_scenario::Scenario;

use crate::line::{HEAD, line};

/// A line for `base` and for each change: keys and values, `key = value; key = value`.
fn table(base: &str, changes: &str) -> String {
    let base = Scenario::parse("base", base, Path::new(".")).expect("a good scenario");
    let mut out = format!("{HEAD}\n\n{:<90}{}\n", "", line(&base));
    let changes = changes.lines().map(str::trim).filter(|c| !c.is_empty());
    for change in changes {
        let mut scenario = base.clone();
        for pair in change.split("; ") {
            let (key, value) = pair.split_once(" = ").expect("key = value");
            scenario = scenario
                .with(key, value)
                .unwrap_or_else(|e| panic!("{change}: {e}"));
        }
        writeln!(out, "{change:<90}{}", line(&scenario)).expect("a string takes all");
    }
    out
}

/// CUBIC from the start, DCTCP's kind of marks from 2 s on, media from 1 s on, transfers and a constant rate between.
const LINK: &str = r#"
    name = "link"
    duration = "12 s"
    seed = 3
    [path]
    rtt = "40 ms"
    loss = "0.2 %"
    [link]
    kind = "rate"
    rate = "16 Mbit/s"
    queue = { kind = "fifo", limit = "100 packets" }
    [[flow]]
    controller = "cubic"
    [[flow]]
    controller = "prague"
    start = "2 s"
    tcp = { ecn = "accurate" }
    [[flow]]
    controller = "al4s-c"
    app = { kind = "media", start = "1 Mbit/s", max = "4 Mbit/s" }
    start = "1 s"
    [[flow]]
    app = { kind = "transfers", max = "200 kB", gap = "0.7 s" }
    controller = "reno"
    [[flow]]
    app = { kind = "cbr", rate = "1 Mbit/s", packet = 700 }
    start = "5 s"
    stop = "8 s"
"#;

#[test]
fn keys_of_queues() {
    let queues = r#"
        link.queue = { kind = "fifo", limit = "20 kB" }
        link.queue = { kind = "fifo", limit = "unlimited" }
        link.queue = { kind = "fifo", law = "codel" }
        link.queue = { kind = "fifo", law = { kind = "codel", ecn = false, target = "12 ms", interval = "60 ms" } }
        link.queue = { kind = "fifo", law = "ramp" }
        link.queue = { kind = "fifo", law = { kind = "ramp", low = "2 ms", high = "2 ms" } }
        link.queue = { kind = "fifo", law = { kind = "ramp", delay = "arrival" } }
        link.queue = { kind = "fifo", law = { kind = "ramp", delay = "nominal", nominal = "12 Mbit/s" } }
        link.queue = { kind = "fifo", law = { kind = "ramp", delay = "delivery" } }
        link.queue = { kind = "fifo", law = "pie" }
        link.queue = { kind = "fifo", law = { kind = "pie", ecn = false, burst = "20 ms", target = "8 ms" } }
        link.queue = { kind = "fifo", law = { kind = "pie", update = "40 ms" } }
        link.queue = { kind = "fifo", law = "pi2" }
        link.queue = { kind = "fifo", law = { kind = "pi2", coupling = 4.0, target = "6 ms", rtt_max = "60 ms" } }
        link.queue = { kind = "fifo", law = "abc" }
        link.queue = { kind = "fifo", law = "abc" }; flow[0].controller = "abc"
        link.queue = { kind = "fifo", law = { kind = "abc", eta = 0.8, window = "60 ms", threshold = "10 ms" } }; flow[0].controller = "abc-basic"
        link.queue = { kind = "fifo", law = "step" }
        link.queue = { kind = "fifo", law = { kind = "step", threshold = "9 kB" } }; flow[0].controller = "dctcp"
        link.queue = { kind = "fifo", law = "red" }
        link.queue = { kind = "fifo", law = { kind = "red", gentle = false, ecn = false, probability = 0.3 } }
        link.queue = { kind = "fifo", law = { kind = "red", weight = 0.02, min = "15 kB", max = "60 kB" } }
        link.queue = { kind = "fq-codel" }
        link.queue = { kind = "fq-codel", flows = 2, quantum = "300 B" }
        link.queue = { kind = "fq-codel", limit = "40 packets", ecn = false }
        link.queue = { kind = "fq-codel", limit = "60 kB", target = "15 ms", interval = "200 ms" }
        link.queue = { kind = "dualpi2" }
        link.queue = { kind = "dualpi2", limit = "50 packets", coupling = 1.0, target = "30 ms" }
        link.queue = { kind = "dualpi2", classic_share = "40 %", low = "300 us", high = "3 ms" }
        link.queue = { kind = "dualpi2", shift = "10 ms" }
        wired = { rate = "9 Mbit/s" }
        wired = { rate = "9 Mbit/s", queue = { kind = "fq-codel" } }
        link.up_rate = "200 kbit/s"
        link.up_rate = "200 kbit/s"; link.up_queue = { kind = "fifo", limit = "20 packets", law = "codel" }
        link.opportunities = false
        link = { kind = "series", points = [[0, 20], [3, 5], [6, 12]], queue = { kind = "fifo", law = "pie" } }
        link = { kind = "series", points = [[0, 20], [3, 5], [6, 12]], smooth = true, period = "7 s", queue = { kind = "dualpi2" } }
        link = { kind = "trace", file = "builtin:driving.down", queue = { kind = "fq-codel" } }
        link = { kind = "trace", file = "builtin:driving.down", up_rate = "300 kbit/s", queue = { kind = "fifo", law = "red" } }
    "#;
    insta::assert_snapshot!(table(LINK, queues));
}

#[test]
fn keys_of_senders_and_paths() {
    let transports = r#"
        path.rtt = "200 ms"
        path.rtt = "1 ms"
        path.loss = "4 %"
        path.jitter = "15 ms"
        path.stalls = { every = "200 ms", longest = "60 ms" }
        flow[0].tcp.mss = 500
        flow[0].tcp.initial_window = 40; flow[3].tcp.initial_window = 2
        flow[0].tcp.initial_ssthresh = 20
        flow[0].tcp.send_buffer = "15 kB"
        flow[0].tcp.recv_buffer = "60 kB"
        flow[0].tcp.recv_buffer = "600 kB"; flow[0].tcp.window_scale = 0; flow[0].controller = "veno"; path.loss = "0 %"; link.queue.limit = "unlimited"
        flow[0].tcp.min_rto = "1 s"; path.loss = "6 %"
        flow[0].tcp.delayed_ack = "0 s"
        flow[0].tcp.ack_every = 8
        flow[0].tcp.ecn = "classic"; link.queue.law = "codel"
        flow[0].tcp.timestamps = false; path.loss = "2 %"
        flow[0].tcp.sack = false; path.loss = "2 %"
        flow[0].tcp.sack = false; flow[0].tcp.timestamps = false; path.loss = "8 %"
        flow[0].tcp.pacing = true
        flow[0].tcp.receive_offload = true
        flow[0].transport = "quic"
        flow[0].transport = "quic"; path.loss = "3 %"
        flow[0].transport = "quic"; flow[0].quic = { ecn = "classic" }; link.queue.law = "codel"
        flow[0].transport = "quic"; flow[0].quic = { packet = 1300, initial_window = 4, ack_every = 10, max_ack_delay = "80 ms" }
        flow[0].transport = "quic"; flow[0].quic = { pacing = false, recv_window = "80 kB", send_buffer = "300 kB" }
        flow[0].transport = "quic"; flow[3].transport = "quic"; path.jitter = "25 ms"
        flow[3].transport = "quic"; flow[3].app.reconnect = false
        flow[3].app.reconnect = false; flow[3].app.gap = "30 ms"
        flow[0].direction = "up"; link.up_rate = "4 Mbit/s"
        flow[1].direction = "up"; flow[2].direction = "up"; link.up_rate = "4 Mbit/s"; link.up_queue = { kind = "fifo", law = "ramp" }
        flow[3].app = { kind = "page", size = "300 kB", objects = 20, gap = "0.5 s" }
        flow[3].app = { kind = "page", size = "300 kB", objects = 20, gap = "0.5 s", multiplexed = true, connections = 2 }
        flow[3].app = { kind = "video", rate = "8 Mbit/s", on = "1 s", period = "3 s" }
        flow[3].app = { kind = "video", rate = "8 Mbit/s", on = "1 s", period = "3 s", burst = true }
        flow[3].app = { kind = "vr", rate = "4 Mbit/s", clock = "grid" }
        flow[3].app = { kind = "vr", rate = "4 Mbit/s", transport = "tcp", size_cv = "40 %", lead = "0.5 s" }
        flow[2].app = { kind = "media", frames = "chromium", key_interval = "2 s", key_scale = 4, needs_key = true }
        flow[2].app = { kind = "media", lag = "0.5 s", pacing = 1.5, feedback = "twcc", every = "100 ms", nack = false }
        flow[2].app = { kind = "media", pause = "3 s", resume = "6 s", ecn = "off", feedback_loss = "20 %", playout = "80 ms" }
        flow[2].app = { kind = "media", fps = 25, packet = 600, longest_wait = "50 ms", discard = true, burst = "10 ms", told = false }
        flow[2].controller = "gcc"; path.loss = "3 %"
        flow[2].controller = "gcc"; path.jitter = "20 ms"
        flow[2].controller = "scream"; path.loss = "3 %"
        flow[2].controller = "scream"; link.queue.law = "ramp"
        flow[2].controller = "scream"; flow[2].app = { kind = "media", fps = 30 }
        flow[2].controller = "scream"; flow[2].app = { kind = "media", fps = 30, unreported = "33 ms" }
        flow[2].controller = "al4s-s"; link.queue.law = "ramp"
        flow[2].controller = "l4s-cc"; link.queue.law = "ramp"
        flow[2].controller = "ebb-media"
        flow[2].controller = "ebb-media"; feedback.faults.stop = "3 s"
        flow[2].controller = "al4s-c:r0=ebb"; link.queue.law = "ramp"
        flow[0].count = 4; flow[0].stagger = "0.5 s"; flow[0].controller = "reno"
        flow[0].count = 2; flow[0].rtt = "120 ms"
    "#;
    insta::assert_snapshot!(table(LINK, transports));
}

/// Four users of whom two move, down and up.
const CELL: &str = r#"
    name = "cell"
    duration = "4 s"
    seed = 5
    [path]
    rtt = "30 ms"
    [cell]
    rat = "lte"
    bandwidth = "5 MHz"
    fading = "epa"
    [[ue]]
    mobility = { kind = "static", distance = "300 m" }
    [[ue]]
    mobility = { kind = "walk", speed = "60 km/h", turn = "1 s" }
    [[ue]]
    mobility = { kind = "steps", period = "1 s", max = "900 m" }
    [[ue]]
    channel = { kind = "mcs-series", points = [[0, 20], [1, 5], [2, 12]] }
    [[flow]]
    ue = "each"
    controller = "cubic"
    [[flow]]
    ue = 0
    direction = "up"
    controller = "reno"
    start = "1 s"
    [[flow]]
    ue = 2
    app = { kind = "cbr", rate = "600 kbit/s", packet = 400 }
    [[flow]]
    ue = 1
    direction = "up"
    app = { kind = "media", max = "2 Mbit/s" }
    controller = "gcc"
"#;

/// Keys that both radio access technologies have.
const COMMON: &str = r#"
    cell.n_rb = 13
    cell.layers = 2
    cell.scheduler = "rr"
    cell.scheduler = "max-rate"
    cell.pf_window = "1 s"
    cell.schedulable_prbs = 20
    cell.ues_per_slot = 1
    cell.ues_per_slot = 4
    cell.carrier = "700 MHz"
    cell.tx_power = "30 dBm"
    cell.ue_tx_power = "10 dBm"
    cell.antenna_gain = "10 dB"
    cell.noise_figure = "20 dB"
    cell.bs_noise_figure = "20 dB"
    cell.pathloss = { model = "log-distance", exponent = 3.6 }
    cell.pathloss = { model = "uma", condition = "nlos" }
    cell.pathloss = { model = "uma", condition = "drawn", ue_height = "14 m" }
    cell.pathloss = { model = "umi", condition = "los" }
    cell.pathloss = { model = "umi", condition = "drawn" }
    cell.pathloss = { model = "rma", condition = "drawn" }
    cell.pathloss = { model = "inh", condition = "drawn" }
    cell.pathloss = { model = "inh-open", condition = "drawn" }
    cell.shadowing = "8 dB"
    cell.shadowing = "8 dB"; cell.shadowing_distance = "5 m"
    cell.fading = "none"
    cell.fading = "flat"
    cell.fading = "eva"
    cell.fading = "etu"
    ue.speed = "50 km/h"
    cell.amc = "piro"
    cell.amc = "ns3"
    cell.gap = "6 dB"
    cell.cqi = { period = "40 ms", delay = "20 ms" }
    cell.olla = { enabled = false }
    cell.olla = { target = "1 %", step = "0.1 dB", limit = "2 dB" }
    cell.harq = { transmissions = 1 }; cell.olla = { target = "30 %" }
    cell.harq = { transmissions = 2, combining = "chase" }; cell.olla = { target = "40 %" }
    cell.harq = { combining = "none", processes = 3 }; cell.olla = { target = "40 %" }
    cell.uplink = { sr_period = "40 ms", first_grant = 40 }
    cell.uplink = { retx_bsr = "320 ms", periodic_bsr = "5 ms" }
    cell.uplink = { buffer_status = "out-of-band" }
    cell.uplink = { min_grant = 2000 }
    cell.rlc = { mode = "um" }
    cell.rlc = { mode = "am", buffer = "30 packets" }
    cell.rlc = { mode = "am", poll_pdu = 4, poll_retransmit = "20 ms", status_prohibit = "1 ms" }; cell.harq = { transmissions = 1 }; cell.olla = { target = "30 %" }
    cell.rlc = { mode = "um", reassembly = "5 ms" }; cell.harq = { transmissions = 1 }; cell.olla = { target = "30 %" }
    cell.rlc = { max_retransmissions = 2 }; cell.harq = { transmissions = 1 }; cell.olla = { target = "50 %" }
    cell.rlc = { law = "codel" }
    cell.rlc = { law = "ramp", buffer = "unlimited" }
    cell.rlc = { queue = { kind = "fq-codel" } }
    cell.rlc = { queue = { kind = "dualpi2" } }
    cell.pdcp = { discard = "100 ms" }
    cell.timing = { processing = "4 ms" }
    ue[0].bearers = [{}, { qfi = [5], priority = 2, five_qi = 3 }]; flow[1].qfi = 5
    ue[2].bearers = [{}, { qfi = [5], gbr = "1 Mbit/s" }]; flow[2].qfi = 5
    ue[2].bearers = [{ buffer = "10 packets" }, { qfi = [5], gbr = "1 Mbit/s", priority = 1 }]; flow[2].qfi = 5; cell.scheduler = "exp-pf"
    ue[3].channel = { kind = "cqi-series", points = [[0, 12], [1, 3], [2, 9]], repeat = false }
    ue[3].channel = { kind = "mcs", mcs = 3 }
    ue[1].mobility = { kind = "waypoints", points = [[0, 50], [3, 800]] }
    wired = { rate = "5 Mbit/s" }
    flow[0].transport = "quic"
    flow[0].controller = "xrc"
    flow[0].controller = "xrc-paper"; feedback.xrc = { agent = "paper", window = 10 }
    flow[0].controller = "xrc"; feedback.xrc = { share = "count", f1_delay = "5 ms", flow_timeout = "20 ms" }
    flow[0].controller = "xrc"; feedback.carrier = "datagram"; feedback.delay = "10 ms"; feedback.jitter = "10 ms"
    flow[0].controller = "xrc"; feedback.faults = { loss = "50 %" }
    flow[0].controller = "tyrus"; feedback.carrier = "socket"
    flow[0].controller = "tyrus"; feedback.tyrus = { blocks = "allocated", every = "30 ms" }
    flow[0].controller = "tyrus"; feedback.faults = { stop = "2 s", stale = true }
    flow[0].controller = "ebb"; feedback.ebb.every = "20 ms"
    flow[0].controller = "ebb"; feedback.faults = { stop = "2 s" }
    flow[0].controller = "ebb"; feedback.faults = { rate_scale = 0.1, hol_scale = 10 }
    flow[0].controller = "pbe"
    flow[0].controller = "exll"
    flow[0].controller = "verus"
    flow[0].controller = "sprout"
"#;

#[test]
fn keys_of_an_lte_cell() {
    let own = r#"
        cell.bandwidth = "1.4 MHz"
        cell.mcs_table = "256qam"
        cell.harq.rtt = "16 ms"; cell.olla.target = "30 %"
    "#;
    insta::assert_snapshot!(table(CELL, &format!("{own}{COMMON}")));
}

#[test]
fn keys_of_an_nr_cell() {
    let base = CELL.replace(
        "rat = \"lte\"\n    bandwidth = \"5 MHz\"",
        "rat = \"nr\"\n    bandwidth = \"10 MHz\"\n    scs = \"30 kHz\"\n    duplex = \"tdd\"",
    );
    assert_ne!(base, CELL);
    let own = r#"
        cell.bandwidth = "20 MHz"; cell.scs = "15 kHz"; cell.duplex = "fdd"
        cell.bandwidth = "50 MHz"; cell.scs = "60 kHz"
        cell.bandwidth = "50 MHz"; cell.scs = "120 kHz"; cell.carrier = "28 GHz"
        cell.tdd = "DDDDDDDSUU"; cell.special = "6:4:4"
        cell.tdd = "DSUUU"
        cell.tdd = "DU"
        cell.mcs_table = "low-se"
        cell.mcs_table = "64qam"
        cell.fading = "tdl-a"
        cell.fading = "tdl-b"; cell.delay_spread = "1 us"
        cell.fading = "tdl-c300"
        cell.fading = "tdl-d"
        cell.timing = { k0 = 1, k1 = 8, k2 = 6 }
        cell.uplink = { prepare = "1 ms" }
    "#;
    insta::assert_snapshot!(table(&base, &format!("{own}{COMMON}")));
}

/// Behind a UPF: downloads over TCP and QUIC, media that is marked, and frames of VR.
const UPF: &str = r#"
    name = "upf"
    duration = "6 s"
    seed = 11
    [path]
    rtt = "24 ms"
    loss = "0.1 %"
    [cell]
    rat = "nr"
    bandwidth = "20 MHz"
    scs = "30 kHz"
    duplex = "tdd"
    fading = "tdl-a"
    [upf]
    vaqm.mode = "auto"
    [[ue]]
    mobility = { kind = "static", distance = "180 m" }
    [[ue]]
    mobility = { kind = "static", distance = "250 m" }
    [[ue]]
    mobility = { kind = "static", distance = "60 m" }
    [[flow]]
    ue = 0
    controller = "cubic"
    [[flow]]
    ue = 0
    controller = "bbr"
    start = "2 s"
    [[flow]]
    ue = 1
    controller = "cubic"
    transport = "quic"
    [[flow]]
    ue = 1
    controller = "al4s-c"
    app = { kind = "media", max = "10 Mbit/s" }
    [[flow]]
    ue = 2
    controller = "cubic"
    app = { kind = "vr", rate = "12 Mbit/s", transport = "tcp", clock = "grid" }
    tcp = { ecn = "accurate" }
    qfi = 7
    [[flow]]
    ue = 2
    controller = "reno"
    start = "1 s"
    app = { kind = "transfers", gap = "0.5 s" }
"#;

#[test]
fn keys_of_a_user_plane_function() {
    let keys = r#"
        upf.vaqm.mode = "off"
        upf.vaqm.mode = "window"
        upf.vaqm.mode = "int"
        upf.vaqm.mode = "literal"
        upf.vaqm.mode = "drain"
        upf.vaqm.mode = "direct"
        upf.vaqm.mode = "measure"
        upf.vaqm.preset = "nr"
        upf.vaqm.preset = "throughput"
        upf.vaqm = { mode = "window", fraction = "150 %", min_target = "2 ms", max_target = "20 ms" }
        upf.vaqm = { mode = "window", module = "pie" }
        upf.vaqm = { mode = "window", module = "pi2" }
        upf.vaqm = { mode = "window", module = "red" }
        upf.vaqm = { mode = "window", module = "ramp" }
        upf.vaqm = { mode = "window", module = "none" }
        upf.vaqm = { mode = "int", module = "step" }
        upf.vaqm = { mode = "direct", module = "abc" }
        upf.vaqm.police = false; flow[0].app = { kind = "cbr", rate = "40 Mbit/s" }
        flow[0].app = { kind = "cbr", rate = "40 Mbit/s" }
        upf.ambr = "6 Mbit/s"
        upf.ambr = "6 Mbit/s"; upf.vaqm.mode = "int"
        ue[1].ambr = "3 Mbit/s"; ue[1].vaqm = { mode = "direct" }
        ue[2].bearers = [{}, { qfi = [7], gbr = "12 Mbit/s", mbr = "15 Mbit/s" }]
        ue[2].bearers = [{}, { qfi = [7], gbr = "5 Mbit/s", mbr = "8 Mbit/s", vaqm = { mode = "int", module = "pie" } }]
        upf.n3 = "4 ms"
        upf.detour = { extra = "20 ms", period = "1 s" }
        upf.detour = { extra = "20 ms", period = "1 s", notice = true }
        upf.zhuge = { on = true }
        upf.zhuge = { on = true, window = "15 ms", most = "30 ms" }; upf.vaqm.mode = "off"
        upf.l4s = { on = true }
        upf.l4s = { on = true, low = "1 ms", high = "4 ms" }; upf.vaqm.mode = "off"; flow[1].controller = "prague"; flow[1].tcp.ecn = "accurate"
        upf.l4s = { on = true, hold = "10 ms" }; upf.reports = { loss = "50 %" }
        upf.cecc.mode = "paper"
        upf.cecc.mode = "credit"
        upf.cecc.mode = "hold"
        upf.cecc = { mode = "paper", schedule = "alg1", standard = "20 ms" }
        upf.cecc = { mode = "credit", margin = "2 ms" }; upf.vaqm.mode = "off"
        upf.cecc = { mode = "hold", margin = "1 ms", standard = "5 ms" }; upf.vaqm.mode = "off"; flow[3].controller = "gcc"
        upf.cecc.mode = "hold"; upf.reports = { period = "5 ms", phase = "300 us", delay = "2 ms" }
        upf.cecc.mode = "hold"; upf.reports = { jitter = "3 ms", stop = "3 s" }
        upf.l4s = { on = true }; upf.reports.profile = "container"
        upf.cecc.mode = "credit"; upf.reports.profile = "session"
        upf.cecc.mode = "credit"; flow[4].transport = "quic"
        flow[2].quic = { spin = "rfc" }
        flow[2].quic = { spin = "off" }
        path.loss = "3 %"
        path.rtt = "160 ms"
        path.jitter = "10 ms"
        cell.rlc = { buffer = "1 MB" }
        cell.rlc = { law = "ramp", buffer = "1 MB" }; upf.vaqm.mode = "off"
        cell.duplex = "fdd"; cell.fading = "tdl-c"; cell.scs = "15 kHz"
        flow[0].controller = "bbr3"; flow[2].controller = "bbr"
        flow[0].controller = "reno"; flow.start = "0 s"
        flow.direction = "up"
    "#;
    insta::assert_snapshot!(table(UPF, keys));
}
