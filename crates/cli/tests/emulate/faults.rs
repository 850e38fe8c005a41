//! What goes wrong, and what is left behind: nothing.

use std::process::{Command, Stdio};

use super::signal::{Signal, send};
use super::{Folder, VOID, allowed, slackwater, text, went};

/// Each command that stays is ended by each signal that ends it, at random moments of its start and run; emulators and others in
/// several forms. All of it happens in namespaces of its own, in which the bench counts what is there afterwards;
/// docs/reliability.md has the table of more.
#[test]
fn a_signal_at_any_moment_leaves_nothing() {
    if !allowed() {
        return;
    }
    let bench = concat!(env!("CARGO_MANIFEST_DIR"), "/../../benches/signals.py");
    let done = Command::new("python3")
        .args([bench, "--binary", env!("CARGO_BIN_EXE_slackwater")])
        .args(["--signals", "78", "--seed", "7"])
        .stdin(Stdio::null())
        .output()
        .expect("python3 starts");
    let (said, table) = (text(&done.stderr), text(&done.stdout));
    if said.starts_with("unshare:") {
        eprintln!("skipped: {said}");
        return;
    }
    assert!(done.status.success(), "{table}\n{said}");
    // Five commands, a whole core, and three commands with peers. `upf` reads its file again at SIGHUP. And `tcp` where BPF is.
    let pairs = table.matches("| SIG").count();
    assert!(pairs == 43 || pairs == 48, "{table}\n{said}");
}

#[test]
fn a_process_whose_parent_is_gone_starts_nothing() {
    for stage in ["outer", "init"] {
        // The kernel's own process 2 starts no program.
        let done = slackwater(&["__inside", stage, "2", "sh", "-c", "echo started"]);
        assert_eq!(done.status.code(), Some(125), "{stage}");
        assert_eq!(text(&done.stdout), "", "{stage}");
    }
}

#[test]
fn exit_codes_are_those_of_the_command() {
    if !allowed() {
        return;
    }
    let run = |words: &[&str]| {
        let mut args = vec![
            "emulate",
            "--isolated",
            "--rate",
            "12",
            "--no-files",
            "--quiet",
            "--",
        ];
        args.extend(words);
        let done = slackwater(&args);
        (done.status.code(), text(&done.stderr))
    };
    assert_eq!(run(&["sh", "-c", "exit 7"]).0, Some(7));
    assert_eq!(run(&["sh", "-c", "kill -KILL $$"]).0, Some(137));
    let (code, said) = run(&["/no/such/command"]);
    assert_eq!(code, Some(127));
    assert!(said.contains("cannot run /no/such/command"), "{said}");
    // Time is up: the command goes, and that is no failure.
    let done = slackwater(&[
        "emulate",
        "--isolated",
        "--rate",
        "12",
        "--no-files",
        "--quiet",
        "--seconds",
        "1",
        "--",
        "sleep",
        "60",
    ]);
    assert!(went(&done), "{}", text(&done.stderr));
}

/// A threshold below zero makes every run void, on any machine.
#[test]
fn a_void_run_has_a_status_of_its_own() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("void");
    let json = folder.file("j");
    let run = |script: &str| {
        let words = [
            "emulate",
            "--isolated",
            "--rate",
            "12",
            "--no-files",
            "--quiet",
            "--void-above",
            "-1",
            "--json",
            &json,
            "--",
            "sh",
            "-c",
            script,
        ];
        slackwater(&words)
    };
    let done = run("true");
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(VOID), "{said}");
    assert!(
        said.contains("void: more than -1 % of the slots were missed"),
        "{said}"
    );
    let live = folder.json("j");
    assert_eq!(
        (&live["void"], &live["exit_code"]),
        (&true.into(), &0.into())
    );
    // A command that failed keeps its own.
    assert_eq!(run("exit 7").status.code(), Some(7));
}

#[test]
fn a_server_that_fails_is_an_error_and_no_command_runs() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("noserver");
    let ran = folder.file("ran");
    let done = slackwater(&[
        "emulate",
        "--isolated",
        "--rate",
        "12",
        "--no-files",
        "--quiet",
        "--server",
        "exit 3",
        "--",
        "touch",
        &ran,
    ]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("--server: found one that ended with code 3"),
        "{said}"
    );
    assert!(!std::path::Path::new(&ran).exists(), "the command ran");
}

