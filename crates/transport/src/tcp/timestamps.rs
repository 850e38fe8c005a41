//! Time stamps (RFC 7323): what is echoed, and the one-way delays that they show.

use slackwater_core::{Duration, Instant, Segment, SegmentBits};

/// Milliseconds that stand for the one-way delay of the first acknowledged segment; later ones count from there.
const OWD_BASE: u32 = 1 << 20;

/// The time stamps of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timestamps {
    /// Segments carry them; before the handshake, the SYN offers them.
    on: bool,
    /// The `TSval` to echo (RFC 7323, 4.3).
    recent: u32,
    /// What the first acknowledgment's time stamps differed by, [`OWD_BASE`] subtracted: the clocks' offset.
    gap: Option<u32>,
    /// The same of the way back.
    back_gap: Option<u32>,
}

/// The tick of the time stamps: a millisecond, as in Linux.
#[inline]
pub(super) const fn tick(now: Instant) -> u32 {
    (now.as_nanos() / 1_000_000) as u32
}

impl Timestamps {
    pub(super) const fn new(on: bool) -> Self {
        Self {
            on,
            recent: 0,
            gap: None,
            back_gap: None,
        }
    }

    /// Segments carry them.
    #[inline]
    pub(super) const fn on(&self) -> bool {
        self.on
    }

    /// The peer's SYN `s` arrived at an end that has them on where `ours` says so.
    pub(super) fn negotiate(&mut self, ours: bool, s: &Segment) {
        self.on = ours && s.bits.contains(SegmentBits::TIMESTAMPS);
        if self.on {
            self.recent = s.tsval;
        }
    }

    /// `TSval` and `TSecr` of a segment that leaves now.
    #[inline]
    pub(super) const fn stamp(&self, now: Instant) -> (u32, u32) {
        if self.on {
            (tick(now), self.recent)
        } else {
            (0, 0)
        }
    }

    /// Keeps the time stamp of a segment of `len` positions at `seq` for the echo, where `acked` is the last ACK that left.
    /// RFC 7323, 4.3, (2): only a segment that spans the last ACK updates it; the oldest one counts where an ACK stands for
    /// several.
    #[inline]
    pub(super) fn note(&mut self, s: &Segment, seq: u64, len: u64, acked: u64) {
        if self.on
            && s.bits.contains(SegmentBits::TIMESTAMPS)
            && seq <= acked
            && seq + len >= acked
            && (s.tsval.wrapping_sub(self.recent) as i32) >= 0
        {
            self.recent = s.tsval;
        }
    }

    /// Tick that the peer echoes in `s`, where it does.
    #[inline]
    pub(super) fn echo(&self, s: &Segment) -> Option<u32> {
        (self.on && s.bits.contains(SegmentBits::TIMESTAMPS)).then_some(s.tsecr)
    }

    /// The one-way delay of the segment that `s` acknowledges and echoes, but for a constant.
    #[inline]
    pub(super) fn one_way(&mut self, s: &Segment) -> Option<Duration> {
        one_way(&mut self.gap, s.tsval, s.tsecr)
    }

    /// The one-way delay of `s` itself, but for a constant.
    #[inline]
    pub(super) fn way_back(&mut self, now: Instant, s: &Segment) -> Option<Duration> {
        one_way(&mut self.back_gap, tick(now), s.tsval)
    }
}

/// One-way delay but for a constant: the clock of the end that received less that of the end that
/// sent. `gap` remembers the constant.
#[inline]
fn one_way(gap: &mut Option<u32>, received: u32, sent: u32) -> Option<Duration> {
    let apart = received.wrapping_sub(sent);
    let base = *gap.get_or_insert_with(|| apart.wrapping_sub(OWD_BASE));
    let delay = apart.wrapping_sub(base);
    // A peer whose clock jumps says nothing.
    (delay < 2 * OWD_BASE).then(|| Duration::from_millis(u64::from(delay)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Clocks of two ends differ by anything: only changes of a one-way delay can be told.
    #[test]
    fn a_one_way_delay_counts_from_the_first_whatever_the_clocks_show() {
        let base = Duration::from_millis(u64::from(OWD_BASE));
        let ms = Duration::from_millis;
        for offset in [0, 123_456, u32::MAX - 10] {
            let mut gap = None;
            let mut delay = |sent: u32, took: u32| {
                one_way(&mut gap, sent.wrapping_add(offset).wrapping_add(took), sent)
            };
            assert_eq!(delay(1000, 20), Some(base));
            assert_eq!(delay(1100, 50), Some(base + ms(30)));
            assert_eq!(delay(1200, 15), Some(base - ms(5)));
            assert_eq!(delay(1300, OWD_BASE + 20), None, "the clock was set");
            assert_eq!(delay(1400, 20), Some(base));
        }
    }
}
