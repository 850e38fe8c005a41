//! vAQM in a closed loop with senders and a radio link, and alone where no loop is needed.

mod vaqm_loop;

use std::collections::BTreeMap;

use proptest::prelude::*;
use slackwater_core::{
    Body, Bytes, Datagram, Direction, Duration, Ecn, FlowId, Instant, Packet, PacketView as _, Qfi,
    Rate, Segment, SeqNum, TcpFlags, UeId,
};
use slackwater_edge::upf::vaqm::{Mode, Vaqm, VaqmConfig};
use slackwater_edge::{EdgeFunction, RanReport, Session, Verdict};
use slackwater_queue::{LawConfig, Limits, QueueConfig, RampConfig, RampDelay, RampTarget};
use vaqm_loop::{Loop, MSS, Net, Outcome, Source, ms};

const UE: UeId = UeId(0);

fn run(net: &Net, mode: Option<Mode>, sources: &[Source], seconds: f64) -> Outcome {
    let vaqm = mode.map(|mode| Vaqm::new(VaqmConfig::with_mode(mode)));
    Loop::new(net.clone(), vaqm, sources).run(seconds)
}

/// FQ-CoDel where the queue is: what vAQM imitates from afar.
fn ideal(net: &Net) -> Net {
    let mut net = net.clone();
    net.buffer = QueueConfig::from_name("fq-codel").expect("known");
    net
}

fn bulk(n: usize) -> Vec<Source> {
    vec![Source::bulk(); n]
}

fn at(seconds: u64) -> Instant {
    Instant::from_millis(seconds * 1000)
}

// ---- The window in a closed loop

#[test]
fn the_radio_keeps_the_target_queue_and_no_throughput_is_lost() {
    for (mbps, limit_ms) in [(36.0, 70.0), (9.0, 85.0), (4.5, 100.0)] {
        let net = Net::link(mbps);
        let without = run(&net, None, &bulk(3), 40.0);
        let with = run(&net, Some(Mode::Window), &bulk(3), 40.0);
        let share = with.mbps(5.0, 40.0, None) / without.mbps(5.0, 40.0, None);
        assert!(share > 0.97, "{mbps}: {share}");
        let p95 = with.rtt_ms(5.0, 40.0, 0.95);
        assert!(p95 < limit_ms, "{mbps}: p95 {p95} ms");
        assert!(p95 < without.rtt_ms(5.0, 40.0, 0.5));
        // No flow that answers is taken for one that does not.
        assert!(with.plot.iter().all(|(_, s)| s.unresponsive == 0));
    }
}

#[test]
fn auto_spares_the_queue_here_where_every_flow_answers() {
    let net = Net::link(9.0);
    let window = run(&net, Some(Mode::Window), &bulk(3), 40.0);
    let auto = run(&net, Some(Mode::Auto), &bulk(3), 40.0);
    let (p50, of) = (auto.rtt_ms(5.0, 40.0, 0.5), window.rtt_ms(5.0, 40.0, 0.5));
    assert!(p50 < of, "{p50} {of}");
    let share = auto.mbps(5.0, 40.0, None) / window.mbps(5.0, 40.0, None);
    assert!(share > 0.97, "{share}");
    let waits = |o: &Outcome| {
        o.plot
            .iter()
            .filter(|(t, s)| *t > at(5) && s.packets > 0)
            .count()
    };
    assert!(
        waits(&auto) * 4 < waits(&window),
        "{} {}",
        waits(&auto),
        waits(&window)
    );
}

#[test]
fn the_path_does_not_creep_up_under_a_queue_kept_on_purpose() {
    let out = run(&Net::link(20.0), Some(Mode::Window), &bulk(2), 120.0);
    let worst = out.plot.iter().map(|(_, s)| s.path).max().expect("sampled");
    // 17 ms, and what two packets take at 20 Mbit/s.
    assert!(worst < ms(22), "{worst}");
    assert!(out.mbps(60.0, 120.0, None) > 19.4);
}

