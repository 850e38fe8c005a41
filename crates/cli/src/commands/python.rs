//! `slackwater train`, `slackwater sweep` and `slackwater arena --ray`: work that the Python package does.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Result, bail};
use clap::Args;

use crate::say::say;

/// Names the interpreter to use.
const OVERRIDE: &str = "SLACKWATER_PYTHON";

/// What follows is the Python command's own.
#[derive(Debug, Args)]
pub(crate) struct PythonArgs {
    /// Options of the command; `--help` lists them
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "ARGS"
    )]
    pub(crate) args: Vec<OsString>,
}

macro_rules! helps {
    ($($name:literal),+) => {
        [$(($name, include_str!(concat!("../../assets/help/", $name, ".txt")))),+]
    };
}

/// What the Python commands say of themselves, written by `python -m slackwater.helps`: help is there without Python too.
const HELPS: [(&str, &str); 8] = helps!(
    "train",
    "train-ebb",
    "train-tyrus",
    "train-evaluate",
    "train-export",
    "train-bench",
    "sweep",
    "sql"
);

/// The command that `module` is behind: a module has the name of its command, but where the package has a function of that name.
fn command_of(module: &str) -> &str {
    match module.rsplit('.').next() {
        Some("grid") => "sweep",
        Some(name) => name,
        None => module,
    }
}

/// The help that `args` want of the command of `module`.
fn help(module: &str, args: &[OsString]) -> Option<&'static str> {
    let wanted = args.iter().any(|a| a == "--help" || a == "-h");
    let command = wanted.then(|| command_of(module))?;
    let of = |name: &str| {
        HELPS
            .iter()
            .find(|(n, _)| *n == name)
            .map(|(_, text)| *text)
    };
    let part = args.first().and_then(|a| a.to_str());
    let part = part.and_then(|part| of(&format!("{command}-{part}")));
    part.or_else(|| of(command))
}

/// Runs `python -P -m module` with the same terminal, and ends as it ends. Without `-P` (Python 3.11) a `slackwater.py` in the
/// folder would stand for the package.
pub(crate) fn module(module: &str, args: &[OsString]) -> Result<ExitCode> {
    if let Some(text) = help(module, args) {
        say!("{}", text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let python = interpreter()?;
    let found = Command::new(&python)
        .args(["-P", "-c", "import slackwater"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let shown = python.display();
    let there = found.as_ref().is_ok_and(std::process::ExitStatus::success);
    let words = || args.iter().take_while(|a| *a != "--");
    if !there && words().any(|a| a == "--help" || a == "-h") {
        return Ok(own_help(module));
    }
    match found {
        Err(e) => bail!(
            "found no Python ({shown}: {e}), expected one with the package slackwater; {OVERRIDE} names another"
        ),
        Ok(status) if !status.success() => bail!(
            "found {shown} without the package slackwater, expected one with it: in a checkout `make python` builds it into \
             .venv and `{shown} -m pip install .` installs it; {OVERRIDE} names another interpreter"
        ),
        Ok(_) => {}
    }
    // Ctrl-C goes to the whole group: the interpreter tells what it kept, and we end as it ends.
    crate::progress::catch_interrupts();
    let status = Command::new(&python)
        .args(["-P", "-m", module])
        .args(args)
        .status()?;
    let code = status.code().and_then(|c| u8::try_from(c).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// The help of the command itself, where the package that knows its options is not there.
fn own_help(module: &str) -> ExitCode {
    let name = command_of(module);
    let mut command = crate::command();
    command.build();
    if let Some(own) = command.find_subcommand_mut(name) {
        crate::terminal::print(&own.render_help().to_string());
    }
    eprintln!("note: the Python package slackwater, which is not there, lists the options");
    ExitCode::SUCCESS
}

/// The interpreter: the one that is named, the one that this command runs in, the active virtual environment's, one beside this command,
/// that of the checkout which this command was built in, `python3`. Never one from the folder that the user happens to stand in, or from
/// one above it: whoever put it there would run code as this user.
///
/// # Errors
/// Where others may write to the active environment. The next in that order would be it too: its `bin` leads the `PATH`.
fn interpreter() -> Result<PathBuf> {
    if let Some(named) = env::var_os(OVERRIDE) {
        return Ok(named.into());
    }
    if let Some(own) = crate::start::python() {
        return Ok(own.to_owned());
    }
    if let Some(active) = env::var_os("VIRTUAL_ENV").and_then(|v| inside(Path::new(&v))) {
        if !is_ours(&active) {
            bail!(
                "VIRTUAL_ENV: found {}, which other users can change, expected an environment that this user or root alone can write; \
                 {OVERRIDE} names any interpreter",
                active.display()
            );
        }
        return Ok(active);
    }
    let beside = || {
        let command = env::current_exe().ok()?.canonicalize().ok()?;
        let folder = command.parent()?;
        // `pip install` puts the command into the environment's `bin`; cargo into `target/release` of the checkout.
        let installed = folder.parent().and_then(inside);
        let built = folder
            .ancestors()
            .find(|d| d.ends_with("target"))
            .and_then(|target| inside(&target.parent()?.join(".venv")));
        installed.or(built).filter(|p| is_ours(p))
    };
    Ok(beside().unwrap_or_else(|| "python3".into()))
}

/// The interpreter of the virtual environment at `venv`, where there is one.
fn inside(venv: &Path) -> Option<PathBuf> {
    let place = if cfg!(windows) {
        "Scripts/python.exe"
    } else {
        "bin/python"
    };
    let is_venv = venv.join("pyvenv.cfg").is_file();
    Some(venv.join(place)).filter(|p| is_venv && p.exists())
}

/// True where nobody but this user and root can have put or changed `python`: it, its folder and that above it belong to one of the two, and
/// nobody else may write there. A group may whose number is the user's, as Debian gives each user one.
#[cfg(unix)]
fn is_ours(python: &Path) -> bool {
    use std::os::unix::fs::MetadataExt as _;
    let Some(user) = std::fs::metadata("/proc/self").ok().map(|m| m.uid()) else {
        // Without /proc there is no cheap way to know who we are: the interpreter has to be named.
        return false;
    };
    python.ancestors().take(3).all(|path| {
        std::fs::metadata(path).is_ok_and(|m| {
            let writes = if m.gid() == user { 0o002 } else { 0o022 };
            (m.uid() == user || m.uid() == 0) && m.mode() & writes == 0
        })
    })
}

#[cfg(not(unix))]
fn is_ours(_python: &Path) -> bool {
    true
}
