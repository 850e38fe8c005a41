//! The receiving ends of QUIC as hosts: those of the light model and of the real stack.

use slackwater_core::{Bytes, Instant, Packet};
use slackwater_transport::quic;

use super::end::{End, Io};

impl End for quic::Receiver {
    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        Self::on_packet(self, now, packet, io.packets);
    }
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        Self::on_timer(self, now, io.packets);
    }
    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        Self::next_timer(self)
    }
    #[inline]
    fn delivered(&self) -> Bytes {
        Bytes(Self::delivered(self))
    }
}

impl End for slackwater_quic::Receiver {
    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        Self::on_packet(self, now, packet, io.packets);
    }
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        Self::on_timer(self, now, io.packets);
    }
    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        Self::next_timer(self)
    }
    #[inline]
    fn delivered(&self) -> Bytes {
        Bytes(Self::delivered(self))
    }
}
