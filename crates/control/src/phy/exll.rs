//! `ExLL`: FAST's window law about a bandwidth and a least RTT that the phone infers from the radio (Park, Lee, Kim, Lee, Ha,
//! Lee: "`ExLL`: An Extremely Low-latency Congestion Control for Mobile Cellular Networks", `CoNEXT` 2018).
//!
//! No code was published (a kernel image for one phone was), and no text of the paper beyond its abstract could be had
//! here: this follows the abstract and what is known of the equations, and there is no reference to hold it against.
//!
//! | `ExLL` | here |
//! |---|---|
//! | bandwidth of the cell, inferred from the pattern of downlink packets | the feed of transport blocks (`allocated+idle`), mean of 100 ms; `exll:blocks=0`: the delivery rate of a busy link; without a feed FAST with four packets |
//! | least RTT, corrected by the interval of uplink grants | the least RTT and the least wait of ten seconds, a round's mean RTT above its least: [`Exll::floor`] |
//! | `w = (1 - g) w + g (mRE / RTT w + alpha (1 - f))` each RTT, `f` = throughput over bandwidth | [`Steer::window`]; `g` = 1/2 as FAST |
//! | `alpha` | bandwidth times least RTT, our choice: the way to the product is halved each RTT |
//! | start: to bandwidth times least RTT at once | the first window |
//!
//! At the fixed point `f` is one and the RTT is the least: the link is full and no queue stands.

use slackwater_core::{Duration, Instant};

use super::observe::Signals;
use super::steered::MODES;
use super::steered::Steer;
use super::steered::steered;
use super::track::Source;
use crate::estimate::windowed_min::WindowedMin;
use crate::registry::{AnyController, Entry, Parameter, Reports};
use crate::{Ack, PathView};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "exll",
    title: "ExLL",
    about: "ExLL (CoNEXT 2018): FAST's law about the cell's bandwidth and least RTT; exll:g=0.5,blocks=1,guards=0",
    reports: Reports::Blocks,
    modes: Some(MODES),
    parameters: &PARAMETERS,
    make: |cfg, p| {
        let [step, blocks, guards] = p.numbers(&PARAMETERS)?;
        let source = if blocks > 0.0 {
            Source::Phy
        } else {
            Source::Acks
        };
        let exll = Exll {
            guards: guards > 0.0,
            ..Exll::new(step, source)
        };
        Ok(AnyController::Exll(steered(exll, cfg)))
    },
    ..Entry::TRANSPORT
}];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 3] = [
    Parameter::number(
        "g",
        STEP,
        (0.01, 1.0),
        "",
        "step of the window law (FAST, Wei et al. 2006, equation 6)",
    ),
    Parameter::number(
        "blocks",
        1.0,
        (0.0, 1.0),
        "",
        "1: the bandwidth comes from transport blocks; 0: from ACKs",
    ),
    Parameter::number(
        "guards",
        0.0,
        (0.0, 1.0),
        "",
        "1: a bandwidth that what arrives contradicts is not obeyed (ours)",
    ),
];

/// Step of the window law (FAST, Wei et al. 2006, equation 6).
pub const STEP: f64 = 0.5;
/// The least RTT and the least wait are those of this time: our choice, as Copa's and BBR's.
const KEEP: Duration = Duration::from_secs(10);

/// Without a report for this long, seconds, nothing is known of the bandwidth.
const SILENT: f64 = 1.0;
/// FAST's packets in the queue then (Vegas' beta).
const KEPT: f64 = 4.0;
/// The start doubles the window while the least RTT over the RTT is above this (`HyStart`'s eighth).
const START: f64 = 8.0 / 9.0;

/// `ExLL`'s window.
#[derive(Clone, Debug)]
pub struct Exll {
    /// Part of the way that the window takes each RTT.
    step: f64,
    /// Where the bandwidth comes from.
    source: Source,
    /// Under the guard rails of the other senders by transport blocks, which find out reports that lie.
    guards: bool,
    /// Least RTTs of rounds.
    least: WindowedMin,
    /// Waits for grants: means of rounds' RTTs above their least.
    wait: WindowedMin,
    /// RTTs of this round: their sum, number and least.
    round: (Duration, u32, Duration),
    /// Mean RTT of the last round, seconds; `None` before the first.
    rtt: Option<f64>,
    /// A round ends when this position is acknowledged.
    end: u64,
    /// The window limits the sender.
    limited: bool,
    /// A round ended since the window was last set.
    due: bool,
    /// The window has been set once.
    begun: bool,
    /// Throughput over bandwidth at the last step.
    share: f64,
}

impl Default for Exll {
    fn default() -> Self {
        Self::new(STEP, Source::Phy)
    }
}

