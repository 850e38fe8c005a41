//! Seven controllers over recorded traces. They are not part of the project: `SLACKWATER_TRACES` names a folder with
//! Mahimahi traces (`*.down`, plain or packed); without it the test says so and passes.

use std::path::{Path, PathBuf};

use slackwater_lab::run::{Control, run_variants};
use slackwater_scenario::Scenario;
use slackwater_scenario::packed::plain_name;

/// Every Mahimahi trace below `folder`, in the order of their paths.
fn traces(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|e| e.path()) {
        let name = path.to_string_lossy().into_owned();
        if path.is_dir() {
            traces(&path, out);
        } else if plain_name(&name).split('.').next_back() == Some("down") {
            out.push(path);
        }
    }
    out.sort();
}

#[test]
#[expect(
    clippy::print_stdout,
    reason = "says why it skips, and shows the numbers"
)]
fn seven_controllers_run_over_three_recorded_traces() {
    let Some(folder) = std::env::var_os("SLACKWATER_TRACES") else {
        println!("skipped: SLACKWATER_TRACES names no folder with traces");
        return;
    };
    let mut files = vec![];
    traces(Path::new(&folder), &mut files);
    assert!(
        files.len() >= 3,
        "{} traces below {}",
        files.len(),
        Path::new(&folder).display()
    );
    for file in &files[..3] {
        // JSON's strings are TOML's.
        let path = serde_json::to_string(&file.to_string_lossy()).expect("a string");
        let text = format!(
            r#"
name = "recorded"
duration = "20 s"
[path]
rtt = "40 ms"
[link]
kind = "trace"
file = {path}
queue = {{ kind = "fifo", limit = "250 packets" }}
[[flow]]
controller = "cubic"
[vary]
"flow.controller" = ["reno", "cubic", "vegas", "veno", "illinois", "westwood", "bbr"]
"#
        );
        let scenario = Scenario::from_toml(&text, Path::new(".")).expect("a good scenario");
        let variants = scenario.expand().expect("good variants");
        let results = run_variants(&variants, 2, &|_, _| Control::Continue).expect("runs");
        assert_eq!(results.len(), 7);
        for r in &results {
            let s = &r.summary;
            let what = format!("{} {:?}", file.display(), r.labels);
            let u = s.utilisation.expect("a bottleneck");
            println!("{what}: {:.3} Mbit/s, utilisation {u:.3}", s.goodput_mbps);
            assert!(u > 0.0 && u <= 1.0, "{what}: {u}");
            assert!(s.goodput_mbps > 0.0, "{what}");
            assert_eq!(s.duration_s, 20.0, "{what}");
        }
    }
}
