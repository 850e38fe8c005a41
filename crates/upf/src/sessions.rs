//! The sessions, and who is meant by a tunnel or an address.
//!
//! The control plane writes here and lists what it changed ([`Change`]); the user plane reads, and follows the list.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use slackwater_core::{Instant, Teid, UeId};

use crate::rules::{Prefix, Rules, UeAddress};

/// This function's name of a session (the SEID of its F-SEID). A place in the table and how often that was used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Seid(pub u64);

impl Seid {
    /// The number by which edge functions know the session: dense, and used again once the session is gone.
    pub const fn ue(self) -> UeId {
        UeId((self.0 as u32).wrapping_sub(1))
    }

    /// That of place `at`, used for the `turn`th time. Never 0, which means no session (TS 29.244, 7.2.2.4.2).
    const fn of(at: u32, turn: u32) -> Self {
        Self((turn as u64) << 32 | (at as u64 + 1))
    }

    const fn at(self) -> usize {
        (self.0 as u32).wrapping_sub(1) as usize
    }
}

/// One session.
#[derive(Clone, Debug)]
pub struct Session {
    /// Our name of it.
    pub seid: Seid,
    /// The control plane's.
    pub peer_seid: u64,
    /// The control plane node that owns it, as an index of the control plane's own.
    pub node: u32,
    /// Its rules.
    pub rules: Rules,
}

/// What changed, for the user plane to follow in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// A session came, or its rules changed.
    Set(Seid),
    /// It went.
    Gone(Seid),
    /// An end marker leaves by this tunnel: the path has moved (TS 29.244, 5.2.3.2; TS 23.501, 5.8.2.9).
    EndMarker {
        /// The session.
        seid: Seid,
        /// The tunnel that was left.
        tunnel: crate::rules::RemoteTunnel,
    },
}

/// One place of the table.
#[derive(Debug, Default)]
struct Place {
    /// How often it was used.
    turn: u32,
    session: Option<Session>,
}

/// Of tunnels and addresses, which are looked up for each packet. The control plane alone adds to these tables, so a weaker hash than
/// the standard library's lets no stranger fill a bucket.
type Hash = foldhash::fast::FixedState;

/// All sessions.
#[derive(Debug, Default)]
pub struct Sessions {
    places: Vec<Place>,
    free: Vec<u32>,
    /// By our tunnel.
    tunnels: HashMap<Teid, Seid, Hash>,
    /// By the UE's IPv4 address, for packets without a tunnel.
    v4: HashMap<Ipv4Addr, Seid, Hash>,
    /// By the first 64 bits of the UE's IPv6 address.
    v6: HashMap<u64, Vec<Seid>>,
    /// By the first 64 bits of a prefix that is shorter than those. Such prefixes do not overlap.
    wide: BTreeMap<u64, Seid>,
    changes: Vec<Change>,
    /// Those that came, changed or went, for the state file; `None` where none is kept.
    touched: Option<BTreeSet<Seid>>,
    count: usize,
}

/// The first 64 bits.
fn upper(address: Ipv6Addr) -> u64 {
    (u128::from(address) >> 64) as u64
}

/// True where one prefix holds the other.
fn overlap(a: Option<(Ipv6Addr, u8)>, b: Option<(Ipv6Addr, u8)>) -> bool {
    let (Some((a, m)), Some((b, n))) = (a, b) else {
        return false;
    };
    let (Some(p), Some(q)) = (
        Prefix::new(a.into(), Some(m)),
        Prefix::new(b.into(), Some(n)),
    ) else {
        return false;
    };
    p.holds(q.address) || q.holds(p.address)
}

