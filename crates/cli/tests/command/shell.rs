//! Runs the command in a folder of its own.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A fresh folder for one test, removed at its end unless it fails.
#[derive(Debug)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(test: &str) -> Self {
        let path =
            Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("the target folder can be written to");
        Self(path)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub(crate) fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("the folder can be written to");
    }

    pub(crate) fn read(&self, name: &str) -> String {
        let path = self.path(name);
        std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
    }

    /// The command with `args`, started in the folder, both streams in pipes.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_slackwater"));
        command
            .args(args)
            .current_dir(&self.0)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .env("RUST_BACKTRACE", "1");
        command
    }

    pub(crate) fn run(&self, args: &[&str]) -> Ran {
        let output = self.command(args).output().expect("the command starts");
        Ran::of(&output, args)
    }

    /// Every file below `name`, with its content, in order.
    pub(crate) fn tree(&self, name: &str) -> Vec<(String, Vec<u8>)> {
        fn walk(root: &Path, at: &Path, out: &mut Vec<(String, Vec<u8>)>) {
            for entry in std::fs::read_dir(at)
                .expect("the folder is there")
                .flatten()
            {
                let path = entry.path();
                if path.is_dir() {
                    walk(root, &path, out);
                } else {
                    let name = path.strip_prefix(root).expect("below the root");
                    let content = std::fs::read(&path).expect("the file is there");
                    out.push((name.display().to_string(), content));
                }
            }
        }
        let root = self.path(name);
        let mut out = vec![];
        walk(&root, &root, &mut out);
        out.sort();
        out
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }
}

/// How the command ended, without lines of progress.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) args: String,
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Ran {
    pub(crate) fn of(output: &Output, args: &[&str]) -> Self {
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
        // A machine with other work makes long commands of short ones.
        let err = text(&output.stderr);
        let said = err.split_inclusive('\n');
        Self {
            args: args.join(" "),
            code: output.status.code(),
            out: text(&output.stdout),
            err: said.filter(|l| !l.starts_with("progress: ")).collect(),
        }
    }

    /// Success, and nothing but progress on standard error, or which earlier results are replaced.
    pub(crate) fn fine(self) -> Self {
        assert_eq!(self.code, Some(0), "{}: {}", self.args, self.err);
        let replaced =
            |line: &str| line.starts_with("note: ") && line.contains(": replaces what `");
        let more: Vec<_> = self.err.lines().filter(|l| !replaced(l)).collect();
        assert!(more.is_empty(), "{}: {more:?}", self.args);
        assert!(
            !self.out.contains('\u{1b}'),
            "{}: no escape sequences in a pipe",
            self.args
        );
        self
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out)
            .unwrap_or_else(|e| panic!("{}: {e}\n{}", self.args, self.out))
    }

    /// Exit status 2 and one line on standard error that names all of `words`.
    pub(crate) fn complains(&self, words: &[&str]) {
        assert_eq!(
            self.code,
            Some(2),
            "{}: {}{}",
            self.args,
            self.out,
            self.err
        );
        assert_eq!(self.out, "", "{}", self.args);
        assert_eq!(
            self.err.lines().count(),
            1,
            "{}: one line\n{}",
            self.args,
            self.err
        );
        for bad in ["panicked", "backtrace", "Error {", "thread '"] {
            assert!(!self.err.contains(bad), "{}: {}", self.args, self.err);
        }
        for word in words {
            assert!(
                self.err.contains(word),
                "{}: {word:?} is missing in\n{}",
                self.args,
                self.err
            );
        }
    }
}
