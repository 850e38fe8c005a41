use slackwater_core::{Datagram, Direction, Draw, Duration, Instant, Packet, Qfi, Rnti, UeId};
use slackwater_signal::NoObserver;

use super::*;
use crate::phy::{ChannelConfig, Given, Mobility, Position};
use crate::rlc::{Limit, RlcConfig};

mod acks;
mod combining;
mod laws;
mod share;

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
        body: Datagram::new(n, 0).into(),
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
            assert!(d.packet.number() >= expect, "out of order");
            expect = d.packet.number() + 1;
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
            assert_eq!((d.dir, d.packet.number()), (dir, 7));
            out.clear();
        }
        assert_eq!(cell.packets(), 0);
    }
}

#[test]
fn packets_of_both_directions_are_inside() {
    let config = CellConfig::lte(5.0);
    let mut cell = cell(&config, vec![ue(given(20), RlcConfig::default())]);
    let mut out = CellOut::new();
    for (n, way) in [Direction::Down, Direction::Up, Direction::Up]
        .into_iter()
        .enumerate()
    {
        let now = Instant::from_millis(1);
        cell.enqueue(now, way, UeId(0), Qfi(0), packet(n as u32, 1000), &mut out);
    }
    assert_eq!(cell.packets(), 3);
    drain(&mut cell, &mut out);
    assert_eq!(cell.packets(), 0);
}

/// TS 38.211, 4.2 and 4.4.4.1: a block is twelve subcarriers of 15 kHz times 2^mu, up and down; LTE's is 180 kHz (TS 36.211, 5.2.3).
#[test]
fn a_block_is_as_wide_as_its_numerology_makes_it() {
    for (config, hz) in [
        (CellConfig::lte(20.0), 180e3),
        (CellConfig::nr(20, 0), 180e3),
        (CellConfig::nr(100, 1), 360e3),
        (CellConfig::nr(100, 2), 720e3),
    ] {
        let (down, up) = (config.downlink_budget(), config.uplink_budget());
        assert_eq!((down.block_hz, up.block_hz), (hz, hz), "{}", config.mu);
    }
}

