//! `ebb` in the kernel's TCP, through the cell, beside CUBIC and as simulated; needs a build with BPF, and skips with a reason
//! where the kernel does not take the programs. `ebb-media` over WebRTC, which needs none.

use serde_json::Value;

use super::{Folder, TRIES, allowed, slackwater, text, until};

/// One bulk flow in an LTE cell for 8 s in real time.
const SCENARIO: &str = r#"
name = "ebb-live"
duration = "8 s"
warmup = "2 s"
[path]
rtt = "30 ms"
[cell]
rat = "lte"
bandwidth = "10 MHz"
fading = "epa"
rlc = { buffer = "128 packets" }
[feedback]
carrier = "datagram"
[[ue]]
mobility = { kind = "static", distance = "150 m" }
[[flow]]
controller = "cubic"
"#;

/// The flow is media.
const MEDIA: &str = r#"app = { kind = "media", max = "60 Mbit/s" }"#;

/// The flow is an upload, over TCP or QUIC: the sender at the UE takes the reports.
const UP: &str = r#"direction = "up""#;
const QUIC_UP: &str = "transport = \"quinn\"\ndirection = \"up\"";

/// Goodput, Mbit/s, and the median of the head-of-line delay, ms, with `more` in the flow: simulated, and with the kernel's sender.
fn runs_of(folder: &Folder, controller: &str, more: &str) -> Result<[(f64, f64); 2], String> {
    let scenario = folder.file("s.toml");
    std::fs::write(&scenario, format!("{SCENARIO}{more}\n")).unwrap();
    let set = format!("flow.controller={controller}");
    let wanted = ["--set", set.as_str(), "--no-files", "--json"];
    let done = slackwater(&[&["run", "--live", scenario.as_str()][..], &wanted].concat());
    let said = text(&done.stderr);
    let runs: Value = serde_json::from_slice(&done.stdout).map_err(|_| said.clone())?;
    let of = |run: &Value| {
        let goodput = run["goodput_mbps"].as_f64()?;
        Some((goodput, run["flows"][0]["hol_ms"]["p50"].as_f64()?))
    };
    let pair = of(&runs[0]).zip(of(&runs[1])).ok_or(said)?;
    Ok([pair.0, pair.1])
}

/// `ebb` of real packets keeps the rate of the simulated one, and a head-of-line delay of less than `share` of CUBIC's: the bounds are
/// those of the figures, 3 % and 10 %, with what a loaded machine adds; docs/ebb.md has those of a quiet one.
fn keeps_a_short_queue(folder: &Folder, more: &str, share: f64) {
    let relations = (0..TRIES).map(|_| {
        let [simulated, ebb] = runs_of(folder, "ebb", more).expect("it has run");
        let [_, cubic] = runs_of(folder, "cubic", more).expect("CUBIC is everywhere");
        (ebb.0 / simulated.0, ebb.1 / cubic.1)
    });
    let (near, far) = until(relations, |(goodput, hol)| *goodput > 0.85 && *hol < share);
    assert!(
        near.is_some(),
        "goodput over the simulated one, HoL over that of CUBIC: {far:?}"
    );
}

#[test]
fn ebb_in_the_kernel_keeps_a_short_queue_and_the_rate_of_the_simulated_one() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("ebb");
    if let Err(said) = runs_of(&folder, "ebb", "") {
        eprintln!("skipped: {said}");
        return;
    }
    keeps_a_short_queue(&folder, "", 0.5);
    // The UE waits for grants in any case, so there is less between the two.
    keeps_a_short_queue(&folder, UP, 0.75);
}

/// Without reports it would be CUBIC, with CUBIC's queue.
#[test]
fn an_upload_over_quic_is_steered_by_reports_at_the_ue() {
    if !allowed() {
        return;
    }
    keeps_a_short_queue(&Folder::new("ebb-up"), QUIC_UP, 0.75);
}

/// Without reports GCC would steer: it has 0.6 of that rate in such a cell (docs/ebb.md), and less in eight seconds.
#[test]
fn media_by_counters_have_the_rate_of_the_simulated_ones_over_webrtc() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("ebb-media");
    let relations = (0..TRIES).map(|_| {
        let [simulated, real] = runs_of(&folder, "ebb-media", MEDIA).expect("it needs no BPF");
        (real.0 / simulated.0, real.1 - simulated.1)
    });
    let (near, far) = until(relations, |(goodput, hol)| *goodput > 0.85 && *hol < 10.0);
    assert!(
        near.is_some(),
        "goodput over the simulated one, HoL beyond its, ms: {far:?}"
    );
}

/// The emulator does not know beforehand which way data goes: a camera behind the cell is sent the counters of its upload.
#[test]
fn a_sender_behind_the_cell_hears_of_its_upload() {
    if !allowed() {
        return;
    }
    let own = env!("CARGO_BIN_EXE_slackwater");
    let server = format!("{own} rtc receive --listen {{server}}:8090");
    let emulate = [
        "emulate",
        "--cell",
        "lte",
        "--isolated",
        "--quiet",
        "--no-files",
    ];
    let edge = [
        "--edge",
        "ebb",
        "--reports",
        "4434",
        "--server",
        &server,
        "--",
    ];
    let send = [
        own,
        "rtc",
        "send",
        "http://{server}:8090",
        "--cc",
        "ebb-media",
    ];
    let until = ["--reports", "0.0.0.0:4434", "--seconds", "3"];
    let done = slackwater(&[&emulate[..], &edge, &send, &until].concat());
    let said = text(&done.stderr);
    let told = said.lines().find_map(|line| {
        let line = line.strip_prefix("rtc: ")?;
        let (told, rest) = line.split_once(" reports told, 0 malformed")?;
        rest.contains("0 of no connection")
            .then(|| told.parse().ok())?
    });
    // One each five milliseconds, less what a loaded machine does not come to.
    assert!(told.is_some_and(|told: u32| told > 200), "{said}");
}

#[test]
fn a_wrong_variant_is_an_error_before_any_run_in_real_time() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("wrong-variant");
    let scenario = folder.file("s.toml");
    let vary = "[vary]\n\"flow.controller\" = [\"cubic\", \"nobody\"]\n";
    std::fs::write(&scenario, format!("{SCENARIO}{vary}")).unwrap();
    let done = slackwater(&["run", "--live", scenario.as_str(), "--no-files"]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(said.contains("no controller is named \"nobody\""), "{said}");
    assert!(!said.contains("in real time"), "{said}");
}
