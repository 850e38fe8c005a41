//! Frames of a kernel's TCP sender through CECC: what the simulator cannot show is whether Linux obeys.

use crate::{Folder, allowed, slackwater, text, went};

/// Sends 150 frames of 60 kB at 60 FPS to each client, then writes into a file of its own for how long the peer's window
/// held it back (`tcpi_rwnd_limited`, microseconds, at offset 176 of `struct tcp_info` since Linux 4.9).
const SEND: &str = r"
import socket, struct, threading, time
def frames(c, n):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    start = time.monotonic()
    for frame in range(150):
        time.sleep(max(0, start + frame / 60 - time.monotonic()))
        c.sendall(bytes(60000))
    c.recv(1)
    info = c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    with open(f'{folder}/limited-{n}', 'w') as f: f.write(str(struct.unpack_from('Q', info, 176)[0]))
    c.sendall(b'.')
    c.close()
s = socket.create_server(('0.0.0.0', 7001))
n = 0
while True:
    threading.Thread(target=frames, args=(s.accept()[0], n), daemon=True).start()
    n += 1
";
/// Counts what comes and writes it into a file of its own; the server's last byte says that it has written its own too. The
/// buffer holds all frames: a client that waits for a processor must not shut the window.
const WATCH: &str = r"
import os, socket, sys, tempfile
SO_RCVBUFFORCE = 33
c = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
c.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 16 << 20)
c.connect((sys.argv[1], 7001))
got = 0
while got < 9000000:
    piece = c.recv(1 << 16)
    if not piece: break
    got += len(piece)
c.sendall(b'.')
c.recv(1)
file, _ = tempfile.mkstemp(prefix='got-', dir=sys.argv[2])
os.write(file, str(got).encode())
";

/// The numbers in the files of `folder` whose names begin with `name`.
fn numbers(folder: &Folder, name: &str) -> Vec<u64> {
    let files = std::fs::read_dir(&folder.0).expect("it is there").flatten();
    files
        .filter(|f| f.file_name().to_string_lossy().starts_with(name))
        .map(|f| {
            let text = std::fs::read_to_string(f.path()).expect("it is a file");
            text.parse()
                .unwrap_or_else(|e| panic!("{name}: {text:?}: {e}"))
        })
        .collect()
}

/// Microseconds that the servers were held back by the window, once every client has got all frames.
fn watch(mode: &str) -> u64 {
    let folder = Folder::new(&format!("frames-{mode}"));
    let place = folder.0.display().to_string();
    let (out, server, mode) = (
        folder.file("run"),
        format!("exec python3 -c \"{}\"", SEND.replace("{folder}", &place)),
        format!("upf.cecc.mode={mode}"),
    );
    let done = slackwater(&[
        "emulate",
        "--isolated",
        "--cell",
        "nr",
        "--edge",
        "cecc",
        "--set",
        &mode,
        "--ues",
        "3",
        "--server",
        &server,
        "--out",
        &out,
        "--seconds",
        "600",
        "--",
        "python3",
        "-c",
        WATCH,
        "{server}",
        &place,
    ]);
    let said = text(&done.stderr);
    assert!(went(&done), "{mode}: {said}");
    assert_eq!(numbers(&folder, "got-"), [9_000_000; 3], "{mode}: {said}");
    let limited = numbers(&folder, "limited-");
    assert_eq!(limited.len(), 3, "{mode}: {said}");
    limited.iter().sum()
}

// 2.5 s of frames, 86 Mbit/s together. A flow whose window stays shut would take for ever: not all would have come.
#[test]
fn a_kernels_sender_obeys_and_is_not_starved() {
    if !allowed() {
        return;
    }
    for mode in ["hold", "credit", "paper"] {
        let limited = watch(mode);
        match mode {
            "hold" => assert_eq!(limited, 0, "hold leaves windows alone"),
            "paper" => assert!(limited > 0, "Linux did not obey the second ACK"),
            _ => {}
        }
    }
}
