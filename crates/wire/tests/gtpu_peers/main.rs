//! GTP-U and PFCP against other people's codecs: scapy, pycrate and tshark must read what we write as we meant it, and
//! scapy and pycrate must write the same octets from what they read.
//!
//! scapy and pycrate are in the `dev` group of `pyproject.toml`; each test says so and passes where its peer is missing.

mod messages;
mod n4;
mod tshark;

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;
use slackwater_core::Teid;
use slackwater_wire::gtpu::extension::{NR_RAN_CONTAINER, PDU_SESSION_CONTAINER};
use slackwater_wire::gtpu::psc::{Container, Uplink};
use slackwater_wire::gtpu::{Header, Message};
use slackwater_wire::pfcp::{self};

use crate::messages::{
    DOWN, FILTER, INNER, frames, message, path_messages, session, tunnelled, up,
};

/// What a peer says to each line, or why there is no such peer.
fn peer(script: &str, module: &str, lines: &[(&str, Vec<u8>)]) -> Result<Vec<Value>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let pythons = [
        root.join("../../.venv/bin/python"),
        "python3".into(),
        "python".into(),
    ];
    let has = |python: &&std::path::PathBuf| {
        Command::new(python)
            .args(["-c", &format!("import {module}")])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|s| s.success())
    };
    let Some(python) = pythons.iter().find(has) else {
        return Err(format!(
            "no Python here has {module} (`make python` installs it)"
        ));
    };
    let mut child = Command::new(python)
        .arg(root.join("tests/peers").join(script))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("it ran a moment ago");
    let mut stdin = child.stdin.take().expect("piped");
    for (kind, octets) in lines {
        writeln!(stdin, "{kind} {}", hex(octets)).expect("it reads its input");
    }
    drop(stdin);
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{module} gave up");
    let answers: Vec<Value> = String::from_utf8(output.stdout)
        .expect("text")
        .lines()
        .map(|l| serde_json::from_str(l).expect("an object per line"))
        .collect();
    assert_eq!(answers.len(), lines.len(), "{answers:?}");
    Ok(answers)
}

fn hex(octets: &[u8]) -> String {
    octets.iter().fold(String::new(), |mut text, octet| {
        write!(text, "{octet:02x}").expect("a string has room");
        text
    })
}

/// All values of the fields called `key`, wherever they are, in their order.
fn all<'v>(value: &'v Value, key: &str, found: &mut Vec<&'v Value>) {
    match value {
        Value::Object(map) => {
            for (name, inner) in map {
                if name == key {
                    found.push(inner);
                }
                all(inner, key, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|inner| all(inner, key, found)),
        _ => {}
    }
}

/// The numbers in the fields called `key`.
fn numbers(value: &Value, key: &str) -> Vec<u64> {
    let mut found = Vec::new();
    all(value, key, &mut found);
    found.iter().filter_map(|v| v.as_u64()).collect()
}

fn strings<'v>(value: &'v Value, key: &str) -> Vec<&'v str> {
    let mut found = Vec::new();
    all(value, key, &mut found);
    found.iter().filter_map(|v| v.as_str()).collect()
}

