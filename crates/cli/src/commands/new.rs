//! `slackwater new`: a first file of one's own, commented and running.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::{Args, ValueEnum};

use crate::say::say;

/// What can be begun.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum What {
    /// A scenario with a cell
    Cell,
    /// A scenario with a link
    Link,
    /// A congestion controller, in Rust or (--python) in Python
    Controller,
    /// A scheduler and a queue law, in Rust
    Scheduler,
    /// An observer, a carrier and a function at the UPF, in Rust
    System,
}

/// `slackwater new`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  slackwater new cell my-cell
  slackwater new controller mine
  slackwater new controller mine-py --python")]
pub(crate) struct NewArgs {
    /// What to begin
    #[arg(value_enum)]
    what: What,
    /// Its name and that of its folder: small letters, digits and hyphens
    #[arg(value_parser = name)]
    name: String,
    /// Write the controller in Python
    #[arg(long)]
    python: bool,
    /// The checkout of Slackwater that the Rust program builds against (default: the one that this command was built in, else
    /// the released crates)
    #[arg(long, value_name = "DIR")]
    checkout: Option<PathBuf>,
}

fn name(text: &str) -> Result<String, String> {
    let letter = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let good = text.starts_with(|c: char| c.is_ascii_lowercase())
        && text.ends_with(|c: char| c != '-')
        && text.chars().all(letter)
        && text.len() <= 64;
    good.then(|| text.to_owned())
        .ok_or_else(|| "expected small letters, digits and hyphens, a letter first".to_owned())
}

/// A file of the new folder, and its text.
type File = (&'static str, String);

macro_rules! template {
    ($path:literal) => {
        include_str!(concat!("../../templates/", $path))
    };
}

pub(crate) fn new(args: &NewArgs) -> Result<ExitCode> {
    if args.python && !matches!(args.what, What::Controller) {
        bail!("found --python, expected it with `controller`: the other parts are written in Rust");
    }
    let name = args.name.as_str();
    let named = |text: &str| text.replace("NAME", name);
    let (files, next): (Vec<File>, String) = match args.what {
        What::Cell => (
            vec![("cell.toml", named(template!("cell/cell.toml")))],
            format!("slackwater run {name}/cell.toml"),
        ),
        What::Link => (
            vec![("link.toml", named(template!("link/link.toml")))],
            format!("slackwater run {name}/link.toml"),
        ),
        What::Controller if args.python => (
            vec![(
                "controller.py",
                named(template!("controller/controller.py")),
            )],
            format!("python {name}/controller.py"),
        ),
        What::Controller => {
            taken(name)?;
            let main = template!("controller/main.rs");
            let main = main
                .replace("\"mine\"", &format!("\"{name}\""))
                .replace("--controllers mine,", &format!("--controllers {name},"));
            (
                program(args, &main, None)?,
                cargo(
                    name,
                    &format!("compare lte-demo --controllers {name},cubic"),
                ),
            )
        }
        What::Scheduler => (
            program(
                args,
                template!("scheduler/main.rs"),
                Some(template!("scheduler/cell.toml")),
            )?,
            cargo(name, &format!("compare {name}/cell.toml")),
        ),
        What::System => (
            program(
                args,
                template!("system/main.rs"),
                Some(template!("system/cell.toml")),
            )?,
            cargo(name, &format!("run {name}/cell.toml")),
        ),
    };
    write(Path::new(name), &files)?;
    for (file, _) in &files {
        say!("{name}/{file}");
    }
    say!("next: {next}");
    Ok(ExitCode::SUCCESS)
}

/// A controller whose name is taken could not be added.
fn taken(name: &str) -> Result<()> {
    use slackwater_lab::control::registry::find;
    if find(name).is_some() {
        bail!("found {name}, a controller of that name, expected a new one");
    }
    Ok(())
}

/// The command that builds and runs the new program.
fn cargo(name: &str, words: &str) -> String {
    format!("cargo run --release --manifest-path {name}/Cargo.toml -- {words}")
}

/// The files of a Rust program.
fn program(args: &NewArgs, main: &str, cell: Option<&str>) -> Result<Vec<File>> {
    let depends = match &args.checkout {
        Some(folder) => {
            let found = checkout(folder);
            found.with_context(|| {
                format!(
                    "--checkout: found {} without crates/cli/Cargo.toml, expected a checkout of Slackwater",
                    folder.display()
                )
            })?
        }
        None => built_in().unwrap_or_else(|| format!("\"{}\"", env!("CARGO_PKG_VERSION"))),
    };
    let manifest = format!(
        "# A program of one's own: the whole `slackwater` command, with the parts of src/main.rs more.
[package]
name = \"{name}\"
version = \"0.1.0\"
edition = \"2024\"
publish = false

[dependencies]
slackwater-cli = {depends}

# Not a member of a workspace around it.
[workspace]
",
        name = args.name
    );
    let mut files = vec![("Cargo.toml", manifest), ("src/main.rs", main.to_owned())];
    files.extend(cell.map(|text| ("cell.toml", text.to_owned())));
    Ok(files)
}

/// What a manifest says of the checkout at `folder`; `None` where it is none.
fn checkout(folder: &Path) -> Option<String> {
    let cli = folder.join("crates/cli").canonicalize().ok()?;
    let there = cli.join("Cargo.toml").is_file();
    let text = cli.to_str()?;
    // A debug string is a TOML string for what a path holds.
    there.then(|| format!("{{ path = {text:?} }}"))
}

/// The checkout that this command was built in, where it is there.
fn built_in() -> Option<String> {
    let command = std::env::current_exe().ok()?.canonicalize().ok()?;
    let target = command.ancestors().find(|d| d.ends_with("target"))?;
    checkout(target.parent()?)
}

/// Makes `folder` with its files; what is there stays as it is.
fn write(folder: &Path, files: &[File]) -> Result<()> {
    let shown = folder.display();
    std::fs::create_dir(folder).map_err(|e| match e.kind() {
        ErrorKind::AlreadyExists => {
            anyhow::anyhow!(
                "found {shown}, expected no such file or folder: nothing is overwritten"
            )
        }
        _ => anyhow::anyhow!("{shown}: cannot make the folder: {e}"),
    })?;
    for (name, text) in files {
        let path = folder.join(name);
        let parent = path.parent().unwrap_or(folder);
        std::fs::create_dir_all(parent)
            .and_then(|()| std::fs::write(&path, text))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
