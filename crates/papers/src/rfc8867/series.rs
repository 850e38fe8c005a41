//! Rates over time: what the tables' means are means of.

use slackwater_report::paper::{Axis, Drawing, Figure, Panel};

use super::super::study::{Options, Part, StudyError};
use super::{CASES, CONTROLLERS, Way, matrix};

/// The cases that are drawn.
const DRAWN: [&str; 4] = ["5.1", "5.4", "5.6", "5.8"];

pub(super) fn part(options: &Options, way: &'static Way) -> Result<Part, StudyError> {
    Ok(Part {
        id: way.series,
        measures: vec![],
        experiments: matrix::experiments(options, way, |id| DRAWN.contains(&id))?,
        draw: Box::new(|o| {
            let mut panels = vec![];
            for case in CASES.iter().filter(|case| DRAWN.contains(&case.id)) {
                for (_, title, name) in CONTROLLERS {
                    let runs = o.get(&format!("{}/{}-{name}", way.id, case.id));
                    let drawing = Drawing::Time {
                        axis: Axis::new("Rate", "Mbit/s"),
                        lines: runs.lines("rates"),
                        tracks: vec![],
                        guides: vec![],
                    };
                    let id = format!("{}-{name}", case.id.replace('.', "-"));
                    panels.push(Panel::new(
                        &id,
                        &format!("{title}, {}", case.title),
                        "",
                        drawing,
                    ));
                }
            }
            Figure {
                title: format!("Rates over time over {}", way.title),
                setup: "The first seed; payload that arrived in each half second, and what the link can carry.".to_owned(),
                claim: "A controller should follow the capacity, and flows of one kind should meet.".to_owned(),
                seen: "See the tables for what this comes to.".to_owned(),
                panels,
                ..Figure::default()
            }
        }),
    })
}
