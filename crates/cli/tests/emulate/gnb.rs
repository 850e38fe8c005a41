//! A cell behind N3, where a socket of the test plays the user plane function, or `slackwater upf` does.

pub(crate) mod peer;

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

use serde_json::Value;
use slackwater_lab::core::{Qfi, Teid};
use slackwater_lab::wire::gtpu::ie::{Element, Elements};
use slackwater_lab::wire::gtpu::psc::{Downlink, Uplink};
use slackwater_lab::wire::gtpu::{Header, Kind, Ntp};
use slackwater_live::emulate::frame;
use slackwater_live::emulate::netns;
use slackwater_live::emulate::tun::Tun;
use slackwater_live::gnb::description::Gnb as Description;
use slackwater_scenario::field::{Field as _, Reference};

use self::peer::{GNB, Gnb, UPF, Upf, address, n3, ping, read};
use super::packets::{FETCH, serve, whole};
use super::signal::{Signal, send};
use super::{Folder, VOID, allowed, command, text};

#[test]
fn a_packet_goes_down_and_up_through_a_cell_behind_n3() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("gnb");
    let space = n3();
    let toml = format!(
        "cell = \"lte\"\n[n3]\naddress = [\"{GNB}\"]\n[reports]\nprofile = \"off\"\n\
         [[ue]]\nname = \"alice\"\naddress = [\"10.45.0.2\", \"2001:db8:45::2\"]\n\
         uplink = {{ address = \"{UPF}\", teid = 17 }}\ndownlink = 1001\nqfi = [1, 5]\n\
         rule = [{{ qfi = 5, protocol = 58 }}]\n"
    );
    let running = Gnb::start(&space, &folder, &toml, 1, &[]);
    let port = |text: &str| SocketAddr::new(address(text), 2152);
    let peer = Upf::new(&space, port(UPF), port(GNB));
    let ues = [
        ("8.8.8.8", "10.45.0.2", 1),
        ("2001:db8::8", "2001:db8:45::2", 5),
    ];
    for (server, ue, qfi) in ues {
        let request = ping(address(server), address(ue), 7, 400);
        peer.packet(1001, 1, &request);
        let up = peer.receive();
        assert_eq!((up.kind, up.teid), (Kind::GPdu, 17));
        // The default rule, and a packet filter.
        assert_eq!(up.content.map(|c| c.qfi), Some(Qfi(qfi)), "{ue}");
        let data = up.payload.len() - 400;
        assert_eq!(
            up.payload[data..],
            request[data..],
            "the answer has the request's data"
        );
        assert_eq!(up.payload.len(), request.len());
    }

    // A stamp is answered: the LTE cell takes some milliseconds each way, and the stamps say when.
    let ask = Downlink {
        qfi: Qfi(1),
        sent: Some(Ntp(0xfeed)),
        ..Downlink::default()
    };
    let request = ping(address("8.8.8.8"), address("10.45.0.2"), 8, 400);
    peer.send(&Header::g_pdu(Teid(1001)), Some(ask), &request);
    let (mut content, mut answers) = (Uplink::default(), 0);
    // A cell that is late sends an empty packet first.
    while {
        let up = peer.receive();
        if let Some(own) = up.content.filter(|c| c.stamps.is_some()) {
            (content, answers) = (own, answers + 1);
        }
        up.payload.is_empty()
    } {}
    assert_eq!(answers, 1);
    let stamps = content.stamps.expect("an answer");
    assert_eq!(stamps.dl_sent, Ntp(0xfeed));
    let inside = stamps.ul_sent.since_ns(stamps.dl_received) / 1_000_000;
    let (down, back) = (
        content.dl_delay.expect("a delay"),
        content.ul_delay.expect("a delay"),
    );
    assert!(down >= 2 && back >= 2, "{down} and {back} ms");
    // Rounded up to milliseconds; the answer leaves after the packet has left the cell.
    assert!(i64::from(down) <= inside + 1, "{down} of {inside} ms");

    // An unknown tunnel, a header that must be understood, an end marker, and an echo request.
    peer.packet(999, 1, &request);
    let indication = peer.receive();
    assert_eq!(indication.kind, Kind::ErrorIndication);
    let mut elements = Elements::new(&indication.payload, 0);
    assert_eq!(elements.next(), Some(Ok(Element::TeidData(Teid(999)))));
    assert_eq!(
        elements.next(),
        Some(Ok(Element::PeerAddress(address(GNB))))
    );
    let mut out = [0; 64];
    let header = Header::g_pdu(Teid(1001));
    let n = header.write(&[(0x84, &[1, 2])], 0, &mut out).expect("room");
    peer.socket.send_to(&out[..n], peer.gnb).expect("it leaves");
    assert_eq!(peer.receive().kind, Kind::SupportedExtensionHeaders);
    peer.send(&Header::end_marker(Teid(1001)), None, &[]);
    let echo = Header {
        kind: Kind::EchoRequest,
        teid: Teid(0),
        seq: Some(77),
        n_pdu: None,
    };
    peer.send(&echo, None, &[]);
    assert_eq!(peer.receive().kind, Kind::EchoResponse);

    let live = running.stop(&folder);
    let n3 = &live["n3"];
    assert_eq!(n3["packets"]["down"], 3, "{n3:#}");
    // The UE's kernel sends multicast reports too.
    assert!(n3["packets"]["up"].as_u64() >= Some(3), "{n3:#}");
    for (key, expected) in [
        ("unknown_teid", 1),
        ("header_not_understood", 1),
        ("end_markers", 1),
        ("measurement_answers", 1),
        ("malformed", 0),
        ("longer_than_path", 0),
        ("socket_overflows", 0),
        ("refused_datagrams", 0),
    ] {
        assert_eq!(n3[key], expected, "{key}: {n3:#}");
    }
    for file in [
        "report.html",
        "summary.json",
        "scenario.toml",
        "links.parquet",
        "live.json",
    ] {
        assert!(folder.0.join("run").join(file).exists(), "{file}");
    }
}

