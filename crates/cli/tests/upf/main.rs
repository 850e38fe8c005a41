//! `slackwater upf` between a base station and a data network that are not ours, in a namespace of its own.

mod core;
#[path = "../peers/go.rs"]
mod go;
mod gtp;

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
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
    let peer = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/upf")
        .join(peer);
    let words = [OsStr::new("python3"), peer.as_os_str()];
    Some(run(&words, config, name, |_| ()).0)
}

/// What a program found that was given the command and a configuration, in a namespace of its own; and what `after` finds in its
/// folder.
fn run<T>(
    words: &[&OsStr],
    config: &str,
    name: &str,
    after: impl FnOnce(&Path) -> T,
) -> (Value, T) {
    let folder = std::env::temp_dir().join(format!("slackwater-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("upf.toml");
    std::fs::write(&file, config).unwrap();
    let done = Command::new("unshare")
        .arg("-n")
        .args(words)
        .arg(env!("CARGO_BIN_EXE_slackwater"))
        .arg(&file)
        .current_dir(&folder)
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let left = after(&folder);
    let _gone = std::fs::remove_dir_all(&folder);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    let found = serde_json::from_slice(&done.stdout).expect("the peer prints JSON");
    (found, left)
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
    // Uplink they are joined (VIRTIO_NET_HDR_GSO_TCPV4, 1), where they are sound.
    assert_eq!(
        found["joined"],
        serde_json::json!([1, 1_000, true]),
        "{found}"
    );
    assert_eq!(found["damaged"], true, "{found}");
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

const BY_RING: &str = r#"
[n3]
address = "198.51.100.1"
interface = "n3"
[n6]
address = "192.0.2.1"
[[session]]
ue = "10.60.0.1"
teid = 0x11
gnb = "198.51.100.2"
gnb_teid = 0x22
qfi = 5
"#;

#[test]
fn datagrams_of_n3_come_by_a_ring_and_what_it_leaves_by_the_socket() {
    let Some(found) = beside("ring.py", BY_RING, "upf-ring") else {
        return;
    };
    assert_eq!(found["good"], 100, "{found}");
    assert_eq!(found["segments"], serde_json::json!([true, true, true]));
    assert_eq!(found["joined"], true, "{found}");
    assert_eq!(found["next"], "sound", "{found}");
    assert_eq!(found["echo"], serde_json::json!([2, 7]), "{found}");
    assert_eq!(found["after"], "by a socket", "{found}");
    // The datagram that was harmed; each other one came once.
    assert_eq!(found["kernel"]["malformed_n3"], 1, "{found}");
    assert_eq!(found["counters"]["n3_in"], 106, "{found}");
    // While it runs, after SIGKILL, of one without a ring, of the next with one, and at the end.
    assert_eq!(found["filters"], serde_json::json!([1, 1, 0, 1, 0]));
    let refusal = found["refusal"].as_str().unwrap();
    assert!(refusal.contains("n3.interface"), "{found}");
    assert_eq!(found["code"], 0, "{found}");
}

/// The service's unit, where it lies beside this crate.
fn unit() -> Option<String> {
    let unit = "../../packaging/systemd/slackwater-upf.service";
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(unit)).ok()
}

#[test]
fn the_rights_of_its_unit_suffice() {
    let (Some(unit), None) = (unit(), reason()) else {
        eprintln!("skipped: no unit, or no namespaces");
        return;
    };
    for line in [
        "AmbientCapabilities=CAP_NET_ADMIN",
        "CapabilityBoundingSet=CAP_NET_ADMIN",
        "NoNewPrivileges=yes",
    ] {
        assert!(unit.lines().any(|l| l == line), "{line}");
    }
    // The same rights: one capability, and nobody where every user may open the device.
    let device = std::fs::metadata("/dev/net/tun").unwrap().permissions();
    let user = ["--reuid=65534", "--regid=65534", "--clear-groups"];
    let nobody = device.mode() & 0o006 == 0o006;
    let rights: Vec<&str> = ["setpriv"]
        .into_iter()
        .chain(user.into_iter().filter(|_| nobody))
        .chain([
            "--no-new-privs",
            "--inh-caps=-all,+net_admin",
            "--ambient-caps=-all,+net_admin",
            "--bounding-set=-all,+net_admin",
        ])
        .collect();
    let reaches = Command::new(rights[0])
        .args(&rights[1..])
        .args(["test", "-x", env!("CARGO_BIN_EXE_slackwater")])
        .status();
    if !reaches.is_ok_and(|s| s.success()) {
        eprintln!("skipped: no setpriv, or the command lies where nobody may not run it");
        return;
    }
    let peer = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/upf/gnb.py");
    let words = [OsStr::new("python3"), peer.as_os_str()];
    let words: Vec<&OsStr> = words
        .into_iter()
        .chain(rights.iter().map(OsStr::new))
        .collect();
    let (found, ()) = run(&words, CONFIG, "upf-rights", |_| ());
    assert_eq!((&found["good"], &found["code"]), (&100.into(), &0.into()));
}

#[test]
fn systemd_knows_every_key_of_the_unit_and_its_drop_ins() {
    let Some(unit) = unit() else {
        eprintln!("skipped: no unit beside this crate");
        return;
    };
    let binary = "/usr/bin/slackwater ";
    assert!(unit.contains(binary));
    let unit = unit.replace(binary, concat!(env!("CARGO_BIN_EXE_slackwater"), " "));
    let folder = std::env::temp_dir().join(format!("slackwater-unit-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("slackwater-upf.service");
    std::fs::write(&file, unit).unwrap();
    let drop_ins = folder.join("slackwater-upf.service.d");
    std::fs::create_dir_all(&drop_ins).unwrap();
    for name in ["interfaces.conf", "kernel-path.conf"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/systemd");
        std::fs::copy(from.join(name), drop_ins.join(name)).unwrap();
    }
    let done = Command::new("systemd-analyze")
        .arg("verify")
        .arg(&file)
        .output();
    let _gone = std::fs::remove_dir_all(&folder);
    let Ok(done) = done else {
        eprintln!("skipped: no systemd-analyze");
        return;
    };
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success() && said.trim().is_empty(), "{said}");
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
    let said = &found["said"];
    for (k, functions, done) in [
        (0, true, [1, 0, 0]),
        (4, true, [0, 1, 0]),
        (5, false, [0, 0, 1]),
    ] {
        let names = ["added", "changed", "removed"];
        assert_eq!(said[k]["message"], "reloaded", "{k}: {found}");
        assert_eq!(said[k]["functions"], functions, "{k}: {found}");
        assert_eq!(
            names.map(|n| said[k][n].as_u64()),
            done.map(Some),
            "{k}: {found}"
        );
    }
    for (k, key) in [(1, "n3.port"), (2, "`address`"), (3, "session[0].teid")] {
        assert_eq!(said[k]["message"], "not reloaded", "{k}: {found}");
        let why = said[k]["why"].as_str().unwrap();
        assert!(
            why.contains(key) && said[k]["level"] == "WARN",
            "{k}: {found}"
        );
    }
    let messages: Vec<_> = found["log"].as_array().unwrap().iter().collect();
    let of = |message: &str| messages.iter().find(|m| m["message"] == message);
    assert_eq!(of("associated").unwrap()["node"], "127.0.0.3", "{found}");
    assert_eq!(of("listening").unwrap()["n6"], "upf0", "{found}");
    let counters = of("ended").unwrap()["counters"].as_str().unwrap();
    assert!(counters.contains("n3_out=5"), "{found}");
    assert_eq!(found["vaqm"], serde_json::json!([null, null]), "{found}");
    assert_eq!(
        found["passed"],
        serde_json::json!([true, true, true, true, true]),
        "{found}"
    );
    let both = ["10.60.0.1", "10.60.0.7"];
    for k in 0..5 {
        assert_eq!(found["sessions"][k], serde_json::json!(both), "{found}");
    }
    assert_eq!(found["sessions"][5], serde_json::json!(["10.60.0.1"]));
    assert_eq!(found["code"], 0, "{found}");
}

#[test]
fn after_random_kills_there_is_one_session_and_nothing_is_left() {
    // SLACKWATER_KILLS sets the rounds (20); each kills one to three of function, base station and control plane.
    let Some(found) = beside("kills.py", WITH_STATE, "upf-kills") else {
        return;
    };
    let kills = found["kills"].as_object().unwrap();
    assert!(kills.values().all(|n| n.as_u64() > Some(0)), "{found}");
    assert_eq!(found["malformed"], 0, "{found}");
    assert_eq!(found["left"], serde_json::json!([0, 0]), "{found}");
    assert_eq!(found["links"], serde_json::json!(["lo"]), "{found}");
    for name in ["deleted", "code", "kept"] {
        assert_eq!(found[name], 0, "{name}: {found}");
    }
}

const TWO_SESSIONS: &str = r#"
[n3]
address = "127.0.0.1"
[n6]
address = "192.0.2.1"
[[session]]
ue = "10.60.0.1"
teid = 0x11
gnb = "127.0.0.2"
gnb_teid = 0x22
ambr_down = "10 Mbit/s"
[[session]]
ue = "10.60.0.2"
teid = 0x13
gnb = "127.0.0.2"
gnb_teid = 0x24
"#;

/// How often the other session's share is looked at: a machine with other work may not carry the flood in one run.
const TRIES: usize = 4;

#[test]
fn a_flood_for_one_session_takes_neither_memory_nor_the_others_rate() {
    for tried in 1..=TRIES {
        let Some(found) = beside("flood.py", TWO_SESSIONS, "upf-flood") else {
            return;
        };
        let number = |name: &str| found[name].as_f64().expect(name);
        // The AMBR holds, whatever came: 10 Mbit/s of IP, and a bucket's depth.
        assert!(number("passed_mbps") < 11.0, "{found}");
        // A queue's room and the buffers that are kept for later packets.
        assert!(number("grown_kib") < 64.0 * 1_024.0, "{found}");
        assert_eq!(found["code"], 0, "{found}");
        let share = number("arrived") / number("sent");
        let flooded = number("queue_dropped") > number("sent");
        if share >= 0.95 && flooded {
            return;
        }
        assert!(tried < TRIES, "{found}");
        eprintln!("once more: {found}");
    }
}
