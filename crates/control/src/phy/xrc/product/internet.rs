//! The bottleneck beyond the radio: this project's answer to a queue that reports do not show.
//!
//! The paper's sender goes on to the target window and stays there (XRC, section III-B, "steady rate"), which keeps
//! the foreign queue at target window minus bandwidth-delay product, and each loss there lets FAST jump back. Here a
//! verdict is a suspicion first. The window is cut once, and the delay that goes with the cut says whose queue it was:
//!
//! | of the delay that the cut should end | what it was | then |
//! |---|---|---|
//! | three quarters or more went | this flow's own queue | it stays drained: FAST is off, growth is careful |
//! | less | a queue that others fill as well | CUBIC (RFC 9438) among them |
//! | less than a quarter, and no bottleneck was known | a longer path | its delay is the new least |

use slackwater_core::{Duration, Instant};

use super::cubic::Cubic;

/// FAST is off for this long after a confirmed verdict, unless the target is reached before.
const MEMORY: Duration = Duration::from_secs(10);
/// Windows of data from a cut to its judgement: the first holds what was sent before.
const JUDGED: u32 = 2;
/// A queue is this flow's own where this part of the expected delay goes with its cut...
const OWN: f64 = 0.75;
/// ...and none where less than this part does.
const NONE_OF_IT: f64 = 0.25;
/// Losses with an empty radio queue confirm a verdict by themselves after so many, where no window of data in between
/// delivered [`LOSS_SHARE`] of the reported rate.
const STRIKES: u32 = 3;
/// See [`STRIKES`].
pub(super) const LOSS_SHARE: f64 = 0.6;
/// The share of belief in a single rival that is left after a loss among others.
const FADES: f64 = 0.92;
/// A first probe grows the window by at most a quarter per RTT...
const PROBE_FIRST: f64 = 1.0 / 4.0;
/// ...later ones by a sixteenth.
const PROBE_LATER: f64 = 1.0 / 16.0;
/// Among others, a cut to [`PART`] looks whether they are gone, this often...
const LOOK: Duration = Duration::from_secs(10);
/// ...and not within so many RTTs.
const LOOK_RTTS: u64 = 50;
/// See [`LOOK`]: CUBIC's own decrease (RFC 9438, 4.6).
pub(super) const PART: f64 = 0.7;

/// What is known of a bottleneck beyond the radio.
#[derive(Clone, Copy, Debug)]
pub(super) struct Internet {
    /// A confirmed verdict counts until then.
    until: Instant,
    /// Consecutive windows of data with a verdict.
    run: u32,
    /// The cut under way.
    trial: Option<Trial>,
    /// Confirmed verdicts since the target was last reached.
    confirmed: u32,
    /// Growth of the present probe, segments per RTT.
    probe: f64,
    /// Losses that speak for a bottleneck, see [`STRIKES`].
    strikes: u32,
    /// Others share the queue.
    pub(super) rivals: Option<Rivals>,
    /// The rate at which the bottleneck served this flow alone, payload bytes per second; zero where that is not known.
    pub(super) alone: f64,
    /// Verdicts in all.
    pub(super) verdicts: u64,
}

/// A cut, and what it should do to the delay of this flow's own queue.
#[derive(Clone, Copy, Debug)]
struct Trial {
    /// Least delay of the window of data before, s.
    before: f64,
    /// Delay that goes where nobody else fills the queue, s.
    expected: f64,
    /// The congestion window before, segments.
    window: f64,
    /// Windows of data since.
    rounds: u32,
}

/// CUBIC among others.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rivals {
    /// The window's law.
    pub(super) cubic: Cubic,
    /// Slow start goes up to here, segments: what a cut to look around took.
    pub(super) restore: f64,
    /// When to look next whether others are there.
    look: Instant,
    /// A look found this flow alone, by a cut of three tenths: a cut to the delivered window decides.
    doubt: bool,
    /// Consecutive windows of data within the budget.
    calm: u32,
    /// Consecutive windows of data with a queue at the radio.
    radio: u32,
    /// No loss so far.
    intact: bool,
    /// The window that half of the bottleneck fills, segments...
    fair: f64,
    /// ...and how far it is believed: each loss makes more than one rival likelier.
    belief: f64,
}

/// What a cut has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// This flow's own queue.
    Own,
    /// Others fill the queue too.
    Shared,
    /// No queue: the path is longer.
    Longer,
}

