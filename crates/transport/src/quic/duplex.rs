//! Connections whose data goes both ways: one end opens and asks, the other answers.
//!
//! Each end is a [`Sender`] and a [`Receiver`]. Those of the way from the client to the server make the handshake; the two
//! of the way back join when it is complete. Their packets carry [`QuicBits::BACK`].

use slackwater_control::{AnyController, PathReport};
use slackwater_core::record::FlowSample;
use slackwater_core::{Draw, FlowId, Instant, Packet, QuicBits};

use super::{Config, Receiver, Sender};

/// The end that opens one connection.
#[derive(Clone, Debug)]
pub struct Client {
    cfg: Config,
    flow: FlowId,
    up: bool,
    number: u16,
    asks: Sender,
    /// From the end of the handshake on.
    hears: Option<Receiver>,
}

impl Client {
    /// The client's end of connection `number` of `flow`. `up`: its packets travel from the UE to the network.
    pub fn new(
        flow: FlowId,
        up: bool,
        number: u16,
        cfg: &Config,
        cc: AnyController,
        draw: Draw,
    ) -> Self {
        Self {
            cfg: *cfg,
            flow,
            up,
            number,
            asks: Sender::new(flow, up, number, cfg, cc, draw),
            hears: None,
        }
    }

    /// Opens the connection. No effect a second time.
    pub fn connect(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.asks.connect(now, out);
    }

    /// Hands over up to `bytes`; returns how many the send buffer took.
    pub fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        self.asks.write(now, bytes, out)
    }

    /// A packet of this flow arrived.
    pub fn on_packet(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        if !goes_back(p) {
            self.asks.on_packet(now, p, out);
            if let Some(hears) = &mut self.hears {
                hears.spin = self.asks.spin;
            } else if self.asks.is_established() {
                let (up, spins) = (self.up, self.asks.spins);
                let joined = Receiver::joined(self.flow, up, self.number, &self.cfg, spins);
                self.hears = Some(joined);
            }
        } else if let Some(hears) = &mut self.hears {
            hears.on_packet(now, p, out);
            self.asks.spin = hears.spin;
        }
    }

    /// A deadline may have passed.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.asks.on_timer(now, out);
        if let Some(hears) = &mut self.hears {
            hears.on_timer(now, out);
        }
    }

    /// When [`Client::on_timer`] should be called.
    pub fn next_timer(&self) -> Option<Instant> {
        let hears = self.hears.as_ref().and_then(Receiver::next_timer);
        earlier(self.asks.next_timer(), hears)
    }

    /// Bytes that came from the server, up to the first that is missing.
    pub fn delivered(&self) -> u64 {
        self.hears.as_ref().map_or(0, Receiver::delivered)
    }

    /// All of the bytes `[start, end)` came from the server, whatever is missing before them.
    pub fn holds(&self, start: u64, end: u64) -> bool {
        self.hears.as_ref().is_some_and(|r| r.holds(start, end))
    }
}

/// The end that is asked, for one connection of a flow after the other.
#[derive(Clone, Debug)]
pub struct Server {
    cfg: Config,
    flow: FlowId,
    up: bool,
    /// What each connection's controller starts as.
    cc: AnyController,
    draw: Draw,
    hears: Receiver,
    answers: Sender,
    /// Bytes acknowledged, packets repeated and timeouts of earlier connections.
    before: (u64, u64, u64),
}

impl Server {
    /// The server's end of `flow`. `up`: its packets travel from the UE to the network.
    pub fn new(flow: FlowId, up: bool, cfg: &Config, cc: AnyController, draw: Draw) -> Self {
        let answers = Sender::answering(flow, up, 0, cfg, cc.clone(), draw.fork(0, 0));
        Self {
            cfg: *cfg,
            flow,
            up,
            cc,
            draw,
            hears: Receiver::new(flow, up, cfg),
            answers,
            before: (0, 0, 0),
        }
    }

    /// Hands over up to `bytes`; returns how many the send buffer took.
    pub fn write(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) -> u64 {
        self.answers.write(now, bytes, out)
    }

