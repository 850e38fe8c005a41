//! What runs leave: the same for the same seed, and complete.

use std::process::Command;

use crate::shell::Folder;
use crate::signal::{Signal, send};

const SHORT: [&str; 2] = ["--set", "duration=2 s"];

#[test]
fn json_is_alone_on_standard_output() {
    let f = Folder::new("results-json");
    for scenario in ["constant-12mbps", "lte-demo", "nr-demo"] {
        let ran = f
            .run(&["run", scenario, "--json", SHORT[0], SHORT[1]])
            .fine();
        let json = ran.json();
        assert_eq!(json["name"], scenario);
        assert_eq!(json["duration_s"], 2.0);
        assert!(
            json["goodput_mbps"].as_f64().expect("a number") > 0.5,
            "{scenario}"
        );
        let u = json["utilisation"].as_f64().expect("a number");
        assert!(u > 0.0 && u <= 1.0, "{scenario}: {u}");
        // The same numbers lie in the folder.
        let file: serde_json::Value =
            serde_json::from_str(&f.read(&format!("runs/{scenario}/summary.json"))).expect("JSON");
        assert_eq!(file, json);
    }
}

#[test]
fn a_seed_decides_every_byte() {
    let (a, b) = (Folder::new("results-seed-a"), Folder::new("results-seed-b"));
    for scenario in ["lte-demo", "nr-demo"] {
        let args = |seed| {
            [
                "run",
                scenario,
                "--seed",
                seed,
                "--set",
                "record.pcap=true",
                "--set",
                "record.packets=true",
                SHORT[0],
                SHORT[1],
            ]
        };
        let text = [&a, &b].map(|f| f.run(&args("5")).fine().out);
        assert_eq!(text[0], text[1]);
        assert!(
            text[0].contains("seed 5"),
            "the seed is printed: {}",
            text[0]
        );
        let folder = format!("runs/{scenario}");
        let (one, two) = (a.tree(&folder), b.tree(&folder));
        for name in [
            "summary.json",
            "scenario.toml",
            "report.html",
            "flows.parquet",
            "packets.parquet",
            "senders.pcapng",
        ] {
            assert!(
                one.iter().any(|file| file.0 == name),
                "{scenario} leaves {name}"
            );
        }
        for (x, y) in one.iter().zip(&two) {
            assert_eq!(x.0, y.0);
            assert!(
                x.1 == y.1,
                "{scenario}: {} differs between two runs of one seed",
                x.0
            );
        }
        assert_eq!(one.len(), two.len());
        b.run(&args("6")).fine();
        let other = b.tree(&folder);
        for name in ["summary.json", "flows.parquet", "packets.parquet"] {
            let of =
                |tree: &[(String, Vec<u8>)]| tree.iter().find(|f| f.0 == name).map(|f| f.1.clone());
            assert_ne!(
                of(&one),
                of(&other),
                "{scenario}: another seed, another {name}"
            );
        }
    }
}

#[test]
fn the_resolved_scenario_gives_the_same_result_again() {
    let f = Folder::new("results-resolved");
    for scenario in ["constant-12mbps", "lte-demo", "nr-demo"] {
        let first = f
            .run(&[
                "run", scenario, "--json", "--seed", "9", "--out", "a", "--force", SHORT[0],
                SHORT[1],
            ])
            .fine();
        let again = f
            .run(&["run", "a/scenario.toml", "--json", "--out", "b", "--force"])
            .fine();
        let (mut first, mut again) = (first.json(), again.json());
        for json in [&mut first, &mut again] {
            json.as_object_mut()
                .expect("an object")
                .remove("scenario_hash");
        }
        assert_eq!(first, again, "{scenario}");
    }
}

