//! What stands between the two sides: a cell by name or file, or a trace.

use std::path::{Path, PathBuf};

use slackwater_core::{Duration, Rate};
use slackwater_edge::Place;
use slackwater_ran::cell::CellConfig;
use slackwater_scenario::bounded::document;
use slackwater_scenario::plugins::AgentSetup;
use slackwater_scenario::{Plugins, Scenario};
use toml::{Table, Value};

use crate::LiveError;

/// Cells by name: TOML, and what each is.
const NAMED: [(&str, &str, &str); 4] = [
    (
        "lte",
        "LTE FDD, 10 MHz, pedestrian at 150 m",
        "[cell]\nrat = \"lte\"\nbandwidth = \"10 MHz\"\nfading = \"epa\"\n\
         [[ue]]\nmobility = { kind = \"static\", distance = \"150 m\" }\n",
    ),
    (
        "nr",
        "NR TDD, 40 MHz at 30 kHz, pedestrian at 150 m",
        "[cell]\nrat = \"nr\"\nbandwidth = \"40 MHz\"\nscs = \"30 kHz\"\nfading = \"tdl-d\"\n\
         [[ue]]\nmobility = { kind = \"static\", distance = \"150 m\" }\n",
    ),
    (
        "nr-100mhz",
        "NR TDD, 100 MHz at 30 kHz, two layers, 256QAM, close by",
        "[cell]\nrat = \"nr\"\nbandwidth = \"100 MHz\"\nscs = \"30 kHz\"\nlayers = 2\nmcs_table = \"256qam\"\n\
         rlc = { buffer = \"4 MB\" }\n\
         [[ue]]\nmobility = { kind = \"static\", distance = \"20 m\" }\n",
    ),
    (
        "nr-gigabit",
        "NR FDD, 100 MHz at 30 kHz, two layers, 256QAM, MCS 27 always: above 1 Gbit/s",
        "[cell]\nrat = \"nr\"\nduplex = \"fdd\"\nbandwidth = \"100 MHz\"\nscs = \"30 kHz\"\nlayers = 2\n\
         mcs_table = \"256qam\"\nrlc = { buffer = \"4 MB\" }\n\
         [[ue]]\nchannel = { kind = \"mcs\", mcs = 27 }\n",
    ),
];

/// Name and description of every cell that has a name.
pub fn named() -> impl Iterator<Item = (&'static str, &'static str)> {
    NAMED.iter().map(|(name, what, _)| (*name, *what))
}

/// An edge function to be put in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Edge {
    /// vAQM at the user plane function.
    Vaqm,
    /// CECC at the user plane function, told by the cell.
    Cecc,
    /// The agent of explicit feedback, on acknowledgments.
    Xrc,
    /// The agent that counts what leaves the radio, in datagrams of its own.
    Ebb,
    /// Marking in the cell's or link's own queue.
    L4s,
    /// A system that the program adds, perhaps with parameters after `:`.
    System(String),
    /// An agent that the program adds, in the place of [`Edge::Xrc`]'s, perhaps with parameters after `:`.
    Agent(String),
}

impl Edge {
    /// Name and description of every built-in function.
    pub const BUILT_IN: [(&'static str, &'static str); 5] = [
        (
            "vaqm",
            "The UPF delays acknowledgments or drops for what the radio can carry",
        ),
        (
            "cecc",
            "The UPF holds packets until their deadlines ask for them",
        ),
        (
            "xrc",
            "The cell puts rate and queue delay on acknowledgments",
        ),
        ("l4s", "The cell's queue marks ECT packets"),
        (
            "ebb",
            "The cell counts what leaves it and reports that in datagrams (--reports)",
        ),
    ];

