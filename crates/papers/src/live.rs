//! Figures on real packets: which cases are run, what is taken of them, and the table of simulated and measured side by side.
//!
//! This crate has no sockets: whoever has them runs each case in real time and says what it saw as a [`Seen`]. The simulated
//! twin is of the same scenario, reduced in the same way.

mod of;

use std::collections::BTreeMap;

use slackwater_core::Duration;
use slackwater_lab::run::{Control, RunError, RunResult, run_scenario};
use slackwater_report::paper::{Axis, Distribution, Drawing, Figure, Page, Panel};
use slackwater_report::{Better, Cell, Column as Heading, Row, SummaryTable};
use slackwater_results::metrics::Estimate;
use slackwater_results::table::Table;
use slackwater_scenario::Scenario;

use crate::measure as m;
use crate::study::{Experiment, StudyError};

/// A share of late bytes: over the whole run, and from the end of the warm-up on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Late {
    /// Over the whole run.
    pub whole: f64,
    /// From the end of the warm-up on.
    pub steady: f64,
}

/// What was seen of a flow. Times are in milliseconds, rates in Mbit/s of payload; all but the shares over the whole run begin
/// at the end of the warm-up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SeenFlow {
    /// Its name.
    pub label: String,
    /// Smoothed RTTs, at equal distances.
    pub rtts: Vec<f64>,
    /// Its rate.
    pub rate: f64,
    /// How long each message took, from the socket until its last byte was handed to the receiver.
    pub times: Vec<f64>,
    /// Delays of its packets, from the servers' interface to the UE: the least, quantiles at equal distances, the largest.
    pub delays: Vec<f64>,
    /// Share of bytes whose packets were later than the limit.
    pub late_packets: Late,
    /// Share of bytes that were handed to the receiver later than the limit after their message was due.
    pub late_frames: Late,
}

/// What was seen of a run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    /// Its flows.
    pub flows: Vec<SeenFlow>,
    /// Numbers by name, of papers whose runs are read as the simulated ones are.
    pub(crate) numbers: BTreeMap<String, f64>,
}

impl Seen {
    /// That of a simulation. `whole` is the same run without a warm-up: messages of a warm-up are not recorded.
    fn of_run(run: &RunResult, whole: &RunResult) -> Self {
        let warmup = run.scenario.warmup;
        let span = (warmup.as_secs_f64(), m::all(run).1);
        let flow = |(i, label): (usize, &String)| {
            let record = &run.records.flows[i];
            let series = &record.series;
            let settled = series.time.iter().zip(&series.srtt);
            let settled = settled.filter(|(t, srtt)| **t >= warmup.as_nanos() && **srtt > 0);
            let times = record.transfers.iter();
            let times = times.filter(|t| t.start.as_secs_f64() >= span.0);
            let ends = |end| m::ms(end).into_iter();
            SeenFlow {
                label: label.clone(),
                rtts: settled.map(|(_, srtt)| *srtt as f64 * 1e-6).collect(),
                rate: m::rate(run, i, span),
                times: times
                    .map(|t| t.end.since(t.start).as_millis_f64())
                    .collect(),
                delays: ends(record.one_way.min())
                    .chain(m::one_way(run, i))
                    .chain(ends(record.one_way.max()))
                    .collect(),
                late_packets: Late {
                    whole: m::late_packets(whole, i, 0.0),
                    steady: m::late_packets(run, i, span.0),
                },
                late_frames: Late {
                    whole: m::late_frames(whole, i, 0.0),
                    steady: m::late_frames(run, i, span.0),
                },
            }
        };
        Self {
            flows: run.layout.labels.iter().enumerate().map(flow).collect(),
            ..Self::default()
        }
    }

    /// The number called `name`.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        self.numbers.get(name).copied()
    }

    /// What `of` gives of the flows whose label begins with `label`, together.
    pub(crate) fn pooled(&self, label: &str, of: fn(&SeenFlow) -> &Vec<f64>) -> Vec<f64> {
        let flows = self.flows.iter().filter(|f| f.label.starts_with(label));
        flows.flat_map(of).copied().collect()
    }
}

/// What is compared.
pub struct Column {
    /// What it is.
    pub label: &'static str,
    /// Its unit; may be empty.
    pub unit: &'static str,
    /// Digits behind the point.
    pub digits: usize,
    /// Its value.
    pub of: fn(&Seen) -> Option<f64>,
}

