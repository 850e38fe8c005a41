//! PBE-CC: the endpoint measures the cell's capacity (Xie, Yi, Jamieson: "PBE-CC: Congestion Control via Endpoint-Centric,
//! Physical-Layer Bandwidth Measurements", SIGCOMM 2020). No code was published; this follows the paper's equations.
//!
//! | PBE-CC | here |
//! |---|---|
//! | `C_p`: own blocks and idle ones over the active users, averaged over an RTT | the feed `allocated+idle`, [`Pbe::capacity`] |
//! | `C_t` from `C_p`: protocol overhead of 6.8 % | [`GAMMA`]; blocks sent again are not in the feed |
//! | start: linear to the fair share in three RTTs | [`Mode::Start`] |
//! | rate `C_t`, window `C_t * RTprop` | [`Mode::Wireless`] |
//! | one-way delay above `D_prop` + 12 ms for `6 C / MSS` packets: the Internet's bottleneck | `Pbe::switch` |
//! | then BBR, its probing capped by the fair share | [`Mode::Internet`] |
//!
//! The paper trusts its own phone. Here reports come from a network, and no link delivers more than it carries: blocks that claim less
//! than what demonstrably arrives are refuted ([`super::audit`]), and BBR goes alone until they agree again. What a sender that obeys
//! brings refutes nothing: `pbe:floor=1` asks the path as the other senders by transport blocks do, at the price of their probes.

use std::collections::VecDeque;

use slackwater_core::{Bytes, Draw, Duration, Instant, Rate};

use super::audit::Audit;
use crate::rate::bbr::Bbr;
use crate::registry::{AnyController, Entry, Parameter, Reports};
use crate::{
    Ack, Cause, CongestionEvent, Controller, Intent, PathReport, PathView, RecoveryMode, Sent,
};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry] = &[Entry {
    name: "pbe",
    title: "PBE-CC",
    about: "PBE-CC (SIGCOMM 2020): rate by the cell's capacity, BBR where the Internet is slower; pbe:gamma=0.068,floor=0",
    reports: Reports::Blocks,
    modes: Some(MODES),
    parameters: &PARAMETERS,
    make: |cfg, p| {
        let [gamma, floor] = p.numbers(&PARAMETERS)?;
        let pbe = Pbe {
            asks: floor > 0.0,
            ..Pbe::new(gamma, cfg.mss, cfg.initial_window, cfg.draw)
        };
        Ok(AnyController::Pbe(pbe.into()))
    },
    ..Entry::TRANSPORT
}];

/// What may follow `:` in the name.
const PARAMETERS: [Parameter; 2] = [
    Parameter::number(
        "gamma",
        GAMMA,
        (0.0, 0.5),
        "",
        "part of the transport blocks that is not the flow's data (PBE-CC, section 4.2)",
    ),
    Parameter::number(
        "floor",
        0.0,
        (0.0, 1.0),
        "",
        "1: a capacity far below what arrived is tried by sending more now and then (ours)",
    ),
];

/// Part of the transport blocks that is not the flow's data (PBE-CC, section 4.2).
pub const GAMMA: f64 = 0.068;
/// A delay above the least by this shows a queue elsewhere: three retransmissions of HARQ, 4 ms each, explain no more.
const THRESHOLD: Duration = Duration::from_millis(12);
/// Packets of so many ms must show it.
const SWITCH_MS: f64 = 6.0;
/// The start takes so many RTTs.
const START_RTTS: u64 = 3;
/// Without a report for this long nothing is known of the cell.
const STALE: Duration = Duration::from_millis(500);
/// Reports that were refuted are believed again after so long without a contradiction (as the other senders that take blocks).
const FRESH: Duration = Duration::from_secs(2);
/// Segments of the least window.
const MIN_WINDOW: u64 = 2;

/// Who sets the rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Mode {
    /// The rate rises to the fair share.
    Start,
    /// The cell is the bottleneck.
    Wireless,
    /// The Internet is, or nothing is known of the cell.
    Internet,
}

