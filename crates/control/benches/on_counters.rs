//! What a report and an ACK cost in `ebb`: a steady flow of 12 Mbit/s whose base station reports each 5 ms. The goals are
//! 100 ns a report and 30 ns an ACK (docs/ebb.md).

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use slackwater_control::{
    Ack, AnyController, Config, Controller, PathReport, PathView, Sent, build,
};
use slackwater_core::{Bytes, Draw, Duration, Instant};
use slackwater_signal::Counters;

const MSS: u64 = 1448;
const WIRE: u32 = 1500;
/// Packets of a period of reports.
const PACKETS: u64 = 5;
const PERIOD: u64 = 5;
/// Packets on their way.
const FLYING: u64 = 40;

/// The flow, one period of reports after the other.
struct Flow {
    c: AnyController,
    path: PathView,
    counters: Counters,
    periods: u64,
}

impl Flow {
    fn new() -> Self {
        let cfg = Config::new(MSS as u32, Draw::new(1));
        let mut path = PathView::default();
        path.srtt = Duration::from_millis(44);
        path.min_rtt = Duration::from_millis(40);
        path.mss = MSS as u32;
        path.wire_mss = WIRE;
        path.in_flight = Bytes(FLYING * MSS);
        let mut flow = Self {
            c: build("ebb", &cfg).expect("it is there"),
            path,
            counters: Counters::default(),
            periods: 0,
        };
        // Until the memories are full.
        for _ in 0..4_000 {
            flow.send();
            flow.report();
            flow.ack();
            flow.ack();
        }
        flow
    }

    fn now(&self) -> Instant {
        Instant::from_millis(self.periods * PERIOD)
    }

    /// A period begins, and its packets leave.
    fn send(&mut self) {
        self.periods += 1;
        let mut sent = Sent::default();
        sent.bytes = Bytes(MSS);
        for _ in 0..PACKETS {
            self.c.on_sent(self.now(), &self.path, &sent);
        }
    }

    fn report(&mut self) {
        let now = self.now();
        let counters = &mut self.counters;
        counters.stamp = Counters::stamp_of(now);
        let all = (self.periods * PACKETS).saturating_sub(FLYING) * u64::from(WIRE);
        counters.gone = all as u32;
        counters.offered = (self.periods * PACKETS * u64::from(WIRE)) as u32;
        counters.backlog = 2 * WIRE;
        counters.active = 1;
        let report = PathReport::Counters(*counters);
        self.c.on_report(now, &self.path, black_box(&report));
        black_box(self.c.intent().window);
    }

    fn ack(&mut self) {
        let mut ack = Ack::default();
        ack.newly_acked = Bytes(2 * MSS);
        ack.cumulative = Bytes(2 * MSS);
        ack.prior_in_flight = Bytes(FLYING * MSS);
        ack.rtt = Some(Duration::from_millis(44));
        ack.una = (self.periods * PACKETS).saturating_sub(FLYING) * MSS;
        ack.next = self.periods * PACKETS * MSS;
        ack.delivered = Bytes(ack.una);
        self.c.on_ack(self.now(), &self.path, black_box(&ack));
        black_box(self.c.intent().window);
    }
}

fn ebb(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ebb");
    let mut flow = Flow::new();
    group.bench_function("five packets sent", |b| b.iter(|| flow.send()));
    let mut flow = Flow::new();
    group.bench_function("five packets sent, one report", |b| {
        b.iter(|| {
            flow.send();
            flow.report();
        });
    });
    let mut flow = Flow::new();
    group.bench_function("five packets sent, one report, one ACK", |b| {
        b.iter(|| {
            flow.send();
            flow.report();
            flow.ack();
        });
    });
    group.finish();
}

criterion_group!(benches, ebb);
criterion_main!(benches);
