//! `slackwater repro`.

use crate::shell::Folder;

#[test]
fn a_figure_is_reproduced_and_its_verdicts_decide_the_status() {
    let f = Folder::new("repro-fig3");
    let ran = f.run(&["repro", "xrc", "--only", "fig3", "--seeds", "1", "--json"]);
    assert_eq!(ran.err, "");
    let json = ran.json();
    let paper = &json[0];
    assert_eq!(paper["paper"], "xrc");
    assert_eq!(paper["seeds"], serde_json::json!([1]));
    let checks = paper["checks"].as_array().expect("checks");
    let missed = checks
        .iter()
        .filter(|c| c["tested"] == true && c["holds"] == false)
        .count();
    assert_eq!(paper["missed"], missed);
    assert_eq!(ran.code, Some(i32::from(missed > 0)));
    for c in checks {
        assert_eq!(c["figure"], "fig3");
        for key in [
            "name",
            "reference",
            "ours",
            "tolerance",
            "profile",
            "source",
        ] {
            assert!(c.get(key).is_some(), "{key} is missing in {c}");
        }
    }
    let page = f.read("runs/repro-xrc/index.html");
    assert!(page.contains("Figure 3") && !page.contains("Figure 4:"));
    let written: serde_json::Value =
        serde_json::from_str(&f.read("runs/repro-xrc/checks.json")).expect("JSON");
    assert_eq!(&written, paper);
    assert!(f.path("runs/repro-xrc/data/fig3-a.parquet").exists());
    assert!(
        f.read("runs/repro-xrc/scenarios/fig3-xrc-cubic.toml")
            .contains("initial_ssthresh = 1")
    );
}

#[test]
fn the_other_papers_are_reproduced() {
    for (paper, figure) in [("vaqm", "session"), ("cecc", "fig3"), ("al4s", "tail")] {
        let f = Folder::new(&format!("repro-{paper}"));
        let args = [
            "repro", paper, "--only", figure, "--quick", "--seeds", "1", "--json",
        ];
        let ran = f.run(&args);
        assert_eq!(ran.err, "");
        let json = ran.json();
        let checks = json[0]["checks"].as_array().expect("checks");
        assert!(checks.len() >= 2, "{json}");
        for c in checks {
            assert_eq!(c["figure"], figure);
            assert!(c["ours"].is_number(), "no value in {c}");
        }
        assert_eq!(ran.code, Some(i32::from(json[0]["missed"] != 0)));
        assert!(f.path(&format!("runs/repro-{paper}/index.html")).exists());
    }
}

#[test]
fn wrong_usage_is_one_line() {
    let f = Folder::new("repro-wrong");
    f.run(&["repro", "xrc", "--only", "fig9"])
        .complains(&["fig9", "fig1, fig3"]);
    let ran = f.run(&["repro", "xrd"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
}
