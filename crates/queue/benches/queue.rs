//! What a packet costs in a queue: `cargo bench -p slackwater-queue`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_core::{Instant, Packet};
use slackwater_queue::{Codel, CodelConfig, Fifo, Limits, NoLaw, NoSink, Overflow, Queue};

fn cycle(c: &mut Criterion, name: &str, mut queue: impl Queue<Packet>) {
    let packet = Packet {
        len: 1500,
        ..Packet::default()
    };
    for _ in 0..64 {
        queue.enqueue(Instant::ZERO, packet, &mut NoSink);
    }
    let mut ns = 0;
    c.bench_function(name, |b| {
        b.iter(|| {
            ns += 1;
            let now = Instant::from_nanos(ns);
            queue.enqueue(now, black_box(packet), &mut NoSink);
            queue.dequeue(now, &mut NoSink)
        });
    });
}

fn queues(c: &mut Criterion) {
    let limits = Limits::packets(1000);
    cycle(c, "fifo/none", Fifo::new(limits, Overflow::Tail, NoLaw));
    let codel = Codel::new(CodelConfig::default());
    cycle(c, "fifo/codel", Fifo::new(limits, Overflow::Tail, codel));
}

criterion_group!(benches, queues);
criterion_main!(benches);