/// Names of the modes, in the order of their codes.
pub const MODES: &[&str] = &["START", "WIRELESS", "INTERNET"];

/// PBE-CC's sender.
#[derive(Clone, Debug)]
pub struct Pbe {
    gamma: f64,
    mss: u32,
    wire: u32,
    initial: u32,
    /// Reports of the last RTT: when heard, bytes, seconds.
    reports: VecDeque<(Instant, f64, f64)>,
    sum: (f64, f64),
    end: Option<u16>,
    srtt: Duration,
    min_rtt: Duration,
    least_owd: Option<Duration>,
    mode: Mode,
    began: Option<Instant>,
    /// Packets in a row above and below the threshold.
    above: f64,
    below: f64,
    timed_out: bool,
    audit: Audit,
    /// The window has the audit's floor, which asks the path whether it carries more than the reports say.
    asks: bool,
    /// Reports were refuted; when the last contradiction was seen.
    refuted: Option<Instant>,
    bbr: Box<Bbr>,
    /// Wire bytes per second.
    rate: f64,
    switches: u32,
}

impl Pbe {
    /// A sender with an initial window of `initial` segments of `mss` bytes.
    pub fn new(gamma: f64, mss: u32, initial: u32, draw: Draw) -> Self {
        Self {
            gamma,
            mss: mss.max(1),
            wire: mss.max(1),
            initial: initial.max(1),
            reports: VecDeque::new(),
            sum: (0.0, 0.0),
            end: None,
            srtt: Duration::ZERO,
            min_rtt: Duration::ZERO,
            least_owd: None,
            mode: Mode::Internet,
            began: None,
            above: 0.0,
            below: 0.0,
            timed_out: false,
            audit: Audit::new(f64::from(initial.max(1))),
            asks: false,
            refuted: None,
            bbr: Box::new(Bbr::new(mss, initial, draw)),
            rate: 0.0,
            switches: 0,
        }
    }

    /// Who sets the rate.
    pub const fn mode(&self) -> Mode {
        self.mode
    }

    fn view(&mut self, path: &PathView) {
        if path.mss != 0 {
            self.mss = path.mss;
            self.wire = path.wire_mss.max(path.mss);
        }
        self.srtt = path.srtt;
        self.min_rtt = path.min_rtt;
    }

    /// `C_t`, wire bytes per second: the mean of the reports of the last RTT, less the overhead. `None` where nothing is
    /// known.
    pub fn capacity(&mut self, now: Instant) -> Option<f64> {
        let keep = self.srtt.max(Duration::from_millis(20));
        while self.reports.len() > 1 && self.reports.front().is_some_and(|r| now.since(r.0) > keep)
        {
            let (_, bytes, seconds) = self.reports.pop_front().expect("seen");
            self.sum = (self.sum.0 - bytes, self.sum.1 - seconds);
        }
        let last = self.reports.back()?.0;
        (now.since(last) <= STALE.max(self.srtt * 4) && self.sum.1 > 0.0)
            .then(|| (1.0 - self.gamma) * (self.sum.0 / self.sum.1).max(0.0))
    }

    /// Whether reports are believed, which an ACK is held against.
    fn believes(&mut self, now: Instant, path: &PathView, ack: &Ack) -> bool {
        let window = self.intent().window.map_or(0.0, |w| w.0 as f64);
        // Pacing limits this sender before its window does.
        let full = ack.cwnd_limited || (self.asks && !ack.app_limited);
        let ack = Ack {
            cwnd_limited: full,
            ..*ack
        };
        self.audit
            .on_ack(now, path, &ack, window / f64::from(self.mss));
        let speaks_against = match self.refuted {
            None => self.audit.is_refuted(),
            Some(_) => self.audit.is_suspect(),
        };
        if speaks_against {
            self.refuted = Some(now);
        } else if self.refuted.is_some_and(|at| now.since(at) >= FRESH) {
            self.refuted = None;
        }
        self.refuted.is_none()
    }

