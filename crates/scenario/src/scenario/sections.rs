//! A scenario as a document: its sections, read and written, and what must hold between them.

use slackwater_core::Duration;

use super::keys::{KEYS, RECORD};
use super::record::Record;
use super::{Bottleneck, Scenario, moved, vary};
use crate::cell::Cell;
use crate::data::DataCache;
use crate::error::ScenarioError;
use crate::feedback::Feedback;
use crate::field::{self, At, Cx, Field};
use crate::flow::UeRef;
use crate::link::Link;
use crate::plugins::Plugins;
use crate::tree::{Node, Table, Value};
use crate::ue::Ue;

/// UEs or flows of one run at most.
const MAX_COUNT: u64 = 100_000;

impl Scenario {
    pub(super) fn decode(cx: Cx<'_>, node: &Node) -> Result<Self, ScenarioError> {
        let at = At {
            cx,
            node,
            key: String::new(),
        };
        let table = at.table()?;
        let keys: Vec<&str> = KEYS.into_iter().chain([RECORD]).collect();
        at.only(table, &keys)?;
        moved::check(&at, table)?;
        let scenario = Self {
            name: match table.get("name") {
                Some(n) => decode_name(&at.child("name", n))?,
                None => return Err(at.error("no key `name`", "text")),
            },
            title: optional(&at, table, "title")?,
            description: optional(&at, table, "description")?,
            duration: match table.get("duration") {
                Some(n) => field::decode_within(
                    &at.child("duration", n),
                    Some((
                        Duration::from_millis(1),
                        Duration::from_secs(10_000_000),
                        "1 ms to 10000000 s",
                    )),
                )?,
                None => return Err(at.error("no key `duration`", Duration::describe())),
            },
            warmup: optional(&at, table, "warmup")?.unwrap_or(Duration::ZERO),
            seed: optional(&at, table, "seed")?.unwrap_or(1),
            path: optional(&at, table, "path")?.unwrap_or_default(),
            bottleneck: match (table.get("link"), table.get("cell")) {
                (Some(n), None) => Bottleneck::Link(Box::new(Link::decode(&at.child("link", n))?)),
                (None, Some(n)) => Bottleneck::Cell(Box::new(Cell::decode(&at.child("cell", n))?)),
                (Some(_), Some(n)) => {
                    return Err(at
                        .child("cell", n)
                        .error("both [link] and [cell]", "one of them"));
                }
                (None, None) => {
                    return Err(at.error("neither [link] nor [cell]", "one of them"));
                }
            },
            wired: optional(&at, table, "wired")?,
            feedback: optional(&at, table, "feedback")?.unwrap_or_else(Feedback::example),
            upf: optional(&at, table, "upf")?,
            ues: optional(&at, table, "ue")?.unwrap_or_default(),
            flows: optional(&at, table, "flow")?.unwrap_or_default(),
            vary: vary::decode(&at, table)?,
            record: optional(&at, table, RECORD)?.unwrap_or_else(Record::example),
            base_dir: cx.base_dir.to_owned(),
            cache: DataCache::of(&cx).clone(),
            plugins: Plugins::new(),
        };
        let scenario = scenario.checked(&at, table)?;
        vary::check(cx, table, &scenario)?;
        Ok(scenario)
    }

