//! `slackwater quic serve` under a client that shares no line with its stack: aioquic.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Command, Stdio};

use serde_json::Value;

use super::aioquic;

/// What the server and aioquic say of one file.
struct Download {
    served: Value,
    got: Value,
}

/// A file of this many bytes: some rounds of any window.
const LENGTH: usize = 3_000_017;

fn download(python: &Path, cc: &str, ecn: &str, more: &[&str]) -> Download {
    let folder = std::env::temp_dir().join(format!("slackwater-aioquic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let bytes: Vec<u8> = (0..LENGTH as u64).map(|k| ((k * k) >> 7) as u8).collect();
    std::fs::write(folder.join("data"), &bytes).expect("the file is written");

    let mut server = Command::new(env!("CARGO_BIN_EXE_slackwater"))
        .args(["quic", "serve", "--listen", "127.0.0.1:0", "--json"])
        .args(["--transfers", "1", "--cc", cc, "--ecn", ecn])
        .arg(&folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    let mut said = BufReader::new(server.stderr.take().expect("piped"));
    let mut word = |before: &str| {
        let mut line = String::new();
        said.read_line(&mut line).expect("a line");
        let (_, word) = line.trim_end().split_once(before).expect(&line);
        word.to_owned()
    };
    let port = word(" at 127.0.0.1:");
    let fingerprint = word("certificate ");

    let copy = folder.join("copy");
    let got = get(python, ["127.0.0.1", &port], "data", &copy, more);
    let mut served = String::new();
    let mut stdout = server.stdout.take().expect("piped");
    stdout.read_to_string(&mut served).expect("a line");
    assert!(server.wait().expect("it ends").success());
    assert!(
        std::fs::read(&copy).expect("the copy is there") == bytes,
        "{cc}, {ecn}: other bytes: {got}"
    );
    std::fs::remove_dir_all(&folder).expect("it was made");
    assert_eq!(got["certificate"], fingerprint.as_str());
    Download {
        served: serde_json::from_str(&served).expect("JSON"),
        got,
    }
}

/// Gets `file`; what the script says of it.
fn get(python: &Path, server: [&str; 2], file: &str, to: &Path, more: &[&str]) -> Value {
    let words = aioquic::words(python, server, file, to);
    let got = Command::new(&words[0])
        .args(&words[1..])
        .args(more)
        .stdin(Stdio::null())
        .output()
        .expect("it ran a moment ago");
    let said = String::from_utf8_lossy(&got.stderr);
    assert!(got.status.success(), "{said}");
    serde_json::from_slice(&got.stdout).unwrap_or_else(|e| panic!("{e}: {said}"))
}

/// The file comes whole, marked as wanted; and where the client counts no marks, the server stops marking after a round (RFC 9000,
/// 13.4.2.1).
#[test]
fn aioquic_gets_a_file_with_either_mark() {
    let Some(python) = aioquic::python() else {
        return;
    };
    for (cc, ecn, mark, other) in [
        ("cubic", "classic", "ect0", "ect1"),
        ("prague", "l4s", "ect1", "ect0"),
    ] {
        let counted = download(&python, cc, ecn, &["--counts"]);
        let number = |of: &Value, key: &str| of[key].as_u64().expect(key);
        let (served, got) = (&counted.served, &counted.got);
        // All datagrams are marked, and the server read the counts of another's encoder. The client closes when it has all, so
        // acknowledgments of the last window may never leave, and the server cannot know that the file arrived.
        assert_eq!(
            (&got["not_ect"], &got[other]),
            (&0.into(), &0.into()),
            "{got}"
        );
        let told = number(served, mark);
        assert!(told > 0 && told <= number(got, mark), "{served} {got}");
        assert_eq!(number(served, other), 0, "{served}");

        let silent = download(&python, cc, ecn, &[]);
        let (served, got) = (&silent.served, &silent.got);
        assert_eq!(served[mark], 0, "{served}");
        // What left before the first acknowledgment: the handshake's flight of at most ten packets (RFC 9002, 7.2).
        let marked = number(got, mark);
        assert!(
            (1..=10).contains(&marked) && number(got, "not_ect") > 2_000,
            "{got}"
        );
    }
}
