//! Beside a flow that holds a queue (ours; the paper looks at media alone).
//!
//! A loss-based flow fills the buffer whatever a flow that goes by delay or marks does, and takes what that gives up
//! (RFC 8867, 5.6: "in the worst case" the media falls to its least rate). A queue that stays though the rate was halved is
//! not of our making. Then the flow goes by losses as its rival does, and leaves as Not-ECT: ECT(1) promises an answer to
//! each mark (RFC 9331, 4.3). Flows of our own kind alone drain the queue at a loss, which ends it.

use slackwater_core::{Duration, Instant};

/// Which queues count as held by another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RivalRule {
    /// None: marks alone count.
    Off,
    /// A queue that marks more than half of the packets of each feedback.
    Marked,
    /// Also one that only never drains. It sees BBR, and takes what GCC leaves after a drop of the link for a rival's queue.
    Standing,
    /// As [`RivalRule::Marked`], and a queue that is empty each 10 s for as long as BBR's `PROBE_RTT`.
    Dips,
}

/// A dip of BBR's queue lasts so long at least and at most: `PROBE_RTT` takes 200 ms and a round trip (Linux 6.18,
/// `bbr_probe_rtt_mode_ms`); seen were 190 to 340 ms.
const PROBE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(500));
/// One begins so long after the last one: 10 s (`bbr_min_rtt_win_sec`) and what a dip takes; seen were 10.2 to 10.4 s...
const PERIOD: (Duration, Duration) = (Duration::from_secs(10), Duration::from_millis(10_600));
/// ...and so many periods in a row tell of BBR. By one, two media flows in drop-tail and four users of a cell took each other for it.
const PERIODS: u32 = 2;

/// A queue stands that marks at least this share of the packets...
const MARKED: f64 = 0.5;
/// ...for so long...
const PATIENCE: Duration = Duration::from_secs(2);
/// ...while the rate fell to this share.
const FELL: f64 = 0.5;
/// [`RivalRule::Standing`]: the mean of the marks over so many seconds is at least this share, and no feedback saw less than so
/// many ns of queue. BBR's queue lies inside a ramp of 5 to 20 ms: 41 % of the packets are marked, one feedback all, the next none.
const MEAN: (f64, f64) = (0.5, 0.15);
const EMPTY: f64 = 2e6;
/// ...and a queue has drained when it is short for so long: BBR empties it for 200 ms each 10 s (`PROBE_RTT`).
const DIP: Duration = Duration::from_millis(500);
/// The queue has drained when it is below this part of what it was, and below this many ns.
const DRAINED: (f64, f64) = (0.25, 15e6);
/// After so long the queue is looked at anew.
const LOOK: Duration = Duration::from_secs(60);
/// Where more than this share of the packets is lost (GCC reduces from there on), on average over so many seconds, there is
/// nothing to win: flows that cannot fall any further hold the queue themselves. Marks count again for [`LOOK`] at least.
const LOST: (f64, f64) = (0.1, 2.0);
/// The rate after a loss (RFC 9438, 4.6, as the rival's), at most once in this time and once a round trip.
const BETA: f64 = 0.7;
const BETWEEN: Duration = Duration::from_millis(100);

/// Tells a queue that others hold.
#[derive(Clone, Copy, Debug)]
pub struct Rival {
    rule: RivalRule,
    /// Mean share of marked packets.
    marks: f64,
    /// Since when a queue stands, and the rate then.
    standing: Option<(Instant, f64)>,
    /// Since when the flow goes by losses, and the queue then in ns.
    since: Option<(Instant, f64)>,
    /// Since when the queue is below what counts as drained.
    low: Option<Instant>,
    /// The last reduction.
    cut: Option<Instant>,
    /// Mean share of lost packets.
    loss: f64,
    /// Marks count until then.
    barred: Option<Instant>,
    /// Since when the queue is empty, and when the last dip began.
    empty: Option<Instant>,
    dip: Option<Instant>,
    /// Marks came since then.
    pressed: bool,
    /// Dips in a row that came after their period.
    periods: u32,
    /// The dips told of the rival that is there.
    dipped: bool,
}

