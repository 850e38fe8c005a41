//! What a report and an ACK cost in `ebb`: a flow of 12 Mbit/s whose base station reports each 5 ms. The goals are
//! 100 ns a report and 30 ns an ACK (docs/ebb.md).
//!
//! `cargo bench` times it. With the arguments `count N PART [CONTROLLER]` it runs N periods and ends, for counting instructions: the
//! difference of a long and a short run under `valgrind --tool=callgrind`. `PART` is one of [`Part::NAMES`]. A controller that does
//! nothing, such as `fixed:40`, shows what the bench itself takes.

use std::hint::black_box;

use criterion::{Criterion, criterion_group};
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
    /// What the radio offers changes from report to report.
    fades: bool,
}

impl Flow {
    fn new(controller: &str, fades: bool) -> Self {
        let cfg = Config::new(MSS as u32, Draw::new(1));
        let mut path = PathView::default();
        path.srtt = Duration::from_millis(44);
        path.min_rtt = Duration::from_millis(40);
        path.mss = MSS as u32;
        path.wire_mss = WIRE;
        path.in_flight = Bytes(FLYING * MSS);
        let mut flow = Self {
            c: build(controller, &cfg).expect("it is there"),
            path,
            counters: Counters::default(),
            periods: 0,
            fades,
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
        let percent = if self.fades {
            50 + self.periods * 37 % 101
        } else {
            100
        };
        let offered = PACKETS * u64::from(WIRE) * percent / 100;
        counters.offered = counters.offered.wrapping_add(offered as u32);
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

/// What a period of reports is made of.
#[derive(Clone, Copy, Debug)]
enum Part {
    /// Five packets leave.
    Sent,
    /// They leave, and a report comes.
    Report,
    /// The same where the offered rate changes.
    Fading,
    /// They leave, a report comes, and an ACK.
    Ack,
}

impl Part {
    const NAMES: [(&str, Self); 4] = [
        ("sent", Self::Sent),
        ("report", Self::Report),
        ("fading", Self::Fading),
        ("ack", Self::Ack),
    ];

    fn flow(self, controller: &str) -> Flow {
        Flow::new(controller, matches!(self, Self::Fading))
    }

    fn run(self, flow: &mut Flow) {
        flow.send();
        if !matches!(self, Self::Sent) {
            flow.report();
        }
        if matches!(self, Self::Ack) {
            flow.ack();
        }
    }
}

fn ebb(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ebb");
    let parts = [
        ("five packets sent", Part::Sent),
        ("five packets sent, one report", Part::Report),
        ("five packets sent, one report, fading", Part::Fading),
        ("five packets sent, one report, one ACK", Part::Ack),
    ];
    for (title, part) in parts {
        let mut flow = part.flow("ebb");
        group.bench_function(title, |b| b.iter(|| part.run(&mut flow)));
    }
    group.finish();
}

/// Runs `periods` of what the arguments name.
fn count(periods: u64, mut args: impl Iterator<Item = String>) {
    let name = args.next().expect("a part");
    let (_, part) = *Part::NAMES
        .iter()
        .find(|(n, _)| *n == name)
        .expect("a part that is known");
    let controller = args.next().unwrap_or_else(|| "ebb".into());
    let mut flow = part.flow(&controller);
    for _ in 0..periods {
        part.run(&mut flow);
    }
}

criterion_group!(benches, ebb);

fn main() {
    let mut args = std::env::args().skip_while(|a| a != "count").skip(1);
    if let Some(periods) = args.next() {
        count(periods.parse().expect("a number of periods"), args);
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
