use slackwater_results::check::Tolerance;
use slackwater_results::stats::{Bounds, Interval};

use super::*;
use crate::model::Band;

fn around(mean: f64, half: f64) -> Interval {
    Interval::around(mean, half, Bounds::Real)
}

fn page() -> Page {
    let t: Vec<f64> = (0..5000).map(|i| f64::from(i) * 0.001).collect();
    let mut y: Vec<f64> = t.iter().map(|t| (t * 20.0).sin() + 2.0).collect();
    y[1234] = 50.0;
    let band = |state: &str, start, end| Band {
        state: state.to_owned(),
        start,
        end,
    };
    let time = Drawing::Time {
        axis: Axis::new("Window", "packets"),
        lines: vec![Line {
            label: "</script><b>".to_owned(),
            controller: "xrc".to_owned(),
            role: Role::Main,
            t,
            y,
        }],
        tracks: vec![BandTrack {
            label: "xrc".to_owned(),
            controller: "xrc".to_owned(),
            bands: vec![
                band("FAST", 0.0, 1.0),
                band("PROBE", 1.0, 5.0),
                band("FAST", 5.0, 6.0),
            ],
        }],
        guides: vec![Guide::new(10.0, "budget")],
    };
    let bars = Drawing::Bars {
        axis: Axis::new("Jain", "").from(0.9).top(1.0),
        bars: vec![Bar {
            group: "pairs".to_owned(),
            label: "XRC and CUBIC".to_owned(),
            controller: "cubic".to_owned(),
            value: Estimate::symmetric(0.998, 0.001, 5),
            samples: vec![0.997, 0.999],
        }],
        guides: vec![],
    };
    let cdf = Drawing::Cdf {
        axis: Axis::new("HoL", "ms"),
        lines: vec![Distribution {
            label: "XRC".to_owned(),
            controller: "xrc".to_owned(),
            side: false,
            sorted: (0..1000).map(f64::from).collect(),
        }],
        guides: vec![],
    };
    let figure = Figure {
        id: "fig1".to_owned(),
        title: "Figure 1: <one> flow".to_owned(),
        claim: "it is good & fast".to_owned(),
        seen: "it is".to_owned(),
        panels: vec![
            Panel::new("a", "Window", "", time).wide(),
            Panel::new("b", "Jain", "", bars),
            Panel::new("c", "HoL", "", cdf),
        ],
        checks: vec![
            Check::new(
                "utilisation",
                "",
                0.97,
                0.98,
                Some(around(0.98, 0.001)),
                Tolerance::AtLeast,
            )
            .profile("product")
            .of_claim("fig1-full")
            .source("XRC, Fig. 1"),
            Check::new(
                "p90 HoL",
                "ms",
                400.0,
                170.0,
                None,
                Tolerance::Relative(0.1),
            )
            .untested("128 packets cannot hold it"),
        ],
        ..Figure::default()
    };
    Page {
        title: "A <paper>".to_owned(),
        claims: vec![("fig1".to_owned(), figure.checks[0].clone())],
        figures: vec![figure],
        ..Page::default()
    }
}

fn data_of(page: &str) -> serde_json::Value {
    let (_, rest) = page.split_once("id=\"data\">").expect("the page has data");
    let (json, _) = rest.split_once("</script>").expect("the data end");
    serde_json::from_str(json).expect("the data are JSON")
}

#[test]
fn a_page_says_claim_verdict_and_why() {
    let html = render(&page());
    for part in [
        "Figure 1: &lt;one&gt; flow",
        "it is good &amp; fast",
        "Claims of the paper, with the product: 1 of 1 hold.",
        "<a href=\"#fig1\">XRC, Fig. 1</a>",
        "128 packets cannot hold it",
        "≥ 0.97",
        "0.9800 ± 0.0010",
        "not tested",
    ] {
        assert!(html.contains(part), "no {part:?}");
    }
    assert!(!html.contains("<b></"), "a name became an element");
    let library = html.find(crate::PLOT_JS).expect("the page has its library");
    assert!(
        Some(library) < html.rfind("<script>"),
        "its script needs it"
    );
}

