//! The page of a run whose record has the grants of its cell.

use slackwater_lab::run::{Control, RunResult, run_scenario};
use slackwater_report::SeriesKind;
use slackwater_report::view::report;
use slackwater_scenario::Scenario;
use std::path::Path;

fn run(record: &str) -> RunResult {
    let text = format!(
        "name = \"radio\"\nduration = \"1 s\"\n[cell]\nrat = \"lte\"\nfading = \"eva\"\n\
         [[ue]]\n[[ue]]\n[[flow]]\ncontroller = \"cubic\"\n\
         [[flow]]\ncontroller = \"cubic\"\ndirection = \"up\"\nue = 1\n[record]\n{record}\n"
    );
    let scenario = Scenario::parse("t.toml", &text, Path::new(".")).expect("a scenario");
    run_scenario(&scenario, 1, &mut |_| Control::Continue).expect("it runs")
}

#[test]
fn grants_of_both_users_are_drawn_to_the_end_of_the_run() {
    let page = report(&[run("slots = true")], "slackwater run");
    let curves = page.runs[0].series.iter();
    let curves: Vec<_> = curves.filter(|s| s.kind == SeriesKind::BlockSize).collect();
    let labels: Vec<&str> = curves.iter().map(|s| s.label.as_str()).collect();
    assert_eq!(labels, ["UE 0, downlink", "UE 1, uplink"]);
    for curve in curves {
        let last = *curve.t.last().expect("it has points");
        assert!((last - 1.0).abs() < 1e-9, "{}: {last}", curve.label);
        assert!(curve.y.iter().any(|y| *y > 0.0), "{}", curve.label);
    }
    assert!(page.notes.is_empty(), "{:?}", page.notes);
}

#[test]
fn curves_that_the_record_cut_are_named() {
    let page = report(&[run("slots = true\nmax_rows = 100")], "slackwater run");
    let cut = page.notes.iter().filter(|n| n.contains("kept 100 grants"));
    assert_eq!(cut.count(), 1, "{:?}", page.notes);

    let page = report(&[run("slots = false")], "slackwater run");
    let radio = |s: &&slackwater_report::Series| {
        matches!(
            s.kind,
            SeriesKind::Mcs | SeriesKind::BlockSize | SeriesKind::Repeated
        )
    };
    assert_eq!(page.runs[0].series.iter().filter(radio).count(), 0);
}
