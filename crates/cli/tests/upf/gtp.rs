//! N3 with a base station that is not ours: go-gtp v0.8.12 (MIT), which needs Go and its module; and tshark on what passed.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{CONFIG, go, reason, run};

/// The peer, built; or why there is none.
fn build() -> Result<PathBuf, String> {
    match reason() {
        Some(reason) => Err(reason),
        None => go::build("upf/gtp", "n3-gnb"),
    }
}

/// The lines that tshark prints of a capture; `None` without tshark.
fn tshark(capture: &Path, arguments: &[&str]) -> Option<Vec<String>> {
    let done = Command::new("tshark")
        .arg("-r")
        .arg(capture)
        .args(arguments)
        .output()
        .ok()?;
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let text = String::from_utf8_lossy(&done.stdout);
    Some(text.lines().map(str::to_owned).collect())
}

/// What tshark finds wrong, and the `QoS` flow of each packet that the function put into a tunnel.
type Seen = Option<(Vec<String>, Vec<String>)>;

fn read(capture: &Path) -> Seen {
    let wrong = "_ws.malformed || _ws.expert.severity == \"Error\"";
    let wrong = tshark(capture, &["-Y", wrong])?;
    let down = "ip.src == 127.0.0.1 && gtp.message == 0xff";
    let words = [
        "-Y",
        down,
        "-T",
        "fields",
        "-E",
        "occurrence=f",
        "-e",
        "gtp.teid",
        "-e",
        "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
    ];
    Some((wrong, tshark(capture, &words)?))
}

#[test]
fn go_gtp_is_a_base_station() {
    let peer = match build() {
        Ok(peer) => peer,
        Err(why) => {
            eprintln!("skipped: {why}");
            return;
        }
    };
    let words = [peer.as_os_str()];
    let (found, seen) = run(&words, CONFIG, "upf-gtp", |folder| {
        read(&folder.join("n3.pcap"))
    });
    assert_eq!(found["good"], 50, "{found}");
    assert_eq!(found["ended"], true, "{found}");
    let counters = &found["overview"]["counters"];
    // Fifty both ways, one without a container, one that the base station has no tunnel for, one at the end.
    for (name, count) in [
        ("n3_out", 53),
        ("n6_out", 52),
        ("echoes", 1),
        ("unknown_tunnel", 1),
        ("error_indications_out", 1),
        ("error_indications_in", 1),
        ("not_understood", 1),
        ("notifications_out", 1),
        ("end_markers_in", 1),
        ("malformed_gtpu", 0),
        ("malformed_ip", 0),
    ] {
        assert_eq!(counters[name], count, "{name}: {counters}");
    }
    let Some((wrong, down)) = seen else {
        eprintln!("not read: no tshark");
        return;
    };
    assert_eq!(wrong, [""; 0], "what tshark finds wrong");
    assert_eq!(down, ["0x00000022\t5"; 53]);
}
