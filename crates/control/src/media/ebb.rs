//! `ebb` as a controller of an encoder: what the base station's counters make of the flow sets its rate. GCC steers without them.
//!
//! The counters give a rate that the radio will have, and how much may be on its way (`RadioClock`, as for TCP). An encoder needs a
//! mean rate, and its frames are bursts. So its rate is the radio's over `pace`, as cL4S paces by 1.1 target rates and GCC by
//! 2.5: a frame has then left before the next one comes. What is too much or too little on its way and at the pacer is made up within
//! `drain`.

mod params;
#[cfg(test)]
mod tests;

use slackwater_core::{Bytes, Duration, Instant, Rate};

use self::params::Params;
use super::gcc::Gcc;
use super::inbox::{Inbox, News};
use super::silence::{FACTOR, Silence};
use super::{LONGEST, Packets};
use crate::phy::ebb::{MODES, RadioClock};
use crate::registry::{AnyMedia, Entry, Reports};
use crate::{EcnMode, Encoder, Feedback, Intent, MediaController, PathReport, PathView, Sent};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry<AnyMedia>] = &[Entry {
    name: "ebb-media",
    title: "ebb for media",
    about: "Ours: an encoder by what leaves the radio, as the base station counts it; GCC without reports; ebb-media:pace=1.1,drain=50",
    reports: Reports::Counters,
    modes: Some(MODES),
    parameters: &params::PARAMETERS,
    make: |cfg, p| {
        let params = Params::read(p)?;
        Ok(AnyMedia::Ebb(
            Ebb::new(params, cfg.mss, &cfg.encoder).into(),
        ))
    },
    ..Entry::MEDIA
}];

/// The encoder has this part of the radio's rate at least, whatever waits: that of the pace of docs/ebb.md, rule 5.
const LEAST: f64 = 0.05;
/// GCC goes on from the rate that it had so short a time ago: a base station that lies is found out sooner.
const RECENT: Duration = Duration::from_secs(10);
/// A burst that overruns the radio's buffer is what drops show: the encoder's frames are paced by its rate then, and faster again within this
/// time. Ours.
const BURSTS: Duration = Duration::from_secs(10);
/// So many packets more in a probe, over this time, seconds: two are not counted there.
const PROBE_PACKETS: f64 = 4.0;
const PROBE_WINDOW: f64 = 0.1;

/// The sender.
#[derive(Clone, Debug)]
pub struct Ebb {
    params: Params,
    /// What the counters make of the flow, in IP bytes.
    clock: RadioClock,
    /// Hears all feedback, and steers where the radio does not.
    gcc: Box<Gcc>,
    inbox: Inbox,
    silence: Silence,
    /// Share of the rate that is left where feedback stays away.
    damp: f64,
    packets: Packets,
    /// Rate of the encoder by the last report, payload bit/s.
    target: f64,
    least: f64,
    most: f64,
    /// GCC's rate when the radio began to steer, and when that was, payload bit/s.
    own: Option<(Instant, f64)>,
    /// Bytes that the host held at the last report.
    queued: f64,
    /// Bytes that the radio had dropped by the last report, and when it last dropped some.
    dropped: u64,
    drops: Option<Instant>,
    /// The part of the pace beyond the radio's rate that is used.
    burst: f64,
}

impl Ebb {
    /// A sender without reports, whose packets carry `mss` bytes of payload.
    pub(crate) fn new(params: Params, mss: u32, encoder: &Encoder) -> Self {
        let least = encoder.least.as_bps() as f64;
        let most = (encoder.most.as_bps() as f64).max(least);
        Self {
            params,
            clock: RadioClock::new(params.radio, mss).limited(),
            gcc: Gcc::webrtc(encoder).into(),
            inbox: Inbox::new(),
            silence: Silence::default(),
            damp: 1.0,
            packets: Packets::default(),
            target: (encoder.start.as_bps() as f64).clamp(least, most),
            least,
            most,
            own: None,
            queued: 0.0,
            dropped: 0,
            drops: None,
            burst: 1.0,
        }
    }

    /// Takes what leads on from the host.
    fn see(&mut self, path: &PathView) {
        self.packets.see(path);
        self.queued = path.queued.0 as f64;
        self.clock.see_ip(path);
    }

    /// The encoder's rate, payload bit/s, with what feedback that stays away leaves of it.
    fn rate(&self) -> f64 {
        (self.target * self.damp).clamp(self.least, self.most)
    }

