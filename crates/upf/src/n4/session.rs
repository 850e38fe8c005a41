//! Sessions: establishment, modification and deletion (TS 29.244, 6.3).

use std::net::{IpAddr, SocketAddr};

use slackwater_core::Instant;
use slackwater_wire::pfcp::{
    CreatedPdr, Element, FSeid, FTeid, Kind, Message, UsageIn, cause, kind,
};

use super::config::NodeName;
use super::draft::{Draft, UsageOrder};
use super::refusal::Refusal;
use super::report::{Notices, usage_report};
use super::{Answer, Node};
use crate::rules::{LocalTunnel, Rules};
use crate::sessions::{Seid, Sessions};
use crate::usage::{Report, Usage};

/// All elements of a message, or why it is refused.
fn read<'a>(message: &Message<'a>) -> Result<Vec<Element<'a>>, Refusal> {
    let elements: Result<Vec<_>, _> = message.elements().collect();
    Ok(elements?)
}

/// The element of a tunnel that was chosen.
fn chosen((id, tunnel): &(u16, LocalTunnel)) -> CreatedPdr {
    let LocalTunnel { teid, v4, v6 } = *tunnel;
    CreatedPdr {
        id: *id,
        tunnel: Some(FTeid::Given { teid, v4, v6 }),
    }
}

/// What a request came to.
struct Done {
    rules: Rules,
    created: Vec<(u16, LocalTunnel)>,
    updated: Vec<(u16, LocalTunnel)>,
    end_markers: Vec<crate::rules::RemoteTunnel>,
    usage: Vec<UsageOrder>,
}

