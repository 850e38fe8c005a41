//! Media over RTP: the ends of `slackwater_transport::rtp` as hosts.

use slackwater_control::MediaController as _;
use slackwater_core::record::FlowSample;
use slackwater_core::{Bytes, Instant, Packet};
use slackwater_transport::rtp::{RtpReceiver, RtpSender};

use super::end::{End, Io};

impl End for RtpSender {
    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        Self::on_packet(self, now, packet, io.mailbox, io.packets);
    }
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        Self::on_timer(self, now, io.packets);
    }
    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        Self::next_timer(self)
    }
    fn sample(&self) -> Option<FlowSample> {
        Some(Self::sample(self))
    }
    /// RTCP names packets that arrived, and no bytes.
    fn acked(&self) -> Option<Bytes> {
        None
    }
    fn internals(&self, out: &mut Vec<(&'static str, f64)>) {
        self.controller().snapshot(out);
    }
}

impl End for RtpReceiver {
    #[inline]
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        Self::on_packet(self, now, packet, io.mailbox, io.packets);
        io.events.media.extend(self.take_frames());
    }
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        Self::on_timer(self, now, io.mailbox, io.packets);
        io.events.media.extend(self.take_frames());
    }
    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        Self::next_timer(self)
    }
    #[inline]
    fn delivered(&self) -> Bytes {
        Self::delivered(self)
    }
}
