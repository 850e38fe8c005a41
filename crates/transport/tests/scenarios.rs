//! One mechanism a test, on a path of 40 ms RTT without a bottleneck unless said.

mod common;

use common::{Bottleneck, Fate, Pair};
use slackwater_control::{EcnMode, Recovery};
use slackwater_core::packet::Blocks;
use slackwater_core::{
    Duration, Ecn, Instant, Packet, PacketView as _, Segment, SegmentBits, SeqNum, TcpFlags,
};
use slackwater_transport::tcp::{Config, DelayedAck, Endpoint, Negotiated};

const OWD: Duration = Duration::from_millis(20);
const MSS: u64 = 1448;

fn pair(cfg: &Config) -> Pair {
    Pair::new(cfg, "reno", OWD)
}

fn segment(p: &Packet) -> &Segment {
    p.segment().expect("a segment")
}

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

/// Drops the packets of one end whose emission numbers are listed.
fn lose(numbers: &'static [u64]) -> common::Script {
    Box::new(move |n, _| {
        if numbers.contains(&n) {
            Fate::Drop
        } else {
            Fate::Pass
        }
    })
}

/// Drops each listed data segment once; they count from 0 by position.
fn lose_segments(segments: &'static [u64], times: u32) -> common::Script {
    let mut left = vec![times; segments.len()];
    let mut base = None;
    Box::new(move |_, p: &mut Packet| {
        let s = segment(p);
        if s.flags.contains(TcpFlags::SYN) {
            base = Some(s.seq + 1);
            return Fate::Pass;
        }
        let Some(base) = base else { return Fate::Pass };
        let n = u64::from(s.seq - base) / MSS;
        match segments.iter().position(|&s| s == n) {
            Some(i) if p.payload() > 0 && left[i] > 0 => {
                left[i] -= 1;
                Fate::Drop
            }
            _ => Fate::Pass,
        }
    })
}

/// Writes `bytes` and runs until they arrived; returns how long that took.
fn transfer(pair: &mut Pair, bytes: u64) -> Duration {
    let start = pair.now;
    let goal = pair.ends[1].delivered() + bytes;
    let taken = pair.on(0, |e, now, out| e.write(now, bytes, out));
    assert_eq!(taken, bytes);
    while pair.ends[1].delivered() < goal {
        assert!(pair.step(start + Duration::from_secs(300)), "a stall");
    }
    pair.now.since(start)
}

#[test]
fn an_idle_connection_has_no_timer() {
    let mut p = pair(&Config::default()).connected();
    transfer(&mut p, 100 * MSS);
    p.run_ms(10_000);
    assert!(p.ends[0].is_idle());
    assert_eq!(
        (p.ends[0].next_timer(), p.ends[1].next_timer()),
        (None, None)
    );
    let events = p.ends[0].take_events();
    assert!(events.connected && events.drained && !events.closed);
}

#[test]
fn both_ends_close() {
    let mut p = pair(&Config::default()).connected();
    transfer(&mut p, 10 * MSS);
    p.on(0, Endpoint::close);
    p.run_ms(1000);
    assert!(p.ends[1].take_events().peer_closed);
    p.on(1, Endpoint::close);
    p.run_ms(1000);
    assert!(p.ends[0].take_events().closed && p.ends[1].take_events().closed);
    assert_eq!(p.ends[1].delivered(), 10 * MSS);
    assert_eq!(p.ends[0].next_timer(), None);
}

/// RFC 6298, 5.7 and RFC 9293, 3.8.3: the SYN is repeated after 1, 2, 4 s.
#[test]
fn lost_syns_are_repeated() {
    let mut p = pair(&Config::default());
    p.scripts[0] = lose(&[0, 1]);
    let p = p.connected();
    assert_eq!(p.now, ms(3060));
    let mut p = pair(&Config::default());
    p.scripts[1] = lose(&[0]);
    let p = p.connected();
    assert!(p.now >= ms(1040) && p.now < ms(1100), "{}", p.now);
}

