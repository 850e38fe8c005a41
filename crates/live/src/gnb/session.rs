//! A UE's PDU session: its `QoS` flows, which of them a packet of the uplink takes, and what its containers say.

use std::net::SocketAddr;

use slackwater_core::{Duration, Instant, PacketView as _, Qfi, Teid};
use slackwater_wire::IpPacket;
use slackwater_wire::gtpu::psc::{Downlink, Uplink};
use slackwater_wire::gtpu::report::{Units, container};
use slackwater_wire::gtpu::{Ntp, NtpClock};

use super::description::{Rule, Ue};

/// How long a rule lives that a reflective packet left: the RQ timer. TS 24.501, table 10.3.1 leaves its value to the
/// network; 12 s is ours.
const DERIVED: Duration = Duration::from_secs(12);
/// Rules of that kind for one UE at most. Ours: a peer must not fill the memory.
const DERIVED_MOST: usize = 1_024;
/// An answer waits so long for a packet of its `QoS` flow, then travels in an empty one (TS 23.501, 5.33.3.2, leaves the time to
/// the radio network). Ours: longer than an LTE uplink takes from a scheduling request on.
const ANSWER: Duration = Duration::from_millis(50);
/// The same for congestion, which ages. Ours.
const CONGESTION: Duration = Duration::from_millis(10);
/// Congestion that stays the same is told again after this time. Ours, below the 200 ms for which a marker holds it.
const TOLD_AGAIN: Duration = Duration::from_millis(100);

/// A session.
#[derive(Debug)]
pub(super) struct Session {
    /// Where uplink packets go.
    pub(super) uplink: SocketAddr,
    /// The tunnel there.
    pub(super) teid: Teid,
    /// The place of its first `QoS` flow.
    pub(super) first: u32,
    /// Its `QoS` flows, by place.
    pub(super) flows: Vec<QosFlow>,
    rules: Vec<Rule>,
    /// Rules that reflective packets left: key of the uplink's packets, position of the flow, end.
    derived: Vec<(u32, usize, Instant)>,
}

/// A `QoS` flow.
#[derive(Debug)]
pub(super) struct QosFlow {
    pub(super) qfi: Qfi,
    /// A packet in the cell that the user plane function stamped.
    asked: Option<Asked>,
    /// The answer to one that has left it.
    answer: Option<Answer>,
    /// Delay of the last uplink packet.
    up: Option<Duration>,
    /// Delay of the last stamped downlink packet.
    down: Option<Duration>,
    /// Congestion in 0.01 %: what the cell said last, and what was told last and when.
    congestion: Option<u16>,
    told: Option<(u16, Instant)>,
    /// When an empty packet leaves with what waits.
    pub(super) due: Option<Instant>,
}

/// A packet with a stamp, on its way through the cell.
#[derive(Clone, Copy, Debug)]
struct Asked {
    ask: Downlink,
    received: Ntp,
    /// Its time of emission into the world, which no other packet shares.
    came: Instant,
}

#[derive(Clone, Copy, Debug)]
struct Answer {
    ask: Downlink,
    received: Ntp,
    /// Delay in the cell; `None` where no packet has passed it yet.
    down: Option<Duration>,
}

impl Session {
    pub(super) fn new(ue: &Ue, first: u32, qfis: impl Iterator<Item = Qfi>) -> Self {
        let flow = |qfi| QosFlow {
            qfi,
            asked: None,
            answer: None,
            up: None,
            down: None,
            congestion: None,
            told: None,
            due: None,
        };
        Self {
            uplink: ue.uplink.socket(),
            teid: ue.uplink.tunnel(),
            first,
            flows: qfis.map(flow).collect(),
            rules: ue.rule.clone(),
            derived: Vec::new(),
        }
    }

    /// The position of the flow `qfi`.
    pub(super) fn position(&self, qfi: Qfi) -> Option<usize> {
        self.flows.iter().position(|f| f.qfi == qfi)
    }

    /// The flow that `packet`, which the UE sends at `now`, takes: by packet filters, by what a reflective packet left, or
    /// by the default rule.
    pub(super) fn classify(&self, now: Instant, packet: &[u8]) -> usize {
        if self.flows.len() == 1 {
            return 0;
        }
        let Ok(ip) = IpPacket::new(ByRef(packet)) else {
            return 0;
        };
        let (local, remote) = ip.ports().unzip();
        let matches = |rule: &&Rule| {
            let port = |wanted: Option<u16>, has: Option<u16>| wanted.is_none() || wanted == has;
            let protocol = rule.protocol.is_none() || rule.protocol == ip.protocol();
            protocol && port(rule.local_port, local) && port(rule.remote_port, remote)
        };
        if let Some(rule) = self.rules.iter().find(matches) {
            return self.position(Qfi(rule.qfi)).unwrap_or(0);
        }
        let key = ip.flow_key();
        let derived = self.derived.iter().find(|d| d.0 == key && d.2 > now);
        derived.map_or(0, |d| d.1)
    }