/// What a feedback says of the queue.
#[derive(Clone, Copy, Debug)]
pub struct Standing {
    /// Fraction of marked packets, or what stands in for it.
    pub fce: f64,
    /// Share of packets that were lost.
    pub lost: f64,
    /// Queue delay in ns.
    pub queue: f64,
    /// The newest packet's alone, in ns.
    pub newest: f64,
    /// Seconds since the last feedback.
    pub dt: f64,
}

impl Rival {
    /// Nothing seen yet. None where no queue counts as another's.
    pub fn new(rule: RivalRule) -> Option<Self> {
        let rival = Self {
            rule,
            marks: 0.0,
            standing: None,
            since: None,
            low: None,
            cut: None,
            loss: 0.0,
            barred: None,
            empty: None,
            dip: None,
            pressed: false,
            periods: 0,
            dipped: false,
        };
        (rule != RivalRule::Off).then_some(rival)
    }

    /// The queue stands, by the rule.
    fn stands(&self, seen: &Standing) -> bool {
        match self.rule {
            RivalRule::Off => false,
            RivalRule::Marked | RivalRule::Dips => seen.fce >= MARKED,
            RivalRule::Standing => self.marks >= MEAN.1 && seen.queue >= EMPTY,
        }
    }

    /// The queue was empty for as long as in BBR's `PROBE_RTT`, again and again after its period. Any other long dip begins
    /// anew.
    fn dips(&mut self, now: Instant, seen: &Standing) -> bool {
        self.pressed |= seen.fce > 0.0;
        if seen.newest < EMPTY {
            self.empty = Some(self.empty.unwrap_or(now));
            return false;
        }
        let Some(from) = self.empty.take() else {
            return false;
        };
        let long = now.since(from);
        if long < PROBE.0 {
            return false;
        }
        let apart = self.dip.map(|dip| from.since(dip));
        self.dip = (long <= PROBE.1).then_some(from);
        let pressed = core::mem::take(&mut self.pressed);
        let due = apart.is_some_and(|apart| (PERIOD.0..=PERIOD.1).contains(&apart));
        self.periods = if pressed && due && self.dip.is_some() {
            self.periods + 1
        } else {
            0
        };
        self.periods >= PERIODS
    }

    /// The flow goes by losses.
    pub const fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// A feedback, at `rate` of at least `least` bit/s. True where the flow goes by losses.
    pub fn update(&mut self, now: Instant, seen: &Standing, rate: f64, least: f64) -> bool {
        if let Some((since, level)) = self.since {
            self.loss += (seen.lost - self.loss) * (seen.dt / LOST.1).min(1.0);
            let lossy = self.loss > LOST.0;
            let low = if self.dipped {
                seen.newest < EMPTY
            } else {
                seen.queue < DRAINED.1.min(DRAINED.0 * level)
            };
            self.low = low.then(|| self.low.unwrap_or(now));
            let dip = if self.dipped || self.rule == RivalRule::Standing {
                DIP
            } else {
                Duration::ZERO
            };
            let drained = self.low.is_some_and(|from| now.since(from) >= dip);
            if drained || lossy || now.since(since) >= LOOK {
                (self.since, self.low, self.cut, self.loss) = (None, None, None, 0.0);
                (self.empty, self.dip, self.dipped, self.periods) = (None, None, false, 0);
                self.barred = lossy.then(|| now.saturating_add(LOOK));
            }
            return self.is_on();
        }
        self.marks += (seen.fce - self.marks) * (seen.dt / MEAN.0).min(1.0);
        let barred = self.barred.is_some_and(|until| now < until);
        if self.rule == RivalRule::Dips && self.dips(now, seen) && !barred {
            (self.standing, self.dipped) = (None, true);
            self.since = Some((now, seen.queue));
            return true;
        }
        if !self.stands(seen) || barred {
            self.standing = None;
            return false;
        }
        let (from, before) = *self.standing.get_or_insert((now, rate));
        if now.since(from) >= PATIENCE && rate <= (FELL * before).max(least) {
            self.standing = None;
            self.since = Some((now, seen.queue));
        }
        self.is_on()
    }

    /// The rate after a loss at `rate`, where it is time for a reduction.
    pub fn on_loss(&mut self, now: Instant, srtt: Duration, rate: f64) -> Option<f64> {
        let wait = srtt.max(BETWEEN);
        if self.cut.is_some_and(|last| now.since(last) < wait) {
            return None;
        }
        self.cut = Some(now);
        Some(BETA * rate)
    }
}
