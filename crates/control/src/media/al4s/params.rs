//! Parameters of aL4S-CC and its two profiles.

use slackwater_core::Duration;
use slackwater_signal::MarkingScheme;

use super::rival::RivalRule;
use crate::registry::{Config, Parameter, Parameters};

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
    /// R0 is what the base station's counters promise the flow (ours), `share` where there are none.
    pub counted: bool,
    /// Growth K at the fair rate in 1/s, with `aimd_share`.
    pub share_growth: f64,
    /// What stands in for marks where none come (ours); `None` for the published equations.
    pub guard: Option<Guard>,
    /// Goes by losses beside a flow that holds a queue (ours); needs the guard.
    pub rival: RivalRule,
    /// Pacing rate in target rates. 1.0 to 1.2 keeps a frame's burst from crossing the low threshold by itself.
    pub pace: f64,
    /// A frame leaves before the next one is captured (ours). Frames of unequal sizes else wait for each other: at 1.1 rates
    /// the pacer is busy for nine tenths of the time.
    pub prompt: bool,
}

impl Params {
    /// As published, with what the equations leave open resolved.
    pub const PAPER: Self = Self {
        target: Duration::from_millis(60),
        scheme: None,
        history: 10,
        alpha: AlphaMap::Direct,
        share: None,
        counted: false,
        share_growth: 0.1,
        guard: None,
        rival: RivalRule::Off,
        pace: 1.1,
        prompt: false,
    };

    /// With a rate of its own for each flow to strive for, and a guard for paths without ECN.
    pub const DEFAULT: Self = Self {
        share: Some(5e6),
        guard: Some(Guard {
            low: Duration::from_millis(15),
            high: Duration::from_millis(40),
        }),
        rival: RivalRule::Marked,
        prompt: true,
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
    pub fn parse(text: &str) -> Result<Self, String> {
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
    ) -> Result<(), String> {
        let parameter = Parameter::of(&PARAMETERS, key, value)?;
        let number = || parameter.read(value);
        let word = || parameter.pick(value);
        let ms = |n: f64| Duration::from_secs_f64(n * 1e-3);
        match parameter.key {
            "te" => self.target = ms(number()?),
            "low" => *low = Some(ms(number()?)),
            "high" => *high = Some(ms(number()?)),
            "w" => self.history = number()? as usize,
            "alpha" => {
                self.alpha = match word()? {
                    "direct" => AlphaMap::Direct,
                    _ => AlphaMap::Inverse,
                }
            }
            "r0" => {
                self.counted = value == "ebb";
                self.share = match value {
                    "off" => None,
                    "ebb" => Self::DEFAULT.share,
                    _ => Some(number()? * 1e6),
                };
            }
            "k" => self.share_growth = number()?,
            "guard" => {
                self.guard = match word()? {
                    "off" => None,
                    "wired" => Some(Guard {
                        low: Duration::from_millis(10),
                        high: Duration::from_millis(30),
                    }),
                    _ => Self::DEFAULT.guard,
                }
            }
            "rival" => {
                self.rival = match word()? {
                    "on" => RivalRule::Marked,
                    "standing" => RivalRule::Standing,
                    "dips" => RivalRule::Dips,
                    _ => RivalRule::Off,
                }
            }
            "pace" => self.pace = number()?,
            "prompt" => self.prompt = word()? == "on",
            other => unreachable!("{other} is declared and not read"),
        }
        Ok(())
    }
}

/// The profile, which stands first and without a key.
const PROFILE: Parameter = Parameter::word(
    "profile",
    "default",
    &["default", "paper"],
    "paper: the published equations, without what we added; stands first",
)
.bare();

/// What may follow `al4s-c:` and `al4s-s:`.
pub(super) const ALL: [Parameter; 12] = {
    let [te, low, high, w, alpha, r0, k, guard, rival, pace, prompt] = PARAMETERS;
    [
        PROFILE, te, low, high, w, alpha, r0, k, guard, rival, pace, prompt,
    ]
};

/// What may follow `l4s-cc:`.
pub(in crate::media) const TARGET: [Parameter; 1] = [PARAMETERS[0]];

const PARAMETERS: [Parameter; 11] = [
    Parameter::number(
        "te",
        60.0,
        (6.0, 10_000.0),
        "ms",
        "TE, target end-to-end delay of the service (aL4S-CC: 25, 60 or 150 ms)",
    )
    .without("the application's, else 60"),
    Parameter::number(
        "low",
        0.0,
        (0.0, 1000.0),
        "ms",
        "the marker's low threshold, where it is configured; with `high`",
    )
    .without("as reported"),
    Parameter::number(
        "high",
        0.0,
        (0.1, 1000.0),
        "ms",
        "the marker's high threshold, where it is configured; with `low`",
    )
    .without("as reported"),
    Parameter::number(
        "w",
        10.0,
        (1.0, 64.0),
        "",
        "feedbacks of the history window Z (aL4S-CC, eq. 3)",
    ),
    Parameter::word(
        "alpha",
        "direct",
        &["direct", "inverse"],
        "how the delay's gradient sets the base of growth: the larger the faster, or the slower (aL4S-CC, eq. 6 and 7)",
    ),
    Parameter {
        words: &["off", "ebb"],
        ..Parameter::number(
            "r0",
            5.0,
            (0.01, 1e5),
            "Mbit/s",
            "expected fair rate of a flow (ours); off: the published equations; ebb: as the base station counts, 5 without it",
        )
    },
    Parameter::number(
        "k",
        0.1,
        (0.0, 10.0),
        "1/s",
        "growth at the fair rate (ours)",
    ),
    Parameter::word(
        "guard",
        "on",
        &["on", "wired", "off"],
        "queue delay stands in for marks where none come, from 15 to 40 ms, wired from 10 to 30 ms (ours)",
    ),
    Parameter::word(
        "rival",
        "on",
        &["on", "dips", "standing", "off"],
        "goes by losses beside a flow that holds a queue (ours); dips: beside BBR too; needs the guard",
    ),
    Parameter::number("pace", 1.1, (1.0, 10.0), "", "pacing rate in target rates"),
    Parameter::word(
        "prompt",
        "on",
        &["on", "off"],
        "a frame leaves before the next one is captured, faster where it must (ours)",
    ),
];

fn wrong(key: &str, found: &str, expected: &str) -> String {
    let key = if key.is_empty() {
        String::new()
    } else {
        format!("{key}: ")
    };
    format!("{key}found \"{found}\", expected {expected}")
}
