//! Beyond the article: which of its two variants is the better one where, and whether `auto` takes the better one.

use super::super::draw::{apart, grid};
use super::super::variant::Case;
use super::prelude::*;

const SESSION: &str = include_str!("../../scenarios/vaqm/session.toml");
const BESIDE: &str = include_str!("../../scenarios/vaqm/beside.toml");
const CROWD: &str = include_str!("../../scenarios/vaqm/crowd.toml");
const UPLOAD: &str = include_str!("../../scenarios/vaqm/upload.toml");
const CHAINED: &str = include_str!("../../scenarios/vaqm/chained.toml");

const WEAK: (&str, &str) = ("ue.channel.mcs", "11");
const LARGE: (&str, &str) = ("cell.rlc.buffer", "1 MB");
const QUIC: (&str, &str) = ("flow.transport", "quic");
const NR: [(&str, &str); 4] = [
    ("cell.rat", "nr"),
    ("cell.bandwidth", "40 MHz"),
    ("cell.scs", "30 kHz"),
    LARGE,
];
const PAGE: &str =
    "{ kind = \"page\", size = \"2 MB\", objects = 70, connections = 6, gap = \"2 s\" }";
const WALK: (&str, &str) = (
    "ue.mobility",
    "{ kind = \"walk\", min = \"50 m\", max = \"500 m\" }",
);
const PLACE: (&str, &str) = ("ue.channel", "place");
const HOLD: (&str, &str) = ("upf.cecc.mode", "hold");
const DETOUR: (&str, &str) = ("upf.detour.extra", "12.5 ms");
const UNSTAMPED: (&str, &str) = ("flow.tcp.timestamps", "false");

const CASES: [Case; 37] = [
    Case::new("strong", "strong signal", SIGNAL, &[]),
    Case::new("weak", "weak", SIGNAL, &[WEAK]),
    Case::new("poor", "very weak", SIGNAL, &[("ue.channel.mcs", "5")]),
    Case::new("strong-1mb", "strong, 1 MB of buffer", SIGNAL, &[LARGE]),
    Case::new("weak-1mb", "weak, 1 MB of buffer", SIGNAL, &[WEAK, LARGE]),
    Case::new(
        "strong-10",
        "strong, wired RTT 10 ms",
        SIGNAL,
        &[("path.rtt", "10 ms")],
    ),
    Case::new(
        "strong-40",
        "strong, 40 ms",
        SIGNAL,
        &[("path.rtt", "40 ms")],
    ),
    Case::new(
        "strong-80",
        "strong, 80 ms",
        SIGNAL,
        &[("path.rtt", "80 ms")],
    ),
    Case::new(
        "strong-160",
        "strong, 160 ms",
        SIGNAL,
        &[("path.rtt", "160 ms")],
    ),
    Case::new(
        "weak-10",
        "weak, wired RTT 10 ms",
        SIGNAL,
        &[WEAK, ("path.rtt", "10 ms")],
    ),
    Case::new(
        "weak-80",
        "weak, 80 ms",
        SIGNAL,
        &[WEAK, ("path.rtt", "80 ms")],
    ),
    Case::new(
        "weak-160",
        "weak, 160 ms",
        SIGNAL,
        &[WEAK, ("path.rtt", "160 ms")],
    ),
    Case::new("one", "1 session", CROWD, &[("ue.count", "1")]),
    Case::new("ten", "10 sessions", CROWD, &[("ue.count", "10")]),
    Case::new("fifty", "50 sessions", CROWD, &[("ue.count", "50")]),
    Case::new(
        "epa",
        "on foot, EPA",
        CROWD,
        &[PLACE, WALK, ("cell.fading", "epa"), ("ue.speed", "3 km/h")],
    ),
    Case::new(
        "eva",
        "by car, EVA",
        CROWD,
        &[PLACE, WALK, ("cell.fading", "eva"), ("ue.speed", "60 km/h")],
    ),
    Case::new("jumps", "strong, RTT jumps by 25 ms", SIGNAL, &[DETOUR]),
    Case::new(
        "weak-jumps",
        "weak, RTT jumps by 25 ms",
        SIGNAL,
        &[WEAK, DETOUR],
    ),
    Case::new("upload-lte", "beside an upload, LTE", UPLOAD, &[]),
    Case::new("upload-nr", "beside an upload, NR", UPLOAD, &NR),
    Case::new(
        "unstamped-lte",
        "the same, LTE, no time stamps",
        UPLOAD,
        &[UNSTAMPED],
    ),
    Case::new(
        "unstamped-nr",
        "the same, NR, no time stamps",
        UPLOAD,
        &[NR[0], NR[1], NR[2], NR[3], UNSTAMPED],
    ),
    Case::new("quic", "strong, QUIC", SIGNAL, &[QUIC]),
    Case::new("weak-quic", "weak, QUIC", SIGNAL, &[WEAK, QUIC]),
    Case::new("quic-upload", "beside an upload, QUIC", UPLOAD, &[QUIC]),
    Case::new("loads", "100 kB beside a download", SESSION, &[]),
    Case::new("quic-loads", "the same, QUIC", SESSION, &[QUIC]),
    Case::new(
        "page",
        "a page beside a download",
        SESSION,
        &[("flow[1].app", PAGE)],
    ),
    Case::new("udp", "CUBIC beside 8 Mbit/s of UDP", BESIDE, &[]),
    Case::new(
        "flood",
        "CUBIC beside 30 Mbit/s of UDP",
        BESIDE,
        &[("flow[1].app.rate", "30 Mbit/s")],
    ),
    Case::new(
        "prague",
        "CUBIC beside Prague",
        BESIDE,
        &[("flow[1].app", "bulk"), ("flow[1].controller", "prague")],
    ),
    Case::new(
        "bbr",
        "CUBIC beside BBR",
        BESIDE,
        &[("flow[1].app", "bulk"), ("flow[1].controller", "bbr")],
    ),
    Case::new(
        "two",
        "CUBIC beside CUBIC",
        BESIDE,
        &[("flow[1].app", "bulk"), ("flow[1].controller", "cubic")],
    ),
    Case::new(
        "lone-prague",
        "strong, Prague alone",
        SIGNAL,
        &[("flow.controller", "prague")],
    ),
    Case::new("vr", "VR frames beside downloads, NR", CHAINED, &[]),
    Case::new("vr-cecc", "the same, CECC behind", CHAINED, &[HOLD]),
];

