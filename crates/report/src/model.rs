//! What a report shows, as plain values. Filled by the experiments, drawn by [`super::render`].

use serde::{Deserialize, Serialize};
use slackwater_results::stats::Bounds;

pub use slackwater_results::stats::Estimate;

/// A page about one run, or about several runs side by side.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// Heading and window title.
    pub title: String,
    /// One sentence below the heading: the cell, the duration, the flows.
    pub subtitle: String,
    /// The command line that makes this page again.
    pub command: String,
    /// Seeds used, in words ("seeds 1 to 5").
    pub seed_note: String,
    /// The resolved scenario.
    pub scenario_toml: String,
    /// Program and version.
    pub generated_by: String,
    /// Sentences for the reader: definitions, warnings, what was left out.
    pub notes: Vec<String>,
    /// Tables; the first is the summary.
    pub tables: Vec<SummaryTable>,
    /// Throughput against delay, for comparisons.
    pub trade_off: Option<TradeOff>,
    /// The runs whose curves the page can draw.
    pub runs: Vec<RunView>,
}

impl Report {
    /// Marks for display the first run of each set of controllers, and no other.
    ///
    /// [`super::render`] does this by itself where no run is marked.
    pub fn show_first_of_each(&mut self) {
        let mut seen: Vec<Vec<String>> = Vec::new();
        for run in &mut self.runs {
            run.shown = !seen.contains(&run.controllers);
            if run.shown {
                seen.push(run.controllers.clone());
            }
        }
    }
}

/// A table with one row for each controller, flow or run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SummaryTable {
    /// What the table says.
    pub caption: String,
    /// Heading of the column of row names.
    pub row_heading: String,
    /// Columns, in order.
    pub columns: Vec<Column>,
    /// Rows, in order.
    pub rows: Vec<Row>,
}

/// A column of numbers (or words).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Column {
    /// Heading.
    pub label: String,
    /// Unit of every cell; empty for a pure number.
    pub unit: String,
    /// Which direction is good, where one is.
    pub better: Option<Better>,
    /// The definition, shown with the heading.
    pub help: String,
}

impl Column {
    /// A column of numbers.
    pub fn new(label: &str, unit: &str, better: Option<Better>, help: &str) -> Self {
        Self {
            label: label.to_owned(),
            unit: unit.to_owned(),
            better,
            help: help.to_owned(),
        }
    }
}

/// Which direction is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Better {
    /// More is better.
    Higher,
    /// Less is better.
    Lower,
}

/// A row of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// Name of the row.
    pub label: String,
    /// Registry name of the controller, for its colour; empty for none.
    pub controller: String,
    /// One cell a column.
    pub cells: Vec<Cell>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cell {
    /// There is no such value.
    #[default]
    Missing,
    /// A number, with its interval where there is one.
    Number(Estimate),
    /// A mean with its interval, and the seeds behind it in their order, those without a value too: what pairs a row with another.
    Seeds(Estimate, Vec<Option<f64>>),
    /// Words.
    Text(String),
}

impl Cell {
    /// The number, where it is one.
    pub const fn number(&self) -> Option<&Estimate> {
        match self {
            Self::Number(e) | Self::Seeds(e, _) => Some(e),
            Self::Text(_) | Self::Missing => None,
        }
    }

    /// A mean with its interval within `bounds`, and the seeds behind it; nothing where there are none.
    pub fn of_seeds(values: Vec<Option<f64>>, bounds: Bounds) -> Self {
        let there: Vec<f64> = values.iter().flatten().copied().collect();
        Estimate::within(&there, bounds).map_or(Self::Missing, |e| Self::Seeds(e, values))
    }

    /// The mean with its interval, and the seeds where they are known.
    pub fn seeds(&self) -> Option<(Estimate, &[Option<f64>])> {
        match self {
            Self::Seeds(e, seeds) => Some((*e, seeds)),
            Self::Number(e) => Some((*e, &[])),
            Self::Text(_) | Self::Missing => None,
        }
    }
}

impl From<f64> for Cell {
    fn from(value: f64) -> Self {
        Self::Number(value.into())
    }
}

impl From<Estimate> for Cell {
    fn from(value: Estimate) -> Self {
        Self::Number(value)
    }
}

/// A scatter plot whose best corner is high and left: much throughput, little delay.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TradeOff {
    /// Name of the delay ("p95 queue delay"); less is better.
    pub x_label: String,
    /// Its unit.
    pub x_unit: String,
    /// Name of the throughput ("goodput"); more is better.
    pub y_label: String,
    /// Its unit.
    pub y_unit: String,
    /// One point for each controller (and variant).
    pub points: Vec<TradeOffPoint>,
}

/// A controller in the trade-off.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TradeOffPoint {
    /// Name at the point.
    pub label: String,
    /// Registry name of the controller.
    pub controller: String,
    /// Delay.
    pub x: Estimate,
    /// Throughput.
    pub y: Estimate,
    /// The seeds that the means are made of, as `[delay, throughput]`.
    pub samples: Vec<[f64; 2]>,
}