/// What a window of data among others leads to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Goes on.
    Stay,
    /// Time to cut the window and look who is there.
    Look,
    /// The queue is gone, or it is the radio's.
    Leave,
}

impl Internet {
    pub(super) const NONE: Self = Self {
        until: Instant::ZERO,
        run: 0,
        trial: None,
        confirmed: 0,
        probe: 1.0,
        strikes: 0,
        rivals: None,
        alone: 0.0,
        verdicts: 0,
    };

    /// A verdict was confirmed in the last 10 s, or others are there.
    #[inline]
    pub(super) fn is_remembered(&self, now: Instant) -> bool {
        now < self.until || self.rivals.is_some()
    }

    /// A cut is under way.
    pub(super) const fn is_cut(&self) -> bool {
        self.trial.is_some()
    }

    /// The queue is elsewhere, or gone.
    pub(super) fn forget(&mut self) {
        *self = Self {
            verdicts: self.verdicts,
            ..Self::NONE
        };
    }

    /// The run of verdicts ended.
    pub(super) fn calm(&mut self) {
        self.run = 0;
    }

    /// One more window of data with a verdict, which delivered `share` of the reported rate: true where it is more than
    /// jitter, by that or by a second window.
    pub(super) fn verdict(&mut self, share: f64) -> bool {
        self.verdicts += 1;
        self.run += 1;
        self.run > 1 || share < LOSS_SHARE
    }

    /// Consecutive verdicts up to now.
    pub(super) const fn run(&self) -> u32 {
        self.run
    }

    /// A cut from `window` segments begins; the least delay was `before`, and `expected` of it should go, both seconds.
    pub(super) fn cut(&mut self, before: f64, expected: f64, window: f64) {
        self.trial = Some(Trial {
            before,
            expected,
            window,
            rounds: 0,
        });
    }

    /// A window of data ended with the least delay `least`, s: what the cut under way has shown, and the window before it.
    pub(super) fn judge(&mut self, now: Instant, least: f64) -> Option<(Found, f64)> {
        let trial = self.trial.as_mut()?;
        trial.rounds += 1;
        if trial.rounds < JUDGED {
            return None;
        }
        let Trial {
            before,
            expected,
            window,
            ..
        } = self.trial.take()?;
        let gone = (before - least) / expected;
        let found = if gone >= OWN {
            Found::Own
        } else if gone < NONE_OF_IT && !self.is_remembered(now) {
            Found::Longer
        } else {
            Found::Shared
        };
        Some((found, window))
    }

    /// The bottleneck is there, and this flow alone fills it.
    pub(super) fn confirm(&mut self, now: Instant) {
        self.until = now.saturating_add(MEMORY);
        self.confirmed += 1;
        self.probe = 1.0;
        self.strikes = 0;
        self.rivals = None;
    }

    /// Others fill the queue as well; the window was `window` segments.
    pub(super) fn join(&mut self, now: Instant, window: f64) {
        self.confirm(now);
        self.trial = None;
        let mut cubic = Cubic::default();
        cubic.lost(window);
        self.rivals = Some(Rivals {
            cubic,
            restore: window * PART,
            look: now.saturating_add(LOOK),
            doubt: false,
            calm: 0,
            radio: 0,
            intact: true,
            fair: 0.0,
            belief: 1.0,
        });
    }

    /// A cut to look around found others, or is to be followed by a deeper one (`doubt`): back to `window` segments.
    pub(super) fn looked(&mut self, now: Instant, srtt: Duration, window: f64, doubt: bool) {
        if let Some(r) = &mut self.rivals {
            r.restore = window;
            r.doubt = doubt;
            let wait = LOOK.max(Duration::from_nanos(
                srtt.as_nanos().saturating_mul(LOOK_RTTS),
            ));
            r.look = now.saturating_add(if doubt { Duration::ZERO } else { wait });
            r.cubic.pause();
        }
    }

    /// The delay of the queue makes half of what the bottleneck served to this flow alone `fair` segments. Until the first
    /// loss among others the window follows that: they came, and what they took was not lost to them by a loss.
    pub(super) fn follow(&mut self, fair: f64) {
        if let Some(r) = &mut self.rivals {
            r.fair = fair;
            if r.intact {
                r.restore = r.restore.max(fair);
            }
        }
    }

    /// True where the next look is the deeper one.
    pub(super) fn doubts(&self) -> bool {
        self.rivals.is_some_and(|r| r.doubt)
    }