#[test]
fn compare_leaves_its_numbers_and_adds_seeds_until_an_interval_is_there() {
    let f = Folder::new("results-numbers");
    let common = ["compare", "lte-demo", "--controllers", "cubic,bbr", "--out"];
    let short = ["--set", "duration=\"4 s\""];
    let until = ["u", "--until", "20 %", "--max-seeds", "30"];
    let ran = f.run(&[&common[..], &until, &short].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.err);
    let told = ran.err;
    assert!(told.starts_with("5 seeds: total goodput within"), "{told}");
    let numbers: serde_json::Value = serde_json::from_str(&f.read("u/compare.json")).expect("JSON");
    let seeds = numbers["seeds"].as_array().expect("seeds").len();
    let last = told.lines().last().expect("a line");
    assert!(last.starts_with(&format!("{seeds} seeds:")), "{told}");
    assert!((5..=30).contains(&seeds) && f.path(&format!("u/bbr-seed-{seeds}")).is_dir());
    for row in numbers["rows"].as_array().expect("rows") {
        let metrics = row["metrics"].as_array().expect("metrics").iter();
        let total = metrics.clone().find(|m| m["metric"] == "goodput_total");
        let total = total.expect("the total goodput");
        let of = |key: &str| total[key].as_f64().expect("a number");
        let half = (of("high") - of("low")) / 2.0;
        assert!(seeds == 30 || half <= 0.2 * of("mean"), "{total}");
        assert!(of("low") > 0.0 && total["values"].as_array().map(Vec::len) == Some(seeds));
        for m in metrics {
            let high = m["high"].as_f64().expect("several seeds");
            assert!(
                m["low"].as_f64() >= Some(0.0) && (m["unit"] != "%" || high <= 100.0),
                "{m}"
            );
        }
    }
    assert_eq!(
        numbers["rows"][1]["metrics"][0]["from_first"]["less"],
        "cubic"
    );
    let csv = f.read("u/compare.csv");
    assert!(csv.starts_with("run,metric,unit,seeds,mean,low_95,high_95,best,"));
    assert!(csv.contains("\nbbr,goodput_total,Mbit/s,"));
    let wrong = f.run(&[&common[..], &["w", "--until", "nosuch=2 %"]].concat());
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("nosuch"), "{}", wrong.err);
}

#[test]
fn compare_leaves_a_page_and_a_folder_per_run() {
    let f = Folder::new("results-compare");
    let args = |jobs| {
        let common = [
            "compare",
            "constant-12mbps",
            "--controllers",
            "cubic,bbr,westwood,westwood+",
            "--seeds",
            "2",
        ];
        [
            &common[..],
            &["--json", "--out", "c", "--jobs", jobs, SHORT[0], SHORT[1]],
        ]
        .concat()
    };
    let two = f.run(&args("2")).fine().out;
    let runs: serde_json::Value = serde_json::from_str(&two).expect("JSON");
    let runs = runs.as_array().expect("an array");
    assert_eq!(runs.len(), 8);
    assert_eq!(runs[2]["labels"][0][1], "bbr");
    assert_eq!(runs[2]["seed"], 1);
    let tree = f.tree("c");
    let summaries = tree
        .iter()
        .filter(|t| t.0.ends_with("summary.json"))
        .count();
    assert_eq!(summaries, 8, "aliases keep folders of their own");
    assert!(f.path("c/cubic-seed-1/flows.parquet").exists());
    let page = f.read("c/report.html");
    assert!(page.contains("cubic") && page.contains("bbr"));
    // The number of threads changes nothing.
    assert_eq!(f.run(&args("1")).fine().out, two);
    for (a, b) in tree
        .iter()
        .zip(f.tree("c"))
        // These two say the command, which names the threads.
        .filter(|(a, _)| a.0 != "report.html" && a.0 != "results.json")
    {
        assert!(a.0 == b.0 && a.1 == b.1, "{}", a.0);
    }

    let text = f
        .run(&[
            "compare",
            "varying-link",
            "--no-files",
            "--seeds",
            "2",
            SHORT[0],
            SHORT[1],
        ])
        .fine();
    for word in ["cubic", "reno", "bbr", "±"] {
        assert!(text.out.contains(word), "{word}: {}", text.out);
    }
    assert!(!f.path("runs").exists(), "--no-files leaves none");
}

