//! Round-trip times in strong and weak signal.

use super::prelude::*;

const WINDOW: (&str, &str) = ("upf.vaqm.mode", "window");

const MODES: [Variant; 8] = [
    Variant::new("auto", "auto", "vaqm", &[VAQM]),
    Variant::new("window", "window", "vaqm-told", &[WINDOW]),
    Variant::new("int", "int", "vaqm-int", &[("upf.vaqm.mode", "int")]),
    Variant::new("literal", "literal", "vaqm-literal", &[LITERAL]),
    Variant::new(
        "drain",
        "drain",
        "vaqm-drain",
        &[("upf.vaqm.mode", "drain")],
    ),
    Variant::new(
        "direct",
        "direct",
        "vaqm-direct",
        &[("upf.vaqm.mode", "direct")],
    ),
    Variant::new(
        "throughput",
        "window, least target 40 ms",
        "vaqm-throughput",
        &[WINDOW, ("upf.vaqm.preset", "throughput")],
    ),
    Variant::new(
        "pie",
        "window, with PIE",
        "vaqm-pie",
        &[WINDOW, ("upf.vaqm.module", "pie")],
    ),
];

/// Every flow over QUIC (the light model), whose spin bit is all that vAQM sees.
const QUIC: Changes = &[("flow.transport", "quic")];

/// The users with bulk flows.
const BULK: core::ops::Range<usize> = 0..3;

fn reduce(run: &RunResult, out: &mut Outcome) {
    let all = rtts(run, BULK);
    if let Some(q) = m::quantiles(&all) {
        out.value("least", Some(q.min));
        out.value("p50", Some(q.p50));
        out.value("p95", Some(q.p95));
        out.value("p95_s", Some(q.p95 * 1e-3));
    }
    out.distribution("rtt", all);
    let span = (run.scenario.warmup.as_secs_f64(), m::end(run));
    let rates: f64 = (0..run.layout.labels.len())
        .map(|i| m::rate(run, i, span))
        .sum();
    out.value("rate", Some(rates));
    out.value("bulk", Some(BULK.map(|i| m::rate(run, i, span)).sum()));
    let dropped: u64 = BULK.map(|i| m::dropped(run, i)).sum();
    out.value("drops", Some(dropped as f64));
}

