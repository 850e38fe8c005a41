//! The block of JSON that travels with the page: curves thinned, columns packed and shared.

use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::{Number, Value};
use slackwater_results::stats::Interval;

use super::decimate;
use super::model::{
    BandTrack, Cdf, Estimate, EventKind, EventTrack, Report, RunView, Series, SeriesKind, TradeOff,
};
use super::palette::{self, Paint};

/// Most points of a curve of a run that is drawn when the page opens.
pub const POINTS_SHOWN: usize = 4000;
/// Most points of a curve of a run that the reader has to switch on.
pub const POINTS_HIDDEN: usize = 1000;
/// Points of a whole page, beyond which the curves of hidden runs get fewer (but never under [`POINTS_LEAST`]).
const POINTS_PAGE: usize = 800_000;
/// Least number of points that a long curve keeps.
const POINTS_LEAST: usize = 200;
/// Most points of a distribution.
const POINTS_CDF: usize = 400;
/// Most ticks of one kind in one run.
const TICKS: usize = 1500;

/// The page's data.
#[derive(Serialize)]
pub(super) struct Payload<'a> {
    controllers: BTreeMap<&'a str, Paint>,
    states: BTreeMap<&'a str, Paint>,
    link: Paint,
    panels: Vec<Panel>,
    columns: Vec<Packed>,
    runs: Vec<Run<'a>>,
    trade_off: Option<Trade<'a>>,
    /// Points of the longest curve before thinning, and the most that any curve kept.
    #[serde(skip)]
    longest: usize,
    #[serde(skip)]
    kept: usize,
}

impl Payload<'_> {
    /// Points of the longest curve before thinning, and the most that any curve kept.
    pub(super) fn thinning(&self) -> (usize, usize) {
        (self.longest, self.kept)
    }
}

#[derive(Serialize)]
struct Panel {
    id: String,
    title: String,
    axis: String,
    unit: String,
    help: String,
}

#[derive(Serialize)]
struct Run<'a> {
    name: &'a str,
    label: &'a str,
    controllers: &'a [String],
    seed: Option<u64>,
    shown: bool,
    series: Vec<Curve<'a>>,
    cdfs: Vec<Distribution<'a>>,
    events: Vec<Ticks<'a>>,
    bands: Vec<States<'a>>,
}

#[derive(Serialize)]
struct Curve<'a> {
    id: &'a str,
    label: &'a str,
    controller: &'a str,
    panel: usize,
    role: Role,
    name: &'static str,
    unit: &'a str,
    t: usize,
    y: usize,
    /// Number of points before thinning.
    n: usize,
    /// From where to where it goes over the seeds, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    spread: Option<Stretches>,
    /// Least, mean and greatest value before thinning.
    stats: Option<[Value; 3]>,
}

/// Columns of a band over the seeds.
#[derive(Serialize)]
struct Stretches {
    seeds: usize,
    t: usize,
    low: usize,
    high: usize,
}

/// How a curve stands in its plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum Role {
    /// What the plot is about.
    Main,
    /// Belongs to a main curve; thin, and switched off where it would crowd the plot.
    Side,
    /// A grey area behind everything.
    Area,
}

#[derive(Serialize)]
struct Distribution<'a> {
    label: &'a str,
    controller: &'a str,
    quantity: &'a str,
    unit: &'a str,
    x: usize,
    p: usize,
}

#[derive(Serialize)]
struct Ticks<'a> {
    kind: EventKind,
    label: &'a str,
    controller: &'a str,
    t: usize,
    /// How many there were before thinning.
    n: usize,
}

#[derive(Serialize)]
struct States<'a> {
    label: &'a str,
    controller: &'a str,
    names: Vec<&'a str>,
    /// Index into `names`, start and end of each band.
    bands: Vec<(usize, Value, Value)>,
}

#[derive(Serialize)]
pub(super) struct Trade<'a> {
    x_label: &'a str,
    x_unit: &'a str,
    y_label: &'a str,
    y_unit: &'a str,
    points: Vec<TradePoint<'a>>,
}

#[derive(Serialize)]
struct TradePoint<'a> {
    label: &'a str,
    controller: &'a str,
    x: [Value; 3],
    y: [Value; 3],
    samples: Vec<[Value; 2]>,
}

/// A column of numbers.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub(super) enum Packed {
    /// Integers `d`, each the difference to the one before, times `q`.
    Steps { q: f64, d: Vec<i64> },
    /// `n` integers from `a` in steps of `s`, times `q`.
    Even { q: f64, a: i64, s: i64, n: usize },
    /// Numbers as they are; `null` is a gap.
    Plain(Vec<Value>),
}

