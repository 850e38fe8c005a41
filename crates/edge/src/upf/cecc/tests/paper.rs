//! `paper`: pairs of ACKs.

use super::super::*;
use super::bench::{Bench, MSS, WINDOW, segment, us};

/// Bytes that a server with more to send than it may brings out in 0.4 s of a round trip of 12 ms, from its 10 first
/// segments on: at most `cwnd` segments in flight, and `at_once` for each ACK before the next one is read.
fn backlogged(bench: &mut Bench, cwnd: u32, at_once: u32) -> u32 {
    let start = 600_000;
    let (mut sent, mut told, mut edge) = (start, start, start + 10 * MSS);
    let mut acks: Vec<(u64, u32)> = Vec::new();
    bench.ack(start, WINDOW);
    for _ in 0..400 {
        bench.run(1_000);
        let heard = core::mem::take(&mut bench.up);
        // After the last ACK the rest goes, as far as that one lets it.
        let limits = heard.iter().map(|_| at_once).chain([cwnd]);
        for (packet, limit) in heard.iter().map(Some).chain([None]).zip(limits) {
            if let Some(packet) = packet.map(segment).filter(|s| s.ack.0 >= told) {
                told = packet.ack.0;
                edge = told + (u32::from(packet.window) << 7);
            }
            let upto = edge.min(told + cwnd * MSS).min(sent + limit * MSS);
            if upto >= sent + MSS {
                let whole = (upto - sent) / MSS * MSS;
                bench.data(sent, sent + whole);
                sent += whole;
                acks.push((bench.now + 12_000, sent));
            }
        }
        acks.retain(|&(at, ack)| {
            let due = at <= bench.now;
            if due {
                bench.ack(ack, WINDOW);
            }
            !due
        });
    }
    sent - start
}

// A server whose congestion window holds less than a frame and the reserve of ACK numbers sends as fast as that window lets
// it: kept back, the reserve would leave it a few segments a round trip.
#[test]
fn the_reserve_does_not_starve_a_server_limited_by_its_congestion_window() {
    let mut bench = Bench::connection(Mode::Paper, 7, 6);
    // 50 segments each 12 to 14 ms for 0.4 s.
    let rounds = f64::from(backlogged(&mut bench, 50, 50)) / f64::from(50 * MSS);
    assert!(rounds > 0.7 * 400.0 / 13.0, "{rounds}");
}

// Linux hands few segments down at a time and reads the ACK that closes the window before it hands down more.
#[test]
fn small_answers_do_not_become_the_frame_size() {
    for at_once in [2, 3, 6, 10] {
        let mut bench = Bench::connection(Mode::Paper, 7, 6);
        let sent = backlogged(&mut bench, 200, at_once) / MSS;
        // A tenth of what the congestion window would allow; two segments a round trip are 66.
        assert!(sent > 200 * 33 / 10, "{at_once} at once: {sent}");
    }
}

// Pairs of ACKs are spent once a slot: more often, and a frame's numbers would not last until the next frame's.
#[test]
fn a_closed_window_stays_closed_between_frames() {
    let mut bench = Bench::connection(Mode::Paper, 7, 20);
    bench.up.clear();
    bench.data(2_000_000, 2_100_000);
    bench.run(4_000);
    for part in 1..=36 {
        bench.ack(2_000_000 + part * 2 * MSS, WINDOW);
    }
    bench.run(12_000);
    let pairs = bench.up.chunks(2).filter(|p| p.len() == 2).count();
    assert!((10..=20).contains(&pairs), "{pairs}");
    assert!(bench.edge(7) < 2_100_000 + 2 * MSS, "{}", bench.edge(7));
}

// t3: what is in flight must not use the frame's room up.
#[test]
fn t3_the_first_ack_leaves_room_for_a_frame_beside_what_is_in_flight() {
    let mut bench = Bench::connection(Mode::Paper, 7, 8);
    bench.data(800_000, 900_000);
    bench.up.clear();
    bench.run(3_000);
    // 100 kB unacknowledged, snd_max = 900,000.
    let frame = 1.25 * 100_000.0;
    assert!(
        bench
            .up
            .iter()
            .map(segment)
            .any(|s| s.ack.0 + (u32::from(s.window) << 7) >= 900_000 + frame as u32 - 128),
        "{:?}",
        bench.up
    );
}

#[test]
fn the_second_ack_closes_the_window_and_advances() {
    let mut bench = Bench::connection(Mode::Paper, 7, 8);
    bench.up.clear();
    bench.run(1_200);
    let pair = [0, 1].map(|n| segment(&bench.up[n]));
    assert!(pair[1].ack.gt(pair[0].ack));
    assert_eq!(pair[1].ack - pair[0].ack, MSS);
    assert!((u32::from(pair[1].window) << 7) < 2 * MSS);
    assert!((u32::from(pair[0].window) << 7) > 100_000);
}

// Under pairs a download comes in bursts like frames, and its queue empties between them. It is told by its answers: it has
// something to send to each pair, and no more than the pair acknowledged.
#[test]
fn a_server_that_always_has_data_passes_until_it_pauses() {
    let mut bench = Bench::connection(Mode::Paper, 7, 6);
    let governed = |bench: &mut Bench| bench.cecc.snapshot(us(bench.now)).flows[0].governed;
    assert!(governed(&mut bench));
    let mut sent = 600_000 + backlogged(&mut bench, 50, 50);
    assert!(!governed(&mut bench));
    // Everything is acknowledged, and it is silent: there is nothing to send. Frames follow.
    bench.ack(sent, WINDOW);
    for _ in 0..5 {
        bench.run(16_667);
        bench.data(sent, sent + 100_000);
        sent += 100_000;
        bench.run(5_000);
        bench.ack(sent, WINDOW);
    }
    assert!(governed(&mut bench));
}
