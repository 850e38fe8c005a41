//! What holds whatever the cell is made of and fed with.

use proptest::prelude::*;
use slackwater_signal::{GoneView, Grant, Observer, ResentView, SlotView};

use super::*;
use crate::mac::{SchedulerKind, SharePolicy};
use crate::tdd::{Duplex, TddPattern};

#[derive(Clone, Debug)]
struct Case {
    nr: bool,
    tdd: bool,
    rr: bool,
    split: bool,
    am: bool,
    ues: usize,
    mcs: u8,
    bler: f64,
    max_tx: u8,
    limit: u32,
    metres: f64,
    /// Microseconds to the next packet, UE, downlink, bytes.
    packets: Vec<(u32, u8, bool, u16)>,
}

fn cases() -> impl Strategy<Value = Case> {
    let packets = prop::collection::vec(
        (
            prop_oneof![4 => 0u32..300, 2 => 300u32..5_000, 1 => 5_000u32..200_000],
            any::<u8>(),
            any::<bool>(),
            40u16..1500,
        ),
        1..250,
    );
    (
        (
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
            any::<bool>(),
        ),
        (
            1usize..6,
            0u8..27,
            prop_oneof![Just(0.0), 0.0..0.4f64],
            1u8..5,
        ),
        (5u32..400, 50.0..500.0f64),
        packets,
    )
        .prop_map(
            |((nr, tdd, rr, split, am), (ues, mcs, bler, max_tx), (limit, metres), packets)| Case {
                nr,
                tdd,
                rr,
                split,
                am,
                ues,
                mcs,
                bler,
                max_tx,
                limit,
                metres,
                packets,
            },
        )
}

impl Case {
    fn config(&self) -> CellConfig {
        let mut config = if self.nr {
            CellConfig::nr(20, 1)
        } else if self.tdd {
            CellConfig::lte_ns3(5.0)
        } else {
            CellConfig::lte(5.0)
        };
        if self.nr && !self.tdd {
            config.duplex = Duplex::Fdd;
        } else if self.nr && self.rr {
            config.duplex = Duplex::Tdd(TddPattern::dsuud());
        }
        if self.rr {
            config.scheduler = SchedulerKind::RoundRobin;
        } else {
            config.scheduler_ul = config.scheduler.clone();
        }
        if self.split {
            config.share = SharePolicy::Split(4);
        }
        config.harq.transmissions = self.max_tx;
        config.observe_pdcp = true;
        config.observe_gone = true;
        config.observe_gone_up = true;
        config
    }

    fn cell(&self) -> Cell<Packet> {
        let config = self.config();
        let rlc = if self.am {
            RlcConfig::am(Limit::Packets(self.limit))
        } else {
            RlcConfig::um(Limit::Packets(self.limit))
        };
        let ues = (0..self.ues)
            .map(|k| {
                let channel = ChannelConfig {
                    given: (k % 2 == 0).then_some(Given::FixedMcs(self.mcs)),
                    bler: Some(self.bler),
                    mobility: Mobility::Static(Position {
                        x: self.metres,
                        y: 0.0,
                    }),
                    downlink: config.downlink_budget(),
                    uplink: config.uplink_budget(),
                    ..ChannelConfig::default()
                };
                let mut ue = ue(channel, rlc.clone());
                // Some wait in a container of `queue`.
                let container = [None, Some("fq-codel"), Some("dualpi2")][k % 3];
                ue.bearers[0].queue = container.map(|name| {
                    let queue = slackwater_queue::QueueConfig::from_name(name).expect("known");
                    let limits = slackwater_queue::Limits::packets(self.limit);
                    (queue.with_limits(limits), Draw::new(k as u64))
                });
                ue
            })
            .collect();
        Cell::new(&config, ues, Draw::new(7)).unwrap()
    }

    /// Packets with the time, UE and direction at which they enter.
    fn arrivals(&self) -> Vec<(Instant, UeId, Direction, u16)> {
        let mut at = Instant::from_millis(3);
        self.packets
            .iter()
            .map(|&(gap, ue, down, len)| {
                at += Duration::from_micros(u64::from(gap));
                let dir = if down { Direction::Down } else { Direction::Up };
                (at, UeId(u32::from(ue) % self.ues as u32), dir, len)
            })
            .collect()
    }
}

