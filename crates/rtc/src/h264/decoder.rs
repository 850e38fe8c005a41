//! Payloads in, pictures out.

use bytes::Bytes;
use openh264::OpenH264API;
use openh264::decoder::{DecodedYUV, Decoder as Open, DecoderConfig, Flush};
use openh264::formats::YUVSource as _;
use rtc::rtp::codec::h264::{
    FUA_HEADER_SIZE, FUA_NALU_TYPE, H264Packet, NALU_TYPE_BITMASK, STAPA_HEADER_SIZE,
    STAPA_NALU_LENGTH_SIZE, STAPA_NALU_TYPE,
};
use rtc::rtp::packetizer::Depacketizer as _;

use crate::codec::{Codec, CodecError, Decoder as Decodes, Seen};
use crate::video::pattern::{self, Pattern};
use crate::video::{Picture, Size};

/// A slice of a picture that refers to no other (H.264, table 7-1).
const IDR: u8 = 5;
/// Of so many pictures one is compared with its original (ours: drawing that costs as much as decoding).
const COMPARED: u64 = 10;

/// Takes decoded pictures.
pub type Sink = Box<dyn FnMut(&Picture) -> Result<(), CodecError> + Send>;

/// A decoder that knows the test pattern.
pub struct Decoder {
    open: Open,
    picture: Picture,
    /// Pictures so far.
    count: u64,
    /// The pattern in the picture's size, and a picture to draw it in; made when first seen.
    original: Option<(Pattern, Picture)>,
    /// Gets each picture.
    sink: Option<Sink>,
}

impl core::fmt::Debug for Decoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Decoder")
            .field("size", &self.picture.size())
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl Decoder {
    /// A decoder that gives its pictures to `sink`.
    ///
    /// # Errors
    /// Where the library refuses.
    pub fn new(sink: Option<Sink>) -> Result<Self, CodecError> {
        // Each frame that goes in is whole, and comes out at once: what a flush would give is nothing.
        let config = DecoderConfig::new().flush_after_decode(Flush::NoFlush);
        let open = Open::with_api_config(OpenH264API::from_source(), config)
            .map_err(|e| failed(&e.to_string()))?;
        let nothing = Size {
            width: 0,
            height: 0,
        };
        Ok(Self {
            open,
            picture: Picture::black(nothing),
            count: 0,
            original: None,
            sink,
        })
    }

    fn psnr(&mut self) -> Option<f64> {
        let number = pattern::number(&self.picture)?;
        let size = self.picture.size();
        if self.original.as_ref().is_none_or(|(_, p)| p.size() != size) {
            self.original = Some((Pattern::new(size), Picture::black(size)));
        }
        let (pattern, original) = self.original.as_mut()?;
        pattern.draw(number, original);
        self.picture.psnr(original)
    }
}

impl Decodes for Decoder {
    fn codec(&self) -> Codec {
        Codec::H264
    }

    fn is_key(&self, payloads: &[Bytes]) -> bool {
        payloads.iter().any(|p| kinds(p).any(|kind| kind == IDR))
    }

    fn decode(&mut self, payloads: &[Bytes]) -> Result<Seen, CodecError> {
        let stream = unpacked(payloads)?;
        let decoded = self.open.decode(&stream);
        let decoded = decoded.map_err(|e| failed(&e.to_string()))?;
        let Some(decoded) = decoded else {
            return Err(failed("no picture"));
        };
        copy(&decoded, &mut self.picture);
        self.count += 1;
        if let Some(mut sink) = self.sink.take() {
            // One that fails gets no more, and says so once.
            sink(&self.picture)?;
            self.sink = Some(sink);
        }
        let compared = self.count % COMPARED == 1;
        Ok(Seen {
            psnr: if compared { self.psnr() } else { None },
        })
    }
}

fn failed(found: &str) -> CodecError {
    CodecError {
        during: "decoding H.264".to_owned(),
        found: found.to_owned(),
        expected: "a frame whose references are there",
    }
}

/// The payloads' NAL units as a stream of bytes (H.264, annex B).
fn unpacked(payloads: &[Bytes]) -> Result<Vec<u8>, CodecError> {
    // A new one for each frame: what a frame left unfinished is no part of the next.
    let mut packet = H264Packet::default();
    let mut stream = Vec::new();
    for payload in payloads {
        // The library reads beyond the end of one that is cut off.
        if payload
            .first()
            .is_some_and(|b| b & NALU_TYPE_BITMASK == STAPA_NALU_TYPE)
            && units(payload).any(|u| u.is_none())
        {
            return Err(failed("a STAP-A that ends inside of a unit"));
        }
        match packet.depacketize(payload) {
            Ok(bytes) => stream.extend_from_slice(&bytes),
            Err(e) => {
                return Err(failed(&format!(
                    "a payload of {} bytes: {e}",
                    payload.len()
                )));
            }
        }
    }
    Ok(stream)
}

/// The units of a STAP-A (RFC 6184, 5.7.1), the last of them `None` where the payload ends before it does.
fn units(payload: &[u8]) -> impl Iterator<Item = Option<&[u8]>> {
    let mut rest = payload.get(STAPA_HEADER_SIZE..).unwrap_or_default();
    core::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let whole =
            rest.split_first_chunk::<STAPA_NALU_LENGTH_SIZE>()
                .and_then(|(length, rest)| {
                    rest.split_at_checked(usize::from(u16::from_be_bytes(*length)))
                });
        let (unit, after) = whole.map_or((None, &[][..]), |(unit, after)| (Some(unit), after));
        rest = after;
        Some(unit)
    })
}