#[test]
fn a_lost_last_ack_of_the_handshake_is_made_good() {
    // By the server's SYN/ACK, where the client is silent.
    let mut p = pair(&Config::default());
    p.scripts[0] = lose(&[1]);
    let p = p.connected();
    assert!(p.now <= ms(1100));
    // By the client's data, where there is some.
    let mut p = pair(&Config::default());
    p.scripts[0] = lose(&[1]);
    p.on(0, |e, now, out| {
        e.connect(now, out);
        e.write(now, 3 * MSS, out)
    });
    p.run(ms(100));
    assert_eq!(p.ends[1].delivered(), 3 * MSS);
}

/// RFC 8985, 6.2: one hole, one retransmission, no timeout; the hole costs one RTT.
#[test]
fn one_loss_is_repaired_by_one_retransmission() {
    let mut clean = pair(&Config::default()).connected();
    let undisturbed = transfer(&mut clean, 60 * MSS);
    let mut p = pair(&Config::default());
    p.scripts[0] = lose_segments(&[20], 1);
    let mut p = p.connected();
    let took = transfer(&mut p, 60 * MSS);
    let stats = p.ends[0].stats();
    assert_eq!(
        (stats.retransmits, stats.recoveries, stats.timeouts),
        (1, 1, 0)
    );
    assert!(took <= undisturbed + Duration::from_millis(85), "{took}");
    assert_eq!(p.ends[1].stats().duplicate_bytes, 0);
}

/// The queue overflows and then drains at a tenth of the rate: the first retransmission takes longer than a timeout that
/// would run from the last progress. Linux lets it start anew with each SACK of data that left before the retransmission,
/// and with the retransmission itself (`tcp_clean_rtx_queue`, `tcp_xmit_retransmit_queue`).
#[test]
fn a_slow_recovery_is_no_timeout() {
    let mut p = pair(&Config::default());
    p.bottleneck = Some(Bottleneck {
        gap: Duration::from_millis(1),
        limit: 250,
    });
    let mut p = p.connected();
    p.on(0, |e, now, out| {
        e.set_bulk(true);
        e.kick(now, out);
    });
    while p.drops == 0 {
        assert!(p.step(ms(5_000)), "the queue overflows");
    }
    p.bottleneck = Some(Bottleneck {
        gap: Duration::from_millis(10),
        limit: 250,
    });
    while p.ends[0].stats().recoveries == 0 {
        assert!(p.step(ms(5_000)), "the loss is found");
    }
    // A queue takes 2.5 s to drain, and the retransmission waits behind it; a timeout from the last progress comes at 6 s.
    while p.now < ms(8_000) {
        assert!(p.step(ms(20_000)), "there is more to come");
        assert_eq!(p.ends[0].stats().timeouts, 0, "at {}", p.now);
    }
}

/// Every other packet of a burst is lost, and what is left arrives within a millisecond, in which duplicate ACKs wait: an
/// ACK has room for three holes. Nothing that arrived is sent again.
#[test]
fn compressed_acks_hide_no_hole() {
    let mut p = pair(&Config::default());
    p.scripts[0] = lose_segments(&[100, 102, 104, 106, 108, 110, 112, 114, 116, 118], 1);
    let mut p = p.connected();
    transfer(&mut p, 300 * MSS);
    let stats = p.ends[0].stats();
    assert_eq!((stats.retransmits, stats.timeouts), (10, 0));
    assert_eq!(p.ends[1].stats().duplicate_bytes, 0);
}

/// ACKs arrive in bunches, as a cell's uplink hands them over: several at one instant, of which the first let new data out
/// and a later one tells of a loss. The new data does not show that the retransmission is lost.
#[test]
fn bunched_acks_are_no_reason_to_repeat() {
    let mut p = pair(&Config::default());
    p.bottleneck = Some(Bottleneck {
        gap: Duration::from_millis(1),
        limit: 100_000,
    });
    p.scripts[0] = lose_segments(&[100, 107, 115, 124, 134, 145, 157, 170, 184], 1);
    p.scripts[1] = Box::new(|_, ack| {
        let (every, at) = (6_000_000, ack.created.since(Instant::ZERO).as_nanos());
        Fate::Late(Duration::from_nanos(at.next_multiple_of(every) - at))
    });
    let mut p = p.connected();
    transfer(&mut p, 900 * MSS);
    let stats = p.ends[0].stats();
    assert_eq!((stats.retransmits, stats.timeouts), (9, 0));
    assert_eq!(p.ends[1].stats().duplicate_bytes, 0);
}

