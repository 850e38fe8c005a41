//! Hosts in the world: what reaches them, what they emit, and the messages and frames of their applications.

use slackwater_core::record::PacketEvent;
use slackwater_core::{Body, Bytes, FlowId, Instant, NodeId, Packet, Recorder};

use super::path::{Exit, Hop};
use super::{World, side};
use crate::flow::Io;

impl<R: Recorder> World<R> {
    /// The component of a host of `flow`.
    #[inline]
    const fn host_component(&self, flow: usize, host: usize) -> usize {
        self.first_host + 2 * flow + host
    }

    /// Hands `packet` to the host at the end of its path.
    pub(super) fn deliver(&mut self, now: Instant, from: NodeId, packet: &Packet) {
        let flow = packet.flow.index();
        let host = 1 - side(packet.dir);
        if !matches!(packet.body, Body::Report(_) | Body::Counters(_)) {
            self.recorder
                .packet(now, from, packet, PacketEvent::Delivered);
        }
        if host != self.flows[flow].sender {
            self.hear(now, flow);
        }
        let state = &mut self.flows[flow];
        let mut io = Io {
            packets: &mut self.packets,
            mailbox: &mut state.mailbox,
            events: &mut self.host_events,
        };
        state.hosts[host].on_packet(now, packet, &mut io);
        self.after_host(now, flow, host);
    }

    /// The timer of a host ran out.
    pub(super) fn run_host(&mut self, now: Instant, flow: usize, host: usize) {
        let state = &mut self.flows[flow];
        let mut io = Io {
            packets: &mut self.packets,
            mailbox: &mut state.mailbox,
            events: &mut self.host_events,
        };
        state.hosts[host].on_timer(now, &mut io);
        self.after_host(now, flow, host);
    }

    /// Sends what a host emitted, records the messages that are complete, and arms the host's timer.
    pub(super) fn after_host(&mut self, now: Instant, flow: usize, host: usize) {
        if !self.packets.is_empty() {
            self.emit(now, flow, host);
        }
        if self.host_events.any() {
            self.take_events(now, flow);
        }
        let state = &self.flows[flow];
        if host != state.sender && !state.messages.is_empty() {
            self.complete(now, flow);
        }
        // A time that has passed is due now.
        let timer = self.flows[flow].hosts[host].next_timer();
        let timer = timer.map(|at| at.max(now));
        self.kernel.arm(self.host_component(flow, host), timer);
        if self.host_events.objects > 0 {
            self.take_objects(now, flow);
        }
    }

    /// Takes over the messages that a host of `flow` began, and records the frames that it completed.
    #[cold]
    fn take_events(&mut self, now: Instant, flow: usize) {
        let id = FlowId(flow as u32);
        let state = &mut self.flows[flow];
        if !self.host_events.messages.is_empty() || !self.host_events.frames.is_empty() {
            if state.messages.is_empty() {
                state.told = state.hosts[1 - state.sender].delivered().get();
            }
            state.messages.extend(self.host_events.messages.drain(..));
            for (start, bytes) in self.host_events.frames.drain(..) {
                self.recorder.transfer(now, id, start, bytes);
            }
        }
        for frame in self.host_events.media.drain(..) {
            self.recorder.frame(now, id, &frame);
        }
    }

    /// Puts what `host` of `flow` emitted on its way.
    pub(super) fn emit(&mut self, now: Instant, flow: usize, host: usize) {
        let (node, first) = self.flows[flow].first[host];
        let mut out = core::mem::take(&mut self.packets);
        if self.flows[flow].feed.is_some() && host != self.flows[flow].sender {
            self.hear(now, flow);
            self.feed(now, flow, &mut out);
        }
        if let Hop::Lane(lane) = first
            && let Exit::Inbox(cell) = self.lanes[lane].exit
        {
            self.feed_cell(now, lane, cell, &out, true);
        } else {
            for packet in &out {
                self.recorder.packet(now, node, packet, PacketEvent::Sent);
                self.forward(now, first, node, packet);
            }
        }
        out.clear();
        self.packets = out;
    }

    /// Records what arrived of messages, and those whose last byte has arrived; the sender's application goes on when
    /// none is left.
    fn complete(&mut self, now: Instant, flow: usize) {
        let state = &mut self.flows[flow];
        let delivered = state.hosts[1 - state.sender].delivered().get();
        let mut any = false;
        if delivered == state.told {
            return;
        }
        let id = FlowId(flow as u32);
        while let Some(&(end, start, bytes)) = state.messages.front() {
            let upto = end.min(delivered);
            if upto > state.told {
                let piece = Bytes(upto - state.told);
                self.recorder.piece(now, id, start, piece);
                state.told = upto;
            }
            if end > delivered {
                break;
            }
            state.messages.pop_front();
            self.recorder.transfer(now, id, start, Bytes(bytes));
            any = true;
        }
        if any && state.messages.is_empty() {
            let sender = state.sender;
            state.hosts[sender].on_delivered(now);
            let timer = state.hosts[sender].next_timer();
            let timer = timer.map(|at| at.max(now));
            self.kernel.arm(self.host_component(flow, sender), timer);
        }
    }
}
