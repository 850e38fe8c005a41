//! What a packet costs in a queue: `cargo bench -p slackwater-queue`.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_core::{Draw, Instant, Packet};
use slackwater_queue::{Fifo, LawConfig, Limits, NoLaw, NoSink, Overflow, Queue, QueueConfig};

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
    cycle(c, "fifo/static", Fifo::new(limits, Overflow::Tail, NoLaw));
    for kind in QueueConfig::NAMES {
        for law in LawConfig::NAMES {
            let config = QueueConfig::from_name(kind)
                .expect("known")
                .with_limits(limits)
                .with_law(LawConfig::from_name(law).expect("known"));
            let queue = config.build(Draw::new(1));
            cycle(c, &format!("{kind}/{law}"), queue);
        }
    }
}

criterion_group!(benches, queues);
criterion_main!(benches);