#[test]
fn the_page_needs_no_network() {
    let f = Folder::new("results-page");
    f.run(&["run", "lte-demo", SHORT[0], SHORT[1]]).fine();
    let page = f.read("runs/lte-demo/report.html");
    for bad in [
        "src=\"http",
        "href=\"http",
        "src='http",
        "src=\"//",
        "url(http",
        "url(//",
        "@import",
        "<iframe",
        "<link",
        "fetch(",
        "XMLHttpRequest",
        "<script src",
    ] {
        assert!(!page.contains(bad), "{bad}");
    }
    // Names of namespaces and of the plotting library's home are no requests.
    for (at, _) in page.match_indices("http") {
        let rest: String = page[at..].chars().take(40).collect();
        let known = rest.starts_with("http://www.w3.org/")
            || rest.starts_with("https://github.com/leeoniya/uPlot");
        assert!(known || !rest.contains("://"), "{rest}");
    }
}

#[test]
#[expect(clippy::print_stdout, reason = "says why it skips")]
fn captures_are_what_tshark_reads() {
    let f = Folder::new("results-pcap");
    f.run(&[
        "run",
        "lte-demo",
        "--set",
        "record.pcap=true",
        SHORT[0],
        SHORT[1],
    ])
    .fine();
    let capture = f.path("runs/lte-demo/senders.pcapng");
    let tshark = |filter: &str| {
        Command::new("tshark")
            .args(["-r", &capture.display().to_string(), "-Y", filter])
            .output()
    };
    let Ok(all) = tshark("tcp") else {
        println!("skipped: tshark is not installed");
        return;
    };
    let count = |out: &std::process::Output| String::from_utf8_lossy(&out.stdout).lines().count();
    assert!(
        count(&all) > 500,
        "{} packets: {}",
        count(&all),
        String::from_utf8_lossy(&all.stderr)
    );
    for bad in [
        "_ws.malformed",
        "tcp.checksum.status == 0",
        "ip.checksum.status == 0",
        "!tcp",
    ] {
        let out = tshark(bad).expect("it ran a moment ago");
        assert!(
            out.status.success(),
            "{bad}: {}",
            String::from_utf8_lossy(&out.stderr)
        );
        assert_eq!(
            count(&out),
            0,
            "{bad}: {}",
            String::from_utf8_lossy(&out.stdout)
        );
    }
    assert_eq!(
        count(&tshark("tcp.flags.syn == 1").expect("it ran")),
        2,
        "SYN and SYN-ACK"
    );
}

#[test]
fn logs_of_senders_are_lines_of_json() {
    let f = Folder::new("results-qlog");
    f.run(&[
        "run",
        "constant-12mbps",
        "--set",
        "record.qlog=true",
        SHORT[0],
        SHORT[1],
    ])
    .fine();
    let log = f.read("runs/constant-12mbps/flow0.sqlog");
    let mut events = 0;
    for line in log.lines() {
        let text = line.trim_start_matches('\u{1e}');
        let json: serde_json::Value =
            serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {line}"));
        events += usize::from(json.get("time").is_some());
    }
    assert!(events > 50, "{events}");
}

#[test]
fn a_note_says_that_run_does_not_vary() {
    let f = Folder::new("results-note");
    let ran = f.run(&[
        "run",
        "varying-link",
        "--no-files",
        "--json",
        SHORT[0],
        SHORT[1],
    ]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.err.contains("[vary]") && ran.err.lines().count() == 1,
        "{}",
        ran.err
    );
    ran.json();
}