#[test]
fn a_page_without_verdicts_claims_none() {
    let mut page = page();
    page.figures[0].checks.retain(|c| !c.tested);
    page.claims.clear();
    let html = render(&page);
    assert!(!html.contains("0 of 0") && html.contains("Nothing is tested here"));
    assert!(!html.contains("id=\"claims\""));
}

#[test]
fn claims_stand_in_markdown_by_profile_with_their_causes() {
    let claim = |profile, ours, half| {
        Check::new(
            "Jain | CUBIC",
            "",
            0.9965,
            ours,
            Some(around(ours, half)),
            Tolerance::AtLeast,
        )
        .claimed(0.997)
        .profile(profile)
        .of_claim("jain")
        .source("Fig. 5")
    };
    let page = Page {
        command: "slackwater repro xrc".to_owned(),
        seed_note: "1 to 5".to_owned(),
        claims: vec![
            (
                "fig5".to_owned(),
                claim("paper", 0.984, 0.001).note("its agent counts flows"),
            ),
            ("fig5".to_owned(), claim("product", 0.999, 0.001)),
            (
                "fig5".to_owned(),
                claim("paper", 0.9, 0.001)
                    .of_claim("other")
                    .note(Check::UNKNOWN),
            ),
        ],
        ..Page::default()
    };
    let text = page.claims_markdown(Some("abc123"));
    for part in [
        "Claims of the paper, with the paper's own system: 0 of 2 hold.",
        "Made by `slackwater repro xrc` at revision abc123; seeds 1 to 5.",
        "| Jain \\| CUBIC | Fig. 5 | 0.997 | ≥ 0.9965 | 0.9840 ± 0.0010 **misses** | 0.9990 ± 0.0010 holds |",
        "<summary><code>fig5</code>: paper 0 of 2 hold; product 1 of 1 hold</summary>\n\n| Claim |",
        "- **its agent counts flows** Jain | CUBIC (`paper`).",
        "- 1 other miss: the cause is not known.\n\n</details>",
    ] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
}

#[test]
fn the_data_keep_peaks_states_and_intervals() {
    let data = data_of(&render(&page()));
    let panels = data["figures"][0].as_array().expect("panels");
    assert_eq!(panels.len(), 3);
    assert_eq!(panels[0]["kind"], "time");
    assert_eq!(panels[0]["wide"], true);
    let track = &panels[0]["tracks"][0];
    assert_eq!(track["names"], serde_json::json!(["FAST", "PROBE"]));
    assert_eq!(track["bands"][2][0], 0);
    let curve = &panels[0]["curves"][0];
    let y = data["columns"][curve["y"].as_u64().expect("a column") as usize]
        .as_array()
        .expect("values")
        .clone();
    assert!(y.len() <= 1500 && y.iter().any(|v| v.as_f64() == Some(50.0)));
    assert_eq!(curve["stats"][3], 5000);
    let bar = &panels[1]["bars"][0]["value"];
    assert_eq!(bar[0], 0.998);
    // An index of two seeds: its interval is wide, and ends at one.
    assert!(
        bar[1].as_f64() > Some(0.4) && bar[2].as_f64() <= Some(1.0),
        "{bar}"
    );
    assert!(data["states"]["PROBE"]["light"].is_string());
    assert!(data["controllers"]["cubic"]["dark"].is_string());
}

#[test]
fn numbers_are_short_and_true() {
    let short = super::html::short;
    assert_eq!(short(0.9976), "0.9976");
    assert_eq!(short(17.0), "17");
    assert_eq!(short(147.26), "147.3");
    assert_eq!(short(0.0), "0");
    assert_eq!(short(1400.0), "1400");
    assert_eq!(short(f64::NAN), "–");
}

#[test]
fn what_is_expected_is_the_papers_where_there_is_one() {
    let with_claims = Page {
        claims: vec![("fig1".to_owned(), page().figures[0].checks[0].clone())],
        ..page()
    };
    assert!(render(&with_claims).contains("<h3>The paper</h3>"));
    let left_out = Page {
        claims: vec![],
        left_out: 3,
        ..page()
    };
    assert!(render(&left_out).contains("<h3>The paper</h3>"));
    let ours = Page {
        claims: vec![],
        left_out: 0,
        ..page()
    };
    assert!(render(&ours).contains("<h3>Expected</h3>"));
}
