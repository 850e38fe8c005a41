//! What a folder of results says of itself: which program made it, by which command, of which scenario and files.

use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, Result};
use slackwater_results::output::{Input, Manifest, content};
use slackwater_scenario::{Change, Scenario};

use crate::start::command_line;

/// Commit that this program was built from; `None` where the build did not know.
pub(crate) fn revision() -> Option<&'static str> {
    Some(env!("SLACKWATER_REVISION")).filter(|r| !r.is_empty())
}

/// What this command makes: results of the kind `kind` called `name`.
pub(crate) fn manifest(kind: &str, name: &str) -> Manifest {
    Manifest {
        revision: revision().map(str::to_owned),
        ..Manifest::new(kind, name, &command_line())
    }
}

/// As [`manifest`], of `scenario` with `changes`, for results that shall stand in `folder`.
pub(crate) fn of_scenario(
    kind: &str,
    scenario: &Scenario,
    changes: Vec<Change>,
    folder: &Path,
) -> Result<Manifest> {
    let files = scenario.files().into_iter();
    let inputs = files.map(|(path, place)| {
        let sha256 =
            content::of_file(&place).with_context(|| format!("cannot read {}", place.display()))?;
        Ok(Input { path, sha256 })
    });
    let inputs: Vec<Input> = inputs.collect::<Result<_>>()?;
    let base = if inputs.is_empty() {
        None
    } else {
        Some(way(&real(folder), &real(&scenario.base_dir)))
    };
    Ok(Manifest {
        set: changes,
        inputs,
        base,
        ..manifest(kind, &scenario.name)
    })
}

/// `path` from the root on, without links as far as it is there.
fn real(path: &Path) -> PathBuf {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let whole = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    for there in whole.ancestors() {
        if let (Ok(real), Ok(rest)) = (there.canonicalize(), whole.strip_prefix(there)) {
            return if rest.as_os_str().is_empty() {
                real
            } else {
                real.join(rest)
            };
        }
    }
    whole
}

/// The way from the folder `from` to `to`, both from the root on: it holds where both are moved together.
fn way(from: &Path, to: &Path) -> PathBuf {
    let same = from.components().zip(to.components());
    let same = same.take_while(|(a, b)| a == b).count();
    let up = from.components().skip(same).map(|_| Component::ParentDir);
    let way: PathBuf = up.chain(to.components().skip(same)).collect();
    if way.as_os_str().is_empty() {
        PathBuf::from(".")
    } else {
        way
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_leads_from_results_to_the_scenario() {
        let way = |from, to| way(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(way("/a/runs/x", "/a"), "../..");
        assert_eq!(way("/a/runs/x", "/a/cells/lte"), "../../cells/lte");
        assert_eq!(way("/a", "/a"), ".");
        assert_eq!(way("/b/x", "/a"), "../../a");
    }
}