    /// A window of data among others. `short`: the delay is within the budget; `radio`: the radio's queue is not;
    /// `rounds`: windows of data in a row that count.
    pub(super) fn among(&mut self, now: Instant, short: bool, radio: bool, rounds: u32) -> Among {
        self.until = now.saturating_add(MEMORY);
        let Some(r) = &mut self.rivals else {
            return Among::Leave;
        };
        r.calm = if short { r.calm + 1 } else { 0 };
        r.radio = if radio { r.radio + 1 } else { 0 };
        if r.calm > rounds || r.radio > 1 {
            Among::Leave
        } else if now >= r.look {
            Among::Look
        } else {
            Among::Stay
        }
    }

    /// A window of data delivered `share` of the reported rate.
    pub(super) fn delivered(&mut self, share: f64) {
        if share >= LOSS_SHARE {
            self.strikes = 0;
        }
    }

    /// A loss outside the unfairness mode from a window of `cwnd` segments. `quiet`: no report of the window of data showed
    /// a queue above the budget; `share`: delivered over reported rate. `probation`: a longer path was found just now, in
    /// which a queue cannot overflow. True where it was none.
    pub(super) fn loss(
        &mut self,
        now: Instant,
        cwnd: f64,
        quiet: bool,
        share: f64,
        probation: bool,
    ) -> bool {
        self.run = 0;
        self.probe = 1.0;
        let speaks = quiet && share < LOSS_SHARE;
        if let Some(r) = &mut self.rivals {
            self.trial = None;
            r.restore = 0.0;
            r.doubt = false;
            r.intact = false;
            r.cubic.lost(cwnd.max(r.fair * r.belief));
            r.belief *= FADES;
            return false;
        }
        if !speaks {
            return false;
        }
        if probation {
            self.join(now, cwnd);
            return true;
        }
        self.strikes += 1;
        if self.strikes >= STRIKES {
            self.confirm(now);
        } else if self.is_remembered(now) {
            self.until = now.saturating_add(MEMORY);
        }
        false
    }

