//! TCP of Linux 6.18 through the emulator.
//!
//! Means of four runs of `slackwater run --live crates/lab/scenarios/validation/linux-12mbps.toml` (seed 1), events at most 0.17 ms late
//! at 99 %, senders' and receivers' processes at real-time priority. Earlier numbers came from hosts that waited for a busy
//! processor: Linux leaves an acknowledgment to the process that reads where the window's edge has not moved on
//! (`__tcp_ack_snd_check`), and BBR took the bunches for a longer path (srtt 98 ms in place of 51).

use slackwater_results::check::Tolerance;

use super::{Number, Numbers, goodput, number};

pub(super) const SCENARIO: &str = include_str!("../../scenarios/validation/linux-12mbps.toml");

/// By controller. The four runs differ by less than 0.4 % but in BBR's 95 % of srtt: 57.9, 74.9, 63.7 and 54.9 ms, of whose
/// mean the 95 % interval (Student's t) is 14.2 ms.
pub(super) fn numbers() -> Vec<Numbers> {
    let close = Tolerance::Relative(0.06);
    vec![
        ("cubic", linux(11.558, [143.8, 168.6], close, 169.0)),
        ("reno", linux(11.558, [128.2, 167.3], close, 168.0)),
        (
            "bbr",
            linux(11.379, [50.8, 62.8], Tolerance::Absolute(14.2), 97.0),
        ),
    ]
}

/// Kernel TCP over 12 Mbit/s of 1,504-byte opportunities, 40 ms, 128 packets drop-tail, 30 s. Mean of srtt and window
/// quantiles are over samples taken at a fixed period.
fn linux(goodput_mbps: f64, srtt: [f64; 2], p95_within: Tolerance, cwnd_p95: f64) -> Vec<Number> {
    vec![
        number(
            "goodput",
            "Mbit/s",
            goodput_mbps,
            Tolerance::Relative(0.015),
            goodput,
        ),
        number("mean srtt", "ms", srtt[0], Tolerance::Relative(0.08), |f| {
            Some(f.srtt_ms?.mean)
        }),
        number("p95 srtt", "ms", srtt[1], p95_within, |f| {
            Some(f.srtt_ms?.p95)
        }),
        number(
            "p95 cwnd",
            "packets",
            cwnd_p95,
            Tolerance::Relative(0.06),
            |f| Some(f.cwnd_packets?.p95),
        ),
    ]
}