    /// Sets the encoder's rate by the counters.
    fn aim(&mut self) {
        let aim = self.clock.aimed();
        let promised = self.clock.promised();
        let spare = aim.target - self.clock.outstanding() as f64 - self.queued;
        let wire = if aim.probes {
            // All that is promised, and what a window of rule 8 does not count.
            promised + PROBE_PACKETS * f64::from(self.packets.wire) / PROBE_WINDOW
        } else {
            let most = if self.clock.is_met() {
                promised * self.params.pace
            } else {
                promised
            };
            let wire = (promised + spare / self.params.drain) / self.params.pace;
            wire.clamp(LEAST * promised, most)
        };
        self.target = (8.0 * wire / self.packets.overhead()).clamp(self.least, self.most);
    }

    /// How much faster than the radio frames may leave.
    fn look_for_drops(&mut self, now: Instant) {
        let dropped = self.clock.dropped();
        if dropped > self.dropped {
            self.drops = Some(now);
        }
        self.dropped = dropped;
        self.burst = self.drops.map_or(1.0, |at| {
            (now.since(at).as_secs_f64() / BURSTS.as_secs_f64()).min(1.0)
        });
    }

    /// GCC goes on from the present rate.
    fn hand_over(&mut self, now: Instant) {
        if self.clock.take_left().is_some() {
            // Where it is the base station's word that failed, the rate is of that word.
            let own = self.own.take().filter(|(at, _)| now.since(*at) < RECENT);
            let target = match own {
                Some((_, rate)) if self.clock.is_banned(now) => rate,
                // What was held back to drain a queue is not what the path has.
                _ => self
                    .clock
                    .apart()
                    .map_or(0.0, |rate| 8.0 * rate / self.packets.overhead())
                    .clamp(self.rate(), self.most),
            };
            self.gcc.resume(now, target, self.packets);
        }
    }
}

impl MediaController for Ebb {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        self.gcc.on_sent(now, path, sent);
        let now = self.inbox.clock(now);
        self.see(path);
        self.clock.on_sent(now, sent.bytes.0, 0);
        self.silence.on_sent(now, path.srtt);
    }

    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        self.gcc.on_feedback(now, path, feedback);
        self.inbox.clock(now);
        self.see(path);
        let mut received = false;
        for packet in feedback.packets {
            if self.inbox.admit(packet) == Some(News::Received) {
                self.clock.on_acked(packet.bytes.0.min(LONGEST));
                received = true;
            }
        }
        if received {
            self.silence.on_news();
            self.damp = 1.0;
        }
    }

    fn takes_counters(&self) -> bool {
        true
    }

    fn on_report(&mut self, now: Instant, path: &PathView, report: &PathReport) {
        let PathReport::Counters(counters) = report else {
            return;
        };
        let now = self.inbox.clock(now);
        self.see(path);
        let steered = self.clock.steers();
        self.clock.on_counters(now, counters);
        self.look_for_drops(now);
        if self.clock.steers() {
            if !steered {
                self.own = self.gcc.intent().target.map(|t| (now, t.as_bps() as f64));
            }
            self.aim();
        }
        self.hand_over(now);
    }

    fn on_timer(&mut self, now: Instant, path: &PathView) {
        self.gcc.on_timer(now, path);
        let now = self.inbox.clock(now);
        self.see(path);
        if self.silence.on_timer(now) {
            self.damp *= FACTOR;
        }
        self.clock.on_timer(now);
        self.hand_over(now);
    }

    fn next_timer(&self) -> Option<Instant> {
        let timers = [
            self.gcc.next_timer(),
            self.silence.deadline(),
            self.clock.deadline(),
        ];
        timers.into_iter().flatten().min()
    }

    fn intent(&self) -> Intent {
        if !self.clock.steers() {
            return self.gcc.intent();
        }
        let rate = |bps: f64| Rate::from_bps((bps + 0.5) as u64);
        let target = self.rate();
        // The radio takes what its queue lacks at once, and no slower than frames come.
        let aim = self.clock.aimed();
        let radio = 8.0 * aim.rate;
        let pace = aim.pace.as_bps() as f64;
        let pace = (radio.min(pace) + self.burst * (pace - radio).max(0.0))
            .max(target * self.params.pace * self.packets.overhead());
        let window = (self.clock.in_flight() as f64 + self.clock.room()) as u64;
        Intent {
            window: self
                .params
                .window
                .then(|| Bytes(window.max(u64::from(self.packets.wire)))),
            target: Some(rate(target)),
            pacing: Some(rate(pace)),
            ecn: EcnMode::Off,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        self.clock.snapshot(out);
        out.extend([("encoder", self.target * 1e-6), ("queued", self.queued)]);
    }

    fn name(&self) -> &'static str {
        "ebb-media"
    }

    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}