    /// Does a queue stand that the cell does not explain?
    fn switch(&mut self, now: Instant, ack: &Ack, capacity: f64) {
        let delay = match (ack.owd, ack.rtt) {
            (Some(owd), _) => {
                let least = self.least_owd.map_or(owd, |l| l.min(owd));
                self.least_owd = Some(least);
                owd.saturating_sub(least)
            }
            (None, Some(rtt)) => rtt.saturating_sub(self.min_rtt),
            (None, None) => return,
        };
        let packets = ack.newly_acked.0 as f64 / f64::from(self.mss);
        if delay > THRESHOLD {
            (self.above, self.below) = (self.above + packets, 0.0);
        } else {
            (self.above, self.below) = (0.0, self.below + packets);
        }
        let enough = (SWITCH_MS * 1e-3 * capacity / f64::from(self.wire)).max(1.0);
        if self.mode == Mode::Wireless && self.above >= enough {
            self.mode = Mode::Internet;
            self.switches += 1;
        } else if self.mode == Mode::Internet && self.below >= enough {
            // The first time the start comes before.
            self.mode = if self.began.is_none() {
                self.began = Some(now);
                Mode::Start
            } else {
                Mode::Wireless
            };
            self.above = 0.0;
        }
    }

    fn steer(&mut self, now: Instant) {
        let Some(capacity) = self.capacity(now) else {
            self.rate = 0.0;
            self.mode = Mode::Internet;
            return;
        };
        self.rate = capacity;
        if self.mode == Mode::Start {
            let passed = now.since(self.began.unwrap_or(now)).as_secs_f64();
            let whole = (self.srtt * START_RTTS).as_secs_f64().max(1e-3);
            if passed >= whole {
                self.mode = Mode::Wireless;
            } else {
                self.rate *= passed / whole;
            }
        }
    }
}

