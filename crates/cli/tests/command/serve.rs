//! `slackwater serve`, spoken to over sockets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout};

use crate::shell::Folder;

/// A running server; dropped, it is killed.
struct Server {
    child: Child,
    address: String,
    /// Held open: a line more into a closed pipe would end it.
    _out: BufReader<ChildStdout>,
}

impl Server {
    fn start(folder: &Folder, more: &[&str]) -> Self {
        let mut child = folder
            .command(&[&["serve", ".", "--port", "0"], more].concat())
            .spawn()
            .expect("it starts");
        let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
        let mut line = String::new();
        out.read_line(&mut line).expect("a line");
        let address = line
            .trim()
            .trim_start_matches("http://")
            .trim_end_matches('/');
        Self {
            child,
            address: address.to_owned(),
            _out: out,
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
    let server = Server::start(&f, &[]);
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

/// As many connections as the server takes at once, each with half a request: who comes later waits until they are closed.
#[test]
fn half_a_request_expires() {
    let f = Folder::new("serve-halves");
    let server = Server::start(&f, &[]);
    let mut halves: Vec<TcpStream> = (0..256).map(|_| server.connect()).collect();
    for half in &mut halves {
        half.write_all(b"GET / HT").expect("it takes bytes");
    }
    let (head, _) = server.get("/");
    assert!(head.contains("200 ok"), "{head}");
    for half in &mut halves {
        // Closed, with an answer or without: this reads to an end, and waits for ever where there is none.
        let mut answer = vec![];
        let _reset = half.read_to_end(&mut answer);
    }
}

/// The most memory that a process had, KiB.
fn peak(server: &Server) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{}/status", server.child.id()));
    let status = status.expect("it runs");
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"));
    let kib = line.and_then(|l| l.trim().strip_suffix(" kB"));
    kib.and_then(|k| k.parse().ok()).expect("a number")
}

#[test]
fn a_file_of_gigabytes_takes_no_memory() {
    let f = Folder::new("serve-gigabytes");
    let large = std::fs::File::create(f.path("large.bin")).expect("a file");
    large.set_len(8 << 30).expect("a sparse file");
    let server = Server::start(&f, &[]);
    server.get("/");
    let before = peak(&server);

    let mut stream = server.connect();
    let host = &server.address;
    write!(
        stream,
        "GET /files/large.bin HTTP/1.1\r\nHost: {host}\r\n\r\n"
    )
    .expect("it takes a request");
    let mut read = vec![0; 1 << 20];
    stream.read_exact(&mut read).expect("an answer");
    let head = String::from_utf8_lossy(&read[..400]).to_lowercase();
    assert!(head.contains("content-length: 8589934592"), "{head}");
    // A part that is read tells that more than a first piece is under way.
    for _ in 0..128 {
        stream.read_exact(&mut read).expect("it goes on");
    }
    let grown = peak(&server) - before;
    assert!(grown < 32 << 10, "{grown} KiB more than {before}");
}

#[test]
fn the_sessions_of_a_function_are_passed_on() {
    let f = Folder::new("serve-upf");
    // A function in two answers.
    let function = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let url = format!("http://{}", function.local_addr().expect("bound"));
    let answers = std::thread::spawn(move || {
        let body = ["{\"sessions\":1}", "[{\"seid\":\"0x1\"}]"];
        body.map(|body| {
            let (mut stream, _) = function.accept().expect("a connection");
            let lines = BufReader::new(stream.try_clone().expect("a socket")).lines();
            let head: Vec<String> = lines
                .map(|l| l.expect("a request"))
                .take_while(|l| !l.is_empty())
                .collect();
            write!(
                stream,
                "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .expect("it reads");
            head[0].clone()
        })
    });
    let server = Server::start(&f, &["--upf", &url]);
    let (head, body) = server.get("/api/upf");
    assert!(
        head.contains("200 ok") && head.contains("application/json"),
        "{head}"
    );
    let body: serde_json::Value = serde_json::from_slice(&body).expect("JSON");
    let expected =
        serde_json::json!({ "status": { "sessions": 1 }, "sessions": [{ "seid": "0x1" }] });
    assert_eq!(body, expected);
    let requests = answers.join().expect("two requests");
    assert_eq!(requests, ["GET /status HTTP/1.1", "GET /sessions HTTP/1.1"]);
    // It is gone; and a server without one says so.
    let (head, body) = server.get("/api/upf");
    assert!(head.contains("502"), "{head}");
    assert!(String::from_utf8_lossy(&body).contains("the function at"));
    for path in ["/upf", "/upf.js", "/upf.css"] {
        let (head, _) = server.get(path);
        assert!(
            head.contains("200 ok") && head.contains("default-src 'none'"),
            "{head}"
        );
    }
    let other = Server::start(&f, &[]);
    assert!(other.get("/api/upf").0.contains("404"));
}
