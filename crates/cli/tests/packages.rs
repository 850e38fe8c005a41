//! Each crate can be published: what it embeds lies in its own folder, and its manifest says what a registry shows.

use std::path::{Component, Path, PathBuf};
use std::process::Command;

use serde_json::Value;

/// The members of the workspace as cargo describes them.
fn members() -> Vec<Value> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let out = Command::new(option_env!("CARGO").unwrap_or("cargo"))
        .args(["metadata", "--no-deps", "--format-version", "1"])
        .args(["--offline", "--manifest-path"])
        .arg(root.join("Cargo.toml"))
        .output()
        .expect("cargo metadata starts");
    assert!(
        out.status.success(),
        "cargo metadata failed: {}",
        String::from_utf8_lossy(&out.stderr)
    );
    let all: Value = serde_json::from_slice(&out.stdout).expect("cargo metadata prints JSON");
    all["packages"].as_array().expect("a list").clone()
}

/// The folder of a package.
fn folder(package: &Value) -> PathBuf {
    let manifest = Path::new(package["manifest_path"].as_str().expect("a path"));
    manifest.parent().expect("in a folder").to_owned()
}

#[test]
fn the_citation_is_of_this_version() {
    let citation = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../CITATION.cff");
    let text = std::fs::read_to_string(citation).expect("a citation");
    let version = format!("version: {}", env!("CARGO_PKG_VERSION"));
    assert!(text.lines().any(|l| l == version), "expected {version}");
}

/// Every Rust source below `folder`.
fn sources(folder: &Path, out: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, out);
        } else if path.extension().is_some_and(|e| e == "rs") {
            out.push(path);
        }
    }
}

/// The relative paths that `text` embeds. Of a path in parts, the first part; a path in `OUT_DIR` is left out.
fn embedded(text: &str) -> Vec<&str> {
    ["include_str!(", "include_bytes!(", "include!("]
        .into_iter()
        .flat_map(|call| text.split(call).skip(1))
        .filter_map(|rest| {
            let rest = rest.trim_start();
            let rest = rest.strip_prefix("concat!(").unwrap_or(rest).trim_start();
            rest.strip_prefix('"')?.split('"').next()
        })
        .collect()
}

/// `path` without `.` and `..`; the file need not exist.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

#[test]
fn what_a_crate_embeds_lies_in_its_folder() {
    let mut seen = 0;
    let mut outside = vec![];
    for package in members() {
        let folder = folder(&package);
        let mut files = vec![];
        sources(&folder, &mut files);
        for file in files {
            let text = std::fs::read_to_string(&file).expect("readable");
            for path in embedded(&text) {
                seen += 1;
                let target = plain(&file.parent().expect("in a folder").join(path));
                if !target.starts_with(&folder) {
                    outside.push(format!("{}: {path}", file.display()));
                }
            }
        }
    }
    assert!(
        outside.is_empty(),
        "a published crate has no files of its neighbours:\n  {}",
        outside.join("\n  ")
    );
    assert!(seen > 60, "only {seen} embedded files were found");
}

#[test]
fn a_path_outside_is_seen() {
    let text = "const A: &str = include_str!(\n  concat!(\"../../../x/\", $name));\ninclude!(concat!(env!(\"OUT_DIR\"), \"/y\"));";
    assert_eq!(embedded(text), ["../../../x/"]);
    let target = plain(Path::new("/w/crates/a/src/../../../x/"));
    assert!(!target.starts_with("/w/crates/a"));
    assert!(plain(Path::new("/w/crates/a/src/../x")).starts_with("/w/crates/a"));
}

#[test]
fn a_published_crate_says_what_it_is() {
    let mut published = 0;
    for package in members() {
        // `publish = false` is an empty list of registries.
        if package["publish"].as_array().is_some_and(Vec::is_empty) {
            continue;
        }
        published += 1;
        let name = package["name"].as_str().expect("a name");
        for key in ["description", "license", "repository", "documentation"] {
            assert!(package[key].is_string(), "{name}: no `{key}`");
        }
        for (key, most) in [("keywords", 5), ("categories", 5)] {
            let count = package[key].as_array().map_or(0, Vec::len);
            assert!((1..=most).contains(&count), "{name}: {count} {key}");
        }
        let readme = package["readme"].as_str().expect("a README");
        let text = std::fs::read_to_string(folder(&package).join(readme)).expect("readable");
        assert!(
            text.starts_with(&format!("# {name}\n")),
            "{name}: {readme} has another title"
        );
        // Registries take no dependency that is a path alone; those of tests are left out there.
        for dependency in package["dependencies"].as_array().expect("a list") {
            let path_alone = dependency["path"].is_string() && dependency["req"] == "*";
            assert!(
                dependency["kind"] == "dev" || !path_alone,
                "{name}: {} has no version",
                dependency["name"]
            );
        }
    }
    assert!(published >= 17, "only {published} crates");
}

/// A package holds no file from outside of its folder, and a checkout may make no links: the policies stand twice.
#[test]
fn the_policies_inside_the_program_are_those_beside_their_cards() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for name in ["tyrus.safetensors", "tyrus-poster.safetensors"] {
        let policy = |folder: &str| {
            std::fs::read(root.join(folder).join(name)).expect("the policy is there")
        };
        assert!(
            policy("models") == policy("crates/control/models"),
            "models/{name} is not crates/control/models/{name}: copy the newer one over the other"
        );
    }
}