impl Exll {
    /// `ExLL` with a step of `step` and the bandwidth of `source`.
    pub fn new(step: f64, source: Source) -> Self {
        Self {
            step,
            source,
            guards: false,
            least: WindowedMin::default(),
            wait: WindowedMin::default(),
            limited: false,
            round: (Duration::ZERO, 0, Duration::ZERO),
            rtt: None,
            end: 0,
            due: false,
            begun: false,
            share: 0.0,
        }
    }

    /// The calibrated least RTT (`mRE`), seconds. An ACK waits for an uplink grant, so the least of all samples is one that
    /// was lucky; what the mean of a round has above the round's least is that wait, and the queue's changes, of which the
    /// least is taken.
    pub fn floor(&self) -> Option<f64> {
        let wait = self.wait.get()?;
        Some((self.least.get()? + wait).as_secs_f64())
    }
}

impl Exll {
    /// The next window where nothing is known of the bandwidth: FAST's own law.
    fn without(&mut self, window: f64, ratio: f64) -> f64 {
        if !self.limited {
            return window;
        }
        if !self.begun && ratio > START {
            return 2.0 * window;
        }
        self.begun = true;
        (1.0 - self.step) * window + self.step * (ratio * window + KEPT)
    }
}

impl Steer for Exll {
    fn name(&self) -> &'static str {
        "exll"
    }

    fn source(&self) -> Source {
        self.source
    }

    /// The guard rails are this project's, not the paper's: their probes would be queues of `ExLL`'s.
    fn guarded(&self) -> bool {
        self.guards
    }

    #[inline]
    fn on_ack(&mut self, now: Instant, _path: &PathView, ack: &Ack) {
        self.limited = ack.cwnd_limited;
        if let Some(rtt) = ack.rtt.filter(|rtt| !rtt.is_zero()) {
            let (sum, n, least) = self.round;
            let least = if n == 0 { rtt } else { least.min(rtt) };
            self.round = (sum + rtt, n + 1, least);
        }
        if self.end == 0 {
            // The first round begins.
            self.end = ack.next;
            self.round = Default::default();
        } else if ack.una >= self.end {
            self.end = ack.next;
            let (sum, n, least) = core::mem::take(&mut self.round);
            if n > 0 {
                let mean = sum / u64::from(n);
                self.least.update(now, least, KEEP);
                self.wait.update(now, mean.saturating_sub(least), KEEP);
                self.rtt = Some(mean.as_secs_f64());
                self.due = true;
            }
        }
    }

    #[inline]
    fn window(&mut self, _now: Instant, s: &Signals, window: f64) -> f64 {
        let (Some(rtt), Some(floor), true) = (self.rtt, self.floor(), self.due) else {
            return window;
        };
        self.due = false;
        let product = s.segments(s.mean100(), floor);
        if product <= 0.0 || s.silent > SILENT {
            return self.without(window, floor / rtt);
        }
        if !self.begun {
            self.begun = true;
            return product;
        }
        // What the window brings is one window per RTT.
        self.share = (window / rtt / (product / floor)).min(1.0);
        let aim = floor / rtt * window + product * (1.0 - self.share);
        (1.0 - self.step) * window + self.step * aim.min(2.0 * window)
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("rtt_floor", self.floor().unwrap_or(0.0)));
        out.push(("share", self.share));
    }
}

#[cfg(test)]
mod tests {
    use super::super::steered::{Mode, Steered};
    use super::super::testing::{Link, steady, varying};
    use super::*;

    fn exll() -> Steered<Exll> {
        Steered::new(Exll::default(), 1448, 10)
    }

    #[test]
    fn the_law_halves_the_way_to_the_product() {
        let mut e = Exll::default();
        let at = Instant::from_millis;
        let path = PathView::default();
        let signals = Signals {
            bank: [12.0; 6],
            packet: 1500.0,
            ..Signals::default()
        };
        let round = |e: &mut Exll, ms, rtt| {
            let ack = Ack {
                rtt: Some(Duration::from_millis(rtt)),
                una: e.end,
                next: e.end + 1,
                ..Ack::default()
            };
            e.on_ack(at(ms), &path, &ack);
        };
        assert_eq!(
            e.window(at(0), &signals, 10.0),
            10.0,
            "nothing is known yet"
        );
        round(&mut e, 0, 40);
        round(&mut e, 40, 40);
        // 12 Mbit/s for 40 ms are 40 packets: the start goes there at once.
        assert!((e.window(at(40), &signals, 10.0) - 40.0).abs() < 1e-9);
        assert_eq!(e.window(at(41), &signals, 10.0), 10.0, "once a round");
        // Half of the product without a queue: a quarter of it is added.
        round(&mut e, 80, 40);
        assert!((e.window(at(80), &signals, 20.0) - 30.0).abs() < 1e-9);
        // Twice the product, RTT twice the least: the throughput is the bandwidth, and half of the queue goes.
        round(&mut e, 120, 80);
        assert!((e.window(at(120), &signals, 80.0) - 60.0).abs() < 1e-9);
        assert!((e.share - 1.0).abs() < 1e-12);
        // The fixed point.
        round(&mut e, 160, 40);
        assert!((e.window(at(160), &signals, 40.0) - 40.0).abs() < 1e-9);
    }

