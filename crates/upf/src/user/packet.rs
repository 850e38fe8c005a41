//! A user's packet as the edge functions see it: the buffer, and what the session's rules said of it.

use slackwater_core::{
    Direction, Duration, Ecn, FlowId, Instant, PacketView, Qfi, SackList, SeqNum, SynOptions,
    TcpHeader, UeId,
};
use slackwater_wire::IpPacket;

use super::buffer::Buf;
use crate::sessions::Seid;

/// What the rules said when the packet came. Where it goes is looked up when it leaves: a path may move meanwhile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The session.
    pub seid: Seid,
    /// The PDR that matched.
    pub pdr: u16,
    /// Which way it goes.
    pub direction: Direction,
    /// The `QoS` flow that it is marked with, or came in; `None` in an EPC bearer.
    pub qfi: Option<Qfi>,
    /// Reflective `QoS` (TS 38.415, RQI).
    pub reflective: bool,
    /// The `QoS` flow of guaranteed rate that it belongs to.
    pub gbr_flow: Option<Qfi>,
}

impl Route {
    /// The session as edge functions name it.
    pub const fn ue(&self) -> UeId {
        self.seid.ue()
    }
}

/// The `QoS` flow of a session as reports name it ([`slackwater_signal::RanReport::Congestion`]).
pub const fn flow_of(ue: UeId, qfi: Qfi) -> FlowId {
    // A QFI has 6 bits (TS 38.415, 5.5.3.3).
    FlowId(ue.0 << 6 | (qfi.0 & 0x3f) as u32)
}

/// The packet.
#[derive(Clone, Debug)]
pub struct UserPacket {
    ip: IpPacket<Buf>,
    /// What the rules said.
    pub route: Route,
    /// The keys of its flow where its own octets do not show them: of a later fragment, those of the first.
    keys: Option<(u32, u32)>,
    /// When its wait began.
    since: Instant,
}

impl UserPacket {
    /// A packet with its route, which came `now`.
    pub const fn new(
        now: Instant,
        ip: IpPacket<Buf>,
        route: Route,
        keys: Option<(u32, u32)>,
    ) -> Self {
        Self {
            ip,
            route,
            keys,
            since: now,
        }
    }

    /// Its wait begins now: before, nobody could send it.
    pub const fn begin(&mut self, now: Instant) {
        self.since = now;
    }

    /// How long it has waited.
    pub fn waited(&self, now: Instant) -> Duration {
        now.since(self.since)
    }

    /// Its headers.
    pub const fn ip(&self) -> &IpPacket<Buf> {
        &self.ip
    }

    /// Its octets, without any behind its end.
    pub fn into_buf(self) -> Buf {
        let length = self.ip.bytes().len();
        let mut buf = self.ip.into_inner();
        buf.truncate(length);
        buf
    }
}

impl PacketView for UserPacket {
    fn len(&self) -> u32 {
        self.ip.len()
    }
    fn flow_key(&self) -> u32 {
        self.keys.map_or_else(|| self.ip.flow_key(), |k| k.0)
    }
    fn flow(&self) -> Option<FlowId> {
        // Without a QFI reports mean flow 0 (docs/wire.md).
        Some(flow_of(self.route.ue(), self.route.qfi.unwrap_or(Qfi(0))))
    }
    fn reverse_key(&self) -> u32 {
        self.keys.map_or_else(|| self.ip.reverse_key(), |k| k.1)
    }
    fn ecn(&self) -> Ecn {
        self.ip.ecn()
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.ip.set_ecn(ecn);
    }
    fn tcp(&self) -> Option<TcpHeader> {
        self.ip.tcp()
    }
    fn sack(&self) -> SackList {
        self.ip.sack()
    }
    fn syn_options(&self) -> Option<SynOptions> {
        self.ip.syn_options()
    }
    fn ports(&self) -> Option<(u16, u16)> {
        self.ip.ports()
    }
    fn set_tcp_window(&mut self, window: u16) {
        self.ip.set_tcp_window(window);
    }
    fn set_tcp_ack(&mut self, ack: SeqNum) {
        self.ip.set_tcp_ack(ack);
    }
    fn spin_bit(&self) -> Option<bool> {
        self.ip.spin_bit()
    }
}
