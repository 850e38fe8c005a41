//! Flows: a sending and a receiving host, and the path between them.

mod page;
mod stream;

use std::collections::VecDeque;

use slackwater_control::{AnyController, AnyMedia};
use slackwater_core::packet::{IPV4_HEADER, UDP_HEADER};
use slackwater_core::record::{FlowSample, Frame};
use slackwater_core::{
    Body, Bytes, Datagram, Direction, Draw, Ecn, FlowId, Instant, NodeId, Packet, Qfi, Segment,
    SeqNum, TcpFlags, UeId,
};
use slackwater_signal::{MarkingScheme, PathReport};
use slackwater_transport::app::{App, AppConfig};
use slackwater_transport::quic::{self, Config as QuicConfig};
use slackwater_transport::rtp::{Mailbox, RtpConfig, RtpReceiver, RtpSender};
use slackwater_transport::tcp::{Config as TcpConfig, Endpoint};

pub use page::{PageClient, PageServer};

use crate::lane::LaneConfig;
pub use stream::{Fresh, SendingEnd, StreamSender};

/// One hop of a path.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum HopConfig {
    /// A lane of its own.
    Lane(LaneConfig),
    /// A link that others share.
    Link(NodeId),
    /// A cell; packets belong to `ue` and `qfi`.
    Cell {
        /// The cell.
        node: NodeId,
        /// The UE.
        ue: UeId,
        /// The `QoS` flow.
        qfi: Qfi,
    },
    /// An edge function; packets belong to a session of `ue`.
    Edge {
        /// The function.
        node: NodeId,
        /// The UE.
        ue: UeId,
        /// The `QoS` flow of guaranteed bit rate that the session's rules bind them to, if any.
        gbr_flow: Option<Qfi>,
    },
}

/// What carries the data.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A TCP connection that the sender opens.
    Tcp {
        /// Both ends' configuration.
        config: Box<TcpConfig>,
        /// The sender's controller; each connection starts with a copy.
        controller: Box<AnyController>,
    },
    /// A QUIC connection that the sender opens, by the light model.
    Quic {
        /// Both ends' configuration.
        config: Box<QuicConfig>,
        /// The sender's controller; each connection starts with a copy.
        controller: Box<AnyController>,
    },
    /// A QUIC connection that the sender opens, by a real stack (quinn-proto).
    Quinn {
        /// Both ends' configuration.
        config: Box<QuicConfig>,
        /// The sender's controller, built for segments of a full UDP payload; each connection starts with a copy.
        controller: Box<AnyController>,
    },
    /// Datagrams of at most this many IP bytes, without control.
    Udp {
        /// IP bytes of a full packet.
        packet: u16,
    },
    /// Media over RTP, with RTCP the other way.
    Rtp {
        /// Both ends' configuration, the encoder's included.
        config: Box<RtpConfig>,
        /// The sender's controller.
        controller: Box<AnyMedia>,
        /// Thresholds of the marker on the path, where the sender is told them at its start.
        scheme: Option<MarkingScheme>,
    },
    /// Hosts outside of the world: their packets come by [`crate::World::inject`] and leave by
    /// [`crate::World::drain_handed`].
    External {
        /// The sender reads the cell's reports.
        takes_reports: bool,
        /// The sender wants to know the UE's transport blocks.
        takes_blocks: bool,
    },
}

/// A flow.
#[derive(Clone, Debug)]
pub struct FlowConfig {
    /// Which way its data goes.
    pub direction: Direction,
    /// What carries it.
    pub transport: Transport,
    /// What it sends; of no meaning for RTP, whose encoder sends all the time.
    pub app: AppConfig,
    /// When it starts.
    pub start: Instant,
    /// When the application stops; endless data ends then.
    pub stop: Instant,
    /// Path of packets that go down, network side first.
    pub down: Vec<HopConfig>,
    /// Path of packets that go up, UE side first.
    pub up: Vec<HopConfig>,
}

impl FlowConfig {
    /// The sender takes explicit feedback (data that goes down only: feedback for the uplink is not defined, XRC, III).
    pub(crate) fn takes_reports(&self) -> bool {
        use slackwater_control::{Controller as _, MediaController as _};
        let takes = match &self.transport {
            Transport::Tcp { controller, .. }
            | Transport::Quic { controller, .. }
            | Transport::Quinn { controller, .. } => controller.takes_reports(),
            Transport::Rtp { controller, .. } => controller.takes_reports(),
            Transport::Udp { .. } => false,
            Transport::External { takes_reports, .. } => *takes_reports,
        };
        takes && self.direction == Direction::Down
    }