/// Checks grants against the carrier and HARQ's limit, and remembers them.
#[derive(Default)]
struct Watch {
    max_tx: u8,
    n_rb: [u16; 2],
    grants: Vec<(u64, Grant)>,
    arrived: u64,
    /// Packets that are gone: when the cell knew it, which way they went, bytes, delivered.
    gone: Vec<(Instant, Direction, u64, bool)>,
    /// Slots by direction: schedulable and free blocks, and what they carry.
    slots: [Vec<(u16, u16, u64)>; 2],
    /// Bytes that RLC sent again, by direction.
    resent: [u64; 2],
}

impl Observer for Watch {
    fn on_slot(&mut self, _now: Instant, view: &SlotView<'_>) {
        let total: u16 = view.grants.iter().map(|g| g.prbs.0).sum();
        assert!(total + view.free.0 == view.schedulable.0, "{view:?}");
        assert!(view.schedulable.0 <= 2 * self.n_rb[view.direction as usize]);
        let slots = &mut self.slots[view.direction as usize];
        assert_eq!(view.slot.0, slots.len() as u64, "each slot is shown");
        let bytes = view.bytes_per_prb_q8.iter().map(|&b| u64::from(b)).sum();
        slots.push((view.schedulable.0, view.free.0, bytes));
        for grant in view.grants {
            assert!(grant.round < self.max_tx, "{grant:?}");
            assert_eq!(grant.ndi, grant.round == 0);
            if grant.ndi && view.direction == Direction::Down {
                // What blocks are said to carry is what grants carry, up to the steps of the block sizes.
                let told = u64::from(view.bytes_per_prb_q8[grant.ue.index()])
                    * u64::from(grant.prbs.0)
                    / 256;
                let tbs = grant.tbs.get();
                assert!(
                    tbs <= 2 * told + 32 && told <= 2 * tbs + 32,
                    "{grant:?}: {told}"
                );
            }
            self.grants.push((view.slot.0, *grant));
        }
    }

    fn on_pdcp(&mut self, _now: Instant, _packet: &PdcpView) {
        self.arrived += 1;
    }

    fn on_gone(&mut self, now: Instant, packet: &GoneView) {
        let (way, bytes) = (packet.direction, packet.bytes.0);
        self.gone.push((now, way, bytes, packet.delivered));
    }

    fn on_resent(&mut self, now: Instant, view: &ResentView) {
        assert!(view.air > now && view.bytes.0 > 0, "{view:?} at {now}");
        self.resent[view.direction as usize] += view.bytes.0;
    }
}

#[derive(Debug, PartialEq)]
struct Run {
    delivered: Vec<(Instant, Direction, UeId, u32, Duration)>,
    dropped: Vec<(Instant, u32)>,
    stats: CellStats,
    grants: Vec<(u64, Grant)>,
    /// As in [`Watch`], up to the last arrival.
    slots: [Vec<(u16, u16, u64)>; 2],
    gone: Vec<(Instant, Direction, u64, bool)>,
    resent: [u64; 2],
}

