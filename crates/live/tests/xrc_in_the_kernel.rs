//! XRC in the kernel's TCP, on loopback: needs root, BTF and a build with the feature `bpf`; skips with a reason elsewhere.
#![cfg(feature = "bpf")]

use std::ffi::OsString;
use std::fs;
use std::path::Path;

use slackwater_live::bpf::{Loaded, OwnCgroup, Profile, Scope};

fn can_run() -> bool {
    let root = nix::unistd::geteuid().is_root();
    let btf = Path::new("/sys/kernel/btf/vmlinux").exists();
    if !root || !btf {
        eprintln!("skipped: needs root (is: {root}) and the kernel's BTF (there: {btf})");
    }
    root && btf
}

fn available() -> String {
    fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default()
}

/// One test: the name `xrc` is the whole kernel's.
/// In a process namespace every run has the same number, and a run that was killed leaves its folder.
#[test]
fn cgroups_of_equal_process_numbers_do_not_meet() {
    if !can_run() {
        return;
    }
    let first = OwnCgroup::new().expect("root may make a cgroup");
    let second = OwnCgroup::new().expect("and another");
    assert_ne!(first.path(), second.path());
}

#[test]
fn connections_of_a_cgroup_get_xrc_and_it_goes_with_its_loader() {
    if !can_run() {
        return;
    }
    if available().split_whitespace().any(|name| name == "xrc") {
        eprintln!("skipped: somebody else has loaded xrc");
        return;
    }
    let own = OwnCgroup::new().expect("root may make a cgroup");
    let loaded =
        Loaded::new(&Scope::Cgroup(own.path().to_owned()), Profile::Default).expect("it loads");
    assert!(available().contains("xrc"));
    // A second loader is told that the name is taken.
    let second = Loaded::new(&Scope::Cgroup(own.path().to_owned()), Profile::Paper);
    assert!(second.is_err());
    // Python sends 20 MB to itself and reads which controller the connection has.
    let program = "
import socket, threading
server = socket.create_server(('127.0.0.1', 0))
def sink():
    peer, _ = server.accept()
    while peer.recv(1 << 16): pass
thread = threading.Thread(target=sink)
thread.start()
client = socket.create_connection(server.getsockname())
name = client.getsockopt(socket.IPPROTO_TCP, 13, 16).split(b'\\0')[0].decode()
client.sendall(bytes(20_000_000))
client.close()
thread.join()
print(name)
";
    let command: Vec<OsString> = ["python3", "-c", program].map(OsString::from).into();
    let output = own.inside(&command).output().expect("it starts");
    let wrong = String::from_utf8_lossy(&output.stderr);
    assert_eq!(
        String::from_utf8_lossy(&output.stdout).trim(),
        "xrc",
        "{wrong}"
    );
    let counts = loaded.counts();
    // Both ends of the connection.
    assert_eq!((counts.connections, counts.read), (2, 0));
    drop(loaded);
    // The kernel takes it back when the last connection is gone: in a moment.
    for _ in 0..600 {
        if !available().contains("xrc") {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    panic!("xrc is still there: {}", available());
}
