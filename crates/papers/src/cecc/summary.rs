//! The whole table, cell by number of flows: what the schemes are worth is never one ratio.

use super::prelude::*;

/// In the columns of the table.
const SHOWN: [Variant; 6] = [OFF, PAPER, CREDIT, HOLD, UDP, HOLD_UDP];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for place in &PLACES {
        for n in MANY {
            for variant in &SHOWN {
                experiments.push(shared(options, place, variant, n)?);
            }
        }
    }
    Ok(Part {
        id: "all",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let rows: Vec<(&Place, &str)> = PLACES
        .iter()
        .flat_map(|p| MANY.iter().map(move |n| (p, *n)))
        .collect();
    let labels: Vec<(String, &str)> = rows
        .iter()
        .map(|(p, n)| (format!("{}{n}", p.name), ""))
        .collect();
    let whole = |id: &str, caption: &str, value: &'static str| {
        let columns: Vec<(String, &str)> = SHOWN.map(|w| (w.title.to_owned(), value)).into();
        grid(id, caption, "scenario, flows", &columns, &labels, |r, c| {
            let (place, n) = rows[r];
            o.get(&name(place, SHOWN[c].key, n))
        })
    };
    let bars = |id: &str, title: &str, variants: [Variant; 3], value: &str| {
        let bars = rows.iter().flat_map(|(p, n)| {
            let group = format!("{}{n}", p.name);
            variants.map(|w| bar(&group, w.title, w.colour, o.get(&name(p, w.key, n)), value))
        });
        Panel::new(
            id,
            title,
            "",
            Drawing::Bars {
                axis: Axis::new("Satisfied flows", ""),
                bars: bars.flatten().collect(),
                guides: vec![],
            },
        )
    };
    let sum = |variant: &str, value: &str| -> f64 {
        let each = rows
            .iter()
            .map(|(p, n)| o.get(&name(p, variant, n)).mean(value));
        each.sum()
    };
    let ratios: Vec<f64> = rows
        .iter()
        .filter_map(|(p, n)| {
            let of = |variant: &str| o.get(&name(p, variant, n)).mean("frame_steady");
            let (off, hold) = (of("off"), of("hold"));
            (off >= 0.5).then(|| hold / off)
        })
        .collect();
    let (least, most) = ratios
        .iter()
        .fold((f64::INFINITY, 0.0), |(l, m): (f64, f64), r| {
            (l.min(*r), m.max(*r))
        });
    let none = rows.len() - ratios.len();
    Figure {
        title: "The whole table".to_owned(),
        setup: format!(
            "Six cells, 4 to 7 flows: A {}; B {}; C {}; D {}; E {}; F {}. Satisfied flows from 2 s on.",
            PLACES[0].setup, PLACES[1].setup, PLACES[2].setup, PLACES[3].setup, PLACES[4].setup, PLACES[5].setup
        ),
        claim: "CECC raises the number of concurrent flows that meet the delay standard 1.5 to 2.5 times.".to_owned(),
        seen: format!(
            "By frame delay, all cells and counts together, of {} flows: CUBIC {:.0}, as printed {:.0}, credit {:.0}, hold {:.0}; by \
             network delay CUBIC {:.0}, as printed {:.0}, credit {:.0}, hold {:.0}. Where CUBIC satisfies a flow at all, hold \
             satisfies {:.1} to {:.1} times as many by frame delay; in {none} rows CUBIC satisfies (nearly) none and no ratio can be \
             given.",
            rows.iter().filter_map(|r| r.1.parse::<u32>().ok()).sum::<u32>(),
            sum("off", "frame_steady"),
            sum("paper", "frame_steady"),
            sum("credit", "frame_steady"),
            sum("hold", "frame_steady"),
            sum("off", "net_steady"),
            sum("paper", "net_steady"),
            sum("credit", "net_steady"),
            sum("hold", "net_steady"),
            least,
            most,
        ),
        panels: vec![
            whole("frame", "Satisfied flows by frame delay", "frame_steady"),
            whole("net", "Satisfied flows by network delay", "net_steady"),
            bars("frame-bars", "Beyond the paper: hold by frame delay", [OFF, PAPER, HOLD], "frame_steady"),
            bars("net-bars", "The same by network delay", [OFF, PAPER, HOLD], "net_steady"),
        ],
        checks: checks(o),
        ..Figure::default()
    }
}

/// Targets of ours.
fn checks(o: &Outcomes) -> Vec<Check> {
    let steady = |place: &Place, variant: &str, n: &str| {
        o.get(&name(place, variant, n)).values("frame_steady")
    };
    let mut checks = vec![];
    for place in &PLACES {
        // Seed by seed, all numbers of flows together.
        let seeds = steady(place, "off", MANY[0]).len();
        let gain = |seed: usize| -> Option<f64> {
            let each = MANY.map(|n| {
                let at = |variant: &str| steady(place, variant, n).get(seed).copied();
                Some(at("hold")? - at("off")?)
            });
            each.into_iter().sum()
        };
        let gains: Vec<f64> = (0..seeds).filter_map(gain).collect();
        let what = format!(
            "{}: satisfied flows by frame delay, 4 to 7 flows together, hold less CUBIC",
            place.name
        );
        let ours = Estimate::of(&gains);
        checks.push(Check::of(what, "flows", 0.0, ours, Tolerance::AtLeast));
    }
    checks
}
