//! XRC (Kheirkhah, Kassem, Fairhurst, Marina: "XRC: An Explicit Rate Control for Future Cellular Networks", IEEE ICC 2022).
//!
//! The paper's runs were made with ns-3 and code that is not public; ours use our own cell and TCP. What the paper
//! leaves open is decided in `docs/xrc.md`, in two profiles: `paper` is literal, `default` is what we ship.

mod bloated;
mod causes;
mod feedback;
mod fig1;
mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod harq;
mod internet;
mod limits;
mod nr;
mod opponents;
mod profiles;
mod ues;
mod uplink;

use super::draw::{self, Entry};
use prelude::*;

/// What every figure's file uses.
mod prelude {
    pub(super) use super::super::measure as m;
    pub(super) use super::super::study::{
        Experiment, Measure, Options, Outcome, Outcomes, Part, Runs, Study, StudyError,
    };
    pub(super) use super::{
        BUDGET_MS, Entry, FULL, GOAL_USE, OURS, PAYLOAD, agent, bar, hol_cdf, keep_all, keep_hol,
        keep_rates, mode, rate_panel, table,
    };
    pub(super) use slackwater_lab::run::RunResult;
    pub(super) use slackwater_lab::title::title;
    pub(super) use slackwater_report::paper::{
        Axis, Bar, Distribution, Drawing, Figure, Guide, Line, Panel,
    };
    pub(super) use slackwater_report::{Better, Cell, Column, Row, SummaryTable};
    pub(super) use slackwater_results::check::{Check, Tolerance};
    pub(super) use slackwater_results::metrics::Estimate;
}

/// The study.
pub const STUDY: Study = Study {
    name: "xrc",
    title: "XRC reproduced",
    citation: "M. Kheirkhah, M. M. Kassem, G. Fairhurst, M. K. Marina: XRC: An Explicit Rate Control for Future Cellular \
               Networks. IEEE ICC 2022, doi 10.1109/ICC45855.2022.9839150",
    about: &[
        "The base station reports to each TCP sender its fair rate and the delay of its queue's oldest packet; the sender \
         sets its window to rate × least RTT, probes above it until the queue reaches its budget of 10 ms, and falls \
         back. Each figure of the paper is redrawn here from our simulations.",
    ],
    notes: &[
        "Two profiles: `paper` does what the paper says, literally; `product` is what we ship, with every difference \
         named in docs/xrc.md.",
        "The HoL delay is the age of the oldest packet in the user's RLC queue, sampled every millisecond; shares of \
         samples are shares of time.",
        "Jain's index has three readings; each relation names its own. `common`: of the bytes delivered while all flows \
         were on. `1 s`: the mean of the indices of the whole seconds of that time. `life`: of each flow's mean rate \
         over its own life.",
    ],
    claims: include_str!("../claims/xrc.toml"),
    parts,
};

/// The queue budget (XRC, IV: "The queue budget is 10ms").
const BUDGET_MS: f64 = 10.0;

/// "Full utilization" (XRC, I, goal (i)), which has no number there: as the claims of Figure 1 read it.
const FULL: f64 = 0.95;
/// Where [`FULL`] comes from.
const GOAL_USE: &str = "XRC, I: full utilization";

fn parts(options: &Options) -> Result<Vec<Part>, StudyError> {
    let mut parts = [
        fig1::part,
        fig2::part,
        fig3::part,
        fig4::part,
        fig5::part,
        fig6::part,
        fig7::part,
        internet::part,
        ues::part,
        nr::part,
        harq::part,
        feedback::part,
        bloated::part,
        uplink::part,
    ]
    .into_iter()
    .map(|part| part(options))
    .collect::<Result<Vec<Part>, StudyError>>()?;
    parts.push(profiles::part(&parts));
    parts.push(limits::part(options)?);
    parts.push(opponents::part(options)?);
    parts.push(causes::part(options)?);
    Ok(parts)
}

/// What reports to `controller`: the paper's agent to the paper's sender, whatever its parameters.
fn agent(controller: &str) -> (&'static str, &'static str) {
    let agent = match controller.split(':').next() {
        Some("xrc-paper") => "paper",
        _ => "default",
    };
    ("feedback.xrc.agent", agent)
}

/// The two senders of XRC, and whose claims they are measured for.
const OURS: [(&str, crate::ledger::Profile); 2] = [
    ("xrc-paper", crate::ledger::Profile::Paper),
    ("xrc", crate::ledger::Profile::Product),
];

/// The code of the state `name` in the internal `mode` of flow `i`'s controller.
fn mode(run: &RunResult, i: usize, name: &str) -> Option<f64> {
    let names = slackwater_control::registry::modes(&run.layout.controllers[i])?;
    names.iter().position(|n| *n == name).map(|at| at as f64)
}

