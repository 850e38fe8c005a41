//! What can be chosen of XRC, and the two profiles.

use crate::registry::Parameter;

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

    /// These parameters changed by `text`: `key=value` pairs with commas between them. `slackwater explain xrc` lists them.
    ///
    /// # Errors
    /// Where a pair has another form, its key is none of these or its value is out of range.
    pub fn with(mut self, text: &str) -> Result<Self, String> {
        for pair in text.split(',') {
            let Some((key, value)) = pair.split_once('=') else {
                return Err(format!("found \"{pair}\", expected key=value"));
            };
            self.set(key.trim(), value.trim())?;
        }
        Ok(self)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let known = parameters(Self::DEFAULT);
        let parameter = Parameter::of(&known, key, value)?;
        let number = || parameter.read(value);
        let word = || parameter.pick(value);
        let switch = || word().map(|word| word == "on");
        match parameter.key {
            "lambda" => self.lambda = number()? * 1e-3,
            "least" => self.least_segments = number()?,
            // In range and whole: the conversion is exact.
            "n" => self.rounds = number()? as u32,
            "theta" => self.theta = number()? * 1e-3,
            "jitter" => self.jitter = number()? * 1e-3,
            "spread" => self.spread = number()?,
            "gamma" => self.gamma = number()?,
            "gain" => self.fast_gain = number()?,
            "pace" => self.pace = number()?,
            "start" => self.start = switch()?,
            "guard" => self.guard = switch()?,
            "gate" => self.gate = switch()?,
            "owd" => self.owd = switch()?,
            "restart" => self.restart = switch()?,
            "resume" => self.resume = switch()?,
            "alpha" => {
                self.alpha = match word()? {
                    "twnd" => Alpha::Target,
                    "twnd2" => Alpha::Half,
                    "twnd4" => Alpha::Quarter,
                    _ => Alpha::Srtt,
                }
            }
            "post" => {
                self.post = match word()? {
                    "twnd" => Post::Target,
                    _ => Post::Half,
                }
            }
            "internet" => {
                self.beyond = match word()? {
                    "paper" => Beyond::Paper,
                    _ => Beyond::Drain,
                }
            }
            "verdict" => {
                self.verdict = match word()? {
                    "latest" => Verdict::Latest,
                    "mean" => Verdict::Mean,
                    _ => Verdict::Least,
                }
            }
            "clamp" => self.clamp = number()?,
            "minrtt" => self.rtt_window = number()?,
            other => unreachable!("{other} is declared and not read"),
        }
        Ok(())
    }
}

