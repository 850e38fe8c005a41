//! aL4S-CC: cL4S and sL4S (Son, Sanchez, Hellge, Schierl: "Adaptable L4S Congestion Control for Cloud-Based Real-Time
//! Streaming Over 5G", IEEE Open Journal of the Communications Society, 2024).
//!
//! One file for each block of the paper's figure 3: the [`congestion`] tracker, the [`pdv`] tracker, the
//! [`rate_controller`] and the [`rate_scaler`]. sL4S goes by the marks; cL4S also knows the marker's thresholds.
//!
//! Two profiles: [`Params::PAPER`] does what the equations say, where they can be meant; [`Params::DEFAULT`] adds a fair
//! rate that flows converge to and a guard for paths that do not mark. Flows of the two do not belong in one queue: one
//! of [`Params::PAPER`] beside one of [`Params::DEFAULT`] starves.

pub mod congestion;
pub mod guard;
pub mod params;
pub mod pdv;
pub mod rate_controller;
pub mod rate_scaler;
pub mod rival;
#[cfg(test)]
mod tests;

use slackwater_core::{Duration, Ecn, Instant};

use self::congestion::CongestionTracker;
use self::guard::DelayGuard;
pub(super) use self::params::TARGET;
pub use self::params::{AlphaMap, Params};
use self::pdv::PdvTracker;
use self::rate_controller::{RateController, Signs, Variation};
use self::rate_scaler::RateScaler;
use self::rival::{Rival, Standing};
use super::inbox::{Inbox, News};
use super::silence::{FACTOR, Silence};
use super::{LONGEST, Packets, media_intent};
use crate::phy::ebb::{self, RadioClock};
use crate::registry::{AnyMedia, Entry, Marks};
use crate::{EcnMode, Encoder, Feedback, Intent, MediaController, PathReport, PathView, Sent};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry<AnyMedia>] = &[
    Entry {
        name: "al4s-c",
        aliases: &["cl4s"],
        title: "cL4S",
        about: "cL4S: aL4S-CC that knows the marker; al4s-c:paper as published; te=25,low=5,high=20 (ms) sets it up",
        parameters: &params::ALL,
        make: |cfg, p| {
            let params = Params::configured(Params::DEFAULT, cfg, p)?;
            Ok(AnyMedia::Al4s(Al4s::conscious(params, &cfg.encoder).into()))
        },
        marks: Marks::Queue,
        ..Entry::MEDIA
    },
    Entry {
        name: "al4s-s",
        aliases: &["sl4s"],
        title: "sL4S",
        about: "sL4S: aL4S-CC by the marks alone; al4s-s:paper as published",
        parameters: &params::ALL,
        make: |cfg, p| {
            let params = Params::configured(Params::DEFAULT, cfg, p)?;
            Ok(AnyMedia::Al4s(Al4s::standard(params, &cfg.encoder).into()))
        },
        marks: Marks::Queue,
        ..Entry::MEDIA
    },
];

/// The rate counts as this many fair shares at least and at most: K/s is the same bit/s for all flows between.
const OVER: (f64, f64) = (0.25, 16.0);

/// cL4S or sL4S.
#[derive(Clone, Debug)]
pub struct Al4s {
    aware: bool,
    params: Params,
    inbox: Inbox,
    congestion: CongestionTracker,
    pdv: PdvTracker,
    controller: RateController,
    scaler: RateScaler,
    guard: Option<DelayGuard>,
    rival: Option<Rival>,
    /// What the base station's counters make of the flow, where R0 is theirs.
    counted: Option<Box<RadioClock>>,
    silence: Silence,
    packets: Packets,
    signs: Signs,
}

impl Al4s {
    /// cL4S, which goes by the marker's thresholds as soon as it knows them.
    pub fn conscious(params: Params, encoder: &Encoder) -> Self {
        Self::new(true, params, encoder)
    }

    /// sL4S.
    pub fn standard(params: Params, encoder: &Encoder) -> Self {
        Self::new(false, params, encoder)
    }

    fn new(aware: bool, params: Params, encoder: &Encoder) -> Self {
        Self {
            aware,
            params,
            inbox: Inbox::new(),
            congestion: CongestionTracker::new(params.history),
            pdv: PdvTracker::default(),
            controller: RateController::new(&params, aware),
            scaler: RateScaler::new(encoder),
            guard: params.guard.map(DelayGuard::new),
            rival: params.guard.and_then(|_| Rival::new(params.rival)),
            // The first packet tells how long one is.
            counted: params
                .counted
                .then(|| RadioClock::new(ebb::Params::DEFAULT, 1).limited().into()),
            silence: Silence::default(),
            packets: Packets::default(),
            signs: Signs::default(),
        }
    }

    /// The parameters.
    pub const fn params(&self) -> &Params {
        &self.params
    }

    /// The rate in fair shares.
    fn over(&self) -> f64 {
        self.params.share.map_or(1.0, |share| {
            (self.scaler.rate() / share).clamp(OVER.0, OVER.1)
        })
    }

    /// Takes R0 from the counters: what they promise the flow, or the shipped value where they are silent or not believed.
    fn take_share(&mut self) {
        let Some(radio) = &mut self.counted else {
            return;
        };
        if radio.take_left().is_some() {
            self.params.share = Params::DEFAULT.share;
        }
        let bps = 8.0 * radio.promised();
        if radio.steers() && bps >= 1.0 {
            self.params.share = Some(bps);
        }
    }

