//! The receiving half: reassembly, the window, SACK blocks and when to acknowledge.

use slackwater_core::packet::{Blocks, SackBlock};
use slackwater_core::{Duration, Instant, SeqNum};

use super::config::DelayedAck;

/// Blocks remembered by recency; three at most leave with an ACK (RFC 2018, 3, beside time stamps).
const RECENT: usize = 4;

/// Duplicate ACKs that are never held back (Linux `TCP_FASTRETRANS_THRESH`).
const DUP_THRESHOLD: u8 = 3;

/// Most ACKs that one compressed ACK stands for (Linux `tcp_comp_sack_nr`).
const COMPRESS_MAX: u8 = 44;

/// Blocks that an ACK is trusted to tell, since the one before may be lost (Linux `TCP_SACK_BLOCKS_EXPECTED`).
const BLOCKS_EXPECTED: usize = 2;

/// Most bytes that a receive offload hands over as one (Linux `GRO_LEGACY_MAX_SIZE`).
const OFFLOAD_MAX: u64 = 65_536;

/// Longest hold of a compressed ACK (Linux `tcp_comp_sack_delay_ns`).
const COMPRESS_DELAY: Duration = Duration::from_millis(1);

/// A range of positions, `start` included and `end` not.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Range {
    start: u64,
    end: u64,
}

/// What the arrival of a segment asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reply {
    /// Acknowledge now.
    Now,
    /// Acknowledge by the delayed-ACK rule.
    Later,
    /// The last segment of a train will say.
    Never,
}

/// Reassembly and acknowledgment state. Positions count payload bytes; the FIN counts one.
#[derive(Clone, Debug)]
pub(crate) struct Receiver {
    /// Next position expected.
    nxt: u64,
    /// `nxt` when the last ACK left (Linux `rcv_wup`).
    acked: u64,
    /// Out-of-order data, sorted and disjoint.
    ahead: Vec<Range>,
    /// The blocks to which data came last, the newest first (RFC 2018, 4).
    recent: [Range; RECENT],
    /// How many of them there are.
    recents: u8,
    /// What came twice, for the next ACK to say (RFC 2883).
    dsack: Option<Range>,
    /// Position after the FIN, once it was seen.
    fin: Option<u64>,
    /// Bytes that the application may leave unread.
    buffer: u64,
    /// Positions up to here were offered; the edge never moves back (RFC 9293, 3.8.6.2.1).
    edge: u64,
    /// In-order bytes that the application has not read.
    unread: u64,
    /// The last window field.
    field: u16,
    /// Something moved since that field was made.
    stale: bool,
    /// The application reads at once.
    auto_read: bool,
    /// By how much the window field is scaled (RFC 7323, 2.3).
    scale: u8,
    /// Payload bytes of a full segment of the peer.
    mss: u64,
    /// When to acknowledge.
    rule: DelayedAck,
    /// Segments still acknowledged at once.
    quick: u8,
    /// Data has come, after which silence starts such a count anew.
    quick_armed: bool,
    /// When the last segment with data came.
    last_arrival: Instant,
    /// When a delayed ACK leaves; `MAX` for none.
    pub(crate) due: Instant,
    /// Duplicate ACKs that left at once since the gap opened (Linux `dup_ack_counter`).
    dups: u8,
    /// Duplicate ACKs that wait (Linux `compressed_ack`).
    compressed: u8,
    /// A segment of the present train asks for an ACK, which leaves with the last of them.
    owed: bool,
    /// Bytes that arrived more than once, or outside the window.
    pub(crate) duplicates: u64,
}

