//! What goes through.

use super::{Folder, TRIES, allowed, slackwater, text, until, went};

/// Sends datagrams of 1,500 IP bytes to the UE at `{rate}` bit/s for `{seconds}` s, once it has said hello.
const BLAST: &str = r"
import socket, time, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(('0.0.0.0', 7000))
_, peer = s.recvfrom(100)
start = time.monotonic()
sent = 0
while True:
    t = time.monotonic() - start
    if t > {seconds}: break
    while sent * 12000 < t * {rate}:
        s.sendto(bytes(1472), peer)
        sent += 1
    time.sleep(0.001)
";
const HELLO: &str = r"
import socket, time, sys
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(1.5)
for _ in range(20):
    s.sendto(b'hello', (sys.argv[1], 7000))
    try:
        s.recv(2000)
        break
    except socket.timeout: pass
try:
    while True: s.recv(2000)
except socket.timeout: pass
";

/// What a log says of one millisecond.
#[derive(Clone, Copy, Default)]
struct Millisecond {
    /// Packets that came, less those dropped.
    came: i64,
    /// Packets of 1,500 bytes that left.
    left: i64,
    /// Opportunities.
    opportunities: i64,
    /// Shorter packets that left: each takes an opportunity in which no whole one has room any more.
    short: i64,
}

/// The milliseconds of a log.
fn milliseconds(log: &str) -> Vec<Millisecond> {
    let mut all: Vec<Millisecond> = Vec::new();
    for line in log.lines().filter(|l| !l.starts_with('#')) {
        let words: Vec<&str> = line.split(' ').collect();
        let ms: usize = words[0].parse().unwrap();
        if all.len() <= ms {
            all.resize(ms + 1, Millisecond::default());
        }
        match words[1..] {
            ["+", "1500"] => all[ms].came += 1,
            ["-", "1500", _] => all[ms].left += 1,
            // The queue drops what arrives.
            ["d", "1", "1500"] => all[ms].came -= 1,
            ["-", ..] => all[ms].short += 1,
            ["#", _] => all[ms].opportunities += 1,
            _ => {}
        }
    }
    all
}

/// A link uses its opportunities: in each millisecond before which enough packets waited for all of them, as many leave. A sender
/// that gets no processor leaves fewer such milliseconds, and none that is wasted.
fn delivers(mbps: u32) {
    let folder = Folder::new("delivers");
    let seconds = 3;
    let server = BLAST
        .replace("{rate}", &(u64::from(mbps) * 1_300_000).to_string())
        .replace("{seconds}", &seconds.to_string());
    let server = format!("exec python3 -c \"{server}\"");
    let trace = folder.file("trace");
    // One for each 1,500 bytes of the rate, over a second.
    let each = mbps * 1000 / 12;
    let lines: String = (1..=each)
        .map(|k| (k * 1000).div_ceil(each).to_string() + "\n")
        .collect();
    std::fs::write(&trace, lines).unwrap();
    let log = folder.file("log");
    let done = slackwater(&[
        "emulate",
        "--isolated",
        "--trace",
        &trace,
        "--queue",
        "200 packets",
        "--no-files",
        "--server",
        &server,
        "--downlink-log",
        &log,
        "--seconds",
        "600",
        "--",
        "python3",
        "-c",
        HELLO,
        "{server}",
    ]);
    assert!(went(&done), "{}", text(&done.stderr));
    let log = std::fs::read_to_string(&log).unwrap();
    let (mut waiting, mut judged, mut wasted) = (0, 0, 0);
    for ms in milliseconds(&log) {
        if waiting >= ms.opportunities {
            judged += ms.opportunities;
            wasted += (ms.opportunities - ms.left - ms.short).max(0);
        }
        assert!(
            ms.left <= ms.opportunities,
            "more packets than opportunities"
        );
        waiting += ms.came - ms.left;
        assert!(waiting >= 0, "what leaves has come");
    }
    assert!(judged > 500, "{judged} opportunities with packets waiting");
    assert_eq!(
        wasted,
        0,
        "{mbps} Mbit/s: of {judged} opportunities; {}",
        text(&done.stderr)
    );
}

#[test]
fn a_full_link_uses_its_opportunities() {
    if !allowed() {
        return;
    }
    delivers(12);
    delivers(100);
}

