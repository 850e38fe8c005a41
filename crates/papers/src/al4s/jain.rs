//! Figure 1: Jain's index of sL4S and L4S-CC over time.

use super::cells::{TWO, cell};
use super::claims::{all, mean, sum};
use super::prelude::*;
use super::tables::run as two_flows;

/// Case 2, 60 ms, as the figure's caption says.
const CASE: usize = 1;
const SERVICE: u64 = 60;
const KINDS: [Kind; 3] = [SL4S, L4S_CC, SL4S_DEFAULT];

fn fixed(kind: &Kind) -> String {
    format!("fig1/fixed-{}", kind.id)
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for kind in &KINDS {
        experiments.push(two_flows(&TWO, CASE, kind, SERVICE, options.quick)?);
        let mut changes = of_kind(kind, SERVICE);
        changes.push(("link.points".to_owned(), "[[0, 10], [160, 10]]".to_owned()));
        changes.extend(words(&[("flow.count", "2")]));
        if options.quick {
            changes.push(("duration".to_owned(), format!("{QUICK_S} s")));
        }
        experiments.push(experiment(fixed(kind), IETF, &changes, keep)?);
    }
    let mut measures = vec![];
    for (profile, ours) in [(Profile::Paper, SL4S), (Profile::Product, SL4S_DEFAULT)] {
        let pattern = |kind: &Kind| cell(&TWO, CASE, kind, SERVICE);
        for (id, of) in [
            ("f1-ietf", &pattern as &dyn Fn(&Kind) -> String),
            ("f1-fixed", &fixed),
        ] {
            let more = all([
                mean(1.0, [of(&ours)], "jain"),
                mean(-1.0, [of(&L4S_CC)], "jain"),
            ]);
            measures.push(sum(id, profile, more));
        }
    }
    Ok(Part {
        id: "fig1",
        measures,
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let panel = |id: &str, title: &str, of: &dyn Fn(&Kind) -> String| {
        let lines = KINDS.iter().flat_map(|kind| {
            o.get(&of(kind)).lines("jain").into_iter().map(|mut line| {
                kind.title.clone_into(&mut line.label);
                kind.controller.clone_into(&mut line.controller);
                line
            })
        });
        let drawing = Drawing::Time {
            axis: Axis::new("Jain's index", ""),
            lines: lines.collect(),
            tracks: vec![],
            guides: vec![],
        };
        Panel::new(id, title, "First seed, each second.", drawing).wide()
    };
    let pattern = |kind: &Kind| cell(&TWO, CASE, kind, SERVICE);
    let jain = |name: String| o.get(&name).mean("jain");
    Figure {
        title: "Figure 1: fairness of sL4S and L4S-CC".to_owned(),
        setup: "Two flows of one kind that start together at 2 Mbit/s, service of 60 ms, marks from 5 to 20 ms.".to_owned(),
        claim: "L4S-CC suffers from fairness when two of its flows share the link; sL4S does not.".to_owned(),
        seen: format!(
            "Jain's index at 100 ms on the pattern: sL4S {:.3}, L4S-CC {:.3}; on 10 Mbit/s {:.3} and {:.3}. What our L4S-CC does is \
             described in words alone (reference 10 of the paper was not available).",
            jain(pattern(&SL4S)),
            jain(pattern(&L4S_CC)),
            jain(fixed(&SL4S)),
            jain(fixed(&L4S_CC)),
        ),
        panels: vec![
            panel("ietf", "IETF pattern (assumed)", &pattern),
            panel("fixed", "10 Mbit/s", &fixed),
        ],
        ..Figure::default()
    }
}
