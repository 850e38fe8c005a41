//! A base station's counters of one flow in a UDP payload of their own (docs/wire.md, "Counters of a flow"), with a tag where
//! both sides have a key.
//!
//! | octets | plain | keyed |
//! |---|---|---|
//! | 0- | head and key of the flow, as those of [`Datagram`], of version 2 | of version 3 |
//! | 24 | [`Counters`] | [`Counters`] |
//! | 8 | | serial number: the base station's clock, us since 1970, never twice the same |
//! | 16 | | the first half of HMAC-SHA-256 (RFC 2104, 5; RFC 4868, 2.6) over all octets before it |
//!
//! A tag alone would let an old report pass again after its base station has started anew, since that one's counters begin
//! anew too: the serial number orders all that one key has signed. A report that an earlier one has overtaken is not missed,
//! since counters are sums.

mod serials;
mod signer;

use std::net::SocketAddr;

use ring::hmac;
use slackwater_signal::{Counters, PathReport, ReportBody};
use slackwater_wire::WireError;
use slackwater_wire::report::{Datagram, FlowKey};

pub(crate) use self::serials::{Budget, Serials};
pub(crate) use self::signer::Signer;
use crate::LiveError;

const PLAIN: u8 = 2;
const KEYED: u8 = 3;
/// Where the head has its version.
const VERSION_AT: usize = 4;
/// Octets of the counters.
const COUNTERS: usize = 24;
/// Octets of the counters that stand where [`Datagram`] has its body.
const BODY: usize = 8;
const SERIAL: usize = 8;
const TAG: usize = 16;
/// The shortest key: as long as the tag, below which the tag would promise more than the key holds.
const LEAST_KEY: usize = TAG;

/// What came to a socket of reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Heard {
    /// Reports that a controller was told.
    pub told: u64,
    /// Datagrams that were no report.
    pub malformed: u64,
    /// Reports of connections that are not there.
    pub strangers: u64,
    /// Reports without the tag that the key gives, or that passed before.
    pub forged: u64,
    /// Datagrams beyond what is read in a second.
    pub flooded: u64,
}

/// What base station and sender share.
#[derive(Clone)]
pub struct Key(hmac::Key);

impl core::fmt::Debug for Key {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("Key(..)")
    }
}

impl Key {
    /// The key of `octets`.
    ///
    /// # Errors
    /// Where there are less than 16 of them.
    pub fn new(octets: &[u8]) -> Result<Self, LiveError> {
        if octets.len() < LEAST_KEY {
            return Err(LiveError::Usage(format!(
                "key of reports: found {} octets, expected {LEAST_KEY} at least",
                octets.len()
            )));
        }
        Ok(Self(hmac::Key::new(hmac::HMAC_SHA256, octets)))
    }

    /// The key in the file `path`, whose white space at the end is no part of it.
    ///
    /// # Errors
    /// Where the file cannot be read or is too short.
    pub fn read(path: &std::path::Path) -> Result<Self, LiveError> {
        let octets = std::fs::read(path)
            .map_err(|e| LiveError::kernel(format!("cannot read {}", path.display()), e))?;
        Self::new(octets.trim_ascii_end())
    }

    fn tag(&self, octets: &[u8]) -> [u8; TAG] {
        let whole = hmac::sign(&self.0, octets);
        let mut tag = [0; TAG];
        tag.copy_from_slice(&whole.as_ref()[..TAG]);
        tag
    }
}

/// Why a report counts for nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// It is none.
    #[error(transparent)]
    Malformed(#[from] WireError),
    /// Counters of another version.
    #[error("found counters of another version, expected version 1")]
    Version,
    /// No tag, where there is a key; or one, where there is none.
    #[error("found a report {0} a tag")]
    Form(&'static str),
    /// Its tag is not what the key gives.
    #[error("the tag does not belong to the report")]
    Forged,
}

impl Refusal {
    /// It lacks the tag that it must have, or has one that it must not, or a wrong one.
    pub(crate) const fn is_forgery(&self) -> bool {
        matches!(self, Self::Forged | Self::Form(_))
    }
}

/// Counters of a flow on their way to its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterReport {
    /// The flow.
    pub flow: FlowKey,
    /// What was counted.
    pub counters: Counters,
    /// Orders what one key has signed; none without a key.
    pub serial: Option<u64>,
}

