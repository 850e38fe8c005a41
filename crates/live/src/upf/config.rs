//! `upf.toml`: what a user plane function is and whom it knows.

use core::net::{IpAddr, Ipv4Addr};
use std::collections::BTreeMap;

use slackwater_core::{Duration, Rate};
use slackwater_schema::error::ScenarioError;
use slackwater_schema::field::{At, Field, Reference, Section as _};
use slackwater_schema::tree::{self, Table, Value};
use slackwater_schema::{choice, section};

pub use crate::gnb::description::Address;

/// A prefix of addresses as text, such as "10.60.0.0/16".
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Network {
    /// Its first address.
    pub address: IpAddr,
    /// Bits of it that count.
    pub bits: u8,
}

impl Network {
    /// True for an address of it.
    pub fn holds(&self, address: IpAddr) -> bool {
        let (differ, width) = match (self.address, address) {
            (IpAddr::V4(a), IpAddr::V4(b)) => ((a.to_bits() ^ b.to_bits()).into(), 32),
            (IpAddr::V6(a), IpAddr::V6(b)) => (a.to_bits() ^ b.to_bits(), 128),
            _ => return false,
        };
        // A shift by the whole width leaves nothing to differ.
        let rest: u128 = u128::checked_shr(differ, width - u32::from(self.bits)).unwrap_or(0);
        rest == 0
    }
}

impl Field for Network {
    type Bound = ();

    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        let network = match &at.node.value {
            Value::Str(text) => text.split_once('/').and_then(|(address, bits)| {
                let address: IpAddr = address.parse().ok()?;
                let bits = bits.parse().ok()?;
                let most = if address.is_ipv4() { 32 } else { 128 };
                (bits <= most).then_some(Self { address, bits })
            }),
            _ => None,
        };
        network.ok_or_else(|| at.wrong(Self::describe()))
    }

    fn encode(&self) -> Option<Value> {
        Some(Value::Str(format!("{}/{}", self.address, self.bits)))
    }

    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "string" })
    }

    fn describe() -> String {
        "a prefix such as \"10.60.0.0/16\"".to_owned()
    }

    fn example() -> Self {
        Self {
            address: IpAddr::V4(Ipv4Addr::new(10, 60, 0, 0)),
            bits: 16,
        }
    }
}

choice! {
    /// Queue management of sessions whose rules say nothing of it.
    pub enum Aqm {
        /// As the paths of a session's flows need it.
        Auto = "auto",
        /// Packets wait here, by windows.
        Window = "window",
        /// Packets are marked and dropped without a queue here.
        Direct = "direct",
        /// Only session rates hold.
        Off = "off",
    }
}

choice! {
    /// What keeps frames of a cell's users apart.
    pub enum Frames {
        /// Nothing.
        Off = "off",
        /// Packets wait; acknowledgments are left alone.
        Hold = "hold",
        /// The right edge of the window.
        Credit = "credit",
        /// The paper's two acknowledgments.
        Paper = "paper",
    }
}

section! {
    /// N4: the control plane that may order sessions (TS 29.244).
    pub struct N4 {
        /// Where PFCP is listened to, and this node's ID. None: no control plane, only `[[session]]`.
        pub address: Option<Address> = None,
        /// Its UDP port (TS 29.244, 6.4.2).
        #[within(1, 65_535)]
        pub port: u16 = 8_805,
        /// File in which sessions outlive this process. None: a function that starts again has lost them.
        pub state: Option<String> = None,
        /// Control planes that may associate. Empty: every one that reaches the address.
        pub peers: Vec<Address> = Vec::new(),
    }
}

section! {
    /// N3: tunnels to the radio network (TS 29.281).
    pub struct N3 {
        /// Where GTP-U is listened to; the address in F-TEIDs that are chosen here.
        pub address: Address,
        /// Its UDP port (TS 29.281, 4.4.2.3).
        #[within(1, 65_535)]
        pub port: u16 = 2_152,
        /// Interface of Ethernet by whose ring datagrams come, past the kernel's network stack. None: by a socket.
        pub interface: Option<String> = None,
        /// The longest outer IP packet that the path to the radio network takes, in octets.
        #[within(1_280, 65_535)]
        pub mtu: u16 = 1_500,
        /// Network instances of rules with a tunnel, such as "access" (TS 29.244, 8.2.4). Empty: all.
        pub networks: Vec<String> = Vec::new(),
    }
}

