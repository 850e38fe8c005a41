//! `SCReAMv2` with L4S (draft-ietf-ccwg-rfc8298bis-screamv2; RFC 8298 for the first version): a self-clocked reference
//! window, reduced by the fraction of marks, from which the encoder's rate follows.
//!
//! The rules are the draft's; the constants are Ericsson's or, as a variant, libwebrtc's. Not here: several streams,
//! shared bottleneck detection, clock drift compensation, and clearing the RTP queue, which is the host's.

mod alpha;
mod compete;
mod delay;
pub mod params;
#[cfg(test)]
mod tests;

use slackwater_core::{Bytes, Duration, Ecn, Instant, Rate};

use self::alpha::Alpha;
use self::compete::Compensation;
use self::delay::Delay;
pub use self::params::Params;
use super::Packets;
use super::al4s::rival::{Rival, Standing};
use super::inbox::{Inbox, News};
use super::silence::{FACTOR, Silence};
use crate::registry::{AnyMedia, Entry};
use crate::{EcnMode, Encoder, Feedback, Intent, MediaController, PathView, Sent};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry<AnyMedia>] = &[
    Entry {
        name: "scream",
        title: "SCReAMv2",
        about: "SCReAMv2 with L4S (draft-ietf-ccwg-rfc8298bis-screamv2), Ericsson's constants",
        parameters: &params::ALL,
        make: |cfg, p| {
            let params = p.read(Params::ERICSSON, |text| Params::ERICSSON.changed(text))?;
            let scream = Scream::new("scream", params, &cfg.encoder);
            Ok(AnyMedia::Scream(scream.into()))
        },
        ..Entry::MEDIA
    },
    Entry {
        name: "scream-webrtc",
        title: "SCReAMv2 (libwebrtc)",
        about: "SCReAMv2 with libwebrtc's constants",
        parameters: &params::ALL,
        make: |cfg, p| {
            let params = p.read(Params::WEBRTC, |text| Params::WEBRTC.changed(text))?;
            let scream = Scream::new("scream-webrtc", params, &cfg.encoder);
            Ok(AnyMedia::Scream(scream.into()))
        },
        ..Entry::MEDIA
    },
];

/// Flows below this RTT in seconds grow as slowly as at it (the draft's `VIRTUAL_RTT`).
const VIRTUAL_RTT: f64 = 0.025;
/// No mark for so many round trips: the window may be far above what is in flight.
const LONG_RTTS: f64 = 100.0;
/// Pacing rate in target rates (`PACKET_PACING_HEADROOM`).
const PACE: f64 = 1.5;
/// Most last known maxima.
const MAXIMA: usize = 5;
/// A gap between two feedbacks weighs no more seconds than this.
const LONGEST: f64 = 0.1;
/// Below this average, marks are not what holds the window.
const UNMARKED: f64 = 1e-4;

/// `SCReAMv2`.
#[derive(Clone, Debug)]
pub struct Scream {
    name: &'static str,
    p: Params,
    encoder: Encoder,
    inbox: Inbox,
    silence: Silence,
    packets: Packets,
    alpha: Alpha,
    delay: Delay,
    /// `ref_wnd` in bytes; zero before the first feedback.
    window: f64,
    /// Last known maxima (`ref_wnd_i`), newest first; zero for none.
    maxima: [f64; MAXIMA],
    maximum_at: Instant,
    /// The last congestion.
    congested: Option<Instant>,
    lost: Option<Instant>,
    /// Most bytes in flight of this and the last round.
    flight: [u64; 2],
    round: Instant,
    target: f64,
    damp: f64,
    /// Raises the target of the queue delay beside flows that fill the buffer.
    compensation: Option<Compensation>,
    /// Tells a queue that others hold.
    rival: Option<Rival>,
    /// The last feedback with a packet.
    heard: Option<Instant>,
}

impl Scream {
    /// With `params`, under the registry's `name`.
    pub fn new(name: &'static str, params: Params, encoder: &Encoder) -> Self {
        Self {
            name,
            p: params,
            encoder: *encoder,
            inbox: Inbox::new(),
            silence: Silence::default(),
            packets: Packets::default(),
            alpha: Alpha::new(&params),
            delay: Delay::new(),
            window: 0.0,
            maxima: [0.0; MAXIMA],
            maximum_at: Instant::ZERO,
            congested: None,
            lost: None,
            flight: [0; 2],
            round: Instant::ZERO,
            target: encoder.start.as_bps() as f64,
            damp: 1.0,
            compensation: params
                .target_most
                .map(|most| Compensation::new(params.target, most)),
            rival: Rival::new(params.rival),
            heard: None,
        }
    }

