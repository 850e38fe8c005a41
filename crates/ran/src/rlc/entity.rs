//! Both ends of RLC for one bearer and direction.

mod container;
mod waiting;

pub use waiting::Waiting;

use std::collections::VecDeque;

use slackwater_core::record::DropReason;
use slackwater_core::{Bytes, Duration, Instant, PacketView};
use slackwater_queue::{AnyQueue, Law, PacketMeta, Queue, QueueView, Verdict};
use slackwater_signal::RlcView;

use super::Limit;
use super::am::Am;
use super::config::{Mode, RlcConfig};
use super::flight::{Flight, Moved, Sdu, WAITING, carry_out};
use super::headers::Headers;
use super::piece::{Piece, PieceKind};
use super::place::Place;
use super::um::{Step, Window};
use crate::out::CellOut;
use crate::pdcp::PdcpConfig;

/// The receiving side, with what acknowledged mode knows of the sender.
enum Receiver {
    Um(Window),
    Am(Box<Am>),
}

/// Both ends of RLC, with the queue in front.
pub struct Entity<P> {
    /// Direction, UE and bearer.
    place: Place,
    /// How much may wait in place.
    limit: Limit,
    /// Bytes in front of data in a block.
    headers: Headers,
    /// PDCP and SDAP header bytes of each SDU.
    per_sdu: u32,
    /// How long an SDU may wait (PDCP's discardTimer).
    discard: Option<Duration>,
    /// The law of SDUs that wait in place.
    law: Option<Box<dyn Law>>,
    /// The container of those that do not.
    queue: Option<Box<AnyQueue<P>>>,
    /// What waits leaves in order, and nothing is dropped: no law, no container, no discard timer.
    plain: bool,
    /// Packets in flight, then those that wait in place.
    sdus: VecDeque<Sdu<P>>,
    /// How many are in flight.
    flying: usize,
    /// Packets that wait in the container.
    in_queue: usize,
    /// Bytes of all that wait, headers of PDCP included.
    waiting_bytes: u64,
    /// Stream offset of the last SDU that was scheduled in part at least.
    queued: u64,
    /// Stream offset up to which bytes were put into transport blocks; at most `queued`.
    sent: u64,
    /// When the SDU that straddles `sent` arrived.
    partial_since: Instant,
    /// An SDU at the front of `flight` lost bytes.
    corrupt: bool,
    /// The receiving end.
    receiver: Receiver,
}

impl<P: PacketView + Clone> Entity<P> {
    /// An empty entity.
    pub fn new(
        place: Place,
        rlc: &RlcConfig,
        pdcp: &PdcpConfig,
        headers: Headers,
        waiting: Waiting<P>,
    ) -> Self {
        let (law, queue) = match waiting {
            Waiting::InPlace(law) => (law, None),
            Waiting::Queue(queue) => (None, Some(queue)),
        };
        Self {
            plain: law.is_none() && queue.is_none() && pdcp.discard.is_none(),
            place,
            limit: rlc.buffer,
            headers,
            per_sdu: headers.pdcp,
            discard: pdcp.discard,
            law,
            queue,
            sdus: VecDeque::new(),
            flying: 0,
            in_queue: 0,
            waiting_bytes: 0,
            queued: 0,
            sent: 0,
            partial_since: Instant::ZERO,
            corrupt: false,
            receiver: match rlc.mode {
                Mode::Um => Receiver::Um(Window::new(rlc.timers.reassembly(Mode::Um))),
                Mode::Am => Receiver::Am(Box::new(Am::new(rlc.timers.clone()))),
            },
        }
    }