/// Numbers and the distribution of the head-of-line delay in `span`, as `hol_*`.
fn keep_hol(run: &RunResult, out: &mut Outcome, span: m::Span) {
    let hol = m::hol(run, 0, span);
    out.value("hol_within", m::share_at_most(&hol, BUDGET_MS));
    if let Some(q) = m::quantiles(&hol) {
        for (name, v) in [
            ("hol_mean", q.mean),
            ("hol_p50", q.p50),
            ("hol_p90", q.p90),
            ("hol_p99", q.p99),
            ("hol_max", q.max),
        ] {
            out.value(name, Some(v));
        }
    }
    out.distribution("hol", hol);
}

/// Rates of all flows over bins of `width` tenths of a second, with the capacity behind them.
fn keep_rates(run: &RunResult, out: &mut Outcome, width: usize) {
    if !out.is_drawn() {
        return;
    }
    out.line("rate", m::capacity_line(run, PAYLOAD));
    for (i, controller) in run.layout.controllers.iter().enumerate() {
        out.line("rate", m::rate_line(run, i, width, title(controller)));
    }
}

/// Payload in a full packet of 1,500 bytes and 1.5 % of headers of the radio's layers.
const PAYLOAD: f64 = 1448.0 / 1500.0 * 0.985;

fn rate_panel(id: &str, heading: &str, runs: &Runs) -> Panel {
    Panel::new(
        id,
        heading,
        "",
        Drawing::Time {
            axis: Axis::new("Rate", "Mbit/s"),
            lines: runs.lines("rate"),
            tracks: runs.tracks("rate"),
            guides: vec![],
        },
    )
}

fn hol_cdf(id: &str, heading: &str, help: &str, lines: Vec<Distribution>) -> Panel {
    Panel::new(
        id,
        heading,
        help,
        Drawing::Cdf {
            axis: Axis::new("HoL delay", "ms"),
            lines,
            guides: vec![Guide::new(BUDGET_MS, "budget")],
        },
    )
}

/// What every run of the experiments beyond the paper is reduced to, in `span`.
fn keep_all(run: &RunResult, out: &mut Outcome, span: m::Span) {
    out.value("utilisation", m::utilisation(run, span));
    let flows: Vec<usize> = (0..run.layout.controllers.len())
        .filter(|i| !run.layout.controllers[*i].is_empty() && !run.layout.up[*i])
        .collect();
    let rates: Vec<f64> = flows.iter().map(|i| m::rate(run, *i, span)).collect();
    let total: f64 = rates.iter().sum();
    out.value("rate", Some(total));
    out.value("rate_0", rates.first().copied());
    let shared = |value: Option<f64>| value.filter(|_| flows.len() > 1);
    out.value("share", shared(rates.first().map(|r| r / total)));
    out.value("jain", shared(m::jain_common(run, &flows, span)));
    out.value("jain_1s", shared(m::jain_1s(run, &flows, span)));
    let counts: Vec<(u64, u64)> = flows.iter().map(|i| m::drops(run, *i)).collect();
    out.value(
        "drops",
        Some(counts.iter().map(|(dropped, _)| dropped).sum::<u64>() as f64),
    );
    let loss = |(dropped, sent): &(u64, u64)| *dropped as f64 / (*sent).max(1) as f64;
    out.value(
        "drops_0",
        counts.first().map(|(dropped, _)| *dropped as f64),
    );
    out.value("loss_0", counts.first().map(loss));
    out.value("loss_1", counts.get(1).map(loss));
    keep_hol(run, out, span);
}

/// A table of values, one row for each of `rows` (label, controller for its colour, runs).
#[track_caller]
fn table(caption: &str, heading: &str, columns: &[Entry], rows: &[(String, &str, &Runs)]) -> Panel {
    draw::table("table", caption, heading, columns, rows)
}

fn bar(
    group: &str,
    label: &str,
    controller: &str,
    runs: &Runs,
    name: &str,
    scale: f64,
) -> Option<Bar> {
    let samples: Vec<f64> = runs.values(name).iter().map(|v| v * scale).collect();
    let e = Estimate::of(&samples)?;
    Some(Bar {
        group: group.to_owned(),
        label: label.to_owned(),
        controller: controller.to_owned(),
        value: e,
        samples: if samples.len() > 1 { samples } else { vec![] },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_papers_sender_hears_the_papers_agent_in_every_run() {
        let parts = parts(&Options::default()).expect("a plan");
        let mut runs = 0;
        for e in parts.iter().flat_map(|p| &p.experiments) {
            let text = e.scenario.to_toml();
            if text.contains("\"xrc-paper") {
                runs += 1;
                assert!(text.contains("agent = \"paper\""), "{}: {text}", e.name);
            }
        }
        assert!(runs > 100, "{runs} runs");
    }
}
