//! Folders of results: what they say of themselves, and what the commands on them do.

use crate::shell::Folder;

const SHORT: [&str; 2] = ["--set", "duration=2 s"];

/// A scenario on a trace that lies beside it.
fn on_trace(f: &Folder) {
    std::fs::create_dir_all(f.path("cells")).expect("a folder");
    std::fs::create_dir_all(f.path("traces")).expect("a folder");
    let lines: Vec<String> = (1..=500).map(|ms| format!("{}\n", 2 * ms)).collect();
    let trace = lines.concat();
    f.write("traces/half.down", &trace);
    f.write(
        "cells/t.toml",
        "name = \"t\"\nduration = \"1 s\"\n[link]\nkind = \"trace\"\nfile = \"../traces/half.down\"\n[[flow]]\ncontroller = \"cubic\"\n",
    );
}

fn manifest(f: &Folder, folder: &str) -> serde_json::Value {
    serde_json::from_str(&f.read(&format!("{folder}/results.json"))).expect("JSON")
}

#[test]
fn a_folder_says_what_made_it() {
    let f = Folder::new("folders-manifest");
    on_trace(&f);
    f.run(&["run", "cells/t.toml", "--set", "flow.controller=bbr"])
        .fine();
    let m = manifest(&f, "runs/t");
    assert_eq!(m["kind"], "run");
    assert_eq!(m["set"], serde_json::json!([["flow.controller", "bbr"]]));
    assert_eq!(m["inputs"][0]["path"], "../traces/half.down");
    assert_eq!(m["base"], "../../cells");
    let hash = m["content"].as_str().expect("a text");
    assert_eq!(hash.len(), 64);

    // The same run elsewhere has the same content; another seed has another one.
    let same = [
        "run",
        "cells/t.toml",
        "--set",
        "flow.controller=bbr",
        "--out",
    ];
    f.run(&[&same[..], &["a"]].concat()).fine();
    assert_eq!(manifest(&f, "a")["content"], m["content"]);
    f.run(&[&same[..], &["b", "--seed", "2", "--set", "path.loss=1 %"]].concat())
        .fine();
    assert_ne!(manifest(&f, "b")["content"], m["content"]);

    let shown = f.run(&["show", "runs/t"]).fine().out;
    for part in [
        "flow.controller = bbr",
        "as written",
        "goodput",
        "half.down",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    f.write("runs/t/summary.json.bak", "x");
    let shown = f.run(&["show", "runs/t"]).fine().out;
    assert!(shown.contains("CHANGED"), "{shown}");
}

#[test]
fn results_are_listed_and_removed() {
    let f = Folder::new("folders-ls");
    f.run(&["ls"]).complains(&["runs: found no such folder"]);
    f.run(&["run", "lte-demo", SHORT[0], SHORT[1]]).fine();
    f.run(&[
        "compare",
        "constant-12mbps",
        "--controllers",
        "cubic,bbr",
        SHORT[0],
        SHORT[1],
    ])
    .fine();
    let listed = f.run(&["ls"]).fine().out;
    assert!(
        listed.contains("runs/lte-demo") && listed.contains("duration=2 s"),
        "{listed}"
    );
    let json = f.run(&["ls", "--json"]).fine().json();
    assert_eq!(json[0]["folder"], "runs/constant-12mbps-compare");
    assert_eq!(json[0]["runs"], 2);
    assert_eq!(json[1]["kind"], "run");

    f.write("thesis.tex", "");
    f.run(&["rm", "runs/lte-demo", "."])
        .complains(&["found no results.json"]);
    assert!(f.path("runs/lte-demo").exists(), "all or none");
    f.run(&["rm", "runs/lte-demo"]).fine();
    assert!(!f.path("runs/lte-demo").exists());
    assert!(f.path("thesis.tex").exists());
}

#[test]
fn a_run_is_repeated_to_the_digit() {
    let f = Folder::new("folders-rerun");
    on_trace(&f);
    f.run(&["run", "cells/t.toml", "--seed", "3"]).fine();
    f.run(&[
        "compare",
        "varying-link",
        "--controllers",
        "cubic,bbr",
        "--seeds",
        "2",
        SHORT[0],
        SHORT[1],
    ])
    .fine();
    let again = f.run(&["rerun", "runs"]).fine().out;
    assert!(again.contains("5 of 5 runs equal to the digit"), "{again}");
    assert!(!again.contains("other bytes"), "{again}");

    // A number that somebody changed is found.
    let path = "runs/t/summary.json";
    let text = f.read(path);
    let mut summary: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let was = summary["goodput_mbps"].as_f64().expect("a number");
    summary["goodput_mbps"] = (was + 1e-9).into();
    f.write(path, &summary.to_string());
    let ran = f.run(&["rerun", "runs/t"]);
    assert_eq!(ran.code, Some(1), "{}", ran.out);
    for part in ["DIFFERS in 1 of", "goodput_mbps: was", "0 of 1 runs"] {
        assert!(ran.out.contains(part), "{part}: {}", ran.out);
    }
    // And a trace that is another one is noted.
    f.write("traces/half.down", "1\n");
    let ran = f.run(&["rerun", "runs/t"]);
    assert!(
        ran.err.contains("half.down is not the file that it was"),
        "{}",
        ran.err
    );
}

#[test]
fn two_results_are_told_apart() {
    let f = Folder::new("folders-diff");
    for (out, controller) in [("a", "cubic"), ("b", "bbr"), ("c", "cubic")] {
        let set = format!("flow.controller={controller}");
        f.run(&[
            "run", "lte-demo", "--out", out, "--set", &set, SHORT[0], SHORT[1],
        ])
        .fine();
    }
    let same = f.run(&["diff", "a", "c"]).fine().out;
    assert!(
        same.contains("the same scenario and the same numbers"),
        "{same}"
    );
    let other = f.run(&["diff", "a", "b"]);
    assert_eq!(other.code, Some(1), "{}", other.err);
    for part in ["flow[0].controller", "cubic", "bbr", "p50 RTT (ms)"] {
        assert!(other.out.contains(part), "{part}: {}", other.out);
    }
    let json = f.run(&["diff", "a", "b", "--json"]).json();
    assert_eq!(json[0]["scenario"][0]["after"], "bbr");
}

#[test]
fn a_bundle_holds_what_repeats_it() {
    let f = Folder::new("folders-bundle");
    on_trace(&f);
    f.run(&["run", "cells/t.toml"]).fine();
    f.run(&["run", "lte-demo", SHORT[0], SHORT[1]]).fine();
    f.run(&["bundle", "runs/t", "runs/lte-demo", "--out", "paper"])
        .fine();
    f.run(&["bundle", "runs/t", "--out", "paper"])
        .complains(&["paper: found it there already"]);

    // It stands alone.
    std::fs::rename(f.path("paper"), f.path("elsewhere")).expect("renamed");
    for gone in ["runs", "cells", "traces"] {
        std::fs::remove_dir_all(f.path(gone)).expect("removed");
    }
    let again = f.run(&["rerun", "elsewhere/results"]).fine().out;
    assert!(again.contains("2 of 2 runs equal to the digit"), "{again}");
    let sums = std::process::Command::new("sha256sum")
        .args(["--check", "--quiet", "SHA256SUMS"])
        .current_dir(f.path("elsewhere"))
        .output();
    if let Ok(sums) = sums {
        assert!(
            sums.status.success(),
            "{}",
            String::from_utf8_lossy(&sums.stderr)
        );
    }
    let readme = f.read("elsewhere/README.md");
    for part in [
        "slackwater rerun results",
        "slackwater run cells/t.toml",
        "half.down",
    ] {
        assert!(readme.contains(part), "{part}: {readme}");
    }

    // What was changed after it was written is no artifact.
    f.write("elsewhere/results/t/flows.parquet", "");
    f.run(&["bundle", "elsewhere/results/t", "--out", "worse"])
        .complains(&["changed after they were written"]);
    assert!(!f.path("worse").exists());
}

#[test]
fn a_scenario_is_shown_with_its_defaults() {
    let f = Folder::new("folders-show");
    let shown = f
        .run(&["show", "constant-12mbps", "--set", "link.rate=6 Mbit/s"])
        .fine();
    assert!(shown.out.contains("rate = \"6 Mbit/s\"") && shown.out.contains("opportunities ="));
    f.write("again.toml", &shown.out);
    f.run(&["run", "again.toml", "--no-files", SHORT[0], SHORT[1]])
        .fine();
    f.run(&["show", "constnat-12mbps"])
        .complains(&["\"constant-12mbps\"?"]);
}
