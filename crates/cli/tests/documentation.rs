//! Every command in the README and the documentation is run, shorter than it stands there, or at least understood.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// What is done about a command.
enum How {
    /// It is run, in the time of two simulated seconds.
    Run,
    /// Its options are checked; the reason says why no more.
    Parse(&'static str),
    /// Another test runs it.
    Elsewhere(&'static str),
}

fn how(words: &[String]) -> How {
    let has = |word: &str| words.iter().any(|w| w == word);
    match words[0].as_str() {
        "emulate" => How::Parse("needs namespaces; tests/emulate runs it where it may"),
        "upf" => How::Parse("needs namespaces; tests/upf runs it where it may"),
        "gnb" => How::Parse("needs namespaces; tests/emulate/gnb.rs runs it where it may"),
        "run" if has("--live") => How::Parse("needs namespaces and real time; tests/emulate"),
        "quic" => How::Parse(
            "takes two hosts, one of which does not end; tests/emulate/quic.rs runs both",
        ),
        "tcp" => How::Parse("needs a build with BPF; live/tests and tests/emulate have one"),
        "rtc" => How::Parse("takes two hosts, one of which waits; tests/command/rtc.rs runs both"),
        "serve" => How::Parse("does not end; web/tests runs it"),
        "repro" => How::Parse("takes minutes; tests/command/repro.rs runs short ones"),
        "arena" if has("--list") || has("--estimate") => How::Run,
        "arena" => How::Parse("takes minutes; tests/command runs a part"),
        "validate" if has("ns3-lte-rates") => How::Run,
        "validate" => How::Parse("takes minutes; CI and the lab's tests run parts"),
        "bench" if has("--peer") => How::Parse("fetches ns-3 and compiles against it"),
        "train" | "sweep" | "sql" => How::Elsewhere("python/tests: the package does the work"),
        _ => How::Run,
    }
}

/// The words of a line of a shell as far as the documentation needs them: quotes, comments; what is redirected is left out.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let end = words.iter().position(|w| w == ">").unwrap_or(words.len());
    words.truncate(end);
    words
}

/// Lines of the page's shell blocks.
fn commands(page: &str) -> Vec<Vec<String>> {
    let page = page.replace("\\\n", " ");
    let blocks = page.split("\n```").skip(1).step_by(2);
    let shell = blocks.filter_map(|b| {
        let (language, lines) = b.split_once('\n')?;
        ["sh", "console", "bash"]
            .contains(&language)
            .then_some(lines)
    });
    let lines = shell.flat_map(str::lines);
    lines.map(words).filter(|w| !w.is_empty()).collect()
}

/// Pages of the documentation.
fn pages(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            pages(&path, found);
        } else if path.extension().is_some_and(|e| e == "md") {
            found.push(path);
        }
    }
}

/// Two seconds, two seeds.
fn shorter(words: &[String]) -> Vec<String> {
    let mut short = words.to_vec();
    if ["run", "compare"].contains(&words[0].as_str()) {
        short.extend(["--set", "warmup=0 s", "--set", "duration=2 s"].map(str::to_owned));
    }
    if let Some(at) = short.iter().position(|w| w == "--seeds") {
        "2".clone_into(&mut short[at + 1]);
    }
    short
}

/// The files that the pages speak of: the scenarios that they show, a trace, a policy.
fn lay_out(folder: &Path, texts: &[(PathBuf, String)]) {
    let file = |name: &str, text: &[u8]| {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().expect("in a folder")).expect("made");
        std::fs::write(path, text).expect("written");
    };
    for (_, text) in texts {
        for block in text.split("\n```toml\n").skip(1) {
            let block = block.split("\n```").next().expect("a block ends");
            let name = block
                .strip_prefix("name = \"")
                .and_then(|b| b.split('"').next());
            if let Some(name) = name {
                file(&format!("{name}.toml"), block.as_bytes());
            }
        }
    }
    let mut trace = String::new();
    for ms in 1..=2_000 {
        let _ = writeln!(trace, "{ms}");
    }
    let link = "name = \"link\"\nduration = \"9 s\"\n[link]\nkind = \"trace\"\nfile = \"other\"\n[[flow]]\n";
    file("link.toml", link.as_bytes());
    file("other", trace.as_bytes());
    let policy =
        std::fs::read(root().join("models/tyrus.safetensors")).expect("a policy is shipped");
    file("runs/train-tyrus/tyrus.safetensors", &policy);
}

