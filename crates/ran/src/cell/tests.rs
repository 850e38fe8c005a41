use slackwater_core::{Direction, Draw, Duration, Instant, Packet, Qfi, Rnti, UeId};
use slackwater_signal::NoObserver;

use super::*;

fn ue(channel: ChannelConfig) -> UeConfig {
    UeConfig {
        channel,
        bearers: vec![BearerConfig::default()],
        rnti: Rnti(1),
    }
}

fn packet(n: u32, len: u16) -> Packet {
    Packet {
        seq: slackwater_core::SeqNum(n),
        len,
        ..Packet::default()
    }
}

#[test]
fn one_packet_crosses_both_ways() {
    let config = CellConfig::lte(10.0);
    let mut cell: Cell<Packet> = Cell::new(
        &config,
        vec![ue(ChannelConfig::Mcs { down: 28, up: 20 })],
        Draw::new(1),
    )
    .unwrap();
    let mut out = CellOut::new();
    assert_eq!(cell.next_slot(), None);
    for dir in [Direction::Down, Direction::Up] {
        let t = Instant::from_nanos(5_300_000 + 100_000_000 * dir as u64);
        cell.enqueue(t, dir, UeId(0), Qfi(0), packet(7, 1500), &mut out);
        while let Some(at) = cell.next_slot() {
            assert!(at >= t);
            cell.run_slot(at, &mut out, &mut NoObserver);
            assert!(at < t + Duration::from_secs(1), "never sleeps");
        }
        assert_eq!(out.delivered.len(), 1);
        let d = out.delivered[0];
        assert_eq!((d.dir, d.packet.seq.0), (dir, 7));
        out.clear();
    }
    assert_eq!(cell.packets(), 0);
}
