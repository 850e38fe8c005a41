//! What can be chosen of XRC, and the two profiles.

use core::fmt;

/// How the window grows in the unfairness mode, in segments per RTT ("temporarily large", XRC, section III-B).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alpha {
    /// The target window.
    Target,
    /// Half of it.
    Half,
    /// A quarter of it.
    Quarter,
    /// What the reported rate carries in a smoothed RTT, the queue included; at least the target window.
    Srtt,
}

/// The window after a loss in the unfairness mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Post {
    /// The target window.
    Target,
    /// Half the window, as after any loss.
    Half,
}

/// What to do where the bottleneck lies beyond the radio.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// The paper's: standard TCP up to the target window, then a steady rate until a loss.
    Paper,
    /// Drains the foreign queue and probes with care.
    Drain,
}

/// The delay of the radio's queue that the search for the bottleneck compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The latest report against a window's mean RTT.
    Latest,
    /// Means of the same window.
    Mean,
    /// The same; and the window's least RTT must show the queue as well. HARQ, the wait for uplink grants and TDD delay some
    /// packets of a window and spare others, a standing queue spares none.
    Least,
}

/// XRC's parameters. Times are seconds, windows segments.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Params {
    /// Queuing budget that the sender controls to (lambda).
    pub lambda: f64,
    /// The budget is at least the time of this many segments at the reported rate; zero for none.
    pub least_segments: f64,
    /// RTTs of slow increase before the unfairness mode (N).
    pub rounds: u32,
    /// Added to the least RTT in the target window.
    pub theta: f64,
    /// Most that measured jitter of the radio adds to the least RTT; zero for none.
    pub jitter: f64,
    /// Target window and budget have this many mean changes of the reported rate from round to round on top; zero for none.
    pub spread: f64,
    /// Factor of the target window that a new connection starts with.
    pub gamma: f64,
    /// Pacing in FAST as a multiple of the target window per smoothed RTT; zero for none.
    pub fast_gain: f64,
    /// Pacing elsewhere as a multiple of the window per smoothed RTT, where reports steer a flow that is alone in its queue;
    /// zero for none.
    pub pace: f64,
    /// FAST applies whatever the queue until the target was nearly reached once.
    pub start: bool,
    /// FAST stops where a queue that nobody shares exceeds the budget.
    pub guard: bool,
    /// The unfairness mode needs other active flows in the queue, and a queue that does not drain by itself; alone, the
    /// target window shrinks instead.
    pub gate: bool,
    /// Growth in the unfairness mode.
    pub alpha: Alpha,
    /// The window after a loss in the unfairness mode.
    pub post: Post,
    /// What to do where the bottleneck lies beyond the radio.
    pub beyond: Beyond,
    /// How the bottleneck is looked for.
    pub verdict: Verdict,
    /// Delay on the way back is not queuing: one-way delays tell it apart, where the transport has them, and the target
    /// window covers it.
    pub owd: bool,
    /// The reported rate is believed up to this multiple of the largest delivered rate; zero for no bound.
    pub clamp: f64,
    /// Window of the least RTT; zero for the connection's life.
    pub rtt_window: f64,
    /// A window that was idle for a retransmission timeout decays (RFC 5681, 4.1).
    pub restart: bool,
    /// After a timeout straight to the target, where reports are fresh and no bottleneck beyond the radio is known.
    pub resume: bool,
}

impl Params {
    /// The product's profile: measured improvements over [`Params::PAPER`].
    pub const DEFAULT: Self = Self {
        // One millisecond under the reported budget of 10 ms: a round acts an RTT late.
        lambda: 0.009,
        least_segments: 3.0,
        rounds: 10,
        theta: 0.003,
        jitter: 0.008,
        spread: 1.1,
        gamma: 1.0,
        fast_gain: 1.0,
        pace: 1.2,
        start: true,
        guard: true,
        gate: true,
        alpha: Alpha::Target,
        post: Post::Target,
        beyond: Beyond::Drain,
        verdict: Verdict::Least,
        owd: true,
        clamp: 4.0,
        rtt_window: 0.0,
        restart: true,
        resume: true,
    };

    /// The paper's words and nothing else, where they decide.
    pub const PAPER: Self = Self {
        // XRC, section IV: "The queue budget is 10ms".
        lambda: 0.010,
        least_segments: 0.0,
        // XRC, section III-B: "e.g., N=10".
        rounds: 10,
        theta: 0.0,
        jitter: 0.0,
        spread: 0.0,
        gamma: 1.0,
        fast_gain: 0.0,
        pace: 0.0,
        start: false,
        guard: false,
        gate: false,
        alpha: Alpha::Target,
        post: Post::Target,
        beyond: Beyond::Paper,
        verdict: Verdict::Latest,
        owd: false,
        // Wide enough never to bind an honest agent; without any bound a forged report could ask for everything.
        clamp: 10.0,
        rtt_window: 0.0,
        restart: false,
        resume: false,
    };

