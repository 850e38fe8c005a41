//! QUIC on real sockets, through the cell.

use serde_json::Value;

use super::aioquic;
use super::{Folder, TRIES, VOID, allowed, slackwater, text, until, went};

/// What the ends of a download and the emulator between them say.
struct Download {
    /// The emulator came late too often: how much arrived in how much time says nothing then.
    void: bool,
    served: Value,
    got: Value,
    live: Value,
}

/// Zeros for `seconds` through an LTE cell, under `cc`.
fn download(cc: &str, seconds: &str, emulate: &[&str], serve: &str, get: &[&str]) -> Download {
    let folder = Folder::new("quic");
    let program = env!("CARGO_BIN_EXE_slackwater");
    let (json, served, got) = (
        folder.file("live"),
        folder.file("served"),
        folder.file("got"),
    );
    let server = format!("exec {program} quic serve --cc {cc} {serve} --json > {served}");
    let mut args = vec![
        "emulate",
        "--isolated",
        "--cell",
        "lte",
        "--delay",
        "20 ms",
        "--queue",
        "256 packets",
        "--no-files",
        "--quiet",
        "--json",
        &json,
        "--server",
        &server,
        "--seconds",
        "600",
    ];
    args.extend(emulate);
    // The server writes its line when the client has gone: the command stays until then.
    let client = format!(
        "{program} quic get $SLACKWATER_SERVER --patience '15 s' --seconds {seconds} --json {} > {got}; \
         until [ -s {served} ]; do sleep 0.05; done",
        get.join(" ")
    );
    args.extend(["--", "sh", "-c", &client]);
    let done = slackwater(&args);
    let said = text(&done.stderr);
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.0.join(name)).unwrap_or_default();
        let line = text.trim();
        serde_json::from_str(line).unwrap_or_else(|e| panic!("{name}: {e}: {line:?}: {said}"))
    };
    Download {
        void: done.status.code() == Some(VOID),
        served: read("served"),
        got: read("got"),
        live: read("live"),
    }
}

fn number(value: &Value) -> f64 {
    value
        .as_f64()
        .unwrap_or_else(|| panic!("found {value}, expected a number"))
}

/// Edges of the spin bit in one direction over a download of 6 s. One edge passes per round trip, and no round trip here is
/// shorter than 20 ms.
const EDGES: std::ops::RangeInclusive<f64> = 5.0..=300.0;

/// A channel without fading.
const STEADY: [&str; 2] = ["--set", "ue.channel={ kind = \"mcs\", mcs = 12 }"];

/// Whether both ends showed the spin bit. quinn does so on seven connections in eight, at each end by itself; on the others it
/// draws the bit for every packet anew (RFC 9000, 17.4), which an observer takes for many more edges than there are round trips.
fn spins(run: &Download) -> bool {
    let quic = &run.live["quic"][0];
    ["spin_edges_down", "spin_edges_up"]
        .iter()
        .all(|edges| EDGES.contains(&number(&quic[edges])))
}

/// CUBIC over QUIC, without and with vAQM: its queue shrinks, and the link stays in use. A connection without spin bit has no
/// round trips for vAQM, so that another one is made. The channel is steady: CUBIC fills a buffer of 240 ms, which a slow machine
/// does not hide, and no stall of the uplink adds to it.
#[test]
fn vaqm_shortens_the_queue_of_a_real_quic_download() {
    if !allowed() {
        return;
    }
    let vaqm = [&["--edge", "vaqm"], &STEADY[..]].concat();
    let one = |emulate: &[&str]| {
        let run = download("cubic", "6", emulate, "", &[]);
        let flow = &run.live["summary"]["flows"][0];
        assert_eq!(run.live["malformed_frames"], 0);
        assert_eq!(flow["up"], false, "the data goes down");
        let median = number(&flow["queue_delay_ms"]["p50"]);
        let goodput = number(&run.got["goodput_mbps"]);
        let much = run.void || number(&run.got["bytes"]) > 1e6;
        (spins(&run), median, goodput, much)
    };

    // Two relations with room, of a median delay and of a goodput; and neither download stands still.
    let relations = (0..TRIES).map(|_| {
        let (_, before, whole, much) = one(&STEADY);
        let (_, after, kept, much_after) = (0..8)
            .map(|_| one(&vaqm))
            .find(|(spins, ..)| *spins)
            .expect("eight connections in a row without a spin bit at both ends: one in 100,000");
        (after / before, kept / whole, much && much_after)
    });
    let (near, far) = until(relations, |(delay, goodput, much)| {
        *delay < 0.5 && *goodput > 0.5 && *much
    });
    assert!(
        near.is_some(),
        "median queue delay and goodput with vAQM over those without, and whether both have 1 MB: {far:?}"
    );
}

/// The cell's reports come to a QUIC sender beside its connection; a UE's transport blocks inside of it, by its client.
#[test]
fn reports_reach_a_quic_sender_beside_and_inside() {
    if !allowed() {
        return;
    }
    let xrc = download(
        "xrc",
        "3",
        &["--edge", "xrc", "--reports", "4434"],
        "--reports 4434",
        &[],
    );
    // A busy machine sends fewer; one that keeps up sends 300.
    let least = |run: &Download| if run.void { 0.0 } else { 50.0 };
    let (sent, beside) = (&xrc.live["reports_sent"], &xrc.served["reports_beside"]);
    assert!(number(sent) > least(&xrc), "{sent}");
    assert!(number(beside) > least(&xrc), "{}", xrc.served);
    assert_eq!(xrc.served["reports_inside"], 0);
    let tyrus = download(
        "tyrus",
        "3",
        &["--blocks", "4500"],
        "",
        &["--relay", "4500"],
    );
    let (relayed, inside) = (&tyrus.got["relayed"], &tyrus.served["reports_inside"]);
    assert!(number(relayed) > least(&tyrus), "{}", tyrus.got);
    assert!(number(inside) > least(&tyrus), "{}", tyrus.served);
    for run in [&xrc, &tyrus] {
        assert!(
            run.void || number(&run.got["bytes"]) > 300_000.0,
            "{}",
            run.got
        );
    }
}

