//! The small commands.

use crate::shell::Folder;

#[test]
fn the_schema_covers_every_top_level_key() {
    let f = Folder::new("tools-schema");
    let schema = f.run(&["schema"]).fine().json();
    assert!(
        schema["$schema"]
            .as_str()
            .is_some_and(|s| s.contains("json-schema.org"))
    );
    assert_eq!(schema["additionalProperties"], false);
    // Every key of a resolved scenario is known to the schema, and all that the guide names.
    for scenario in ["constant-12mbps", "lte-demo"] {
        f.run(&["run", scenario, "--out", scenario, "--set", "duration=1 s"])
            .fine();
        let resolved = f.read(&format!("{scenario}/scenario.toml"));
        let tables = resolved.lines().filter_map(|l| {
            let key = l
                .trim_start_matches('[')
                .split([']', '.', '=', ' '])
                .next()?;
            l.starts_with('[').then(|| key.trim_matches('"').to_owned())
        });
        for key in tables {
            assert!(schema["properties"][&key].is_object(), "{key}");
        }
    }
    for key in [
        "name",
        "title",
        "description",
        "duration",
        "warmup",
        "seed",
        "path",
        "link",
        "cell",
        "wired",
        "ue",
        "flow",
        "vary",
        "record",
    ] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
}

#[test]
fn list_names_scenarios_that_run_and_controllers() {
    let f = Folder::new("tools-list");
    let json = f.run(&["list", "--json"]).fine().json();
    let text = f.run(&["list"]).fine().out;
    let names = |key: &str| -> Vec<String> {
        let rows = json[key].as_array().expect("an array");
        rows.iter()
            .map(|r| r["name"].as_str().expect("a name").to_owned())
            .collect()
    };
    for name in [
        "reno", "cubic", "vegas", "veno", "illinois", "westwood", "bbr",
    ] {
        assert!(
            names("controllers").contains(&name.to_owned()) && text.contains(name),
            "{name}"
        );
    }
    let scenarios = names("scenarios");
    assert!(scenarios.len() >= 4);
    for name in &scenarios {
        assert!(text.contains(name.as_str()));
        let ran = f.run(&["run", name, "--no-files", "--json", "--set", "duration=1 s"]);
        assert_eq!(ran.code, Some(0), "{name}: {}", ran.err);
    }
}

#[test]
fn doctor_tells_what_it_found() {
    let f = Folder::new("tools-doctor");
    let text = f.run(&["doctor"]).fine().out;
    assert!(text.starts_with("slackwater "), "{text}");
    let rows = f.run(&["doctor", "--json"]).fine().json();
    let rows = rows.as_array().expect("an array");
    assert!(
        rows.iter()
            .any(|r| r["what"] == "cores" && r["found"].is_string())
    );
    for r in rows {
        assert!(text.contains(r["what"].as_str().expect("a name")));
    }
    assert_eq!(
        std::fs::read_dir(f.path("")).expect("there").count(),
        0,
        "it leaves nothing"
    );
}

#[test]
fn completions_and_help_name_the_commands() {
    let f = Folder::new("tools-completions");
    let help = f.run(&["--help"]).fine().out;
    for shell in ["bash", "zsh", "fish"] {
        let script = f.run(&["completions", shell]).fine().out;
        assert!(script.contains("COMPLETE"), "{shell} asks this program");
    }
    let commands = [
        "run", "compare", "trace", "schema", "list", "doctor", "validate", "bench",
    ];
    let candidates = candidates(&f, &[""]);
    for command in commands {
        assert!(help.contains(command), "{command}");
        assert!(candidates.iter().any(|c| c == command), "{command}");
    }
    let version = f.run(&["--version"]).fine().out;
    assert_eq!(
        version.trim(),
        format!("slackwater {}", env!("CARGO_PKG_VERSION"))
    );
}

/// What this program answers a shell after `words`, of which the last is being typed.
fn candidates(f: &Folder, words: &[&str]) -> Vec<String> {
    let mut line = vec!["--", "slackwater"];
    line.extend(words);
    let mut command = f.command(&line);
    command.env("COMPLETE", "bash");
    command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    command.env("_CLAP_IFS", "\n");
    let out = command.output().expect("the command starts");
    let text = String::from_utf8(out.stdout).expect("text");
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_learns_scenarios_files_and_controllers() {
    let f = Folder::new("tools-candidates");
    f.write("lte-own.toml", "");
    let found = candidates(&f, &["run", "lte-"]);
    assert!(found.contains(&"lte-demo".to_owned()), "{found:?}");
    assert!(found.contains(&"lte-own.toml".to_owned()), "{found:?}");
    let found = candidates(&f, &["compare", "lte-demo", "--controllers", "cubic,bb"]);
    assert!(
        found
            .iter()
            .any(|c| c.ends_with("bbr3") || c.ends_with("bbr")),
        "{found:?}"
    );
}

#[test]
fn a_shell_learns_what_can_be_explained_and_begun() {
    let f = Folder::new("tools-candidates-names");
    let found = candidates(&f, &["explain", "cell.sched"]);
    assert!(found.contains(&"cell.scheduler".to_owned()), "{found:?}");
    assert!(found.iter().all(|c| c.starts_with("cell.sched")));
    for (typed, name) in [("queue_p9", "queue_p95"), ("cub", "cubic")] {
        let found = candidates(&f, &["explain", typed]);
        assert!(found.contains(&name.to_owned()), "{typed}: {found:?}");
    }
    let found = candidates(&f, &["new", "c"]);
    assert_eq!(found, ["cell", "controller"]);
    f.write("there.toml", "");
    assert!(candidates(&f, &["new", "cell", "th"]).is_empty());
}

#[test]
fn each_command_has_a_manual_page() {
    let f = Folder::new("tools-man");
    f.run(&["man", "."]).fine();
    let page = f.read("slackwater-run.1");
    assert!(page.contains("Simulate one scenario"), "{page}");
    f.run(&["man", "nowhere"])
        .complains(&["nowhere", "manual pages"]);
}

/// What is measured beside ours names what it found in place of ns-3, and the check is skipped, not failed.
#[test]
fn without_ns3_the_check_says_why_it_is_skipped() {
    let f = Folder::new("tools-ns3");
    let ran = f
        .run(&["validate", "--ns3", "--ns3-home", "nowhere"])
        .fine();
    assert!(ran.out.starts_with("skipped: "), "{}", ran.out);
    let ran = f
        .run(&["validate", "--ns3", "--ns3-home", "nowhere", "--json"])
        .fine();
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert!(json["skipped"].is_string(), "{json}");
}