    /// `qdelay_target` in seconds.
    fn goal(&self) -> f64 {
        let compensation = self.compensation.as_ref();
        compensation.map_or(self.p.target, Compensation::target)
    }

    /// The flow goes by losses, beside one that holds the queue.
    fn competes(&self) -> bool {
        self.rival.is_some_and(|rival| rival.is_on())
    }

    /// How far the average queue delay is from half of its target to the target: a fraction of virtual marks (4.2.1.4).
    fn virtual_marks(&self) -> f64 {
        let half = 0.5 * self.goal();
        ((self.delay.average() - half) / half).clamp(0.0, 1.0)
    }

    fn packet(&self) -> f64 {
        f64::from(self.packets.wire.max(100))
    }

    fn least(&self) -> f64 {
        self.p.least_packets * self.packet()
    }

    /// A packet's share of the window.
    fn ratio(&self) -> f64 {
        (self.packet() / self.window).min(1.0)
    }

    /// The median of the last known maxima.
    fn maximum(&self) -> f64 {
        let mut maxima = self.maxima;
        let maxima = &mut maxima[..self.p.maxima.min(MAXIMA)];
        maxima.sort_by(f64::total_cmp);
        maxima[maxima.len() / 2]
    }

    /// Small near the last known maximum, where growth and backoff are slowed.
    fn near(&self) -> f64 {
        let maximum = self.maximum();
        if maximum <= 0.0 {
            return 1.0;
        }
        let apart = self.p.near * (self.window - maximum) / maximum;
        (apart * apart).clamp(0.1, 1.0)
    }

    fn since(now: Instant, then: Option<Instant>) -> f64 {
        then.map_or(f64::INFINITY, |then| now.since(then).as_secs_f64())
    }

    fn remember(&mut self, now: Instant) {
        let rtt = self.delay.srtt();
        if now.since(self.maximum_at).as_secs_f64() <= rtt {
            return;
        }
        self.maximum_at = now;
        if Self::since(now, self.congested) > 5.0 * rtt || self.maxima[0] == 0.0 {
            self.maxima = [self.window; MAXIMA];
        } else {
            self.maxima.rotate_right(1);
            self.maxima[0] = self.window;
        }
    }

    /// Several backoffs fit in a long round trip, and small windows are coarse.
    fn scaled(&self, backoff: f64) -> f64 {
        let intervals = self.delay.srtt() / self.p.backoff_interval.as_secs_f64();
        backoff / intervals.max(1.0) * (1.0 - self.ratio()).max(0.5)
    }

    /// Reduction of the reference window (4.2.2.1). True where the window was reduced.
    fn reduce(&mut self, now: Instant, lost: bool, marked: bool, all_marked: bool) -> bool {
        let rtt = self.delay.srtt();
        if lost && Self::since(now, self.lost) > rtt {
            self.remember(now);
            self.window *= self.p.beta_loss;
            self.lost = Some(now);
            self.congested = Some(now);
            return true;
        }
        let interval = rtt.min(self.p.backoff_interval.as_secs_f64());
        if Self::since(now, self.congested) < interval {
            return false;
        }
        // All marked, and yet the queue drains: the reduction was made.
        let marked = marked && !(all_marked && self.delay.falls());
        let fraction = self.virtual_marks();
        if !marked && fraction <= 0.0 {
            return false;
        }
        self.remember(now);
        if marked {
            let mut backoff = self.scaled(0.5 * self.alpha.get());
            if self.delay.queue() < 0.25 * self.goal() {
                backoff *= self.near().max(0.25) * self.delay.steadiness(self.ratio()).max(0.25);
            }
            if Self::since(now, self.congested) > LONG_RTTS * rtt.max(VIRTUAL_RTT) {
                let flight = self.flight[0].max(self.flight[1]) as f64;
                self.window = self.window.min(flight);
                self.alpha.set(self.alpha.get().max(self.p.alpha_bump));
                backoff = 0.5 * self.alpha.get();
            }
            self.window *= 1.0 - backoff;
        } else {
            self.window *= 1.0 - self.scaled(0.5 * fraction);
        }
        self.congested = Some(now);
        true
    }

