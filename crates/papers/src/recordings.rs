//! Recordings of links by others. They are not in the tree: `SLACKWATER_TRACES` names the folder that holds them.

use std::path::{Path, PathBuf};

use slackwater_scenario::packed::plain_name;

/// The environment variable that names the folder of recordings.
const VARIABLE: &str = "SLACKWATER_TRACES";

/// Every file below `folder`.
fn files(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            files(&path, out);
        } else {
            out.push(path);
        }
    }
}

/// The recording called `name`, packed or not.
pub(crate) fn recording(name: &str) -> Option<PathBuf> {
    let folder = std::env::var_os(VARIABLE)?;
    let mut all = vec![];
    files(Path::new(&folder), &mut all);
    all.sort();
    all.into_iter().find(|path| {
        let file = path
            .file_name()
            .map(|f| f.to_string_lossy().into_owned())
            .unwrap_or_default();
        plain_name(&file) == name
    })
}

/// The `[link]` section of a scenario over the recording at `path`.
pub(crate) fn trace(path: &Path) -> String {
    // JSON's strings are TOML's.
    let file = serde_json::to_string(&path.to_string_lossy()).expect("a string");
    format!("[link]\nkind = \"trace\"\nfile = {file}\n")
}

/// Which of the recordings `names` are missing, and why; nothing where all are there.
pub(crate) fn missing<'a>(names: impl Iterator<Item = &'a str>) -> Option<String> {
    if std::env::var_os(VARIABLE).is_none() {
        return Some(format!(
            "Recorded traces were left out: {VARIABLE} names no folder."
        ));
    }
    let lacking: Vec<&str> = names.filter(|name| recording(name).is_none()).collect();
    (!lacking.is_empty())
        .then(|| format!("Not in the folder of recordings: {}.", lacking.join(", ")))
}
