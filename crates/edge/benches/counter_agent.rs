//! What the agent of `ebb` adds to a cell: slots with queues kept full, and a report of each flow every 5 ms. The goal is less
//! than 5 % of the cell (docs/ebb.md).

mod loaded;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use loaded::{DOWN, Load};
use slackwater_core::{BearerId, Bytes, Duration, FlowId, Instant, Packet, UeId};
use slackwater_edge::gnb::{CounterAgent, IpScale};
use slackwater_edge::{Agent, CellView, FlowAt};
use slackwater_ran::cell::CellConfig;
use slackwater_ran::{Cell, CellOut};
use slackwater_signal::{NoObserver, RlcView};

/// Slots between two reports of a flow.
const EVERY: u64 = 5;

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

const fn at(ue: u32) -> FlowAt {
    FlowAt {
        flow: FlowId(ue),
        ue: UeId(ue),
        bearer: BearerId(0),
    }
}

/// The agent sees packets that enter, and those that are gone.
fn observed(config: &mut CellConfig) {
    config.observe_pdcp = true;
    config.observe_gone = true;
}

fn slots(c: &mut Criterion) {
    for ues in [1, 10, 100] {
        let load = Load::of(ues);
        let mut out = CellOut::new();
        c.bench_function(&format!("cell alone, {ues} UEs"), |b| {
            b.iter_batched_ref(
                || load.cell(|_| {}),
                |cell| load.run(cell, &mut out, &mut NoObserver, |_, _, _, _| {}),
                BatchSize::LargeInput,
            );
        });
        let mut out = CellOut::new();
        c.bench_function(&format!("cell and agent, {ues} UEs"), |b| {
            let new = || {
                let slot = Duration::from_millis(1);
                let mut agent = CounterAgent::new(slot, vec![14], IpScale::Blocks);
                (0..ues).for_each(|ue| agent.add_flow(&at(ue)));
                (load.cell(observed), agent)
            };
            b.iter_batched_ref(
                new,
                |(cell, agent)| {
                    load.run(cell, &mut out, agent, |cell, _, agent, slot| {
                        if slot % EVERY != 0 {
                            return;
                        }
                        let now = Instant::from_millis(slot);
                        for ue in 0..ues {
                            let mut view = View { now, cell };
                            std::hint::black_box(agent.report(now, &at(ue), &mut view));
                        }
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
