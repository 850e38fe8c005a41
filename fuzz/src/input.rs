//! Bytes as a source of numbers: past the end all are zero.

use slackwater_core::{Duration, Instant};

pub(crate) struct Input<'a>(pub(crate) &'a [u8]);

impl<'a> Input<'a> {
    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn array<const N: usize>(&mut self) -> [u8; N] {
        let mut out = [0; N];
        let n = N.min(self.0.len());
        out[..n].copy_from_slice(&self.0[..n]);
        self.0 = &self.0[n..];
        out
    }

    pub(crate) fn u8(&mut self) -> u8 {
        self.array::<1>()[0]
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.array())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.array())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.array())
    }

    /// As many bytes as the next one says.
    pub(crate) fn bytes(&mut self) -> &'a [u8] {
        let n = usize::from(self.u8()).min(self.0.len());
        let (taken, rest) = self.0.split_at(n);
        self.0 = rest;
        taken
    }

    /// A step of time: from a nanosecond to nineteen hours, each order of magnitude as likely as the next.
    pub(crate) fn step(&mut self) -> Duration {
        let by = u32::from(self.u8()) % 31;
        Duration::from_nanos(u64::from(self.u16() | 1) << by)
    }

    /// Some instant: near `now`, or any of the first 68 years, which is what a time stamp of NTP can name.
    pub(crate) fn instant(&mut self, now: Instant) -> Instant {
        match self.u8() % 4 {
            0 => now,
            1 => now.saturating_sub(self.step()),
            2 => now.saturating_add(self.step()),
            _ => Instant::from_nanos(self.u64() >> 2),
        }
    }
}
