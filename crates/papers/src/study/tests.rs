use slackwater_control::registry::Plugin;
use slackwater_control::{Ack, CongestionEvent, Controller, Intent, PathView};
use slackwater_core::{Bytes, Instant};
use slackwater_lab::run::Control;
use slackwater_report::paper::{Axis, Drawing, Guide, Panel};
use slackwater_results::check::{Check, Origin, Tolerance, Verdict};

use super::*;
use crate::measure as m;

const TEXT: &str = r#"
    name = "small"
    duration = "2 s"
    [link]
    kind = "rate"
    rate = "12 Mbit/s"
    [[flow]]
    controller = "reno"
    [vary]
    seed = [1, 2]
"#;

fn parts(_: &Options) -> Result<Vec<Part>, StudyError> {
    let experiment = |controller: &str| {
        Experiment::new(
            format!("one/{controller}"),
            TEXT,
            [("flow.controller", controller), ("path.jitter", "1 ms")],
            |run, out| {
                out.value("rate", Some(m::rate(run, 0, (1.0, 2.0))));
                out.value("nothing", None);
                // Odd seeds say yes: never decided by a few.
                out.value("coin", Some((run.scenario.seed % 2) as f64));
                out.distribution("window", m::window(run, 0, (0.0, 2.0)));
                out.line("rate", m::rate_line(run, 0, 2, "flow"));
            },
        )
    };
    let draw = |o: &Outcomes| {
        let runs = o.get("one/cubic");
        let panel = Panel::new(
            "rate",
            "Rate",
            "",
            Drawing::Time {
                axis: Axis::new("Rate", "Mbit/s"),
                lines: runs.lines("rate"),
                tracks: vec![],
                guides: vec![Guide::new(12.0, "link")],
            },
        );
        Figure {
            title: "Figure 1: small".to_owned(),
            panels: vec![panel],
            checks: vec![
                Check::of(
                    "rate",
                    "Mbit/s",
                    5.0,
                    runs.estimate("rate"),
                    Tolerance::AtLeast,
                ),
                Check::of(
                    "gone",
                    "",
                    5.0,
                    runs.estimate("nothing"),
                    Tolerance::AtLeast,
                ),
            ],
            ..Figure::default()
        }
    };
    let part = |id, names: &[&str]| -> Result<Part, StudyError> {
        Ok(Part {
            id,
            measures: if id == "fig1" { measures() } else { vec![] },
            experiments: names
                .iter()
                .map(|c| experiment(c))
                .collect::<Result<_, _>>()?,
            draw: Box::new(draw),
        })
    };
    Ok(vec![
        part("fig1", &["cubic"])?,
        part("fig2", &["cubic", "reno"])?,
    ])
}

/// Claims of figure 1: one that holds, one whose bound is the mean of the first seeds, one without a value, one that cannot be tested.
const CLAIMS: &str = r#"
    [[claim]]
    id = "full"
    figure = "fig1"
    place = "I"
    says = "The link is full."
    value = "11"
    unit = "Mbit/s"
    sense = "above"
    profiles = ["product"]
    [[claim]]
    id = "open"
    figure = "fig1"
    place = "II"
    says = "The fourth packet's fate."
    value = "0.5"
    sense = "above"
    profiles = ["product"]
    [[claim]]
    id = "gone"
    figure = "fig1"
    place = "III"
    says = "Nothing."
    value = "1"
    sense = "at_least"
    profiles = ["paper"]
    [[claim]]
    id = "beyond"
    figure = "fig1"
    place = "IV"
    says = "More than the link."
    value = "13"
    sense = "above"
    impossible = "the link has 12 Mbit/s"
    [[claim]]
    id = "elsewhere"
    figure = "fig7"
    place = "V"
    says = "A figure that is none."
    value = "1"
    sense = "equal"
"#;

fn measures() -> Vec<Measure> {
    vec![
        Measure::product("full", |o| o.get("one/cubic").estimate("rate")),
        Measure::product("open", |o| o.get("one/cubic").estimate("coin")),
        Measure::paper("gone", |o| o.get("one/cubic").estimate("nothing")),
    ]
}

const STUDY: Study = Study {
    name: "test",
    claims: CLAIMS,
    title: "A test",
    citation: "",
    about: &[],
    notes: &[],
    parts,
};

