//! SDUs that wait in a container of `queue`.

use slackwater_core::record::DropReason;
use slackwater_core::{Instant, PacketView};
use slackwater_queue::{Queue, Sink};

use super::super::flight::{Sdu, note_mark};
use super::super::place::Place;
use super::Entity;
use crate::out::CellOut;

/// Takes a container's reports into a cell's output.
struct Report<'a, P> {
    place: Place,
    out: &'a mut CellOut<P>,
}

impl<P: PacketView + Clone> Sink<P> for Report<'_, P> {
    fn dropped(&mut self, now: Instant, packet: &P, reason: DropReason) {
        self.out.dropped.push((now, packet.clone(), reason));
    }
    fn marked(&mut self, now: Instant, packet: &P) {
        note_mark(now, self.place, packet, self.out);
    }
}

impl<P: PacketView + Clone> Entity<P> {
    /// Takes `packet` into the container, which may drop others in its place; how many were dropped.
    #[inline(never)]
    pub(super) fn enqueue_into_queue(
        &mut self,
        now: Instant,
        packet: P,
        out: &mut CellOut<P>,
    ) -> u32 {
        let dropped = out.dropped.len();
        let place = self.place;
        let queue = self.queue.as_mut().expect("the caller saw a container");
        queue.enqueue(now, packet, &mut Report { place, out });
        self.count_queue();
        (out.dropped.len() - dropped) as u32
    }

    /// Takes over what the container holds.
    fn count_queue(&mut self) {
        if let Some(queue) = &self.queue {
            let held = queue.backlog();
            self.in_queue = held.packets as usize;
            self.waiting_bytes = held.bytes.0 + u64::from(held.packets) * u64::from(self.per_sdu);
        }
    }

    /// Moves the container's next SDU to those in flight. PDCP's timer drops what it hands out too late.
    #[inline(never)]
    pub(super) fn admit_from_queue(&mut self, now: Instant, out: &mut CellOut<P>) -> bool {
        let place = self.place;
        loop {
            let queue = self.queue.as_mut().expect("the caller saw a container");
            let head = queue.dequeue(now, &mut Report { place, out });
            self.count_queue();
            let Some((packet, at)) = head else {
                return false;
            };
            let sojourn = now.since(at);
            if self.discard.is_some_and(|limit| sojourn > limit) {
                out.dropped.push((now, packet, DropReason::Discard));
                continue;
            }
            self.queued += u64::from(packet.len() + self.per_sdu);
            self.partial_since = at;
            self.sdus.push_back(Sdu {
                at,
                end: self.queued,
                sojourn,
                packet,
            });
            self.flying += 1;
            return true;
        }
    }
}
