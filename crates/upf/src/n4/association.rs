//! Associations and heartbeats (TS 29.244, 6.2.2, 6.2.6 to 6.2.8).

use std::net::SocketAddr;

use slackwater_core::{Duration, Instant};
use slackwater_wire::pfcp::{Element, Kind, Message, Period, cause, kind};

use super::config::NodeName;
use super::kept::AnswerNote;
use super::peers::{Peer, State};
use super::refusal::Refusal;
use super::requests::{About, Due};
use super::{Answer, Event, FEATURES, Node};
use crate::sessions::{Seid, Sessions};
use crate::usage::Usage;

/// What a message between nodes says.
#[derive(Default)]
struct Said {
    name: Option<NodeName>,
    recovery: Option<u32>,
}

fn read(message: &Message<'_>) -> Result<Said, Refusal> {
    let mut said = Said::default();
    for element in message.elements() {
        match element? {
            Element::NodeId(id) => said.name = Some(id.into()),
            Element::Recovery(at) => said.recovery = Some(at),
            _ => {}
        }
    }
    Ok(said)
}

/// The cause, and what goes with a refusal.
fn how_it_went(outcome: Result<(), Refusal>) -> Vec<Element<'static>> {
    match outcome {
        Ok(()) => vec![Element::Cause(cause::ACCEPTED)],
        Err(refusal) => refusal.elements(),
    }
}

/// True for a recovery time stamp of a later start. Seconds of NTP wrap in 2036 (RFC 5905, 6).
const fn is_later(recovery: u32, than: u32) -> bool {
    let ahead = recovery.wrapping_sub(than);
    ahead != 0 && ahead < 1 << 31
}

impl Node {
    /// When this function started, in seconds of NTP.
    fn recovery(&self) -> u32 {
        self.seconds(Instant::ZERO)
    }

    /// A time in seconds of NTP.
    pub(super) fn seconds(&self, at: Instant) -> u32 {
        (self.config.clock.stamp(at).0 >> 32) as u32
    }

