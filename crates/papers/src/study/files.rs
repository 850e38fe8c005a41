//! What a study leaves on disk.

use std::path::{Path, PathBuf};

use serde::Serialize;
use slackwater_report::paper::{Drawing, Panel};
use slackwater_results::check::{Check, Origin, Verdict};
use slackwater_results::output::frame::{Column, Frame, Words};
use slackwater_results::output::{OutputError, parquet};

use super::Reproduction;

#[derive(Serialize)]
struct FigureCheck<'a> {
    figure: &'a str,
    verdict: Verdict,
    /// How many seeds would decide an open verdict.
    #[serde(skip_serializing_if = "Option::is_none")]
    seeds_to_decide: Option<usize>,
    #[serde(flatten)]
    check: &'a Check,
}

impl<'a> FigureCheck<'a> {
    fn new(figure: &'a str, check: &'a Check) -> Self {
        Self {
            figure,
            verdict: check.verdict(),
            seeds_to_decide: check.seeds_to_decide(),
            check,
        }
    }
}

/// What a study came to, as JSON sees it.
#[derive(Serialize)]
struct Verdicts<'a> {
    paper: &'a str,
    title: &'a str,
    version: &'static str,
    seeds: &'a [u64],
    /// The paper's claims, in its order.
    claims: Vec<FigureCheck<'a>>,
    /// What is compared besides.
    relations: Vec<FigureCheck<'a>>,
    left_out: usize,
    /// What is missing of results that were interrupted.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<&'a str>,
}

impl Reproduction {
    /// The paper's claims and what is compared besides: bound, what came out, the verdict, which figure it belongs to.
    pub fn json(&self) -> serde_json::Value {
        let claims = self.page.claims.iter();
        let relations = self.page.figures.iter().flat_map(|f| {
            let own = f.checks.iter().filter(|c| c.origin != Origin::Claim);
            own.map(|check| FigureCheck::new(&f.id, check))
        });
        serde_json::to_value(Verdicts {
            paper: self.name,
            title: &self.page.title,
            version: env!("CARGO_PKG_VERSION"),
            seeds: &self.seeds,
            claims: claims
                .map(|(figure, check)| FigureCheck::new(figure, check))
                .collect(),
            relations: relations.collect(),
            left_out: self.page.left_out,
            partial: self.partial.as_deref(),
        })
        .expect("numbers and texts always make JSON")
    }

    /// Writes `index.html`, `checks.json`, one Parquet file a plot in `data/` and the scenarios in `scenarios/`.
    ///
    /// # Errors
    /// Where a file cannot be written.
    pub fn write(&self, folder: &Path) -> Result<PathBuf, OutputError> {
        let file = |path: &Path, text: &str| {
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(OutputError::file(parent))?;
            }
            std::fs::write(path, text).map_err(OutputError::file(path))
        };
        for (name, text) in &self.scenarios {
            let path = folder
                .join("scenarios")
                .join(format!("{}.toml", name.replace('/', "-")));
            file(&path, text)?;
        }
        let data = folder.join("data");
        std::fs::create_dir_all(&data).map_err(OutputError::file(&data))?;
        for panel in self.page.figures.iter().flat_map(|f| &f.panels) {
            if let Some(frame) = frame(panel) {
                let path = data.join(format!("{}.parquet", panel.id));
                parquet::write(&path, std::iter::once(frame))?;
            }
        }
        let mut json = serde_json::to_string_pretty(&self.json()).unwrap_or_default();
        json.push('\n');
        file(&folder.join("checks.json"), &json)?;
        let page = folder.join("index.html");
        file(&page, &slackwater_report::paper::render(&self.page))?;
        Ok(page)
    }
}

/// The numbers behind a plot; tables have none of their own.
fn frame(panel: &Panel) -> Option<Frame> {
    let (mut curves, mut controllers) = (Words::default(), Words::default());
    let columns = match &panel.drawing {
        Drawing::Time { lines, .. } => {
            let (mut t, mut y) = (vec![], vec![]);
            for line in lines {
                curves.push(&line.label, line.t.len());
                controllers.push(&line.controller, line.t.len());
                t.extend_from_slice(&line.t);
                y.extend_from_slice(&line.y);
            }
            vec![
                ("curve", curves.column()),
                ("controller", controllers.column()),
                ("time_s", Column::Float(t)),
                ("value", Column::Float(y)),
            ]
        }
        Drawing::Cdf { lines, .. } => {
            let (mut x, mut p) = (vec![], vec![]);
            for line in lines {
                let n = line.sorted.len();
                curves.push(&line.label, n);
                controllers.push(&line.controller, n);
                x.extend_from_slice(&line.sorted);
                p.extend((1..=n).map(|i| i as f64 / n as f64));
            }
            vec![
                ("curve", curves.column()),
                ("controller", controllers.column()),
                ("value", Column::Float(x)),
                ("share_at_or_below", Column::Float(p)),
            ]
        }
        Drawing::Bars { bars, .. } => {
            let mut groups = Words::default();
            for bar in bars {
                groups.push(&bar.group, 1);
                curves.push(&bar.label, 1);
                controllers.push(&bar.controller, 1);
            }
            let number = |f: fn(&slackwater_report::paper::Bar) -> f64| {
                Column::Float(bars.iter().map(f).collect())
            };
            vec![
                ("group", groups.column()),
                ("label", curves.column()),
                ("controller", controllers.column()),
                ("mean", number(|b| b.value.mean)),
                ("low_95", number(|b| b.value.bounds().0)),
                ("high_95", number(|b| b.value.bounds().1)),
            ]
        }
        Drawing::Scatter(trade) => {
            for p in &trade.points {
                curves.push(&p.label, 1);
                controllers.push(&p.controller, 1);
            }
            let number = |f: fn(&slackwater_report::TradeOffPoint) -> f64| {
                Column::Float(trade.points.iter().map(f).collect())
            };
            vec![
                ("label", curves.column()),
                ("controller", controllers.column()),
                ("x", number(|p| p.x.mean)),
                ("y", number(|p| p.y.mean)),
            ]
        }
        Drawing::Table(_) => return None,
    };
    Some(Frame { columns })
}