/// Runs `words` with `program` as [`how`] says; what went wrong, if anything.
fn attempt(
    program: &Path,
    folder: &Path,
    words: &[String],
    seen: &mut BTreeSet<Vec<String>>,
) -> Option<String> {
    let (args, why) = match how(words) {
        How::Run => (shorter(words), None),
        How::Parse(why) => {
            let own = words.iter().position(|w| w == "--").unwrap_or(words.len());
            let mut args = words[..own].to_vec();
            // A word that stands for a fingerprint.
            for word in args.iter_mut().filter(|w| *w == "SHA256") {
                *word = "0".repeat(64);
            }
            args.push("--help".to_owned());
            (args, Some(why))
        }
        How::Elsewhere(why) => {
            eprintln!("elsewhere: {}: {why}", words.join(" "));
            return None;
        }
    };
    if !seen.insert(args.clone()) {
        return None;
    }
    if let Some(why) = why {
        eprintln!("understood: {}: {why}", words.join(" "));
    }
    // A command that does not end belongs among those that are only parsed: it is ended after so much of a processor.
    let output = Command::new("sh")
        .args(["-c", "ulimit -t 300 && exec \"$0\" \"$@\""])
        .arg(program)
        .args(&args)
        .current_dir(folder)
        .env_remove("SLACKWATER_TRACES")
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .output()
        .expect("the command starts");
    eprintln!("{}", args.join(" "));
    let (status, said) = (output.status, String::from_utf8_lossy(&output.stderr));
    // `doctor` fails where the machine lacks something.
    let fine = status.success() || (words[0] == "doctor" && status.code() == Some(1));
    (!fine).then(|| format!("{}: {status}\n  {}", args.join(" "), said.trim()))
}

#[test]
fn every_command_in_the_documentation_works() {
    let mut files = vec![root().join("README.md"), root().join("CONTRIBUTING.md")];
    pages(&root().join("docs"), &mut files);
    files.sort();
    let read = |path: PathBuf| {
        let text = std::fs::read_to_string(&path).expect("readable");
        (path, text)
    };
    let texts: Vec<(PathBuf, String)> = files.into_iter().map(read).collect();
    let folder =
        std::env::temp_dir().join(format!("slackwater-documentation-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    lay_out(&folder, &texts);
    let makefile = std::fs::read_to_string(root().join("Makefile")).expect("readable");
    let python = std::fs::read_to_string(root().join("pyproject.toml")).expect("readable");
    let bin = Path::new(env!("CARGO_BIN_EXE_slackwater"));
    let examples = bin.parent().expect("in a folder").join("examples");

    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    let mut count = 0;
    for (path, text) in &texts {
        // The tutorials' programs stand in the folder that the page goes to.
        let mut example: Option<String> = None;
        for mut words in commands(text) {
            count += 1;
            let line = words.join(" ");
            if words[0] == "sudo" {
                words.remove(0);
            }
            let rest = &words[1..];
            let complaint = match words[0].as_str() {
                "slackwater" if rest.is_empty() => None,
                "slackwater" => attempt(bin, &folder, rest, &mut seen),
                "cd" => {
                    let name = rest[0].strip_prefix("examples/").map(str::to_owned);
                    example = name.filter(|_| root().join(&rest[0]).is_dir());
                    example.is_none().then(|| "no such folder".to_owned())
                }
                "cargo" if rest[0] == "run" && rest.iter().any(|w| w == "--") => {
                    let at = rest.iter().position(|w| w == "--").expect("just seen");
                    let name = example.as_deref().expect("after `cd examples/..`");
                    let there = root().join("examples").join(name);
                    let mut own = BTreeSet::new();
                    let mut args = rest[at + 1..].to_vec();
                    if ["run", "compare"].contains(&args[0].as_str()) {
                        args.push("--no-files".to_owned());
                    }
                    attempt(&examples.join(name), &there, &args, &mut own)
                }
                "make" => {
                    let known =
                        |t: &String| makefile.contains(&format!("\n{t}:")) || t.contains('=');
                    let missing = rest.iter().find(|t| !known(t));
                    missing.map(|t| format!("the Makefile has no {t}"))
                }
                "pip" => {
                    let extra = line.split(['[', ']']).nth(1);
                    let missing = extra.filter(|e| !python.contains(&format!("\n{e} = [")));
                    missing.map(|e| format!("pyproject.toml has no extra {e}"))
                }
                "cargo" | "git" | "rustup" | "python" | ".venv/bin/python" | "export" => None,
                _ => Some(
                    "a command that this test does not know: say in it how it is tested".to_owned(),
                ),
            };
            wrong.extend(complaint.map(|c| format!("{}: {line}\n  {c}", path.display())));
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 60, "only {count} commands were found");
}

#[test]
fn words_are_those_of_a_shell() {
    let split = |line| words(line).join("|");
    assert_eq!(split("a 'b c' \"d;e\" # f"), "a|b c|d;e");
    assert_eq!(split("a x=\"30 ms\" > file"), "a|x=30 ms");
    assert_eq!(split("a '' b#c"), "a||b#c");
}