#[test]
fn no_deadlock_after_own_drops_of_a_flows_tail() {
    // A memory so small that tails of flows are dropped here again and again.
    let config = VaqmConfig {
        memory: Bytes(20_000),
        ..VaqmConfig::default()
    };
    let sources: Vec<Source> = (0..12)
        .map(|i| Source::Tcp {
            start: at(2 * i),
            segments: 150 + 40 * i as u32,
            ecn: Ecn::NotEct,
        })
        .collect();
    let out = Loop::new(Net::link(2.0), Some(Vaqm::new(config)), &sources).run(90.0);
    assert!(out.dropped > 50, "{} drops", out.dropped);
    assert_eq!(
        out.done.len(),
        sources.len(),
        "all came to an end: {:?}",
        out.done
    );
    let (_, last) = out.plot.last().expect("sampled");
    assert_eq!((last.flight, last.backlog), (Bytes(0), Bytes(0)));
}

#[test]
fn a_path_25_ms_longer_keeps_the_throughput() {
    let mut net = Net::link(20.0);
    net.radio_delay
        .push((at(15), Duration::from_micros(21_000)));
    for mode in [Mode::Window, Mode::Auto] {
        let out = run(&net, Some(mode), &bulk(2), 45.0);
        let share = out.mbps(15.0, 45.0, None) / 20.0;
        // 70 % is the target; 98 % is what the search by an empty queue gives.
        assert!(share >= 0.9, "{share}");
        let (_, last) = out.plot.last().expect("sampled");
        assert!(
            last.path >= ms(40),
            "the new path was learned: {}",
            last.path
        );
    }
}

#[test]
fn steps_between_30_and_3_mbit_keep_the_p95_rtt_within_a_fifth_of_the_target() {
    let mut net = Net::link(30.0);
    net.rate = (0..12)
        .map(|i| {
            (
                at(5 * i),
                Rate::from_mbps(if i % 2 == 0 { 30.0 } else { 3.0 }),
            )
        })
        .collect();
    let best = run(&ideal(&net), None, &bulk(2), 60.0);
    let got = run(&net, Some(Mode::Window), &bulk(2), 60.0);
    let none = run(&net, None, &bulk(2), 60.0);
    let p95 = |o: &Outcome| o.rtt_ms(2.0, 60.0, 0.95);
    // Perfect knowledge of the radio would hold the target RTT, 17 + 20 ms, and the servers' 20 ms.
    assert!(p95(&got) <= 1.2 * 57.0, "{}", p95(&got));
    // FQ-CoDel in the radio itself holds 5 ms there in place of 20.
    assert!(
        p95(&got) <= 1.4 * p95(&best),
        "{} {}",
        p95(&got),
        p95(&best)
    );
    assert!(p95(&got) < 0.5 * p95(&none));
    assert!(got.mbps(2.0, 60.0, None) >= 0.95 * best.mbps(2.0, 60.0, None));
}

#[test]
fn harq_and_uplink_jitter_leave_70_percent_of_the_throughput() {
    let mut net = Net::link(20.0);
    net.harq = 0.3;
    net.uplink_jitter = ms(15);
    let without = run(&net, None, &bulk(2), 40.0);
    let with = run(&net, Some(Mode::Window), &bulk(2), 40.0);
    let share = with.mbps(5.0, 40.0, None) / without.mbps(5.0, 40.0, None);
    assert!(share >= 0.7, "{share}");
    assert!(with.rtt_ms(5.0, 40.0, 0.5) < without.rtt_ms(5.0, 40.0, 0.5));
}

