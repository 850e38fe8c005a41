//! A test pattern that is not easy for an encoder: a texture that pans, squares that bounce, and noise.
//!
//! Each picture is a function of its number, and carries that number in itself as blocks of black and white. So a receiver
//! that decodes it can make the original again, and measure what the codec left of it.

use slackwater_core::Draw;

use super::{Picture, Size, Video};
use crate::codec::CodecError;

/// Of the texture, in pixels; a power of two.
const SIDE: usize = 512;
/// Of a square, in pixels.
const SQUARE: usize = 80;
/// Squares.
const SQUARES: usize = 3;
/// Noise is uniform within this around each sample (three levels: above what a quantiser of good quality keeps).
const NOISE: u64 = 3;
/// Of the seed of all noise: the same pictures each time.
const SEED: u64 = 6184;

/// Bits of the number, and those that check it.
const BITS: usize = 24;
const CHECK: usize = 8;
/// Side of a bit's block: a macroblock, so that no quantiser can blur it away.
const BLOCK: usize = 16;
/// What blocks hold: the ends of the range of luma (H.273, 8.3: 16 to 235).
const BLACK: u8 = 16;
const WHITE: u8 = 235;

/// Narrower pictures have no room for the number, lower ones none for a square.
pub const LEAST: Size = Size {
    width: BLOCK * (BITS + CHECK),
    height: 2 * SQUARE,
};
/// The size that docs/design/0101 measured encoders with.
pub const USUAL: Size = Size {
    width: 640,
    height: 360,
};

/// The pattern.
#[derive(Clone)]
pub struct Pattern {
    size: Size,
    /// Luma of the texture, line by line.
    texture: Vec<u8>,
    /// Number of the next picture.
    next: u32,
}

impl core::fmt::Debug for Pattern {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pattern")
            .field("size", &self.size)
            .field("next", &self.next)
            .finish_non_exhaustive()
    }
}

impl Pattern {
    /// The pattern in this size, from picture 0 on; smaller than [`LEAST`] it has that size.
    pub fn new(size: Size) -> Self {
        Self {
            size: Size {
                width: size.width.max(LEAST.width),
                height: size.height.max(LEAST.height),
            },
            texture: texture(),
            next: 0,
        }
    }

    /// Draws picture `number` into `picture`, which has the pattern's size.
    pub fn draw(&self, number: u32, picture: &mut Picture) {
        let Size { width, height } = self.size;
        let n = number as usize;
        let noise = Draw::new(SEED).fork(0, u64::from(number));
        let (luma, chroma) = picture.bytes_mut().split_at_mut(width * height);

        for (y, line) in luma.chunks_exact_mut(width).enumerate() {
            let row = (y + n) % SIDE * SIDE;
            for (x, samples) in line.chunks_mut(8).enumerate() {
                // One draw has bits for eight samples.
                let mut bits = noise.bits((y * width / 8 + x) as u64);
                for (i, sample) in samples.iter_mut().enumerate() {
                    let value = self.texture[row + (8 * x + i + 2 * n) % SIDE];
                    *sample = noisy(value, &mut bits);
                }
            }
        }

        for square in 0..SQUARES {
            let left = bounce(n * (3 + square) + square * 100, width - SQUARE);
            let top = bounce(n * (2 + square) + square * 60, height - SQUARE);
            for y in 0..SQUARE {
                let start = (top + y) * width + left;
                for (x, sample) in luma[start..start + SQUARE].iter_mut().enumerate() {
                    let value = 60 + 60 * square + (x ^ y) / 2;
                    *sample = value.min(usize::from(WHITE)) as u8;
                }
            }
        }

        // Chroma changes slowly, all over.
        chroma.fill(128 + (n / 4 % 16) as u8);
        write_number(number, luma, width);
    }
}

impl Video for Pattern {
    fn size(&self) -> Size {
        self.size
    }

    fn next(&mut self, picture: &mut Picture) -> Result<(), CodecError> {
        self.draw(self.next, picture);
        self.next = self.next.wrapping_add(1);
        Ok(())
    }
}

/// `value` with noise, which takes a byte of `bits`.
fn noisy(value: u8, bits: &mut u64) -> u8 {
    let levels = 2 * NOISE + 1;
    let level = ((*bits & 0xff) * levels) >> 8;
    *bits >>= 8;
    (value + level as u8).saturating_sub(NOISE as u8)
}

