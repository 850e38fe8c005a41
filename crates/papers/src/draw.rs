//! Panels that several studies draw.

use slackwater_report::paper::{Bar, Drawing, Panel};
use slackwater_report::{Better, Cell, Column, Row, SummaryTable};
use slackwater_results::metrics::Estimate;

use super::study::Runs;

/// A column of a table: heading, unit, name of the value, factor, which direction is good.
pub(super) type Entry = (
    &'static str,
    &'static str,
    &'static str,
    f64,
    Option<Better>,
);

/// One cell: the mean of the value `name` over the seeds, times `scale`, with its interval.
fn cell(runs: &Runs, name: &str, scale: f64) -> Cell {
    let scaled: Vec<f64> = runs.values(name).iter().map(|v| v * scale).collect();
    Cell::of_seeds(scaled)
}

/// A table of values, one row for each of `rows` (label, name for its colour, runs).
pub(super) fn table(
    id: &str,
    caption: &str,
    heading: &str,
    columns: &[Entry],
    rows: &[(String, &str, &Runs)],
) -> Panel {
    let table = SummaryTable {
        caption: caption.to_owned(),
        row_heading: heading.to_owned(),
        columns: columns
            .iter()
            .map(|c| Column::new(c.0, c.1, c.4, ""))
            .collect(),
        rows: rows
            .iter()
            .map(|(label, colour, runs)| Row {
                label: label.clone(),
                controller: (*colour).to_owned(),
                cells: columns.iter().map(|c| cell(runs, c.2, c.3)).collect(),
            })
            .collect(),
    };
    Panel::new(id, caption, "", Drawing::Table(table))
}

/// A table whose columns are runs too: one row for each label, one column for each of `columns` (heading, name of the
/// value), of the runs that `of` names by row and column.
pub(super) fn grid<'a>(
    id: &str,
    caption: &str,
    heading: &str,
    columns: &[(String, &str)],
    rows: &[(String, &str)],
    of: impl Fn(usize, usize) -> &'a Runs,
) -> Panel {
    let table = SummaryTable {
        caption: caption.to_owned(),
        row_heading: heading.to_owned(),
        columns: columns
            .iter()
            .map(|c| Column::new(c.0.as_str(), "", Some(Better::Higher), ""))
            .collect(),
        rows: rows
            .iter()
            .enumerate()
            .map(|(r, (label, colour))| Row {
                label: label.clone(),
                controller: (*colour).to_owned(),
                cells: columns
                    .iter()
                    .enumerate()
                    .map(|(c, column)| cell(of(r, c), column.1, 1.0))
                    .collect(),
            })
            .collect(),
    };
    Panel::new(id, caption, "", Drawing::Table(table)).wide()
}

/// The same table of values of which less is better.
pub(super) fn lower(mut panel: Panel) -> Panel {
    if let Drawing::Table(table) = &mut panel.drawing {
        for column in &mut table.columns {
            column.better = Some(Better::Lower);
        }
    }
    panel
}

/// The same table without a best in each column: its rows are of different cases.
pub(super) fn apart(mut panel: Panel) -> Panel {
    if let Drawing::Table(table) = &mut panel.drawing {
        for column in &mut table.columns {
            column.better = None;
        }
    }
    panel
}

/// A bar of the value `name` over the seeds.
pub(super) fn bar(group: &str, label: &str, colour: &str, runs: &Runs, name: &str) -> Option<Bar> {
    let samples = runs.values(name);
    let e = Estimate::of(&samples)?;
    Some(Bar {
        group: group.to_owned(),
        label: label.to_owned(),
        controller: colour.to_owned(),
        value: slackwater_report::Estimate {
            mean: e.mean,
            half_width: e.half_width,
        },
        samples: if samples.len() > 1 { samples } else { vec![] },
    })
}