#[test]
fn tcp_beside_8_mbit_of_udp_uses_90_percent_of_a_20_mbit_link() {
    let sources = [
        Source::bulk(),
        Source::Udp {
            start: Instant::ZERO,
            rate: Rate::from_mbps(8.0),
        },
    ];
    let out = run(&Net::link(20.0), Some(Mode::Window), &sources, 40.0);
    let (tcp, udp) = (out.mbps(5.0, 40.0, Some(0)), out.mbps(5.0, 40.0, Some(1)));
    assert!(tcp + udp >= 18.0, "{tcp} + {udp}");
    assert!(udp > 7.5, "below its fair share it is left alone: {udp}");
    let p95 = out.rtt_ms(5.0, 40.0, 0.95);
    assert!(p95 < 100.0, "{p95}");
}

#[test]
fn udp_above_the_links_rate_is_found_out_and_leaves_tcp_its_share() {
    let sources = [
        Source::bulk(),
        Source::Udp {
            start: at(2),
            rate: Rate::from_mbps(30.0),
        },
    ];
    // The direct variant has no queues to part them: it finds out too, and the window takes over. `Auto` gives a flow that shows
    // no round trip a queue at once.
    for mode in [Mode::Window, Mode::Direct, Mode::Auto] {
        let out = run(&Net::link(20.0), Some(mode), &sources, 60.0);
        let found = out.plot.iter().any(|(_, s)| s.unresponsive == 1);
        assert!(found, "{}", mode.word());
        let tcp = out.mbps(20.0, 60.0, Some(0));
        assert!(tcp > 8.0, "{}: {tcp}", mode.word());
    }
}

#[test]
fn a_page_beside_a_download_comes_at_once() {
    let mut net = Net::link(10.0);
    net.buffer = QueueConfig::fifo(Limits::bytes(Bytes(400_000)), LawConfig::None);
    let mut sources = bulk(4);
    sources.extend((0..5).map(|i| Source::Tcp {
        start: at(10 + 4 * i),
        segments: 100_000 / MSS,
        ecn: Ecn::NotEct,
    }));
    let mean = |out: &Outcome| {
        let times = (0..5).map(|i| {
            let done = out.done.get(&(i as u32 + 4)).copied().unwrap_or(at(40));
            done.since(at(10 + 4 * i)).as_secs_f64()
        });
        times.sum::<f64>() / 5.0
    };
    let without = mean(&run(&net, None, &sources, 40.0));
    let with = mean(&run(&net, Some(Mode::Window), &sources, 40.0));
    assert!(with * 3.0 < without, "{with} s against {without} s");
}

#[test]
fn ecn_capable_flows_are_marked_and_lose_nothing() {
    let sources = vec![
        Source::Tcp {
            start: Instant::ZERO,
            segments: u32::MAX / MSS / 2,
            ecn: Ecn::Ect0,
        };
        2
    ];
    let out = run(&Net::link(9.0), Some(Mode::Window), &sources, 30.0);
    assert!(out.marks > 10, "{}", out.marks);
    assert_eq!(out.dropped, 0);
    assert!(out.mbps(5.0, 30.0, None) > 8.7);
}

// ---- The other modes

#[test]
fn the_other_modes_hold_their_places() {
    let net = Net::link(9.0);
    let none = run(&net, None, &bulk(2), 40.0);
    let median = |o: &Outcome| o.rtt_ms(5.0, 40.0, 0.5);
    for (mode, least, most_rtt) in [
        (Mode::Int, 0.86, 0.6),
        (Mode::Drain, 0.86, 0.6),
        (Mode::Direct, 0.9, 0.6),
        // The article's text alone: a rate learned in slow start is too large.
        (Mode::Literal, 0.95, 1.0),
    ] {
        let out = run(&net, Some(mode), &bulk(2), 40.0);
        let share = out.mbps(5.0, 40.0, None) / none.mbps(5.0, 40.0, None);
        assert!(share >= least, "{}: {share}", mode.word());
        let ratio = median(&out) / median(&none);
        assert!(ratio <= most_rtt, "{}: {ratio}", mode.word());
    }
    let off = run(&net, Some(Mode::Measure), &bulk(2), 40.0);
    assert_eq!(off.arrivals, none.arrivals);
}