    /// These parameters changed by `text`: `key=value` pairs with commas between them.
    ///
    /// | key | value |
    /// |---|---|
    /// | `lambda` | queuing budget, ms |
    /// | `least` | the budget's least number of segments, or `off` |
    /// | `n` | RTTs of slow increase |
    /// | `theta` | slack in the target window, ms |
    /// | `jitter` | most jitter in the target window, ms, or `off` |
    /// | `gamma` | factor of the target window |
    /// | `gain` | pacing in FAST, or `off` |
    /// | `pace` | pacing elsewhere, or `off` |
    /// | `spread` | mean changes of the reported rate on top, or `off` |
    /// | `start`, `guard`, `gate`, `owd`, `restart`, `resume` | `on`, `off` |
    /// | `alpha` | `twnd`, `twnd2`, `twnd4`, `srtt` |
    /// | `post` | `twnd`, `half` |
    /// | `internet` | `paper`, `drain` |
    /// | `verdict` | `latest`, `mean`, `least` |
    /// | `clamp` | times the largest delivered rate, or `off` |
    /// | `minrtt` | window of the least RTT, s, or `off` |
    ///
    /// # Errors
    /// Where a pair has another form, its key is none of these or its value is out of range.
    pub fn with(mut self, text: &str) -> Result<Self, WrongParam> {
        for pair in text.split(',') {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(WrongParam::new("", pair, "key=value"));
            };
            self.set(key.trim(), value.trim())?;
        }
        Ok(self)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), WrongParam> {
        let wrong = |expected| WrongParam::new(key, value, expected);
        let number = |least: f64, most: f64, expected| {
            let n = value.parse::<f64>().ok();
            n.filter(|n| (least..=most).contains(n))
                .ok_or_else(|| wrong(expected))
        };
        let off = |n: Result<f64, WrongParam>| if value == "off" { Ok(0.0) } else { n };
        let switch = || match value {
            "on" => Ok(true),
            "off" => Ok(false),
            _ => Err(wrong("on or off")),
        };
        match key {
            "lambda" => self.lambda = number(0.1, 1000.0, "0.1 to 1000 (ms)")? * 1e-3,
            "least" => self.least_segments = off(number(0.0, 100.0, "0 to 100, or off"))?,
            "n" => {
                let n = value.parse().ok().filter(|n| (1..=1000).contains(n));
                self.rounds = n.ok_or_else(|| wrong("a whole number from 1 to 1000"))?;
            }
            "theta" => self.theta = number(0.0, 100.0, "0 to 100 (ms)")? * 1e-3,
            "jitter" => self.jitter = off(number(0.0, 100.0, "0 to 100 (ms), or off"))? * 1e-3,
            "gamma" => self.gamma = number(0.3, 2.0, "0.3 to 2")?,
            "gain" => self.fast_gain = off(number(0.1, 10.0, "0.1 to 10, or off"))?,
            "pace" => self.pace = off(number(0.1, 10.0, "0.1 to 10, or off"))?,
            "start" => self.start = switch()?,
            "guard" => self.guard = switch()?,
            "gate" => self.gate = switch()?,
            "owd" => self.owd = switch()?,
            "restart" => self.restart = switch()?,
            "resume" => self.resume = switch()?,
            "spread" => self.spread = off(number(0.0, 10.0, "0 to 10, or off"))?,
            "alpha" => {
                self.alpha = match value {
                    "twnd" => Alpha::Target,
                    "twnd2" => Alpha::Half,
                    "twnd4" => Alpha::Quarter,
                    "srtt" => Alpha::Srtt,
                    _ => return Err(wrong("twnd, twnd2, twnd4 or srtt")),
                }
            }
            "post" => {
                self.post = match value {
                    "twnd" => Post::Target,
                    "half" => Post::Half,
                    _ => return Err(wrong("twnd or half")),
                }
            }
            "internet" => {
                self.beyond = match value {
                    "paper" => Beyond::Paper,
                    "drain" => Beyond::Drain,
                    _ => return Err(wrong("paper or drain")),
                }
            }
            "verdict" => {
                self.verdict = match value {
                    "latest" => Verdict::Latest,
                    "mean" => Verdict::Mean,
                    "least" => Verdict::Least,
                    _ => return Err(wrong("latest, mean or least")),
                }
            }
            "clamp" => self.clamp = off(number(1.0, 1000.0, "1 to 1000, or off"))?,
            "minrtt" => self.rtt_window = off(number(0.1, 3600.0, "0.1 to 3600 (s), or off"))?,
            _ => {
                return Err(WrongParam::new(
                    key,
                    value,
                    "one of lambda, least, n, theta, jitter, spread, gamma, gain, pace, start, guard, gate, owd, \
                     restart, resume, alpha, post, internet, verdict, clamp, minrtt",
                ));
            }
        }
        Ok(())
    }
}

/// A parameter in a controller's name that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongParam {
    /// The key, empty where none was found.
    pub key: String,
    /// What stood there.
    pub found: String,
    /// What could have stood there.
    pub expected: &'static str,
}

impl WrongParam {
    fn new(key: &str, found: &str, expected: &'static str) -> Self {
        Self {
            key: key.to_owned(),
            found: found.to_owned(),
            expected,
        }
    }
}

impl fmt::Display for WrongParam {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found \"{}\", expected {}", self.found, self.expected)
    }
}

impl core::error::Error for WrongParam {}