#[test]
fn a_study_runs_each_experiment_once_and_checks_it() {
    let options = Options {
        seeds: 3,
        max_seeds: 3,
        jobs: 2,
        ..Options::default()
    };
    let most = std::sync::Mutex::new(0.0_f64);
    let tell = |done: f64, all: f64| {
        assert!(done <= all);
        if let Ok(mut most) = most.lock() {
            *most = most.max(done / all);
        }
        Control::Continue
    };
    let r = STUDY.run(&options, &tell).expect("it runs");
    assert_eq!((r.runs, r.seeds.as_slice()), (6, [1, 2, 3].as_slice()));
    assert!((most.into_inner().expect("no panic") - 1.0).abs() < 1e-9);
    let own = r.page.checks().filter(|c| c.origin == Origin::Target);
    let checks: Vec<&Check> = own.collect();
    assert_eq!(checks.len(), 4);
    assert!(checks[0].holds && checks[0].interval.is_some());
    assert!(checks[1].misses(), "what was not measured does not hold");
    let json = r.json();
    assert_eq!(json["relations"][2]["figure"], "fig2");
    assert_eq!(json["relations"][3]["verdict"], "misses");
    assert_eq!(json["relations"].as_array().map(Vec::len), Some(4));
    assert_eq!((r.page.claims.len(), r.page.left_out), (4, 1));
    // One seed's curve, not three.
    let Drawing::Time { lines, .. } = &r.page.figures[0].panels[0].drawing else {
        panic!("a plot over time")
    };
    assert_eq!(lines.len(), 1);
    assert_eq!(r.page.figures[0].panels[0].id, "fig1-rate");

    let again = STUDY.run(&Options { jobs: 1, ..options }, &|_, _| Control::Continue);
    let text = |r: &Reproduction| {
        (
            r.json().to_string(),
            slackwater_report::paper::render(&r.page),
        )
    };
    assert!(
        text(&again.expect("it runs")) == text(&r),
        "threads change nothing"
    );
}

#[test]
fn an_open_claim_gets_more_seeds_and_a_figure_does_not() {
    let options = Options {
        seeds: 2,
        max_seeds: 5,
        ..Options::default()
    };
    let run = |options: &Options| {
        let r = STUDY.run(options, &|_, _| Control::Continue);
        r.expect("it runs")
    };
    let r = run(&options);
    let claims: Vec<&Check> = r.page.claims.iter().map(|(_, c)| c).collect();
    let verdicts: Vec<Verdict> = claims.iter().map(|c| c.verdict()).collect();
    assert_eq!(
        verdicts,
        [
            Verdict::Holds,
            Verdict::CannotTell,
            Verdict::Misses,
            Verdict::NotTested
        ]
    );
    // Two experiments with two seeds; the open claim looks at one of them, which got three more.
    assert_eq!((r.runs, claims[1].seeds), (7, Some(5)));
    assert!((claims[1].ours - 0.6).abs() < 1e-9);
    assert_eq!(r.page.seed_note, "1 to 2; to 5 where a claim was open");
    let own = r.page.checks().find(|c| c.origin == Origin::Target);
    assert_eq!(own.and_then(|c| c.seeds), Some(2));

    let alone = run(&Options {
        claims_only: true,
        max_seeds: 2,
        ..options
    });
    assert_eq!((alone.runs, alone.page.figures.len()), (2, 0));
    assert_eq!(alone.page.claims.len(), 4);
}

#[test]
fn ledger_and_measures_are_compared() {
    let found = STUDY.disagreements(&Options::default()).expect("a plan");
    assert_eq!(found, ["elsewhere: no figure is named fig7"]);
}

#[test]
fn results_are_written() {
    let folder = std::env::temp_dir().join(format!("slackwater-study-{}", std::process::id()));
    let options = Options {
        seeds: 1,
        only: vec!["fig1".to_owned()],
        ..Options::default()
    };
    let r = STUDY
        .run(&options, &|_, _| Control::Continue)
        .expect("it runs");
    assert_eq!(r.page.figures.len(), 1);
    let page = r.write(&folder).expect("it can be written");
    let html = std::fs::read_to_string(page).expect("the page");
    assert!(html.contains("Figure 1: small"));
    for name in [
        "checks.json",
        "data/fig1-rate.parquet",
        "scenarios/one-cubic.toml",
    ] {
        assert!(folder.join(name).exists(), "{name}");
    }
    let text = std::fs::read_to_string(folder.join("scenarios/one-cubic.toml")).expect("text");
    let scenario = Scenario::parse("again", &text, Path::new(".")).expect("it can be run again");
    assert!(scenario.vary.is_empty());
    std::fs::remove_dir_all(&folder).expect("our own folder");
}

#[test]
fn wrong_names_and_interrupts_end_a_study() {
    let only = vec!["fig9".to_owned()];
    let options = Options {
        only,
        ..Options::default()
    };
    let error = STUDY.run(&options, &|_, _| Control::Continue).unwrap_err();
    assert!(error.to_string().contains("fig1, fig2"), "{error}");
    let stop = STUDY.run(&Options::default(), &|_, _| Control::Stop);
    assert!(matches!(
        stop,
        Err(StudyError::Run {
            cause: RunError::Interrupted,
            ..
        })
    ));
    assert!(Experiment::new("x", TEXT, [("flow.controler", "reno")], |_, _| ()).is_err());
}

