//! The handshake (RFC 9293, 3.5), its retransmission, and what it settles.

use slackwater_control::EcnMode;
use slackwater_core::packet::{IPV4_HEADER, TCP_HEADER};
use slackwater_core::{Instant, Packet, SeqNum, TcpFlags};

use super::config::Config;
use super::connection::{Endpoint, State};
use super::ecn::syn_flags;
use super::options::SynOptions;
use super::rto::Rtt;
use super::scoreboard::Scoreboard;

/// Doublings of the timeout of a SYN that go on (Linux `tcp_syn_retries` gives up after 6; a simulated host does not).
const SYN_BACKOFF_MAX: u32 = 6;

/// `send_scale` of a peer without the window scale option.
pub(crate) const NO_SCALE: u8 = u8::MAX;

/// Header bytes of a segment without options.
const BARE_HEADER: u16 = IPV4_HEADER + TCP_HEADER;

impl Endpoint {
    fn offer(&self, sack: bool, scale: bool) -> SynOptions {
        SynOptions {
            // RFC 6691: the option counts no TCP options, so the room for time stamps comes on top.
            mss: self.cfg.mss + self.cfg.header() - BARE_HEADER,
            scale: scale.then_some(self.cfg.window_scale.min(14)),
            sack,
        }
    }

    pub(crate) fn send_syn(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let options = self.offer(self.cfg.sack, true);
        let mut p = self.segment(now, 0);
        p.seq = SeqNum(self.base.0.wrapping_sub(1));
        p.ack = SeqNum(0);
        p.flags = TcpFlags::SYN.with(syn_flags(self.ecn_ask));
        p.window = self.rx.syn_window();
        p.len = options.syn_len(self.cfg.timestamps);
        options.write(&mut p);
        self.push_handshake(now, p, out);
    }

    pub(crate) fn send_syn_ack(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let options = self.offer(self.sack, self.send_scale != NO_SCALE);
        let mut p = self.segment(now, 0);
        p.seq = SeqNum(self.base.0.wrapping_sub(1));
        p.flags = TcpFlags::SYN.with(TcpFlags::ACK).with(self.ecn.syn_ack());
        p.window = self.rx.syn_window();
        p.len = options.syn_len(self.timestamps);
        options.write(&mut p);
        self.push_handshake(now, p, out);
    }

    fn push_handshake(&mut self, now: Instant, mut p: Packet, out: &mut Vec<Packet>) {
        if self.connect_tries > 0 {
            p.bits |= Packet::BIT_RETX;
            self.stats.retransmits += 1;
        }
        self.connect_tries += 1;
        self.syn_at = now;
        let wait = self.cfg.initial_rto * (1 << (self.connect_tries - 1).min(SYN_BACKOFF_MAX));
        self.timers.handshake = now + wait;
        out.push(p);
    }

    fn negotiate(&mut self, p: &Packet) {
        let theirs = SynOptions::read(p);
        self.peer_base = p.seq + 1;
        self.timestamps = self.cfg.timestamps && p.bits & Packet::BIT_TIMESTAMPS != 0;
        self.header = Config {
            timestamps: self.timestamps,
            ..self.cfg
        }
        .header();
        self.sack = self.cfg.sack && theirs.sack;
        let (ours, scale) = match theirs.scale {
            Some(scale) => (self.cfg.window_scale.min(14), scale),
            None => (0, NO_SCALE),
        };
        self.send_scale = scale;
        let options = self.header - BARE_HEADER;
        self.mss = self.cfg.mss.min(theirs.mss.saturating_sub(options)).max(1);
        self.board = Scoreboard::new(self.mss);
        self.rx.negotiated(ours, self.mss);
        if self.timestamps {
            self.ts_recent = p.tsval;
        }
        // RFC 7323, 2.2: the window of a SYN is not scaled.
        self.window_end = u64::from(p.window);
    }

    #[cold]
    pub(crate) fn on_handshake(&mut self, now: Instant, p: &Packet, out: &mut Vec<Packet>) {
        let syn = p.flags.contains(TcpFlags::SYN);
        let ack = p.flags.contains(TcpFlags::ACK);
        match self.state {
            State::Listen if syn && !ack => {
                self.negotiate(p);
                let accept = self.cfg.ecn != Some(EcnMode::Off);
                self.ecn.on_syn(p.flags, p.ecn, accept);
                self.state = State::SynReceived;
                self.send_syn_ack(now, out);
            }
            State::SynReceived if syn && !ack => self.send_syn_ack(now, out),
            State::SynReceived if ack && p.ack == self.base => {
                self.established(now);
                self.ecn.on_ack(p.flags, 0, true);
                self.on_segment(now, p, out);
                self.transmit(now, out);
            }
            State::SynSent if syn && ack && p.ack == self.base => {
                self.negotiate(p);
                self.ecn.on_syn_ack(self.ecn_ask, p.flags, p.ecn);
                self.established(now);
                self.send_ack(now, out);
                self.transmit(now, out);
            }
            // Our ACK was lost, and the SYN/ACK came again.
            State::Established if syn && ack => self.send_ack(now, out),
            _ => {}
        }
    }

    fn established(&mut self, now: Instant) {
        self.state = State::Established;
        self.timers.handshake = Instant::MAX;
        self.events.connected = true;
        // Karn: a SYN that was sent twice gives no sample.
        let mut rtt = Rtt::new(self.cfg.initial_rto, self.cfg.min_rto, self.cfg.max_rto);
        if self.connect_tries == 1 {
            let sample = now.since(self.syn_at);
            rtt.sample(sample, sample, 0, 0);
        }
        self.rtt = rtt;
    }
}