#[test]
fn a_saturated_lte_cell_carries_its_transport_blocks() {
    let config = CellConfig::lte(10.0);
    let um = RlcConfig::default();
    // 50 blocks at MCS 28: 36,696 bits each millisecond (TS 36.213, table 7.1.7.2.1-1).
    let cell1 = saturate(&config, ue(given(28), um.clone()), Direction::Down, 2);
    let down = cell1.stats().down;
    assert_eq!(down.capacity, 2000 * 36_696 / 8);
    let rate = down.delivered as f64 * 8.0 / 2.0 / 1e6;
    assert!((36.4..36.7).contains(&rate), "{rate}");
    let cell2 = saturate(&config, ue(given(28), um), Direction::Up, 2);
    let up = cell2.stats().up;
    let rate = up.delivered as f64 * 8.0 / 2.0 / 1e6;
    assert!((36.0..36.6).contains(&rate), "{rate}");
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
    config.harq.transmissions = 1;
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

/// ns-3's scheduler takes the reported CQI's MCS. An outer loop would raise it until blocks fail.
#[test]
fn ns3s_cell_has_no_outer_loop() {
    let nacks = |enabled: Option<bool>| {
        let mut config = CellConfig::lte_ns3(10.0);
        config.olla.enabled = enabled.unwrap_or(config.olla.enabled);
        let channel = ChannelConfig {
            given: Some(Given::SinrSeries(vec![(Instant::ZERO, 12.0)])),
            ..ChannelConfig::default()
        };
        let ue = ue(channel, RlcConfig::default());
        saturate(&config, ue, Direction::Down, 2)
            .stats()
            .down
            .first_nacks
    };
    assert_eq!(nacks(None), nacks(Some(false)));
    assert!(nacks(Some(true)) > 2 * nacks(None) + 20);
}

/// Runs until the cell sleeps; returns the deliveries.
fn drain(cell: &mut Cell<Packet>, out: &mut CellOut<Packet>) -> Vec<crate::out::Delivered<Packet>> {
    while let Some(at) = cell.next_slot() {
        cell.run_slot(at, out, &mut NoObserver);
    }
    core::mem::take(&mut out.delivered)
}

#[test]
fn five_g_lena_delays() {
    // Frames of 50 Mbit/s at 60 per second, their 69 packets spread over 1 ms; 10 ms of drift makes phases uniform.
    let config = CellConfig::nr_lena();
    let mut cell = cell(&config, vec![ue(given(27), RlcConfig::default())]);
    let mut out = CellOut::new();
    let mut created = Vec::new();
    let mut delays: Vec<u64> = Vec::new();
    for frame in 0..1500u64 {
        let start = frame * 16_681_300;
        for k in 0..69u64 {
            let at = Instant::from_nanos(start + k * 14_500);
            while let Some(slot) = cell.next_slot().filter(|&slot| slot < at) {
                cell.run_slot(slot, &mut out, &mut NoObserver);
            }
            let p = packet(created.len() as u32, 1500);
            created.push(at);
            cell.enqueue(at, Direction::Down, UeId(0), Qfi(0), p, &mut out);
        }
        delays.extend(
            drain(&mut cell, &mut out)
                .iter()
                .map(|d| (d.at - created[d.packet.number() as usize]).as_nanos()),
        );
    }
    delays.sort_unstable();
    let q = |p: f64| delays[(p * (delays.len() - 1) as f64) as usize] as f64 / 1e6;
    for (got, measured) in [
        (q(0.0), 3.05),
        (q(0.5), 3.79),
        (q(0.9), 4.63),
        (q(0.99), 5.09),
    ] {
        assert!((got - measured).abs() < 0.3, "{got} ms, 5G-LENA {measured}");
    }
}

#[test]
fn ns3_air_time_of_a_steady_flow_is_three_down_and_five_up() {
    let config = CellConfig::lte_ns3(10.0);
    let mut cell = cell(&config, vec![ue(given(28), RlcConfig::default())]);
    let mut out = CellOut::new();
    let mut delays = [Vec::new(), Vec::new()];
    let mut created = Vec::new();
    for ms in 0..400 {
        let at = Instant::from_nanos(ms * 1_000_000 + 999_999);
        for dir in [Direction::Down, Direction::Up] {
            let p = packet(
                created.len() as u32,
                if dir == Direction::Down { 1500 } else { 52 },
            );
            created.push(at);
            cell.enqueue(at, dir, UeId(0), Qfi(0), p, &mut out);
        }
        let slot = cell.next_slot().expect("packets wait");
        cell.run_slot(slot, &mut out, &mut NoObserver);
        for d in out.delivered.drain(..) {
            delays[d.dir as usize].push((d.at - created[d.packet.number() as usize]).as_nanos());
        }
    }
    for (of, expect) in delays.iter_mut().zip([3.0, 5.0]) {
        of.sort_unstable();
        let median = of[of.len() / 2] as f64 / 1e6;
        assert!((median - expect).abs() < 0.01, "{median} ms, not {expect}");
    }
}

#[test]
fn strict_priority_and_the_discard_timer() {
    let config = CellConfig::lte(10.0);
    let bearer = |qfi, priority, discard| BearerConfig {
        qfis: vec![Qfi(qfi)],
        priority,
        pdcp: crate::pdcp::PdcpConfig { discard },
        ..BearerConfig::default()
    };
    let wait = Duration::from_millis(20);
    let two = UeConfig {
        channel: given(10),
        bearers: vec![bearer(9, 2, Some(wait)), bearer(1, 1, None)],
        rnti: Rnti(1),
    };
    let mut cell = cell(&config, vec![two]);
    let mut out = CellOut::new();
    let t = Instant::from_nanos(1);
    for n in 0..400 {
        cell.enqueue(
            t,
            Direction::Down,
            UeId(0),
            Qfi(9),
            packet(n, 1500),
            &mut out,
        );
    }
    for n in 400..420 {
        cell.enqueue(
            t,
            Direction::Down,
            UeId(0),
            Qfi(1),
            packet(n, 1500),
            &mut out,
        );
    }
    let view = cell.rlc_view(t, Direction::Down, UeId(0), BearerId(1));
    assert_eq!((view.packets, view.backlog.0), (20, 20 * 1502));
    let got: Vec<u32> = drain(&mut cell, &mut out)
        .iter()
        .map(|d| d.packet.number())
        .collect();
    assert!(got[..20].iter().all(|&n| n >= 400), "{got:?}");
    // MCS 10 carries about 1,000 bytes a subframe: after 20 ms of the first bearer, 20 ms were over.
    assert!(got.len() < 60, "{}", got.len());
    assert_eq!(got.len() + out.dropped.len(), 420);
    let discard = slackwater_core::record::DropReason::Discard;
    assert!(out.dropped.iter().all(|d| d.2 == discard && d.0 > t + wait));
}

#[test]
fn a_law_sees_the_sojourn_time_and_marks() {
    use slackwater_queue::{Law, PacketMeta, QueueView, Verdict};

    struct Over(Duration);
    impl Law for Over {
        fn on_dequeue(
            &mut self,
            _now: Instant,
            delay: Duration,
            _queue: &QueueView,
            _packet: &PacketMeta,
        ) -> Verdict {
            if delay > self.0 {
                Verdict::Mark
            } else {
                Verdict::Pass
            }
        }
    }
    let config = CellConfig::lte(10.0);
    let limit = Duration::from_millis(10);
    let mut ue = ue(given(28), RlcConfig::default());
    ue.bearers[0].law = Some(Box::new(Over(limit)));
    let mut cell = cell(&config, vec![ue]);
    let mut out = CellOut::new();
    for n in 0..100 {
        let p = Packet {
            ecn: if n % 2 == 0 {
                slackwater_core::Ecn::Ect1
            } else {
                slackwater_core::Ecn::NotEct
            },
            ..packet(n, 1500)
        };
        cell.enqueue(Instant::ZERO, Direction::Down, UeId(0), Qfi(0), p, &mut out);
    }
    let got = drain(&mut cell, &mut out);
    for d in &got {
        let marked = d.packet.ecn == slackwater_core::Ecn::Ce;
        assert_eq!(marked, d.sojourn > limit, "{d:?}");
    }
    let marks = got.iter().filter(|d| d.sojourn > limit).count();
    assert!(marks > 10 && marks == out.marked.len());
    assert_eq!(got.len() + out.dropped.len(), 100);
    assert_eq!(cell.stats().down.dropped, out.dropped.len() as u64);
}

/// A mark is counted where it is made: at arrival, at dequeue or on delivery, and not again further on.
#[test]
fn a_packet_that_carries_ce_is_not_marked_again() {
    use slackwater_core::Ecn;
    use slackwater_queue::{Law, PacketMeta, QueueView, Verdict};

    struct Always;
    impl Law for Always {
        fn on_enqueue(
            &mut self,
            _: Instant,
            _: Duration,
            _: &QueueView,
            _: &PacketMeta,
        ) -> Verdict {
            Verdict::Mark
        }
        fn on_dequeue(
            &mut self,
            _: Instant,
            _: Duration,
            _: &QueueView,
            _: &PacketMeta,
        ) -> Verdict {
            Verdict::Mark
        }
        fn on_delivered(&mut self, _: Instant, _: Duration, _: &PacketMeta) -> Verdict {
            Verdict::Mark
        }
    }

    let mut ue = ue(given(28), RlcConfig::default());
    ue.bearers[0].law = Some(Box::new(Always));
    let mut cell = cell(&CellConfig::lte(10.0), vec![ue]);
    let mut out = CellOut::new();
    for n in 0..20 {
        let ecn = if n % 2 == 0 { Ecn::Ect0 } else { Ecn::Ce };
        let p = Packet {
            ecn,
            ..packet(n, 1500)
        };
        cell.enqueue(Instant::ZERO, Direction::Down, UeId(0), Qfi(0), p, &mut out);
    }

    let got = drain(&mut cell, &mut out);
    assert_eq!(got.len(), 20);
    assert!(got.iter().all(|d| d.packet.ecn == Ecn::Ce));
    assert_eq!(out.marked.len(), 10, "one mark for each ECT(0) packet");
}

/// A law may decide on arrival at the UE, by the delay of the whole way. It is too late to drop there.
#[test]
fn a_law_that_decides_at_the_ue_marks_and_drops_nothing() {
    use slackwater_core::Ecn;
    use slackwater_queue::{Law, PacketMeta, Verdict};

    struct AtUe(Verdict);
    impl Law for AtUe {
        fn on_delivered(&mut self, _: Instant, _: Duration, _: &PacketMeta) -> Verdict {
            self.0
        }
    }

    for (verdict, ecn) in [(Verdict::Mark, Ecn::Ce), (Verdict::Drop, Ecn::Ect0)] {
        let mut ue = ue(given(28), RlcConfig::default());
        ue.bearers[0].law = Some(Box::new(AtUe(verdict)));
        let mut cell = cell(&CellConfig::lte(10.0), vec![ue]);
        let mut out = CellOut::new();
        for n in 0..5 {
            let p = Packet {
                ecn: Ecn::Ect0,
                ..packet(n, 1500)
            };
            cell.enqueue(Instant::ZERO, Direction::Down, UeId(0), Qfi(0), p, &mut out);
        }
        let got = drain(&mut cell, &mut out);
        assert_eq!(got.len(), 5, "{verdict:?}");
        assert!(got.iter().all(|d| d.packet.ecn == ecn), "{verdict:?}");
    }
}

/// Which flows came first when a bulk flow and, 20 packets later, a sparse one wait in one bearer.
fn order(queue: Option<&str>) -> (Vec<u32>, CellOut<Packet>, u64) {
    let mut ue = ue(given(20), RlcConfig::default());
    ue.bearers[0].queue = queue.map(|name| {
        let queue = slackwater_queue::QueueConfig::from_name(name).expect("known");
        let limits = slackwater_queue::Limits::packets(30);
        (queue.with_limits(limits), Draw::new(1))
    });
    let mut cell = cell(&CellConfig::lte(5.0), vec![ue]);
    let mut out = CellOut::new();
    for n in 0..40 {
        let sparse = n % 20 == 19;
        let p = Packet {
            flow: slackwater_core::FlowId(u32::from(sparse)),
            ecn: if sparse {
                slackwater_core::Ecn::Ect1
            } else {
                slackwater_core::Ecn::NotEct
            },
            ..packet(n, 1400)
        };
        cell.enqueue(Instant::ZERO, Direction::Down, UeId(0), Qfi(0), p, &mut out);
    }
    let view = cell.rlc_view(Instant::ZERO, Direction::Down, UeId(0), BearerId(0));
    assert_eq!(view.packets as usize + out.dropped.len(), 40);
    assert_eq!(view.backlog.0, u64::from(view.packets) * 1402);

    let got = drain(&mut cell, &mut out);
    assert_eq!(cell.packets(), 0);
    assert_eq!(got.len() + out.dropped.len(), 40);
    let dropped = cell.stats().down.dropped;
    (got.iter().map(|d| d.packet.flow.0).collect(), out, dropped)
}

#[test]
fn a_bearer_holds_any_container_of_queue() {
    // One queue: in the order of arrival, and no limit here.
    let (flows, ..) = order(None);
    assert_eq!((flows[0], flows[19], flows[39]), (0, 1, 1));

    // FQ-CoDel: the sparse flow has its turn after the first packets of the bulk flow, which pays for the overflow.
    let (flows, out, dropped) = order(Some("fq-codel"));
    assert!(flows[..4].contains(&1), "{flows:?}");
    assert_eq!(flows.iter().filter(|f| **f == 1).count(), 2);
    assert!(out.dropped.iter().all(|(_, p, _)| p.flow.0 == 0));
    assert!(dropped >= 10 && dropped == out.dropped.len() as u64);

    // DualPI2: scalable packets go first; what does not fit is dropped at the tail.
    let (flows, out, dropped) = order(Some("dualpi2"));
    assert_eq!(flows[0], 1, "{flows:?}");
    assert!(dropped >= 10 && dropped == out.dropped.len() as u64);
}

#[test]
fn uplink_blocks_out_of_order_leave_no_backlog_behind() {
    for mut config in [CellConfig::lte(5.0), CellConfig::nr(20, 1)] {
        // A request is granted before the last block's retransmission comes, and UEs wait for each other's blocks.
        config.uplink.sr_period = Some(config.slot_duration());
        for rlc in [RlcConfig::default(), RlcConfig::am(Limit::Unlimited)] {
            let channel = ChannelConfig {
                mobility: Mobility::Static(Position { x: 400.0, y: 0.0 }),
                downlink: config.downlink_budget(),
                uplink: config.uplink_budget(),
                ..ChannelConfig::default()
            };
            let ues = (0..4).map(|_| ue(channel.clone(), rlc.clone())).collect();
            let mut cell = cell(&config, ues);
            let (mut out, draw) = (CellOut::new(), Draw::new(3));
            let mut t = Instant::from_millis(1);
            for n in 0..4000 {
                let bits = draw.bits(u64::from(n));
                if bits % 8 == 0 {
                    t += Duration::from_micros((bits >> 8) % 40_000);
                }
                while let Some(at) = cell.next_slot().filter(|&at| at < t) {
                    cell.run_slot(at, &mut out, &mut NoObserver);
                }
                let ue = UeId((bits >> 32) as u32 % 4);
                cell.enqueue(t, Direction::Up, ue, Qfi(0), packet(n, 1000), &mut out);
            }
            drain(&mut cell, &mut out);
            let up = cell.stats().up;
            assert!(up.retransmissions > 100, "{up:?}");
            assert_eq!(cell.packets(), 0, "{:?}, {rlc:?}", config.rat);
        }
    }
}

/// A law that writes down what it is told of its link.
struct Told(std::sync::Arc<std::sync::Mutex<Vec<(Instant, u64)>>>);

impl slackwater_queue::Law for Told {
    fn wants_capacity(&self) -> bool {
        true
    }
    fn on_capacity(&mut self, now: Instant, capacity: slackwater_core::Bytes) {
        self.0.lock().expect("one thread").push((now, capacity.0));
    }
}

/// What the first of `ues` UEs at `mcs` is told after a second in which each gets `packets` of 1,000 bytes a millisecond: bytes,
/// and what was delivered to it.
fn told(mcs: &[u8], packets: &[u32]) -> (u64, u64) {
    let log = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let ues = mcs
        .iter()
        .enumerate()
        .map(|(i, &mcs)| {
            let mut ue = ue(given(mcs), RlcConfig::default());
            if i == 0 {
                ue.bearers[0].law = Some(Box::new(Told(log.clone())));
            }
            ue
        })
        .collect();
    let mut cell = cell(&CellConfig::lte(10.0), ues);
    let mut out = CellOut::new();
    for ms in 0..1000 {
        let now = Instant::from_millis(ms);
        for (i, &n) in packets.iter().enumerate() {
            for k in 0..n {
                let p = packet(k, 1000);
                cell.enqueue(now, Direction::Down, UeId(i as u32), Qfi(1), p, &mut out);
            }
        }
        if cell.next_slot() == Some(now) {
            cell.run_slot(now, &mut out, &mut NoObserver);
        }
    }
    cell.catch_up(Instant::from_millis(1000));
    let log = log.lock().expect("one thread");
    assert!(log.is_sorted(), "times and totals never fall");
    let delivered = cell.ue_stats(UeId(0)).down.delivered;
    (log.last().expect("it was told").1, delivered)
}

#[test]
fn a_law_is_told_what_its_ues_link_could_carry() {
    let one = vec![ue(given(20), RlcConfig::default())];
    let slot = cell(&CellConfig::lte(10.0), one)
        .slot_bytes_at(Instant::ZERO, Direction::Down, UeId(0))
        .0;
    let full = slot * 1000;
    let near = |got: u64, want: u64| got.abs_diff(want) * 100 <= want;
    // Alone, whether it sends nothing, something or more than fits.
    for packets in [0, 1, 5] {
        let (told, delivered) = told(&[20], &[packets]);
        assert!(near(told, full), "{packets}: told {told} of {full}");
        assert!(delivered <= told);
    }
    // Beside a UE that takes all it can get: half, and no less while it sends nothing itself.
    for packets in [0, 5] {
        let (told, _) = told(&[20, 20], &[packets, 5]);
        assert!(
            near(told, full / 2),
            "{packets}: told {told} of {}",
            full / 2
        );
    }
    // Two UEs that leave blocks free share those.
    let (told, _) = told(&[20, 20], &[1, 0]);
    assert!(near(told, full), "told {told} of {full}");
}

/// `laws::sleeping_changes_nothing` has the same beside traffic; here are long times, FDD and TDD, constant channels and others.
#[test]
fn idle_slots_count_alike_one_by_one_and_all_at_once() {
    let moving = ChannelConfig {
        given: None,
        mobility: Mobility::Waypoints(vec![
            (Instant::ZERO, Position::new(50.0, 0.0)),
            (Instant::from_millis(20_000), Position::new(400.0, 0.0)),
        ]),
        ..ChannelConfig::default()
    };
    for config in [CellConfig::lte(10.0), CellConfig::nr(100, 1)] {
        for channel in [given(20), ChannelConfig::default(), moving.clone()] {
            let fresh = || cell(&config, vec![ue(channel.clone(), RlcConfig::default())]);
            let (mut whole, mut single) = (fresh(), fresh());
            // No multiple of a period.
            let end = Instant::from_millis(20_013);
            let mut now = Instant::ZERO;
            while now <= end {
                single.catch_up(now);
                now += config.slot_duration();
            }
            whole.catch_up(end);
            assert_eq!(whole.stats(), single.stats());
        }
        // A month is 2.6 to 5.2 billion slots.
        let mut still = cell(&config, vec![ue(given(20), RlcConfig::default())]);
        let capacity = |cell: &mut Cell<Packet>, seconds: u64| {
            cell.catch_up(Instant::from_millis(1000 * seconds));
            [cell.stats().down.capacity, cell.stats().up.capacity]
        };
        let [first, second, month] = [60, 120, 2_592_000].map(|s| capacity(&mut still, s));
        for way in 0..2 {
            let minute = second[way] - first[way];
            assert!(minute > 0);
            assert_eq!(month[way] - second[way], minute * 43_198);
        }
    }
}
