//! Table 2 on real packets: our WebRTC sender and receiver through an emulation of the marking link.

use slackwater_core::Duration;
use slackwater_scenario::Bottleneck;
use slackwater_scenario::link::Link;

use super::prelude::*;
use super::published::{Case as Published, TABLE2};
use crate::live::{Case, Column as Compared, Live, Place, Seen, case};

/// What is sent: the published forms, the shipped ones, and what the paper compares with.
const SHOWN: [Kind; 7] = [CL4S, CL4S_DEFAULT, SL4S, SL4S_DEFAULT, L4S_CC, GCC, SCREAM];
/// The service: XR cloud gaming, the middle one (`SERVICES`).
const SERVICE: usize = 1;
/// The pattern's length in seconds. A run of another length has its times in proportion.
const PATTERN_S: f64 = 160.0;

/// What the paper's Table 2 has of a kind: utilisation / p95 / p99 / TDQ(55).
fn paper((served, gcc, scream): &Published, kind: &Kind) -> String {
    let column = match kind.id {
        "cl4s" | "cl4s-default" => served[SERVICE][0],
        "sl4s" | "sl4s-default" => served[SERVICE][1],
        "l4s-cc" => served[SERVICE][2],
        "gcc" => *gcc,
        _ => *scream,
    };
    format!(
        "{} % / {} ms / {} ms / {} s",
        column.util, column.p95, column.p99, column.tdq[SERVICE]
    )
}

/// The pattern's times in proportion to a length of `seconds`; its round is longer by a second, as the pattern's own.
fn shorten(bottleneck: &mut Bottleneck, seconds: u32) {
    if let Bottleneck::Link(link) = bottleneck
        && let Link::Series(series) = &mut **link
    {
        for [time, _] in &mut series.points {
            *time *= f64::from(seconds) / PATTERN_S;
        }
        series.period = Some(Duration::from_secs(u64::from(seconds) + 1));
    }
}

/// A run's numbers, as the tables have them.
fn reduce(run: &RunResult) -> Seen {
    let mut out = Outcome::default();
    keep(run, &mut out);
    let names = [
        "util", "p50", "p95", "p99", "tdq20", "tdq55", "tdq145", "marks", "loss",
    ];
    let numbers = names
        .iter()
        .filter_map(|n| Some(((*n).to_owned(), out.kept(n)?)));
    Seen {
        numbers: numbers.collect(),
        ..Seen::default()
    }
}

/// The cases: each ramp of the paper with each kind.
pub(super) fn live(seconds: u32) -> Result<Live, StudyError> {
    let length = format!("{seconds} s");
    let (_, te) = SERVICES[SERVICE];
    let mut cases: Vec<Case> = vec![];
    for ((number, low, high), row) in CASES.iter().zip(&TABLE2) {
        for kind in &SHOWN {
            let mut changes = of_kind(kind, te);
            changes.push(ramp(*low, *high));
            changes.extend(words(&[("duration", &length)]));
            let changes: Vec<(&str, &str)> = changes
                .iter()
                .map(|(k, v)| (k.as_str(), v.as_str()))
                .collect();
            let id = format!("{number}-{}", kind.id);
            let label = format!("{low}/{high} ms, {}", kind.title);
            let mut made = case(id, label, &paper(row, kind), IETF, &changes)?;
            made.reduce = Some(reduce);
            shorten(&mut made.scenario.bottleneck, seconds);
            cases.push(made);
        }
    }
    let column = |label, unit, digits, of| Compared {
        label,
        unit,
        digits,
        of,
    };
    Ok(Live {
        title: "aL4S-CC's Table 2 on real packets",
        setup: "One flow on the assumed IETF pattern, its times in proportion to the length of the run; our WebRTC sender and receiver, \
                one on each side of the emulated link with its marker. The paper's runs took 160 s.",
        place: Place::Emulation,
        columns: vec![
            column("link utilisation", "%", 1, |s| s.number("util")),
            column("queue delay, p95", "ms", 1, |s| s.number("p95")),
            column("p99", "ms", 1, |s| s.number("p99")),
            column("TDQ(20)", "s", 2, |s| s.number("tdq20")),
            column("TDQ(55)", "s", 2, |s| s.number("tdq55")),
            column("marked", "%", 1, |s| s.number("marks")),
        ],
        cases,
        curves: vec![],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_run_has_the_whole_pattern() {
        let live = live(20).expect("cases");
        assert_eq!(live.cases.len(), 21);
        let Some(Link::Series(series)) = live.cases[0].scenario.link() else {
            panic!("a series of rates");
        };
        // The rise at 40 s and the drop at 60 s of 160.
        assert!(series.points.contains(&[5.0, 25.0]) && series.points.contains(&[7.5, 6.0]));
        assert_eq!(series.points.last(), Some(&[20.0, 6.0]));
        assert_eq!(live.cases[0].paper, "86 % / 2 ms / 8 ms / 0.5 s");
    }
}