    /// What holds between sections.
    fn checked(mut self, at: &At<'_>, table: &Table) -> Result<Self, ScenarioError> {
        let place = |key: &str| at.child(key, table.get(key).unwrap_or(at.node));
        if self.warmup >= self.duration {
            return Err(place("warmup").error(
                format!("\"{}\"", self.warmup),
                format!("less than duration = \"{}\"", self.duration),
            ));
        }
        if self.flows.is_empty() {
            return Err(at.error("no [[flow]]", "one or more"));
        }
        match self.bottleneck {
            Bottleneck::Cell(_) if self.ues.is_empty() => self.ues.push(Ue::example()),
            Bottleneck::Link(_) if self.upf.is_some() => {
                return Err(place("upf").error("[upf] beside [link]", "[upf] only with [cell]"));
            }
            Bottleneck::Link(_) if !self.ues.is_empty() => {
                return Err(place("ue").error("a [[ue]] beside [link]", "[[ue]] only with [cell]"));
            }
            _ => {}
        }
        let ues: u64 = self.ues.iter().map(|u| u64::from(u.count)).sum();
        if ues > MAX_COUNT {
            return Err(place("ue").error(format!("{ues} UEs"), format!("at most {MAX_COUNT}")));
        }
        if let Some(upf) = &self.upf {
            let own = self.ues.iter().flat_map(|ue| ue.vaqm(&upf.vaqm));
            for (_, own) in own {
                if let Some((found, expected)) = own.contradiction() {
                    return Err(place("ue").error(format!("a vaqm with {found}"), expected));
                }
            }
        }
        let mut total = 0;
        for (i, flow) in self.flows.iter().enumerate() {
            let entry = match table.get("flow").map(|n| &n.value) {
                Some(Value::Array(items)) => items.get(i),
                _ => None,
            };
            let mut here = place("flow");
            here.node = entry.unwrap_or(here.node);
            here.key = format!("flow[{i}]");
            let at_key = |key: &str| match &here.node.value {
                Value::Table(t) => here.child(key, t.get(key).unwrap_or(here.node)),
                _ => here.clone(),
            };
            match flow.ue {
                UeRef::Index(n) if self.cell().is_some() && u64::from(n) >= ues => {
                    return Err(at_key("ue").error(
                        format!("UE {n}"),
                        format!("0 to {} ({ues} in all)", ues.saturating_sub(1)),
                    ));
                }
                _ => {}
            }
            if flow.start >= self.duration {
                return Err(at_key("start").error(
                    format!("\"{}\"", flow.start),
                    format!("less than duration = \"{}\"", self.duration),
                ));
            }
            let copies = if flow.ue == UeRef::Each && self.cell().is_some() {
                ues
            } else {
                1
            };
            total += copies * u64::from(flow.count) * u64::from(flow.app.connections());
        }
        if total > MAX_COUNT {
            return Err(
                place("flow").error(format!("{total} flows"), format!("at most {MAX_COUNT}"))
            );
        }
        Ok(self)
    }

    pub(super) fn encode(&self) -> Table {
        let mut t = Table::default();
        let mut put = |key: &str, value: Option<Value>| {
            if let Some(v) = value {
                t.set(key, Node::new(v));
            }
        };
        put("name", self.name.encode());
        put("title", self.title.encode());
        put("description", self.description.encode());
        put("duration", self.duration.encode());
        put("warmup", self.warmup.encode());
        put("seed", self.seed.encode());
        put("path", self.path.encode());
        match &self.bottleneck {
            Bottleneck::Link(link) => put("link", link.encode()),
            Bottleneck::Cell(cell) => put("cell", cell.encode()),
        }
        put("wired", self.wired.encode());
        // Over a link it matters to senders that want transport blocks alone.
        if self.cell().is_some() || self.feedback != Feedback::example() {
            put("feedback", self.feedback.encode());
        }
        put("upf", self.upf.encode());
        if !self.ues.is_empty() {
            put("ue", self.ues.encode());
        }
        put("flow", self.flows.encode());
        if !self.vary.is_empty() {
            put("vary", Some(vary::encode(&self.vary)));
        }
        put(RECORD, self.record.encode());
        t
    }
}

fn optional<T: Field>(at: &At<'_>, table: &Table, key: &str) -> Result<Option<T>, ScenarioError> {
    table
        .get(key)
        .map(|node| T::decode(&at.child(key, node)))
        .transpose()
}

/// A name becomes a folder, so it must be one.
fn decode_name(at: &At<'_>) -> Result<String, ScenarioError> {
    let name = String::decode(at)?;
    let ok = (1..=100).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.'))
        && !name.starts_with('.');
    if ok {
        Ok(name)
    } else {
        Err(at.wrong("1 to 100 letters, digits, \"-\", \"_\" or \".\", not starting with \".\""))
    }
}
