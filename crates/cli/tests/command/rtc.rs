//! `slackwater rtc`: a sender and a receiver of ours over the loopback.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

fn rtc(args: &[&str]) -> Child {
    Command::new(env!("CARGO_BIN_EXE_slackwater"))
        .arg("rtc")
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts")
}

/// An end that waits, and the address that it says.
pub(super) fn waiting(args: &[&str]) -> (Child, String) {
    let mut child = rtc(args);
    let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("a line");
    let start = line.find("http://").unwrap_or_else(|| panic!("{line:?}"));
    let address = line[start..].split('/').nth(2).expect("a host").to_owned();
    child.stderr = Some(stderr.into_inner());
    (child, address)
}

/// The last line of JSON.
pub(super) fn last(output: &Output) -> Value {
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{error}");
    let line = text
        .lines()
        .last()
        .unwrap_or_else(|| panic!("no line: {error}"));
    serde_json::from_str(line).unwrap_or_else(|e| panic!("{e}: {line}"))
}

#[test]
fn media_flow_between_two_hosts_of_ours() {
    for (feedback, cc) in [("ccfb", "cl4s"), ("twcc", "gcc")] {
        let listen = [
            "send",
            "--cc",
            cc,
            "--listen",
            "127.0.0.1:0",
            "--seconds",
            "4",
            "--json",
        ];
        let (sender, address) = waiting(&listen);
        let url = format!("http://{address}");
        let receive = [
            "receive",
            &url,
            "--feedback",
            feedback,
            "--seconds",
            "3",
            "--json",
        ];
        let got = last(&rtc(&receive).wait_with_output().expect("it ends"));
        let sent = last(&sender.wait_with_output().expect("it ends"));
        let number = |value: &Value, key: &str| {
            value[key]
                .as_f64()
                .unwrap_or_else(|| panic!("{key}: {value}"))
        };
        assert!(
            number(&got, "packets") > 30.0 && number(&got, "frames") > 10.0,
            "{got}"
        );
        // Of the loopback it may be below the unit of 15 us.
        assert!(number(&got, "rtt_ms") < 1000.0, "{got}");
        assert!(
            number(&sent, "reports") > 5.0 && number(&sent, "rtt_ms") > 0.0,
            "{sent}"
        );
        assert_eq!(
            (sent["controller"] == "gcc", number(&sent, "malformed")),
            (cc == "gcc", 0.0)
        );
        if feedback == "ccfb" {
            // ECT(1) arrives, and nobody on the loopback marks.
            assert_eq!(got["l4s"], got["packets"], "{got}");
            assert_eq!(
                (number(&got, "marked"), number(&sent, "marked")),
                (0.0, 0.0)
            );
        }
    }
}

/// What the command says where it is refused.
fn refused(args: &[&str]) -> String {
    let output = rtc(args).wait_with_output().expect("it ends");
    assert!(!output.status.success(), "{args:?}");
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[test]
fn a_video_that_cannot_be_sent_is_refused_before_anybody_waits() {
    let error = refused(&["send", "--video", "a.y4m"]);
    assert!(error.contains("expected --encoder h264"), "{error}");
    let error = refused(&["send", "--encoder", "h264", "--video", "none.y4m"]);
    let expected = if cfg!(feature = "h264") {
        "none.y4m: found"
    } else {
        "--features h264"
    };
    assert!(error.contains(expected), "{error}");
    #[cfg(not(feature = "h264"))]
    assert!(refused(&["receive", "--save", "a.y4m"]).contains("--features h264"));
}

/// What one end decodes and saves, another one sends.
#[cfg(feature = "h264")]
#[test]
fn pictures_are_decoded_saved_and_sent_again() {
    let folder = std::env::temp_dir().join(format!("slackwater-h264-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("saved.y4m");
    let file = file.to_str().expect("text");
    let mut video: &[&str] = &[];
    let with_file = ["--video", file];
    for round in 0..2 {
        let send = [
            "send",
            "--encoder",
            "h264",
            "--listen",
            "127.0.0.1:0",
            "--json",
        ];
        let (mut sender, address) = waiting(&[&send[..], video].concat());
        let url = format!("http://{address}");
        let save = ["--save", file];
        let receive = ["receive", &url, "--seconds", "3", "--json"];
        let more = if round == 0 { &save[..] } else { &[] };
        let output = rtc(&[&receive[..], more].concat()).wait_with_output();
        let got = last(&output.expect("it ends"));
        sender.kill().expect("it ends");
        sender.wait().expect("it ended");

        let number = |key: &str| got[key].as_f64().unwrap_or_else(|| panic!("{key}: {got}"));
        assert!(
            number("decoded") > 20.0 && number("undecoded") < 20.0,
            "{got}"
        );
        assert!(
            number("psnr_db") > 25.0 && number("decoded_after_ms") > 0.0,
            "{got}"
        );
        video = &with_file;
    }
    std::fs::remove_dir_all(folder).expect("it was made");
}

#[test]
fn a_wrong_offer_is_refused_and_the_next_one_is_heard() {
    let (mut sender, address) = waiting(&["send", "--listen", "127.0.0.1:0"]);
    for wrong in ["", "v=0\r\n", "v=0\r\nm=video 9 x\r\na=\0\r\n"] {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let length = wrong.len();
        write!(
            stream,
            "POST /offer HTTP/1.0\r\nContent-Length: {length}\r\n\r\n{wrong}"
        )
        .expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("answered");
        assert!(answer.starts_with("HTTP/1.0 400"), "{wrong:?}: {answer}");
    }
    assert!(
        sender.try_wait().expect("its state").is_none(),
        "it still waits"
    );
    sender.kill().expect("it ends");
    sender.wait().expect("it ended");
}

#[test]
fn wrong_options_say_what_was_expected() {
    for (args, wanted) in [
        (&["send", "--cc", "cubic"][..], "found a controller of TCP"),
        (&["send", "ftp://x"], "expected http://HOST:PORT"),
        (
            &["send", "--start", "0"],
            "expected Mbit/s from 0.3 to 1000",
        ),
        (&["receive", "http://127.0.0.1:1"], "cannot post the offer"),
        (&["send", "--report-key", "key"], "--reports <ADDRESS:PORT>"),
        // Nobody's address (RFC 5737).
        (
            &["send", "--reports", "192.0.2.1:4434"],
            "cannot open a socket of reports at 192.0.2.1:4434",
        ),
    ] {
        let output = rtc(args).wait_with_output().expect("it ends");
        let said = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(wanted), "{said}");
    }
}
