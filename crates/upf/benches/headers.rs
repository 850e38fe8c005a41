//! Time of a header that a path outside hands over, with 1 and with 10,000 sessions under vAQM: each is of the next session.

use std::net::{IpAddr, Ipv4Addr};

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use slackwater_core::Teid;
use slackwater_core::{Direction, Duration, Instant, Qfi};
use slackwater_upf::rules::{
    Action, Far, Interface, LocalTunnel, Pdr, Qer, RemoteTunnel, Rules, UeAddress, Urr,
};
use slackwater_upf::sessions::Seid;
use slackwater_upf::{Config, Upf};

/// Headers per measurement: what comes in about 2 ms.
const HEADERS: u64 = 512;

/// What else passes through the cache in that time: the packets themselves, twice.
const OTHERS: usize = 2 << 20;

fn pdr(k: u32, id: u16, source: Interface) -> Pdr {
    let tunnel = (source == Interface::Access).then_some(LocalTunnel {
        teid: Teid(k + 1),
        v4: Some(Ipv4Addr::LOCALHOST),
        v6: None,
    });
    Pdr {
        id,
        precedence: 100,
        source,
        remove_outer: tunnel.is_some(),
        tunnel,
        network: None,
        ue: Some(UeAddress {
            v4: Some(address(k)),
            v6: None,
        }),
        filters: Vec::new(),
        qfis: Vec::new(),
        reports: false,
        far: Some(u32::from(id)),
        qers: vec![1],
        urrs: vec![1],
    }
}

fn address(k: u32) -> Ipv4Addr {
    Ipv4Addr::from_bits(0x0a3c_0000 + k)
}

fn rules(k: u32) -> Rules {
    let far = |id, destination, outer| Far {
        id,
        action: Action::Forward,
        destination: Some(destination),
        network: None,
        outer,
        marking: None,
        bar: None,
    };
    let outer = RemoteTunnel {
        teid: Teid(k + 1),
        address: IpAddr::from([192, 0, 2, 33]),
    };
    Rules {
        pdrs: vec![pdr(k, 1, Interface::Access), pdr(k, 2, Interface::Core)],
        fars: vec![
            far(1, Interface::Core, None),
            far(2, Interface::Access, Some(outer)),
        ],
        qers: vec![Qer {
            id: 1,
            correlation: None,
            gate_up: true,
            gate_down: true,
            maximum: None,
            guaranteed: None,
            qfi: Some(Qfi(9)),
            reflective: false,
            edge: slackwater_wire::pfcp::EdgeOptions::default(),
        }],
        urrs: vec![Urr {
            id: 1,
            volume: true,
            ..Urr::default()
        }],
        ..Rules::default()
    }
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
            upf.sessions().set_rules(seid, rules(k));
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
