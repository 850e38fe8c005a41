//! The gNB's end of N3 without a socket: datagrams in, packets for the cell and datagrams out.

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use slackwater_core::{Duration, Ecn, Instant, Qfi, Teid};
use slackwater_signal::RanReport;
use slackwater_wire::gtpu::extension::{PDU_SESSION_CONTAINER, UDP_PORT};
use slackwater_wire::gtpu::ie::Element;
use slackwater_wire::gtpu::psc::{self, Container, Downlink};
use slackwater_wire::gtpu::report::{FlowCounters, Units};
use slackwater_wire::gtpu::{self, Header, Kind, Message, Ntp, NtpClock, Role};

use super::counters::Counters;
use super::description::{Endpoint, Gnb};
use super::message::{capabilities, decapsulated, echo, inner, message};
use super::path::Paths;
use super::reports::{Reported, Reporter};
use super::session::Session;

/// Octets before a user's packet at most: GTP-U header, container, its frame and padding.
const HEADERS: usize = 12 + psc::MAX + 5;
/// Error indications and notifications that are sent within [`WINDOW`] at most: a peer must not make the gNB flood
/// another. Ours.
const COMPLAINTS: u32 = 100;
const WINDOW: Duration = Duration::from_secs(1);

/// A datagram to a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The peer.
    pub to: SocketAddr,
    /// GTP-U.
    pub bytes: Vec<u8>,
}

/// A user's packet for the cell.
#[derive(Debug, PartialEq, Eq)]
pub struct Down {
    /// The number of its UE and `QoS` flow in [`Gnb::places`].
    pub place: u32,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// The gNB's end of N3.
#[derive(Debug)]
pub struct Node {
    psc: bool,
    clock: NtpClock,
    units: Units,
    sessions: Vec<Session>,
    /// By downlink tunnel.
    tunnels: HashMap<u32, u32>,
    /// By place: the session, and the position in it.
    places: Vec<(u32, u32)>,
    paths: Paths,
    reporter: Reporter,
    out: VecDeque<Datagram>,
    /// The stamp of the packet that was handed out last, with the time at which it came.
    stamped: Option<(Downlink, Ntp)>,
    /// Complaints of this window.
    complaints: (Instant, u32),
    content: [u8; psc::MAX],
    counters: Counters,
}

impl Node {
    /// The driver's clock starts anew: `clock` has the stamps of its times.
    pub const fn start(&mut self, clock: NtpClock) {
        self.clock = clock;
        self.reporter.start(clock);
    }

    /// The node that `gnb` describes; `clock` has the stamps of the driver's times, `bearers` for each UE the `QoS` flow by
    /// which reports name each of its bearers.
    pub fn new(gnb: &Gnb, bearers: Vec<Vec<Qfi>>, clock: NtpClock) -> Self {
        let all = gnb.places();
        let mut sessions = Vec::new();
        for (k, ue) in (0..).zip(&gnb.ue) {
            let own = || all.iter().filter(move |p| p.ue == k).map(|p| p.qfi);
            let first = all.iter().take_while(|p| p.ue < k).count() as u32;
            sessions.push(Session::new(ue, first, own()));
        }
        let place = |(ue, s): (u32, &Session)| {
            let positions = 0..s.flows.len() as u32;
            positions.map(move |k| (ue, k)).collect::<Vec<_>>()
        };
        let peers = sessions.iter().map(|s| s.uplink);
        let reports = gnb.ue.iter().filter_map(|u| u.reports.as_ref());
        let reports = reports.chain(&gnb.reports.to).map(Endpoint::socket);
        Self {
            psc: gnb.n3.psc,
            clock,
            units: Units::default(),
            tunnels: (0..).zip(&gnb.ue).map(|(k, u)| (u.downlink, k)).collect(),
            places: (0..).zip(&sessions).flat_map(place).collect(),
            paths: Paths::new(peers.chain(reports).collect(), gnb.n3.echo),
            reporter: Reporter::new(gnb, bearers, clock),
            sessions,
            out: VecDeque::new(),
            stamped: None,
            complaints: (Instant::ZERO, 0),
            content: [0; psc::MAX],
            counters: Counters::default(),
        }
    }

