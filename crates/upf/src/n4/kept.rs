//! What of the node outlives its process: associations, sessions and the answers to requests that may come again.

use std::net::{IpAddr, SocketAddr};

use slackwater_core::Instant;
use slackwater_wire::pfcp::{Element, FSeid, Header, Kind, Message};

use super::config::NodeName;
use super::draft::Draft;
use super::peers::{Peer, State};
use super::report::Notices;
use super::written;
use super::{Event, Node};
use crate::rules::Rules;
use crate::sessions::{Seid, Session, Sessions};

/// An association, as it is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Association {
    /// Its number, by which sessions name it.
    pub(crate) at: u32,
    /// The node.
    pub(crate) name: NodeName,
    /// Where it sends from.
    pub(crate) from: SocketAddr,
    /// When it started, in seconds of NTP.
    pub(crate) recovery: u32,
}

/// An answer that a repeated request gets.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeptAnswer {
    /// When it was given.
    pub(crate) at: Instant,
    /// To whom.
    pub(crate) from: SocketAddr,
    /// The request's number.
    pub(crate) seq: u32,
    /// The request's type.
    pub(crate) request: u8,
    /// The answer.
    pub(crate) octets: Vec<u8>,
}

/// What happened to the answers that are kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnswerNote {
    /// One was given.
    Given(KeptAnswer),
    /// Those before it to an address, or to one port of it, hold no longer.
    Forgotten(IpAddr, Option<u16>),
}

impl Node {
    /// Notes answers from now on, for [`Node::take_answers`].
    pub(crate) fn keep_answers(&mut self) {
        self.new_answers = Some(Vec::new());
    }

    /// What happened to answers since the last call.
    pub(crate) fn take_answers(&mut self) -> Vec<AnswerNote> {
        let noted = self.new_answers.as_mut();
        noted.map(core::mem::take).unwrap_or_default()
    }

    /// All answers that are still kept, oldest first for each address.
    pub(crate) fn all_answers(&self) -> Vec<KeptAnswer> {
        self.answers.all()
    }

    /// All associations.
    pub(crate) fn kept_associations(&self) -> Vec<Association> {
        let peers = self.peers.iter().map(|(at, p)| Association {
            at,
            name: p.name.clone(),
            from: p.from,
            recovery: p.recovery,
        });
        peers.collect()
    }

    /// A session as the request that would order it; `None` where it does not fit a message.
    pub(crate) fn kept_session(&mut self, session: &Session) -> Option<Vec<u8>> {
        let to = self.notices.get(&session.seid)?.to();
        let (v4, v6) = match to {
            IpAddr::V4(a) => (Some(a), None),
            IpAddr::V6(a) => (None, Some(a)),
        };
        let texts = written::texts(&session.rules);
        let mut elements = vec![Element::FSeid(FSeid {
            seid: session.peer_seid,
            v4,
            v6,
        })];
        elements.extend(written::elements(&session.rules, &texts));
        let kind = Kind::SessionEstablishmentRequest;
        let header = Header::session(kind, session.seid.0, session.node & 0x00ff_ffff);
        let n = header.write(&elements, &mut self.scratch).ok()?;
        Some(self.scratch[..n].to_vec())
    }

    /// Takes an association up again. Its heartbeat leaves at once: the answer says whether the node has started again
    /// meanwhile, and thereby whether its sessions still hold (TS 23.007, 26.1.1).
    pub(crate) fn take_up(&mut self, now: Instant, kept: Association) -> bool {
        let peer = Peer {
            name: kept.name.clone(),
            from: kept.from,
            recovery: kept.recovery,
            state: State::Up,
            heartbeat: self.config.heartbeat.map(|_| now),
        };
        let placed = self.config.allows(kept.from.ip()) && self.peers.put(kept.at, peer);
        if placed {
            self.event(Event::TakenUp(kept.name));
        }
        placed
    }

    /// Takes a session up again, under the checks that a new one meets. What is wrong with it otherwise.
    pub(crate) fn take_up_session(
        &mut self,
        now: Instant,
        octets: &[u8],
        sessions: &mut Sessions,
    ) -> Result<Seid, String> {
        let message = Message::parse(octets).map_err(|e| e.to_string())?;
        let elements: Result<Vec<_>, _> = message.elements().collect();
        let elements = elements.map_err(|e| format!("{e:?}"))?;
        let endpoint = elements.iter().find_map(|e| match e {
            Element::FSeid(endpoint) => Some(*endpoint),
            _ => None,
        });
        let node = message.header.seq;
        let (Some(seid), Some(endpoint)) = (message.header.seid.map(Seid), endpoint) else {
            return Err("no endpoint".to_owned());
        };
        let to = endpoint.v4.map(IpAddr::V4).or(endpoint.v6.map(IpAddr::V6));
        let to = to.ok_or("no address of the control plane")?;
        if self.peers.get(node).is_none() {
            return Err("no association".to_owned());
        }
        let mut draft = Draft::new(&self.config, &mut self.tunnels, sessions, None);
        draft
            .apply(&elements)
            .map_err(|refusal| format!("{refusal:?}"))?;
        let rules = Rules {
            since: now,
            ..draft.rules
        };
        if !sessions.put(now, seid, node, endpoint.seid) {
            return Err("its place is taken".to_owned());
        }
        self.notices.insert(seid, Notices::new(to));
        sessions.set_rules(seid, rules);
        Ok(seid)
    }

    /// An answer from before.
    pub(crate) fn take_up_answer(&mut self, kept: KeptAnswer) {
        self.answers
            .keep(kept.at, kept.from, kept.seq, kept.request, kept.octets);
    }
}
