//! Wrong input gives one line with file, key or line, what was found and what was expected, and exit status 2.

use crate::shell::Folder;

fn scenario(extra: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"1 s\"\n{extra}\n[path]\nrtt = \"40 ms\"\n[link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\n\
         [[flow]]\ncontroller = \"cubic\"\n"
    )
}

fn on_trace(file: &str) -> String {
    format!(
        "name = \"t\"\nduration = \"1 s\"\n[path]\nrtt = \"40 ms\"\n[link]\nkind = \"trace\"\nfile = \"{file}\"\n\
         [[flow]]\ncontroller = \"cubic\"\n"
    )
}

#[test]
fn a_scenario_that_is_wrong_is_named_with_its_place() {
    let f = Folder::new("errors-scenario");
    f.write("good.toml", &scenario(""));
    f.run(&["run", "good.toml", "--no-files"]).fine();

    let cases: &[(&str, &[&str])] = &[
        ("bogus = 1", &["bogus", "unknown key", "expected"]),
        ("warmpu = \"1 s\"", &["warmpu", "unknown key", "`warmup`?"]),
        (
            "warmup = \"1 parsec\"",
            &["warmup", "found \"1 parsec\"", "expected a time"],
        ),
        (
            "warmup = 5",
            &["warmup", "found the number 5", "expected a time"],
        ),
        (
            "warmup = \"10 Mbit/s\"",
            &["warmup", "10 Mbit/s", "expected a time"],
        ),
        ("warmup = ", &["expected"]),
    ];
    for (line, words) in cases {
        f.write("case.toml", &scenario(line));
        let ran = f.run(&["run", "case.toml", "--no-files"]);
        ran.complains(words);
        ran.complains(&["case.toml:3:", "found"]);
    }
}

#[test]
fn a_value_out_of_range_says_the_range() {
    let f = Folder::new("errors-range");
    for (set, words) in [
        (
            "path.loss=200 %",
            ["path.loss", "200 %", "expected 0 % to 100 %"],
        ),
        ("flow.tcp.mss=1", ["mss", "1", "expected 64"]),
        ("duration=0 s", ["duration", "0 s", "expected 1 ms"]),
        ("link.rate=-1 Mbit/s", ["link.rate", "-1", "expected"]),
        ("seed=-1", ["seed", "-1", "expected"]),
    ] {
        f.run(&["run", "constant-12mbps", "--no-files", "--set", set])
            .complains(&words);
    }
    for set in [
        "cell.bandwidth=1 Hz",
        "cell.tdd=XYZ",
        "ue.count=0",
        "cell.rlc.buffer=12 parsec",
    ] {
        f.run(&["run", "nr-demo", "--no-files", "--set", set])
            .complains(&["cell", "expected"][1..]);
    }
}

#[test]
fn a_set_that_is_wrong_is_named() {
    let f = Folder::new("errors-set");
    f.run(&["run", "constant-12mbps", "--set", "bogus"])
        .complains(&["--set", "bogus", "KEY=VALUE"]);
    f.run(&["run", "constant-12mbps", "--set", "link.rat=1"])
        .complains(&["--set", "link.rat", "`rate`?"]);
    f.run(&["run", "constant-12mbps", "--set", "link.rate=12"])
        .complains(&["--set", "link.rate", "12", "expected a rate"]);
    f.run(&["run", "constant-12mbps", "--set", "=1"])
        .complains(&["--set", "expected"]);
    f.run(&["run", "constant-12mbps", "--set", "flow[7].controller=bbr"])
        .complains(&["flow[7]", "expected"]);
    f.run(&["compare", "constant-12mbps", "--vary", "bogus"])
        .complains(&["--vary", "bogus", "KEY=V1;V2"]);
    f.run(&[
        "compare",
        "constant-12mbps",
        "--vary",
        "link.rate=1 Mbit/s;x",
    ])
    .complains(&["link.rate", "x", "expected a rate"]);
}