    /// What came and left so far.
    pub const fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What was reported so far.
    pub const fn reported(&self) -> Reported {
        self.reporter.done
    }

    /// Peers, and whether they answer echo requests; `None` where that is not known.
    pub fn peers(&self) -> impl Iterator<Item = (SocketAddr, Option<bool>)> {
        self.paths.all.iter().map(|p| (p.peer, p.alive))
    }

    /// The UE of `place`.
    pub fn ue_of(&self, place: u32) -> u32 {
        self.places[place as usize].0
    }

    /// The next datagram that is to be sent beside users' packets.
    pub fn next_datagram(&mut self) -> Option<Datagram> {
        self.out.pop_front()
    }

    /// When [`Node::on_timer`] is to be called.
    pub fn next_timer(&self) -> Option<Instant> {
        let flows = self.sessions.iter().flat_map(|s| &s.flows);
        let due = flows.filter_map(|f| f.due).min();
        due.into_iter().chain(self.paths.next_timer()).min()
    }

    /// A datagram of `from` came at `now` to the address `to` of this node; `outer` is the ECN field of its IP header. The
    /// user's packet in it, where there is one.
    pub fn receive(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: IpAddr,
        outer: Ecn,
        bytes: &[u8],
    ) -> Option<Down> {
        let Ok(message) = Message::parse(bytes) else {
            self.counters.malformed += 1;
            return None;
        };
        // Neither form of N3 and S1-U carries another header: NR RAN containers are for F1, X2 and Xn (TS 29.281, 5.2.2.6).
        let known: &[u8] = if self.psc {
            &[UDP_PORT, PDU_SESSION_CONTAINER]
        } else {
            &[UDP_PORT]
        };
        if message.not_understood(Role::Endpoint, known).is_some() {
            self.counters.not_understood += 1;
            self.notify(now, from, known);
            return None;
        }
        match message.header.kind {
            Kind::GPdu => return self.packet(now, from, to, outer, &message),
            Kind::EchoRequest => self.respond(from, &message),
            Kind::EchoResponse => {
                let reads = capabilities(&message);
                let seq = message.header.seq;
                let heard = self.paths.answered(now, from, seq, reads);
                self.counters.echoes[1] += u64::from(heard);
            }
            Kind::ErrorIndication => self.counters.error_indications[1] += 1,
            Kind::SupportedExtensionHeaders => self.counters.notifications[1] += 1,
            Kind::EndMarker => self.counters.end_markers += 1,
            Kind::TunnelStatus | Kind::Other(_) => self.counters.others += 1,
        }
        None
    }

    /// A user's packet.
    fn packet(
        &mut self,
        now: Instant,
        from: SocketAddr,
        to: IpAddr,
        outer: Ecn,
        message: &Message<'_>,
    ) -> Option<Down> {
        let teid = message.header.teid;
        let Some(&ue) = self.tunnels.get(&teid.0) else {
            self.counters.unknown_teid += 1;
            self.indicate(now, from, to, teid);
            return None;
        };
        let content = match message
            .extension(PDU_SESSION_CONTAINER)
            .filter(|_| self.psc)
        {
            Some(extension) => match Container::parse(extension.content) {
                Ok(Container::Downlink(content)) => Some(content),
                // An uplink container cannot come down.
                Ok(Container::Uplink(_)) | Err(_) => {
                    self.counters.malformed += 1;
                    return None;
                }
            },
            None => None,
        };
        let received = self.clock.stamp(now);
        let session = &mut self.sessions[ue as usize];
        let named = content.map(|c| session.position(c.qfi));
        self.counters.without_container += u64::from(self.psc && named.is_none());
        self.counters.unknown_qfi += u64::from(named == Some(None));
        let position = named.flatten().unwrap_or(0);
        let ask = content.filter(|c| c.sent.is_some());
        let payload = message.payload();
        if payload.is_empty() {
            if let Some(ask) = ask {
                session.flows[position].asked_alone(now, ask, received);
            }
            return None;
        }
        let Some(bytes) = decapsulated(payload, outer) else {
            self.counters.dropped_ce += 1;
            return None;
        };
        if content.is_some_and(|c| c.reflective) {
            session.reflect(now, position, &bytes);
        }
        self.stamped = ask.map(|ask| (ask, received));
        self.counters.packets[0] += 1;
        self.counters.octets[0] += bytes.len() as u64;
        Some(Down {
            place: session.first + position as u32,
            bytes,
        })
    }