impl Receiver {
    pub(crate) fn new(buffer: u64, mss: u16, scale: u8, rule: DelayedAck) -> Self {
        Self {
            nxt: 0,
            acked: 0,
            ahead: Vec::with_capacity(8),
            recent: [Range::default(); RECENT],
            recents: 0,
            dsack: None,
            fin: None,
            buffer,
            edge: 0,
            unread: 0,
            field: 0,
            stale: true,
            auto_read: true,
            scale,
            mss: u64::from(mss),
            rule,
            quick: 0,
            quick_armed: false,
            last_arrival: Instant::ZERO,
            due: Instant::MAX,
            dups: 0,
            compressed: 0,
            owed: false,
            duplicates: 0,
        }
    }

    /// The peer's options are known: no scaling without its consent, and its segment size.
    pub(crate) fn negotiated(&mut self, scale: u8, mss: u16) {
        self.scale = scale;
        self.mss = u64::from(mss);
        self.stale = true;
    }

    #[inline]
    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    /// `nxt` when the last ACK left.
    #[inline]
    pub(crate) const fn acked(&self) -> u64 {
        self.acked
    }

    /// Payload bytes received in order.
    pub(crate) fn delivered(&self) -> u64 {
        self.nxt - u64::from(self.fin_received())
    }

    /// The peer sent everything and closed.
    pub(crate) fn fin_received(&self) -> bool {
        self.fin == Some(self.nxt)
    }

    /// Data beyond a gap is waiting.
    #[inline]
    pub(crate) fn has_gap(&self) -> bool {
        !self.ahead.is_empty()
    }

    /// Whether in-order data goes to the application at once.
    pub(crate) fn set_auto_read(&mut self, on: bool) {
        self.auto_read = on;
        self.stale = true;
        if on {
            self.unread = 0;
        }
    }

    pub(crate) const fn unread(&self) -> u64 {
        self.unread
    }

    /// The application reads up to `bytes`; returns how many it got and whether the window opened enough to say so.
    pub(crate) fn read(&mut self, bytes: u64) -> (u64, bool) {
        let n = bytes.min(self.unread);
        self.unread -= n;
        self.stale = true;
        let offered = self.edge.saturating_sub(self.nxt);
        let space = self.buffer.saturating_sub(self.unread);
        // Linux `tcp_cleanup_rbuf`: an update leaves when the window at least doubled.
        (n, n > 0 && space >= 2 * offered && self.grown() > 0)
    }

    /// By how much the right edge may move: less than a segment, or half the buffer, does not count (RFC 9293,
    /// 3.8.6.2.2).
    fn grown(&self) -> u64 {
        let free = self.nxt + self.buffer.saturating_sub(self.unread);
        let more = free.saturating_sub(self.edge);
        if more >= self.mss.min(self.buffer / 2).max(1) {
            more
        } else {
            0
        }
    }

    /// The window field for a segment that leaves now.
    #[inline]
    pub(crate) fn window(&mut self) -> u16 {
        if self.stale {
            self.stale = false;
            self.edge += self.grown();
            self.field = ((self.edge - self.nxt) >> self.scale).min(0xffff) as u16;
        }
        self.field
    }

    /// The window field of a SYN, which is not scaled (RFC 7323, 2.2).
    pub(crate) fn syn_window(&mut self) -> u16 {
        let field = self.buffer.min(0xffff);
        self.edge = self.edge.max(self.nxt + field);
        self.stale = true;
        field as u16
    }

