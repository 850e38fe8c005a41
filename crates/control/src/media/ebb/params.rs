//! What can be set of `ebb` for media: the dials of the clock, and how far the encoder stays below the radio.

use crate::phy::ebb::{self, Rules};
use crate::registry::{Parameter, Parameters};

/// What may follow `ebb-media:`.
pub(super) const PARAMETERS: [Parameter; 9] = {
    let [z, q, within, _, _, _, _, _, elsewhere, company, trust] = ebb::PARAMETERS;
    [
        z,
        q,
        within,
        elsewhere,
        company,
        trust,
        Parameter::number(
            "pace",
            Params::DEFAULT.pace,
            (1.0, 10.0),
            "",
            "the radio's rate in rates of the encoder (ours)",
        ),
        Parameter::number(
            "drain",
            Params::DEFAULT.drain * 1e3,
            (1.0, 10_000.0),
            "ms",
            "time within which the encoder makes up for what is too much or too little (ours)",
        ),
        Parameter::number(
            "window",
            0.0,
            (0.0, 1.0),
            "",
            "1: no more than the target is on its way, and the rest waits at the host (ours)",
        )
        .whole(),
    ]
};

/// What can be set.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Params {
    /// The clock's.
    pub(super) radio: ebb::Params,
    /// The radio's rate in rates of the encoder.
    pub(super) pace: f64,
    /// Time within which the encoder makes up for what is too much or too little, seconds.
    pub(super) drain: f64,
    /// No more than the target is on its way. It halves the queue in the radio where frames are large, and frames are as late: they wait at
    /// the host. Counters that lie then close the window.
    pub(super) window: bool,
}

impl Params {
    pub(super) const DEFAULT: Self = Self {
        radio: ebb::Params::DEFAULT,
        pace: 1.1,
        drain: 0.05,
        window: false,
    };

    pub(super) fn read(p: Parameters<'_>) -> Result<Self, String> {
        let [z, q, within, elsewhere, company, trust, pace, drain, window] =
            p.numbers(&PARAMETERS)?;
        Ok(Self {
            radio: ebb::Params {
                z,
                q: q / 1e3,
                within: within / 1e3,
                rules: Rules {
                    elsewhere: elsewhere != 0.0,
                    company: company != 0.0,
                    trust: trust != 0.0,
                    ..Rules::ALL
                },
                ..ebb::Params::DEFAULT
            },
            pace,
            drain: drain / 1e3,
            window: window != 0.0,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dials_of_the_clock_and_of_the_encoder_stand_together() {
        assert_eq!(Params::read(Parameters("")), Ok(Params::DEFAULT));
        let read = Params::read(Parameters("q=5,pace=1.25,drain=100,window=1,trust=0"));
        let expected = Params {
            radio: ebb::Params {
                q: 0.005,
                rules: Rules {
                    trust: false,
                    ..Rules::ALL
                },
                ..ebb::Params::DEFAULT
            },
            pace: 1.25,
            drain: 0.1,
            window: true,
        };
        assert_eq!(read, Ok(expected));
    }
}