impl Node {
    fn draft(
        &mut self,
        sessions: &Sessions,
        seid: Option<Seid>,
        elements: &[Element<'_>],
    ) -> Result<Done, Refusal> {
        let mut draft = Draft::new(&self.config, &mut self.tunnels, sessions, seid);
        draft.apply(elements)?;
        Ok(Done {
            rules: draft.rules,
            created: draft.created,
            updated: draft.updated,
            end_markers: draft.end_markers,
            usage: draft.usage,
        })
    }

    pub(super) fn establish(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Answer {
        // What can be read says where the answer goes, even where the rest is wrong.
        let endpoint = message.elements().flatten().find_map(|e| match e {
            Element::FSeid(endpoint) => Some(endpoint),
            _ => None,
        });
        let outcome = self.try_establish(now, from, message, endpoint, sessions, usage);
        let address = self.config.address;
        let mut elements = Vec::new();
        match outcome {
            Ok((seid, created)) => {
                elements.push(Element::Cause(cause::ACCEPTED));
                elements.push(Element::FSeid(FSeid {
                    seid: seid.0,
                    v4: match address {
                        IpAddr::V4(a) => Some(a),
                        IpAddr::V6(_) => None,
                    },
                    v6: match address {
                        IpAddr::V4(_) => None,
                        IpAddr::V6(a) => Some(a),
                    },
                }));
                elements.extend(created.iter().map(chosen).map(Element::CreatedPdr));
            }
            Err(refusal) => elements.extend(refusal.elements()),
        }
        Answer {
            kind: Kind::SessionEstablishmentResponse,
            // 0 where the request named no endpoint (TS 29.244, 7.2.2.4.2).
            seid: Some(endpoint.map_or(0, |e| e.seid)),
            named: true,
            elements,
        }
    }

    fn try_establish(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        endpoint: Option<FSeid>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Result<(Seid, Vec<(u16, LocalTunnel)>), Refusal> {
        let elements = read(message)?;
        let missing = |kind| Refusal::new(cause::MANDATORY_MISSING, kind);
        let name = elements.iter().find_map(|e| match e {
            Element::NodeId(id) => Some(NodeName::from(*id)),
            _ => None,
        });
        let name = name.ok_or(missing(kind::NODE_ID))?;
        let node = self.associated(from, &name)?;
        let endpoint = endpoint.ok_or(missing(kind::F_SEID))?;
        let has = |which: fn(&Element<'_>) -> bool| elements.iter().any(which);
        if !has(|e| matches!(e, Element::CreatePdr(_))) {
            return Err(missing(kind::CREATE_PDR));
        }
        if !has(|e| matches!(e, Element::CreateFar(_))) {
            return Err(missing(kind::CREATE_FAR));
        }
        if sessions.len() >= self.config.max_sessions {
            return Err(Refusal::plain(cause::NO_RESOURCES));
        }
        let done = self.draft(sessions, None, &elements)?;
        let seid = sessions.add(now, node, endpoint.seid);
        let address = match from.ip() {
            IpAddr::V4(_) => endpoint.v4.map(IpAddr::V4).or(endpoint.v6.map(IpAddr::V6)),
            IpAddr::V6(_) => endpoint.v6.map(IpAddr::V6).or(endpoint.v4.map(IpAddr::V4)),
        };
        // Reports go to the session's endpoint (TS 29.244, 7.5.8.1), unless that may not be a peer.
        let to = address
            .filter(|a| self.config.allows(*a))
            .unwrap_or(from.ip());
        self.notices.insert(seid, Notices::new(to));
        let rules = Rules {
            since: now,
            ..done.rules
        };
        for urr in &rules.urrs {
            usage.create(now, seid, urr);
        }
        sessions.set_rules(seid, rules);
        Ok((seid, done.created))
    }

    /// The session that a message is about, where it comes from the session's control plane.
    fn owned(
        &self,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &Sessions,
    ) -> Result<(Seid, u64), Refusal> {
        let unknown = Refusal::plain(cause::NO_SESSION);
        let seid = Seid(message.header.seid.ok_or(unknown)?);
        let session = sessions.get(seid).ok_or(unknown)?;
        let peer = self.peers.get(session.node).ok_or(unknown)?;
        let to = self.notices.get(&seid).map(Notices::to);
        if peer.from.ip() != from.ip() && to != Some(from.ip()) {
            // Whether there is such a session is no business of others.
            return Err(unknown);
        }
        Ok((seid, session.peer_seid))
    }

    pub(super) fn modify(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Answer {
        let owned = self.owned(from, message, sessions);
        let outcome = owned.and_then(|(seid, _)| {
            let elements = read(message)?;
            self.try_modify(now, seid, &elements, sessions, usage)
        });
        Answer {
            kind: Kind::SessionModificationResponse,
            seid: Some(owned.map_or(0, |(_, peer)| peer)),
            named: false,
            elements: outcome.unwrap_or_else(Refusal::elements),
        }
    }

    fn try_modify(
        &mut self,
        now: Instant,
        seid: Seid,
        elements: &[Element<'_>],
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Result<Vec<Element<'static>>, Refusal> {
        let done = self.draft(sessions, Some(seid), elements)?;
        let mut answer = vec![Element::Cause(cause::ACCEPTED)];
        answer.extend(done.created.iter().map(chosen).map(Element::CreatedPdr));
        answer.extend(done.updated.iter().map(chosen).map(Element::UpdatedPdr));
        for order in &done.usage {
            let report = match *order {
                UsageOrder::Query(id) => usage.query(now, seid, id),
                UsageOrder::Remove(id) => usage.remove(now, seid, id),
                UsageOrder::Create(id) => {
                    if let Some(urr) = done.rules.urr(id) {
                        usage.create(now, seid, urr);
                    }
                    None
                }
                UsageOrder::Update { id, volume, time } => {
                    if let Some(urr) = done.rules.urr(id) {
                        usage.update(now, seid, urr, volume, time);
                    }
                    None
                }
            };
            answer.extend(report.map(|r| self.usage_element(UsageIn::Modification, &r)));
        }
        // The marker goes before anything goes by the new tunnel.
        for tunnel in done.end_markers {
            sessions.end_marker(seid, tunnel);
        }
        // What the control plane does is its answer to notices: the next packet or error is told anew.
        if let Some(notices) = self.notices.get_mut(&seid)
            && let Some(at) = notices.renew()
        {
            self.delayed.remove(&(at, seid));
        }
        if elements.iter().any(changes_rules) {
            sessions.set_rules(seid, done.rules);
        }
        let moved = elements.iter().find_map(|e| match e {
            // The control plane gives the session another endpoint (TS 29.244, 7.5.4.1).
            Element::FSeid(endpoint) => Some(*endpoint),
            _ => None,
        });
        if let Some(endpoint) = moved {
            sessions.set_peer_seid(seid, endpoint.seid);
        }
        Ok(answer)
    }

    pub(super) fn delete(
        &mut self,
        now: Instant,
        from: SocketAddr,
        message: &Message<'_>,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Answer {
        let owned = self.owned(from, message, sessions);
        let elements = match owned {
            Err(refusal) => refusal.elements(),
            Ok((seid, _)) => {
                let reports = self.end_session(now, seid, sessions, usage);
                let reports = reports.iter();
                let reports = reports.map(|r| self.usage_element(UsageIn::Deletion, r));
                std::iter::once(Element::Cause(cause::ACCEPTED))
                    .chain(reports)
                    .collect()
            }
        };
        Answer {
            kind: Kind::SessionDeletionResponse,
            seid: Some(owned.map_or(0, |(_, peer)| peer)),
            named: false,
            elements,
        }
    }

    /// Ends a session; what its rules counted last.
    pub(super) fn end_session(
        &mut self,
        now: Instant,
        seid: Seid,
        sessions: &mut Sessions,
        usage: &mut Usage,
    ) -> Vec<Report> {
        if let Some(at) = self.notices.remove(&seid).and_then(|mut n| n.renew()) {
            self.delayed.remove(&(at, seid));
        }
        sessions.remove(seid);
        usage.end(now, seid)
    }

    pub(super) fn usage_element(&self, place: UsageIn, report: &Report) -> Element<'static> {
        Element::Usage(place, usage_report(report, |at| self.seconds(at)))
    }
}

/// True for an element by which rules change.
fn changes_rules(element: &Element<'_>) -> bool {
    matches!(
        element,
        Element::CreatePdr(_)
            | Element::UpdatePdr(_)
            | Element::RemovePdr(_)
            | Element::CreateFar(_)
            | Element::UpdateFar(_)
            | Element::RemoveFar(_)
            | Element::CreateQer(_)
            | Element::UpdateQer(_)
            | Element::RemoveQer(_)
            | Element::CreateUrr(_)
            | Element::UpdateUrr(_)
            | Element::RemoveUrr(_)
            | Element::CreateBar(_)
            | Element::UpdateBar(_)
            | Element::RemoveBar(_)
    )
}
