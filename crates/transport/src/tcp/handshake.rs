//! The handshake (RFC 9293, 3.5), its retransmission, and what it settles.

use slackwater_control::EcnMode;
use slackwater_core::packet::{IPV4_HEADER, TCP_HEADER};
use slackwater_core::{Ecn, Instant, Packet, Segment, SegmentBits, SeqNum, SynOptions, TcpFlags};

use super::config::Config;
use super::connection::Endpoint;
use super::ecn::syn_flags;
use super::options::syn_len;
use super::rto::Rtt;
use super::window::MAX_SHIFT;

/// Doublings of the timeout of a SYN that go on (Linux `tcp_syn_retries` gives up after 6; a simulated host does not).
const SYN_BACKOFF_MAX: u32 = 6;

/// Header bytes of a segment without options.
const BARE_HEADER: u16 = IPV4_HEADER + TCP_HEADER;

/// Where the handshake stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Active side before [`Endpoint::connect`].
    Closed,
    /// Passive side before a SYN.
    Listen,
    /// The SYN has left.
    SynSent,
    /// The SYN/ACK has left.
    SynReceived,
    /// It is complete.
    Established,
}

/// The handshake, and the numbers and sizes that it settles.
#[derive(Clone, Copy, Debug)]
pub(super) struct Handshake {
    /// Where it stands.
    state: State,
    /// SYNs or SYN/ACKs sent so far.
    tries: u32,
    /// When the last of them left.
    sent_at: Instant,
    /// The ECN that the SYN asks for.
    ecn: EcnMode,
    /// Wire sequence of position 0.
    base: SeqNum,
    /// Wire sequence of the peer's position 0.
    peer_base: SeqNum,
    /// Payload bytes of a full segment.
    mss: u16,
    /// Header bytes of a segment without SACK blocks.
    header: u16,
}

impl Handshake {
    /// A handshake from `state` on, whose SYN or SYN/ACK has the number `isn`.
    pub(super) fn new(state: State, cfg: &Config, isn: SeqNum, ecn: EcnMode) -> Self {
        Self {
            state,
            tries: 0,
            sent_at: Instant::ZERO,
            ecn,
            base: isn + 1,
            peer_base: SeqNum(0),
            mss: cfg.mss,
            header: cfg.header(),
        }
    }

    /// It is complete.
    #[inline]
    pub(super) fn is_established(&self) -> bool {
        self.state == State::Established
    }

    /// Payload bytes of a full segment.
    #[inline]
    pub(super) const fn mss(&self) -> u16 {
        self.mss
    }

    /// Header bytes of a segment without SACK blocks.
    #[inline]
    pub(super) const fn header(&self) -> u16 {
        self.header
    }

    /// Sequence number of this end's position 0.
    #[inline]
    pub(super) const fn base(&self) -> SeqNum {
        self.base
    }

    /// Sequence number of this end's position `pos`.
    #[inline]
    pub(super) fn seq(&self, pos: u64) -> SeqNum {
        self.base + pos as u32
    }

    /// Sequence number of the peer's position `pos`.
    #[inline]
    pub(super) fn peer_seq(&self, pos: u64) -> SeqNum {
        self.peer_base + pos as u32
    }

    /// This end's position with the number `seq` that lies nearest to `near`; negative before the first.
    #[inline]
    pub(super) fn position(&self, seq: SeqNum, near: u64) -> i64 {
        near as i64 + i64::from((seq - self.seq(near)) as i32)
    }

    /// The peer's position with the number `seq` that lies nearest to `near`.
    #[inline]
    pub(super) fn peer_position(&self, seq: SeqNum, near: u64) -> u64 {
        let pos = near.wrapping_add_signed(i64::from((seq - self.peer_seq(near)) as i32));
        // A segment from before the connection's first byte is as old as one can be.
        if pos > i64::MAX as u64 { 0 } else { pos }
    }
}

/// The options of a SYN, with SACK and the window scale where they are offered.
fn offer(cfg: &Config, sack: bool, scale: bool) -> SynOptions {
    SynOptions {
        // RFC 6691: the option counts no TCP options, so the room for time stamps comes on top.
        mss: Some(cfg.mss + cfg.header() - BARE_HEADER),
        window_scale: scale.then_some(cfg.window_scale.min(MAX_SHIFT)),
        sack_permitted: sack,
    }
}

impl Endpoint {
    /// Sends the SYN, where none has left; false where one has.
    pub(super) fn begin_handshake(&mut self, now: Instant, out: &mut Vec<Packet>) -> bool {
        let closed = self.handshake.state == State::Closed;
        if closed {
            self.handshake.state = State::SynSent;
            self.send_syn(now, out);
        }
        closed
    }

