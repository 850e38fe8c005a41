//! Why the paper's two numbers, 0.11 to 0.14 % for CUBIC and 0.006 % for CECC, cannot be of one kind.

use super::super::ledger::Profile;
use super::prelude::*;

const SHOWN: [Variant; 4] = [OFF, PAPER, CREDIT, HOLD];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for variant in &SHOWN {
        for n in COUNTS {
            experiments.push(shared(options, &PLACES[0], variant, n)?);
        }
    }
    Ok(Part {
        id: "kinds",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

/// What is measured for the abstract and for IV-C.
fn measures() -> Vec<Measure> {
    fn at<'a>(o: &'a Outcomes, variant: &str, n: &str) -> &'a Runs {
        o.get(&name(&PLACES[0], variant, n))
    }
    fn headline(o: &Outcomes, variant: &str, value: &str) -> Option<Estimate> {
        let most = |variant: &str| best(COUNTS.iter().map(|n| at(o, variant, n)), value);
        most(variant).ratio(value, most("off"), value)
    }
    let mut all = vec![
        Measure::product("start-late-least", |o| {
            at(o, "off", "4").estimate("least_frame_all")
        }),
        Measure::product("start-late-most", |o| {
            at(o, "off", "4").estimate("worst_frame_all")
        }),
        Measure::product("start-none", |o| at(o, "off", "4").estimate("frame_all")),
        Measure::product("steady-falls", |o| {
            let (four, five) = (at(o, "off", "4"), at(o, "off", "5"));
            less(four, "share_frame_steady", 1.0, five, "share_frame_steady")
        }),
        Measure::paper("seven-none", |o| {
            at(o, "paper", "7").estimate("share_net_all")
        }),
    ];
    for (profile, variant) in [(Profile::Paper, "paper"), (Profile::Product, "hold")] {
        let mut add = |claim, value: fn(&Outcomes, &str) -> Option<Estimate>| {
            all.push(Measure::new(claim, profile, move |o| value(o, variant)));
        };
        add("headline-network", |o, variant| {
            headline(o, variant, "net_steady")
        });
        add("headline-frame", |o, variant| {
            headline(o, variant, "frame_steady")
        });
        add("headline-most", |o, variant| {
            let (ours, cubic) = (at(o, variant, "5"), at(o, "off", "5"));
            less(ours, "net_steady", 2.5, cubic, "net_steady")
        });
        add("four-late-network", |o, variant| {
            at(o, variant, "4").estimate("worst_net_all")
        });
        add("four-late-frame", |o, variant| {
            at(o, variant, "4").estimate("worst_frame_all")
        });
        add("five-late-network", |o, variant| {
            at(o, variant, "5").estimate("worst_net_all")
        });
        add("five-late-frame", |o, variant| {
            at(o, variant, "5").estimate("worst_frame_all")
        });
        add("six-network", |o, variant| {
            at(o, variant, "6").estimate("share_net_all")
        });
        add("six-frame", |o, variant| {
            at(o, variant, "6").estimate("share_frame_all")
        });
    }
    all
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |variant: &str, n: &str| o.get(&name(&PLACES[0], variant, n));
    let rows: Vec<(String, &str)> = SHOWN
        .iter()
        .map(|w| (w.title.to_owned(), w.colour))
        .collect();
    let late = |id: &str, caption: &str, value: &'static str| {
        let columns: Vec<(String, &str)> = COUNTS.map(|n| (format!("{n} flows"), value)).into();
        let panel = grid(id, caption, "sender and UPF", &columns, &rows, |r, c| {
            runs(SHOWN[r].key, COUNTS[c])
        });
        lower(panel)
    };
    let range = |variant: &str, value: &str, counts: &[&str]| {
        let all = counts.iter().map(|n| runs(variant, n).mean(value));
        let (low, high) = all.fold((f64::INFINITY, 0.0), |(l, h): (f64, f64), v| {
            (l.min(v), h.max(v))
        });
        format!("{low:.3} to {high:.3} %")
    };
    let few = &COUNTS[..4];
    let some = &COUNTS[3..5];
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
        notes: vec![
            "One frame of a minute's 3,600 is 0.028 %: 0.11 to 0.14 % are four or five frames, those of the start (three round trips of \
             15 to 18 ms until the window holds a frame, and what piled up meanwhile). 0.006 % is a fifth of one frame."
                .to_owned(),
        ],
        ..Figure::default()
    }
}
