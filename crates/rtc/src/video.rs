//! Pictures in 4:2:0, and where they come from.

pub mod pattern;
pub mod y4m;

use core::fmt::Debug;

use crate::codec::CodecError;

/// Width and height in pixels, both even.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Pixels of a line.
    pub width: usize,
    /// Lines.
    pub height: usize,
}

impl Size {
    /// Pixels of a picture, each of which has a byte of luma.
    pub const fn luma(self) -> usize {
        self.width * self.height
    }

    /// Bytes of a picture: two planes of chroma have a quarter each.
    pub const fn bytes(self) -> usize {
        self.luma() * 3 / 2
    }

    /// Macroblocks, of 16 pixels squared (H.264, 6.3).
    pub const fn macroblocks(self) -> usize {
        self.width.div_ceil(16) * self.height.div_ceil(16)
    }
}

/// A picture: three planes of a byte a sample, without gaps between lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Picture {
    size: Size,
    /// Luma, then both planes of chroma.
    bytes: Vec<u8>,
}

impl Picture {
    /// A black one.
    pub fn black(size: Size) -> Self {
        let mut bytes = vec![16; size.bytes()];
        bytes[size.luma()..].fill(128);
        Self { size, bytes }
    }

    /// Its size.
    pub const fn size(&self) -> Size {
        self.size
    }

    /// All planes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// All planes, to be written.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// The planes: luma, blue and red difference.
    pub fn planes(&self) -> [&[u8]; 3] {
        let (y, rest) = self.bytes.split_at(self.size.luma());
        let (u, v) = rest.split_at(rest.len() / 2);
        [y, u, v]
    }

    /// Peak signal-to-noise ratio of luma against `other` in dB; `None` where their sizes differ. Equal ones have that of an
    /// error of one sample, so that means stay finite.
    pub fn psnr(&self, other: &Self) -> Option<f64> {
        if self.size != other.size {
            return None;
        }
        let [ours, ..] = self.planes();
        let [theirs, ..] = other.planes();
        let square = |(a, b): (&u8, &u8)| u64::from(a.abs_diff(*b)).pow(2);
        let sum: u64 = ours.iter().zip(theirs).map(square).sum();
        let mean = sum.max(1) as f64 / self.size.luma() as f64;
        Some(10.0 * libm::log10(255.0 * 255.0 / mean))
    }
}

/// A source of pictures.
pub trait Video: Debug + Send {
    /// Their size.
    fn size(&self) -> Size;

    /// The next picture, written into `picture`, which has this size.
    ///
    /// # Errors
    /// Where there is none.
    fn next(&mut self, picture: &mut Picture) -> Result<(), CodecError>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn psnr_is_that_of_its_definition() {
        let size = Size {
            width: 16,
            height: 8,
        };
        let black = Picture::black(size);
        let mut other = black.clone();
        // An error of 5 everywhere: 20 log(255 / 5).
        other.bytes_mut()[..128].fill(21);
        let psnr = black.psnr(&other).unwrap();
        assert!((psnr - 34.151).abs() < 1e-3, "{psnr}");
        assert!(black.psnr(&black).unwrap() > 60.0);
        let larger = Picture::black(Size {
            width: 16,
            height: 16,
        });
        assert_eq!(black.psnr(&larger), None);
    }
}
