//! What a real encoder and a real decoder are to the ends of a flow.
//!
//! The sender says when a frame is due, and the rate for it. An [`Encoder`] gives the payloads of its packets. A [`Decoder`]
//! gets the payloads of a frame that is whole, in their order, and never a frame that refers to one that is missing.

use core::fmt::Debug;

use bytes::Bytes;
use slackwater_transport::rtp::Wanted;
use thiserror::Error;

use crate::level::Level;

/// A codec that ends agree on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Codec {
    /// RFC 7741; of our senders it is synthetic.
    Vp8,
    /// RFC 6184.
    H264,
}

impl Codec {
    /// What `a=rtpmap` calls it (RFC 7741, 6.1; RFC 6184, 8.1).
    pub const fn name(self) -> &'static str {
        match self {
            Self::Vp8 => "VP8/90000",
            Self::H264 => "H264/90000",
        }
    }
}

/// Why a codec cannot go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{during}: found {found}, expected {expected}")]
pub struct CodecError {
    /// What was tried, or the file's name.
    pub during: String,
    /// What was found.
    pub found: String,
    /// What should have been.
    pub expected: &'static str,
}

/// A frame in the payloads of its packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Encoded {
    /// It refers to no other frame.
    pub key: bool,
    /// One payload a packet; none: the encoder leaves the frame out.
    pub payloads: Vec<Bytes>,
}

/// Makes frames of pictures, whose source it has.
pub trait Encoder: Debug + Send {
    /// What it makes.
    fn codec(&self) -> Codec;

    /// The level that its stream has, where the codec has levels.
    fn level(&self) -> Option<Level> {
        None
    }

    /// The other end decodes no more than `level`; called before the first frame.
    ///
    /// # Errors
    /// Where its pictures are above that.
    fn limit(&mut self, level: Level) -> Result<(), CodecError> {
        let _ = level;
        Ok(())
    }

    /// The frame that is due, in payloads of at most `room` bytes.
    ///
    /// # Errors
    /// Where the codec or its source of pictures cannot go on: the sender ends then.
    fn encode(&mut self, wanted: &Wanted, room: usize) -> Result<Encoded, CodecError>;
}

/// What a decoder found in a frame.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Seen {
    /// Peak signal-to-noise ratio of luma in dB, where the decoder knows what the picture should be.
    pub psnr: Option<f64>,
}

/// Makes pictures of frames.
pub trait Decoder: Debug + Send {
    /// What it reads.
    fn codec(&self) -> Codec;

    /// The frame of these payloads refers to no other.
    fn is_key(&self, payloads: &[Bytes]) -> bool;

    /// Decodes a frame.
    ///
    /// # Errors
    /// Where it cannot be decoded. The receiver then sends a PLI.
    fn decode(&mut self, payloads: &[Bytes]) -> Result<Seen, CodecError>;
}
