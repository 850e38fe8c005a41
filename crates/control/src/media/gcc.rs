//! Google Congestion Control, in two versions: libwebrtc's of today (trendline, AIMD, loss v2, probes, detection of
//! application-limited regions) and the Kalman filter with REMB of draft-ietf-rmcat-gcc-02 (Carlucci et al., "Analysis
//! and Design of the Google Congestion Control for Web Real-Time Communication", `MMSys` 2016).
//!
//! GCC does not speak ECN: its packets are Not-ECT. Not here of libwebrtc: probes after a recovered drop, the congestion
//! window of field trials, and the network-state estimator's slot.

mod aimd;
mod capacity;
mod detector;
mod groups;
mod kalman;
mod loss;
mod probe;
mod robust;
#[cfg(test)]
mod tests;
mod throughput;
mod trendline;

use slackwater_core::{Duration, Instant, Rate};

use self::aimd::Aimd;
use self::detector::{Detector, Usage};
use self::groups::{Delta, Groups};
use self::kalman::Kalman;
use self::loss::{LossRate, LossSteps};
use self::probe::Prober;
use self::robust::Robust;
use self::throughput::Throughput;
use self::trendline::Trendline;
use super::Packets;
use super::inbox::{Inbox, News};
use super::silence::{FACTOR, Silence};
use crate::registry::{AnyMedia, Entry};
use crate::{EcnMode, Encoder, Feedback, Intent, MediaController, PathView, Sent};

/// What the registry knows of them.
pub(crate) const ENTRIES: &[Entry<AnyMedia>] = &[
    Entry {
        name: "gcc",
        title: "GCC",
        about: "Google Congestion Control as in libwebrtc: trendline, AIMD, loss v2, probes",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyMedia::Gcc(Gcc::webrtc(&cfg.encoder).into()))
        },
        ..Entry::MEDIA
    },
    Entry {
        name: "gcc-remb",
        title: "GCC (REMB)",
        about: "Google Congestion Control by draft-ietf-rmcat-gcc-02: Kalman filter, REMB",
        make: |cfg, p| {
            p.none()?;
            Ok(AnyMedia::Gcc(Gcc::remb(&cfg.encoder).into()))
        },
        ..Entry::MEDIA
    },
];

/// Pacing rate in target rates (libwebrtc, `kDefaultPaceMultiplier`).
const PACE: f64 = 2.5;
/// REMB is sent once in this time, or at once where the rate fell below this share of the last one.
const REMB_EVERY: Duration = Duration::from_secs(1);
const REMB_DROP: f64 = 0.97;

/// What estimates the delay's trend.
#[derive(Clone, Debug)]
enum Filter {
    Trendline(Box<Trendline>),
    Kalman(Kalman),
}

/// What measures the rate of arrival.
#[derive(Clone, Debug)]
enum Meter {
    Robust(Robust),
    Windows(Throughput),
}

impl Meter {
    fn rate(&self) -> Option<f64> {
        match self {
            Self::Robust(meter) => meter.rate(),
            Self::Windows(meter) => meter.rate(),
        }
    }
}

/// What loss does, and how the delay-based rate reaches the sender.
#[derive(Clone, Debug)]
enum Version {
    /// The sender computes all; probes.
    Sender {
        loss: Box<LossRate>,
        prober: Box<Prober>,
    },
    /// The receiver tells its rate by REMB.
    Remb {
        loss: LossSteps,
        /// The last told rate in bit/s, and when.
        told: f64,
        at: Option<Instant>,
    },
}

/// GCC.
#[derive(Clone, Debug)]
pub struct Gcc {
    inbox: Inbox,
    silence: Silence,
    packets: Packets,
    groups: Groups,
    filter: Filter,
    detector: Detector,
    meter: Meter,
    /// What it gave last, bit/s.
    acked: Option<f64>,
    aimd: Aimd,
    version: Version,
    /// Of the loss-based part, bit/s.
    loss_rate: f64,
    target: f64,
    least: f64,
    most: f64,
    offset: f64,
    /// Over-use began since the last feedback.
    began: bool,
}