    /// The packet that [`Node::receive`] handed out last entered the cell at `came`, a time that no other packet shares.
    pub fn entered(&mut self, place: u32, came: Instant) {
        if let Some((ask, received)) = self.stamped.take() {
            let (ue, position) = self.places[place as usize];
            let flow = &mut self.sessions[ue as usize].flows[position as usize];
            flow.entered(ask, received, came);
        }
    }

    /// The downlink packet that entered at `came` left the cell at `at`.
    pub fn delivered(&mut self, now: Instant, place: u32, came: Instant, at: Instant) {
        let (ue, position) = self.places[place as usize];
        self.sessions[ue as usize].flows[position as usize].left(now, came, at);
    }

    /// The place of a `packet` that the UE number `ue` sends at `now`.
    pub fn classify(&self, now: Instant, ue: u32, packet: &[u8]) -> u32 {
        let session = &self.sessions[ue as usize];
        session.first + session.classify(now, packet) as u32
    }

    /// Writes the uplink `packet` of `place` as GTP-U into `out`; `spent` is its delay between UE and N3. The peer, and the ECN
    /// field of the outer header; `None` where the packet is too long.
    pub fn uplink(
        &mut self,
        now: Instant,
        place: u32,
        spent: Duration,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<(SocketAddr, Ecn)> {
        let to = self.write(now, place, Some(spent), packet, out);
        match to {
            Some(_) => {
                self.counters.packets[1] += 1;
                self.counters.octets[1] += packet.len() as u64;
            }
            None => self.counters.beyond += 1,
        }
        let to = to?;
        // RFC 6040, 4.1 and 4.3: the packet's own field towards a peer that reads marks when it takes the header off, which is
        // known of those that tell what they read (docs/wire.md); Not-ECT towards others.
        let reads = self.paths.reads(to).is_some();
        let outer = if reads { inner(packet) } else { Ecn::NotEct };
        Some((to, outer))
    }

    fn write(
        &mut self,
        now: Instant,
        place: u32,
        spent: Option<Duration>,
        packet: &[u8],
        out: &mut Vec<u8>,
    ) -> Option<SocketAddr> {
        let (ue, position) = self.places[place as usize];
        let session = &mut self.sessions[ue as usize];
        let header = Header::g_pdu(session.teid);
        out.clear();
        out.resize(HEADERS, 0);
        let written = if self.psc {
            let flow = &mut session.flows[position as usize];
            let up = flow.container(now, spent, self.clock, &self.units);
            self.counters.answers += u64::from(up.stamps.is_some());
            let n = Container::Uplink(up).write(&mut self.content).ok()?;
            let content = &self.content[..n];
            header.write(&[(PDU_SESSION_CONTAINER, content)], packet.len(), out)
        } else {
            header.write(&[], packet.len(), out)
        };
        out.truncate(written.ok()?);
        out.extend_from_slice(packet);
        Some(session.uplink)
    }

    /// The cell reports `message`, the reports of one time.
    pub fn report(&mut self, now: Instant, message: &[RanReport]) {
        for (place, per_10k) in self.reporter.congestion(message) {
            let (ue, position) = self.places[place];
            if self.reporter.in_containers(ue, &self.paths) {
                self.sessions[ue as usize].flows[position as usize].congested(now, per_10k);
            }
        }
        let out = &mut self.out;
        self.reporter.write(message, &self.paths, |to, bytes| {
            out.push_back(Datagram { to, bytes });
        });
    }

    /// The cell has counted flows, each of the UE with this number.
    pub fn count(&mut self, all: &[(u32, FlowCounters)]) {
        let out = &mut self.out;
        self.reporter.write_counters(all, &self.paths, |to, bytes| {
            out.push_back(Datagram { to, bytes });
        });
    }

    /// Sends what is due at `now`.
    pub fn on_timer(&mut self, now: Instant) {
        let out = &mut self.out;
        self.paths.due(now, |to, seq| {
            if let Some(bytes) = echo(Kind::EchoRequest, Some(seq)) {
                out.push_back(Datagram { to, bytes });
            }
        });
        for place in 0..self.places.len() as u32 {
            let (ue, position) = self.places[place as usize];
            let due = self.sessions[ue as usize].flows[position as usize].due;
            if due.is_some_and(|due| due <= now) {
                let mut bytes = Vec::new();
                if let Some(to) = self.write(now, place, None, &[], &mut bytes) {
                    self.counters.empty += 1;
                    self.out.push_back(Datagram { to, bytes });
                }
            }
        }
    }

    /// An echo response goes to the port that the request came from, with its number (TS 29.281, 4.4.2
    /// and 7.2.2).
    fn respond(&mut self, from: SocketAddr, request: &Message<'_>) {
        self.counters.echoes[0] += 1;
        if let Some(bytes) = echo(Kind::EchoResponse, request.header.seq) {
            self.out.push_back(Datagram { to: from, bytes });
        }
    }

    /// True where one more complaint may leave at `now`.
    fn may_complain(&mut self, now: Instant) -> bool {
        if now.since(self.complaints.0) >= WINDOW {
            self.complaints = (now, 0);
        }
        let may = self.complaints.1 < COMPLAINTS;
        self.complaints.1 += u32::from(may);
        self.counters.held_back += u64::from(!may);
        may
    }

    /// There is no tunnel `teid` here (TS 29.281, 7.3.1): the sender of the packet, which came to the address `to`, is told so,
    /// and from which of its ports the packet came (5.2.2.1). Tunnel 0 is nobody's, and is not answered.
    fn indicate(&mut self, now: Instant, from: SocketAddr, to: IpAddr, teid: Teid) {
        if teid.0 == 0 || !self.may_complain(now) {
            return;
        }
        let elements = [Element::TeidData(teid), Element::PeerAddress(to)];
        let port = from.port().to_be_bytes();
        self.complain(Kind::ErrorIndication, from, &[(UDP_PORT, &port)], &elements);
        self.counters.error_indications[0] += 1;
    }

    /// The extension headers that are known here (TS 29.281, 7.2.3).
    fn notify(&mut self, now: Instant, from: SocketAddr, known: &[u8]) {
        if !self.may_complain(now) {
            return;
        }
        let kind = Kind::SupportedExtensionHeaders;
        self.complain(kind, from, &[], &[Element::HeaderTypes(known)]);
        self.counters.notifications[0] += 1;
    }

    /// Both go to the port of GTP-U, not to that of the packet (TS 29.281, 4.4.2), with a sequence number that
    /// nobody reads (5.1).
    fn complain(
        &mut self,
        kind: Kind,
        from: SocketAddr,
        extensions: &[(u8, &[u8])],
        elements: &[Element<'_>],
    ) {
        let to = SocketAddr::new(from.ip(), gtpu::PORT);
        if let Some(bytes) = message(kind, Some(0), extensions, elements) {
            self.out.push_back(Datagram { to, bytes });
        }
    }
}

#[cfg(test)]
mod tests;