/// Each once had a message that named another thing than the slip.
#[test]
fn frequent_slips_are_answered_with_what_to_write() {
    let f = Folder::new("errors-slips");
    f.write("good.toml", &scenario(""));
    f.write("twice.toml", &scenario("duration = \"3 s\""));
    f.write("bare.toml", &scenario("warmup = 5 s # of 10"));
    let single = scenario("").replace("[[flow]]", "[flow]");
    f.write("single.toml", &single);
    let cases: &[(&[&str], &[&str])] = &[
        (&["run", "lte-dmo"], &["no such file", "\"lte-demo\"?"]),
        (
            &["run", "drawn/bulk-0"],
            &["no such file", "drawn/KIND-NUMBER", "media"],
        ),
        (
            &["run", "arena/uploat"],
            &["no such file", "\"arena/upload\"?"],
        ),
        (
            &["run", "good.toml", "--set", "link.rate=12 Mbps"],
            &["found \"12 Mbps\"", "expected \"12 Mbit/s\"?"],
        ),
        (
            &["run", "twice.toml"],
            &["twice.toml:3:1: duration", "expected it once: line 2"],
        ),
        (
            &["run", "bare.toml"],
            &["bare.toml:3:10", "5 s without quotes", "expected \"5 s\""],
        ),
        (
            &["run", "single.toml"],
            &["found a table", "a list of tables: [[flow]]"],
        ),
        (
            &["run", "good.toml", "--set", "flow.controller=xrc:n=abc"],
            &["found \"abc\" for n in \"xrc:n=abc\"", "whole number"],
        ),
        (
            &["compare", "good.toml", "--vary", "link.rate=12;24"],
            &["--vary: link.rate", "expected a rate"],
        ),
        (&["bench", "--case", "x"], &["found \"x\"", "lte-1"]),
        (
            &["run", "good.toml", "--out", "/proc/x"],
            &["/proc/x: cannot write there"],
        ),
        (
            &["emulate", "--rate", "12", "--edge", "vaqm", "--", "true"],
            &["--edge vaqm without --cell", "expected a cell"],
        ),
    ];
    for (arguments, words) in cases {
        f.run(arguments).complains(words);
    }

    // A number with a sign is a value, and no option.
    let cases: [(&[&str], &str); 2] = [
        (&["run", "good.toml", "--seed", "-1"], "'-1' for '--seed"),
        (
            &["emulate", "--rate", "-5", "--", "true"],
            "'-5' for '--rate",
        ),
    ];
    for (arguments, words) in cases {
        let ran = f.run(arguments);
        assert_eq!(ran.code, Some(2), "{}", ran.err);
        let said = ran.err.contains(words) && ran.err.contains("expected a");
        assert!(said, "{}", ran.err);
    }

    // Said once, and by the name of the file.
    let ran = f.run(&["emulate", "--cell", "5g.toml", "--", "true"]);
    ran.complains(&["5g.toml"]);
    assert_eq!(ran.err.matches("No such file").count(), 1, "{}", ran.err);
}

#[test]
fn a_controller_without_its_reports_is_noted() {
    let f = Folder::new("errors-notes");
    let note = "note: xrc goes by what a base station says";
    let run = |f: &Folder, name: &str, controller: &str| {
        let set = format!("flow.controller={controller}");
        let ran = f.run(&["run", name, "--no-files", "--set", &set]);
        assert_eq!(ran.code, Some(0), "{}", ran.err);
        ran.err
    };
    f.write("good.toml", &scenario(""));
    assert!(run(&f, "good.toml", "xrc").contains(note));
    assert!(!run(&f, "good.toml", "cubic").contains("note:"));
    let cell = scenario("").replace(
        "[link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\n",
        "[cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\n",
    );
    f.write("cell.toml", &cell);
    assert!(!run(&f, "cell.toml", "xrc").contains("note:"));
}

