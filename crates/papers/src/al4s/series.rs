//! Figure 5: one flow over time.

use super::prelude::*;
use super::tables::{one_flow, single};

const CASE: usize = 1;
const SERVICE: u64 = 60;
const KINDS: [Kind; 6] = [CL4S, SL4S, L4S_CC, GCC, SCREAM, CL4S_DEFAULT];

/// Keeps the curves that the figure draws.
pub(super) fn draw_lines(run: &RunResult, out: &mut Outcome) {
    if !out.is_drawn() {
        return;
    }
    for (i, label) in run.layout.labels.iter().enumerate() {
        out.line("rate", m::rate_line(run, i, 5, label));
        out.line("queue", m::queue_line(run, i, label));
    }
    out.line("capacity", m::capacity_line(run, 1.0));
}

pub(super) fn part() -> Result<Part, StudyError> {
    let experiments = KINDS
        .iter()
        .map(|kind| one_flow(CASE, kind, SERVICE))
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "fig5",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |kind: &Kind| o.get(&single(CASES[CASE].0, kind, SERVICE));
    let plot = |plot: &'static str| {
        KINDS.iter().flat_map(move |kind| {
            runs(kind).lines(plot).into_iter().map(|mut line| {
                kind.title.clone_into(&mut line.label);
                line
            })
        })
    };
    let capacity = runs(&CL4S).lines("capacity");
    let panel = |id, title, axis, lines, guides| {
        let drawing = Drawing::Time {
            axis,
            lines,
            tracks: vec![],
            guides,
        };
        Panel::new(id, title, "First seed.", drawing).wide()
    };
    let (_, low, high) = CASES[CASE];
    let peak = |kind: &Kind| runs(kind).mean("max");
    Figure {
        title: "Figure 5: one flow over time".to_owned(),
        setup: "Case 2 (5 and 20 ms), XR cloud gaming (60 ms): payload that arrived in each half second, and the mean queue delay \
                of each tenth of a second."
            .to_owned(),
        claim: "aL4S-CC fills the rise at 40 s quickly and ends the spike of the drop at 60 s swiftly; GCC spikes often; \
                SCReAMv2 lowers its rate far and raises it aggressively."
            .to_owned(),
        seen: format!(
            "The longest delay, at the drop, is {:.0} ms with cL4S, {:.0} with sL4S, {:.0} with L4S-CC, {:.0} with GCC and {:.0} with \
             SCReAMv2.",
            peak(&CL4S),
            peak(&SL4S),
            peak(&L4S_CC),
            peak(&GCC),
            peak(&SCREAM),
        ),
        panels: vec![
            panel(
                "rate",
                "Received rate",
                Axis::new("Rate", "Mbit/s"),
                capacity.into_iter().chain(plot("rate")).collect(),
                vec![],
            ),
            panel(
                "queue",
                "Queue delay",
                Axis::new("Queue delay", "ms").top(100.0),
                plot("queue").collect(),
                vec![
                    Guide::new(low as f64, "marks begin"),
                    Guide::new(high as f64, "all marked"),
                ],
            ),
        ],
        checks: vec![
            Check::of(
                "time with a delay above 55 ms, cL4S",
                "s",
                1.0,
                runs(&CL4S).estimate("tdq55"),
                Tolerance::AtMost,
            )
            .claimed(0.3)
            .profile("paper")
            .source("aL4S-CC, Table 2"),
        ],
        ..Figure::default()
    }
}