#[test]
fn sealed_flows_are_held_by_reported_delays() {
    let mut net = Net::link(9.0);
    let none = run(&net, None, &bulk(2), 40.0);
    net.sealed = true;
    // The window's mode sees no ACK and falls back to the integrator.
    for mode in [Mode::Window, Mode::Int] {
        let out = run(&net, Some(mode), &bulk(2), 40.0);
        let share = out.mbps(5.0, 40.0, None) / none.mbps(5.0, 40.0, None);
        assert!(share >= 0.8, "{}: {share}", mode.word());
        let (p95, before) = (out.rtt_ms(5.0, 40.0, 0.95), none.rtt_ms(5.0, 40.0, 0.95));
        assert!(
            p95 < 0.6 * before,
            "{}: {p95} against {before}",
            mode.word()
        );
    }
}

#[test]
fn sealed_flows_follow_the_rate_that_the_radio_reports() {
    let mut net = Net::link(9.0);
    net.rate.push((at(20), Rate::from_mbps(3.0)));
    let none = run(&net, None, &bulk(2), 40.0);
    net.sealed = true;
    net.offers = true;
    let out = run(&net, Some(Mode::Window), &bulk(2), 40.0);
    for (from, to, mbps) in [(5.0, 20.0, 9.0), (22.0, 40.0, 3.0)] {
        let share = out.mbps(from, to, None) / mbps;
        assert!(share >= 0.9, "{mbps}: {share}");
        let (p95, before) = (out.rtt_ms(from, to, 0.95), none.rtt_ms(from, to, 0.95));
        assert!(p95 < 0.6 * before, "{mbps}: {p95} against {before}");
    }
}

#[test]
fn after_a_path_switch_the_path_is_learned_anew() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::default());
    let mut now = Instant::ZERO;
    let mut round = |vaqm: &mut Vaqm<Packet>, seq: u32, rtt: u64| {
        now += ms(100);
        let data = Packet {
            flow: FlowId(1),
            len: 1500,
            body: Body::Tcp(Segment {
                seq: SeqNum(seq),
                payload: 1460,
                flags: TcpFlags::ACK,
                ..Segment::default()
            }),
            ..Packet::default()
        };
        vaqm.on_packet(now, Direction::Down, UE, data);
        now += ms(rtt);
        let ack = Packet {
            len: 40,
            dir: Direction::Up,
            body: Body::Tcp(Segment {
                seq: SeqNum(seq),
                ack: SeqNum(seq + 1460),
                flags: TcpFlags::ACK,
                ..Segment::default()
            }),
            ..data
        };
        vaqm.on_packet(now, Direction::Up, UE, ack);
    };
    round(&mut vaqm, 0, 17);
    assert_eq!(vaqm.snapshot(UE, None).expect("made").path, ms(17));
    vaqm.on_report(at(1), &RanReport::PathSwitch { ue: UE });
    round(&mut vaqm, 1460, 45);
    assert_eq!(vaqm.snapshot(UE, None).expect("made").path, ms(45));
}

#[test]
fn a_run_is_the_same_again() {
    let mut net = Net::link(12.0);
    net.harq = 0.2;
    let a = run(&net, Some(Mode::Window), &bulk(3), 10.0);
    let b = run(&net, Some(Mode::Window), &bulk(3), 10.0);
    assert_eq!((a.arrivals, a.plot), (b.arrivals, b.plot));
}

#[test]
fn every_packet_is_accounted_for() {
    for &mode in Mode::ALL {
        let mut sources = bulk(2);
        sources.push(Source::Udp {
            start: at(1),
            rate: Rate::from_mbps(12.0),
        });
        let out = run(&Net::link(9.0), Some(mode), &sources, 12.0);
        let waiting = out.plot.last().map_or(0, |_| out.held_packets);
        assert_eq!(
            out.entered,
            out.left + out.dropped + waiting,
            "{}",
            mode.word()
        );
    }
}

