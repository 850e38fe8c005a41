//! What an ACK costs at the sender: scoreboard, controller, and the two segments that it lets out; TCP and QUIC.
//!
//! `cargo bench` times it. With the arguments `count N CONTROLLER` it handles N ACKs of TCP and ends, with `count N
//! CONTROLLER quic` of QUIC, for counting instructions: the difference of a long and a short run under `valgrind
//! --tool=callgrind`, the function `feed` included.

use criterion::{Criterion, criterion_group};
use slackwater_control::{Config as ControlConfig, build};
use slackwater_core::{Draw, Duration, FlowId, Instant, Packet};
use slackwater_transport::quic;
use slackwater_transport::tcp::{Config, Endpoint};

/// A sender in steady state with a window of 128 segments, and its peer.
struct Loop {
    now: Instant,
    sender: Endpoint,
    receiver: Endpoint,
    data: std::collections::VecDeque<Packet>,
    acks: std::collections::VecDeque<Packet>,
    out: Vec<Packet>,
}

impl Loop {
    fn new(name: &str) -> Self {
        let cfg = Config::default();
        let cc = build(name, &ControlConfig::new(u32::from(cfg.mss), Draw::new(1)))
            .expect("a known controller");
        let mut sender = Endpoint::client(FlowId(0), false, &cfg, cc.clone(), Draw::new(2));
        let mut receiver = Endpoint::server(FlowId(0), true, &cfg, cc, Draw::new(3));
        let mut out = Vec::new();
        sender.set_bulk(true);
        let mut now = Instant::from_millis(1);
        sender.connect(now, &mut out);
        let syn = out.pop().expect("a SYN");
        receiver.on_packet(now, &syn, &mut out);
        let reply = out.pop().expect("a SYN/ACK");
        now += Duration::from_millis(40);
        sender.on_packet(now, &reply, &mut out);
        let mut this = Self {
            now,
            sender,
            receiver,
            data: out.drain(..).collect(),
            acks: std::collections::VecDeque::new(),
            out,
        };
        for _ in 0..2000 {
            this.ack();
        }
        this
    }

    /// One ACK, for whose sake up to two data segments are received.
    fn ack(&mut self) {
        while self.acks.is_empty() {
            let p = self.data.pop_front().expect("something is in flight");
            self.now += Duration::from_micros(500);
            self.receiver.on_packet(self.now, &p, &mut self.out);
            self.acks.extend(self.out.drain(..));
        }
        let ack = self.acks.pop_front().expect("an ACK");
        self.feed(&ack);
    }

    #[inline(never)]
    fn feed(&mut self, ack: &Packet) {
        self.sender.on_packet(self.now, ack, &mut self.out);
        self.data.extend(self.out.drain(..));
    }
}

/// The same over QUIC, unpaced as TCP here.
struct QuicLoop {
    now: Instant,
    sender: quic::Sender,
    receiver: quic::Receiver,
    data: std::collections::VecDeque<Packet>,
    acks: std::collections::VecDeque<Packet>,
    out: Vec<Packet>,
}

impl QuicLoop {
    fn new(name: &str) -> Self {
        let cfg = quic::Config {
            pacing: false,
            ..quic::Config::default()
        };
        let cc = build(
            name,
            &ControlConfig::new(u32::from(cfg.mss()), Draw::new(1)),
        )
        .expect("a known controller");
        let mut sender = quic::Sender::new(FlowId(0), false, 0, &cfg, cc, Draw::new(2));
        let mut receiver = quic::Receiver::new(FlowId(0), true, &cfg);
        let mut out = Vec::new();
        sender.set_bulk(true);
        let mut now = Instant::from_millis(1);
        sender.connect(now, &mut out);
        let hello = out.pop().expect("an Initial");
        receiver.on_packet(now, &hello, &mut out);
        now += Duration::from_millis(40);
        let mut data = std::collections::VecDeque::new();
        for part in std::mem::take(&mut out) {
            sender.on_packet(now, &part, &mut out);
        }
        data.extend(out.drain(..));
        let mut this = Self {
            now,
            sender,
            receiver,
            data,
            acks: std::collections::VecDeque::new(),
            out,
        };
        for _ in 0..2000 {
            this.ack();
        }
        this
    }

    fn ack(&mut self) {
        while self.acks.is_empty() {
            let p = self.data.pop_front().expect("something is in flight");
            self.now += Duration::from_micros(500);
            self.receive(&p);
            self.acks.extend(self.out.drain(..));
        }
        let ack = self.acks.pop_front().expect("an ACK");
        self.feed(&ack);
    }

    #[inline(never)]
    fn receive(&mut self, p: &Packet) {
        self.receiver.on_packet(self.now, p, &mut self.out);
    }

    #[inline(never)]
    fn feed(&mut self, ack: &Packet) {
        self.sender.on_packet(self.now, ack, &mut self.out);
        self.data.extend(self.out.drain(..));
    }
}

fn acks(c: &mut Criterion) {
    for name in ["fixed:128", "fixed:1024"] {
        let mut l = Loop::new(name);
        c.bench_function(&format!("ack/{name}"), |b| b.iter(|| l.ack()));
        let mut l = QuicLoop::new(name);
        c.bench_function(&format!("ack/quic/{name}"), |b| b.iter(|| l.ack()));
    }
}

criterion_group!(benches, acks);

fn main() {
    let mut args = std::env::args().skip_while(|a| a != "count").skip(1);
    if let Some(n) = args.next() {
        let n: u64 = n.parse().expect("a number of ACKs");
        let name = args.next().unwrap_or_else(|| "fixed:128".into());
        if args.next().is_some_and(|a| a == "quic") {
            let mut l = QuicLoop::new(&name);
            for _ in 0..n {
                l.ack();
            }
            return;
        }
        let mut l = Loop::new(&name);
        for _ in 0..n {
            l.ack();
        }
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
