//! The block of JSON that travels with a paper's page.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;

use super::{Drawing, Figure, Guide, Page, Panel, Role};
use crate::decimate;
use crate::model::BandTrack;
use crate::palette::{self, Paint};
use crate::payload::{Columns, Packed, Trade, estimate, number, pack_trade_off};

/// Most points of a curve. A page has dozens of them, each half as wide as a run report's.
const POINTS: usize = 1500;
/// Most points of a distribution.
const POINTS_CDF: usize = 300;

/// The page's data.
#[derive(Serialize)]
pub(super) struct Payload<'a> {
    controllers: BTreeMap<&'a str, Paint>,
    states: BTreeMap<&'a str, Paint>,
    link: Paint,
    columns: Vec<Packed>,
    figures: Vec<Vec<PanelData<'a>>>,
}

#[derive(Serialize)]
struct PanelData<'a> {
    id: &'a str,
    kind: &'static str,
    title: &'a str,
    help: &'a str,
    wide: bool,
    axis: &'a str,
    unit: &'a str,
    from: Option<f64>,
    top: Option<f64>,
    guides: &'a [Guide],
    curves: Vec<Curve<'a>>,
    tracks: Vec<Track<'a>>,
    bars: Vec<BarData<'a>>,
    scatter: Option<Trade<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    label: &'a str,
    controller: &'a str,
    role: Role,
    x: usize,
    y: usize,
    /// Least, mean, greatest value and number of points, before thinning.
    stats: Option<[Value; 4]>,
}

#[derive(Serialize)]
struct Track<'a> {
    label: &'a str,
    controller: &'a str,
    names: Vec<&'a str>,
    /// Index into `names`, start and end of each band.
    bands: Vec<(usize, Value, Value)>,
}

#[derive(Serialize)]
struct BarData<'a> {
    group: &'a str,
    label: &'a str,
    controller: &'a str,
    value: [Value; 3],
    samples: Vec<Value>,
}

/// Makes the page's data.
pub(super) fn payload(page: &Page) -> Payload<'_> {
    let mut columns = Columns::default();
    let figures = page
        .figures
        .iter()
        .map(|figure| {
            let drawn = figure
                .panels
                .iter()
                .filter(|p| !matches!(p.drawing, Drawing::Table(_)));
            drawn.map(|p| panel(p, &mut columns)).collect()
        })
        .collect();
    Payload {
        controllers: names(page)
            .into_iter()
            .filter(|name| !name.is_empty())
            .map(|name| (name, palette::controller(name)))
            .collect(),
        states: page
            .figures
            .iter()
            .flat_map(tracks)
            .flat_map(|t| &t.bands)
            .map(|b| (b.state.as_str(), palette::state(&b.state)))
            .collect(),
        link: palette::LINK,
        columns: columns.into_packed(),
        figures,
    }
}

fn tracks(figure: &Figure) -> impl Iterator<Item = &BandTrack> {
    figure.panels.iter().flat_map(|p| match &p.drawing {
        Drawing::Time { tracks, .. } => tracks.as_slice(),
        _ => &[],
    })
}

/// Every controller that a plot names.
fn names(page: &Page) -> Vec<&str> {
    let mut names = vec![];
    for panel in page.figures.iter().flat_map(|f| &f.panels) {
        match &panel.drawing {
            Drawing::Time { lines, tracks, .. } => {
                names.extend(lines.iter().map(|l| l.controller.as_str()));
                names.extend(tracks.iter().map(|t| t.controller.as_str()));
            }
            Drawing::Cdf { lines, .. } => {
                names.extend(lines.iter().map(|l| l.controller.as_str()));
            }
            Drawing::Bars { bars, .. } => {
                names.extend(bars.iter().map(|b| b.controller.as_str()));
            }
            Drawing::Scatter(s) => names.extend(s.points.iter().map(|p| p.controller.as_str())),
            Drawing::Table(_) => {}
        }
    }
    names
}

fn panel<'a>(panel: &'a Panel, columns: &mut Columns) -> PanelData<'a> {
    let mut data = PanelData {
        id: &panel.id,
        kind: "",
        title: &panel.title,
        help: &panel.help,
        wide: panel.wide,
        axis: "",
        unit: "",
        from: None,
        top: None,
        guides: &[],
        curves: vec![],
        tracks: vec![],
        bars: vec![],
        scatter: None,
    };
    let axis = match &panel.drawing {
        Drawing::Time {
            axis,
            lines,
            tracks,
            guides,
        } => {
            data.kind = "time";
            data.guides = guides;
            for line in lines {
                let (t, y) = decimate::min_max(&line.t, &line.y, POINTS);
                data.curves.push(Curve {
                    label: &line.label,
                    controller: &line.controller,
                    role: line.role,
                    x: columns.times(&t),
                    y: columns.values(&y),
                    stats: stats(&line.y),
                });
            }
            data.tracks = tracks.iter().map(track).collect();
            Some(axis)
        }
        Drawing::Cdf {
            axis,
            lines,
            guides,
        } => {
            data.kind = "cdf";
            data.guides = guides;
            for line in lines {
                let n = line.sorted.len() as f64;
                let p: Vec<f64> = (1..=line.sorted.len()).map(|i| i as f64 / n).collect();
                let (x, p) = decimate::quantiles(&line.sorted, &p, POINTS_CDF);
                data.curves.push(Curve {
                    label: &line.label,
                    controller: &line.controller,
                    role: if line.side { Role::Side } else { Role::Main },
                    x: columns.values(&x),
                    y: columns.values(&p),
                    stats: stats(&line.sorted),
                });
            }
            Some(axis)
        }
        Drawing::Bars { axis, bars, guides } => {
            data.kind = "bars";
            data.guides = guides;
            data.bars = bars
                .iter()
                .map(|b| BarData {
                    group: &b.group,
                    label: &b.label,
                    controller: &b.controller,
                    value: estimate(&b.value),
                    samples: b.samples.iter().copied().map(number).collect(),
                })
                .collect();
            Some(axis)
        }
        Drawing::Scatter(trade) => {
            data.kind = "scatter";
            data.scatter = Some(pack_trade_off(trade));
            None
        }
        Drawing::Table(_) => None,
    };
    if let Some(axis) = axis {
        data.axis = &axis.label;
        data.unit = &axis.unit;
        data.from = axis.from;
        data.top = axis.top;
    }
    data
}

fn stats(values: &[f64]) -> Option<[Value; 4]> {
    let known: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
    let least = known.iter().copied().reduce(f64::min)?;
    let greatest = known.iter().copied().reduce(f64::max)?;
    let mean = known.iter().sum::<f64>() / known.len() as f64;
    Some([
        number(least),
        number(mean),
        number(greatest),
        Value::from(known.len()),
    ])
}

fn track(track: &BandTrack) -> Track<'_> {
    let mut names: Vec<&str> = vec![];
    let bands = track
        .bands
        .iter()
        .map(|b| {
            let at = names.iter().position(|n| *n == b.state);
            let at = at.unwrap_or_else(|| {
                names.push(&b.state);
                names.len() - 1
            });
            (at, number(b.start), number(b.end))
        })
        .collect();
    Track {
        label: &track.label,
        controller: &track.controller,
        names,
        bands,
    }
}
