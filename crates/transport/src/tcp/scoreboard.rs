//! The sender's record of what is in flight (RFC 6675, 3).
//!
//! One record for each segment, in a ring indexed by segment number, and three bits a segment (`SACKed`, lost,
//! retransmitted) in words of 64: a SACK block costs one mask per word, and newly `SACKed` is `mask & !sacked`.
//! Positions are payload bytes counted from the start of the connection, so that nothing wraps.

use slackwater_core::Instant;

/// One transmitted segment.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Segment {
    /// Position of its first byte.
    pub(crate) pos: u64,
    /// When it was last sent.
    pub(crate) sent: Instant,
    /// Bytes delivered on the connection when it was last sent.
    pub(crate) delivered: u64,
    /// When that count last moved.
    pub(crate) delivered_at: Instant,
    /// Start of the send interval of its rate sample.
    pub(crate) first_sent: Instant,
    /// Sequence space: payload bytes, and one for a FIN.
    pub(crate) len: u16,
    /// `FIN`, `RESENT`, `LIMITED`.
    pub(crate) flags: u8,
}

impl Segment {
    /// The last byte of the segment is a FIN.
    pub(crate) const FIN: u8 = 1;
    /// It was sent more than once (Linux `TCPCB_EVER_RETRANS`).
    pub(crate) const RESENT: u8 = 2;
    /// It was sent while the application limited the sender.
    pub(crate) const LIMITED: u8 = 4;

    /// Position after the last byte.
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.pos + self.len as u64
    }

    #[inline]
    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Word {
    /// Received beyond the cumulative point.
    sacked: u64,
    /// Thought lost.
    lost: u64,
    /// Sent again and that copy is thought to be in flight; only lost segments have it.
    resent: u64,
}

/// What the scoreboard knew of a segment that is now delivered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Was {
    pub(crate) sacked: bool,
}

/// All segments between the cumulative acknowledgment and the next new byte.
#[derive(Clone, Debug)]
pub(crate) struct Scoreboard {
    /// The segments, by number modulo a power of two.
    ring: Vec<Segment>,
    /// Three bits a segment, 64 segments a word, by the same numbers.
    words: Vec<Word>,
    /// That power of two less one.
    mask: u64,
    /// Number of the first unacknowledged segment.
    head: u64,
    /// Number of the next segment.
    tail: u64,
    /// First unacknowledged position.
    una: u64,
    /// Next new position.
    nxt: u64,
    /// Bytes `SACKed` above the cumulative point.
    sacked: u64,
    /// Bytes thought lost.
    lost: u64,
    /// Bytes sent again and in flight.
    resent: u64,
    /// One past the highest `SACKed` segment (Linux `highest_sack`).
    fack: u64,
    /// No lost segment that waits for its retransmission lies below.
    resend_from: u64,
    /// One past the highest segment that was ever sent again.
    resent_end: u64,
    /// Payload bytes of a full segment.
    mss: u64,
}

/// Segments that one ACK took off the front, each sent once and not marked before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Row {
    /// When the first of them was sent.
    pub(crate) first_sent: Instant,
    pub(crate) last: Segment,
    pub(crate) count: u64,
}

const START: usize = 64;

impl Scoreboard {
    pub(crate) fn new(mss: u16) -> Self {
        Self {
            ring: vec![Segment::default(); START],
            words: vec![Word::default(); START / 64],
            mask: START as u64 - 1,
            head: 0,
            tail: 0,
            una: 0,
            nxt: 0,
            sacked: 0,
            lost: 0,
            resent: 0,
            fack: 0,
            resend_from: 0,
            resent_end: 0,
            mss: u64::from(mss),
        }
    }

    /// First unacknowledged position.
    #[inline]
    pub(crate) const fn una(&self) -> u64 {
        self.una
    }

    /// Next new position.
    #[inline]
    pub(crate) const fn nxt(&self) -> u64 {
        self.nxt
    }

    #[inline]
    pub(crate) const fn head(&self) -> u64 {
        self.head
    }

    #[inline]
    pub(crate) const fn tail(&self) -> u64 {
        self.tail
    }

