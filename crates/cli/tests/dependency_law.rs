//! The dependency law of ARCHITECTURE.md, read from `cargo metadata` and enforced.
//!
//! Normal and build dependencies are held to the law. Dev-dependencies may break it for the sake of a test (an edge
//! function tested against a cell, say); they are printed, so that `--nocapture` shows what the tests reach for.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// Each crate and the floor directly below it. Everything further down follows by closure.
///
/// A crate may use anything below it, and nothing beside or above it.
const LAW: &[(&str, &[&str])] = &[
    ("core", &[]),
    ("schema", &["core"]),
    ("signal", &["core"]),
    ("queue", &["core"]),
    ("ran", &["signal", "queue", "schema"]),
    ("edge", &["signal", "queue", "schema"]),
    ("wire", &["signal"]),
    ("control", &["signal"]),
    ("quinn", &["control"]),
    ("estimator", &["control"]),
    ("transport", &["control"]),
    ("quic", &["transport", "quinn"]),
    ("rtc", &["transport", "wire"]),
    ("upf", &["wire", "edge"]),
    ("sim", &["ran", "wire", "edge", "quic"]),
    ("scenario", &["sim"]),
    ("results", &["scenario"]),
    ("lab", &["results"]),
    ("report", &["lab"]),
    ("papers", &["report"]),
    ("live", &["lab", "upf", "rtc"]),
    ("cli", &["live", "papers"]),
    ("py", &["cli"]),
];

/// Crates that touch clocks, files and threads; all others are sans-IO.
const DRIVERS: &[&str] = &[
    "scenario", "results", "lab", "report", "papers", "live", "py", "cli",
];

/// Direct dependencies that would bring a clock, a thread, a socket or unseeded randomness into a sans-IO crate.
const IMPURE: &[&str] = &[
    "async-std",
    "chrono",
    "crossbeam-channel",
    "fastrand",
    "getrandom",
    "mio",
    "nix",
    "rand",
    "rayon",
    "rustix",
    "smol",
    "socket2",
    "tempfile",
    "time",
    "tokio",
];

/// One dependency edge of the workspace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Edge {
    from: String,
    to: String,
    dev: bool,
}

fn edge(from: &str, to: &str, dev: bool) -> Edge {
    Edge {
        from: from.into(),
        to: to.into(),
        dev,
    }
}

/// For each crate of the law, all crates that it may use.
fn closure() -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    let mut below: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, direct) in LAW {
        let mut all = BTreeSet::new();
        for floor in *direct {
            let lower = below.get(floor).unwrap_or_else(|| {
                panic!("the law names `{floor}` below `{name}` before defining it")
            });
            all.insert(*floor);
            all.extend(lower);
        }
        below.insert(name, all);
    }
    below
}

/// The edges that break the law, each with the reason.
fn violations(edges: &[Edge]) -> Vec<String> {
    let below = closure();
    edges
        .iter()
        .filter_map(|e| match below.get(e.from.as_str()) {
            None => Some(format!(
                "`{}` is not in the law: place it on a floor",
                e.from
            )),
            Some(floor) if floor.contains(e.to.as_str()) => None,
            Some(_) if below.contains_key(e.to.as_str()) => Some(format!(
                "`{}` uses `{}`, which is not below it",
                e.from, e.to
            )),
            Some(_) => Some(format!(
                "`{}` uses `{}`, which is not in the law",
                e.from, e.to
            )),
        })
        .collect()
}

/// The workspace as cargo describes it, without its registry dependencies' own graphs.
fn metadata() -> Value {
    let cargo = option_env!("CARGO").unwrap_or("cargo");
    let out = Command::new(cargo)
        .args([
            "metadata",
            "--no-deps",
            "--format-version",
            "1",
            "--offline",
        ])
        .arg("--manifest-path")
        .arg(root().join("Cargo.toml"))
        .output()
        .expect("cargo metadata starts");
    assert!(
        out.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    serde_json::from_slice(&out.stdout).expect("cargo metadata prints JSON")
}

/// The workspace root.
fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .expect("crates/cli lies two levels below the root")
        .to_owned()
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value[key]
        .as_str()
        .unwrap_or_else(|| panic!("cargo metadata: `{key}` is a string"))
}