    /// Takes `packet`, or drops it into `out`; a container may drop others in its place. How many were dropped.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, packet: P, out: &mut CellOut<P>) -> u32 {
        if self.queue.is_some() {
            return self.enqueue_into_queue(now, packet, out);
        }
        let size = u64::from(packet.len() + self.per_sdu);
        let full = match self.limit {
            Limit::Packets(n) => self.waiting() >= n as usize,
            Limit::Bytes(n) => self.waiting_bytes + size > n.get(),
            Limit::Unlimited => false,
        };
        if full {
            out.dropped.push((now, packet, DropReason::Full));
            return 1;
        }
        let mut verdict = Verdict::Pass;
        if let Some(law) = &mut self.law {
            let delay = self
                .sdus
                .get(self.flying)
                .map_or(Duration::ZERO, |head| now.since(head.at));
            let view = QueueView {
                bytes: Bytes(self.waiting_bytes),
                packets: (self.sdus.len() - self.flying) as u32,
            };
            verdict = law.on_enqueue(now, delay, &view, &PacketMeta::of(&packet));
        }
        self.waiting_bytes += size;
        self.sdus.push_back(Sdu {
            at: now,
            end: WAITING,
            sojourn: Duration::ZERO,
            packet,
        });
        if verdict == Verdict::Pass {
            return 0;
        }
        self.obey(verdict, now, size, out)
    }

    /// Marks the packet that just entered, or drops it; how many were dropped.
    #[cold]
    fn obey(&mut self, verdict: Verdict, now: Instant, size: u64, out: &mut CellOut<P>) -> u32 {
        let mut sdu = self.sdus.pop_back().expect("it was just pushed");
        if carry_out(verdict, now, self.place, &mut sdu.packet, out) {
            self.sdus.push_back(sdu);
            return 0;
        }
        self.waiting_bytes -= size;
        out.dropped.push((now, sdu.packet, DropReason::Law));
        1
    }

    /// Packets that wait for their first transmission.
    #[inline]
    fn waiting(&self) -> usize {
        self.sdus.len() - self.flying + self.in_queue
    }

    /// New data waits, whole SDUs or the rest of one.
    #[inline]
    pub fn has_new(&self) -> bool {
        self.waiting_bytes + (self.queued - self.sent) > 0
    }

    /// Bytes that a grant must have to empty the queue, headers included; saturates.
    #[inline]
    pub fn need(&self) -> u32 {
        let again = match &self.receiver {
            Receiver::Um(_) => 0,
            Receiver::Am(am) => am.need(self.headers.first + self.headers.offset),
        };
        let bytes = self.waiting_bytes + (self.queued - self.sent);
        if bytes == 0 {
            return u32::try_from(again).unwrap_or(u32::MAX);
        }
        let sdus = self.waiting() as u64 + u64::from(self.queued > self.sent);
        let need = again
            + bytes
            + u64::from(self.headers.first)
            + (sdus - 1) * u64::from(self.headers.next)
            + u64::from(self.headers.offset);
        u32::try_from(need).unwrap_or(u32::MAX)
    }

    /// By how much one more packet of `len` bytes raises [`Entity::need`] where that is not zero.
    #[inline]
    pub fn need_of_next(&self, len: u32) -> u32 {
        len + self.per_sdu + self.headers.next
    }

    /// Puts up to `room` bytes into a transport block; returns the bytes used, headers included.
    pub fn fill(
        &mut self,
        now: Instant,
        room: u32,
        pieces: &mut Vec<Piece>,
        out: &mut CellOut<P>,
    ) -> u32 {
        let bearer = self.place.bearer.0;
        let first = pieces.len();
        let mut used = 0;
        if let Receiver::Am(am) = &mut self.receiver {
            let header = self.headers.first + self.headers.offset;
            used = am.fill(room, header, bearer, pieces);
        }
        let start = self.sent;
        used += self.fill_new(now, room - used, out);
        if self.sent > start {
            let number = match &mut self.receiver {
                Receiver::Um(window) => window.sent(self.sent),
                Receiver::Am(_) => 0,
            };
            pieces.push(Piece {
                bearer,
                kind: PieceKind::New,
                number,
                start,
                end: self.sent,
                poll: false,
            });
        }
        let empty = !self.has_new();
        if let Receiver::Am(am) = &mut self.receiver {
            for piece in &mut pieces[first..] {
                am.sent(now, piece, empty, self.sent);
            }
        }
        used
    }

    /// Advances `sent` by what fits into `room`; returns the bytes used.
    #[inline]
    fn fill_new(&mut self, now: Instant, room: u32, out: &mut CellOut<P>) -> u32 {
        let start = self.sent;
        let mut left = room;
        if self.queued > self.sent {
            let header = self.headers.first + self.headers.offset;
            if left <= header {
                return 0;
            }
            left -= header;
            let take = (self.queued - self.sent).min(u64::from(left));
            self.sent += take;
            left -= take as u32;
        }
        if self.plain {
            if self.sent == self.queued {
                let header = if self.sent == start {
                    self.headers.first
                } else {
                    self.headers.next
                };
                left = self.admit_row(now, left, header);
            }
            return room - left;
        }
        while self.sent == self.queued {
            let header = if self.sent == start {
                self.headers.first
            } else {
                self.headers.next
            };
            if left <= header || !self.admit(now, out) {
                break;
            }
            left -= header;
            let take = (self.queued - self.sent).min(u64::from(left));
            self.sent += take;
            left -= take as u32;
        }
        room - left
    }

    /// Moves the next waiting SDU that the law and the discard timer let pass to `flight`.
    #[inline]
    fn admit(&mut self, now: Instant, out: &mut CellOut<P>) -> bool {
        if self.queue.is_some() {
            return self.admit_from_queue(now, out);
        }
        loop {
            let behind = (self.sdus.len() - self.flying).saturating_sub(1);
            let Some(sdu) = self.sdus.get_mut(self.flying) else {
                if let Some(law) = &mut self.law {
                    law.on_empty(now);
                }
                return false;
            };
            let size = u64::from(sdu.packet.len() + self.per_sdu);
            self.waiting_bytes -= size;
            let sojourn = now.since(sdu.at);
            let mut dropped = None;
            if self.discard.is_some_and(|limit| sojourn > limit) {
                dropped = Some(DropReason::Discard);
            } else if let Some(law) = &mut self.law {
                let view = QueueView {
                    bytes: Bytes(self.waiting_bytes),
                    packets: behind as u32,
                };
                let verdict = law.on_dequeue(now, sojourn, &view, &PacketMeta::of(&sdu.packet));
                if !carry_out(verdict, now, self.place, &mut sdu.packet, out) {
                    dropped = Some(DropReason::Law);
                }
            }
            if let Some(reason) = dropped {
                let sdu = self.sdus.remove(self.flying).expect("it was just seen");
                out.dropped.push((now, sdu.packet, reason));
                continue;
            }
            self.queued += size;
            self.partial_since = sdu.at;
            sdu.end = self.queued;
            sdu.sojourn = sojourn;
            self.flying += 1;
            return true;
        }
    }

    /// The same for all that fits into `left` bytes where nothing can be dropped; returns the bytes left.
    #[inline]
    fn admit_row(&mut self, now: Instant, mut left: u32, mut header: u32) -> u32 {
        let (mut queued, mut sent, mut count) = (self.queued, self.sent, 0);
        for sdu in self.sdus.range_mut(self.flying..) {
            if left <= header {
                break;
            }
            left -= header;
            let size = sdu.packet.len() + self.per_sdu;
            queued += u64::from(size);
            sdu.end = queued;
            sdu.sojourn = now.since(sdu.at);
            self.partial_since = sdu.at;
            count += 1;
            let take = size.min(left);
            sent += u64::from(take);
            left -= take;
            if take < size {
                break;
            }
            header = self.headers.next;
        }
        self.waiting_bytes -= queued - self.queued;
        self.flying += count;
        (self.queued, self.sent) = (queued, sent);
        left
    }

    /// A transport block with `piece` was decoded; `at` is when PDCP can hand on what became complete.
    #[inline]
    pub fn received(
        &mut self,
        now: Instant,
        at: Instant,
        piece: &Piece,
        out: &mut CellOut<P>,
    ) -> Moved {
        let mut moved = Moved::default();
        let place = (self.place, self.per_sdu);
        let mut flight = Flight {
            sdus: &mut self.sdus,
            flying: &mut self.flying,
            corrupt: &mut self.corrupt,
            law: &mut self.law,
        };
        match &mut self.receiver {
            Receiver::Um(window) => window.received(now, piece.number, |step| {
                flight.hand_on(place, at, step, &mut moved, out);
            }),
            Receiver::Am(am) => {
                let upto = am.received(now, piece);
                flight.hand_on(place, at, Step::Good(upto), &mut moved, out);
            }
        }
        moved
    }

    /// HARQ gave up on a transport block with `piece`.
    pub fn lost(&mut self, now: Instant, piece: &Piece, out: &mut CellOut<P>) -> Moved {
        let mut moved = Moved::default();
        let place = (self.place, self.per_sdu);
        let mut flight = Flight {
            sdus: &mut self.sdus,
            flying: &mut self.flying,
            corrupt: &mut self.corrupt,
            law: &mut self.law,
        };
        if let Receiver::Um(window) = &mut self.receiver {
            window.lost(piece.number, |step| {
                flight.hand_on(place, now, step, &mut moved, out);
            });
        }
        moved
    }

    /// When [`Entity::on_timer`] must be called.
    #[inline]
    pub fn deadline(&self) -> Option<Instant> {
        match &self.receiver {
            Receiver::Um(window) => window.deadline,
            Receiver::Am(am) => am.deadline(),
        }
    }

    /// A timer ran out; `at` as in [`Entity::received`], so that what follows cannot overtake.
    pub fn on_timer(&mut self, now: Instant, at: Instant, out: &mut CellOut<P>) -> Moved {
        let mut moved = Moved::default();
        let idle = !self.has_new();
        let place = (self.place, self.per_sdu);
        let mut flight = Flight {
            sdus: &mut self.sdus,
            flying: &mut self.flying,
            corrupt: &mut self.corrupt,
            law: &mut self.law,
        };
        match &mut self.receiver {
            Receiver::Um(window) => {
                if window.deadline.is_some_and(|t| t <= now) {
                    window.expire(now, |step| {
                        flight.hand_on(place, at, step, &mut moved, out);
                    });
                }
            }
            Receiver::Am(am) => am.on_timer(now, idle),
        }
        moved
    }

    /// True in acknowledged mode.
    #[inline]
    pub fn is_am(&self) -> bool {
        matches!(self.receiver, Receiver::Am(_))
    }

    /// Bytes of the status report that the receiving end has to send, in blocks of the other direction.
    #[inline]
    pub fn status_need(&self, now: Instant) -> u32 {
        match &self.receiver {
            Receiver::Um(_) => 0,
            Receiver::Am(am) => am.status_need(now),
        }
    }

    /// Puts that report into a block of the other direction; returns the bytes used.
    pub fn fill_status(&mut self, now: Instant, room: u32, pieces: &mut Vec<Piece>) -> u32 {
        match &mut self.receiver {
            Receiver::Um(_) => 0,
            Receiver::Am(am) => am.fill_status(now, room, self.place.bearer.0, pieces),
        }
    }

    /// A status report about this entity's stream arrived at its sender, or was lost on the way.
    pub fn on_status(&mut self, number: u32, arrived: bool) {
        if let Receiver::Am(am) = &mut self.receiver {
            if arrived {
                am.status_received(number);
            } else {
                am.status_lost(number);
            }
        }
    }

    /// How often a range had to go again more than maxRetxThreshold times, and the bearer was re-established.
    pub fn reestablished(&self) -> u64 {
        match &self.receiver {
            Receiver::Um(_) => 0,
            Receiver::Am(am) => am.reestablished,
        }
    }

    /// What waits for its first transmission.
    #[inline]
    pub fn view(&self, now: Instant) -> RlcView {
        let partial = self.queued > self.sent;
        let again = match &self.receiver {
            Receiver::Um(_) => 0,
            Receiver::Am(am) => am.backlog(),
        };
        let since = match &self.queue {
            _ if partial => Some(self.partial_since),
            Some(queue) => queue.head_since(),
            None => self.sdus.get(self.flying).map(|head| head.at),
        };
        RlcView {
            ue: self.place.ue,
            bearer: self.place.bearer,
            direction: self.place.dir,
            backlog: Bytes(self.waiting_bytes + (self.queued - self.sent) + again),
            packets: self.waiting() as u32 + u32::from(partial),
            hol: since.map_or(Duration::ZERO, |at| now.since(at)),
        }
    }

    /// The law goes by what the link can carry.
    pub fn wants_capacity(&self) -> bool {
        let queue = self.queue.as_ref().is_some_and(|q| q.wants_capacity());
        queue || self.law.as_ref().is_some_and(Law::wants_capacity)
    }

    /// The link could have carried `capacity` until `now`; the law goes by that.
    pub fn on_capacity(&mut self, now: Instant, capacity: Bytes) {
        if let Some(law) = &mut self.law {
            law.on_capacity(now, capacity);
        }
        if let Some(queue) = &mut self.queue {
            queue.on_capacity(now, capacity);
        }
    }

    /// True where SDUs wait in a container, which may drop any of them when one enters.
    #[inline]
    pub fn has_container(&self) -> bool {
        self.queue.is_some()
    }

    /// Packets inside, waiting or on their way.
    pub fn packets(&self) -> usize {
        self.sdus.len() + self.in_queue
    }
}

