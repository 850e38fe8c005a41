//! A made-up comparison that fills every part of the page, for the tests and for looking at.
//!
//! `SLACKWATER_REPORT_DEMO=<folder> cargo test -p slackwater-report demo` writes `compare.html` and `run.html` there.

use slackwater_core::rng::{self, Draw, Stream};
use slackwater_results::stats::Bounds;

use super::*;

const CONTROLLERS: [&str; 7] = [
    "reno", "cubic", "vegas", "veno", "illinois", "westwood", "bbr",
];
const SEEDS: u64 = 5;
const STEP: f64 = 0.01;
const SAMPLES: usize = 6000;

/// Noise in `[-1, 1)`.
fn noise(stream: &mut Stream) -> f64 {
    2.0 * rng::uniform(stream) - 1.0
}

fn key(controller: &str) -> u64 {
    controller.bytes().map(u64::from).sum()
}

fn capacity(seed: u64) -> Vec<f64> {
    let mut rng = Draw::new(seed).stream(0);
    let mut level = 0.0;
    (0..SAMPLES)
        .map(|i| {
            level = 0.99 * level + 0.2 * noise(&mut rng);
            let t = i as f64 * STEP;
            (14.0 + 5.0 * (t / 9.0).sin() + level).max(2.0)
        })
        .collect()
}

struct Curves {
    rate: Vec<f64>,
    delay: Vec<f64>,
    cwnd: Vec<f64>,
    ssthresh: Vec<f64>,
    rtt: Vec<f64>,
    drops: Vec<f64>,
    bands: Vec<Band>,
}

/// A caricature of a controller: how much queue it likes, and how it backs off.
fn simulate(controller: &str, seed: u64, capacity: &[f64], share: f64) -> Curves {
    let mut rng = Draw::new(seed).stream(1 + key(controller));
    let (limit, back_off, growth, use_of_link) = match controller {
        "vegas" => (18.0, 0.9, 6.0, 0.90),
        "veno" => (110.0, 0.8, 14.0, 0.965),
        "illinois" => (130.0, 0.85, 40.0, 0.985),
        "westwood" => (90.0, 0.7, 12.0, 0.93),
        "bbr" => (45.0, 0.6, 60.0, 0.955),
        "cubic" => (135.0, 0.7, 30.0, 0.975),
        _ => (128.0, 0.5, 16.0, 0.945),
    };
    let mut out = Curves {
        rate: vec![],
        delay: vec![],
        cwnd: vec![],
        ssthresh: vec![],
        rtt: vec![],
        drops: vec![],
        bands: vec![],
    };
    let mut queue = 0.0_f64;
    let mut state = ("STARTUP", 0.0);
    for (i, link) in capacity.iter().enumerate() {
        let t = i as f64 * STEP;
        let fast = if t < 1.5 { 8.0 } else { 1.0 };
        queue += growth * fast * STEP * (1.0 + noise(&mut rng));
        if queue > limit {
            queue *= back_off;
            if controller != "bbr" && controller != "vegas" {
                let burst = 1 + (rng::uniform(&mut rng) * 4.0) as usize;
                out.drops.extend((0..burst).map(|k| t + k as f64 * 1e-3));
            }
        }
        let probing = controller == "bbr" && t % 10.0 > 9.8;
        if probing {
            queue *= 0.6;
        }
        let now = match controller {
            "bbr" if t < 1.2 => "STARTUP",
            "bbr" if t < 1.6 => "DRAIN",
            "bbr" if probing => "PROBE_RTT",
            "bbr" => "PROBE_BW",
            _ if t < 1.5 => "slow start",
            _ => "congestion avoidance",
        };
        if now != state.0 {
            if t > 0.0 {
                out.bands.push(Band {
                    state: state.0.into(),
                    start: state.1,
                    end: t,
                });
            }
            state = (now, t);
        }
        let delay = (queue * 10.0 / link * (1.0 + 0.06 * noise(&mut rng))).max(0.0);
        let busy = use_of_link
            * if probing {
                0.5
            } else {
                1.0 - 0.06 * rng::uniform(&mut rng)
            };
        let start = (t / 0.4).min(1.0);
        out.rate
            .push(share * link * busy * start * (1.0 + 0.02 * noise(&mut rng)));
        out.delay.push(delay);
        out.cwnd.push(share * (link * 40.0 / 12.0 + queue).round());
        out.ssthresh.push(if t < 1.5 {
            f64::NAN
        } else {
            share * (limit * back_off).round()
        });
        out.rtt.push(40.0 + delay);
    }
    out.bands.push(Band {
        state: state.0.into(),
        start: state.1,
        end: SAMPLES as f64 * STEP,
    });
    out
}

