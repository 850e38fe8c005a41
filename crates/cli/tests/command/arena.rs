//! `slackwater arena`, and the validation page.

use crate::shell::Folder;

const SMALL: [&str; 8] = [
    "arena",
    "--quick",
    "--seeds",
    "2",
    "--cells",
    "lte-steps,rival",
    "--systems",
    "cubic,xrc",
];

fn with(more: &[&'static str]) -> Vec<&'static str> {
    [&SMALL[..], more].concat()
}

#[test]
fn an_arena_is_run_once_and_taken_up_again() {
    let f = Folder::new("arena");
    let told = f.run(&with(&["--estimate"]));
    assert_eq!(told.code, Some(0));
    // Three systems in two cells of two seeds: nobody is beside the rival.
    assert!(told.err.contains("10 runs, about"), "{}", told.err);

    let first = f.run(&with(&["--json"]));
    assert_eq!(first.code, Some(0), "{}", first.err);
    let json = first.json();
    let names = |i: usize| json["cells"][i]["name"].clone();
    assert_eq!([names(0), names(1)], ["lte-steps", "rival"]);
    assert!(json["cells"][1]["systems"][0]["values"]["harm"]["mean"].is_number());
    let page = f.read("runs/arena-quick/index.html");
    assert!(page.contains("The arena (quick look)") && page.contains("XRC"));
    assert!(f.path("runs/arena-quick/table.parquet").exists());

    // A kill in the middle of a line: the rest is kept, and the table is the same.
    let lines = f.read("runs/arena-quick/results.jsonl");
    assert_eq!(lines.lines().count(), 10);
    std::fs::write(
        f.path("runs/arena-quick/results.jsonl"),
        &lines[..lines.len() * 2 / 3],
    )
    .expect("written");
    let table = f.read("runs/arena-quick/arena.json");
    let again = f.run(&with(&["--json", "--jobs", "1"]));
    assert!(again.err.contains("are there already"), "{}", again.err);
    assert_eq!(f.read("runs/arena-quick/arena.json"), table);
    assert_eq!(again.json(), json);

    // Everything is there: nothing is run, and the documents get their tables.
    let docs = f.path("arena.md");
    std::fs::write(
        &docs,
        "before\n<!-- arena -->\nold\n<!-- /arena -->\nafter\n",
    )
    .expect("written");
    let third = f.run(&with(&["--docs", "arena.md"]));
    assert_eq!((third.code, third.err.as_str()), (Some(0), ""));
    let docs = f.read("arena.md");
    assert!(docs.starts_with("before\n") && docs.ends_with("after\n") && !docs.contains("\nold\n"));
    assert!(
        docs.contains("| **XRC** |") || docs.contains("| XRC |"),
        "{docs}"
    );
}

#[test]
fn an_arena_of_drawn_cells_compares_systems_over_all_of_them() {
    let f = Folder::new("arena-drawn");
    let words = [
        "arena",
        "--quick",
        "--drawn",
        "bulk:1-3,media:1",
        "--systems",
        "cubic,reno,gcc,scream",
    ];
    let ran = f.run(&words);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let text = ran.out;
    assert!(
        text.contains("beside cubic") && text.contains("beside gcc"),
        "{text}"
    );
    let json = f.run(&[&words[..], &["--json"]].concat()).fine().json();
    let overall = json["overall"].as_array().expect("two groups");
    assert_eq!((overall.len(), &overall[0]["cells"]), (2, &3.into()));
    assert_eq!(json["cells"][3]["scenario"], "drawn/media-1");
    let page = f.read("runs/arena-drawn/index.html");
    assert!(
        page.contains("interval of the mean over cells;"),
        "no word on intervals"
    );
    assert!(
        page.contains("3 drawn cells beside cubic"),
        "no table of all cells"
    );
}

#[test]
fn an_arena_says_what_it_does_not_know() {
    let f = Folder::new("arena-wrong");
    let ran = f.run(&["arena", "--cells", "lte-step"]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.err.contains("lte-step") && ran.err.contains("lte-steps"),
        "{}",
        ran.err
    );
    let ran = f.run(&["arena", "--list"]);
    assert_eq!(ran.code, Some(0));
    for word in ["lte-steps", "cubic+vaqm", "DualPI2", "vr-tdd"] {
        assert!(ran.out.contains(word), "{word}");
    }
}

#[test]
fn all_papers_stand_on_one_page() {
    let f = Folder::new("validation");
    for (paper, holds) in [
        ("xrc", true),
        ("cecc", true),
        ("vaqm", true),
        ("al4s", true),
        ("tyrus", false),
        ("ebb", true),
        ("rfc8867", true),
    ] {
        let folder = f.path(&format!("runs/repro-{paper}"));
        std::fs::create_dir_all(&folder).expect("made");
        let checks = serde_json::json!({
            "paper": paper, "title": format!("Paper {paper}"), "version": env!("CARGO_PKG_VERSION"), "seeds": [1, 2],
            "left_out": 0, "relations": [],
            "claims": [{
                "figure": "fig1", "name": format!("relation of {paper}"), "unit": "ms", "reference": 10.0, "ours": 9.0,
                "interval": { "low": 8.5, "high": 9.5 }, "tolerance": "at_most", "origin": "claim", "profile": "product",
                "verdict": if holds { "holds" } else { "misses" },
                "note": "a reason that is known",
            }],
        });
        std::fs::write(folder.join("checks.json"), checks.to_string()).expect("written");
    }
    let ran = f.run(&["repro", "all", "--saved"]);
    assert_eq!(ran.code, Some(1), "{}", ran.err);
    let page = f.read("runs/validation/index.html");
    assert!(page.contains("Claims of the paper, with the product: 6 of 7 hold."));
    assert!(page.contains("relation of tyrus") && page.contains("../repro-tyrus/index.html#fig1"));
    // The miss stands under its cause; what holds is folded.
    let (before, rest) = page.split_once("a reason that is known").expect("a cause");
    assert!(!before.contains("relation of tyrus") && rest.contains("relation of tyrus"));
    assert_eq!(page.matches("<tr class=\"cause\">").count(), 1);
    assert_eq!(page.matches("<summary>Claims held: 1<").count(), 6);
}
