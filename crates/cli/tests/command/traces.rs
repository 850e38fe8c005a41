//! Traces are read, drawn, converted and given back.

use crate::shell::Folder;

/// Two seconds: 12 Mbit/s, a gap of half a second, then 24 Mbit/s.
fn trace() -> String {
    let slow = (1..=1_000).map(|ms| format!("{ms}\n"));
    let fast = (1_501..=2_000).flat_map(|ms| [format!("{ms}\n"), format!("{ms}\n")]);
    slow.chain(fast).collect()
}

#[test]
fn stats_count_what_the_trace_holds() {
    let f = Folder::new("traces-stats");
    f.write("t.down", &trace());
    let rows = f
        .run(&["trace", "stats", "t.down", "t.down", "--json"])
        .fine()
        .json();
    assert_eq!(rows.as_array().map(Vec::len), Some(2));
    let s = &rows[0];
    let number = |key: &str| s[key].as_f64().unwrap_or_else(|| panic!("{key}: {s}"));
    assert_eq!(number("duration_s"), 2.0);
    // 2,000 opportunities of 1,504 bytes in 2 s.
    assert!((number("mean_mbps") - 12.032).abs() < 1e-6);
    assert!((number("longest_gap_s") - 0.501).abs() < 0.002);
    // Windows of half a second; the opportunity at 1,000 ms begins the third.
    assert!((number("min_mbps") - 1_504.0 * 8e-6 / 0.5).abs() < 1e-6);
    assert!(
        (number("max_mbps") - 998.0 * 1_504.0 * 8e-6 / 0.5).abs() < 0.05,
        "{s}"
    );
    let text = f.run(&["trace", "stats", "t.down"]).fine().out;
    assert!(text.contains("t.down") && text.contains("12.032"), "{text}");
}

#[test]
fn show_draws_the_rate() {
    let f = Folder::new("traces-show");
    f.write("t.down", &trace());
    let text = f.run(&["trace", "show", "t.down"]).fine().out;
    let full = |row: &str| row.matches('█').count();
    let rows: Vec<&str> = text.lines().filter(|l| l.contains('|')).collect();
    // The bottom row: half the time at one rate, a quarter at twice that, and nothing in between.
    let bottom = full(rows.last().expect("rows"));
    assert!((52..=56).contains(&bottom), "{bottom} of 72\n{text}");
    assert!((16..=19).contains(&full(rows[1])), "{text}");
    assert!(text.contains("mean 12.032 Mbit/s"));
}

#[test]
fn import_goes_both_ways() {
    let f = Folder::new("traces-import");
    f.write("t.down", &trace());
    f.run(&["trace", "import", "t.down", "-o", "same.down"])
        .fine();
    assert_eq!(f.read("same.down"), trace());
    f.run(&["trace", "import", "t.down", "--to", "rate", "-o", "t.csv"])
        .fine();
    let csv = f.read("t.csv");
    assert!(csv.starts_with("time_s,mbps\n"), "{csv}");
    f.run(&["trace", "import", "t.csv", "-o", "back.down"])
        .fine();
    let of = |name: &str| f.run(&["trace", "stats", name, "--json"]).fine().json()[0].clone();
    let (there, back) = (of("t.down"), of("back.down"));
    for key in ["duration_s", "mean_mbps"] {
        let (a, b) = (
            there[key].as_f64().expect("a number"),
            back[key].as_f64().expect("a number"),
        );
        assert!((a / b - 1.0).abs() < 0.002, "{key}: {a} {b}");
    }
}

#[test]
fn columns_and_units_of_tables_can_be_named() {
    let f = Folder::new("traces-columns");
    f.write(
        "t.csv",
        "when,other,speed\n0,1,8000\n1000,1,16000\n2000,1,16000\n",
    );
    let args = [
        "trace",
        "stats",
        "t.csv",
        "--json",
        "--time-column",
        "when",
        "--time-unit",
        "ms",
        "--rate-column",
        "speed",
        "--unit",
        "kbps",
    ];
    let s = f.run(&args).fine().json()[0].clone();
    assert!(
        (s["max_mbps"].as_f64().expect("a number") - 16.0).abs() < 1e-9,
        "{s}"
    );
    let duration = s["duration_s"].as_f64().expect("a number");
    assert!((2.0..=3.0).contains(&duration), "{s}");
    let wrong = ["trace", "stats", "t.csv", "--unit", "furlongs"];
    f.run(&wrong)
        .complains(&["--unit", "furlongs", "expected bps"]);
}

#[test]
fn a_scenario_runs_over_an_imported_trace() {
    let f = Folder::new("traces-run");
    f.write("t.down", &trace());
    f.write(
        "s.toml",
        "name = \"s\"\nduration = \"6 s\"\n[path]\nrtt = \"20 ms\"\n[link]\nkind = \"trace\"\nfile = \"t.down\"\n[[flow]]\n\
         controller = \"cubic\"\n",
    );
    // The scenario is found from elsewhere: traces are relative to its file.
    std::fs::create_dir(f.path("below")).expect("writable");
    let mut command = f.command(&["run", "../s.toml", "--json", "--no-files"]);
    let output = command
        .current_dir(f.path("below"))
        .output()
        .expect("it starts");
    let json = crate::shell::Ran::of(&output, &["run ../s.toml"])
        .fine()
        .json();
    let u = json["utilisation"].as_f64().expect("a number");
    assert!(u > 0.7 && u <= 1.0, "{u}");
}