// ---- Alone

fn datagram(flow: u32, seq: u32, len: u16) -> Packet {
    Packet {
        flow: FlowId(flow),
        len,
        body: Datagram::new(seq, len - 28).into(),
        ..Packet::default()
    }
}

fn segment(flow: u32, dir: Direction, seq: u32, ack: u32, payload: u16) -> Packet {
    Packet {
        flow: FlowId(flow),
        len: payload + 52,
        dir,
        body: Body::Tcp(Segment {
            seq: SeqNum(seq),
            ack: SeqNum(ack),
            payload,
            flags: TcpFlags::ACK,
            ..Segment::default()
        }),
        ..Packet::default()
    }
}

/// The UE uploads; its ACKs of a download stay away while the radio's buffer has dropped all that is in flight of it.
#[test]
fn acks_of_an_upload_pass_while_a_download_waits_and_one_of_its_packets_leaves_at_last() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::with_mode(Mode::Window));
    let (mut seq, mut acked, mut now) = (0_u32, 0_u32, Instant::from_millis(1_000));
    let len = MSS as u16;
    let mut held = 0;
    // The queue grows to 200 ms: the valve closes.
    for k in 0..400_u64 {
        now = Instant::from_millis(1_000 + 2 * k);
        let packet = segment(0, Direction::Down, seq, 0, len);
        held += u32::from(vaqm.on_packet(now, Direction::Down, UE, packet) == Verdict::Hold);
        seq += MSS;
        if k % 3 == 2 {
            acked += MSS;
            let ack = segment(0, Direction::Up, 0, acked, 0);
            let _ = vaqm.on_packet(now, Direction::Up, UE, ack);
        }
        while vaqm.release(now).is_some() {}
        while vaqm.take_dropped().is_some() {}
    }
    assert!(held > 0, "the valve never closed");
    // No ACK any more. Those of the upload still pass, each at once.
    let mut left = Vec::new();
    for k in 0..300_u32 {
        now += ms(1);
        let ack = segment(1, Direction::Down, 0, k * MSS, 0);
        let verdict = vaqm.on_packet(now, Direction::Down, UE, ack);
        assert!(matches!(verdict, Verdict::Forward(_)), "{k}: {verdict:?}");
        while let Some((_, packet)) = vaqm.release(now) {
            left.push(packet.flow);
        }
        while vaqm.take_dropped().is_some() {}
    }
    // What leaves to see whether something comes back is a packet that is answered.
    assert!(left.contains(&FlowId(0)), "{left:?}");
    assert!(!vaqm.snapshot(UE, None).expect("a session").acks_hidden);
}

#[test]
fn mbr_is_kept_within_2_percent() {
    for mbps in [1.0, 20.0, 100.0, 1000.0, 5000.0] {
        let mut vaqm = Vaqm::new(VaqmConfig::default());
        let rate = Rate::from_mbps(mbps);
        let up = Session::Up {
            ue: UE,
            gbr_flow: Some(Qfi(5)),
            guaranteed: Rate::ZERO,
            maximum: rate,
        };
        vaqm.on_session(Instant::ZERO, &up);
        // Half as much again is offered, until 20,000 packets' worth has passed.
        let gap = rate.mul_f64(1.5).time_for(Bytes(1500));
        let (mut bytes, mut first, mut last) = (0_u64, None, Instant::ZERO);
        let skip = 2_000;
        let mut passed = 0;
        let mut now = Instant::ZERO;
        for i in 0..30_000 {
            let due = Instant::ZERO + gap * i;
            while let Some(t) = vaqm.next_timer().filter(|t| *t <= due) {
                now = now.max(t);
                while vaqm.release(now).is_some() {
                    passed += 1;
                    if passed > skip {
                        first.get_or_insert(now);
                        bytes += 1500;
                        last = now;
                    }
                }
            }
            now = due;
            let verdict = vaqm.on_packet_of(
                now,
                Direction::Down,
                UE,
                Some(Qfi(5)),
                datagram(1, i as u32, 1500),
            );
            passed += u32::from(matches!(verdict, Verdict::Forward(_)));
        }
        let span = last.since(first.expect("many passed"));
        let got = Rate::from_bytes_over(Bytes(bytes), span).as_mbps();
        assert!((got / mbps - 1.0).abs() < 0.02, "{mbps}: {got}");
    }
}

