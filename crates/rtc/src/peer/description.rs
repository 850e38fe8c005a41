//! Session descriptions (SDP): what of them is refused, what they agree on, and what the stack is told to write.

use rtc::peer_connection::configuration::media_engine::{
    MIME_TYPE_H264, MIME_TYPE_RTX, MIME_TYPE_VP8,
};
use rtc::rtp_transceiver::rtp_sender::{RTCPFeedback, RTCRtpCodec, RTCRtpCodecParameters};
use slackwater_transport::rtp::Format;

use super::RtcError;
use crate::codec::Codec;
use crate::label;
use crate::level::Level;

/// The extension with the transport-wide number (draft-holmer-rmcat-transport-wide-cc-extensions-01, 2).
pub(super) const TRANSPORT_CC: &str =
    "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01";
/// The payload types that we offer for VP8 and H.264; an answer keeps the offer's.
const VP8: u8 = 96;
const H264: u8 = 102;
/// The payload types of their retransmissions.
const VP8_AGAIN: u8 = 97;
const H264_AGAIN: u8 = 103;
/// What descriptions call retransmissions (RFC 4588, 8.6).
const RTX: &str = "rtx/90000";
/// Offers and answers are no longer (ours; Chromium's have 6 kB).
pub const LONGEST_SDP: usize = 64 << 10;

/// The format of reports that the offer `sdp` allows: RFC 8888 where it names it, else transport-wide ones.
pub fn format_of(sdp: &str) -> Format {
    let ccfb =
        |line: &str| line.starts_with("a=rtcp-fb:") && line.trim_end().ends_with(" ack ccfb");
    if sdp.lines().any(ccfb) {
        Format::Ccfb
    } else {
        Format::Twcc
    }
}

/// Numbers that a description gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Agreed {
    /// Payload type of VP8.
    pub(crate) vp8: Option<u8>,
    /// Payload type of H.264.
    pub(crate) h264: Option<u8>,
    /// Payload type of retransmissions of VP8.
    pub(crate) vp8_again: Option<u8>,
    /// Payload type of retransmissions of H.264.
    pub(crate) h264_again: Option<u8>,
    /// Number of the extension with the transport-wide number.
    pub(crate) extension: Option<u8>,
    /// Number of the extension with our label.
    pub(crate) label: Option<u8>,
}

impl Agreed {
    pub(super) fn of(sdp: &str) -> Self {
        let number = |key: &str, named: &str| {
            let mut lines = sdp.lines().filter_map(|line| line.strip_prefix(key));
            lines.find_map(|line| {
                let (number, name) = line.trim_end().split_once(' ')?;
                // A direction may stand behind the number (RFC 8285, 5).
                let number = number.split('/').next()?;
                (name == named).then(|| number.parse().ok())?
            })
        };
        let vp8 = number("a=rtpmap:", Codec::Vp8.name());
        let h264 = number("a=rtpmap:", Codec::H264.name());
        Self {
            vp8,
            h264,
            vp8_again: vp8.and_then(|codec| again(sdp, codec)),
            h264_again: h264.and_then(|codec| again(sdp, codec)),
            extension: number("a=extmap:", TRANSPORT_CC),
            label: number("a=extmap:", label::URI),
        }
    }

    /// Retransmissions take place where the description of the other end names them too, with the numbers of that.
    pub(super) fn both(self, other: Self) -> Self {
        Self {
            vp8_again: self.vp8_again.and(other.vp8_again),
            h264_again: self.h264_again.and(other.h264_again),
            ..self
        }
    }

    /// The payload type of retransmissions of `codec`.
    pub(crate) const fn again(self, codec: Codec) -> Option<u8> {
        match codec {
            Codec::Vp8 => self.vp8_again,
            Codec::H264 => self.h264_again,
        }
    }

