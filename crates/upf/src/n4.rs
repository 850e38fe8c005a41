//! The control plane of the function: a PFCP node without sockets (TS 29.244).
//!
//! Datagrams and the time go in; [`Node::poll_transmit`] hands out what leaves, [`Node::poll_event`] what an operator wants to
//! know, and [`Node::next_timer`] says when to call [`Node::on_timer`]. A request is done whole or refused whole.

mod answers;
mod association;
mod config;
mod draft;
mod filter;
pub(crate) mod kept;
mod peers;
mod refusal;
mod report;
mod requests;
mod session;
mod tunnels;
mod written;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::net::SocketAddr;

use slackwater_core::Instant;
use slackwater_wire::pfcp::{Element, Header, Kind, Message, cause, feature};

pub use config::{Config, LocalEnd, Networks, NodeName, network_name};

use crate::sessions::{Seid, Sessions};
use crate::usage::Usage;
use answers::Answers;
use peers::Peers;
use report::Notices;
use requests::{About, Requests};
use tunnels::Tunnels;

/// What the function can do (TS 29.244, 8.2.25): tunnels are chosen here, end markers sent, packets counted, bundles read, and
/// the notification of downlink data delayed.
pub const FEATURES: u64 = feature::CHOOSES_TUNNELS
    | feature::END_MARKER
    | feature::COUNTS_PACKETS
    | feature::BUNDLING
    | feature::NOTIFICATION_DELAY;

/// What happened to an association.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// It was set up.
    Associated(NodeName),
    /// The node has started again: its sessions, so many, are gone.
    Restarted(NodeName, usize),
    /// It stopped answering.
    Lost(NodeName),
    /// It answers again, and has its sessions.
    Back(NodeName),
    /// It ended, and so many sessions with it.
    Released(NodeName, usize),
    /// It was taken up again from the state file.
    TakenUp(NodeName),
}

/// Events that wait at most; further ones are left out.
const EVENTS: usize = 1_024;

/// Datagrams that wait at most; further ones are left out, and repeated as those are that a network loses.
const TRANSMITS: usize = 65_536;

/// What the node counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Messages that came, by type.
    pub received: BTreeMap<u8, u64>,
    /// Answers that left, by cause.
    pub answered: BTreeMap<u8, u64>,
    /// Requests that came again and had the answer of before.
    pub repeated: u64,
    /// Datagrams from addresses that may not send.
    pub forbidden: u64,
    /// Datagrams that are no message.
    pub malformed: u64,
    /// Own requests that were sent again.
    pub resent: u64,
    /// Own requests that were never answered.
    pub unanswered: u64,
    /// Reports and datagrams left out, because too many wait.
    pub left_out: u64,
}

/// The node.
#[derive(Debug)]
pub struct Node {
    config: Config,
    tunnels: Tunnels,
    peers: Peers,
    answers: Answers,
    requests: Requests,
    /// What is known of each session beside its rules.
    notices: HashMap<Seid, Notices>,
    /// Sessions with a notification that is delayed.
    delayed: std::collections::BTreeSet<(Instant, Seid)>,
    out: VecDeque<(SocketAddr, Vec<u8>)>,
    events: VecDeque<Event>,
    counters: Counters,
    /// Where messages are written first.
    scratch: Vec<u8>,
    /// Answers for the state file; `None` where none is kept.
    new_answers: Option<Vec<kept::AnswerNote>>,
}

/// The answer to a request: the receiver's session endpoint, if the message has one, and elements.
struct Answer {
    kind: Kind,
    seid: Option<u64>,
    /// Our node ID stands first.
    named: bool,
    elements: Vec<Element<'static>>,
}

impl Node {
    /// A node without associations.
    pub fn new(config: Config) -> Self {
        Self {
            tunnels: Tunnels::new(config.teids.clone(), config.seed),
            peers: Peers::default(),
            answers: Answers::new(config.answer_life(), config.max_answers),
            requests: Requests::new(config.t1, config.n1),
            notices: HashMap::new(),
            delayed: std::collections::BTreeSet::new(),
            out: VecDeque::new(),
            events: VecDeque::new(),
            counters: Counters::default(),
            // The largest payload of UDP over IPv4.
            scratch: vec![0; 65_507],
            new_answers: None,
            config,
        }
    }

