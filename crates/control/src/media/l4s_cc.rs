//! L4S-CC, the predecessor of aL4S-CC (Son et al.: "L4S Congestion Control Algorithm for Interactive Low Latency
//! Applications over 5G", ICME 2023), as the later paper's section II tells it in words. The growth of its three phases
//! is not published: the constants here came closest to the later paper's table 2 among 48 (the study).

use slackwater_core::{Duration, Ecn, Instant};

use super::al4s::Params;
use super::al4s::pdv::PdvTracker;
use super::al4s::rate_controller::Variation;
use super::al4s::rate_scaler::RateScaler;
use super::inbox::{Inbox, News};
use super::silence::{FACTOR, Silence};
use super::{Packets, media_intent};
use crate::registry::{AnyMedia, Entry, Marks};
use crate::{EcnMode, Encoder, Feedback, Intent, MediaController, PathView, Sent};

/// What the registry knows of it.
pub(crate) const ENTRIES: &[Entry<AnyMedia>] = &[Entry {
    name: "l4s-cc",
    title: "L4S-CC",
    about: "L4S-CC, aL4S-CC's predecessor, as told in words",
    parameters: &super::al4s::TARGET,
    make: |cfg, p| {
        // The service's delay is all that it takes.
        let target = Params::configured(Params::PAPER, cfg, p)?.target;
        Ok(AnyMedia::L4sCc(L4sCc::new(target, &cfg.encoder).into()))
    },
    marks: Marks::Queue,
    ..Entry::MEDIA
}];

/// Until when after a mark, in seconds, the rate varies by how much per second: "slight decrease until 300 ms",
/// "gradual increase from 300 ms to 1 s", "aggressive increase over 1000 ms".
const PHASES: [(f64, f64); 3] = [(0.3, -0.2), (1.0, 0.03), (f64::INFINITY, 0.1)];
/// "in proportion to the CE-marking ratio from 13% to 64%/sec pace".
const DECREASE: (f64, f64) = (0.13, 0.64);

/// L4S-CC.
#[derive(Clone, Debug)]
pub struct L4sCc {
    /// Target end-to-end delay in seconds.
    target: f64,
    inbox: Inbox,
    pdv: PdvTracker,
    scaler: RateScaler,
    silence: Silence,
    packets: Packets,
    /// Seconds without a mark.
    free: f64,
    fce: f64,
}

impl L4sCc {
    /// For a service with an end-to-end delay of `target`.
    pub fn new(target: Duration, encoder: &Encoder) -> Self {
        Self {
            target: target.as_secs_f64(),
            inbox: Inbox::new(),
            pdv: PdvTracker::default(),
            scaler: RateScaler::new(encoder),
            silence: Silence::default(),
            packets: Packets::default(),
            free: 0.0,
            fce: 0.0,
        }
    }
}

fn vary(fce: f64, free: f64, pdv: f64, target: f64) -> Variation {
    if fce <= 0.0 {
        let phase = PHASES.iter().find(|(until, _)| free < *until);
        return Variation::PerSecond(phase.map_or(0.0, |(_, rate)| *rate));
    }
    let ease = -(DECREASE.0 + (DECREASE.1 - DECREASE.0) * fce);
    if fce < 1.0 {
        return Variation::PerSecond(ease);
    }
    // "sharply dropped in order to prevent the target End-to-end (E2E) delay from being surpassed".
    let eta = 0.1 * target;
    Variation::AtOnce {
        share: if pdv > eta { eta / pdv - 1.0 } else { 0.0 },
        at_least: ease,
    }
}

impl MediaController for L4sCc {
    fn on_sent(&mut self, now: Instant, path: &PathView, _sent: &Sent) {
        let now = self.inbox.clock(now);
        self.silence.on_sent(now, path.srtt);
    }

    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        let now = self.inbox.clock(now);
        self.packets.see(path);
        let (mut received, mut marked) = (0u32, 0u32);
        let mut last: Option<(Instant, Instant)> = None;
        for packet in feedback.packets {
            let news = self.inbox.admit(packet);
            let (Some(News::Received), Some(arrived)) = (news, packet.arrived) else {
                continue;
            };
            received += 1;
            marked += u32::from(packet.ecn == Ecn::Ce);
            if last.is_none_or(|(sent, _)| packet.sent >= sent) {
                last = Some((packet.sent, arrived));
            }
        }
        let Some((sent, arrived)) = last else {
            return;
        };
        self.silence.on_news();
        let dt = self.scaler.interval(now);
        self.fce = f64::from(marked) / f64::from(received);
        self.free = if marked > 0 { 0.0 } else { self.free + dt };
        let pdv = self.pdv.update(sent, arrived);
        self.scaler
            .apply(vary(self.fce, self.free, pdv, self.target), dt);
    }

    fn on_timer(&mut self, now: Instant, _path: &PathView) {
        let now = self.inbox.clock(now);
        if self.silence.on_timer(now) {
            self.scaler.set(FACTOR * self.scaler.rate());
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.silence.deadline()
    }

    fn intent(&self) -> Intent {
        media_intent(self.scaler.target(), 1.1, self.packets, EcnMode::L4s)
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        out.extend([
            ("target_rate", self.scaler.rate()),
            ("fce", self.fce),
            ("tau", self.free),
        ]);
    }

    fn name(&self) -> &'static str {
        "l4s-cc"
    }

    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_phases_follow_a_mark_and_decreases_follow_the_fraction() {
        let rate = |fce, free| match vary(fce, free, 0.0, 0.06) {
            Variation::PerSecond(rate) => rate,
            Variation::AtOnce { at_least, .. } => at_least,
        };
        assert_eq!(rate(0.0, 0.1), -0.2);
        assert_eq!(rate(0.0, 0.3), 0.03);
        assert_eq!(rate(0.0, 1.0), 0.1);
        assert!((rate(1e-9, 0.0) + 0.13).abs() < 1e-6);
        assert!((rate(0.5, 0.0) + 0.385).abs() < 1e-12);
        assert!((rate(1.0, 0.0) + 0.64).abs() < 1e-12);
        let Variation::AtOnce { share, .. } = vary(1.0, 0.0, 0.045, 0.06) else {
            panic!("all packets are marked");
        };
        assert!((share - (6.0 / 45.0 - 1.0)).abs() < 1e-12);
    }
}