    /// The function called `name`: a built-in one, or a system or agent of `plugins`.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn find(name: &str, plugins: &Plugins) -> Result<Self, LiveError> {
        let (systems, agents) = (plugins.systems(), plugins.agents());
        let base = name.split_once(':').map_or(name, |(base, _)| base);
        Ok(match name {
            "vaqm" => Self::Vaqm,
            "cecc" => Self::Cecc,
            "xrc" => Self::Xrc,
            "l4s" => Self::L4s,
            _ if systems.iter().any(|s| s.0 == base) => Self::System(name.to_owned()),
            _ if agents.iter().any(|a| a.0 == base) => Self::Agent(name.to_owned()),
            // A system that the program adds may have had the name before.
            "ebb" => Self::Ebb,
            _ => {
                let known = Self::BUILT_IN.iter().chain(&systems).chain(&agents);
                let known = known.map(|e| e.0);
                return Err(LiveError::Usage(format!(
                    "--edge: found \"{name}\", expected one of {}",
                    known.collect::<Vec<_>>().join(", ")
                )));
            }
        })
    }

    fn name(&self) -> &str {
        match self {
            Self::Vaqm => "vaqm",
            Self::Cecc => "cecc",
            Self::Xrc => "xrc",
            Self::Ebb => "ebb",
            Self::L4s => "l4s",
            Self::System(name) | Self::Agent(name) => name,
        }
    }
}

/// What stands between the sides.
#[derive(Clone, Debug)]
pub enum Middle {
    /// A cell: a name, or a file with a `[cell]`.
    Cell(String),
    /// Traces of Mahimahi's, towards the UE and from it.
    Trace {
        /// Towards the UE.
        down: PathBuf,
        /// From the UE; left out, the way up never delays.
        up: Option<PathBuf>,
    },
    /// A constant rate towards the UE.
    Rate {
        /// What it is.
        rate: Rate,
        /// Each byte takes its own time; otherwise the link has opportunities at whole milliseconds, as Mahimahi's.
        exact: bool,
    },
}

/// What is to be emulated.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// Name of the run.
    pub name: String,
    /// What stands between.
    pub middle: Middle,
    /// UEs.
    pub ues: u32,
    /// One-way delay of the wired part, each way.
    pub delay: Duration,
    /// Room of the queue towards the UE: `64 packets`, `100 kB`.
    pub queue: Option<String>,
    /// Edge functions.
    pub edge: Vec<Edge>,
    /// The cell's reports travel as datagrams instead of on acknowledgments.
    pub datagrams: bool,
    /// UEs hear of their transport blocks.
    pub blocks: bool,
    /// Seed.
    pub seed: u64,
    /// Flows kept apart for each UE.
    pub flows: u32,
    /// Further keys, as in `slackwater run --set`.
    pub set: Vec<(String, String)>,
    /// Systems, agents, queue laws and schedulers that the program adds.
    pub plugins: Plugins,
}

fn read(text: &str, from: &str) -> Result<Table, LiveError> {
    text.parse()
        .map_err(|e| LiveError::Usage(format!("{from}: {e}")))
}

pub(crate) fn put(table: &mut Table, key: &str, value: impl Into<Value>) {
    table.insert(key.to_owned(), value.into());
}

/// The table under `key`, made where it is missing.
pub(crate) fn sub<'a>(table: &'a mut Table, key: &str) -> Result<&'a mut Table, LiveError> {
    table
        .entry(key)
        .or_insert_with(|| Value::Table(Table::new()))
        .as_table_mut()
        .ok_or_else(|| LiveError::Usage(format!("{key}: expected a table")))
}

impl Wanted {
    /// The scenario whose world the packets pass.
    ///
    /// # Errors
    /// Where the cell or trace cannot be had, or does not go together with the rest.
    pub fn scenario(&self) -> Result<Scenario, LiveError> {
        self.scenario_with(|_| Ok(()))
    }

