//! A scenario as a whole: its sections, and what must hold between them.

mod changed;
mod moved;
mod vary;

use std::path::{Path as FsPath, PathBuf};

use slackwater_control::{AnyController, Controller as _, registry};
use slackwater_core::Duration;
use slackwater_ran::cell::CellConfig;

use crate::builtin;
use crate::cell::Cell;
use crate::data::DataCache;
use crate::document;
use crate::embedded::embedded;
use crate::error::{self, ScenarioError};
use crate::feedback::{self, Feedback};
use crate::field::{self, At, Cx, Field, section};
use crate::flow::{self, Flow, UeRef};
use crate::link::{Link, Path, Queue, Wired};
use crate::plugins::{AgentSetup, Plugins};
use crate::tree::{self, Node, Table, Value};
use crate::ue::Ue;
use crate::upf::Upf;

pub use changed::Change;
pub use vary::{Axis, Variant};

section! {
    /// What a run writes.
    pub struct Record {
        /// Time between two samples of the series.
        #[within(Duration::from_micros(100), Duration::from_secs(1000))]
        pub interval: Duration = Duration::from_millis(10),
        /// One row for each packet at each node.
        pub packets: bool = false,
        /// One row for each grant of the cell.
        pub slots: bool = false,
        /// A packet capture of each sender.
        pub pcap: bool = false,
        /// A qlog of each sender.
        pub qlog: bool = true,
        /// Rows kept of each record at most; the summary counts what was left out.
        #[within(1, 1_000_000_000)]
        pub max_rows: u64 = 5_000_000,
        /// Delay beyond which a packet counts as late (the share of packets over D).
        #[within(Duration::ZERO, Duration::from_secs(100))]
        pub late: Duration = Duration::from_millis(100),
        /// Queue delay that should not be exceeded (the time with queue delay over lambda).
        #[within(Duration::ZERO, Duration::from_secs(100))]
        pub budget: Duration = Duration::from_millis(10),
    }
}

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

/// One flow of a run: a `[[flow]]` entry counts for several.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowInstance<'a> {
    /// Index into [`Scenario::flows`].
    pub entry: usize,
    /// The entry.
    pub spec: &'a Flow,
    /// The UE, where there is a cell.
    pub ue: Option<u32>,
    /// When it starts, `stagger` included.
    pub start: Duration,
    /// When it stops: at the end of the run at the latest.
    pub stop: Duration,
    /// Round-trip time of its wired part.
    pub rtt: Duration,
    /// Name in tables and plots, unique within the run.
    pub label: String,
    /// Which connection of its page; zero for other flows.
    pub connection: u32,
}