    /// Growth while a verdict is remembered and the queue is within the budget: it doubles each round while the queue
    /// is within half of it.
    pub(super) fn probe(&mut self, cwnd: f64, calm: bool) -> f64 {
        let alpha = if calm { self.probe } else { 1.0 };
        let most = if self.confirmed > 1 {
            PROBE_LATER
        } else {
            PROBE_FIRST
        };
        let bound = (cwnd * most).max(1.0);
        self.probe = (alpha * 2.0).min(bound * 2.0);
        alpha.min(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SRTT: Duration = Duration::from_millis(40);

    fn at(ms: u64) -> Instant {
        Instant::from_millis(ms)
    }

    /// What a cut from 90 segments shows that should end 40 ms of 40, where `left` ms are left of them.
    fn shown(i: &mut Internet, ms: u64, left: f64) -> Option<Found> {
        i.cut(0.040, 0.040, 90.0);
        assert_eq!(i.judge(at(ms), 0.040), None);
        let (found, window) = i.judge(at(ms), left * 1e-3)?;
        assert_eq!(window, 90.0);
        Some(found)
    }

    #[test]
    fn what_goes_with_a_cut_says_whose_queue_it_was() {
        let mut i = Internet::NONE;
        assert_eq!(shown(&mut i, 1, 3.0), Some(Found::Own));
        assert_eq!(shown(&mut i, 1, 10.0), Some(Found::Own));
        assert_eq!(shown(&mut i, 1, 20.0), Some(Found::Shared));
        assert_eq!(shown(&mut i, 1, 39.0), Some(Found::Longer));
        // Delay that rises after the cut: others took the room.
        i.confirm(at(1));
        assert_eq!(shown(&mut i, 2, 39.0), Some(Found::Shared));
        assert_eq!(shown(&mut i, 2, 70.0), Some(Found::Shared));
        assert_eq!(i.judge(at(3), 0.0), None);
    }

    #[test]
    fn one_window_may_be_jitter_where_the_reported_rate_arrives() {
        let mut i = Internet::NONE;
        assert!(!i.verdict(0.9) && i.verdict(0.9));
        i.calm();
        assert!(!i.verdict(0.6));
        i.calm();
        assert!(i.verdict(0.59));
        assert_eq!(i.verdicts, 4);
    }

    #[test]
    fn a_confirmed_verdict_is_remembered_for_ten_seconds() {
        let mut i = Internet::NONE;
        assert!(!i.is_remembered(at(0)));
        i.confirm(at(1));
        assert!(i.is_remembered(at(10_000)) && !i.is_remembered(at(10_001)));
        // A loss with an empty radio queue renews it, where little arrives.
        i.loss(at(9_000), 80.0, true, 0.5, false);
        assert!(i.is_remembered(at(18_999)) && !i.is_remembered(at(19_000)));
        i.forget();
        assert!(!i.is_remembered(at(9_000)));
    }

    #[test]
    fn losses_alone_confirm_a_bottleneck_after_three_without_a_window_that_brought_the_rate() {
        let lose = |i: &mut Internet, share| i.loss(at(5), 80.0, true, share, false);
        let mut i = Internet::NONE;
        for share in [0.3, 0.3] {
            lose(&mut i, share);
            assert!(!i.is_remembered(at(6)));
        }
        lose(&mut i, 0.3);
        assert!(i.is_remembered(at(6)));

        // Fading: the rate comes between two losses.
        let mut i = Internet::NONE;
        for _ in 0..10 {
            lose(&mut i, 0.3);
            lose(&mut i, 0.3);
            i.delivered(0.7);
        }
        // A queue at the radio, or the rate: no losses beyond it.
        for _ in 0..5 {
            lose(&mut i, 0.9);
            i.loss(at(5), 80.0, false, 0.3, false);
        }
        assert!(!i.is_remembered(at(6)));
    }

    #[test]
    fn a_loss_right_after_a_longer_path_was_found_means_others() {
        let mut i = Internet::NONE;
        assert!(i.loss(at(5), 80.0, true, 0.3, true));
        assert!(i.rivals.is_some_and(|r| r.restore == 56.0));
    }

    #[test]
    fn among_others_until_the_queue_is_gone_or_the_radios() {
        let mut i = Internet::NONE;
        i.join(at(0), 100.0);
        for _ in 0..10 {
            assert_eq!(i.among(at(10), true, false, 10), Among::Stay);
        }
        assert_eq!(i.among(at(10), false, false, 10), Among::Stay);
        for _ in 0..10 {
            i.among(at(10), true, false, 10);
        }
        assert_eq!(i.among(at(10), true, false, 10), Among::Leave);

        i.join(at(0), 100.0);
        assert_eq!(i.among(at(10), false, true, 10), Among::Stay);
        assert_eq!(i.among(at(10), false, true, 10), Among::Leave);

        // Ten seconds later a look around, and fifty RTTs after it at least.
        i.join(at(0), 100.0);
        assert_eq!(i.among(at(9_999), false, false, 10), Among::Stay);
        assert_eq!(i.among(at(10_000), false, false, 10), Among::Look);
        i.looked(at(10_000), SRTT * 10, 100.0, false);
        assert_eq!(i.among(at(29_999), false, false, 10), Among::Stay);
        // Alone as it seems: a deeper look at once.
        i.looked(at(30_000), SRTT, 70.0, true);
        assert!(i.doubts());
        assert_eq!(i.among(at(30_000), false, false, 10), Among::Look);
    }

    #[test]
    fn half_of_the_known_bottleneck_is_followed_to_the_first_loss_and_believed_less_with_each() {
        let mut i = Internet::NONE;
        i.join(at(0), 40.0);
        i.follow(200.0);
        let restore = |i: &Internet| i.rivals.map(|r| r.restore);
        assert_eq!(restore(&i), Some(200.0));
        i.loss(at(1), 180.0, true, 0.3, false);
        i.follow(220.0);
        assert_eq!(restore(&i), Some(0.0));
        assert!(i.rivals.is_some_and(|r| r.belief == FADES));
    }

    #[test]
    fn a_probe_doubles_while_the_queue_is_short_up_to_a_part_of_the_window() {
        let mut i = Internet::NONE;
        i.confirm(at(0));
        let grown: Vec<f64> = (0..7).map(|_| i.probe(80.0, true)).collect();
        assert_eq!(grown, [1.0, 2.0, 4.0, 8.0, 16.0, 20.0, 20.0]);
        assert_eq!(i.probe(80.0, false), 1.0);
        assert_eq!(i.probe(80.0, true), 2.0);
        i.confirm(at(0));
        let grown: Vec<f64> = (0..5).map(|_| i.probe(80.0, true)).collect();
        assert_eq!(grown, [1.0, 2.0, 4.0, 5.0, 5.0]);
        assert_eq!(i.probe(3.0, true), 1.0);
    }
}
