//! `slackwater upf` between a base station and a data network that are not ours, in a namespace of its own.

use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

/// Why the test cannot run here, if so.
fn reason() -> Option<String> {
    if !Path::new("/dev/net/tun").exists() {
        return Some("no /dev/net/tun".to_owned());
    }
    let unshare = Command::new("unshare")
        .args(["-n", "ip", "link", "set", "lo", "up"])
        .output();
    match unshare {
        Err(e) => Some(format!("no `unshare`: {e}")),
        Ok(o) if !o.status.success() => Some(String::from_utf8_lossy(&o.stderr).trim().to_owned()),
        Ok(_) => Command::new("python3")
            .arg("-V")
            .output()
            .err()
            .map(|e| format!("no python3: {e}")),
    }
}

/// What a peer in Python found, in a namespace of its own beside the function.
fn beside(peer: &str, config: &str, name: &str) -> Option<Value> {
    if let Some(reason) = reason() {
        eprintln!("skipped: {reason}");
        return None;
    }
    let folder = std::env::temp_dir().join(format!("slackwater-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("upf.toml");
    std::fs::write(&file, config).unwrap();
    let peer = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/upf")
        .join(peer);
    let done = Command::new("unshare")
        .args(["-n", "python3"])
        .arg(peer)
        .arg(env!("CARGO_BIN_EXE_slackwater"))
        .arg(&file)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let _gone = std::fs::remove_dir_all(&folder);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    Some(serde_json::from_slice(&done.stdout).expect("the peer prints JSON"))
}

const CONFIG: &str = r#"
[n3]
address = "127.0.0.1"
[n6]
address = "192.0.2.1"
[[session]]
ue = "10.60.0.1"
teid = 0x11
gnb = "127.0.0.2"
gnb_teid = 0x22
qfi = 5
"#;

#[test]
fn packets_pass_both_ways_and_what_is_wrong_is_counted() {
    let Some(found) = beside("gnb.py", CONFIG, "upf") else {
        return;
    };

    assert_eq!(found["good"], 100, "{found}");
    // RFC 6040, 4.1: the outer header has the inner ECN field.
    assert_eq!(found["outer_tos"], serde_json::json!([2]));
    // TS 29.281, 7.2.2 and 7.3.1: an echo's answer has its number; an error indication names the tunnel (IE 16).
    assert_eq!(found["echo"], serde_json::json!([2, 7, 14]));
    assert_eq!(found["error"], serde_json::json!([26, 16, 0xBAD]));
    assert_eq!(found["last"], "last");

    let counters = &found["overview"]["counters"];
    for (name, count) in [
        ("spoofed", 1),
        ("unknown_tunnel", 1),
        ("malformed_gtpu", 1),
        ("end_markers_in", 1),
        ("echoes", 1),
        ("error_indications_out", 1),
        ("n3_out", 101),
        ("n6_out", 101),
    ] {
        assert_eq!(counters[name], count, "{name}: {counters}");
    }
    let session = &found["sessions"][0];
    assert_eq!(session["ue"]["v4"], "10.60.0.1");
    assert_eq!(session["down"]["packets"], 101, "{session}");
    let metrics = found["metrics"].as_str().unwrap();
    assert!(
        metrics.contains("slackwater_upf_spoofed_total 1\n"),
        "{metrics}"
    );
    assert!(metrics.contains("slackwater_upf_sessions 1\n") && metrics.ends_with("# EOF\n"));
    assert_eq!(found["code"], 0, "{found}");
}

const BY_PORT: &str = r#"
[n3]
address = "127.0.0.1"
[n6]
port = "n6"
gateway = "192.0.2.254"
address = "192.0.2.1"
[[session]]
ue = "10.60.0.1"
teid = 0x11
gnb = "127.0.0.2"
gnb_teid = 0x22
qfi = 5
"#;

#[test]
fn an_interface_takes_the_place_of_the_device() {
    let Some(found) = beside("port.py", BY_PORT, "upf-port") else {
        return;
    };
    assert_eq!(found["good"], 100, "{found}");
    // A frame of many segments comes apart.
    let numbers: Vec<u32> = (0..10).map(|k| 1_000 + 1_000 * k).collect();
    assert_eq!(found["segments"], serde_json::json!(numbers), "{found}");
    assert_eq!(found["data"], true, "{found}");
    // The kernel must not forward the same packets: a filter drops them, for as long as the function runs. Without `tc` there
    // is none.
    assert_eq!(found["filters"], serde_json::json!([1, 0]), "{found}");
    let refusal = found["refusal"].as_str().unwrap();
    assert!(refusal.contains("net.ipv4.conf.n6.forwarding=0"), "{found}");
    let counters = &found["overview"]["counters"];
    for (name, count) in [("n6_in", 110), ("n3_out", 110), ("unknown_address", 0)] {
        assert_eq!(counters[name], count, "{name}: {counters}");
    }
    assert_eq!(found["code"], 0, "{found}");
}

const WITH_STATE: &str = r#"
[n4]
address = "127.0.0.1"
state = "upf.state"
[n3]
address = "127.0.0.1"
[n6]
address = "192.0.2.1"
"#;

#[test]
fn a_function_that_was_killed_keeps_its_sessions_unless_the_control_plane_restarted() {
    let Some(found) = beside("restart.py", WITH_STATE, "upf-state") else {
        return;
    };
    // TS 29.244, 8.2.65: no session was lost, so the time stamp is the one from before.
    assert_eq!(found["stamps"][0], found["stamps"][1], "{found}");
    assert_eq!(found["tunnels"][0], found["tunnels"][1], "{found}");
    assert_eq!(found["passed"], serde_json::json!([true, true]), "{found}");
    // The session before the second restart; TS 23.007, 26.1.1: none where the control plane has started again.
    assert_eq!(found["sessions"], serde_json::json!([1, 0]), "{found}");
    // A damaged file: no session, and another time stamp.
    assert!(
        found["said"]
            .as_str()
            .unwrap()
            .contains("sessions are lost"),
        "{found}"
    );
    assert_ne!(found["stamps"][0], found["stamps"][2], "{found}");
    assert_eq!(found["mode"], 0o600, "{found}");
}

const RELOADED: &str = r#"
[n4]
address = "127.0.0.1"
[n3]
address = "127.0.0.1"
[n6]
address = "192.0.2.1"
"#;

#[test]
fn at_sighup_the_file_is_read_again_and_the_control_planes_sessions_stay() {
    let Some(found) = beside("reload.py", RELOADED, "upf-reload") else {
        return;
    };
    let said = |k: usize| found["said"][k].as_str().unwrap();
    for (k, expected) in [
        (0, "1 added, 0 changed, 0 removed"),
        (1, "n3.port"),
        (2, "n3.address"),
        (3, "session[0].teid"),
        (4, "0 added, 1 changed, 0 removed"),
        (5, "0 added, 0 changed, 1 removed"),
    ] {
        assert!(said(k).contains(expected), "{k}: {found}");
        assert_eq!(said(k).contains("not reloaded"), (1..4).contains(&k));
    }
    assert_eq!(found["vaqm"], serde_json::json!([null, null]), "{found}");
    assert_eq!(found["passed"], serde_json::json!([true; 5]), "{found}");
    let both = ["10.60.0.1", "10.60.0.7"];
    for k in 0..5 {
        assert_eq!(found["sessions"][k], serde_json::json!(both), "{found}");
    }
    assert_eq!(found["sessions"][5], serde_json::json!(["10.60.0.1"]));
    assert_eq!(found["code"], 0, "{found}");
}
