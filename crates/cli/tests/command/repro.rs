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
    let rows = |key: &str| paper[key].as_array().expect("rows").clone();
    let (claims, relations) = (rows("claims"), rows("relations"));
    let missed = claims
        .iter()
        .chain(&relations)
        .filter(|c| c["verdict"] == "misses" && c["origin"] != "target")
        .count();
    assert_eq!(ran.code, Some(i32::from(missed > 0)));
    for c in claims.iter().chain(&relations) {
        assert_eq!(c["figure"], "fig3");
        for key in [
            "name",
            "reference",
            "ours",
            "tolerance",
            "origin",
            "verdict",
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
        let rows = |key: &str| json[0][key].as_array().expect("rows").clone();
        let all: Vec<_> = [rows("claims"), rows("relations")].concat();
        assert!(all.len() >= 2, "{json}");
        for c in all {
            assert_eq!(c["figure"], figure);
            assert!(c["ours"].is_number(), "no value in {c}");
        }
        assert!(f.path(&format!("runs/repro-{paper}/index.html")).exists());
    }
}

#[test]
fn the_ledgers_are_listed() {
    let f = Folder::new("claims");
    let ran = f.run(&["claims", "vaqm", "--json"]);
    let claims = ran.json()[0]["claims"].as_array().expect("claims").clone();
    let strong = claims.iter().find(|c| c["id"] == "strong-median");
    let strong = strong.expect("the article's first number");
    assert_eq!(
        (&strong["value"], &strong["reference"]),
        (&3.0.into(), &2.5.into())
    );
    let ran = f.run(&["claims", "vaqm"]);
    assert!(
        ran.out.contains("roughly three") && ran.out.contains("≥ 2.5"),
        "{}",
        ran.out
    );
}

#[test]
fn claims_are_tested_alone_and_written_into_a_page() {
    let f = Folder::new("repro-claims");
    let page = f.path("page.md");
    std::fs::write(&page, "# Claims\n<!-- claims -->\nold\n<!-- /claims -->\n").expect("a file");
    let args = [
        "repro", "vaqm", "--claims", "--only", "signal", "--quick", "--docs",
    ];
    let ran = f.run(&[&args[..], &[page.to_str().expect("a path")]].concat());
    assert_eq!(ran.err, "");
    assert!(
        ran.out.contains("Claims of the paper, with the product:"),
        "{}",
        ran.out
    );
    let text = f.read("page.md");
    assert!(
        text.contains("| Strong signal") && !text.contains("\nold\n"),
        "{text}"
    );
    assert!(
        !f.path("runs/repro-vaqm").exists(),
        "no page of claims alone"
    );
}

#[test]
fn wrong_usage_is_one_line() {
    let f = Folder::new("repro-wrong");
    f.run(&["repro", "xrc", "--only", "fig9"])
        .complains(&["fig9", "fig1, fig2, fig3"]);
    // An empty name would be the beginning of every case.
    let ran = f.run(&["repro", "al4s", "--live", "--only", "2-sl4s,"]);
    assert_eq!(ran.code, Some(2), "{}", ran.err);
    let ran = f.run(&["repro", "xrd"]);
    assert_eq!((ran.code, ran.out.as_str()), (Some(2), ""));
}