/// Below `nohup` an emulator outlives its terminal: SIGHUP stays ignored (POSIX, nohup), and SIGTERM is counted.
#[test]
fn a_hangup_that_was_ignored_at_the_start_stays_so() {
    if !allowed() {
        return;
    }
    for (ignored, start) in [(true, "--ignore-signal=HUP"), (false, "--default-signal")] {
        let folder = Folder::new("hangup");
        let up = folder.file("up");
        let made = Command::new("mkfifo").arg(&up).status();
        assert!(made.is_ok_and(|s| s.success()), "mkfifo");
        let mut child = Command::new("env")
            .args([start, env!("CARGO_BIN_EXE_slackwater"), "emulate"])
            .args(["--isolated", "--rate", "12", "--no-files", "--quiet"])
            .args(["--", "sh", "-c"])
            .arg(format!("echo up > '{up}'; exec sleep 600"))
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Blocks until the command runs.
        assert_eq!(std::fs::read_to_string(&up).unwrap(), "up\n");

        // proc_pid_status(5): masks of signals, SIGHUP is 1 and SIGTERM 15.
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
        let has = |mask: &str, signal: u32| {
            let line = status.lines().find_map(|l| l.strip_prefix(mask)).unwrap();
            u64::from_str_radix(line.trim(), 16).unwrap() >> (signal - 1) & 1 == 1
        };
        assert_eq!(has("SigIgn:", 1), ignored, "{status}");
        assert_eq!(has("SigCgt:", 1), !ignored, "{status}");
        assert!(has("SigCgt:", 15), "{status}");
        send(child.id(), Signal::SIGTERM);
        assert_eq!(child.wait().unwrap().code(), Some(143));
    }
}

/// A server that does not listen yet keeps the emulator waiting; a signal ends it there, before the command has run.
#[test]
fn a_signal_before_the_command_is_not_lost() {
    if !allowed() {
        return;
    }
    for (signal, code) in [
        (Signal::SIGTERM, 143),
        (Signal::SIGINT, 130),
        (Signal::SIGHUP, 129),
    ] {
        let folder = Folder::new("early");
        let (up, ran) = (folder.file("up"), folder.file("ran"));
        let made = Command::new("mkfifo").arg(&up).status();
        assert!(made.is_ok_and(|s| s.success()), "mkfifo");
        let server = format!("echo up > '{up}'; exec sleep 600");
        let mut child = Command::new("env")
            .args(["--default-signal", env!("CARGO_BIN_EXE_slackwater")])
            .args([
                "emulate",
                "--isolated",
                "--rate",
                "12",
                "--no-files",
                "--quiet",
            ])
            .args(["--server", &server, "--", "touch"])
            .arg(&ran)
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        // Blocks until the server is up.
        assert_eq!(std::fs::read_to_string(&up).unwrap(), "up\n");
        send(child.id(), signal);
        assert_eq!(child.wait().unwrap().code(), Some(code), "{signal}");
        assert!(
            !std::path::Path::new(&ran).exists(),
            "{signal}: the command ran"
        );
    }
}

#[test]
fn a_folder_that_cannot_be_written_is_found_before_the_command_runs() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("unwritable");
    let (file, ran) = (folder.file("file"), folder.file("ran"));
    std::fs::write(&file, "").unwrap();
    let inside = format!("{file}/run");
    for option in ["-o", "--json", "--downlink-log"] {
        let mut args = vec!["emulate", "--isolated", "--rate", "12", option, &inside];
        if option != "-o" {
            args.push("--no-files");
        }
        args.extend(["--", "touch", &ran]);
        let done = slackwater(&args);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{option}: {said}");
        assert!(said.contains("cannot write"), "{option}: {said}");
        assert!(
            !std::path::Path::new(&ran).exists(),
            "{option}: the command ran"
        );
    }
}

