//! What one ACK costs in each controller: `on_ack` and the `intent` that the host reads after it. XRC's ACKs carry
//! reports, so `on_report` is in its figure.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_control::{Ack, Config, Controller, PathReport, PathView, RateSample, build, names};
use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

const MSS: u64 = 1448;

/// A steady flow: an ACK of two segments each 2 ms, 80 in flight.
fn on_ack(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("on_ack+intent");
    let mut path = PathView::default();
    path.srtt = Duration::from_millis(80);
    path.min_rtt = Duration::from_millis(40);
    path.mss = MSS as u32;
    path.wire_mss = 1500;
    path.in_flight = Bytes(80 * MSS);
    for (name, _) in names() {
        let cfg = Config::new(MSS as u32, Draw::new(1));
        let mut c = build(name, &cfg).expect("a listed name builds");
        let event = slackwater_control::CongestionEvent::new(
            slackwater_control::Cause::Loss,
            Bytes(MSS),
            path.in_flight,
            0,
        );
        c.on_congestion(Instant::from_millis(1), &path, &event);
        c.on_recovered(Instant::from_millis(1), &path);
        let mut rate = RateSample::default();
        rate.delivered = Bytes(80 * MSS);
        rate.interval = Duration::from_millis(80);
        let mut ack = Ack::default();
        ack.newly_acked = Bytes(2 * MSS);
        ack.cumulative = Bytes(2 * MSS);
        ack.prior_in_flight = Bytes(80 * MSS);
        ack.cwnd_limited = true;
        // Accurate ECN feedback for who asks for it.
        ack.ecn.ect1 = 2 * u32::from(c.intent().ecn.is_proportional());
        let explicit = name.starts_with("xrc");
        let mut n = 0u64;
        // The line of `fixed` is what the loop itself costs.
        group.bench_function(name, |b| {
            b.iter(|| {
                n += 1;
                ack.rtt = Some(Duration::from_millis(80 + n % 8));
                rate.prior_delivered = Bytes((2 * n).saturating_sub(80) * MSS);
                ack.rate = Some(rate);
                ack.delivered = Bytes(2 * n * MSS);
                ack.una = 2 * n * MSS;
                ack.next = (2 * n + 80) * MSS;
                let now = Instant::from_millis(2 * n);
                if explicit {
                    let report = PathReport::Share {
                        rate: Rate::from_bps(12_000_000),
                        hol_delay: Duration::from_millis(40),
                        seq: (2 * n) as u16,
                        shared: false,
                    };
                    c.on_report(now, &path, black_box(&report));
                }
                c.on_ack(now, &path, black_box(&ack));
                black_box(c.intent().window)
            });
        });
    }
    group.finish();
}

criterion_group!(benches, on_ack);
criterion_main!(benches);
