//! A paper's page: each figure redrawn from our runs, the paper's claim beside ours, a verdict for each relation.
//!
//! Fill a [`Page`] and write what [`render`] returns: one file, self-contained, in the colours of the run report.

pub(super) mod html;
mod markdown;
mod payload;
#[cfg(test)]
mod tests;

use slackwater_results::check::{Check, Origin, Tally, Verdict};
use slackwater_results::stats::Bounds;

use super::model::{BandTrack, Estimate, SummaryTable, TradeOff};

pub use html::{bound, bound_of, ours, render, short};

/// A page about one paper.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// Heading and window title.
    pub title: String,
    /// Authors, venue, year.
    pub citation: String,
    /// What the paper proposes, in a few sentences.
    pub about: Vec<String>,
    /// The command line that makes this page again.
    pub command: String,
    /// Seeds used, in words.
    pub seed_note: String,
    /// Runs simulated, simulated time and wall time, in words.
    pub effort: String,
    /// Program and version.
    pub generated_by: String,
    /// Sentences on how to read it.
    pub notes: Vec<String>,
    /// The paper's claims in its order: the figure that tests each, and what it came to.
    pub claims: Vec<(String, Check)>,
    /// Claims whose figures were not made.
    pub left_out: usize,
    /// In the order of the page.
    pub figures: Vec<Figure>,
}

impl Page {
    /// Every check of the page, in order.
    pub fn checks(&self) -> impl Iterator<Item = &Check> {
        self.figures.iter().flat_map(|f| &f.checks)
    }

    /// What the page comes to, a sentence each: the paper's claims by profile, then what is ours.
    pub fn headline(&self) -> Vec<String> {
        let claims = self.claims.iter().map(|(_, check)| check);
        let own = self.checks().filter(|c| c.origin != Origin::Claim);
        headline(
            claims
                .chain(own)
                .map(|c| (c.origin, c.profile, c.verdict())),
            self.left_out,
        )
    }
}

/// Sentences that say how many comparisons, given as origin, profile and verdict, came to what.
pub(crate) fn headline<'a>(
    all: impl Iterator<Item = (Origin, Option<&'a str>, Verdict)>,
    left_out: usize,
) -> Vec<String> {
    let all: Vec<_> = all.collect();
    let tally = |wanted: &dyn Fn(Origin, Option<&str>, Verdict) -> bool| {
        let found = all.iter().filter(|(o, p, v)| wanted(*o, *p, *v));
        Tally::of(found.map(|(_, _, v)| *v))
    };
    let mut text = vec![];
    for (profile, whose) in [
        ("paper", "the paper's own system"),
        ("product", "the product"),
    ] {
        let found = tally(&|o, p, _| o == Origin::Claim && p == Some(profile));
        if found.tested() > 0 {
            text.push(format!(
                "Claims of the paper, with {whose}: {}.",
                found.text()
            ));
        }
    }
    let impossible = tally(&|o, _, v| o == Origin::Claim && v == Verdict::NotTested).not_tested;
    match impossible {
        0 => {}
        1 => text.push("1 claim cannot be tested; its row says why.".to_owned()),
        n => text.push(format!("{n} claims cannot be tested; their rows say why.")),
    }
    match left_out {
        0 => {}
        1 => text.push("1 claim belongs to a figure that was not made.".to_owned()),
        n => text.push(format!("{n} claims belong to figures that were not made.")),
    }
    let own = tally(&|o, _, _| matches!(o, Origin::Standard | Origin::Peer));
    if own.tested() > 0 {
        text.push(format!(
            "Bounds of standards and other programs: {}.",
            own.text()
        ));
    }
    let targets = tally(&|o, _, _| o == Origin::Target);
    if targets.tested() > 0 {
        text.push(format!(
            "Targets of our own, which do not count: {}.",
            targets.text()
        ));
    }
    if text.is_empty() {
        text.push("Nothing is tested here: this page shows what was measured.".to_owned());
    }
    text
}

/// One figure or table of the paper, or one of ours beyond it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Figure {
    /// Short name for links and files: `fig5`.
    pub id: String,
    /// `Figure 5: two bulk flows`.
    pub title: String,
    /// What is simulated, in a sentence or two.
    pub setup: String,
    /// What the paper says.
    pub claim: String,
    /// What our runs show.
    pub seen: String,
    /// Plots and tables.
    pub panels: Vec<Panel>,
    /// Verdicts.
    pub checks: Vec<Check>,
    /// Explanations: what cannot come from the paper's own parameters, what differs and why.
    pub notes: Vec<String>,
    /// Names of the scenarios behind it, as in the folder `scenarios/` of the results.
    pub scenarios: Vec<String>,
}

/// One plot or table.
#[derive(Clone, Debug, PartialEq)]
pub struct Panel {
    /// Short name, unique within the page; names the file of its data.
    pub id: String,
    /// Heading.
    pub title: String,
    /// One sentence below it.
    pub help: String,
    /// Takes the page's whole width.
    pub wide: bool,
    /// What it draws.
    pub drawing: Drawing,
}