/// RFC 8985, 3.2: a lost retransmission is found by time as well.
#[test]
fn a_lost_retransmission_needs_no_timeout() {
    let mut p = pair(&Config::default());
    p.scripts[0] = lose_segments(&[20], 2);
    let mut p = p.connected();
    transfer(&mut p, 300 * MSS);
    let stats = p.ends[0].stats();
    assert_eq!((stats.retransmits, stats.timeouts), (2, 0));
}

#[test]
fn without_rack_three_sacked_segments_mean_a_loss() {
    let cfg = Config {
        rack: false,
        ..Config::default()
    };
    let mut p = pair(&cfg);
    p.scripts[0] = lose_segments(&[20, 22], 1);
    let mut p = p.connected();
    transfer(&mut p, 60 * MSS);
    let stats = p.ends[0].stats();
    assert_eq!((stats.retransmits, stats.timeouts), (2, 0));
}

/// RFC 6582: without SACK one hole is repaired per round trip.
#[test]
fn newreno_repairs_hole_by_hole() {
    let cfg = Config {
        sack: false,
        ..Config::default()
    };
    let mut p = pair(&cfg);
    p.scripts[0] = lose_segments(&[20, 22, 25], 1);
    let mut p = p.connected();
    transfer(&mut p, 80 * MSS);
    let stats = p.ends[0].stats();
    assert_eq!(
        (stats.retransmits, stats.recoveries, stats.timeouts),
        (3, 1, 0)
    );
}

/// RFC 8985, 7.3 and 7.4: the probe repeats a lost tail after two RTTs, and the loss is answered.
#[test]
fn a_lost_tail_is_probed() {
    let mut p = pair(&Config::default());
    p.scripts[0] = lose_segments(&[39], 1);
    let mut p = p.connected();
    let took = transfer(&mut p, 40 * MSS);
    let stats = p.ends[0].stats();
    assert_eq!((stats.probes, stats.timeouts, stats.retransmits), (1, 0, 1));
    assert!(took < Duration::from_millis(450), "{took}");
    let cfg = Config {
        tlp: false,
        ..Config::default()
    };
    let mut p = pair(&cfg);
    p.scripts[0] = lose_segments(&[39], 1);
    let mut p = p.connected();
    transfer(&mut p, 40 * MSS);
    assert_eq!(p.ends[0].stats().timeouts, 1);
}

/// RFC 6298, 5.5: timeouts double while nothing comes through.
#[test]
fn timeouts_back_off() {
    let mut p = pair(&Config::default()).connected();
    transfer(&mut p, 20 * MSS);
    p.run_ms(1000);
    p.trace = Some(Vec::new());
    p.scripts[0] = Box::new(|_, _| Fate::Drop);
    p.on(0, |e, now, out| e.write(now, 10 * MSS, out));
    p.run_ms(8000);
    p.scripts[0] = Box::new(|_, _| Fate::Pass);
    let head = p.sent_by(0)[0].1.number();
    let times: Vec<_> = p
        .sent_by(0)
        .iter()
        .filter(|(_, p)| p.number() == head && p.payload() > 0)
        .map(|(at, _)| *at)
        .collect();
    let gaps: Vec<_> = times
        .windows(2)
        .map(|w| w[1].since(w[0]).as_millis())
        .collect();
    assert!(gaps.len() >= 4, "{gaps:?}");
    for w in gaps[1..].windows(2) {
        assert_eq!(w[1], 2 * w[0], "{gaps:?}");
    }
    assert!(p.ends[0].stats().timeouts >= 4);
    let goal = 30 * MSS;
    p.run_ms(20_000);
    assert_eq!(p.ends[1].delivered(), goal);
}

