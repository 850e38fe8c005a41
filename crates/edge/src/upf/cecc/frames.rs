//! Frames as the UPF sees them: bursts between gaps, their sizes and their beat.

use slackwater_core::{Duration, Instant};

/// Bursts that are remembered (one second at 60 FPS).
const HISTORY: usize = 60;
/// Bursts until sizes mean anything.
const STARTUP: u8 = 3;
/// `FrameSize` until then.
const STARTUP_SIZE: u32 = 64 * 1024;
/// The gap that starts a new frame until the beat is known.
const GAP: Duration = Duration::from_millis(3);
/// Bounds of the gap once it is.
const GAP_RANGE: (u64, u64) = (1_000_000, 5_000_000);
/// A burst that lasts longer is a bulk transfer, not a frame: six frames at 120 FPS, two at 30 FPS.
const LONGEST: Duration = Duration::from_millis(60);
/// Frames that a flow must show after a bulk transfer before it counts as a source of frames again.
const PROBATION: u8 = 3;

/// The frames of one flow.
#[derive(Clone, Debug)]
pub(super) struct Frames {
    started: Instant,
    last: Instant,
    bytes: u32,
    /// Smoothed time between frame starts; zero until two were seen.
    interval: Duration,
    size: u32,
    stale: bool,
    tainted: bool,
    taint: bool,
    open: bool,
    bulk: u8,
    len: u8,
    next: u8,
    sizes: [u32; HISTORY],
}

impl Frames {
    pub(super) fn new() -> Self {
        Self {
            started: Instant::ZERO,
            last: Instant::ZERO,
            bytes: 0,
            interval: Duration::ZERO,
            size: STARTUP_SIZE,
            stale: false,
            tainted: false,
            taint: false,
            open: false,
            bulk: 0,
            len: 0,
            next: 0,
            sizes: [0; HISTORY],
        }
    }

    /// Bytes of the flow entered the UPF; true where they start a frame.
    pub(super) fn on_bytes(&mut self, now: Instant, bytes: u32) -> bool {
        let start = !self.open || now.since(self.last) > self.gap();
        if start {
            self.finish();
            if self.open {
                let beat = now.since(self.started);
                // A pause of the source is not its beat.
                if self.interval.is_zero() {
                    self.interval = beat;
                } else if beat < self.interval * 4 {
                    self.interval = (self.interval * 7 + beat) / 8;
                }
            }
            (self.started, self.bytes, self.open) = (now, 0, true);
            (self.tainted, self.taint) = (self.taint, false);
        } else if self.bulk < PROBATION && now.since(self.started) > LONGEST {
            self.bulk = PROBATION;
        }
        self.last = now;
        self.bytes = self.bytes.saturating_add(bytes);
        start
    }

    /// The server was kept waiting until now: that is no gap.
    pub(super) fn resume(&mut self, now: Instant) {
        self.last = self.last.max(now);
    }

    /// It counts as a bulk transfer until it has shown frames again.
    pub(super) fn doubt(&mut self) {
        self.bulk = PROBATION;
    }

    /// The next burst is what piled up while the flow was kept waiting: our doing rather than the source's.
    pub(super) fn taint(&mut self) {
        self.taint = true;
    }

    fn finish(&mut self) {
        if !self.open {
            return;
        }
        if self.last.since(self.started) <= LONGEST {
            self.bulk = self.bulk.saturating_sub(1);
        }
        if self.tainted || self.bytes == 0 {
            return;
        }
        self.sizes[usize::from(self.next)] = self.bytes;
        self.next = (self.next + 1) % HISTORY as u8;
        self.len = (self.len + 1).min(HISTORY as u8);
        self.stale = true;
    }

    /// `FrameSize`: the largest of the last 60 bursts that are no more than 1.5 medians, so that frames piled up
    /// behind a stall do not latch it (CECC, III-B: "the maximum value ... during a period of smooth fluctuation").
    pub(super) fn size(&mut self) -> u64 {
        if self.stale {
            self.stale = false;
            if self.len >= STARTUP {
                let n = usize::from(self.len);
                let mut sorted = self.sizes;
                let sorted = &mut sorted[..n];
                let (_, &mut median, _) = sorted.select_nth_unstable(n / 2);
                let limit = median.saturating_add(median / 2);
                self.size = self.sizes[..n]
                    .iter()
                    .copied()
                    .filter(|&b| b <= limit)
                    .max()
                    .unwrap_or(median);
            }
        }
        u64::from(self.size)
    }