    /// What packets of payload type `again` are retransmissions of.
    pub(crate) fn of_again(self, again: u8) -> Option<u8> {
        let codecs = [Codec::Vp8, Codec::H264].into_iter();
        let mut codecs = codecs.filter(|c| self.again(*c) == Some(again));
        codecs.find_map(|c| self.payload_type_of(c))
    }

    /// The payload type of `codec`, where it is named.
    pub(crate) const fn payload_type_of(self, codec: Codec) -> Option<u8> {
        match codec {
            Codec::Vp8 => self.vp8,
            Codec::H264 => self.h264,
        }
    }

    /// The payload type to send `codec` with.
    pub(crate) fn payload_type(self, codec: Codec) -> u8 {
        self.payload_type_of(codec).unwrap_or(match codec {
            Codec::Vp8 => VP8,
            Codec::H264 => H264,
        })
    }
}

/// The payload type of retransmissions of payload type `codec` in `sdp` (RFC 4588, 8.6: `apt`).
fn again(sdp: &str, codec: u8) -> Option<u8> {
    let associated = |line: &str| {
        let (number, form) = line.strip_prefix("a=fmtp:")?.trim_end().split_once(' ')?;
        let mut parameters = form.split(';');
        let apt = parameters.find_map(|p| p.trim().strip_prefix("apt="))?;
        (apt.parse() == Ok(codec)).then(|| number.parse().ok())?
    };
    let named = |number: &u8| {
        sdp.lines()
            .any(|l| l.trim_end() == format!("a=rtpmap:{number} {RTX}"))
    };
    sdp.lines().filter_map(associated).find(named)
}

fn feedback(typ: &str, parameter: &str) -> RTCPFeedback {
    RTCPFeedback {
        typ: typ.to_owned(),
        parameter: parameter.to_owned(),
    }
}

/// What the stack is told of retransmissions of `codec`.
pub(super) fn repair(codec: Codec, format: Format) -> RTCRtpCodecParameters {
    // Chromium reports by RFC 8888 where each payload type of a description names it.
    let reports = (format == Format::Ccfb).then(|| feedback("ack", "ccfb"));
    let (payload_type, of) = match codec {
        Codec::Vp8 => (VP8_AGAIN, VP8),
        Codec::H264 => (H264_AGAIN, H264),
    };
    RTCRtpCodecParameters {
        rtp_codec: RTCRtpCodec {
            mime_type: MIME_TYPE_RTX.to_owned(),
            clock_rate: 90_000,
            channels: 0,
            sdp_fmtp_line: format!("apt={of}"),
            rtcp_feedback: reports.into_iter().collect(),
        },
        payload_type,
    }
}

/// Constrained baseline at `level`, fragments allowed (RFC 6184, 8.1). An answer keeps them, but for the level (8.2.2).
fn h264_form(level: Level) -> String {
    let idc = level.idc();
    format!("level-asymmetry-allowed=1;packetization-mode=1;profile-level-id=42e0{idc:02x}")
}

/// `level_idc` of payload type `number` in `sdp`: what of H.264 its end decodes, or sends where it only sends (RFC 6184, 8.1 and 8.2.2).
pub(super) fn level_of(sdp: &str, number: u8) -> u8 {
    let form = |line: &str| {
        let (of, form) = line.strip_prefix("a=fmtp:")?.trim_end().split_once(' ')?;
        (of.parse() == Ok(number)).then(|| form.to_owned())
    };
    let form = sdp.lines().find_map(form).unwrap_or_default();
    let mut parameters = form.split(';');
    let id = parameters.find_map(|p| p.trim().strip_prefix("profile-level-id="));
    let idc = id.and_then(|id| u8::from_str_radix(id.get(4..6)?, 16).ok());
    // Level 1 is meant where none is named.
    idc.unwrap_or(10)
}