    /// The sender wants to know the UE's transport blocks (see `WorldBuilder::add_feed`).
    pub fn takes_blocks(&self) -> bool {
        use slackwater_control::Controller as _;
        let takes = match &self.transport {
            Transport::Tcp { controller, .. }
            | Transport::Quic { controller, .. }
            | Transport::Quinn { controller, .. } => controller.takes_blocks(),
            Transport::External { takes_blocks, .. } => *takes_blocks,
            Transport::Udp { .. } | Transport::Rtp { .. } => false,
        };
        takes && self.direction == Direction::Down
    }
}

/// What a host has to tell beyond packets.
#[derive(Debug, Default)]
pub(crate) struct HostEvents {
    /// Messages handed to the transport: position of their end in the flow's byte stream, start, size.
    pub(crate) messages: Vec<(u64, Instant, u64)>,
    /// Frames of datagrams that are complete at the receiver: start and size.
    pub(crate) frames: Vec<(Instant, Bytes)>,
    /// Frames of media that were shown or given up.
    pub(crate) media: Vec<Frame>,
    /// Packets for hosts outside of the world, with the time of their arrival.
    pub(crate) handed: Vec<(Instant, Packet)>,
    /// Objects of a page that are there in full.
    pub(crate) objects: u32,
}

impl HostEvents {
    /// True where there is anything for records, or a message to follow.
    #[inline]
    pub(crate) fn any(&self) -> bool {
        self.messages.len() | self.frames.len() | self.media.len() > 0
    }
}

/// One end of a flow.
#[derive(Debug)]
pub enum Host {
    /// Sends by TCP.
    TcpSender(Box<StreamSender<Endpoint>>),
    /// Receives by TCP.
    TcpReceiver(Box<TcpReceiver>),
    /// Sends by QUIC.
    QuicSender(Box<StreamSender<quic::Sender>>),
    /// Receives by QUIC.
    QuicReceiver(Box<quic::Receiver>),
    /// Sends by a real QUIC stack.
    QuinnSender(Box<StreamSender<slackwater_quic::Sender>>),
    /// Receives by a real QUIC stack.
    QuinnReceiver(Box<slackwater_quic::Receiver>),
    /// Sends datagrams.
    UdpSender(Box<UdpSender>),
    /// Receives datagrams.
    UdpReceiver(Box<UdpReceiver>),
    /// Sends media.
    RtpSender(Box<RtpSender>),
    /// Receives media.
    RtpReceiver(Box<RtpReceiver>),
    /// Lies outside of the world.
    External {
        /// Payload bytes that it was handed.
        delivered: u64,
    },
    /// Answers a page's requests.
    PageServer(Box<PageServer>),
    /// Asks for a page's objects.
    PageClient(Box<PageClient>),
}

/// The other end of a TCP flow.
#[derive(Debug)]
pub struct TcpReceiver {
    endpoint: Endpoint,
    /// Sequence number of the SYN that opened the present connection.
    syn: Option<SeqNum>,
    before: u64,
    fresh: Fresh<TcpConfig>,
}

/// Sends each message as datagrams at once.
#[derive(Debug)]
pub struct UdpSender {
    flow: FlowId,
    up: bool,
    packet: u16,
    app: App,
    next_number: u32,
    frame: u32,
}

/// Counts datagrams and completes frames.
#[derive(Debug, Default)]
pub struct UdpReceiver {
    delivered: u64,
    /// Frames of which packets are missing: number, packets seen, bytes, first emission.
    open: VecDeque<(u32, u32, u64, Instant)>,
}

/// Frames that may be incomplete at once; older ones are given up.
const OPEN_FRAMES: usize = 64;

/// Purposes of a flow's draws.
mod purpose {
    pub(super) const APP: u64 = 1;
    pub(super) const CLIENT: u64 = 2;
    pub(super) const SERVER: u64 = 3;
    pub(super) const MEDIA: u64 = 4;
}