#[test]
fn ipv6_carries_the_epc_form() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("gnb-v6");
    let space = n3();
    let port = |n| SocketAddr::new(address("::1"), n);
    if space
        .inside(|| Ok(UdpSocket::bind(port(2153)).is_err()))
        .unwrap_or(true)
    {
        eprintln!("skipped: no IPv6");
        return;
    }
    let toml = "cell = \"lte\"\n[n3]\naddress = [\"::1\"]\nport = 2152\npsc = false\n\
                [[ue]]\nname = \"bob\"\naddress = [\"10.45.0.3\"]\n\
                uplink = { address = \"::1\", port = 2153, teid = 18 }\ndownlink = 1002\n";
    let running = Gnb::start(&space, &folder, toml, 1, &[]);
    let peer = Upf::new(&space, port(2153), port(2152));
    let request = ping(address("8.8.8.8"), address("10.45.0.3"), 7, 1_000);
    peer.send(&Header::g_pdu(Teid(1002)), None, &request);
    let up = peer.receive();
    assert_eq!(
        (up.kind, up.teid, up.payload.len()),
        (Kind::GPdu, 18, request.len())
    );
    assert!(up.content.is_none());
    running.stop(&folder);
}

/// Moves packets between a device for servers and N3 until `over`; the QFIs of each UE's uplink packets.
fn relay(tun: &mut Tun, peer: &Upf, over: &mut dyn FnMut() -> bool) -> [Vec<u8>; 2] {
    let mut seen = [Vec::new(), Vec::new()];
    let mut buffer = vec![0; frame::FRAME_MAX];
    let brief = Some(Duration::from_millis(1));
    peer.socket.set_read_timeout(brief).expect("a timeout");
    while !over() {
        while let Some(n) = tun.read(&mut buffer).expect("a device") {
            frame::packets(&buffer[..n], |packet| {
                // 10.45.0.2 and 10.45.0.3; the first has a flow of its own for this.
                match packet.get(16..20) {
                    Some([10, 45, 0, 2]) => peer.packet(1001, 5, &packet),
                    Some([10, 45, 0, 3]) => peer.packet(1002, 1, &packet),
                    _ => {}
                }
            });
        }
        while let Ok((n, _)) = peer.socket.recv_from(&mut buffer) {
            let up = read(&buffer[..n]);
            if up.kind == Kind::GPdu && !up.payload.is_empty() {
                let ue = usize::from(up.teid == 18);
                // Nothing but what the UE's commands send: these have no address of IPv6.
                seen[ue].extend(up.content.map(|c| c.qfi.0));
                assert!(tun.write(&[0; frame::HEADER], &up.payload));
            }
        }
    }
    seen
}

/// The client of a server that may come later.
fn patient() -> String {
    FETCH.replace(
        "s = socket.create_connection((host, 7001), timeout=20)",
        "\n    while True:\n        try: s = socket.create_connection((host, 7001), timeout=20); break\n        except ConnectionRefusedError: pass",
    )
}

