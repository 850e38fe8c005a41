//! `slackwater serve`, spoken to over sockets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;

use crate::shell::Folder;

/// A running server; dropped, it is killed.
struct Server {
    child: Child,
    address: String,
}

impl Server {
    fn start(folder: &Folder) -> Self {
        let mut child = folder
            .command(&["serve", ".", "--port", "0"])
            .spawn()
            .expect("it starts");
        let out = child.stdout.take().expect("a pipe");
        let mut line = String::new();
        BufReader::new(out).read_line(&mut line).expect("a line");
        let address = line
            .trim()
            .trim_start_matches("http://")
            .trim_end_matches('/');
        Self {
            child,
            address: address.to_owned(),
        }
    }

    fn connect(&self) -> TcpStream {
        TcpStream::connect(&self.address).expect("it listens")
    }

    /// Head and body of the answer to one request.
    fn get(&self, path: &str) -> (String, Vec<u8>) {
        let mut stream = self.connect();
        let host = &self.address;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )
        .expect("it takes a request");
        let mut answer = vec![];
        stream.read_to_end(&mut answer).expect("an answer");
        let end = answer
            .windows(4)
            .position(|w| w == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&answer[..end]).to_lowercase();
        (head, answer[end + 4..].to_vec())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn files_come_whole_and_sealed_while_others_send_half_a_request() {
    let f = Folder::new("serve-files");
    let large: Vec<u8> = (0..300_001_u32).map(|i| (i % 251) as u8).collect();
    std::fs::write(f.path("large.bin"), &large).expect("a file");
    std::fs::write(f.path("empty.html"), "").expect("a file");
    let server = Server::start(&f);
    let mut halves: Vec<TcpStream> = (0..20).map(|_| server.connect()).collect();
    for half in &mut halves {
        half.write_all(b"GET / HT").expect("it takes bytes");
    }

    let (head, body) = server.get("/files/large.bin");
    assert!(
        head.contains("200 ok") && head.contains("content-length: 300001"),
        "{head}"
    );
    assert!(body == large, "{} bytes", body.len());
    for said in [
        "x-content-type-options: nosniff",
        "sandbox allow-scripts",
        "frame-ancestors 'none'",
    ] {
        assert!(head.contains(said), "{said} is missing in {head}");
    }
    let (head, body) = server.get("/files/empty.html");
    assert!(head.contains("text/html") && body.is_empty(), "{head}");
    assert!(server.get("/files/../Cargo.toml").0.contains("404"));
    let (head, _) = server.get("/");
    assert!(head.contains("frame-ancestors 'none'"), "{head}");
}
