//! `slackwater bundle`: results with all that repeats them, as an artifact for a paper.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context as _, Result, bail};
use clap::Args;
use slackwater_results::output::{Manifest, content, place};
use slackwater_scenario::build::controller::file_of;

use super::Folder;
use crate::say::say;

/// Name of the file with a hash for every other one, as `sha256sum --check` takes it.
const SUMS: &str = "SHA256SUMS";

/// `slackwater bundle`
#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Folders of results
    #[arg(required = true, value_name = "FOLDER")]
    folders: Vec<PathBuf>,
    /// The folder to make
    #[arg(long, short, value_name = "DIR")]
    out: PathBuf,
}

pub(crate) fn bundle(args: &BundleArgs) -> Result<ExitCode> {
    let out = &args.out;
    if out.exists() {
        bail!(
            "{}: found it there already, expected a new folder",
            out.display()
        );
    }
    let mut folders = Vec::new();
    for path in &args.folders {
        folders.extend(Folder::all(path)?);
    }
    let names = names(&folders)?;
    for folder in &folders {
        look(folder)?;
    }

    // Aside first: an error leaves no half of a bundle.
    let mut part = std::ffi::OsString::from(".");
    part.push(out.file_name().unwrap_or_default());
    part.push(".part");
    let aside = out.with_file_name(part);
    let _ = std::fs::remove_dir_all(&aside);
    let made = fill(&aside, &folders, &names).and_then(|()| {
        std::fs::rename(&aside, out).with_context(|| format!("cannot make {}", out.display()))
    });
    if made.is_err() {
        let _ = std::fs::remove_dir_all(&aside);
    }
    made?;
    say!("{}", out.display());
    Ok(ExitCode::SUCCESS)
}

/// What each folder is called in the bundle.
fn names(folders: &[Folder]) -> Result<Vec<String>> {
    let mut names: Vec<String> = Vec::new();
    for folder in folders {
        let real = folder
            .path
            .canonicalize()
            .with_context(|| format!("cannot read {}", folder.path.display()))?;
        let base = real
            .file_name()
            .map_or("results".to_owned(), |n| n.to_string_lossy().into_owned());
        let taken = |name: &String| names.contains(name);
        let free = (1..).map(|n| match n {
            1 => base.clone(),
            n => format!("{base}-{n}"),
        });
        let name = free.into_iter().find(|name| !taken(name));
        names.extend(name);
    }
    Ok(names)
}

/// Complains where the results were changed after they were written, or need what a bundle cannot hold.
fn look(folder: &Folder) -> Result<()> {
    let m = &folder.manifest;
    let place = folder.path.display();
    if let Some(content) = &m.content {
        let now =
            content::of_folder(&folder.path).with_context(|| format!("cannot read {place}"))?;
        if now != *content {
            bail!(
                "{place}: found results that were changed after they were written, expected them as they were"
            );
        }
    }
    for input in &m.inputs {
        let path = Path::new(&input.path);
        if path.is_absolute() {
            bail!(
                "{place}: found the absolute path {} in its scenario, expected one beside the scenario",
                input.path
            );
        }
        let there = folder.base().join(path);
        let now =
            content::of_file(&there).with_context(|| format!("cannot read {}", there.display()))?;
        if now != input.sha256 {
            bail!(
                "{place}: found another {} than the results were made with, expected sha256 {}",
                input.path,
                input.sha256
            );
        }
    }
    for run in folder.runs()? {
        let flows = &run.summary.flows;
        if let Some(file) = flows.iter().find_map(|f| file_of(&f.controller)) {
            bail!(
                "{place}: found a controller that is read from {file}, expected one that needs no file: a bundle holds none yet"
            );
        }
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    if let Some(folder) = to.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    std::fs::copy(from, to)
        .map(drop)
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))
}

/// Folders that a path goes up at most.
fn ups(path: &Path) -> usize {
    path.components()
        .filter(|c| *c == Component::ParentDir)
        .count()
}

fn fill(out: &Path, folders: &[Folder], names: &[String]) -> Result<()> {
    for (folder, name) in folders.iter().zip(names) {
        let own = out.join("results").join(name);
        let files = content::all_files(&folder.path)
            .with_context(|| format!("cannot read {}", folder.path.display()))?;
        for file in files {
            copy(&folder.path.join(&file), &own.join(&file))?;
        }
        let mut manifest = folder.manifest.clone();
        if !manifest.inputs.is_empty() {
            // Paths that go up from the scenario stay within the folder of inputs.
            let deep = manifest
                .inputs
                .iter()
                .map(|i| ups(Path::new(&i.path)))
                .max();
            let mut below = Path::new("inputs").join(name);
            below.extend((0..deep.unwrap_or(0)).map(|_| "scenario"));
            std::fs::create_dir_all(out.join(&below))
                .with_context(|| format!("cannot make {}", below.display()))?;
            for input in &manifest.inputs {
                let to = plain(&below.join(&input.path));
                copy(&folder.base().join(&input.path), &out.join(to))?;
            }
            manifest.base = Some(Path::new("../..").join(below));
        }
        write(&own.join(place::MANIFEST), &manifest.to_json())?;
    }
    let manifests: Vec<&Manifest> = folders.iter().map(|f| &f.manifest).collect();
    write(&out.join("README.md"), &readme(&manifests, names))?;
    let mut sums = String::new();
    for file in content::all_files(out).with_context(|| format!("cannot read {}", out.display()))? {
        let sha256 = content::of_file(&out.join(&file))
            .with_context(|| format!("cannot read {}", file.display()))?;
        let _ = writeln!(sums, "{sha256}  {}", file.display());
    }
    write(&out.join(SUMS), &sums)
}

/// `path` without `..`, which each take the part before them away.
fn plain(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// What a reader of the artifact needs first.
fn readme(manifests: &[&Manifest], names: &[String]) -> String {
    let mut text = "# Results of Slackwater\n\nTo repeat every run and compare each number with the one here:\n\n".to_owned();
    text.push_str("```sh\nslackwater rerun results\n```\n\n");
    text.push_str("To check that the files are as they were packed:\n\n");
    let _ = writeln!(text, "```sh\nsha256sum --check {SUMS}\n```\n");
    for (m, name) in manifests.iter().zip(names) {
        let revision = m.revision.as_deref().unwrap_or("unknown");
        let _ = writeln!(
            text,
            "## results/{name}\n\nA {} of {}, by slackwater {}, revision {revision}:\n",
            m.kind, m.name, m.version
        );
        let _ = writeln!(text, "```sh\n{}\n```\n", m.command);
        if !["run", "comparison"].contains(&m.kind.as_str()) {
            text.push_str("`rerun` does not repeat it: its command does.\n\n");
        }
        for input in &m.inputs {
            let _ = writeln!(text, "- reads `{}`, SHA-256 {}", input.path, input.sha256);
        }
        if !m.inputs.is_empty() {
            text.push('\n');
        }
        if let Some(partial) = &m.partial {
            let _ = writeln!(text, "It was interrupted: {partial}.\n");
        }
    }
    text
}
