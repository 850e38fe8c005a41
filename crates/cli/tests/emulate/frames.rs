//! Frames of a kernel's TCP sender through CECC: what the simulator cannot show is whether Linux obeys.

use crate::{Folder, allowed, slackwater, text};

/// Sends 150 frames of 60 kB at 60 FPS to each client, then says for how long the peer's window held it back
/// (`tcpi_rwnd_limited`, microseconds, at offset 176 of `struct tcp_info` since Linux 4.9).
const SEND: &str = r"
import socket, struct, sys, threading, time
def frames(c):
    c.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    start = time.monotonic()
    for n in range(150):
        time.sleep(max(0, start + n / 60 - time.monotonic()))
        c.sendall(bytes(60000))
    c.shutdown(socket.SHUT_WR)
    c.recv(1)
    info = c.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    print('limited', struct.unpack_from('Q', info, 176)[0], file=sys.stderr, flush=True)
    c.close()
s = socket.create_server(('0.0.0.0', 7001))
while True:
    threading.Thread(target=frames, args=(s.accept()[0],), daemon=True).start()
";
/// Counts what comes and how long it took.
const WATCH: &str = r"
import socket, sys, time
c = socket.create_connection((sys.argv[1], 7001), timeout=15)
start, got = time.monotonic(), 0
while True:
    piece = c.recv(1 << 16)
    if not piece: break
    got += len(piece)
print('got', got, 'in', time.monotonic() - start)
";

/// Microseconds that the servers were held back by the window, and the time that the slowest client took, in seconds.
fn watch(mode: &str) -> (u64, f64) {
    let folder = Folder::new(&format!("frames-{mode}"));
    let (out, server, mode) = (
        folder.file("run"),
        format!("exec python3 -c \"{SEND}\""),
        format!("upf.cecc={mode}"),
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
        "30",
        "--",
        "python3",
        "-c",
        WATCH,
        "{server}",
    ]);
    let (said, aside) = (text(&done.stdout), text(&done.stderr));
    assert!(done.status.success(), "{mode}: {aside}");
    let words = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let clients: Vec<_> = said
        .lines()
        .filter(|l| l.starts_with("got "))
        .map(words)
        .collect();
    assert_eq!(clients.len(), 3, "{mode}: {said}");
    assert!(clients.iter().all(|c| c[1] == "9000000"), "{mode}: {said}");
    let slowest = clients
        .iter()
        .filter_map(|c| c[3].parse().ok())
        .fold(0.0, f64::max);
    let limited = (aside.lines().chain(said.lines()))
        .filter_map(|l| l.strip_prefix("limited ")?.parse::<u64>().ok())
        .sum();
    (limited, slowest)
}

// 2.5 s of frames, 86 Mbit/s together. A flow whose window stays shut would take for ever.
#[test]
fn a_kernels_sender_obeys_and_is_not_starved() {
    if allowed().is_none() {
        return;
    }
    for mode in ["hold", "credit", "paper"] {
        let (limited, slowest) = watch(mode);
        assert!(slowest < 5.0, "{mode}: {slowest} s");
        match mode {
            "hold" => assert_eq!(limited, 0, "hold leaves windows alone"),
            "paper" => assert!(limited > 0, "Linux did not obey the second ACK"),
            _ => {}
        }
    }
}