    pub(super) fn heartbeat(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Answer {
        if let Some(peer) = self.peers.from(from)
            && let Ok(Said {
                recovery: Some(at), ..
            }) = read(message)
        {
            self.heard(now, peer, at, sessions, usage);
        }
        Answer {
            kind: Kind::HeartbeatResponse,
            seid: None,
            named: false,
            elements: vec![Element::Recovery(self.recovery())],
        }
    }

    /// A node said when it started. A later time than before means that it lost its sessions (TS 23.007, 26.1.1); an earlier
    /// one is a message that was under way for long.
    fn heard(
        &mut self,
        now: Instant,
        at: u32,
        recovery: u32,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) {
        let Some(peer) = self.peers.get_mut(at) else {
            return;
        };
        let name = peer.name.clone();
        if is_later(recovery, peer.recovery) {
            // Its association is gone as well: it sets up a new one.
            let gone = self.end_peer(now, at, sessions, usage);
            self.event(Event::Restarted(name, gone));
        } else if recovery == peer.recovery && peer.state != State::Up {
            peer.state = State::Up;
            self.event(Event::Back(name));
        }
    }

    pub(super) fn set_up(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Answer {
        let outcome = read(message).and_then(|said| {
            let missing = |kind| Refusal::new(cause::MANDATORY_MISSING, kind);
            let name = said.name.ok_or(missing(kind::NODE_ID))?;
            let recovery = said.recovery.ok_or(missing(kind::RECOVERY))?;
            self.associate(now, from, name, recovery, sessions, usage)
        });
        let mut elements = how_it_went(outcome);
        elements.push(Element::Recovery(self.recovery()));
        elements.push(Element::UpFeatures(FEATURES));
        Answer {
            kind: Kind::AssociationSetupResponse,
            seid: None,
            named: true,
            elements,
        }
    }

    /// True for a set-up by a node that has started since its last one (TS 29.244, 6.2.6; TS 23.007, 26.1.1), or that has no
    /// association. It may count its requests from the same number as before: what its former life was answered is no answer.
    pub(super) fn begins_a_life(&self, message: &Message<'_>) -> bool {
        if message.header.kind != Kind::AssociationSetupRequest {
            return false;
        }
        let Ok(Said {
            name: Some(name),
            recovery: Some(recovery),
        }) = read(message)
        else {
            return false;
        };
        let peer = self.peers.named(&name).and_then(|at| self.peers.get(at));
        peer.is_none_or(|p| is_later(recovery, p.recovery))
    }

    /// Lets go of the answers to a node that has started again. Other nodes behind its address keep theirs where they send from
    /// another port.
    fn forget_answers(&mut self, from: SocketAddr) {
        let shared = self.peers.knows(from.ip());
        let port = shared.then_some(from.port());
        self.answers.forget(from.ip(), port);
        if let Some(noted) = &mut self.new_answers {
            noted.push(AnswerNote::Forgotten(from.ip(), port));
        }
    }

    fn associate(
        &mut self,
        now: Instant,
        from: SocketAddr,
        name: NodeName,
        recovery: u32,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Result<(), Refusal> {
        if let Some(at) = self.peers.named(&name)
            && let Some(peer) = self.peers.get_mut(at)
        {
            // Nobody takes over a node that answers from elsewhere, nor its sessions.
            if peer.state == State::Up && peer.from.ip() != from.ip() {
                return Err(Refusal::plain(cause::REJECTED));
            }
            if peer.recovery == recovery {
                peer.from = from;
                peer.state = State::Up;
                return Ok(());
            }
            let gone = self.end_peer(now, at, sessions, usage);
            self.event(Event::Restarted(name.clone(), gone));
        }
        if self.peers.len() >= self.config.max_peers {
            return Err(Refusal::plain(cause::NO_RESOURCES));
        }
        self.forget_answers(from);
        self.peers.add(Peer {
            name: name.clone(),
            from,
            recovery,
            state: State::Up,
            heartbeat: self.config.heartbeat.map(|h| now + h),
        });
        self.event(Event::Associated(name));
        Ok(())
    }

    pub(super) fn update(&mut self, from: SocketAddr, message: &Message<'_>) -> Answer {
        let outcome = self.known(from, message).map(|_| ());
        let mut elements = how_it_went(outcome);
        elements.push(Element::UpFeatures(FEATURES));
        Answer {
            kind: Kind::AssociationUpdateResponse,
            seid: None,
            named: true,
            elements,
        }
    }

    pub(super) fn release(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Answer {
        let outcome = self.known(from, message).map(|at| {
            if let Some(name) = self.peers.get(at).map(|p| p.name.clone()) {
                let gone = self.end_peer(now, at, sessions, usage);
                self.event(Event::Released(name, gone));
            }
        });
        Answer {
            kind: Kind::AssociationReleaseResponse,
            seid: None,
            named: true,
            elements: how_it_went(outcome),
        }
    }

    /// The association of the node that the message names, which it must come from.
    fn known(&self, from: SocketAddr, message: &Message<'_>) -> Result<u32, Refusal> {
        let name = read(message)?.name;
        let name = name.ok_or(Refusal::new(cause::MANDATORY_MISSING, kind::NODE_ID))?;
        self.associated(from, &name)
    }

    /// The association of a node that sends from its address.
    pub(super) fn associated(&self, from: SocketAddr, name: &NodeName) -> Result<u32, Refusal> {
        let at = self.peers.named(name);
        let at = at.filter(|at| {
            let peer = self.peers.get(*at);
            peer.is_some_and(|p| p.from.ip() == from.ip())
        });
        at.ok_or(Refusal::plain(cause::NO_ASSOCIATION))
    }

    /// Ends an association and its sessions; how many those were.
    fn end_peer(
        &mut self,
        now: Instant,
        at: u32,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> usize {
        self.peers.remove(at);
        let of_peer =
            |about: About| matches!(about, About::Heartbeat(p) | About::Release(p) if p == at);
        self.requests.forget(of_peer);
        let gone: Vec<Seid> = sessions
            .iter()
            .filter(|s| s.node == at)
            .map(|s| s.seid)
            .collect();
        for seid in &gone {
            self.end_session(now, *seid, sessions, usage);
        }
        let ended = &gone;
        self.requests
            .forget(|about| matches!(about, About::Report(s) if ended.contains(&s)));
        gone.len()
    }

    /// Where requests to an association go.
    pub(super) fn port_of(&self, peer: &Peer) -> u16 {
        self.config.peer_port.unwrap_or(peer.from.port())
    }

    /// Our requests that nobody answered are sent again, or given up.
    pub(super) fn repeat(&mut self, now: Instant) {
        while let Some(due) = self.requests.due(now) {
            match due {
                Due::Again(to, octets) => {
                    self.counters.resent += 1;
                    self.push(to, octets);
                }
                Due::GivenUp(about) => {
                    self.counters.unanswered += 1;
                    if let About::Heartbeat(at) = about {
                        self.lost(now, at);
                    }
                }
            }
        }
    }

    /// A node left all heartbeats of a round unanswered.
    fn lost(&mut self, now: Instant, at: u32) {
        let (keep, again) = (self.config.keep_lost, self.config.heartbeat);
        let Some(peer) = self.peers.get_mut(at) else {
            return;
        };
        peer.heartbeat = again.map(|h| now + h);
        if peer.state == State::Up {
            peer.state = State::Lost(keep.map(|k| now + k));
            let name = peer.name.clone();
            self.event(Event::Lost(name));
        }
    }

    /// Heartbeats that are due leave, and nodes that were lost for too long are let go.
    pub(super) fn watch_peers(&mut self, now: Instant, sessions: &mut Sessions, usage: &mut Usage) {
        if self.next_peer_timer().is_none_or(|at| at > now) {
            return;
        }
        let all: Vec<(u32, Peer)> = self.peers.iter().map(|(at, p)| (at, p.clone())).collect();
        for (at, peer) in all {
            if matches!(peer.state, State::Lost(Some(end)) if end <= now) {
                let gone = self.end_peer(now, at, sessions, usage);
                self.event(Event::Released(peer.name, gone));
                continue;
            }
            if peer.heartbeat.is_none_or(|due| due > now) {
                continue;
            }
            let to = SocketAddr::new(peer.from.ip(), self.port_of(&peer));
            let elements = [Element::Recovery(self.recovery())];
            let about = About::Heartbeat(at);
            let sent = self.request(now, to, Kind::HeartbeatRequest, None, &elements, about);
            let later = self.config.heartbeat.map(|h| now + h);
            if let Some(peer) = self.peers.get_mut(at) {
                peer.heartbeat = if sent { None } else { later };
            }
        }
    }

    pub(super) fn next_peer_timer(&self) -> Option<Instant> {
        let ends = self.peers.iter().flat_map(|(_, p)| {
            let end = match p.state {
                State::Lost(end) => end,
                State::Up => None,
            };
            [p.heartbeat, end]
        });
        ends.flatten().min()
    }

    /// A node answered one of our requests.
    pub(super) fn on_response(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) {
        let Some(about) = self.requests.answered(from.ip(), message.header.seq) else {
            return;
        };
        match about {
            About::Heartbeat(at) => {
                let next = self.config.heartbeat.map(|h| now + h);
                if let Some(peer) = self.peers.get_mut(at) {
                    peer.heartbeat = next;
                }
                if let Ok(Said {
                    recovery: Some(recovery),
                    ..
                }) = read(message)
                {
                    self.heard(now, at, recovery, sessions, usage);
                }
            }
            About::Report(seid) => {
                let mut elements = message.elements().flatten();
                let unknown = Element::Cause(cause::NO_SESSION);
                // The control plane has no such session any more: ours is of no use (TS 23.007, 26.2).
                if elements.any(|e| e == unknown) {
                    self.end_session(now, seid, sessions, usage);
                }
            }
            About::Release(_) => {}
        }
    }

    /// Tells all control planes that this function is to stop after `period`: they move sessions and release (TS 29.244,
    /// 6.2.7.3 and 6.2.8.3).
    pub fn drain(&mut self, now: Instant, period: Duration) {
        let peers: Vec<(u32, Peer)> = self.peers.iter().map(|(at, p)| (at, p.clone())).collect();
        let node = self.config.node.clone();
        for (at, peer) in peers {
            let to = SocketAddr::new(peer.from.ip(), self.port_of(&peer));
            let elements = [
                Element::NodeId(node.id()),
                Element::ReleaseRequest(1),
                Element::GracefulRelease(Period::at_least(period)),
            ];
            let kind = Kind::AssociationUpdateRequest;
            self.request(now, to, kind, None, &elements, About::Release(at));
        }
    }
}
