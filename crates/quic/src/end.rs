//! What both ends have in common: configuration, one connection, and the way between its datagrams and packets.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use quinn_proto::{
    AckFrequencyConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator,
    DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, MtuDiscoveryConfig, Transmit,
    TransportConfig, VarInt,
};
use slackwater_core::{
    Body, Direction, Draw, Ecn, FlowId, Instant, Packet, QuicBits, QuicData, QuicLong, SeqNum,
};
use slackwater_transport::quic::Spin;

use crate::Config;
use crate::clock::{Epoch, std_duration};
use crate::mailbox::Mailbox;
use crate::null::ResetKey;

/// IPv4 and UDP headers.
pub(crate) const BELOW: u16 = 28;
/// About what a 1-RTT packet with a STREAM frame carries beside stream bytes: short header with connection ID and number,
/// tag, frame header with an offset of four bytes.
const AROUND: u16 = 1 + 8 + 2 + 16 + 1 + 1 + 4;

/// Bytes of a UDP payload that every path carries (RFC 9000, 14).
const LEAST_MTU: u16 = 1200;

/// The two mailboxes of a flow: of the sender's datagrams and of the receiver's.
pub type Mailboxes = [Arc<Mutex<Mailbox>>; 2];

/// Purposes of a connection's draws.
pub(crate) mod purpose {
    pub(crate) const RNG: u64 = 1;
    pub(crate) const RESET: u64 = 2;
    pub(crate) const CIDS: u64 = 3;
    pub(crate) const FIRST_CID: u64 = 4;
}

/// Connection IDs by number.
struct Cids {
    draw: Draw,
    count: u64,
}

impl ConnectionIdGenerator for Cids {
    fn generate_cid(&mut self) -> ConnectionId {
        self.count += 1;
        ConnectionId::new(&self.draw.bits(self.count).to_be_bytes())
    }
    fn cid_len(&self) -> usize {
        8
    }
    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Where the two ends are, as far as quinn is concerned.
pub(crate) fn address(server: bool) -> SocketAddr {
    let host = if server { 1 } else { 2 };
    SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, host)), 443)
}

pub(crate) fn endpoint_config(draw: Draw) -> EndpointConfig {
    let mut config = EndpointConfig::new(Arc::new(ResetKey(draw.fork(purpose::RESET, 0))));
    let cids = draw.fork(purpose::CIDS, 0);
    config.cid_generator(move || {
        Box::new(Cids {
            draw: cids,
            count: 0,
        })
    });
    let mut seed = [0; 32];
    for (i, cell) in seed.chunks_mut(8).enumerate() {
        cell.copy_from_slice(&draw.fork(purpose::RNG, 0).bits(i as u64).to_be_bytes());
    }
    config.rng_seed(Some(seed));
    // An observer takes the bit for QUIC's mark (RFC 9287 lets it be random).
    config.grease_quic_bit(false);
    config
}

/// The number of the connection that `p` belongs to.
pub(crate) const fn connection(p: &Packet) -> Option<u16> {
    match &p.body {
        Body::QuicLong(q) => Some(q.connection),
        Body::QuicData(q) => Some(q.connection),
        _ => None,
    }
}

/// Our configuration as quinn's, for either end.
pub(crate) fn transport_config(cfg: &Config) -> TransportConfig {
    let mut t = TransportConfig::default();
    let window = |bytes: u64| VarInt::from_u64(bytes).unwrap_or(VarInt::MAX);
    t.max_idle_timeout(None)
        .initial_rtt(std_duration(cfg.initial_rtt))
        .initial_mtu(cfg.packet - BELOW)
        .mtu_discovery_config(None)
        .packet_threshold(cfg.packet_threshold)
        .send_window(cfg.send_buffer.0)
        .receive_window(window(cfg.recv_window.0))
        .stream_receive_window(window(cfg.recv_window.0))
        .allow_spin(cfg.spin != Spin::Off)
        .enable_segmentation_offload(false);
    if cfg.mtu_discovery {
        let mut search = MtuDiscoveryConfig::default();
        search.upper_bound(cfg.packet - BELOW);
        t.initial_mtu(LEAST_MTU).mtu_discovery_config(Some(search));
    }
    let rule = cfg.ack;
    if rule != slackwater_transport::quic::AckRule::default() {
        let mut ask = AckFrequencyConfig::default();
        ask.ack_eliciting_threshold(VarInt::from_u32(u32::from(rule.packets.max(1)) - 1))
            .max_ack_delay(Some(std_duration(rule.delay)))
            .reordering_threshold(VarInt::from_u32(u32::from(rule.at_once)));
        t.ack_frequency_config(Some(ask));
    }
    t
}

/// One connection and its endpoint.
pub(crate) struct End {
    pub(crate) epoch: Epoch,
    pub(crate) endpoint: Endpoint,
    pub(crate) connection: Option<(ConnectionHandle, Connection)>,
    flow: FlowId,
    /// Which way its packets go.
    dir: Direction,
    pub(crate) number: u16,
    server: bool,
    mailboxes: Mailboxes,
    /// STREAM frames sent.
    streams: u64,
    buffer: Vec<u8>,
}