#[test]
fn bad_input_is_named() {
    // The folder by default is locked by whoever runs this beside us.
    let folder = Folder::new("input");
    let out = folder.file("out");
    let says = |args: &[&str], words: &str| {
        let mut all = vec!["emulate", "--out", &out];
        all.extend(args);
        let done = slackwater(&all);
        let said = text(&done.stderr);
        assert_eq!(done.status.code(), Some(2), "{args:?}: {said}");
        assert!(said.contains(words), "{args:?}: {said}");
    };
    says(
        &["--trace", "/no/such/trace", "--", "true"],
        "/no/such/trace",
    );
    says(&["--cell", "lt", "--", "true"], "one of lte");
    says(
        &["--rate", "12", "--edge", "vaqm", "--", "true"],
        "expected a cell",
    );
    says(&["--rate", "12", "--ues", "2", "--", "true"], "one UE");
    says(
        &["--cell", "lte", "--queue", "much", "--", "true"],
        "a limit in packets",
    );
    says(
        &["--cell", "lte", "--delay", "soon", "--", "true"],
        "--delay",
    );
    says(&["--", "true"], "--cell");
    let file = folder.file("x.toml");
    std::fs::write(&file, "[path]\nrtt = \"3 ms\"\n").unwrap();
    says(
        &["--cell", &file, "--", "true"],
        "neither [cell] nor [link]",
    );
    std::fs::write(&file, "[cell]\nrat = \"6g\"\n").unwrap();
    says(&["--cell", &file, "--", "true"], "cell.rat");
}

#[test]
fn a_taken_interface_is_named() {
    if !allowed() {
        return;
    }
    // Inside an emulator, so that nothing is left behind: `cell0` is its own.
    let inner = env!("CARGO_BIN_EXE_slackwater");
    let done = slackwater(&[
        "emulate",
        "--isolated",
        "--rate",
        "12",
        "--no-files",
        "--quiet",
        "--",
        inner,
        "emulate",
        "--interface",
        "cell0",
        "--rate",
        "12",
        "--no-files",
        "--",
        "true",
    ]);
    let said = text(&done.stderr);
    assert_eq!(done.status.code(), Some(2), "{said}");
    assert!(
        said.contains("\"cell0\"") && said.contains("--interface"),
        "{said}"
    );
}

/// Without privileges it works, or says why not.
#[test]
fn without_root_it_works_or_says_why() {
    if !allowed() {
        return;
    }
    // A copy where anyone may run it.
    let folder = Folder::new("nobody");
    let program = folder.file("slackwater");
    // By another process: a program that this one started meanwhile would hold the file open, and "text file busy" keep it from running.
    let copied = Command::new("cp")
        .args([env!("CARGO_BIN_EXE_slackwater"), &program])
        .status();
    assert!(copied.is_ok_and(|s| s.success()), "cp");
    let drop = Command::new("setpriv").arg("--version").output();
    if drop.is_err() {
        eprintln!("skipped: no setpriv");
        return;
    }
    let done = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups", &program])
        .args([
            "emulate",
            "--rate",
            "12",
            "--no-files",
            "--quiet",
            "--",
            "true",
        ])
        .current_dir("/")
        .output()
        .unwrap();
    let said = text(&done.stderr);
    match done.status.code() {
        Some(0 | VOID) => {}
        Some(2) => assert!(
            said.contains("root") || said.contains("/dev/net/tun"),
            "{said}"
        ),
        other => panic!("{other:?}: {said}"),
    }
}