/// One scenario, run simulated and in real time.
pub struct Case {
    /// Short name: `strong-cubic-vaqm`.
    pub id: String,
    /// What it is, in words.
    pub label: String,
    /// What the paper says of it; empty where it says nothing.
    pub paper: String,
    /// What is run.
    pub scenario: Scenario,
    /// How a run is read, real or simulated; `None` where they are read in two ways.
    pub(crate) reduce: Option<fn(&RunResult) -> Seen>,
}

impl Case {
    /// What a simulation of it with `seed` shows.
    ///
    /// # Errors
    /// Where the world cannot be built, or `progress` says stop.
    pub fn simulate(
        &self,
        seed: u64,
        progress: &mut dyn FnMut(f64) -> Control,
    ) -> Result<Seen, RunError> {
        if let Some(reduce) = self.reduce {
            return run_scenario(&self.scenario, seed, progress).map(|run| reduce(&run));
        }
        let mut whole = self.scenario.clone();
        whole.warmup = Duration::ZERO;
        let whole = run_scenario(&whole, seed, progress)?;
        let run = run_scenario(&self.scenario, seed, progress)?;
        Ok(Seen::of_run(&run, &whole))
    }
}

impl Case {
    /// What a run in real time shows, where it has the records of a simulated one.
    pub fn see(&self, run: &RunResult) -> Option<Seen> {
        self.reduce.map(|reduce| reduce(run))
    }
}

/// Where a paper's cases run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Through a user plane function and the cell behind N3.
    CoreNetwork,
    /// Through an emulation of the scenario's path.
    Emulation,
}

/// Curves of one plot.
pub struct Curves {
    /// Short name.
    pub id: &'static str,
    /// Heading.
    pub title: &'static str,
    /// What is distributed.
    pub axis: Axis,
    /// Short names of the cases, and the name for their colour.
    pub cases: Vec<(String, &'static str)>,
    /// What of each.
    pub of: fn(&Seen) -> Vec<f64>,
}

/// Figures of a paper on real packets.
pub struct Live {
    /// Heading.
    pub title: &'static str,
    /// How it was set up, in sentences.
    pub setup: &'static str,
    /// Where the cases run.
    pub place: Place,
    /// What is compared.
    pub columns: Vec<Column>,
    /// What is run.
    pub cases: Vec<Case>,
    /// What is drawn.
    pub curves: Vec<Curves>,
}

/// A case of a paper.
pub(crate) fn case(
    id: String,
    label: String,
    paper: &str,
    text: &str,
    changes: &[(&str, &str)],
) -> Result<Case, StudyError> {
    let experiment = Experiment::new(&id, text, changes.iter().copied(), |_, _| ())?;
    Ok(Case {
        id,
        label,
        paper: paper.to_owned(),
        scenario: experiment.scenario,
        reduce: None,
    })
}

/// What came of a case.
#[derive(Clone, Debug, Default)]
pub struct Compared {
    /// Simulated, seed by seed.
    pub simulated: Vec<Seen>,
    /// In real time; `None` where it could not be measured.
    pub live: Option<Seen>,
    /// The machine could not keep up: what was measured says little.
    pub void: bool,
}

impl Compared {
    /// Mean and interval of the simulated, and what was measured.
    fn values(&self, column: &Column) -> (Option<Estimate>, Option<f64>) {
        let simulated: Vec<f64> = self.simulated.iter().filter_map(column.of).collect();
        let live = self.live.as_ref().and_then(column.of);
        (Estimate::of(&simulated), live)
    }
}

impl Live {
    fn cell(column: &Column, compared: &Compared) -> String {
        let digits = column.digits;
        let (simulated, live) = compared.values(column);
        let simulated = simulated.map_or("–".to_owned(), |e| {
            let seen = e
                .half_width()
                .is_some_and(|h| h >= 0.5 * 0.1_f64.powi(digits as i32));
            if seen {
                e.text(digits)
            } else {
                format!("{:.digits$}", e.mean)
            }
        });
        let void = if compared.void { " (void)" } else { "" };
        let live = live.map_or("–".to_owned(), |v| format!("{v:.digits$}{void}"));
        format!("{simulated} / {live}")
    }

    fn headings(&self) -> Vec<String> {
        let columns = self.columns.iter().map(|c| match c.unit {
            "" => c.label.to_owned(),
            unit => format!("{} ({unit})", c.label),
        });
        let last = self.has_paper().then(|| "the paper".to_owned());
        core::iter::once("simulated / real packets".to_owned())
            .chain(columns)
            .chain(last)
            .collect()
    }

    fn has_paper(&self) -> bool {
        self.cases.iter().any(|c| !c.paper.is_empty())
    }

