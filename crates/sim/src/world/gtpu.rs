//! Reports on their way to a function as octets of GTP-U: what arrives is as coarse as the fields of the profile make it.

use slackwater_core::{FlowId, Instant, Qfi, Teid, UeId};
use slackwater_edge::RanReport;
use slackwater_edge::gnb::RlcReporter;
use slackwater_schema::choice;
use slackwater_wire::WireError;
use slackwater_wire::gtpu::extension::{MAX_CONTENT, NR_RAN_CONTAINER, PDU_SESSION_CONTAINER};
use slackwater_wire::gtpu::psc::Container;
use slackwater_wire::gtpu::report::container::{empty, put};
use slackwater_wire::gtpu::report::{Names, Packer, Scope, Source, Tunnels, Units, receive};
use slackwater_wire::gtpu::{Header, Message, NtpClock};

choice! {
    /// Which fields of GTP-U carry reports to a function (docs/wire.md).
    pub enum Profile {
        /// A: the uplink PDU session container, by fields of the standard alone: congestion and available rates, and no queues.
        Container = "container",
        /// B: assistance information on the tunnel of each session.
        Session = "session",
        /// C: assistance information of all sessions on a tunnel of its own. The default.
        Multi = "multi",
    }
}

/// The tunnel for reports of all sessions.
const REPORTS: Teid = Teid(u32::MAX);
/// Tunnels from here on are of flows whose congestion is reported: several may share a `QoS` flow of the simulation.
const FLOWS: u32 = 1 << 31;

/// Who has which tunnel. That of a UE's session is its number plus one.
struct Cell;

impl Tunnels for Cell {
    fn session(&self, ue: UeId) -> Option<Teid> {
        ue.0.checked_add(1).filter(|n| *n < FLOWS).map(Teid)
    }
    fn flow(&self, flow: FlowId) -> Option<(Teid, Qfi)> {
        match RlcReporter::bearer_of(flow) {
            Some((ue, bearer)) => Some((self.session(ue)?, Qfi(bearer.0))),
            None => Some((Teid(FLOWS | flow.0), Qfi(0))),
        }
    }
}

impl Names for Cell {
    fn ue(&self, teid: Teid) -> Option<UeId> {
        // Of a flow's congestion no UE is reported.
        let session = teid.0.checked_sub(1).filter(|n| *n < FLOWS);
        Some(UeId(session.unwrap_or(0)))
    }
    fn flow(&self, teid: Teid, qfi: Qfi) -> Option<FlowId> {
        if teid.0 & FLOWS != 0 {
            return Some(FlowId(teid.0 & !FLOWS));
        }
        let bearer = slackwater_core::BearerId(qfi.0);
        Some(RlcReporter::name_of(self.ue(teid)?, bearer))
    }
}

/// The messages of one agent.
#[derive(Debug)]
pub(super) struct Gtpu {
    profile: Profile,
    /// The clock of the base station.
    clock: NtpClock,
    /// Reports so far.
    seq: u32,
    /// What was read of the message under way.
    read: Vec<RanReport>,
}

impl Gtpu {
    pub(super) fn new(profile: Profile) -> Self {
        Self {
            profile,
            clock: NtpClock::default(),
            seq: 0,
            read: Vec::new(),
        }
    }

    /// Makes of `message` what is read of its octets when it arrives, at `now`. Reports without a field are gone.
    pub(super) fn cross(&mut self, now: Instant, message: &mut Vec<RanReport>) {
        self.read.clear();
        let written = match self.profile {
            Profile::Container => self.containers(now, message),
            Profile::Session => self.sessions(now, message),
            Profile::Multi => self.frames(now, message, Scope::Multi, REPORTS),
        };
        debug_assert!(written.is_ok(), "{written:?}");
        self.seq = self.seq.wrapping_add(1);
        core::mem::swap(message, &mut self.read);
    }

    /// Profile A: each report in a container of its own flow.
    fn containers(&mut self, now: Instant, message: &[RanReport]) -> Result<(), WireError> {
        for report in message {
            let place = match *report {
                RanReport::Congestion { flow, .. } => Tunnels::flow(&Cell, flow),
                RanReport::PathDelay { ue, qfi, .. } | RanReport::Available { ue, qfi, .. } => {
                    Cell.session(ue).map(|teid| (teid, qfi.unwrap_or(Qfi(0))))
                }
                _ => None,
            };
            let Some((teid, qfi)) = place else {
                continue;
            };
            let mut up = empty(qfi);
            if put(report, &mut up, self.clock, &Units::default()) {
                let mut content = [0; MAX_CONTENT];
                let octets = Container::Uplink(up).write(&mut content)?;
                self.deliver(now, teid, PDU_SESSION_CONTAINER, &content[..octets])?;
            }
        }
        Ok(())
    }

