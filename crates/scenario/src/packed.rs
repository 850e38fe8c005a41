//! Packed files: `.xz`, `.gz` and `.zst`, written, and unpacked within a bound.

use std::io::{self, Read as _, Write as _};
use std::path::Path;

use flate2::Compression;
use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use lzma_rust2::{XzOptions, XzReader, XzWriter};
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{FrameDecoder, StreamingDecoder};
use ruzstd::encoding::{CompressionLevel, compress_to_vec};

/// Memory for what a reader remembers of its output, KiB. `xz -9` needs 65 MiB, `zstd --ultra -22` and `--long` 128 MiB.
const WINDOW_KIB: u32 = 128 << 10;

/// How a file is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// LZMA2, as `xz` writes it.
    Xz,
    /// DEFLATE, as `gzip` writes it.
    Gzip,
    /// Zstandard, as `zstd` writes it.
    Zstd,
}

impl Packing {
    /// Every form.
    pub const ALL: [Self; 3] = [Self::Xz, Self::Gzip, Self::Zstd];

    /// The ending of such a file's name.
    pub const fn ending(self) -> &'static str {
        match self {
            Self::Xz => ".xz",
            Self::Gzip => ".gz",
            Self::Zstd => ".zst",
        }
    }

    /// The form that the name of a file announces.
    pub fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        Self::ALL
            .into_iter()
            .find(|packing| name.ends_with(packing.ending()))
    }

    /// What `bytes` hold, where it is at most `limit` bytes; one more shows that it is more.
    ///
    /// # Errors
    /// Where they are no such archive, or one that needs more memory than a reader gives.
    pub fn unpack(self, bytes: &[u8], limit: usize) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        let most = limit as u64 + 1;
        match self {
            Self::Xz => {
                let reader = XzReader::new_mem_limit(bytes, true, WINDOW_KIB);
                reader.take(most).read_to_end(&mut out)?;
            }
            // Files put one after the other are one file: `cat a.gz b.gz`.
            Self::Gzip => {
                MultiGzDecoder::new(bytes)
                    .take(most)
                    .read_to_end(&mut out)?;
            }
            Self::Zstd => unpack_frames(bytes, most, &mut out)?,
        }
        Ok(out)
    }

    /// `plain` as such an archive: the same bytes each time.
    ///
    /// # Errors
    /// Never for what fits into memory.
    pub fn pack(self, plain: &[u8]) -> io::Result<Vec<u8>> {
        match self {
            Self::Xz => {
                let mut out = XzWriter::new(Vec::new(), XzOptions::with_preset(6))?;
                out.write_all(plain)?;
                out.finish()
            }
            Self::Gzip => {
                let mut out = GzEncoder::new(Vec::new(), Compression::best());
                out.write_all(plain)?;
                out.finish()
            }
            // The only level that the library has.
            Self::Zstd => Ok(compress_to_vec(plain, CompressionLevel::Fastest)),
        }
    }
}

/// The name of a file without the ending of its archive.
pub fn plain_name(name: &str) -> &str {
    let plain = |packing: Packing| name.strip_suffix(packing.ending());
    Packing::ALL.into_iter().find_map(plain).unwrap_or(name)
}

/// Frame after frame (RFC 8878, 3.1), to `most` bytes in all.
fn unpack_frames(mut bytes: &[u8], most: u64, out: &mut Vec<u8>) -> io::Result<()> {
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(u64::from(WINDOW_KIB) << 10);
    if bytes.is_empty() {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }

    while !bytes.is_empty() && (out.len() as u64) < most {
        let mut frame = match StreamingDecoder::new_with_decoder(&mut bytes, &mut decoder) {
            Ok(frame) => frame,
            // RFC 8878, 3.1.2: notes of other programs, which a reader passes over.
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                let left = bytes.get(length as usize..);
                bytes = left.ok_or(io::ErrorKind::UnexpectedEof)?;
                continue;
            }
            Err(e) => return Err(io::Error::other(e)),
        };
        let room = most - out.len() as u64;
        frame.by_ref().take(room).read_to_end(out)?;

        // A frame that was cut at the bound was not summed whole.
        let whole = (out.len() as u64) < most;
        let told = decoder.get_checksum_from_data();
        if whole && told.is_some() && told != decoder.get_calculated_checksum() {
            return Err(io::Error::other("the checksum does not match"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