fn quantile(sorted: &[f64], p: f64) -> f64 {
    sorted[((sorted.len() - 1) as f64 * p) as usize]
}

fn sorted(values: &[f64]) -> Vec<f64> {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    values
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn estimate(values: &[f64]) -> Estimate {
    Estimate::within(values, Bounds::Positive).expect("five values")
}

fn curve(
    id: &str,
    label: &str,
    controller: &str,
    kind: SeriesKind,
    unit: &str,
    y: &[f64],
) -> Series {
    Series {
        id: id.into(),
        label: label.into(),
        controller: controller.into(),
        kind,
        unit: unit.into(),
        t: (0..y.len()).map(|i| i as f64 * STEP).collect(),
        y: y.to_vec(),
    }
}

fn fill(view: &mut RunView, flow: &str, controller: &str, curves: &Curves) {
    let mut add = |kind: SeriesKind, unit, y: &[f64]| {
        let id = format!("{flow} {}", view.series.len());
        view.series
            .push(curve(&id, flow, controller, kind, unit, y));
    };
    add(SeriesKind::Throughput, "Mbit/s", &curves.rate);
    add(SeriesKind::QueueDelay, "ms", &curves.delay);
    let hol: Vec<f64> = curves.delay.iter().map(|d| d * 0.9).collect();
    add(SeriesKind::Hol, "ms", &hol);
    add(SeriesKind::Cwnd, "packets", &curves.cwnd);
    add(SeriesKind::Ssthresh, "packets", &curves.ssthresh);
    add(SeriesKind::Rtt, "ms", &curves.rtt);
    let p: Vec<f64> = (1..=SAMPLES).map(|i| i as f64 / SAMPLES as f64).collect();
    let owd: Vec<f64> = curves.rtt.iter().map(|r| r - 20.0).collect();
    for (quantity, x) in [("Queue delay", &curves.delay), ("One-way delay", &owd)] {
        view.cdfs.push(Cdf {
            label: flow.into(),
            controller: controller.into(),
            quantity: quantity.into(),
            unit: "ms".into(),
            x: sorted(x),
            p: p.clone(),
        });
    }
    view.events.push(EventTrack {
        kind: EventKind::Drop,
        label: flow.into(),
        controller: controller.into(),
        t: curves.drops.clone(),
    });
    view.bands.push(BandTrack {
        label: flow.into(),
        controller: controller.into(),
        bands: curves.bands.clone(),
    });
}

const COLUMNS: [(&str, &str, Option<Better>, &str); 9] = [
    (
        "Goodput",
        "Mbit/s",
        Some(Better::Higher),
        "Payload handed to the application, per second",
    ),
    (
        "Utilisation",
        "%",
        Some(Better::Higher),
        "Delivered over what the link could carry",
    ),
    (
        "Queue delay p50",
        "ms",
        Some(Better::Lower),
        "Median over packets",
    ),
    (
        "Queue delay p95",
        "ms",
        Some(Better::Lower),
        "95th percentile over packets",
    ),
    (
        "Queue delay p99",
        "ms",
        Some(Better::Lower),
        "99th percentile over packets",
    ),
    ("RTT mean", "ms", Some(Better::Lower), "Of samples"),
    ("RTT p95", "ms", Some(Better::Lower), "Of samples"),
    ("Loss", "%", Some(Better::Lower), "Dropped over sent"),
    ("Retransmissions", "", None, "Segments sent again"),
];

/// Values of one run in the order of [`COLUMNS`].
fn metrics(curves: &Curves, capacity: &[f64]) -> [f64; 9] {
    let delay = sorted(&curves.delay);
    let rtt = sorted(&curves.rtt);
    let goodput = mean(&curves.rate) * 1448.0 / 1500.0;
    [
        goodput,
        100.0 * mean(&curves.rate) / mean(capacity),
        quantile(&delay, 0.5),
        quantile(&delay, 0.95),
        quantile(&delay, 0.99),
        mean(&curves.rtt),
        quantile(&rtt, 0.95),
        curves.drops.len() as f64 / 600.0,
        curves.drops.len() as f64,
    ]
}

fn report(title: &str, subtitle: &str, command: &str) -> Report {
    Report {
        title: title.into(),
        subtitle: subtitle.into(),
        command: command.into(),
        seed_note: "1 to 5".into(),
        scenario_toml: "name = \"demo\"\nduration = \"60 s\"\n\n[link]\ntrace = \"made-up.csv\"\nqueue = \"128 packets\"\n".into(),
        generated_by: "slackwater 0.1.0".into(),
        notes: vec!["Queue delay is the time from a packet's arrival in the queue to the start of its transmission.".into()],
        ..Report::default()
    }
}

/// Seven controllers, five seeds each.
pub(super) fn comparison() -> Report {
    let mut page = report(
        "Seven controllers on a made-up cell",
        "One bulk flow for 60 s over a varying link of 14 Mbit/s on average, 40 ms base RTT, 128-packet drop-tail.",
        "slackwater compare scenarios/tour/demo.toml --seeds 5",
    );
    let mut table = SummaryTable {
        caption: "Summary".into(),
        row_heading: "Controller".into(),
        columns: COLUMNS
            .iter()
            .map(|(label, unit, better, help)| Column::new(label, unit, *better, help))
            .collect(),
        rows: vec![],
    };
    let mut points = vec![];
    for controller in CONTROLLERS {
        let mut values = vec![vec![]; COLUMNS.len()];
        for seed in 1..=SEEDS {
            let link = capacity(seed);
            let curves = simulate(controller, seed, &link, 1.0);
            for (column, value) in values.iter_mut().zip(metrics(&curves, &link)) {
                column.push(value);
            }
            let mut view = RunView {
                name: format!("{controller}-seed{seed}"),
                label: format!("{controller}, seed {seed}"),
                controllers: vec![controller.into()],
                seed: Some(seed),
                ..RunView::default()
            };
            view.series.push(curve(
                "capacity",
                "link capacity",
                "",
                SeriesKind::Capacity,
                "Mbit/s",
                &link,
            ));
            fill(&mut view, "flow 1", controller, &curves);
            page.runs.push(view);
        }
        table.rows.push(Row {
            label: controller.into(),
            controller: controller.into(),
            cells: values.iter().map(|v| estimate(v).into()).collect(),
        });
        points.push(TradeOffPoint {
            label: controller.into(),
            controller: controller.into(),
            x: estimate(&values[3]),
            y: estimate(&values[0]),
            samples: values[3]
                .iter()
                .zip(&values[0])
                .map(|(x, y)| [*x, *y])
                .collect(),
        });
    }
    page.tables.push(table);
    page.trade_off = Some(TradeOff {
        x_label: "p95 queue delay".into(),
        x_unit: "ms".into(),
        y_label: "Goodput".into(),
        y_unit: "Mbit/s".into(),
        points,
    });
    page
}

/// One run with three flows, two of one controller.
pub(super) fn single() -> Report {
    let mut page = report(
        "Three flows share a cell",
        "Two CUBIC flows and one BBR flow for 60 s.",
        "slackwater run scenarios/tour/three.toml --seed 1",
    );
    page.seed_note = "1".into();
    let link = capacity(1);
    let mut view = RunView {
        name: "three".into(),
        label: "three".into(),
        controllers: vec!["cubic".into(), "cubic".into(), "bbr".into()],
        seed: Some(1),
        ..RunView::default()
    };
    view.series.push(curve(
        "capacity",
        "link capacity",
        "",
        SeriesKind::Capacity,
        "Mbit/s",
        &link,
    ));
    let mut table = SummaryTable {
        caption: "Flows".into(),
        row_heading: "Flow".into(),
        columns: COLUMNS
            .iter()
            .map(|(label, unit, better, help)| Column::new(label, unit, *better, help))
            .collect(),
        rows: vec![],
    };
    for (i, (controller, share)) in [("cubic", 0.3), ("cubic", 0.22), ("bbr", 0.46)]
        .into_iter()
        .enumerate()
    {
        let flow = format!("flow {}: {controller}", i + 1);
        let curves = simulate(controller, 1 + i as u64, &link, share);
        fill(&mut view, &flow, controller, &curves);
        table.rows.push(Row {
            label: flow,
            controller: controller.into(),
            cells: metrics(&curves, &link).map(Cell::from).to_vec(),
        });
    }
    page.tables.push(table);
    page.tables.push(SummaryTable {
        caption: "Together".into(),
        row_heading: "Measure".into(),
        columns: vec![
            Column::new("Value", "", None, ""),
            Column::new("Remark", "", None, ""),
        ],
        rows: vec![Row {
            label: "Jain's index over the flows".into(),
            controller: String::new(),
            cells: vec![0.93.into(), Cell::Missing],
        }],
    });
    page.runs.push(view);
    page
}