/// What the stack is told of `codec`, whose stream is reported in this format.
/// `repaired`: packets that are missing are sent again. `level`: of H.264 alone.
pub(super) fn parameters(
    codec: Codec,
    format: Format,
    repaired: bool,
    level: Level,
) -> RTCRtpCodecParameters {
    let reports = match format {
        // RFC 8888, 6.
        Format::Ccfb => feedback("ack", "ccfb"),
        Format::Twcc => feedback("transport-cc", ""),
    };
    // RFC 4585, 4.2; RFC 5104, 7.1.
    let mut requests = vec![reports, feedback("nack", "pli"), feedback("ccm", "fir")];
    if repaired {
        requests.push(feedback("nack", ""));
    }
    let (mime_type, form, payload_type) = match codec {
        Codec::Vp8 => (MIME_TYPE_VP8, String::new(), VP8),
        Codec::H264 => (MIME_TYPE_H264, h264_form(level), H264),
    };
    RTCRtpCodecParameters {
        rtp_codec: RTCRtpCodec {
            mime_type: mime_type.to_owned(),
            clock_rate: 90_000,
            channels: 0,
            sdp_fmtp_line: form,
            rtcp_feedback: requests,
        },
        payload_type,
    }
}

/// A description of a length that the stack is given, with a codec of ours.
pub(super) fn checked(sdp: &str, codecs: &[Codec]) -> Result<String, RtcError> {
    if sdp.len() > LONGEST_SDP {
        return Err(RtcError::Description {
            found: format!("{} bytes", sdp.len()),
            expected: "at most 65,536",
        });
    }
    let media = |line: &str| line.starts_with("m=video ");
    if !sdp.starts_with("v=0") || !sdp.lines().any(media) {
        return Err(RtcError::Description {
            found: sdp
                .lines()
                .next()
                .unwrap_or("nothing")
                .chars()
                .take(60)
                .collect(),
            expected: "v=0 and a section m=video",
        });
    }
    let ours = |line: &str| {
        let name = line
            .strip_prefix("a=rtpmap:")
            .and_then(|l| l.trim_end().split_once(' '));
        name.is_some_and(|(_, name)| codecs.iter().any(|c| c.name() == name))
    };
    if !sdp.lines().any(ours) {
        return Err(RtcError::Description {
            found: named(sdp),
            expected: match codecs {
                [Codec::H264] => "H264/90000, of a browser or of a build with the feature h264",
                [Codec::Vp8] => "VP8/90000; H264/90000 takes a build with the feature h264",
                _ => "VP8/90000 or H264/90000",
            },
        });
    }
    Ok(sdp.to_owned())
}