    /// A datagram came.
    pub fn on_message(
        &mut self,
        now: Instant,
        from: SocketAddr,
        bytes: &[u8],
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) {
        if !self.config.allows(from.ip()) {
            self.counters.forbidden += 1;
            return;
        }
        let mut rest = bytes;
        loop {
            let Ok(message) = Message::parse(rest) else {
                self.counters.malformed += 1;
                self.refuse_version(from, rest);
                return;
            };
            self.one(now, from, &message, sessions, usage);
            match rest.get(message.len()..) {
                Some(next) if message.is_followed() => rest = next,
                _ => return,
            }
        }
    }

    /// A message of another version is told ours (TS 29.244, 7.6.1). The answer is no longer than what it answers.
    fn refuse_version(&mut self, from: SocketAddr, bytes: &[u8]) {
        let [flags, kind, _, _, rest @ ..] = bytes else {
            return;
        };
        let at = if flags & 1 == 0 { 0 } else { 8 };
        let seq = rest.get(at..at + 3);
        if let Some([a, b, c]) = seq
            && flags >> 5 > 1
            && *kind != Kind::VersionNotSupported.octet()
        {
            let header = Header {
                kind: Kind::VersionNotSupported,
                seid: None,
                seq: u32::from_be_bytes([0, *a, *b, *c]),
                priority: None,
            };
            self.transmit(from, header, &[]);
        }
    }

    fn one(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) {
        let Header { kind, seq, .. } = message.header;
        let octet = kind.octet();
        *self.counters.received.entry(octet).or_default() += 1;
        let before = self.answers.get(now, from, seq, octet).map(<[u8]>::to_vec);
        if let Some(before) = before
            && !self.begins_a_life(message)
        {
            self.counters.repeated += 1;
            self.push(from, before);
            return;
        }
        let answer = match kind {
            Kind::HeartbeatRequest => self.heartbeat(now, from, message, sessions, usage),
            Kind::AssociationSetupRequest => self.set_up(now, from, message, sessions, usage),
            Kind::AssociationUpdateRequest => self.update(from, message),
            Kind::AssociationReleaseRequest => self.release(now, from, message, sessions, usage),
            Kind::SessionEstablishmentRequest => {
                self.establish(now, from, message, sessions, usage)
            }
            Kind::SessionModificationRequest => self.modify(now, from, message, sessions, usage),
            Kind::SessionDeletionRequest => self.delete(now, from, message, sessions, usage),
            Kind::HeartbeatResponse
            | Kind::AssociationUpdateResponse
            | Kind::SessionReportResponse => {
                self.on_response(now, from, message, sessions, usage);
                return;
            }
            // Unknown messages are passed over (TS 29.244, 7.6.1), and answers to what was never sent.
            _ => return,
        };
        self.answer(now, from, seq, octet, &answer);
    }

    /// Sends an answer, and keeps it for when the request is repeated.
    fn answer(&mut self, now: Instant, from: SocketAddr, seq: u32, request: u8, answer: &Answer) {
        let cause = answer.elements.iter().find_map(|e| match e {
            Element::Cause(cause) => Some(*cause),
            _ => None,
        });
        if let Some(cause) = cause {
            *self.counters.answered.entry(cause).or_default() += 1;
        }
        let header = Header {
            kind: answer.kind,
            seid: answer.seid,
            seq,
            priority: None,
        };
        let node = self.config.node.clone();
        let named = answer.named.then(|| Element::NodeId(node.id()));
        let elements: Vec<_> = named
            .into_iter()
            .chain(answer.elements.iter().cloned())
            .collect();
        let Some(octets) = self.write(header, &elements) else {
            return;
        };
        // A heartbeat changes nothing. Those who have no association get no memory here, but for the end of one.
        let known = cause == Some(cause::ACCEPTED) || self.peers.knows(from.ip());
        if answer.kind != Kind::HeartbeatResponse && known {
            self.answers.keep(now, from, seq, request, octets.clone());
            if let Some(noted) = &mut self.new_answers {
                noted.push(kept::AnswerNote::Given(kept::KeptAnswer {
                    at: now,
                    from,
                    seq,
                    request,
                    octets: octets.clone(),
                }));
            }
        }
        self.push(from, octets);
    }