#[test]
fn files_that_are_missing_or_broken_are_named() {
    let f = Folder::new("errors-files");
    f.run(&["run", "nosuch.toml"]).complains(&[
        "nosuch.toml",
        "found no such file",
        "expected a scenario file",
    ]);
    f.run(&["compare", "nosuch.toml"])
        .complains(&["nosuch.toml", "found no such file"]);
    std::fs::write(f.path("bytes.toml"), [0xff, 0xfe, 0]).expect("writable");
    f.run(&["run", "bytes.toml"])
        .complains(&["bytes.toml", "UTF-8"]);
    f.run(&["run", "."])
        .complains(&["expected a scenario file"]);

    let traces: &[(&str, &str, &[&str])] = &[
        (
            "back.down",
            "1\n5\n4\n",
            &[
                "line 3",
                "4 ms after 5 ms",
                "expected times that never go back",
            ],
        ),
        (
            "word.down",
            "1\ntwo\n3\n",
            &["line 2", "two", "expected a whole number of milliseconds"],
        ),
        (
            "minus.down",
            "-1\n",
            &["line 1", "-1", "expected a whole number"],
        ),
        (
            "huge.down",
            "99999999999999999999\n",
            &["line 1", "99999999999999999999", "expected"],
        ),
        (
            "empty.down",
            "",
            &["expected at least one delivery opportunity"],
        ),
        ("zero.down", "0\n0\n", &["0 ms", "expected"]),
    ];
    for (name, text, words) in traces {
        f.write(name, text);
        f.write("case.toml", &on_trace(name));
        let ran = f.run(&["run", "case.toml", "--no-files"]);
        ran.complains(words);
        ran.complains(&["case.toml:7:", "link.file", name, "found"]);
        for command in ["stats", "show"] {
            let ran = f.run(&["trace", command, name]);
            ran.complains(words);
            ran.complains(&[name, "found"]);
        }
        f.run(&["trace", "import", name, "-o", "x"])
            .complains(words);
    }
    f.write("case.toml", &on_trace("nosuch.down"));
    f.run(&["run", "case.toml"]).complains(&[
        "case.toml:7:",
        "link.file",
        "nosuch.down",
        "no such file",
    ]);
    f.run(&["trace", "stats", "nosuch.down"])
        .complains(&["nosuch.down", "no such file"]);

    f.write("bad.csv", "time_s,mbps\n0,5\n1,fast\n");
    f.run(&["trace", "stats", "bad.csv"])
        .complains(&["bad.csv", "line 3", "fast", "expected"]);
    f.write("back.csv", "time_s,mbps\n0,5\n2,6\n1,7\n");
    f.run(&["trace", "stats", "back.csv"])
        .complains(&["back.csv", "line 4", "expected"]);
    f.write("other.csv", "a,b\n0,5\n");
    f.run(&["trace", "stats", "other.csv"])
        .complains(&["other.csv", "expected"]);
    for (file, start) in [
        ("broken.xz", &b"\xfd7zXZ\0 not quite"[..]),
        ("broken.gz", b"\x1f\x8b\x08\0 not quite"),
        ("broken.zst", b"\x28\xb5\x2f\xfd not quite"),
    ] {
        std::fs::write(f.path(file), start).expect("writable");
        f.run(&["trace", "stats", file])
            .complains(&[file, "expected"]);
    }
}

#[test]
fn an_unknown_controller_is_named_and_its_neighbour_offered() {
    let f = Folder::new("errors-controller");
    f.run(&["run", "constant-12mbps", "--set", "flow.controller=cubi"])
        .complains(&[
            "constant-12mbps: flow[0].controller",
            "found \"cubi\"",
            "expected \"cubic\"?",
        ]);
    f.run(&["compare", "constant-12mbps", "--controllers", "cubic,warp"])
        .complains(&[
            "constant-12mbps: flow[0].controller",
            "found \"warp\"",
            "reno",
            "bbr",
        ]);
    // Aliases and names with a parameter pass.
    for name in ["newreno", "bbrv1", "fixed:20"] {
        let set = format!("flow.controller={name}");
        f.run(&[
            "run",
            "constant-12mbps",
            "--no-files",
            "--set",
            "duration=1 s",
            "--set",
            &set,
        ])
        .fine();
    }
}

#[test]
fn results_that_cannot_be_written_say_where_and_why() {
    let f = Folder::new("errors-out");
    f.write("file", "in the way");
    let ran = f.run(&[
        "run",
        "constant-12mbps",
        "--set",
        "duration=1 s",
        "--out",
        "file/below",
    ]);
    ran.complains(&["file/below"]);
    let reasons = ran.err.matches("File exists").count();
    assert_eq!(reasons, 1, "the reason once: {}", ran.err);
    // The system's number for it says nothing more.
    assert!(!ran.err.contains("os error"), "{}", ran.err);
}

#[test]
fn bad_usage_exits_with_2() {
    let f = Folder::new("errors-usage");
    for args in [
        &["run"][..],
        &["run", "constant-12mbps", "--seed", "x"],
        &["run", "constant-12mbps", "--seed", "18446744073709551615"],
        &["compare", "constant-12mbps", "--seeds", "0"],
        &["frobnicate"],
        &[
            "compare",
            "constant-12mbps",
            "--seed",
            "9223372036854775807",
            "--seeds",
            "2",
        ],
        &["compare", "constant-12mbps", "--no-files"],
        &["bench", "--case", "nosuch"],
        &["validate", "--ns3", "--case", "nosuch"],
        &["validate", "--channels", "2"],
        &["validate", "linux", "--ns3"],
    ] {
        let ran = f.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.err);
        assert!(!ran.err.contains("panicked"), "{args:?}: {}", ran.err);
        assert!(ran.out.is_empty() && !ran.err.is_empty(), "{args:?}");
    }
}

