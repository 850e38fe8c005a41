//! What a terminal shows, and what a pipe gets.

use std::process::Output;

use crate::on_terminal::on_terminal;
use crate::shell::Folder;

/// What a terminal of `width` columns got of the command with `args`; `None`, with the reason printed, where there is none.
fn seen(f: &Folder, width: &str, variables: &[(&str, &str)], args: &[&str]) -> Option<String> {
    let made = on_terminal(width, None)
        .args(args)
        .current_dir(f.path(""))
        .env_remove("NO_COLOR")
        .env_remove("CLICOLOR")
        .env_remove("CLICOLOR_FORCE")
        // Where CI is set, a dumb terminal counts as one with colour.
        .env_remove("CI")
        .envs(variables.iter().copied())
        .output();
    let Ok(Output { status, stdout, .. }) = made else {
        eprintln!("skipped: no python3");
        return None;
    };
    let text = String::from_utf8(stdout).expect("UTF-8");
    assert_eq!(status.code(), Some(0), "{text}");
    Some(text.replace("\r\n", "\n"))
}

/// `text` without its bar and colours.
fn plain(text: &str) -> String {
    let mut out = String::new();
    for line in text.split('\n') {
        // A bar is drawn over itself.
        let line = line.rsplit(['\r']).next().unwrap_or_default();
        let mut rest = line;
        while let Some((before, after)) = rest.split_once("\u{1b}[") {
            out += before;
            let end = after.find(|c: char| c.is_ascii_alphabetic());
            rest = end.map_or("", |end| &after[end + 1..]);
        }
        out += rest;
        out.push('\n');
    }
    out
}

const RUN: [&str; 4] = ["run", "lte-demo", "--set", "duration=1 s"];

#[test]
fn tables_fit_a_terminal_of_eighty_columns() {
    let f = Folder::new("terminal-width");
    let compare = [
        "compare",
        "lte-demo",
        "--controllers",
        "cubic,bbr",
        "--seeds",
        "3",
        "--set",
        "duration=1 s",
    ];
    for args in [
        &RUN[..],
        &compare[..],
        &["ls"][..],
        &["claims", "xrc"][..],
        &["arena", "--list"][..],
        &["show", "runs/lte-demo", "--columns", "goodput,queue_p95"][..],
        &["diff", "runs/lte-demo", "runs/lte-demo"][..],
        &["trace", "stats", "builtin:driving.down"][..],
        &["list"][..],
    ] {
        let Some(text) = seen(&f, "80", &[], args) else {
            return;
        };
        let text = plain(&text);
        for line in text.lines() {
            // A path is as long as it is, and so is a hash.
            let given = line.ends_with("/report.html") || line.contains(" sha256 ");
            let fits = line.chars().count() <= 80 || given;
            assert!(fits, "{args:?}: {line:?}");
        }
        if args[0] == "compare" {
            assert!(text.contains("Left out at 80 columns: "), "{text}");
        }
        // A wider one has all.
        let wide = seen(&f, "250", &[], args)
            .map(|t| plain(&t))
            .expect("there is one");
        assert!(!wide.contains("Left out"), "{wide}");
    }
}

#[test]
fn a_pipe_gets_the_whole_table_whatever_the_terminal_is() {
    let f = Folder::new("terminal-pipe");
    let out = |columns: &str, term: &str| {
        let mut command = f.command(&RUN);
        command.env("COLUMNS", columns).env("TERM", term);
        String::from_utf8(command.output().expect("it starts").stdout).expect("UTF-8")
    };
    let one = out("40", "dumb");
    assert_eq!(one, out("200", "xterm-256color"));
    let head = one.lines().next().expect("a heading");
    assert!(
        head.starts_with("flow   goodput (Mbit/s)  mean srtt (ms)"),
        "{head}"
    );
    assert!(head.ends_with("retransmits"), "{head}");
}

/// Fields of each line (RFC 4180).
fn fields(csv: &str) -> Vec<Vec<String>> {
    let mut rows = vec![];
    let (mut row, mut field, mut inside) = (vec![], String::new(), false);
    let mut letters = csv.chars().peekable();
    while let Some(c) = letters.next() {
        match c {
            '"' if inside && letters.peek() == Some(&'"') => {
                letters.next();
                field.push('"');
            }
            '"' => inside = !inside,
            ',' if !inside => row.push(core::mem::take(&mut field)),
            '\n' if !inside => {
                row.push(core::mem::take(&mut field));
                rows.push(core::mem::take(&mut row));
            }
            c => field.push(c),
        }
    }
    assert!(field.is_empty() && row.is_empty() && !inside, "{csv}");
    rows
}

