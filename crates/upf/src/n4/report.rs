//! Session reports: usage, downlink data and error indications (TS 29.244, 5.2.3, 5.3.1 and 7.5.8).

use std::net::{IpAddr, SocketAddr};

use slackwater_core::Instant;
use slackwater_wire::pfcp::{Element, FTeid, Kind, UsageIn, UsageReport, Volumes, report_type};

use super::Node;
use super::requests::About;
use crate::rules::{Action, RemoteTunnel, Rules};
use crate::sessions::{Seid, Sessions};
use crate::usage::{Report, Usage};

/// Usage reports in one message at most: 10 of 97 octets stay below the smallest path MTU of IPv6.
const USAGE_IN_ONE: usize = 10;

/// What the control plane has been told of a session.
#[derive(Debug)]
pub(super) struct Notices {
    /// Where reports go.
    to: IpAddr,
    /// PDRs for which downlink data was told, or is about to be.
    data: Vec<u16>,
    /// When the delayed notification leaves.
    at: Option<Instant>,
    /// Tunnels whose error indication was told.
    errors: Vec<RemoteTunnel>,
}

impl Notices {
    pub(super) const fn new(to: IpAddr) -> Self {
        Self {
            to,
            data: Vec::new(),
            at: None,
            errors: Vec::new(),
        }
    }

    pub(super) const fn to(&self) -> IpAddr {
        self.to
    }

    /// All may be told again; the time of a notification that is not to leave any more.
    pub(super) fn renew(&mut self) -> Option<Instant> {
        self.data.clear();
        self.errors.clear();
        self.at.take()
    }
}

/// True where packets that meet the PDR are kept, and the control plane wants to know.
fn is_told(rules: &Rules, pdr: u16) -> bool {
    let pdr = rules.pdrs.iter().find(|p| p.id == pdr);
    let far = pdr.and_then(|p| rules.far(p.far?));
    far.is_some_and(|f| f.action == Action::Buffer { notify: true })
}

/// A report as an element has it.
pub(super) fn usage_report(report: &Report, seconds: impl Fn(Instant) -> u32) -> UsageReport {
    let counted = report.volume;
    UsageReport {
        urr: report.urr,
        seqn: report.seqn,
        triggers: report.triggers,
        start: Some(seconds(report.start)),
        end: Some(seconds(report.end)),
        volume: counted.map(|c| Volumes {
            total: Some(c.total()),
            up: Some(c.up),
            down: Some(c.down),
        }),
        packets: counted.map_or([None; 3], |c| {
            let both = c.up_packets + c.down_packets;
            [Some(both), Some(c.up_packets), Some(c.down_packets)]
        }),
        duration: report.duration,
        first: report.first.map(&seconds),
        last: report.last.map(&seconds),
    }
}

impl Node {
    /// A downlink packet of the session met the PDR and is kept. The control plane is told once, until it changes the session;
    /// after the delay that the BAR names, if it names one (TS 29.244, 8.2.28).
    pub fn on_downlink_data(&mut self, now: Instant, seid: Seid, pdr: u16, sessions: &Sessions) {
        let Some(session) = sessions.get(seid) else {
            return;
        };
        let Some(notices) = self.notices.get_mut(&seid) else {
            return;
        };
        if !is_told(&session.rules, pdr) || notices.data.contains(&pdr) {
            return;
        }
        notices.data.push(pdr);
        if notices.at.is_some() {
            // It goes along with the one that waits.
            return;
        }
        let rules = &session.rules;
        let far = rules.pdrs.iter().find(|p| p.id == pdr);
        let far = far.and_then(|p| rules.far(p.far?));
        let bar = far.and_then(|f| rules.bar(f.bar?));
        let delay = bar.map(|b| b.notification_delay).filter(|d| !d.is_zero());
        if let Some(delay) = delay {
            notices.at = Some(now + delay);
            self.delayed.insert((now + delay, seid));
            return;
        }
        self.tell(now, seid, session.peer_seid, session.node, vec![pdr]);
    }