#[test]
fn a_number_that_is_none_is_answered_in_words() {
    let f = Folder::new("errors-number");
    for args in [
        &["compare", "lte-demo", "--jobs", "many"][..],
        &["repro", "xrc", "--seeds", "1e3"],
        &["serve", "--port", "x"],
    ] {
        let ran = f.run(args);
        assert_eq!(ran.code, Some(2), "{args:?}");
        assert!(
            ran.err.contains("expected a whole number") && !ran.err.contains("digit"),
            "{}",
            ran.err
        );
    }
}

#[test]
fn a_folder_to_serve_is_there() {
    let f = Folder::new("errors-serve");
    f.run(&["serve", "nofolder"])
        .complains(&["nofolder", "no such folder", "a folder of results"]);
    f.write("file", "");
    f.run(&["serve", "file"])
        .complains(&["file", "found a file"]);
}

/// What Python does is asked of an interpreter that has the package; the error says which one was tried and what to do.
#[test]
fn a_missing_python_package_is_named() {
    let f = Folder::new("errors-python");
    for (python, said) in [
        ("no-such-python", "found no Python"),
        ("false", "make python"),
    ] {
        for command in ["train", "sweep", "sql"] {
            let mut command = f.command(&[command, "x"]);
            let output = command.env("SLACKWATER_PYTHON", python).output();
            let output = output.expect("the command starts");
            let err = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(2), "{err}");
            assert!(
                err.contains(said) && err.contains("SLACKWATER_PYTHON"),
                "{err}"
            );
        }
    }
}

/// Whoever can write to a folder that the user stands in, or to one above it, must not run code as that user.
#[cfg(unix)]
#[test]
fn python_is_not_taken_from_the_folder_one_stands_in() {
    use std::os::unix::fs::PermissionsExt as _;
    let f = Folder::new("errors-planted");
    let trap = format!("#!/bin/sh\ntouch '{}'\n", f.path("ran").display());
    std::fs::create_dir_all(f.path(".venv/bin")).expect("a folder");
    f.write(".venv/pyvenv.cfg", "");
    f.write(".venv/bin/python", &trap);
    let mode = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(f.path(".venv/bin/python"), mode).expect("a script");
    // Without `-P` Python takes the package from the folder.
    let module = format!("open({:?}, 'w')\n", f.path("ran").display().to_string());
    f.write("slackwater.py", &module);
    std::fs::create_dir_all(f.path("below/that")).expect("a folder");
    for command in ["sql", "sweep", "train"] {
        for place in [".", "below/that"] {
            let mut planted = f.command(&[command, "x"]);
            planted
                .current_dir(f.path(place))
                .env_remove("SLACKWATER_PYTHON")
                .env_remove("VIRTUAL_ENV");
            planted.output().expect("the command starts");
        }
        let mut shadowed = f.command(&[command, "x"]);
        shadowed.env("SLACKWATER_PYTHON", "python3");
        shadowed.output().expect("the command starts");
        assert!(
            !f.path("ran").exists(),
            "{command} ran what lay in the folder"
        );
    }

    // An active environment that others may change is refused; one's own is not.
    let own = f.path(".venv/bin");
    for (mode, refused) in [(0o777, true), (0o755, false)] {
        std::fs::set_permissions(&own, std::fs::Permissions::from_mode(mode)).expect("ours");
        let mut active = f.command(&["sql", "x"]);
        active
            .env_remove("SLACKWATER_PYTHON")
            .env("VIRTUAL_ENV", f.path(".venv"));
        let said = active.output().expect("the command starts").stderr;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert_eq!(said.contains("VIRTUAL_ENV: found "), refused, "{said}");
        assert_eq!(f.path("ran").exists(), !refused, "{mode:o}: {said}");
    }
}

/// A folder whose name is no UTF-8 takes results as any other.
#[test]
fn an_output_folder_need_not_be_utf_8() {
    use std::os::unix::ffi::OsStrExt as _;
    let f = Folder::new("errors-bytes");
    let name = std::ffi::OsStr::from_bytes(b"o\xff");
    for kind in [&["run"][..], &["compare", "--seeds", "2"]] {
        let words = ["constant-12mbps", "--set", "duration=1 s", "--force", "-o"];
        let mut made = f.command(&[kind, &words].concat());
        let made = made.arg(name).output().expect("the command starts");
        let said = String::from_utf8_lossy(&made.stderr);
        assert_eq!(made.status.code(), Some(0), "{kind:?}: {said}");
        assert!(
            f.path("").join(name).join("results.json").exists(),
            "{kind:?}"
        );
    }
}
