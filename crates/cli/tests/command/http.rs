//! `slackwater quic serve` under clients of HTTP/3 that share no line with its stack: aioquic and Chromium.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::aioquic;
use super::quic::{Server, bytes};

/// A file of this many bytes: some rounds of any window.
const LENGTH: usize = 3_000_017;

/// A page that tells by its own document what it loaded, and by which protocol.
const PAGE: &str = r#"<!doctype html><title>page</title><p id="said">nothing</p><script>
(async () => {
  const zeros = await (await fetch("/zeros?bytes=700000")).arrayBuffer();
  const data = await (await fetch("/data")).arrayBuffer();
  const by = performance.getEntriesByType("navigation")[0].nextHopProtocol;
  document.getElementById("said").textContent = `${by} ${zeros.byteLength} ${data.byteLength}`;
})();
</script>
"#;

struct Folder(PathBuf);

impl Folder {
    /// A folder with a file, a page, and a link that leads out of it to a secret.
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("slackwater-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("inner")).expect("a folder can be made");
        let write = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.join(name), bytes).expect("a file can be written");
        };
        write("secret", b"x");
        write("inner/data", &bytes(LENGTH));
        write("inner/index.html", PAGE.as_bytes());
        let link = std::os::unix::fs::symlink(folder.join("secret"), folder.join("inner/link"));
        link.expect("a link can be made");
        Self(folder)
    }

    fn inner(&self) -> PathBuf {
        self.0.join("inner")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ignored = std::fs::remove_dir_all(&self.0);
    }
}

fn ask(python: &Path, port: &str, folder: &Path, requests: &[&str]) -> Value {
    let script = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/peers/http_with_aioquic.py"
    );
    let done = Command::new(python)
        .args([script, "127.0.0.1", port])
        .arg(folder)
        .args(requests)
        // The folder of the scripts stays as it is.
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .stdin(Stdio::null())
        .output()
        .expect("it ran a moment ago");
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{said}");
    serde_json::from_slice(&done.stdout).unwrap_or_else(|e| panic!("{e}: {said}"))
}

/// Files and zeros come whole, with marks that are counted, and nothing else comes.
#[test]
fn aioquic_loads_files_and_zeros_over_http() {
    let Some(python) = aioquic::python() else {
        return;
    };
    let folder = Folder::new("http");
    for (cc, ecn, mark, other) in [
        ("cubic", "classic", "ect0", "ect1"),
        ("prague", "l4s", "ect1", "ect0"),
    ] {
        let words = [
            "--transfers",
            "3",
            "--most",
            "5MB",
            "--cc",
            cc,
            "--ecn",
            ecn,
        ];
        let server = Server::start(&words, &folder.inner());
        let requests = [
            ("HEAD:/data", 200, "3000017", 0),
            ("GET:/none", 404, "", 1),
            ("GET:/../secret", 404, "", 1),
            ("GET:/%2e%2e/secret", 404, "", 1),
            ("GET://etc/passwd", 404, "", 1),
            ("GET:/link", 404, "", 1),
            ("GET:/zeros?bytes=9000000", 403, "", 1),
            ("GET:/zeros?bytes=", 400, "", 1),
            ("POST:/data", 405, "", 1),
            ("HEAD:/none", 404, "", 0),
            ("GET:/data", 200, "3000017", 3_000_017),
            ("GET:/zeros?bytes=70000", 200, "70000", 70_000),
            ("GET:/", 200, "", PAGE.len() as u64),
        ];
        let words = requests.map(|(request, ..)| request);
        let said = ask(&python, &server.port, &folder.0, &words);
        assert_eq!(said["certificate"], server.fingerprint.as_str());
        let answers = said["answers"].as_array().expect("a list");
        assert_eq!(answers.len(), requests.len());
        for ((request, status, length, least), answer) in requests.iter().zip(answers) {
            assert_eq!(answer["status"], *status, "{request}: {answer}");
            let headers = &answer["headers"];
            if !length.is_empty() {
                assert_eq!(headers["content-length"], *length, "{request}: {answer}");
            }
            // A refusal has some words of its own.
            let count = answer["bytes"].as_u64().expect("a number");
            assert!(
                if *status == 200 {
                    count == *least
                } else {
                    count >= *least
                },
                "{answer}"
            );
            assert!(
                count == 0 || headers["content-length"].as_str() == Some(&count.to_string()),
                "{answer}"
            );
        }
        assert_eq!(answers[8]["headers"]["allow"], "GET, HEAD");
        assert_eq!(
            answers[12]["headers"]["content-type"],
            "text/html; charset=utf-8"
        );
        let read = |name: &str| std::fs::read(folder.0.join(name)).expect("it was written");
        assert!(read("10") == bytes(LENGTH), "{cc}: other bytes");
        assert!(
            read("11") == vec![0; 70_000] && read("12") == PAGE.as_bytes(),
            "{cc}"
        );

        // All datagrams are marked, and the server read the counts of another's encoder.
        let served = server.end();
        let names = ["GET /data", "GET /zeros?bytes=70000", "GET /"];
        for (served, name) in served.iter().zip(names) {
            assert_eq!(
                (&served["request"], &served["complete"]),
                (&name.into(), &true.into())
            );
        }
        assert_eq!(
            (&said["not_ect"], &said[other]),
            (&0.into(), &0.into()),
            "{said}"
        );
        let told = served[2][mark].as_u64().expect(mark);
        assert!(
            told > 2_000 && told <= said[mark].as_u64().expect(mark),
            "{served:?} {said}"
        );
    }
}

/// A browser shows a page of the folder, whose script loads more.
#[test]
fn chromium_loads_a_page_over_http() {
    let found = Command::new("chromium").arg("--version").output();
    if !found.is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: no chromium here");
        return;
    }
    let folder = Folder::new("chromium");
    let server = Server::start(&["--transfers", "3"], &folder.inner());
    let at = format!("localhost:{}", server.port);
    let done = Command::new("chromium")
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--no-first-run",
        ])
        .args([
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
        ])
        .arg(format!(
            "--user-data-dir={}",
            folder.0.join("profile").display()
        ))
        // Where nothing else says that an origin has HTTP/3 (RFC 9114, 3.1.1).
        .arg(format!("--origin-to-force-quic-on={at}"))
        .arg(format!(
            "--ignore-certificate-errors-spki-list={}",
            server.key
        ))
        .args([
            "--host-resolver-rules=MAP localhost 127.0.0.1",
            "--virtual-time-budget=10000",
        ])
        .arg("--dump-dom")
        .arg(format!("https://{at}/"))
        .stdin(Stdio::null())
        .output()
        .expect("it ran a moment ago");
    let dom = String::from_utf8_lossy(&done.stdout);
    let said = String::from_utf8_lossy(&done.stderr);
    assert!(
        dom.contains(r#"<p id="said">h3 700000 3000017</p>"#),
        "{dom}\n{said}"
    );
    let served = server.end();
    let names = ["GET /", "GET /zeros?bytes=700000", "GET /data"];
    for (served, name) in served.iter().zip(names) {
        assert_eq!(
            (&served["request"], &served["complete"]),
            (&name.into(), &true.into())
        );
    }
}