/// RFC 5682 and RFC 3522: a delay spike causes a timeout that proves spurious, and the window comes back.
#[test]
fn a_spurious_timeout_is_undone() {
    for timestamps in [true, false] {
        let cfg = Config {
            timestamps,
            recv_buffer: slackwater_core::Bytes(40 * MSS),
            ..Config::default()
        };
        let mut p = pair(&cfg);
        p.ends[0].set_bulk(true);
        let mut p = p.connected();
        p.run(ms(500));
        let before = p.ends[0].sample().cwnd;
        assert!(before.0 >= 20 * MSS);
        // From now on everything takes 450 ms in place of 20, in order.
        p.delay = Duration::from_millis(450);
        p.run(ms(4000));
        let stats = p.ends[0].stats();
        assert_eq!((stats.timeouts, stats.undos), (1, 1), "{stats:?}");
        assert!(stats.retransmits <= 3, "{stats:?}");
        assert!(p.ends[0].sample().cwnd >= before);
    }
}

/// RFC 8985, 6.2: reordering is learnt, after which it costs no retransmission.
#[test]
fn reordering_is_learnt() {
    let mut p = pair(&Config::default());
    let mut count = 0;
    p.scripts[0] = Box::new(move |_, p: &mut Packet| {
        count += u64::from(p.payload() > 0);
        if p.payload() > 0 && count % 50 == 0 {
            Fate::Late(Duration::from_millis(5))
        } else {
            Fate::Pass
        }
    });
    p.bottleneck = None;
    let mut p = p.connected();
    // 500 segments of 1 ms each: written one by one.
    for _ in 0..2000 {
        p.on(0, |e, now, out| e.write(now, MSS, out));
        p.run_ms(1);
    }
    p.run_ms(500);
    let stats = p.ends[0].stats();
    assert_eq!(p.ends[1].delivered(), 2000 * MSS);
    assert!(stats.retransmits <= 2, "{stats:?}");
    assert_eq!(stats.timeouts, 0);
}

#[test]
fn one_segment_is_acknowledged_after_40_ms() {
    let cfg = Config {
        delayed_ack: DelayedAck {
            quick: 0,
            ..DelayedAck::default()
        },
        ..Config::default()
    };
    let mut p = pair(&cfg).connected();
    p.trace = Some(Vec::new());
    let start = p.now;
    p.on(0, |e, now, out| e.write(now, MSS, out));
    p.run_ms(500);
    let acks = p.sent_by(1);
    assert_eq!(acks.len(), 1);
    assert_eq!(acks[0].0.since(start), OWD + Duration::from_millis(40));
    assert_eq!(p.ends[0].stats().retransmits, 0, "the probe allows for it");
}

/// RFC 9293, 3.8.6.1: a shut window is probed, and the transfer goes on when it opens.
#[test]
fn a_shut_window_is_probed() {
    let cfg = Config {
        recv_buffer: slackwater_core::Bytes(20 * MSS),
        window_scale: 0,
        ..Config::default()
    };
    let mut p = pair(&cfg);
    p.ends[1].set_auto_read(false);
    let mut p = p.connected();
    p.on(0, |e, now, out| e.write(now, 100 * MSS, out));
    p.run_ms(5000);
    assert_eq!(p.ends[1].unread(), 20 * MSS);
    assert_eq!(p.ends[0].sample().in_flight.0, 0);
    let probes = p.ends[0].stats().window_probes;
    assert!((3..8).contains(&probes), "{probes}");
    // The update gets lost: the next probe finds the window open.
    let update = p.emitted[1];
    p.scripts[1] = Box::new(move |n, _| if n == update { Fate::Drop } else { Fate::Pass });
    let got = p.on(1, |e, now, out| e.read(now, 20 * MSS, out));
    assert_eq!(got, 20 * MSS);
    p.run_ms(20_000);
    assert_eq!(p.ends[1].unread(), 20 * MSS);
    while p.ends[1].delivered() < 100 * MSS {
        p.on(1, |e, now, out| e.read(now, 20 * MSS, out));
        p.run_ms(200);
        assert!(p.now < ms(100_000), "a stall");
    }
    assert_eq!(
        p.ends[1].stats().duplicate_bytes,
        0,
        "nothing beyond the window"
    );
}