/// Columns of the page; equal ones are stored once.
#[derive(Default)]
pub(super) struct Columns {
    packed: Vec<Packed>,
    known: BTreeMap<String, usize>,
}

impl Columns {
    fn add(&mut self, column: Packed) -> usize {
        let text = serde_json::to_string(&column).expect("numbers always make JSON");
        *self.known.entry(text).or_insert_with(|| {
            self.packed.push(column);
            self.packed.len() - 1
        })
    }

    pub(super) fn times(&mut self, t: &[f64]) -> usize {
        self.add(pack_times(t))
    }

    pub(super) fn values(&mut self, y: &[f64]) -> usize {
        self.add(Packed::Plain(y.iter().copied().map(number).collect()))
    }

    pub(super) fn into_packed(self) -> Vec<Packed> {
        self.packed
    }
}

/// Turns ascending times into integers of the coarsest decimal step that holds them to a microsecond.
fn pack_times(t: &[f64]) -> Packed {
    let fits = |q: f64| {
        t.iter()
            .all(|time| ((time / q).round() * q - time).abs() < 0.5e-6)
    };
    let q = [1.0, 0.1, 0.01, 1e-3, 1e-4, 1e-5]
        .into_iter()
        .find(|q| fits(*q))
        .unwrap_or(1e-6);
    let whole: Vec<i64> = t.iter().map(|time| (time / q).round() as i64).collect();
    let mut before = 0;
    let d: Vec<i64> = whole
        .iter()
        .map(|v| v - std::mem::replace(&mut before, *v))
        .collect();
    match d.as_slice() {
        [a, s, rest @ ..] if rest.iter().all(|step| step == s) => Packed::Even {
            q,
            a: *a,
            s: *s,
            n: d.len(),
        },
        _ => Packed::Steps { q, d },
    }
}

/// Five significant digits, whole numbers without a point; `null` for what is not finite.
pub(super) fn number(value: f64) -> Value {
    if !value.is_finite() {
        return Value::Null;
    }
    let rounded: f64 = format!("{value:.4e}")
        .parse()
        .expect("a formatted float parses");
    if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
        Value::from(rounded as i64)
    } else {
        Number::from_f64(rounded).map_or(Value::Null, Value::Number)
    }
}

/// Makes the page's data from a report.
pub(super) fn payload(report: &Report) -> Payload<'_> {
    let hidden = points_for_hidden(report);
    let mut panels = panels(report);
    let mut columns = Columns::default();
    let mut counts = (0, 0);
    let runs = report
        .runs
        .iter()
        .map(|run| {
            let most = if run.shown { POINTS_SHOWN } else { hidden };
            pack_run(run, most, &mut panels, &mut columns, &mut counts)
        })
        .collect();
    Payload {
        controllers: controllers(report),
        states: report
            .runs
            .iter()
            .flat_map(|run| &run.bands)
            .flat_map(|track| &track.bands)
            .map(|band| (band.state.as_str(), palette::state(&band.state)))
            .collect(),
        link: palette::LINK,
        panels,
        columns: columns.packed,
        runs,
        trade_off: report.trade_off.as_ref().map(pack_trade_off),
        longest: counts.0,
        kept: counts.1,
    }
}

/// How many points the curves of hidden runs may have, so that the page keeps to [`POINTS_PAGE`].
fn points_for_hidden(report: &Report) -> usize {
    let points = |shown: bool, most: usize| -> usize {
        report
            .runs
            .iter()
            .filter(|run| run.shown == shown)
            .flat_map(|run| &run.series)
            .map(|series| series.t.len().min(most))
            .sum()
    };
    let wanted = points(false, POINTS_HIDDEN).max(1);
    let left = POINTS_PAGE.saturating_sub(points(true, POINTS_SHOWN));
    (POINTS_HIDDEN * left.min(wanted) / wanted).clamp(POINTS_LEAST, POINTS_HIDDEN)
}

