//! `slackwater quic serve` under a client that shares no line with its stack: aioquic.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

use super::aioquic;

/// What the server and aioquic say of one file.
struct Download {
    served: Value,
    got: Value,
}

/// A file of this many bytes: some rounds of any window.
const LENGTH: usize = 3_000_017;

/// Some bytes that are not alike.
pub(super) fn bytes(length: usize) -> Vec<u8> {
    (0..length as u64).map(|k| ((k * k) >> 7) as u8).collect()
}

/// `slackwater quic serve` on the loopback, and what it says of itself.
pub(super) struct Server {
    child: Child,
    /// Open, so that it may say more.
    _said: BufReader<ChildStderr>,
    pub(super) port: String,
    pub(super) fingerprint: String,
    pub(super) key: String,
}

impl Server {
    /// With these words behind those of every server.
    pub(super) fn start(words: &[&str], folder: &Path) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_slackwater"))
            .args(["quic", "serve", "--listen", "127.0.0.1:0", "--json"])
            .args(words)
            .arg(folder)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        let mut said = BufReader::new(child.stderr.take().expect("piped"));
        let mut word = |before: &str| {
            let mut line = String::new();
            said.read_line(&mut line).expect("a line");
            let (_, rest) = line.trim_end().split_once(before).expect(&line);
            rest.split(' ').next().expect("a word").to_owned()
        };
        let (port, fingerprint) = (word(" at 127.0.0.1:"), word("certificate "));
        Self {
            port,
            fingerprint,
            key: word("key "),
            child,
            _said: said,
        }
    }

    /// What it tells of its transfers, once it has ended by itself.
    pub(super) fn end(mut self) -> Vec<Value> {
        let mut served = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut served).expect("lines");
        assert!(self.child.wait().expect("it ends").success());
        let lines = served.lines().map(serde_json::from_str);
        lines.collect::<Result<_, _>>().expect("JSON")
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended, except where a test fails.
        let _ignored = self.child.kill();
    }
}

fn download(python: &Path, cc: &str, ecn: &str, more: &[&str]) -> Download {
    let folder = std::env::temp_dir().join(format!("slackwater-aioquic-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder can be made");
    let bytes = bytes(LENGTH);
    std::fs::write(folder.join("data"), &bytes).expect("the file is written");
    let server = Server::start(&["--transfers", "1", "--cc", cc, "--ecn", ecn], &folder);

    let copy = folder.join("copy");
    let got = get(python, ["127.0.0.1", &server.port], "data", &copy, more);
    assert_eq!(got["certificate"], server.fingerprint.as_str());
    let served = server.end().remove(0);
    assert!(
        std::fs::read(&copy).expect("the copy is there") == bytes,
        "{cc}, {ecn}: other bytes: {got}"
    );
    std::fs::remove_dir_all(&folder).expect("it was made");
    Download { served, got }
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
