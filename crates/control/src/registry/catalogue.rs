//! The names of the built-in controllers, what each is, and what its states are called.

use crate::explicit::xrc;
use crate::learned::{pbe, steered};
use crate::rate::bbr3::cycle::PHASES;

/// The names that [`build`](super::build) knows, each with one line about it. Aliases are left out.
pub const fn names() -> &'static [(&'static str, &'static str)] {
    &[
        ("reno", "NewReno (RFC 5681, RFC 6582) as Linux counts it"),
        (
            "cubic",
            "CUBIC (RFC 9438) as in Linux, slow start ended by HyStart",
        ),
        (
            "cubic-hystart++",
            "CUBIC with HyStart++ (RFC 9406) for slow start",
        ),
        ("cubic-nohystart", "CUBIC with standard slow start"),
        (
            "cubic-ns3",
            "CUBIC with ns-3's HyStart, which seldom ends slow start by delay",
        ),
        (
            "reno-ns3",
            "NewReno as ns-3 counts it: growth per ACK, half the flight on loss",
        ),
        (
            "vegas",
            "Vegas: two to four packets in the queue, as in Linux",
        ),
        ("veno", "Veno as in Linux: Reno that spares random losses"),
        (
            "veno-ns3",
            "Veno as in ns-3: NewReno's growth, Veno's choice of decrease",
        ),
        (
            "illinois",
            "Illinois as in Linux: growth and decrease by queue delay",
        ),
        (
            "illinois-ns3",
            "Illinois as in ns-3: growth stops where alpha is below one",
        ),
        (
            "westwood",
            "Westwood+ as in Linux: after a loss, the measured rate's window",
        ),
        (
            "westwood-ns3",
            "Westwood+ as in ns-3: a sample per RTT, Tustin's filter",
        ),
        (
            "dctcp",
            "DCTCP (RFC 8257): the window shrinks by the share of marks",
        ),
        (
            "prague",
            "TCP Prague for L4S (draft-briscoe-iccrg-prague-congestion-control)",
        ),
        ("bbr", "BBR version 1 as in Linux 6.18"),
        (
            "bbr3",
            "BBR version 3 (draft-ietf-ccwg-bbr): bounded by losses of 2 %",
        ),
        (
            "copa",
            "Copa (NSDI 2018) with its mode switching; copa:delta=X for another delta",
        ),
        (
            "copa-default",
            "Copa that stays in its default mode, whoever fills the buffer",
        ),
        (
            "xrc",
            "XRC (ICC 2022): the cell's explicit rate and queue delay; xrc:n=5,theta=0 sets parameters",
        ),
        (
            "xrc-paper",
            "XRC by the paper's letter, without what measurements added",
        ),
        (
            "fixed",
            "a window of the initial size that never moves; fixed:N for N segments",
        ),
        (
            "tyrus",
            "Tyrus (SIGCOMM 2019): a small network sets the window by transport blocks; tyrus:policy=FILE",
        ),
        (
            "rule",
            "window = g * mean of the transport blocks * least RTT; rule:g=1.25",
        ),
        (
            "rule2",
            "rule with a margin by the link's variability: rule2:z=0.5,q=8 (ms)",
        ),
        (
            "rule2-acks",
            "rule2 without the radio: rates from the ACKs of a busy link",
        ),
        ("oracle", "a genie that knows the link's capacity to come"),
        (
            "claw",
            "CLAW (MobiSys 2017): window = mean of the transport blocks over 100 ms * least RTT",
        ),
        (
            "pbe",
            "PBE-CC (SIGCOMM 2020): rate by the cell's capacity, BBR where the Internet is slower; pbe:gamma=0.068",
        ),
        (
            "sprout",
            "Sprout (NSDI 2013): window by a cautious forecast of the link's deliveries",
        ),
    ]
}

/// The names of the media controllers that [`build`](super::build) knows. They go by [`Controller::on_feedback`](crate::Controller::on_feedback), which TCP and QUIC
/// do not give, so they stand apart from [`names`].
pub const fn media_names() -> &'static [(&'static str, &'static str)] {
    &[
        (
            "al4s-c",
            "cL4S: aL4S-CC that knows the marker; al4s-c:paper as published; te=25,low=5,high=20 (ms) sets it up",
        ),
        (
            "al4s-s",
            "sL4S: aL4S-CC by the marks alone; al4s-s:paper as published",
        ),
        ("l4s-cc", "L4S-CC, aL4S-CC's predecessor, as told in words"),
        (
            "scream",
            "SCReAMv2 with L4S (draft-ietf-ccwg-rfc8298bis-screamv2), Ericsson's constants",
        ),
        ("scream-webrtc", "SCReAMv2 with libwebrtc's constants"),
        (
            "gcc",
            "Google Congestion Control as in libwebrtc: trendline, AIMD, loss v2, probes",
        ),
        (
            "gcc-remb",
            "Google Congestion Control by draft-ietf-rmcat-gcc-02: Kalman filter, REMB",
        ),
    ]
}

/// Names of the states that the controller's `mode` (see [`Controller::snapshot`](crate::Controller::snapshot)) counts through; `None` for a
/// controller without states.
pub fn modes(name: &str) -> Option<&'static [&'static str]> {
    let name = canonical(name);
    match name.split_once(':').map_or(name, |(name, _)| name) {
        "copa" | "copa-default" => Some(&["SLOW_START", "DEFAULT", "COMPETITIVE"]),
        "xrc" | "xrc-paper" => Some(xrc::MODES),
        "bbr" => Some(&["STARTUP", "DRAIN", "PROBE_BW", "PROBE_RTT"]),
        "bbr3" => Some(PHASES),
        "tyrus" | "rule" | "rule2" | "rule2-acks" | "oracle" | "claw" | "sprout" => {
            Some(steered::MODES)
        }
        "pbe" => Some(pbe::MODES),
        _ => None,
    }
}

/// The name that an alias stands for; other names are returned as they are.
pub fn canonical(name: &str) -> &str {
    match name {
        "newreno" | "reno-linux" => "reno",
        "newreno-ns3" => "reno-ns3",
        "cubic-linux" => "cubic",
        "cubic-hystartpp" => "cubic-hystart++",
        "veno-linux" => "veno",
        "illinois-linux" => "illinois",
        "westwood+" | "westwood-linux" => "westwood",
        "westwood+-ns3" => "westwood-ns3",
        "bbr1" | "bbrv1" => "bbr",
        "bbrv3" => "bbr3",
        "cl4s" => "al4s-c",
        "sl4s" => "al4s-s",
        _ => name,
    }
}