#[test]
fn scapy_reads_and_writes_the_same() {
    let mut lines = vec![
        ("gtpu", tunnelled(Container::Downlink(DOWN), &INNER)),
        ("gtpu", tunnelled(Container::Uplink(up()), &INNER)),
        ("gtpu", message(&Header::g_pdu(Teid(7)), &[], &INNER)),
    ];
    lines.extend(path_messages().into_iter().map(|m| ("gtpu", m)));
    // scapy ends before session reports of `QoS`.
    lines.extend(session().into_iter().take(4).map(|m| ("pfcp", m)));
    let answers = match peer("with_scapy.py", "scapy.contrib.pfcp", &lines) {
        Ok(answers) => answers,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for (answer, (_, octets)) in answers.iter().zip(&lines) {
        assert_eq!(answer["again"], hex(octets), "{answer}");
        // Nothing is left that scapy could not read.
        let layers = answer["layers"].as_array().expect("a list");
        assert!(!layers.contains(&"Raw".into()), "{answer}");
        assert!(!strings(answer, "layer").contains(&"IE not implemented"));
    }
    let container = |i: usize| &answers[i]["fields"][1];
    for (key, value) in [
        ("type", 0),
        ("QMP", 1),
        ("RQI", 1),
        ("QFI", 9),
        ("PPI", 5),
        ("dlSendTime", 0xe000_0001_8000_0000_u64),
        ("dlQFISeqNum", 0x01_0203),
    ] {
        assert_eq!(container(0)[key], value, "{key} of {}", answers[0]);
    }
    for (key, value) in [
        ("type", 1),
        ("QFI", 33),
        ("dlSendTimeRpt", 1 << 40),
        ("dlRecvTime", 2 << 40),
        ("ulSendTime", 3u64 << 40),
        ("dlDelayRslt", 7),
        ("ulDelayRslt", 11),
        ("UlQFISeqNum", 0x0a_0b0c),
        ("N3N9DelayRslt", 13),
    ] {
        assert_eq!(container(1)[key], value, "{key} of {}", answers[1]);
    }
    assert_eq!(answers[0]["layers"][2], "IP");
    let names: Vec<&Value> = (3..7)
        .map(|i| &answers[i]["fields"][0]["gtp_type"])
        .collect();
    assert_eq!(names, [1, 2, 26, 254]);

    let establishment = &answers[7]["fields"];
    assert_eq!(numbers(establishment, "ul"), [0, 50_000, 0, 50_000, 1_000]);
    assert_eq!(
        numbers(establishment, "dl"),
        [0, 5_000_000, 0, 5_000_000, 20_000]
    );
    assert_eq!(numbers(establishment, "QFI"), [9, 9, 2]);
    assert_eq!(numbers(establishment, "enterprise_id"), [32_473]);
    assert_eq!(strings(establishment, "flow_description"), [hex(FILTER)]);
    assert_eq!(numbers(establishment, "precedence"), [255, 256]);
    assert_eq!(numbers(establishment, "TEID"), [0x0a00_0001, 0x0b00_0002]);
    let change = &answers[9]["fields"];
    assert_eq!(numbers(change, "SNDEM"), [1]);
    assert_eq!(numbers(change, "dl"), [1]);
    assert_eq!(strings(change, "layer").len(), 14, "{change}");
}

#[test]
fn pycrate_reads_and_writes_the_same() {
    // As far as it goes into the new IEs of Release 16: one of them.
    let newer = Uplink {
        d1_included: Some(true),
        ..up()
    };
    let container = |n: usize| {
        let frames = frames();
        let extensions = [(NR_RAN_CONTAINER, frames[n].as_slice())];
        message(&Header::g_pdu(Teid(7)), &extensions, &[])
    };
    let mut lines = vec![
        ("gtpu", tunnelled(Container::Downlink(DOWN), &INNER)),
        ("gtpu", tunnelled(Container::Uplink(newer), &INNER)),
        ("gtpu", container(0)),
    ];
    lines.extend(path_messages().into_iter().map(|m| ("gtpu", m)));
    lines.extend(session().into_iter().map(|m| ("pfcp", m)));
    let answers = match peer("with_pycrate.py", "pycrate_mobile.TS29244_PFCP", &lines) {
        Ok(answers) => answers,
        Err(why) => return eprintln!("skipped: {why}"),
    };
    for (answer, (_, octets)) in answers.iter().zip(&lines) {
        assert_eq!(answer["error"], 0, "{answer}");
        assert_eq!(answer["again"], hex(octets), "{answer}");
    }
    let one = |i: usize, key: &str| numbers(&answers[i]["fields"], key);
    assert_eq!(one(0, "DLSndTS"), [0xe000_0001_8000_0000]);
    assert_eq!(one(0, "PPI"), [5]);
    for (key, value) in [
        ("DLSndTSRep", 1 << 40),
        ("DLRcvTS", 2 << 40),
        ("ULSndTS", 3 << 40),
        ("DLDelayRes", 7),
        ("ULDelayRes", 11),
        ("ULQFISeqNum", 0x0a_0b0c),
        ("N3N9DelayRes", 13),
        ("D1ULPDCPDelayResInd", 1),
    ] {
        assert_eq!(one(1, key), [value], "{key} of {}", answers[1]);
    }
    assert_eq!(one(7, "UL"), [50_000, 50_000, 1_000]);
    assert_eq!(one(7, "DL"), [5_000_000, 5_000_000, 20_000]);
    assert_eq!(one(9, "SNDEM"), [1]);
    assert_eq!(one(9, "DLGate"), [1]);
    let delays = [
        "DownlinkPacketDelay",
        "UplinkPacketDelay",
        "RoundTripPacketDelay",
    ];
    assert_eq!(delays.map(|key| one(11, key)), [[9], [4], [13]]);
}

#[test]
fn what_peers_are_shown_is_what_we_read() {
    let bytes = tunnelled(Container::Uplink(up()), &INNER);
    let message = Message::parse(&bytes).expect("as written");
    let content = message
        .extension(PDU_SESSION_CONTAINER)
        .expect("there")
        .content;
    assert_eq!(Container::parse(content), Ok(Container::Uplink(up())));
    assert_eq!(message.payload(), INNER);
    for bytes in session() {
        let message = pfcp::Message::parse(&bytes).expect("as written");
        assert!(message.elements().all(|e| e.is_ok()));
    }
}
