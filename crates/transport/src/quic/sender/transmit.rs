//! What leaves: data, lost data again, probes.

use slackwater_control::{Controller as _, Sent};
use slackwater_core::{
    Body, Bytes, Duration, Ecn, Instant, Packet, QuicBits, QuicData, SackBlock, SeqNum,
};

use super::{Sender, flag};
use crate::quic::rtt::LONGEST;
use crate::quic::{ACK_FRAME, BELOW, BLOCKED_FRAME, SHORT_HEADER, STREAM_FRAME, packet};
use crate::tcp::scoreboard::Segment;

/// Packets that leave at once at most, by whatever window or rate (RFC 9002, 7.7 requires a bound). They are a millisecond of
/// 100 Gbit/s in packets of 1,500 bytes. So the bound concerns no path that is slower, and a peer that acknowledges at once cannot ask
/// for more. Ours.
const BURST: usize = 8_333;
/// When the rest of a longer burst leaves.
const BURST_TIME: Duration = Duration::from_millis(1);

impl Sender {
    /// The congestion window in force, in stream bytes: at least two packets (RFC 9002, 7.2).
    #[inline]
    pub(in crate::quic) fn window(&self) -> u64 {
        let floor = 2 * u64::from(self.mss);
        self.intent.window.map_or(u64::MAX >> 1, |w| w.0.max(floor))
    }

    /// Sends all that may leave now.
    pub(in crate::quic) fn transmit(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.timers.pace = Instant::MAX;
        let mss = u64::from(self.mss);
        let window = self.window();
        let paced = self.pacer.rate().is_some();
        let full = Bytes(u64::from(self.cfg.packet));
        let before = out.len();
        let mut sent = false;
        while self.in_flight + mss <= window {
            if out.len() - before >= BURST {
                self.timers.pace = now + BURST_TIME;
                break;
            }
            if paced {
                let at = self.pacer.earliest_departure(now, full);
                if at > now {
                    self.timers.pace = at;
                    break;
                }
            }
            if !self.send_one(now, out) {
                break;
            }
            sent = true;
        }
        if sent {
            self.arm_probe();
        }
        let limited = self.in_flight + mss > window;
        if sent || limited {
            self.note_usage(limited);
        }
    }

    /// Sends one packet of stream data: lost data first. False where there is none that may leave.
    fn send_one(&mut self, now: Instant, out: &mut Vec<Packet>) -> bool {
        while let Some((offset, len)) = self.resend.pop_front() {
            if !self.acked.has(offset, offset + u64::from(len)) {
                self.send_stream(now, offset, len, flag::REPEATS, out);
                return true;
            }
        }
        self.send_new(now, out)
    }

    fn send_new(&mut self, now: Instant, out: &mut Vec<Packet>) -> bool {
        let most = if self.timers.ack == Instant::MAX {
            self.mss
        } else {
            self.mss - ACK_FRAME
        };
        let left = if self.bulk {
            // A buffer that is full of unacknowledged data has no packet to send, but with none in flight it has one.
            let held = self.offset - self.acked.next().min(self.offset);
            let fits = held == 0 || held + u64::from(most) <= self.cfg.send_buffer.0;
            if fits { u64::from(most) } else { 0 }
        } else {
            self.written - self.offset
        };
        if left == 0 {
            self.delivery.limit(self.in_flight);
            return false;
        }
        let room = self.limit.saturating_sub(self.offset);
        let len = left.min(u64::from(most)).min(room) as u16;
        if len == 0 {
            if self.eliciting == 0 {
                // RFC 9000, 4.1: a blocked sender that waits for nothing else says so, now and at each probe timeout.
                let q = self.data(QuicBits::BLOCKED);
                self.record(now, 0, 0, 0);
                out.push(self.short(now, q, BLOCKED_FRAME));
                self.arm_probe();
            }
            return false;
        }
        self.send_stream(now, self.offset, len, 0, out);
        self.offset += u64::from(len);
        true
    }

    /// The body of the next packet with a short header.
    #[inline]
    pub(super) fn data(&mut self, bits: QuicBits) -> QuicData {
        let spin = if self.spin && self.spins {
            QuicBits::SPIN
        } else {
            QuicBits::NONE
        };
        let pn = self.head + self.ring.len() as u64;
        self.stats.packets += 1;
        QuicData {
            pn: SeqNum(pn as u32),
            connection: self.number,
            bits: bits.with(spin).with(self.back),
            ..QuicData::default()
        }
    }

