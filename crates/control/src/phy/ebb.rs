//! `ebb`: a sender that is clocked by what leaves the radio. The base station counts for it and reports each few
//! milliseconds on a way of its own; the ACKs may come when they like.
//!
//! | rule | here |
//! |---|---|
//! | 1. bytes on their way: sent less gone, whatever the ACKs say | `count`, `flight` |
//! | 2. the loop, and the least one | `count`, `flight`, `clear` |
//! | 3. the rate of the next round | `forecast`, `learn`, `trained` |
//! | 4. as many bytes on their way as the next round and a short queue take | `aim` |
//! | 5. the rate, and what is too much or too little within 10 ms | `aim` |
//! | 6. a bottleneck that is not the radio | `elsewhere`, `upload`, `judge`, `host` |
//! | 7. others that fill the queue | `company`, `judge` |
//! | 8. what is offered and what leaves bind each other | `trust`, `judge` |
//! | 9. reports that are late | `clock` |
//! | 10. another base station | `clock`, `flight` |
//! | 11. no reports: CUBIC | `Ebb::hand_over` |
//! | in place of all: the offered rate alone bounds CUBIC | `advice` |
//! | for a host that looks now and then, as a kernel | `apart` |
//!
//! The rules are ours. docs/ebb.md has them under the same numbers, with their reasons.

mod advice;
mod aim;
mod apart;
mod bins;
mod clear;
mod clock;
mod company;
mod count;
mod elsewhere;
mod fades;
mod flight;
mod forecast;
mod host;
mod judge;
mod learn;
mod network;
mod oracle;
mod order;
mod params;
#[cfg(test)]
mod tests;
mod trained;
mod trust;
mod upload;

use std::sync::Arc;

use slackwater_core::{Bytes, Instant, Rate};

use crate::registry::{AnyController, Config, Entry, Parameters, Reports};
use crate::window::Windowed;
use crate::window::cubic::Cubic;
use crate::{
    Ack, Cause, CongestionEvent, Controller, Intent, PathReport, PathView, RecoveryMode, Sent,
};
use advice::Advice;
pub use apart::Order;
pub(crate) use clock::RadioClock;
use forecast::Forecast;
pub use network::{INPUTS, Margins, Network, QUANTILES};
pub use oracle::Oracle;
pub(crate) use params::PARAMETERS;
pub use params::{Params, Rules};
pub use trained::{Example, Offer, examples};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "ebb",
    title: "ebb",
    about: "Ours: clocked by what leaves the radio, as the base station counts it; ebb:z=0.3,q=2, or ebb:forecast=FILE for a trained forecast",
    reports: Reports::Counters,
    modes: Some(MODES),
    parameters: &params::LISTED,
    make: |cfg, p| Ok(AnyController::Ebb(Box::new(Ebb::named(p.text(), cfg)?))),
    ..Entry::TRANSPORT
}];

/// Names of the modes, in the order of their codes.
pub const MODES: &[&str] = &["RADIO", "ELSEWHERE", "COMPANY", "FALLBACK"];

/// The sender of TCP and QUIC.
#[derive(Clone, Debug)]
pub struct Ebb {
    clock: RadioClock,
    /// What is heard in place of the counters.
    advice: Advice,
    /// Steers where the radio does not.
    cubic: Box<Windowed<Cubic>>,
    /// After a pause, until the radio steers or is silent.
    resumes: Option<Resume>,
    /// Packets that a new flow begins with.
    initial_window: u32,
}

/// A first flight after a pause.
#[derive(Clone, Copy, Debug)]
struct Resume {
    /// What the radio had for the flow before it.
    pace: Rate,
    /// When its first packet left.
    since: Option<Instant>,
}

impl Ebb {
    /// A sender without reports.
    pub fn new(params: Params, cfg: &Config) -> Self {
        Self {
            clock: RadioClock::new(params, cfg.mss),
            advice: Advice::new(params.advice),
            resumes: None,
            initial_window: cfg.initial_window,
            cubic: Box::new(
                Windowed::new(Cubic::linux(), cfg.mss, cfg.initial_window)
                    .with_ssthresh(cfg.initial_ssthresh),
            ),
        }
    }

    /// The sender that `text` after `ebb:` names.
    fn named(text: &str, cfg: &Config) -> Result<Self, String> {
        let (margins, rest) = params::trained(text)?;
        let params = if margins {
            Params::read_with(&rest, params::TRAINED)?
        } else {
            Params::read(Parameters(&rest))?
        };
        Ok(Self::new(params, cfg))
    }

    /// The same sender, with the word of `oracle` in place of its forecast.
    #[must_use]
    pub fn with_oracle(mut self, oracle: Oracle) -> Self {
        self.clock.oracle = Some(oracle);
        self
    }

    /// A sender with the forecast of `network`. `text` is what stands after `ebb:` beside it, as in `z=0.3,q=2`; the network's margins
    /// hold where it does not set others.
    ///
    /// # Errors
    /// Key, found, expected.
    pub fn with_network(network: Arc<Network>, text: &str, cfg: &Config) -> Result<Self, String> {
        let params = Params::read_with(text, network.margins())?;
        if params.rules.learn {
            let wrong = "found learn=1 beside forecast=, expected one of them";
            return Err(wrong.to_owned());
        }
        let mut sender = Self::new(params, cfg);
        sender.clock.forecast = Forecast::new(params.rules.mix, false).with_network(network);
        Ok(sender)
    }

