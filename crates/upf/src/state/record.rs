//! The octets of a state file.

use std::collections::BTreeMap;
use std::net::{IpAddr, SocketAddr};

use slackwater_core::Instant;
use slackwater_wire::gtpu::Ntp;

use super::{Origin, StateError};
use crate::n4::NodeName;
use crate::n4::kept::{Association, KeptAnswer};
use crate::sessions::Seid;
use crate::usage::Kept;

/// What a file begins with; the last octet is the version.
const MAGIC: &[u8; 8] = b"slackup\x01";

/// One record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Record {
    /// All associations.
    Associations(Vec<Association>),
    /// A session as it is now.
    Session {
        /// Its name.
        seid: Seid,
        /// What its rules counted.
        usage: Vec<Kept>,
        /// The request that would order it.
        request: Vec<u8>,
    },
    /// A session went.
    Gone(Seid),
    /// An answer that a repeated request gets.
    Answer(KeptAnswer),
    /// A session could not be written: the file does not hold all.
    Lacking,
    /// The answers before it to this address, or to one port of it, hold no longer.
    Forgotten(IpAddr, Option<u16>),
}

/// What the records of a file say in the end, each with its place.
#[derive(Debug, Default)]
pub(super) struct Last {
    /// Associations.
    pub(super) associations: Vec<(usize, Association)>,
    /// Sessions: place, usage, request.
    pub(super) sessions: BTreeMap<Seid, (usize, Vec<Kept>, Vec<u8>)>,
    /// Answers, oldest first.
    pub(super) answers: Vec<KeptAnswer>,
}

impl Last {
    pub(super) fn take(&mut self, at: usize, record: Record) -> Result<(), StateError> {
        match record {
            Record::Associations(all) => {
                self.associations = all.into_iter().map(|a| (at, a)).collect();
            }
            Record::Session {
                seid,
                usage,
                request,
            } => {
                self.sessions.insert(seid, (at, usage, request));
            }
            Record::Gone(seid) => {
                self.sessions.remove(&seid);
            }
            Record::Answer(answer) => self.answers.push(answer),
            Record::Forgotten(address, port) => self.answers.retain(|a| {
                a.from.ip() != address || port.is_some_and(|port| a.from.port() != port)
            }),
            Record::Lacking => {
                return Err(StateError::new(
                    at,
                    "a session that is not in the file",
                    "all sessions",
                ));
            }
        }
        Ok(())
    }
}

/// CRC-32 of Ethernet (IEEE 802.3, 3.2.9), bit by bit.
fn checksum(octets: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for octet in octets {
        crc ^= u32::from(*octet);
        for _ in 0..8 {
            let low = crc & 1;
            crc = (crc >> 1) ^ (0xedb8_8320 & low.wrapping_neg());
        }
    }
    !crc
}

fn put_bytes(out: &mut Vec<u8>, octets: &[u8]) {
    out.extend((octets.len() as u32).to_be_bytes());
    out.extend(octets);
}

fn put_address(out: &mut Vec<u8>, address: SocketAddr) {
    match address.ip() {
        IpAddr::V4(a) => put_bytes(out, &a.octets()),
        IpAddr::V6(a) => put_bytes(out, &a.octets()),
    }
    out.extend(address.port().to_be_bytes());
}

fn framed(body: &[u8], out: &mut Vec<u8>) {
    put_bytes(out, body);
    out.extend(checksum(body).to_be_bytes());
}

/// The header of a file.
pub(super) fn header(origin: &Origin, out: &mut Vec<u8>) {
    out.extend(MAGIC);
    let mut body = origin.clock.0.to_be_bytes().to_vec();
    put_bytes(&mut body, origin.boot.as_bytes());
    framed(&body, out);
}