    /// Goes by losses, beside a flow that holds the queue. False where none does.
    fn compete(&mut self, now: Instant, srtt: Duration, lost: f64, marked: bool, dt: f64) -> bool {
        let over = self.over();
        let (Some(rival), Some(guard)) = (&mut self.rival, &mut self.guard) else {
            return false;
        };
        let rate = self.scaler.rate();
        let seen = Standing {
            fce: self.signs.fce,
            lost,
            queue: guard.queue(),
            newest: guard.bare(),
            dt,
        };
        let on = rival.update(now, &seen, rate, self.scaler.bounds().0);
        guard.keep(on);
        if !on {
            return false;
        }
        if lost > 0.0 {
            if let Some(less) = rival.on_loss(now, srtt, rate) {
                self.scaler.set(less);
            }
        } else if !marked {
            let growth = self.params.share_growth / over;
            self.scaler.apply(Variation::PerSecond(growth), dt);
        }
        true
    }
}

impl MediaController for Al4s {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        let now = self.inbox.clock(now);
        if let Some(radio) = &mut self.counted {
            radio.see_ip(path);
            radio.on_sent(now, sent.bytes.0, 0);
        }
        self.silence.on_sent(now, path.srtt);
    }

    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        let now = self.inbox.clock(now);
        self.packets.see(path);
        let (mut received, mut marked, mut missing) = (0u32, 0u32, 0u32);
        let mut bytes = 0u64;
        let mut last: Option<(Instant, Instant)> = None;
        for packet in feedback.packets {
            let news = self.inbox.admit(packet);
            missing += u32::from(news == Some(News::Lost));
            let (Some(News::Received), Some(arrived)) = (news, packet.arrived) else {
                continue;
            };
            received += 1;
            bytes = bytes.saturating_add(packet.bytes.0.min(LONGEST));
            marked += u32::from(packet.ecn == Ecn::Ce);
            if last.is_none_or(|(sent, _)| packet.sent >= sent) {
                last = Some((packet.sent, arrived));
            }
            if let Some(guard) = &mut self.guard {
                let ect = packet.ecn != Ecn::NotEct;
                guard.on_packet(now, packet.sent, arrived, packet.bytes.0, ect);
            }
        }
        if let Some(radio) = &mut self.counted {
            radio.see_ip(path);
            radio.on_acked(bytes);
        }
        let lost = missing > 0;
        let competes = self.rival.is_some_and(|rival| rival.is_on());
        if lost
            && !competes
            && let Some(guard) = &mut self.guard
        {
            self.congestion.on_congestion();
            if let Some(rate) = guard.on_congestion(now, self.scaler.rate()) {
                self.scaler.limit(rate);
            }
        }
        let before = self.scaler.rate();
        // Without a received packet there is no fraction.
        let Some((sent, arrived)) = last else {
            return;
        };
        self.silence.on_news();
        let dt = self.scaler.interval(now);
        let mut fce = f64::from(marked) / f64::from(received);
        if let Some(guard) = &mut self.guard {
            fce = guard.fraction(now, fce);
        }
        self.congestion.update(fce, dt);
        self.signs = Signs {
            fce,
            gradient: self.congestion.gradient(),
            free: self.congestion.free(),
            pdv: self.pdv.update(sent, arrived),
        };
        let share = f64::from(missing) / f64::from(missing + received);
        if self.compete(now, path.srtt, share, marked > 0, dt) {
            return;
        }
        let over = self.over();
        let variation = self.controller.vary(&self.signs, over);
        self.scaler.apply(variation, dt);
        if lost && self.guard.is_some() {
            // A lost packet raises no rate.
            self.scaler.limit(before);
        }
    }

    fn takes_counters(&self) -> bool {
        self.counted.is_some()
    }

    fn is_prompt(&self) -> bool {
        self.params.prompt
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        match *report {
            PathReport::Counters(counters) => {
                if let Some(radio) = &mut self.counted {
                    let now = self.inbox.clock(now);
                    radio.see_ip(path);
                    radio.on_counters(now, &counters);
                }
                self.take_share();
            }
            PathReport::MarkingScheme(scheme) if self.aware && scheme.low <= scheme.high => {
                self.controller.on_scheme(scheme);
            }
            PathReport::Share { rate, .. } if rate.as_bps() > 0 && self.params.share.is_some() => {
                self.params.share = Some(rate.as_bps() as f64);
            }
            _ => {}
        }
    }

    fn on_timer(&mut self, now: Instant, _path: &PathView) {
        let now = self.inbox.clock(now);
        if self.silence.on_timer(now) {
            self.scaler.set(FACTOR * self.scaler.rate());
        }
        if let Some(radio) = &mut self.counted {
            radio.on_timer(now);
        }
        self.take_share();
    }

    fn next_timer(&self) -> Option<Instant> {
        let silent = self.counted.as_ref().and_then(|radio| radio.deadline());
        let timers = [self.silence.deadline(), silent];
        timers.into_iter().flatten().min()
    }

    fn intent(&self) -> Intent {
        let ecn = if self.rival.is_some_and(|rival| rival.is_on()) {
            EcnMode::Off
        } else {
            EcnMode::L4s
        };
        media_intent(self.scaler.target(), self.params.pace, self.packets, ecn)
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([
            ("target_rate", self.scaler.rate()),
            ("fce", self.signs.fce),
            ("delay_gradient", self.signs.gradient),
            ("tau", self.signs.free),
            ("pdv", self.signs.pdv),
            ("gamma", self.controller.gamma()),
            ("share", self.params.share.unwrap_or(0.0)),
            (
                "competes",
                f64::from(u8::from(self.rival.is_some_and(|r| r.is_on()))),
            ),
        ]);
    }

    fn name(&self) -> &'static str {
        if self.aware { "al4s-c" } else { "al4s-s" }
    }

    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}