    /// A packet of this flow arrived. True where it opened another connection in place of the last: what that one had
    /// not sent is gone.
    pub fn on_packet(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) -> bool {
        if goes_back(p) {
            self.answers.on_packet(now, p, out);
            self.hears.spin = self.answers.spin;
            return false;
        }
        let was = (self.hears.number, self.hears.is_established());
        self.hears.on_packet(now, p, out);
        let anew = self.hears.number != was.0;
        if anew {
            self.renew();
        }
        self.answers.spin = self.hears.spin;
        if self.hears.is_established() && (anew || !was.1) {
            let rtt = self.hears.handshake_rtt(now);
            self.answers.join(now, rtt, out);
        }
        anew
    }

    /// Explicit feedback for the controller of what answers.
    pub fn on_report(&mut self, now: Instant, report: &PathReport, out: &mut Vec<Packet>) {
        self.answers.on_report(now, report, out);
    }

    fn renew(&mut self) {
        let stats = self.answers.stats();
        self.before.0 += self.answers.acked();
        self.before.1 += stats.retransmits;
        self.before.2 += stats.timeouts;
        let number = self.hears.number;
        let draw = self.draw.fork(0, u64::from(number));
        let cc = self.cc.clone();
        self.answers = Sender::answering(self.flow, self.up, number, &self.cfg, cc, draw);
    }

    /// A deadline may have passed.
    pub fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.answers.on_timer(now, out);
        self.hears.on_timer(now, out);
    }

    /// When [`Server::on_timer`] should be called.
    pub fn next_timer(&self) -> Option<Instant> {
        earlier(self.answers.next_timer(), self.hears.next_timer())
    }

    /// Bytes that came from the client, in order, on all connections.
    pub fn delivered(&self) -> u64 {
        self.hears.delivered()
    }

    /// The state of what answers; counters are those of all connections.
    pub fn sample(&self) -> FlowSample {
        let mut sample = self.answers.sample();
        sample.acked.0 += self.before.0;
        sample.retransmits += self.before.1;
        sample.timeouts += self.before.2;
        sample
    }

    /// The controller of what answers.
    pub const fn controller(&self) -> &AnyController {
        self.answers.controller()
    }
}

/// `p` is of the halves whose data goes to the client.
fn goes_back(p: &Packet) -> bool {
    p.quic().is_some_and(|bits| bits.contains(QuicBits::BACK))
}