#[test]
fn tcp_of_two_ues_arrives_whole_over_their_own_flows() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("gnb-tcp");
    let ue = |name: &str, n: u8, teid: u8, more: &str| {
        format!(
            "[[ue]]\nname = \"{name}\"\naddress = [\"10.45.0.{n}\"]\n\
             uplink = {{ address = \"{UPF}\", teid = {teid} }}\ndownlink = {}\n{more}",
            999 + u32::from(n)
        )
    };
    // Rules are those of the bearer too: QFI 5 has one of its own.
    let own = "qfi = [1, 5]\nrule = [{ qfi = 5, protocol = 6, remote_port = 7001 }]\n\
               radio = { bearers = [{ qfi = [1] }, { qfi = [5], priority = 2 }] }\n";
    let toml = format!(
        "cell = \"nr\"\n[n3]\naddress = [\"{GNB}\"]\n[reports]\nprofile = \"off\"\n{}{}",
        ue("alice", 2, 17, own),
        ue("bob", 3, 18, "")
    );
    let space = n3();
    let server = "10.46.0.1";
    let (mut tun, mut serving) = space
        .inside(|| {
            let tun = Tun::open("n6")?;
            let lines = format!(
                "link set dev n6 up\naddr add {server}/24 dev n6\nroute add 10.45.0.0/16 dev n6\n"
            );
            netns::ip(&lines, true)?;
            let serving = Command::new("sh").args(["-c", &serve()]).spawn();
            Ok((tun, serving.expect("python3 starts")))
        })
        .expect("a device");
    let place = folder.0.display().to_string();
    let fetch = patient();
    let more = [
        "--server", server, "--", "python3", "-c", &fetch, &place, "{server}",
    ];
    let port = |text: &str| SocketAddr::new(address(text), 2152);
    let peer = Upf::new(&space, port(UPF), port(GNB));
    let mut running = Gnb::start(&space, &folder, &toml, 2, &more);
    let seen = relay(&mut tun, &peer, &mut || {
        running.child.try_wait().expect("a child").is_some()
    });
    let _ignored = serving.kill();
    let _ignored = serving.wait();
    let mut said = String::new();
    while running.said.read_line(&mut said).is_ok_and(|n| n > 0) {}
    assert_eq!(whole(&folder), [server; 2], "{}", text(said.as_bytes()));
    for (seen, qfi) in seen.iter().zip([5, 1]) {
        assert!(
            seen.len() > 10 && seen.iter().all(|q| *q == qfi),
            "{seen:?}"
        );
    }
    let live = folder.json("live.json");
    assert_eq!(live["exit_code"], 0);
    assert_eq!(live["n3"]["longer_than_path"], 0);
    assert_eq!(live["malformed_frames"], 0);
    let flows = &live["summary"]["flows"];
    let labels: Vec<_> = (0..2).filter_map(|k| flows[k]["label"].as_str()).collect();
    assert!(
        labels[0].ends_with("alice qfi5") && labels[1].ends_with(" bob"),
        "{labels:?}"
    );
}

/// A user plane function of ours in front of the cell: one session, whose tunnel carries the reports too.
const FUNCTION: &str = r#"
[n3]
address = "127.0.0.1"
[n6]
address = "192.0.2.1"
[functions]
vaqm = "auto"
[http]
port = 0
[[session]]
ue = "10.60.0.1"
teid = 0x11
gnb = "127.0.0.2"
gnb_teid = 0x22
reports = true
"#;

/// A user plane function of ours that runs.
struct Function {
    upf: Child,
    said: BufReader<ChildStderr>,
    line: String,
}

impl Function {
    /// Starts one by the file `config`, and waits until it listens.
    fn start(config: &str) -> Self {
        let mut upf = command(&["upf", "--config", config])
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut said = BufReader::new(upf.stderr.take().expect("a pipe"));
        let mut line = String::new();
        said.read_line(&mut line).expect("a pipe");
        Self { upf, said, line }
    }

    /// Ends it, then the `server` behind it; what it printed.
    fn stop(mut self, mut server: Child) -> String {
        send(self.upf.id(), Signal::SIGTERM);
        while self.said.read_line(&mut self.line).is_ok_and(|n| n > 0) {}
        let _ignored = self.upf.wait();
        let _ignored = server.kill();
        let _ignored = server.wait();
        self.line
    }
}

