//! Rate controller (aL4S-CC, section IV-C): by what the rate should vary.

use slackwater_core::Duration;
use slackwater_signal::MarkingScheme;

use super::congestion::GRADIENT;
use super::params::{AlphaMap, Params};

/// A flow above its fair rate falls at most so many times as fast as published. At four times, which equal flows do not
/// need, a UE alone in a fading cell lost 15 points of utilisation, at 1.5 two.
const FALL: f64 = 1.1;

/// What a feedback says, as the trackers read it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signs {
    /// Fraction of marked packets.
    pub fce: f64,
    /// Delay gradient.
    pub gradient: f64,
    /// tau, seconds without a mark.
    pub free: f64,
    /// Packet delay variation in seconds.
    pub pdv: f64,
}

/// How the rate should vary.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Variation {
    /// By this share per second.
    PerSecond(f64),
    /// By this share at once, and at least by the share per second.
    AtOnce {
        /// Share of the rate, negative or zero.
        share: f64,
        /// 1/s, negative.
        at_least: f64,
    },
}

/// The controller's constants for one service and one marker.
#[derive(Clone, Copy, Debug)]
pub struct RateController {
    alpha: AlphaMap,
    /// TE in seconds.
    target: f64,
    /// TQ: what of TE a queue may take.
    queue: Duration,
    /// eq. 9.
    gamma: f64,
    /// K, zero without `aimd_share`.
    share_growth: f64,
}

impl RateController {
    /// For a service; `aware` of the marker where `params` tell about it (cL4S).
    pub fn new(params: &Params, aware: bool) -> Self {
        let mut controller = Self {
            alpha: params.alpha,
            target: params.target.as_secs_f64(),
            // Section V: encoding and the way through the simulated network take about 5 ms.
            queue: params.target.saturating_sub(Duration::from_millis(5)),
            gamma: 1.0,
            share_growth: if params.share.is_some() {
                params.share_growth
            } else {
                0.0
            },
        };
        if aware && let Some(scheme) = params.scheme {
            controller.on_scheme(scheme);
        }
        controller
    }

    /// The marker's thresholds became known.
    pub fn on_scheme(&mut self, scheme: MarkingScheme) {
        self.gamma = gamma(self.queue, scheme);
    }

    /// gamma (eq. 9).
    pub const fn gamma(&self) -> f64 {
        self.gamma
    }

    /// The variation for `signs`. `over` is the rate in fair shares, 1 without `aimd_share`.
    pub fn vary(&self, signs: &Signs, over: f64) -> Variation {
        let ease = -signs.gradient * signs.fce * self.gamma * over.min(FALL);
        if signs.fce <= 0.0 {
            // eq. 5, less one: right after congestion "the increase of RV is minimal". K/over is `aimd_share`.
            let grown = libm::pow(alpha(self.alpha, signs.gradient), signs.free) - 1.0;
            Variation::PerSecond(grown + self.share_growth / over)
        } else if signs.fce < 1.0 {
            // eq. 8.
            Variation::PerSecond(ease)
        } else {
            Variation::AtOnce {
                share: drop(signs.pdv, self.target),
                // A standing queue does not vary, so eq. 12 alone would let it stand.
                at_least: ease,
            }
        }
    }
}

/// The base of growth (eq. 6 and 7): 1.03 to 1.07 over the gradient's range.
pub fn alpha(map: AlphaMap, gradient: f64) -> f64 {
    let middle = f64::midpoint(GRADIENT.0, GRADIENT.1);
    let offset = 0.02 * (gradient - middle) / (GRADIENT.1 - middle);
    match map {
        AlphaMap::Direct => 1.05 + offset,
        AlphaMap::Inverse => 1.05 - offset,
    }
}

/// gamma (eq. 9) for a queue that may last TQ. Where TQ equals the high threshold cL4S acts as sL4S (section V-A), so
/// the equation's strict comparison is read as "at most".
pub fn gamma(queue: Duration, scheme: MarkingScheme) -> f64 {
    let tq = queue.as_secs_f64().max(1e-3);
    let low = scheme.low.as_secs_f64();
    let high = scheme.high.as_secs_f64();
    if high <= tq {
        (high / tq).max(0.1)
    } else if low < tq {
        ((high - low) / (tq - low)).min(10.0)
    } else {
        (10.0 + low / tq).min(20.0)
    }
}

/// The share of the rate to drop when every packet is marked (eq. 10 to 12), zero or negative; `pdv` and `target` in
/// seconds.
pub fn drop(pdv: f64, target: f64) -> f64 {
    // eq. 11: the "low threshold eta of TE" is a tenth of it.
    let eta = 0.1 * target;
    if pdv <= eta {
        return 0.0;
    }
    let ratio = eta / pdv;
    if pdv >= target {
        return ratio - 1.0;
    }
    // eq. 10.
    match libm::ceil(3.0 * (target - pdv) / target) as u32 {
        0 | 1 => ratio - 1.0,
        2 => ratio.sqrt() - 1.0,
        _ => libm::cbrt(ratio) - 1.0,
    }
}
