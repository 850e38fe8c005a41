//! What happens to the packets of a flow's data, a function for each kind of event: the caller knows the kind, so that
//! each costs no more than its own part.

use slackwater_core::record::DropReason;
use slackwater_core::{Body, Duration, Instant, NodeId, Packet};

use super::{FlowRecord, MAX_EVENTS, RunRecorder, bins, drop_index};

impl RunRecorder {
    /// The record of the flow whose data `packet` is.
    #[inline]
    fn flow_of(&mut self, packet: &Packet) -> Option<&mut FlowRecord> {
        let index = packet.flow.index();
        let way = *self.ways.get(index)?;
        (packet.dir == way).then(|| self.flows.get_mut(index))?
    }

    #[inline]
    fn is_measured(&self, now: Instant) -> bool {
        now >= self.config.from && now <= self.config.to
    }

    pub(super) fn sent(&mut self, now: Instant, packet: &Packet) {
        let measured = self.is_measured(now);
        let again = packet.is_retransmission();
        let mut left_out = 0;
        if let Some(flow) = self.flow_of(packet) {
            if again {
                note(&mut flow.resend_times, now, &mut left_out);
            }
            flow.sent += u64::from(measured);
            flow.resent += u64::from(measured && again);
        }
        self.left_out.event_times += left_out;
    }

    pub(super) fn dequeued(
        &mut self,
        now: Instant,
        node: NodeId,
        packet: &Packet,
        sojourn: Duration,
    ) {
        let tenths = self.tenths;
        let measured = self.is_measured(now);
        let wired = Some(node) == self.config.wired;
        let Some(flow) = self.flow_of(packet) else {
            return;
        };
        if wired {
            if measured {
                flow.wired_delay.add(sojourn);
            }
            return;
        }
        let bin = bins::at(&mut flow.bins, now, tenths);
        bin.queue_sum += sojourn.as_nanos();
        bin.queue_max = bin.queue_max.max(sojourn.as_nanos());
        bin.dequeued += 1;
        if measured {
            flow.queue_delay.add(sojourn);
            if self.media[packet.flow.index()] {
                self.flows[packet.flow.index()]
                    .media
                    .on_dequeue(now, sojourn);
            }
        }
    }

    pub(super) fn delivered(&mut self, now: Instant, packet: &Packet) {
        let tenths = self.tenths;
        let measured = self.is_measured(now);
        let delay = now.since(packet.created);
        let late = delay > self.config.late;
        let Some(flow) = self.flow_of(packet) else {
            return;
        };
        let payload = u64::from(packet.payload());
        let bin = bins::at(&mut flow.bins, now, tenths);
        bin.delivered += payload;
        if late {
            bin.late += payload;
            if matches!(packet.body, Body::Datagram(_)) {
                // A datagram leaves as soon as its frame is there.
                flow.add_late(packet.created, payload);
            }
        }
        if measured {
            flow.one_way.add(delay);
            flow.late += u64::from(late);
            flow.delivered += 1;
            flow.delivered_payload += payload;
            flow.media.wire += u64::from(packet.len);
        }
    }

    #[cold]
    pub(super) fn dropped(&mut self, now: Instant, packet: &Packet, reason: DropReason) {
        let measured = self.is_measured(now);
        let mut left_out = 0;
        if let Some(flow) = self.flow_of(packet) {
            note(&mut flow.drop_times, now, &mut left_out);
            flow.drops[drop_index(reason)] += u64::from(measured);
        }
        self.left_out.event_times += left_out;
    }

    #[cold]
    pub(super) fn marked(&mut self, now: Instant, packet: &Packet) {
        let tenths = self.tenths;
        let measured = self.is_measured(now);
        let mut left_out = 0;
        if let Some(flow) = self.flow_of(packet) {
            note(&mut flow.mark_times, now, &mut left_out);
            flow.marks += u64::from(measured);
            bins::at(&mut flow.bins, now, tenths).marked += 1;
        }
        self.left_out.event_times += left_out;
    }
}

#[cold]
fn note(times: &mut Vec<Instant>, now: Instant, left_out: &mut u64) {
    if times.len() < MAX_EVENTS {
        times.push(now);
    } else {
        *left_out += 1;
    }
}