impl Record {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        let mut body = Vec::new();
        match self {
            Self::Associations(all) => {
                body.push(1);
                for a in all {
                    body.extend(a.at.to_be_bytes());
                    match &a.name {
                        NodeName::Address(IpAddr::V4(v4)) => put_bytes(&mut body, &v4.octets()),
                        NodeName::Address(IpAddr::V6(v6)) => put_bytes(&mut body, &v6.octets()),
                        NodeName::Name(_) => put_bytes(&mut body, &[]),
                    }
                    match &a.name {
                        NodeName::Name(name) => put_bytes(&mut body, name),
                        NodeName::Address(_) => put_bytes(&mut body, &[]),
                    }
                    put_address(&mut body, a.from);
                    body.extend(a.recovery.to_be_bytes());
                }
            }
            Self::Session {
                seid,
                usage,
                request,
            } => {
                body.push(2);
                body.extend(seid.0.to_be_bytes());
                body.extend((usage.len() as u32).to_be_bytes());
                for kept in usage {
                    for value in kept.values {
                        body.extend(value.to_be_bytes());
                    }
                }
                put_bytes(&mut body, request);
            }
            Self::Gone(seid) => {
                body.push(3);
                body.extend(seid.0.to_be_bytes());
            }
            Self::Answer(a) => {
                body.push(4);
                body.extend(a.at.as_nanos().to_be_bytes());
                put_address(&mut body, a.from);
                body.extend(a.seq.to_be_bytes());
                body.push(a.request);
                put_bytes(&mut body, &a.octets);
            }
            Self::Lacking => body.push(5),
            Self::Forgotten(address, port) => {
                body.push(6);
                body.push(u8::from(port.is_some()));
                put_address(&mut body, SocketAddr::new(*address, port.unwrap_or(0)));
            }
        }
        framed(&body, out);
    }

    fn read(r: &mut Fields<'_>) -> Option<Self> {
        Some(match r.array::<1>()? {
            [1] => {
                let mut all = Vec::new();
                while !r.0.is_empty() {
                    let at = u32::from_be_bytes(r.array()?);
                    let (address, name) = (r.bytes()?, r.bytes()?);
                    let name = match ip(address) {
                        Some(ip) => NodeName::Address(ip),
                        None => NodeName::Name(name.to_vec()),
                    };
                    all.push(Association {
                        at,
                        name,
                        from: r.address()?,
                        recovery: u32::from_be_bytes(r.array()?),
                    });
                }
                Self::Associations(all)
            }
            [2] => {
                let seid = Seid(u64::from_be_bytes(r.array()?));
                let count = u32::from_be_bytes(r.array()?);
                let mut usage = Vec::new();
                for _ in 0..count {
                    let mut kept = Kept::default();
                    for value in &mut kept.values {
                        *value = u64::from_be_bytes(r.array()?);
                    }
                    usage.push(kept);
                }
                let request = r.bytes()?.to_vec();
                Self::Session {
                    seid,
                    usage,
                    request,
                }
            }
            [3] => Self::Gone(Seid(u64::from_be_bytes(r.array()?))),
            [4] => Self::Answer(KeptAnswer {
                at: Instant::from_nanos(u64::from_be_bytes(r.array()?)),
                from: r.address()?,
                seq: u32::from_be_bytes(r.array()?),
                request: r.array::<1>()?[0],
                octets: r.bytes()?.to_vec(),
            }),
            [5] => Self::Lacking,
            [6] => {
                let [one_port] = r.array()?;
                let address = r.address()?;
                Self::Forgotten(address.ip(), (one_port != 0).then_some(address.port()))
            }
            _ => return None,
        })
    }
}

fn ip(octets: &[u8]) -> Option<IpAddr> {
    let v4: Result<[u8; 4], _> = octets.try_into();
    let v6: Result<[u8; 16], _> = octets.try_into();
    v4.map(IpAddr::from).or(v6.map(IpAddr::from)).ok()
}

/// What is left to read of a record.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take(&mut self, n: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(n)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let n = u32::from_be_bytes(self.array()?);
        self.take(n as usize)
    }

    fn address(&mut self) -> Option<SocketAddr> {
        let ip = ip(self.bytes()?)?;
        Some(SocketAddr::new(ip, u16::from_be_bytes(self.array()?)))
    }
}

/// The records of a file.
pub(super) struct Records<'a> {
    octets: &'a [u8],
    at: usize,
}

impl<'a> Records<'a> {
    /// The header, and what follows.
    pub(super) fn new(octets: &'a [u8]) -> Result<(Origin, Self), StateError> {
        let expected = "a state file of version 1";
        if octets.get(..MAGIC.len()) != Some(MAGIC) {
            let found = octets.get(..MAGIC.len()).unwrap_or(octets);
            return Err(StateError::new(
                0,
                found.escape_ascii().to_string(),
                expected,
            ));
        }
        let mut records = Self {
            octets,
            at: MAGIC.len(),
        };
        let body = records.body()?;
        let origin = body.and_then(|(_, body)| {
            let mut r = Fields(body);
            let clock = Ntp(u64::from_be_bytes(r.array()?));
            let boot = String::from_utf8(r.bytes()?.to_vec()).ok()?;
            Some(Origin { clock, boot })
        });
        let origin = origin.ok_or_else(|| StateError::new(8, "no header", expected))?;
        Ok((origin, records))
    }

    /// The next body and its place; `None` at the end, and where the last record is cut short.
    fn body(&mut self) -> Result<Option<(usize, &'a [u8])>, StateError> {
        let at = self.at;
        let mut r = Fields(&self.octets[at..]);
        let Some(body) = r.bytes() else {
            return Ok(None);
        };
        let Some(sum) = r.array() else {
            return Ok(None);
        };
        if u32::from_be_bytes(sum) != checksum(body) {
            return Err(StateError::new(
                at,
                "a record that was changed",
                "the record of its checksum",
            ));
        }
        self.at = self.octets.len() - r.0.len();
        Ok(Some((at, body)))
    }

    /// The next record and its place.
    pub(super) fn next(&mut self) -> Result<Option<(usize, Record)>, StateError> {
        let Some((at, body)) = self.body()? else {
            return Ok(None);
        };
        let mut r = Fields(body);
        let record = Record::read(&mut r).filter(|_| r.0.is_empty());
        let record =
            record.ok_or_else(|| StateError::new(at, "an unknown record", "one of version 1"))?;
        Ok(Some((at, record)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksum_is_that_of_ethernet() {
        // The check value of CRC-32/ISO-HDLC.
        assert_eq!(checksum(b"123456789"), 0xcbf4_3926);
    }
}
