//! Packets that wait at the UPF, first in, first out, one queue per flow.

use std::collections::VecDeque;

use slackwater_core::{Instant, PacketView};

/// A packet that waits.
#[derive(Clone, Debug)]
pub(super) struct Held<P> {
    pub(super) packet: P,
    /// When the first byte of its frame came: what deadlines count from.
    pub(super) frame: Instant,
}

/// The packets of one flow that wait.
#[derive(Clone, Debug)]
pub(super) struct Fifo<P> {
    queue: VecDeque<Held<P>>,
    bytes: u64,
}

impl<P: PacketView> Fifo<P> {
    pub(super) const fn new() -> Self {
        Self {
            queue: VecDeque::new(),
            bytes: 0,
        }
    }

    pub(super) fn push(&mut self, packet: P, frame: Instant) {
        self.bytes += u64::from(packet.len());
        self.queue.push_back(Held { packet, frame });
    }

    pub(super) fn pop(&mut self) -> Option<Held<P>> {
        let held = self.queue.pop_front()?;
        self.bytes -= u64::from(held.packet.len());
        // An idle session must not pay for its largest frame.
        if self.queue.is_empty() && self.queue.capacity() > 16 {
            self.queue = VecDeque::new();
        }
        Some(held)
    }

    /// When the frame of the first packet began.
    pub(super) fn head(&self) -> Option<Instant> {
        self.queue.front().map(|h| h.frame)
    }

    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }
}
