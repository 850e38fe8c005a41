//! A scenario as a whole: how it is read, and what it holds.

mod changed;
mod check;
mod flows;
mod keys;
mod moved;
mod notes;
mod record;
mod sections;
mod vary;

use std::path::{Path as FsPath, PathBuf};

use slackwater_core::Duration;

use crate::builtin;
use crate::cell::Cell;
use crate::data::DataCache;
use crate::document;
use crate::embedded::embedded;
use crate::error::ScenarioError;
use crate::feedback::Feedback;
use crate::field::Cx;
use crate::flow::Flow;
use crate::link::{Link, Path, Wired};
use crate::plugins::Plugins;
use crate::tree::{self, Node, Table, Value};
use crate::ue::Ue;
use crate::upf::Upf;

pub use changed::Change;
pub use flows::FlowInstance;
pub use record::Record;
pub use vary::{Axis, Variant};

/// The bottleneck: a link or a cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Bottleneck {
    /// A link that follows a trace, a rate or a series.
    Link(Box<Link>),
    /// A cell with UEs.
    Cell(Box<Cell>),
}

/// A scenario, complete: every default filled in, every file read.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Name: letters, digits, `-`, `_`, `.`; the folder of the results.
    pub name: String,
    /// Title of the report.
    pub title: Option<String>,
    /// What it shows.
    pub description: Option<String>,
    /// Simulated time.
    pub duration: Duration,
    /// Time at the start that metrics leave out.
    pub warmup: Duration,
    /// Seed of every random draw.
    pub seed: u64,
    /// The wired part.
    pub path: Path,
    /// The bottleneck.
    pub bottleneck: Bottleneck,
    /// A wired bottleneck in series.
    pub wired: Option<Wired>,
    /// What the cell tells senders that ask.
    pub feedback: Feedback,
    /// The user plane function, where there is one.
    pub upf: Option<Upf>,
    /// UEs, where the bottleneck is a cell.
    pub ues: Vec<Ue>,
    /// Flows.
    pub flows: Vec<Flow>,
    /// What varies between the runs.
    pub vary: Vec<Axis>,
    /// What a run writes.
    pub record: Record,
    /// Where relative paths start.
    pub base_dir: PathBuf,
    cache: DataCache,
    plugins: Plugins,
}

/// The value that a text of the command line means: TOML where it is some, otherwise the text itself.
fn value_of(text: &str) -> Node {
    let line = format!("value = {text}\n");
    let mut node = document::parse_toml("", &line)
        .ok()
        .and_then(|mut t| (t.entries.len() == 1).then(|| t.remove("value")).flatten())
        .unwrap_or_else(|| Node::new(Value::Str(text.to_owned())));
    strip_spans(&mut node);
    node
}

/// The text of a scenario file.
fn read(path: &FsPath) -> Result<String, ScenarioError> {
    crate::bounded::document(path).map_err(|e| {
        let found = match e.kind() {
            std::io::ErrorKind::NotFound => "no such file".to_owned(),
            std::io::ErrorKind::InvalidData | std::io::ErrorKind::FileTooLarge => e.to_string(),
            _ => format!("a file that cannot be read ({e})"),
        };
        let mut error = ScenarioError::new("", found, "a scenario file");
        error.locate(&path.display().to_string(), None, None);
        error
    })
}

impl Scenario {
    /// Reads a scenario file.
    ///
    /// # Errors
    /// Where the file, a key of it or a file that it names is wrong; the error says where.
    pub fn load(path: impl AsRef<FsPath>) -> Result<Self, ScenarioError> {
        let path = path.as_ref();
        let text = read(path)?;
        let base = path.parent().unwrap_or_else(|| FsPath::new("."));
        Self::parse(&path.display().to_string(), &text, base)
    }

    /// The built-in scenario `name`.
    pub fn embedded(name: &str) -> Option<Result<Self, ScenarioError>> {
        embedded(name).map(|text| Self::parse(&format!("<{name}>"), &text, FsPath::new(".")))
    }

