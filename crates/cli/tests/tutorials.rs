//! The tutorials' programs run, and the pages show their code.

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The status of a void run, as docs/emulate.md has it.
const VOID: i32 = 75;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// A program of examples/, which `cargo test` builds beside the command.
fn example(name: &str, args: &[&str]) -> Output {
    let bin = Path::new(env!("CARGO_BIN_EXE_slackwater"));
    let program = bin.parent().expect("in a folder").join("examples");
    let out = Command::new(program.join(name)).args(args).output();
    out.unwrap_or_else(|e| {
        panic!("{name}: {e}; `cargo build -p slackwater-cli --examples` makes it")
    })
}

fn text(out: &Output) -> String {
    let errors = String::from_utf8_lossy(&out.stderr);
    assert!(out.status.success(), "{errors}");
    String::from_utf8(out.stdout.clone()).expect("UTF-8")
}

#[test]
fn a_controller_of_ones_own_runs_by_name() {
    let short = ["--set", "duration=4 s", "--no-files", "--json"];
    let named = ["compare", "lte-demo", "--controllers", "mine,cubic"];
    let out = text(&example("my-controller", &[&named[..], &short].concat()));
    let runs: serde_json::Value = serde_json::from_str(&out).expect("JSON");
    let queue = |i: usize| runs[i]["flows"][0]["queue_delay_ms"]["p50"].as_f64();
    let rate = |i: usize| runs[i]["flows"][0]["goodput_mbps"].as_f64();
    assert_eq!(runs[0]["flows"][0]["controller"], "mine");
    assert!(queue(0) < queue(1) && rate(0) > Some(1.0), "{out}");
    assert!(text(&example("my-controller", &["list"])).contains("  mine  "));
    // The command itself does not know it.
    let bin = env!("CARGO_BIN_EXE_slackwater");
    let args = [
        "run",
        "lte-demo",
        "--no-files",
        "--set",
        "flow.controller=mine",
    ];
    let out = Command::new(bin).args(args).output().expect("it starts");
    assert_eq!(out.status.code(), Some(2));
}

#[test]
fn a_system_of_ones_own_gives_what_its_page_says() {
    let cell = root().join("examples/sixth-system/cell.toml");
    let cell = cell.to_str().expect("UTF-8");
    let out = text(&example("sixth-system", &["compare", cell, "--no-files"]));
    let page = read("docs/tutorials/system.md");
    let rows = page.lines().filter(|l| l.starts_with("| `ebb:"));
    let mut seen = 0;
    for row in rows {
        let cells: Vec<&str> = row.split('|').map(|c| c.trim().trim_matches('`')).collect();
        let line = out
            .lines()
            .find(|l| l.starts_with(&format!("{} ", cells[1])));
        let line = line.unwrap_or_else(|| panic!("no run {}: {out}", cells[1]));
        for number in &cells[2..5] {
            assert!(
                line.split_whitespace().any(|w| w == *number),
                "{number}: {line}"
            );
        }
        seen += 1;
    }
    assert_eq!(seen, 3, "rows of the page");
    let wrong = example("sixth-system", &["run", cell, "--set", "upf.system=flow"]);
    let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
    assert!(
        said.contains("upf.system: found \"flow\", expected one of ebb"),
        "{said}"
    );
}

