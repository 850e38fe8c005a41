//! `slackwater rtc` with a peer that is not ours: pion/webrtc v4.2.26 (MIT), which needs Go and its modules.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::go;
use super::rtc::{last, waiting};

/// The encoder's first rate by default, in Mbit/s.
const START: f64 = 1.0;
/// Its greatest rate, in Mbit/s: half a second of it fits into the receive buffer of a socket, where a busy machine lets pion wait.
const MOST: &str = "2";

/// What pion counts and what our end says, where `ours` waits and pion goes `way` with reports of this kind.
fn meet(ours: &[&str], way: &str, feedback: &str) -> Option<(Value, Value)> {
    let peer = match go::build("peers/pion", "webrtc-pion") {
        Ok(peer) => peer,
        Err(why) => {
            eprintln!("skipped: {why}");
            return None;
        }
    };
    let always = ["--listen", "127.0.0.1:0", "--seconds", "3", "--json"];
    let (child, address) = waiting(&[ours, &always].concat());
    // Our end ends first.
    let done = Command::new(peer)
        .args([way, &format!("http://{address}"), "20", feedback])
        .stdin(Stdio::null())
        .output()
        .expect("it was built a moment ago");
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{error}");
    let counted = serde_json::from_slice(&done.stdout).expect("JSON");
    Some((counted, last(&child.wait_with_output().expect("it ends"))))
}

fn number(value: &Value, key: &str) -> u64 {
    value[key]
        .as_u64()
        .unwrap_or_else(|| panic!("{key}: {value}"))
}

/// What holds at any load, where a busy machine may lose packets on the loopback and both ends report late: all that came is
/// read, with one key frame unless something was lost, and reports move the target.
fn hold(got: &Value, sent: &Value) {
    assert_eq!(number(sent, "malformed"), 0, "{sent}");
    let (packets, gaps) = (number(got, "packets"), number(got, "gaps"));
    // Our last line is of the last whole second; the path holds less than a second of packets.
    assert!(packets + gaps > number(sent, "packets") / 2, "{got} {sent}");
    assert!(number(got, "frames") >= 10, "{got}");
    // The first frame alone has no reference.
    let keys = number(got, "keys");
    assert!(keys == 1 || keys > 1 && gaps > 0, "{got}");
    assert!(number(sent, "reports") > 5, "{sent}");
    assert!(
        sent["target_mbps"].as_f64().expect("a number") != START,
        "{sent}"
    );
}

/// pion reads every packet as VP8, and its reports of RFC 8888 are read by ours: marks, and nothing malformed.
#[test]
fn pion_receives_and_reports_marks() {
    let Some((got, sent)) = meet(&["send", "--cc", "cl4s", "--most", MOST], "receive", "ccfb")
    else {
        return;
    };
    hold(&got, &sent);
    assert_eq!(got["ect1"], got["packets"], "{got}");
    assert!(
        number(&got, "reports") >= number(&sent, "reports"),
        "{got} {sent}"
    );
    assert_eq!(number(&sent, "marked"), 0, "{sent}");
}

/// The same by transport-wide reports, which pion writes itself.
#[test]
fn pion_receives_and_reports_by_transport_wide_numbers() {
    let Some((got, sent)) = meet(&["send", "--cc", "gcc", "--most", MOST], "receive", "twcc")
    else {
        return;
    };
    hold(&got, &sent);
}

/// Our receiver's reports are read by pion, with the marks of all that it sent.
#[test]
fn pion_sends_and_reads_our_reports() {
    let Some((sent, got)) = meet(&["receive"], "send", "ccfb") else {
        return;
    };
    let (packets, frames) = (number(&got, "packets"), number(&got, "frames"));
    assert!(frames >= 60 && packets >= 4 * frames - 4, "{got}");
    assert!(number(&sent, "packets") >= packets, "{got} {sent}");
    assert_eq!(
        (&got["l4s"], number(&got, "marked")),
        (&got["packets"], 0),
        "{got}"
    );
    // A report a frame; those of the last frames may be on their way when our end leaves.
    let (reports, reported) = (number(&sent, "reports"), number(&sent, "reported"));
    assert!(reports > 50 && reports + 3 >= frames, "{got} {sent}");
    assert_eq!(number(&sent, "marked"), reported, "{sent}");
    assert!(
        reported + 20 >= packets && reported <= number(&sent, "packets"),
        "{got} {sent}"
    );
}
