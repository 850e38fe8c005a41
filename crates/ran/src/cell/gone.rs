//! What a base station knows of packets that left a downlink queue for good.
//!
//! A UE has a packet when its last block was decoded; the base station knows it with the HARQ feedback of that block, and
//! of a drop of its own at once. What RLC's receiver gives up by a timer is known then, which is later than HARQ's last NACK.

use slackwater_core::{Bytes, Direction, Instant, PacketView, UeId};
use slackwater_signal::{GoneView, Observer};

use crate::out::CellOut;

/// Packets that are gone, and since when the base station knows it. Empty where nobody observes them.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// HARQ processes of a UE; zero where nobody observes.
    processes: usize,
    /// Packets that a process completed, whose feedback is under way, by UE and process.
    unacked: Vec<Vec<GoneView>>,
    /// What is known and was not shown.
    known: Vec<(Instant, GoneView)>,
}

/// How far the outcome of a call had come.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    delivered: usize,
    dropped: usize,
}

impl Mark {
    pub(super) fn of<P>(out: &CellOut<P>) -> Self {
        Self {
            delivered: out.delivered.len(),
            dropped: out.dropped.len(),
        }
    }
}

impl Gone {
    pub(super) fn new(observed: bool, ues: usize, processes: usize) -> Self {
        if !observed {
            return Self::default();
        }
        Self {
            processes,
            unacked: vec![Vec::new(); ues * processes],
            known: Vec::new(),
        }
    }

    #[inline]
    pub(super) const fn is_observed(&self) -> bool {
        self.processes > 0
    }

    /// What a call put into `out` behind `mark` in the downlink queues of `ue`: drops are known now, and deliveries with the
    /// feedback of `process`, or now where no block brought them.
    #[inline]
    pub(super) fn note<P: PacketView>(
        &mut self,
        now: Instant,
        ue: usize,
        process: Option<u8>,
        mark: Mark,
        out: &CellOut<P>,
    ) {
        if self.is_observed() {
            self.note_all(now, ue, process, mark, out);
        }
    }

    fn note_all<P: PacketView>(
        &mut self,
        now: Instant,
        ue: usize,
        process: Option<u8>,
        mark: Mark,
        out: &CellOut<P>,
    ) {
        let view = |packet: &P, delivered| GoneView {
            ue: UeId(ue as u32),
            flow: packet.flow(),
            bytes: Bytes(u64::from(packet.len())),
            delivered,
        };
        for (_, packet, _) in &out.dropped[mark.dropped..] {
            self.known.push((now, view(packet, false)));
        }
        for delivered in &out.delivered[mark.delivered..] {
            debug_assert_eq!(delivered.dir, Direction::Down);
            let view = view(&delivered.packet, true);
            match process {
                Some(process) => self.at(ue, process).push(view),
                None => self.known.push((now, view)),
            }
        }
    }

    fn at(&mut self, ue: usize, process: u8) -> &mut Vec<GoneView> {
        &mut self.unacked[ue * self.processes + usize::from(process)]
    }

    /// The feedback of `process` arrived.
    #[inline]
    pub(super) fn answered(&mut self, now: Instant, ue: usize, process: u8) {
        if !self.is_observed() {
            return;
        }
        let mut views = core::mem::take(self.at(ue, process));
        self.known.extend(views.drain(..).map(|view| (now, view)));
        *self.at(ue, process) = views;
    }

    /// Something is known and was not shown.
    #[inline]
    pub(super) const fn has_news(&self) -> bool {
        !self.known.is_empty()
    }

    /// Shows what is known.
    #[inline]
    pub(super) fn show(&mut self, observer: &mut (impl Observer + ?Sized)) {
        for (at, view) in self.known.drain(..) {
            observer.on_gone(at, &view);
        }
    }
}
