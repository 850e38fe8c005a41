//! A scenario with changes from outside of its file, which hold before any file that it names is read.

use std::path::Path as FsPath;

use super::{Scenario, vary};
use crate::data::DataCache;
use crate::document;
use crate::error::ScenarioError;
use crate::field::Cx;
use crate::tree::{Node, Table, Value};

/// A key and the value that it shall have, as [`Scenario::with`] takes them.
pub type Change = (String, String);

impl Scenario {
    /// Reads a scenario file and makes `changes`, in their order, before it reads the traces and series that the scenario names.
    /// `by` names their source in errors, such as `--set`.
    ///
    /// # Errors
    /// As [`Scenario::load`] and [`Scenario::with`].
    pub fn load_changed(
        path: impl AsRef<FsPath>,
        changes: &[Change],
        by: &str,
    ) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        let text = super::read(path)?;
        let base = path.parent().unwrap_or_else(|| FsPath::new("."));
        Self::parse_changed(&path.display().to_string(), &text, base, changes, by)
    }

    /// As [`Scenario::load_changed`], from text; `file` names it in errors.
    ///
    /// # Errors
    /// As [`Scenario::load_changed`].
    pub fn parse_changed(
        file: &str,
        text: &str,
        base_dir: &FsPath,
        changes: &[Change],
        by: &str,
    ) -> Result<Self, ScenarioError> {
        if changes.is_empty() {
            return Self::parse(file, text, base_dir);
        }
        let raw = document::parse_toml(file, text)?;
        let unread = DataCache::unread();
        let cx = Cx {
            file,
            text: Some(text),
            base_dir,
            files: &unread,
        };
        let root = Node::new(Value::Table(raw.clone()));
        let unchanged = Self::decode(cx, &root)?;

        let mut changing = Changing {
            tree: unchanged.encode(),
            raw,
            switched: Vec::new(),
            keys: Vec::new(),
        };
        for (key, value) in changes {
            changing.make(key, value).map_err(|mut e| {
                by.clone_into(&mut e.file);
                e
            })?;
        }

        let cache = DataCache::default();
        let changed_cx = Cx {
            file: by,
            text: None,
            base_dir,
            files: &cache,
        };
        let touched = changing.keys.clone();
        changing.decode(changed_cx).map_err(|e| {
            // What no change named is wrong in the file: the error says where it stands there.
            if touched.iter().any(|key| overlaps(key, &e.key)) {
                return e;
            }
            let cx = Cx {
                files: &cache,
                ..cx
            };
            Self::decode(cx, &root).err().unwrap_or(e)
        })
    }
}

/// A scenario on its way from what the file says to what the changes make of it.
struct Changing {
    /// Every key, defaults filled in.
    tree: Table,
    /// The keys that the file or a change names.
    raw: Table,
    /// Tables that became another kind, by their keys without indices.
    switched: Vec<String>,
    /// The keys that changes named, without indices.
    keys: Vec<String>,
}

impl Changing {
    fn make(&mut self, key: &str, value: &str) -> Result<(), ScenarioError> {
        let node = super::value_of(value);
        let plain = without_indices(key);
        if let Some((parent, "kind" | "model")) = plain.rsplit_once('.') {
            let path: Vec<&str> = parent.split('.').collect();
            if switch(&mut self.tree, Some(&self.raw), &path, &plain, &node.value) {
                self.switched.push(parent.to_owned());
            }
        }
        vary::set(&mut self.tree, key, &node)?;
        // A key that the file leaves out may have no place there, such as one of a list: then it is in the tree alone.
        let _ = vary::set(&mut self.raw, key, &node);
        self.keys.push(plain);
        Ok(())
    }

    /// Decodes the tree. What the file says of the kind that a table was, and the new kind does not know, is left out.
    fn decode(mut self, cx: Cx<'_>) -> Result<Scenario, ScenarioError> {
        loop {
            let error = match Scenario::decode(cx, &Node::new(Value::Table(self.tree.clone()))) {
                Ok(scenario) => return Ok(scenario),
                Err(e) => e,
            };
            let plain = without_indices(&error.key);
            let left_over = error.found == "an unknown key"
                && !self.keys.contains(&plain)
                && plain
                    .rsplit_once('.')
                    .is_some_and(|(parent, _)| self.switched.iter().any(|s| s == parent));
            let path: Vec<&str> = plain.split('.').collect();
            if !left_over || !remove(&mut self.tree, &path) {
                return Err(error);
            }
        }
    }
}

/// Leaves of each table at `path` that becomes another kind by `key = value` what the file itself says. True where one does.
fn switch(tree: &mut Table, raw: Option<&Table>, path: &[&str], key: &str, value: &Value) -> bool {
    let Some((name, rest)) = path.split_first() else {
        let tag = key.rsplit('.').next().unwrap_or(key);
        if tree.get(tag).is_none_or(|old| old.value == *value) {
            return false;
        }
        tree.entries
            .retain(|e| raw.is_some_and(|raw| raw.get(&e.key).is_some()));
        return true;
    };
    let raw = raw.and_then(|raw| raw.get(name)).map(|n| &n.value);
    match tree.get_mut(name).map(|n| &mut n.value) {
        Some(Value::Table(table)) => {
            let raw = match raw {
                Some(Value::Table(raw)) => Some(raw),
                _ => None,
            };
            switch(table, raw, rest, key, value)
        }
        Some(Value::Array(items)) => {
            let mut any = false;
            for (i, item) in items.iter_mut().enumerate() {
                let raw = match raw {
                    Some(Value::Array(raw)) => match raw.get(i).map(|n| &n.value) {
                        Some(Value::Table(raw)) => Some(raw),
                        _ => None,
                    },
                    _ => None,
                };
                if let Value::Table(table) = &mut item.value {
                    any |= switch(table, raw, rest, key, value);
                }
            }
            any
        }
        _ => false,
    }
}

