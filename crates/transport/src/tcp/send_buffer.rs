//! What the application hands over: how much of it there is, and whether more may follow.

use slackwater_core::Bytes;

/// The sending application's side of a connection. Positions count payload bytes; the FIN counts one.
#[derive(Clone, Copy, Debug)]
pub(super) struct SendBuffer {
    /// Bytes that the application may have unacknowledged or unsent.
    limit: u64,
    /// Bytes that the application wrote.
    written: u64,
    /// Data without end.
    bulk: bool,
    /// A FIN follows what was written.
    closing: bool,
    /// The FIN has left.
    fin_sent: bool,
    /// A write found the buffer full, and the application was not told since that there is room.
    blocked: bool,
}

impl SendBuffer {
    pub(super) const fn new(limit: Bytes) -> Self {
        Self {
            limit: limit.0,
            written: 0,
            bulk: false,
            closing: false,
            fin_sent: false,
            blocked: false,
        }
    }

    /// Takes up to `bytes` while all before `una` is acknowledged; returns how many.
    pub(super) fn write(&mut self, bytes: u64, una: u64) -> u64 {
        if self.closing {
            return 0;
        }
        let taken = bytes.min(self.limit.saturating_sub(self.held(una)));
        self.blocked |= taken < bytes;
        self.written += taken;
        taken
    }

    /// Bytes that wait for their acknowledgment or have not left.
    #[inline]
    fn held(&self, una: u64) -> u64 {
        self.written - una.min(self.written)
    }

    /// Data without end, or an end of it: what has left, up to `nxt`, stands as written.
    pub(super) fn set_bulk(&mut self, on: bool, nxt: u64) {
        let was = core::mem::replace(&mut self.bulk, on);
        if was && !on {
            self.written = self.written.max(nxt);
        }
    }

    /// Nothing more is written; false where that was known.
    pub(super) fn close(&mut self, nxt: u64) -> bool {
        if self.closing {
            return false;
        }
        self.set_bulk(false, nxt);
        self.closing = true;
        true
    }

    /// Payload bytes, of those written, below `una`.
    pub(super) fn acked(&self, una: u64) -> u64 {
        if self.bulk {
            una
        } else {
            una.min(self.written)
        }
    }

    /// Bytes that were written and lie at or above `nxt`.
    #[inline]
    pub(super) const fn unsent(&self, nxt: u64) -> u64 {
        self.written.saturating_sub(nxt)
    }

    /// Neither data nor a FIN waits at `nxt`.
    pub(super) const fn is_done(&self, nxt: u64) -> bool {
        !self.bulk && self.unsent(nxt) == 0 && self.closing == self.fin_sent
    }

    /// All that was written has left by `nxt`.
    #[inline]
    pub(super) const fn is_drained(&self, nxt: u64) -> bool {
        !self.bulk && self.unsent(nxt) == 0
    }

    /// The FIN has left.
    #[inline]
    pub(super) const fn fin_sent(&self) -> bool {
        self.fin_sent
    }

    /// A segment that ends with a FIN leaves.
    #[inline]
    pub(super) const fn on_fin(&mut self) {
        self.fin_sent = true;
    }

    /// Payload bytes and FIN of the segment at `nxt`, of at most `mss` bytes, while all before `una` is acknowledged.
    #[inline]
    pub(super) fn next(&self, nxt: u64, una: u64, mss: u64) -> (u64, bool) {
        if self.bulk {
            // A socket whose buffer is full of unacknowledged data has nothing to send, but with nothing in flight it has a segment.
            let fits = nxt + mss <= una + self.limit || nxt <= una;
            return (if fits { mss } else { 0 }, false);
        }
        let left = self.unsent(nxt);
        let payload = left.min(mss);
        (payload, self.closing && !self.fin_sent && left == payload)
    }

    /// What a probe of a closed window at `nxt` may carry: payload bytes, and whether a FIN waits behind them.
    pub(super) fn probe(&self, nxt: u64, mss: u64) -> (u64, bool) {
        let left = if self.bulk {
            mss
        } else {
            self.unsent(nxt).min(mss)
        };
        (left, self.closing && !self.fin_sent)
    }

    /// The position up to which data may leave in segments that bring no FIN, while all before `una` is acknowledged.
    #[inline]
    pub(super) const fn end_without_fin(&self, una: u64) -> u64 {
        if self.bulk {
            una.saturating_add(self.limit)
        } else {
            // The last byte may bring the FIN along.
            self.written.saturating_sub(self.closing as u64)
        }
    }

    /// True once where a writer found the buffer full and it is half empty again.
    #[inline]
    pub(super) fn has_room_again(&mut self, una: u64) -> bool {
        let again = self.blocked && self.held(una) <= self.limit / 2;
        self.blocked &= !again;
        again
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9293, 3.10.4: the FIN follows the last octet that was written, in the same segment.
    #[test]
    fn the_last_segment_brings_the_fin_along_and_no_other_does() {
        let mut buffer = SendBuffer::new(Bytes(10_000));
        assert_eq!(buffer.write(2500, 0), 2500);
        assert_eq!(buffer.next(0, 0, 1000), (1000, false));
        assert_eq!(
            buffer.next(2000, 0, 1000),
            (500, false),
            "it may write more"
        );
        assert!(buffer.close(1000));
        assert_eq!(buffer.next(1000, 0, 1000), (1000, false));
        assert_eq!(buffer.next(2000, 0, 1000), (500, true));
        buffer.on_fin();
        assert_eq!(buffer.next(2501, 0, 1000), (0, false), "once");
    }

    #[test]
    fn a_fin_leaves_alone_where_all_data_has_left() {
        let mut buffer = SendBuffer::new(Bytes(10_000));
        buffer.write(1000, 0);
        buffer.close(1000);
        assert_eq!(buffer.next(1000, 0, 1000), (0, true));
    }

    #[test]
    fn data_without_end_fills_the_buffer_and_no_more() {
        let mut buffer = SendBuffer::new(Bytes(2500));
        buffer.set_bulk(true, 0);
        assert_eq!(buffer.next(1000, 0, 1000), (1000, false));
        assert_eq!(buffer.next(2000, 0, 1000), (0, false), "500 are left");
        assert_eq!(buffer.next(2000, 1000, 1000), (1000, false));
        assert_eq!(buffer.end_without_fin(1000), 3500);
        assert_eq!(
            buffer.next(0, 0, 9000),
            (9000, false),
            "nothing else moves it on"
        );
    }
}
