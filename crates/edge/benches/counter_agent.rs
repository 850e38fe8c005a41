//! What the agent of `ebb` adds to a cell: slots with queues kept full, and a report of each flow every 5 ms. The goal is less
//! than 5 % of the cell (docs/ebb.md).
//!
//! `cargo bench` times it. With the arguments `count SLOTS UES PART` it runs so many slots once and ends, for counting instructions: the
//! difference of a long and a short run under `valgrind --tool=callgrind`. `PART` is one of [`Part::NAMES`].

mod loaded;

use criterion::{BatchSize, Criterion, criterion_group};
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

/// How much of the agent takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// None: the cell alone.
    Alone,
    /// The cell shows packets that enter and those that are gone, and nobody counts them.
    Shown,
    /// The agent counts, and nobody takes reports.
    Counted,
    /// All of it.
    Reported,
}

impl Part {
    const NAMES: [(&str, Self); 4] = [
        ("alone", Self::Alone),
        ("shown", Self::Shown),
        ("counted", Self::Counted),
        ("reported", Self::Reported),
    ];

    fn observes(self) -> fn(&mut CellConfig) {
        if self == Self::Alone {
            |_| {}
        } else {
            observed
        }
    }
}

/// The agent of a cell in which each UE has a flow.
fn agent(load: Load) -> CounterAgent {
    let mut agent = CounterAgent::new(Duration::from_millis(1), vec![14], IpScale::Blocks);
    (0..load.ues).for_each(|ue| agent.add_flow(&at(ue)));
    agent
}

/// Reports of all flows, where `slot` is one of [`EVERY`].
fn report(cell: &Cell<Packet>, agent: &mut CounterAgent, load: Load, slot: u64) {
    if !slot.is_multiple_of(EVERY) {
        return;
    }
    let now = Instant::from_millis(slot);
    for ue in 0..load.ues {
        let mut view = View { now, cell };
        std::hint::black_box(agent.report(now, &at(ue), &mut view));
    }
}

fn slots(c: &mut Criterion) {
    for ues in [1, 10, 100] {
        let load = Load::of(ues);
        let mut out = CellOut::new();
        for (title, part) in [("cell alone", Part::Alone), ("events shown", Part::Shown)] {
            c.bench_function(&format!("{title}, {ues} UEs"), |b| {
                b.iter_batched_ref(
                    || load.cell(part.observes()),
                    |cell| load.run(cell, &mut out, &mut NoObserver, |_, _, _, _| {}),
                    BatchSize::LargeInput,
                );
            });
        }
        c.bench_function(&format!("cell and agent, {ues} UEs"), |b| {
            b.iter_batched_ref(
                || (load.cell(observed), agent(load)),
                |(cell, agent)| {
                    load.run(cell, &mut out, agent, |cell, _, agent, slot| {
                        report(cell, agent, load, slot);
                    });
                },
                BatchSize::LargeInput,
            );
        });
    }
}

/// Runs `slots` of what the arguments name.
fn count(slots: u64, mut args: impl Iterator<Item = String>) {
    let ues = args.next().expect("a number of UEs");
    let load = Load::of(ues.parse().expect("a number of UEs"));
    let name = args.next().expect("a part");
    let (_, part) = *Part::NAMES
        .iter()
        .find(|(n, _)| *n == name)
        .expect("a part that is known");

    let mut cell = load.cell(part.observes());
    let mut out = CellOut::new();
    if matches!(part, Part::Alone | Part::Shown) {
        load.run_slots(slots, &mut cell, &mut out, &mut NoObserver, |_, _, _, _| {});
        return;
    }
    let mut agent = agent(load);
    load.run_slots(
        slots,
        &mut cell,
        &mut out,
        &mut agent,
        |cell, _, agent, slot| {
            if part == Part::Reported {
                report(cell, agent, load, slot);
            }
        },
    );
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = slots
}

fn main() {
    let mut args = std::env::args().skip_while(|a| a != "count").skip(1);
    if let Some(slots) = args.next() {
        count(slots.parse().expect("a number of slots"), args);
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
