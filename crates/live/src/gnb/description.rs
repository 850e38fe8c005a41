//! What a gNB is told of itself: its cell, N3, and the tunnels of its UEs. `gnb.toml` holds it; code builds the same
//! structs.

use core::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::Path;

use slackwater_core::{Duration, Qfi, Teid};
use slackwater_scenario::bounded::document;
use slackwater_scenario::error::ScenarioError;
pub use slackwater_scenario::field::Field;
use slackwater_scenario::field::{At, Cx, choice, section};
use slackwater_scenario::parse_toml;
use slackwater_scenario::tree::{self, Node, Value};
use slackwater_wire::gtpu;

use crate::LiveError;
use crate::emulate::plan::MAX_UES;
pub use crate::upf::config::FlowCounters;

/// An IPv4 or IPv6 address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address(pub IpAddr);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Field for Address {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        match &at.node.value {
            Value::Str(text) => text
                .parse()
                .map(Self)
                .map_err(|_| at.wrong(Self::describe())),
            _ => Err(at.wrong(Self::describe())),
        }
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Str(self.to_string()))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "string" })
    }
    fn describe() -> String {
        "an IPv4 or IPv6 address (\"10.0.0.1\")".to_owned()
    }
    fn example() -> Self {
        Self(IpAddr::from([10, 0, 0, 1]))
    }
}

/// Keys of a scenario's `[[ue]]`: mobility, channel, bearers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Radio(pub tree::Table);

impl Field for Radio {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        at.table().cloned().map(Self)
    }
    fn encode(&self) -> Option<Value> {
        (!self.0.entries.is_empty()).then(|| Value::Table(self.0.clone()))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "object" })
    }
    fn describe() -> String {
        "a table with keys of a scenario's [[ue]]".to_owned()
    }
    fn example() -> Self {
        Self::default()
    }
}

choice! {
    /// What carries the cell's reports (docs/wire.md).
    pub enum Profile {
        /// What the peer says that it reads, in its echo response; A where it says nothing.
        Auto = "auto",
        /// A: the uplink PDU session container, by fields of the standard alone.
        Container = "a",
        /// B: assistance information on the tunnel of each session.
        Session = "b",
        /// C: assistance information of all sessions on a tunnel of its own.
        Multi = "c",
        /// No reports.
        Off = "off",
    }
}

section! {
    /// An end of a tunnel at a user plane function.
    pub struct Endpoint {
        /// Address.
        pub address: Address,
        /// UDP port (TS 29.281, 4.4.2.3).
        pub port: u16 = gtpu::PORT,
        /// Tunnel endpoint identifier there.
        pub teid: u32,
    }
}

impl Endpoint {
    /// Where datagrams go.
    pub const fn socket(&self) -> SocketAddr {
        SocketAddr::new(self.address.0, self.port)
    }

    /// The tunnel.
    pub const fn tunnel(&self) -> Teid {
        Teid(self.teid)
    }
}

section! {
    /// The gNB's side of N3.
    pub struct N3 {
        /// Addresses of the gNB: at most one of each IP version.
        pub address: Vec<Address>,
        /// UDP port (TS 29.281, 4.4.2).
        pub port: u16 = gtpu::PORT,
        /// Packets carry the PDU session container. `false` is the EPC form: S1-U, without QFI and profile A.
        pub psc: bool = true,
        /// Time between two echo requests to a user plane function; zero sends none.
        #[within(Duration::ZERO, Duration::from_secs(3_600))]
        pub echo: Duration = Duration::from_secs(60),
    }
    check(me, at) {
        let distinct = me.address.len() == 1
            || me.address.len() == 2 && me.address[0].0.is_ipv4() != me.address[1].0.is_ipv4();
        if !distinct {
            return Err(at.error(
                format!("{} addresses", me.address.len()), "one, or one of each IP version"));
        }
        if let Some(any) = me.address.iter().find(|a| a.0.is_unspecified()) {
            // An error indication names the address that a packet came to (TS 29.281, 7.3.1).
            return Err(at.error(any.to_string(), "an address of this machine"));
        }
        if !me.echo.is_zero() && me.echo < Duration::from_secs(60) {
            // TS 29.281, 7.2.1.
            return Err(at.error(format!("echo = \"{}\"", me.echo), "0 s, or 60 s and more"));
        }
    }
}

