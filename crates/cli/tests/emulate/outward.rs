//! Networks beside the emulated ones: a way out by NAT, and processes that run already behind the cell.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, Command, Stdio};

use super::faults::nix_is_root;
use super::{allowed, text, went};

/// Leave to go on: as root, and with `programs`.
fn may(programs: &[&str]) -> bool {
    if !nix_is_root() {
        eprintln!("skipped: not root");
        return false;
    }
    for program in programs {
        if !std::path::Path::new("/usr/sbin").join(program).exists() {
            eprintln!("skipped: no /usr/sbin/{program}");
            return false;
        }
    }
    true
}

/// A script in a network namespace of its own, whose words are `$1` and on.
fn apart(script: &str, words: &[&str]) -> Command {
    let mut command = Command::new("unshare");
    command
        .args(["--net", "sh", "-ec", script, "sh"])
        .args(words)
        .stdin(Stdio::null());
    command
}

/// A machine with a server beyond it, which knows no way back to the emulator's addresses: `out0` is 192.0.2.2, and the
/// server at 192.0.2.1 tells each client by which address it came.
const MACHINE: &str = r#"
ip link set lo up
unshare --net sleep 1000 &
beyond=$!
trap 'kill $beyond $serves' EXIT
until [ "$(readlink /proc/$beyond/ns/net)" != "$(readlink /proc/self/ns/net)" ]; do :; done
ip link add out0 type veth peer name far0 netns $beyond
ip addr add 192.0.2.2/24 dev out0
ip link set out0 up
ip route add default via 192.0.2.1
there="nsenter --net=/proc/$beyond/ns/net"
$there ip addr add 192.0.2.1/24 dev far0
$there ip link set far0 up
said=$(mktemp)
$there python3 -c '
import socket
server = socket.create_server(("192.0.2.1", 8000))
print("listens", flush=True)
while True:
    client, peer = server.accept()
    client.sendall(peer[0].encode())
    client.close()
' > "$said" &
serves=$!
until grep -q listens "$said"; do :; done
rm "$said"
"#;

/// What a client behind the cell sees of itself.
const CLIENT: &str = "import socket; print('seen as', socket.create_connection(('192.0.2.1', 8000)).recv(99).decode())";

#[test]
fn a_ue_gets_out_under_the_machines_address_and_no_rule_is_left() {
    if !allowed() {
        return;
    }
    if !may(&["nft"]) {
        return;
    }
    let script = format!(
        r#"{MACHINE}
echo $2 > /proc/sys/net/ipv4/ip_forward
status=0
"$1" emulate --rate 10 --no-files --quiet --nat $4 -- python3 -c "$3" || status=$?
echo "status $status, tables: $(nft list tables)"
"#
    );
    let program = env!("CARGO_BIN_EXE_slackwater");
    let run = |forwards: &str, more: &str| {
        let done = apart(&script, &[program, forwards, CLIENT, more]).output();
        let done = done.expect("unshare starts");
        format!("{}\n{}", text(&done.stdout), text(&done.stderr))
    };
    let said = run("1", "");
    assert!(said.contains("seen as 192.0.2.2"), "{said}");
    // The end of the script's line: no table is left.
    let end = |l: &str| l.starts_with("status ") && l.trim().ends_with("tables:");
    assert!(said.lines().any(end), "{said}");
    let said = run("1", "--net 192.0.2.0/24");
    assert!(said.contains("seen as 192.0.2.2"), "{said}");

    // A machine that passes nothing on says how it would.
    let said = run("0", "");
    assert!(said.contains("status 2"), "{said}");
    assert!(said.contains("sysctl -w net.ipv4.ip_forward=1"), "{said}");
}

/// The rules end with an emulator that is killed.
#[test]
fn a_killed_emulator_takes_its_rules_along() {
    if !allowed() {
        return;
    }
    if !may(&["nft"]) {
        return;
    }
    let script = r#"
echo 1 > /proc/sys/net/ipv4/ip_forward
"$1" emulate --rate 10 --no-files --quiet --nat -- sh -c 'echo began; exec sleep 1000' &
emulator=$!
until nft list tables | grep -q slackwater_$emulator; do kill -0 $emulator; done
kill -9 $emulator
looks=0
while nft list tables | grep -q slackwater_; do looks=$((looks + 1)); [ $looks -lt 20000 ]; done
echo gone
"#;
    let done = apart(script, &[env!("CARGO_BIN_EXE_slackwater")]).output();
    let done = done.expect("unshare starts");
    // The command behind the cell may still write after that.
    assert!(text(&done.stdout).lines().any(|l| l == "gone"), "{done:?}");
}

/// A process in a network namespace of its own, which reads lines of a program from here.
struct Holder(Child);

impl Holder {
    fn new(script: &str) -> Self {
        let mut command = Command::new("unshare");
        let child = command
            .args(["--net", "python3", "-c", script])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn();
        Self(child.expect("unshare starts"))
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        let _ignored = self.0.kill();
        let _ignored = self.0.wait();
    }
}

