//! Frames of a host's encoder in place of the synthetic ones: the sender says when one is due and how large, the host
//! gives the lengths of its packets.

use slackwater_core::{Instant, Rate};

use super::{Encoded, Packet, RtpSender};

/// A frame that the host is to encode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Wanted {
    /// When it was captured.
    pub captured: Instant,
    /// Payload rate that the encoder is to have from this frame on.
    pub target: Rate,
    /// It is to be a key frame.
    pub key: bool,
}

impl Wanted {
    /// A frame that was captured at `captured`, for an encoder that is tested alone.
    pub const fn new(captured: Instant, target: Rate, key: bool) -> Self {
        Self {
            captured,
            target,
            key,
        }
    }
}

impl RtpSender {
    /// Frames are the host's from now on: it asks [`RtpSender::due`] at each timer, and answers by [`RtpSender::on_frame`].
    pub const fn encode_outside(&mut self) {
        self.outside = true;
    }

    /// The next frame that is due. It may be given at a later call: encoding takes time.
    pub fn due(&mut self, now: Instant) -> Option<Wanted> {
        self.source.next().filter(|t| *t <= now && self.outside)?;
        let target = self.headroom(self.target());
        let frame = self.source.take(target);
        self.stats.frames += 1;
        Some(Wanted {
            captured: frame.captured,
            target: self.encoder_rate(),
            key: frame.key,
        })
    }

    /// The host encoded `wanted` into packets of these payload bytes; none: it left the frame out. `key`: it is a key frame.
    /// Returns the number that its packets have.
    ///
    /// A frame that is left out takes no number: receivers take a missing one for lost. A key frame that was wanted is
    /// wanted again then.
    pub fn on_frame(
        &mut self,
        now: Instant,
        wanted: &Wanted,
        key: bool,
        packets: &[u16],
        out: &mut Vec<Packet>,
    ) -> Option<u32> {
        if wanted.key && !key {
            self.source.want_key();
        }
        let bytes = packets.iter().map(|p| u64::from(*p)).sum();
        self.count_usage(wanted.target, bytes);
        let number = (!packets.is_empty()).then_some(self.frame);
        if packets.is_empty() {
            self.stats.skipped += 1;
        } else {
            let frame = Encoded {
                number: self.frame,
                captured: wanted.captured,
                bytes,
                key,
            };
            self.frame = self.frame.wrapping_add(1);
            self.enqueue(frame, packets.len() as u32, packets.iter().copied());
        }
        self.set_pace(now);
        self.transmit(now, out);
        number
    }
}