    /// As [`Wanted::scenario`], where `adapt` has the last word on its tables.
    pub(crate) fn scenario_with(
        &self,
        adapt: impl FnOnce(&mut Table) -> Result<(), LiveError>,
    ) -> Result<Scenario, LiveError> {
        let (mut root, base) = self.base()?;
        put(&mut root, "name", self.name.clone());
        // Longer than anyone waits; the result has the real end.
        put(&mut root, "duration", "500000 s");
        root.remove("warmup");
        root.remove("vary");
        put(&mut root, "seed", self.seed as i64);
        let path = sub(&mut root, "path")?;
        put(path, "rtt", (self.delay * 2).to_string());
        // Real arrivals are not in step with anything.
        put(path, "jitter", "0 ms");
        let cell = root.contains_key("cell");
        let mut flow = Table::new();
        put(&mut flow, "count", i64::from(self.flows));
        if cell {
            put(&mut flow, "ue", "each");
            self.place_ues(&mut root);
        } else if self.ues > 1 {
            return Err(LiveError::Usage(
                "found --ues without --cell, expected a cell: a link has one UE".to_owned(),
            ));
        }
        let agent = |e: &&Edge| matches!(e, Edge::Xrc | Edge::Agent(_));
        let agent = self.edge.iter().find(agent).map(Edge::name);
        let reports = agent.is_some();
        // What the cell tells follows from what the senders take.
        let controller = match (reports, self.blocks) {
            (true, true) => {
                return Err(LiveError::Usage(format!(
                    "found --blocks with --edge {}, expected one of them",
                    agent.unwrap_or_default()
                )));
            }
            // It asks for the reports of whatever agent there is; the real senders are elsewhere.
            (true, false) => "xrc",
            (false, true) => "tyrus",
            (false, false) => "cubic",
        };
        let counts = self.edge.contains(&Edge::Ebb);
        let controller = match (counts, reports || self.blocks, self.datagrams) {
            (false, ..) => controller,
            (true, false, true) => "ebb",
            (true, true, _) => {
                return Err(LiveError::Usage(
                    "found --edge ebb with another agent or --blocks, expected one of them: a sender takes reports of one"
                        .to_owned(),
                ));
            }
            (true, _, false) => {
                return Err(LiveError::Usage(
                    "found --edge ebb without --reports, expected both: counters do not ride on acknowledgments"
                        .to_owned(),
                ));
            }
        };
        put(&mut flow, "controller", controller);
        if self.datagrams && !reports && !counts {
            return Err(LiveError::Usage(
                "found --reports without --edge xrc, ebb or an agent of the program, expected both: no one else reports"
                    .to_owned(),
            ));
        }
        if (self.datagrams && !counts) || self.blocks {
            let carrier = if self.blocks { "socket" } else { "datagram" };
            put(sub(&mut root, "feedback")?, "carrier", carrier);
        }
        put(&mut root, "flow", vec![Value::Table(flow)]);
        self.add_edge(&mut root, cell)?;
        if let Some(queue) = &self.queue {
            let place = if cell {
                let rlc = sub(sub(&mut root, "cell")?, "rlc")?;
                (rlc, "buffer")
            } else {
                (sub(sub(&mut root, "link")?, "queue")?, "limit")
            };
            if place.1 == "limit" && !place.0.contains_key("kind") {
                put(place.0, "kind", "fifo");
            }
            put(place.0, place.1, queue.clone());
        }
        adapt(&mut root)?;
        // Numbers, texts, lists and tables all have a JSON form; no key of a scenario takes a date.
        let json = serde_json::to_value(&root)
            .map_err(|e| LiveError::Usage(format!("{}: {e}", self.source())))?;
        let mut scenario = Scenario::from_json(&json, &base)
            .map_err(|mut e| {
                e.file = self.source();
                e
            })?
            .with_plugins(&self.plugins);
        for (key, value) in &self.set {
            scenario = scenario.with(key, value)?;
        }
        // Before anything is started: a name may be nobody's, or have parameters that its owner refuses.
        scenario.check_controllers()?;
        self.check_agent(&scenario)?;
        Ok(scenario)
    }