/// It has a network with a default route, says by which namespace it is, waits for a line, and downloads from the gateway of `cell0`.
const HOLDER: &str = r#"
import os, socket, subprocess, sys
lines = """link add a0 type veth peer name b0
addr add 10.1.1.2/24 dev a0
link set a0 up
link set b0 up
route add default via 10.1.1.1
"""
subprocess.run(["ip", "-batch", "-"], input=lines, text=True, check=True)
print(os.readlink("/proc/self/ns/net"), flush=True)
if sys.stdin.readline():
    rows = [line.split() for line in open("/proc/net/route")]
    gateway = next(r[2] for r in rows if r[:2] == ["cell0", "00000000"])
    address = socket.inet_ntoa(bytes.fromhex(gateway)[::-1])
    # The cell carries packets before the server listens: it is tried until then.
    while True:
        try:
            connection = socket.create_connection((address, 8000))
            break
        except ConnectionRefusedError:
            continue
    print(len(connection.makefile("rb").read()), flush=True)
"#;

/// It serves 100,000 octets to each client.
const SERVER: &str = r#"exec python3 -c '
import socket
server = socket.create_server(("0.0.0.0", 8000))
while True:
    client, _ = server.accept()
    client.sendall(bytes(100000))
    client.close()
'"#;

#[test]
fn a_process_that_runs_already_is_put_behind_a_cell() {
    if !allowed() {
        return;
    }
    if !may(&[]) {
        return;
    }
    // Its server listens in the machine's own namespace, where others may have any port.
    let free = std::net::TcpListener::bind(("0.0.0.0", 0)).and_then(|l| l.local_addr());
    let port = free.expect("a free port").port().to_string();
    let (holds, server) = (HOLDER.replace("8000", &port), SERVER.replace("8000", &port));
    let mut holder = Holder::new(&holds);
    let pid = holder.0.id().to_string();
    let mut said = BufReader::new(holder.0.stdout.take().expect("a pipe"));
    let mut space = String::new();
    said.read_line(&mut space).expect("its namespace");

    // A command runs in the namespace of the process.
    let args = [
        "emulate",
        "--rate",
        "20",
        "--no-files",
        "--quiet",
        "--attach",
        &pid,
        "--",
        "readlink",
        "/proc/self/ns/net",
    ];
    let done = super::slackwater(&args);
    assert!(went(&done), "{}", text(&done.stderr));
    assert_eq!(text(&done.stdout).lines().next(), Some(space.trim()));
    // Its own way is there once more, and nothing else.
    let routes = std::fs::read_to_string(format!("/proc/{pid}/net/route"));
    let routes = routes.expect("the process runs");
    assert!(
        routes.contains("a0\t00000000") && !routes.contains("cell0"),
        "{routes}"
    );

    // Without one the process has the cell to itself, and the run ends with it.
    let mut emulator = super::command(&[
        "emulate",
        "--rate",
        "20",
        "--no-files",
        "--quiet",
        "--server",
        &server,
        "--attach",
        &pid,
    ])
    .stdout(Stdio::null())
    .stderr(Stdio::piped())
    .spawn()
    .expect("the command starts");
    let file = format!("/proc/{pid}/net/route");
    loop {
        let routes = std::fs::read_to_string(&file).expect("the process runs");
        if routes.contains("cell0\t00000000") {
            break;
        }
        if let Some(status) = emulator.try_wait().expect("a child") {
            let mut said = String::new();
            let _ = emulator
                .stderr
                .take()
                .expect("a pipe")
                .read_to_string(&mut said);
            panic!("it ended early: {status}: {said}");
        }
        std::thread::yield_now();
    }
    let mut input = holder.0.stdin.take().expect("a pipe");
    writeln!(input, "now").expect("it reads");
    let mut bytes = String::new();
    said.read_line(&mut bytes).expect("what it got");
    assert_eq!(bytes.trim(), "100000");
    let status = emulator.wait().expect("a child").code();
    assert!(matches!(status, Some(0 | super::VOID)), "{status:?}");
}

#[test]
fn what_cannot_be_attached_or_translated_is_told() {
    if !allowed() {
        return;
    }
    let own = std::process::id().to_string();
    for (args, part) in [
        (vec!["--attach", &own], "network namespace of its own"),
        (vec!["--attach", "8388608"], "no process"),
        (vec!["--attach", "x"], "--attach"),
        (vec!["--nat", "--isolated"], "--isolated"),
    ] {
        let mut all = vec!["emulate", "--rate", "1", "--no-files", "--quiet"];
        all.extend(args.iter().copied());
        all.extend(["--", "true"]);
        let done = super::slackwater(&all);
        let said = text(&done.stderr);
        let alone = !nix_is_root() && said.contains("expected root");
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(part) || alone, "{args:?}: {said}");
    }
}
