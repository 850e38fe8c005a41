//! Time of a slot with 1, 100 and 1,000 backlogged UEs, LTE 10 MHz.

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use slackwater_core::{Direction, Draw, Instant, Packet, Qfi, Rnti, UeId};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::{ChannelConfig, Mobility, Position};
use slackwater_ran::{Cell, CellOut};
use slackwater_signal::NoObserver;

/// Slots per measurement.
const SLOTS: u64 = 100;

fn backlogged(ues: u32) -> Cell<Packet> {
    let config = CellConfig::lte(10.0);
    let ue = |k: u32| UeConfig {
        channel: ChannelConfig {
            mobility: Mobility::Static(Position {
                x: 100.0 + f64::from(k % 50) * 8.0,
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
    let packet = Packet {
        len: 1500,
        ..Packet::default()
    };
    let mut out = CellOut::new();
    for k in 0..ues {
        for _ in 0..400 {
            let ue = UeId(k);
            cell.enqueue(Instant::ZERO, Direction::Down, ue, Qfi(0), packet, &mut out);
        }
    }
    cell
}

fn slots(c: &mut Criterion) {
    for ues in [1, 100, 1000] {
        c.bench_function(&format!("{SLOTS} slots, {ues} backlogged UEs"), |b| {
            let mut out = CellOut::new();
            b.iter_batched_ref(
                || backlogged(ues),
                |cell| {
                    for slot in 0..SLOTS {
                        cell.run_slot(Instant::from_millis(slot), &mut out, &mut NoObserver);
                        out.clear();
                    }
                },
                BatchSize::LargeInput,
            );
        });
    }
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(10);
    targets = slots
}
criterion_main!(benches);