    /// Reads a scenario from text; relative paths in it start at `base_dir`.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn from_toml(text: &str, base_dir: impl AsRef<FsPath>) -> Result<Self, ScenarioError> {
        Self::parse("<text>", text, base_dir.as_ref())
    }

    /// Reads a scenario from text; `file` names it in errors.
    ///
    /// # Errors
    /// As [`Scenario::load`].
    pub fn parse(file: &str, text: &str, base_dir: &FsPath) -> Result<Self, ScenarioError> {
        let table = document::parse_toml(file, text)?;
        let cache = DataCache::default();
        let cx = Cx {
            file,
            text: Some(text),
            base_dir,
            files: &cache,
        };
        Self::decode(cx, &Node::new(Value::Table(table)))
    }

    /// Takes a scenario from JSON, of the same shape as the TOML.
    ///
    /// # Errors
    /// As [`Scenario::load`], without lines.
    pub fn from_json(
        value: &serde_json::Value,
        base_dir: impl AsRef<FsPath>,
    ) -> Result<Self, ScenarioError> {
        let mut node = tree::from_json(value)?;
        node.span = None;
        let cache = DataCache::default();
        let cx = Cx {
            file: "<json>",
            text: None,
            base_dir: base_dir.as_ref(),
            files: &cache,
        };
        Self::decode(cx, &node)
    }

    /// The scenario with every default filled in, as TOML.
    pub fn to_toml(&self) -> String {
        tree::to_toml(&self.encode())
    }

    /// The scenario with every default filled in, as JSON.
    pub fn to_json(&self) -> serde_json::Value {
        tree::to_json(&Value::Table(self.encode()))
    }

    /// The scenario with `key` set to `value` (TOML text such as `"reno"`, `30` or `"30 ms"`; bare words are taken as
    /// text). `key` is as in `[vary]`: `flow.controller` sets every flow's, `flow[1].controller` the second's.
    ///
    /// # Errors
    /// Where there is no such key, or it does not take the value.
    pub fn with(&self, key: &str, value: &str) -> Result<Self, ScenarioError> {
        self.with_all([(key, value)])
    }

    /// The scenario with all of `changes`, in their order, each a key and a value as [`Scenario::with`] takes them. It is checked once,
    /// with all of them made.
    ///
    /// # Errors
    /// As [`Scenario::with`].
    pub fn with_all<'a>(
        &self,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Self, ScenarioError> {
        let mut changes = changes.into_iter().peekable();
        if changes.peek().is_none() {
            return Ok(self.clone());
        }
        let mut tree = self.encode();
        for (key, value) in changes {
            vary::set(&mut tree, key, &value_of(value)).map_err(|mut e| {
                "--set".clone_into(&mut e.file);
                e
            })?;
        }
        self.again(tree, "--set")
    }

    /// Decodes a changed tree with the traces that were read already.
    fn again(&self, tree: Table, file: &str) -> Result<Self, ScenarioError> {
        let cx = Cx {
            file,
            text: None,
            base_dir: &self.base_dir,
            files: &self.cache,
        };
        let again = Self::decode(cx, &Node::new(Value::Table(tree)))?;
        Ok(again.with_plugins(&self.plugins))
    }

    /// The scenario among the parts that `plugins` adds; scenarios made from it know them too.
    #[must_use]
    pub fn with_plugins(mut self, plugins: &Plugins) -> Self {
        self.plugins = plugins.clone();
        self
    }

    /// The parts that it may name beside the built-in ones.
    pub const fn plugins(&self) -> &Plugins {
        &self.plugins
    }

    /// The cell, where there is one.
    pub fn cell(&self) -> Option<&Cell> {
        match &self.bottleneck {
            Bottleneck::Cell(cell) => Some(cell),
            Bottleneck::Link(_) => None,
        }
    }

    /// The link, where there is one.
    pub fn link(&self) -> Option<&Link> {
        match &self.bottleneck {
            Bottleneck::Link(link) => Some(link),
            Bottleneck::Cell(_) => None,
        }
    }

    /// The traces and series that the scenario names, as it has them and where they are, each once.
    pub fn files(&self) -> Vec<(String, PathBuf)> {
        fn walk(value: &Value, found: &mut impl FnMut(&str)) {
            match value {
                Value::Str(text) => found(text),
                Value::Array(items) => items.iter().for_each(|n| walk(&n.value, found)),
                Value::Table(table) => {
                    let entries = table.entries.iter();
                    entries.for_each(|e| walk(&e.node.value, found));
                }
                _ => {}
            }
        }
        let mut files = std::collections::BTreeMap::new();
        walk(&Value::Table(self.encode()), &mut |text| {
            // `file.csv#column` names a column too.
            let name = text.split('#').next().unwrap_or(text);
            let path = self.base_dir.join(name);
            // What is inside the program is of its revision.
            if builtin::named(&path).is_none() && self.cache.has(&path) {
                files.insert(name.to_owned(), path);
            }
        });
        files.into_iter().collect()
    }
}

impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.base_dir == other.base_dir
            && self.vary == other.vary
            && self.encode() == other.encode()
    }
}

fn strip_spans(node: &mut Node) {
    node.span = None;
    match &mut node.value {
        Value::Array(items) => items.iter_mut().for_each(strip_spans),
        Value::Table(t) => {
            for e in &mut t.entries {
                e.span = None;
                strip_spans(&mut e.node);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;

#[cfg(test)]
mod range_tests;