#[test]
fn a_user_plane_function_and_a_cell_carry_tcp() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("gnb-upf");
    let (config, file, json) = (
        folder.file("upf.toml"),
        folder.file("gnb.toml"),
        folder.file("live.json"),
    );
    std::fs::write(&config, FUNCTION).expect("it can be written");
    // Profile `auto`: the function says in its echo response that it reads C.
    let toml = "cell = \"lte\"\n[n3]\naddress = [\"127.0.0.2\"]\n\
                [reports]\nto = { address = \"127.0.0.1\", teid = 0x11 }\n\
                [[ue]]\nname = \"alice\"\naddress = [\"10.60.0.1\"]\n\
                uplink = { address = \"127.0.0.1\", teid = 0x11 }\ndownlink = 0x22\nqfi = [9]\n";
    std::fs::write(&file, toml).expect("it can be written");
    let core = n3();
    let place = folder.0.display().to_string();
    let fetch = patient();
    let started = core.inside(|| {
        let function = Function::start(&config);
        let serving = Command::new("sh").args(["-c", &serve()]).spawn();
        let gnb = [
            "gnb",
            &file,
            "--json",
            &json,
            "--no-files",
            "--quiet",
            "--server",
            "192.0.2.1",
            "--",
            "python3",
            "-c",
            &fetch,
            &place,
            "{server}",
        ];
        let gnb = command(&gnb)
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        Ok((function, serving.expect("python3 starts"), gnb))
    });
    let (function, far, gnb) = started.expect("a namespace");
    let gnb = gnb.wait_with_output().expect("it ends");
    let line = function.stop(far);
    assert_eq!(
        whole(&folder),
        ["192.0.2.1"],
        "{} {line}",
        text(&gnb.stderr)
    );
    let live = folder.json("live.json");
    let n3 = &live["n3"];
    assert_eq!(n3["peers"][0]["answers_echo"], true, "{n3:#}");
    assert!(n3["reports"]["messages"].as_u64() > Some(100), "{n3:#}");
    for key in [
        "malformed",
        "unknown_teid",
        "header_not_understood",
        "longer_than_path",
        "reports/skipped",
    ] {
        assert_eq!(
            n3.pointer(&format!("/{key}")),
            Some(&0.into()),
            "{key}: {n3:#}"
        );
    }
    assert_eq!(n3["error_indications"]["received"], 0, "{n3:#}");
    // What the function says at its end: it took the reports.
    let counters = line.split([' ', '"']);
    let reports = counters.filter_map(|c| c.strip_prefix("reports="));
    let reports: Vec<u64> = reports.filter_map(|n| n.parse().ok()).collect();
    assert!(reports.len() == 1 && reports[0] > 100, "{line}");
}

/// What the ends of a QUIC transfer through function and cell say of the base station's counters.
struct Counted {
    /// The emulator came late too often: how much arrived says nothing then.
    void: bool,
    served: Value,
    live: Value,
    /// What the function says at its end.
    function: String,
}

/// Zeros for some seconds by `ebb`, whose sender takes counters with the key in `servers`: from the server to the UE, or `up`.
fn transfer(folder: &Folder, servers: &str, up: bool) -> Counted {
    let (config, file, json, key, served) = (
        folder.file("upf.toml"),
        folder.file("gnb.toml"),
        folder.file("live.json"),
        folder.file("key"),
        folder.file("served.json"),
    );
    std::fs::write(&key, "the key of the function").expect("it can be written");
    let counters = format!("[counters]\nport = 4434\nkey = \"{key}\"\n[[session]]");
    let function = FUNCTION.replace("[[session]]", &counters);
    std::fs::write(&config, function).expect("it can be written");
    // Profile C by name: what is counted before the function answers an echo request would have no way.
    let toml = "cell = \"lte\"\nedge = [\"ebb\"]\n[n3]\naddress = [\"127.0.0.2\"]\n\
                [reports]\nprofile = \"c\"\nto = { address = \"127.0.0.1\", teid = 0x11 }\n\
                uploads = { port = 4434, key = \"KEY\" }\n[[ue]]\nname = \"alice\"\naddress = [\"10.60.0.1\"]\n\
                uplink = { address = \"127.0.0.1\", teid = 0x11 }\ndownlink = 0x22\nqfi = [9]\n";
    std::fs::write(&file, toml.replace("KEY", &key)).expect("it can be written");
    let program = env!("CARGO_BIN_EXE_slackwater");
    let serve = [
        "quic",
        "serve",
        "--cc",
        "ebb",
        "--reports",
        "4434",
        "--json",
    ];
    let serve = [&serve[..], &["--report-key", servers]].concat();
    let get = ["--patience", "15 s", "--seconds", "4", "--json"];
    let client = if up {
        format!("{program} {} --transfers 1 > {served}", serve.join(" "))
    } else {
        // The server writes its line when the client has gone: the command stays until then.
        format!(
            "{program} quic get {{server}} --patience '15 s' --seconds 4 --json > {}; \
             until [ -s {served} ]; do sleep 0.05; done",
            folder.file("got.json")
        )
    };
    let core = n3();
    let started = core.inside(|| {
        let function = Function::start(&config);
        let far = if up {
            command(&[&["quic", "get", "10.60.0.1"], &get[..]].concat())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
        } else {
            command(&serve)
                .stdout(std::fs::File::create(&served).expect("it can be made"))
                .stderr(Stdio::null())
                .spawn()
        };
        let far = far.expect("it starts");
        let gnb = ["gnb", &file, "--json", &json, "--no-files", "--quiet"];
        let more = ["--server", "192.0.2.1", "--", "sh", "-c", &client];
        let gnb = command(&[&gnb[..], &more].concat())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it starts");
        Ok((function, far, gnb))
    });
    let (function, far, gnb) = started.expect("a namespace");
    let gnb = gnb.wait_with_output().expect("it ends");
    let line = function.stop(far);
    let served = std::fs::read_to_string(&served).unwrap_or_default();
    let first = served.lines().next().unwrap_or_default();
    Counted {
        void: gnb.status.code() == Some(VOID),
        served: serde_json::from_str(first)
            .unwrap_or_else(|e| panic!("{e}: {served:?}: {} {line}", text(&gnb.stderr))),
        live: folder.json("live.json"),
        function: line,
    }
}

