//! `slackwater train`, `slackwater sweep` and `slackwater arena --ray`: work that the Python package does.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use anyhow::{Result, bail};
use clap::Args;

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

/// Runs `python -m module` with the same terminal, and ends as it ends.
pub(crate) fn module(module: &str, args: &[OsString]) -> Result<ExitCode> {
    let python = interpreter();
    let found = Command::new(&python)
        .args(["-c", "import slackwater"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let shown = python.display();
    match found {
        Err(e) => bail!(
            "found no Python ({shown}: {e}), expected one with the package slackwater; {OVERRIDE} names another"
        ),
        Ok(status) if !status.success() => bail!(
            "found {shown} without the package slackwater, expected one with it: `make python` builds it into .venv, \
             `pip install 'slackwater[train]'` installs it, {OVERRIDE} names another interpreter"
        ),
        Ok(_) => {}
    }
    // Ctrl-C goes to the whole group: the interpreter tells what it kept, and we end as it ends.
    crate::progress::catch_interrupts();
    let status = Command::new(&python)
        .args(["-m", module])
        .args(args)
        .status()?;
    let code = status.code().and_then(|c| u8::try_from(c).ok());
    Ok(ExitCode::from(code.unwrap_or(1)))
}

/// The interpreter: the one that is named, the active virtual environment's, `.venv` of this folder or of one above,
/// `python3`.
fn interpreter() -> PathBuf {
    if let Some(named) = env::var_os(OVERRIDE) {
        return named.into();
    }
    let inside = |venv: &Path| {
        let place = if cfg!(windows) {
            "Scripts/python.exe"
        } else {
            "bin/python"
        };
        Some(venv.join(place)).filter(|p| p.exists())
    };
    let active = env::var_os("VIRTUAL_ENV").and_then(|v| inside(Path::new(&v)));
    let near = || {
        let here = env::current_dir().ok()?;
        here.ancestors().find_map(|d| inside(&d.join(".venv")))
    };
    active.or_else(near).unwrap_or_else(|| "python3".into())
}