/// The codecs of video that `sdp` names, each once.
fn named(sdp: &str) -> String {
    let mut names: Vec<&str> = Vec::new();
    for line in sdp.lines() {
        let name = line
            .strip_prefix("a=rtpmap:")
            .and_then(|l| l.trim_end().split_once(' '));
        if let Some((_, name)) = name
            && name != RTX
            && !names.contains(&name)
        {
            names.push(name);
        }
    }
    if names.is_empty() {
        "no codec".to_owned()
    } else {
        names.join(", ").chars().take(200).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_offer_says_which_reports_it_allows() {
        let sdp = "v=0\r\nm=video 9\r\na=rtcp-fb:96 nack pli\r\na=rtcp-fb:96 ack ccfb\r\n";
        assert_eq!(format_of(sdp), Format::Ccfb);
        assert_eq!(format_of("a=rtcp-fb:* transport-cc"), Format::Twcc);
    }

    #[test]
    fn numbers_are_those_of_the_description() {
        let sdp = format!(
            "a=rtpmap:97 rtx/90000\r\na=rtpmap:120 VP8/90000\r\na=extmap:3/sendonly {TRANSPORT_CC}\r\n"
        );
        let agreed = Agreed {
            vp8: Some(120),
            h264: None,
            vp8_again: None,
            h264_again: None,
            extension: Some(3),
            label: None,
        };
        assert_eq!(Agreed::of(&sdp), agreed);
        assert_eq!(agreed.payload_type(Codec::Vp8), 120);
        assert_eq!(agreed.payload_type(Codec::H264), H264);
        assert_eq!(Agreed::of("a=rtpmap:x VP8/90000").vp8, None);
    }

    #[test]
    fn retransmissions_are_named_by_both_ends_or_do_not_take_place() {
        // As Chromium and Firefox have it.
        let sdp = "a=rtpmap:96 VP8/90000\r\na=rtpmap:97 rtx/90000\r\na=fmtp:97 apt=96\r\na=rtpmap:103 H264/90000\r\n\
                   a=rtpmap:104 rtx/90000\r\na=fmtp:104 rtx-time=3000; apt=103\r\na=fmtp:98 apt=96\r\n";
        let both = Agreed::of(sdp);
        assert_eq!((both.vp8_again, both.h264_again), (Some(97), Some(104)));
        assert_eq!(
            (both.of_again(97), both.of_again(104)),
            (Some(96), Some(103))
        );
        assert_eq!(both.of_again(96), None);

        let only_vp8 =
            Agreed::of("a=rtpmap:96 VP8/90000\r\na=rtpmap:99 rtx/90000\r\na=fmtp:99 apt=96\r\n");
        let agreed = both.both(only_vp8);
        assert_eq!((agreed.vp8_again, agreed.h264_again), (Some(99), None));
        let without = both.both(Agreed::of("a=rtpmap:96 VP8/90000\r\na=fmtp:97 apt=96\r\n"));
        assert_eq!((without.vp8_again, without.h264_again), (None, None));
    }

    #[test]
    fn both_payload_types_name_the_reports_with_marks() {
        let names = |parameters: RTCRtpCodecParameters| {
            let mut feedback = parameters.rtp_codec.rtcp_feedback.iter();
            feedback.any(|f| f.typ == "ack" && f.parameter == "ccfb")
        };
        for codec in [Codec::Vp8, Codec::H264] {
            for (format, named) in [(Format::Ccfb, true), (Format::Twcc, false)] {
                assert_eq!(names(parameters(codec, format, true, Level::LEAST)), named);
                assert_eq!(names(repair(codec, format)), named);
            }
        }
    }

    #[test]
    fn the_level_of_a_description_is_that_of_its_payload_type() {
        let level = Level::named(40).unwrap();
        let ours = parameters(Codec::H264, Format::Ccfb, true, level);
        assert!(
            ours.rtp_codec
                .sdp_fmtp_line
                .ends_with("profile-level-id=42e028")
        );
        // As Chromium and Firefox have it.
        let sdp = "a=fmtp:102 profile-level-id=64001f;packetization-mode=1\r\n\
                   a=fmtp:104 level-asymmetry-allowed=1; profile-level-id=42E033\r\na=fmtp:105 packetization-mode=1\r\n";
        assert_eq!(
            [102, 104, 105, 106].map(|n| level_of(sdp, n)),
            [31, 51, 10, 10]
        );
        assert_eq!(level_of("a=fmtp:102 profile-level-id=42e0\u{e4}", 102), 10);
    }

    #[test]
    fn a_description_without_our_codec_is_refused_by_name() {
        let sdp =
            "v=0\r\nm=video 9 RTP/SAVPF 45\r\na=rtpmap:45 AV1/90000\r\na=rtpmap:46 rtx/90000\r\n";
        for (codecs, expected) in [
            (&[Codec::Vp8][..], "expected VP8/90000"),
            (&[Codec::H264], "expected H264/90000"),
            (
                &[Codec::Vp8, Codec::H264],
                "expected VP8/90000 or H264/90000",
            ),
        ] {
            let error = checked(sdp, codecs).unwrap_err().to_string();
            assert!(
                error.contains("found AV1/90000, expected") && error.contains(expected),
                "{error}"
            );
        }
    }
}