/// Serves `{bytes}` bytes over TCP, to IPv4 and IPv6.
const SERVE: &str = r"
import socket
s = socket.create_server(('::', 7001), family=socket.AF_INET6, dualstack_ipv6=True)
while True:
    c, _ = s.accept()
    c.sendall(bytes(range(250)) * 8000)
    c.close()
";
/// Fetches them from each host, checks every byte, and writes into a file of its own in the folder which were whole.
pub(super) const FETCH: &str = r"
import os, socket, sys, tempfile
folder, *hosts = sys.argv[1:]
whole = []
for host in hosts:
    got = b''
    s = socket.create_connection((host, 7001), timeout=20)
    while True:
        piece = s.recv(1 << 16)
        if not piece: break
        got += piece
    assert got == bytes(range(250)) * 8000, (host, len(got))
    whole.append(host)
file, _ = tempfile.mkstemp(prefix='whole-', dir=folder)
os.write(file, ' '.join(whole).encode())
";

pub(super) fn serve() -> String {
    format!("exec python3 -c \"{SERVE}\"")
}

/// What the clients wrote into `folder`; the files are gone afterwards.
pub(super) fn whole(folder: &Folder) -> Vec<String> {
    let files = std::fs::read_dir(&folder.0).expect("it is there").flatten();
    files
        .filter(|f| f.file_name().to_string_lossy().starts_with("whole-"))
        .map(|f| {
            let text = std::fs::read_to_string(f.path()).expect("it is a file");
            std::fs::remove_file(f.path()).expect("it is ours");
            text
        })
        .collect()
}

#[test]
fn a_download_arrives_whole_through_every_kind_of_middle() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("whole");
    let out = folder.file("run");
    let middles: [&[&str]; 5] = [
        &["--rate", "50", "--delay", "5 ms"],
        &["--cell", "lte"],
        &["--cell", "nr", "--edge", "vaqm,xrc"],
        &["--cell", "lte", "--edge", "cecc"],
        &["--cell", "nr-100mhz", "--edge", "l4s", "--ues", "2"],
    ];
    let v6 = "fd51:ac4b:7761::1";
    for middle in middles {
        let server = serve();
        let mut args = vec![
            "emulate",
            "--isolated",
            "--server",
            &server,
            "--out",
            &out,
            "--seconds",
            "600",
        ];
        args.extend(middle);
        let place = folder.0.display().to_string();
        args.extend(["--", "python3", "-c", FETCH, &place, "{server}", v6]);
        let done = slackwater(&args);
        assert!(went(&done), "{middle:?}: {}", text(&done.stderr));
        let copies = if middle.contains(&"--ues") { 2 } else { 1 };
        let both = format!("100.64.0.1 {v6}");
        assert_eq!(whole(&folder), vec![both; copies], "{middle:?}");
        let live = folder.json("run/live.json");
        assert_eq!(live["malformed_frames"], 0, "{middle:?}");
        assert_eq!(live["refused_packets"], 0, "{middle:?}");
        for file in [
            "report.html",
            "summary.json",
            "scenario.toml",
            "links.parquet",
            "throughput.parquet",
        ] {
            assert!(folder.0.join("run").join(file).exists(), "{file}");
        }
        let flows = folder.json("run/summary.json")["flows"]
            .as_array()
            .map_or(0, Vec::len);
        assert_eq!(flows, 2 * copies, "{middle:?}");
    }
}

/// Three deep: the innermost command reaches the outermost server by either version of IP, and so does what stands between.
#[test]
fn emulators_nest() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("nest");
    let place = folder.0.display().to_string();
    let server = serve();
    let inner = env!("CARGO_BIN_EXE_slackwater");
    let outermost = ["100.64.0.1", "fd51:ac4b:7761::1"];
    let fetch = ["python3", "-c", FETCH, &place, outermost[0], outermost[1]];
    for depth in 2..=3 {
        let mut args = vec![
            "emulate",
            "--isolated",
            "--rate",
            "50",
            "--server",
            &server,
            "--no-files",
            "--quiet",
            "--seconds",
            "600",
        ];
        for _ in 1..depth {
            args.extend(["--", inner, "emulate", "--rate", "40"]);
            args.extend(["--no-files", "--quiet"]);
        }
        args.push("--");
        args.extend(fetch);
        let done = slackwater(&args);
        let found = whole(&folder);
        assert_eq!(
            found,
            [outermost.join(" ")],
            "{depth} deep: {}",
            text(&done.stderr)
        );
    }
}