/// Every controller that the page names, with its colour.
fn controllers(report: &Report) -> BTreeMap<&str, Paint> {
    let rows = report.tables.iter().flat_map(|table| &table.rows);
    let points = report.trade_off.iter().flat_map(|trade| &trade.points);
    let in_runs = report.runs.iter().flat_map(|run| {
        let curves = run.series.iter().map(|series| &series.controller);
        let cdfs = run.cdfs.iter().map(|cdf| &cdf.controller);
        let events = run.events.iter().map(|track| &track.controller);
        let bands = run.bands.iter().map(|track| &track.controller);
        run.controllers
            .iter()
            .chain(curves)
            .chain(cdfs)
            .chain(events)
            .chain(bands)
    });
    rows.map(|row| &row.controller)
        .chain(points.map(|point| &point.controller))
        .chain(in_runs)
        .filter(|name| !name.is_empty())
        .map(|name| (name.as_str(), palette::controller(name)))
        .collect()
}

/// A plot's identifier, title and axis, a curve's role in it, and what the curve shows.
struct Place {
    id: String,
    title: String,
    axis: String,
    help: &'static str,
    role: Role,
    name: &'static str,
}

fn place(kind: &SeriesKind) -> Place {
    let (id, title, axis, help, role, name) = match kind {
        SeriesKind::Throughput => RATE.with(Role::Main, "throughput"),
        SeriesKind::Capacity => RATE.with(Role::Area, "capacity"),
        SeriesKind::Pacing => RATE.with(Role::Side, "pacing rate"),
        SeriesKind::Target => RATE.with(Role::Side, "target rate"),
        SeriesKind::Marks => MARKS.with(Role::Main, "marked"),
        SeriesKind::FrameDelay => FRAMES.with(Role::Main, "frame delay"),
        SeriesKind::QueueDelay => QUEUE.with(Role::Main, "queue delay"),
        SeriesKind::Hol => QUEUE.with(Role::Side, "head of line"),
        SeriesKind::Cwnd => WINDOW.with(Role::Main, "cwnd"),
        SeriesKind::Ssthresh => WINDOW.with(Role::Side, "ssthresh"),
        SeriesKind::InFlight => WINDOW.with(Role::Side, "in flight"),
        SeriesKind::Rtt => RTT.with(Role::Main, "RTT"),
        SeriesKind::MinRtt => RTT.with(Role::Side, "min RTT"),
        SeriesKind::OneWayDelay => OWD.with(Role::Main, "one-way delay"),
        SeriesKind::Backlog => BACKLOG.with(Role::Main, "backlog"),
        SeriesKind::Mcs => MCS.with(Role::Main, "MCS"),
        SeriesKind::BlockSize => BLOCKS.with(Role::Main, "block size"),
        SeriesKind::Repeated => REPEATED.with(Role::Main, "sent again"),
        SeriesKind::Other(title) => {
            return Place {
                id: format!("other:{title}"),
                title: title.clone(),
                axis: title.clone(),
                help: "",
                role: Role::Main,
                name: "",
            };
        }
    };
    Place {
        id: id.to_owned(),
        title: title.to_owned(),
        axis: axis.to_owned(),
        help,
        role,
        name,
    }
}

/// One of the standing plots.
struct Standing {
    id: &'static str,
    title: &'static str,
    axis: &'static str,
    help: &'static str,
}

impl Standing {
    const fn with(
        &self,
        role: Role,
        name: &'static str,
    ) -> (
        &'static str,
        &'static str,
        &'static str,
        &'static str,
        Role,
        &'static str,
    ) {
        (self.id, self.title, self.axis, self.help, role, name)
    }
}

const RATE: Standing = Standing {
    id: "rate",
    title: "Throughput",
    axis: "Throughput",
    help: "What each flow delivered; the grey area is what the link could have carried.",
};
const QUEUE: Standing = Standing {
    id: "queue",
    title: "Queue delay",
    axis: "Queue delay",
    help: "Time in the bottleneck's queue; head of line is the age of the oldest waiting packet.",
};
const MARKS: Standing = Standing {
    id: "marks",
    title: "Marked packets",
    axis: "Marked",
    help: "Share of the packets that left the bottleneck's queue in a tenth of a second.",
};
const FRAMES: Standing = Standing {
    id: "frames",
    title: "Frame delay",
    axis: "Frame delay",
    help: "From the capture of a frame until it was complete; frames that never were are gaps.",
};
const WINDOW: Standing = Standing {
    id: "cwnd",
    title: "Congestion window",
    axis: "Window",
    help: "What the sender may have in flight.",
};
const RTT: Standing = Standing {
    id: "rtt",
    title: "Round-trip time",
    axis: "RTT",
    help: "As the sender sees it.",
};
const OWD: Standing = Standing {
    id: "owd",
    title: "One-way delay",
    axis: "One-way delay",
    help: "From the sending to the receiving host.",
};
const BACKLOG: Standing = Standing {
    id: "backlog",
    title: "Backlog",
    axis: "Backlog",
    help: "What waits in the bottleneck.",
};
const MCS: Standing = Standing {
    id: "mcs",
    title: "Radio: modulation and coding",
    axis: "MCS index",
    help: "Mean MCS of each UE's new blocks in a tenth of a second, in the direction in which it has more bytes.",
};
const BLOCKS: Standing = Standing {
    id: "tbs",
    title: "Radio: transport blocks",
    axis: "Block size",
    help: "Mean size of each UE's new blocks: MCS times resource blocks.",
};
const REPEATED: Standing = Standing {
    id: "harq",
    title: "Radio: HARQ retransmissions",
    axis: "Sent again",
    help: "Share of each UE's grants that send a block once more.",
};
const ORDER: [&str; 11] = [
    RATE.id,
    QUEUE.id,
    MARKS.id,
    FRAMES.id,
    WINDOW.id,
    RTT.id,
    OWD.id,
    BACKLOG.id,
    MCS.id,
    BLOCKS.id,
    REPEATED.id,
];

