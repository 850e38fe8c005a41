//! What leaves: retransmissions first, then new data, as the windows, the pacer and the peer allow.

use slackwater_control::{EcnMode, Sent};
use slackwater_core::{Bytes, Instant, Packet, SegmentBits, SeqNum, TcpFlags};

use super::connection::Endpoint;
use super::scoreboard;

/// Why no new segment can leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stop {
    /// There is no data.
    NoData,
    /// The peer's window is used up.
    PeerWindow,
}

impl Endpoint {
    /// The congestion window in force, in payload bytes.
    #[inline]
    pub(super) fn window(&self) -> u64 {
        let wanted = self.congestion.intent().window;
        let wanted = wanted.map_or(u64::MAX >> 1, |w| w.0);
        self.episode.window().unwrap_or(wanted)
    }

    /// Sends all that may leave now.
    pub(super) fn transmit(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.transmit_after(now, false, out);
    }

    /// The same. `progress`: an ACK moved the cumulative point and started the timeout anew, so that the probe timer
    /// starts anew as well, whether or not anything leaves.
    pub(super) fn transmit_after(&mut self, now: Instant, progress: bool, out: &mut Vec<Packet>) {
        self.timers.pace = Instant::MAX;
        let mss = u64::from(self.handshake.mss());
        let window = self.window();
        let paced = self.congestion.pacer().rate().is_some();
        let recovering = self.episode.is_recovering();
        let mut sent_new = self.send_row(now, window, out);
        let mut sent_any = sent_new;
        let mut in_flight;
        loop {
            in_flight = self.reliability.in_flight();
            if in_flight + mss > window && in_flight > 0 {
                break;
            }
            if paced {
                let wire = Bytes(mss + u64::from(self.handshake.header()));
                let at = self.congestion.pacer().earliest_departure(now, wire);
                if at > now {
                    self.timers.pace = at;
                    break;
                }
            }
            // After a timeout, F-RTO tries new data before it repeats more (RFC 5682, 2.1, step 2b).
            let resend = recovering && !self.episode.tries_new_data();
            if resend && let Some(n) = self.reliability.next_lost() {
                self.resend(now, n, out);
                if self.reliability.is_oldest(n) && self.timers.reorder == Instant::MAX {
                    // The oldest segment has a whole timeout to be answered (Linux `tcp_xmit_retransmit_queue`).
                    self.timers.rto = now + self.rtt.rto();
                }
                sent_any = true;
                continue;
            }
            match self.next_new() {
                Ok((payload, fin)) => {
                    self.send_new(now, payload, fin, out);
                    sent_new = true;
                    sent_any = true;
                }
                Err(Stop::NoData) => {
                    self.reliability.limit_by_application(in_flight);
                    break;
                }
                Err(Stop::PeerWindow) => {
                    if self.reliability.is_empty() && self.timers.persist == Instant::MAX {
                        self.timers.persist = self.rtt.persist(now, self.window.probes());
                    }
                    break;
                }
            }
        }
        if sent_new {
            self.timers.persist = Instant::MAX;
            self.window.opened();
        }
        if sent_new || progress {
            self.arm_probe(now);
        }
        let limited = in_flight + mss > window;
        if sent_any || limited {
            let segments = self.reliability.segments();
            let (una, nxt) = (self.reliability.una(), self.reliability.nxt());
            self.usage.note(limited, segments, una, nxt);
        }
    }

