//! What one reported packet costs in each media controller: `on_feedback` per frame of ten packets, divided by ten by
//! criterion's throughput, and the `intent` that the host reads after it.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use slackwater_control::{
    Config, Feedback, MediaController, PacketReport, PathView, Sent, build_media, media_names,
};
use slackwater_core::{Bytes, Draw, Duration, Ecn, Instant};

const PACKETS: u64 = 10;

/// A frame of ten packets each 16 ms (6 Mbit/s), with a wave in its delay and every eighth frame marked.
fn on_feedback(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("on_feedback+intent");
    group.throughput(Throughput::Elements(PACKETS));
    let mut path = PathView::default();
    path.srtt = Duration::from_millis(30);
    path.min_rtt = Duration::from_millis(20);
    path.mss = 1160;
    path.wire_mss = 1200;
    path.in_flight = Bytes(24_000);
    let mut sent = Sent::default();
    sent.bytes = Bytes(1200);
    for (name, _) in media_names() {
        let cfg = Config::new(1160, Draw::new(1));
        let mut c = build_media(name, &cfg).expect("a listed name builds");
        let mut n = 0u64;
        let mut reports = Vec::new();
        group.bench_function(name, |b| {
            b.iter(|| {
                n += 1;
                let start = Instant::from_millis(1000 + 16 * n);
                let way = Duration::from_micros(10_000 + 100 * (n % 16));
                let ecn = if n.is_multiple_of(8) {
                    Ecn::Ce
                } else {
                    Ecn::Ect1
                };
                reports.clear();
                for i in 0..PACKETS {
                    let at = start + Duration::from_micros(800) * i;
                    c.on_sent(at, &path, &sent);
                    let seq = PACKETS * n + i;
                    reports.push(PacketReport::received(seq, at, at + way, Bytes(1200), ecn));
                }
                let now = start + way + Duration::from_millis(15);
                let feedback = Feedback::new(&reports);
                c.on_feedback(now, &path, black_box(&feedback));
                black_box(c.intent().target)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, on_feedback);
criterion_main!(benches);
