//! Frames that began together: no order of them is better than what the cell does by itself.
//!
//! Earliest frame first gains what deadlines differ by, and costs a padded transport block for each frame that ends within a slot, since
//! the next frame's bytes share that slot. Where deadlines are the same it only costs: a round of frames in step ends later than without it
//! (docs/design/0053). Such frames go together, and the scheduler of the cell shares its slots among them.

use slackwater_core::{Duration, Instant, PacketView};

use super::Cecc;

/// Frames that began within this time of one another have one deadline. The padding costs a round of five frames 0.2 ms, in an FDD cell of
/// 30 kHz (docs/design/0048): an order that gains less is none.
const TIE: Duration = Duration::from_micros(200);

/// Frames that go together.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tie {
    /// When the first of them began.
    first: Instant,
    /// When the last of them began, so far.
    last: Instant,
}

impl Tie {
    const fn of(began: Instant) -> Self {
        Self {
            first: began,
            last: began,
        }
    }

    /// True where a frame that began at `began` is one of them.
    fn takes(&self, began: Instant) -> bool {
        (self.first..=self.last + TIE).contains(&began)
    }
}

impl<P: PacketView + Clone> Cecc<P> {
    /// Lets the first of the frames go that wait, and those that began together with it; false where it is alone.
    pub(super) fn release_tie(&mut self, now: Instant) -> bool {
        let mut waiting = self.waiting.range(..(1, Instant::ZERO, 0));
        let Some(&(_, first, _)) = waiting.next() else {
            return false;
        };
        let mut tie = Tie::of(first);
        let mut alone = !self.tie.is_some_and(|t| t.takes(first));
        for &(_, began, _) in waiting {
            if !tie.takes(began) {
                break;
            }
            tie.last = began;
            alone = false;
        }
        if alone {
            return false;
        }
        self.join(first);
        self.join(tie.last);
        while let Some(&(0, began, k)) = self.waiting.first()
            && began <= tie.last
            && self.flows[k].fifo.head().is_some()
        {
            self.release_one(now, k);
        }
        true
    }

    /// A frame that began at `began` goes: those that began together with it may go too.
    pub(super) fn join(&mut self, began: Instant) {
        match &mut self.tie {
            Some(tie) if tie.takes(began) => tie.last = tie.last.max(began),
            tie => *tie = Some(Tie::of(began)),
        }
    }

    /// True where all of `waiting`, in order of their starts, go together.
    pub(super) fn go_together(waiting: &[(Instant, u32)]) -> bool {
        waiting.windows(2).all(|w| w[1].0 <= w[0].0 + TIE)
    }

    /// True where the present frame of `k` began with others that were let go together.
    pub(super) fn goes_with_a_tie(&self, k: u32) -> bool {
        let began = self.flows[k].frames.started();
        self.tie.is_some_and(|tie| tie.takes(began))
    }
}