fn experiments(
    options: &Options,
    kind: &str,
    signals: &[(&str, &str, &'static str)],
    variants: &[Variant],
    more: Changes,
) -> Result<Vec<Experiment>, StudyError> {
    let mut experiments = vec![];
    for (signal, _, mcs) in signals {
        for variant in variants {
            let mut changes = vec![
                ("duration", length(options.quick)),
                ("ue.channel.mcs", *mcs),
            ];
            changes.extend(more);
            changes.extend(variant.changes);
            let name = format!("{kind}/{signal}-{}", variant.key);
            experiments.push(Experiment::new(name, SIGNAL, changes, reduce)?);
        }
    }
    Ok(experiments)
}

const COLUMNS: [Entry; 5] = [
    Entry::less("RTT, least", "ms", "least"),
    Entry::less("RTT p50", "ms", "p50"),
    Entry::less("RTT p95", "ms", "p95"),
    Entry::more("rate", "Mbit/s", "rate"),
    Entry::less("drops", "", "drops"),
];

/// The median RTT in strong signal without AQM over that of the experiment `managed`.
fn strong_median(o: &Outcomes, managed: &str) -> Option<Estimate> {
    let none = o.get("signal/strong-none");
    none.ratio("p50", o.get(managed), "p50")
}

/// The median RTT of the experiment `weak` over that of `strong`.
fn weak_over_strong(o: &Outcomes, weak: &str, strong: &str) -> Option<Estimate> {
    o.get(weak).ratio("p50", o.get(strong), "p50")
}

/// The median RTT over QUIC in strong signal, treated so, over that without AQM.
fn over_quic(o: &Outcomes, variant: &str) -> Option<Estimate> {
    let none = o.get("signal-quic/strong-none");
    o.get(&format!("signal-quic/strong-{variant}"))
        .ratio("p50", none, "p50")
}

/// What is measured for the article's claims.
fn measures() -> Vec<Measure> {
    const LITERAL: [&str; 2] = ["modes/weak-literal", "modes/strong-literal"];
    const SHIPPED: [&str; 2] = ["signal/weak-vaqm", "signal/strong-vaqm"];
    vec![
        Measure::paper("strong-median", |o| strong_median(o, LITERAL[1])),
        Measure::product("strong-median", |o| strong_median(o, SHIPPED[1])),
        Measure::paper("weak-as-strong", |o| {
            weak_over_strong(o, LITERAL[0], LITERAL[1])
        }),
        Measure::product("weak-as-strong", |o| {
            weak_over_strong(o, SHIPPED[0], SHIPPED[1])
        }),
        Measure::product("weak-tail-tcp", |o| {
            o.get("signal/weak-none").estimate("p95_s")
        }),
        Measure::product("weak-tail-quic", |o| {
            o.get("signal-quic/weak-none").estimate("p95_s")
        }),
        Measure::paper("no-parameters", |o| {
            let none = o.get("signal/poor-none");
            o.get("modes/poor-literal").ratio("p50", none, "p50")
        }),
        Measure::product("no-parameters", |o| {
            let none = o.get("signal/poor-none");
            o.get("signal/poor-vaqm").ratio("p50", none, "p50")
        }),
        Measure::paper("spin-bit", |o| over_quic(o, "literal")),
        Measure::product("spin-bit", |o| over_quic(o, "vaqm")),
    ]
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut all = experiments(options, "signal", &SIGNALS, &VARIANTS, &[])?;
    let literal = *MODES.iter().find(|m| m.key == "literal").expect("a mode");
    all.extend(experiments(options, "modes", &SIGNALS, &[literal], &[])?);
    let variants = [VARIANTS[0], VARIANTS[1], literal];
    all.extend(experiments(
        options,
        "signal-quic",
        &SIGNALS[..2],
        &variants,
        QUIC,
    )?);
    Ok(Part {
        id: "signal",
        measures: measures(),
        experiments: all,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |signal: &str, variant: &str| o.get(&format!("signal/{signal}-{variant}"));
    let quic = |signal: &str, variant: &str| o.get(&format!("signal-quic/{signal}-{variant}"));
    let cdf = |id: &str, (signal, title, _): (&str, &str, &str)| {
        Panel::new(
            id,
            &format!("Round-trip times, {title} signal"),
            "",
            Drawing::Cdf {
                axis: Axis::new("RTT", "ms"),
                lines: VARIANTS
                    .iter()
                    .map(|w| runs(signal, w.key).cdf("rtt", &format!("TCP, {}", w.title), w.colour))
                    .chain([
                        quic(signal, "none").cdf("rtt", "QUIC, no AQM", "xrc"),
                        quic(signal, "vaqm").cdf("rtt", "QUIC, vAQM", "prague"),
                    ])
                    .collect(),
                guides: vec![],
            },
        )
    };
    let mut rows: Vec<(String, &str, &Runs)> = vec![];
    for (signal, title, _) in SIGNALS {
        for w in &VARIANTS {
            rows.push((
                format!("{title}, {}", w.title),
                w.colour,
                runs(signal, w.key),
            ));
        }
    }
    for (signal, title, _) in &SIGNALS[..2] {
        for w in &VARIANTS[..2] {
            let label = format!("{title}, QUIC, {}", w.title);
            rows.push((label, w.colour, quic(signal, w.key)));
        }
    }
    let mut checks = vec![];
    for (signal, title, _) in SIGNALS {
        let share = runs(signal, "vaqm").ratio("rate", runs(signal, "codel"), "rate");
        checks.push(Check::of(
            format!("{title} signal: rate with vAQM over CoDel in the radio"),
            "",
            0.95,
            share,
            Tolerance::AtLeast,
        ));
    }
    let p = |signal: &str, variant: &str, value: &str| runs(signal, variant).mean(value);
    Figure {
        title: "Round-trip times in strong and weak signal".to_owned(),
        setup: "Three users download by CUBIC, a fourth loads 2 MB every few seconds, all over TCP or all over QUIC; 20 ms \
                of wired RTT."
            .to_owned(),
        claim: "In strong signal the median RTT is about three times lower with vAQM; in weak signal, 95 % without it lies near \
                a second."
            .to_owned(),
        seen: format!(
            "Strong: median {:.0} ms without AQM, {:.0} with vAQM, {:.0} with CoDel in the radio; weak: {:.0}, {:.0}, {:.0}, and \
             95 % within {:.0}, {:.0} and {:.0} ms.",
            p("strong", "none", "p50"),
            p("strong", "vaqm", "p50"),
            p("strong", "codel", "p50"),
            p("weak", "none", "p50"),
            p("weak", "vaqm", "p50"),
            p("weak", "codel", "p50"),
            p("weak", "none", "p95"),
            p("weak", "vaqm", "p95"),
            p("weak", "codel", "p95"),
        ),
        panels: vec![
            cdf("strong", SIGNALS[0]),
            cdf("weak", SIGNALS[1]),
            table("table", "By signal and queue", "signal, queue", &COLUMNS, &rows).wide(),
        ],
        checks,
        ..Figure::default()
    }
}

/// Every mode of vAQM.
pub(super) fn modes(options: &Options) -> Result<Part, StudyError> {
    Ok(Part {
        id: "modes",
        measures: vec![],
        experiments: experiments(options, "modes", &SIGNALS[..2], &MODES, &[])?,
        draw: Box::new(|o| {
            let rows: Vec<(String, &str, &Runs)> = SIGNALS[..2]
                .iter()
                .flat_map(|(signal, title, _)| {
                    MODES.iter().map(move |w| {
                        (
                            format!("{title}, {}", w.title),
                            w.colour,
                            o.get(&format!("modes/{signal}-{}", w.key)),
                        )
                    })
                })
                .collect();
            let weak =
                |variant: &str, value: &str| o.get(&format!("modes/weak-{variant}")).mean(value);
            Figure {
                title: "Beyond: every mode".to_owned(),
                setup: "As above.".to_owned(),
                claim: "The rate is adjusted by the RTT's distance from the target; a variant decides on drops alone.".to_owned(),
                seen: format!(
                    "Weak signal, median RTT and rate: auto {:.0} ms and {:.2} Mbit/s, window {:.0} and {:.2}, int {:.0} and {:.2}, the \
                     article's text {:.0} and {:.2}, direct {:.0} and {:.2}.",
                    weak("auto", "p50"),
                    weak("auto", "rate"),
                    weak("window", "p50"),
                    weak("window", "rate"),
                    weak("int", "p50"),
                    weak("int", "rate"),
                    weak("literal", "p50"),
                    weak("literal", "rate"),
                    weak("direct", "p50"),
                    weak("direct", "rate"),
                ),
                panels: vec![table("table", "Modes of vAQM", "signal, mode", &COLUMNS, &rows).wide()],
                ..Figure::default()
            }
        }),
    })
}

/// A buffer of 1 MB for each user.
const LARGE: Changes = &[("cell.rlc.buffer", "1 MB")];
/// A buffer with which weak signal has the article's second at 95 %.
const WEAK: Changes = &[("cell.rlc.buffer", "264 kB")];
const WEAK_QUIC: Changes = &[("cell.rlc.buffer", "264 kB"), ("flow.transport", "quic")];

/// What the buffer of the cell decides.
pub(super) fn buffers(options: &Options) -> Result<Part, StudyError> {
    let mut all = experiments(options, "signal", &SIGNALS[..1], &VARIANTS[..2], &[])?;

    all.extend(experiments(
        options,
        "buffers",
        &SIGNALS[..1],
        &VARIANTS[..2],
        LARGE,
    )?);
    // Weak signal without AQM, with the buffer of the figure `signal` and with a larger one, over TCP and over QUIC.
    let none = [VARIANTS[0]];
    for (kind, more) in [
        ("signal", &[] as Changes),
        ("signal-quic", QUIC),
        ("buffers", WEAK),
        ("buffers-quic", WEAK_QUIC),
    ] {
        all.extend(experiments(options, kind, &SIGNALS[1..2], &none, more)?);
    }
    Ok(Part {
        id: "buffers",
        measures: vec![],
        experiments: all,
        draw: Box::new(|o| {
            let get = |kind: &str, variant: &str| o.get(&format!("{kind}/strong-{variant}"));
            let bars = [("192 kB", "signal"), ("1 MB", "buffers")]
                .into_iter()
                .flat_map(|(group, kind)| {
                    VARIANTS[..2]
                        .iter()
                        .filter_map(move |w| bar(group, w.title, w.colour, get(kind, w.key), "p50"))
                })
                .collect();
            let none = get("buffers", "none");
            let weak = |kind: &str| o.get(&format!("{kind}/weak-none"));
            let rows: Vec<(String, &str, &Runs)> = [
                ("TCP, 192 kB", "signal"),
                ("TCP, 264 kB", "buffers"),
                ("QUIC, 192 kB", "signal-quic"),
                ("QUIC, 264 kB", "buffers-quic"),
            ]
            .into_iter()
            .map(|(label, kind)| (label.to_owned(), VARIANTS[0].colour, weak(kind)))
            .collect();
            Figure {
                title: "Beyond: what the cell's buffer decides".to_owned(),
                setup: "Strong signal, with 192 kB and with 1 MB of RLC buffer for each user; weak signal without AQM, with 192 and \
                        with 264 kB."
                    .to_owned(),
                claim: "(The article does not give its cell's buffer.)".to_owned(),
                seen: format!(
                    "With 1 MB the median RTT is {:.0} ms without AQM and {:.0} ms with vAQM. In weak signal without AQM 95 % of the \
                     RTTs are within {:.2} s with 192 kB and {:.2} s with 264 kB, over QUIC {:.2} and {:.2} s.",
                    none.mean("p50"),
                    get("buffers", "vaqm").mean("p50"),
                    weak("signal").mean("p95_s"),
                    weak("buffers").mean("p95_s"),
                    weak("signal-quic").mean("p95_s"),
                    weak("buffers-quic").mean("p95_s"),
                ),
                panels: vec![
                    Panel::new(
                        "bars",
                        "Median round-trip time",
                        "",
                        Drawing::Bars {
                            axis: Axis::new("RTT", "ms"),
                            bars,
                            guides: vec![],
                        },
                    ),
                    table(
                        "table",
                        "Weak signal without AQM",
                        "transport, buffer",
                        &COLUMNS,
                        &rows,
                    ),
                ],
                checks: vec![Check::of(
                    "vAQM: RTT p50 with 1 MB over that with 192 kB",
                    "",
                    1.15,
                    get("buffers", "vaqm").ratio("p50", get("signal", "vaqm"), "p50"),
                    Tolerance::AtMost,
                )],
                ..Figure::default()
            }
        }),
    })
}