impl Host {
    /// The hosts of a flow: at the network and at the UE.
    pub(crate) fn pair(flow: FlowId, config: FlowConfig, draw: Draw) -> [Self; 2] {
        let up = config.direction == Direction::Up;
        let app = App::new(
            &config.app,
            config.start,
            config.stop,
            draw.fork(purpose::APP, 0),
        );
        let (sender, receiver) = match config.transport {
            Transport::Tcp {
                config: tcp,
                controller,
            } => {
                let fresh = Fresh {
                    flow,
                    up,
                    config: *tcp,
                    controller: *controller,
                    draw,
                };
                let back = Fresh {
                    up: !up,
                    ..fresh.clone()
                };
                if let AppConfig::Page(page) = &config.app {
                    assert!(!up, "a page goes down");
                    return [
                        Self::PageServer(Box::new(PageServer::tcp(fresh, page.request))),
                        Self::PageClient(Box::new(PageClient::tcp(back, page.request))),
                    ];
                }
                let sender = StreamSender::new(fresh, app, config.start, config.stop);
                let receiver = TcpReceiver::new(back);
                (
                    Self::TcpSender(Box::new(sender)),
                    Self::TcpReceiver(Box::new(receiver)),
                )
            }
            Transport::Quic {
                config: quic,
                controller,
            } => {
                let fresh = Fresh {
                    flow,
                    up,
                    config: *quic,
                    controller: *controller,
                    draw,
                };
                if let AppConfig::Page(page) = &config.app {
                    assert!(!up, "a page goes down");
                    let server = PageServer::quic(&fresh, page.request);
                    let client = PageClient::quic(Fresh { up: !up, ..fresh }, page.request);
                    return [
                        Self::PageServer(Box::new(server)),
                        Self::PageClient(Box::new(client)),
                    ];
                }
                let receiver = quic::Receiver::new(flow, !up, &quic);
                let sender = StreamSender::new(fresh, app, config.start, config.stop);
                (
                    Self::QuicSender(Box::new(sender)),
                    Self::QuicReceiver(Box::new(receiver)),
                )
            }
            Transport::Quinn {
                config: quic,
                controller,
            } => {
                let mailboxes = slackwater_quic::Mailboxes::default();
                let back = draw.fork(purpose::SERVER, 0);
                let receiver =
                    slackwater_quic::Receiver::new(flow, !up, &quic, back, mailboxes.clone());
                let fresh = Fresh {
                    flow,
                    up,
                    config: (*quic, mailboxes),
                    controller: *controller,
                    draw,
                };
                let sender = StreamSender::new(fresh, app, config.start, config.stop);
                (
                    Self::QuinnSender(Box::new(sender)),
                    Self::QuinnReceiver(Box::new(receiver)),
                )
            }
            Transport::Udp { packet } => {
                let sender = UdpSender {
                    flow,
                    up,
                    packet,
                    app,
                    next_number: 0,
                    frame: 0,
                };
                (
                    Self::UdpSender(Box::new(sender)),
                    Self::UdpReceiver(Box::default()),
                )
            }
            Transport::Rtp {
                config: rtp,
                controller,
                scheme,
            } => {
                let draw = draw.fork(purpose::MEDIA, 0);
                let (start, stop) = (config.start, config.stop);
                let mut sender = RtpSender::new(flow, up, &rtp, *controller, start, stop, draw);
                if let Some(scheme) = scheme {
                    let report = PathReport::MarkingScheme(scheme);
                    // Before the first frame there is nothing to send.
                    sender.on_path_report(start, &report, &mut Vec::new());
                }
                let receiver = RtpReceiver::new(flow, up, &rtp);
                (
                    Self::RtpSender(Box::new(sender)),
                    Self::RtpReceiver(Box::new(receiver)),
                )
            }
            Transport::External { .. } => (
                Self::External { delivered: 0 },
                Self::External { delivered: 0 },
            ),
        };
        if up {
            [receiver, sender]
        } else {
            [sender, receiver]
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a choice of what to call: as a call of its own it costs more than what it does"
    )]
    #[inline(always)]
    pub(crate) fn on_packet(
        &mut self,
        now: Instant,
        packet: &Packet,
        mailbox: &mut Mailbox,
        out: &mut Vec<Packet>,
        events: &mut HostEvents,
    ) {
        match self {
            Self::TcpSender(h) => h.on_packet(now, packet, out),
            Self::QuicSender(h) => h.on_packet(now, packet, out),
            Self::QuicReceiver(h) => h.on_packet(now, packet, out),
            Self::QuinnSender(h) => h.on_packet(now, packet, out),
            Self::QuinnReceiver(h) => h.on_packet(now, packet, out),
            Self::TcpReceiver(h) => h.on_packet(now, packet, out),
            Self::UdpSender(_) => {}
            Self::UdpReceiver(h) => h.on_packet(packet, events),
            Self::RtpSender(h) => h.on_packet(now, packet, mailbox, out),
            Self::RtpReceiver(h) => {
                h.on_packet(now, packet, mailbox, out);
                events.media.extend(h.take_frames());
            }
            Self::External { delivered } => {
                *delivered += u64::from(packet.payload());
                events.handed.push((now, *packet));
            }
            Self::PageServer(h) => h.on_packet(now, packet, out),
            Self::PageClient(h) => h.on_packet(now, packet, out, events),
        }
    }