/// What a quick look takes of them.
const QUICK: [&str; 4] = ["strong", "weak", "bbr", "flood"];

const VARIANTS: [&str; 3] = ["window", "direct", "auto"];

/// RLC modes.
const RLC: [&str; 2] = ["um", "am"];

fn cases(quick: bool) -> impl Iterator<Item = &'static Case> {
    CASES
        .iter()
        .filter(move |c| !quick || QUICK.contains(&c.key))
}

fn name(case: &str, rlc: &str, variant: &str) -> String {
    format!("cases/{case}-{rlc}-{variant}")
}

/// What is kept, and whose delay, rate and time the rule goes by.
fn reduce(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let frames = out.kept("vr_time_p95").map(|s| s * 1e3);
    out.value("delay", frames.or_else(|| out.kept("bulk_p95")));
    let beside = out.kept("other_rate").or_else(|| out.kept("upload_rate"));
    out.value("spared", beside.and_then(|_| out.kept("bulk_rate")));
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for case in cases(options.quick) {
        for rlc in RLC {
            for variant in VARIANTS {
                let mut all = vec![
                    ("duration", if options.quick { "20 s" } else { "30 s" }),
                    ("cell.rlc.mode", rlc),
                    ("upf.vaqm.mode", variant),
                ];
                all.extend(case.changes);
                let name = name(case.key, rlc, variant);
                experiments.push(Experiment::new(name, case.text, all, reduce)?);
            }
        }
    }
    let quick = options.quick;
    Ok(Part {
        id: "cases",
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, quick)),
    })
}

/// How `a` does against `b` in one case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Against {
    /// Better in something by more than the margin, and worse in nothing.
    Wins,
    /// The reverse.
    Loses,
    /// Better in one thing and worse in another.
    Trades,
    Equal,
}