const KEYS: [&str; 15] = [
    "name",
    "title",
    "description",
    "duration",
    "warmup",
    "seed",
    "path",
    "link",
    "cell",
    "wired",
    "feedback",
    "upf",
    "ue",
    "flow",
    "vary",
];
const RECORD: &str = "record";

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
        embedded(name).map(|text| Self::parse(&format!("<{name}>"), text, FsPath::new(".")))
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
        let node = value_of(value);
        let mut tree = self.encode();
        vary::set(&mut tree, key, &node).map_err(|mut e| {
            "--set".clone_into(&mut e.file);
            e
        })?;
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

    /// Every UE, `count` spelled out.
    pub fn expanded_ues(&self) -> Vec<&Ue> {
        self.ues
            .iter()
            .flat_map(|ue| core::iter::repeat_n(ue, ue.count as usize))
            .collect()
    }

    /// Every flow, `count` and `ue = "each"` spelled out, in the order of the file.
    pub fn expanded_flows(&self) -> Vec<FlowInstance<'_>> {
        let ues: u32 = self.ues.iter().map(|u| u.count).sum();
        let mut out: Vec<FlowInstance<'_>> = Vec::new();
        for (entry, spec) in self.flows.iter().enumerate() {
            let targets: Vec<Option<u32>> = match (self.cell(), spec.ue) {
                (None, _) => vec![None],
                (Some(_), UeRef::Index(i)) => vec![Some(i)],
                (Some(_), UeRef::Each) => (0..ues).map(Some).collect(),
            };
            let mut n = 0;
            for ue in targets {
                for _ in 0..spec.count {
                    let start = spec.start + spec.stagger * n;
                    n += 1;
                    out.extend((0..spec.app.connections()).map(|connection| {
                        FlowInstance {
                            entry,
                            spec,
                            ue,
                            start,
                            stop: spec.stop.unwrap_or(self.duration).min(self.duration),
                            rtt: spec.rtt.unwrap_or(self.path.rtt),
                            label: spec
                                .label
                                .clone()
                                .unwrap_or_else(|| spec.default_label().to_owned()),
                            connection,
                        }
                    }));
                }
            }
        }
        number_labels(&mut out);
        out
    }

    /// What a user should know of flows that run, but not as their controller was made for: a base station's reports, transport blocks
    /// or counters, and no base station.
    pub fn notes(&self) -> Vec<String> {
        let config = registry::Config::new(1448, slackwater_core::Draw::new(0));
        let controllers = self.plugins.controllers();
        let blind = |flow: &&Flow| {
            let name = flow.controller.as_str();
            let takes =
                |c: &AnyController| c.takes_reports() || c.takes_blocks() || c.takes_counters();
            let tcp = !matches!(flow.protocol(), flow::Protocol::Udp | flow::Protocol::Rtp);
            tcp && crate::build::controller::build(controllers, name, &config)
                .is_ok_and(|c| takes(&c))
        };
        if self.cell().is_some() {
            return Vec::new();
        }
        let mut notes: Vec<String> = self
            .flows
            .iter()
            .filter(blind)
            .map(|flow| {
                format!(
                    "{} goes by what a base station says, and a [link] has none: it sends by its fall-back",
                    flow.controller
                )
            })
            .collect();
        notes.dedup();
        notes
    }

    /// Complains about the first controller that cannot be had: no such name, wrong parameters, one for media where
    /// TCP needs one, or the other way round; one that takes the cell's reports, which its transport cannot carry; and
    /// about a system, law or scheduler that is not there.
    ///
    /// # Errors
    /// The complaint.
    pub fn check_controllers(&self) -> Result<(), ScenarioError> {
        self.check_own()?;
        if let Some(upf) = &self.upf
            && let Some(name) = &upf.system
            && let Err(expected) = self.plugins.system(name, upf, self.seed)
        {
            return Err(ScenarioError::new(
                "upf.system",
                format!("{name:?}"),
                expected,
            ));
        }
        self.check_agent()?;
        let config = registry::Config::new(1448, slackwater_core::Draw::new(0));
        let controllers = self.plugins.controllers();
        for (i, flow) in self.flows.iter().enumerate() {
            let (tcp, media) = (controllers.names(), controllers.media_names());
            let (known, other, wanted) = match flow.protocol() {
                flow::Protocol::Udp => continue,
                flow::Protocol::Tcp | flow::Protocol::Quic | flow::Protocol::Quinn => {
                    (tcp, media, "TCP; this one steers media")
                }
                flow::Protocol::Rtp => (media, tcp, "media; this one steers TCP"),
            };
            let name = flow.controller.as_str();
            let built = match flow.protocol() {
                flow::Protocol::Rtp => controllers.build_media(name, &config).map(|_| None),
                _ => crate::build::controller::build(controllers, name, &config).map(Some),
            };
            let expected = match built {
                Ok(controller) => {
                    if let Some(c) = controller {
                        self.check_reports(i, flow, &c)?;
                    }
                    continue;
                }
                Err(_) if other.iter().any(|k| k.0 == registry::base(name)) => {
                    format!("a controller for {wanted}")
                }
                Err(e) => match (e.reason, error::nearest(name, known.iter().map(|k| k.0))) {
                    (Some(reason), _) => reason,
                    (None, Some(near)) => format!("\"{near}\"?"),
                    (None, None) => {
                        let names: Vec<&str> = known.iter().map(|k| k.0).collect();
                        format!("one of {}", names.join(", "))
                    }
                },
            };
            let key = format!("flow[{i}].controller");
            // A parameter's own complaint: "n: found "abc", expected a whole number".
            let own = expected
                .split_once(": found ")
                .and_then(|(parameter, rest)| Some((parameter, rest.split_once(", expected ")?)));
            return Err(match own {
                Some((parameter, (found, expected))) => ScenarioError::new(
                    key,
                    format!("{found} for {parameter} in {name:?}"),
                    expected,
                ),
                None => ScenarioError::new(key, format!("{name:?}"), expected),
            });
        }
        Ok(())
    }

    /// Complains about an agent that the program does not add, or that has no cell.
    fn check_agent(&self) -> Result<(), ScenarioError> {
        let Some(name) = &self.feedback.own_agent else {
            return Ok(());
        };
        let wrong =
            |expected| ScenarioError::new("feedback.own_agent", format!("{name:?}"), expected);
        if self.cell().is_none() {
            return Err(wrong("a [cell] for it to observe".to_owned()));
        }
        // Which cell it is matters to no name and no parameter.
        let some = CellConfig::lte(10.0);
        let setup = AgentSetup::new(&some, 1, self.seed);
        self.plugins.agent(name, &setup).map(drop).map_err(wrong)
    }

    /// Complains about the first law or scheduler that neither this workspace nor the program has.
    ///
    /// # Errors
    /// The complaint.
    pub fn check_own(&self) -> Result<(), ScenarioError> {
        let mut queues: Vec<&Queue> = self.wired.iter().map(|w| &w.queue).collect();
        match &self.bottleneck {
            Bottleneck::Cell(cell) => {
                self.plugins.law(&cell.rlc.law)?;
                self.plugins.scheduler(&cell.scheduler)?;
                queues.extend(&cell.rlc.queue);
            }
            Bottleneck::Link(link) => queues.extend(link.queues()),
        }
        for queue in queues {
            if let Queue::Fifo(fifo) = queue {
                self.plugins.law(&fifo.law)?;
            }
        }
        if let Some(upf) = &self.upf {
            self.plugins.law(&upf.vaqm.module.0)?;
            for (_, own) in self.ues.iter().flat_map(|ue| ue.vaqm(&upf.vaqm)) {
                self.plugins.law(&own.module.0)?;
            }
        }
        Ok(())
    }

    /// An agent in the cell cannot put a report into an encrypted packet.
    fn check_reports(
        &self,
        i: usize,
        flow: &Flow,
        controller: &AnyController,
    ) -> Result<(), ScenarioError> {
        let encrypted = matches!(
            flow.protocol(),
            flow::Protocol::Quic | flow::Protocol::Quinn
        );
        let option = self.feedback.carrier == feedback::Carrier::TcpOption;
        let asks = controller.takes_reports() && flow.direction == flow::Way::Down;
        if self.cell().is_none() || !(encrypted && option && asks) {
            return Ok(());
        }
        Err(ScenarioError::new(
            "feedback.carrier",
            format!(
                "\"tcp-option\", and flow[{i}] with controller {:?} over QUIC",
                flow.controller
            ),
            "\"datagram\" or \"socket\": no option reaches a QUIC sender",
        ))
    }

    fn decode(cx: Cx<'_>, node: &Node) -> Result<Self, ScenarioError> {
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

    fn encode(&self) -> Table {
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

/// UEs or flows of one run at most.
const MAX_COUNT: u64 = 100_000;

impl PartialEq for Scenario {
    fn eq(&self, other: &Self) -> bool {
        self.base_dir == other.base_dir
            && self.vary == other.vary
            && self.encode() == other.encode()
    }
}

impl Flow {
    /// The name of a flow without a label.
    pub fn default_label(&self) -> &str {
        if self.protocol().is_controlled() {
            &self.controller
        } else {
            self.app.word()
        }
    }
}

/// Numbers labels that several flows share, so that each is unique.
fn number_labels(flows: &mut [FlowInstance<'_>]) {
    let mut seen: std::collections::BTreeMap<String, (usize, usize)> =
        std::collections::BTreeMap::new();
    for flow in flows.iter() {
        seen.entry(flow.label.clone()).or_default().0 += 1;
    }
    for flow in flows {
        if let Some((total, next)) = seen.get_mut(&flow.label)
            && *total > 1
        {
            *next += 1;
            flow.label = format!("{} {next}", flow.label);
        }
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
