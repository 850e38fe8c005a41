//! Time of a header that a path outside hands over, with 1 and with 10,000 sessions under vAQM: each is of the next session.

use std::net::Ipv4Addr;

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use slackwater_core::{Direction, Duration, Instant, Qfi, Teid};
use slackwater_upf::sessions::Seid;
use slackwater_upf::testing::session;
use slackwater_upf::{Config, Upf};

/// Headers per measurement: what comes in about 2 ms.
const HEADERS: u64 = 512;

/// What else passes through the cache in that time: the packets themselves, twice.
const OTHERS: usize = 2 << 20;

fn address(k: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a3c_0000 + k)
}

/// The headers of a datagram of 1,400 octets to a UE, or from it.
fn head(direction: Direction, k: u32) -> Vec<u8> {
    let (server, ue) = ([192, 0, 2, 1], address(k).octets());
    let (source, target, ports) = match direction {
        Direction::Down => (server, ue, [443u16, 5_000]),
        Direction::Up => (ue, server, [5_000, 443]),
    };
    let mut head = vec![0x45, 0];
    head.extend(u16::to_be_bytes(1_400));
    head.extend([0, 0, 0x40, 0, 64, 17, 0, 0]);
    head.extend(source);
    head.extend(target);
    head.extend(ports.map(u16::to_be_bytes).concat());
    head.extend([0; 60]);
    head
}

struct Bench {
    upf: Upf,
    sessions: Vec<Seid>,
    now: Instant,
    next: usize,
}

impl Bench {
    fn new(count: u32) -> Self {
        let mut upf = Upf::new(Config::default());
        upf.keep_fast();
        let mut sessions = Vec::new();
        for k in 0..count {
            let seid = upf.sessions().add(Instant::ZERO, 0, u64::from(k) + 1);
            let teid = Teid(k + 1);
            upf.sessions()
                .set_rules(seid, session::rules(address(k), teid, teid));
            sessions.push(seid);
        }
        upf.take_fast_changes(Instant::ZERO);
        Self {
            upf,
            sessions,
            now: Instant::from_millis(1_000),
            next: 0,
        }
    }

    /// Headers, 3 us apart; how many sessions rest.
    fn read(&mut self, direction: Direction) -> usize {
        let mut rest = 0;
        let qfi = Some(Qfi(9));
        let mut octets = head(direction, 0);
        let own = match direction {
            Direction::Down => 16..20,
            Direction::Up => 12..16,
        };
        for _ in 0..HEADERS {
            self.now += Duration::from_micros(3);
            octets[own.clone()].copy_from_slice(&address(self.next as u32).octets());
            let head = &mut octets;
            let seid = self.sessions[self.next];
            rest += usize::from(self.upf.on_bypassed(self.now, seid, direction, qfi, head));
            self.next = (self.next + 1) % self.sessions.len();
        }
        rest
    }
}

/// Reads and writes each line of `octets`.
fn pass(octets: &mut [u8]) {
    for octet in octets.iter_mut().step_by(64) {
        *octet = octet.wrapping_add(1);
    }
}

fn headers(c: &mut Criterion) {
    let mut group = c.benchmark_group("headers");
    group.throughput(Throughput::Elements(HEADERS));
    for direction in [Direction::Down, Direction::Up] {
        for count in [1, 10_000] {
            let mut bench = Bench::new(count);
            let mut octets = vec![0u8; OTHERS];
            group.bench_function(format!("{direction:?}/{count}"), |b| {
                b.iter_batched(
                    || pass(&mut octets),
                    |()| bench.read(direction),
                    BatchSize::PerIteration,
                );
            });
        }
    }
    group.finish();
}

criterion_group!(benches, headers);
criterion_main!(benches);