impl Gcc {
    /// libwebrtc's of today.
    pub fn webrtc(encoder: &Encoder) -> Self {
        let version = Version::Sender {
            loss: Box::new(LossRate::new()),
            prober: Box::new(Prober::new()),
        };
        let filter = Filter::Trendline(Box::default());
        let meter = Meter::Robust(Robust::default());
        Self::new(encoder, filter, Detector::WEBRTC, meter, version)
    }

    /// The draft's, with REMB.
    pub fn remb(encoder: &Encoder) -> Self {
        let start = encoder.start.as_bps() as f64;
        let version = Version::Remb {
            loss: LossSteps::new(start),
            told: start,
            at: None,
        };
        Self::new(
            encoder,
            Filter::Kalman(Kalman::default()),
            Detector::DRAFT,
            Meter::Windows(Throughput::default()),
            version,
        )
    }

    fn new(
        encoder: &Encoder,
        filter: Filter,
        speed: (f64, f64),
        meter: Meter,
        version: Version,
    ) -> Self {
        let least = encoder.least.as_bps() as f64;
        let most = (encoder.most.as_bps() as f64).max(least);
        let start = (encoder.start.as_bps() as f64).clamp(least, most);
        Self {
            inbox: Inbox::new(),
            silence: Silence::default(),
            packets: Packets::default(),
            groups: Groups::default(),
            filter,
            detector: Detector::new(speed),
            meter,
            acked: None,
            aimd: Aimd::new(start, least, most),
            version,
            loss_rate: start,
            target: start,
            least,
            most,
            offset: 0.0,
            began: false,
        }
    }

    /// Goes on from the encoder's rate (payload bit/s) that another controller had found, with what it has seen meanwhile (ours).
    pub(super) fn resume(&mut self, now: Instant, encoder: f64, packets: Packets) {
        self.packets = packets;
        self.target = (encoder * packets.overhead()).clamp(self.least, self.most);
        self.aimd.set(now, self.target);
    }

    fn on_delta(&mut self, delta: &Delta) {
        self.offset = match &mut self.filter {
            Filter::Trendline(line) => line.update(delta),
            Filter::Kalman(filter) => filter.update(delta),
        };
        let before = self.detector.usage();
        self.detector.update(delta.at, self.offset, delta.sent);
        self.began |= before != Usage::Over && self.detector.usage() == Usage::Over;
    }

    /// Where the media holds the rate, it is no measure of the link.
    fn is_limited(&self, feedback: &Feedback<'_>) -> bool {
        let alr = match &self.version {
            Version::Sender { prober, .. } => prober.limited(),
            Version::Remb { .. } => false,
        };
        alr || feedback.app_limited
    }

    fn combine(&mut self, now: Instant, sent: Instant, seen: Seen, limited: bool) {
        let delay_rate = self.aimd.rate();
        let acked = self.acked.filter(|_| !limited);
        let (most, before) = (self.most, self.target);
        let rate = match &mut self.version {
            Version::Sender { loss, prober } => {
                let packets = (seen.received + seen.lost, seen.lost, seen.bytes);
                let rate = loss.update(sent, packets, delay_rate, acked);
                let rate = rate.unwrap_or(delay_rate);
                prober.on_target(now, rate, most);
                self.loss_rate = rate;
                rate.min(delay_rate)
            }
            Version::Remb { loss, told, at } => {
                if delay_rate < REMB_DROP * *told || at.is_none_or(|at| now.since(at) >= REMB_EVERY)
                {
                    *told = delay_rate;
                    *at = Some(now);
                }
                let packets = seen.received + seen.lost;
                self.loss_rate = loss.update(now, packets, seen.lost, most);
                let rate = self.loss_rate.min(*told);
                // The sender's rate is what the loss-based part goes on from.
                loss.set(rate.max(self.least));
                rate
            }
        };
        self.target = rate.clamp(self.least, self.most);
        if seen.received == 0 {
            self.target = self.target.min(before);
        }
    }
}

/// What a feedback told anew.
#[derive(Clone, Copy, Debug, Default)]
struct Seen {
    received: u32,
    lost: u32,
    bytes: u64,
}

impl MediaController for Gcc {
    fn on_sent(&mut self, now: Instant, path: &PathView, sent: &Sent) {
        let now = self.inbox.clock(now);
        self.silence.on_sent(now, path.srtt);
        if let Version::Sender { prober, .. } = &mut self.version {
            prober.on_sent(now, sent.bytes.0, self.target, self.most);
        }
    }