    /// Real packets carry reports of agents at the cell; a UE's modem reports its transport blocks alone.
    fn check_agent(&self, scenario: &Scenario) -> Result<(), LiveError> {
        let Some(name) = &scenario.feedback.own_agent else {
            return Ok(());
        };
        // Which cell it is built for does not move it.
        let some = CellConfig::lte(10.0);
        let built = self
            .plugins
            .agent(name, &AgentSetup::new(&some, 1, self.seed));
        if built.is_ok_and(|agent| agent.place() == Place::Ue) {
            return Err(LiveError::Usage(format!(
                "{name}: found an agent at the UE, expected one at the cell"
            )));
        }
        Ok(())
    }

    fn source(&self) -> String {
        match &self.middle {
            Middle::Cell(name) => name.clone(),
            Middle::Trace { down, .. } => down.display().to_string(),
            Middle::Rate { rate, .. } => rate.to_string(),
        }
    }

    /// The tables that the file or the name gives, and the folder that their paths start at.
    fn base(&self) -> Result<(Table, PathBuf), LiveError> {
        let here = PathBuf::from(".");
        match &self.middle {
            Middle::Cell(name) => {
                let path = Path::new(name);
                if path.extension().is_some_and(|e| e == "toml") || path.exists() {
                    let text = document(path).map_err(|e| {
                        LiveError::kernel(format!("cannot read {}", path.display()), e)
                    })?;
                    let table = read(&text, name)?;
                    if !table.contains_key("cell") && !table.contains_key("link") {
                        return Err(LiveError::Usage(format!(
                            "{name}: found neither [cell] nor [link], expected one of them"
                        )));
                    }
                    let base = path.parent().unwrap_or(Path::new(".")).to_owned();
                    return Ok((table, base));
                }
                let text = NAMED.iter().find(|n| n.0 == name);
                let text = text
                    .map(|n| n.2.into())
                    .or_else(|| slackwater_scenario::embedded(name));
                let Some(text) = text else {
                    let names: Vec<&str> = named().map(|n| n.0).collect();
                    return Err(LiveError::Usage(format!(
                        "--cell: found \"{name}\", expected a file or one of {}",
                        names.join(", ")
                    )));
                };
                Ok((read(&text, name)?, here))
            }
            Middle::Trace { down, up } => {
                let mut link = Table::new();
                put(&mut link, "kind", "trace");
                put(&mut link, "file", down.display().to_string());
                if let Some(up) = up {
                    put(&mut link, "up_file", up.display().to_string());
                }
                let mut root = Table::new();
                put(&mut root, "link", link);
                Ok((root, here))
            }
            Middle::Rate { rate, exact } => {
                let mut link = Table::new();
                put(&mut link, "kind", "rate");
                put(&mut link, "rate", rate.to_string());
                put(&mut link, "opportunities", !exact);
                let mut root = Table::new();
                put(&mut root, "link", link);
                Ok((root, here))
            }
        }
    }

    /// As many UEs as asked for; a file's own where it has as many.
    fn place_ues(&self, root: &mut Table) {
        let first = match root.get("ue").and_then(Value::as_array) {
            Some(ues) => {
                let count = |u: &Value| u.get("count").and_then(Value::as_integer).unwrap_or(1);
                if ues.iter().map(count).sum::<i64>() == i64::from(self.ues) {
                    return;
                }
                ues.first().and_then(Value::as_table).cloned()
            }
            None => None,
        };
        let mut ue = first.unwrap_or_default();
        put(&mut ue, "count", i64::from(self.ues));
        put(root, "ue", vec![Value::Table(ue)]);
    }

