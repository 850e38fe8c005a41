//! Hosts outside of the world: their packets come by [`crate::World::inject`].

use slackwater_core::{Bytes, Instant, Packet};

use super::end::{End, Io};

/// Hands over what arrives, with its time.
#[derive(Debug, Default)]
pub struct External {
    /// Payload bytes that it was handed.
    delivered: u64,
}

impl End for External {
    fn on_packet(&mut self, now: Instant, packet: &Packet, io: &mut Io<'_>) {
        self.delivered += u64::from(packet.payload());
        io.events.handed.push((now, *packet));
    }
    fn on_timer(&mut self, _now: Instant, _io: &mut Io<'_>) {}
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    fn delivered(&self) -> Bytes {
        Bytes(self.delivered)
    }
}