/// The plots that the report's curves need, the standing ones first. A plot has one unit: the same quantity in
/// another unit gets a plot of its own.
fn panels(report: &Report) -> Vec<Panel> {
    let mut panels: Vec<Panel> = Vec::new();
    for series in report.runs.iter().flat_map(|run| &run.series) {
        let place = place(&series.kind);
        if find_panel(&panels, &place.id, &series.unit).is_none() {
            panels.push(Panel {
                id: place.id,
                title: place.title,
                axis: place.axis,
                unit: series.unit.clone(),
                help: place.help.to_owned(),
            });
        }
    }
    panels.sort_by_key(|panel| {
        ORDER
            .iter()
            .position(|id| *id == panel.id)
            .unwrap_or(ORDER.len())
    });
    panels
}

fn find_panel(panels: &[Panel], id: &str, unit: &str) -> Option<usize> {
    panels
        .iter()
        .position(|panel| panel.id == id && panel.unit == unit)
}

fn pack_run<'a>(
    run: &'a RunView,
    most: usize,
    panels: &mut [Panel],
    columns: &mut Columns,
    counts: &mut (usize, usize),
) -> Run<'a> {
    Run {
        name: &run.name,
        label: &run.label,
        controllers: &run.controllers,
        seed: run.seed,
        shown: run.shown,
        series: run
            .series
            .iter()
            .map(|series| {
                let spread = run.spreads.iter().find(|s| s.series == series.id);
                let spread = spread.map(|s| Stretches {
                    seeds: s.seeds,
                    t: columns.times(&s.t),
                    low: columns.values(&s.low),
                    high: columns.values(&s.high),
                });
                Curve {
                    spread,
                    ..pack_series(series, most, panels, columns, counts)
                }
            })
            .collect(),
        cdfs: run.cdfs.iter().map(|cdf| pack_cdf(cdf, columns)).collect(),
        events: run
            .events
            .iter()
            .map(|track| pack_events(track, columns))
            .collect(),
        bands: run.bands.iter().map(pack_bands).collect(),
    }
}

fn pack_series<'a>(
    series: &'a Series,
    most: usize,
    panels: &[Panel],
    columns: &mut Columns,
    counts: &mut (usize, usize),
) -> Curve<'a> {
    let place = place(&series.kind);
    let (t, y) = if series.t.is_sorted() {
        decimate::min_max(&series.t, &series.y, most)
    } else {
        let mut points: Vec<(f64, f64)> = series
            .t
            .iter()
            .copied()
            .zip(series.y.iter().copied())
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (t, y): (Vec<f64>, Vec<f64>) = points.into_iter().unzip();
        decimate::min_max(&t, &y, most)
    };
    counts.0 = counts.0.max(series.t.len());
    counts.1 = counts.1.max(t.len());
    Curve {
        id: &series.id,
        label: &series.label,
        controller: &series.controller,
        panel: find_panel(panels, &place.id, &series.unit)
            .expect("panels() made one for every series"),
        role: place.role,
        name: place.name,
        unit: &series.unit,
        t: columns.times(&t),
        y: columns.values(&y),
        n: series.t.len(),
        spread: None,
        stats: stats(&series.y),
    }
}

