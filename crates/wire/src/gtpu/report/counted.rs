//! Counters of single flows (`slackwater_signal::Counters`) in profiles B and C: type 241 of assistance information.
//!
//! They are for the sender of the flow, so a user plane function passes them on as they are. They need neither a sequence
//! number nor a time: the counters have a stamp of their own, which orders them.

use std::net::IpAddr;

use slackwater_core::Teid;

use super::super::Message;
use super::super::extension::NR_RAN_CONTAINER;
use super::super::nru::{Fields, Frame};
use super::entry::{ASSISTANCE, Entry};
use super::{Names, Scope, Source};
use crate::WireError;
use crate::octets::{Reader, Writer};
use crate::report::FiveTuple;

/// Octets of the counters.
const COUNTERS: usize = 24;
/// Entries of a frame at most (TS 38.425, 5.5.3.49).
const ENTRIES: u8 = u8::MAX;

/// What a base station counts of one flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowCounters {
    /// The flow, by the packets of its sender. Both addresses are of one IP version.
    pub flow: FiveTuple,
    /// The counters, as `slackwater_signal::Counters::encode` has them.
    pub octets: [u8; COUNTERS],
}

impl FlowCounters {
    /// Octets of the value: counters, IP version, protocol, both addresses, both ports.
    pub(super) const fn len(&self) -> u8 {
        COUNTERS as u8 + 2 + if self.flow.source.is_ipv4() { 12 } else { 36 }
    }

    /// `None` where the IP version is neither 4 nor 6.
    pub(super) fn read(r: &mut Reader<'_>) -> Result<Option<Self>, WireError> {
        let mut octets = [0; COUNTERS];
        octets.copy_from_slice(r.take(COUNTERS, "counters")?);
        let (version, protocol) = (r.u8("an IP version")?, r.u8("a protocol")?);
        let mut address = || -> Result<Option<IpAddr>, WireError> {
            Ok(match version {
                4 => Some(IpAddr::from(r.v4("an address")?)),
                6 => Some(IpAddr::from(r.v6("an address")?)),
                _ => None,
            })
        };
        let (Some(source), Some(destination)) = (address()?, address()?) else {
            return Ok(None);
        };
        let flow = FiveTuple {
            source,
            destination,
            source_port: r.u16("a port")?,
            destination_port: r.u16("a port")?,
            protocol,
        };
        Ok(Some(Self { flow, octets }))
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let FiveTuple {
            source,
            destination,
            ..
        } = self.flow;
        out.put(&self.octets)?;
        let version = if source.is_ipv4() { 4 } else { 6 };
        out.put(&[version, self.flow.protocol])?;
        match (source, destination) {
            (IpAddr::V4(a), IpAddr::V4(b)) => {
                out.put(&a.octets())?;
                out.put(&b.octets())?;
            }
            (IpAddr::V6(a), IpAddr::V6(b)) => {
                out.put(&a.octets())?;
                out.put(&b.octets())?;
            }
            _ => {
                let found = format!("{source} and {destination}");
                return Err(WireError::new(out.len(), found, "addresses of one version"));
            }
        }
        out.u16(self.flow.source_port)?;
        out.u16(self.flow.destination_port)
    }
}