    pub(crate) fn on_timer(
        &mut self,
        now: Instant,
        mailbox: &mut Mailbox,
        out: &mut Vec<Packet>,
        events: &mut HostEvents,
    ) {
        match self {
            Self::TcpSender(h) => h.on_timer(now, out, events),
            Self::QuicSender(h) => h.on_timer(now, out, events),
            Self::QuicReceiver(h) => h.on_timer(now, out),
            Self::QuinnSender(h) => h.on_timer(now, out, events),
            Self::QuinnReceiver(h) => h.on_timer(now, out),
            Self::TcpReceiver(h) => h.endpoint.on_timer(now, out),
            Self::UdpSender(h) => h.on_timer(now, out),
            Self::UdpReceiver(_) | Self::External { .. } => {}
            Self::PageServer(h) => h.on_timer(now, out),
            Self::PageClient(h) => h.on_timer(now, out),
            Self::RtpSender(h) => h.on_timer(now, out),
            Self::RtpReceiver(h) => {
                h.on_timer(now, mailbox, out);
                events.media.extend(h.take_frames());
            }
        }
    }

    /// All that was sent so far arrived: the application may go on.
    pub(crate) fn on_delivered(&mut self, now: Instant) {
        match self {
            Self::TcpSender(h) => h.on_delivered(now),
            Self::QuicSender(h) => h.on_delivered(now),
            Self::QuinnSender(h) => h.on_delivered(now),
            Self::UdpSender(h) => h.app.on_delivered(now),
            Self::TcpReceiver(_)
            | Self::QuicReceiver(_)
            | Self::QuinnReceiver(_)
            | Self::UdpReceiver(_)
            | Self::RtpSender(_)
            | Self::RtpReceiver(_)
            | Self::External { .. }
            | Self::PageServer(_)
            | Self::PageClient(_) => {}
        }
    }

    #[expect(
        clippy::inline_always,
        reason = "a choice of what to call: as a call of its own it costs more than what it does"
    )]
    #[inline(always)]
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        match self {
            Self::TcpSender(h) => h.next_timer(),
            Self::QuicSender(h) => h.next_timer(),
            Self::QuicReceiver(h) => h.next_timer(),
            Self::QuinnSender(h) => h.next_timer(),
            Self::QuinnReceiver(h) => h.next_timer(),
            Self::TcpReceiver(h) => h.endpoint.next_timer(),
            Self::UdpSender(h) => h.app.next_timer(),
            Self::UdpReceiver(_) | Self::External { .. } => None,
            Self::PageServer(h) => h.next_timer(),
            Self::PageClient(h) => h.next_timer(),
            Self::RtpSender(h) => h.next_timer(),
            Self::RtpReceiver(h) => h.next_timer(),
        }
    }

    /// Payload bytes handed to the receiving application; zero at a sender.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        Bytes(match self {
            Self::TcpReceiver(h) => h.delivered(),
            Self::QuicReceiver(h) => h.delivered(),
            Self::QuinnReceiver(h) => h.delivered(),
            Self::UdpReceiver(h) => h.delivered,
            Self::External { delivered } => *delivered,
            Self::PageClient(h) => h.delivered(),
            Self::RtpReceiver(h) => return h.delivered(),
            Self::TcpSender(_)
            | Self::QuicSender(_)
            | Self::QuinnSender(_)
            | Self::UdpSender(_)
            | Self::PageServer(_)
            | Self::RtpSender(_) => 0,
        })
    }

    /// The state of a sender with a controller.
    pub(crate) fn sample(&self) -> Option<FlowSample> {
        match self {
            Self::TcpSender(h) => Some(h.sample()),
            Self::QuicSender(h) => Some(h.sample()),
            Self::PageServer(h) => Some(h.sample()),
            Self::QuinnSender(h) => Some(h.sample()),
            Self::RtpSender(h) => Some(h.sample()),
            _ => None,
        }
    }

    /// The controller's named internals.
    pub(crate) fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        use slackwater_control::{Controller as _, MediaController as _};
        match self {
            Self::TcpSender(h) => h.endpoint().controller().snapshot(out),
            Self::QuicSender(h) => h.endpoint().controller().snapshot(out),
            Self::PageServer(h) => h.internals(out),
            Self::RtpSender(h) => h.controller().snapshot(out),
            Self::QuinnSender(h) => h.endpoint().snapshot(out),
            _ => {}
        }
    }

    /// The TCP endpoint, where there is one.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        match self {
            Self::TcpSender(h) => Some(h.endpoint()),
            Self::TcpReceiver(h) => Some(&h.endpoint),
            Self::PageServer(h) => h.endpoint(),
            Self::PageClient(h) => h.endpoint(),
            _ => None,
        }
    }

    /// The sender of media, where there is one.
    pub fn rtp_sender(&self) -> Option<&RtpSender> {
        match self {
            Self::RtpSender(h) => Some(h),
            _ => None,
        }
    }

    /// The sending end of a QUIC connection, where there is one.
    pub fn quic_sender(&self) -> Option<&quic::Sender> {
        match self {
            Self::QuicSender(h) => Some(h.endpoint()),
            _ => None,
        }
    }

    /// The receiver of media, where there is one.
    pub fn rtp_receiver(&self) -> Option<&RtpReceiver> {
        match self {
            Self::RtpReceiver(h) => Some(h),
            _ => None,
        }
    }

    /// Payload bytes acknowledged on all connections; `None` at a host that hears of none, or (quinn) is not told.
    pub fn acked(&self) -> Option<Bytes> {
        match self {
            Self::QuinnSender(_) | Self::RtpSender(_) => None,
            _ => self.sample().map(|s| s.acked),
        }
    }
}

