//! Datagrams without control.

use std::collections::VecDeque;

use slackwater_core::packet::{IPV4_HEADER, UDP_HEADER};
use slackwater_core::{Body, Bytes, Datagram, Direction, Ecn, FlowId, Instant, Packet};
use slackwater_transport::app::App;

use super::end::{End, Io};

/// Sends each message as datagrams at once.
#[derive(Debug)]
pub struct UdpSender {
    flow: FlowId,
    dir: Direction,
    /// IP bytes of a full packet.
    packet: u16,
    app: App,
    /// Number of the next datagram.
    next_number: u32,
    /// Number of the next message.
    frame: u32,
}

/// Counts datagrams and completes frames.
#[derive(Debug, Default)]
pub struct UdpReceiver {
    /// Payload bytes that arrived.
    delivered: u64,
    /// Frames of which packets are missing: number, packets seen, bytes, first emission.
    open: VecDeque<(u32, u32, u64, Instant)>,
}

/// Frames that may be incomplete at once; older ones are given up.
const OPEN_FRAMES: usize = 64;

impl UdpSender {
    pub(super) const fn new(flow: FlowId, up: bool, packet: u16, app: App) -> Self {
        Self {
            flow,
            dir: if up { Direction::Up } else { Direction::Down },
            packet,
            app,
            next_number: 0,
            frame: 0,
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
                dir: self.dir,
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

impl End for UdpSender {
    fn on_packet(&mut self, _now: Instant, _packet: &Packet, _io: &mut Io<'_>) {}
    fn on_timer(&mut self, now: Instant, io: &mut Io<'_>) {
        while self.app.next_timer().is_some_and(|t| t <= now) {
            if let Some(message) = self.app.on_timer(now) {
                self.send(now, message.bytes, io.packets);
            }
        }
    }
    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        self.app.next_timer()
    }
    fn on_delivered(&mut self, now: Instant) {
        self.app.on_delivered(now);
    }
}

impl End for UdpReceiver {
    fn on_packet(&mut self, _now: Instant, packet: &Packet, io: &mut Io<'_>) {
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
            io.events.frames.push((entry.3, Bytes(entry.2)));
            self.open.remove(at);
        }
    }
    fn on_timer(&mut self, _now: Instant, _io: &mut Io<'_>) {}
    #[inline]
    fn next_timer(&self) -> Option<Instant> {
        None
    }
    #[inline]
    fn delivered(&self) -> Bytes {
        Bytes(self.delivered)
    }
}
