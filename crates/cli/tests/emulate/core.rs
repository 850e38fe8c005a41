//! A user plane function, a gNB and UEs in one command.

use super::packets::{FETCH, serve, whole};
use super::{Folder, allowed, command, text};

#[test]
fn downloads_pass_function_tunnel_and_cell_whole() {
    let Some(_one) = allowed() else {
        return;
    };
    let folder = Folder::new("core");
    let (out, server) = (folder.file("run"), serve());
    let target = folder.0.display().to_string();
    let words = [
        "emulate", "--core", "--cell", "lte", "--edge", "vaqm", "--ues", "2", "--quiet", "--out",
        &out, "--server", &server, "--", "python3", "-c", FETCH, &target, "{server}",
    ];
    let done = command(&words).output().expect("it starts");
    assert!(done.status.success(), "{}", text(&done.stderr));
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
