//! `edf` where not every frame can be in time: whose frame is put back, in turn.
//!
//! Earliest frame first is in time wherever any order is. Where none is, it makes the last flow of a round late, and flows
//! whose frames come in step keep their order for ever: without this module four of five would be in time and the fifth
//! never. Whose frame is late rotates here, so that no flow is late more often than where all share the slots.

use slackwater_core::{Duration, Instant, PacketView};

use super::Cecc;
use super::config::Mode;

/// Waiting frames that are looked at: those behind them wait for longer than the standard.
const LOOKED_AT: usize = 64;

/// A waiting frame, as far as it is planned.
#[derive(Clone, Copy, Debug)]
struct Planned {
    /// Its flow.
    flow: u32,
    /// What is left of it, as air time in nanoseconds of full slots.
    air: u64,
    /// Nothing of it was let go.
    whole: bool,
}

impl<P: PacketView + Clone> Cecc<P> {
    /// Puts frames back until at least half of each one before them is predicted to be in time, where the same flow would be late
    /// again and again. Of frames of about one size
    /// the one is whose flow had least of its bytes late; a clearly larger frame before a smaller one, which saves more than it
    /// costs (Moore, "An n Job, One Machine Sequencing Algorithm for Minimizing the Number of Late Jobs", 1968).
    pub(super) fn put_back(&mut self, now: Instant) {
        if self.waiting.range(..(1, Instant::ZERO, 0)).count() < 2 {
            return;
        }
        let arrive = now + self.radio.wired();
        let mut before = self.radio.backlog(now, arrive);
        let mut planned: Vec<Planned> = Vec::new();
        let waiting: Vec<(Instant, u32)> = self
            .waiting
            .range(..(1, Instant::ZERO, 0))
            .take(LOOKED_AT)
            .map(|w| (w.1, w.2))
            .collect();
        // Those that go together share the slots: none of them is before another.
        if Self::go_together(&waiting) {
            return;
        }
        for (start, k) in waiting {
            let air = self.left_of(k, start);
            planned.push(Planned {
                flow: k,
                air,
                whole: self.flows[k].began < start,
            });
            let half = self.radio.served(arrive, before + air / 2);
            before += air;
            if half <= start + self.config.standard {
                continue;
            }
            if !self.in_turns(now) && self.flows[k].judged < start {
                self.flows[k].judged = start;
                self.flows[k].late += air / 2;
            }
            let Some(n) = self.victim(&planned) else {
                continue;
            };
            // Now and then each flow's frame is the last one. It is this flow's too often where that cost it a frame more.
            if self.flows[k].late < self.flows[planned[n].flow].late + air {
                continue;
            }
            let victim = planned.remove(n);
            before -= victim.air;
            self.move_back(victim.flow);
        }
    }

    /// True where frames were put back within two beats. Then the first frame of a round waits for the next tick as well:
    /// no slot is lost by that, and the flow whose frames come first in each round takes its turn at being late too.
    pub(super) fn in_turns(&self, now: Instant) -> bool {
        now < self.turns_until
    }

    /// In turns the first frame of a round waits for a tick. Where that of the next decision has passed, and what leaves now would still
    /// be in time for it, half of what is left is waited: a round that loses a slot at its start ends a slot later.
    pub(super) fn hasten(&mut self, now: Instant) {
        let wired = self.radio.wired();
        let grid = &self.radio.grid;
        if self.config.mode != Mode::Hold || !grid.known() || !self.in_turns(now) {
            return;
        }
        let last = grid.next_decision(now + wired).saturating_sub(wired);
        if self.tick.is_some_and(|tick| last < tick) && self.fits(now, Duration::ZERO) {
            let soon = now + (last - now) / 2;
            self.tick = Some(soon.max(now + Duration::from_nanos(1)));
        }
    }

    /// Air time of what is left of the frame of `k` that began at `start`.
    fn left_of(&mut self, k: u32, start: Instant) -> u64 {
        let size = self.frame_size(k);
        let flow = &self.flows[k];
        let comes = if flow.frames.started() == start {
            size.saturating_sub(u64::from(flow.frames.bytes()))
        } else {
            0
        };
        self.radio.air(flow.ue, flow.fifo.bytes() + comes)
    }

    /// Which of `planned` is put back.
    fn victim(&self, planned: &[Planned]) -> Option<usize> {
        let whole = planned.iter().enumerate().filter(|p| p.1.whole);
        let most = whole.clone().map(|p| p.1.air).max()?;
        whole
            .filter(|p| p.1.air * 4 >= most * 3)
            .min_by_key(|p| (self.flows[p.1.flow].late, p.1.flow))
            .map(|p| p.0)
    }

    /// Lets the frame of `k` wait behind all that can be in time; of those put back, whoever had most late goes first.
    fn move_back(&mut self, k: u32) {
        let Some((_, start)) = self.flows[k].place else {
            return;
        };
        self.stats.put_back += 1;
        self.turns_until = self.now + self.flows[k].beat() * 2;
        self.leave(k);
        let place = (u64::MAX - self.flows[k].late, start);
        self.flows[k].place = Some(place);
        self.waiting.insert((place.0, place.1, k));
    }

    /// Counts `len` bytes of the frame of `k` that began at `start` and go now, where they will be late.
    pub(super) fn count_late(&mut self, now: Instant, k: u32, start: Instant, len: u64) {
        if !self.in_turns(now) {
            return;
        }
        let arrive = now + self.radio.wired();
        let air = self.radio.air(self.flows[k].ue, len);
        let before = self.radio.backlog(now, arrive);
        if self.radio.served(arrive, before + air) > start + self.config.standard {
            self.flows[k].late += air;
        }
    }
}