#[test]
fn csv_is_the_table_with_its_numbers() {
    let f = Folder::new("terminal-csv");
    let compare = [
        "compare",
        "constant-12mbps",
        "--controllers",
        "cubic,bbr",
        "--seeds",
        "2",
        "--set",
        "duration=1 s",
        "--csv",
    ];
    let made = fields(&f.run(&compare).fine().out);
    assert_eq!(
        made[0][..4],
        ["run", "seeds", "goodput_total", "goodput_total_low_95"]
    );
    assert_eq!(
        (made.len(), made[1][0].as_str(), made[2][0].as_str()),
        (3, "cubic", "bbr")
    );
    let numbers: serde_json::Value =
        serde_json::from_str(&f.read("runs/constant-12mbps-compare/compare.json")).expect("JSON");
    let metrics = numbers["rows"][1]["metrics"]
        .as_array()
        .expect("metrics")
        .clone();
    let goodput = metrics
        .iter()
        .find(|m| m["metric"] == "goodput_total")
        .expect("there");
    for (at, key) in [(2, "mean"), (3, "low"), (4, "high")] {
        let here: f64 = made[2][at].parse().expect("a number");
        assert!(
            (here - goodput[key].as_f64().expect("a number")).abs() < 1e-9,
            "{key}"
        );
    }

    let run = [&RUN[..], &["--csv"]].concat();
    let one = fields(&f.run(&run).fine().out);
    assert_eq!(one[0][..2], ["flow", "goodput"]);
    assert!(
        one[0].iter().any(|k| k == "utilisation"),
        "of the run too: {:?}",
        one[0]
    );
    for args in [
        &["ls", "--csv"][..],
        &["show", "runs/lte-demo", "--csv"],
        &["show", "runs/constant-12mbps-compare", "--csv"],
        &["claims", "--csv"],
        &["diff", "runs/lte-demo", "runs/lte-demo", "--csv"],
    ] {
        let rows = fields(&f.run(args).fine().out);
        let width = rows[0].len();
        assert!(
            width > 3 && rows.iter().all(|r| r.len() == width),
            "{args:?}"
        );
    }
    f.run(&["run", "lte-demo", "--json", "--csv"]);
    assert_eq!(f.run(&["ls", "--json", "--csv"]).code, Some(2));
}

#[test]
fn columns_are_chosen_by_name() {
    let f = Folder::new("terminal-columns");
    let with = |columns: &'static str| [&RUN[..], &["--columns", columns]].concat();
    let out = f.run(&with("queue_p95,timeouts,utilisation")).fine().out;
    let head = out.lines().next().expect("a heading");
    assert_eq!(
        head.split("  ").map(str::trim).collect::<Vec<_>>(),
        ["flow", "p95 queue (ms)", "timeouts", "utilisation (%)"]
    );
    // Nothing is run for a name that is none.
    let _ = std::fs::remove_dir_all(f.path("runs"));
    f.run(&with("goodputt"))
        .complains(&["--columns", "goodputt", "expected \"goodput\"?"]);
    assert!(!f.path("runs").exists());
    // A metric that these results do not have is left out.
    let out = f.run(&with("goodput,jain")).fine().out;
    assert!(out.starts_with("flow   goodput (Mbit/s)\n"), "{out}");
}

#[test]
fn colour_is_for_terminals_and_those_who_want_it() {
    let f = Folder::new("terminal-colour");
    let piped = |variables: &[(&str, &str)], args: &[&str]| {
        let mut command = f.command(args);
        for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "CI"] {
            command.env_remove(name);
        }
        let made = command
            .envs(variables.iter().copied())
            .output()
            .expect("it starts");
        assert!(made.status.success());
        made.stdout.contains(&0x1b)
    };
    let claims = ["claims", "vaqm"];
    let always = ["claims", "vaqm", "--color", "always"];
    assert!(!piped(&[], &claims));
    assert!(piped(&[], &always));
    assert!(
        piped(&[("NO_COLOR", "1")], &always),
        "the option is stronger"
    );
    assert!(piped(&[("CLICOLOR_FORCE", "1")], &claims));
    assert!(!piped(
        &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
        &claims
    ));
    assert!(!piped(
        &[("CLICOLOR_FORCE", "1")],
        &["--color", "never", "claims", "vaqm"]
    ));
    let on = |variables: &[(&str, &str)], args: &[&str]| {
        seen(&f, "80", variables, args).map(|t| t.contains('\u{1b}'))
    };
    let Some(coloured) = on(&[], &claims) else {
        return;
    };
    assert!(coloured);
    assert_eq!(on(&[("NO_COLOR", "1")], &claims), Some(false));
    assert_eq!(
        on(&[], &["claims", "vaqm", "--color", "never"]),
        Some(false)
    );
    assert_eq!(on(&[("TERM", "dumb")], &claims), Some(false));
}

/// The three verdicts differ in their letters, what misses stands first, and its cause below.
#[test]
fn misses_come_first_with_their_causes() {
    let f = Folder::new("terminal-verdicts");
    let args = ["repro", "vaqm", "--claims", "--only", "signal", "--quick"];
    let ran = f.run(&args);
    let rows = ran
        .out
        .lines()
        .skip_while(|l| !l.starts_with("---"))
        .skip(1);
    let rows: Vec<&str> = rows
        .take_while(|l| !l.starts_with('(') && !l.is_empty())
        .collect();
    let rank = |line: &&str| {
        let found = ["MISSES", "cannot tell", "holds", "not tested"];
        found
            .iter()
            .position(|word| line.contains(word))
            .unwrap_or_else(|| panic!("{line}"))
    };
    let ranks: Vec<usize> = rows.iter().map(rank).collect();
    assert!(ranks.len() > 3 && ranks.is_sorted(), "{}", ran.out);
    // Each cause once, by its number, in the order of the rows.
    let causes: Vec<&str> = ran.out.lines().filter(|l| l.starts_with('(')).collect();
    for (n, cause) in causes.iter().enumerate() {
        assert!(cause.starts_with(&format!("({}) ", n + 1)), "{cause}");
        let at = |line: &&&str| line.contains(&format!("({})", n + 1));
        assert!(rows.iter().any(|r| at(&r)), "{cause}");
    }
    let csv = fields(&f.run(&[&args[..], &["--csv"]].concat()).out);
    assert_eq!(csv[0][..3], ["claim", "verdict", "cause"]);
    assert_eq!(csv.len() - 1, rows.len());
}