#[test]
fn a_cross_layer_sender_of_ones_own_gives_what_its_page_says() {
    let cell = root().join("examples/my-sender/cell.toml");
    let cell = cell.to_str().expect("UTF-8");
    let out = text(&example("my-sender", &["compare", cell, "--no-files"]));
    let page = read("docs/tutorials/sender.md");
    for name in ["brim", "cubic", "bbr"] {
        let row = page
            .lines()
            .find(|l| l.starts_with(&format!("| `{name}` |")));
        let row = row.unwrap_or_else(|| panic!("the page lacks {name}"));
        let line = out.lines().find(|l| l.starts_with(&format!("{name} ")));
        let line = line.unwrap_or_else(|| panic!("no run {name}: {out}"));
        for number in row
            .split('|')
            .skip(2)
            .map(str::trim)
            .filter(|n| !n.is_empty())
        {
            assert!(
                line.split_whitespace().any(|w| w == number),
                "{number}: {line}"
            );
        }
    }

    // The reports travel beside the ACKs too, and without any the sender stays at its first window.
    let flow = |more: &[&str]| -> Vec<f64> {
        let args = ["run", cell, "--no-files", "--json"];
        let out = text(&example("my-sender", &[&args[..], more].concat()));
        let run: serde_json::Value = serde_json::from_str(&out).expect("JSON");
        let of = &run["flows"][0];
        let numbers = [&of["goodput_mbps"], &of["queue_delay_ms"]["p95"]];
        numbers.map(|n| n.as_f64().expect("a number")).to_vec()
    };
    let datagrams = flow(&["--set", "feedback.carrier=datagram"]);
    assert!(datagrams[0] > 30.0 && datagrams[1] < 10.0, "{datagrams:?}");
    let none = flow(&["--set", "feedback.faults.stop=0 s"]);
    assert!(none[0] < 10.0, "{none:?}");

    assert!(text(&example("my-sender", &["list"])).contains("  gauge  "));
    for (set, expected) in [
        ("feedback.own_agent=gage", "expected one of gauge"),
        ("feedback.own_agent=gauge:3", "no parameters, not \"3\""),
    ] {
        let wrong = example("my-sender", &["run", cell, "--set", set]);
        let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
        assert!(said.contains(expected), "{said}");
    }
}

#[test]
fn a_scheduler_and_a_law_of_ones_own_give_what_their_page_says() {
    let cell = root().join("examples/my-scheduler/cell.toml");
    let cell = cell.to_str().expect("UTF-8");
    let compare = |more: &[&str]| -> serde_json::Value {
        let args = ["compare", cell, "--no-files", "--json"];
        let out = text(&example("my-scheduler", &[&args[..], more].concat()));
        serde_json::from_str(&out).expect("JSON")
    };
    let number = |run: &serde_json::Value, flow: usize, path: &str| {
        run["flows"][flow]
            .pointer(path)
            .and_then(serde_json::Value::as_f64)
    };
    let p95 = "/queue_delay_ms/p95";

    // The table of the page, and what the standard promises 5QI 80: 10 ms.
    let runs = compare(&[]);
    let page = read("docs/tutorials/scheduler.md");
    for (i, name) in ["rr", "pf", "exp-pf", "m-lwdf"].into_iter().enumerate() {
        let run = &runs[i];
        let downloads: f64 = (2..8)
            .map(|flow| number(run, flow, "/goodput_mbps").expect("a number"))
            .sum();
        let far = number(run, 1, "/goodput_mbps").expect("a number");
        let late = number(run, 1, p95).expect("a number");
        let row = format!("| `{name}` | {far:.2} | {late:.1} | {downloads:.1} |");
        assert!(page.contains(&row), "the page lacks {row}");
        assert_eq!(late < 10.0, name == "m-lwdf", "{name}: {late} ms");
    }

    let blue = compare(&["--set", "cell.rlc.law=blue:40"]);
    let (before, after) = (number(&runs[1], 2, p95), number(&blue[1], 2, p95));
    assert!(after < before.map(|ms| ms / 4.0), "{before:?} {after:?}");

    // Both are listed, and what they refuse is said where it stands.
    let list = text(&example("my-scheduler", &["list"]));
    assert!(
        list.contains("  m-lwdf  ") && list.contains("  blue  "),
        "{list}"
    );
    for (key, found) in [("cell.scheduler", "m-lwdf:3"), ("cell.rlc.law", "blu")] {
        let set = format!("{key}={found}");
        let wrong = example("my-scheduler", &["run", cell, "--set", &set]);
        let said = String::from_utf8_lossy(&wrong.stderr).into_owned();
        let expected = format!("{key}: found \"{found}\", expected ");
        assert!(said.contains(&expected), "{said}");
    }
}

/// A folder of results of its own, gone afterwards.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let name = format!("tutorials-{name}-{}", std::process::id());
        Self(Path::new(env!("CARGO_TARGET_TMPDIR")).join(name))
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("UTF-8")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn json(out: &Output) -> serde_json::Value {
    serde_json::from_str(&text(out)).expect("JSON")
}

fn said(out: &Output) -> String {
    assert_eq!(out.status.code(), Some(2));
    String::from_utf8_lossy(&out.stderr).into_owned()
}

/// Names of the systems of the first cell.
fn rows(table: &serde_json::Value) -> Vec<String> {
    let systems = table["cells"][0]["systems"].as_array().expect("systems");
    let names = systems.iter().filter_map(|s| s["name"].as_str());
    names.map(str::to_owned).collect()
}

