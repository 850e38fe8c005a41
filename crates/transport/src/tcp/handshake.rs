//! The handshake (RFC 9293, 3.5), its retransmission, and what it settles.

use slackwater_control::EcnMode;
use slackwater_core::packet::{IPV4_HEADER, TCP_HEADER};
use slackwater_core::{Ecn, Instant, Packet, Segment, SegmentBits, SeqNum, SynOptions, TcpFlags};

use super::config::Config;
use super::connection::{Endpoint, State};
use super::ecn::syn_flags;
use super::options::syn_len;
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
            mss: Some(self.cfg.mss + self.cfg.header() - BARE_HEADER),
            window_scale: scale.then_some(self.cfg.window_scale.min(14)),
            sack_permitted: sack,
        }
    }

    pub(crate) fn send_syn(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let options = self.offer(self.cfg.sack, true);
        let mut s = self.segment(now, 0);
        s.seq = SeqNum(self.base.0.wrapping_sub(1));
        s.ack = SeqNum(0);
        s.flags = TcpFlags::SYN.with(syn_flags(self.ecn_ask));
        s.window = self.rx.syn_window();
        s.set_syn_options(options);
        let len = syn_len(options, self.cfg.timestamps);
        self.push_handshake(now, s, len, out);
    }

    pub(crate) fn send_syn_ack(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let options = self.offer(self.sack, self.send_scale != NO_SCALE);
        let mut s = self.segment(now, 0);
        s.seq = SeqNum(self.base.0.wrapping_sub(1));
        s.flags = TcpFlags::SYN.with(TcpFlags::ACK).with(self.ecn.syn_ack());
        s.window = self.rx.syn_window();
        s.set_syn_options(options);
        let len = syn_len(options, self.timestamps);
        self.push_handshake(now, s, len, out);
    }

    fn push_handshake(&mut self, now: Instant, mut s: Segment, len: u16, out: &mut Vec<Packet>) {
        if self.connect_tries > 0 {
            s.bits = s.bits.with(SegmentBits::RETRANSMISSION);
            self.stats.retransmits += 1;
        }
        self.connect_tries += 1;
        self.syn_at = now;
        let wait = self.cfg.initial_rto * (1 << (self.connect_tries - 1).min(SYN_BACKOFF_MAX));
        self.timers.handshake = now + wait;
        out.push(self.packet(now, s, len));
    }

    fn negotiate(&mut self, s: &Segment) {
        let theirs = s.syn_options().unwrap_or_default();
        self.peer_base = s.seq + 1;
        self.timestamps = self.cfg.timestamps && s.bits.contains(SegmentBits::TIMESTAMPS);
        self.header = Config {
            timestamps: self.timestamps,
            ..self.cfg
        }
        .header();
        self.sack = self.cfg.sack && theirs.sack_permitted;
        let (ours, scale) = match theirs.window_scale {
            Some(scale) => (self.cfg.window_scale.min(14), scale),
            None => (0, NO_SCALE),
        };
        self.send_scale = scale;
        let options = self.header - BARE_HEADER;
        let theirs = theirs.mss.unwrap_or(0);
        self.mss = self.cfg.mss.min(theirs.saturating_sub(options)).max(1);
        self.board = Scoreboard::new(self.mss);
        self.rx.negotiated(ours, self.mss);
        if self.timestamps {
            self.ts_recent = s.tsval;
        }
        // RFC 7323, 2.2: the window of a SYN is not scaled.
        self.window_end = u64::from(s.window);
    }

    #[cold]
    pub(crate) fn on_handshake(
        &mut self,
        now: Instant,
        s: &Segment,
        ecn: Ecn,
        out: &mut Vec<Packet>,
    ) {
        let syn = s.flags.contains(TcpFlags::SYN);
        let ack = s.flags.contains(TcpFlags::ACK);
        match self.state {
            State::Listen if syn && !ack => {
                self.negotiate(s);
                let accept = self.cfg.ecn != Some(EcnMode::Off);
                self.ecn.on_syn(s.flags, ecn, accept);
                self.state = State::SynReceived;
                self.send_syn_ack(now, out);
            }
            State::SynReceived if syn && !ack => self.send_syn_ack(now, out),
            State::SynReceived if ack && s.ack == self.base => {
                self.established(now);
                self.ecn.on_ack(s.flags, 0, true);
                self.on_segment(now, s, ecn, out);
                self.transmit(now, out);
            }
            State::SynSent if syn && ack && s.ack == self.base => {
                self.negotiate(s);
                self.ecn.on_syn_ack(self.ecn_ask, s.flags, ecn);
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