/// Feeds the case; `sleepy` runs only the slots asked for, otherwise every slot runs.
fn run(case: &Case, sleepy: bool) -> Run {
    let mut cell = case.cell();
    let slot = cell.slot_duration();
    let config = case.config();
    let mut watch = Watch {
        max_tx: case.max_tx,
        n_rb: [config.n_rb_dl, config.n_rb_ul],
        ..Watch::default()
    };
    let mut out = CellOut::new();
    let arrivals = case.arrivals();
    let end = arrivals.last().unwrap().0.round_up(slot) + Duration::from_secs(20);
    let mut clock = Instant::ZERO;
    let mut result = Run {
        delivered: Vec::new(),
        dropped: Vec::new(),
        stats: CellStats::default(),
        grants: Vec::new(),
        slots: [const { Vec::new() }; 2],
        gone: Vec::new(),
        resent: [0; 2],
    };
    let least = slot * (1 + u64::from(config.delays().mac_to_air));
    let mut sent = Vec::new();
    let mut next = 0;
    loop {
        let due = if sleepy {
            cell.next_slot()
        } else {
            (clock < end).then_some(clock)
        };
        let arrival = arrivals.get(next).map(|a| a.0);
        match (due, arrival) {
            (None, None) => break,
            (Some(at), a) if a.is_none_or(|a| at < a) => {
                assert!(at < end, "the cell never sleeps: {case:?}");
                cell.run_slot(at, &mut out, &mut watch);
                clock = at + slot;
            }
            (_, a) => {
                let at = a.expect("the arm above takes all others");
                let (_, ue, dir, len) = arrivals[next];
                sent.push((at, len));
                let p = packet(next as u32, len);
                cell.enqueue(at, dir, ue, Qfi(0), p, &mut out);
                next += 1;
            }
        }
        for d in out.delivered.drain(..) {
            let (created, len) = sent[d.packet.number() as usize];
            assert_eq!(u32::from(len), u32::from(d.packet.len));
            assert!(d.at >= created + least, "{d:?} was queued at {created}");
            assert_eq!(d.entered, created, "{d:?}");
            assert!(d.entered + d.sojourn < d.at, "{d:?}");
            result
                .delivered
                .push((d.at, d.dir, d.ue, d.packet.number(), d.sojourn));
        }
        for (at, p, _) in out.dropped.drain(..) {
            result.dropped.push((at, p.number()));
        }
    }
    assert_eq!(cell.packets(), 0, "asleep with packets inside");
    cell.catch_up(end);
    assert_eq!(watch.arrived, arrivals.len() as u64);
    result.stats = cell.stats();
    result.grants = watch.grants;
    let last = arrivals.last().unwrap().0.as_nanos() / slot.as_nanos();
    for slots in &mut watch.slots {
        slots.truncate(last as usize);
        assert_eq!(slots.len() as u64, last);
    }
    result.slots = watch.slots;
    result.gone = watch.gone;
    result.resent = watch.resent;
    result
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 96,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn packets_are_conserved_in_order_and_within_capacity(case in cases()) {
        let run = run(&case, true);
        let mut seen = vec![0u8; case.packets.len()];
        for &(_, _, _, n, _) in &run.delivered {
            seen[n as usize] += 1;
        }
        for &(_, n) in &run.dropped {
            seen[n as usize] += 1;
        }
        prop_assert!(seen.iter().all(|&n| n == 1), "each packet leaves once");
        for ue in 0..case.ues as u32 {
            for dir in [Direction::Down, Direction::Up] {
                let of: Vec<_> = run.delivered.iter().filter(|d| d.1 == dir && d.2 == UeId(ue)).collect();
                prop_assert!(of.is_sorted_by(|a, b| a.3 < b.3 && a.0 <= b.0), "in order");
            }
        }
        for (side, resent) in [run.stats.down, run.stats.up].into_iter().zip(run.resent) {
            prop_assert!(resent == 0 || case.am, "RLC UM sends nothing again");
            prop_assert!(resent + side.delivered <= side.carried);
            prop_assert!(side.carried <= side.granted && side.granted <= side.capacity);
            prop_assert!(side.delivered <= side.carried);
        }
        if case.am {
            // Only a full buffer drops, or the law of a container.
            let arrivals = case.arrivals();
            for &(at, n) in &run.dropped {
                let (arrived, ue, ..) = arrivals[n as usize];
                prop_assert!(at == arrived || ue.0 % 3 != 0);
            }
        }
        // The observer learns of each packet once, and of none before the other end has it.
        let arrivals = case.arrivals();
        let sizes = |n: u32| u64::from(arrivals[n as usize].3);
        for way in [Direction::Down, Direction::Up] {
            let of = |delivered| run.gone.iter().filter(move |g| g.1 == way && g.3 == delivered);
            let dropped = run.dropped.iter().map(|&(_, n)| n);
            let dropped = dropped.filter(|&n| arrivals[n as usize].2 == way);
            prop_assert_eq!(of(false).map(|g| g.2).sum::<u64>(), dropped.map(sizes).sum::<u64>());
            let mut had: Vec<_> = run.delivered.iter().filter(|d| d.1 == way).collect();
            had.sort_by_key(|d| d.0);
            prop_assert_eq!(of(true).map(|g| g.2).sum::<u64>(), had.iter().map(|d| sizes(d.3)).sum::<u64>());
            prop_assert_eq!(of(true).count(), had.len());
            let decode = case.config().decode;
            for (known, had) in of(true).zip(had) {
                prop_assert!(known.0 + decode >= had.0, "{known:?} before {had:?}");
                // A base station that has a packet waits for no feedback.
                prop_assert!(way == Direction::Down || known.0 + decode == had.0, "{known:?}, {had:?}");
            }
        }

        let drops = run.stats.down.dropped + run.stats.up.dropped;
        prop_assert_eq!(drops, run.dropped.len() as u64);
    }

    #[test]
    fn sleeping_changes_nothing(case in cases()) {
        let (slept, awake) = (run(&case, true), run(&case, false));
        prop_assert_eq!(slept, awake);
    }

    #[test]
    fn same_seed_same_run(case in cases()) {
        prop_assert_eq!(run(&case, true), run(&case, true));
    }
}