fn packages(meta: &Value) -> &[Value] {
    meta["packages"]
        .as_array()
        .expect("cargo metadata lists packages")
}

/// `slackwater-ran` as the law calls it: `ran`.
fn short(package: &str) -> &str {
    package.strip_prefix("slackwater-").unwrap_or(package)
}

fn dependencies(package: &Value) -> impl Iterator<Item = (&str, bool)> {
    package["dependencies"]
        .as_array()
        .expect("cargo metadata lists dependencies")
        .iter()
        .map(|d| (text(d, "name"), d["kind"].as_str() == Some("dev")))
}

/// All edges between members of the workspace.
fn edges(meta: &Value) -> Vec<Edge> {
    let members: BTreeSet<&str> = packages(meta).iter().map(|p| text(p, "name")).collect();
    let mut edges: Vec<Edge> = packages(meta)
        .iter()
        .flat_map(|p| dependencies(p).map(move |(to, dev)| (text(p, "name"), to, dev)))
        .filter(|(_, to, _)| members.contains(to))
        .map(|(from, to, dev)| edge(short(from), short(to), dev))
        .collect();
    edges.sort();
    edges
}

#[test]
fn the_workspace_keeps_the_law() {
    let (dev, normal): (Vec<_>, Vec<_>) = edges(&metadata()).into_iter().partition(|e| e.dev);
    for reason in violations(&dev) {
        eprintln!("tests only (allowed): {reason}");
    }
    let broken = violations(&normal);
    assert!(
        broken.is_empty(),
        "ARCHITECTURE.md, dependency law:\n  {}",
        broken.join("\n  ")
    );
    assert!(
        normal.len() >= LAW.len(),
        "only {} edges found: the test does not see the workspace",
        normal.len()
    );
}

#[test]
fn every_member_has_a_floor_and_its_folder_is_its_name() {
    let floors: BTreeSet<&str> = LAW.iter().map(|(name, _)| *name).collect();
    for package in packages(&metadata()) {
        let name = text(package, "name");
        assert!(
            name.starts_with("slackwater-") && floors.contains(short(name)),
            "`{name}` is not in the law"
        );
        let folder = Path::new(text(package, "manifest_path"))
            .parent()
            .and_then(Path::file_name)
            .expect("a manifest lies in a folder");
        assert_eq!(
            folder,
            short(name),
            "`{name}` lives in crates/{}",
            short(name)
        );
    }
}

#[test]
fn sans_io_crates_depend_on_no_clock_thread_or_entropy() {
    for package in packages(&metadata()) {
        let name = short(text(package, "name"));
        if DRIVERS.contains(&name) {
            continue;
        }
        for (dependency, dev) in dependencies(package) {
            assert!(
                dev || !IMPURE.contains(&dependency),
                "`{name}` is sans-IO and depends on `{dependency}`"
            );
        }
    }
}

#[test]
fn only_drivers_lift_the_ban_on_clocks_and_files() {
    for package in packages(&metadata()) {
        let name = short(text(package, "name"));
        let own = Path::new(text(package, "manifest_path")).with_file_name("clippy.toml");
        assert!(
            DRIVERS.contains(&name) || !own.exists(),
            "`{name}` is sans-IO: {} would lift the ban of the root's clippy.toml",
            own.display()
        );
    }
}

#[test]
fn every_member_takes_the_workspace_lints() {
    for package in packages(&metadata()) {
        let manifest = text(package, "manifest_path");
        let toml = std::fs::read_to_string(manifest).expect("a member's manifest is readable");
        assert!(
            toml.contains("[lints]\nworkspace = true"),
            "{manifest} does not inherit [workspace.lints]"
        );
    }
}