    /// The packet whose frames take `frames` bytes.
    #[inline]
    pub(super) const fn short(&self, now: Instant, q: QuicData, frames: u16) -> Packet {
        let len = BELOW + SHORT_HEADER + frames;
        packet(now, self.flow, self.dir, len, Body::QuicData(q))
    }

    /// Adds the acknowledgment that is owed, a frame of [`ACK_FRAME`] bytes.
    pub(super) const fn attach_ack(&mut self, q: &mut QuicData) {
        self.timers.ack = Instant::MAX;
        q.acked = SackBlock {
            start: SeqNum(self.heard.0 as u32),
            end: SeqNum(self.heard.1 as u32),
        };
        q.bits = q.bits.with(QuicBits::ACK);
    }

    /// Keeps the record of the packet whose number is the next one.
    #[inline]
    pub(super) fn record(&mut self, now: Instant, offset: u64, len: u16, flags: u8) {
        let mut s = Segment {
            pos: offset,
            sent: now,
            len,
            flags,
            ..Segment::default()
        };
        let idle = self.eliciting == 0;
        if flags & flag::SETTLED == 0 {
            self.delivery.stamp(now, idle, &mut s);
            self.eliciting += 1;
            self.last_eliciting = now;
            self.in_flight += u64::from(len);
            self.sent_total += u64::from(len);
        } else if self.ring.is_empty() {
            // Nothing before it waits for its fate.
            self.head += 1;
            return;
        }
        self.ring.push_back(s);
    }

    #[inline]
    fn send_stream(
        &mut self,
        now: Instant,
        offset: u64,
        len: u16,
        flags: u8,
        out: &mut Vec<Packet>,
    ) {
        let mut q = self.data(QuicBits::STREAM);
        q.offset = SeqNum(offset as u32);
        q.payload = len;
        let mut frames = STREAM_FRAME + len;
        let room = self.cfg.packet - BELOW - SHORT_HEADER;
        if self.timers.ack != Instant::MAX && frames + ACK_FRAME <= room {
            self.attach_ack(&mut q);
            frames += ACK_FRAME;
        }
        let again = flags & flag::REPEATS != 0;
        if again {
            q.bits = q.bits.with(QuicBits::RETRANSMISSION);
            self.stats.retransmits += 1;
        }
        let mut p = self.short(now, q, frames);
        p.ecn = self.mark();
        let ect = if p.ecn == Ecn::NotEct { 0 } else { flag::ECT };
        let idle = self.eliciting == 0;
        self.record(now, offset, len, flags | ect);
        self.pacer.on_sent(now, Bytes(u64::from(p.len)));
        out.push(p);
        let mut sent = Sent::default();
        sent.bytes = Bytes(u64::from(len));
        sent.retransmission = again;
        sent.after_idle = idle && !again;
        let path = self.path();
        self.cc.on_sent(now, &path, &sent);
        if idle {
            // The controller may have restarted its window.
            self.follow();
        }
    }

    /// Whether the window was used up in this round (as TCP's here; RFC 9002, 7.8).
    #[inline]
    fn note_usage(&mut self, limited: bool) {
        if self.settled_total >= self.usage_end
            || limited
            || (!self.cwnd_limited && self.in_flight > self.max_out)
        {
            self.cwnd_limited = limited;
            self.max_out = self.in_flight;
            self.usage_end = self.sent_total;
        }
    }

    /// In slow start a window that is more than half used counts as used up.
    #[inline]
    pub(in crate::quic) fn is_cwnd_limited(&self) -> bool {
        if self.cwnd_limited {
            return true;
        }
        let window = self.window();
        self.intent.ssthresh.is_none_or(|t| window < t.0) && window < 2 * self.max_out
    }

    // --- probes ---

    /// Sets the probe timer by the last packet that asked for an acknowledgment (RFC 9002, 6.2.1).
    #[inline]
    pub(in crate::quic) fn arm_probe(&mut self) {
        self.timers.pto = if self.eliciting == 0 && self.confirmed {
            Instant::MAX
        } else {
            let pto = self.rtt.pto(self.cfg.ack.delay);
            let wait = (pto * (1 << self.pto_count.min(10))).min(LONGEST);
            self.last_eliciting.saturating_add(wait)
        };
    }