fn server(fresh: &Fresh<TcpConfig>, n: u64) -> Endpoint {
    let draw = fresh.draw.fork(purpose::SERVER, n);
    let controller = fresh.controller.clone();
    Endpoint::server(fresh.flow, fresh.up, &fresh.config, controller, draw)
}

impl TcpReceiver {
    fn new(fresh: Fresh<TcpConfig>) -> Self {
        Self {
            endpoint: server(&fresh, 0),
            syn: None,
            before: 0,
            fresh,
        }
    }

    /// Payload bytes of all connections.
    fn delivered(&self) -> u64 {
        self.before + self.endpoint.delivered()
    }

    /// A SYN with another number opens another connection of the same flow.
    fn opens_anew(&self, segment: &Segment) -> bool {
        segment.flags.contains(TcpFlags::SYN) && self.syn.is_some_and(|s| s != segment.seq)
    }

    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) {
        if let Body::Tcp(segment) = &packet.body
            && segment.flags.contains(TcpFlags::SYN)
        {
            if self.opens_anew(segment) {
                self.before += self.endpoint.delivered();
                self.endpoint = server(&self.fresh, u64::from(segment.seq.0));
            }
            self.syn = Some(segment.seq);
        }
        self.endpoint.on_packet(now, packet, out);
    }
}

impl UdpSender {
    fn on_timer(&mut self, now: Instant, out: &mut Vec<Packet>) {
        while self.app.next_timer().is_some_and(|t| t <= now) {
            if let Some(message) = self.app.on_timer(now) {
                self.send(now, message.bytes, out);
            }
        }
    }

    fn send(&mut self, now: Instant, bytes: u64, out: &mut Vec<Packet>) {
        let headers = IPV4_HEADER + UDP_HEADER;
        let room = u64::from(self.packet - headers);
        let count = bytes.div_ceil(room).max(1) as u32;
        let mut left = bytes;
        for index in 0..count {
            let payload = left.min(room) as u16;
            left -= u64::from(payload);
            out.push(Packet {
                created: now,
                flow: self.flow,
                len: payload + headers,
                ecn: Ecn::NotEct,
                dir: if self.up {
                    Direction::Up
                } else {
                    Direction::Down
                },
                body: Body::Datagram(Datagram {
                    number: self.next_number,
                    frame: self.frame,
                    index,
                    packets: count,
                    payload,
                }),
            });
            self.next_number = self.next_number.wrapping_add(1);
        }
        self.frame = self.frame.wrapping_add(1);
    }
}

impl UdpReceiver {
    fn on_packet(&mut self, packet: &Packet, events: &mut HostEvents) {
        let Body::Datagram(datagram) = &packet.body else {
            return;
        };
        self.delivered += u64::from(datagram.payload);
        let frame = datagram.frame;
        let known = self.open.iter().position(|f| f.0 == frame);
        let at = known.unwrap_or_else(|| {
            if self.open.len() == OPEN_FRAMES {
                self.open.pop_front();
            }
            self.open.push_back((frame, 0, 0, packet.created));
            self.open.len() - 1
        });
        let entry = &mut self.open[at];
        entry.1 += 1;
        entry.2 += u64::from(datagram.payload);
        if entry.1 == datagram.packets {
            events.frames.push((entry.3, Bytes(entry.2)));
            self.open.remove(at);
        }
    }
}