    /// Sends the SYN or SYN/ACK again.
    pub(super) fn repeat_handshake(&mut self, now: Instant, out: &mut Vec<Packet>) {
        match self.handshake.state {
            State::SynSent => self.send_syn(now, out),
            State::SynReceived => self.send_syn_ack(now, out),
            State::Closed | State::Listen | State::Established => {}
        }
    }

    fn send_syn(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let options = offer(&self.cfg, self.cfg.sack, true);
        let mut s = self.segment(now, 0);
        s.seq = SeqNum(self.handshake.base.0.wrapping_sub(1));
        s.ack = SeqNum(0);
        s.flags = TcpFlags::SYN.with(syn_flags(self.handshake.ecn));
        s.window = self.rx.syn_window();
        s.set_syn_options(options);
        let len = syn_len(options, self.cfg.timestamps);
        self.push_handshake(now, s, len, out);
    }

    fn send_syn_ack(&mut self, now: Instant, out: &mut Vec<Packet>) {
        let options = offer(&self.cfg, self.reliability.sack(), self.window.is_scaled());
        let mut s = self.segment(now, 0);
        s.seq = SeqNum(self.handshake.base.0.wrapping_sub(1));
        s.flags = TcpFlags::SYN.with(TcpFlags::ACK).with(self.ecn.syn_ack());
        s.window = self.rx.syn_window();
        s.set_syn_options(options);
        let len = syn_len(options, self.timestamps.on());
        self.push_handshake(now, s, len, out);
    }

    fn push_handshake(&mut self, now: Instant, mut s: Segment, len: u16, out: &mut Vec<Packet>) {
        let handshake = &mut self.handshake;
        if handshake.tries > 0 {
            s.bits = s.bits.with(SegmentBits::RETRANSMISSION);
            self.stats.retransmits += 1;
        }
        handshake.tries += 1;
        handshake.sent_at = now;
        let wait = self.cfg.initial_rto * (1 << (handshake.tries - 1).min(SYN_BACKOFF_MAX));
        self.timers.handshake = now + wait;
        out.push(self.packet(now, s, len));
    }

    /// Takes the options of the peer's SYN or SYN/ACK.
    fn negotiate(&mut self, s: &Segment) {
        let theirs = s.syn_options().unwrap_or_default();
        self.timestamps.negotiate(self.cfg.timestamps, s);
        let header = Config {
            timestamps: self.timestamps.on(),
            ..self.cfg
        }
        .header();
        let options = header - BARE_HEADER;
        let mss = self
            .cfg
            .mss
            .min(theirs.mss.unwrap_or(0).saturating_sub(options))
            .max(1);
        let handshake = &mut self.handshake;
        handshake.peer_base = s.seq + 1;
        (handshake.header, handshake.mss) = (header, mss);

        let sack = self.cfg.sack && theirs.sack_permitted;
        self.reliability.negotiate(mss, sack);
        // Ours is scaled where the peer's is (RFC 7323, 2.2).
        let ours = match theirs.window_scale {
            Some(_) => self.cfg.window_scale.min(MAX_SHIFT),
            None => 0,
        };
        self.rx.negotiated(ours, mss);
        self.window.negotiate(s, theirs.window_scale);
    }

    /// A segment of the handshake arrived, or one for a connection that is not established.
    #[cold]
    pub(super) fn on_handshake(
        &mut self,
        now: Instant,
        s: &Segment,
        ecn: Ecn,
        out: &mut Vec<Packet>,
    ) {
        let syn = s.flags.contains(TcpFlags::SYN);
        let ack = s.flags.contains(TcpFlags::ACK);
        match self.handshake.state {
            State::Listen if syn && !ack => {
                self.negotiate(s);
                let accept = self.cfg.ecn != Some(EcnMode::Off);
                self.ecn.on_syn(s.flags, ecn, accept);
                self.handshake.state = State::SynReceived;
                self.send_syn_ack(now, out);
            }
            State::SynReceived if syn && !ack => self.send_syn_ack(now, out),
            State::SynReceived if ack && s.ack == self.handshake.base => {
                self.established(now);
                self.ecn.on_ack(s.flags, 0, true);
                self.on_segment(now, s, ecn, out);
                self.transmit(now, out);
            }
            State::SynSent if syn && ack && s.ack == self.handshake.base => {
                self.negotiate(s);
                self.ecn.on_syn_ack(self.handshake.ecn, s.flags, ecn);
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
        self.handshake.state = State::Established;
        self.timers.handshake = Instant::MAX;
        self.events.connected = true;
        // Karn: a SYN that was sent twice gives no sample.
        let mut rtt = Rtt::new(self.cfg.initial_rto, self.cfg.min_rto, self.cfg.max_rto);
        if self.handshake.tries == 1 {
            let sample = now.since(self.handshake.sent_at);
            rtt.sample(sample, sample, 0, 0);
        }
        self.rtt = rtt;
    }
}
