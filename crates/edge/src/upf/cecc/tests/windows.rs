//! What the server is told of its window.

use slackwater_core::{SackBlock, Segment, SeqNum};

use super::super::*;
use super::bench::{Bench, MSS, WINDOW, segment, up};

// The window that the server is told, for each scale: a segment fits, the UE's own edge is never passed; from 8 on the
// flow is left alone.
#[test]
fn window_scale_0_to_14() {
    for mode in [Mode::Credit, Mode::Paper] {
        for scale in 0..=14_u8 {
            let bench = Bench::connection(mode, scale, 8);
            let window = u16::try_from((4_u32 << 20) >> scale).unwrap_or(u16::MAX);
            let mut lowered = 0;
            for packet in bench.up.iter().skip(2).map(segment) {
                let room = u32::from(packet.window) << scale;
                // An acknowledgment less one segment leaves one segment more to the same edge.
                let own = u32::from(window) << scale;
                assert!(room <= own + MSS, "{mode:?} {scale}: {packet:?}");
                assert!(room >= MSS, "{mode:?} {scale}: {packet:?}");
                lowered += u32::from(packet.window < window);
            }
            // Unscaled, 64 KiB hold no frame of this test and are the tighter bound.
            assert!(
                scale == 0 || (lowered > 0) == (scale <= 10),
                "{mode:?} {scale}"
            );
        }
    }
}

#[test]
fn a_connection_joined_midway_passes_untouched() {
    for mode in [Mode::Credit, Mode::Paper] {
        let mut bench = Bench::new(mode);
        let mut sent = (0, 0);
        for k in 0..20_u32 {
            bench.data(k * 100_000, (k + 1) * 100_000);
            sent.0 += 70;
            bench.run(12_000);
            for part in 1..=10 {
                bench.ack(k * 100_000 + part * 10_000, WINDOW);
                let last = *bench.up.last().unwrap();
                assert_eq!(last, up(k * 100_000 + part * 10_000, WINDOW));
                sent.1 += 1;
            }
        }
        assert_eq!((bench.down.len(), bench.up.len()), sent);
    }
}

// Duplicates and SACK blocks reach the server as the UE sent them, under one window.
#[test]
fn losses_are_told_exactly() {
    for mode in [Mode::Credit, Mode::Paper] {
        let mut bench = Bench::connection(mode, 7, 8);
        // The last grant lets a frame go; its first segment is lost.
        bench.data(800_000, 900_000);
        bench.run(12_000);
        bench.up.clear();
        let mut duplicates = Vec::new();
        for k in 2..=20 {
            let mut packet = up(800_000, WINDOW);
            let block = SackBlock {
                start: SeqNum(800_000 + MSS),
                end: SeqNum(800_000 + k * MSS),
            };
            let duplicate = packet.segment_mut().unwrap();
            duplicate.set_sack_blocks(&[block]);
            duplicates.push(*duplicate);
            bench.pass(Direction::Up, packet);
        }
        let sent_up: Vec<&Segment> = bench.up.iter().map(segment).collect();
        let has_blocks = |s: &&Segment| !s.sack_blocks().is_empty();
        let told: Vec<&Segment> = sent_up.iter().copied().filter(has_blocks).collect();
        assert_eq!(told.len(), duplicates.len(), "{mode:?}");
        for (told, sent) in told.iter().zip(&duplicates) {
            assert_eq!((told.ack, told.room), (sent.ack, sent.room), "{mode:?}");
            assert_eq!(told.window, duplicates[0].window.min(told.window));
            assert_eq!(told.window, sent_up.last().unwrap().window);
        }
        // What was kept back went before them.
        let first = sent_up.iter().position(has_blocks).unwrap();
        assert!(sent_up[..first].iter().all(|s| s.ack.0 <= 800_000));
        // Repaired: the next ACKs pass at once until the old maximum is reached.
        bench.data(800_000, 800_000 + MSS);
        bench.up.clear();
        bench.ack(900_000, WINDOW);
        assert_eq!(bench.up.len(), 1);
        assert_eq!(segment(&bench.up[0]).ack.0, 900_000);
    }
}

// A receiver that takes no more says so, and nothing that is made on the way says otherwise.
#[test]
fn a_full_receiver_is_told_at_once_and_stays_closed() {
    for mode in [Mode::Credit, Mode::Paper] {
        let mut bench = Bench::connection(mode, 7, 8);
        bench.data(800_000, 900_000);
        bench.run(12_000);
        bench.up.clear();
        bench.ack(850_000, 0);
        let told = segment(bench.up.last().expect("it goes on at once"));
        assert_eq!((told.ack.0, told.window), (850_000, 0), "{mode:?}");
        bench.up.clear();
        bench.run(100_000);
        for packet in &bench.up {
            let s = segment(packet);
            let edge = s.ack.0 + (u32::from(s.window) << 7);
            assert!(
                edge <= 850_000,
                "{mode:?}: the server may send up to {edge}"
            );
        }
    }
}

// Without SACK the third duplicate starts a fast retransmission (RFC 5681, 3.2): three of four have to reach the server.
#[test]
fn duplicates_without_sack_reach_the_server_in_time() {
    for mode in [Mode::Credit, Mode::Paper] {
        let mut bench = Bench::connection(mode, 7, 8);
        bench.data(800_000, 900_000);
        bench.run(12_000);
        bench.up.clear();
        for _ in 0..4 {
            bench.ack(800_000, WINDOW);
        }
        let numbers = bench.up.iter().map(|p| segment(p).ack.0);
        let duplicates = numbers.filter(|ack| *ack == 800_000).count();
        assert!(duplicates >= 3, "{mode:?}: {duplicates}");
    }
}

// t4: after a frame shorter than predicted the server may send one segment and no more.
#[test]
fn t4_after_a_short_frame_one_segment_is_left() {
    let mut bench = Bench::connection(Mode::Credit, 7, 8);
    bench.data(800_000, 800_000 + MSS);
    bench.run(300);
    bench.data(800_000 + MSS, 830_000);
    bench.run(1_000);
    let room = bench.edge(7) - 830_000;
    assert!((MSS..MSS + 128).contains(&room), "{room}");
    // And a first segment is answered by a grant.
    bench.data(830_000, 830_000 + MSS);
    bench.run(1_500);
    assert!(bench.edge(7) - 830_000 > 100_000);
}