    /// Linux `tcp_is_cwnd_limited`: in slow start a window that is more than half used counts.
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        if self.usage.is_limited() {
            return true;
        }
        let window = self.window();
        let ssthresh = self.congestion.intent().ssthresh;
        let slow_start = ssthresh.is_none_or(|t| window < t.0);
        slow_start && window < 2 * self.usage.most() * u64::from(self.handshake.mss())
    }

    /// Payload bytes and FIN of the next new segment.
    #[inline]
    fn next_new(&self) -> Result<(u16, bool), Stop> {
        let next = self.reliability.nxt();
        let mss = u64::from(self.handshake.mss());
        let (payload, fin) = self.stream.next(next, self.reliability.una(), mss);
        if payload == 0 && !fin {
            return Err(Stop::NoData);
        }
        // A segment leaves whole or not at all (RFC 9293, 3.8.6.2.1: no silly windows); probes break the rule.
        if next + payload + u64::from(fin) > self.window.end() {
            return Err(Stop::PeerWindow);
        }
        Ok((payload as u16, fin))
    }

    /// There is new data, and the peer's window has room for it.
    pub(super) fn has_new(&self) -> bool {
        self.next_new().is_ok()
    }

    /// Sends one new segment whatever the congestion window says, where there is one.
    pub(super) fn send_one_new(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if let Ok((payload, fin)) = self.next_new() {
            self.send_new(now, payload, fin, out);
        }
    }

    fn send_new(&mut self, now: Instant, payload: u16, fin: bool, out: &mut Vec<Packet>) {
        let idle = self.reliability.is_empty();
        let len = payload + u16::from(fin);
        let pos = self.reliability.push(now, len, fin);
        if fin {
            self.stream.on_fin();
        }
        self.emit(now, pos, len, fin, false, out);
        let mut sent = Sent::default();
        sent.bytes = Bytes(u64::from(payload));
        sent.after_idle = idle;
        let path = self.path();
        self.congestion.on_sent(now, &path, &sent);
        if idle {
            // The controller may have restarted its window.
            self.congestion.follow(&path);
            self.timers.rto = now + self.rtt.rto();
        }
    }

    /// Sends segment `n` again.
    pub(super) fn resend(&mut self, now: Instant, n: u64, out: &mut Vec<Packet>) {
        let s = self.reliability.resend(now, n);
        self.episode.on_resent(now);
        self.stats.retransmits += 1;
        self.emit(now, s.pos, s.len, s.is(scoreboard::Segment::FIN), true, out);
        let mut sent = Sent::default();
        sent.bytes = Bytes(u64::from(s.len));
        sent.retransmission = true;
        let path = self.path();
        self.congestion.on_sent(now, &path, &sent);
        if self.timers.rto == Instant::MAX {
            self.timers.rto = now + self.rtt.rto();
        }
    }

    /// How data is marked: as the controller wants, and where it wants nothing, as classic ECN if the connection asked
    /// for any (Linux `tcp_ecn`: a mark is then answered as a loss).
    #[inline]
    const fn marking(&self) -> EcnMode {
        match (self.congestion.intent().ecn, self.cfg.ecn) {
            (EcnMode::Off, None | Some(EcnMode::Off)) => EcnMode::Off,
            (EcnMode::Off, Some(_)) => EcnMode::Classic,
            (wanted, _) => wanted,
        }
    }

    /// Puts a segment on the wire: `len` positions from `pos`, the last a FIN where `fin` says so.
    #[expect(
        clippy::inline_always,
        reason = "new data and retransmissions share it, and the first is the hot path"
    )]
    #[inline(always)]
    fn emit(
        &mut self,
        now: Instant,
        pos: u64,
        len: u16,
        fin: bool,
        again: bool,
        out: &mut Vec<Packet>,
    ) {
        let mut s = self.segment(now, pos);
        s.payload = len - u16::from(fin);
        let fresh = !again && s.payload > 0;
        s.flags = s.flags.with(self.ecn.flags(fresh));
        if fin {
            s.flags = s.flags.with(TcpFlags::FIN);
        }
        if again {
            s.bits = s.bits.with(SegmentBits::RETRANSMISSION);
        }
        let mut p = self.packet(now, s, self.handshake.header() + s.payload);
        if s.payload > 0 {
            p.ecn = self.ecn.mark(self.marking(), again);
        }
        if !self.rx.has_gap() {
            // The segment acknowledges as well as an ACK would; with a gap only an ACK has room for SACK.
            self.rx.on_data_sent();
        }
        let bytes = Bytes(u64::from(p.len));
        self.congestion.pacer_mut().on_sent(now, bytes);
        self.episode.on_sent(u64::from(len));
        out.push(p);
    }

    /// Probes a closed window (RFC 9293, 3.8.6.1). What fits into it leaves as data; into a shut one goes an old
    /// sequence number without payload, which asks for an ACK (Linux `tcp_write_wakeup`).
    pub(super) fn on_persist_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        if !self.reliability.is_empty() {
            return;
        }
        let next = self.reliability.nxt();
        let mss = u64::from(self.handshake.mss());
        let (left, fin) = self.stream.probe(next, mss);
        if left == 0 && !fin {
            return;
        }
        self.stats.window_probes += 1;
        self.window.on_probe();
        let room = self.window.end().saturating_sub(next);
        let payload = left.min(room);
        if payload > 0 {
            self.send_new(now, payload as u16, false, out);
            return;
        }
        let mut s = self.segment(now, next);
        s.seq = SeqNum(s.seq.0.wrapping_sub(1));
        s.flags = s.flags.with(self.ecn.flags(false));
        out.push(self.packet(now, s, self.handshake.header()));
        self.timers.persist = self.rtt.persist(now, self.window.probes());
    }
}
