//! A path in the kernel for sessions whose packets no function holds: loads `bpf/upf.bpf.c`, and keeps its maps in step with the
//! sessions.
//!
//! A session is taken out of the maps before anything of it changes, and put in again when what waits here has left. The counts of
//! the kernel's packets are handed to the function in between.
//!
//! vAQM measures sessions that it lets pass: it reads the headers of their packets behind the kernel ([`Fast::read`]). A session whose
//! instance has something to decide is taken out, and looked at again each [`LOOKS_AT_ACTING`] looks.

mod counters;
mod hops;
mod maps;
mod table;
mod unread;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::Ipv4Addr;
use std::ops::Bound;
use std::os::fd::BorrowedFd;

use slackwater_core::{Direction, Instant, Qfi};
use slackwater_upf::Upf;
use slackwater_upf::sessions::Seid;
use slackwater_upf::user::fast::{FastDown, FastPath, FastUp};
use slackwater_wire::pfcp;

use super::config::{Network, UpfConfig};
use super::n6::End;
use crate::LiveError;
use crate::packet::PacketSocket;
use counters::Counts;
use hops::Hops;
use maps::Maps;
use unread::Passed;

/// Looks in which the counts of all sessions are taken over: with one each 10 ms, a second.
const LOOKS: usize = 100;
/// Looks in which all sessions that vAQM has taken are looked at: a tenth of a second. Some round trips, so that a session does not come
/// and go with each swing of its queue.
const LOOKS_AT_ACTING: usize = 10;

/// A session in the maps.
#[derive(Debug)]
struct Taken {
    path: FastPath,
    /// Its place among the counters.
    slot: u32,
    /// What the counters had when they were last looked at.
    seen: Counts,
}

/// The path.
#[derive(Debug)]
pub(super) struct Fast {
    maps: Maps,
    hops: Hops,
    /// Addresses of UEs, as N6 takes them.
    routes: Vec<Network>,
    taken: BTreeMap<Seid, Taken>,
    /// Sessions that may be put in.
    pending: BTreeSet<Seid>,
    /// Sessions whose base station has no known next hop.
    waiting: HashMap<Ipv4Addr, BTreeSet<Seid>>,
    /// The session whose counts were taken over last.
    looked: Seid,
    /// Sessions whose packets vAQM decides about at present.
    acting: BTreeSet<Seid>,
    /// Of those the one that was looked at last.
    looked_at: Seid,
    /// The session at a place among the counters, and its downlink's `QoS` flow.
    places: Vec<(Seid, Option<Qfi>)>,
    /// What `CLOCK_MONOTONIC` reads when the function's clock reads zero, in nanoseconds.
    zero: u64,
    /// Packets that passed since the last look, kept for their memory.
    passed: Vec<Passed>,
}

/// The kernel's monotonic time in nanoseconds.
fn monotonic() -> Result<u64, LiveError> {
    let time = nix::time::clock_gettime(nix::time::ClockId::CLOCK_MONOTONIC)
        .map_err(|e| LiveError::kernel("cannot read the clock", e))?;
    Ok(time.tv_sec().unsigned_abs() * 1_000_000_000 + time.tv_nsec().unsigned_abs())
}

impl Fast {
    /// Loads the programs for two interfaces; the function's clock reads `now`.
    ///
    /// # Errors
    /// Where the kernel refuses them.
    pub(super) fn open(
        now: Instant,
        config: &UpfConfig,
        n3: &PacketSocket,
        n6: &End<'_>,
    ) -> Result<Self, LiveError> {
        Ok(Self {
            acting: BTreeSet::new(),
            looked_at: Seid(0),
            places: vec![(Seid(0), None); maps::SESSIONS as usize],
            zero: monotonic()?.wrapping_sub(now.as_nanos()),
            passed: Vec::new(),
            maps: Maps::load(config, n3, n6)?,
            hops: Hops::of(config.n3.address.0, n3.name())?,
            routes: config.n6.routes.clone(),
            taken: BTreeMap::new(),
            pending: BTreeSet::new(),
            waiting: HashMap::new(),
            looked: Seid(0),
        })
    }

    /// A PFCP message comes: what the session that it names has done is counted, and no more is done before it is read.
    pub(super) fn before(&mut self, upf: &mut Upf, now: Instant, message: &[u8]) {
        let named = pfcp::Message::parse(message)
            .ok()
            .and_then(|m| m.header.seid);
        if let Some(seid) = named.map(Seid).filter(|seid| self.taken.contains_key(seid)) {
            self.take_out(upf, now, seid);
        }
    }

    /// Takes out what changed.
    pub(super) fn follow(&mut self, upf: &mut Upf, now: Instant) {
        for seid in upf.take_fast_changes(now) {
            self.take_out(upf, now, seid);
        }
        for seid in upf.counts_wanted(now) {
            self.count(upf, now, seid);
        }
    }

    /// Hands the headers of packets that passed to the function, and takes out the sessions that it has something to decide about; how
    /// many there were.
    pub(super) fn read(&mut self, upf: &mut Upf, now: Instant) -> usize {
        let mut passed = core::mem::take(&mut self.passed);
        self.maps.unread.read(&mut passed);
        for packet in &mut passed {
            let Some(&(seid, qfi)) = self.places.get(packet.slot as usize) else {
                continue;
            };
            // By another processor's clock it may be after this one's `now`.
            let at = Instant::from_nanos(packet.at.wrapping_sub(self.zero)).min(now);
            let direction = packet.direction;
            let rests = upf.on_bypassed(at, seid, direction, qfi, packet.head());
            if !rests && self.taken.contains_key(&seid) {
                self.take_out(upf, now, seid);
            }
        }

        let read = passed.len();
        passed.clear();
        self.passed = passed;
        read
    }

