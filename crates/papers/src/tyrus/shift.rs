//! Seeds look at different parts of a link: the link is moved, never the flow. A flow that starts late is another
//! experiment: whatever counts from time zero would be measured with it.

use slackwater_core::Duration;
use slackwater_scenario::link::{Link, SeriesLink};
use slackwater_scenario::{Bottleneck, Scenario};

use super::prelude::*;

/// Seconds between the parts that two seeds look at, and after which they begin again.
const STEP: u64 = 37;
const ROUND: u64 = 120;
/// What looks ahead finds the link after the end of a run too.
const AHEAD: Duration = Duration::from_secs(10);

/// Seed k looks at the link from 37 (k - 1) s on, modulo two minutes. A cell's channel is drawn anew by the seed itself.
pub(super) fn moved_by_seed(experiment: Experiment) -> Experiment {
    experiment.prepared(|scenario, seed| {
        let by = Duration::from_secs((seed.saturating_sub(1) * STEP) % ROUND);
        shift(scenario, by);
    })
}

/// The link of `scenario` from `by` on.
fn shift(scenario: &mut Scenario, by: Duration) {
    let span = (scenario.duration + AHEAD).as_millis();
    let Bottleneck::Link(link) = &mut scenario.bottleneck else {
        return;
    };
    if by.is_zero() {
        return;
    }
    match &mut **link {
        Link::Trace(trace) => trace.file = trace.file.cut(by.as_millis(), span),
        Link::Series(series) => turn(series, by),
        Link::Rate(_) => {}
    }
}

/// The same series from `by` on.
fn turn(series: &mut SeriesLink, by: Duration) {
    assert!(
        !series.smooth && series.up_points.is_empty(),
        "the links of this study go down and in steps"
    );
    let round = series.round();
    let by = Duration::from_nanos(by.as_nanos() % round.as_nanos());
    let rates = series.rates();
    let next = rates.partition_point(|(t, _)| *t <= by);
    // What holds at `by`: the last rate before it, of the round before where there is none.
    let held = rates[next.checked_sub(1).unwrap_or(rates.len() - 1)].1;
    let later = rates[next..].iter().map(|&(t, r)| (t - by, r));
    let again = rates[..next].iter().map(|&(t, r)| (t + round - by, r));
    series.points = core::iter::once((Duration::ZERO, held))
        .chain(later)
        .chain(again.filter(|(t, _)| *t < round))
        .map(|(t, r)| [t.as_secs_f64(), r.as_mbps()])
        .collect();
    series.file = None;
    series.period = Some(round);
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn moved(link: &str, by: u64) -> Link {
        let text = format!(
            "name = \"s\"\nduration = \"4 s\"\n[link]\n{link}\n[[flow]]\ncontroller = \"rule2\"\n"
        );
        let mut scenario = Scenario::parse("s", &text, Path::new(".")).expect("a scenario");
        shift(&mut scenario, Duration::from_millis(by));
        assert!(scenario.flows.iter().all(|f| f.start.is_zero()));
        assert_eq!(scenario.duration, Duration::from_secs(4));
        scenario.link().expect("a link").clone()
    }

    #[test]
    fn a_series_begins_elsewhere_and_goes_round() {
        let link = "kind = \"series\"\nperiod = \"4 s\"\npoints = [[0, 1], [1, 2], [3, 5]]";
        for (by, points) in [
            (0, vec![[0.0, 1.0], [1.0, 2.0], [3.0, 5.0]]),
            (1_000, vec![[0.0, 2.0], [2.0, 5.0], [3.0, 1.0]]),
            (2_500, vec![[0.0, 2.0], [0.5, 5.0], [1.5, 1.0], [2.5, 2.0]]),
            (9_000, vec![[0.0, 2.0], [2.0, 5.0], [3.0, 1.0]]),
        ] {
            let Link::Series(s) = moved(link, by) else {
                panic!("a series stays one");
            };
            assert_eq!(s.points, points, "{by} ms");
            assert_eq!(s.round(), Duration::from_secs(4));
        }
    }
}
