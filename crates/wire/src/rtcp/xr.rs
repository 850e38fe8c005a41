//! Extended reports (RFC 3611): the two blocks by which a receiver that sends no media measures its round trip.

use super::{Body, kind, packet};
use crate::WireError;

/// Block types (RFC 3611, 4.4 and 4.5).
mod block {
    pub(super) const RECEIVER_REFERENCE_TIME: u8 = 4;
    pub(super) const DLRR: u8 = 5;
}

/// Words of a receiver reference time, and of one entry of a DLRR block (RFC 3611, 4.4 and 4.5).
const REFERENCE_WORDS: u16 = 2;
const DLRR_WORDS: u16 = 3;
/// Entries that a datagram of UDP holds at most, 12 octets each.
const DLRR_MAX: usize = 65_535 / 12;

/// An extended report. Blocks of other types are passed over, and are not encoded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExtendedReport {
    /// Who reports.
    pub ssrc: u32,
    /// When it was made, by the reporter's clock: NTP time, 32.32 (RFC 3611, 4.4).
    pub reference: Option<u64>,
    /// How long ago reference times of others came (RFC 3611, 4.5); those that no datagram holds are not encoded.
    pub dlrr: Vec<Dlrr>,
}

/// The delay since the last receiver reference time of one receiver.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dlrr {
    /// The receiver.
    pub ssrc: u32,
    /// The middle 32 bits of its last reference time; zero: none came.
    pub last_rr: u32,
    /// Time since it came in 1/65536 s; zero where none did.
    pub delay: u32,
}

impl ExtendedReport {
    pub(super) fn decode(body: &mut Body<'_>) -> Result<Self, WireError> {
        let mut report = Self {
            ssrc: body.u32("an SSRC")?,
            ..Self::default()
        };
        while !body.bytes.is_empty() {
            let [kind, _] = body.take("a block's type")?;
            let words = body.u16("a block's length")?;
            let at = body.at;
            let mut content = Body {
                bytes: body.slice(usize::from(words) * 4, "a block")?,
                at,
            };
            match (kind, words) {
                (block::RECEIVER_REFERENCE_TIME, REFERENCE_WORDS) => {
                    report.reference = Some(content.take("an NTP time").map(u64::from_be_bytes)?);
                }
                (block::DLRR, _) if words % DLRR_WORDS == 0 => {
                    for _ in 0..words / DLRR_WORDS {
                        report.dlrr.push(Dlrr {
                            ssrc: content.u32("a receiver's SSRC")?,
                            last_rr: content.u32("the time of the last RR")?,
                            delay: content.u32("the delay since the last RR")?,
                        });
                    }
                }
                (block::RECEIVER_REFERENCE_TIME | block::DLRR, _) => {
                    return Err(WireError::new(
                        at - 2,
                        format!("a block of type {kind} with {words} words"),
                        "2 words of a reference time, or 3 for each delay",
                    ));
                }
                _ => {}
            }
        }
        Ok(report)
    }

    /// Appends the report.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let dlrr = &self.dlrr[..self.dlrr.len().min(DLRR_MAX)];
        packet(kind::EXTENDED_REPORT, 0, false, out, |out| {
            out.extend(self.ssrc.to_be_bytes());
            if let Some(reference) = self.reference {
                out.extend([block::RECEIVER_REFERENCE_TIME, 0]);
                out.extend(REFERENCE_WORDS.to_be_bytes());
                out.extend(reference.to_be_bytes());
            }
            if !dlrr.is_empty() {
                out.extend([block::DLRR, 0]);
                out.extend((dlrr.len() as u16 * DLRR_WORDS).to_be_bytes());
                for entry in dlrr {
                    out.extend(entry.ssrc.to_be_bytes());
                    out.extend(entry.last_rr.to_be_bytes());
                    out.extend(entry.delay.to_be_bytes());
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Message, messages};
    use super::*;

    fn read(bytes: &[u8]) -> Result<ExtendedReport, WireError> {
        match messages(bytes).next().expect("a packet")? {
            Message::ExtendedReport(report) => Ok(report),
            other => panic!("{other:?}"),
        }
    }

    /// Both layouts, octet by octet from the figures of RFC 3611, 2, 4.4 and 4.5.
    #[test]
    fn blocks_have_the_layout_of_the_rfc() {
        let report = ExtendedReport {
            ssrc: 1,
            reference: Some(0x0102_0304_0506_0708),
            dlrr: vec![Dlrr {
                ssrc: 7,
                last_rr: 0x0304_0506,
                delay: 0x8000,
            }],
        };
        let mut bytes = Vec::new();
        report.encode(&mut bytes);
        let expected = [
            0x80, 207, 0, 8, 0, 0, 0, 1, // header, SSRC
            4, 0, 0, 2, 1, 2, 3, 4, 5, 6, 7, 8, // reference time
            5, 0, 0, 3, 0, 0, 0, 7, 3, 4, 5, 6, 0, 0, 0x80, 0, // delay
        ];
        assert_eq!(bytes, expected);
        assert_eq!(read(&bytes).unwrap(), report);
    }

    #[test]
    fn other_blocks_are_passed_over_and_wrong_lengths_refused() {
        // A statistics summary (4.6) of nine words stands in front of a reference time.
        let mut bytes = vec![0x80, 207, 0, 14, 0, 0, 0, 1, 6, 0, 0, 9];
        bytes.extend([0; 36]);
        bytes.extend([4, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 9]);
        assert_eq!(read(&bytes).unwrap().reference, Some(9));

        for (kind, words) in [(4, 1), (5, 2)] {
            let mut bytes = vec![0x80, 207, 0, 2 + words, 0, 0, 0, 1, kind, 0, 0, words];
            bytes.extend(vec![0; usize::from(words) * 4]);
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.contains(&format!("type {kind}")), "{error}");
        }
        let cut = [0x80, 207, 0, 2, 0, 0, 0, 1, 4, 0, 0, 2];
        assert!(read(&cut).unwrap_err().to_string().contains("a block"));
    }
}