/// The base station counts, its reports on N3 have the counters, and the function signs them and sends them to the server.
#[test]
fn counters_of_a_cell_behind_n3_reach_the_sender_by_the_user_plane_function() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("gnb-ebb");
    let run = transfer(&folder, &folder.file("key"), false);
    let (n3, served) = (&run.live["n3"], &run.served);
    // A busy machine sends fewer; one that keeps up sends 800.
    let least = if run.void { 0 } else { 50 };
    assert!(n3["reports"]["counters"].as_u64() > Some(least), "{n3:#}");
    assert_eq!(n3["reports"]["skipped"], 0, "{n3:#}");
    assert!(served["reports_beside"].as_u64() > Some(least), "{served}");
    let counted = |line: &str, name: &str| {
        let values = line.split([' ', '"']);
        let values = values.filter_map(|c| c.strip_prefix(name)?.parse::<u64>().ok());
        values.sum::<u64>()
    };
    let passed = counted(&run.function, "flow_counters=");
    assert!(passed > least, "{}", run.function);
    assert_eq!(counted(&run.function, "flow_counters_refused="), 0);

    // Another key: what the function signed counts for nothing.
    let other = folder.file("other");
    std::fs::write(&other, "some other key of 30 octets").expect("it can be written");
    let run = transfer(&Folder::new("gnb-ebb-key"), &other, false);
    assert!(counted(&run.function, "flow_counters=") > least);
    assert_eq!(run.served["reports_beside"], 0, "{}", run.served);
}

/// A sender at the UE takes them from the base station itself, with the same key or not at all.
#[test]
fn counters_of_an_upload_reach_the_sender_at_the_ue() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("gnb-ebb-up");
    let run = transfer(&folder, &folder.file("key"), true);
    let least = if run.void { 0 } else { 50 };
    assert!(
        run.served["reports_beside"].as_u64() > Some(least),
        "{}",
        run.served
    );

    let other = folder.file("other");
    std::fs::write(&other, "some other key of 30 octets").expect("it can be written");
    let run = transfer(&Folder::new("gnb-ebb-up-key"), &other, true);
    assert_eq!(run.served["reports_beside"], 0, "{}", run.served);
}

#[test]
fn each_key_of_the_file_stands_in_the_documentation() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/gnb.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let mut sections: Vec<Reference> = Vec::new();
    Description::reference("", &mut sections);
    let mut keys = 0;
    for section in &sections {
        // Ends of tunnels, packet filters and thresholds stand in the row of the key that holds them.
        let deep = section.key.matches('.').count() > 1;
        for [key, ..] in &section.rows {
            let name = format!("{}.{key}", section.key)
                .trim_matches('.')
                .to_owned();
            let shown = if deep {
                format!("`{key}`")
            } else {
                format!("`{name}`")
            };
            assert!(page.contains(&shown), "{name}");
            keys += 1;
        }
    }
    assert!(keys > 30, "only {keys} keys found");
}
