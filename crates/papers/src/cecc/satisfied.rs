//! Figure 7: how many of n concurrent flows are satisfied, cell by cell, by every mode.

use super::prelude::*;

pub(super) fn part(options: &Options, place: Place) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for way in &place.ways() {
        for n in place.counts() {
            experiments.push(shared(options, &place, way, n)?);
        }
    }
    Ok(Part {
        id: place.id,
        measures: vec![],
        experiments,
        draw: Box::new(move |o| draw(o, &place)),
    })
}

fn draw(o: &Outcomes, place: &Place) -> Figure {
    let runs = |way: &str, n: &str| o.get(&name(place, way, n));
    let (ways, counts) = (place.ways(), place.counts());
    let rows: Vec<(String, &str)> = ways.iter().map(|w| (w.1.to_owned(), w.2)).collect();
    let satisfied = |id: &str, caption: &str, value: &'static str| {
        let columns: Vec<(String, &str)> =
            counts.iter().map(|n| (format!("of {n}"), value)).collect();
        grid(id, caption, "sender and UPF", &columns, &rows, |r, c| {
            runs(ways[r].0, counts[c])
        })
    };
    let late = |n: &str| {
        let rows: Vec<(String, &str, &Runs)> = ways
            .iter()
            .map(|w| (w.1.to_owned(), w.2, runs(w.0, n)))
            .collect();
        let caption = format!("Share of bytes later than 10 ms, {n} flows");
        table(
            &format!("late{n}"),
            &caption,
            "sender and UPF",
            &LATE,
            &rows,
        )
    };
    let line = |way: &str, value: &str| {
        let each = MANY.map(|n| format!("{:.1}", runs(way, n).mean(value)));
        each.join(", ")
    };
    Figure {
        title: format!("Figure 7, scenario {}: satisfied flows", place.name),
        setup: format!("{}. Flows of 50 Mbit/s, 60 frames a second, over TCP where nothing else is said.", place.setup),
        claim: "With slow start no CUBIC flow is satisfied (0.11 to 0.14 % late); CECC satisfies 4 and 5 of as many flows with at \
                most 0.006 % late, 83.3 % of 6, none of 7. Without slow start CUBIC's number falls from 5 flows on."
            .to_owned(),
        seen: format!(
            "Satisfied of 4, 5, 6, 7 flows by frame delay after 2 s: CUBIC {}; CECC hold {}, credit {}, as printed {} (by network \
             delay {}).",
            line("off", "frame_steady"),
            line("hold", "frame_steady"),
            line("credit", "frame_steady"),
            line("paper", "frame_steady"),
            line("paper", "net_steady"),
        ),
        panels: vec![
            satisfied("frame", "Satisfied by frame delay, from 2 s on", "frame_steady"),
            satisfied("net", "Satisfied by network delay, from 2 s on", "net_steady"),
            satisfied("frame-whole", "Satisfied by frame delay, slow start included", "frame_all"),
            satisfied("net-whole", "Satisfied by network delay, slow start included", "net_all"),
            late("5"),
            late("6"),
        ],
        checks: checks(&runs, place),
        ..Figure::default()
    }
}

/// What an independent study of ours found with another simulator, and what was asked for after it.
fn checks<'a>(runs: &impl Fn(&str, &str) -> &'a Runs, place: &Place) -> Vec<Check> {
    let mut checks = vec![];
    let mut ask = |what: &str, way: &str, n: &str, value: &str, reference: f64, tolerance| {
        let name = format!("{}{n}: {what}", place.name);
        let ours = runs(way, n).estimate(value);
        checks.push(Check::of(name, "flows", reference, ours, tolerance).source("the study"));
    };
    for n in place.counts() {
        let what = "CUBIC from slow start, satisfied by frame delay over the whole run";
        ask(what, "off", n, "frame_all", 0.0, Tolerance::Absolute(0.5));
    }
    let one = Tolerance::Absolute(1.0);
    let cubic: [f64; 4] = match place.id {
        "a" => [4.0, 0.9, 0.0, 0.0],
        "b" => [4.0, 4.8, 2.8, 0.4],
        "c" => [4.0, 2.8, 0.2, 0.0],
        "d" => [4.0, 3.6, 0.3, 0.0],
        "e" => [4.0, 5.0, 6.0, 7.0],
        // The study gives no numbers for F.
        _ => [f64::NAN; 4],
    };
    for (n, reference) in MANY.into_iter().zip(cubic) {
        if reference.is_finite() {
            let what = "CUBIC, satisfied by frame delay after 2 s";
            ask(what, "off", n, "frame_steady", reference, one);
        }
    }
    let hold = "hold, satisfied by frame delay after 2 s, at least";
    let credit = "credit, satisfied by frame delay after 2 s, at least";
    let printed = "as printed, satisfied by network delay after 2 s";
    let least = Tolerance::AtLeast;
    match place.id {
        "a" => {
            ask(hold, "hold", "5", "frame_steady", 4.9, least);
            ask(credit, "credit", "5", "frame_steady", 4.9, least);
        }
        "d" => {
            ask(hold, "hold", "6", "frame_steady", 5.4, least);
            ask(hold, "hold", "7", "frame_steady", 4.8, least);
        }
        "e" => {
            ask(hold, "hold", "7", "frame_steady", 6.9, least);
            ask(credit, "credit", "7", "frame_steady", 6.9, least);
        }
        _ => {}
    }
    match place.id {
        "a" | "d" => {
            for n in MANY {
                let all: f64 = n.parse().expect("a number");
                ask(printed, "paper", n, "net_steady", all, one);
            }
        }
        "c" => {
            for (n, reference) in [("5", 4.7), ("6", 4.8), ("7", 2.0)] {
                ask(printed, "paper", n, "net_steady", reference, one);
            }
        }
        _ => {}
    }
    for (way, what) in [("hold", "hold"), ("credit", "credit")] {
        for n in MANY {
            // As much as one late frame of a run more is no difference that a run can show.
            let limit = 1.1 * runs("off", n).mean("late_frame_steady") + 0.003;
            let name = format!(
                "{}{n}: {what}, share of bytes late by frame delay, of CUBIC's with 10 % more",
                place.name
            );
            let ours = runs(way, n).estimate("late_frame_steady");
            checks
                .push(Check::of(name, "%", limit, ours, Tolerance::AtMost).source("the study, t8"));
        }
    }
    checks
}