    /// CUBIC takes over with what is on its way, at most.
    fn hand_over(&mut self) {
        let Some(bytes) = self.clock.take_left() else {
            return;
        };
        let window = (bytes / u64::from(self.clock.mss)).clamp(2, 1 << 20) as u32;
        // Who had less than a new flow begins with comes as far as that at once (RFC 6928).
        let ssthresh = window.max(self.initial_window);
        *self.cubic =
            Windowed::new(Cubic::linux(), self.clock.mss, window).with_ssthresh(Some(ssthresh));
        // With nothing on its way the reports ceased because nothing was sent.
        let pauses = self.clock.in_flight() == 0;
        self.resumes = pauses.then(|| Resume {
            pace: self.known_rate(),
            since: None,
        });
    }

    /// What the radio had for the flow; no less than what a new flow sends in a round.
    fn known_rate(&self) -> Rate {
        let clock = &self.clock;
        let packet = f64::from(clock.mss + clock.headers);
        let new = f64::from(self.initial_window) * packet / clock.base().as_secs_f64();
        Rate::from_bps((clock.aimed().rate.max(new) * 8.0) as u64)
    }

    /// What CUBIC wants, within the rate that is advised: a round of it and the queue that is wanted, two packets at least.
    fn advised(&self, intent: Intent) -> Intent {
        let Some(rate) = self.advice.rate().filter(|_| !self.clock.min_rtt.is_zero()) else {
            return intent;
        };
        let round = (self.clock.min_rtt.as_secs_f64() + self.clock.params.q).max(0.0);
        let packet = f64::from(self.clock.mss + self.clock.headers);
        let bytes = (rate.as_bps() as f64 / 8.0 * round).max(2.0 * packet);
        let most = Bytes(self.clock.payload(bytes) as u64);
        Intent {
            window: Some(intent.window.map_or(most, |w| w.min(most))),
            pacing: Some(intent.pacing.map_or(rate, |p| p.min(rate))),
            ..intent
        }
    }
}

impl Controller for Ebb {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.clock.see(path);
        // A host may hand several packets to the kernel at once, and each has its headers.
        let mss = u64::from(self.clock.mss);
        let (packets, last) = if sent.bytes.0 <= mss {
            (1, sent.bytes.0)
        } else {
            (sent.bytes.0.div_ceil(mss), sent.bytes.0 % mss)
        };
        let headers = packets * u64::from(self.clock.headers);
        self.clock.on_sent(now, sent.bytes.0, headers);
        if let Some(resume) = &mut self.resumes {
            resume.since.get_or_insert(now);
        }
        // A packet that has room for an ACK as well, as QUIC's, counts as full.
        if last > 0 && last < mss / 8 * 7 {
            self.clock.log.note_short();
        }
        if !self.clock.steers {
            self.cubic.on_sent(now, path, sent);
        }
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.clock.see(path);
        self.clock.timed_out &= ack.newly_acked == Bytes::ZERO;
        let silence = self.clock.silence();
        self.resumes = self
            .resumes
            .filter(|r| r.since.is_none_or(|since| now.since(since) < silence));
        // What arrived twice left twice, and the host counts it once.
        let arrived = ack.newly_acked.0 + ack.duplicated.0;
        self.clock.on_acked(arrived);
        self.clock.behind.on_lost(self.clock.wire(ack.newly_lost.0));
        if !self.clock.steers {
            self.cubic.on_ack(now, path, ack);
        }
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.clock.see(path);
        self.clock.timed_out |= event.cause == Cause::Timeout;
        if !self.clock.steers {
            self.cubic.on_congestion(now, path, event);
        }
    }

    fn on_undo(&mut self, now: Instant, path: &PathView) {
        self.clock.see(path);
        if !self.clock.steers {
            self.cubic.on_undo(now, path);
        }
    }

    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        self.clock.see(path);
        if !self.clock.steers {
            self.cubic.on_recovered(now, path);
        }
    }

    fn takes_counters(&self) -> bool {
        true
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        self.clock.see(path);
        if let PathReport::Counters(counters) = report {
            if self.clock.params.advice.is_zero() {
                self.clock.on_counters(now, counters);
                self.hand_over();
            } else {
                self.advice.on_counters(*counters);
            }
        }
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.clock.see(path);
        self.clock.on_timer(now);
        self.hand_over();
    }

    fn next_timer(&self) -> Option<Instant> {
        self.clock.deadline()
    }

    fn intent(&self) -> Intent {
        if !self.clock.steers {
            let mut intent = self.advised(self.cubic.intent());
            // A whole window at once would fill the radio's queue, or a short buffer.
            if let Some(Resume { pace, .. }) = self.resumes {
                intent.pacing = Some(intent.pacing.map_or(pace, |own| own.min(pace)));
            }
            return intent;
        }
        let room = self.clock.room();
        let window = self.clock.in_flight as f64 + self.clock.payload(room);
        Intent {
            window: Some(Bytes((window as u64).max(u64::from(self.clock.mss)))),
            pacing: Some(self.clock.aimed().pace),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.clock.snapshot(out);
    }

    fn name(&self) -> &'static str {
        "ebb"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}
