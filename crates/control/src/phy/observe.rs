//! What a policy sees. The same functions serve training and deployment: a struct of plain numbers in, an array out.

/// Mean rates of the bank, ms (a study's set; 50 ms is the poster's TBS average as we take it).
pub const BANK_MS: [f64; 6] = [50.0, 10.0, 25.0, 100.0, 200.0, 500.0];
/// Features of the residual policies.
pub const FEATURES: usize = 14;
/// Inputs of Tyrus's network (Tyrus, section 2, "Input states").
pub const INPUTS: usize = 5;

/// What the sender knows at a decision.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Signals {
    /// Mean rates of the transport blocks under the time constants of [`BANK_MS`], Mbit/s. The first is input 1.
    pub bank: [f64; 6],
    /// Standard deviation of the blocks' rate over 20 ms about its mean of 100 ms, Mbit/s.
    pub sd: f64,
    /// Seconds since transport blocks last carried anything.
    pub silent: f64,
    /// Mean of RTT - least RTT, seconds (input 2).
    pub queueing: f64,
    /// Mean delivery rate, Mbit/s (input 3).
    pub rate: f64,
    /// Congestion window in segments (input 4).
    pub window: f64,
    /// The previous action as a relative change of the window, -1 to 1 (input 5).
    pub action: f64,
    /// Least RTT, seconds.
    pub min_rtt: f64,
    /// Age of the oldest outstanding packet beyond the least RTT, seconds.
    pub age: f64,
    /// IP bytes of a full packet.
    pub packet: f64,
}

impl Signals {
    /// True where all of them are numbers that can be used.
    pub fn is_finite(&self) -> bool {
        let rest = [
            self.sd,
            self.silent,
            self.queueing,
            self.rate,
            self.window,
            self.action,
            self.min_rtt,
            self.age,
            self.packet,
        ];
        self.bank.iter().chain(&rest).all(|v| v.is_finite())
    }

    /// Mean rate of the transport blocks over 50 ms, Mbit/s.
    pub const fn tbs(&self) -> f64 {
        self.bank[0]
    }

    /// Mean rate over 100 ms, Mbit/s.
    pub const fn mean100(&self) -> f64 {
        self.bank[3]
    }

    /// Segments that `mbps` fills in `seconds`.
    pub const fn segments(&self, mbps: f64, seconds: f64) -> f64 {
        mbps * 125_000.0 * seconds / self.packet.max(1.0)
    }
}

/// How the five inputs are scaled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ObsMode {
    /// Mbit/s, ms and packets as they are (the window over 200).
    Literal,
    /// Divided by values of their usual size.
    Scaled,
    /// Logarithms, the window's too.
    Log,
    /// Logarithms, the window relative to the bandwidth-delay product that the blocks show.
    #[default]
    Bdp,
}

impl ObsMode {
    /// The mode called `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "literal" => Self::Literal,
            "scaled" => Self::Scaled,
            "log" => Self::Log,
            "bdp" => Self::Bdp,
            _ => return None,
        })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Literal => "literal",
            Self::Scaled => "scaled",
            Self::Log => "log",
            Self::Bdp => "bdp",
        }
    }
}

/// The five inputs of Tyrus's network (Tyrus, section 2). Whether the signals are finite is asked before: see
/// [`Signals::is_finite`].
pub fn inputs(mode: ObsMode, s: &Signals) -> [f32; INPUTS] {
    let ms = s.queueing * 1e3;
    let log = |mbps: f64| libm::log1p(mbps.max(0.0)) - 2.0;
    let delay = libm::log1p(ms.max(0.0) / 20.0);
    let x = match mode {
        ObsMode::Literal => [s.tbs(), ms, s.rate, s.window / 200.0, s.action],
        ObsMode::Scaled => [
            s.tbs() / 20.0,
            ms / 100.0,
            s.rate / 20.0,
            s.window / 200.0,
            s.action,
        ],
        ObsMode::Log => [
            log(s.tbs()),
            delay,
            log(s.rate),
            libm::log1p(s.window) - 4.0,
            s.action,
        ],
        ObsMode::Bdp => {
            let bdp = s.segments(s.tbs(), s.min_rtt).max(1.0);
            let window = libm::log(s.window / bdp).clamp(-4.0, 4.0);
            [log(s.tbs()), delay, log(s.rate), window, s.action]
        }
    };
    x.map(|v| v as f32)
}

/// The features of the residual policies: `EWMA_{10,25,100,200,500}` against `EWMA_50`, queueing, age, variability, rate,
/// least RTT, window, silence, delivery rate and a constant. Logarithms are clipped to +-3.
pub fn features(s: &Signals) -> [f32; FEATURES] {
    // 0.02 packets per ms, in Mbit/s.
    let eps = 0.02 * s.packet.max(1.0) * 8e-3;
    let base = s.tbs() + eps;
    let ln = |x: f64| libm::log(x).clamp(-3.0, 3.0);
    let against = |mbps: f64| ln((mbps + eps) / base);
    let ln1p = |x: f64| libm::log1p(x.max(0.0)).min(3.0);
    let bdp = s.segments(s.tbs(), s.min_rtt).max(0.02);
    [
        against(s.bank[1]),
        against(s.bank[2]),
        against(s.bank[3]),
        against(s.bank[4]),
        against(s.bank[5]),
        ln1p(s.queueing / 0.020),
        ln1p(s.age / 0.020),
        ln1p(s.sd / (s.mean100() + eps)),
        libm::log1p(s.tbs().max(0.0)) - 2.0,
        ln(s.min_rtt.max(1e-6) / 0.040),
        ln(s.window.max(1e-6) / bdp),
        ln1p(s.silent / 0.010),
        against(s.rate),
        1.0,
    ]
    .map(|v| v as f32)
}

/// True where all inputs can be used.
pub fn is_finite(x: &[f32]) -> bool {
    x.iter().all(|v| v.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn signals() -> Signals {
        Signals {
            bank: [12.0; 6],
            sd: 3.0,
            silent: 0.001,
            queueing: 0.020,
            rate: 10.0,
            window: 40.0,
            action: -0.1,
            min_rtt: 0.040,
            age: 0.005,
            packet: 1500.0,
        }
    }

    #[test]
    fn inputs_are_those_of_the_poster_under_each_scale() {
        let s = signals();
        let literal = inputs(ObsMode::Literal, &s);
        assert_eq!(literal, [12.0, 20.0, 10.0, 0.2, -0.1]);
        let bdp = inputs(ObsMode::Bdp, &s);
        // 12 Mbit/s for 40 ms are 40 packets of 1500 bytes: the window is the product.
        assert!(bdp[3].abs() < 1e-6, "{bdp:?}");
        assert!((bdp[0] - (13f32.ln() - 2.0)).abs() < 1e-6);
        assert!((bdp[1] - 2f32.ln()).abs() < 1e-6);
        for mode in [
            ObsMode::Literal,
            ObsMode::Scaled,
            ObsMode::Log,
            ObsMode::Bdp,
        ] {
            assert_eq!(ObsMode::parse(mode.name()), Some(mode));
            assert!(is_finite(&inputs(mode, &s)) && is_finite(&inputs(mode, &Signals::default())));
        }
        assert!(is_finite(&features(&s)) && is_finite(&features(&Signals::default())));
        assert_eq!(features(&s)[13], 1.0);
    }
}