    fn add_edge(&self, root: &mut Table, cell: bool) -> Result<(), LiveError> {
        let mut agent = None;
        for edge in &self.edge {
            match edge {
                Edge::L4s => {
                    let mut law = Table::new();
                    put(&mut law, "kind", "ramp");
                    if cell {
                        put(sub(sub(root, "cell")?, "rlc")?, "law", law);
                    } else {
                        let queue = sub(sub(root, "link")?, "queue")?;
                        put(queue, "kind", "fifo");
                        put(queue, "law", law);
                    }
                }
                _ if !cell => {
                    return Err(LiveError::Usage(format!(
                        "found --edge {} without --cell, expected a cell: it acts on what a radio network knows",
                        edge.name()
                    )));
                }
                // The agent follows from the flows' controller.
                Edge::Ebb => {}
                // The file may have chosen another mode.
                Edge::Vaqm => {
                    let vaqm = sub(sub(root, "upf")?, "vaqm")?;
                    if !vaqm.contains_key("mode") {
                        put(vaqm, "mode", "auto");
                    }
                }
                Edge::Cecc => put(sub(sub(root, "upf")?, "cecc")?, "mode", "hold"),
                Edge::System(name) => {
                    let upf = sub(root, "upf")?;
                    if let Some(other) = upf.get("system").and_then(Value::as_str) {
                        return Err(LiveError::Usage(format!(
                            "--edge: found {other} and {name}, expected one system that the program adds"
                        )));
                    }
                    put(upf, "system", name.clone());
                }
                // XRC's agent follows from the flows' controller.
                Edge::Xrc | Edge::Agent(_) => {
                    let feedback = sub(root, "feedback")?;
                    let other = feedback.get("own_agent").and_then(Value::as_str);
                    let name = edge.name();
                    if let Some(other) = other.or(agent).filter(|other| *other != name) {
                        return Err(LiveError::Usage(format!(
                            "--edge: found {other} and {name}, expected one agent"
                        )));
                    }
                    agent = Some(name);
                    if *edge != Edge::Xrc {
                        put(feedback, "own_agent", name);
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use slackwater_edge::Agent;
    use slackwater_scenario::Link;
    use slackwater_scenario::plugins::{OwnAgent, System};
    use slackwater_signal::Observer;

    use super::*;

    fn wanted(middle: Middle) -> Wanted {
        Wanted {
            name: "t".to_owned(),
            middle,
            ues: 1,
            delay: Duration::ZERO,
            queue: None,
            edge: Vec::new(),
            datagrams: false,
            blocks: false,
            seed: 1,
            flows: 4,
            set: Vec::new(),
            plugins: Plugins::new(),
        }
    }

    #[test]
    fn every_named_cell_makes_a_scenario_with_every_edge_function() {
        for (name, _) in named() {
            for edge in [Edge::Vaqm, Edge::Cecc, Edge::Xrc, Edge::L4s, Edge::Ebb] {
                let mut w = wanted(Middle::Cell(name.to_owned()));
                w.datagrams = edge == Edge::Ebb;
                w.edge = vec![edge.clone()];
                w.ues = 3;
                w.queue = Some("64 packets".to_owned());
                let scenario = w.scenario().expect(name);
                assert_eq!(scenario.expanded_flows().len(), 12, "{name} {edge:?}");
            }
        }
        let embedded = wanted(Middle::Cell("lte-demo".to_owned()));
        assert!(embedded.scenario().is_ok());
    }

    #[test]
    fn a_rate_has_opportunities_unless_it_is_exact() {
        for (rate, exact) in [(1_500_000, false), (12_000_000, true)] {
            let rate = Rate::from_bps(rate);
            let scenario = wanted(Middle::Rate { rate, exact }).scenario();
            let scenario = scenario.expect("a link");
            let Some(Link::Rate(link)) = scenario.link() else {
                panic!("expected a link of constant rate");
            };
            assert_eq!((link.rate, link.opportunities), (rate, !exact));
        }
    }

    #[test]
    fn a_system_that_the_program_adds_is_an_edge_function() {
        let none = |_: &_, _, _: &str| Err("no parameters".to_owned());
        let system = System::new("own", "refuses all", none);
        let plugins = Plugins::new().with_system(system).expect("a free name");
        let edge = Edge::find("own:3", &plugins).expect("it is known");
        assert_eq!(edge, Edge::System("own:3".to_owned()));
        assert_eq!(Edge::find("vaqm", &plugins).ok(), Some(Edge::Vaqm));
        let mut w = wanted(Middle::Cell("lte".to_owned()));
        w.plugins = plugins.clone();
        let says = |w: &Wanted, words: &str| {
            let error = w.scenario().expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        };
        // What the system itself refuses stops the emulation before it starts.
        w.edge = vec![edge.clone()];
        says(&w, "upf.system: found \"own:3\", expected no parameters");
        w.edge.push(edge);
        says(&w, "expected one system");
        let error = Edge::find("ow", &plugins).expect_err("no such function");
        assert!(error.to_string().contains("l4s, ebb, own"), "{error}");
    }

    /// An agent that has nothing to say, where `at` says.
    struct Silent(Place);

    impl Observer for Silent {}

    impl Agent for Silent {
        fn place(&self) -> Place {
            self.0
        }
    }

    #[test]
    fn an_agent_that_the_program_adds_takes_the_place_of_xrcs() {
        let mut plugins = Plugins::new();
        for (name, at) in [("own", Place::Cell), ("modem", Place::Ue)] {
            let agent = OwnAgent::new(name, "silent", move |_, parameters| match parameters {
                "" => Ok(Box::new(Silent(at))),
                other => Err(format!("no parameters, not {other:?}")),
            });
            plugins = plugins.with_agent(agent).expect("a free name");
        }
        let with = |names: &[&str]| {
            let find = |name: &&str| Edge::find(name, &plugins).expect("it is known");
            Wanted {
                edge: names.iter().map(find).collect(),
                plugins: plugins.clone(),
                datagrams: true,
                ..wanted(Middle::Cell("lte".to_owned()))
            }
        };
        let scenario = with(&["own", "vaqm"]).scenario().expect("a good one");
        assert_eq!(scenario.feedback.own_agent.as_deref(), Some("own"));
        assert_eq!(scenario.flows[0].controller, "xrc");
        for (names, words) in [
            (&["own", "xrc"][..], "found own and xrc, expected one agent"),
            (&["xrc", "own"], "found xrc and own, expected one agent"),
            (&["own:3"], "no parameters, not \"3\""),
            (&["modem"], "modem: found an agent at the UE"),
        ] {
            let error = with(names).scenario().expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        }
        let error = Edge::find("ow", &plugins).expect_err("no such function");
        assert!(
            error.to_string().contains("l4s, ebb, own, modem"),
            "{error}"
        );
    }

    #[test]
    fn what_cannot_be_had_is_said() {
        let says = |w: &Wanted, words: &str| {
            let error = w.scenario().expect_err(words).to_string();
            assert!(error.contains(words), "{error}");
        };
        says(&wanted(Middle::Cell("lt".to_owned())), "one of lte");
        says(&wanted(Middle::Cell("none.toml".to_owned())), "none.toml");
        let down = PathBuf::from("/nowhere/x.down");
        says(&wanted(Middle::Trace { down, up: None }), "x.down");
        let rate = Rate::from_mbps(12.0);
        let mut w = wanted(Middle::Rate { rate, exact: false });
        assert!(w.scenario().is_ok());
        w.edge = vec![Edge::Vaqm];
        says(&w, "--edge vaqm");
        w.edge.clear();
        w.blocks = true;
        assert!(w.scenario().is_ok());
        w.edge = vec![Edge::Xrc];
        says(&w, "one of them");
        (w.blocks, w.datagrams) = (false, true);
        w.edge.clear();
        says(&w, "--edge xrc");
        w.edge = vec![Edge::Ebb, Edge::Xrc];
        says(&w, "reports of one");
        (w.datagrams, w.edge) = (false, vec![Edge::Ebb]);
        says(&w, "found --edge ebb without --reports");
        w.edge.clear();
        w.datagrams = false;
        w.ues = 2;
        says(&w, "one UE");
    }
}