/// What may follow `xrc:`, where these are the defaults.
pub(in crate::phy::xrc) const fn parameters(of: Params) -> [Parameter; 21] {
    [
        Parameter::number(
            "lambda",
            of.lambda * 1e3,
            (0.1, 1000.0),
            "ms",
            "queuing budget that the sender controls to (XRC, section IV: 10 ms)",
        ),
        Parameter::number(
            "least",
            of.least_segments,
            (0.0, 100.0),
            "segments",
            "the budget is at least the time of this many segments at the reported rate (ours)",
        )
        .or_off(),
        Parameter::number(
            "n",
            of.rounds as f64,
            (1.0, 1000.0),
            "RTTs",
            "RTTs of slow increase before the unfairness mode (N; XRC, section III-B: \"e.g., N=10\")",
        )
        .whole(),
        Parameter::number(
            "theta",
            of.theta * 1e3,
            (0.0, 100.0),
            "ms",
            "added to the least RTT in the target window (ours)",
        ),
        Parameter::number(
            "jitter",
            of.jitter * 1e3,
            (0.0, 100.0),
            "ms",
            "most that measured jitter of the radio adds to the least RTT (ours)",
        )
        .or_off(),
        Parameter::number(
            "spread",
            of.spread,
            (0.0, 10.0),
            "",
            "target window and budget have this many mean changes of the reported rate on top (ours)",
        )
        .or_off(),
        Parameter::number(
            "gamma",
            of.gamma,
            (0.3, 2.0),
            "",
            "factor of the target window that a new connection starts with (XRC, section III-B)",
        ),
        Parameter::number(
            "gain",
            of.fast_gain,
            (0.1, 10.0),
            "",
            "pacing in FAST, in target windows per smoothed RTT (ours)",
        )
        .or_off(),
        Parameter::number(
            "pace",
            of.pace,
            (0.1, 10.0),
            "",
            "pacing elsewhere, in windows per smoothed RTT, for a flow that is alone in its queue (ours)",
        )
        .or_off(),
        Parameter::switch(
            "start",
            of.start,
            "FAST applies whatever the queue until the target was nearly reached once (ours)",
        ),
        Parameter::switch(
            "guard",
            of.guard,
            "FAST stops where a queue that nobody shares exceeds the budget (ours)",
        ),
        Parameter::switch(
            "gate",
            of.gate,
            "the unfairness mode needs other flows in the queue, and one that does not drain by itself (ours)",
        ),
        Parameter::switch(
            "owd",
            of.owd,
            "one-way delays tell delay on the way back from queuing (ours)",
        ),
        Parameter::switch(
            "restart",
            of.restart,
            "a window that was idle for a retransmission timeout decays (RFC 5681, 4.1)",
        ),
        Parameter::switch(
            "resume",
            of.resume,
            "after a timeout straight to the target, where reports are fresh (ours)",
        ),
        Parameter::word(
            "alpha",
            match of.alpha {
                Alpha::Target => "twnd",
                Alpha::Half => "twnd2",
                Alpha::Quarter => "twnd4",
                Alpha::Srtt => "srtt",
            },
            &["twnd", "twnd2", "twnd4", "srtt"],
            "growth in the unfairness mode, per RTT: the target window, a half or a quarter of it, or the rate times the \
             smoothed RTT (XRC, section III-B: \"temporarily large\")",
        ),
        Parameter::word(
            "post",
            match of.post {
                Post::Target => "twnd",
                Post::Half => "half",
            },
            &["twnd", "half"],
            "the window after a loss in the unfairness mode: the target window, or half the window",
        ),
        Parameter::word(
            "internet",
            match of.beyond {
                Beyond::Paper => "paper",
                Beyond::Drain => "drain",
            },
            &["paper", "drain"],
            "where the bottleneck lies beyond the radio: as the paper says, or drain the foreign queue and probe with care (ours)",
        ),
        Parameter::word(
            "verdict",
            match of.verdict {
                Verdict::Latest => "latest",
                Verdict::Mean => "mean",
                Verdict::Least => "least",
            },
            &["latest", "mean", "least"],
            "the radio's queue delay that the search for the bottleneck compares: the latest report, means of a window, \
             or means and the window's least RTT (ours)",
        ),
        Parameter::number(
            "clamp",
            of.clamp,
            (1.0, 1000.0),
            "",
            "the reported rate is believed up to this multiple of the largest delivered rate (ours)",
        )
        .or_off(),
        Parameter::number(
            "minrtt",
            of.rtt_window,
            (0.1, 3600.0),
            "s",
            "window of the least RTT; off: the connection's life (ours)",
        )
        .or_off(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_word_sets_what_it_names() {
        let read = |text| Params::DEFAULT.with(text).expect(text);
        for (text, alpha) in [
            ("alpha=twnd", Alpha::Target),
            ("alpha=twnd2", Alpha::Half),
            ("alpha=twnd4", Alpha::Quarter),
            ("alpha=srtt", Alpha::Srtt),
        ] {
            assert_eq!(read(text).alpha, alpha, "{text}");
        }
        for (text, verdict) in [
            ("verdict=latest", Verdict::Latest),
            ("verdict=mean", Verdict::Mean),
            ("verdict=least", Verdict::Least),
        ] {
            assert_eq!(read(text).verdict, verdict, "{text}");
        }
        assert_eq!(read("post=twnd").post, Post::Target);
        assert_eq!(read("post=half").post, Post::Half);
        assert_eq!(read("internet=paper").beyond, Beyond::Paper);
        assert_eq!(read("internet=drain").beyond, Beyond::Drain);
    }
}
