//! Levels of H.264: what a stream may have at most, and what descriptions call it.

use core::fmt;

use slackwater_core::Rate;

use crate::video::Size;

/// A level (H.264, table A-1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Level {
    /// `level_idc`: ten times its number, the last octet of `profile-level-id` (RFC 6184, 8.1).
    idc: u8,
    /// Macroblocks of a second (`MaxMBPS`).
    a_second: u32,
    /// Macroblocks of a picture (`MaxFS`).
    picture: u32,
    /// Rate of the baseline profile in kbit/s (`MaxBR`).
    kbps: u32,
}

const fn level(idc: u8, a_second: u32, picture: u32, kbps: u32) -> Level {
    Level {
        idc,
        a_second,
        picture,
        kbps,
    }
}

/// From that of every browser's offer on (42e01f), which streams of less have too. Those of more than 5.2 are for pictures above 4096x2304.
const LEVELS: [Level; 8] = [
    level(31, 108_000, 3_600, 14_000),
    level(32, 216_000, 5_120, 20_000),
    level(40, 245_760, 8_192, 20_000),
    level(41, 245_760, 8_192, 50_000),
    level(42, 522_240, 8_704, 50_000),
    level(50, 589_824, 22_080, 135_000),
    level(51, 983_040, 36_864, 240_000),
    level(52, 2_073_600, 36_864, 240_000),
];

impl Level {
    /// The least that is offered.
    pub const LEAST: Self = LEVELS[0];
    /// The greatest: what a receiver of ours decodes.
    pub const MOST: Self = LEVELS[LEVELS.len() - 1];

    /// The least level of at least 3.1 for pictures of `size`, `fps` a second, at `rate`; `None`: no level up to 5.2 has such pictures. A rate above
    /// those of all levels gets 5.2, whose [`Level::rate`] bounds it.
    pub fn of(size: Size, fps: f64, rate: Rate) -> Option<Self> {
        if !Self::MOST.holds(size, fps) {
            return None;
        }
        let mut levels = LEVELS.into_iter().filter(|l| l.holds(size, fps));
        let rated = levels.find(|l| rate <= l.rate());
        Some(rated.unwrap_or(Self::MOST))
    }

    /// Pictures of `size` are within the level at `fps` (H.264, A.3.1).
    pub fn holds(self, size: Size, fps: f64) -> bool {
        let blocks = size.macroblocks() as f64;
        let longest = size.width.max(size.height).div_ceil(16) as f64;
        let picture = f64::from(self.picture);
        blocks <= picture
            && longest * longest <= 8.0 * picture
            && blocks * fps <= f64::from(self.a_second)
    }

    /// The greatest of these levels that one of this `level_idc` has room for; `None`: it is below 3.1.
    pub fn named(idc: u8) -> Option<Self> {
        LEVELS.into_iter().rfind(|l| l.idc <= idc)
    }

    /// The lesser one.
    #[must_use]
    pub const fn min(self, other: Self) -> Self {
        if self.idc <= other.idc { self } else { other }
    }

    /// Its greatest rate.
    pub const fn rate(self) -> Rate {
        Rate::from_bps(self.kbps as u64 * 1000)
    }

    /// Ten times its number.
    pub const fn idc(self) -> u8 {
        self.idc
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.idc / 10, self.idc % 10)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(width: usize, height: usize, fps: f64, mbps: f64) -> Option<String> {
        let level = Level::of(Size { width, height }, fps, Rate::from_mbps(mbps));
        level.map(|l| l.to_string())
    }

    /// Table A-1 and A.3.4's table of frame rates of the standard.
    #[test]
    fn a_stream_has_the_least_level_that_holds_it() {
        for (width, height, fps, mbps, expected) in [
            (640, 360, 30.0, 1.0, "3.1"),
            (1280, 720, 30.0, 14.0, "3.1"),
            (1280, 720, 30.0, 14.1, "3.2"),
            (1280, 720, 60.0, 10.0, "3.2"),
            (1920, 1080, 30.0, 20.0, "4.0"),
            (1920, 1080, 30.0, 20.1, "4.1"),
            (1920, 1080, 60.0, 20.0, "4.2"),
            (1920, 1080, 60.0, 60.0, "5.0"),
            (3840, 2160, 30.0, 50.0, "5.1"),
            (3840, 2160, 60.0, 50.0, "5.2"),
            // No level has such a rate.
            (640, 360, 30.0, 500.0, "5.2"),
        ] {
            let found = of(width, height, fps, mbps);
            assert_eq!(
                found.as_deref(),
                Some(expected),
                "{width}x{height} {fps} {mbps}"
            );
        }
    }

    #[test]
    fn a_name_between_two_levels_is_the_lower_one() {
        let named = |idc| Level::named(idc).map(|l| l.to_string());
        // 42e01f, 42e028 and 42e034 end so; 43 is none, and 30 is below those that are used.
        let found = [0x1f, 0x28, 0x34, 43, 62].map(|idc| named(idc).unwrap());
        assert_eq!(found, ["3.1", "4.0", "5.2", "4.2", "5.2"]);
        assert_eq!(named(30), None);
        assert_eq!(Level::LEAST.min(Level::MOST), Level::LEAST);
    }

    #[test]
    fn no_level_holds_more_pictures_or_longer_lines() {
        assert_eq!(of(3840, 2160, 120.0, 1.0), None);
        assert_eq!(of(7680, 4320, 30.0, 1.0), None);
        // 544 squared are more than 8 * 36,864, and 543 squared are less.
        assert_eq!(of(16 * 544, 16, 1.0, 1.0), None);
        assert!(of(16 * 543, 16, 1.0, 1.0).is_some());
    }
}
