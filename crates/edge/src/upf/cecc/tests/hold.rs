//! Packets that wait at the UPF.

use slackwater_core::{Datagram, FlowId, Packet};

use super::super::*;
use super::bench::Bench;

#[test]
fn hold_keeps_packets_while_the_cell_is_full_and_their_order() {
    let mut bench = Bench::connection(Mode::Hold, 7, 6);
    bench.rbs = 400_000;
    bench.run(2_000);
    bench.down.clear();
    bench.data(600_000, 700_000);
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