    fn tell(&mut self, now: Instant, seid: Seid, peer_seid: u64, node: u32, pdrs: Vec<u16>) {
        let elements = [
            Element::ReportType(report_type::DOWNLINK_DATA),
            Element::DownlinkData(pdrs),
        ];
        self.send_report(now, seid, peer_seid, node, &elements);
    }

    /// Notifications whose delay has passed leave.
    pub(super) fn notify_delayed(&mut self, now: Instant, sessions: &Sessions) {
        while let Some((at, seid)) = self.delayed.first().copied() {
            if at > now {
                return;
            }
            self.delayed.pop_first();
            let Some(session) = sessions.get(seid) else {
                continue;
            };
            let Some(notices) = self.notices.get_mut(&seid) else {
                continue;
            };
            notices.at = None;
            let told = notices.data.iter().copied();
            let pdrs: Vec<u16> = told.filter(|p| is_told(&session.rules, *p)).collect();
            if !pdrs.is_empty() {
                self.tell(now, seid, session.peer_seid, session.node, pdrs);
            }
        }
    }

    /// The far end of `tunnel` does not know it (TS 29.281, 7.3.1). The control plane is told once, until it changes the
    /// session; of tunnels that no FAR of the session has it is told nothing.
    pub fn on_error_indication(
        &mut self,
        now: Instant,
        seid: Seid,
        tunnel: RemoteTunnel,
        sessions: &Sessions,
    ) {
        let Some(session) = sessions.get(seid) else {
            return;
        };
        let mut fars = session.rules.fars.iter();
        let Some(notices) = self.notices.get_mut(&seid) else {
            return;
        };
        if !fars.any(|f| f.outer == Some(tunnel)) || notices.errors.contains(&tunnel) {
            return;
        }
        notices.errors.push(tunnel);
        let (v4, v6) = match tunnel.address {
            IpAddr::V4(a) => (Some(a), None),
            IpAddr::V6(a) => (None, Some(a)),
        };
        let remote = FTeid::Given {
            teid: tunnel.teid,
            v4,
            v6,
        };
        let elements = [
            Element::ReportType(report_type::ERROR_INDICATION),
            Element::ErrorIndication(vec![remote]),
        ];
        self.send_report(now, seid, session.peer_seid, session.node, &elements);
    }

    fn send_report(
        &mut self,
        now: Instant,
        seid: Seid,
        peer_seid: u64,
        node: u32,
        elements: &[Element<'_>],
    ) -> bool {
        let Some(notices) = self.notices.get(&seid) else {
            return false;
        };
        let Some(peer) = self.peers.get(node) else {
            return false;
        };
        let to = SocketAddr::new(notices.to, self.port_of(peer));
        let kind = Kind::SessionReportRequest;
        self.request(
            now,
            to,
            kind,
            Some(peer_seid),
            elements,
            About::Report(seid),
        )
    }

    /// Usage that is due leaves, as far as requests may be under way: the rest is counted on and leaves later.
    pub(super) fn report_usage(&mut self, now: Instant, sessions: &Sessions, usage: &mut Usage) {
        let mut batch: Option<(Seid, Vec<Report>)> = None;
        while self.requests.has_room() {
            let Some((seid, report)) = usage.take_due(now) else {
                break;
            };
            match &mut batch {
                Some((of, reports)) if *of == seid && reports.len() < USAGE_IN_ONE => {
                    reports.push(report);
                }
                _ => {
                    if let Some((of, reports)) = batch.replace((seid, vec![report])) {
                        self.send_usage(now, of, &reports, sessions);
                    }
                }
            }
        }
        if let Some((of, reports)) = batch {
            self.send_usage(now, of, &reports, sessions);
        }
    }

    fn send_usage(&mut self, now: Instant, seid: Seid, reports: &[Report], sessions: &Sessions) {
        let Some(session) = sessions.get(seid) else {
            return;
        };
        let mut elements = vec![Element::ReportType(report_type::USAGE)];
        let reports = reports.iter();
        elements.extend(reports.map(|r| self.usage_element(UsageIn::Report, r)));
        self.send_report(now, seid, session.peer_seid, session.node, &elements);
    }
}