impl Panel {
    /// A panel of half the page's width. Intervals of bars and points keep to what their unit allows.
    pub fn new(id: &str, title: &str, help: &str, mut drawing: Drawing) -> Self {
        match &mut drawing {
            Drawing::Bars { axis, bars, .. } => {
                for bar in bars {
                    limited(&mut bar.value, (&axis.label, &axis.unit), &bar.samples);
                }
            }
            Drawing::Scatter(trade) => {
                for point in &mut trade.points {
                    let column = |at: usize| point.samples.iter().map(move |s| s[at]);
                    let (x, y): (Vec<f64>, Vec<f64>) = (column(0).collect(), column(1).collect());
                    limited(&mut point.x, (&trade.x_label, &trade.x_unit), &x);
                    limited(&mut point.y, (&trade.y_label, &trade.y_unit), &y);
                }
            }
            Drawing::Time { .. } | Drawing::Cdf { .. } | Drawing::Table(_) => {}
        }
        Self {
            id: id.to_owned(),
            title: title.to_owned(),
            help: help.to_owned(),
            wide: false,
            drawing,
        }
    }

    /// The same over the page's whole width.
    #[must_use]
    pub fn wide(self) -> Self {
        Self { wide: true, ..self }
    }
}

/// Replaces the interval of the mean of `samples` by one that what `axis` shows allows; another statistic of them keeps its own.
fn limited(e: &mut Estimate, (label, unit): (&str, &str), samples: &[f64]) {
    let seeds: Vec<Option<f64>> = samples.iter().copied().map(Some).collect();
    let bounds = if label.starts_with("Jain") {
        Bounds::UpTo(1.0)
    } else {
        Bounds::of_unit(unit, &seeds)
    };
    let same = |mean: f64| (mean - e.mean).abs() <= 1e-9 * mean.abs();
    if bounds != Bounds::Real
        && let Some(found) = Estimate::within(samples, bounds)
        && found.n >= 2
        && same(found.mean)
    {
        *e = found;
    }
}

/// What a panel draws.
#[derive(Clone, Debug, PartialEq)]
pub enum Drawing {
    /// Curves over time, with the states of senders behind them.
    Time {
        /// What is on the vertical axis.
        axis: Axis,
        /// Curves.
        lines: Vec<Line>,
        /// States, from a controller's internal `mode`.
        tracks: Vec<BandTrack>,
        /// Horizontal lines.
        guides: Vec<Guide>,
    },
    /// Distributions.
    Cdf {
        /// What is distributed.
        axis: Axis,
        /// One curve each.
        lines: Vec<Distribution>,
        /// Vertical lines.
        guides: Vec<Guide>,
    },
    /// Bars with 95 % intervals over seeds.
    Bars {
        /// What the bars measure.
        axis: Axis,
        /// From top to bottom; neighbours of one group stand together.
        bars: Vec<Bar>,
        /// Vertical lines.
        guides: Vec<Guide>,
    },
    /// Two quantities against each other.
    Scatter(TradeOff),
    /// A table.
    Table(SummaryTable),
}

/// An axis.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// Name of the quantity.
    pub label: String,
    /// Its unit.
    pub unit: String,
    /// Where the axis starts, in place of zero.
    pub from: Option<f64>,
    /// Where it ends at most.
    pub top: Option<f64>,
}

impl Axis {
    /// An axis from zero to what there is.
    pub fn new(label: &str, unit: &str) -> Self {
        Self {
            label: label.to_owned(),
            unit: unit.to_owned(),
            ..Self::default()
        }
    }

    /// The same, starting at `from`.
    #[must_use]
    pub fn from(self, from: f64) -> Self {
        Self {
            from: Some(from),
            ..self
        }
    }

    /// The same, ending at `top` at most.
    #[must_use]
    pub fn top(self, top: f64) -> Self {
        Self {
            top: Some(top),
            ..self
        }
    }
}

/// How a curve stands in its plot.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// What the plot is about.
    #[default]
    Main,
    /// Belongs to a main curve; thin.
    Side,
    /// A grey area behind everything.
    Area,
}

/// A curve over time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Line {
    /// Name in the legend.
    pub label: String,
    /// Registry name of the controller, for its colour; empty for a link's curve.
    pub controller: String,
    /// How it stands in the plot.
    pub role: Role,
    /// Seconds, ascending.
    pub t: Vec<f64>,
    /// Values; NaN breaks the curve.
    pub y: Vec<f64>,
}

/// A distribution.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Distribution {
    /// Name in the legend.
    pub label: String,
    /// Registry name of the controller, for its colour.
    pub controller: String,
    /// Thin and dotted: what the main curves are compared with.
    pub side: bool,
    /// Values, ascending, each standing for the same share.
    pub sorted: Vec<f64>,
}

/// A bar.
#[derive(Clone, Debug, PartialEq)]
pub struct Bar {
    /// Heading of the bars that stand together; empty for none.
    pub group: String,
    /// Name of the bar.
    pub label: String,
    /// Registry name of the controller, for its colour; empty for grey.
    pub controller: String,
    /// Mean and interval.
    pub value: Estimate,
    /// The seeds that the mean is made of.
    pub samples: Vec<f64>,
}

/// A dashed line: what the paper promises, or what we ask for.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Guide {
    /// Where.
    pub at: f64,
    /// What it says.
    pub label: String,
}

impl Guide {
    /// A line at `at`.
    pub fn new(at: f64, label: &str) -> Self {
        Self {
            at,
            label: label.to_owned(),
        }
    }
}
