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
    /// Frames are the host's from now on: it calls [`RtpSender::due`] at each timer, and [`RtpSender::on_frame`] for each frame.
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

#[cfg(test)]
mod tests {
    use slackwater_control::build_media;
    use slackwater_control::registry::Config;
    use slackwater_core::{Body, Draw, Duration, FlowId};

    use super::super::super::{Rtcp, RtpConfig};
    use super::*;

    fn sender() -> RtpSender {
        let draw = Draw::new(1);
        let config = RtpConfig::default();
        let controller = build_media("gcc", &Config::new(1150, draw)).unwrap();
        let mut sender = RtpSender::new(
            FlowId(0),
            false,
            &config,
            controller,
            Instant::ZERO,
            Instant::MAX,
            draw,
        );
        sender.encode_outside();
        sender
    }

    /// The next frame that is due, at its time.
    fn next(sender: &mut RtpSender, now: &mut Instant, out: &mut Vec<Packet>) -> Wanted {
        loop {
            *now = sender.next_timer().unwrap().max(*now);
            sender.on_timer(*now, out);
            if let Some(wanted) = sender.due(*now) {
                return wanted;
            }
        }
    }

    #[test]
    fn frames_have_the_hosts_lengths_and_those_left_out_no_number() {
        let (mut sender, mut now, mut out) = (sender(), Instant::ZERO, Vec::new());
        for (lengths, number) in [
            (&[1000, 7][..], Some(0)),
            (&[], None),
            (&[], None),
            (&[300], Some(1)),
        ] {
            let wanted = next(&mut sender, &mut now, &mut out);
            let given = sender.on_frame(now, &wanted, wanted.key, lengths, &mut out);
            assert_eq!(given, number);
        }
        for _ in 0..20 {
            now += Duration::from_millis(10);
            sender.on_timer(now, &mut out);
        }
        let media = out.iter().map(|packet| match &packet.body {
            Body::Media(m) => (m.frame, m.index, m.packets, m.payload),
            other => panic!("{other:?}"),
        });
        // Padding is of no frame.
        let media: Vec<_> = media.filter(|m| m.2 > 0).collect();
        assert_eq!(media, [(0, 0, 2, 1000), (0, 1, 2, 7), (1, 0, 1, 300)]);
        let stats = sender.stats();
        assert_eq!((stats.frames, stats.skipped), (4, 2));
    }

    #[test]
    fn a_key_frame_is_wanted_until_there_is_one() {
        let (mut sender, mut now, mut out) = (sender(), Instant::ZERO, Vec::new());
        let mut keys = Vec::new();
        for n in 0..6 {
            let wanted = next(&mut sender, &mut now, &mut out);
            keys.push(wanted.key);
            // The first is left out, and so is the one that a PLI requests.
            let lengths = if n == 0 || n == 3 { &[][..] } else { &[500] };
            let key = wanted.key && !lengths.is_empty();
            sender.on_frame(now, &wanted, key, lengths, &mut out);
            if n == 2 {
                sender.on_message(now, &Rtcp::Pli, &mut out);
            }
        }
        assert_eq!(keys, [true, true, false, true, true, false]);
    }
}
