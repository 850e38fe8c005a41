//! A recorder that follows every packet from its emission to its end.

use std::collections::VecDeque;

use slackwater_core::record::{DropReason, FlowSample, Frame, LinkSample, PacketEvent};
use slackwater_core::{
    Bytes, Duration, Ecn, FlowId, Instant, NodeId, Packet, Recorder, SegmentBits,
};

use crate::worlds::DELAY;

/// What became of the packets of one flow and direction.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger {
    /// Emitted, and not yet at an end.
    pub(crate) in_flight: VecDeque<Packet>,
    pub(crate) sent: (u64, u64),
    pub(crate) delivered: (u64, u64),
    pub(crate) dropped: (u64, u64),
    /// Drops by the radio: no transmission got through.
    pub(crate) by_radio: u64,
    /// Deliveries of a packet before one that was emitted earlier and is still on its way.
    pub(crate) overtakes: u64,
    /// Least time from emission to arrival.
    pub(crate) fastest: Option<Duration>,
    pub(crate) payload: u64,
}

/// Keeps a [`Ledger`] for each flow and direction, a hash of all that it hears, and the laws of samples.
#[derive(Clone, Debug, Default)]
pub(crate) struct Audit {
    /// Twice the flow, and one more upwards.
    pub(crate) ledgers: Vec<Ledger>,
    pub(crate) hash: u64,
    pub(crate) records: u64,
    pub(crate) transfers: Vec<(u64, u64)>,
    pub(crate) last_links: Vec<(NodeId, u32, LinkSample)>,
    pub(crate) sojourns: Vec<u64>,
    pub(crate) frames: Vec<Frame>,
}

fn add(total: &mut (u64, u64), packet: &Packet) {
    total.0 += 1;
    total.1 += u64::from(packet.len);
}

/// Marking is the only change that the way may make to a packet.
fn same(a: &Packet, b: &Packet) -> bool {
    // A host that is told what comes along sees a bit that no wire has.
    let bare = |p: &Packet| {
        let mut bare = Packet {
            ecn: Ecn::NotEct,
            ..*p
        };
        if let Some(segment) = bare.segment_mut() {
            segment.bits = segment.bits.without(SegmentBits::TRAIN);
        }
        bare
    };
    bare(a) == bare(b)
}

impl Audit {
    fn note(&mut self, value: &dyn core::fmt::Debug) {
        // FNV-1a over the debug form: every field counts.
        let mut text = Fnv(if self.records == 0 {
            0xcbf2_9ce4_8422_2325
        } else {
            self.hash
        });
        core::fmt::write(&mut text, format_args!("{value:?}")).expect("a hash takes any text");
        self.hash = text.0;
        self.records += 1;
    }

    fn ledger(&mut self, packet: &Packet) -> &mut Ledger {
        let at = 2 * packet.flow.index() + packet.dir as usize;
        if self.ledgers.len() <= at {
            self.ledgers.resize(at + 1, Ledger::default());
        }
        &mut self.ledgers[at]
    }

    /// Payload bytes that reached a host, by flow.
    pub(crate) fn payloads(&self) -> Vec<u64> {
        self.ledgers
            .chunks(2)
            .map(|l| l.iter().map(|l| l.payload).max().unwrap_or(0))
            .collect()
    }
}

struct Fnv(u64);

impl core::fmt::Write for Fnv {
    fn write_str(&mut self, text: &str) -> core::fmt::Result {
        for byte in text.bytes() {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
        Ok(())
    }
}

impl Ledger {
    /// Takes the packet out of those in flight; its place in the order of emission.
    fn end(&mut self, now: Instant, packet: &Packet, what: &str) -> usize {
        let at = self
            .in_flight
            .iter()
            .position(|p| same(p, packet))
            .unwrap_or_else(|| {
                panic!("{what} at {now} of a packet that is not under way: {packet:?}")
            });
        self.in_flight.remove(at);
        at
    }
}

impl Recorder for Audit {
    fn packet(&mut self, now: Instant, node: NodeId, packet: &Packet, event: PacketEvent) {
        self.note(&(now, node, packet, event));
        assert!(
            packet.len > packet.payload(),
            "headers take room: {packet:?}"
        );
        match event {
            PacketEvent::Sent => {
                assert_eq!(packet.created, now, "a copy is created when it is sent");
                let ledger = self.ledger(packet);
                add(&mut ledger.sent, packet);
                ledger.in_flight.push_back(*packet);
            }
            PacketEvent::Delivered => {
                let ledger = self.ledger(packet);
                let place = ledger.end(now, packet, "delivery");
                ledger.overtakes += u64::from(place > 0);
                add(&mut ledger.delivered, packet);
                ledger.payload += u64::from(packet.payload());
                let took = now.since(packet.created);
                assert!(took >= DELAY, "{packet:?} took {took}");
                ledger.fastest = Some(ledger.fastest.map_or(took, |f| f.min(took)));
            }
            PacketEvent::Dropped(reason) => {
                let ledger = self.ledger(packet);
                ledger.by_radio += u64::from(reason == DropReason::Radio);
                ledger.end(now, packet, "drop");
                add(&mut ledger.dropped, packet);
            }
            PacketEvent::Dequeued { sojourn, .. } => {
                assert!(
                    packet.created + sojourn <= now,
                    "queued for {sojourn} before {now}: {packet:?}"
                );
                if packet.payload() > 0 {
                    self.sojourns.push(sojourn.as_nanos());
                }
            }
            PacketEvent::Marked => {}
        }
    }

    fn sampling(&self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }

    fn flow(&mut self, now: Instant, flow: FlowId, sample: &FlowSample) {
        self.note(&(now, flow, sample));
        // Reports about media count whole packets.
        assert!(
            sample.acked <= sample.delivered || sample.target.is_some(),
            "{flow} at {now}: {sample:?}"
        );
    }

    fn frame(&mut self, now: Instant, flow: FlowId, frame: &Frame) {
        self.note(&(now, flow, frame));
        self.frames.push(*frame);
    }

    fn internals(&mut self, now: Instant, flow: FlowId, values: &[(&'static str, f64)]) {
        self.note(&(now, flow, values));
        for (name, value) in values {
            assert!(!value.is_nan(), "{flow} at {now}: {name} is not a number");
        }
    }

    fn link(&mut self, now: Instant, node: NodeId, index: u32, sample: &LinkSample) {
        self.note(&(now, node, index, sample));
        if sample.capacity > Bytes::ZERO {
            assert!(
                sample.carried <= sample.capacity,
                "{node}/{index} at {now}: {sample:?}"
            );
        }
        assert_eq!(
            sample.packets == 0,
            sample.backlog == Bytes::ZERO,
            "{node}/{index} at {now}: {sample:?}"
        );
        let known = self
            .last_links
            .iter_mut()
            .find(|l| l.0 == node && l.1 == index);
        if let Some(last) = known {
            assert!(last.2.carried <= sample.carried && last.2.capacity <= sample.capacity);
            last.2 = *sample;
        } else {
            self.last_links.push((node, index, *sample));
        }
    }

    fn transfer(&mut self, now: Instant, flow: FlowId, start: Instant, bytes: Bytes) {
        self.note(&(now, flow, start, bytes));
        self.transfers
            .push((bytes.get(), now.since(start).as_nanos()));
    }
}
