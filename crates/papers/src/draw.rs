//! Panels that several studies draw.

use slackwater_report::paper::{Bar, Drawing, Panel};
use slackwater_report::{Better, Cell, Column, Row, SummaryTable};
use slackwater_results::stats::{Bounds, Estimate};

use super::study::Runs;

/// A column of a table: a value that experiments keep, and how it is shown.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// Heading of the column.
    pub(super) heading: &'static str,
    /// Unit of what is shown.
    pub(super) unit: &'static str,
    /// Name of the value.
    pub(super) value: &'static str,
    /// Factor from the value to its unit here.
    pub(super) scale: f64,
    /// Which direction is good; `None` where neither is.
    pub(super) better: Option<Better>,
}

impl Entry {
    /// A value of which neither more nor less is better.
    pub(super) const fn plain(
        heading: &'static str,
        unit: &'static str,
        value: &'static str,
    ) -> Self {
        Self {
            heading,
            unit,
            value,
            scale: 1.0,
            better: None,
        }
    }

    /// A value of which more is better.
    pub(super) const fn more(
        heading: &'static str,
        unit: &'static str,
        value: &'static str,
    ) -> Self {
        Self {
            better: Some(Better::Higher),
            ..Self::plain(heading, unit, value)
        }
    }

    /// A value of which less is better.
    pub(super) const fn less(
        heading: &'static str,
        unit: &'static str,
        value: &'static str,
    ) -> Self {
        Self {
            better: Some(Better::Lower),
            ..Self::plain(heading, unit, value)
        }
    }

    /// The same, shown in a unit of which `scale` are one of the value's.
    pub(super) const fn times(self, scale: f64) -> Self {
        Self { scale, ..self }
    }
}

/// One cell: the mean of the value `name` over the seeds, times `scale`, with its interval, in `unit`.
fn cell(runs: &Runs, name: &str, scale: f64, unit: &str) -> Cell {
    let seeds = runs.by_seed(name).into_iter().map(|v| Some(v? * scale));
    let seeds: Vec<Option<f64>> = seeds.collect();
    let bounds = Bounds::of_unit(unit, &seeds);
    Cell::of_seeds(seeds, bounds)
}

/// A value that no row of a table keeps is a misspelt one.
#[track_caller]
fn check<'a>(name: &str, mut rows: impl Iterator<Item = &'a Runs>) {
    debug_assert!(
        rows.any(|runs| runs.is_empty() || runs.keeps(name)),
        "found a column of {name}, expected a number that a row of the table keeps"
    );
}

/// A table of values, one row for each of `rows` (label, name for its colour, runs).
#[track_caller]
pub(super) fn table(
    id: &str,
    caption: &str,
    heading: &str,
    columns: &[Entry],
    rows: &[(String, &str, &Runs)],
) -> Panel {
    for column in columns {
        check(column.value, rows.iter().map(|(_, _, runs)| *runs));
    }

    let table = SummaryTable {
        caption: caption.to_owned(),
        row_heading: heading.to_owned(),
        columns: columns
            .iter()
            .map(|c| Column::new(c.heading, c.unit, c.better, ""))
            .collect(),
        rows: rows
            .iter()
            .map(|(label, colour, runs)| Row {
                label: label.clone(),
                controller: (*colour).to_owned(),
                cells: columns
                    .iter()
                    .map(|c| cell(runs, c.value, c.scale, c.unit))
                    .collect(),
            })
            .collect(),
    };
    Panel::new(id, caption, "", Drawing::Table(table))
}

/// A table whose columns are runs too: one row for each label, one column for each of `columns` (heading, name of the
/// value), of the runs that `of` names by row and column.
#[track_caller]
pub(super) fn grid<'a>(
    id: &str,
    caption: &str,
    heading: &str,
    columns: &[(String, &str)],
    rows: &[(String, &str)],
    of: impl Fn(usize, usize) -> &'a Runs,
) -> Panel {
    for (c, (_, value)) in columns.iter().enumerate() {
        check(value, (0..rows.len()).map(|r| of(r, c)));
    }

    let table = SummaryTable {
        caption: caption.to_owned(),
        row_heading: heading.to_owned(),
        columns: columns
            .iter()
            .map(|(heading, _)| Column::new(heading, "", Some(Better::Higher), ""))
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
                    .map(|(c, (_, value))| cell(of(r, c), value, 1.0, ""))
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
        value: e,
        samples: if samples.len() > 1 { samples } else { vec![] },
    })
}