fn earlier(a: Option<Instant>, b: Option<Instant>) -> Option<Instant> {
    a.into_iter().chain(b).min()
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use slackwater_control::{Config as ControlConfig, build};
    use slackwater_core::{Body, Direction, Duration};

    use super::*;

    const DELAY: Duration = Duration::from_millis(20);

    /// Both ends, 20 ms apart; `lose` decides by the number of a packet.
    struct Pair {
        now: Instant,
        client: Client,
        server: Server,
        wire: VecDeque<(Instant, Packet)>,
        count: u64,
        lose: fn(u64) -> bool,
        /// (sent at, packet).
        trace: Vec<(Instant, Packet)>,
    }

    impl Pair {
        fn new(lose: fn(u64) -> bool) -> Self {
            let cfg = Config::default();
            let cc = || {
                let config = ControlConfig::new(u32::from(cfg.mss()), Draw::new(7));
                build("cubic", &config).unwrap()
            };
            Self {
                now: Instant::ZERO,
                client: Client::new(FlowId(0), true, 0, &cfg, cc(), Draw::new(1)),
                server: Server::new(FlowId(0), false, &cfg, cc(), Draw::new(2)),
                wire: VecDeque::new(),
                count: 0,
                lose,
                trace: Vec::new(),
            }
        }

        fn reconnect(&mut self, number: u16) {
            let cfg = Config::default();
            let config = ControlConfig::new(u32::from(cfg.mss()), Draw::new(7));
            let cc = build("cubic", &config).unwrap();
            self.client = Client::new(FlowId(0), true, number, &cfg, cc, Draw::new(1));
        }

        fn launch(&mut self, out: Vec<Packet>) {
            for p in out {
                self.count += 1;
                self.trace.push((self.now, p));
                if !(self.lose)(self.count) {
                    self.wire.push_back((self.now + DELAY, p));
                }
            }
        }

        fn ask(&mut self, bytes: u64) {
            let mut out = vec![];
            self.client.connect(self.now, &mut out);
            assert_eq!(self.client.write(self.now, bytes, &mut out), bytes);
            self.launch(out);
        }

        fn answer(&mut self, bytes: u64) {
            let mut out = vec![];
            assert_eq!(self.server.write(self.now, bytes, &mut out), bytes);
            self.launch(out);
        }

        /// Runs until `done`; returns how often the server saw another connection.
        fn run(&mut self, done: impl Fn(&Self) -> bool) -> usize {
            let mut anew = 0;
            while !done(self) {
                let wire = self.wire.front().map(|w| w.0);
                let timers = [self.client.next_timer(), self.server.next_timer()];
                let next = timers.into_iter().chain([wire]).flatten().min();
                self.now = next.expect("there is something to do");
                assert!(self.now < Instant::from_millis(60_000), "it ends");
                let mut out = vec![];
                if wire == next {
                    let (_, p) = self.wire.pop_front().expect("it is there");
                    if p.dir == Direction::Down {
                        self.client.on_packet(self.now, &p, &mut out);
                    } else {
                        anew += usize::from(self.server.on_packet(self.now, &p, &mut out));
                    }
                } else if timers[0] == next {
                    self.client.on_timer(self.now, &mut out);
                } else {
                    self.server.on_timer(self.now, &mut out);
                }
                self.launch(out);
            }
            anew
        }
    }

    #[test]
    fn a_request_leaves_with_the_end_of_the_handshake_and_its_answer_comes_back() {
        let mut pair = Pair::new(|_| false);
        pair.ask(400);
        pair.run(|p| p.server.delivered() == 400);
        assert_eq!(pair.now, Instant::from_millis(60));
        pair.answer(300_000);
        pair.run(|p| p.client.delivered() == 300_000);
        // Ten packets at first, doubling, paced over each round trip (RFC 9002, 7.7).
        assert!(pair.now < Instant::from_millis(60 + 6 * 40), "{}", pair.now);
        assert!(pair.client.holds(0, 300_000) && !pair.client.holds(0, 300_001));
        pair.run(|p| p.server.sample().acked.0 == 300_000);
        assert_eq!(pair.server.sample().min_rtt, Duration::from_millis(40));
    }

    #[test]
    fn both_halves_spin_one_bit_once_a_round_trip() {
        let mut pair = Pair::new(|_| false);
        pair.ask(400);
        pair.run(|p| p.server.delivered() == 400);
        pair.answer(3_000_000);
        pair.run(|p| p.client.delivered() == 3_000_000);
        let spin = |(at, bits): (Instant, Option<QuicBits>)| {
            let bits = bits.expect("a short header");
            (at, bits.contains(QuicBits::SPIN))
        };
        let edges = |up: bool| {
            let of_way = pair.trace.iter().filter(|(_, p)| {
                !matches!(p.body, Body::QuicLong(_)) && (p.dir == Direction::Up) == up
            });
            let bits: Vec<_> = of_way.map(|(at, p)| (*at, p.quic())).map(spin).collect();
            let edges = bits.windows(2).filter(|w| w[0].1 != w[1].1);
            edges.map(|w| w[1].0).collect::<Vec<_>>()
        };
        for up in [false, true] {
            let edges = edges(up);
            assert!(edges.len() > 4, "{edges:?}");
            for pair in edges.windows(2) {
                let gap = pair[1].since(pair[0]);
                // An edge waits for the next packet.
                assert!((40..70).contains(&gap.as_millis()), "{up}: {gap}");
            }
        }
    }

    #[test]
    fn losses_both_ways_are_made_good_and_another_connection_begins_anew() {
        let mut pair = Pair::new(|n| n % 13 == 5);
        let (mut asked, mut answered) = (0, 0);
        for number in 0..3 {
            if number > 0 {
                pair.reconnect(number);
            }
            pair.ask(400);
            asked += 400;
            let anew = pair.run(|p| p.server.delivered() == asked);
            assert_eq!(anew, usize::from(number > 0));
            pair.answer(100_000);
            answered += 100_000;
            pair.run(|p| p.client.holds(0, 100_000));
            assert_eq!(pair.client.delivered(), 100_000);
        }
        assert!(pair.server.sample().acked.0 <= answered);
        assert!(pair.server.sample().retransmits > 3);
    }
}