    #[test]
    fn the_floor_holds_the_mean_wait_for_grants_and_forgets_after_ten_seconds() {
        let mut e = Exll::default();
        let mut una = 0;
        let mut feed = |e: &mut Exll, ms: u64, rtts: [u64; 2]| {
            for (i, rtt) in rtts.into_iter().enumerate() {
                let ack = Ack {
                    rtt: Some(Duration::from_millis(rtt)),
                    una,
                    next: una + 2,
                    ..Ack::default()
                };
                una += 1;
                e.on_ack(
                    Instant::from_millis(ms + i as u64),
                    &PathView::default(),
                    &ack,
                );
            }
        };
        for i in 0..20 {
            feed(&mut e, i * 50, [40, 50]);
        }
        assert!((e.floor().expect("rounds") - 0.045).abs() < 1e-9);
        // A standing queue is no wait; longer waits count after ten seconds.
        for i in 0..20 {
            feed(&mut e, 1000 + i * 50, [140, 150]);
        }
        assert!((e.floor().expect("rounds") - 0.045).abs() < 1e-9);
        for i in 0..300 {
            feed(&mut e, 2000 + i * 50, [45, 65]);
        }
        assert!((e.floor().expect("rounds") - 0.055).abs() < 1e-9);
    }

    #[test]
    fn it_fills_a_steady_link_without_a_queue() {
        let mut link = Link::new(exll(), 20, steady);
        link.run(3000);
        assert_eq!(link.c.mode(), Mode::Radio);
        link.forget();
        link.run(10_000);
        assert!(link.utilisation() > 0.95, "{}", link.utilisation());
        let (p50, p95) = (link.delay(0.5), link.delay(0.95));
        assert!(
            p95 <= 5,
            "{p50} {p95} {} {:?}",
            link.window(),
            link.c.steer()
        );
    }

    #[test]
    fn without_a_feed_it_is_fast_with_four_packets() {
        let mut link = Link::new(exll(), 20, steady);
        link.feed = None;
        link.run(10_000);
        link.forget();
        link.run(10_000);
        assert!(link.utilisation() > 0.95, "{}", link.utilisation());
        assert!(link.delay(0.95) <= 8, "{}", link.delay(0.95));
    }

    #[test]
    fn on_a_varying_link_the_queue_stays_short() {
        let mut link = Link::new(exll(), 20, varying);
        link.run(20_000);
        assert!(link.utilisation() > 0.6, "{}", link.utilisation());
        assert!(link.delay(0.95) < 150, "{}", link.delay(0.95));
    }

    /// FAST's law where the bandwidth is not known: the start doubles until the RTT shows a queue, and then half of the way
    /// to four packets in it is made each round (FAST, Wei et al. 2006, equation 6).
    #[test]
    fn without_a_bandwidth_the_start_doubles_until_the_rtt_rises_by_an_eighth() {
        let mut e = Exll::default();
        let at = Instant::from_millis;
        let signals = Signals {
            packet: 1500.0,
            ..Signals::default()
        };
        let mut ms = 0;
        let mut round = |e: &mut Exll, rtt, window| {
            let ack = Ack {
                rtt: Some(Duration::from_millis(rtt)),
                una: e.end,
                next: e.end + 1,
                cwnd_limited: true,
                ..Ack::default()
            };
            ms += rtt;
            e.on_ack(at(ms), &PathView::default(), &ack);
            e.window(at(ms), &signals, window)
        };
        let near = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-9, "{found} {expected}");
        };
        near(round(&mut e, 40, 10.0), 10.0);
        near(round(&mut e, 40, 10.0), 20.0);
        // 40 of 44 ms are more than eight ninths, 40 of 50 ms are not.
        near(round(&mut e, 44, 20.0), 40.0);
        near(round(&mut e, 50, 40.0), (40.0 + 0.8 * 40.0 + 4.0) / 2.0);
        // The start is over, although no queue is left.
        near(round(&mut e, 40, 38.0), (38.0 + 38.0 + 4.0) / 2.0);
    }
}