#[test]
fn a_part_of_ones_own_has_a_row_in_the_arena() {
    let folder = Folder::new("arena");
    let look = ["--quick", "--seeds", "1", "--cells", "lte-steps"];
    let arena = |program: &str, more: &[&str]| {
        let place = ["--out", folder.path(), "--json"];
        example(program, &[&["arena"], &look[..], &place, more].concat())
    };
    let built_in = arena("my-controller", &["--systems", "cubic"]);
    assert_eq!(rows(&json(&built_in)), ["cubic"]);
    // CUBIC's run is there already, whichever program made it.
    let mine = arena("my-controller", &["--systems", "cubic", "--also", "mine"]);
    let progress = String::from_utf8_lossy(&mine.stderr).into_owned();
    assert!(
        progress.contains("1 runs (1 of 2 are there already)"),
        "{progress}"
    );
    let table = json(&mine);
    assert_eq!(rows(&table), ["cubic", "mine"]);
    let queue = |i: usize| table["cells"][0]["systems"][i]["values"]["delay_p95"]["mean"].as_f64();
    assert!(queue(1) < queue(0), "{table}");
    let system = arena("sixth-system", &["--systems", "cubic,cubic+ebb:30"]);
    assert_eq!(rows(&json(&system)), ["cubic", "cubic+ebb:30"]);
    let others = ["--systems", "cubic+blue:40,cubic+m-lwdf"];
    let parts = arena("my-scheduler", &others);
    assert_eq!(rows(&json(&parts)), ["cubic+blue:40", "cubic+m-lwdf"]);

    let refused = said(&arena(
        "my-controller",
        &["--seed", "9", "--also", "mine", "--ray", "auto"],
    ));
    assert!(refused.contains("--ray: found mine"), "{refused}");
    let unknown = said(&arena("sixth-system", &["--also", "mine"]));
    assert!(unknown.contains("found \"mine\""), "{unknown}");
}

#[test]
fn a_controller_of_ones_own_stands_beside_a_studys_senders() {
    let folder = Folder::new("repro");
    let out = ["--out", folder.path()];
    let study = |more: &[&str]| {
        let args = ["repro", "xrc", "--only", "fig3", "--seeds", "1"];
        example("my-controller", &[&args[..], &out, more].concat())
    };
    let plain = study(&["--json"]).stdout;
    let mine = study(&["--json", "--also", "mine"]);
    assert_eq!(mine.stdout, plain, "no verdict changes");
    let page = std::fs::read_to_string(folder.0.join("index.html")).expect("the page");
    assert!(page.contains("Beside the paper: mine"));
    let refused = said(&study(&["--also", "min"]));
    assert!(
        refused.contains("--also min") && refused.contains("\"mine\"?"),
        "{refused}"
    );
}

#[test]
fn a_system_of_ones_own_takes_real_packets() {
    let unknown = said(&example(
        "sixth-system",
        &["emulate", "--cell", "lte", "--edge", "eb"],
    ));
    assert!(
        unknown.contains("--edge: found \"eb\", expected one of vaqm, cecc, xrc, l4s, ebb"),
        "{unknown}"
    );
    let refused = [
        "emulate",
        "--cell",
        "lte",
        "--edge",
        "ebb:soon",
        "--no-files",
        "--",
        "true",
    ];
    let refused = said(&example("sixth-system", &refused));
    assert!(
        refused.contains("upf.system: found \"ebb:soon\""),
        "{refused}"
    );

    let folder = Folder::new("emulate");
    let bin = env!("CARGO_BIN_EXE_slackwater");
    let server = format!("{bin} quic serve --transfers 1");
    let through = |program: &str, more: &[&str]| {
        let args = [
            "emulate",
            "--cell",
            "lte",
            "--isolated",
            "--quiet",
            "--server",
            &server,
        ];
        let out = ["--out", folder.path()];
        let patience = ["--patience", "10 s", "--json"];
        let get = ["--", bin, "quic", "get", "{server}", "--bytes", "200kB"];
        example(program, &[&args[..], &out, more, &get, &patience].concat())
    };
    // A loaded machine may miss slots: the run is void by its status then, and the transfer is whole all the same.
    let got = |done: &Output| {
        let errors = String::from_utf8_lossy(&done.stderr);
        assert!(matches!(done.status.code(), Some(0 | VOID)), "{errors}");
        let said: serde_json::Value = serde_json::from_slice(&done.stdout).expect("JSON");
        assert_eq!(said["bytes"], 200_000, "{said}");
    };
    let done = through("sixth-system", &["--edge", "ebb:30"]);
    if done.status.code() == Some(2) {
        eprintln!("skipped: {}", String::from_utf8_lossy(&done.stderr));
        return;
    }
    got(&done);
    let scenario = std::fs::read_to_string(folder.0.join("scenario.toml")).expect("the scenario");
    assert!(scenario.contains("system = \"ebb:30\""), "{scenario}");
    let keys = [
        "--set",
        "cell.scheduler=m-lwdf",
        "--set",
        "cell.rlc.law=blue:40",
    ];
    got(&through("my-scheduler", &keys));
    let scenario = std::fs::read_to_string(folder.0.join("scenario.toml")).expect("the scenario");
    assert!(
        scenario.contains("\"m-lwdf\"") && scenario.contains("\"blue:40\""),
        "{scenario}"
    );
}