#[cfg(test)]
mod tests {
    use slackwater_core::{BearerId, Direction, Packet, UeId};

    use super::*;

    /// What a scheduler grants by: too little leaves bytes behind, too much is padding.
    #[test]
    fn a_grant_of_what_a_queue_needs_empties_it_and_a_byte_less_does_not() {
        let place = Place {
            dir: Direction::Down,
            ue: UeId(0),
            bearer: BearerId(0),
        };
        for headers in [
            Headers::LTE_UM,
            Headers::LTE_AM,
            Headers::NR_UM,
            Headers::NR_AM,
        ] {
            for packets in 1..=9 {
                let queue = || {
                    let waiting = Waiting::InPlace(None);
                    let rlc = RlcConfig::default();
                    let pdcp = PdcpConfig::default();
                    let mut entity = Entity::new(place, &rlc, &pdcp, headers, waiting);
                    for _ in 0..packets {
                        let packet = Packet {
                            len: 700,
                            ..Packet::default()
                        };
                        entity.enqueue(Instant::ZERO, packet, &mut CellOut::new());
                    }
                    entity
                };
                // The room for a segment's offset is there whether or not a segment leads.
                let need = queue().need() - headers.offset;
                for (room, empty) in [(need, true), (need - 1, false)] {
                    let mut entity = queue();
                    let used =
                        entity.fill(Instant::ZERO, room, &mut Vec::new(), &mut CellOut::new());
                    assert_eq!(used, room, "{headers:?} {packets}");
                    assert_eq!(!entity.has_new(), empty, "{headers:?} {packets}");
                }
            }
        }
    }
}