section! {
    /// Thresholds of the congestion that the cell reports: the age of the oldest packet in a queue.
    pub struct Congestion {
        /// Below this age the cell reports no congestion.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub low: Duration = Duration::from_millis(5),
        /// From this age on it reports that all packets should be marked.
        #[within(Duration::ZERO, Duration::from_secs(10))]
        pub high: Duration = Duration::from_millis(20),
    }
}

section! {
    /// The cell's reports to user plane functions.
    pub struct Reports {
        /// What carries them.
        pub profile: Profile = Profile::Auto,
        /// The tunnel of profile C; a UE may have another.
        pub to: Option<Endpoint> = None,
        /// Time between two reports.
        #[within(Duration::from_micros(125), Duration::from_secs(1))]
        pub period: Duration = Duration::from_millis(1),
        /// Report congestion as well (TS 23.501, 5.37.3); left out, no.
        pub congestion: Option<Congestion> = None,
        /// Counters of uploads, for senders at the UEs; those of downloads go to the user plane function.
        pub uploads: FlowCounters = FlowCounters::example(),
    }
    check(me, at) {
        if me.profile == Profile::Container && me.congestion.is_none() {
            return Err(at.error("profile = \"a\" without congestion", "`congestion`: A has no field for queues"));
        }
    }
}

section! {
    /// A packet filter of the uplink (TS 24.501, 9.11.4.13); what is left out matches all.
    pub struct Rule {
        /// The `QoS` flow of packets that match.
        #[within(0, 63)]
        pub qfi: u8,
        /// Protocol of IP: 6 is TCP, 17 is UDP.
        pub protocol: Option<u8> = None,
        /// Port of the UE.
        pub local_port: Option<u16> = None,
        /// Port of the other end.
        pub remote_port: Option<u16> = None,
    }
}

section! {
    /// A UE with its PDU session.
    pub struct Ue {
        /// Name, for labels and errors.
        pub name: String,
        /// Addresses of the UE: at most one of each IP version.
        pub address: Vec<Address>,
        /// Where its uplink packets go.
        pub uplink: Endpoint,
        /// Tunnel endpoint identifier of its downlink, here.
        #[within(1, u32::MAX)]
        pub downlink: u32,
        /// Its `QoS` flows; the first is that of the default rule.
        pub qfi: Vec<u8> = vec![1],
        /// Packet filters of the uplink, the first that matches counts. Behind them stand rules that a packet with the
        /// reflective bit left (TS 24.501, 6.2.5.1.4), then the default rule.
        pub rule: Vec<Rule> = Vec::new(),
        /// The tunnel for its reports in profile C; left out, that of `reports.to`.
        pub reports: Option<Endpoint> = None,
        /// A named network namespace (`ip netns`) for the UE; left out, one of its own without a name.
        pub namespace: Option<String> = None,
        /// What runs in the namespace; left out, the command of the command line, and nothing where there is none.
        pub command: Vec<String> = Vec::new(),
        /// Its radio: keys of a scenario's [[ue]]; left out, as the cell's file has them.
        pub radio: Radio = Radio::default(),
    }
    check(me, at) {
        let kinds = |v4: bool| me.address.iter().filter(|a| a.0.is_ipv4() == v4).count();
        if me.address.is_empty() || kinds(true) > 1 || kinds(false) > 1 {
            return Err(at.error(
                format!("{} addresses", me.address.len()), "one, or one of each IP version"));
        }
        let twice = |(k, q): (usize, &u8)| me.qfi[..k].contains(q);
        let wrong = me.qfi.iter().any(|q| *q > 63) || me.qfi.iter().enumerate().any(twice);
        if me.qfi.is_empty() || wrong {
            return Err(at.error(format!("qfi = {:?}", me.qfi), "one or more of 0 to 63, each once"));
        }
        if let Some(rule) = me.rule.iter().find(|r| !me.qfi.contains(&r.qfi)) {
            return Err(at.error(format!("a rule for QFI {}", rule.qfi), "one of `qfi`"));
        }
    }
}