    /// Nothing waits for an acknowledgment.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.head == self.tail
    }

    /// Segments sent and not acknowledged (Linux `packets_out`).
    #[inline]
    pub(crate) const fn segments(&self) -> u64 {
        self.tail - self.head
    }

    /// Bytes `SACKed` above the cumulative point.
    #[inline]
    pub(crate) const fn sacked(&self) -> u64 {
        self.sacked
    }

    /// Bytes thought lost.
    #[inline]
    pub(crate) const fn lost(&self) -> u64 {
        self.lost
    }

    /// Bytes sent again and in flight.
    #[inline]
    pub(crate) const fn resent(&self) -> u64 {
        self.resent
    }

    /// One past the highest `SACKed` segment.
    #[inline]
    pub(crate) const fn fack(&self) -> u64 {
        self.fack
    }

    /// Bytes in flight: the pipe of RFC 6675, 4 (Linux `tcp_packets_in_flight`).
    #[inline]
    pub(crate) const fn in_flight(&self) -> u64 {
        (self.nxt - self.una) + self.resent - self.sacked - self.lost
    }

    #[inline]
    const fn slot(&self, n: u64) -> usize {
        (n & self.mask) as usize
    }

    #[inline]
    pub(crate) fn get(&self, n: u64) -> &Segment {
        &self.ring[self.slot(n)]
    }

    #[inline]
    fn word(&mut self, n: u64) -> (&mut Word, u64) {
        let i = ((n & self.mask) >> 6) as usize;
        (&mut self.words[i], 1 << (n & 63))
    }

    #[inline]
    fn peek(&self, n: u64) -> (&Word, u64) {
        let i = ((n & self.mask) >> 6) as usize;
        (&self.words[i], 1 << (n & 63))
    }

    #[inline]
    pub(crate) fn is_sacked(&self, n: u64) -> bool {
        let (w, bit) = self.peek(n);
        w.sacked & bit != 0
    }

    #[inline]
    pub(crate) fn is_lost(&self, n: u64) -> bool {
        let (w, bit) = self.peek(n);
        w.lost & bit != 0
    }

    #[inline]
    pub(crate) fn is_resent(&self, n: u64) -> bool {
        let (w, bit) = self.peek(n);
        w.resent & bit != 0
    }

    /// Appends a new segment; its position must be `nxt`.
    #[inline]
    pub(crate) fn push(&mut self, segment: Segment) {
        debug_assert_eq!(segment.pos, self.nxt, "segments follow one another");
        if self.tail - self.head > self.mask {
            self.grow();
        }
        let slot = self.slot(self.tail);
        self.ring[slot] = segment;
        self.tail += 1;
        self.nxt = segment.end();
    }

    /// Appends `count` segments like `segment`, which is the first of them.
    #[inline]
    pub(crate) fn push_row(&mut self, mut segment: Segment, count: u64) {
        debug_assert_eq!(segment.pos, self.nxt, "segments follow one another");
        while self.tail + count - self.head > self.mask + 1 {
            self.grow();
        }
        for n in self.tail..self.tail + count {
            let slot = self.slot(n);
            self.ring[slot] = segment;
            segment.pos = segment.end();
        }
        self.tail += count;
        self.nxt = segment.pos;
    }

    #[cold]
    fn grow(&mut self) {
        let old = core::mem::take(&mut self.ring);
        let old_words = core::mem::take(&mut self.words);
        let old_mask = self.mask;
        let capacity = old.len() * 2;
        self.mask = capacity as u64 - 1;
        self.ring = vec![Segment::default(); capacity];
        self.words = vec![Word::default(); capacity / 64];
        for n in self.head..self.tail {
            let slot = self.slot(n);
            self.ring[slot] = old[(n & old_mask) as usize];
            let from = old_words[((n & old_mask) >> 6) as usize];
            let (to, bit) = self.word(n);
            to.sacked |= from.sacked & bit;
            to.lost |= from.lost & bit;
            to.resent |= from.resent & bit;
        }
    }

    /// The segment that holds the byte at `pos`, for `una <= pos < nxt`.
    #[inline]
    pub(crate) fn find(&self, pos: u64) -> u64 {
        debug_assert!(self.una <= pos && pos < self.nxt);
        let guess = (self.head + (pos - self.una) / self.mss).min(self.tail - 1);
        let s = self.get(guess);
        if s.pos <= pos && pos < s.end() {
            return guess;
        }
        // Segments below the MSS shift the guess; none is above it, so the answer lies ahead. A first segment that
        // was acknowledged in part may put it one behind.
        let (mut low, mut high) = if s.pos > pos {
            (self.head, guess)
        } else {
            (guess + 1, self.tail)
        };
        while high - low > 1 {
            let mid = low + (high - low) / 2;
            if self.get(mid).pos <= pos {
                low = mid;
            } else {
                high = mid;
            }
        }
        low
    }

    /// Moves the cumulative point to `pos` where that takes whole segments off the front of a board without marks, none
    /// of them sent again. Otherwise it does nothing, and [`Scoreboard::acknowledge`] is for it.
    #[inline]
    pub(crate) fn acknowledge_row(&mut self, pos: u64) -> Option<Row> {
        if (self.sacked | self.lost) != 0 || self.head < self.resent_end {
            return None;
        }
        let mut head = self.head;
        while head < self.tail && self.get(head).end() <= pos {
            head += 1;
        }
        if head == self.head {
            return None;
        }
        let last = self.get(head - 1);
        if last.end() != pos {
            return None;
        }
        let row = Row {
            first_sent: self.get(self.head).sent,
            last: *last,
            count: head - self.head,
        };
        self.head = head;
        self.una = pos;
        self.fack = self.fack.max(head);
        self.resend_from = self.resend_from.max(head);
        Some(row)
    }

    /// Moves the cumulative point to `pos`; `each` sees every segment that is now acknowledged in full.
    #[inline]
    pub(crate) fn acknowledge(&mut self, pos: u64, mut each: impl FnMut(&Segment, Was)) {
        debug_assert!(pos <= self.nxt);
        // Only lost segments are sent again, so that these two say whether any bit is set at all.
        let marked = (self.sacked | self.lost) != 0;
        let mut head = self.head;
        while head < self.tail {
            let s = &self.ring[(head & self.mask) as usize];
            if s.end() > pos {
                if pos > s.pos {
                    self.trim(head, pos);
                }
                break;
            }
            let len = u64::from(s.len);
            let sacked = marked && self.unmark(head, len);
            each(&self.ring[(head & self.mask) as usize], Was { sacked });
            head += 1;
        }
        self.head = head;
        self.una = pos;
        self.fack = self.fack.max(head);
        self.resend_from = self.resend_from.max(head);
    }

    /// Clears the bits of a segment that leaves the window; returns whether it was SACKed. So bits outside of the
    /// window are always clear.
    fn unmark(&mut self, n: u64, len: u64) -> bool {
        let (w, bit) = self.word(n);
        let old = *w;
        w.sacked &= !bit;
        w.lost &= !bit;
        w.resent &= !bit;
        if old.sacked & bit != 0 {
            self.sacked -= len;
        }
        if old.lost & bit != 0 {
            self.lost -= len;
        }
        if old.resent & bit != 0 {
            self.resent -= len;
        }
        old.sacked & bit != 0
    }

    /// Cuts off the acknowledged front of segment `n`.
    #[cold]
    fn trim(&mut self, n: u64, pos: u64) {
        let (w, bit) = self.peek(n);
        let w = *w;
        let slot = self.slot(n);
        let s = &mut self.ring[slot];
        let cut = pos - s.pos;
        s.pos = pos;
        s.len -= cut as u16;
        if w.sacked & bit != 0 {
            self.sacked -= cut;
        }
        if w.lost & bit != 0 {
            self.lost -= cut;
        }
        if w.resent & bit != 0 {
            self.resent -= cut;
        }
    }

    /// Marks what lies wholly within `start..end` as received; `each` sees every segment for which that is news.
    #[inline]
    pub(crate) fn sack(&mut self, start: u64, end: u64, mut each: impl FnMut(&Segment)) {
        let start = start.max(self.una);
        let end = end.min(self.nxt);
        if start >= end {
            return;
        }
        let mut first = self.find(start);
        if self.get(first).pos < start {
            first += 1;
        }
        let last = if end == self.nxt {
            self.tail
        } else {
            self.find(end)
        };
        let mut n = first;
        while n < last {
            let base = n & !63;
            let mut bits = !0u64 << (n & 63);
            if last - base < 64 {
                bits &= (1 << (last - base)) - 1;
            }
            let (w, _) = self.word(n);
            let mut fresh = bits & !w.sacked;
            n = base + 64;
            if fresh == 0 {
                continue;
            }
            w.sacked |= fresh;
            let (lost, resent) = (w.lost & fresh, w.resent & fresh);
            w.lost &= !fresh;
            w.resent &= !fresh;
            self.fack = self.fack.max(base + 64 - u64::from(fresh.leading_zeros()));
            while fresh != 0 {
                let bit = fresh & fresh.wrapping_neg();
                let s = &self.ring[self.slot(base + u64::from(fresh.trailing_zeros()))];
                let len = u64::from(s.len);
                self.sacked += len;
                if lost & bit != 0 {
                    self.lost -= len;
                }
                if resent & bit != 0 {
                    self.resent -= len;
                }
                each(s);
                fresh ^= bit;
            }
        }
    }

    /// Marks segment `n` lost; a copy sent since is lost too. Returns the bytes that left the pipe.
    pub(crate) fn mark_lost(&mut self, n: u64) -> u64 {
        let len = u64::from(self.get(n).len);
        let (w, bit) = self.word(n);
        debug_assert!(w.sacked & bit == 0, "what was received is not lost");
        let mut news = 0;
        if w.resent & bit != 0 {
            w.resent &= !bit;
            self.resent -= len;
            news = len;
        }
        let (w, bit) = self.word(n);
        if w.lost & bit == 0 {
            w.lost |= bit;
            self.lost += len;
            news = len;
        }
        self.resend_from = self.resend_from.min(n);
        news
    }

    /// Marks all that was not `SACKed` (RFC 6298, 5.4, without time stamps of sending to spare any).
    pub(crate) fn mark_all_lost(&mut self) -> u64 {
        let mut lost = 0;
        for n in self.head..self.tail {
            if !self.is_sacked(n) {
                lost += self.mark_lost(n);
            }
        }
        lost
    }

    /// Marks what lies below `threshold` `SACKed` segments (RFC 6675, 4, `IsLost`) and was not sent again.
    pub(crate) fn mark_below_sacked(&mut self, threshold: u64) -> u64 {
        let mut edge = self.fack;
        let mut seen = 0;
        while edge > self.head && seen < threshold {
            edge -= 1;
            seen += u64::from(self.is_sacked(edge));
        }
        if seen < threshold {
            return 0;
        }
        let mut lost = 0;
        let mut from = self.head;
        while let Some(n) = self.next_open(from) {
            if n >= edge {
                break;
            }
            lost += self.mark_lost(n);
            from = n + 1;
        }
        lost
    }

    /// Takes back that anything is lost (undo); copies in flight count as the original.
    pub(crate) fn forget_losses(&mut self) {
        for w in &mut self.words {
            w.lost = 0;
            w.resent = 0;
        }
        self.lost = 0;
        self.resent = 0;
        self.resend_from = self.tail;
    }

    /// Takes back all SACKs (RFC 2018, 8: a timeout may mean that the receiver reneged).
    pub(crate) fn forget_sacks(&mut self) {
        for w in &mut self.words {
            w.sacked = 0;
        }
        self.sacked = 0;
        self.fack = self.head;
    }

    /// The first lost segment that was not sent again (RFC 6675, 4, `NextSeg`, rule 1).
    #[inline]
    pub(crate) fn next_lost(&mut self) -> Option<u64> {
        if self.lost == self.resent {
            return None;
        }
        let found = self.first(self.resend_from, self.tail, |w| {
            w.lost & !w.resent & !w.sacked
        });
        self.resend_from = found.unwrap_or(self.tail);
        found
    }

    /// The first segment at or after `from` that is neither received nor lost.
    #[inline]
    pub(crate) fn next_open(&self, from: u64) -> Option<u64> {
        self.first(from, self.tail, |w| !w.sacked & !w.lost)
    }

    /// The first segment in `from..to` whose bit is set in `pick`.
    #[inline]
    fn first(&self, from: u64, to: u64, pick: impl Fn(&Word) -> u64) -> Option<u64> {
        let mut n = from.max(self.head);
        while n < to {
            let bits = pick(self.peek(n).0) & (!0 << (n & 63));
            if bits != 0 {
                let found = (n & !63) + u64::from(bits.trailing_zeros());
                return (found < to).then_some(found);
            }
            n = (n & !63) + 64;
        }
        None
    }

    /// Notes that segment `n` is sent again now; `stamp` refreshes its record.
    pub(crate) fn resend(&mut self, n: u64, stamp: impl FnOnce(&mut Segment)) -> Segment {
        let slot = self.slot(n);
        stamp(&mut self.ring[slot]);
        self.ring[slot].flags |= Segment::RESENT;
        let s = self.ring[slot];
        self.resent_end = self.resent_end.max(n + 1);
        let (w, bit) = self.word(n);
        // A tail probe repeats a segment that is not thought lost: Linux counts the copy apart, the pipe of RFC 6675
        // need not.
        if w.lost & bit != 0 && w.resent & bit == 0 {
            w.resent |= bit;
            self.resent += u64::from(s.len);
        }
        s
    }
}

#[cfg(test)]
mod tests;
