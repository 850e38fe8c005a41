//! Whatever the path does, the bytes arrive once and in order, nobody stalls, and no window is overrun.

mod common;

use common::{Fate, Pair};
use proptest::prelude::*;
use slackwater_core::{Bytes, Draw, Duration, Packet, SeqNum, TcpFlags};
use slackwater_transport::tcp::{Config, DelayedAck, Endpoint};

/// What a path does to packets, in parts of 1,000.
#[derive(Clone, Copy, Debug)]
struct Path {
    loss: u64,
    late: u64,
    twice: u64,
    most_late: u64,
}

fn script(path: Path, draw: Draw) -> common::Script {
    Box::new(move |n, _| {
        let roll = draw.bits(3 * n) % 1000;
        let by = Duration::from_micros(1 + draw.bits(3 * n + 1) % (path.most_late * 1000));
        if roll < path.loss {
            Fate::Drop
        } else if roll < path.loss + path.late {
            Fate::Late(by)
        } else if roll < path.loss + path.late + path.twice {
            Fate::Twice(by)
        } else {
            Fate::Pass
        }
    })
}

fn paths() -> impl Strategy<Value = Path> {
    (0..150u64, 0..150u64, 0..100u64, 1..100u64).prop_map(|(loss, late, twice, most_late)| Path {
        loss,
        late,
        twice,
        most_late,
    })
}

fn configs() -> impl Strategy<Value = Config> {
    let switches = (
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    (switches, 3..200u64, 100..1449u16, 1..4u16, any::<u32>()).prop_map(
        |((timestamps, sack, rack, tlp, frto, wrap, prr), buffer, mss, segments, isn)| Config {
            timestamps,
            sack,
            rack,
            tlp,
            frto,
            prr,
            mss,
            recv_buffer: Bytes(buffer * u64::from(mss)),
            delayed_ack: DelayedAck {
                segments,
                ..DelayedAck::default()
            },
            initial_seq: wrap.then_some(SeqNum(u32::MAX - isn % 100_000)),
            ..Config::default()
        },
    )
}

/// No data segment of end `i` ends beyond what the other end had offered by then.
fn windows_kept(pair: &Pair, scale: u8) {
    let mut edge: [Option<SeqNum>; 2] = [None; 2];
    let mut first_window = 0;
    for (at, from, p) in pair.trace.as_ref().expect("the trace is on") {
        let p = p.segment().expect("a segment");
        let syn = p.flags.contains(TcpFlags::SYN);
        if p.flags.contains(TcpFlags::ACK) {
            let shift = if syn { 0 } else { scale };
            let offered = p.ack + (u32::from(p.window) << shift);
            let e = &mut edge[*from];
            *e = Some(e.map_or(offered, |old| old.max(offered)));
        }
        if syn && *from == 0 {
            first_window = u32::from(p.window);
        } else if syn {
            edge[0].get_or_insert(p.seq + 1 + first_window);
        }
        if p.payload > 0 {
            let end = p.seq + u32::from(p.payload);
            let limit = edge[1 - *from].expect("data follows the handshake");
            assert!(
                end.le(limit),
                "{at}: end {from} sent up to {end}, offered {limit}"
            );
        }
    }
}

fn both_ways(cfg: &Config, name: &str, path: Path, seed: u64, bytes: [u64; 2]) -> Pair {
    let mut pair = Pair::new(cfg, name, Duration::from_millis(20));
    let draw = Draw::new(seed);
    pair.scripts = [script(path, draw.fork(1, 0)), script(path, draw.fork(1, 1))];
    pair.trace = Some(Vec::new());
    let mut pair = pair.connected();
    for (i, bytes) in bytes.into_iter().enumerate() {
        let taken = pair.on(i, |e, now, out| e.write(now, bytes, out));
        assert_eq!(taken, bytes);
        pair.on(i, Endpoint::close);
    }
    let limit = pair.now + Duration::from_secs(7200);
    let mut closed = [false; 2];
    while closed != [true; 2] {
        assert!(
            pair.step(limit),
            "a stall at {}: {:?} {:?} delivered {} {}",
            pair.now,
            pair.ends[0].sample(),
            pair.ends[1].sample(),
            pair.ends[0].delivered(),
            pair.ends[1].delivered()
        );
        for (i, done) in closed.iter_mut().enumerate() {
            *done |= pair.ends[i].take_events().closed;
        }
    }
    pair
}

fn steps(pair: &mut Pair) {
    // What is left are repeated FINs and their ACKs; then silence.
    let limit = pair.now + Duration::from_secs(600);
    while pair.step(limit) {}
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn bytes_arrive_once_and_in_order(
        cfg in configs(),
        path in paths(),
        cubic in any::<bool>(),
        seed in any::<u64>(),
        down in 0..400_000u64,
        up in 0..100_000u64,
    ) {
        let name = if cubic { "cubic" } else { "reno" };
        let mut pair = both_ways(&cfg, name, path, seed, [down, up]);
        prop_assert_eq!(pair.ends[1].delivered(), down);
        prop_assert_eq!(pair.ends[0].delivered(), up);
        windows_kept(&pair, cfg.window_scale);
        steps(&mut pair);
        for end in &pair.ends {
            prop_assert_eq!(end.next_timer(), None);
            prop_assert!(end.is_idle());
            prop_assert_eq!(end.sample().in_flight, Bytes(0));
        }
    }

    #[test]
    fn the_same_seed_gives_the_same_packets(path in paths(), seed in any::<u64>()) {
        let cfg = Config::default();
        let a = both_ways(&cfg, "cubic", path, seed, [100_000, 0]);
        let b = both_ways(&cfg, "cubic", path, seed, [100_000, 0]);
        let times = |p: &Pair| -> Vec<(u64, usize, Packet)> {
            p.trace.as_ref().expect("on").iter().map(|(t, i, p)| (t.as_nanos(), *i, *p)).collect()
        };
        prop_assert_eq!(times(&a), times(&b));
    }
}