impl CounterReport {
    /// The UDP payload with the `octets` of [`Counters::encode`]; with a tag where there is a `key` and a serial number.
    pub fn seal(flow: FlowKey, octets: [u8; COUNTERS], key: Option<(&Key, u64)>) -> Vec<u8> {
        let (first, rest) = octets.split_at(BODY);
        let body = ReportBody(first.try_into().expect("split at eight"));
        let mut out = Vec::with_capacity(96);
        Datagram { flow, body }.encode(&mut out);
        out[VERSION_AT] = if key.is_some() { KEYED } else { PLAIN };
        out.extend(rest);
        if let Some((key, serial)) = key {
            out.extend(serial.to_be_bytes());
            let tag = key.tag(&out);
            out.extend(tag);
        }
        out
    }

    /// True where `bytes` say that they are such a report.
    pub fn is_one(bytes: &[u8]) -> bool {
        matches!(bytes.get(VERSION_AT), Some(&(PLAIN | KEYED)))
    }

    /// Reads a UDP payload. With a `key` it must have its tag; the caller holds [`CounterReport::serial`] against the last one.
    ///
    /// # Errors
    /// Where it is no report, or the tag is missing or wrong.
    pub fn open(bytes: &[u8], key: Option<&Key>) -> Result<Self, Refusal> {
        let keyed = bytes.get(VERSION_AT) == Some(&KEYED);
        let (signed, serial) = match (keyed, key) {
            (false, None) => (bytes, None),
            (true, None) => return Err(Refusal::Form("with")),
            (false, Some(_)) => return Err(Refusal::Form("without")),
            (true, Some(key)) => {
                let at = bytes.len().saturating_sub(TAG);
                let (signed, tag) = bytes.split_at(at);
                // In the same time wherever they differ.
                let pairs = key.tag(signed).into_iter().zip(tag.iter().copied());
                let differ = pairs.fold(0, |sum, (a, b)| sum | (a ^ b));
                if differ != 0 || tag.len() != TAG {
                    return Err(Refusal::Forged);
                }
                let (signed, serial) = signed.split_at(signed.len().saturating_sub(SERIAL));
                (
                    signed,
                    <[u8; SERIAL]>::try_from(serial)
                        .ok()
                        .map(u64::from_be_bytes),
                )
            }
        };
        let (head, rest) = signed.split_at(signed.len().saturating_sub(COUNTERS - BODY));
        let mut head = head.to_vec();
        if let Some(version) = head
            .get_mut(VERSION_AT)
            .filter(|v| matches!(**v, PLAIN | KEYED))
        {
            *version = 1;
        } else if let Some(version) = head.get_mut(VERSION_AT) {
            *version = 0;
        }
        let Datagram { flow, body } = Datagram::decode(&head)?;
        let mut octets = [0; COUNTERS];
        octets[..BODY].copy_from_slice(&body.0);
        octets[BODY..].copy_from_slice(rest);
        let counters = Counters::decode(&octets).ok_or(Refusal::Version)?;
        Ok(Self {
            flow,
            counters,
            serial,
        })
    }
}

/// What a socket of reports got.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Report {
    /// The flow.
    pub(crate) flow: FlowKey,
    /// What is reported of it.
    pub(crate) body: PathReport,
    /// Orders what one key has signed; none without a key.
    pub(crate) serial: Option<u64>,
}

impl Report {
    /// Reads counters, which must have the tag that `key` gives, or a report of eight octets, which has none.
    ///
    /// # Errors
    /// Where it is neither, or the tag is missing or wrong.
    pub(crate) fn open(bytes: &[u8], key: Option<&Key>) -> Result<Self, Refusal> {
        if CounterReport::is_one(bytes) {
            let read = CounterReport::open(bytes, key)?;
            return Ok(Self {
                flow: read.flow,
                body: PathReport::Counters(read.counters),
                serial: read.serial,
            });
        }
        let Datagram { flow, body } = Datagram::decode(bytes)?;
        let body = body.report().ok_or(Refusal::Version)?;
        Ok(Self {
            flow,
            body,
            serial: None,
        })
    }
}

