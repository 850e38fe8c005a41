//! Experiments that show why claims miss: what is changed, and what the claim's measure then is. `claims/xrc.toml` cites them.

mod changes;
mod figures;

use super::prelude::*;

const TWO: &str = include_str!("../../scenarios/xrc/fig5.toml");
const SHORT: &str = include_str!("../../scenarios/xrc/fig7.toml");

/// Illinois as it is, and with its growth, its decrease or both held to `NewReno`'s.
const BOUNDED: [(&str, &str); 4] = [
    ("illinois", "Illinois"),
    ("illinois:cut=0.5", "Illinois that halves"),
    (
        "illinois:growth=1",
        "Illinois that grows by one segment per RTT",
    ),
    ("illinois:growth=1,cut=0.5", "Illinois with both"),
];
const FIRST: [&str; 3] = ["xrc", "xrc-paper", "cubic"];
/// Growth in the unfairness mode beside `NewReno`.
const BURSTS: [(&str, &str); 4] = [
    ("xrc:alpha=srtt", "what the rate carries in a smoothed RTT"),
    ("xrc", "a target window per RTT"),
    ("xrc:alpha=twnd2", "half of it"),
    ("xrc:alpha=twnd4", "a quarter of it"),
];
/// What the short flows of Figure 7 meet.
const MET: [(&str, &str); 6] = [
    ("none", "nobody"),
    ("xrc:gamma=0.5", "XRC with half of its target"),
    ("xrc", "XRC"),
    ("reno", "NewReno"),
    ("veno", "Veno"),
    ("illinois", "Illinois"),
];

fn two(first: &str, second: &str) -> String {
    format!("causes/{first}-{second}")
}

fn met(bulk: &str) -> String {
    format!("causes/short-{bulk}")
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    let duration = if options.quick { "20 s" } else { "60 s" };
    let keep = |run: &RunResult, out: &mut Outcome| keep_all(run, out, m::life(run, 1));
    let pairs = FIRST
        .iter()
        .flat_map(|first| BOUNDED.iter().map(move |(second, _)| (*first, *second)))
        .chain(BURSTS.iter().map(|(first, _)| (*first, "reno")))
        .chain([("cubic", "reno")]);
    for (first, second) in pairs {
        let changes = [
            ("duration", duration),
            ("flow[0].controller", first),
            ("flow[1].controller", second),
            agent(first),
        ];
        experiments.push(Experiment::new(two(first, second), TWO, changes, keep)?);
    }

    let (duration, away) = if options.quick {
        ("100 s", "99999 ms")
    } else {
        ("300 s", "299999 ms")
    };
    for (bulk, _) in MET {
        let changes = match bulk {
            "none" => [("duration", duration), ("flow[0].start", away)],
            _ => [("duration", duration), ("flow[0].controller", bulk)],
        };
        let keep = |run: &RunResult, out: &mut Outcome| {
            let times = m::quantiles(&m::transfer_times(run, 1));
            out.value("fct_p50", times.as_ref().map(|q| q.p50));
            out.value("fct_p90", times.as_ref().map(|q| q.p90));
        };
        experiments.push(Experiment::new(met(bulk), SHORT, changes, keep)?);
    }

    experiments.extend(changes::experiments(options)?);
    Ok(Part {
        id: "causes",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let company: [Entry; 4] = [
        Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        Entry::less("HoL p50", "ms", "hol_p50"),
        Entry::less("HoL p90", "ms", "hol_p90"),
        Entry::plain("first's share", "%", "share").times(100.0),
    ];
    let named = |rows: Vec<(String, &'static str, String)>| {
        rows.into_iter()
            .map(|(label, controller, name)| (label, controller, o.get(&name)))
            .collect::<Vec<_>>()
    };
    let illinois = named(
        FIRST
            .iter()
            .flat_map(|first| {
                BOUNDED
                    .iter()
                    .map(move |(second, says)| (*first, *second, *says))
            })
            .map(|(first, second, says)| {
                let label = format!("{} / {says}", title(first));
                (label, "illinois", two(first, second))
            })
            .collect(),
    );
    let bursts = named(
        BURSTS
            .iter()
            .map(|(first, says)| ((*says).to_owned(), "xrc", two(first, "reno")))
            .chain([("CUBIC first".to_owned(), "cubic", two("cubic", "reno"))])
            .collect(),
    );
    let short = named(
        MET.iter()
            .map(|(bulk, says)| ((*says).to_owned(), "reno", met(bulk)))
            .collect(),
    );
    let times: [Entry; 2] = [
        Entry::less("median", "ms", "fct_p50"),
        Entry::less("90 %", "ms", "fct_p90"),
    ];
    let mut panels = vec![
        table("Beside Illinois", "first / second", &company, &illinois),
        table(
            "Growth in the unfairness mode, beside NewReno",
            "growth per RTT",
            &company,
            &bursts,
        ),
        table("Short flows of Figure 7", "beside", &times, &short),
    ];
    panels.extend(changes::panels(o));
    let pair = |first: &str, second: &str| o.get(&two(first, second));
    let both = "illinois:growth=1,cut=0.5";
    let p90 =
        |first: &str| pair(first, "reno").mean("hol_p90") / pair("cubic", "reno").mean("hol_p90");
    let part_of = |bulk: &str, q: &str| {
        let value = format!("fct_{q}");
        o.get(&met("none")).mean(&value) / o.get(&met(bulk)).mean(&value)
    };
    Figure {
        title: "Causes: why claims miss".to_owned(),
        setup: "The figures of the paper, a wired hop and HARQ with one thing changed.".to_owned(),
        claim: String::new(),
        seen: format!(
            "Beside Illinois that grows by one segment and halves, the delay is within 10 ms for {:.0} % of the time (`paper` {:.0} %), \
             beside Illinois as it is for {:.0} % ({:.0} %). Beside NewReno the 90 % quantile over CUBIC's is {:.2}, {:.2}, {:.2} and \
             {:.2}: the slower the growth in the unfairness mode, the longer its burst. Short flows alone on the link take {:.2} of \
             their median beside NewReno, {:.2} of that beside Veno, and {:.2} at 90 %. Of their median beside Illinois they take {:.2} \
             alone, and {:.2} beside XRC with half of its target. {} {}",
            pair("xrc", both).mean("hol_within") * 100.0,
            pair("xrc-paper", both).mean("hol_within") * 100.0,
            pair("xrc", "illinois").mean("hol_within") * 100.0,
            pair("xrc-paper", "illinois").mean("hol_within") * 100.0,
            p90("xrc:alpha=srtt"),
            p90("xrc"),
            p90("xrc:alpha=twnd2"),
            p90("xrc:alpha=twnd4"),
            part_of("reno", "p50"),
            part_of("veno", "p50"),
            part_of("veno", "p90"),
            part_of("illinois", "p50"),
            o.get(&met("xrc:gamma=0.5")).mean("fct_p50") / o.get(&met("illinois")).mean("fct_p50"),
            changes::seen(o),
            figures::seen(o),
        ),
        panels,
        ..Figure::default()
    }
}