#[test]
fn an_idle_session_owns_little_and_gives_back_what_it_had() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::default());
    let up = Session::Up {
        ue: UE,
        gbr_flow: None,
        guaranteed: Rate::ZERO,
        maximum: Rate::from_mbps(5.0),
    };
    vaqm.on_session(Instant::ZERO, &up);
    let size = vaqm.memory_of(UE, None).expect("made");
    assert!(size < 4096, "{size} bytes");
    for i in 0..5_000 {
        let now = Instant::from_nanos(u64::from(i) * 100_000);
        let packet = Packet {
            flow: FlowId(i % 40),
            len: 1040,
            body: Body::Tcp(Segment {
                seq: SeqNum(i * 1000),
                payload: 1000,
                flags: TcpFlags::ACK,
                ..Segment::default()
            }),
            ..Packet::default()
        };
        vaqm.on_packet(now, Direction::Down, UE, packet);
    }
    assert!(vaqm.memory_of(UE, None).expect("made") > 4096);
    while let Some(t) = vaqm.next_timer().filter(|t| *t < at(200)) {
        while vaqm.release(t).is_some() {}
    }
    while vaqm.take_dropped().is_some() {}
    let size = vaqm.memory_of(UE, None).expect("still there");
    assert!(size < 4096, "{size} bytes");
    assert_eq!((vaqm.held(), vaqm.next_timer()), (Bytes::ZERO, None));
}

#[test]
fn a_gbr_flow_has_an_instance_of_its_own() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::default());
    for (gbr_flow, maximum) in [(None, 1.0), (Some(Qfi(1)), 50.0)] {
        let up = Session::Up {
            ue: UE,
            gbr_flow,
            guaranteed: Rate::ZERO,
            maximum: Rate::from_mbps(maximum),
        };
        vaqm.on_session(Instant::ZERO, &up);
    }
    // The session's AMBR is used up; the GBR flow passes.
    for i in 0..10 {
        vaqm.on_packet(Instant::ZERO, Direction::Down, UE, datagram(1, i, 1500));
    }
    let verdict = vaqm.on_packet_of(
        Instant::ZERO,
        Direction::Down,
        UE,
        Some(Qfi(1)),
        datagram(2, 0, 1500),
    );
    assert!(matches!(verdict, Verdict::Forward(_)));
    assert!(vaqm.snapshot(UE, None).expect("up").packets > 0);
    let down = Session::Down {
        ue: UE,
        gbr_flow: None,
    };
    vaqm.on_session(Instant::ZERO, &down);
    assert_eq!(vaqm.snapshot(UE, None), None);
    assert_eq!(vaqm.held(), Bytes::ZERO);
    assert!(vaqm.take_dropped().is_some());
}

