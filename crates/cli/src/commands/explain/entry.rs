//! What is known of a name, and what has one beside the keys of scenarios.

use core::fmt::Write as _;

use serde_json::{Value, json};
use slackwater_lab::control::registry::{Kind, Listed, Marks, Reports, entries};
use slackwater_results::metrics::METRICS;
use slackwater_results::output::dictionary::COLUMNS;
use slackwater_scenario::{Plugins, builtin, embedded};

use crate::terminal::{described, wrapped};

/// What a name means. What a kind of name has not is empty.
#[derive(Clone, Debug, Default)]
pub(super) struct Entry {
    /// What it is: "key", "controller" ...
    pub(super) kind: &'static str,
    /// Its name, then other names for it.
    pub(super) names: Vec<String>,
    /// What it means.
    pub(super) meaning: String,
    /// What it takes.
    pub(super) value: String,
    /// Unit of a number.
    pub(super) unit: String,
    /// What stands where it is left out.
    pub(super) default: String,
    /// Least and greatest value.
    pub(super) range: String,
    /// Standard or paper, where the text does not name it.
    pub(super) source: String,
    /// How it is written.
    pub(super) example: String,
    /// What belongs to it: keys of a section, parameters of a controller.
    pub(super) below: Vec<(String, String)>,
}

impl Entry {
    fn new(kind: &'static str, name: impl Into<String>, meaning: impl Into<String>) -> Self {
        let (names, meaning) = (vec![name.into()], meaning.into());
        Self {
            kind,
            names,
            source: sources(&meaning),
            meaning,
            ..Self::default()
        }
    }

