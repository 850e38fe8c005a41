//! Which flow of the world a packet belongs to.

use std::collections::HashMap;

use slackwater_core::{FlowId, Packet, PacketView as _, SeqNum, TcpFlags};
use slackwater_wire::IpBuf;

/// Gives connections the flows that the world keeps for their UE, in the order in which they come.
#[derive(Debug)]
pub struct FlowTable {
    /// By UE.
    ues: Vec<UeFlows>,
    /// By flow key of either direction, and UE.
    known: HashMap<(u32, u32), FlowId>,
    /// By flow.
    flows: Vec<FlowState>,
    /// Ports that belong to a flow whatever else the packet says.
    ports: HashMap<u16, FlowId>,
}

#[derive(Debug)]
struct UeFlows {
    first: u32,
    count: u32,
    used: u32,
}

#[derive(Debug, Default)]
struct FlowState {
    label: Option<String>,
    ue: u32,
    /// By direction, down first: payload bytes so far, and the end of the highest sequence number.
    ways: [Way; 2],
    /// Which way the data goes, once that shows.
    up: Option<bool>,
}

#[derive(Debug, Default)]
struct Way {
    payload: u64,
    end: Option<SeqNum>,
}

/// Payload bytes after which a direction is taken for that of the data: more than a request has.
const DECIDING: u64 = 4_000;

impl FlowTable {
    /// A table for `ues` UEs with `each` flows; flows are numbered UE by UE.
    pub fn new(ues: u32, each: u32) -> Self {
        let table = |ue| UeFlows {
            first: ue * each,
            count: each,
            used: 0,
        };
        Self {
            ues: (0..ues).map(table).collect(),
            known: HashMap::new(),
            flows: (0..ues * each)
                .map(|f| FlowState {
                    ue: f / each,
                    ..FlowState::default()
                })
                .collect(),
            ports: HashMap::new(),
        }
    }

    /// A table for flows that are known beforehand, of which the iterator names the UEs. Packets of others travel with
    /// their UE's first flow and count for none.
    pub fn fixed(ues: impl Iterator<Item = u32>) -> Self {
        let flows: Vec<FlowState> = ues
            .map(|ue| FlowState {
                ue,
                ..FlowState::default()
            })
            .collect();
        let last = flows.iter().map(|f| f.ue).max().unwrap_or(0);
        let table = |ue| UeFlows {
            first: flows.iter().position(|f| f.ue == ue).unwrap_or(0) as u32,
            count: 1,
            used: 0,
        };
        Self {
            ues: (0..=last).map(table).collect(),
            known: HashMap::new(),
            ports: HashMap::new(),
            flows,
        }
    }

    /// Binds `port`, which no other flow uses on either side, to `flow`, whose data goes `up`.
    pub fn bind(&mut self, port: u16, flow: FlowId, label: &str, up: bool) {
        self.ports.insert(port, flow);
        let state = &mut self.flows[flow.index()];
        state.label = Some(label.to_owned());
        state.up = Some(up);
    }

    /// The flow of `ip`, which `ue` sends or receives. Where a UE has more connections than flows, the last flow takes
    /// all others.
    pub fn flow(&mut self, ip: &IpBuf, ue: u32, up: bool) -> FlowId {
        let key = ip.flow_key();
        if let Some(flow) = self.known.get(&(key, ue)) {
            return *flow;
        }
        let bound = ip.ports().and_then(|(from, to)| {
            let of = |port| self.ports.get(&port).copied();
            of(from).or_else(|| of(to))
        });
        let flow = bound.unwrap_or_else(|| {
            let ue = &mut self.ues[ue as usize];
            let place = ue.used.min(ue.count - 1);
            ue.used = place + 1;
            FlowId(ue.first + place)
        });
        let state = &mut self.flows[flow.index()];
        if state.label.is_none() {
            state.label = Some(label(ip, ue, up));
        }
        self.known.insert((key, ue), flow);
        self.known.insert((ip.reverse_key(), ue), flow);
        flow
    }

    /// True where `packet` belongs to none of the flows that are known beforehand.
    pub fn is_stranger(&self, ip: &IpBuf) -> bool {
        !self.ports.is_empty()
            && !ip.ports().is_some_and(|(from, to)| {
                self.ports.contains_key(&from) || self.ports.contains_key(&to)
            })
    }

    /// Follows the sequence numbers of `packet`: marks it where it is sent again, and tells the direction of the flow's
    /// data at the moment in which it shows.
    pub fn follow(&mut self, packet: &mut Packet) -> Option<bool> {
        let up = packet.bits & Packet::BIT_UP != 0;
        let state = &mut self.flows[packet.flow.index()];
        let way = &mut state.ways[usize::from(up)];
        if packet.payload == 0 && !packet.flags.contains(TcpFlags::SYN) {
            return None;
        }
        way.payload += u64::from(packet.payload);
        if packet.proto == slackwater_core::Proto::Tcp {
            let end = SeqNum(packet.seq.0.wrapping_add(u32::from(packet.payload)));
            // A SYN starts a connection anew.
            let syn = packet.flags.contains(TcpFlags::SYN);
            let ahead = |to: SeqNum| (end.0.wrapping_sub(to.0) as i32) > 0;
            match way.end.filter(|_| !syn) {
                Some(last) if !ahead(last) => packet.bits |= Packet::BIT_RETX,
                _ => way.end = Some(end),
            }
        }
        if state.up.is_none() && way.payload >= DECIDING {
            state.up = Some(up);
            return state.up;
        }
        None
    }

    /// The flows that carried data, with their labels; the first of them all where none did.
    pub fn used(&self) -> Vec<(FlowId, String)> {
        let named = |(i, s): (usize, &FlowState)| {
            let label = s.label.clone()?;
            Some((FlowId(i as u32), label))
        };
        let flows = self.flows.iter().enumerate();
        let mut used: Vec<_> = flows
            .filter(|(_, s)| s.up.is_some())
            .filter_map(named)
            .collect();
        if used.is_empty() {
            used.push((FlowId(0), "idle".to_owned()));
        }
        // Labels are unique: they are those of connections, and a client may use a port again.
        for i in 1..used.len() {
            while used[..i].iter().any(|u| u.1 == used[i].1) {
                used[i].1.push('\'');
            }
        }
        used
    }

    /// The UE of `flow`.
    pub fn ue_of(&self, flow: FlowId) -> u32 {
        self.flows[flow.index()].ue
    }
}

/// Protocol and ports, the server's first, and the UE where there is one beside the first.
fn label(ip: &IpBuf, ue: u32, up: bool) -> String {
    let protocol = match ip.protocol() {
        Some(6) => "tcp".to_owned(),
        Some(17) => "udp".to_owned(),
        Some(1 | 58) => "icmp".to_owned(),
        Some(other) => format!("ip{other}"),
        None => "fragments".to_owned(),
    };
    let mut label = protocol;
    if let Some((from, to)) = ip.ports() {
        let (server, client) = if up { (to, from) } else { (from, to) };
        label.extend([" ", &server.to_string(), "-", &client.to_string()]);
    }
    if ue > 0 {
        label.extend([" ue", &ue.to_string()]);
    }
    label
}