/// Before a late buffer status was ignored, the LTE case polled for a status report that the uplink never brought.
#[test]
fn a_late_buffer_status_keeps_no_cell_awake() {
    let case = Case {
        nr: false,
        tdd: false,
        rr: false,
        split: false,
        am: true,
        ues: 3,
        mcs: 3,
        bler: 0.0,
        max_tx: 2,
        limit: 5,
        metres: 450.495_685_429_419_8,
        packets: vec![
            (0, 0, false, 85),
            (187462, 0, false, 1000),
            (106029, 0, false, 1386),
            (3977, 0, false, 412),
            (3766, 0, false, 40),
            (5133, 0, false, 639),
            (174912, 0, false, 500),
            (0, 0, false, 1168),
            (11265, 2, false, 1400),
            (3766, 2, false, 500),
            (199, 0, false, 1370),
            (184, 2, false, 500),
            (8194, 1, false, 876),
            (188, 0, false, 100),
            (50000, 0, true, 40),
        ],
    };
    run(&case, true);
}

/// Before a late buffer status was ignored, the uplink of UE 1 held a packet that nothing moved.
#[test]
fn a_late_buffer_status_strands_no_packet() {
    let case = Case {
        nr: true,
        tdd: true,
        rr: false,
        split: false,
        am: false,
        ues: 4,
        mcs: 0,
        bler: 0.0,
        max_tx: 2,
        limit: 5,
        metres: 355.135_221_446_723_45,
        packets: vec![
            (173, 1, false, 40),
            (2650, 1, false, 88),
            (50000, 0, false, 1400),
            (0, 1, false, 1111),
            (438, 2, false, 918),
            (104266, 1, false, 1000),
            (3645, 0, false, 500),
            (500, 1, false, 500),
            (118853, 2, false, 995),
            (0, 0, false, 40),
            (4283, 1, false, 1000),
            (1000, 1, false, 365),
            (2227, 0, false, 1254),
            (100, 0, false, 1340),
            (3817, 3, false, 984),
            (216972, 0, false, 500),
            (251, 1, false, 40),
            (449, 2, false, 851),
            (228, 1, false, 155),
            (146379, 2, false, 40),
            (1000, 0, false, 430),
            (0, 1, false, 227),
            (50000, 0, false, 1304),
            (117446, 2, false, 500),
            (0, 1, false, 1113),
            (5000, 1, false, 804),
            (105797, 0, false, 346),
            (0, 1, false, 1000),
            (2638, 1, false, 1306),
            (10000, 0, false, 500),
            (178554, 0, false, 500),
            (10000, 2, false, 1152),
            (0, 1, false, 1000),
            (4128, 1, false, 500),
            (4547, 0, false, 1151),
            (3739, 1, false, 828),
            (0, 2, false, 306),
            (100, 1, false, 1000),
            (6975, 3, false, 1000),
            (2425, 1, false, 500),
        ],
    };
    run(&case, true);
}
