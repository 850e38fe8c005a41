//! `slackwater explain`, and the longer `slackwater list`.

use crate::shell::{Folder, Ran};

#[test]
fn a_key_a_controller_a_parameter_and_a_metric_are_explained() {
    let f = Folder::new("explain");
    let key = f.run(&["explain", "cell.rlc.buffer"]).fine().out;
    for part in ["cell.rlc.buffer (key)", "default", "example", "[cell.rlc]"] {
        assert!(key.contains(part), "{part}: {key}");
    }
    let controller = f.run(&["explain", "xrc"]).fine().out;
    for part in ["(controller)", ":gamma", "--set flow.controller=xrc"] {
        assert!(controller.contains(part), "{part}: {controller}");
    }
    let rows = f.run(&["explain", "xrc:lambda", "--json"]).fine().json();
    assert_eq!(rows[0]["default"], "9");
    assert_eq!(rows[0]["unit"], "ms");
    assert_eq!(rows[0]["range"], "0.1 to 1000");
    let metrics = f.run(&["explain", "p95"]).fine().out;
    assert!(metrics.contains("queue_p95 (metric)"), "{metrics}");
    let claim = f.run(&["explain", "fig5-jain-cubic"]).fine().out;
    assert!(claim.contains("slackwater repro xrc"), "{claim}");
}

#[test]
fn a_misspelt_name_is_answered_with_the_nearest() {
    let f = Folder::new("explain-wrong");
    for (name, near) in [
        ("cell.tdx", "cell.tdd"),
        ("cubik", "cubic"),
        ("xrc:gama", "xrc:gamma"),
    ] {
        let ran = f.run(&["explain", name]);
        assert_eq!(ran.code, Some(2), "{name}");
        assert!(ran.err.contains(near), "{}", ran.err);
    }
}

#[test]
fn list_has_a_line_for_everything() {
    let f = Folder::new("list-long");
    let json = f.run(&["list", "--json"]).fine().json();
    let text = f.run(&["list"]).fine().out;
    for group in [
        "scenarios",
        "arena",
        "drawn",
        "controllers",
        "media_controllers",
        "schedulers",
        "queues",
        "laws",
        "applications",
        "traces",
        "trace_models",
        "studies",
    ] {
        let rows = json[group].as_array().expect(group);
        assert!(rows.len() >= 2, "{group}");
        for row in rows {
            let (name, what) = (row["name"].as_str(), row["description"].as_str());
            assert!(what.is_some_and(|w| w.len() > 4), "{group}: {row}");
            assert!(text.contains(name.expect("a name")), "{group}: {row}");
        }
    }
}

/// Text as long as it may be on a terminal, in a pipe too.
#[test]
fn lists_and_explanations_fit_eighty_columns() {
    let f = Folder::new("list-width");
    let fits = |columns: Option<&str>, args: &[&str]| {
        let mut command = f.command(args);
        match columns {
            Some(columns) => command.env("COLUMNS", columns),
            None => command.env_remove("COLUMNS"),
        };
        let ran = Ran::of(&command.output().expect("it starts"), args).fine();
        let most = columns.map_or(80, |c| c.parse().expect("a number"));
        for line in ran.out.lines() {
            assert!(line.chars().count() <= most, "{args:?}: {line:?}");
        }
        ran.out
    };
    let json = f.run(&["list", "--json"]).fine().json();
    let kinds: Vec<String> = json
        .as_object()
        .expect("groups")
        .keys()
        .map(|k| k.replace('_', "-"))
        .collect();
    assert!(kinds.len() > 10, "{kinds:?}");
    for columns in [None, Some("80"), Some("200")] {
        let all = fits(columns, &["list"]);
        let wide = all.lines().any(|l| l.chars().count() > 80);
        assert_eq!(wide, columns == Some("200"));
        // Each kind alone is a part of the whole.
        for kind in &kinds {
            let part = fits(columns, &["list", kind]);
            assert!(all.contains(&part), "{kind}: {part}");
        }
        fits(columns, &["explain", "cubic"]);
    }

    let names = f
        .run(&["list", "laws", "--columns", "name", "--csv"])
        .fine();
    assert!(names.out.starts_with("name\n"), "{}", names.out);
    assert!(names.out.contains("\ncodel\n"), "{}", names.out);
    let wrong = f.run(&["list", "controler"]);
    assert_eq!(wrong.code, Some(2));
    assert!(wrong.err.contains("'controllers'"), "{}", wrong.err);
}

#[test]
fn the_help_of_python_commands_is_there_without_python() {
    let f = Folder::new("help-without-python");
    for (words, part) in [
        (vec!["train", "--help"], "{tyrus,ebb,evaluate,export,bench}"),
        (vec!["train", "ebb", "--help"], "--epochs"),
        (vec!["train", "tyrus", "--help"], "--generations"),
        (vec!["sweep", "--help"], "--ray ADDRESS"),
        (vec!["sql", "-h"], "--csv"),
    ] {
        let mut command = f.command(&words);
        command.env("SLACKWATER_PYTHON", "/no/such/python");
        let output = command.output().expect("the command starts");
        assert!(
            Ran::of(&output, &words).fine().out.contains(part),
            "{words:?}"
        );
    }
}