#[cfg(unix)]
#[test]
fn an_interrupt_ends_a_long_run_at_once() {
    let f = Folder::new("results-interrupt");
    let text = "name = \"s\"\nduration = \"1000000 s\"\n[link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\n\
                [[flow]]\ncontroller = \"cubic\"\n[record]\ninterval = \"100 s\"\npackets = false\nqlog = false\n";
    let pipe = f.path("s.toml");
    let made = Command::new("mkfifo").arg(&pipe).status();
    assert!(made.is_ok_and(|s| s.success()));
    let args = ["run", "s.toml", "--no-files"];
    let child = f.command(&args).spawn().expect("the command starts");
    // Returns when the command reads it, which is after it has begun to listen for interrupts.
    std::fs::write(&pipe, text).expect("a pipe takes it");
    send(child.id(), Signal::SIGINT);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(
        output.status.code(),
        Some(130),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

#[test]
fn a_folder_holds_one_run_or_one_comparison() {
    let f = Folder::new("one-thing");
    let run = [
        "run",
        "constant-12mbps",
        "--set",
        "duration=1 s",
        "-o",
        "out",
    ];
    let compare = [
        "compare",
        "constant-12mbps",
        "--controllers",
        "reno,cubic",
        "--set",
        "duration=1 s",
        "-o",
        "out",
    ];
    assert_eq!(f.run(&compare).code, Some(0));
    let below = |name: &str| f.path("out").join(name).exists();
    assert!(below("cubic-seed-1/summary.json") && below("results.json"));
    f.run(&run).complains(&[
        "out: found a comparison of constant-12mbps",
        "expected a run of constant-12mbps",
        "--force",
    ]);
    assert!(!below("summary.json"), "refused before anything is written");

    // Fewer controllers: the folder of the other does not stay.
    let fewer = [&compare[..3], &["reno,bbr"], &compare[4..]].concat();
    let ran = f.run(&fewer);
    assert_eq!(ran.code, Some(0));
    assert!(below("bbr-seed-1/summary.json") && !below("cubic-seed-1"));

    // What goes is named, where another command made it.
    let note =
        "note: out: replaces what `slackwater compare constant-12mbps --controllers reno,cubic ";
    assert!(ran.err.contains(note), "{}", ran.err);
    assert!(!f.run(&fewer).err.contains("note: out"));

    assert_eq!(f.run(&[&run[..], &["--force"]].concat()).code, Some(0));
    assert!(below("summary.json") && !below("bbr-seed-1"));
    let made: serde_json::Value = serde_json::from_str(&f.read("out/results.json")).expect("JSON");
    assert_eq!(made["kind"], "run");
    assert!(
        made["command"]
            .as_str()
            .is_some_and(|c| c.contains("--force"))
    );

    std::fs::create_dir(f.path("mine")).expect("a folder");
    std::fs::write(f.path("mine/thesis.tex"), "x").expect("a file");
    f.run(&["run", "constant-12mbps", "-o", "mine", "--force"])
        .complains(&["mine: found files that are no results"]);
}

/// What one run recorded and the next did not is gone, of the same scenario and of another.
#[test]
fn a_run_leaves_no_file_of_the_run_before() {
    let f = Folder::new("results-stale");
    let run = |more: &[&str]| {
        let words = ["run", "quic", "-o", "out", SHORT[0], SHORT[1]];
        let ran = f.run(&[&words[..], more].concat());
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        let tree = f.tree("out").into_iter().map(|file| file.0);
        tree.collect::<std::collections::BTreeSet<_>>()
    };
    let plain = run(&[]);
    let more = run(&["--set", "record.packets=true", "--set", "record.pcap=true"]);
    let only: Vec<_> = more.difference(&plain).collect();
    assert!(
        only.iter().any(|file| *file == "packets.parquet") && only.len() > 1,
        "{only:?}"
    );
    assert_eq!(run(&[]), plain);

    run(&["--set", "record.packets=true"]);
    let other = [
        "run",
        "constant-12mbps",
        "-o",
        "out",
        "--force",
        SHORT[0],
        SHORT[1],
    ];
    assert_eq!(f.run(&other).code, Some(0));
    let fresh = [&other[..3], &["fresh"], &other[4..]].concat();
    assert_eq!(f.run(&fresh).code, Some(0));
    let names = |folder: &str| {
        let tree = f.tree(folder).into_iter().map(|file| file.0);
        tree.collect::<Vec<_>>()
    };
    assert_eq!(names("out"), names("fresh"));
}

/// A file that `--set` names is read in place of the scenario's own, which need not be there.
#[test]
fn a_file_by_set_takes_the_place_of_one_that_is_missing() {
    let f = Folder::new("set-file");
    f.write("there.trace", "1\n2\n3\n");
    let scenario = "name = \"t\"\nduration = \"1 s\"\n[link]\nkind = \"trace\"\nfile = \"missing.trace\"\n[[flow]]\ncontroller = \"cubic\"\n";
    f.write("t.toml", scenario);
    f.run(&["run", "t.toml", "--no-files"])
        .complains(&["missing.trace"]);
    let ran = f.run(&[
        "run",
        "t.toml",
        "--no-files",
        "--set",
        "link.file=there.trace",
    ]);
    assert_eq!(ran.code, Some(0), "{}", ran.err);
}