section! {
    /// A gNB with one cell.
    pub struct Gnb {
        /// Name of the run; results go to `runs/<name>`.
        pub name: String = "gnb".to_owned(),
        /// The cell: a name or a file, as `slackwater emulate --cell` takes it.
        pub cell: String = "nr".to_owned(),
        /// Room of the queue towards each UE.
        pub queue: Option<String> = None,
        /// What the cell itself does: `xrc`, `ebb`, `l4s`, or an agent that the program adds.
        pub edge: Vec<String> = Vec::new(),
        /// Further keys of the scenario, as `KEY=VALUE`.
        pub set: Vec<String> = Vec::new(),
        /// Seed of the channel and of all other random draws.
        pub seed: u64 = 1,
        /// Connections that are recorded one by one in each `QoS` flow; further ones are recorded together.
        #[within(1, 1_000)]
        pub flows: u32 = 8,
        /// Largest IP packet of the UEs' interfaces; left out, what N3's path takes, and at most 1500.
        #[within(1_280, 65_000)]
        pub mtu: Option<u16> = None,
        /// The gNB's side of N3.
        pub n3: N3,
        /// The cell's reports.
        pub reports: Reports = Reports::example(),
        /// The UEs.
        pub ue: Vec<Ue>,
    }
    check(me, at) {
        me.check().map_err(|(found, expected)| at.error(found, expected))?;
    }
}

/// A `QoS` flow of a UE: where packets enter the cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The UE's number in [`Gnb::ue`].
    pub ue: u32,
    /// Its `QoS` flow.
    pub qfi: Qfi,
}

impl Gnb {
    /// Reads a `gnb.toml`.
    ///
    /// # Errors
    /// Where it is no TOML, or a key is unknown, missing or wrong.
    pub fn load(path: &Path) -> Result<Self, LiveError> {
        let text = document(path)
            .map_err(|e| LiveError::kernel(format!("cannot read {}", path.display()), e))?;
        Ok(Self::parse(&path.display().to_string(), &text)?)
    }

    /// Reads the `text` of the file called `file`.
    ///
    /// # Errors
    /// As [`Gnb::load`].
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let node = Node::new(Value::Table(parse_toml(file, text)?));
        let cx = Cx {
            file,
            text: Some(text),
            base_dir: Path::new("."),
            files: &(),
        };
        Self::decode(&At {
            cx,
            node: &node,
            key: String::new(),
        })
    }

    /// What contradicts itself, and what was expected. Code that builds a description calls it; [`Gnb::parse`] has.
    ///
    /// # Errors
    /// The first contradiction.
    pub fn check(&self) -> Result<(), (String, String)> {
        if self.ue.is_empty() || self.ue.len() > MAX_UES as usize {
            let found = format!("{} UEs", self.ue.len());
            return Err((found, format!("1 to {MAX_UES}")));
        }
        let mut tunnels: Vec<u32> = self.ue.iter().map(|u| u.downlink).collect();
        tunnels.sort_unstable();
        if let Some([twice, _]) = tunnels.windows(2).find(|w| w[0] == w[1]) {
            let found = format!("the downlink tunnel {twice} twice");
            return Err((found, "one tunnel for each UE".to_owned()));
        }
        for ue in &self.ue {
            let ends = [
                Some(&ue.uplink),
                ue.reports.as_ref(),
                self.reports.to.as_ref(),
            ];
            for end in ends.into_iter().flatten() {
                let reached = |a: &Address| a.0.is_ipv4() == end.address.0.is_ipv4();
                if !self.n3.address.iter().any(reached) {
                    let found = format!("{}: a tunnel to {}", ue.name, end.address);
                    return Err((
                        found,
                        "an address of that IP version in n3.address".to_owned(),
                    ));
                }
            }
            let tunnel = ue.reports.as_ref().or(self.reports.to.as_ref());
            if self.reports.profile == Profile::Multi && tunnel.is_none() {
                let found = format!("{}: profile = \"c\" without a tunnel", ue.name);
                return Err((found, "reports.to or ue.reports".to_owned()));
            }
        }
        if !self.n3.psc && self.reports.profile == Profile::Container {
            let found = "profile = \"a\" with n3.psc = false".to_owned();
            return Err((found, "\"b\", \"c\" or \"off\"".to_owned()));
        }
        Ok(())
    }

    /// The `QoS` flows of all UEs, UE by UE: their numbers are those of the world's flows divided by [`Gnb::flows`].
    pub fn places(&self) -> Vec<Place> {
        let of = |(ue, u): (u32, &Ue)| -> Vec<Place> {
            // Without a container no packet names a flow (TS 29.281, 5.2.2.7).
            let flows = if self.n3.psc { &u.qfi[..] } else { &u.qfi[..1] };
            flows.iter().map(|q| Place { ue, qfi: Qfi(*q) }).collect()
        };
        (0..).zip(&self.ue).flat_map(of).collect()
    }
}

#[cfg(test)]
mod tests;
