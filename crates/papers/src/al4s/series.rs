//! Figure 5: one flow over time.

use super::cells::{ONE, cell};
use super::claims::{all, mean, sum};
use super::prelude::*;
use super::tables::run as one_flow;

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
    let end = m::end(run) as u32;
    if run.layout.labels.len() == 2 {
        let t: Vec<f64> = (0..end).map(f64::from).collect();
        let index = |at: &f64| m::jain_common(run, &[0, 1], (*at, at + 1.0));
        let y = t.iter().map(|at| index(at).unwrap_or(f64::NAN)).collect();
        let line = Line {
            label: String::new(),
            controller: String::new(),
            role: Role::default(),
            t,
            y,
        };
        out.line("jain", line);
    }
}

fn measures() -> Vec<Measure> {
    let mut measures = vec![];
    for (profile, ours) in [(Profile::Paper, CL4S), (Profile::Product, CL4S_DEFAULT)] {
        let less = |a: &Kind, b: &Kind, value: &str| {
            all([
                mean(1.0, [cell(&ONE, CASE, a, SERVICE)], value),
                mean(-1.0, [cell(&ONE, CASE, b, SERVICE)], value),
            ])
        };
        measures.extend([
            sum("f5-scream-spike", profile, less(&SCREAM, &ours, "max")),
            sum("f5-rise", profile, less(&ours, &GCC, "rise")),
            sum("f5-swift", profile, less(&ours, &GCC, "tdq55")),
        ]);
    }
    measures
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let experiments = KINDS
        .iter()
        .map(|kind| one_flow(&ONE, CASE, kind, SERVICE, options.quick))
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "fig5",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |kind: &Kind| o.get(&cell(&ONE, CASE, kind, SERVICE));
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
        ..Figure::default()
    }
}