/// Noise that is smoothed and stretched: edges of all directions, some ten pixels wide.
fn texture() -> Vec<u8> {
    let draw = Draw::new(SEED).fork(1, 0);
    let mut samples: Vec<f32> = (0..SIDE * SIDE)
        .map(|i| (draw.bits(i as u64) >> 56) as f32 - 127.5)
        .collect();
    // Means of five, along lines and then along columns: three times over, which comes near a bell's shape.
    for _ in 0..3 {
        for step in [1, SIDE] {
            let before = samples.clone();
            for (i, sample) in samples.iter_mut().enumerate() {
                let around = [
                    3 * SIDE * SIDE - 2 * step,
                    3 * SIDE * SIDE - step,
                    0,
                    step,
                    2 * step,
                ];
                let sum: f32 = around
                    .iter()
                    .map(|offset| before[(i + offset) % before.len()])
                    .sum();
                *sample = sum / 5.0;
            }
        }
    }
    let stretched = |s: &f32| (128.0 + s * 6.0).clamp(f32::from(BLACK), f32::from(WHITE)) as u8;
    samples.iter().map(stretched).collect()
}

/// A place that goes to and fro between 0 and `most`.
const fn bounce(way: usize, most: usize) -> usize {
    let at = way % (2 * most);
    if at > most { 2 * most - at } else { at }
}

/// What checks `number`.
fn check(number: u32) -> u32 {
    (Draw::new(SEED).fork(2, 0).bits(u64::from(number)) >> (64 - CHECK)) as u32
}

/// Writes the low bits of `number` along the upper edge.
fn write_number(number: u32, luma: &mut [u8], width: usize) {
    let number = number % (1 << BITS);
    let word = number << CHECK | check(number);
    for y in 0..BLOCK {
        for bit in 0..BITS + CHECK {
            let white = word >> bit & 1 == 1;
            let start = y * width + bit * BLOCK;
            luma[start..start + BLOCK].fill(if white { WHITE } else { BLACK });
        }
    }
}

/// The number that `picture` carries; `None` where it is not of the pattern.
pub fn number(picture: &Picture) -> Option<u32> {
    let Size { width, height } = picture.size();
    if width < LEAST.width || height < LEAST.height {
        return None;
    }
    let [luma, ..] = picture.planes();
    let mut word = 0;
    for bit in 0..BITS + CHECK {
        // The middle of the block: a filter reaches no further than its edges.
        let at = BLOCK / 2 * width + bit * BLOCK + BLOCK / 2;
        word |= u32::from(luma[at] > 128) << bit;
    }
    let number = word >> CHECK;
    (check(number) == word & ((1 << CHECK) - 1)).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(number: u32) -> Picture {
        let pattern = Pattern::new(USUAL);
        let mut picture = Picture::black(USUAL);
        pattern.draw(number, &mut picture);
        picture
    }

    #[test]
    fn a_picture_is_a_function_of_its_number_and_says_it() {
        for n in [0, 1, 77, 65_536, (1 << 24) - 1] {
            assert_eq!(number(&drawn(n)), Some(n));
        }
        assert_eq!(drawn(5), drawn(5));
        // Another noise, another place.
        let psnr = drawn(5).psnr(&drawn(6)).unwrap();
        assert!(psnr < 25.0, "{psnr}");
    }

    #[test]
    fn pictures_come_in_their_order() {
        let mut pattern = Pattern::new(USUAL);
        let mut picture = Picture::black(USUAL);
        for n in 0..3 {
            pattern.next(&mut picture).unwrap();
            assert_eq!(number(&picture), Some(n));
        }
    }

    #[test]
    fn samples_fill_the_range_and_have_noise() {
        let picture = drawn(9);
        let [luma, u, v] = picture.planes();
        let mean = luma.iter().map(|s| f64::from(*s)).sum::<f64>() / luma.len() as f64;
        let spread = luma
            .iter()
            .map(|s| (f64::from(*s) - mean).powi(2))
            .sum::<f64>();
        let deviation = (spread / luma.len() as f64).sqrt();
        assert!(
            (100.0..160.0).contains(&mean) && deviation > 25.0,
            "{mean} {deviation}"
        );
        assert!(u.iter().chain(v).all(|s| *s == 130));
    }

    #[test]
    fn other_pictures_have_no_number() {
        assert_eq!(number(&Picture::black(USUAL)), None);
        let small = Size {
            width: 176,
            height: 144,
        };
        assert_eq!(number(&Picture::black(small)), None);
        assert_eq!(Pattern::new(small).size(), LEAST);
    }
}