impl Sessions {
    /// Adds a session; its rules are empty until [`Sessions::set_rules`].
    pub fn add(&mut self, now: Instant, node: u32, peer_seid: u64) -> Seid {
        let at = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place::default());
            self.places.len() as u32 - 1
        });
        let place = &mut self.places[at as usize];
        place.turn = place.turn.wrapping_add(1);
        let seid = Seid::of(at, place.turn);
        place.session = Some(Session {
            seid,
            peer_seid,
            node,
            rules: Rules {
                since: now,
                ..Rules::default()
            },
        });
        self.count += 1;
        seid
    }

    /// Adds a session under the name that it had in another process. False where its place is taken.
    pub(crate) fn put(&mut self, now: Instant, seid: Seid, node: u32, peer_seid: u64) -> bool {
        let at = seid.at();
        // Places are dense: far fewer than this are ever in use.
        if at >= 1 << 24 || self.places.get(at).is_some_and(|p| p.session.is_some()) {
            return false;
        }
        while self.places.len() <= at {
            self.free.push(self.places.len() as u32);
            self.places.push(Place::default());
        }
        self.free.retain(|free| *free as usize != at);
        self.places[at] = Place {
            turn: (seid.0 >> 32) as u32,
            session: Some(Session {
                seid,
                peer_seid,
                node,
                rules: Rules {
                    since: now,
                    ..Rules::default()
                },
            }),
        };
        self.count += 1;
        true
    }

    /// Notes from now on which sessions come, change and go.
    pub(crate) fn keep_touched(&mut self) {
        self.touched = Some(BTreeSet::new());
    }

    /// Notes that something of a session is to be kept.
    pub(crate) fn touch(&mut self, seid: Seid) {
        if let Some(touched) = &mut self.touched {
            touched.insert(seid);
        }
    }

    /// The sessions that were touched since the last call.
    pub(crate) fn take_touched(&mut self) -> BTreeSet<Seid> {
        let touched = self.touched.as_mut();
        touched.map(core::mem::take).unwrap_or_default()
    }

    /// The session of that name.
    pub fn get(&self, seid: Seid) -> Option<&Session> {
        let session = self.places.get(seid.at())?.session.as_ref()?;
        (session.seid == seid).then_some(session)
    }

    /// The session by which the edge functions mean it.
    pub fn of_ue(&self, ue: UeId) -> Option<&Session> {
        self.places.get(ue.index())?.session.as_ref()
    }

    /// The session that owns our tunnel `teid`.
    pub fn by_tunnel(&self, teid: Teid) -> Option<&Session> {
        self.get(*self.tunnels.get(&teid)?)
    }

    /// The session of a UE's address.
    pub fn by_address(&self, address: IpAddr) -> Option<&Session> {
        match address {
            IpAddr::V4(a) => self.get(*self.v4.get(&a)?),
            IpAddr::V6(a) => {
                let exact = self.v6.get(&upper(a)).into_iter().flatten();
                let wide = self.wide.range(..=upper(a)).next_back();
                let mut found = exact.chain(wide.map(|(_, seid)| seid));
                found.find_map(|seid| {
                    let session = self.get(*seid)?;
                    let mut ues = session.rules.pdrs.iter().filter_map(|p| p.ue);
                    ues.any(|ue| ue.holds(address)).then_some(session)
                })
            }
        }
    }

    /// True where a session other than `but` has one of the UE's addresses.
    pub fn has_address(&self, ue: UeAddress, but: Option<Seid>) -> bool {
        let other = |seid: &Seid| Some(*seid) != but;
        if ue.v4.and_then(|a| self.v4.get(&a)).is_some_and(other) {
            return true;
        }
        let Some((prefix, bits)) = ue.v6 else {
            return false;
        };
        let first = upper(prefix);
        let last = first | u64::MAX.checked_shr(u32::from(bits)).unwrap_or(0);
        let reaches = |seid: &Seid| {
            let session = self.get(*seid);
            let mut ues = session
                .iter()
                .flat_map(|s| &s.rules.pdrs)
                .filter_map(|p| p.ue);
            ues.any(|u| overlap(u.v6, ue.v6))
        };
        // Wide prefixes do not overlap: only the last that begins at or before the end of this one can reach into it.
        let mut wide = self.wide.range(..=last).rev();
        let nearest = wide.find(|(_, seid)| other(seid));
        if nearest.is_some_and(|(at, seid)| *at >= first || reaches(seid)) {
            return true;
        }
        let mut exact = (first..=last).filter_map(|at| self.v6.get(&at)).flatten();
        exact.any(|seid| other(seid) && reaches(seid))
    }

    /// True where `teid` is in use.
    pub fn has_tunnel(&self, teid: Teid) -> bool {
        self.tunnels.contains_key(&teid)
    }

    /// Replaces the rules of a session and its entries by tunnel and address. PDRs are put in the order of precedence.
    pub fn set_rules(&mut self, seid: Seid, mut rules: Rules) {
        if self.get(seid).is_none() {
            return;
        }
        self.forget(seid);
        rules.pdrs.sort_by_key(|p| (p.precedence, p.id));
        rules.fars.sort_by_key(|f| f.id);
        rules.qers.sort_by_key(|q| q.id);
        rules.urrs.sort_by_key(|u| u.id);
        rules.bars.sort_by_key(|b| b.id);
        for pdr in &rules.pdrs {
            if let Some(tunnel) = pdr.tunnel {
                self.tunnels.insert(tunnel.teid, seid);
            }
            let Some(ue) = pdr.ue else { continue };
            if let Some(a) = ue.v4 {
                self.v4.insert(a, seid);
            }
            if let Some((a, ..64)) = ue.v6 {
                self.wide.insert(upper(a), seid);
            } else if let Some((a, _)) = ue.v6 {
                let list = self.v6.entry(upper(a)).or_default();
                if !list.contains(&seid) {
                    list.push(seid);
                }
            }
        }
        if let Some(session) = &mut self.places[seid.at()].session {
            session.rules = rules;
        }
        self.changes.push(Change::Set(seid));
        self.touch(seid);
    }

    /// The control plane names the session otherwise from now on.
    pub fn set_peer_seid(&mut self, seid: Seid, peer_seid: u64) {
        if self.get(seid).is_some()
            && let Some(session) = &mut self.places[seid.at()].session
        {
            session.peer_seid = peer_seid;
        }
        self.touch(seid);
    }

    /// Notes an end marker that the user plane is to send.
    pub fn end_marker(&mut self, seid: Seid, tunnel: crate::rules::RemoteTunnel) {
        self.changes.push(Change::EndMarker { seid, tunnel });
    }

    /// Removes a session with its tunnels and addresses; what it was.
    pub fn remove(&mut self, seid: Seid) -> Option<Session> {
        self.get(seid)?;
        self.forget(seid);
        let session = self.places[seid.at()].session.take();
        self.free.push(seid.at() as u32);
        self.count -= 1;
        self.changes.push(Change::Gone(seid));
        self.touch(seid);
        session
    }

    /// Takes the session's entries by tunnel and address out.
    fn forget(&mut self, seid: Seid) {
        let Some(session) = self.places.get(seid.at()).and_then(|p| p.session.as_ref()) else {
            return;
        };
        for pdr in &session.rules.pdrs {
            if let Some(tunnel) = pdr.tunnel
                && self.tunnels.get(&tunnel.teid) == Some(&seid)
            {
                self.tunnels.remove(&tunnel.teid);
            }
            let Some(ue) = pdr.ue else { continue };
            if let Some(a) = ue.v4
                && self.v4.get(&a) == Some(&seid)
            {
                self.v4.remove(&a);
            }
            if let Some((a, ..64)) = ue.v6
                && self.wide.get(&upper(a)) == Some(&seid)
            {
                self.wide.remove(&upper(a));
            }
            if let Some((a, _)) = ue.v6
                && let Some(list) = self.v6.get_mut(&upper(a))
            {
                list.retain(|s| *s != seid);
                if list.is_empty() {
                    self.v6.remove(&upper(a));
                }
            }
        }
    }

    /// All sessions, in the order of their places.
    pub fn iter(&self) -> impl Iterator<Item = &Session> {
        self.places.iter().filter_map(|p| p.session.as_ref())
    }

    /// How many there are.
    pub const fn len(&self) -> usize {
        self.count
    }

    /// True where there is none.
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// What changed since the last call.
    pub fn take_changes(&mut self) -> Vec<Change> {
        core::mem::take(&mut self.changes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::{Interface, LocalTunnel, Pdr, UeAddress};

    fn pdr(id: u16, precedence: u32) -> Pdr {
        Pdr {
            id,
            precedence,
            source: Interface::Access,
            tunnel: None,
            network: None,
            ue: None,
            filters: Vec::new(),
            qfis: Vec::new(),
            remove_outer: false,
            reports: false,
            far: None,
            qers: Vec::new(),
            urrs: Vec::new(),
        }
    }

    fn rules(teid: u32, v4: [u8; 4]) -> Rules {
        let tunnel = LocalTunnel {
            teid: Teid(teid),
            v4: Some(Ipv4Addr::LOCALHOST),
            v6: None,
        };
        let ue = UeAddress {
            v4: Some(v4.into()),
            v6: Some(("2001:db8::".parse().unwrap(), 64)),
        };
        Rules {
            pdrs: vec![
                Pdr {
                    ue: Some(ue),
                    source: Interface::Core,
                    ..pdr(2, 200)
                },
                Pdr {
                    tunnel: Some(tunnel),
                    ..pdr(1, 100)
                },
            ],
            ..Rules::default()
        }
    }

    #[test]
    fn a_session_is_found_by_tunnel_and_address_until_it_goes() {
        let mut sessions = Sessions::default();
        let now = Instant::ZERO;
        let seid = sessions.add(now, 0, 77);
        sessions.set_rules(seid, rules(5, [10, 0, 0, 1]));
        assert_eq!(sessions.get(seid).unwrap().rules.pdrs[0].id, 1);
        assert_eq!(sessions.by_tunnel(Teid(5)).unwrap().seid, seid);
        for address in ["10.0.0.1", "2001:db8::7"] {
            let found = sessions.by_address(address.parse().unwrap());
            assert_eq!(found.map(|s| s.seid), Some(seid), "{address}");
        }

        // Other rules: the old names mean nothing any more.
        sessions.set_rules(seid, rules(6, [10, 0, 0, 2]));
        assert!(sessions.by_tunnel(Teid(5)).is_none());
        assert!(sessions.by_address("10.0.0.1".parse().unwrap()).is_none());

        sessions.remove(seid).unwrap();
        assert!(sessions.is_empty() && !sessions.has_tunnel(Teid(6)));
        assert!(
            sessions
                .by_address("2001:db8::7".parse().unwrap())
                .is_none()
        );
        assert_eq!(
            sessions.take_changes(),
            [Change::Set(seid), Change::Set(seid), Change::Gone(seid)]
        );
    }

    #[test]
    fn an_address_belongs_to_one_session() {
        let with = |v6: &str, bits| UeAddress {
            v4: None,
            v6: Some((v6.parse().unwrap(), bits)),
        };
        let mut sessions = Sessions::default();
        for (v6, bits) in [
            ("2001:db8:0:100::", 60),
            ("2001:db8:0:200::", 64),
            ("2001:db8:0:300:1::", 80),
        ] {
            let seid = sessions.add(Instant::ZERO, 0, 1);
            let ue = Some(with(v6, bits));
            let pdrs = vec![Pdr { ue, ..pdr(1, 1) }];
            assert!(!sessions.has_address(with(v6, bits), None), "{v6}");
            sessions.set_rules(
                seid,
                Rules {
                    pdrs,
                    ..Rules::default()
                },
            );
            assert!(!sessions.has_address(with(v6, bits), Some(seid)), "{v6}");
        }
        for (v6, bits, taken) in [
            ("2001:db8:0:105::", 64, true),
            ("2001:db8:0:110::", 64, false),
            ("2001:db8:0:200:7::", 80, true),
            ("2001:db8:0:200::", 56, true),
            ("2001:db8:0:300:2::", 80, false),
            ("2001:db8:0:300::", 64, true),
            ("2001:db8:0:400::", 56, false),
        ] {
            assert_eq!(
                sessions.has_address(with(v6, bits), None),
                taken,
                "{v6}/{bits}"
            );
        }
        let found = sessions.by_address("2001:db8:0:10f::1".parse().unwrap());
        assert_eq!(found.map(|s| s.seid.ue().0), Some(0));
        let seid = found.unwrap().seid;
        sessions.remove(seid);
        assert!(!sessions.has_address(with("2001:db8:0:105::", 64), None));
    }

    #[test]
    fn a_place_used_again_has_another_name() {
        let mut sessions = Sessions::default();
        let first = sessions.add(Instant::ZERO, 0, 1);
        sessions.remove(first);
        let second = sessions.add(Instant::ZERO, 0, 1);
        assert_ne!(first, second);
        assert_eq!(first.ue(), second.ue());
        assert!(sessions.get(first).is_none());
        assert!(sessions.get(Seid(0)).is_none() && sessions.get(Seid(u64::MAX)).is_none());
    }
}