/// Least, mean and greatest finite value.
fn stats(y: &[f64]) -> Option<[Value; 3]> {
    let finite = || y.iter().copied().filter(|v| v.is_finite());
    let n = finite().count();
    (n > 0).then(|| {
        let least = finite().fold(f64::INFINITY, f64::min);
        let greatest = finite().fold(f64::NEG_INFINITY, f64::max);
        let mean = finite().sum::<f64>() / n as f64;
        [least, mean, greatest].map(number)
    })
}

fn pack_cdf<'a>(cdf: &'a Cdf, columns: &mut Columns) -> Distribution<'a> {
    let (x, p) = decimate::quantiles(&cdf.x, &cdf.p, POINTS_CDF);
    Distribution {
        label: &cdf.label,
        controller: &cdf.controller,
        quantity: &cdf.quantity,
        unit: &cdf.unit,
        x: columns.values(&x),
        p: columns.add(Packed::Plain(p.into_iter().map(probability).collect())),
    }
}

/// Six decimals: the tail of a distribution needs more than five significant digits.
fn probability(p: f64) -> Value {
    Number::from_f64((p * 1e6).round() / 1e6).map_or(Value::Null, Value::Number)
}

fn pack_events<'a>(track: &'a EventTrack, columns: &mut Columns) -> Ticks<'a> {
    Ticks {
        kind: track.kind,
        label: &track.label,
        controller: &track.controller,
        t: columns.times(&decimate::instants(&track.t, TICKS)),
        n: track.t.len(),
    }
}

fn pack_bands(track: &BandTrack) -> States<'_> {
    let mut names: Vec<&str> = Vec::new();
    let bands = track
        .bands
        .iter()
        .map(|band| {
            let at = names
                .iter()
                .position(|name| *name == band.state)
                .unwrap_or_else(|| {
                    names.push(&band.state);
                    names.len() - 1
                });
            (at, instant(band.start), instant(band.end))
        })
        .collect();
    States {
        label: &track.label,
        controller: &track.controller,
        names,
        bands,
    }
}

/// Seconds to the microsecond.
fn instant(t: f64) -> Value {
    Number::from_f64((t * 1e6).round() / 1e6).map_or(Value::Null, Value::Number)
}

/// Mean, least and greatest value of the interval; `null` where there is none.
pub(super) fn estimate(e: &Estimate) -> [Value; 3] {
    let end = |of: fn(&Interval) -> f64| e.interval.as_ref().map_or(Value::Null, |i| number(of(i)));
    [number(e.mean), end(|i| i.low), end(|i| i.high)]
}

pub(super) fn pack_trade_off(trade: &TradeOff) -> Trade<'_> {
    Trade {
        x_label: &trade.x_label,
        x_unit: &trade.x_unit,
        y_label: &trade.y_label,
        y_unit: &trade.y_unit,
        points: trade
            .points
            .iter()
            .map(|point| TradePoint {
                label: &point.label,
                controller: &point.controller,
                x: estimate(&point.x),
                y: estimate(&point.y),
                samples: point
                    .samples
                    .iter()
                    .map(|[x, y]| [number(*x), number(*y)])
                    .collect(),
            })
            .collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_on_a_grid_take_four_numbers() {
        let t: Vec<f64> = (0..1000).map(|i| f64::from(i) * 0.01).collect();
        assert_eq!(
            pack_times(&t),
            Packed::Even {
                q: 0.01,
                a: 0,
                s: 1,
                n: 1000
            }
        );
    }

    #[test]
    fn uneven_times_become_steps_of_the_coarsest_fitting_size() {
        assert_eq!(
            pack_times(&[0.001, 0.003, 0.004]),
            Packed::Steps {
                q: 1e-3,
                d: vec![1, 2, 1]
            }
        );
        assert_eq!(pack_times(&[]), Packed::Steps { q: 1.0, d: vec![] });
    }

    #[test]
    fn numbers_keep_five_digits_and_gaps_are_null() {
        assert_eq!(number(12.345_678).to_string(), "12.346");
        assert_eq!(number(14_480.0).to_string(), "14480");
        assert_eq!(number(0.000_123_456).to_string(), "0.00012346");
        assert_eq!(number(f64::NAN), Value::Null);
    }

    #[test]
    fn equal_columns_are_stored_once() {
        let mut columns = Columns::default();
        let first = columns.values(&[1.0, 2.0]);
        let other = columns.values(&[1.0, 2.5]);
        assert_eq!(columns.values(&[1.0, 2.0]), first);
        assert_ne!(first, other);
        assert_eq!(columns.packed.len(), 2);
    }
}