impl core::fmt::Debug for End {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("End")
            .field("flow", &self.flow)
            .field("server", &self.server)
            .finish_non_exhaustive()
    }
}

impl End {
    pub(crate) fn new(
        endpoint: Endpoint,
        flow: FlowId,
        up: bool,
        number: u16,
        server: bool,
        mailboxes: Mailboxes,
    ) -> Self {
        Self {
            epoch: Epoch::new(),
            endpoint,
            connection: None,
            flow,
            dir: if up { Direction::Up } else { Direction::Down },
            number,
            server,
            mailboxes,
            streams: 0,
            buffer: Vec::new(),
        }
    }

    /// Hands the datagram of `p` to quinn; returns a new connection that asks to be taken.
    pub(crate) fn receive(
        &mut self,
        now: Instant,
        p: &Packet,
        out: &mut Vec<Packet>,
    ) -> Option<quinn_proto::Incoming> {
        let from = &self.mailboxes[usize::from(!self.server)];
        let data = from.lock().expect("no holder panics").get(p.number())?;
        let ecn = match p.ecn {
            Ecn::NotEct => None,
            Ecn::Ect0 => Some(EcnCodepoint::Ect0),
            Ecn::Ect1 => Some(EcnCodepoint::Ect1),
            Ecn::Ce => Some(EcnCodepoint::Ce),
        };
        let remote = address(!self.server);
        let at = self.epoch.std(now);
        let mut buffer = core::mem::take(&mut self.buffer);
        buffer.clear();
        let event = self
            .endpoint
            .handle(at, remote, None, ecn, data, &mut buffer);
        let mut incoming = None;
        match event {
            Some(DatagramEvent::ConnectionEvent(handle, event)) => {
                if let Some((ours, connection)) = &mut self.connection
                    && *ours == handle
                {
                    connection.handle_event(event);
                }
            }
            Some(DatagramEvent::NewConnection(new)) => incoming = Some(new),
            Some(DatagramEvent::Response(transmit)) => {
                self.emit(now, &transmit, &buffer, false, Ecn::NotEct, out);
            }
            None => {}
        }
        self.buffer = buffer;
        incoming
    }

    /// Lets the endpoint and the connection talk until they are done.
    pub(crate) fn exchange(&mut self) {
        if let Some((handle, connection)) = &mut self.connection {
            while let Some(event) = connection.poll_endpoint_events() {
                if let Some(event) = self.endpoint.handle_event(*handle, event) {
                    connection.handle_event(event);
                }
            }
        }
    }

    /// Sends what quinn wants to send now, with `mark` where quinn would mark it.
    pub(crate) fn transmit(&mut self, now: Instant, mark: Ecn, out: &mut Vec<Packet>) {
        let at = self.epoch.std(now);
        let mut buffer = core::mem::take(&mut self.buffer);
        while let Some((_, connection)) = &mut self.connection {
            buffer.clear();
            let Some(transmit) = connection.poll_transmit(at, 1, &mut buffer) else {
                break;
            };
            let frames = connection.stats().frame_tx.stream;
            let stream = frames != core::mem::replace(&mut self.streams, frames);
            self.emit(now, &transmit, &buffer, stream, mark, out);
        }
        self.buffer = buffer;
        self.exchange();
    }

    fn emit(
        &mut self,
        now: Instant,
        transmit: &Transmit,
        buffer: &[u8],
        stream: bool,
        mark: Ecn,
        out: &mut Vec<Packet>,
    ) {
        let datagram = Bytes::copy_from_slice(&buffer[..transmit.size]);
        let first = datagram.first().copied().unwrap_or(0);
        let size = datagram.len() as u16;
        let to = &self.mailboxes[usize::from(self.server)];
        let pn = SeqNum(to.lock().expect("no holder panics").put(datagram));
        let connection = self.number;

        let body = if first & 0x80 != 0 {
            Body::QuicLong(QuicLong {
                pn,
                connection,
                ..QuicLong::default()
            })
        } else {
            let mut data = QuicData {
                pn,
                connection,
                ..QuicData::default()
            };
            if first & 0x20 != 0 {
                data.bits = data.bits.with(QuicBits::SPIN);
            }
            if stream {
                data.bits = data.bits.with(QuicBits::STREAM);
                data.payload = size.saturating_sub(AROUND).max(1);
            }
            Body::QuicData(data)
        };
        out.push(Packet {
            created: now,
            flow: self.flow,
            len: size + BELOW,
            // Without a mark of its own quinn found that the path or the peer fails the check (RFC 9000, 13.4.2).
            ecn: transmit.ecn.map_or(Ecn::NotEct, |_| mark),
            dir: self.dir,
            body,
        });
    }

    pub(crate) fn next_timer(&mut self) -> Option<Instant> {
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_timeout().map(|t| self.epoch.simulated(t))
    }

    /// Lets quinn's timers run.
    pub(crate) fn run_timers(&mut self, now: Instant) {
        let at = self.epoch.std(now);
        if let Some((_, connection)) = &mut self.connection {
            while connection.poll_timeout().is_some_and(|t| t <= at) {
                connection.handle_timeout(at);
            }
        }
    }
}