section! {
    /// N6: the data network, by a TUN device or by an interface.
    pub struct N6 {
        /// Interface of Ethernet that packets come and leave by, past the kernel's network stack. None: a TUN device.
        pub port: Option<String> = None,
        /// With a port: the router that takes all packets of UEs, on the port's link.
        pub gateway: Option<Address> = None,
        /// Name of the TUN device.
        pub interface: String = "upf0".to_owned(),
        /// Longest IP packet of the TUN device, in octets.
        #[within(1_280, 65_535)]
        pub mtu: u16 = 1_400,
        /// Addresses of UEs, such as "10.60.0.0/16": routes to the TUN device, or what is taken from the port.
        pub routes: Vec<Network> = vec![Network::example()],
        /// Network instances of rules without a tunnel, such as "internet" (TS 29.244, 8.2.4). Empty: all.
        pub networks: Vec<String> = Vec::new(),
        /// Our address, by which ICMP leaves; the TUN device has it. None: that of N3, where the family is the same.
        pub address: Option<Address> = None,
    }
}

section! {
    /// What keeps queues short. A session's QERs go before it (docs/wire.md, IE 0x8001).
    pub struct Functions {
        /// vAQM.
        pub vaqm: Aqm = Aqm::Auto,
        /// CECC, one for each base station; it needs reports of the radio network.
        pub cecc: Frames = Frames::Off,
    }
}

section! {
    /// Turns: packets that come close together are read and sent together.
    pub struct Turns {
        /// Under load, how long packets gather before they are read. Longer takes less processor time, and delays each more.
        #[within(Duration::from_micros(20), Duration::from_millis(2))]
        pub gather: Duration = Duration::from_micros(45),
    }
}

choice! {
    /// Where packets that no function holds are forwarded.
    pub enum FastPath {
        /// Here.
        Off = "off",
        /// In the kernel.
        Kernel = "kernel",
    }
}

section! {
    /// A shorter path for sessions whose packets no function holds.
    pub struct Fast {
        /// Where these packets are forwarded: here, or by programs in the kernel. Those need `n3.interface`.
        pub path: FastPath = FastPath::Off,
    }
}

section! {
    /// A base station's counters of flows (type 241 of its reports), which `ebb` steers by: each goes to the sender of its flow.
    pub struct FlowCounters {
        /// UDP port of senders that take them. None: they go nowhere.
        #[within(1, 65_535)]
        pub port: Option<u16> = None,
        /// File with the key that signs them; senders need the same. None: they have no tag.
        pub key: Option<String> = None,
    }
    check(me, at) {
        if me.key.is_some() && me.port.is_none() {
            return Err(at.error("key without port", "both: a key signs what goes to a port"));
        }
    }
}

section! {
    /// A session without a control plane.
    pub struct StaticSession {
        /// The UE.
        pub ue: Address,
        /// TEID of the uplink tunnel here.
        #[within(1, u32::MAX)]
        pub teid: u32,
        /// The base station.
        pub gnb: Address,
        /// TEID of the downlink tunnel there.
        #[within(1, u32::MAX)]
        pub gnb_teid: u32,
        /// The QoS flow of its packets.
        #[within(0, 63)]
        pub qfi: u8 = 9,
        /// A bearer of an EPC: downlink packets carry no PDU session container.
        pub epc: bool = false,
        /// Session AMBR downlink. None: no bound.
        pub ambr_down: Option<Rate> = None,
        /// Session AMBR uplink. None: no bound.
        pub ambr_up: Option<Rate> = None,
        /// The uplink tunnel also carries reports of other sessions (profile C).
        pub reports: bool = false,
    }
}