    /// Its facts, by name.
    fn facts(&self) -> [(&'static str, &str); 6] {
        [
            ("value", &self.value),
            ("unit", &self.unit),
            ("default", &self.default),
            ("range", &self.range),
            ("source", &self.source),
            ("example", &self.example),
        ]
    }

    pub(super) fn text(&self, width: usize) -> String {
        let mut out = format!("{} ({})", self.names[0], self.kind);
        if self.names.len() > 1 {
            let _ = write!(out, ", also {}", self.names[1..].join(", "));
        }
        let meaning = wrapped(&self.meaning, "  ", width - 2);
        let _ = write!(out, "\n  {meaning}");
        for (name, fact) in self.facts() {
            if !fact.is_empty() {
                let indented = fact.replace('\n', "\n            ");
                let _ = writeln!(out, "  {name:<8}  {indented}");
            }
        }
        for (name, about) in &self.below {
            out.push_str(&described(4, name, 16, about, width));
        }
        out
    }

    pub(super) fn json(&self) -> Value {
        let mut row = json!({ "kind": self.kind, "name": self.names[0], "meaning": self.meaning });
        for (name, fact) in self.facts() {
            if !fact.is_empty() {
                row[name] = fact.into();
            }
        }
        if self.names.len() > 1 {
            row["also"] = self.names[1..].into();
        }
        let below = self.below.iter();
        let below: Vec<_> = below
            .map(|(name, about)| json!({ "name": name, "meaning": about }))
            .collect();
        if !below.is_empty() {
            row["below"] = below.into();
        }
        row
    }
}

/// Standards that a text names: `RFC 8290`, `TS 38.214`.
pub(super) fn sources(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut found: Vec<String> = Vec::new();
    for pair in words.windows(2) {
        let family = pair[0].trim_start_matches('(');
        let number = pair[1].trim_end_matches(|c: char| !c.is_ascii_digit());
        let numbered = number.starts_with(|c: char| c.is_ascii_digit());
        if numbered && ["RFC", "TS", "TR"].contains(&family) {
            let source = format!("{family} {number}");
            if !found.contains(&source) {
                found.push(source);
            }
        }
    }
    found.join(", ")
}

/// Controllers and their parameters.
pub(super) fn controllers(plugins: &Plugins) -> Vec<Entry> {
    let mut out = Vec::new();
    for controller in entries() {
        out.push(controller_entry(&controller));
        for p in controller.parameters {
            let example = format!("--set flow.controller={}:{}", controller.name, p.example());
            let word = |(least, most): (f64, f64)| format!("{least} to {most}");
            out.push(Entry {
                names: vec![format!("{}:{}", controller.name, p.key)],
                value: p.expected(),
                unit: p.unit.to_owned(),
                default: p.default_text(),
                range: p.range.map(word).unwrap_or_default(),
                example,
                ..Entry::new("parameter of a controller", "", p.about)
            });
        }
    }
    let known = plugins.controllers();
    for (name, about) in known.names().into_iter().chain(known.media_names()) {
        if !entries().any(|e| e.name == name) {
            out.push(Entry::new("controller of this program", name, about));
        }
    }
    out
}

fn controller_entry(controller: &Listed) -> Entry {
    let kind = match controller.kind {
        Kind::Transport => "controller",
        Kind::Media => "controller of media",
    };
    let reports = match controller.reports {
        Reports::None => "",
        Reports::Share => "the cell's fair rate and queue delay (feedback.xrc)",
        Reports::Blocks => "transport blocks, from the phone (feedback.tyrus)",
        Reports::Counters => "the base station's counters of the flow (feedback)",
    };
    let mut names = vec![controller.name.to_owned()];
    names.extend(controller.aliases.iter().map(|a| (*a).to_owned()));
    if controller.title.to_lowercase() != controller.name {
        names.push(controller.title.to_owned());
    }
    let mut below: Vec<(String, String)> = Vec::new();
    if !reports.is_empty() {
        below.push(("reports".to_owned(), reports.to_owned()));
    }
    match controller.marks {
        Marks::None => {}
        Marks::Queue => below.push((
            "marks".to_owned(),
            "those of a queue that marks ECN-capable packets".to_owned(),
        )),
        Marks::Law(law) => below.push((
            "marks".to_owned(),
            format!("those of a queue with law `{law}`"),
        )),
    }
    for p in controller.parameters {
        let about = format!("{} (default: {})", p.about, p.default_text());
        below.push((format!(":{}", p.key), about));
    }
    Entry {
        names,
        example: format!("--set flow.controller={}", controller.name),
        below,
        ..Entry::new(kind, "", controller.about)
    }
}

/// Schedulers, agents and systems; queue laws stand among the keys as well, with theirs.
pub(super) fn parts(plugins: &Plugins) -> Vec<Entry> {
    let mut out = Vec::new();
    let mut add = |kind, key: &str, name: &str, about: &str| {
        out.push(Entry {
            example: format!("--set {key}={name}"),
            ..Entry::new(kind, name, about)
        });
    };
    for (name, about) in plugins.schedulers() {
        add("scheduler", "cell.scheduler", &name, &about);
    }
    for (name, about) in plugins.laws() {
        add("queue law", "cell.rlc.law", &name, &about);
    }
    for (name, about) in plugins.agents() {
        add("agent of this program", "feedback.own_agent", name, about);
    }
    for (name, about) in plugins.systems() {
        add("system of this program", "upf.system", name, about);
    }
    out
}

/// Metrics of summaries, and columns of tables.
pub(super) fn results() -> Vec<Entry> {
    let metrics = METRICS.iter().map(|m| Entry {
        names: vec![m.key.to_owned(), m.label.to_owned()],
        unit: m.unit.to_owned(),
        value: match m.better {
            slackwater_results::metrics::Better::Higher => "higher is better",
            slackwater_results::metrics::Better::Lower => "lower is better",
            slackwater_results::metrics::Better::Neither => "",
        }
        .to_owned(),
        ..Entry::new("metric", "", m.help)
    });
    let columns = COLUMNS.iter().map(|(tables, column, about)| {
        let unit = match column.rsplit('_').next() {
            Some("ns") => "ns",
            Some("bytes") => "bytes",
            Some("bps") => "bit/s",
            Some("packets") => "packets",
            _ => "",
        };
        let files: Vec<String> = tables.iter().map(|t| format!("{t}.parquet")).collect();
        let of = tables.iter().map(|t| format!("{t}.{column}"));
        Entry {
            names: core::iter::once((*column).to_owned()).chain(of).collect(),
            value: format!("a column of {}", files.join(", ")),
            unit: unit.to_owned(),
            ..Entry::new("column", "", *about)
        }
    });
    metrics.chain(columns).collect()
}

/// Claims of papers, the papers, scenarios and traces inside the program.
pub(super) fn others() -> Vec<Entry> {
    let mut out = Vec::new();
    for study in slackwater_papers::ALL {
        out.push(Entry {
            source: study.citation.to_owned(),
            example: format!("slackwater repro {}", study.name),
            ..Entry::new("paper", study.name, study.title)
        });
        for claim in &study.ledger().claims {
            let mut source = format!("{}: {}", study.citation, claim.place);
            if let Some(remark) = claim.remark() {
                let _ = write!(source, "\nbound: {remark}");
            }
            let (reference, tolerance) = claim.bound();
            out.push(Entry {
                names: vec![claim.id.clone(), format!("{}:{}", study.name, claim.id)],
                unit: claim.unit.clone(),
                range: slackwater_report::paper::bound_of(&claim.unit, reference, tolerance),
                source,
                example: format!("slackwater repro {} --only {}", study.name, claim.figure),
                ..Entry::new("claim of a paper", "", claim.says.as_str())
            });
        }
    }
    for (name, text) in embedded::ALL.iter().chain(embedded::ARENA) {
        out.push(Entry {
            example: format!("slackwater run {name}"),
            ..Entry::new("scenario", *name, embedded::title(text))
        });
    }
    for trace in builtin::ALL {
        let name = format!("{}{}", builtin::PREFIX, trace.name);
        out.push(Entry {
            source: format!("slackwater {}", trace.made_by.join(" ")),
            example: format!("file = \"{name}\""),
            names: vec![name, trace.name.to_owned()],
            ..Entry::new("trace", "", trace.about)
        });
    }
    out
}
