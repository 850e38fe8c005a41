//! What an ACK costs at the sender: scoreboard, controller, and the two segments that it lets out.
//!
//! `cargo bench` times it. With the argument `count N` it handles N ACKs and ends, for counting instructions:
//! the difference of a long and a short run under `valgrind --tool=callgrind`.

use criterion::{Criterion, criterion_group};
use slackwater_control::{Config as ControlConfig, build};
use slackwater_core::{Draw, Duration, FlowId, Instant, Packet};
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

fn acks(c: &mut Criterion) {
    for name in ["fixed:128", "fixed:1024"] {
        let mut l = Loop::new(name);
        c.bench_function(&format!("ack/{name}"), |b| b.iter(|| l.ack()));
    }
}

criterion_group!(benches, acks);

fn main() {
    let mut args = std::env::args().skip_while(|a| a != "count").skip(1);
    if let Some(n) = args.next() {
        let n: u64 = n.parse().expect("a number of ACKs");
        let mut l = Loop::new(&args.next().unwrap_or_else(|| "fixed:128".into()));
        for _ in 0..n {
            l.ack();
        }
        return;
    }
    benches();
    Criterion::default().configure_from_args().final_summary();
}