/// The article: instances "can contain implementations of completely different AQM algorithms or be configured with
/// different default parameters".
#[test]
fn instances_have_parameters_of_their_own() {
    let config = |name: &str| VaqmConfig {
        module: LawConfig::from_name(name).expect("known"),
        police: false,
        ..VaqmConfig::default()
    };
    let mut vaqm: Vaqm<Packet> = Vaqm::new(config("codel"));
    let voice = Some(Qfi(1));
    vaqm.configure(UE, voice, config("none"));
    vaqm.configure(UeId(1), None, config("pie"));
    vaqm.configure(UeId(2), None, config("pie"));
    assert_eq!(vaqm.config_of(UE, None).module.name(), "codel");
    assert_eq!(vaqm.config_of(UE, voice).module.name(), "none");
    assert_eq!(vaqm.config_of(UeId(2), None).module.name(), "pie");

    // Twice what each may have: CoDel drops, PIE after its burst allowance of 150 ms (RFC 8033, 4.1) too, no law does not.
    let up = |ue, gbr_flow| Session::Up {
        ue,
        gbr_flow,
        guaranteed: Rate::ZERO,
        maximum: Rate::from_mbps(6.0),
    };
    let all = [(UE, None), (UE, voice), (UeId(1), None)];
    for (ue, flow) in all {
        vaqm.on_session(Instant::ZERO, &up(ue, flow));
    }
    let mut dropped = [0; 3];
    for i in 0..400_u32 {
        let now = Instant::from_millis(u64::from(i));
        for (n, (ue, flow)) in (0..).zip(all) {
            vaqm.on_packet_of(now, Direction::Down, ue, flow, datagram(n, i, 1500));
        }
        while vaqm.release(now).is_some() {}
        while let Some((packet, _)) = vaqm.take_dropped() {
            dropped[(packet.flow_key() >> 1) as usize] += 1;
        }
    }
    assert!(
        dropped[0] > 0 && dropped[2] > 0 && dropped[0] != dropped[2],
        "{dropped:?}"
    );
    assert_eq!(dropped[1], 0);

    // They go with the session.
    let down = Session::Down {
        ue: UE,
        gbr_flow: voice,
    };
    vaqm.on_session(Instant::from_millis(400), &down);
    assert_eq!(vaqm.config_of(UE, voice).module.name(), "codel");
}

