//! What is known of packets that left a radio queue for good.
//!
//! A UE has a packet when its last block was decoded; the base station knows it with the HARQ feedback of that block, and
//! of a drop of its own at once. What RLC's receiver gives up by a timer is known then, which is later than HARQ's last NACK.
//! An uplink packet is known to be gone when the base station has it, since that is where it is counted. The UE's own drops are
//! known at the UE, at once.

use slackwater_core::{Bytes, Direction, Instant, PacketView, UeId};
use slackwater_signal::{GoneView, Observer};

use crate::out::CellOut;

/// Packets that are gone, and since when the base station knows it. Empty where nobody observes them.
#[derive(Debug, Default)]
pub(super) struct Gone {
    /// Whether somebody observes, by direction.
    observed: [bool; 2],
    /// HARQ processes of a UE.
    processes: usize,
    /// Packets that a process completed, whose feedback is under way, by UE and process.
    unacked: Vec<Vec<GoneView>>,
    /// What is known and was not shown.
    known: Vec<(Instant, News)>,
}

/// What the base station learns at some time.
#[derive(Clone, Copy, Debug)]
enum News {
    /// A packet is gone.
    Packet(GoneView),
    /// All packets of this process are. They stay where they are until they are shown: the process carries nothing new before.
    Process(usize),
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
    /// `observed` says of each direction whether somebody observes it.
    pub(super) fn new(observed: [bool; 2], ues: usize, processes: usize) -> Self {
        let down = observed[Direction::Down as usize];
        Self {
            observed,
            processes,
            unacked: vec![Vec::new(); if down { ues * processes } else { 0 }],
            known: Vec::new(),
        }
    }

    #[inline]
    pub(super) const fn is_observed(&self, dir: Direction) -> bool {
        self.observed[dir as usize]
    }

    /// What a call put into `out` behind `mark` in the queues of `ue`: drops are known now. Deliveries downlink are known with the
    /// feedback of `process`, and now where no block brought them, or uplink.
    #[inline]
    pub(super) fn note<P: PacketView>(
        &mut self,
        now: Instant,
        dir: Direction,
        ue: usize,
        process: Option<u8>,
        mark: Mark,
        out: &CellOut<P>,
    ) {
        if self.is_observed(dir) {
            let process = process.filter(|_| dir == Direction::Down);
            self.note_all(now, dir, ue, process, mark, out);
        }
    }

    fn note_all<P: PacketView>(
        &mut self,
        now: Instant,
        dir: Direction,
        ue: usize,
        process: Option<u8>,
        mark: Mark,
        out: &CellOut<P>,
    ) {
        let view = |packet: &P, delivered| GoneView {
            ue: UeId(ue as u32),
            flow: packet.flow(),
            direction: dir,
            bytes: Bytes(u64::from(packet.len())),
            delivered,
        };
        for (_, packet, _) in &out.dropped[mark.dropped..] {
            let view = view(packet, false);
            self.known.push((now, News::Packet(view)));
        }
        let delivered = &out.delivered[mark.delivered..];
        debug_assert!(delivered.iter().all(|d| d.dir == dir));
        let views = delivered.iter().map(|d| view(&d.packet, true));
        match process {
            Some(process) => {
                let process = self.place(ue, process);
                self.unacked[process].extend(views);
            }
            None => self
                .known
                .extend(views.map(|view| (now, News::Packet(view)))),
        }
    }

    fn place(&self, ue: usize, process: u8) -> usize {
        ue * self.processes + usize::from(process)
    }

    /// The feedback of `process` arrived.
    #[inline]
    pub(super) fn answered(&mut self, now: Instant, ue: usize, process: u8) {
        if !self.is_observed(Direction::Down) {
            return;
        }
        let process = self.place(ue, process);
        if !self.unacked[process].is_empty() {
            self.known.push((now, News::Process(process)));
        }
    }

    /// Something is known and was not shown.
    #[inline]
    pub(super) const fn has_news(&self) -> bool {
        !self.known.is_empty()
    }

    /// Shows what is known.
    #[inline]
    pub(super) fn show(&mut self, observer: &mut (impl Observer + ?Sized)) {
        if self.known.is_empty() {
            return;
        }
        for (at, news) in &self.known {
            match news {
                News::Packet(view) => observer.on_gone(*at, view),
                News::Process(process) => {
                    let views = &mut self.unacked[*process];
                    for view in &*views {
                        observer.on_gone(*at, view);
                    }
                    views.clear();
                }
            }
        }
        self.known.clear();
    }
}
