//! Parameters of aL4S-CC and its two profiles.

use slackwater_core::Duration;
use slackwater_signal::MarkingScheme;

use super::rival::RivalRule;
use crate::phy::xrc::WrongParam;
use crate::registry::{Config, Parameters};

/// How the delay gradient picks the base of growth (eq. 6 and 7).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AlphaMap {
    /// The larger the gradient, the faster: "in proportion to" it.
    Direct,
    /// The larger the gradient, the slower.
    Inverse,
}

/// The guard for paths that do not mark (ours).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Guard {
    /// Queue delay that counts as no mark.
    pub low: Duration,
    /// Queue delay that counts as all packets marked.
    pub high: Duration,
}

/// Parameters of cL4S and sL4S.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// TE, the target end-to-end delay of the service: 25, 60 or 150 ms.
    pub target: Duration,
    /// cL4S's knowledge of the marker, where it is configured and not reported ([`slackwater_signal::PathReport`]).
    pub scheme: Option<MarkingScheme>,
    /// Feedbacks of the history window Z (eq. 3).
    pub history: usize,
    /// How the gradient picks the base of growth.
    pub alpha: AlphaMap,
    /// `aimd_share` (ours): the expected fair rate R0 in bit/s; `None` for the published equations.
    pub share: Option<f64>,
    /// Growth K at the fair rate in 1/s, with `aimd_share`.
    pub share_growth: f64,
    /// What stands in for marks where none come (ours); `None` for the published equations.
    pub guard: Option<Guard>,
    /// Goes by losses beside a flow that holds a queue (ours); needs the guard.
    pub rival: RivalRule,
    /// Pacing rate in target rates. 1.0 to 1.2 keeps a frame's burst from crossing the low threshold by itself.
    pub pace: f64,
}

impl Params {
    /// As published, with what the equations leave open resolved.
    pub const PAPER: Self = Self {
        target: Duration::from_millis(60),
        scheme: None,
        history: 10,
        alpha: AlphaMap::Direct,
        share: None,
        share_growth: 0.1,
        guard: None,
        rival: RivalRule::Off,
        pace: 1.1,
    };

    /// With a rate of its own for each flow to strive for, and a guard for paths without ECN.
    pub const DEFAULT: Self = Self {
        share: Some(5e6),
        guard: Some(Guard {
            low: Duration::from_millis(15),
            high: Duration::from_millis(40),
        }),
        rival: RivalRule::Marked,
        ..Self::PAPER
    };

    /// The parameters that `p` gives, or `default`, for the service of `cfg` where `p` names none.
    pub(crate) fn configured(
        default: Self,
        cfg: &Config,
        p: Parameters<'_>,
    ) -> Result<Self, String> {
        let mut params = p.read(default, Self::parse)?;
        let named = p
            .text()
            .split(',')
            .any(|part| part.trim().starts_with("te="));
        if let Some(service) = cfg.service.filter(|_| !named) {
            params.target = service;
        }
        Ok(params)
    }

    /// These parameters changed by `text`: words and `key=value` pairs between commas. A profile's word (`paper`,
    /// `default`) stands first.
    ///
    /// # Errors
    /// Where a key is unknown or its value out of range.
    pub fn parse(text: &str) -> Result<Self, WrongParam> {
        let mut params = Self::DEFAULT;
        let (mut low, mut high) = (None, None);
        for (i, part) in text.split(',').map(str::trim).enumerate() {
            match part {
                "default" if i == 0 => {}
                "paper" if i == 0 => params = Self::PAPER,
                _ => {
                    let Some((key, value)) = part.split_once('=') else {
                        return Err(wrong("", part, "paper or default first, then key=value"));
                    };
                    params.set(key.trim(), value.trim(), &mut low, &mut high)?;
                }
            }
        }
        match (low, high) {
            (None, None) => {}
            (Some(low), Some(high)) if low <= high => {
                params.scheme = Some(MarkingScheme { low, high });
            }
            _ => {
                return Err(wrong(
                    "low",
                    text,
                    "low and high together, low at most high",
                ));
            }
        }
        Ok(params)
    }

    fn set(
        &mut self,
        key: &str,
        value: &str,
        low: &mut Option<Duration>,
        high: &mut Option<Duration>,
    ) -> Result<(), WrongParam> {
        let number = |least: f64, most: f64, expected| {
            let n = value.parse::<f64>().ok();
            n.filter(|n| (least..=most).contains(n))
                .ok_or_else(|| wrong(key, value, expected))
        };
        let ms = |n: f64| Duration::from_secs_f64(n * 1e-3);
        match key {
            "te" => self.target = ms(number(6.0, 10_000.0, "6 to 10000 (ms)")?),
            "low" => *low = Some(ms(number(0.0, 1000.0, "0 to 1000 (ms)")?)),
            "high" => *high = Some(ms(number(0.1, 1000.0, "0.1 to 1000 (ms)")?)),
            "w" => self.history = number(1.0, 64.0, "1 to 64 feedbacks")? as usize,
            "alpha" => {
                self.alpha = match value {
                    "direct" => AlphaMap::Direct,
                    "inverse" => AlphaMap::Inverse,
                    _ => return Err(wrong(key, value, "direct or inverse")),
                }
            }
            "r0" if value == "off" => self.share = None,
            "r0" => self.share = Some(number(0.01, 1e5, "0.01 to 100000 (Mbit/s), or off")? * 1e6),
            "k" => self.share_growth = number(0.0, 10.0, "0 to 10 (1/s)")?,
            "guard" => {
                self.guard = match value {
                    "off" => None,
                    "wired" => Some(Guard {
                        low: Duration::from_millis(10),
                        high: Duration::from_millis(30),
                    }),
                    "on" => Self::DEFAULT.guard,
                    _ => return Err(wrong(key, value, "on, wired or off")),
                }
            }
            "rival" => {
                self.rival = match value {
                    "on" => RivalRule::Marked,
                    "standing" => RivalRule::Standing,
                    "off" => RivalRule::Off,
                    _ => return Err(wrong(key, value, "on, standing or off")),
                }
            }
            "pace" => self.pace = number(1.0, 10.0, "1 to 10")?,
            _ => {
                return Err(wrong(
                    key,
                    value,
                    "one of te, low, high, w, alpha, r0, k, guard, rival, pace",
                ));
            }
        }
        Ok(())
    }
}

fn wrong(key: &str, found: &str, expected: &'static str) -> WrongParam {
    WrongParam {
        key: key.to_owned(),
        found: found.to_owned(),
        expected,
    }
}
