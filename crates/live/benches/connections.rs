//! What a report costs the process that steers the kernel's TCP by `ebb`, of one connection and of thousands: each has a report each
//! 5 ms, and the process wakes for each report alone.
//!
//! `cargo bench` times it. With the arguments `count N CONNECTIONS` it takes N reports and ends, for counting instructions: the
//! difference of a long and a short run under `valgrind --tool=callgrind`.

use std::hint::black_box;
use std::net::{IpAddr, Ipv4Addr};

use criterion::{BenchmarkId, Criterion, criterion_group};
use slackwater_control::{AnyController, Config, build};
use slackwater_core::Draw;
use slackwater_live::counted::CounterReport;
use slackwater_live::split::Connections;
use slackwater_signal::Counters;
use slackwater_wire::report::{FiveTuple, FlowKey};

const MSS: u64 = 1_448;
const WIRE: u64 = 1_500;
/// Nanoseconds of a period of reports.
const PERIOD: u64 = 5_000_000;
/// Segments of a period.
const SEGMENTS: u64 = 5;
/// Segments on their way.
const FLYING: u64 = 40;
/// Octets of `struct ebb_event`.
const EVENT: usize = 112;

/// A server whose connections have their reports in turn.
struct Server {
    connections: Connections,
    many: u64,
    /// Reports so far.
    reports: u64,
    orders: u64,
}

/// The address and port of the receiver of the connection `n`.
fn receiver(n: u64) -> (Ipv4Addr, u16) {
    (
        Ipv4Addr::from_bits(0x0a00_0002 + (n / 1_000) as u32),
        50_000 + (n % 1_000) as u16,
    )
}

/// An event as the kernel's half writes it (`bpf/ebb.bpf.c`).
fn event(n: u64, kind: u32, now: u64, sent: u64, arrived: u64) -> [u8; EVENT] {
    let mut out = [0; EVENT];
    let longs = [n + 1, now, now, sent, sent / MSS, arrived];
    for (chunk, value) in out.chunks_exact_mut(8).zip(longs) {
        chunk.copy_from_slice(&value.to_ne_bytes());
    }
    let words = [
        FLYING as u32,
        44_000,
        40_000,
        MSS as u32,
        WIRE as u32,
        0,
        kind,
    ];
    for (chunk, value) in out[48..76].chunks_exact_mut(4).zip(words) {
        chunk.copy_from_slice(&value.to_ne_bytes());
    }
    let (address, port) = receiver(n);
    let mapped = |address: Ipv4Addr| address.to_ipv6_mapped().octets();
    out[76..78].copy_from_slice(&443_u16.to_ne_bytes());
    out[78..80].copy_from_slice(&port.to_ne_bytes());
    out[80..96].copy_from_slice(&mapped(Ipv4Addr::new(192, 0, 2, 1)));
    out[96..112].copy_from_slice(&mapped(address));
    out
}

impl Server {
    fn new(many: u64) -> Self {
        let config = Config::new(MSS as u32, Draw::new(1));
        let Ok(AnyController::Ebb(sender)) = build("ebb", &config) else {
            unreachable!("it is in the registry")
        };
        let mut connections = Connections::new(*sender, None, 0);
        for n in 0..many {
            connections.on_event(&event(n, 1, 0, 0, 0));
        }
        let mut server = Self {
            connections,
            many,
            reports: 0,
            orders: 0,
        };
        // Until all are steered.
        for _ in 0..40 * many {
            server.report();
        }
        server
    }

    /// A connection has sent and received for a period, then its report comes.
    fn report(&mut self) {
        let (n, turn) = (self.reports % self.many, 1 + self.reports / self.many);
        let now = turn * PERIOD + n * PERIOD / self.many;
        self.reports += 1;
        let sent = turn * SEGMENTS * MSS;
        let arrived = sent.saturating_sub(FLYING * MSS);
        self.connections.on_event(&event(n, 0, now, sent, arrived));

        let (address, port) = receiver(n);
        let flow = FiveTuple {
            source: Ipv4Addr::new(192, 0, 2, 1).into(),
            destination: IpAddr::from(address),
            source_port: 443,
            destination_port: port,
            protocol: 6,
        };
        let counters = Counters {
            stamp: (now / 125_000) as u32,
            gone: (arrived / MSS * WIRE) as u32,
            offered: (turn * SEGMENTS * WIRE) as u32,
            backlog: 2 * WIRE as u32,
            active: 1,
            ..Counters::default()
        };
        let octets = CounterReport::seal(FlowKey::FiveTuple(flow), counters.encode(), None);
        let at = self.connections.at(now);
        self.connections.on_datagram(at, &octets);
        let mut orders = 0;
        self.connections.orders(now, |cookie, octets| {
            black_box((cookie, octets));
            orders += 1;
        });
        self.orders += orders;
        black_box(self.connections.next_timer());
    }
}

fn connections(c: &mut Criterion) {
    let mut group = c.benchmark_group("a report, by connections");
    for many in [1, 100, 1_000, 10_000] {
        let mut server = Server::new(many);
        group.bench_function(BenchmarkId::from_parameter(many), |b| {
            b.iter(|| server.report());
        });
        // Each report has its order.
        assert!(
            server.orders >= server.reports / 2,
            "{} of {}",
            server.orders,
            server.reports
        );
        assert_eq!(server.connections.heard.told, server.reports);
    }
    group.finish();
}

criterion_group!(benches, connections);

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let number = |at: usize| arguments.get(at)?.parse::<u64>().ok();
    if arguments.get(1).is_some_and(|word| word == "count")
        && let (Some(reports), Some(many)) = (number(2), number(3))
    {
        let mut server = Server::new(many);
        (0..reports).for_each(|_| server.report());
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
