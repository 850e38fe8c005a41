//! `[vary]`: lists whose cartesian product is a comparison.

use super::keys::{KEYS, RECORD};
use super::{Bottleneck, Scenario};
use crate::error::{ScenarioError, nearest};
use crate::field::{At, Cx};
use crate::tree::{Node, Table, Value};

/// One key and the values that it takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// The key, such as `flow.controller`.
    pub key: String,
    /// The values; at least one.
    pub values: Vec<Node>,
}

/// One run of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Variant {
    /// What distinguishes this run, without the seed: key and value, in the order of `[vary]`.
    pub labels: Vec<(String, String)>,
    /// The seed.
    pub seed: u64,
    /// The scenario, with nothing left to vary.
    pub scenario: Scenario,
}

impl Variant {
    /// The labels as one text, such as `cubic, 128 packets`; empty where only the seed varies.
    pub fn name(&self) -> String {
        let values: Vec<&str> = self.labels.iter().map(|l| l.1.as_str()).collect();
        values.join(", ")
    }
}

/// Runs of one comparison at most.
const MAX_RUNS: usize = 100_000;

impl Scenario {
    /// The scenario with `key` varied over `values` (each as [`Scenario::with`] takes it), in place of what `[vary]`
    /// says of that key.
    ///
    /// # Errors
    /// Where the key does not exist or a value does not fit it.
    pub fn with_axis(&self, key: &str, values: &[String]) -> Result<Self, ScenarioError> {
        for (i, value) in values.iter().enumerate() {
            if values[..i].contains(value) {
                return Err(ScenarioError::new(
                    key,
                    format!("{value:?} twice"),
                    "each value once: two runs alike are no two samples",
                ));
            }
            self.with(key, value)?;
        }
        let mut scenario = self.clone();
        let nodes = values.iter().map(|v| super::value_of(v)).collect();
        let axis = Axis {
            key: key.to_owned(),
            values: nodes,
        };
        match scenario.vary.iter_mut().find(|a| a.key == key) {
            Some(old) => *old = axis,
            None => scenario.vary.push(axis),
        }
        Ok(scenario)
    }

    /// The runs that `[vary]` describes: the last key varies fastest. Without `[vary]`, one.
    ///
    /// # Errors
    /// Where a combination of values contradicts itself; each value alone was checked before.
    pub fn expand(&self) -> Result<Vec<Variant>, ScenarioError> {
        let runs: usize = self.vary.iter().map(|a| a.values.len()).product();
        let mut base = self.encode();
        base.remove("vary");
        (0..runs)
            .map(|run| {
                let mut tree = base.clone();
                let mut labels = Vec::new();
                let mut stride = runs;
                for axis in &self.vary {
                    stride /= axis.values.len();
                    let value = &axis.values[run / stride % axis.values.len()];
                    set(&mut tree, &axis.key, value)?;
                    if axis.key != "seed" {
                        labels.push((axis.key.clone(), label(&value.value)));
                    }
                }
                let scenario = self.again(tree, "[vary]")?;
                Ok(Variant {
                    labels,
                    seed: scenario.seed,
                    scenario,
                })
            })
            .collect()
    }
}

fn label(value: &Value) -> String {
    match value {
        Value::Str(s) => s.clone(),
        Value::Table(t) => match t.get("kind").or_else(|| t.get("model")).map(|n| &n.value) {
            Some(Value::Str(s)) if t.entries.len() == 1 => s.clone(),
            _ => value.to_inline(),
        },
        v => v.to_inline(),
    }
}

/// Sets `key` in `root`. A list of tables takes the value in each of its tables, or in one by `[n]`.
pub(super) fn set(root: &mut Table, key: &str, value: &Node) -> Result<(), ScenarioError> {
    let (first, rest) = key
        .split_once('.')
        .map_or((key, None), |(a, b)| (a, Some(b)));
    let bad = |found: &str, expected: String| Err(ScenarioError::new(key, found, expected));
    let (name, index) = match first.strip_suffix(']').and_then(|f| f.split_once('[')) {
        Some((name, index)) => match index.parse::<usize>() {
            Ok(i) => (name, Some(i)),
            Err(_) => return bad("an index that is no number", "name[0]".to_owned()),
        },
        None => (first, None),
    };
    if name.is_empty() {
        return bad("an empty key", "names joined by \".\"".to_owned());
    }
    let Some(rest) = rest else {
        if index.is_some() {
            return bad("an index at the end", "a key below it".to_owned());
        }
        root.set(name, value.clone());
        return Ok(());
    };
    if root.get(name).is_none() {
        root.set(name, Node::new(Value::Table(Table::default())));
    }
    let Some(node) = root.get_mut(name) else {
        return Ok(());
    };
    match (&mut node.value, index) {
        (Value::Table(table), None) => set(table, rest, value),
        (Value::Array(items), None) if items.is_empty() => bad(
            "an empty list",
            format!("an entry of `{name}` that takes the key"),
        ),
        (Value::Array(items), index) => {
            if index.is_some_and(|i| i >= items.len()) {
                return bad(
                    "an index beyond the end",
                    format!("less than {}", items.len()),
                );
            }
            for (i, item) in items.iter_mut().enumerate() {
                if let Value::Table(table) = &mut item.value
                    && index.is_none_or(|wanted| wanted == i)
                {
                    set(table, rest, value)?;
                }
            }
            Ok(())
        }
        // A word such as "bulk" stands for a table of defaults: it becomes one to take a key.
        (other @ Value::Str(_), None) => {
            let mut table = Table::default();
            let tag = if name == "pathloss" { "model" } else { "kind" };
            table.set(tag, Node::new(other.clone()));
            set(&mut table, rest, value)?;
            *other = Value::Table(table);
            Ok(())
        }
        _ => bad("a value without keys", "a table".to_owned()),
    }
}