/// RFC 3168, 6.1.2 and 6.1.3: the echo lasts until CWR, and the window shrinks once per round.
#[test]
fn classic_marks_are_echoed_and_answered_once_per_round() {
    let cfg = Config {
        ecn: Some(EcnMode::Classic),
        ..Config::default()
    };
    let mut p = pair(&cfg);
    p.ends[0].set_bulk(true);
    p.bottleneck = Some(Bottleneck {
        gap: Duration::from_millis(1),
        limit: 1000,
    });
    let mut p = p.connected();
    assert_eq!(p.ends[0].ecn(), Negotiated::Classic);
    p.run(ms(400));
    let before = p.ends[0].sample().cwnd.0;
    let mut marked = 0;
    p.scripts[0] = Box::new(move |_, p: &mut Packet| {
        if p.payload() > 0 && marked < 5 {
            marked += 1;
            p.ecn = Ecn::Ce;
        }
        Fate::Pass
    });
    p.trace = Some(Vec::new());
    p.run_ms(1500);
    let s = p.ends[0].sample();
    let ratio = s.ssthresh.expect("a reduction").0 as f64 / before as f64;
    assert!((0.4..1.3).contains(&ratio), "{ratio}");
    let cwr = p
        .sent_by(0)
        .iter()
        .filter(|(_, p)| segment(p).flags.contains(TcpFlags::CWR))
        .count();
    let echoes = p
        .sent_by(1)
        .iter()
        .filter(|(_, p)| segment(p).flags.contains(TcpFlags::ECE))
        .count();
    assert_eq!(cwr, 1);
    assert!(echoes >= 5, "{echoes}");
    assert_eq!(p.ends[0].stats().retransmits, 0);
    assert_eq!(p.ends[0].recovery(), Recovery::Open);
}

/// RFC 9768, 3.2: the counter reports each CE packet, delayed ACKs and all.
#[test]
fn accurate_ecn_counts_every_mark() {
    let cfg = Config {
        ecn: Some(EcnMode::L4s),
        ..Config::default()
    };
    let mut p = pair(&cfg);
    let mut n = 0u64;
    p.scripts[0] = Box::new(move |_, p: &mut Packet| {
        if p.payload() > 0 {
            n += 1;
            p.ecn = if n % 7 < 3 { Ecn::Ce } else { Ecn::Ect1 };
        }
        Fate::Pass
    });
    let mut p = p.connected();
    assert_eq!(
        (p.ends[0].ecn(), p.ends[1].ecn()),
        (Negotiated::Accurate, Negotiated::Accurate)
    );
    transfer(&mut p, 500 * MSS);
    p.run_ms(200);
    let received = p.ends[1].stats().ce_received;
    assert!(received > 200);
    assert_eq!(p.ends[0].stats().ce_echoed, received);
}

/// Linux `tcp_ecn` = 1: any controller's data is ECT(0), and CE is answered as a loss.
#[test]
fn a_controller_without_a_wish_marks_as_the_connection_asks() {
    for (ecn, field) in [
        (None, Ecn::NotEct),
        (Some(EcnMode::Off), Ecn::NotEct),
        (Some(EcnMode::Classic), Ecn::Ect0),
        (Some(EcnMode::L4s), Ecn::Ect0),
    ] {
        let cfg = Config {
            ecn,
            ..Config::default()
        };
        let mut p = pair(&cfg).connected();
        p.trace = Some(Vec::new());
        transfer(&mut p, 20 * MSS);
        let data = p.sent_by(0).into_iter().filter(|(_, p)| p.payload() > 0);
        assert!(data.into_iter().all(|(_, p)| p.ecn == field), "{ecn:?}");
    }
}