/// The types of the NAL units that start in `payload`.
fn kinds(payload: &[u8]) -> impl Iterator<Item = u8> {
    let kind = |unit: &[u8]| unit.first().map(|b| b & NALU_TYPE_BITMASK);
    let own = kind(payload);
    let (single, several) = match own {
        Some(STAPA_NALU_TYPE) => (None, payload),
        // S marks the first fragment (RFC 6184, 5.8).
        Some(FUA_NALU_TYPE) => {
            let header = payload.get(FUA_HEADER_SIZE - 1).filter(|b| *b & 0x80 != 0);
            (header.map(|b| b & NALU_TYPE_BITMASK), &[][..])
        }
        other => (other, &[][..]),
    };
    let several = units(several).flatten().filter_map(kind);
    single.into_iter().chain(several)
}

/// Copies a decoded picture without the gaps between its lines.
fn copy(decoded: &DecodedYUV<'_>, picture: &mut Picture) {
    let (width, height) = decoded.dimensions();
    // Planes of chroma have half of an even number of lines; H.264 crops by two (7.4.2.1.1).
    let size = Size {
        width: width & !1,
        height: height & !1,
    };
    if picture.size() != size {
        *picture = Picture::black(size);
    }
    let strides = decoded.strides();
    let (luma, chroma) = picture.bytes_mut().split_at_mut(size.luma());
    let (blue, red) = chroma.split_at_mut(size.luma() / 4);
    for (to, from, stride, line) in [
        (luma, decoded.y(), strides.0, size.width),
        (blue, decoded.u(), strides.1, size.width / 2),
        (red, decoded.v(), strides.2, size.width / 2),
    ] {
        for (to, from) in to
            .chunks_exact_mut(line.max(1))
            .zip(from.chunks(stride.max(1)))
        {
            to.copy_from_slice(&from[..line]);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slackwater_core::{Instant, Rate};
    use slackwater_transport::rtp::Wanted;

    use super::*;
    use crate::codec::Encoder as _;
    use crate::h264::Encoder;
    use crate::video::pattern::USUAL;

    fn frames(count: u64, room: usize) -> Vec<Vec<Bytes>> {
        let rate = Rate::from_mbps(2.0);
        let mut encoder = Encoder::new(Box::new(Pattern::new(USUAL)), 30.0, rate, rate).unwrap();
        let mut frame = |n: u64| {
            let captured = Instant::from_millis(1000 + n * 33);
            let wanted = Wanted::new(captured, rate, n == 0);
            encoder.encode(&wanted, room).unwrap().payloads
        };
        (0..count)
            .map(&mut frame)
            .filter(|f| !f.is_empty())
            .collect()
    }

    #[test]
    fn what_was_encoded_is_decoded_from_packets_of_any_size() {
        for room in [100, 1126, 60_000] {
            let mut decoder = Decoder::new(None).unwrap();
            let mut quality = Vec::new();
            for (n, frame) in frames(40, room).iter().enumerate() {
                assert_eq!(decoder.is_key(frame), n == 0);
                quality.extend(decoder.decode(frame).unwrap().psnr);
                assert!(pattern::number(&decoder.picture).is_some());
            }
            // 2 Mbit/s and noise: what the codec leaves is seen by a number, and far from another picture's.
            assert!(
                quality.len() == 4 && quality.iter().all(|q| (28.0..60.0).contains(q)),
                "{quality:?}"
            );
        }
    }

    #[test]
    fn a_sink_gets_each_picture() {
        let seen = std::sync::Arc::new(std::sync::atomic::AtomicU32::new(0));
        let inner = std::sync::Arc::clone(&seen);
        let sink: Sink = Box::new(move |picture| {
            assert_eq!(picture.size(), USUAL);
            inner.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            Ok(())
        });
        let mut decoder = Decoder::new(Some(sink)).unwrap();
        let frames = frames(10, 1126);
        for frame in &frames {
            decoder.decode(frame).unwrap();
        }
        assert_eq!(
            seen.load(std::sync::atomic::Ordering::Relaxed) as usize,
            frames.len()
        );
    }

    #[test]
    fn a_frame_without_its_reference_is_an_error() {
        let frames = frames(5, 1126);
        let mut decoder = Decoder::new(None).unwrap();
        assert!(decoder.decode(&frames[1]).is_err());
        decoder.decode(&frames[0]).unwrap();
        decoder.decode(&frames[1]).unwrap();
    }

    #[test]
    fn types_are_found_in_every_kind_of_payload() {
        let found = |payload: &[u8]| kinds(payload).collect::<Vec<_>>();
        assert_eq!(found(&[0x65, 1, 2]), [5]);
        assert_eq!(found(&[0x78, 0, 2, 0x67, 1, 0, 1, 0x68]), [7, 8]);
        assert_eq!(found(&[0x7c, 0x85, 1]), [5]);
        assert!(found(&[0x7c, 0x05, 1]).is_empty());
        assert!(found(&[0x78, 0, 9, 0x67]).is_empty());
        assert!(found(&[]).is_empty());
    }

    proptest! {
        /// Whatever a peer sends is decoded, or refused, without a panic.
        #[test]
        fn hostile_payloads_are_read_or_refused(
            first in prop_oneof![Just(0x78_u8), Just(0x7c), Just(0x67), Just(0x65), any::<u8>()],
            rests in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..60), 0..4),
        ) {
            let payload = |rest: &Vec<u8>| Bytes::from([&[first][..], rest].concat());
            let payloads: Vec<Bytes> = rests.iter().map(payload).collect();
            let mut decoder = Decoder::new(None).unwrap();
            let _ = decoder.is_key(&payloads);
            let _ = decoder.decode(&payloads);
        }
    }
}
