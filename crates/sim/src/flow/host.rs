//! The hosts of a flow: one table of the kinds that keep the contract ([`End`]).

use slackwater_control::{AnyController, AnyMedia};
use slackwater_core::record::FlowSample;
use slackwater_core::{Bytes, Direction, Draw, FlowId, Instant, Packet};
use slackwater_transport::app::{App, AppConfig};
use slackwater_transport::quic::{self, Config as QuicConfig};
use slackwater_transport::rtp::{RtpConfig, RtpReceiver, RtpSender};
use slackwater_transport::tcp::{Config as TcpConfig, Endpoint};

use super::end::{End, Io};
use super::external::External;
use super::page::{PageClient, PageServer};
use super::stream::{Fresh, StreamSender};
use super::tcp::TcpReceiver;
use super::udp::{UdpReceiver, UdpSender};
use super::{FlowConfig, Transport, purpose};

/// Makes an enum of ends, and `each!`, which calls the same method of any of them.
macro_rules! hosts {
    ($(#[doc = $doc:literal] $kind:ident($end:ty)),+ $(,)?) => {
        /// One end of a flow.
        #[derive(Debug)]
        pub enum Host {
            $(#[doc = $doc] $kind(Box<$end>),)+
        }

        macro_rules! each {
            ($host:expr, $h:ident => $call:expr) => {
                match $host {
                    $(Host::$kind($h) => $call,)+
                }
            };
        }
    };
}

hosts! {
    /// Sends by TCP.
    TcpSender(StreamSender<Endpoint>),
    /// Receives by TCP.
    TcpReceiver(TcpReceiver),
    /// Sends by QUIC.
    QuicSender(StreamSender<quic::Sender>),
    /// Receives by QUIC.
    QuicReceiver(quic::Receiver),
    /// Sends by a real QUIC stack.
    QuinnSender(StreamSender<slackwater_quic::Sender>),
    /// Receives by a real QUIC stack.
    QuinnReceiver(slackwater_quic::Receiver),
    /// Sends datagrams.
    UdpSender(UdpSender),
    /// Receives datagrams.
    UdpReceiver(UdpReceiver),
    /// Sends media.
    RtpSender(RtpSender),
    /// Receives media.
    RtpReceiver(RtpReceiver),
    /// Lies outside of the world.
    External(External),
    /// Answers a page's requests.
    PageServer(PageServer),
    /// Asks for a page's objects.
    PageClient(PageClient),
}

// What each packet passes is inlined, the choice of the kind with it: as calls of their own they cost more than they do.
impl Host {
    /// See [`End::on_packet`].
    #[expect(clippy::inline_always, reason = "each packet passes it")]
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        each!(self, h => End::on_packet(h.as_mut(), now, packet, io));
    }

    /// See [`End::on_timer`].
    pub(crate) fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        each!(self, h => End::on_timer(h.as_mut(), now, io));
    }

    /// See [`End::next_timer`].
    #[expect(clippy::inline_always, reason = "each packet passes it")]
    #[inline(always)]
    pub(crate) fn next_timer(&self) -> Option<Instant> {
        each!(self, h => End::next_timer(h.as_ref()))
    }

    /// See [`End::on_delivered`].
    pub(crate) fn on_delivered(&mut self, now: Instant) {
        each!(self, h => End::on_delivered(h.as_mut(), now));
    }

    /// Payload bytes handed to the receiving application; zero at a sender.
    #[inline]
    pub fn delivered(&self) -> Bytes {
        each!(self, h => End::delivered(h.as_ref()))
    }

    /// See [`End::sample`].
    pub(crate) fn sample(&self) -> Option<FlowSample> {
        each!(self, h => End::sample(h.as_ref()))
    }

    /// Payload bytes acknowledged on all connections; `None` at a host that hears of none, or (quinn) is not told.
    pub fn acked(&self) -> Option<Bytes> {
        each!(self, h => End::acked(h.as_ref()))
    }

    /// See [`End::internals`].
    pub(crate) fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        each!(self, h => End::internals(h.as_ref(), out));
    }

    /// The TCP endpoint, where there is one.
    pub fn endpoint(&self) -> Option<&Endpoint> {
        each!(self, h => End::tcp(h.as_ref()))
    }

    /// The sending end of a QUIC connection, where there is one.
    pub fn quic_sender(&self) -> Option<&quic::Sender> {
        match self {
            Self::QuicSender(h) => Some(h.endpoint()),
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

    /// The receiver of media, where there is one.
    pub fn rtp_receiver(&self) -> Option<&RtpReceiver> {
        match self {
            Self::RtpReceiver(h) => Some(h),
            _ => None,
        }
    }
}

// --- how the hosts of a flow are made ---

/// What all flows are made of, whatever their transport.
struct Parts {
    flow: FlowId,
    /// Data goes up.
    up: bool,
    app: AppConfig,
    start: Instant,
    stop: Instant,
    draw: Draw,
}

impl Host {
    /// The hosts of a flow: at the network and at the UE.
    pub(crate) fn pair(flow: FlowId, config: FlowConfig, draw: Draw) -> [Self; 2] {
        let parts = Parts {
            flow,
            up: config.direction == Direction::Up,
            app: config.app,
            start: config.start,
            stop: config.stop,
            draw,
        };
        let [sender, receiver] = match config.transport {
            Transport::Tcp { config, controller } => parts.tcp(*config, *controller),
            Transport::Quic { config, controller } => parts.quic(*config, *controller),
            Transport::Quinn { config, controller } => parts.quinn(*config, *controller),
            Transport::Udp { packet } => [
                Self::UdpSender(Box::new(UdpSender::new(
                    flow,
                    parts.up,
                    packet,
                    parts.app(),
                ))),
                Self::UdpReceiver(Box::default()),
            ],
            Transport::Rtp { config, controller } => parts.rtp(&config, *controller),
            Transport::External { .. } => {
                [(); 2].map(|()| Self::External(Box::<External>::default()))
            }
        };
        if parts.up {
            [receiver, sender]
        } else {
            [sender, receiver]
        }
    }
}

impl Parts {
    fn app(&self) -> App {
        let draw = self.draw.fork(purpose::APP, 0);
        App::new(&self.app, self.start, self.stop, draw)
    }

    fn fresh<C>(&self, config: C, controller: AnyController) -> Fresh<C> {
        Fresh {
            flow: self.flow,
            up: self.up,
            config,
            controller,
            draw: self.draw,
        }
    }

    /// Bytes of a request, where the flow is a connection of a page.
    fn request(&self) -> Option<Bytes> {
        let AppConfig::Page(page) = &self.app else {
            return None;
        };
        assert!(!self.up, "a page goes down");
        Some(page.request)
    }

    fn tcp(&self, config: TcpConfig, controller: AnyController) -> [Host; 2] {
        let fresh = self.fresh(config, controller);
        let back = Fresh {
            up: !self.up,
            ..fresh.clone()
        };
        if let Some(request) = self.request() {
            return [
                Host::PageServer(Box::new(PageServer::tcp(fresh, request))),
                Host::PageClient(Box::new(PageClient::tcp(back, request))),
            ];
        }
        let sender = StreamSender::new(fresh, self.app(), self.start, self.stop);
        [
            Host::TcpSender(Box::new(sender)),
            Host::TcpReceiver(Box::new(TcpReceiver::new(back))),
        ]
    }

    fn quic(&self, config: QuicConfig, controller: AnyController) -> [Host; 2] {
        let fresh = self.fresh(config, controller);
        if let Some(request) = self.request() {
            let server = PageServer::quic(&fresh, request);
            let back = Fresh {
                up: !self.up,
                ..fresh
            };
            return [
                Host::PageServer(Box::new(server)),
                Host::PageClient(Box::new(PageClient::quic(back, request))),
            ];
        }
        let receiver = quic::Receiver::new(self.flow, !self.up, &config);
        let sender = StreamSender::new(fresh, self.app(), self.start, self.stop);
        [
            Host::QuicSender(Box::new(sender)),
            Host::QuicReceiver(Box::new(receiver)),
        ]
    }

    fn quinn(&self, config: QuicConfig, controller: AnyController) -> [Host; 2] {
        let mailboxes = slackwater_quic::Mailboxes::default();
        let draw = self.draw.fork(purpose::SERVER, 0);
        let (flow, back) = (self.flow, !self.up);
        let receiver = slackwater_quic::Receiver::new(flow, back, &config, draw, mailboxes.clone());
        let fresh = self.fresh((config, mailboxes), controller);
        let sender = StreamSender::new(fresh, self.app(), self.start, self.stop);
        [
            Host::QuinnSender(Box::new(sender)),
            Host::QuinnReceiver(Box::new(receiver)),
        ]
    }

    fn rtp(&self, config: &RtpConfig, controller: AnyMedia) -> [Host; 2] {
        let draw = self.draw.fork(purpose::MEDIA, 0);
        let (flow, up, start) = (self.flow, self.up, self.start);
        let sender = RtpSender::new(flow, up, config, controller, start, self.stop, draw);
        let receiver = RtpReceiver::new(flow, up, config);
        [
            Host::RtpSender(Box::new(sender)),
            Host::RtpReceiver(Box::new(receiver)),
        ]
    }
}