#[test]
fn reported_congestion_marks_that_share_of_l4s_packets() {
    let mut vaqm: Vaqm<Packet> = Vaqm::new(VaqmConfig::default());
    let mut marked = 0;
    for i in 0..1000_u64 {
        let now = Instant::from_millis(i);
        if i % 100 == 0 {
            let report = RanReport::Congestion {
                at: now,
                flow: FlowId(3),
                per_10k: 2_500,
            };
            vaqm.on_report(now, &report);
        }
        let mut packet = datagram(3, i as u32, 1200);
        packet.ecn = Ecn::Ect1;
        match vaqm.on_packet(now, Direction::Down, UE, packet) {
            Verdict::Mark(p) => {
                assert_eq!(p.ecn, Ecn::Ce);
                marked += 1;
            }
            Verdict::Forward(p) => assert_eq!(p.ecn, Ecn::Ect1),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(marked, 250);
}

/// A law that decides on arrival, as a ramp of the head's age does, marks here too.
#[test]
fn any_law_that_decides_on_arrival_is_heard() {
    let ramp = RampConfig {
        delay: RampDelay::Arrival,
        target: RampTarget::Capable,
        ..RampConfig::default()
    };
    let config = VaqmConfig {
        module: LawConfig::Ramp(ramp),
        ..VaqmConfig::default()
    };
    let mut vaqm: Vaqm<Packet> = Vaqm::new(config);
    let up = Session::Up {
        ue: UE,
        gbr_flow: None,
        guaranteed: Rate::ZERO,
        maximum: Rate::from_mbps(6.0),
    };
    vaqm.on_session(Instant::ZERO, &up);

    // 12 Mbit/s into a session of 6: after 40 ms the oldest packet has waited for 20.
    let mut marked = 0;
    for i in 0..200_u32 {
        let now = Instant::from_millis(u64::from(i));
        let mut packet = datagram(3, i, 1500);
        packet.ecn = Ecn::Ect0;
        vaqm.on_packet(now, Direction::Down, UE, packet);
        while let Some((_, packet)) = vaqm.release(now) {
            marked += u64::from(packet.ecn == Ecn::Ce);
        }
    }
    assert!(marked > 20, "{marked} marks");
    assert!(vaqm.stats().marked >= marked);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    /// Whatever comes, nothing is lost but what is reported, and packets of a flow keep their order.
    #[test]
    fn nothing_is_lost_and_flows_stay_in_order(
        mode in 0_usize..Mode::ALL.len(),
        module in 0_usize..LawConfig::NAMES.len(),
        maximum in prop_oneof![Just(0_u64), 500_000_u64..50_000_000],
        steps in prop::collection::vec((0_u64..4_000, 0_u32..6, 60_u16..1500, 0_u8..12), 1..600),
    ) {
        let config = VaqmConfig {
            mode: Mode::ALL[mode],
            module: LawConfig::from_name(LawConfig::NAMES[module]).expect("known"),
            memory: Bytes(60_000),
            ..VaqmConfig::default()
        };
        let mut vaqm: Vaqm<Packet> = Vaqm::new(config);
        let up = Session::Up { ue: UE, gbr_flow: None, guaranteed: Rate::ZERO, maximum: Rate::from_bps(maximum) };
        vaqm.on_session(Instant::ZERO, &up);
        let mut now = Instant::ZERO;
        let (mut entered, mut left, mut dropped) = (0_u64, 0_u64, 0_u64);
        let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
        let mut seen: BTreeMap<u32, u32> = BTreeMap::new();
        let mut out = |p: &Packet| {
            let last = seen.entry(p.flow.0).or_insert(0);
            assert!(p.number() >= *last, "flow {} out of order", p.flow.0);
            *last = p.number() + 1;
            left += 1;
        };
        for (us, flow, len, what) in steps {
            now += Duration::from_micros(us);
            if what < 8 {
                let seq = sent.entry(flow).or_insert(0);
                let mut packet = datagram(flow, *seq, len);
                if flow < 3 {
                    packet.body = Body::Tcp(Segment {
                        seq: SeqNum(*seq),
                        flags: TcpFlags::ACK,
                        payload: len - 40,
                        ..Segment::default()
                    });
                }
                packet.ecn = Ecn::from_bits(flow as u8);
                // Sequence numbers in bytes for TCP; increasing for all.
                *seq += u32::from(packet.payload()).max(1);
                entered += 1;
                match vaqm.on_packet(now, Direction::Down, UE, packet) {
                    Verdict::Forward(p) | Verdict::Mark(p) => out(&p),
                    Verdict::Hold => {}
                    Verdict::Drop(_) => dropped += 1,
                }
            } else if what < 11 {
                let ack = seen_ack(&sent, flow);
                let up = Packet {
                    flow: FlowId(flow),
                    len: 40,
                    dir: Direction::Up,
                    body: Body::Tcp(Segment { ack: SeqNum(ack), flags: TcpFlags::ACK, ..Segment::default() }),
                    ..Packet::default()
                };
                prop_assert_eq!(vaqm.on_packet(now, Direction::Up, UE, up), Verdict::Forward(up));
            } else {
                vaqm.on_report(now, &RanReport::PathSwitch { ue: UE });
            }
            while let Some((_, p)) = vaqm.release(now) {
                out(&p);
            }
        }
        let mut idle = 0;
        while let Some(t) = vaqm.next_timer().filter(|_| vaqm.held() > Bytes::ZERO && idle < 100_000) {
            now = now.max(t);
            idle += 1;
            while let Some((_, p)) = vaqm.release(now) {
                out(&p);
            }
        }
        while vaqm.take_dropped().is_some() {
            dropped += 1;
        }
        prop_assert_eq!(vaqm.held(), Bytes::ZERO, "all came out in the end");
        prop_assert_eq!(entered, left + dropped);
    }
}

/// An acknowledgment of all that was sent on `flow`.
fn seen_ack(sent: &BTreeMap<u32, u32>, flow: u32) -> u32 {
    sent.get(&flow).copied().unwrap_or(0)
}