    /// A segment with `start..end` arrived; `fin`: its last position is a FIN. `followed`: the next one comes with it,
    /// and what it asks for is asked for by the last.
    #[inline]
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        start: u64,
        end: u64,
        fin: bool,
        followed: bool,
    ) -> Reply {
        self.pace_acks(now);
        if fin {
            self.fin = Some(end);
        }
        let reply = if start == self.nxt && self.ahead.is_empty() && end <= self.edge {
            self.advance(end);
            self.in_order(fin)
        } else {
            self.receive_slow(start, end, fin, followed)
        };
        if followed || self.owed {
            return self.end_of_train(reply, followed);
        }
        reply
    }

    /// The reply to a train of segments leaves with the last, or when it fills what an offload may hold.
    fn end_of_train(&mut self, reply: Reply, followed: bool) -> Reply {
        self.owed |= reply == Reply::Now;
        if followed && self.nxt - self.acked + self.mss <= OFFLOAD_MAX {
            // What waits for a second segment has it in the next.
            return if self.owed {
                Reply::Never
            } else {
                Reply::Later
            };
        }
        if core::mem::take(&mut self.owed) {
            Reply::Now
        } else {
            reply
        }
    }

    /// True where an ACK that waits must leave before `start..end` is taken: it would not fit what an ACK can tell, since a
    /// new block, or one that comes to the front again, pushes an older one back (Linux `tcp_sack_new_ofo_skb`,
    /// `TCP_SACK_BLOCKS_EXPECTED` = 2). Without it a sender takes what no ACK named for lost.
    #[inline]
    pub(crate) fn would_hide(&self, start: u64, end: u64) -> bool {
        if self.compressed == 0 || start <= self.nxt {
            return false;
        }
        let recent = &self.recent[..usize::from(self.recents)];
        let touches = |r: &Range| start <= r.end && r.start <= end;
        recent.iter().position(touches).unwrap_or(recent.len()) >= BLOCKS_EXPECTED
    }

    fn advance(&mut self, to: u64) {
        if !self.auto_read {
            let fin = u64::from(self.fin == Some(to));
            self.unread += to - self.nxt - fin.min(to - self.nxt);
        }
        self.nxt = to;
        self.stale = true;
    }

    /// In-order data without a gap behind it.
    #[inline]
    fn in_order(&mut self, fin: bool) -> Reply {
        if fin || self.quick > 0 {
            return Reply::Now;
        }
        // Linux: more than one full segment unacknowledged.
        if self.nxt - self.acked > u64::from(self.rule.segments.max(1) - 1) * self.mss {
            Reply::Now
        } else {
            Reply::Later
        }
    }

    #[cold]
    fn receive_slow(&mut self, start: u64, end: u64, fin: bool, followed: bool) -> Reply {
        if end <= self.nxt {
            // RFC 2883, 4.1: the whole segment was received before.
            self.duplicates += end - start;
            self.dsack = Some(Range { start, end });
            self.enter_quick();
            return Reply::Now;
        }
        if start < self.nxt {
            self.duplicates += self.nxt - start;
            self.dsack = Some(Range {
                start,
                end: self.nxt,
            });
        }
        let start = start.max(self.nxt);
        if end > self.edge {
            // RFC 9293, 3.10.7.4: outside the window; an ACK tells the sender where it is.
            self.duplicates += end - start;
            if fin {
                self.fin = None;
            }
            return Reply::Now;
        }
        if start > self.nxt {
            self.store(start, end);
            if followed && self.dsack.is_none() {
                // The train makes one duplicate ACK.
                return Reply::Later;
            }
            return self.duplicate_ack();
        }
        self.advance(end);
        let before = self.ahead.len();
        while let Some(&first) = self.ahead.first() {
            if first.start > self.nxt {
                break;
            }
            self.ahead.remove(0);
            if first.end > self.nxt {
                self.advance(first.end);
            }
        }
        let mut kept = 0;
        for i in 0..usize::from(self.recents) {
            if self.recent[i].end > self.nxt {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.recents = kept as u8;
        self.dups = 0;
        // RFC 5681, 4.2: at once when a gap is filled, in part or in full.
        if before > 0 || self.dsack.is_some() {
            Reply::Now
        } else {
            self.in_order(fin)
        }
    }

    fn store(&mut self, mut start: u64, mut end: u64) {
        let at = self.ahead.partition_point(|r| r.end < start);
        let mut until = at;
        if let Some(r) = self.ahead.get(at)
            && r.start <= start
            && end <= r.end
        {
            // RFC 2883, 4.1.1: a duplicate above the cumulative point; its enclosing block follows it.
            self.duplicates += end - start;
            self.dsack = Some(Range { start, end });
        }
        while let Some(r) = self.ahead.get(until) {
            if r.start > end {
                break;
            }
            start = start.min(r.start);
            end = end.max(r.end);
            until += 1;
        }
        let merged = Range { start, end };
        if until == at {
            self.ahead.insert(at, merged);
        } else {
            self.ahead[at] = merged;
            self.ahead.drain(at + 1..until);
        }
        // RFC 2018, 4: the block with the newest segment comes first.
        let mut list = [merged; RECENT];
        let mut n = 1;
        for r in &self.recent[..usize::from(self.recents)] {
            if n < RECENT && (r.end < start || r.start > end) {
                list[n] = *r;
                n += 1;
            }
        }
        self.recent = list;
        self.recents = n as u8;
    }

    fn duplicate_ack(&mut self) -> Reply {
        if self.dsack.is_some() {
            self.enter_quick();
            return Reply::Now;
        }
        if !self.rule.compress_sacks || self.dups < DUP_THRESHOLD {
            self.dups = self.dups.saturating_add(1);
            return Reply::Now;
        }
        self.compressed += 1;
        if self.compressed >= COMPRESS_MAX {
            return Reply::Now;
        }
        Reply::Later
    }

    fn enter_quick(&mut self) {
        self.quick = self.rule.quick;
    }

    /// The next two segments are acknowledged at once (Linux `tcp_ecn_check_ce`).
    pub(crate) fn quick_for_ce(&mut self) {
        self.quick = self.quick.max(2);
    }

    /// The quick-ACK rules of Linux `tcp_event_data_recv`: at the start, and after silence longer than a timeout.
    #[inline]
    fn pace_acks(&mut self, now: Instant) {
        if !self.quick_armed || now.since(self.last_arrival) > Duration::from_secs(1) {
            self.quick_armed = true;
            self.enter_quick();
        }
        self.last_arrival = now;
    }

    /// Holds an ACK back (RFC 9293, 3.8.6.3, and Linux `tcp_send_delayed_ack`). `rtt` is the connection's.
    #[inline]
    pub(crate) fn hold(&mut self, now: Instant, rtt: Duration) {
        let wait = if self.ahead.is_empty() {
            self.rule.timeout
        } else if rtt.is_zero() {
            COMPRESS_DELAY
        } else {
            (rtt / 20).min(COMPRESS_DELAY)
        };
        self.due = self.due.min(now + wait);
    }

    /// An ACK leaves: alone or with data.
    #[inline]
    pub(crate) fn on_ack_sent(&mut self) {
        self.acked = self.nxt;
        self.due = Instant::MAX;
        self.quick = self.quick.saturating_sub(1);
        self.compressed = 0;
    }

    /// A data segment leaves without a gap to report: it acknowledges as an ACK would.
    #[inline]
    pub(crate) fn on_data_sent(&mut self) {
        if self.acked != self.nxt || self.due != Instant::MAX {
            self.on_ack_sent();
        }
    }

    /// Writes the SACK blocks of an ACK, most recent first, a DSACK before them (RFC 2883, 4); returns their number.
    #[inline]
    pub(crate) fn blocks(&mut self, base: SeqNum, slots: &mut [SackBlock; 3]) -> Blocks {
        if self.recents == 0 && self.dsack.is_none() {
            return Blocks::None;
        }
        let wire = |r: Range| SackBlock {
            start: base + r.start as u32,
            end: base + r.end as u32,
        };
        let mut n = 0;
        if let Some(d) = self.dsack.take() {
            slots[0] = wire(d);
            n = 1;
        }
        for r in &self.recent[..usize::from(self.recents)] {
            if n == slots.len() {
                break;
            }
            slots[n] = wire(*r);
            n += 1;
        }
        Blocks::new(n)
    }
}

#[cfg(test)]
mod tests;