    /// Increase of the reference window (4.2.2.2) for `bytes` that arrived unmarked.
    fn grow(&mut self, now: Instant, bytes: f64) {
        let ratio = self.ratio();
        let near = self.near();
        let rtt = self.delay.srtt();
        let short = (rtt / VIRTUAL_RTT).min(1.0);
        let mut increase = bytes * ratio * near.max(0.25) * (1.0 - ratio).max(0.5);
        increase *= if self.p.rtt_squared {
            short * short
        } else {
            short
        };
        if self.alpha.get() < UNMARKED {
            increase *= (1.0 - self.delay.average() / (0.25 * self.goal())).max(0.1);
        }
        increase *= self.delay.steadiness(ratio).max(0.1);
        let rest = self.p.post_congestion_rtts * rtt.max(VIRTUAL_RTT);
        let rested = (Self::since(now, self.congested) / rest).min(1.0);
        increase *= 1.0 + self.p.multiplicative * self.window / self.packet() * rested * near;
        let flight = self.flight[0].max(self.flight[1]) as f64;
        let most = self.packet() + flight * self.p.flight_headroom;
        let full = self.target >= self.encoder.most.as_bps() as f64;
        if self.window + increase <= most && !full {
            self.window += increase;
        }
    }

    /// Whether another flow holds the queue. `marked` and `lost` are shares of a feedback's packets. Without marks the window
    /// keeps the queue below its target (4.2.1.4), so one that stays above it is not of this flow's making.
    fn compete(&mut self, now: Instant, marked: f64, lost: f64) -> bool {
        let above = if self.virtual_marks() >= 1.0 {
            1.0
        } else {
            0.0
        };
        let seen = Standing {
            fce: marked.max(above),
            lost,
            queue: self.delay.queue() * 1e9,
            newest: self.delay.queue() * 1e9,
            dt: Self::since(now, self.heard).min(LONGEST),
        };
        self.heard = Some(now);
        let least = self.encoder.least.as_bps() as f64;
        let on = match &mut self.rival {
            Some(rival) => rival.update(now, &seen, self.target, least),
            None => false,
        };
        // What is above half of the target may be a rival's, and is then no wrong base.
        let delayed = self.rival.is_some() && self.virtual_marks() > 0.0;
        self.delay.keep(on, delayed);
        on
    }

    /// Beside a flow that holds the queue: as fast as `NewReno` with this reduction (RFC 9438, 4.3), whatever the queue.
    fn by_losses(&mut self, now: Instant, lost: bool, bytes: f64) {
        if lost {
            if Self::since(now, self.lost) > self.delay.srtt() {
                self.window *= self.p.beta_loss;
                (self.lost, self.congested) = (Some(now), Some(now));
            }
            return;
        }
        let growth = 3.0 * (1.0 - self.p.beta_loss) / (1.0 + self.p.beta_loss);
        let full = self.target >= self.encoder.most.as_bps() as f64;
        let flight = self.flight[0].max(self.flight[1]) as f64;
        let most = self.packet() + flight * self.p.flight_headroom;
        let window = self.window + growth * bytes * self.ratio();
        if window <= most && !full {
            self.window = window;
        }
    }

    /// The encoder's rate (4.4).
    fn follow(&mut self, now: Instant) {
        let rtt = (self.delay.rtt() + 1e-3).clamp(1e-3, 0.2);
        let ratio = self.ratio();
        let mut rate = 8.0 * self.window / rtt;
        rate *= 1.0 - (ratio - 0.1).clamp(0.0, 0.2);
        rate *= self.packet() / (self.packet() + self.p.header) / self.p.frame_margin;
        if self.delay.drains(now) && !self.competes() {
            rate *= 0.5;
        }
        self.target = rate;
    }
}

