//! Cases are sound, and the table says what was found.

use super::*;
use crate::study::Options;

fn live(name: &str, only: &[&str]) -> Result<Option<Live>, StudyError> {
    let options = Options {
        only: only.iter().map(|o| (*o).to_owned()).collect(),
        ..Options::default()
    };
    Live::of(name, 3, &options)
}

#[test]
fn each_study_with_figures_on_real_packets_has_cases_of_its_length() {
    for study in crate::ALL {
        let Some(live) = live(study.name, &[]).expect("sound scenarios") else {
            continue;
        };
        assert!(
            matches!(study.name, "vaqm" | "cecc" | "al4s"),
            "{}",
            study.name
        );
        let mut ids: Vec<&str> = live.cases.iter().map(|c| c.id.as_str()).collect();
        for case in &live.cases {
            assert_eq!(case.scenario.duration.as_secs_f64(), 3.0, "{}", case.id);
            // All of the wired delay stands between function and cell, as on real packets.
            if let Some(upf) = &case.scenario.upf {
                assert_eq!(upf.n3, case.scenario.path.rtt / 2, "{}", case.id);
            } else {
                assert_eq!(study.name, "al4s", "{}: a function", case.id);
            }
        }
        let drawn = live.curves.iter().flat_map(|c| &c.cases);
        for (id, _) in drawn {
            assert!(ids.contains(&id.as_str()), "{id}");
        }
        let all = ids.len();
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), all, "names stand once");
    }
}

#[test]
fn some_cases_alone_are_named_by_how_they_begin() {
    let some = live("vaqm", &["weak-cubic", "strong-bbr-vaqm"])
        .unwrap()
        .unwrap();
    let ids: Vec<&str> = some.cases.iter().map(|c| c.id.as_str()).collect();
    assert_eq!(
        ids,
        ["strong-bbr-vaqm", "weak-cubic-none", "weak-cubic-vaqm"]
    );
    let Err(error) = live("vaqm", &["strength"]) else {
        panic!("nothing has this name");
    };
    assert!(error.to_string().contains("strong-cubic-none"), "{error}");
}

#[test]
fn a_row_has_simulated_and_measured_beside_what_the_paper_says() {
    let mut live = live("vaqm", &["strong-cubic-none"]).unwrap().unwrap();
    live.columns.truncate(1);
    live.cases[0].paper = "about 3".to_owned();
    let seen = |rtt: f64| Seen {
        flows: vec![SeenFlow {
            label: "bulk".to_owned(),
            rtts: vec![rtt; 9],
            ..SeenFlow::default()
        }],
        ..Seen::default()
    };
    let mut compared = Compared {
        simulated: vec![seen(100.0), seen(104.0)],
        live: Some(seen(90.0)),
        void: false,
    };
    let row = |compared: &Compared| {
        let markdown = live.markdown(core::slice::from_ref(compared), "Made so.");
        markdown.lines().last().expect("a row").to_owned()
    };
    let found = row(&compared);
    assert!(found.contains("| 102 ± 25 / 90 | about 3 |"), "{found}");
    compared.void = true;
    assert!(row(&compared).contains("/ 90 (void) |"));
    compared.live = None;
    assert!(row(&compared).contains("/ – |"));
    let json = live.json(&[compared]);
    let label = live.columns[0].label;
    assert_eq!(json[0]["values"][label]["simulated"][1], 104.0, "{json}");
}

#[test]
fn a_simulation_is_seen_in_full() {
    let live = live("cecc", &["1-hold"]).unwrap().unwrap();
    let seen = live.cases[0].simulate(1, &mut |_| Control::Continue);
    let seen = seen.expect("it runs");
    let flow = &seen.flows[0];
    // 60 frames in the second that is steady, of 50 Mbit/s.
    assert!(
        (55..=65).contains(&flow.times.len()),
        "{}",
        flow.times.len()
    );
    assert!((45.0..55.0).contains(&flow.rate), "{}", flow.rate);
    let (least, most) = (flow.delays[0], flow.delays[flow.delays.len() - 1]);
    assert!(least > 1.0 && most < 20.0, "{least} {most}");
    assert!(!flow.rtts.is_empty());
    // The first frames wait for the window: they count over the whole run alone.
    assert_eq!(flow.late_frames.steady, 0.0);
    assert!(flow.late_frames.whole > 0.001, "{:?}", flow.late_frames);
}