    fn on_feedback(&mut self, now: Instant, path: &PathView, feedback: &Feedback<'_>) {
        let now = self.inbox.clock(now);
        self.packets.see(path);
        let mut seen = Seen::default();
        let mut newest = Instant::ZERO;
        let mut probed = None;
        for packet in feedback.packets {
            let Some(news) = self.inbox.admit(packet) else {
                continue;
            };
            newest = newest.max(packet.sent);
            seen.bytes = seen.bytes.saturating_add(packet.bytes.0);
            let (News::Received, Some(arrived)) = (news, packet.arrived) else {
                seen.lost += 1;
                continue;
            };
            seen.received += 1;
            match &mut self.meter {
                Meter::Robust(meter) => meter.on_packet(packet.sent, arrived, packet.bytes.0),
                Meter::Windows(meter) => meter.on_arrival(arrived, packet.bytes.0),
            }
            if let Some(delta) = self.groups.add(now, packet.sent, arrived) {
                self.on_delta(&delta);
            }
            if let Version::Sender { prober, .. } = &mut self.version {
                let result = prober.on_packet(packet.sent, arrived, packet.bytes.0);
                probed = result.or(probed);
            }
        }
        if seen.received == 0 && seen.lost == 0 {
            return;
        }
        let limited = self.is_limited(feedback);
        if seen.received > 0 {
            self.silence.on_news();
            self.acked = self.meter.rate();
            let usage = self.detector.usage();
            let began = core::mem::take(&mut self.began);
            match probed {
                // The receiver sees each group, and answers the first that over-uses the link.
                _ if began && matches!(self.version, Version::Remb { .. }) => {
                    self.aimd.on_overuse(now, self.acked);
                }
                // What a probe shows may lie below what already flows.
                Some(rate) if usage != Usage::Over => {
                    let acked = self.acked.unwrap_or(0.0);
                    self.aimd
                        .on_probe(now, rate.max(acked.min(self.aimd.rate())));
                }
                _ => {
                    let acked = self.acked;
                    self.aimd.update(now, path.srtt, usage, acked, limited);
                }
            }
        }
        self.combine(now, newest, seen, limited);
    }

    fn on_timer(&mut self, now: Instant, _path: &PathView) {
        let now = self.inbox.clock(now);
        if self.silence.on_timer(now) {
            let rate = (FACTOR * self.target).max(self.least);
            self.aimd.set(now, rate.min(self.aimd.rate()));
            self.target = rate;
            if let Version::Remb { loss, told, .. } = &mut self.version {
                loss.set(rate);
                *told = rate;
            }
        }
    }

    fn next_timer(&self) -> Option<Instant> {
        self.silence.deadline()
    }

    fn intent(&self) -> Intent {
        // Overhead counts against the estimate, as in libwebrtc.
        let overhead = self.packets.overhead();
        let target = (self.target / overhead).max(self.least);
        let probe = match &self.version {
            Version::Sender { prober, .. } => prober.rate(),
            Version::Remb { .. } => None,
        };
        let pacing = (PACE * self.target).max(probe.unwrap_or(0.0));
        let rate = |bps: f64| Rate::from_bps((bps + 0.5) as u64);
        Intent {
            target: Some(rate(target)),
            pacing: Some(rate(probe.unwrap_or(pacing))),
            padding: probe.map_or(Rate::ZERO, rate),
            ecn: EcnMode::Off,
            ..Intent::default()
        }
    }

    fn snapshot(&self, out: &mut Vec<(&'static str, f64)>) {
        let usage = match self.detector.usage() {
            Usage::Normal => 0.0,
            Usage::Over => 1.0,
            Usage::Under => 2.0,
        };
        out.extend([
            ("target_rate", self.target),
            ("delay_rate", self.aimd.rate()),
            ("loss_rate", self.loss_rate),
            ("acked_rate", self.acked.unwrap_or(0.0)),
            ("offset", self.offset),
            ("threshold", self.detector.threshold()),
            ("usage", usage),
        ]);
    }

    fn name(&self) -> &'static str {
        match self.version {
            Version::Sender { .. } => "gcc",
            Version::Remb { .. } => "gcc-remb",
        }
    }

    fn clone_box(&self) -> Box<dyn MediaController> {
        Box::new(self.clone())
    }
}