/// One run: one scenario, one set of controllers, one seed.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RunView {
    /// Unique name (as the folder below `runs/`).
    pub name: String,
    /// Name in legends ("cubic, seed 1"); short.
    pub label: String,
    /// Registry names of the controllers in this run, in the order of the flows.
    pub controllers: Vec<String>,
    /// The run's seed.
    pub seed: Option<u64>,
    /// Drawn when the page opens.
    pub shown: bool,
    /// Curves over time.
    pub series: Vec<Series>,
    /// Distributions.
    pub cdfs: Vec<Cdf>,
    /// Drops, marks, timeouts.
    pub events: Vec<EventTrack>,
    /// States of controllers over time.
    pub bands: Vec<BandTrack>,
    /// What all seeds of the variant show, beside the curves of this one.
    #[serde(default)]
    pub spreads: Vec<Spread>,
}

/// From where to where a curve goes over the seeds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// The curve, by its [`Series::id`].
    pub series: String,
    /// How many seeds.
    pub seeds: usize,
    /// Where each stretch of time starts, s.
    pub t: Vec<f64>,
    /// The least over the seeds in it; NaN where none has a value.
    #[serde(with = "gaps")]
    pub low: Vec<f64>,
    /// The greatest.
    #[serde(with = "gaps")]
    pub high: Vec<f64>,
}

/// A curve over time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Unique within the run.
    pub id: String,
    /// Name in the legend ("flow 1").
    pub label: String,
    /// Registry name of the controller; empty for a link's curve.
    pub controller: String,
    /// What is drawn, which decides the plot that it goes to.
    pub kind: SeriesKind,
    /// Unit of `y`.
    pub unit: String,
    /// Seconds since the start of the run, ascending.
    pub t: Vec<f64>,
    /// Values; NaN breaks the curve.
    #[serde(with = "gaps")]
    pub y: Vec<f64>,
}

/// What a curve shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SeriesKind {
    /// Bits delivered per second.
    Throughput,
    /// What the link could have carried; drawn as an area behind the throughput.
    Capacity,
    /// Pacing rate.
    Pacing,
    /// Rate that an encoder aims at.
    Target,
    /// Share of packets that were marked.
    Marks,
    /// Time from the capture of a frame until it was complete.
    FrameDelay,
    /// Time that packets waited in the bottleneck.
    QueueDelay,
    /// Age of the oldest waiting packet (RLC head-of-line delay).
    Hol,
    /// Congestion window.
    Cwnd,
    /// Slow-start threshold.
    Ssthresh,
    /// Bytes or packets in flight.
    InFlight,
    /// Round-trip time as the sender smooths it.
    Rtt,
    /// Least round-trip time that the sender knows of.
    MinRtt,
    /// One-way delay of packets.
    OneWayDelay,
    /// Bytes or packets waiting.
    Backlog,
    /// MCS index of a UE's new blocks.
    Mcs,
    /// Size of a UE's new transport blocks.
    BlockSize,
    /// Share of a UE's grants that send a block again.
    Repeated,
    /// A curve in a plot of its own, with this title.
    Other(String),
}

/// A distribution.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cdf {
    /// Name in the legend ("flow 1").
    pub label: String,
    /// Registry name of the controller.
    pub controller: String,
    /// What is distributed ("Queue delay"): curves with the same quantity share a plot.
    pub quantity: String,
    /// Unit of `x`.
    pub unit: String,
    /// Values, ascending.
    pub x: Vec<f64>,
    /// Share of samples at or below `x`, 0 to 1, ascending.
    pub p: Vec<f64>,
}

/// Instants at which something happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventTrack {
    /// What.
    pub kind: EventKind,
    /// To whom ("flow 1").
    pub label: String,
    /// Registry name of the controller; empty for none.
    pub controller: String,
    /// Seconds since the start of the run, ascending.
    pub t: Vec<f64>,
}

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventKind {
    /// A packet was dropped.
    Drop,
    /// A packet got a CE mark.
    Mark,
    /// A segment was sent again.
    Retransmission,
    /// A retransmission timer ran out.
    Timeout,
    /// The channel or the cell changed.
    Handover,
}

/// The states that one controller went through.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BandTrack {
    /// Whose ("flow 1").
    pub label: String,
    /// Registry name of the controller.
    pub controller: String,
    /// The states, in time order.
    pub bands: Vec<Band>,
}

/// A controller was in one state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Band {
    /// Name as the paper has it (`PROBE_BW`).
    pub state: String,
    /// Seconds.
    pub start: f64,
    /// Seconds.
    pub end: f64,
}

/// JSON has no NaN: a gap in a curve is `null`.
mod gaps {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(super) fn serialize<S: Serializer>(values: &[f64], out: S) -> Result<S::Ok, S::Error> {
        let values: Vec<Option<f64>> = values.iter().map(|v| v.is_finite().then_some(*v)).collect();
        values.serialize(out)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(input: D) -> Result<Vec<f64>, D::Error> {
        let values = Vec::<Option<f64>>::deserialize(input)?;
        Ok(values.into_iter().map(|v| v.unwrap_or(f64::NAN)).collect())
    }
}
