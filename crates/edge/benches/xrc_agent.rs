//! What the XRC agent adds to a cell: slots with queues kept full, and the report on each ACK. A UE has one flow, and ten or a
//! hundred: there the agent shares by their number, or max-min by what they take.

mod loaded;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use loaded::{DOWN, Load};
use slackwater_core::{BearerId, Instant, Packet};
use slackwater_edge::gnb::{AgentConfig, Share, XrcAgent};
use slackwater_ran::{Cell, CellOut};
use slackwater_signal::NoObserver;

fn alone(c: &mut Criterion, load: Load, title: &str) {
    let mut out = CellOut::new();
    c.bench_function(&format!("cell alone, {title}"), |b| {
        b.iter_batched_ref(
            || load.cell(|_| {}),
            |cell| load.run(cell, &mut out, &mut NoObserver, |_, _, _, _| {}),
            BatchSize::LargeInput,
        );
    });
}

/// A report for every other packet that arrives.
fn with_agent(c: &mut Criterion, load: Load, title: &str, share: Share) {
    let mut out = CellOut::new();
    let mut arrived = 0_u64;
    c.bench_function(&format!("cell and agent, {title}"), |b| {
        let config = AgentConfig {
            share,
            ..AgentConfig::LTE
        };
        b.iter_batched_ref(
            || (load.cell(|c| c.observe_pdcp = true), XrcAgent::new(config)),
            |(cell, agent)| {
                let ack = |cell: &Cell<Packet>,
                           out: &CellOut<Packet>,
                           agent: &mut XrcAgent,
                           slot: u64| {
                    let now = Instant::from_millis(slot);
                    for delivered in &out.delivered {
                        arrived += 1;
                        if arrived.is_multiple_of(2) {
                            let queue = cell.rlc_view(now, DOWN, delivered.ue, BearerId(0));
                            let flow = delivered.packet.flow;
                            std::hint::black_box(agent.share(now, flow, &queue));
                        }
                    }
                };
                load.run(cell, &mut out, agent, ack);
            },
            BatchSize::LargeInput,
        );
    });
}

fn slots(c: &mut Criterion) {
    for ues in [1, 10, 100] {
        let load = Load::of(ues);
        let title = format!("{ues} UEs");
        alone(c, load, &title);
        with_agent(c, load, &title, Share::Demand);
    }
    for flows in [10, 100] {
        let load = Load { ues: 1, flows };
        let title = format!("{flows} flows of one UE");
        alone(c, load, &title);
        with_agent(c, load, &format!("{title}, by number"), Share::Count);
        with_agent(c, load, &format!("{title}, max-min"), Share::Demand);
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = slots
}
criterion_main!(benches);
