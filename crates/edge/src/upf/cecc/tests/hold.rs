//! Packets that wait at the UPF.

use slackwater_core::{Datagram, FlowId, Packet};

use super::super::*;
use super::bench::Bench;

#[test]
fn hold_keeps_packets_while_the_cell_is_full_and_their_order() {
    let mut bench = Bench::connection(Mode::Hold, 7, 6);
    // Frames of a connection that begins pass.
    bench.rbs = 400_000;
    bench.run(2_000);
    bench.data(600_000, 700_000);
    assert_eq!(bench.cecc.held(), Bytes::ZERO);
    bench.rbs = 0;
    bench.run(500_000);
    bench.rbs = 400_000;
    bench.run(2_000);
    bench.down.clear();
    bench.data(700_000, 800_000);
    assert!(bench.cecc.held().get() > 80_000);
    bench.rbs = 0;
    bench.run(5_000);
    assert_eq!(bench.cecc.held(), Bytes::ZERO);
    let seqs: Vec<u32> = bench.down.iter().map(Packet::number).collect();
    assert_eq!(seqs.len(), 70);
    assert!(seqs.is_sorted());
}

// Frames in order of deadline would leave a bulk transfer of another UE the slots that frames together get.
#[test]
fn beside_a_bulk_transfer_everything_passes() {
    let mut bench = Bench::connection(Mode::Hold, 7, 6);
    let bulk = |seq: u32| Packet {
        flow: FlowId(1),
        len: 1_500,
        body: Datagram::new(seq, 1_472).into(),
        ..Packet::default()
    };
    bench.rbs = 200_000;
    for n in 0..200 {
        bench.pass(Direction::Down, bulk(n * 1_472));
        bench.run(500);
    }
    bench.down.clear();
    bench.data(600_000, 700_000);
    assert_eq!(bench.down.len(), 70, "all of the frame, at once");
    // It ends: frames wait for their turn again.
    bench.rbs = 0;
    bench.run(400_000);
    bench.rbs = 200_000;
    bench.run(1_000);
    bench.down.clear();
    bench.data(700_000, 800_000);
    assert!(bench.down.len() < 70, "{}", bench.down.len());
}

/// Two sources in step: whichever frame went second would be late each time.
#[test]
fn frames_that_began_together_go_together() {
    let left_with_the_first = |apart: u64| {
        let mut bench = Bench::new(Mode::Hold);
        let frame = |bench: &mut Bench, ue: u32| {
            for _ in 0..70 {
                let packet = Packet {
                    len: 1_400,
                    body: Datagram::default().into(),
                    flow: FlowId(ue),
                    ..Packet::default()
                };
                bench.pass(Direction::Down, packet);
            }
        };
        for beat in 0..6 {
            // The sixth beat meets a full cell, when the flows have begun.
            if beat == 5 {
                bench.run(500_000);
                bench.rbs = 400_000;
            }
            bench.run(2_000);
            bench.down.clear();
            frame(&mut bench, 0);
            bench.run(apart);
            frame(&mut bench, 1);
            bench.run(14_667 - apart);
        }
        bench.rbs = 0;
        while bench.down.is_empty() {
            bench.run(50);
        }
        bench.down.len()
    };
    assert_eq!(left_with_the_first(100), 140);
    // Apart they leave as far as a slot of 145 kB goes.
    assert_eq!(left_with_the_first(2_000), 104);
}

/// Frames of up to 8 KiB cost the others nothing.
#[test]
fn small_frames_pass_while_the_cell_is_full() {
    for (packets, passes) in [(5, true), (6, false)] {
        let mut bench = Bench::new(Mode::Hold);
        let packet = Packet {
            len: 1_400,
            body: Datagram::default().into(),
            flow: FlowId(1),
            ..Packet::default()
        };
        for beat in 0..6 {
            if beat == 5 {
                bench.run(500_000);
                bench.rbs = 400_000;
            }
            bench.run(16_667);
            bench.down.clear();
            for _ in 0..packets {
                bench.pass(Direction::Down, packet);
            }
        }
        assert_eq!(bench.down.len() == packets, passes, "{packets} packets");
    }
}

#[test]
fn datagrams_are_held_in_every_mode() {
    for mode in [Mode::Hold, Mode::Credit, Mode::Paper] {
        let mut bench = Bench::new(mode);
        let packet = Packet {
            len: 1_400,
            body: Datagram::default().into(),
            flow: FlowId(1),
            ..Packet::default()
        };
        for _ in 0..5 {
            for _ in 0..70 {
                bench.pass(Direction::Down, packet);
            }
            bench.run(16_667);
        }
        assert_eq!(bench.cecc.held(), Bytes::ZERO);
        bench.run(500_000);
        bench.rbs = 400_000;
        bench.run(2_000);
        for _ in 0..70 {
            bench.pass(Direction::Down, packet);
        }
        assert!(bench.cecc.held().get() > 0, "{mode:?}");
        // No longer than two beats.
        bench.run(36_000);
        assert_eq!(bench.cecc.held(), Bytes::ZERO, "{mode:?}");
        assert_eq!(bench.down.len(), 6 * 70);
    }
}
