//! Which cells there are, what stands at their edge, and who competes where.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use slackwater_scenario::packed::plain_name;
use slackwater_scenario::{Plugins, Scenario, ScenarioError, drawn, embedded};

use crate::title::title;

const SET: &str = include_str!("../../arena/set.toml");

/// The environment variable that names a folder with recorded links.
const TRACES: &str = "SLACKWATER_TRACES";

/// Who competes in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Senders of bulk data and transfers.
    Sender,
    /// Senders of VR frames.
    Vr,
    /// Media controllers.
    Media,
}

/// A cell or link of the arena.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Place {
    /// Unique name.
    pub name: String,
    /// Who competes there.
    pub class: Class,
    /// The scenario, where it is not the one of the cell's name.
    pub(super) scenario: Option<String>,
    /// The text of a scenario that was drawn, in place of a built-in one.
    #[serde(skip)]
    pub(super) drawn: Option<String>,
    /// The recorded link that takes the place of the scenario's.
    pub trace: Option<String>,
    /// What it is, in a sentence.
    pub about: String,
    /// Senders that have no business there.
    #[serde(default)]
    pub(super) without: Vec<String>,
    /// Length of a quick run; without one a quick look leaves the cell out.
    pub quick: Option<String>,
    /// The bottleneck may be a wired hop.
    #[serde(default)]
    pub(super) wired: bool,
    /// The flow of a competitor that stays CUBIC.
    pub rival: Option<usize>,
    /// The flows of the system under test: indices of the scenario's `[[flow]]` entries.
    #[serde(default = "first")]
    pub players: Vec<usize>,
    /// What is drawn against each other: keys of two measures.
    #[serde(default = "rate_and_delay")]
    pub front: [String; 2],
}

fn first() -> Vec<usize> {
    vec![0]
}

fn rate_and_delay() -> [String; 2] {
    ["goodput".to_owned(), "delay_p95".to_owned()]
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Edge {
    /// What follows `+` in a system's name.
    pub(super) name: String,
    /// Name for people.
    pub(super) title: String,
    /// What stands there, in a sentence.
    pub(super) about: String,
    /// What it changes in a cell.
    pub(super) cell: Option<Changes>,
    /// What it changes in a cell whose bottleneck may be wired.
    pub(super) wired: Option<Changes>,
    /// What it changes on a link.
    pub(super) link: Option<Changes>,
    /// The running program adds it.
    #[serde(skip)]
    pub(super) own: bool,
}

pub(super) type Changes = BTreeMap<String, String>;

#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Compete {
    class: Class,
    edge: String,
    senders: Vec<String>,
    cells: Option<Vec<String>>,
    quick: Vec<String>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    cell: Vec<Place>,
    edge: Vec<Edge>,
    compete: Vec<Compete>,
}

/// A sender behind an edge function.
#[derive(Clone, Debug, PartialEq)]
pub struct System {
    /// `cubic`, or `cubic+vaqm`: unique within its class.
    pub name: String,
    /// `CUBIC`, or `CUBIC + vAQM`.
    pub title: String,
    /// Where it competes.
    pub class: Class,
    /// Registry name of the controller; `udp` for datagrams without one, `nobody` for none at all.
    pub sender: String,
    /// Name of the edge function.
    pub edge: String,
    /// Part of a quick look.
    pub quick: bool,
    /// The published set lacks it.
    pub added: bool,
    /// It has a part that the running program adds: no other program makes its numbers.
    pub own: bool,
    /// The cells that it is in, where not in all of its class.
    pub(super) cells: Option<Vec<String>>,
}

/// Who is missing when a rival's own rate is measured.
pub(super) const NOBODY: &str = "nobody";
/// What metrics leave out of a quick run.
pub(super) const QUICK_WARMUP: &str = "2 s";
/// Datagrams without control.
pub(super) const UDP: &str = "udp";

impl System {
    /// Nobody: the rival alone.
    pub(super) fn nobody(class: Class) -> Self {
        Self {
            name: NOBODY.to_owned(),
            title: "nobody".to_owned(),
            class,
            sender: NOBODY.to_owned(),
            edge: "none".to_owned(),
            quick: true,
            added: false,
            own: false,
            cells: None,
        }
    }
}

