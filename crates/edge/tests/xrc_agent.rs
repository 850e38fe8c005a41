//! The XRC agent beside a real cell: what it promises against what the cell carries.

use slackwater_core::{
    BearerId, Direction, Draw, Duration, FlowId, Instant, Packet, Qfi, Rnti, UeId,
};
use slackwater_edge::gnb::{AgentConfig, XrcAgent};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::mac::SchedulerKind;
use slackwater_ran::phy::{ChannelConfig, Given};
use slackwater_ran::rlc::RlcConfig;
use slackwater_ran::{Cell, CellOut};
use slackwater_signal::PathReport;

const DOWN: Direction = Direction::Down;

/// A cell, its agent, and queues that are kept full.
struct Bed {
    cell: Cell<Packet>,
    agent: XrcAgent,
    out: CellOut<Packet>,
    slot: Duration,
    now: Instant,
    /// IP bytes delivered so far.
    delivered: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Sums {
    mean: f64,
    least: f64,
    most: f64,
    /// As senders hear it: the rates that stand on ACKs, 8 ms behind deliveries.
    stamped: f64,
}

impl Bed {
    fn new(mut config: CellConfig, agent: AgentConfig, mcs: &[u8], bler: f64) -> Self {
        config.observe_pdcp = true;
        let ues = mcs
            .iter()
            .map(|&mcs| UeConfig {
                channel: ChannelConfig {
                    given: Some(Given::FixedMcs(mcs)),
                    bler: Some(bler),
                    ..ChannelConfig::default()
                },
                bearers: vec![BearerConfig {
                    rlc: RlcConfig::default(),
                    ..BearerConfig::default()
                }],
                rnti: Rnti(1),
            })
            .collect();
        let cell = Cell::new(&config, ues, Draw::new(1)).expect("a valid cell");
        Self {
            slot: cell.slot_duration(),
            cell,
            agent: XrcAgent::new(agent),
            out: CellOut::new(),
            now: Instant::ZERO,
            delivered: 0,
        }
    }

    /// Runs one slot with the queues of `full` UEs filled up, and returns who got something.
    fn step(&mut self, full: std::ops::Range<u32>) -> Vec<u32> {
        for ue in full {
            let packet = Packet {
                flow: FlowId(ue),
                len: 1500,
                ..Packet::default()
            };
            while self
                .cell
                .rlc_view(self.now, DOWN, UeId(ue), BearerId(0))
                .packets
                < 60
            {
                self.cell
                    .enqueue(self.now, DOWN, UeId(ue), Qfi(0), packet, &mut self.out);
            }
        }
        self.cell.run_slot(self.now, &mut self.out, &mut self.agent);
        self.now += self.slot;
        let mut got: Vec<u32> = self.out.delivered.iter().map(|d| d.ue.0).collect();
        let bytes: u64 = self
            .out
            .delivered
            .iter()
            .map(|d| u64::from(d.packet.len))
            .sum();
        self.delivered += bytes;
        self.out.clear();
        got.dedup();
        got
    }

    /// Mbit/s that the agent would report for `ue`'s flow.
    fn share(&mut self, ue: u32) -> f64 {
        let view = self.cell.rlc_view(self.now, DOWN, UeId(ue), BearerId(0));
        match self.agent.share(self.now, FlowId(ue), &view) {
            PathReport::Share { rate, .. } => rate.as_mbps(),
            other => panic!("{other:?}"),
        }
    }

    fn sum(&mut self, ues: u32) -> f64 {
        (0..ues).map(|ue| self.share(ue)).sum()
    }

