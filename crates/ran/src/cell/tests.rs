use slackwater_core::{Direction, Draw, Duration, Instant, Packet, Qfi, Rnti, SeqNum, UeId};
use slackwater_signal::NoObserver;

use super::*;
use crate::phy::{ChannelConfig, Given, Mobility, Position};
use crate::rlc::{Limit, RlcConfig};

mod laws;

pub(super) fn ue(channel: ChannelConfig, rlc: RlcConfig) -> UeConfig {
    UeConfig {
        channel,
        bearers: vec![BearerConfig {
            rlc,
            ..BearerConfig::default()
        }],
        rnti: Rnti(1),
    }
}

pub(super) fn given(mcs: u8) -> ChannelConfig {
    ChannelConfig {
        given: Some(Given::FixedMcs(mcs)),
        ..ChannelConfig::default()
    }
}

pub(super) fn packet(n: u32, len: u16) -> Packet {
    Packet {
        seq: SeqNum(n),
        len,
        ..Packet::default()
    }
}

pub(super) fn cell(config: &CellConfig, ues: Vec<UeConfig>) -> Cell<Packet> {
    Cell::new(config, ues, Draw::new(1)).unwrap()
}

/// Keeps a queue of `depth` packets full for `seconds` and returns the cell.
fn saturate(
    config: &CellConfig,
    ue_config: UeConfig,
    dir: Direction,
    seconds: u64,
) -> Cell<Packet> {
    let mut cell = cell(config, vec![ue_config]);
    let mut out = CellOut::new();
    let (mut n, mut expect) = (0, 0);
    let end = Instant::from_millis(1000 * seconds);
    let mut now = Instant::ZERO;
    loop {
        while cell.rlc_view(now, dir, UeId(0), BearerId(0)).packets < 2000 {
            cell.enqueue(now, dir, UeId(0), Qfi(0), packet(n, 1500), &mut out);
            n += 1;
        }
        now = cell.next_slot().expect("there is backlog");
        if now >= end {
            break;
        }
        cell.run_slot(now, &mut out, &mut NoObserver);
        for d in out.delivered.drain(..) {
            assert!(d.packet.seq.0 >= expect, "out of order");
            expect = d.packet.seq.0 + 1;
        }
        out.clear();
    }
    for side in [cell.stats().down, cell.stats().up] {
        assert!(side.carried <= side.capacity, "{side:?}");
        assert!(side.delivered <= side.carried);
    }
    cell
}

#[test]
fn one_packet_crosses_both_ways() {
    for config in [
        CellConfig::lte(10.0),
        CellConfig::lte_ns3(10.0),
        CellConfig::nr(100, 1),
    ] {
        let mut cell = cell(&config, vec![ue(given(20), RlcConfig::default())]);
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
}

#[test]
fn a_saturated_lte_cell_carries_its_transport_blocks() {
    let config = CellConfig::lte(10.0);
    let um = RlcConfig::default();
    // 50 blocks at MCS 28: 36,696 bits each millisecond (TS 36.213, table 7.1.7.2.1-1).
    let cell1 = saturate(&config, ue(given(28), um), Direction::Down, 2);
    let down = cell1.stats().down;
    assert_eq!(down.capacity, 2000 * 36_696 / 8);
    let rate = down.delivered as f64 * 8.0 / 2.0 / 1e6;
    assert!((36.4..36.7).contains(&rate), "{rate}");
    let cell2 = saturate(&config, ue(given(28), um), Direction::Up, 2);
    let up = cell2.stats().up;
    let rate = up.delivered as f64 * 8.0 / 2.0 / 1e6;
    assert!(up.delivered as f64 > 0.98 * up.capacity as f64 - 100_000.0);
}

#[test]
fn nr_at_200_mhz_saturates_like_5g_lena() {
    for (table, expect) in [
        (crate::phy::McsTable::Nr256, 860.0),
        (crate::phy::McsTable::Nr64, 638.0),
    ] {
        let config = CellConfig {
            mcs_table: table,
            ..CellConfig::nr_lena()
        };
        let mcs = table.len() as u8 - 1;
        let cell = saturate(
            &config,
            ue(given(mcs), RlcConfig::default()),
            Direction::Down,
            1,
        );
        let down = cell.stats().down;
        // UDP payload of packets of 1500 bytes.
        let rate = down.delivered as f64 * 8.0 / 1e6 * 1472.0 / 1500.0;
        assert!(
            (rate / expect - 1.0).abs() < 0.005,
            "{table:?}: {rate} Mbit/s"
        );
    }
}

#[test]
fn acknowledged_mode_delivers_everything_it_accepts() {
    let mut config = CellConfig::lte(10.0);
    config.harq.max_tx = 1;
    let channel = ChannelConfig {
        bler: Some(0.3),
        ..given(15)
    };
    let cell = saturate(
        &config,
        ue(channel, RlcConfig::am(Limit::Unlimited)),
        Direction::Down,
        3,
    );
    let stats = cell.stats();
    assert_eq!(stats.down.dropped, 0);
    assert!(stats.down.lost > 500);
    assert!(stats.down.delivered as f64 > 0.6 * stats.down.capacity as f64);
}

#[test]
fn outer_loop_holds_its_target() {
    let config = CellConfig::lte(10.0);
    let channel = ChannelConfig {
        mobility: Mobility::Static(Position { x: 1500.0, y: 0.0 }),
        downlink: config.downlink_budget(),
        ..ChannelConfig::default()
    };
    let cell = saturate(
        &config,
        ue(channel, RlcConfig::default()),
        Direction::Down,
        5,
    );
    let down = cell.stats().down;
    let first = down.transmissions - down.retransmissions;
    let bler = down.first_nacks as f64 / first as f64;
    assert!((0.07..0.13).contains(&bler), "{bler}");
}