/// The arena's set.
#[derive(Clone, Debug)]
pub struct Set {
    /// Cells and links.
    pub places: Vec<Place>,
    /// Systems.
    pub systems: Vec<System>,
    /// What may stand at the edge.
    pub(super) edges: Vec<Edge>,
    /// The parts that the running program adds.
    pub(super) plugins: Plugins,
}

impl Set {
    /// The published set.
    ///
    /// # Panics
    /// Never in a build whose tests pass: the set is part of the program.
    pub fn published() -> Self {
        Self::parse(SET).expect("the published set is tested")
    }

    /// Reads a set.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: File = toml::from_str(text).map_err(|e| e.to_string())?;
        let mut systems = vec![];
        for c in &file.compete {
            let edge = file.edge.iter().find(|e| e.name == c.edge);
            let edge = edge.ok_or_else(|| {
                format!("compete: found edge {:?}, expected one of [[edge]]", c.edge)
            })?;
            for sender in c.senders.iter().chain(&c.quick) {
                if !c.senders.contains(sender) {
                    return Err(format!(
                        "compete.quick: found {sender:?}, expected one of {:?}",
                        c.senders
                    ));
                }
            }
            systems.extend(c.senders.iter().map(|sender| System {
                name: joined(sender, &edge.name, edge.name == "none"),
                title: joined_titles(sender_title(sender), &edge.title),
                class: c.class,
                sender: sender.clone(),
                edge: edge.name.clone(),
                quick: c.quick.contains(sender),
                added: false,
                own: false,
                cells: c.cells.clone(),
            }));
        }
        Ok(Self {
            places: file.cell,
            systems,
            edges: file.edge,
            plugins: Plugins::new(),
        })
    }

    /// The cell called `name`.
    pub fn place(&self, name: &str) -> Option<&Place> {
        self.places.iter().find(|p| p.name == name)
    }

    /// The systems of `place`, in order, and nobody where it has a rival.
    pub fn systems_of(&self, place: &Place) -> Vec<System> {
        let fits = |s: &&System| {
            s.class == place.class
                && !place.without.contains(&s.sender)
                && s.cells.as_ref().is_none_or(|c| c.contains(&place.name))
                && self.changes_at(place, &s.edge).is_some()
        };
        let mut out: Vec<System> = self.systems.iter().filter(fits).cloned().collect();
        if place.rival.is_some() {
            out.push(System::nobody(place.class));
        }
        out
    }

    /// The system called `name` in `place`.
    pub fn system(&self, place: &Place, name: &str) -> Option<System> {
        self.systems_of(place).into_iter().find(|s| s.name == name)
    }

    /// Name, title and description of each edge function.
    pub fn edges(&self) -> impl Iterator<Item = (&str, &str, &str)> {
        self.edges
            .iter()
            .map(|e| (e.name.as_str(), e.title.as_str(), e.about.as_str()))
    }

    fn changes_at(&self, place: &Place, edge: &str) -> Option<&Changes> {
        let edge = self.edges.iter().find(|e| e.name == edge)?;
        let changes = match place.kind() {
            Kind::Link => edge.link.as_ref(),
            Kind::Wired => edge.wired.as_ref(),
            Kind::Cell => edge.cell.as_ref(),
        }?;
        let law = changes.keys().any(|key| key.ends_with("queue.law"));
        (!law || place.takes_law()).then_some(changes)
    }

    /// The scenario of `place` before any system is in it, among the program's parts; `quick` shortens it.
    ///
    /// # Errors
    /// As [`Place::scenario`].
    pub(super) fn base(&self, place: &Place, quick: bool) -> Result<Scenario, ScenarioError> {
        Ok(place.scenario(quick)?.with_plugins(&self.plugins))
    }

    /// What is set in the scenario of `place` for `system`: keys and values as `--set` takes them.
    pub fn changes(&self, place: &Place, system: &System) -> Vec<(String, String)> {
        let edge = self.changes_at(place, &system.edge);
        let mut out: Vec<(String, String)> = edge
            .into_iter()
            .flatten()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        for i in &place.players {
            out.push(match system.sender.as_str() {
                NOBODY => (format!("flow[{i}].stop"), "1 ms".to_owned()),
                UDP => (format!("flow[{i}].app.transport"), UDP.to_owned()),
                sender => (format!("flow[{i}].controller"), sender.to_owned()),
            });
        }
        out
    }
}