impl Controller for Pbe {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.view(path);
        self.bbr.on_sent(now, path, sent);
    }

    fn on_ack(&mut self, now: Instant, path: &PathView, ack: &Ack) {
        self.view(path);
        self.timed_out = false;
        self.bbr.on_ack(now, path, ack);
        if !self.believes(now, path, ack) {
            self.rate = 0.0;
            self.mode = Mode::Internet;
            // What comes after is another cell, as far as is known.
            (self.began, self.above, self.below) = (None, 0.0, 0.0);
            return;
        }
        if let Some(capacity) = self.capacity(now) {
            self.switch(now, ack, capacity);
        }
        self.steer(now);
    }

    fn on_congestion(&mut self, now: Instant, path: &PathView, event: &CongestionEvent) {
        self.view(path);
        self.bbr.on_congestion(now, path, event);
        self.timed_out |= event.cause == Cause::Timeout;
    }

    fn on_undo(&mut self, now: Instant, path: &PathView) {
        self.timed_out = false;
        self.bbr.on_undo(now, path);
    }

    fn on_recovered(&mut self, now: Instant, path: &PathView) {
        self.bbr.on_recovered(now, path);
    }

    fn takes_blocks(&self) -> bool {
        true
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        let &PathReport::TransportBlocks { bytes, span, end } = report else {
            return;
        };
        self.view(path);
        let behind = self
            .end
            .is_some_and(|last| end.wrapping_sub(last) > 1 << 15);
        if behind || span.is_zero() {
            return;
        }
        self.end = Some(end);
        self.audit.on_blocks(bytes, span);
        let (bytes, seconds) = (bytes.0 as f64, span.as_secs_f64());
        self.reports.push_back((now, bytes, seconds));
        self.sum = (self.sum.0 + bytes, self.sum.1 + seconds);
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.bbr.on_timer(now, path);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.bbr.next_timer()
    }

    fn intent(&self) -> Intent {
        let bbr = self.bbr.intent();
        let floor = if self.asks { self.audit.floor() } else { 0.0 };
        let least = floor * f64::from(self.wire) / self.min_rtt.as_secs_f64().max(1e-3);
        let rate = self.rate.max(least);
        let rate = Rate::from_bps(((rate * 8.0) as u64).clamp(10_000, 1 << 40));
        if self.mode == Mode::Internet {
            // BBR's probing never asks for more than the cell's fair share.
            let pacing = match bbr.pacing {
                Some(pacing) if self.rate > 0.0 => Some(pacing.min(rate)),
                other => other,
            };
            return Intent { pacing, ..bbr };
        }
        let product = self.rate * self.min_rtt.as_secs_f64() / f64::from(self.wire);
        let segments = (product.max(floor).ceil() as u64).clamp(MIN_WINDOW, 1 << 20);
        let segments = match self.mode {
            Mode::Start => segments.max(u64::from(self.initial)),
            _ => segments,
        };
        let segments = if self.timed_out { 1 } else { segments };
        Intent {
            window: Some(Bytes(segments * u64::from(self.mss))),
            pacing: Some(rate),
            recovery: RecoveryMode::Controller,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.push(("mode", f64::from(self.mode as u8)));
        out.push(("capacity_mbps", (self.rate * 8e-6).min(1e9)));
        out.push(("switches", f64::from(self.switches)));
    }

    fn name(&self) -> &'static str {
        "pbe"
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{Link, steady};
    use super::*;

    fn pbe(gamma: f64) -> Pbe {
        Pbe::new(gamma, 1448, 10, Draw::new(1))
    }

    #[test]
    fn it_takes_the_capacity_less_the_overhead() {
        let mut link = Link::new(pbe(GAMMA), 20, steady);
        link.run(3000);
        assert_eq!(link.c.mode(), Mode::Wireless);
        // 12 Mbit/s less 6.8 %.
        let rate = link.c.intent().pacing.expect("paced").as_mbps();
        assert!((rate - 11.18).abs() < 0.2, "{rate}");
        // 37.3 packets in 40 ms.
        assert!(link.window().abs_diff(38) <= 1, "{}", link.window());
        link.forget();
        link.run(5000);
        assert!(link.delay(0.95) < 5, "{}", link.delay(0.95));
        assert!(link.utilisation() > 0.88, "{}", link.utilisation());
    }

    #[test]
    fn a_bottleneck_in_the_internet_makes_it_bbr_below_the_fair_share() {
        let mut link = Link::new(pbe(0.0), 20, |_| 4);
        link.wired = Some(1);
        link.run(5000);
        assert_eq!(link.c.mode(), Mode::Internet);
        link.forget();
        link.run(10_000);
        // A quarter of what the radio could carry.
        assert!(link.utilisation() > 0.2, "{}", link.utilisation());
    }

    #[test]
    fn reports_that_claim_nothing_are_refuted_by_what_arrives() {
        let arrived = |feed: Option<u64>| {
            let mut link = Link::new(pbe(GAMMA), 20, steady);
            link.feed = feed;
            link.run(20_000);
            link.forget();
            link.run(20_000);
            link.utilisation()
        };
        let alone = arrived(None);
        assert!(alone > 0.8, "{alone}");
        for permille in [0, 1, 10] {
            let lied = arrived(Some(permille));
            assert!(
                lied > alone / 2.0 && lied < alone * 2.0,
                "{permille} permille: {lied} beside {alone}"
            );
        }
        // Honest reports are believed again.
        let mut link = Link::new(pbe(GAMMA), 20, steady);
        link.feed = Some(0);
        link.run(10_000);
        assert!(link.c.refuted.is_some());
        link.feed = Some(1000);
        link.run(10_000);
        assert_eq!(link.c.refuted, None);
    }

    #[test]
    fn without_reports_it_is_bbr() {
        let mut link = Link::new(pbe(GAMMA), 20, steady);
        link.feed = None;
        let mut bbr = Link::new(Bbr::new(1448, 10, Draw::new(1)), 20, steady);
        for _ in 0..5000 {
            link.step();
            bbr.step();
            assert_eq!(link.window(), bbr.window());
        }
    }
}