impl Heard {
    /// [`Report::open`], and the address that the reported flow goes to; `None` is counted here.
    pub(crate) fn open(&mut self, bytes: &[u8], key: Option<&Key>) -> Option<(SocketAddr, Report)> {
        match Report::open(bytes, key) {
            Ok(report) => {
                if let FlowKey::FiveTuple(tuple) = report.flow {
                    let to = SocketAddr::new(tuple.destination, tuple.destination_port);
                    return Some((to, report));
                }
                self.strangers += 1;
            }
            Err(refused) if refused.is_forgery() => self.forged += 1,
            Err(_) => self.malformed += 1,
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use slackwater_wire::report::FiveTuple;

    use super::*;

    fn flow() -> FlowKey {
        FlowKey::FiveTuple(FiveTuple {
            source: "192.0.2.1".parse().unwrap(),
            destination: "10.0.0.7".parse().unwrap(),
            source_port: 4433,
            destination_port: 50_000,
            protocol: 17,
        })
    }

    fn counters() -> Counters {
        Counters {
            stamp: 77,
            gone: 123_456,
            offered: 234_567,
            backlog: 3_000,
            active: 2,
            instance: 5,
            ..Counters::default()
        }
    }

    fn key(n: u8) -> Key {
        Key::new(&[n; 16]).unwrap()
    }

    #[test]
    fn plain_reports_have_44_octets_and_keyed_ones_68() {
        let plain = CounterReport::seal(flow(), counters().encode(), None);
        assert_eq!((plain.len(), plain[4]), (44, PLAIN));
        let read = CounterReport::open(&plain, None).unwrap();
        assert_eq!(
            (read.flow, read.counters, read.serial),
            (flow(), counters(), None)
        );

        let keyed = CounterReport::seal(flow(), counters().encode(), Some((&key(1), 99)));
        assert_eq!((keyed.len(), keyed[4]), (68, KEYED));
        let read = CounterReport::open(&keyed, Some(&key(1))).unwrap();
        assert_eq!((read.counters, read.serial), (counters(), Some(99)));
        assert!(CounterReport::is_one(&plain) && CounterReport::is_one(&keyed));
        // Those of eight octets are none.
        let mut other = Vec::new();
        Datagram {
            flow: flow(),
            body: ReportBody([1; 8]),
        }
        .encode(&mut other);
        assert!(!CounterReport::is_one(&other) && CounterReport::open(&other, None).is_err());
    }

    #[test]
    fn with_a_key_no_octet_can_be_changed_and_no_tag_left_out() {
        let keyed = CounterReport::seal(flow(), counters().encode(), Some((&key(1), 99)));
        for at in 0..keyed.len() {
            let mut forged = keyed.clone();
            forged[at] ^= 1;
            assert!(
                CounterReport::open(&forged, Some(&key(1))).is_err(),
                "octet {at}"
            );
        }
        for cut in 0..keyed.len() {
            assert!(
                CounterReport::open(&keyed[..cut], Some(&key(1))).is_err(),
                "{cut}"
            );
        }
        let plain = CounterReport::seal(flow(), counters().encode(), None);
        let (ours, other) = (key(1), key(2));
        for (bytes, key, refusal) in [
            (&keyed, Some(&other), Refusal::Forged),
            (&keyed, None, Refusal::Form("with")),
            (&plain, Some(&ours), Refusal::Form("without")),
        ] {
            assert_eq!(CounterReport::open(bytes, key), Err(refusal));
        }
    }

    #[test]
    fn the_tag_is_that_of_the_rfc() {
        // RFC 4231, 4.2: test case 1, whose first 128 bits RFC 4868 takes.
        let key = Key::new(&[0x0b; 20]).unwrap();
        let expected = [
            0xb0, 0x34, 0x4c, 0x61, 0xd8, 0xdb, 0x38, 0x53, 0x5c, 0xa8, 0xaf, 0xce, 0xaf, 0x0b,
            0xf1, 0x2b,
        ];
        assert_eq!(key.tag(b"Hi There"), expected);
        let error = Key::new(&[1; 15]).unwrap_err().to_string();
        assert!(error.contains("found 15 octets, expected 16"), "{error}");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn no_octets_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..90), head in 0usize..21) {
            let good = CounterReport::seal(flow(), counters().encode(), None);
            let head = head.min(bytes.len());
            bytes[..head].copy_from_slice(&good[..head]);
            let _ = CounterReport::open(&bytes, Some(&key(1)));
            if let Ok(report) = CounterReport::open(&bytes, None) {
                let again = CounterReport::seal(report.flow, report.counters.encode(), None);
                prop_assert_eq!(again, bytes);
            }
        }
    }
}
