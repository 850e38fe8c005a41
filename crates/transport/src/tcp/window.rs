//! The two windows that bound what is in flight: the peer's, and how far the congestion window is used.

use slackwater_core::Segment;

/// The largest shift of the window field (RFC 7323, 2.3).
pub(super) const MAX_SHIFT: u8 = 14;

/// The peer's receive window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Window {
    /// Position up to which it reaches.
    end: u64,
    /// The peer's position in the segment that said so.
    seq: u64,
    /// By how much the peer scales its window field; `None` without the option.
    scale: Option<u8>,
    /// Probes of a closed window since it last was open.
    probes: u32,
}

impl Window {
    /// The peer's SYN: its window field, which is not scaled (RFC 7323, 2.2), and by how much later ones are.
    pub(super) fn negotiate(&mut self, syn: &Segment, scale: Option<u8>) {
        self.end = u64::from(syn.window);
        self.scale = scale.map(|s| s.min(MAX_SHIFT));
    }

    /// The peer scales its window field, so that ours may be scaled.
    pub(super) const fn is_scaled(&self) -> bool {
        self.scale.is_some()
    }

    /// Position up to which it reaches.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// The end that `field` means in a segment that acknowledges `ack`.
    #[inline]
    fn end_of(&self, field: u16, ack: u64) -> u64 {
        ack + (u64::from(field) << self.scale.unwrap_or(0))
    }

    /// True where segment `s`, which acknowledges `ack`, leaves the window as it is.
    #[inline]
    pub(super) fn is_kept_by(&self, s: &Segment, ack: u64) -> bool {
        self.end_of(s.window, ack) == self.end
    }

    /// A segment at `seq` left it as it is.
    #[inline]
    pub(super) fn kept(&mut self, seq: u64) {
        self.seq = self.seq.max(seq);
    }

    /// Takes the window from a segment at `seq` that acknowledges `ack`, where all before `una` was (RFC 9293, 3.10.7.4;
    /// Linux `tcp_may_update_window`). True where it moved.
    #[inline]
    pub(super) fn take(&mut self, s: &Segment, ack: u64, seq: u64, una: u64) -> bool {
        let end = self.end_of(s.window, ack);
        let newer = ack > una || seq > self.seq;
        if newer || (seq == self.seq && (end > self.end || s.window == 0)) {
            self.seq = seq;
            let moved = end != self.end;
            self.end = end;
            return moved;
        }
        false
    }

    /// Probes of a closed window since it last was open.
    #[inline]
    pub(super) const fn probes(&self) -> u32 {
        self.probes
    }

    /// A probe leaves.
    pub(super) const fn on_probe(&mut self) {
        self.probes += 1;
    }

    /// It is open: data left, or was acknowledged.
    #[inline]
    pub(super) const fn opened(&mut self) {
        self.probes = 0;
    }
}

/// How far the congestion window was used (Linux `tcp_cwnd_validate`).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Usage {
    /// In this round it was what held data back (Linux `is_cwnd_limited`).
    limited: bool,
    /// Most segments in flight in this round (Linux `max_packets_out`).
    most: u64,
    /// The round ends when this position is acknowledged (Linux `cwnd_usage_seq`).
    end: u64,
}

impl Usage {
    /// `segments` are in flight between `una` and `nxt`; `limited`: the window holds more back.
    #[inline]
    pub(super) fn note(&mut self, limited: bool, segments: u64, una: u64, nxt: u64) {
        if una >= self.end || limited || (!self.limited && segments > self.most) {
            self.limited = limited;
            self.most = segments;
            self.end = nxt;
        }
    }

    /// The window held data back in this round.
    #[inline]
    pub(super) const fn is_limited(&self) -> bool {
        self.limited
    }

    /// Most segments in flight in this round.
    #[inline]
    pub(super) const fn most(&self) -> u64 {
        self.most
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 9293, 3.10.7.4: SND.WL1 and SND.WL2 keep an old segment from setting the window. Linux adds that among segments
    /// of one age the larger window counts, and a shut one (`tcp_may_update_window`).
    #[test]
    fn among_segments_of_one_age_a_larger_or_a_shut_window_counts() {
        let mut window = Window::default();
        let mut hears = |field, ack, seq| {
            let s = Segment {
                window: field,
                ..Segment::default()
            };
            // All before 5,000 was acknowledged.
            let moved = window.take(&s, ack, seq, 5000);
            (moved, window.end())
        };
        assert_eq!(hears(1000, 5000, 70), (true, 6000), "newer data");
        assert_eq!(hears(3000, 5000, 70), (true, 8000), "an update");
        assert_eq!(
            hears(2000, 5000, 70),
            (false, 8000),
            "one that was overtaken"
        );
        assert_eq!(hears(9000, 5000, 69), (false, 8000), "older data");
        assert_eq!(hears(0, 5000, 70), (true, 5000), "shut");
        assert_eq!(hears(500, 5001, 69), (true, 5501), "a newer acknowledgment");
    }

    /// Linux `tcp_cwnd_validate`: a round in which the window held data back counts as such to its end, and else the most that
    /// was in flight counts.
    #[test]
    fn a_round_is_limited_by_the_window_if_it_was_once() {
        let mut usage = Usage::default();
        let mut note = |limited, segments, una| {
            usage.note(limited, segments, una, una + 10);
            (usage.is_limited(), usage.most())
        };
        assert_eq!(note(false, 4, 0), (false, 4));
        assert_eq!(note(false, 6, 1), (false, 6));
        assert_eq!(note(false, 5, 2), (false, 6), "fewer in the same round");
        assert_eq!(note(true, 8, 3), (true, 8));
        assert_eq!(note(false, 9, 4), (true, 8), "in the same round");
        assert_eq!(note(false, 3, 13), (false, 3), "the next round");
    }
}
