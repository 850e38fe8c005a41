//! A user plane function, a gNB and UEs in one command.

use super::packets::{FETCH, serve, whole};
use super::{Folder, allowed, command, text, went};

#[test]
fn downloads_pass_function_tunnel_and_cell_whole() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("core");
    let (out, server) = (folder.file("run"), serve());
    let target = folder.0.display().to_string();
    let words = [
        "emulate", "--core", "--cell", "lte", "--edge", "vaqm", "--ues", "2", "--quiet", "--out",
        &out, "--server", &server, "--", "python3", "-c", FETCH, &target, "{server}",
    ];
    let done = command(&words).output().expect("it starts");
    assert!(went(&done), "{}", text(&done.stderr));
    assert_eq!(whole(&folder), ["10.60.0.1", "10.60.0.1"]);

    let sessions = folder.json("run/sessions.json");
    let sessions = sessions.as_array().expect("a list");
    assert_eq!(sessions.len(), 2);
    for session in sessions {
        // Two million octets in IP packets of at most 1500.
        let bytes = session["down"]["bytes"].as_u64().expect("a count");
        assert!(bytes > 2_000_000, "{session}");
        assert!(session["vaqm"]["path_ms"].as_f64() > Some(0.0), "{session}");
    }
    let status = folder.json("run/upf.json");
    let counter = |name: &str| status["counters"][name].as_u64().expect(name);
    assert!(counter("reports") > 0, "{status}");
    for name in [
        "spoofed",
        "unknown_tunnel",
        "malformed_gtpu",
        "malformed_ip",
        "no_rule",
    ] {
        assert_eq!(counter(name), 0, "{name}: {status}");
    }
    // Sessions came by PFCP: an association and two sessions, each accepted (TS 29.244, 7.3: types 5 and 50; 8.2.1: cause 1).
    assert_eq!(status["n4"]["received_by_type"]["5"], 1, "{status}");
    assert_eq!(status["n4"]["received_by_type"]["50"], 2, "{status}");
    let refused = status["n4"]["answered_by_cause"]
        .as_object()
        .expect("causes");
    assert!(refused.keys().all(|cause| cause == "1"), "{status}");
    // Every datagram of the function reached the cell, and the other way.
    let n3 = &folder.json("run/live.json")["n3"];
    assert_eq!(
        n3["packets"]["down"].as_u64(),
        Some(counter("n3_out")),
        "{n3}"
    );
    assert_eq!(n3["unknown_teid"], 0);
}

/// A case of a paper's figure on real packets, a few seconds of it: its values, what its run left, and whether that is
/// void; `None` without the rights.
fn figure(
    folder: &Folder,
    paper: &str,
    case: &str,
) -> Option<(serde_json::Value, serde_json::Value)> {
    let out = folder.file(paper);
    let words = [
        "repro",
        paper,
        "--live",
        "--seconds",
        "4",
        "--only",
        case,
        "--seeds",
        "1",
        "--json",
        "--out",
        &out,
    ];
    let done = command(&words).output().expect("it starts");
    let said = text(&done.stderr);
    if said.contains("found no rights") {
        eprintln!("skipped: {said}");
        return None;
    }
    // A void run says so by its status and counts all the same.
    assert!(done.status.success() || said.contains("void"), "{said}");
    let found: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
    assert_eq!(found.as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found, folder.json(&format!("{paper}/live.json")));
    let page = std::fs::read_to_string(folder.0.join(paper).join("index.html"));
    assert!(page.expect("a page").contains("real packets"));
    let left = folder.json(&format!("{paper}/live/{case}.json"));
    Some((found[0]["values"].clone(), left))
}

#[test]
fn figures_on_real_packets_stand_beside_the_simulated_ones() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("core-figures");
    let Some((values, left)) = figure(&folder, "vaqm", "strong-cubic-vaqm") else {
        return;
    };
    let live =
        |values: &serde_json::Value, name: &str| values[name]["live"].as_f64().expect("measured");
    let simulated = |values: &serde_json::Value, name: &str| {
        values[name]["simulated"][0].as_f64().expect("simulated")
    };
    // No RTT is shorter than the wired one of 20 ms.
    for found in [live(&values, "RTT p50"), simulated(&values, "RTT p50")] {
        assert!((20.0..2_000.0).contains(&found), "{values}");
    }
    assert!(live(&values, "rate of all") > 3.0, "{values}");
    let sessions = left["sessions"].as_array().expect("a list");
    assert_eq!(sessions.len(), 4, "{left}");
    assert!(
        left["upf"]["counters"]["reports"].as_u64() > Some(0),
        "{left}"
    );
    // Nothing is left where the machine keeps up; a busy one ends before what its queues hold is gone.
    let late = left["bytes_not_seen_to_leave"].as_array().expect("a list");
    assert_eq!(late.len(), 4, "{left}");

    let Some((values, left)) = figure(&folder, "cecc", "2-hold") else {
        return;
    };
    // A frame's packets pass a cell of five slots, two of which they may have to wait for.
    for found in [
        live(&values, "network delay, p50"),
        simulated(&values, "network delay, p50"),
    ] {
        assert!((1.0..200.0).contains(&found), "{values}");
    }
    assert!(
        left["upf"]["counters"]["reports"].as_u64() > Some(0),
        "{left}"
    );
}