    /// Readable where packets passed whose headers were not read.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.maps.fd()
    }

    /// Puts sessions in, where everything of them that waited here has left.
    pub(super) fn put_in(&mut self, upf: &mut Upf, now: Instant) {
        while let Some(seid) = self.pending.pop_first() {
            if self.taken.contains_key(&seid) {
                continue;
            }
            let mut path = upf.fast_path(now, seid);
            if upf.acts(now, seid) {
                self.acting.insert(seid);
            }
            path.down.take_if(|down| !self.is_routed(down.ue));
            path.up.take_if(|up| !self.is_routed(up.ue));
            let peer = path.down.as_ref().map(|down| down.peer);
            let hop = peer.and_then(|peer| self.hops.to(peer));
            if let (Some(peer), None) = (peer, hop) {
                self.waiting.entry(peer).or_default().insert(seid);
                path.down = None;
            }
            if path == FastPath::default() {
                continue;
            }
            let Some(slot) = self.maps.slot() else {
                continue;
            };
            let seen = self.maps.counts(slot);
            let down = path.down.as_ref().zip(hop);
            let qfi = path.down.as_ref().and_then(|down| down.qfi);
            self.places[slot as usize] = (seid, qfi);
            if !self.maps.set(slot, down, path.up.as_ref(), path.watched) {
                self.maps.give(slot);
                continue;
            }
            self.taken.insert(seid, Taken { path, slot, seen });
        }
    }

    /// Some milliseconds passed: takes counts over, and follows routes.
    pub(super) fn look(&mut self, upf: &mut Upf, now: Instant) {
        let behind = (Bound::Excluded(self.looked), Bound::Unbounded);
        let some = self.taken.len().div_ceil(LOOKS);
        let next = self.taken.range(behind).take(some);
        let next: Vec<Seid> = next.map(|(seid, _)| *seid).collect();
        // Behind the last comes the first.
        self.looked = next.last().copied().unwrap_or(Seid(0));
        for seid in next {
            self.count(upf, now, seid);
        }
        self.look_at_acting(upf, now);
        for peer in self.hops.changed() {
            let served = |t: &Taken| t.path.down.as_ref().is_some_and(|d| d.peer == peer);
            let all = self.taken.iter().filter(|(_, t)| served(t));
            let all: Vec<Seid> = all.map(|(seid, _)| *seid).collect();
            let waiting = self.waiting.remove(&peer).unwrap_or_default();
            for seid in all.into_iter().chain(waiting) {
                self.take_out(upf, now, seid);
            }
        }
    }

    /// Sessions that vAQM has let go may be put in.
    fn look_at_acting(&mut self, upf: &Upf, now: Instant) {
        let behind = (Bound::Excluded(self.looked_at), Bound::Unbounded);
        let some = self.acting.len().div_ceil(LOOKS_AT_ACTING);
        let next: Vec<Seid> = self.acting.range(behind).take(some).copied().collect();
        self.looked_at = next.last().copied().unwrap_or(Seid(0));
        for seid in next.into_iter().filter(|seid| !upf.acts(now, *seid)) {
            self.acting.remove(&seid);
            self.pending.insert(seid);
        }
    }

    /// Takes the counts of all sessions over.
    pub(super) fn count_all(&mut self, upf: &mut Upf, now: Instant) {
        let all: Vec<Seid> = self.taken.keys().copied().collect();
        for seid in all {
            self.count(upf, now, seid);
        }
    }

    /// What of a session the kernel does: downlink and uplink.
    pub(super) fn has(&self, seid: Seid) -> [bool; 2] {
        let path = self.taken.get(&seid).map(|taken| &taken.path);
        path.map_or([false; 2], |p| [p.down.is_some(), p.up.is_some()])
    }

    /// Takes all sessions out.
    pub(super) fn close(&mut self, upf: &mut Upf, now: Instant) {
        let all: Vec<Seid> = self.taken.keys().copied().collect();
        for seid in all {
            self.take_out(upf, now, seid);
        }
        self.pending.clear();
        self.acting.clear();
    }

    fn is_routed(&self, ue: Ipv4Addr) -> bool {
        self.routes.iter().any(|route| route.holds(ue.into()))
    }

    /// The session is the function's alone, until it is put in again.
    fn take_out(&mut self, upf: &mut Upf, now: Instant, seid: Seid) {
        if let Some(taken) = self.taken.get(&seid) {
            self.maps
                .clear(taken.path.down.as_ref(), taken.path.up.as_ref());
            self.count(upf, now, seid);
        }
        if let Some(taken) = self.taken.remove(&seid) {
            self.maps.give(taken.slot);
        }
        for waiting in self.waiting.values_mut() {
            waiting.remove(&seid);
        }
        self.acting.remove(&seid);
        self.pending.insert(seid);
    }

    /// Hands over what was counted since the last time.
    fn count(&mut self, upf: &mut Upf, now: Instant, seid: Seid) {
        let Some(taken) = self.taken.get_mut(&seid) else {
            return;
        };
        let found = self.maps.counts(taken.slot);
        let seen = core::mem::replace(&mut taken.seen, found);
        let since = found.since(seen);
        let urrs_down: &[u32] = taken.path.down.as_ref().map_or(&[], |d: &FastDown| &d.urrs);
        let urrs_up: &[u32] = taken.path.up.as_ref().map_or(&[], |u: &FastUp| &u.urrs);
        upf.add_forwarded(now, seid, Direction::Down, urrs_down, since.down);
        upf.add_forwarded(now, seid, Direction::Up, urrs_up, since.up);
        upf.add_no_room(since.lost);
    }
}
