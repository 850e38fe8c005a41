//! The contract of a flow's ends: what the world calls, and what they work with.

use slackwater_core::record::{FlowSample, Frame};
use slackwater_core::{Bytes, Instant, Packet};
use slackwater_transport::rtp::Mailbox;
use slackwater_transport::tcp::Endpoint;

/// What a host has to report beyond packets.
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

/// What a host works with while it handles an event.
#[derive(Debug)]
pub(crate) struct Io<'a> {
    /// The packets that it emits, in their order.
    pub(crate) packets: &'a mut Vec<Packet>,
    /// The contents of its flow's RTCP packets that are on their way.
    pub(crate) mailbox: &'a mut Mailbox,
    /// What it has to report beyond packets.
    pub(crate) events: &'a mut HostEvents,
}

/// One end of a flow, as the world drives it. After each call the world arms the host's timer anew.
pub(crate) trait End: core::fmt::Debug + Send {
    /// A packet of the flow arrived.
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>);

    /// A deadline may have passed.
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>);

    /// When to call [`End::on_timer`].
    fn next_timer(&self) -> Option<Instant>;

    /// All messages that were sent so far have arrived: the application may go on.
    fn on_delivered(&mut self, _now: Instant) {}

    /// Payload bytes handed to the receiving application; zero at a sender.
    fn delivered(&self) -> Bytes {
        Bytes::ZERO
    }

    /// The state of a sender with a controller.
    fn sample(&self) -> Option<FlowSample> {
        None
    }

    /// Payload bytes acknowledged on all connections, where the host knows them.
    fn acked(&self) -> Option<Bytes> {
        self.sample().map(|s| s.acked)
    }

    /// Appends the controller's named internals.
    fn internals(&self, _out: &mut Vec<(&'static str, f64)>) {}

    /// The TCP endpoint, where there is one.
    fn tcp(&self) -> Option<&Endpoint> {
        None
    }
}