    /// Packets that answer `packet` take the flow at `position` from now on (TS 24.501, 6.2.5.1.4).
    pub(super) fn reflect(&mut self, now: Instant, position: usize, packet: &[u8]) {
        let Ok(ip) = IpPacket::new(ByRef(packet)) else {
            return;
        };
        let (key, end) = (ip.reverse_key(), now + DERIVED);
        if let Some(rule) = self.derived.iter_mut().find(|d| d.0 == key) {
            (rule.1, rule.2) = (position, end);
            return;
        }
        self.derived.retain(|d| d.2 > now);
        if self.derived.len() < DERIVED_MOST {
            self.derived.push((key, position, end));
        }
    }
}

/// A packet that is only read.
#[derive(Debug)]
struct ByRef<'a>(&'a [u8]);

impl AsRef<[u8]> for ByRef<'_> {
    fn as_ref(&self) -> &[u8] {
        self.0
    }
}

impl AsMut<[u8]> for ByRef<'_> {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut []
    }
}

impl QosFlow {
    /// A stamped packet entered the cell at `came`, having reached N3 at `received` (flag QMP of TS 38.415, 5.5.2.1). One at
    /// a time is followed; those that come meanwhile are not answered.
    pub(super) fn entered(&mut self, ask: Downlink, received: Ntp, came: Instant) {
        if self.asked.is_none() {
            self.asked = Some(Asked {
                ask,
                received,
                came,
            });
        }
    }

    /// A stamped packet without a user's packet came: the answer has the delays of the last ones.
    pub(super) fn asked_alone(&mut self, now: Instant, ask: Downlink, received: Ntp) {
        self.answer = Some(Answer {
            ask,
            received,
            down: self.down,
        });
        self.hurry(now + ANSWER);
    }

    /// The packet that entered at `came` left the cell at `at`.
    pub(super) fn left(&mut self, now: Instant, came: Instant, at: Instant) {
        let Some(asked) = self.asked.filter(|a| a.came <= came) else {
            return;
        };
        self.asked = None;
        // One that came later is out: the cell dropped the stamped one.
        if asked.came == came {
            self.down = Some(at.since(came));
            self.answer = Some(Answer {
                ask: asked.ask,
                received: asked.received,
                down: self.down,
            });
            self.hurry(now + ANSWER);
        }
    }

    /// The cell says that this share of packets should be marked, in 0.01 %.
    pub(super) fn congested(&mut self, now: Instant, per_10k: u16) {
        self.congestion = Some(per_10k);
        let told = |(what, at)| what == per_10k && now.since(at) < TOLD_AGAIN;
        if !self.told.is_some_and(told) {
            self.hurry(now + CONGESTION);
        }
    }

    fn hurry(&mut self, due: Instant) {
        self.due = Some(self.due.map_or(due, |d| d.min(due)));
    }

    /// The container of a packet that leaves at `now`, having spent `up` on its way from the UE; `None` where there is no
    /// user's packet. TS 38.415, 5.5.2.2: the answer to a stamp has that stamp, when it came, when this leaves, and both
    /// delays inside of the radio network.
    pub(super) fn container(
        &mut self,
        now: Instant,
        up: Option<Duration>,
        clock: NtpClock,
        units: &Units,
    ) -> Uplink {
        self.up = up.or(self.up);
        self.due = None;
        let mut content = container::empty(self.qfi);
        if let Some(answer) = self.answer.take() {
            let zero = Duration::ZERO;
            let delays = [answer.down.unwrap_or(zero), self.up.unwrap_or(zero)];
            let sent = clock.stamp(now);
            if let Some(whole) =
                container::answer(&answer.ask, answer.received, sent, delays, units)
            {
                content = whole;
            }
            // A delay that nothing has shown is no delay of zero.
            content.dl_delay = content.dl_delay.filter(|_| answer.down.is_some());
            content.ul_delay = content.ul_delay.filter(|_| self.up.is_some());
        }
        if let Some(per_10k) = self.congestion {
            content.dl_congestion = Some(per_10k);
            self.told = Some((per_10k, now));
        }
        content
    }
}