/// Writes the counters in `all`, each with the uplink tunnel of its session, as frames of at most `limit` octets, and hands each
/// frame to `send`. How many were in none: those of another session than that of `scope`, and flows whose addresses differ in
/// version.
pub fn frames(
    all: &[(Teid, FlowCounters)],
    scope: Scope,
    limit: usize,
    mut send: impl FnMut(&[u8]),
) -> usize {
    let mut memory = vec![0; limit];
    let (mut skipped, mut rest) = (0, all);
    while !rest.is_empty() {
        let mut out = Writer::new(&mut memory);
        let mut tunnel = match scope {
            Scope::Session(teid) => Some(teid),
            Scope::Multi => None,
        };
        let mut entries = 0;
        if out.put(&[ASSISTANCE, 0, 0]).is_err() {
            return skipped + rest.len();
        }
        while let Some(((teid, counters), behind)) = rest.split_first() {
            let foreign = matches!(scope, Scope::Session(own) if own != *teid);
            let before = out.len();
            let named = tunnel != Some(*teid);
            let whose = named.then_some(Entry::Tunnel(*teid));
            let mut written = whose
                .into_iter()
                .chain([Entry::Counters(*counters)])
                .try_for_each(|entry| entry.put(&mut out));
            if foreign {
                written = Err(WireError::new(
                    before,
                    "another session",
                    "that of the tunnel",
                ));
            }
            let full = entries > ENTRIES - 2;
            if written.is_ok() && !full {
                entries += 1 + u8::from(named);
                tunnel = Some(*teid);
                rest = behind;
                continue;
            }
            out.truncate(before);
            if !foreign && entries > 0 {
                // The next frame may have room for it.
                break;
            }
            skipped += 1;
            rest = behind;
        }
        if entries > 0 {
            out.patch(2, &[entries]);
            let length = out.len();
            send(&memory[..length]);
        }
    }
    skipped
}