/// The UE's side writes what no one should: the emulator drops it, counts it and goes on.
#[test]
fn garbage_and_giant_frames_are_survived() {
    if !allowed() {
        return;
    }
    let garbage = r"
import socket, subprocess, os, random
subprocess.run(['ip', 'link', 'set', 'cell0', 'mtu', '9000'], check=True)
s = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
random.seed(1)
def send(data, kind=0x0800):
    try: s.sendto(data, ('cell0', kind, 0, 0, b''))
    except OSError: pass
for n in range(300):
    send(random.randbytes(random.choice([1, 3, 19, 20, 39, 40, 60, 1500, 9000])))
    head = bytearray(random.randbytes(80)); head[0] = random.choice([0x45, 0x46, 0x4f, 0x60])
    send(bytes(head))
# Whole IPv4 packets of 9,000 bytes, a fragment, and one of a protocol that nobody knows.
def v4(total, frag, proto):
    h = bytearray(20); h[0] = 0x45; h[2:4] = total.to_bytes(2, 'big'); h[6:8] = frag.to_bytes(2, 'big')
    h[8] = 64; h[9] = proto; h[12:16] = bytes([100, 64, 0, 2]); h[16:20] = bytes([100, 64, 0, 1])
    return bytes(h) + bytes(total - 20)
for _ in range(50):
    send(v4(9000, 0, 17)); send(v4(1000, 0x2000, 17)); send(v4(1000, 0x00ff, 17)); send(v4(60, 0, 253))
c = socket.create_connection((os.environ['SLACKWATER_SERVER'], 7002), timeout=20)
assert c.recv(10) == b'alive'
";
    let server = "exec python3 -c \"
import socket
s = socket.create_server(('', 7002))
while True:
    c, _ = s.accept(); c.sendall(b'alive'); c.close()
\"";
    let folder = Folder::new("garbage");
    let json = folder.file("j");
    for middle in [["--rate", "50"], ["--cell", "lte"]] {
        let mut args = vec![
            "emulate",
            "--isolated",
            "--server",
            server,
            "--no-files",
            "--json",
            &json,
            "--seconds",
            "600",
        ];
        args.extend(middle);
        args.extend(["--", "python3", "-c", garbage]);
        let done = slackwater(&args);
        assert!(went(&done), "{middle:?}: {}", text(&done.stderr));
        let live = folder.json("j");
        assert!(
            live["malformed_frames"].as_u64().is_some_and(|n| n > 100),
            "{}",
            live["malformed_frames"]
        );
    }
}

/// What the command behind the emulator may do, and whose the results are, where root was had by `sudo`.
#[test]
fn under_sudo_the_command_is_the_callers() {
    if !allowed() {
        return;
    }
    if !nix_is_root() {
        eprintln!("skipped: not root");
        return;
    }
    let folder = Folder::new("sudo");
    // The caller writes there.
    let open = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&folder.0, open).expect("a folder of ours");
    let said = |more: &[&str]| {
        let out = folder.file("run");
        let mut args = vec![
            "emulate",
            "--isolated",
            "--rate",
            "12",
            "--quiet",
            "--out",
            &out,
        ];
        args.extend(more);
        let look =
            "id -u; id -g; id -G | tr ' ' ,; grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status";
        args.extend(["--", "sh", "-c", look]);
        let done = super::command(&args)
            .env("SUDO_UID", "65534")
            .env("SUDO_GID", "65533")
            .output()
            .expect("the command starts");
        assert!(went(&done), "{}", text(&done.stderr));
        let words = text(&done.stdout);
        words
            .split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let none = "0000000000000000";
    let expected = [
        "65534",
        "65533",
        "CapEff:",
        none,
        "CapBnd:",
        none,
        "NoNewPrivs:",
        "1",
    ];
    let mut found = said(&[]);
    // The order of the kernel's lines is its own.
    assert_eq!(found.drain(..2).collect::<Vec<_>>(), expected[..2]);
    // The caller's groups by the system's table, and none of root's.
    let table = std::fs::read_to_string("/etc/group").unwrap_or_default();
    let nobody = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let nobody = nobody.lines().map(|l| l.split(':').collect::<Vec<_>>());
    let mut nobody = nobody
        .filter(|l| l.get(2) == Some(&"65534"))
        .map(|l| l[0].to_owned());
    let nobody = nobody.next_back().unwrap_or_default();
    let rows = table.lines().map(|l| l.split(':').collect::<Vec<_>>());
    let with =
        rows.filter(|r| r.len() == 4 && r[3].split(',').any(|m| m == nobody && !m.is_empty()));
    let mut groups: Vec<String> = with.map(|r| r[2].to_owned()).collect();
    groups.push("65533".to_owned());
    groups.sort_unstable();
    let mut seen: Vec<String> = found.remove(0).split(',').map(str::to_owned).collect();
    seen.sort_unstable();
    assert_eq!(seen, groups);
    for pair in expected[2..].chunks(2) {
        assert!(found.windows(2).any(|w| w == pair), "{pair:?} in {found:?}");
    }
    let owner = |name: &str| {
        let meta = std::fs::metadata(folder.0.join(name)).expect("it was written");
        std::os::unix::fs::MetadataExt::uid(&meta)
    };
    for name in [
        "run",
        "run/summary.json",
        "run/report.html",
        "run/live.json",
    ] {
        assert_eq!(owner(name), 65_534, "{name}");
    }
    std::fs::remove_dir_all(folder.0.join("run")).expect("ours");
    assert_eq!(said(&["--as-root"])[0], "0");
    assert_eq!(owner("run/summary.json"), 0);
}