/// A stack that is not ours gets a file through a cell whose queue marks: its counts of CE reach the sender, which fills the link
/// less. The marker leaves ECT(0) alone (RFC 9331, 5.1).
#[test]
fn aioquic_gets_a_file_through_a_cell_that_marks() {
    if !allowed() {
        return;
    }
    let Some(python) = aioquic::python() else {
        return;
    };
    let folder = Folder::new("aioquic");
    let bytes: Vec<u8> = (0..2_000_003_u64).map(|k| ((k * k) >> 7) as u8).collect();
    std::fs::create_dir_all(folder.0.join("files")).expect("a folder can be made");
    std::fs::write(folder.0.join("files/data"), &bytes).expect("the file is written");
    let program = env!("CARGO_BIN_EXE_slackwater");
    // Whether both the sender and the client know of marks, where the file came whole.
    let marks = |cc: &str, ecn: &str, mark: &str| {
        let [files, served, got, copy] = ["files", "served", "got", "copy"].map(|n| folder.file(n));
        let server = format!(
            "exec {program} quic serve {files} --listen 4433 --cc {cc} --ecn {ecn} --transfers 1 --json > {served}"
        );
        let copied = std::path::Path::new(&copy);
        let words = aioquic::words(&python, ["$SLACKWATER_SERVER", "4433"], "data", copied);
        // The server writes its line when all is acknowledged.
        let client = format!(
            "{} --counts > {got} && until [ -s {served} ]; do sleep 0.05; done",
            words.join(" ")
        );
        let emulate = [
            "emulate",
            "--isolated",
            "--cell",
            "lte",
            "--edge",
            "l4s",
            "--delay",
            "20 ms",
        ];
        let quiet = [
            "--no-files",
            "--quiet",
            "--seconds",
            "600",
            "--server",
            &server,
        ];
        let args = [&emulate[..], &STEADY, &quiet, &["--", "sh", "-c", &client]].concat();
        let done = slackwater(&args);
        let said = text(&done.stderr);
        assert!(went(&done), "{cc}: {said}");
        let (served, got) = (folder.json("served"), folder.json("got"));
        assert!(
            std::fs::read(&copy).expect("the copy") == bytes,
            "{cc}: other bytes: {got}"
        );
        // The client closes when it has all: acknowledgments of the last window may never leave.
        assert_eq!(got["not_ect"], 0, "{served} {got}");
        assert!(number(&served[mark]) > 0.0, "{served}");
        let (told, came) = (number(&served["ce"]), number(&got["ce"]));
        assert!(told <= came, "{served} {got}");
        (told > 0.0, came > 0.0)
    };
    assert_eq!(marks("cubic", "classic", "ect0"), (false, false));
    // A sender or a client that comes late fills no queue, so no packet is marked: a busy machine has more than one try.
    let tries = (0..TRIES).map(|_| marks("prague", "l4s", "ect1"));
    let (found, others) = until(tries, |marks| *marks == (true, true));
    assert!(found.is_some(), "{others:?}");
}

/// Two downloads whose servers hear the cell's reports, each its own, and an upload from the same UE.
#[test]
fn a_scenario_runs_over_quic_both_ways_with_reports_for_each() {
    if !allowed() {
        return;
    }
    let folder = Folder::new("both-ways");
    let flow = |controller: &str, way: &str| {
        format!(
            "[[flow]]\ncontroller = \"{controller}\"\ntransport = \"quinn\"\ndirection = \"{way}\"\n"
        )
    };
    let toml = format!(
        "name = \"s\"\nduration = \"5 s\"\nwarmup = \"1 s\"\n[path]\nrtt = \"20 ms\"\n[feedback]\ncarrier = \"datagram\"\n\
         [cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\n[[ue]]\nmobility = {{ kind = \"static\", distance = \"60 m\" }}\n{}{}{}",
        flow("xrc", "down"),
        flow("xrc", "down"),
        flow("cubic", "up")
    );
    let scenario = folder.file("s.toml");
    std::fs::write(&scenario, toml).unwrap();
    let out = folder.file("run");
    let done = slackwater(&[
        "run", "--live", &scenario, "--out", &out, "--force", "--json",
    ]);
    let said = text(&done.stderr);
    let runs: Value = serde_json::from_slice(&done.stdout).expect(&said);
    let flows = runs[1]["flows"].as_array().expect(&said);
    assert_eq!(flows.len(), 3, "{said}");
    for flow in flows {
        assert!(flow["delivered"].as_u64() > Some(100), "{flow}");
    }
    assert_eq!(
        (&flows[0]["up"], &flows[2]["up"]),
        (&Value::Bool(false), &Value::Bool(true))
    );
    let found = std::fs::read_dir(folder.0.join("run")).expect("results");
    let live = found.filter_map(|entry| {
        let path = entry.ok()?.path().join("live.json");
        std::fs::read_to_string(path).ok()
    });
    let found = live.last().expect("of the run in real time");
    let live: Value = serde_json::from_str(&found).expect("JSON");
    // Each server has its own, or XRC would be blind on one of them.
    assert!(live["reports_sent"].as_u64() > Some(10), "{found}");
}
