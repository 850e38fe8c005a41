//! Tyrus (Liu, Xu: "Tyrus: PHY-Assisted Neural Adaptive Congestion Control for Cellular Networks", SIGCOMM 2019 posters).
//!
//! The poster's runs were made with Mahimahi and a QUIC prototype that is not public, its policy is not either; ours use
//! our own links and policies that `slackwater train tyrus` makes. The poster's system is its trained network over a real QUIC stack. `docs/tyrus.md` says how what it leaves open was decided.

mod beyond;
mod causes;
mod claims;
mod feed;
mod fig1;
mod fig3;
mod links;
mod policies;
mod seeds;
mod shift;
mod stats;

use prelude::*;

/// What every figure's file uses.
mod prelude {
    pub(super) use super::super::draw::{Entry, table};
    pub(super) use super::super::measure as m;
    pub(super) use super::super::study::{
        Experiment, Measure, Options, Outcome, Outcomes, Part, Runs, Study, StudyError,
    };
    pub(super) use super::links::{Around, Place, Scene};
    pub(super) use super::policies::{Sender, senders};
    pub(super) use super::shift::moved_by_seed;
    pub(super) use super::{PACKET, keep, length};
    pub(super) use slackwater_lab::run::RunResult;
    pub(super) use slackwater_lab::title::title;
    pub(super) use slackwater_report::paper::{Axis, Drawing, Figure, Line, Panel};
    pub(super) use slackwater_report::{Better, TradeOff, TradeOffPoint};
    pub(super) use slackwater_results::check::{Check, Tolerance};
}

/// The study.
pub const STUDY: Study = Study {
    name: "tyrus",
    title: "Tyrus reproduced",
    citation: "Libin Liu, Hong Xu: Tyrus: PHY-Assisted Neural Adaptive Congestion Control for Cellular Networks. SIGCOMM \
               Posters and Demos 2019, doi 10.1145/3342280.3342302",
    about: &[
        "The UE reports to the sender how many bytes the physical layer carried for it, millisecond by millisecond; a network of \
         three layers of sixteen neurons, or a correction of a rule, sets the window.",
    ],
    notes: &[
        "Seeds are offsets: seed k sees the link from 37 (k - 1) seconds on, modulo two minutes; flows start at zero. In cells \
         seeds draw other channels. Delays are one way, of each packet, from the sender to the UE, 20 ms of path included.",
        "The poster names neither the six traces of its training nor the two of its test. Recorded traces are used where \
         SLACKWATER_TRACES names a folder that has them; the links of our own are always there. No policy was trained on \
         either unless its model card says so.",
        "Means are interquartile means over traces and seeds, with 95 % intervals by a bootstrap stratified by trace. S is ln \
         used - 0.3 ln p95: 0.01 of it is 3 % of the delay.",
    ],
    claims: include_str!("../claims/tyrus.toml"),
    parts: |options| {
        if !options.in_sample {
            policies::unseen()?;
        }
        Ok(vec![
            fig1::part(options)?,
            fig3::part(options)?,
            seeds::part(options)?,
            feed::part(options)?,
            beyond::part(options)?,
            causes::part(options)?,
        ])
    },
};

/// Payload bytes of a full packet.
const PACKET: f64 = 1448.0;

/// Length of a flow.
const fn length(quick: bool) -> &'static str {
    if quick { "20 s" } else { "60 s" }
}

/// What is kept of each run: rate, share of the capacity, delays, and the score of both.
fn keep(run: &RunResult, out: &mut Outcome) {
    let span = m::life(run, 0);
    let rate: f64 = (0..run.layout.labels.len())
        .map(|i| m::rate(run, i, span))
        .sum();
    out.value("rate", Some(rate));
    out.value("rate_0", Some(m::rate(run, 0, span)));
    let used = m::utilisation(run, span);
    out.value("used", used);
    let delays = &run.records.flows[0].one_way;
    let ms = |q| {
        delays
            .quantile(q)
            .map(slackwater_core::Duration::as_millis_f64)
    };
    out.value("p50", ms(0.5));
    out.value("p95", ms(0.95));
    // The logarithm of nothing is not finite, and kept as no number.
    let (ln_used, ln_p95) = (used.map(libm::log), ms(0.95).map(libm::log));
    out.value("score", ln_used.zip(ln_p95).map(|(u, d)| u - 0.3 * d));
    out.value("ln_p95", ln_used.filter(|u| u.is_finite()).and(ln_p95));
    let flows: Vec<usize> = (0..run.layout.labels.len()).collect();
    let shared = flows.len() > 1;
    let jain = shared.then(|| m::jain_common(run, &flows, span));
    out.value("jain", jain.flatten());
    out.value("share", shared.then(|| m::rate(run, 0, span) / rate));
    for name in ["frozen", "fallbacks", "doubts"] {
        out.value(name, m::internal(run, 0, name, span).last().copied());
    }
}