pub(crate) fn nix_is_root() -> bool {
    let own = std::fs::metadata("/proc/self").expect("Linux");
    std::os::unix::fs::MetadataExt::uid(&own) == 0
}

/// A program called `ip` that stands first in the caller's PATH is not run as root.
#[test]
fn ip_is_not_looked_for_in_the_path() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("planted");
    let planted = folder.0.join("ip");
    let ran = folder.file("ran");
    std::fs::write(&planted, format!("#!/bin/sh\n: > {ran}\nexit 1\n")).expect("a file");
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&planted, executable).expect("ours");
    let path = std::env::var("PATH").unwrap_or_default();
    let done = super::command(&[
        "emulate",
        "--isolated",
        "--rate",
        "12",
        "--no-files",
        "--quiet",
        "--",
        "true",
    ])
    .env("PATH", format!("{}:{path}", folder.0.display()))
    .output()
    .expect("the command starts");
    assert!(went(&done), "{}", text(&done.stderr));
    assert!(!std::path::Path::new(&ran).exists(), "the planted one ran");
}

/// In a namespace of the test's own: addresses of somebody else in the range, another range, and an address of the host that
/// the UE may reach only where it is named.
#[test]
fn addresses_are_checked_and_the_host_is_out_of_reach() {
    if !allowed() {
        return;
    }
    let program = env!("CARGO_BIN_EXE_slackwater");
    let inside = |script: &str| {
        let lines = format!(
            "ip link set lo up\nip link add v0 type veth peer name v1\nip link set v0 up\nip link set v1 up\n{script}"
        );
        let out = Command::new("unshare")
            .args(["--net", "sh", "-ec", &lines])
            .stdin(Stdio::null())
            .output();
        out.expect("unshare starts")
    };
    let probe = inside("true");
    if !probe.status.success() {
        eprintln!("skipped: {}", text(&probe.stderr));
        return;
    }
    let emulate = format!("{program} emulate --rate 12 --no-files --quiet");
    let taken = inside(&format!(
        "ip addr add 100.101.102.103/32 dev v0\n{emulate} -- true"
    ));
    assert!(!taken.status.success());
    let said = text(&taken.stderr);
    for word in ["100.101.102.103", "v0", "--addresses"] {
        assert!(said.contains(word), "{word}: {said}");
    }
    let other = inside(&format!(
        "ip addr add 100.101.102.103/32 dev v0\n{emulate} --addresses 198.18.0.0/15 -- echo {{server}}"
    ));
    assert_eq!(text(&other.stdout), "198.18.0.1", "{}", text(&other.stderr));

    // A server that listens on every address of the host.
    let serve = "ip addr add 10.9.9.9/24 dev v0\npython3 -c \"\nimport socket, os, signal\ns = socket.create_server(('0.0.0.0', 8099))\nif os.fork(): os._exit(0)\nsignal.alarm(60)\nnull = os.open('/dev/null', os.O_RDWR)\nfor fd in (0, 1, 2): os.dup2(null, fd)\nwhile True:\n    c, _ = s.accept(); c.sendall(b'hello'); c.close()\n\"\n";
    let ask = |address: &str| {
        format!(
            "python3 -c \"import socket; print(socket.create_connection(('{address}', 8099), 3).recv(9).decode())\""
        )
    };
    let (host, server) = (ask("10.9.9.9"), ask("{server}"));
    let closed = inside(&format!("{serve}{emulate} -- {host}"));
    assert!(!closed.status.success(), "{}", text(&closed.stdout));
    assert!(
        text(&closed.stderr).contains("--net"),
        "{}",
        text(&closed.stderr)
    );
    for script in [
        format!("{serve}{emulate} --net 10.9.9.0/24 -- {host}"),
        format!("{serve}{emulate} -- {server}"),
    ] {
        let open = inside(&script);
        assert_eq!(text(&open.stdout), "hello", "{}", text(&open.stderr));
    }
}