/// Reads `[vary]`. A value that is no list is one value.
pub(super) fn decode(at: &At<'_>, root: &Table) -> Result<Vec<Axis>, ScenarioError> {
    let Some(node) = root.get("vary") else {
        return Ok(Vec::new());
    };
    let at = at.child("vary", node);
    let mut axes = Vec::new();
    flatten(&at, at.table()?, "", &mut axes)?;
    let runs = axes
        .iter()
        .try_fold(1usize, |n, a| n.checked_mul(a.values.len()));
    match runs {
        Some(n) if n <= MAX_RUNS => Ok(axes),
        _ => Err(at.error(
            "too many runs",
            format!("at most {MAX_RUNS} (the product of all lists)"),
        )),
    }
}

/// `flow.controller = [..]` without quotes makes tables of tables in TOML: both spellings mean the same.
fn flatten(
    at: &At<'_>,
    table: &Table,
    prefix: &str,
    axes: &mut Vec<Axis>,
) -> Result<(), ScenarioError> {
    for entry in &table.entries {
        let key = if prefix.is_empty() {
            entry.key.clone()
        } else {
            format!("{prefix}.{}", entry.key)
        };
        let here = at.child(&entry.key, &entry.node);
        match &entry.node.value {
            Value::Table(inner) => flatten(&here, inner, &key, axes)?,
            Value::Array(items) if items.is_empty() => {
                return Err(here.wrong("one value or more"));
            }
            Value::Array(items) => axes.push(Axis {
                key,
                values: items.clone(),
            }),
            _ => return Err(here.wrong("a list")),
        }
    }
    Ok(())
}

/// Tries each value of each axis alone, so that a wrong value is found before any run starts and at its own place.
pub(super) fn check(cx: Cx<'_>, root: &Table, scenario: &Scenario) -> Result<(), ScenarioError> {
    let mut base = root.clone();
    base.remove("vary");
    for axis in &scenario.vary {
        let first = axis.key.split(['.', '[']).next().unwrap_or("");
        let other = match scenario.bottleneck {
            Bottleneck::Link(_) => "cell",
            Bottleneck::Cell(_) => "link",
        };
        let place = |found: String, expected: String, node: &Node| {
            let mut e = ScenarioError::new(format!("vary.{}", axis.key), found, expected);
            e.locate(cx.file, cx.text, node.span.clone());
            e
        };
        let Some(node) = axis.values.first() else {
            continue;
        };
        if first == other || matches!(first, "vary" | "name") {
            return Err(place(
                format!("the key `{first}`"),
                "a key of this scenario that may vary".to_owned(),
                node,
            ));
        }
        if !KEYS.contains(&first) && first != RECORD {
            return Err(place(
                format!("the unknown key `{first}`"),
                nearest(first, KEYS).map_or_else(
                    || "a key of this scenario".to_owned(),
                    |n| format!("`{n}`?"),
                ),
                node,
            ));
        }
        for value in &axis.values {
            let mut tree = base.clone();
            let tried = set(&mut tree, &axis.key, value)
                .and_then(|()| Scenario::decode(cx, &Node::new(Value::Table(tree))));
            if let Err(e) = tried {
                return Err(place(
                    if e.key.is_empty() || e.key == axis.key {
                        e.found
                    } else {
                        format!("{} at {}", e.found, e.key)
                    },
                    e.expected,
                    value,
                ));
            }
        }
    }
    Ok(())
}

/// Writes the axes back.
pub(super) fn encode(axes: &[Axis]) -> Value {
    let mut table = Table::default();
    for axis in axes {
        table.set(&axis.key, Node::new(Value::Array(axis.values.clone())));
    }
    Value::Table(table)
}
