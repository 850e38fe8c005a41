//! Why the paper's two numbers, 0.11 to 0.14 % for CUBIC and 0.006 % for CECC, cannot be of one kind.

use super::prelude::*;

const SHOWN: [Way; 4] = [OFF, PAPER, CREDIT, HOLD];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for way in &SHOWN {
        for n in COUNTS {
            experiments.push(shared(options, &PLACES[0], way, n)?);
        }
    }
    Ok(Part {
        id: "kinds",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |way: &str, n: &str| o.get(&name(&PLACES[0], way, n));
    let rows: Vec<(String, &str)> = SHOWN.iter().map(|w| (w.1.to_owned(), w.2)).collect();
    let late = |id: &str, caption: &str, value: &'static str| {
        let columns: Vec<(String, &str)> = COUNTS.map(|n| (format!("{n} flows"), value)).into();
        let panel = grid(id, caption, "sender and UPF", &columns, &rows, |r, c| {
            runs(SHOWN[r].0, COUNTS[c])
        });
        lower(panel)
    };
    let range = |way: &str, value: &str, counts: &[&str]| {
        let all = counts.iter().map(|n| runs(way, n).mean(value));
        let (low, high) = all.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), v| {
            (l.min(v), h.max(v))
        });
        format!("{low:.3} to {high:.3} %")
    };
    let few = &COUNTS[..4];
    let some = &COUNTS[3..5];
    let mut checks = vec![];
    for n in &COUNTS[..5] {
        checks.push(
            Check::of(
                format!("CUBIC, {n} flows: bytes late by frame delay, whole run"),
                "%",
                0.13,
                runs("off", n).estimate("late_frame_all"),
                Tolerance::Absolute(0.03),
            )
            .source("CECC, IV-C; the study: 0.10 to 0.16 %")
            .claimed(0.125),
        );
    }
    for n in some {
        for (value, what) in [
            ("worst_net_all", "network delay, whole run, worst flow"),
            ("worst_frame_all", "frame delay, whole run, worst flow"),
        ] {
            let check = Check::of(
                format!("as printed, {n} flows: bytes late by {what}"),
                "%",
                0.006,
                runs("paper", n).estimate(value),
                Tolerance::AtMost,
            )
            .source("CECC, IV-C");
            checks.push(if value == "worst_frame_all" {
                check.untested(
                    "holding acknowledgments back cannot shorten the first frames' wait for the window: by frame delay over a whole run \
                     the number would be at least CUBIC's",
                )
            } else {
                check
            });
        }
    }
    Figure {
        title: "The paper's two numbers are of different kinds".to_owned(),
        setup: "Scenario A, 1 to 7 flows, 60 s: the share of bytes that came later than 10 ms, counted in the four ways.".to_owned(),
        claim: "From slow start 0.11 to 0.14 % of CUBIC's packets are late \"across all flows\", and at most 0.006 % of CECC's with 4 \
                and 5 flows."
            .to_owned(),
        seen: format!(
            "Over the whole run CUBIC with up to four flows is late with {} of its bytes by frame delay: the few frames of the start, \
             which wait in the server for the window to open. By network delay it is {}: a window of ten segments cannot fill a \
             queue. So the paper's first number is frame delay. CECC as printed waits for the same window: by frame delay it is \
             late with {} with four and five flows, and only by network delay with {}. So its second number, below a twentieth of \
             the first, is network delay.",
            range("off", "late_frame_all", few),
            range("off", "late_net_all", few),
            range("paper", "late_frame_all", some),
            range("paper", "late_net_all", some),
        ),
        panels: vec![
            late("frame-whole", "Late by frame delay, whole run (%)", "late_frame_all"),
            late("net-whole", "Late by network delay, whole run (%)", "late_net_all"),
            late("frame-steady", "Late by frame delay, from 2 s on (%)", "late_frame_steady"),
            late("net-steady", "Late by network delay, from 2 s on (%)", "late_net_steady"),
        ],
        checks,
        notes: vec![
            "One frame of a minute's 3,600 is 0.028 %: 0.11 to 0.14 % are four or five frames, those of the start (three round trips of \
             15 to 18 ms until the window holds a frame, and what piled up meanwhile). 0.006 % is a fifth of one frame."
                .to_owned(),
        ],
        ..Figure::default()
    }
}