#[test]
fn quinn_of_ones_own_sends_under_prague() {
    let out = text(&example("on-quinn", &["prague"]));
    assert!(
        out.contains("prague: the server got 10000000 bytes"),
        "{out}"
    );
}

#[test]
fn webrtc_rs_of_ones_own_sends_under_cl4s() {
    let out = text(&example("on-rtc", &["cl4s"]));
    let last = out.lines().last().expect("a line a second");
    let number = |before: &str| -> f64 {
        let at = last.find(before).map(|i| &last[..i]).unwrap_or_default();
        let word = at.split_whitespace().last().unwrap_or_default();
        word.parse().unwrap_or(f64::NAN)
    };
    // It grew from 2 Mbit/s towards the link's 10, by marks that came back: those that are on their way are not seen yet.
    assert!((2.0..10.0).contains(&number("Mbit/s")), "{out}");
    let (marked, seen) = (number("marked"), number("seen as CE"));
    assert!(
        seen > 0.0 && seen <= marked && marked - seen < 50.0,
        "{out}"
    );
}

#[test]
fn a_controller_of_ones_own_serves_files() {
    let bin = Path::new(env!("CARGO_BIN_EXE_slackwater"));
    let program = bin
        .parent()
        .expect("in a folder")
        .join("examples/my-controller");
    let serve = [
        "quic",
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--transfers",
        "1",
        "--json",
        "--cc",
    ];
    let mut server = Command::new(&program)
        .args([&serve[..], &["mine"]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    let mut lines = BufReader::new(server.stderr.take().expect("a pipe")).lines();
    let first = lines.next().expect("a line").expect("text");
    let address = first.strip_prefix("quic: mine at ").expect(&first);
    let get = ["quic", "get", address, "--bytes", "200kB", "--json"];
    let got = Command::new(bin).args(get).output().expect("it starts");
    let done = server.wait_with_output().expect("it ends");
    assert_eq!(json(&got)["bytes"], 200_000);
    assert_eq!(json(&done)["controller"], "mine");
    let unknown = said(&example("sixth-system", &[&serve[..], &["mine"]].concat()));
    assert!(
        unknown.contains("--cc: no controller is named \"mine\""),
        "{unknown}"
    );
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every block after `<!-- file: PATH -->` is a part of that file.
#[test]
fn the_pages_show_the_code_that_runs() {
    let folder = root().join("docs/tutorials");
    let pages: Vec<PathBuf> = std::fs::read_dir(folder)
        .expect("docs/tutorials is there")
        .map(|entry| entry.expect("readable").path())
        .filter(|path| path.extension().is_some_and(|e| e == "md"))
        .collect();
    let mut blocks = 0;
    for page in pages {
        let text = std::fs::read_to_string(&page).expect("readable");
        let mut parts = text.split("<!-- file: ");
        parts.next();
        for part in parts {
            let (path, rest) = part.split_once(" -->\n```").expect("a block follows");
            let (_, rest) = rest.split_once('\n').expect("a block has lines");
            let (code, _) = rest.split_once("\n```").expect("a block ends");
            let shown = page.display();
            assert!(read(path).contains(code), "{shown}: not in {path}:\n{code}");
            blocks += 1;
        }
    }
    assert!(blocks >= 7, "{blocks} blocks");
}