/// Hands out the counters in a message, each with the uplink tunnel of the session that it is said to be of. Of sessions that
/// [`Source::names`] does not know, and on a session's own tunnel of others, there are none.
///
/// # Errors
/// A container that is cut short or of an unknown type. What stood before it has been handed out.
pub fn each<N: Names>(
    message: &Message<'_>,
    source: &Source<'_, N>,
    mut out: impl FnMut(Teid, FlowCounters),
) -> Result<(), WireError> {
    let teid = message.header.teid;
    let multi = source.multi == Some(teid);
    let containers = message.extensions().filter(|e| e.kind == NR_RAN_CONTAINER);
    for extension in containers {
        let frame = Frame::parse(extension.content).map_err(|mut error| {
            error.offset += extension.at;
            error
        })?;
        let Frame::Assistance(frame) = frame else {
            continue;
        };
        let mut tunnel = (!multi).then_some(teid);
        for (kind, value) in frame.fields.iter().flat_map(Fields::iter) {
            match Entry::from_field(kind, value) {
                Some(Entry::Tunnel(named)) => tunnel = (multi || named == teid).then_some(named),
                Some(Entry::Counters(counters)) => {
                    let known = tunnel.filter(|t| source.names.ue(*t).is_some());
                    if let Some(tunnel) = known {
                        out(tunnel, counters);
                    }
                }
                _ => {}
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::net::{Ipv4Addr, Ipv6Addr};

    use proptest::prelude::*;
    use slackwater_core::{FlowId, Qfi, UeId};

    use super::super::super::extension::MAX_CONTENT;
    use super::super::super::{Header, NtpClock};
    use super::super::Units;
    use super::*;

    /// Sessions 1 to 99.
    struct Core;

    impl Names for Core {
        fn ue(&self, teid: Teid) -> Option<UeId> {
            (1..100).contains(&teid.0).then_some(UeId(teid.0))
        }
        fn flow(&self, _: Teid, _: Qfi) -> Option<FlowId> {
            None
        }
    }

    fn of(n: u32, v6: bool) -> (Teid, FlowCounters) {
        let (source, destination) = if v6 {
            let address = |n: u32| IpAddr::from(Ipv6Addr::from_bits(u128::from(n) << 64 | 7));
            (address(n), address(n + 1))
        } else {
            let address = |n: u32| IpAddr::from(Ipv4Addr::from_bits(n));
            (address(0xc000_0200 + n), address(0x0a00_0000 + n))
        };
        let flow = FiveTuple {
            source,
            destination,
            source_port: 443,
            destination_port: n as u16,
            protocol: 17,
        };
        let octets = core::array::from_fn(|k| (n as u8).wrapping_mul(31).wrapping_add(k as u8));
        (Teid(n), FlowCounters { flow, octets })
    }

    /// Writes `all` and reads it again: what came, frames, and what was in none.
    fn round(
        all: &[(Teid, FlowCounters)],
        scope: Scope,
        tunnel: Teid,
    ) -> (Vec<(Teid, FlowCounters)>, usize, usize) {
        let (mut read, mut sent) = (Vec::new(), 0);
        let skipped = frames(all, scope, MAX_CONTENT, |content| {
            sent += 1;
            assert!(content.len() <= MAX_CONTENT);
            let mut octets = vec![0; MAX_CONTENT + 20];
            let extension = [(NR_RAN_CONTAINER, content)];
            let n = Header::g_pdu(tunnel)
                .write(&extension, 0, &mut octets)
                .unwrap();
            let message = Message::parse(&octets[..n]).unwrap();
            let source = Source {
                names: &Core,
                clock: NtpClock::default(),
                units: Units::default(),
                multi: (scope == Scope::Multi).then_some(tunnel),
            };
            each(&message, &source, |teid, counters| {
                read.push((teid, counters));
            })
            .unwrap();
            // For the functions there is nothing in it, and nothing of it is unknown to them.
            let now = slackwater_core::Instant::ZERO;
            let intake = super::super::receive(&message, now, &source, |r| panic!("{r:?}"));
            let intake = intake.unwrap();
            assert_eq!((intake.reports, intake.skipped), (0, 0));
            assert!(intake.counters > 0);
        });
        (read, sent, skipped)
    }

    #[test]
    fn counters_of_many_flows_arrive_in_few_frames() {
        let all: Vec<_> = (1..=60).map(|n| of(n, n % 3 == 0)).collect();
        let (read, sent, skipped) = round(&all, Scope::Multi, Teid(500));
        assert_eq!((read, skipped), (all, 0));
        // 46 octets each of IPv4 and 70 of IPv6, in frames of 1018.
        assert_eq!(sent, 4);
    }

    #[test]
    fn a_sessions_own_tunnel_has_that_sessions_alone() {
        let all = [of(3, false), of(4, false), of(3, true)];
        let (read, sent, skipped) = round(&all, Scope::Session(Teid(3)), Teid(3));
        assert_eq!((read, sent, skipped), (vec![all[0], all[2]], 1, 1));
        // Who writes others' all the same is not believed.
        let mut other = 0;
        let _ = frames(&[of(4, false)], Scope::Multi, MAX_CONTENT, |content| {
            let mut octets = vec![0; MAX_CONTENT + 20];
            let extension = [(NR_RAN_CONTAINER, content)];
            let n = Header::g_pdu(Teid(3)).write(&extension, 0, &mut octets);
            let message = Message::parse(&octets[..n.unwrap()]).unwrap();
            let source = Source {
                names: &Core,
                clock: NtpClock::default(),
                units: Units::default(),
                multi: None,
            };
            each(&message, &source, |_, _| other += 1).unwrap();
        });
        assert_eq!(other, 0);
    }

    #[test]
    fn a_flow_of_two_versions_is_in_no_frame() {
        let mut odd = of(5, false);
        odd.1.flow.destination = of(5, true).1.flow.destination;
        let (read, _, skipped) = round(&[of(4, false), odd, of(6, true)], Scope::Multi, Teid(500));
        assert_eq!((read, skipped), (vec![of(4, false), of(6, true)], 1));
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn a_value_is_read_as_it_was_written_or_refused(
            n in 1u32..100, v6: bool, cut in 0usize..70, more in proptest::collection::vec(any::<u8>(), 0..9)
        ) {
            let counters = of(n, v6).1;
            let mut memory = [0; 80];
            let mut out = Writer::new(&mut memory);
            counters.put(&mut out).unwrap();
            let length = out.len();
            prop_assert_eq!(length, usize::from(counters.len()));
            let entry = Entry::Counters(counters);
            // Values may grow at their end.
            let mut longer = memory[..length].to_vec();
            longer.extend(more);
            prop_assert_eq!(Entry::from_field(241, &longer), Some(entry));
            let cut = cut.min(length - 1);
            prop_assert_eq!(Entry::from_field(241, &memory[..cut]), None);
        }
    }
}