    /// The sum of all shares over what the cell delivers, both over `slots` slots with `ues` full queues.
    fn steady(&mut self, ues: u32, slots: u64) -> Sums {
        let start = self.delivered;
        let mut sums = Sums {
            least: f64::MAX,
            ..Sums::default()
        };
        let lag = (8_000_000 / self.slot.as_nanos()) as usize;
        let mut line: Vec<Vec<u32>> = vec![Vec::new(); lag];
        let mut stamps = vec![(0.0, 0u32); ues as usize];
        for n in 0..slots as usize {
            let got = self.step(0..ues);
            let sum = self.sum(ues);
            sums.mean += sum;
            sums.least = sums.least.min(sum);
            sums.most = sums.most.max(sum);
            for ue in std::mem::replace(&mut line[n % lag], got) {
                let share = self.share(ue);
                let stamp = &mut stamps[ue as usize];
                stamp.0 += share;
                stamp.1 += 1;
            }
        }
        let seconds = (self.slot * slots).as_secs_f64();
        let cell = (self.delivered - start) as f64 * 8e-6 / seconds;
        let stamped: f64 = stamps.iter().map(|s| s.0 / f64::from(s.1.max(1))).sum();
        Sums {
            mean: sums.mean / slots as f64 / cell,
            least: sums.least / cell,
            most: sums.most / cell,
            stamped: stamped / cell,
        }
    }
}

fn lte(scheduler: &SchedulerKind) -> CellConfig {
    CellConfig {
        scheduler: scheduler.clone(),
        ..CellConfig::lte_ns3(10.0)
    }
}

const SCHEDULERS: [SchedulerKind; 2] = [SchedulerKind::ProportionalFair, SchedulerKind::RoundRobin];
const COUNTS: [u32; 4] = [1, 2, 10, 50];

fn steady(config: CellConfig, agent: AgentConfig, mcs: &[u8], bler: f64) -> Sums {
    let ues = mcs.len() as u32;
    let mut bed = Bed::new(config, agent, mcs, bler);
    for _ in 0..500 {
        bed.step(0..ues);
    }
    bed.steady(ues, 2000)
}

#[test]
fn the_shares_of_full_queues_add_up_to_the_cell() {
    for scheduler in &SCHEDULERS {
        for ues in COUNTS {
            let mcs: Vec<u8> = (0..ues).map(|k| 28 - (k % 5) as u8 * 2).collect();
            let sums = steady(lte(scheduler), AgentConfig::LTE, &mcs, 0.0);
            let told = format!("{scheduler:?}, {ues} UEs: {sums:?}");
            // IP bytes promised over IP bytes delivered, so 1 is exact.
            assert!((0.995..1.01).contains(&sums.mean), "{told}");
            assert!(sums.least > 0.99 && sums.most < 1.01, "{told}");
            assert!((0.995..1.01).contains(&sums.stamped), "{told}");
        }
    }
}

#[test]
fn retransmissions_take_their_part() {
    for scheduler in &SCHEDULERS {
        for ues in COUNTS {
            let mcs: Vec<u8> = (0..ues).map(|k| 28 - (k % 5) as u8 * 2).collect();
            let sums = steady(lte(scheduler), AgentConfig::LTE, &mcs, 0.1);
            let told = format!("{scheduler:?}, {ues} UEs: {sums:?}");
            assert!((0.98..1.03).contains(&sums.mean), "{told}");
            assert!((0.98..1.04).contains(&sums.stamped), "{told}");
            // Ten per cent of 40 blocks fail now and then more, now and then less.
            assert!(sums.least > 0.7 && sums.most < 1.15, "{told}");
        }
    }
}

#[test]
fn a_tdd_cell_is_counted_slot_by_slot() {
    for ues in COUNTS {
        let mcs = vec![20; ues as usize];
        let sums = steady(CellConfig::nr(100, 1), AgentConfig::nr(1), &mcs, 0.1);
        let told = format!("{ues} UEs: {sums:?}");
        assert!((0.97..1.05).contains(&sums.mean), "{told}");
        assert!((0.95..1.05).contains(&sums.stamped), "{told}");
    }
}

#[test]
fn a_plain_window_promises_too_much_on_acks() {
    let config = AgentConfig {
        whole_turns: false,
        ..AgentConfig::LTE
    };
    let sums = steady(
        lte(&SchedulerKind::ProportionalFair),
        config,
        &[20; 50],
        0.0,
    );
    // Right on average, and a quarter too much whenever a UE was just served.
    assert!((0.98..1.01).contains(&sums.mean), "{sums:?}");
    assert!(sums.stamped > 1.2, "{sums:?}");
}

#[test]
fn the_literal_agent_promises_eight_per_cent_too_much() {
    let agent = AgentConfig::LTE.literal(2);
    let sums = steady(lte(&SchedulerKind::ProportionalFair), agent, &[20; 2], 0.0);
    assert!((1.04..1.09).contains(&sums.mean), "{sums:?}");
}

/// The largest sum of shares, over the cell, in the half second after 50 UEs woke beside `busy` ones.
fn wake(scheduler: &SchedulerKind, agent: AgentConfig, busy: u32) -> f64 {
    let ues = busy + 50;
    let mut bed = Bed::new(lte(scheduler), agent, &vec![28; ues as usize], 0.0);
    for _ in 0..1000 {
        bed.step(0..busy);
    }
    let start = bed.delivered;
    let mut most: f64 = 0.0;
    for _ in 0..500 {
        bed.step(0..ues);
        most = most.max(bed.sum(ues));
    }
    most / ((bed.delivered - start) as f64 * 8e-6 / 0.5)
}

#[test]
fn ues_that_wake_together_are_promised_the_cell_once() {
    for scheduler in &SCHEDULERS {
        for busy in [0, 1, 10] {
            let most = wake(scheduler, AgentConfig::LTE, busy);
            assert!((0.95..1.1).contains(&most), "{scheduler:?}, {busy}: {most}");
        }
    }
    let unbalanced = AgentConfig {
        balance: false,
        ..AgentConfig::LTE
    };
    let most = wake(&SchedulerKind::ProportionalFair, unbalanced, 10);
    assert!(most > 1.5, "{most}");
}

#[test]
fn an_idle_cell_is_promised_whole_to_who_asks() {
    let mut bed = Bed::new(
        lte(&SchedulerKind::ProportionalFair),
        AgentConfig::LTE,
        &[28],
        0.0,
    );
    // One packet each 100 ms: the cell sleeps in between, and its slots count as free.
    let mut last = 0.0;
    for n in 0..20u64 {
        let start = Instant::from_millis(100 * n);
        let packet = Packet {
            len: 1500,
            ..Packet::default()
        };
        bed.cell
            .enqueue(start, DOWN, UeId(0), Qfi(0), packet, &mut bed.out);
        while let Some(at) = bed.cell.next_slot() {
            bed.now = at;
            bed.cell.run_slot(at, &mut bed.out, &mut bed.agent);
        }
        bed.out.clear();
        last = bed.share(0);
    }
    // 48 blocks of MCS 28: 35.2 Mbit/s of blocks.
    assert!((34.4..35.2).contains(&last), "{last}");
}
