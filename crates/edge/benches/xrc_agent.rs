//! What the XRC agent adds to a cell: slots with queues kept full, and the report on each ACK.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use slackwater_core::{BearerId, Direction, Draw, FlowId, Instant, Packet, Qfi, Rnti, UeId};
use slackwater_edge::gnb::{AgentConfig, XrcAgent};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::{ChannelConfig, Mobility, Position};
use slackwater_ran::{Cell, CellOut};
use slackwater_signal::{NoObserver, Observer};

/// Slots per measurement.
const SLOTS: u64 = 500;
/// Packets that enter in each slot: what the cell carries.
const PACKETS: u32 = 3;
const DOWN: Direction = Direction::Down;

fn cell(ues: u32, observed: bool) -> Cell<Packet> {
    let mut config = CellConfig::lte(10.0);
    config.observe_pdcp = observed;
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

/// Runs the slots; `ack` is called for every other packet that arrives.
fn run<O: Observer>(
    cell: &mut Cell<Packet>,
    out: &mut CellOut<Packet>,
    observer: &mut O,
    ues: u32,
    mut ack: impl FnMut(&Cell<Packet>, &mut O, Instant, UeId),
) {
    let mut next = 0;
    let mut arrived = 0;
    for slot in 0..SLOTS {
        let now = Instant::from_millis(slot);
        for _ in 0..PACKETS {
            enter(cell, now, next % ues, out);
            next += 1;
        }
        cell.run_slot(now, out, observer);
        for k in 0..out.delivered.len() {
            arrived += 1;
            if arrived % 2 == 0 {
                ack(cell, observer, now, out.delivered[k].ue);
            }
        }
        out.clear();
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
            b.iter_batched_ref(
                || (cell(ues, true), XrcAgent::new(AgentConfig::LTE)),
                |(cell, agent)| {
                    run(cell, &mut out, agent, ues, |cell, agent, now, ue| {
                        let queue = cell.rlc_view(now, DOWN, ue, BearerId(0));
                        std::hint::black_box(agent.share(now, FlowId(ue.0), &queue));
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