section! {
    /// Metrics and status by HTTP.
    pub struct Http {
        /// Where it listens.
        pub address: Address = Address(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        /// Its TCP port; 0 for none.
        #[within(0, 65_535)]
        pub port: u16 = 9_805,
    }
}

section! {
    /// A user plane function.
    pub struct UpfConfig {
        /// The control plane.
        pub n4: N4 = N4::example(),
        /// The radio network.
        pub n3: N3,
        /// The data network.
        pub n6: N6 = N6::example(),
        /// What keeps queues short.
        pub functions: Functions = Functions::example(),
        /// When packets are read.
        pub turns: Turns = Turns::example(),
        /// The path in the kernel.
        pub fast: Fast = Fast::example(),
        /// Counters for senders.
        pub counters: FlowCounters = FlowCounters::example(),
        /// Metrics and status.
        pub http: Http = Http::example(),
        /// Sessions without a control plane.
        pub session: Vec<StaticSession> = Vec::new(),
    }
}

impl UpfConfig {
    /// Reads `text`; `file` names it in errors.
    ///
    /// # Errors
    /// Where it is no TOML, a key is unknown, missing or out of its range, or nobody could order a session.
    pub fn parse(file: &str, text: &str) -> Result<Self, ScenarioError> {
        let config: Self = slackwater_scenario::document::read(file, text)?;
        if config.n4.address.is_none() && config.session.is_empty() {
            return Err(ScenarioError::new(
                "n4.address",
                "no control plane and no session",
                "an address, or [[session]]",
            ));
        }
        if config.n6.port.is_some() && config.n6.gateway.is_none() {
            return Err(ScenarioError::new(
                "n6.gateway",
                "no router beside n6.port",
                "its address on the port's link",
            ));
        }
        if config.fast.path == FastPath::Kernel && config.n3.interface.is_none() {
            return Err(ScenarioError::new(
                "n3.interface",
                "none beside fast.path = \"kernel\"",
                "the interface's name",
            ));
        }
        config.one_session_each()?;
        Ok(config)
    }

    /// A tunnel and an address are one session's.
    fn one_session_each(&self) -> Result<(), ScenarioError> {
        let (mut tunnels, mut ues) = (BTreeMap::new(), BTreeMap::new());
        for (k, session) in self.session.iter().enumerate() {
            // A UE has the first 64 bits of an IPv6 address (TS 23.501, 5.8.2.2).
            let ue = match session.ue.0 {
                IpAddr::V4(_) => session.ue.0,
                IpAddr::V6(a) => IpAddr::V6((u128::from(a) >> 64 << 64).into()),
            };
            let others = [
                (
                    "teid",
                    session.teid.to_string(),
                    tunnels.insert(session.teid, k),
                ),
                ("ue", session.ue.0.to_string(), ues.insert(ue, k)),
            ];
            for (name, found, other) in others {
                if let Some(other) = other {
                    return Err(ScenarioError::new(
                        format!("session[{k}].{name}"),
                        format!("{found}, as in session[{other}]"),
                        "one of its own",
                    ));
                }
            }
        }
        Ok(())
    }

    /// The file with every default, as TOML.
    pub fn to_toml(&self) -> String {
        let mut table = Table::default();
        self.encode_table(&mut table);
        tree::to_toml(&table)
    }

    /// The reference of all keys, a row each: section, key, kind, default, range, meaning.
    pub fn reference() -> Vec<Reference> {
        let mut out = Vec::new();
        Self::below("", &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use core::fmt::Write as _;

    use super::*;

    const LEAST: &str = "[n4]\naddress = \"127.0.0.1\"\n[n3]\naddress = \"10.0.0.1\"\n";

    #[test]
    fn two_addresses_suffice() {
        let config = UpfConfig::parse("upf.toml", LEAST).unwrap();
        assert_eq!((config.n3.port, config.n4.port), (2_152, 8_805));
        assert_eq!(config.functions.vaqm, Aqm::Auto);
    }

    #[test]
    fn networks_hold_their_addresses() {
        for (network, address, holds) in [
            ("10.60.0.0", 16, "10.60.255.255", true),
            ("10.60.0.0", 16, "10.61.0.0", false),
            ("0.0.0.0", 0, "203.0.113.9", true),
            ("10.60.0.1", 32, "10.60.0.1", true),
            ("10.60.0.1", 32, "10.60.0.0", false),
            ("2001:db8::", 32, "2001:db8:ffff::1", true),
            ("2001:db8::", 32, "2001:db9::", false),
            ("::", 0, "2001:db9::", true),
            ("::", 0, "10.0.0.1", false),
        ]
        .map(|(n, bits, a, holds)| {
            let address = n.parse().unwrap();
            (Network { address, bits }, a.parse().unwrap(), holds)
        }) {
            assert_eq!(network.holds(address), holds, "{network:?} {address}");
        }
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, said) in [
            ("[n3]\naddress = \"10.0.0.1\"\n", "n4.address"),
            ("[n3]\naddress = \"10.0.0\"\n", "n3.address"),
            ("[n4]\naddress = \"::1\"\n", "n3"),
            (
                "[n3]\naddress = \"::1\"\n[n6]\nroutes = [\"10.0.0.0/33\"]\n",
                "n6.routes",
            ),
            ("[n3]\naddress = \"::1\"\nmtu = 100\n", "n3.mtu"),
            (
                "[n3]\naddress = \"::1\"\n[[session]]\nue = \"10.0.0.1\"\nteid = 0\n",
                "session[0].teid",
            ),
            (
                "[n4]\naddress = \"::1\"\n[n3]\naddress = \"::1\"\n[n6]\nport = \"eth1\"\n",
                "n6.gateway",
            ),
            (
                "[n3]\naddress = \"::1\"\n[functions]\nvaqm = \"on\"\n",
                "functions.vaqm",
            ),
            (
                "[n3]\naddress = \"::1\"\n[turns]\ngather = \"3 ms\"\n",
                "turns.gather",
            ),
            (
                "[n4]\naddress = \"::1\"\n[n3]\naddress = \"::1\"\n[fast]\npath = \"kernel\"\n",
                "n3.interface",
            ),
        ] {
            let error = UpfConfig::parse("upf.toml", text).unwrap_err().to_string();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    #[test]
    fn two_sessions_share_nothing() {
        let session = |ue: &str, teid: u32| {
            format!("[[session]]\nue = \"{ue}\"\nteid = {teid}\ngnb = \"10.0.0.2\"\ngnb_teid = 9\n")
        };
        for (ues, teids, said) in [
            (["10.60.0.1", "10.60.0.2"], [1, 2], None),
            (["10.60.0.1", "10.60.0.2"], [1, 1], Some("session[1].teid")),
            (["10.60.0.1", "10.60.0.1"], [1, 2], Some("session[1].ue")),
            (
                ["2001:db8::1", "2001:db8::2"],
                [1, 2],
                Some("session[1].ue"),
            ),
        ] {
            let text = format!(
                "{LEAST}{}{}",
                session(ues[0], teids[0]),
                session(ues[1], teids[1])
            );
            let error = UpfConfig::parse("upf.toml", &text)
                .err()
                .map(|e| e.to_string());
            let found = error
                .as_deref()
                .is_some_and(|e| e.contains(said.unwrap_or("")));
            assert_eq!(found, said.is_some(), "{text}: {error:?}");
        }
    }

    /// The tables of docs/upf.md.
    fn tables() -> String {
        let mut out = String::new();
        for section in UpfConfig::reference() {
            let key = section.key.trim_start_matches('.');
            let _ = writeln!(out, "### `[{key}]`\n\n{}\n", section.about);
            out += "| key | value | default | range | |\n|---|---|---|---|---|\n";
            for [key, kind, default, range, about] in section.rows {
                let about = about.replace("\n ", " ");
                let _ = writeln!(
                    out,
                    "| `{key}` | {kind} | `{default}` | {range} | {about} |"
                );
            }
            out += "\n";
        }
        out
    }

    #[test]
    #[ignore = "prints the tables of docs/upf.md"]
    fn print_the_tables() {
        eprintln!("{}", tables());
    }

    #[test]
    fn the_page_has_every_key() {
        let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/upf.md");
        let Ok(page) = std::fs::read_to_string(page) else {
            eprintln!("skipped: no docs beside this crate");
            return;
        };
        assert!(
            page.contains(tables().trim()),
            "docs/upf.md: cargo test -p slackwater-live --lib print_the_tables -- --ignored --nocapture"
        );
    }
}