impl MediaController for Scream {
    fn on_sent(&mut self, now: Instant, path: &PathView, _sent: &Sent) {
        let now = self.inbox.clock(now);
        self.silence.on_sent(now, path.srtt);
        self.flight[0] = self.flight[0].max(path.in_flight.0);
    }

    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        let now = self.inbox.clock(now);
        self.packets.see(path);
        self.flight[0] = self.flight[0].max(path.in_flight.0);
        let (mut received, mut marked, mut lost, mut plain) = (0u32, 0u32, 0u32, 0.0);
        let mut newest: Option<(Instant, Instant)> = None;
        for packet in feedback.packets {
            let news = self.inbox.admit(packet);
            lost += u32::from(news == Some(News::Lost));
            let (Some(News::Received), Some(arrived)) = (news, packet.arrived) else {
                continue;
            };
            received += 1;
            if packet.ecn == Ecn::Ce {
                marked += 1;
            } else {
                plain += packet.bytes.0 as f64;
            }
            if newest.is_none_or(|(sent, _)| packet.sent >= sent) {
                newest = Some((packet.sent, arrived));
            }
        }
        let Some((sent, arrived)) = newest else {
            if lost > 0 && self.window > 0.0 {
                let before = self.target;
                self.reduce(now, true, false, false);
                self.window = self.window.max(self.least());
                self.follow(now);
                self.target = self.target.min(before);
            }
            return;
        };
        self.silence.on_news();
        self.damp = 1.0;
        let rtt = now.since(sent).as_secs_f64();
        let way = super::al4s::pdv::span(sent, arrived);
        self.delay.update(now, rtt, way, self.goal(), VIRTUAL_RTT);
        let srtt = self.delay.srtt();
        if let Some(compensation) = &mut self.compensation {
            compensation.update(now, self.delay.queue(), srtt, lost > 0);
        }
        if self.window == 0.0 {
            self.window = self.target / 8.0 * (rtt + 1e-3);
        }
        let srtt = Duration::from_secs_f64(self.delay.srtt());
        self.alpha.update(now, &self.p, srtt, received, marked);
        let fraction = f64::from(marked) / f64::from(received);
        let share = f64::from(lost) / f64::from(lost + received);
        if self.compete(now, fraction, share) {
            self.by_losses(now, lost > 0, plain);
        } else {
            self.reduce(now, lost > 0, marked > 0, marked == received);
            self.grow(now, plain);
        }
        self.window = self.window.clamp(self.least(), 1e12);
        self.follow(now);
        if now.since(self.round) >= srtt.max(Duration::from_secs_f64(VIRTUAL_RTT)) {
            self.round = now;
            self.flight = [path.in_flight.0, self.flight[0]];
        }
    }

    fn on_timer(&mut self, now: Instant, _path: &PathView) {
        let now = self.inbox.clock(now);
        if self.silence.on_timer(now) {
            // The rate of now, should it be held by the encoder's bound, falls as well.
            self.damp *= FACTOR;
            self.target = self.target.min(self.encoder.most.as_bps() as f64);
            self.window = (self.window * FACTOR).max(self.least());
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.silence.deadline()
    }

    fn intent(&self) -> Intent {
        let least = self.encoder.least.as_bps() as f64;
        let most = (self.encoder.most.as_bps() as f64).max(least);
        let rate = (self.target * self.damp).clamp(least, most);
        let target = Rate::from_bps((rate + 0.5) as u64);
        let (low, high) = self.p.overhead;
        let room = low + (high - low) * self.delay.steadiness(self.ratio());
        let window = (self.window > 0.0)
            .then(|| Bytes((self.window * room + self.packet()).min(1e15) as u64));
        Intent {
            target: Some(target),
            window,
            pacing: Some(target.mul_f64(PACE * self.packets.overhead())),
            ecn: if self.competes() {
                // ECT(1) promises an answer to each mark (RFC 9331, 4.3).
                EcnMode::Off
            } else {
                EcnMode::L4s
            },
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([
            ("target_rate", self.target * self.damp),
            ("ref_wnd", self.window),
            ("ref_wnd_i", self.maximum()),
            ("l4s_alpha", self.alpha.get()),
            ("qdelay", self.delay.queue()),
            ("qdelay_avg", self.delay.average()),
            ("qdelay_target", self.goal()),
            ("competes", f64::from(u8::from(self.competes()))),
            ("s_rtt", self.delay.srtt()),
        ]);
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}