    /// A message as octets.
    fn write(&mut self, header: Header, elements: &[Element<'_>]) -> Option<Vec<u8>> {
        match header.write(elements, &mut self.scratch) {
            Ok(n) => Some(self.scratch[..n].to_vec()),
            Err(error) => {
                // Elements are made here from what was read with the same bounds.
                debug_assert!(false, "{error}");
                self.counters.left_out += 1;
                None
            }
        }
    }

    fn transmit(&mut self, to: SocketAddr, header: Header, elements: &[Element<'_>]) {
        if let Some(octets) = self.write(header, elements) {
            self.push(to, octets);
        }
    }

    /// Sends a request of our own and repeats it until it is answered. False where too many are under way.
    fn request(
        &mut self,
        now: Instant,
        to: SocketAddr,
        kind: Kind,
        seid: Option<u64>,
        elements: &[Element<'_>],
        about: About,
    ) -> bool {
        let Some(seq) = self.requests.seq() else {
            self.counters.left_out += 1;
            return false;
        };
        let header = Header {
            kind,
            seid,
            seq,
            priority: None,
        };
        let Some(octets) = self.write(header, elements) else {
            return false;
        };
        self.requests.sent(now, seq, to, about, octets.clone());
        self.push(to, octets);
        true
    }

    fn push(&mut self, to: SocketAddr, octets: Vec<u8>) {
        if self.out.len() < TRANSMITS {
            self.out.push_back((to, octets));
        } else {
            self.counters.left_out += 1;
        }
    }

    fn event(&mut self, event: Event) {
        if self.events.len() < EVENTS {
            self.events.push_back(event);
        }
    }

    /// Time passed: requests are repeated, heartbeats and reports leave, and lost nodes lose their sessions. Also to be called
    /// when [`Usage::is_due`] turns true.
    pub fn on_timer(&mut self, now: Instant, sessions: &mut Sessions, usage: &mut Usage) {
        self.repeat(now);
        self.watch_peers(now, sessions, usage);
        self.notify_delayed(now, sessions);
        usage.on_timer(now);
        self.report_usage(now, sessions, usage);
        self.answers.expire(now);
    }

    /// When to call [`Node::on_timer`] next.
    pub fn next_timer(&self, usage: &Usage) -> Option<Instant> {
        let due = usage.is_due().then_some(Instant::ZERO);
        let delayed = self.delayed.first().map(|(at, _)| *at);
        [
            due.filter(|_| self.requests.has_room()),
            delayed,
            usage.next_timer(),
            self.requests.next_timer(),
            self.answers.next_timer(),
            self.next_peer_timer(),
        ]
        .into_iter()
        .flatten()
        .min()
    }

    /// A datagram that leaves; call until it returns `None`.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, Vec<u8>)> {
        self.out.pop_front()
    }

    /// What happened to associations; call until it returns `None`.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    /// Changes the networks that rules may name from now on.
    pub(crate) fn set_networks(&mut self, networks: Networks) {
        self.config.networks = networks;
    }

    /// What was counted.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// True for a session of an association.
    pub(crate) fn owns(&self, session: &crate::sessions::Session) -> bool {
        self.peers.get(session.node).is_some()
    }

    /// The nodes with an association, and whether each answers.
    pub fn associations(&self) -> impl Iterator<Item = (&NodeName, bool)> {
        let peers = self.peers.iter();
        peers.map(|(_, p)| (&p.name, p.state == peers::State::Up))
    }
}

#[cfg(test)]
mod tests;
