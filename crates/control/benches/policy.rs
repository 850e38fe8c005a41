//! What one decision of Tyrus costs: the network alone, and with its inputs and the choice of the action.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use safetensors::Dtype;
use safetensors::tensor::TensorView;
use slackwater_control::phy::{Policy, Signals};
use slackwater_core::Draw;

/// 5-16-16-16-23 with weights that differ from each other.
fn policy() -> Policy {
    let draw = Draw::new(1);
    let shapes = [
        ("layer0", 16, 5),
        ("layer1", 16, 16),
        ("layer2", 16, 16),
        ("head", 23, 16),
    ];
    let bytes = |n: usize, key: u64| -> Vec<u8> {
        let weight = |i| draw.fork(key, 0).normal(i) as f32 * 0.4;
        (0..n as u64)
            .flat_map(|i| weight(i).to_le_bytes())
            .collect()
    };
    let tensors: Vec<(String, Vec<usize>, Vec<u8>)> = shapes
        .iter()
        .enumerate()
        .flat_map(|(k, &(name, out, inputs))| {
            let key = 2 * k as u64;
            [
                (
                    format!("{name}.weight"),
                    vec![out, inputs],
                    bytes(out * inputs, key),
                ),
                (format!("{name}.bias"), vec![out], bytes(out, key + 1)),
            ]
        })
        .collect();
    let views = tensors.iter().map(|(name, shape, data)| {
        let view = TensorView::new(Dtype::F32, shape.clone(), data).expect("sizes agree");
        (name.clone(), view)
    });
    let metadata = [
        ("format", "slackwater-policy"),
        ("version", "1"),
        ("kind", "mlp"),
        ("interval_ms", "20"),
        ("tbs", "capacity"),
        ("obs", "bdp"),
        ("actions", "L0"),
        ("choice", "greedy"),
    ];
    let metadata = metadata.map(|(k, v)| (k.to_owned(), v.to_owned()));
    let file = safetensors::serialize(views, Some(metadata.into_iter().collect())).expect("a file");
    Policy::from_safetensors(&file).expect("a policy")
}

fn decide(criterion: &mut Criterion) {
    let policy = policy();
    let (net, mode) = policy.mlp().expect("a network");
    let signals = Signals {
        bank: [12.0; 6],
        sd: 2.0,
        queueing: 0.01,
        rate: 11.0,
        window: 50.0,
        min_rtt: 0.04,
        packet: 1500.0,
        ..Signals::default()
    };
    let x = slackwater_control::phy::observe::inputs(mode, &signals);
    let mut group = criterion.benchmark_group("policy");
    group.bench_function("forward", |b| b.iter(|| net.forward(black_box(&x))));
    group.bench_function("act", |b| b.iter(|| policy.act(black_box(&signals), 1)));
    let residual = Policy::zero_residual();
    group.bench_function("residual", |b| {
        b.iter(|| residual.act(black_box(&signals), 1));
    });
    group.finish();
}

criterion_group!(benches, decide);
criterion_main!(benches);
