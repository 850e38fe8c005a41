//! The receiving end of a TCP flow.

use slackwater_core::{Body, Bytes, Instant, Packet, Segment, SeqNum, TcpFlags};
use slackwater_transport::tcp::{Config as TcpConfig, Endpoint};

use super::end::{End, Io};
use super::purpose;
use super::stream::Fresh;

/// The other end of a TCP flow: it accepts one connection after the other.
#[derive(Debug)]
pub struct TcpReceiver {
    /// The end of the present connection.
    pub(super) endpoint: Endpoint,
    /// Sequence number of the SYN that opened the present connection.
    syn: Option<SeqNum>,
    /// Payload bytes of earlier connections.
    before: u64,
    fresh: Fresh<TcpConfig>,
}

fn server(fresh: &Fresh<TcpConfig>, n: u64) -> Endpoint {
    let draw = fresh.draw.fork(purpose::SERVER, n);
    let controller = fresh.controller.clone();
    Endpoint::server(fresh.flow, fresh.up, &fresh.config, controller, draw)
}

impl TcpReceiver {
    pub(super) fn new(fresh: Fresh<TcpConfig>) -> Self {
        Self {
            endpoint: server(&fresh, 0),
            syn: None,
            before: 0,
            fresh,
        }
    }

    /// Payload bytes of all connections.
    pub(super) fn delivered(&self) -> u64 {
        self.before + self.endpoint.delivered()
    }

    /// A SYN with another number opens another connection of the same flow.
    pub(super) fn opens_anew(&self, segment: &Segment) -> bool {
        segment.flags.contains(TcpFlags::SYN) && self.syn.is_some_and(|s| s != segment.seq)
    }

    #[inline]
    pub(super) fn on_packet(&mut self, now: Instant, packet: &Packet, out: &mut Vec<Packet>) {
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

impl End for TcpReceiver {
    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        Self::on_packet(self, now, packet, io.packets);
    }
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        self.endpoint.on_timer(now, io.packets);
    }
    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        self.endpoint.next_timer()
    }
    #[inline]
    fn delivered(&self) -> Bytes {
        Bytes(Self::delivered(self))
    }
    fn tcp(&self) -> Option<&Endpoint> {
        Some(&self.endpoint)
    }
}
