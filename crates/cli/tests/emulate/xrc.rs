//! XRC in the kernel against CUBIC in the kernel, through the cell. Needs a build with BPF, and skips with a reason where the
//! kernel does not take the programs.

use serde_json::Value;

use super::{Folder, TRIES, allowed, slackwater, text, until};

/// Two bulk flows in one LTE cell, as in figure 5 of the XRC paper, for 10 s each in real time.
const SCENARIO: &str = r#"
name = "xrc-live"
duration = "10 s"
warmup = "4 s"
[path]
rtt = "30 ms"
[cell]
rat = "lte"
bandwidth = "10 MHz"
rlc = { buffer = "128 packets" }
[[ue]]
mobility = { kind = "static", distance = "150 m" }
[[flow]]
controller = "cubic"
[[flow]]
controller = "cubic"
start = "2 s"
"#;

/// The run with the kernel's senders: the first flow under `first`, the second under CUBIC.
fn kernel(folder: &Folder, first: &str) -> Result<Value, String> {
    let scenario = folder.file("s.toml");
    std::fs::write(&scenario, SCENARIO).unwrap();
    let set = format!("flow[0].controller={first}");
    let done = slackwater(&[
        "run",
        "--live",
        &scenario,
        "--set",
        &set,
        "--no-files",
        "--json",
    ]);
    let said = text(&done.stderr);
    // A run that missed slots is void, and says so; its numbers are there.
    let runs: Value = serde_json::from_slice(&done.stdout).map_err(|_| said.clone())?;
    runs.get(1).cloned().ok_or(said)
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("found {value}, expected a number"))
}

/// "At least 3 times below", with what a loaded machine adds: the test holds a relation of 2, and the figures of a quiet run are in
/// docs/emulate-measured.md.
#[test]
fn xrc_against_cubic_keeps_a_shorter_queue_than_cubic_against_cubic() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("xrc");
    // Root, BTF, a kernel that is new enough, a build with BPF: what is missing is in the message.
    if let Err(said) = kernel(&folder, "xrc") {
        eprintln!("skipped: {said}");
        return;
    }
    // Beside XRC over beside CUBIC: median HoL and goodput.
    let relations = (0..TRIES).map(|_| {
        let xrc = kernel(&folder, "xrc").expect("it has run");
        let cubic = kernel(&folder, "cubic").expect("CUBIC is in every kernel");
        let hol = |run: &Value| number(&run["flows"][0]["hol_ms"]["p50"]);
        let goodput = |run: &Value| number(&run["goodput_mbps"]);
        (hol(&xrc) / hol(&cubic), goodput(&xrc) / goodput(&cubic))
    });
    let (near, far) = until(relations, |(hol, goodput)| *hol < 0.5 && *goodput > 0.85);
    assert!(
        near.is_some(),
        "HoL and goodput beside XRC over those beside CUBIC: {far:?}"
    );
}
