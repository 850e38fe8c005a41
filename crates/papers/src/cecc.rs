//! CECC (Yang, Du, Zhao, Ren, Sun, Xu: "Cross-Layer Assisted Early Congestion Control for Cloud VR Services in 5G Edge
//! Network").
//!
//! The paper's runs were made with ns-3 and code that is not public; ours use our own cell and TCP. `docs/cecc.md` says
//! how what the paper leaves open was decided.

mod causes;
mod fig2;
mod fig3;
mod fig6;
mod fig8;
mod kinds;
mod live;
mod measures;
mod oracle;
mod places;
mod radio;
mod reports;
mod satisfied;
mod sources;
mod start;
mod summary;
mod tcp;

use super::study::{Part, Study};

/// What every figure's file uses.
mod prelude {
    pub(super) use super::super::draw::{Entry, bar, grid, lower, table};
    pub(super) use super::super::measure as m;
    pub(super) use super::super::study::{
        Experiment, Measure, Options, Outcome, Outcomes, Part, Runs, StudyError,
    };
    pub(super) use super::super::variant::{Changes, Variant};
    pub(super) use super::measures::{SETTLED, best, frame_times, keep, less};
    pub(super) use super::places::*;
    pub(super) use super::{LATE, MEASURES, SCENARIO, length};
    pub(super) use slackwater_lab::run::RunResult;
    pub(super) use slackwater_report::paper::{Axis, Bar, Drawing, Figure, Guide, Line, Panel};
    pub(super) use slackwater_results::check::{Check, Tolerance};
    pub(super) use slackwater_results::metrics::{Estimate, Histogram};
}

use prelude::Entry;

/// The study.
pub const STUDY: Study = Study {
    name: "cecc",
    title: "CECC reproduced",
    citation: "Wanghong Yang, Wenji Du, Baosen Zhao, Yongmao Ren, Jianan Sun, Xu Zhou: Cross-Layer Assisted Early Congestion \
               Control for Cloud VR Services in 5G Edge Network",
    about: &[
        "The base station reports what waits in RLC; the UPF predicts each flow's delay and lets the frames of concurrent VR \
         flows go one after the other, by holding acknowledgments back (the paper) or packets (ours).",
    ],
    notes: &[
        "A flow is satisfied where at most 0.01 % of its bytes came later than 10 ms. Four measures, always together: network \
         delay (of a packet, from the server's network interface to the UE) and frame delay (of a byte, from when its frame was \
         written to the server's socket until the byte was handed to the receiver in order), each over the whole run and from 2 s on.",
        "Runs last 60 s: 3,600 frames a flow, so that one late frame is 0.028 % of its bytes, and a flow is satisfied where at most \
         a third of one frame was late. Shorter runs (--quick) cannot tell 0.01 %: there a single late byte in ten thousand decides.",
        "Holding acknowledgments back moves the waiting into the server, where network delay does not see it: without frame delay no \
         result is evidence.",
        "Rates are of TCP payload.",
    ],
    claims: include_str!("../claims/cecc.toml"),
    parts: |options| {
        let mut parts: Vec<Part> = vec![
            summary::part(options)?,
            kinds::part(options)?,
            fig2::part(options)?,
            fig3::part(options)?,
            fig6::part(options)?,
            start::part(options)?,
        ];
        for place in places::PLACES {
            parts.push(satisfied::part(options, place)?);
        }
        parts.push(fig8::part(options)?);
        parts.push(oracle::part(options)?);
        parts.push(causes::part(options)?);
        parts.push(radio::part(options)?);
        parts.push(reports::part(options)?);
        parts.extend(sources::parts(options)?);
        parts.extend(tcp::parts(options)?);
        Ok(parts)
    },
};

/// Figures 6 and 7 on real packets, each run of `seconds`.
pub(crate) fn live(seconds: u32) -> Result<super::live::Live, super::study::StudyError> {
    live::live(seconds)
}

/// The base of every scenario.
const SCENARIO: &str = include_str!("../scenarios/cecc/vr.toml");

/// Length of a run: at 60 frames a second, one late frame of a minute is 0.028 %.
const fn length(quick: bool) -> &'static str {
    if quick { "5 s" } else { "60 s" }
}

/// Columns of tables: shares of late bytes.
const LATE: [Entry; 6] = [
    Entry::less("network, whole", "%", "late_net_all"),
    Entry::less("network, steady", "%", "late_net_steady"),
    Entry::less("frames, whole", "%", "late_frame_all"),
    Entry::less("frames, steady", "%", "late_frame_steady"),
    Entry::less("frames with a late byte", "%", "late_whole_steady"),
    Entry::more("rate", "Mbit/s", "rate"),
];

/// Columns of tables: satisfied flows and shares of late bytes.
const MEASURES: [Entry; 7] = [
    Entry::more("satisfied, network", "flows", "net_steady"),
    Entry::more("satisfied, frames", "flows", "frame_steady"),
    Entry::less("late, network", "%", "late_net_steady"),
    Entry::less("late, frames", "%", "late_frame_steady"),
    Entry::less("late, frames, whole run", "%", "late_frame_all"),
    Entry::less("frame, p99", "ms", "frame_p99"),
    Entry::more("rate", "Mbit/s", "rate"),
];