/// RFC 3168, 6.1.2: a reduction for a mark covers a loss in the same round. RFC 9331, 4.3; RFC 8257, 3.5: not where marks
/// are answered by their share.
#[test]
fn a_loss_after_a_mark_is_answered_for_itself_where_marks_are_answered_by_share() {
    for (name, ecn, halved) in [
        ("reno", Some(EcnMode::Classic), false),
        ("prague", None, true),
        ("dctcp", None, true),
    ] {
        let cfg = Config {
            ecn,
            ..Config::default()
        };
        let mut p = Pair::new(&cfg, name, OWD);
        p.ends[0].set_bulk(true);
        p.bottleneck = Some(Bottleneck {
            gap: Duration::from_millis(1),
            limit: 1000,
        });
        let mut p = p.connected();
        p.run(ms(300));
        let mut n = 0;
        p.scripts[0] = Box::new(move |_, p: &mut Packet| {
            n += u32::from(p.payload() > 0);
            match n {
                1 if p.payload() > 0 => p.ecn = Ecn::Ce,
                5 if p.payload() > 0 => return Fate::Drop,
                _ => {}
            }
            Fate::Pass
        });
        let mut reach = |state| {
            while p.ends[0].recovery() != state {
                p.run_ms(1);
                assert!(p.now < ms(2_000), "{name}: no {state:?}");
            }
            p.ends[0].sample().ssthresh.expect("a reduction").0 as f64
        };
        let (marked, lost) = (reach(Recovery::Cwr), reach(Recovery::Fast));
        let share = lost / marked;
        assert!(
            if halved { share < 0.6 } else { share == 1.0 },
            "{name}: {share}"
        );
    }
}

#[test]
fn sequence_numbers_wrap() {
    let cfg = Config {
        initial_seq: Some(SeqNum(u32::MAX - 50_000)),
        ..Config::default()
    };
    let mut p = pair(&cfg);
    p.scripts[0] = lose_segments(&[30, 31, 36, 40, 90], 1);
    let mut p = p.connected();
    transfer(&mut p, 300 * MSS);
    assert_eq!(p.ends[0].stats().timeouts, 0);
}

#[test]
fn ends_without_options_understand_each_other() {
    let old = Config {
        sack: false,
        timestamps: false,
        ..Config::default()
    };
    let new = Config::default();
    for (client, server) in [(&old, &new), (&new, &old)] {
        let mut p = Pair::with(client, server, common::controller("cubic", 1448), OWD);
        p.scripts[0] = lose_segments(&[20], 1);
        p.trace = Some(Vec::new());
        let mut p = p.connected();
        transfer(&mut p, 100 * MSS);
        for i in 0..2 {
            assert!(
                p.sent_by(i)
                    .iter()
                    .skip(1)
                    .all(|(_, p)| !segment(p).bits.contains(SegmentBits::TIMESTAMPS)
                        && segment(p).blocks == Blocks::None)
            );
        }
    }
}

/// A middlebox may rewrite the window: the sender obeys the field and nothing else.
#[test]
fn a_rewritten_window_limits_the_sender() {
    let mut p = pair(&Config::default());
    p.scripts[1] = Box::new(|n, p: &mut Packet| {
        if n > 0 {
            p.set_tcp_window(((10 * MSS) >> 7) as u16);
        }
        Fate::Pass
    });
    p.ends[0].set_bulk(true);
    let mut p = p.connected();
    for _ in 0..200 {
        p.run_ms(10);
        assert!(p.ends[0].sample().in_flight.0 <= 10 * MSS);
    }
    let rate = p.ends[1].delivered() as f64 / p.now.as_secs_f64();
    assert!(rate > 0.8 * 9.0 * MSS as f64 / 0.04, "{rate}");
}

/// Writes beyond the buffer wait, and the writer is told when there is room.
#[test]
fn the_send_buffer_limits_the_writer() {
    let cfg = Config {
        send_buffer: slackwater_core::Bytes(30 * MSS),
        ..Config::default()
    };
    let mut p = pair(&cfg).connected();
    p.ends[0].take_events();
    let mut written = p.on(0, |e, now, out| e.write(now, 100 * MSS, out));
    assert_eq!(written, 30 * MSS);
    while written < 100 * MSS {
        assert!(p.step(ms(20_000)), "a stall");
        if p.ends[0].take_events().writable {
            written += p.on(0, |e, now, out| e.write(now, 100 * MSS - written, out));
        }
    }
    p.run_ms(1000);
    assert_eq!(p.ends[1].delivered(), 100 * MSS);
}
