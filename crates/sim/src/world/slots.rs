//! A cell's turn in the world: what it takes in, the slot that it runs, and where what it delivers goes.

use slackwater_core::record::{DropReason, PacketEvent};
use slackwater_core::{Direction, Duration, Ecn, Instant, Packet, Recorder};
use slackwater_ran::out::Delivered;

use super::cell::{Batch, CellNode};
use super::path::{Exit, Hop, LaneNode, couple};
use super::{World, side};
use crate::arena::Idx;

/// The shortest time there is: what is due up to now is due before one of these later.
const MOMENT: Duration = Duration::from_nanos(1);

impl<R: Recorder> World<R> {
    /// The timer of `cell` ran out: it hands on what is due, or takes what arrived and runs the slot that starts now.
    pub(super) fn run_cell(&mut self, now: Instant, cell: Idx<CellNode>) {
        let node = &mut self.cells[cell];
        if node.pending.front().is_some_and(|p| p.at <= now) {
            self.hand_on(now, cell);
            return;
        }
        let out = &mut self.cell_out;
        // What arrives at this very instant comes after the cell, unless the cell has nothing else to do.
        self.events += node.take_arrivals(now, usize::MAX, out);
        let mut slot = node.slot_is_due(now);
        if !slot && node.inbox.may_have(now + MOMENT) && !node.report_is_due(now) {
            self.events += node.take_arrivals(now + MOMENT, 1, out);
            slot = node.slot_is_due(now);
        }
        if slot {
            node.run_slot(now, out);
        }
        self.drain_cell(now, cell);
        self.report_queues(now, cell);
    }

    /// Lets `packets` enter the lane `at`, which ends in the inbox of `cell`; each left its host just now where `sent`.
    pub(super) fn feed_cell(
        &mut self,
        now: Instant,
        at: Idx<LaneNode>,
        cell: Idx<CellNode>,
        packets: &[Packet],
        sent: bool,
    ) {
        let LaneNode { id, lane, .. } = &mut self.lanes[at];
        let node = &mut self.cells[cell];
        let mut first = Instant::MAX;
        for packet in packets {
            if sent {
                self.recorder.packet(now, *id, packet, PacketEvent::Sent);
            }
            let Some(due) = lane.pass(now) else {
                let event = PacketEvent::Dropped(DropReason::Random);
                self.recorder.packet(now, *id, packet, event);
                continue;
            };
            first = first.min(node.inbox.push(due, id.0, packet));
        }
        let component = node.id.index();
        let wake = first.max(node.cell.earliest_slot());
        if first != Instant::MAX && !self.kernel.is_due_by(component, wake) {
            self.kernel.arm(component, node.next_timer());
        }
    }

    /// Lets all cells take what arrived up to now, so that their queues can be looked at.
    pub(super) fn catch_up_cells(&mut self, now: Instant) {
        for cell in self.cells.indices() {
            self.catch_up(now, cell);
        }
    }

    /// Lets `cell` take what arrived up to now, before something else enters or looks at its queues.
    pub(super) fn catch_up(&mut self, now: Instant, cell: Idx<CellNode>) {
        let node = &mut self.cells[cell];
        if !node.inbox.may_have(now + MOMENT) {
            return;
        }
        self.events += node.take_arrivals(now + MOMENT, usize::MAX, &mut self.cell_out);
        self.drain_cell(now, cell);
    }

    /// Sends the reports of `cell` that are due on their way: after the slot that starts at the same instant, so
    /// that they show what its decision left.
    fn report_queues(&mut self, now: Instant, cell: Idx<CellNode>) {
        let node = &mut self.cells[cell];
        if !node.reports_to_functions() {
            return;
        }
        let due = |timer: Option<Instant>| timer.is_some_and(|t| t <= now);
        for agent in node.agents.iter_mut().filter(|a| due(a.next_timer())) {
            let Some(edge) = agent.function.as_ref().map(|f| f.edge) else {
                continue;
            };
            let Some(edge) = edge else {
                agent.poll(now, &mut node.cell, &mut self.batch, &mut self.reports);
                continue;
            };
            let edge = &mut self.edges[edge];
            agent.poll(now, &mut node.cell, &mut self.batch, &mut edge.reports);
            let timer = edge.next_timer();
            self.kernel.arm(edge.id.index(), timer.map(|t| t.max(now)));
        }
        self.kernel.arm(node.id.index(), node.next_timer());
    }

    /// Sends on the packets of `cell` that are due: a batch, or what is left of it. A component that comes before the
    /// cell in the order of events takes its turn between two of them.
    fn hand_on(&mut self, now: Instant, cell: Idx<CellNode>) {
        let node = &mut self.cells[cell];
        let id = node.id;
        let Some(batch) = node.pending.front_mut() else {
            return;
        };
        // The batch stays in its place, so that the cell stays armed for it.
        let mut all = core::mem::take(&mut batch.delivered);
        let first = batch.next;
        let mut next = first;
        while next < all.len() && (next == first || self.kernel.is_first(id.index(), now)) {
            let (until, behind) = all.split_at_mut(next + 1);
            let packet = &mut until[next].packet;
            next += 1;
            let node = &mut self.cells[cell];
            let hop = node.flows[packet.flow.index()].next[side(packet.dir)];
            couple(hop, packet, behind.first().map(|d| &d.packet));
            self.forward(now, hop, id, packet);
        }
        // The first one is counted by the loop of events.
        self.events += (next - first) as u64 - 1;
        let node = &mut self.cells[cell];
        if next == all.len() {
            node.pending.pop_front();
            node.recycle(all);
        } else if let Some(batch) = node.pending.front_mut() {
            (batch.delivered, batch.next) = (all, next);
        }
        self.kernel.arm(node.id.index(), node.next_timer());
    }

