//! Figure 7: how many of n concurrent flows are satisfied, cell by cell, by every mode.

use super::prelude::*;

pub(super) fn part(options: &Options, place: Place) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for variant in &place.variants() {
        for n in place.counts() {
            experiments.push(shared(options, &place, variant, n)?);
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
    let runs = |variant: &str, n: &str| o.get(&name(place, variant, n));
    let (variants, counts) = (place.variants(), place.counts());
    let rows: Vec<(String, &str)> = variants
        .iter()
        .map(|w| (w.title.to_owned(), w.colour))
        .collect();
    let satisfied = |id: &str, caption: &str, value: &'static str| {
        let columns: Vec<(String, &str)> =
            counts.iter().map(|n| (format!("of {n}"), value)).collect();
        grid(id, caption, "sender and UPF", &columns, &rows, |r, c| {
            runs(variants[r].key, counts[c])
        })
    };
    let late = |n: &str| {
        let rows: Vec<(String, &str, &Runs)> = variants
            .iter()
            .map(|w| (w.title.to_owned(), w.colour, runs(w.key, n)))
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
    let line = |variant: &str, value: &str| {
        let each = MANY.map(|n| format!("{:.1}", runs(variant, n).mean(value)));
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
        ..Figure::default()
    }
}