    /// Profile B: frames for each session that a report is of.
    fn sessions(&mut self, now: Instant, message: &[RanReport]) -> Result<(), WireError> {
        let mut tunnels: Vec<Teid> = message
            .iter()
            .filter_map(|report| match *report {
                RanReport::Backlog { flow, .. } | RanReport::Congestion { flow, .. } => {
                    Tunnels::flow(&Cell, flow).map(|place| place.0)
                }
                RanReport::LinkState { ue, .. }
                | RanReport::SlotPattern { ue, .. }
                | RanReport::PathDelay { ue, .. }
                | RanReport::Available { ue, .. } => Cell.session(ue),
                _ => None,
            })
            .collect();
        tunnels.sort_unstable();
        tunnels.dedup();
        for teid in tunnels {
            self.frames(now, message, Scope::Session(teid), teid)?;
        }
        Ok(())
    }

    /// The frames of `scope` on the tunnel `teid`.
    fn frames(
        &mut self,
        now: Instant,
        message: &[RanReport],
        scope: Scope,
        teid: Teid,
    ) -> Result<(), WireError> {
        let mut content = [0; MAX_CONTENT];
        let mut packer = Packer::new(message, scope, &Cell, self.clock, self.seq, MAX_CONTENT)?;
        while let Some(octets) = packer.next_frame(&mut content)? {
            self.deliver(now, teid, NR_RAN_CONTAINER, &content[..octets])?;
        }
        Ok(())
    }

    /// Sends an extension header on the tunnel `teid`, and reads the message at its other end.
    fn deliver(
        &mut self,
        now: Instant,
        teid: Teid,
        kind: u8,
        content: &[u8],
    ) -> Result<(), WireError> {
        // Header, extension header and its padding.
        let mut octets = [0; MAX_CONTENT + 20];
        let length = Header::g_pdu(teid).write(&[(kind, content)], 0, &mut octets)?;
        let message = Message::parse(&octets[..length])?;
        let source = Source {
            names: &Cell,
            clock: self.clock,
            units: Units::default(),
            multi: Some(REPORTS),
        };
        receive(&message, now, &source, |report| self.read.push(report))?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{BearerId, Bytes, Duration};

    use super::*;

    const AT: Instant = Instant::from_nanos(1_250_000);

    fn backlog(ue: u32, bearer: u8, bytes: u64) -> RanReport {
        RanReport::Backlog {
            at: AT,
            ue: UeId(ue),
            flow: RlcReporter::name_of(UeId(ue), BearerId(bearer)),
            bytes: Bytes(bytes),
        }
    }

    fn congestion(flow: u32) -> RanReport {
        RanReport::Congestion {
            at: AT,
            flow: FlowId(flow),
            per_10k: 1_234,
        }
    }

    fn link(ue: u32) -> RanReport {
        RanReport::LinkState {
            at: AT,
            ue: UeId(ue),
            slot_bytes: Bytes(4_867),
            slot: Duration::from_micros(500),
        }
    }

    fn crossed(profile: Profile, mut message: Vec<RanReport>) -> Vec<RanReport> {
        let now = AT + Duration::from_micros(200);
        Gtpu::new(profile).cross(now, &mut message);
        message
    }

    #[test]
    fn all_that_a_reporter_says_survives_profile_c() {
        // Of 300 UEs: more than one frame holds.
        let mut message: Vec<_> = (0..300).map(link).collect();
        message.extend((0..300).flat_map(|ue| [backlog(ue, 0, 70_000), backlog(ue, 3, 0)]));
        assert_eq!(crossed(Profile::Multi, message.clone()), message);
        let message = vec![congestion(0), congestion(7), congestion(900)];
        assert_eq!(crossed(Profile::Multi, message.clone()), message);
    }

    #[test]
    fn profile_b_goes_session_by_session() {
        let message = vec![link(1), link(0), backlog(0, 0, 9), backlog(1, 0, u64::MAX)];
        let most = backlog(1, 0, u64::from(u32::MAX));
        let arrived = [link(0), backlog(0, 0, 9), link(1), most];
        assert_eq!(crossed(Profile::Session, message), arrived);
    }

    #[test]
    fn profile_a_has_congestion_and_no_queues() {
        let message = vec![link(0), backlog(0, 0, 9), congestion(7)];
        let mut arrived = crossed(Profile::Container, message);
        // The container has no time of reading.
        arrived[0] = arrived[0].read_at(AT);
        assert_eq!(arrived, [congestion(7)]);
    }
}