/// Downloads, and looks at the acknowledgments on the server side.
#[test]
fn the_cells_reports_are_on_acknowledgments() {
    if !allowed() {
        return;
    }
    let sniff = r"
import socket, threading
raw = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800))
def look():
    seen = 0
    while True:
        p = raw.recv(2000)
        if p[9] == 6 and b'\xfd\x0cXR' in p[:80]:
            seen += 1
            if seen == 20: open('{file}', 'w').write('seen')
threading.Thread(target=look, daemon=True).start()
";
    let folder = Folder::new("reports");
    let file = folder.file("seen");
    let server = format!(
        "exec python3 -c \"{}{SERVE}\"",
        sniff.replace("{file}", &file)
    );
    let done = slackwater(&[
        "emulate",
        "--isolated",
        "--cell",
        "lte",
        "--edge",
        "xrc",
        "--server",
        &server,
        "--no-files",
        "--seconds",
        "600",
        "--",
        "python3",
        "-c",
        FETCH,
        &folder.0.display().to_string(),
        "{server}",
    ]);
    assert!(went(&done), "{}", text(&done.stderr));
    assert_eq!(std::fs::read_to_string(file).unwrap_or_default(), "seen");
}

#[test]
fn a_scenario_runs_with_the_kernels_senders() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("kernel");
    let scenario = folder.file("s.toml");
    let toml = "name = \"s\"\nduration = \"5 s\"\nwarmup = \"1 s\"\n[path]\nrtt = \"20 ms\"\n\
                [link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"60 packets\" }\n\
                [[flow]]\ncontroller = \"reno\"\n";
    std::fs::write(&scenario, toml).unwrap();
    let out = folder.file("run");
    // A machine with other work comes late now and then, in one run and not in the next.
    let ratios = (0..TRIES).map(|_| {
        let done = slackwater(&["run", "--live", &scenario, "--out", &out, "--json"]);
        let said = text(&done.stderr);
        let runs: serde_json::Value = serde_json::from_slice(&done.stdout).expect(&said);
        let goodput = |i: usize| runs[i]["goodput_mbps"].as_f64().unwrap_or(0.0);
        assert_eq!(runs.as_array().map_or(0, Vec::len), 2, "{said}");
        let srtt = &runs[1]["flows"][0]["srtt_ms"];
        assert!(
            srtt["p50"].as_f64().is_some_and(|ms| ms >= 20.0),
            "the kernel's own RTT: {srtt}"
        );
        goodput(1) / goodput(0)
    });
    // A relation with room: both fill the link.
    let (near, far) = until(ratios, |ratio| (ratio - 1.0).abs() < 0.1);
    assert!(
        near.is_some(),
        "the kernel's goodput over the simulated: {far:?}"
    );
    assert!(folder.0.join("run/report.html").exists());
}

#[test]
fn the_kernels_senders_are_held_beside_ours() {
    if !allowed() {
        return;
    }
    let done = slackwater(&[
        "validate",
        "--live",
        "--quick",
        "--repeats",
        "1",
        "--case",
        "constant",
        "--controller",
        "cubic",
        "--json",
    ]);
    let said = text(&done.stderr);
    if said.starts_with("skipped:") {
        eprintln!("{said}");
        return;
    }
    let all: serde_json::Value = serde_json::from_slice(&done.stdout).expect(&said);
    let group = &all["groups"][0];
    assert_eq!(group["group"]["controller"], "cubic");
    if group["group"]["pairs"][0]["kernel"].is_null() {
        // A machine on which every try came late says so, and fails.
        assert_eq!(done.status.code(), Some(1), "{said}");
        return;
    }
    let goodput = &group["rows"][0];
    assert_eq!(goodput["what"], "goodput");
    let mean = |side: &str| goodput[side]["mean"].as_f64().unwrap_or(0.0);
    // Both fill 12 Mbit/s.
    assert!(
        mean("simulated") > 11.0 && mean("kernel") > 11.0,
        "{goodput}"
    );
}