pub(super) fn joined(sender: &str, edge: &str, alone: bool) -> String {
    if alone {
        sender.to_owned()
    } else {
        format!("{sender}+{edge}")
    }
}

pub(super) fn joined_titles(sender: &str, edge: &str) -> String {
    if edge.is_empty() {
        sender.to_owned()
    } else {
        format!("{sender} + {edge}")
    }
}

pub(super) fn sender_title(sender: &str) -> &str {
    match sender {
        UDP => "UDP",
        other => title(other),
    }
}

/// Where the bottleneck of a cell may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Cell,
    Wired,
    Link,
}

/// The recorded link called `name`, plain or packed.
///
/// # Errors
/// Where there is none; the text says so.
pub fn recorded(name: &str) -> Result<PathBuf, String> {
    let folder = std::env::var_os(TRACES)
        .ok_or_else(|| format!("{TRACES} names no folder with recorded links"))?;
    let mut files = vec![];
    collect(Path::new(&folder), &mut files);
    files.sort();
    let is = |p: &PathBuf| {
        let file = p.file_name().map(|f| f.to_string_lossy().into_owned());
        file.is_some_and(|f| plain_name(&f) == name)
    };
    files
        .into_iter()
        .find(is)
        .ok_or_else(|| format!("{TRACES} names a folder without {name}"))
}

impl Place {
    /// Name of the scenario for `slackwater run`.
    pub fn scenario_name(&self) -> String {
        if self.drawn.is_some() {
            return format!("{}{}", drawn::PREFIX, self.name);
        }
        let own = self.scenario.as_deref().unwrap_or(&self.name);
        format!("arena/{own}")
    }

    /// The text of its scenario.
    pub(super) fn text(&self) -> Cow<'_, str> {
        match &self.drawn {
            Some(text) => text.into(),
            None => {
                embedded::embedded(&self.scenario_name()).expect("tests find every cell's scenario")
            }
        }
    }

    pub(super) fn kind(&self) -> Kind {
        if self.wired {
            Kind::Wired
        } else if self.text().contains("\n[link]") {
            Kind::Link
        } else {
            Kind::Cell
        }
    }

    /// False where the queue of its link or hop has a law of its own kind: a queue for each flow, or two coupled ones.
    fn takes_law(&self) -> bool {
        let text = self.text();
        ["fq-codel", "dualpi2"]
            .iter()
            .all(|kind| !text.contains(&format!("queue = {{ kind = \"{kind}\"")))
    }

    /// Heading: the scenario's title, or the recording's name.
    pub fn title(&self) -> String {
        if let Some(trace) = &self.trace {
            return format!("Recorded link {trace}");
        }
        embedded::title(&self.text()).to_owned()
    }

    /// The file of the recording, where it has one.
    ///
    /// # Errors
    /// Why a cell with a recording cannot be run here, in words.
    pub fn recording(&self) -> Result<Option<PathBuf>, String> {
        let Some(name) = &self.trace else {
            return Ok(None);
        };
        recorded(name).map(Some)
    }

    /// The cell's scenario before any system is in it; `quick` shortens it.
    ///
    /// # Errors
    /// Where the scenario is wrong: a defect, or a recording that is none.
    pub(super) fn scenario(&self, quick: bool) -> Result<Scenario, ScenarioError> {
        let name = self.scenario_name();
        let mut scenario = Scenario::parse(&name, &self.text(), Path::new("."))?;
        if let Ok(Some(path)) = self.recording() {
            // JSON's strings are TOML's.
            let file = serde_json::Value::from(path.to_string_lossy().into_owned());
            let link = format!(
                "{{ kind = \"trace\", file = {file}, queue = {{ kind = \"fifo\", limit = \"750 kB\" }} }}"
            );
            scenario = scenario.with("link", &link)?;
            scenario.name = format!("arena-{}", self.name);
        }
        if let Some(length) = self.quick.as_deref().filter(|_| quick) {
            scenario = scenario
                .with("warmup", QUICK_WARMUP)?
                .with("duration", length)?;
        }
        Ok(scenario)
    }
}

/// Every file below `folder`.
fn collect(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            collect(&path, out);
        } else {
            out.push(path);
        }
    }
}
