//! Company: another sender in the same queue, another user's sender, ten of its kind, and what is left when the other has gone.

use super::prelude::*;

const OTHERS: [&str; 8] = [
    "cubic", "reno", "bbr", "bbr3", "xrc", "tyrus", "prague", "ebb",
];
const PLACES: [&str; 2] = ["rival", "rival-users"];

fn name(place: &str, other: &str) -> String {
    format!("company/{place}-{other}")
}

/// When the other leaves, seconds.
const LEAVES: f64 = 30.0;

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for place in PLACES {
        for other in OTHERS {
            let changes = [("flow[1].controller", other)];
            let reduce = |run: &RunResult, out: &mut Outcome| {
                keep(&[0], run, out);
                let flows = &run.summary.flows;
                let all: f64 = flows.iter().map(|f| f.goodput_mbps).sum();
                out.value("share", Some(flows[0].goodput_mbps / all * 100.0));
                out.value("other", Some(flows[1].goodput_mbps));
            };
            experiments.push(cell(place).experiment_of(
                options,
                name(place, other),
                "ebb",
                &changes,
                reduce,
            )?);
        }
    }
    // Whole length in a quick look too: the other leaves in the middle.
    let whole = Options {
        quick: false,
        ..options.clone()
    };
    experiments.push(cell("rival").experiment_of(
        &whole,
        "company/left".to_owned(),
        "ebb",
        &[("flow[1].stop", "30 s")],
        |run, out| {
            let queue = m::hol(run, 0, (LEAVES + 2.0, 60.0));
            out.value("after", m::quantiles(&queue).map(|q| q.p90));
        },
    )?);
    experiments.push(cell("lte-ten").experiment_of(
        options,
        "company/ten".to_owned(),
        "ebb",
        &[("warmup", "0 s")],
        |run, out| {
            let all: Vec<usize> = (0..run.summary.flows.len()).collect();
            out.value("jain_5s", m::jain_common(run, &all, (0.0, 5.0)));
        },
    )?);
    Ok(Part {
        id: "company",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let columns = [
        Entry::plain("its rate", "Mbit/s", "rate"),
        Entry::plain("the other's", "Mbit/s", "other"),
        Entry::plain("its share", "%", "share"),
        Entry::more("utilisation", "%", "use"),
        Entry::less("p95 queue delay", "ms", "delay"),
    ];
    let panels = PLACES
        .iter()
        .map(|place| {
            let rows: Vec<(String, &str, &Runs)> = OTHERS
                .iter()
                .map(|other| (title(other).to_owned(), *other, o.get(&name(place, other))))
                .collect();
            let heading = match *place {
                "rival" => "In one queue of a cell of 18 Mbit/s",
                _ => "Another user's sender in an NR cell",
            };
            table(
                &format!("company-{place}"),
                heading,
                "beside",
                &columns,
                &rows,
            )
        })
        .collect();
    let share = |place: &str, other: &str| o.get(&name(place, other)).estimate("share");
    let mut checks = vec![];
    for (least, word) in [(true, "least"), (false, "most")] {
        let (bound, tolerance) = if least {
            (45.0, Tolerance::AtLeast)
        } else {
            (50.0, Tolerance::AtMost)
        };
        checks.push(Check::of(
            format!("in one queue with CUBIC: share of the two, at {word}"),
            "%",
            bound,
            share("rival", "cubic"),
            tolerance,
        ));
    }
    for place in PLACES {
        for other in ["xrc", "tyrus", "bbr", "prague"] {
            for (bound, tolerance, whose) in [
                (25.0, Tolerance::AtLeast, "its share"),
                (
                    75.0,
                    Tolerance::AtMost,
                    "its share leaves the other half of a fair one",
                ),
            ] {
                checks.push(Check::of(
                    format!("{place}, beside {}: {whose}", title(other)),
                    "%",
                    bound,
                    share(place, other),
                    tolerance,
                ));
            }
        }
    }
    checks.push(Check::of(
        "p90 of the head-of-line delay from 2 s after CUBIC has left",
        "ms",
        10.0,
        o.get("company/left").estimate("after"),
        Tolerance::AtMost,
    ));
    checks.push(Check::of(
        "ten users: Jain's index of the first 5 s",
        "",
        0.99,
        o.get("company/ten").estimate("jain_5s"),
        Tolerance::AtLeast,
    ));
    Figure {
        title: "Company".to_owned(),
        setup: "The cells `rival` and `rival-users` of the arena, `ebb` beside each other sender.".to_owned(),
        claim: "Targets: 45 to 50 % beside CUBIC in one queue, an idle queue 2 s after it has left, nobody below half of a fair share, \
                and ten users that share alike within 5 s."
            .to_owned(),
        seen: String::new(),
        panels,
        checks,
        ..Figure::default()
    }
}
