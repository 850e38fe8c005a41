//! What the server was told last of its window, and how it is told something else.

use std::collections::VecDeque;

use slackwater_core::{Direction, PacketView, SeqNum, TcpHeader};

use super::connection::{Connection, Stage};

/// What the server may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Phase {
    /// All that the UE allows.
    Open,
    /// A frame was granted.
    Granted,
    /// One segment, which shows that more waits.
    Closed,
}

/// The last ACK towards the server, and the one of the UE that can be copied.
#[derive(Clone, Debug)]
pub(super) struct Told<P> {
    /// What the server may do.
    pub(super) phase: Phase,
    /// The acknowledgment number.
    pub(super) number: SeqNum,
    /// The window field.
    pub(super) field: u16,
    /// The right edge of the window, before the field rounds it.
    pub(super) edge: SeqNum,
    /// The newest ACK of the UE that can be copied; `None` where a copy would be wrong.
    pub(super) template: Option<P>,
    /// ACKs that were made here: copies with another number or window.
    pub(super) made: u64,
}

impl<P: PacketView + Clone> Told<P> {
    /// Nothing was told yet.
    pub(super) const fn new() -> Self {
        Self {
            phase: Phase::Open,
            number: SeqNum(0),
            field: 0,
            edge: SeqNum(0),
            template: None,
            made: 0,
        }
    }

    /// The UE's own ACK went to the server, and it can be copied where there is a `template`.
    pub(super) fn pass(&mut self, h: &TcpHeader, edge: SeqNum, template: Option<P>) {
        self.phase = Phase::Open;
        self.number = h.ack;
        self.field = h.window;
        self.edge = edge;
        self.template = template;
    }

    /// Acknowledgments are kept back.
    pub(super) fn keeps(&self, c: &Connection) -> bool {
        self.number != c.a_max
    }

    /// The window field that puts the right edge at `edge`, never beyond the UE's own; rounded `up` where a segment must
    /// fit, which costs less than one unit.
    pub(super) fn field_for(c: &Connection, ack: SeqNum, edge: SeqNum, up: bool) -> u16 {
        let wanted = if edge.gt(ack) { edge - ack } else { 0 };
        let own = if c.ue_edge.gt(ack) {
            (c.ue_edge - ack) >> c.scale
        } else {
            0
        };
        let unit = 1 << c.scale;
        let units = if up {
            wanted.div_ceil(unit)
        } else {
            wanted >> c.scale
        };
        // Zero would arm the persist timer (RFC 9293, 3.8.6.1); the UE did not say zero.
        units.min(own).clamp(1, u32::from(u16::MAX)) as u16
    }

    /// Sends a copy of the newest ACK with another number and edge; false where that is impossible.
    pub(super) fn emit(
        &mut self,
        c: &Connection,
        ack: SeqNum,
        edge: SeqNum,
        up: bool,
        out: &mut VecDeque<(Direction, P)>,
    ) -> bool {
        let Some(template) = &self.template else {
            return false;
        };
        let field = Self::field_for(c, ack, edge, up);
        if ack == self.number && field == self.field {
            self.edge = edge;
            // The same ACK twice is a duplicate, the sign of a loss.
            return true;
        }
        let mut packet = template.clone();
        packet.set_tcp_ack(ack);
        packet.set_tcp_window(field);
        (self.number, self.field, self.edge) = (ack, field, edge);
        self.made += 1;
        out.push_back((Direction::Up, packet));
        true
    }

    /// Gives the server all that the UE allows.
    pub(super) fn open(&mut self, c: &Connection, out: &mut VecDeque<(Direction, P)>) {
        if c.stage == Stage::Ready && (self.phase != Phase::Open || self.keeps(c)) {
            self.emit(c, c.a_max, c.ue_edge, false, out);
        }
        self.phase = Phase::Open;
    }
}