    /// Sends one probe, two where the last did not help (RFC 9002, 6.2.4): new data, or what is oldest in flight, or a
    /// PING.
    pub(super) fn on_probe_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        self.stats.timeouts += 1;
        self.pto_count += 1;
        if !self.confirmed {
            self.finish(now, out);
            self.last_eliciting = now;
        }
        let probes = if self.eliciting == 0 {
            0
        } else {
            self.pto_count.min(2)
        };
        let mut from = 0;
        for _ in 0..probes {
            if self.send_one(now, out) {
                continue;
            }
            let known = |s: &Segment| s.flags & flag::SETTLED != 0 || s.len == 0;
            let old = (from..self.ring.len()).find(|&i| !known(&self.ring[i]));
            if let Some(i) = old {
                let s = self.ring[i];
                from = i + 1;
                self.send_stream(now, s.pos, s.len, flag::REPEATS, out);
            } else {
                let q = self.data(QuicBits::PING);
                self.record(now, 0, 0, 0);
                out.push(self.short(now, q, 1));
            }
        }
        self.arm_probe();
    }

    // --- helpers ---
}

#[cfg(test)]
mod tests {
    use slackwater_control::{Config as ControlConfig, build};
    use slackwater_core::{Draw, FlowId, QuicAck, QuicLong};

    use super::*;
    use crate::quic::Config;

    /// An acknowledgment of everything up to `last`, by a peer that allows almost 4 GiB.
    fn all_up_to(last: SeqNum, number: u32) -> Packet {
        let mut ack = QuicAck {
            pn: SeqNum(number),
            limit: SeqNum(0x7fff_0000_u32.wrapping_mul(number.min(2))),
            bits: QuicBits::ACK,
            ..QuicAck::default()
        };
        ack.room.blocks_mut()[0] = SackBlock {
            start: SeqNum(0),
            end: SeqNum(last.0.wrapping_add(1)),
        };
        Packet {
            len: 80,
            body: Body::QuicAck(ack),
            ..Packet::default()
        }
    }

    /// A peer acknowledges all that is in flight after a time that no path has, from a microsecond to a day. So the window doubles
    /// with each event, and a rate that follows from it has no measured path behind it.
    #[test]
    fn one_event_sends_no_more_than_a_burst() {
        let mut bounded = 0;
        for name in ["copa", "copa-default", "cubic", "reno", "bbr"] {
            for wait in [1, 1_000, 86_400_000_000] {
                let wait = Duration::from_micros(wait);
                let cfg = Config {
                    send_buffer: Bytes(4 << 30),
                    ..Config::default()
                };
                let of = ControlConfig::new(u32::from(cfg.mss()), Draw::new(7));
                let cc = build(name, &of).expect("a known controller");
                let mut end = Sender::new(FlowId(0), false, 0, &cfg, cc, Draw::new(1));
                end.set_bulk(true);
                let mut now = Instant::from_millis(1);
                let mut out = Vec::new();
                end.connect(now, &mut out);
                let flight = QuicLong {
                    count: 1,
                    ..QuicLong::default()
                };
                let flight = Packet {
                    body: Body::QuicLong(flight),
                    ..Packet::default()
                };
                now += wait;
                end.on_packet(now, &flight, &mut out);
                for number in 0..24 {
                    let last = out.last().map_or(SeqNum(0), |p| SeqNum(p.number()));
                    out.clear();
                    now += wait;
                    end.on_packet(now, &all_up_to(last, number), &mut out);
                    assert!(out.len() <= BURST, "{name}: {} at once", out.len());
                    if out.len() < BURST {
                        continue;
                    }
                    // The rest of it does not wait for the peer. A timer that lies before it costs a look.
                    bounded += 1;
                    let end_of_wait = now + BURST_TIME;
                    while out.len() <= BURST {
                        now = end.next_timer().expect("more may leave");
                        assert!(now <= end_of_wait, "{name}: the rest waits");
                        end.on_timer(now, &mut out);
                    }
                }
            }
        }
        assert!(bounded > 0, "no window was large enough");
    }
}
