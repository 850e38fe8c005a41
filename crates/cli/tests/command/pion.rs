//! `slackwater rtc` with a peer that is not ours: pion/webrtc v4.2.26 (MIT), which needs Go and its modules.

use std::process::{Command, Stdio};

use serde_json::Value;

use super::go;
use super::rtc::{last, waiting};

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

/// pion reads every packet as VP8, and its reports of RFC 8888 are read by ours: marks, and nothing malformed.
#[test]
fn pion_receives_and_reports_marks() {
    let Some((got, sent)) = meet(&["send", "--cc", "cl4s"], "receive", "ccfb") else {
        return;
    };
    assert_eq!((number(&got, "gaps"), number(&sent, "malformed")), (0, 0));
    // The first frame alone has no reference.
    assert_eq!(number(&got, "keys"), 1, "{got}");
    assert_eq!(got["ect1"], got["packets"], "{got}");
    // Our last line is of the last whole second, and pion's count of the end.
    let (packets, frames) = (number(&got, "packets"), number(&got, "frames"));
    assert!(
        packets >= number(&sent, "packets") && frames >= 60,
        "{got} {sent}"
    );
    assert!(number(&sent, "reports") > 50, "{got} {sent}");
    assert!(
        number(&got, "reports") >= number(&sent, "reports"),
        "{got} {sent}"
    );
    // Reports move the target: it starts at 1 Mbit/s, and nothing on the loopback holds it.
    let target = sent["target_mbps"].as_f64().expect("a number");
    assert!(target > 1.2 && number(&sent, "lost") == 0, "{sent}");
    assert_eq!(number(&sent, "marked"), 0, "{sent}");
}

/// The same by transport-wide reports, which pion writes itself.
#[test]
fn pion_receives_and_reports_by_transport_wide_numbers() {
    let Some((got, sent)) = meet(&["send", "--cc", "gcc"], "receive", "twcc") else {
        return;
    };
    assert_eq!((number(&got, "gaps"), number(&sent, "malformed")), (0, 0));
    assert!(
        number(&got, "packets") >= number(&sent, "packets"),
        "{got} {sent}"
    );
    assert!(
        number(&sent, "reports") > 10 && number(&sent, "lost") == 0,
        "{sent}"
    );
    let target = sent["target_mbps"].as_f64().expect("a number");
    assert!(target > 1.2, "{sent}");
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
