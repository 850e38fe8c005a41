//! A cell's turn in the world: what it takes in, the slot that it runs, and where what it delivers goes.

use slackwater_core::record::{DropReason, PacketEvent};
use slackwater_core::{Direction, Duration, Ecn, Instant, NodeId, Packet, Recorder};
use slackwater_ran::out::Delivered;

use super::cell::{Batch, CellNode};
use super::{Hop, Node, World, couple, side};

/// The shortest time there is: what is due up to now is due before one of these later.
const MOMENT: Duration = Duration::from_nanos(1);

impl<R: Recorder> World<R> {
    /// The timer of cell `n` ran out: it hands on what is due, or takes what arrived and runs the slot that starts now.
    pub(super) fn run_cell(&mut self, now: Instant, n: usize) {
        let node = cell_of(&mut self.nodes, n);
        if node.pending.front().is_some_and(|p| p.at <= now) {
            self.hand_on(now, n);
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
        self.drain_cell(now, n);
        self.report_queues(now, n);
    }

    /// Lets `packets` enter the lane `n`, which ends at a cell; each left its host just now where `sent`.
    pub(super) fn feed_cell(&mut self, now: Instant, n: usize, packets: &[Packet], sent: bool) {
        let id = NodeId(n as u32);
        let Node::Feeder { cell, .. } = self.nodes[n] else {
            unreachable!("a node keeps its kind")
        };
        let Ok([Node::Feeder { lane, .. }, Node::Cell(node)]) =
            self.nodes.get_disjoint_mut([n, cell as usize])
        else {
            unreachable!("a feeder names a cell")
        };
        let mut first = Instant::MAX;
        for packet in packets {
            if sent {
                self.recorder.packet(now, id, packet, PacketEvent::Sent);
            }
            let Some(due) = lane.pass(now) else {
                let event = PacketEvent::Dropped(DropReason::Random);
                self.recorder.packet(now, id, packet, event);
                continue;
            };
            first = first.min(node.inbox.push(due, id.0, packet));
        }
        let wake = first.max(node.cell.earliest_slot());
        if first != Instant::MAX && !self.kernel.is_due_by(cell as usize, wake) {
            self.kernel.arm(cell as usize, node.next_timer());
        }
    }

    /// Lets all cells take what arrived up to now, so that their queues can be looked at.
    pub(super) fn catch_up_cells(&mut self, now: Instant) {
        for k in 0..self.tellers.len() {
            let n = self.tellers[k];
            if matches!(self.nodes[n], Node::Cell(_)) {
                self.catch_up(now, n);
            }
        }
    }

    /// Lets cell `n` take what arrived up to now, before something else enters or looks at its queues.
    pub(super) fn catch_up(&mut self, now: Instant, n: usize) {
        let node = cell_of(&mut self.nodes, n);
        if !node.inbox.may_have(now + MOMENT) {
            return;
        }
        self.events += node.take_arrivals(now + MOMENT, usize::MAX, &mut self.cell_out);
        self.drain_cell(now, n);
    }

    /// Sends the reports of cell `n` that are due on their way: after the slot that starts at the same instant, so that
    /// they tell what its decision left.
    fn report_queues(&mut self, now: Instant, n: usize) {
        let cell = cell_of(&mut self.nodes, n);
        if cell.reports.is_empty() {
            return;
        }
        if cell.report_is_due(now) {
            let mut reports = core::mem::take(&mut cell.reports);
            for way in &mut reports {
                let [Node::Cell(cell), Node::Edge(edge)] = self
                    .nodes
                    .get_disjoint_mut([n, way.to])
                    .expect("a cell and a function are two nodes")
                else {
                    unreachable!("a node keeps its kind")
                };
                way.read(now, &mut cell.cell, &mut self.batch, &mut edge.reports);
                let timer = edge.next_timer();
                self.kernel.arm(way.to, timer.map(|t| t.max(now)));
            }
            let cell = cell_of(&mut self.nodes, n);
            cell.reports = reports;
        }
        let cell = cell_of(&mut self.nodes, n);
        let timer = cell.next_timer();
        self.kernel.arm(n, timer);
    }

    /// Sends on the packets of cell `n` that are due: a batch, or what is left of it. A component that comes before the
    /// cell in the order of events takes its turn between two of them.
    fn hand_on(&mut self, now: Instant, n: usize) {
        let cell = cell_of(&mut self.nodes, n);
        let Some(batch) = cell.pending.front_mut() else {
            return;
        };
        // The batch stays in its place, so that the cell stays armed for it.
        let mut all = core::mem::take(&mut batch.delivered);
        let first = batch.next;
        let mut next = first;
        while next < all.len() && (next == first || self.kernel.is_first(n, now)) {
            let (until, behind) = all.split_at_mut(next + 1);
            let packet = &mut until[next].packet;
            next += 1;
            let cell = cell_of(&mut self.nodes, n);
            let hop = cell.flows[packet.flow.index()].next[side(packet.dir)];
            couple(hop, packet, behind.first().map(|d| &d.packet));
            self.forward(now, hop, n, packet);
        }
        // The first one is counted by the loop of events.
        self.events += (next - first) as u64 - 1;
        let cell = cell_of(&mut self.nodes, n);
        if next == all.len() {
            cell.pending.pop_front();
            cell.recycle(all);
        } else if let Some(batch) = cell.pending.front_mut() {
            (batch.delivered, batch.next) = (all, next);
        }
        let timer = cell.next_timer();
        self.kernel.arm(n, timer);
    }

    /// Reports what the cell dropped, marked and delivered, sends on what is due, and arms the cell's timer.
    pub(super) fn drain_cell(&mut self, now: Instant, n: usize) {
        if !(self.cell_out.dropped.is_empty() && self.cell_out.marked.is_empty()) {
            self.tell_verdicts(n);
        }
        if !self.cell_out.delivered.is_empty() {
            self.drain_delivered(now, n);
        }
        let cell = cell_of(&mut self.nodes, n);
        let timer = cell.next_timer();
        self.kernel.arm(n, timer);
    }

    /// Reports what cell `n` dropped and marked.
    #[cold]
    fn tell_verdicts(&mut self, n: usize) {
        let id = NodeId(n as u32);
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

    /// Lets what cell `n` delivered wait for its time, or sends it on.
    fn drain_delivered(&mut self, now: Instant, n: usize) {
        let cell = cell_of(&mut self.nodes, n);
        let all = &self.cell_out.delivered;
        if cell.feedback.is_none() {
            // All of a slot has one time.
            let at = all[0].at;
            let alike = all.iter().all(|d| d.at == at);
            if alike && at > now {
                self.send_on(now, n);
                return;
            }
            if alike && cell.pending.is_empty() {
                self.send_now(now, n);
                return;
            }
        }
        let id = NodeId(n as u32);
        let mut delivered = core::mem::take(&mut self.cell_out.delivered);
        for delivered in delivered.drain(..) {
            let sojourn = delivered.sojourn;
            let event = PacketEvent::Dequeued { sojourn };
            self.recorder.packet(now, id, &delivered.packet, event);
            let cell = cell_of(&mut self.nodes, n);
            let mut packet = delivered.packet;
            let report = cell.stamp(now, &mut packet);
            // Nothing is delivered before what was delivered earlier.
            let at = delivered.at.max(cell.last_pending());
            let hop = cell.flows[packet.flow.index()].next[side(packet.dir)];
            if at > now {
                let mut alone = cell.spare.pop().unwrap_or_default();
                alone.push(Delivered {
                    packet,
                    ..delivered
                });
                cell.pending.push_back(Batch::new(at, alone, 0));
            }
            if let Some((lane, report)) = report {
                self.forward(now, lane, n, &report);
            }
            if at <= now {
                self.forward(now, hop, n, &packet);
            }
        }
        self.cell_out.delivered = delivered;
    }

    /// The same where all of it is due now and no report goes along.
    fn send_now(&mut self, now: Instant, n: usize) {
        let id = NodeId(n as u32);
        let mut all = core::mem::take(&mut self.cell_out.delivered);
        for delivered in &all {
            let packet = &delivered.packet;
            let sojourn = delivered.sojourn;
            let event = PacketEvent::Dequeued { sojourn };
            self.recorder.packet(now, id, packet, event);
            let cell = cell_of(&mut self.nodes, n);
            let hop = cell.flows[packet.flow.index()].next[side(packet.dir)];
            self.forward(now, hop, n, packet);
        }
        all.clear();
        self.cell_out.delivered = all;
    }

    /// The same where all of it is due at one later time and no report goes along: what a lane takes next goes there at
    /// once, with the time at which the cell is through with it.
    fn send_on(&mut self, now: Instant, n: usize) {
        let id = NodeId(n as u32);
        let all = core::mem::take(&mut self.cell_out.delivered);
        let cell = cell_of(&mut self.nodes, n);
        // Nothing is delivered before what was delivered earlier.
        let at = all[0].at.max(cell.last_pending());
        // What came up the cell stands first.
        let mut straight = 0;
        for (k, delivered) in all.iter().enumerate() {
            let packet = &delivered.packet;
            let sojourn = delivered.sojourn;
            let event = PacketEvent::Dequeued { sojourn };
            self.recorder.packet(now, id, packet, event);
            if k > straight || packet.dir == Direction::Down {
                continue;
            }
            let cell = cell_of(&mut self.nodes, n);
            if let Hop::Node(next) = cell.flows[packet.flow.index()].next[1]
                && let Node::Lane { lane, .. } = &mut self.nodes[next as usize]
                && !lane.loses()
            {
                straight += 1;
                let waiting = lane.next_timer().is_some();
                lane.push(at, packet);
                if !waiting {
                    self.kernel.arm(next as usize, lane.next_timer());
                }
            }
        }
        self.events += straight as u64;
        let cell = cell_of(&mut self.nodes, n);
        if straight == all.len() {
            self.cell_out.delivered = all;
            self.cell_out.delivered.clear();
        } else {
            self.cell_out.delivered = cell.spare.pop().unwrap_or_default();
            cell.pending.push_back(Batch::new(at, all, straight));
        }
    }
}

/// The cell at `n`, where a caller knows that there is one.
#[inline]
pub(super) fn cell_of(nodes: &mut [Node], n: usize) -> &mut CellNode {
    match &mut nodes[n] {
        Node::Cell(cell) => cell,
        _ => unreachable!("a node keeps its kind"),
    }
}