    /// Reports what the cell dropped, marked and delivered, sends on what is due, and arms the cell's timer.
    pub(super) fn drain_cell(&mut self, now: Instant, cell: Idx<CellNode>) {
        if !(self.cell_out.dropped.is_empty() && self.cell_out.marked.is_empty()) {
            self.record_verdicts(cell);
        }
        if !self.cell_out.delivered.is_empty() {
            self.drain_delivered(now, cell);
        }
        let node = &mut self.cells[cell];
        self.kernel.arm(node.id.index(), node.next_timer());
    }

    /// Records what `cell` dropped and marked.
    #[cold]
    fn record_verdicts(&mut self, cell: Idx<CellNode>) {
        let id = self.cells[cell].id;
        for (at, packet, reason) in self.cell_out.dropped.drain(..) {
            let event = PacketEvent::Dropped(reason);
            self.recorder.packet(at, id, &packet, event);
        }
        for mark in self.cell_out.marked.drain(..) {
            let packet = Packet {
                flow: mark.flow.expect("a simulated packet has a flow"),
                dir: mark.dir,
                len: mark.len as u16,
                ecn: Ecn::Ce,
                ..Packet::default()
            };
            self.recorder
                .packet(mark.at, id, &packet, PacketEvent::Marked);
        }
    }

    /// Lets what `cell` delivered wait for its time, or sends it on.
    fn drain_delivered(&mut self, now: Instant, cell: Idx<CellNode>) {
        let node = &mut self.cells[cell];
        let all = &self.cell_out.delivered;
        if node.senders.is_none() {
            // All of a slot has one time.
            let at = all[0].at;
            let alike = all.iter().all(|d| d.at == at);
            if alike && at > now {
                self.send_on(now, cell);
                return;
            }
            if alike && node.pending.is_empty() {
                self.send_now(now, cell);
                return;
            }
        }
        let id = self.cells[cell].id;
        let mut delivered = core::mem::take(&mut self.cell_out.delivered);
        for delivered in delivered.drain(..) {
            let event = crossed(now, &delivered);
            self.recorder.packet(now, id, &delivered.packet, event);
            let node = &mut self.cells[cell];
            let mut packet = delivered.packet;
            let report = node.stamp(now, &mut packet);
            // Nothing is delivered before what was delivered earlier.
            let at = delivered.at.max(node.last_pending());
            let hop = node.flows[packet.flow.index()].next[side(packet.dir)];
            if at > now {
                let mut alone = node.spare.pop().unwrap_or_default();
                alone.push(Delivered {
                    packet,
                    ..delivered
                });
                node.pending.push_back(Batch::new(at, alone, 0));
            }
            if let Some((lane, report)) = report {
                self.enter_lane(now, lane, &report);
            }
            if at <= now {
                self.forward(now, hop, id, &packet);
            }
        }
        self.cell_out.delivered = delivered;
    }

    /// The same where all of it is due now and no report goes along.
    fn send_now(&mut self, now: Instant, cell: Idx<CellNode>) {
        let id = self.cells[cell].id;
        let mut all = core::mem::take(&mut self.cell_out.delivered);
        for delivered in &all {
            let packet = &delivered.packet;
            let event = crossed(now, delivered);
            self.recorder.packet(now, id, packet, event);
            let node = &mut self.cells[cell];
            let hop = node.flows[packet.flow.index()].next[side(packet.dir)];
            self.forward(now, hop, id, packet);
        }
        all.clear();
        self.cell_out.delivered = all;
    }

    /// The same where all of it is due at one later time and no report goes along: what a lane takes next goes there at
    /// once, with the time at which the cell is through with it.
    fn send_on(&mut self, now: Instant, cell: Idx<CellNode>) {
        let id = self.cells[cell].id;
        let all = core::mem::take(&mut self.cell_out.delivered);
        let node = &mut self.cells[cell];
        // Nothing is delivered before what was delivered earlier.
        let due = all[0].at.max(node.last_pending());
        // What came up the cell stands first.
        let mut straight = 0;
        for (k, delivered) in all.iter().enumerate() {
            let packet = &delivered.packet;
            let event = crossed(now, delivered);
            self.recorder.packet(now, id, packet, event);
            if k > straight || packet.dir == Direction::Down {
                continue;
            }
            let next = self.cells[cell].flows[packet.flow.index()].next[side(Direction::Up)];
            if let Hop::Lane(lane) = next
                && let LaneNode { id, lane, exit } = &mut self.lanes[lane]
                && matches!(exit, Exit::Hop(_))
                && !lane.loses()
            {
                straight += 1;
                let waiting = lane.next_timer().is_some();
                lane.push(due, packet);
                if !waiting {
                    self.kernel.arm(id.index(), lane.next_timer());
                }
            }
        }
        self.events += straight as u64;
        let node = &mut self.cells[cell];
        if straight == all.len() {
            self.cell_out.delivered = all;
            self.cell_out.delivered.clear();
        } else {
            self.cell_out.delivered = node.spare.pop().unwrap_or_default();
            node.pending.push_back(Batch::new(due, all, straight));
        }
    }
}

/// A packet crossed the radio.
#[inline]
fn crossed(now: Instant, delivered: &Delivered<Packet>) -> PacketEvent {
    let sojourn = delivered.sojourn;
    PacketEvent::Dequeued {
        sojourn,
        radio: Some(now.since(delivered.entered + sojourn)),
    }
}