/// Takes the key at `path` out, in each table of a list. True where there was one.
fn remove(tree: &mut Table, path: &[&str]) -> bool {
    match path {
        [] => false,
        [key] => tree.remove(key).is_some(),
        [name, rest @ ..] => match tree.get_mut(name).map(|n| &mut n.value) {
            Some(Value::Table(table)) => remove(table, rest),
            Some(Value::Array(items)) => {
                let mut any = false;
                for item in items {
                    if let Value::Table(table) = &mut item.value {
                        any |= remove(table, rest);
                    }
                }
                any
            }
            _ => false,
        },
    }
}

/// `flow[1].app.kind` as `flow.app.kind`.
fn without_indices(key: &str) -> String {
    let parts = key.split('.').map(|p| p.split('[').next().unwrap_or(p));
    parts.collect::<Vec<_>>().join(".")
}

/// Whether `error` is about what `key` names, a part of it or a table around it.
fn overlaps(key: &str, error: &str) -> bool {
    let error = without_indices(error);
    let below = |a: &str, b: &str| a.strip_prefix(b).is_some_and(|r| r.starts_with('.'));
    key == error || below(key, &error) || below(&error, key)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "name = \"t\"\nduration = \"2 s\"\n[link]\nkind = \"trace\"\nfile = \"missing.down\"\n\
        queue = { kind = \"fifo\", limit = \"50 packets\" }\n[[flow]]\n";
    const RATE: &str = "name = \"t\"\nduration = \"2 s\"\n[link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\n[[flow]]\n";

    /// A folder with `good.down`.
    fn folder(test: &str) -> std::path::PathBuf {
        let own = format!("slackwater-changed-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        std::fs::create_dir_all(&folder).expect("a folder");
        std::fs::write(folder.join("good.down"), "1\n2\n").expect("a file");
        folder
    }

    fn changed(text: &str, base: &FsPath, changes: &[(&str, &str)]) -> Result<Scenario, String> {
        let own = |(k, v): &(&str, &str)| ((*k).to_owned(), (*v).to_owned());
        let changes: Vec<Change> = changes.iter().map(own).collect();
        Scenario::parse_changed("t.toml", text, base, &changes, "--set").map_err(|e| e.to_string())
    }

    #[test]
    fn a_file_that_is_replaced_is_not_read() {
        let base = folder("file");
        let scenario = changed(TRACE, &base, &[("link.file", "good.down")]).expect("it is there");
        assert!(scenario.to_toml().contains("file = \"good.down\""));
        // It alone is an input.
        let path = base.join("good.down");
        assert_eq!(scenario.files(), [("good.down".to_owned(), path)]);

        let e = changed(TRACE, &base, &[("duration", "3 s")]).expect_err("it is not there");
        assert!(
            e.starts_with("t.toml:5:8: link.file: found no such file"),
            "{e}"
        );
        let e = changed(TRACE, &base, &[("link.file", "none.down")]).expect_err("nor is it");
        assert!(
            e.starts_with("--set: link.file: found no such file in \"none.down\""),
            "{e}"
        );
        std::fs::remove_dir_all(&base).expect("it is ours");
    }

    #[test]
    fn another_kind_leaves_the_keys_of_the_old_one() {
        let base = folder("kind");
        let to_trace = [("link.kind", "trace"), ("link.file", "good.down")];
        for order in [[0, 1], [1, 0]] {
            let changes = order.map(|i| to_trace[i]);
            let scenario = changed(RATE, &base, &changes).unwrap_or_else(|e| panic!("{e}"));
            let toml = scenario.to_toml();
            assert!(!toml.contains("\nrate ="), "{toml}");
        }
        let e = changed(RATE, &base, &to_trace[..1]).expect_err("which trace?");
        assert!(
            e.starts_with("--set: link: found no key `file`, expected the path"),
            "{e}"
        );
        // A key of the old kind that a change names as well is a mistake.
        let both = [to_trace[0], to_trace[1], ("link.rate", "6 Mbit/s")];
        let e = changed(RATE, &base, &both).expect_err("a trace has no rate");
        assert!(
            e.starts_with("--set: link.rate: found an unknown key"),
            "{e}"
        );
        std::fs::remove_dir_all(&base).expect("it is ours");
    }

    #[test]
    fn another_kind_has_its_own_defaults_and_what_the_file_says() {
        let base = folder("defaults");
        let kind = ("link.queue.kind", "fq-codel");
        let own = changed(RATE, &base, &[kind]).expect("a queue");
        assert!(
            own.to_toml().contains("limit = \"10240 packets\""),
            "{}",
            own.to_toml()
        );
        let file = ("link.file", "good.down");
        let kept = changed(TRACE, &base, &[kind, file]).expect("a queue");
        assert!(
            kept.to_toml().contains("limit = \"50 packets\""),
            "{}",
            kept.to_toml()
        );
        std::fs::remove_dir_all(&base).expect("it is ours");
    }
}
