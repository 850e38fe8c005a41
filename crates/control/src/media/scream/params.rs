//! Constants of `SCReAMv2`: Ericsson's implementation and libwebrtc's.

use slackwater_core::Duration;

use crate::media::al4s::rival::RivalRule;
use crate::registry::Parameter;

/// Constants by which implementations differ.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Params {
    /// Least reference window in full packets.
    pub least_packets: f64,
    /// Gain of the marked fraction's average when the fraction is above it.
    pub alpha_up: f64,
    /// Gain when it is below.
    pub alpha_down: f64,
    /// Below, the average decays towards zero and not towards the fraction.
    pub alpha_decays: bool,
    /// The average at the start.
    pub alpha_start: f64,
    /// A window of so long or a round trip, if shorter, gives a fraction; zero for one per feedback.
    pub alpha_interval: Duration,
    /// At most one reduction in this time or a round trip, if shorter.
    pub backoff_interval: Duration,
    /// The window may exceed what was in flight by this factor.
    pub flight_headroom: f64,
    /// Window after a loss, in windows.
    pub beta_loss: f64,
    /// Round trips after congestion over which multiplicative growth returns.
    pub post_congestion_rtts: f64,
    /// Growth per round trip in windows.
    pub multiplicative: f64,
    /// Steepness of the slowing near the last known maximum.
    pub near: f64,
    /// The square of RTT over the virtual RTT slows growth, not the ratio.
    pub rtt_squared: bool,
    /// Last known maxima of which the median counts.
    pub maxima: usize,
    /// Seconds of queue delay to stay below.
    pub target: f64,
    /// Seconds that the target may rise to beside flows that fill the buffer (`QDELAY_TARGET_HI`); `None`: it is fixed.
    pub target_most: Option<f64>,
    /// Goes by losses beside a flow that holds the queue (ours).
    pub rival: RivalRule,
    /// The average fraction after a long time without congestion.
    pub alpha_bump: f64,
    /// Bytes in flight over the reference window: least and most.
    pub overhead: (f64, f64),
    /// What the frames' varying size takes of the rate.
    pub frame_margin: f64,
    /// Bytes of RTP and UDP headers that are taken off the rate.
    pub header: f64,
}

impl Params {
    /// Ericsson's (github.com/EricssonResearch/scream, `ScreamV2Tx`, 2025-26) with the tool's defaults.
    pub const ERICSSON: Self = Self {
        least_packets: 2.0,
        alpha_up: 1.0 / 8.0,
        alpha_down: 1.0 / 128.0,
        alpha_decays: true,
        alpha_start: 0.1,
        alpha_interval: Duration::from_millis(10),
        backoff_interval: Duration::from_millis(30),
        flight_headroom: 2.0,
        beta_loss: 0.7,
        post_congestion_rtts: 200.0,
        multiplicative: 0.05,
        near: 8.0,
        rtt_squared: false,
        // Its size is not in the text that could be read; three is the least that a median needs.
        maxima: 3,
        target: 0.06,
        target_most: None,
        rival: RivalRule::Off,
        alpha_bump: 0.5,
        overhead: (1.5, 5.0),
        frame_margin: 1.1,
        header: 20.0,
    };

    /// libwebrtc's (`modules/congestion_controller/scream`, 2025).
    pub const WEBRTC: Self = Self {
        least_packets: 2.5,
        alpha_up: 1.0 / 16.0,
        alpha_down: 1.0 / 16.0,
        alpha_decays: false,
        alpha_start: 0.0,
        alpha_interval: Duration::ZERO,
        backoff_interval: Duration::from_millis(25),
        flight_headroom: 1.1,
        beta_loss: 0.7,
        post_congestion_rtts: 100.0,
        multiplicative: 0.02,
        near: 2.0,
        rtt_squared: true,
        maxima: 1,
        target: 0.1,
        target_most: None,
        rival: RivalRule::Off,
        alpha_bump: 0.25,
        overhead: (1.5, 3.0),
        frame_margin: 1.0,
        header: 0.0,
    };

    /// These changed by `text`: `key=value` pairs between commas.
    ///
    /// # Errors
    /// Where a key is unknown or its value out of range.
    pub fn changed(mut self, text: &str) -> Result<Self, String> {
        for part in text.split(',').map(str::trim) {
            let Some((key, value)) = part.split_once('=') else {
                return Err(format!("found \"{part}\", expected key=value"));
            };
            let (key, value) = (key.trim(), value.trim());
            let parameter = Parameter::of(&ALL, key, value)?;
            match parameter.key {
                "hi" if value == "off" => self.target_most = None,
                "hi" => self.target_most = Some(parameter.read(value)? * 1e-3),
                "rival" => {
                    self.rival = match parameter.pick(value)? {
                        "on" => RivalRule::Marked,
                        "dips" => RivalRule::Dips,
                        _ => RivalRule::Off,
                    }
                }
                other => unreachable!("{other} is declared and not read"),
            }
        }
        Ok(self)
    }
}

/// What may follow `scream:` and `scream-webrtc:`.
pub(super) const ALL: [Parameter; 2] = [
    Parameter::number(
        "hi",
        0.0,
        (100.0, 1000.0),
        "ms",
        "what the target of the queue delay may rise to beside flows that fill the buffer (RFC 8298, 4.1.2.3: 400)",
    )
    .or_off(),
    Parameter::word(
        "rival",
        "off",
        &["on", "dips", "off"],
        "goes by losses beside a flow that holds a queue (ours); dips: beside BBR too",
    ),
];