    fn rows<'a>(&'a self, all: &'a [Compared]) -> impl Iterator<Item = Vec<String>> + 'a {
        self.cases.iter().zip(all).map(|(case, compared)| {
            let cells = self.columns.iter().map(|c| Self::cell(c, compared));
            let last = self.has_paper().then(|| case.paper.clone());
            core::iter::once(case.label.clone())
                .chain(cells)
                .chain(last)
                .collect()
        })
    }

    /// The table for a terminal. `all` has what came of each case.
    pub fn text(&self, all: &[Compared]) -> Table {
        let mut table = Table::new(&self.headings());
        for row in self.rows(all) {
            table.row(&row);
        }
        table
    }

    /// The table as Markdown, below a line that says how it was made.
    pub fn markdown(&self, all: &[Compared], made: &str) -> String {
        let line = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let headings = self.headings();
        let rule = vec!["---".to_owned(); headings.len()];
        let rows: String = self.rows(all).map(|row| line(&row)).collect();
        format!("{made}\n\n{}{}{rows}", line(&headings), line(&rule))
    }

    /// The numbers of all cases.
    pub fn json(&self, all: &[Compared]) -> serde_json::Value {
        let of = |(case, compared): (&Case, &Compared)| {
            let values = self.columns.iter().map(|column| {
                let seeds: Vec<f64> = compared.simulated.iter().filter_map(column.of).collect();
                let (_, live) = compared.values(column);
                let value =
                    serde_json::json!({ "unit": column.unit, "simulated": seeds, "live": live });
                (column.label.to_owned(), value)
            });
            let values: serde_json::Map<String, serde_json::Value> = values.collect();
            serde_json::json!({ "case": case.id, "what": case.label, "paper": case.paper, "void": compared.void, "values": values })
        };
        self.cases.iter().zip(all).map(of).collect()
    }

    /// The page: curves, then the table. `notes` say how the runs went.
    pub fn page(&self, all: &[Compared], notes: Vec<String>) -> Page {
        let find = |id: &str| {
            let place = self.cases.iter().position(|c| c.id == id)?;
            Some((&self.cases[place], &all[place]))
        };
        let sorted = |mut values: Vec<f64>| {
            values.sort_unstable_by(f64::total_cmp);
            values
        };
        let lines = |curves: &Curves| {
            let of = |(id, colour): &(String, &'static str)| {
                let (case, compared) = find(id)?;
                let curve = |what: &str, side, values| Distribution {
                    label: format!("{}, {what}", case.label),
                    controller: (*colour).to_owned(),
                    side,
                    sorted: sorted(values),
                };
                let simulated = compared.simulated.iter().flat_map(curves.of).collect();
                let live = compared.live.as_ref().map(curves.of).unwrap_or_default();
                Some([
                    curve("simulated", true, simulated),
                    curve("real packets", false, live),
                ])
            };
            let lines = curves.cases.iter().filter_map(of).flatten();
            lines.filter(|l| !l.sorted.is_empty()).collect::<Vec<_>>()
        };
        let drawn = self.curves.iter().map(|curves| (curves, lines(curves)));
        let drawn = drawn.filter(|(_, lines)| !lines.is_empty());
        let mut panels: Vec<Panel> = drawn
            .map(|(curves, lines)| {
                let drawing = Drawing::Cdf {
                    axis: curves.axis.clone(),
                    lines,
                    guides: vec![],
                };
                Panel::new(curves.id, curves.title, "", drawing)
            })
            .collect();
        panels.push(self.table(all));
        Page {
            title: self.title.to_owned(),
            notes,
            figures: vec![Figure {
                id: "live".to_owned(),
                title: self.title.to_owned(),
                setup: self.setup.to_owned(),
                panels,
                scenarios: self.cases.iter().map(|c| c.id.clone()).collect(),
                ..Figure::default()
            }],
            ..Page::default()
        }
    }

    fn table(&self, all: &[Compared]) -> Panel {
        let columns = self
            .columns
            .iter()
            .map(|c| Heading::new(c.label, c.unit, None::<Better>, ""));
        let rows = self.cases.iter().zip(all).map(|(case, compared)| Row {
            label: case.label.clone(),
            controller: String::new(),
            cells: self
                .columns
                .iter()
                .map(|c| Cell::Text(Self::cell(c, compared)))
                .collect(),
        });
        let table = SummaryTable {
            caption: "Simulated / real packets".to_owned(),
            row_heading: "case".to_owned(),
            columns: columns.collect(),
            rows: rows.collect(),
        };
        Panel::new(
            "table",
            "Simulated / real packets",
            "",
            Drawing::Table(table),
        )
        .wide()
    }
}

#[cfg(test)]
mod tests;
