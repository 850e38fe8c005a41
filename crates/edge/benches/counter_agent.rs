//! What the agent of `ebb` adds to a cell: slots with queues kept full, and a report of each flow every 5 ms. The goal is less
//! than 5 % of the cell (docs/ebb.md).

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use slackwater_core::{
    BearerId, Bytes, Direction, Draw, Duration, FlowId, Instant, Packet, Qfi, Rnti, UeId,
};
use slackwater_edge::gnb::{CounterAgent, IpScale};
use slackwater_edge::{Agent, CellView, FlowAt};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::{ChannelConfig, Mobility, Position};
use slackwater_ran::{Cell, CellOut};
use slackwater_signal::{NoObserver, Observer, RlcView};

/// Slots per measurement.
const SLOTS: u64 = 500;
/// Slots between two reports of a flow.
const EVERY: u64 = 5;
/// Packets that enter in each slot: what the cell carries.
const PACKETS: u32 = 3;
const DOWN: Direction = Direction::Down;

fn cell(ues: u32, observed: bool) -> Cell<Packet> {
    let mut config = CellConfig::lte(10.0);
    config.observe_pdcp = observed;
    config.observe_gone = observed;
    let ue = |k: u32| UeConfig {
        channel: ChannelConfig {
            mobility: Mobility::Static(Position {
                x: 100.0 + f64::from(k % 50) * 2.0,
                y: 0.0,
            }),
            downlink: config.downlink_budget(),
            uplink: config.uplink_budget(),
            ..ChannelConfig::default()
        },
        bearers: vec![BearerConfig::default()],
        rnti: Rnti(k as u16),
    };
    let mut cell =
        Cell::new(&config, (0..ues).map(ue).collect(), Draw::new(1)).expect("a valid cell");
    let mut out = CellOut::new();
    for k in 0..40.max(4 * ues) {
        enter(&mut cell, Instant::ZERO, k % ues, &mut out);
    }
    cell
}

fn enter(cell: &mut Cell<Packet>, now: Instant, ue: u32, out: &mut CellOut<Packet>) {
    let packet = Packet {
        flow: FlowId(ue),
        len: 1500,
        ..Packet::default()
    };
    cell.enqueue(now, DOWN, UeId(ue), Qfi(0), packet, out);
}

/// The queue that a report looks at.
struct View<'a> {
    now: Instant,
    cell: &'a Cell<Packet>,
}

impl CellView for View<'_> {
    fn ues(&self) -> usize {
        1
    }
    fn bearers(&self, _: UeId) -> usize {
        1
    }
    fn slot_bytes(&mut self, _: UeId) -> Bytes {
        Bytes::ZERO
    }
    fn queue(&self, ue: UeId, bearer: BearerId) -> RlcView {
        self.cell.rlc_view(self.now, DOWN, ue, bearer)
    }
}

/// Runs the slots; `report` is called every fifth for each flow.
fn run<O: Observer>(
    cell: &mut Cell<Packet>,
    out: &mut CellOut<Packet>,
    observer: &mut O,
    ues: u32,
    mut report: impl FnMut(&Cell<Packet>, &mut O, Instant, u32),
) {
    let mut next = 0;
    for slot in 0..SLOTS {
        let now = Instant::from_millis(slot);
        for _ in 0..PACKETS {
            enter(cell, now, next % ues, out);
            next += 1;
        }
        cell.run_slot(now, out, observer);
        if slot % EVERY == 0 {
            for ue in 0..ues {
                report(cell, observer, now, ue);
            }
        }
        out.clear();
    }
}

const fn at(ue: u32) -> FlowAt {
    FlowAt {
        flow: FlowId(ue),
        ue: UeId(ue),
        bearer: BearerId(0),
    }
}

fn slots(c: &mut Criterion) {
    for ues in [1, 10, 100] {
        let mut out = CellOut::new();
        c.bench_function(&format!("cell alone, {ues} UEs"), |b| {
            b.iter_batched_ref(
                || cell(ues, false),
                |cell| run(cell, &mut out, &mut NoObserver, ues, |_, _, _, _| {}),
                BatchSize::LargeInput,
            );
        });
        let mut out = CellOut::new();
        c.bench_function(&format!("cell and agent, {ues} UEs"), |b| {
            let new = || {
                let slot = Duration::from_millis(1);
                let mut agent = CounterAgent::new(slot, vec![14], IpScale::Blocks);
                (0..ues).for_each(|ue| agent.add_flow(&at(ue)));
                (cell(ues, true), agent)
            };
            b.iter_batched_ref(
                new,
                |(cell, agent)| {
                    run(cell, &mut out, agent, ues, |cell, agent, now, ue| {
                        let mut view = View { now, cell };
                        std::hint::black_box(agent.report(now, &at(ue), &mut view));
                    });
                },
                BatchSize::LargeInput,
            );
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = slots
}
criterion_main!(benches);