    /// Gap that separates frames: a quarter of the beat.
    fn gap(&self) -> Duration {
        if self.len < STARTUP || self.interval.is_zero() {
            return GAP;
        }
        let quarter = self.interval.as_nanos() / 4;
        Duration::from_nanos(quarter.clamp(GAP_RANGE.0, GAP_RANGE.1))
    }

    /// When the present frame's first byte came.
    pub(super) const fn started(&self) -> Instant {
        self.started
    }

    /// Bytes of the present frame so far.
    pub(super) const fn bytes(&self) -> u32 {
        self.bytes
    }

    /// Time between frames, where known.
    pub(super) fn interval(&self) -> Option<Duration> {
        (!self.interval.is_zero()).then_some(self.interval)
    }

    /// True once enough bursts were seen.
    pub(super) const fn known(&self) -> bool {
        self.len >= STARTUP
    }

    /// True where the flow sends without gaps: there are no frames to order.
    pub(super) const fn bulk(&self) -> bool {
        self.bulk > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(us: u64) -> Instant {
        Instant::from_nanos(us * 1_000)
    }

    /// A frame of `bytes` in packets of 1,250 bytes, 10 us apart.
    fn frame(frames: &mut Frames, start_us: u64, bytes: u32) -> u32 {
        let mut starts = 0;
        for k in 0..bytes / 1250 {
            starts += u32::from(frames.on_bytes(at(start_us + u64::from(k) * 10), 1250));
        }
        starts
    }

    #[test]
    fn frames_are_bursts_between_gaps() {
        let mut frames = Frames::new();
        for k in 0..10 {
            assert_eq!(frame(&mut frames, k * 16_667, 100_000 + k as u32 * 1250), 1);
        }
        // The tenth frame has not ended.
        assert_eq!(frames.size(), 110_000);
        let interval = frames.interval().unwrap();
        assert!(interval.as_micros().abs_diff(16_667) < 20, "{interval}");
    }

    #[test]
    fn the_beat_follows_a_source_that_slows_down_and_no_pause() {
        let mut frames = Frames::new();
        let interval = |frames: &Frames| frames.interval().unwrap().as_micros();
        for k in 0..10 {
            frame(&mut frames, k * 16_667, 20_000);
        }
        frame(&mut frames, 1_000_000, 20_000);
        assert!(interval(&frames).abs_diff(16_667) < 20);
        // From 60 to 30 frames a second.
        for k in 1..=40 {
            frame(&mut frames, 1_000_000 + k * 33_333, 20_000);
        }
        assert!(interval(&frames).abs_diff(33_333) < 200);
    }

    #[test]
    fn the_start_assumes_64_kib() {
        let mut frames = Frames::new();
        for k in 0..3 {
            frame(&mut frames, k * 16_667, 20_000);
            assert_eq!(frames.size(), 65_536);
        }
        frame(&mut frames, 3 * 16_667, 20_000);
        assert_eq!(frames.size(), 20_000);
    }

    // t1: one stall of 60 ms piles four frames up; FrameSize must not take them for one.
    #[test]
    fn t1_a_stall_does_not_latch_frame_size() {
        let mut frames = Frames::new();
        for k in 0..20 {
            frame(&mut frames, k * 16_667, 100_000);
        }
        frame(&mut frames, 20 * 16_667 + 60_000, 400_000);
        for k in 25..40 {
            frame(&mut frames, k * 16_667, 100_000);
            assert!(frames.size() <= 150_000, "{}", frames.size());
        }
    }

    #[test]
    fn tainted_bursts_are_not_recorded() {
        let mut frames = Frames::new();
        for k in 0..8 {
            frame(&mut frames, k * 16_667, 100_000);
        }
        for k in 8..68 {
            let now = at(k * 16_667);
            frames.taint();
            frames.on_bytes(now, 140_000);
        }
        assert_eq!(frames.size(), 100_000);
    }

    #[test]
    fn a_bulk_transfer_is_told_from_frames() {
        let mut frames = Frames::new();
        for k in 0..1_000 {
            frames.on_bytes(at(k * 100), 1250);
        }
        assert!(frames.bulk());
        for k in 0..4 {
            frame(&mut frames, 200_000 + k * 16_667, 100_000);
        }
        assert!(!frames.bulk());
    }
}