#[test]
fn an_interrupted_study_keeps_its_whole_seeds() {
    let options = Options {
        seeds: 3,
        max_seeds: 3,
        jobs: 1,
        ..Options::default()
    };
    // Two experiments of 2 s each: the second seed's first run is under way.
    let stopped = |seconds: f64| {
        STUDY.run(&options, &|done, _| {
            if done >= seconds {
                Control::Stop
            } else {
                Control::Continue
            }
        })
    };
    let r = stopped(5.0).expect("a seed is whole");
    assert_eq!((r.runs, &r.seeds[..]), (2, &[1][..]));
    assert!((r.simulated_s - 4.0).abs() < 1e-9);
    let missing = r.partial.as_deref().expect("it says what is missing");
    assert_eq!(missing, "interrupted with 1 of 3 seeds whole");
    assert!(r.page.notes[0].contains(missing), "{:?}", r.page.notes);
    assert_eq!(r.json()["partial"], missing);
    let rate = r.page.claims.iter().find(|(_, c)| c.ours > 11.0);
    assert!(rate.is_some(), "the claim has its value of one seed");
    assert!(stopped(3.0).is_err(), "no seed is whole");

    // Later seeds, for an open claim.
    let more = Options {
        seeds: 2,
        max_seeds: 9,
        jobs: 1,
        ..Options::default()
    };
    let stop = |done: f64, _| {
        if done >= 13.0 {
            Control::Stop
        } else {
            Control::Continue
        }
    };
    let r = STUDY.run(&more, &stop).expect("the first seeds are whole");
    assert_eq!((r.runs, r.seeds.len()), (6, 2));
    assert!(r.partial.is_some_and(|p| p.contains("4 seeds whole")));
}

/// A window that stands still.
#[derive(Clone, Debug)]
struct Still;

impl Controller for Still {
    fn on_ack(&mut self, _now: Instant, _path: &PathView, _ack: &Ack) {}
    fn on_congestion(&mut self, _now: Instant, _path: &PathView, _event: &CongestionEvent) {}
    fn intent(&self) -> Intent {
        Intent {
            window: Some(Bytes(20 * 1448)),
            ..Intent::default()
        }
    }
    fn name(&self) -> &'static str {
        "still"
    }
    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }
}

fn with_others(also: &[&str], only: &[&str]) -> Result<Reproduction, StudyError> {
    let still = Plugin::new("still", "20 segments", |_| Still);
    let plugins = Plugins::new().with_controller(still).expect("a free name");
    let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect();
    let options = Options {
        seeds: 2,
        jobs: 2,
        also: list(also),
        only: list(only),
        max_seeds: 2,
        plugins,
        ..Options::default()
    };
    STUDY.run(&options, &|_, _| Control::Continue)
}

#[test]
fn further_controllers_stand_beside_the_senders_and_change_no_verdict() {
    let plain = with_others(&[], &[]).expect("it runs");
    let more = with_others(&["still", "copa:delta=0.1"], &[]).expect("it runs");
    assert_eq!(more.json(), plain.json());
    let (beside, figures) = more.page.figures.split_last().expect("figures");
    // As text: a check without a value holds NaN, which equals nothing.
    let text = |figures: &[Figure]| format!("{figures:?}");
    assert_eq!(text(figures), text(&plain.page.figures));
    // Figure 1 has one sender and compares none.
    assert_eq!((beside.panels.len(), beside.checks.len()), (1, 0));
    let Drawing::Table(table) = &beside.panels[0].drawing else {
        panic!("a table")
    };
    let rows: Vec<&str> = table.rows.iter().map(|r| r.label.as_str()).collect();
    assert_eq!(rows, ["CUBIC", "NewReno", "still", "copa:delta=0.1"]);
    let goodput = |row: usize| {
        let cell = table.rows[row].cells[0].number();
        cell.expect("a number").mean
    };
    assert!((0..4).all(|row| goodput(row) > 1.0 && goodput(row) < 12.0));
    assert!(
        more.scenarios
            .iter()
            .any(|s| s.1.contains("controller = \"still\""))
    );
}

#[test]
fn a_controller_that_fits_nowhere_is_refused() {
    for (name, only, expected) in [
        ("stil", "fig2", "\"still\"?"),
        ("gcc", "fig2", "a controller for TCP"),
        ("still", "fig1", "no figure that compares senders"),
    ] {
        let error = with_others(&[name], &[only]).expect_err(name).to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}