#[test]
fn a_breach_is_seen() {
    assert!(violations(&[edge("cli", "core", false), edge("sim", "queue", false)]).is_empty());
    for (from, to) in [
        ("control", "ran"),
        ("edge", "ran"),
        ("edge", "wire"),
        ("core", "signal"),
        ("transport", "queue"),
        ("ran", "ran"),
        ("lab", "report"),
        ("cli", "py"),
        ("live", "report"),
        ("wire", "newcomer"),
        ("newcomer", "core"),
    ] {
        assert_eq!(
            violations(&[edge(from, to, false)]).len(),
            1,
            "{from} -> {to} passed"
        );
    }
}

/// Files in which the program opens others without `scenario::bounded`, and what they are. What the kernel writes (`/proc`, `/sys`) needs
/// no row where its name stands in the same line.
const OPENED: &[(&str, &str)] = &[
    ("scenario/src/bounded.rs", "the bounded reader"),
    (
        "cli/src/commands/rtc/codec.rs",
        "video of any length, a frame at a time",
    ),
    (
        "results/src/output/place.rs",
        "what was just written, to be sent to the disk",
    ),
    (
        "live/src/bpf.rs",
        "a cgroup and a namespace, as descriptors",
    ),
    ("live/src/counted.rs", "counters of a device below /sys"),
    (
        "live/src/emulate/nat.rs",
        "a setting of the kernel below /proc",
    ),
    ("live/src/emulate/netns.rs", "namespaces, as descriptors"),
    ("live/src/upf/setup.rs", "a switch below /proc"),
];

/// Rust files below `folder` that are no tests.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder").flatten() {
        let path = entry.path();
        let name = path
            .file_name()
            .and_then(|n| n.to_str())
            .unwrap_or_default();
        if path.is_dir() && name != "tests" {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") && name != "tests.rs" {
            out.push(path);
        }
    }
}

/// Lines of `text`, before its tests, that open a file of any kind and size.
fn opens(text: &str) -> usize {
    let code = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = code.split("#[cfg(all(test,").next().unwrap_or_default();
    let ways = ["fs::read(", "fs::read_to_string(", "File::open("];
    let lines = code
        .lines()
        .filter(|l| !l.contains("/proc/") && !l.contains("/sys/"));
    lines
        .filter(|l| !l.contains("TableFile::open(") && ways.iter().any(|way| l.contains(way)))
        .count()
}

#[test]
fn files_are_read_by_the_bounded_reader() {
    let crates = root().join("crates");
    let mut unused: BTreeMap<&str, &str> = OPENED.iter().copied().collect();
    let mut found = vec![];
    for member in std::fs::read_dir(&crates).expect("a folder").flatten() {
        let mut files = vec![];
        sources(&member.path().join("src"), &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("text");
            let name = file
                .strip_prefix(&crates)
                .expect("below")
                .display()
                .to_string();
            if opens(&text) > 0 && unused.remove(name.as_str()).is_none() {
                found.push(name);
            }
        }
    }
    assert!(
        found.is_empty(),
        "read these by scenario::bounded: {found:?}"
    );
    assert!(unused.is_empty(), "rows that nothing needs: {unused:?}");
    let breach =
        "fn f() {\n    std::fs::read(path)\n}\n#[cfg(test)]\nmod tests {\n    fs::read(path)\n}\n";
    assert_eq!(opens(breach), 1);
}

/// What meets bytes of a network stops at a sum that overflows (docs/design/0045). `dist` inherits what `release` says of packages.
#[test]
fn sums_are_checked_in_release_where_bytes_of_a_network_come_in() {
    let manifest = std::fs::read_to_string(root().join("Cargo.toml")).expect("a manifest");
    for name in ["wire", "edge", "live"] {
        let wanted =
            format!("[profile.release.package.slackwater-{name}]\noverflow-checks = true\n");
        assert!(manifest.contains(&wanted), "Cargo.toml: found no\n{wanted}");
    }
    assert!(manifest.contains("[profile.dist]\ninherits = \"release\"\n"));
}