/// The mean of `a` over that of `b`; `None` where the case has no such value.
fn ratio(a: &Runs, b: &Runs, value: &str) -> Option<f64> {
    let mean = |runs: &Runs| m::mean(&runs.optional(value));
    Some(mean(a)? / mean(b)?).filter(|r| r.is_finite())
}

/// What counts as a difference: 5 % of a delay or a time, 3 % of a rate (docs/design/0035).
fn against(a: &Runs, b: &Runs) -> Against {
    let ratio = |value: &str| ratio(a, b, value);
    let less = ["delay", "loads_time"].map(|v| ratio(v).map(|r| (r > 1.05, r < 1.0 / 1.05)));
    let more = ["rate", "spared"].map(|v| ratio(v).map(|r| (r < 0.97, r > 1.0 / 0.97)));
    let all = || less.iter().chain(&more).flatten();
    match (
        all().any(|(worse, _)| *worse),
        all().any(|(_, better)| *better),
    ) {
        (false, true) => Against::Wins,
        (true, false) => Against::Loses,
        (true, true) => Against::Trades,
        (false, false) => Against::Equal,
    }
}

/// What no mode may lose to the other anywhere if it is to be the default.
fn breaks_guard(a: &Runs, b: &Runs) -> bool {
    let ratio = |value: &str| ratio(a, b, value);
    let above = |value, most| ratio(value).is_some_and(|r| r > most);
    let below = |value, least| ratio(value).is_some_and(|r| r < least);
    below("rate", 0.9)
        || below("spared", 0.8)
        || above("loads_time", 1.25)
        || (above("delay", 1.25) && below("rate", 1.1))
}

fn draw(o: &Outcomes, quick: bool) -> Figure {
    let rows: Vec<(&Case, &str)> = cases(quick)
        .flat_map(|c| RLC.iter().map(move |r| (c, *r)))
        .collect();
    let of = |row: usize, variant: &str| {
        let (case, rlc) = rows[row];
        o.get(&name(case.key, rlc, variant))
    };
    let count = |variant: &str, what: Against| {
        (0..rows.len())
            .filter(|r| against(of(*r, variant), of(*r, "window")) == what)
            .count()
    };
    let broken = |variant: &str| {
        (0..rows.len())
            .filter(|r| breaks_guard(of(*r, variant), of(*r, "window")))
            .count()
    };
    let counted = |variant: &str| {
        format!(
            "`{variant}` wins {} cases against `window`, loses {}, trades one thing for another in {} and is equal in {}; in {} it \
             loses more than a default may",
            count(variant, Against::Wins),
            count(variant, Against::Loses),
            count(variant, Against::Trades),
            count(variant, Against::Equal),
            broken(variant),
        )
    };
    let labels: Vec<(String, &str)> = rows
        .iter()
        .map(|(case, rlc)| (format!("{}, {}", case.title, rlc.to_uppercase()), "vaqm"))
        .collect();
    let show = |id: &str, title: &str, value: &'static str| {
        let columns = VARIANTS.map(|v| (v.to_owned(), value));
        let pick = |row: usize, column: usize| of(row, VARIANTS[column]);
        apart(grid(id, title, "case", &columns, &labels, pick))
    };
    Figure {
        title: "Beyond: both variants everywhere".to_owned(),
        setup: "Each variant alone, and `auto`, in both modes of the RLC; 30 s. Delay is the 95 % quantile of the downloads' RTT, or of \
                the frames' delay."
            .to_owned(),
        claim: "The variant with bitrate adjustment isolates flows; the one without \"sacrifices the flow isolation ... for reduced \
                implementation and runtime complexity\"."
            .to_owned(),
        seen: format!("{}. {}.", counted("direct"), counted("auto")),
        panels: vec![
            show("delay", "Delay, 95 %, ms", "delay"),
            show("rate", "Rate of all flows, Mbit/s", "rate"),
            show(
                "spared",
                "Rate of the CUBIC download beside another kind of flow, Mbit/s",
                "spared",
            ),
            show("loads", "Median time of a load, s", "loads_time"),
        ],
        ..Figure::default()
    }
}
