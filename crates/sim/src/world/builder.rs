//! Building a world.

use std::collections::VecDeque;

use slackwater_core::{Direction, Draw, Duration, FlowId, Instant, NodeId, Packet, Recorder};
use slackwater_edge::ue::BlocksMode;
use slackwater_edge::{Agent, EdgeFunction, FlowAt, Place, RanReport, Session};
use slackwater_ran::CellOut;
use slackwater_ran::cell::{Cell, CellConfig, ConfigError, UeConfig};
use slackwater_signal::{Observer, PathReport};
use slackwater_transport::app::AppConfig;
use slackwater_transport::rtp::Mailbox;

use super::agents::{AgentId, AgentKind, Installed, MessageCarrier, ToFunction};
use super::carrier::{Carrier, Faults, Sink};
use super::cell::{CellFlow, CellNode};
use super::edge::{EdgeFlow, EdgeNode};
use super::feed::{Feed, LinkBlocks, Source};
use super::gtpu::Gtpu;
use super::pages::Page;
use super::path::{Component, Exit, Hop, LaneNode, LinkNode};
use super::sample::Sampled;
use super::senders::ToSenders;
use super::{Flow, World, side};
use crate::arena::{Arena, Idx};
use crate::flow::{FlowConfig, HopConfig, Host, HostEvents};
use crate::kernel::Kernel;
use crate::lane::{Lane, LaneConfig};
use crate::link::{Link, LinkConfig, Outcomes};

/// Purposes of keyed draws (see `slackwater_core::rng`).
mod purpose {
    pub(super) const LANE: u64 = 1;
    pub(super) const CELL: u64 = 2;
    pub(super) const HOST: u64 = 3;
    pub(super) const FEEDBACK: u64 = 4;
    pub(super) const REPORTS: u64 = 5;
    pub(super) const PAGE: u64 = 6;
    pub(super) const BLOCKS: u64 = 7;
}

/// Collects nodes and flows.
pub struct WorldBuilder {
    draw: Draw,
    /// The nodes, by number: what each is and where it lies.
    nodes: Vec<Component>,
    lanes: Arena<LaneNode>,
    links: Arena<LinkNode>,
    cells: Arena<CellNode>,
    edges: Arena<EdgeNode>,
    flows: Vec<Flow>,
    pages: Vec<Page>,
}

impl WorldBuilder {
    /// An empty world whose every random draw follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            draw: Draw::new(seed),
            nodes: Vec::new(),
            lanes: Arena::default(),
            links: Arena::default(),
            cells: Arena::default(),
            edges: Arena::default(),
            flows: Vec::new(),
            pages: Vec::new(),
        }
    }

    /// The number of the node that is added next.
    fn next_id(&self) -> NodeId {
        NodeId(self.nodes.len() as u32)
    }

    fn push(&mut self, node: Component) -> NodeId {
        let id = self.next_id();
        self.nodes.push(node);
        id
    }

    fn push_lane(&mut self, config: LaneConfig, next: Hop) -> (NodeId, Idx<LaneNode>) {
        let id = self.next_id();
        let draw = self.draw.fork(purpose::LANE, u64::from(id.0));
        let lane = self.lanes.push(LaneNode {
            id,
            lane: Lane::new(config, draw, self.draw),
            exit: Exit::Hop(next),
        });
        self.push(Component::Lane(lane));
        (id, lane)
    }

    /// Adds a bottleneck link; it serves any flow whose path names it.
    pub fn add_link(&mut self, config: LinkConfig) -> NodeId {
        let link = self.links.push(LinkNode {
            id: self.next_id(),
            link: Link::new(config),
            next: Vec::new(),
            counts: None,
        });
        self.push(Component::Link(link))
    }

    /// Adds a cell with its UEs; `observer` sees its slots.
    ///
    /// # Errors
    /// Where the cell's configuration contradicts itself.
    pub fn add_cell(
        &mut self,
        config: &CellConfig,
        ues: Vec<UeConfig>,
        observer: Option<Box<dyn Observer + Send>>,
    ) -> Result<NodeId, ConfigError> {
        let id = self.next_id();
        let draw = self.draw.fork(purpose::CELL, u64::from(id.0));
        let cell = Cell::new(config, ues, draw)?;
        let cell = self.cells.push(CellNode::new(id, cell, observer));
        Ok(self.push(Component::Cell(cell)))
    }

    /// The configuration of the cell at `node`.
    pub fn cell_config(&self, node: NodeId) -> &CellConfig {
        self.cells[self.cell(node)].cell.config()
    }

    /// Puts `agent` at the cell `node`: it sees the cell's slots, and packets at PDCP where the cell's configuration observes
    /// them. [`WorldBuilder::connect`] says who gets its reports.
    pub fn add_agent(&mut self, node: NodeId, agent: Box<dyn Agent + Send>) -> AgentId {
        let agents = &mut self.cell_mut(node).agents;
        agents.push(Installed {
            agent,
            function: None,
        });
        let kind = AgentKind::OfCell(agents.len() - 1);
        AgentId { node, kind }
    }

    /// Lets UEs count what the link at `node` carries for them, or could: a trace of a link stands for a cell with one UE.
    pub fn add_link_agent(&mut self, node: NodeId, mode: BlocksMode) -> AgentId {
        let kind = AgentKind::OfLink(mode);
        AgentId { node, kind }
    }

    /// Counts the flows of the link at `node` as a base station does: the link stands for a cell with one UE.
    pub fn add_link_counters(&mut self, node: NodeId) -> AgentId {
        let kind = AgentKind::CountsLink;
        AgentId { node, kind }
    }

    /// Adds an edge function; it acts on the flows whose path names it.
    pub fn add_edge(&mut self, function: Box<dyn EdgeFunction<Packet> + Send>) -> NodeId {
        let edge = EdgeNode::new(self.next_id(), function);
        let edge = self.edges.push(edge);
        self.push(Component::Edge(edge))
    }

    /// Tells the edge function at `node` of a session that is there from the start.
    pub fn add_session(&mut self, node: NodeId, session: &Session) {
        let function = &mut self.edge_mut(node).function;
        function.on_session(Instant::ZERO, session);
    }

    /// Lets `carrier` take the reports of `agent` to `sink`, with `faults` on the way.
    ///
    /// An agent at a UE ([`Place::Ue`]), or one at the cell with a socket of its own, is connected to one sender after the
    /// other, each of a flow that exists. Any other agent at the cell is connected to senders one by one or to all that are
    /// added later.
    ///
    /// # Panics
    /// Where the carrier does not go there, where a flow does not pass the agent's cell, where an agent has a function already,
    /// where another agent at the cell reports to senders, or where nobody reports to the sender of a flow before it turns.
    pub fn connect(&mut self, agent: AgentId, carrier: Carrier, faults: Faults, sink: Sink) {
        let to_sender = !matches!(sink, Sink::Function(_));
        assert!(
            carrier.reaches_senders() == to_sender,
            "{carrier:?} does not reach {sink:?}"
        );
        match (sink, agent.kind) {
            (Sink::Function(edge), AgentKind::OfCell(number)) => {
                self.connect_function(agent.node, number, carrier, faults, edge);
            }
            (Sink::Senders, AgentKind::OfCell(number)) => {
                self.connect_senders(agent.node, number, carrier, faults, true);
            }
            (Sink::Sender(flow), AgentKind::OfCell(number)) => {
                let installed = &self.cell_mut(agent.node).agents[number];
                let own_clock = matches!(carrier, Carrier::Socket { .. });
                if own_clock || installed.agent.place() == Place::Ue {
                    self.connect_ue(agent, carrier, faults, flow);
                } else {
                    self.connect_senders(agent.node, number, carrier, faults, false);
                    self.subscribe(agent.node, flow);
                }
            }
            (Sink::Sender(flow), AgentKind::OfLink(_) | AgentKind::CountsLink) => {
                self.connect_ue(agent, carrier, faults, flow);
            }
            (Sink::Turned(flow), _) => self.connect_turned(agent, carrier, faults, flow),
            (_, AgentKind::OfLink(_) | AgentKind::CountsLink) => {
                panic!("a link's UE reports to the sender of a flow")
            }
        }
    }

    /// Hands the reports of `agent`, which is at the cell, to who drives the world, with `faults` on the way
    /// ([`World::drain_reports`](super::World::drain_reports)): the function that they are for stands outside.
    ///
    /// # Panics
    /// Where the agent is at a UE, or has a function already.
    pub fn hand_out(&mut self, agent: AgentId, faults: Faults) {
        let AgentKind::OfCell(number) = agent.kind else {
            panic!("a link's UE reports to the sender of a flow");
        };
        let key = u64::from(agent.node.0) << 32 | number as u64;
        let draw = self.draw.fork(purpose::REPORTS, key);
        let way = ToFunction::new(None, MessageCarrier::Outside, faults, draw);
        self.connect_way(agent.node, number, way);
    }

    fn connect_function(
        &mut self,
        cell: NodeId,
        agent: usize,
        carrier: Carrier,
        faults: Faults,
        edge: NodeId,
    ) {
        let key = u64::from(cell.0) << 32 | u64::from(edge.0);
        let draw = self.draw.fork(purpose::REPORTS, key);
        let edge = self.edge(edge);
        let carrier = match carrier {
            Carrier::Gtpu {
                profile,
                delay,
                jitter,
            } => MessageCarrier::Gtpu {
                gtpu: Gtpu::new(profile),
                delay,
                jitter,
            },
            Carrier::Own(carrier) => MessageCarrier::Own(carrier),
            other => panic!("{other:?} does not reach a function"),
        };
        let way = ToFunction::new(Some(edge), carrier, faults, draw);
        self.connect_way(cell, agent, way);
    }

    fn connect_way(&mut self, cell: NodeId, agent: usize, way: ToFunction) {
        let node = self.cell_mut(cell);
        let installed = &mut node.agents[agent];
        assert!(installed.function.is_none(), "an agent has one function");
        for (k, flow) in node.flows.iter().enumerate().filter(|(_, f)| f.passes) {
            installed.agent.add_flow(&FlowAt {
                flow: FlowId(k as u32),
                ue: flow.ue,
                bearer: node.cell.bearer(flow.ue, flow.qfi),
            });
        }
        installed.function = Some(way);
    }

    fn connect_senders(
        &mut self,
        cell: NodeId,
        agent: usize,
        carrier: Carrier,
        faults: Faults,
        all: bool,
    ) {
        let draw = self.draw.fork(purpose::FEEDBACK, u64::from(cell.0));
        let new = || Box::new(ToSenders::new(agent, all, carrier, faults, draw));
        let senders = self.cell_mut(cell).senders.get_or_insert_with(new);
        assert!(
            senders.agent == agent,
            "another agent of this cell reports to senders"
        );
    }

    /// Lets the UE of `flow` report to its sender.
    fn connect_ue(&mut self, agent: AgentId, carrier: Carrier, faults: Faults, flow: FlowId) {
        let direction = self.flows[flow.index()].direction();
        let mut feed = self.feed_of(agent, carrier, faults, flow, direction);
        if feed.lane.is_some() {
            feed.beat = Some(self.push(Component::Feed(flow.0)).index());
        }
        self.flows[flow.index()].feed = Some(Box::new(feed));
    }

    /// Lets `agent` see `flow` from its start, and report to its sender once its data has turned.
    fn connect_turned(&mut self, agent: AgentId, carrier: Carrier, faults: Faults, flow: FlowId) {
        let direction = self.flows[flow.index()].direction().reverse();
        let other = self.feed_of(agent, carrier, faults, flow, direction);
        let feed = self.flows[flow.index()].feed.as_mut();
        feed.expect("an agent reports to the sender").other = Some(Box::new(other));
    }

    /// The feed of `flow` by `agent`, should its data go in `direction`.
    fn feed_of(
        &mut self,
        agent: AgentId,
        carrier: Carrier,
        faults: Faults,
        flow: FlowId,
        direction: Direction,
    ) -> Feed {
        let (source, slot) = match (self.nodes.get(agent.node.index()), agent.kind) {
            (Some(&Component::Cell(cell)), AgentKind::OfCell(number)) => {
                let at = self.flow_at(agent.node, flow);
                let node = &mut self.cells[cell];
                let installed = &mut node.agents[number];
                installed.agent.add_flow(&at);
                let source = Source::Cell {
                    cell,
                    agent: number,
                    at,
                    dir: direction,
                };
                (source, node.cell.slot_duration())
            }
            (Some(&Component::Link(link)), AgentKind::OfLink(mode)) => {
                let blocks = LinkBlocks::new(mode, &self.links[link].link);
                (Source::Link { link, blocks }, LinkBlocks::SAMPLE)
            }
            (Some(&Component::Link(link)), AgentKind::CountsLink) => {
                let node = &mut self.links[link];
                let counts = node.counts.get_or_insert_default();
                counts.subscribe(flow);
                let meter = node.link.meter();
                (Source::CountedLink { link, meter }, LinkBlocks::SAMPLE)
            }
            _ => panic!("{} is neither a cell nor a link", agent.node),
        };
        let draw = self.draw.fork(purpose::BLOCKS, u64::from(flow.0));
        let lane = carrier.lane();
        let mut feed = Feed::new(source, carrier, faults, slot, draw);
        feed.lane = lane.map(|lane| self.report_lane(lane));
        feed
    }

    /// Lets the UE of `flow` tell its sender `report` from `start` on: what the network told the UE about its bearer and holds for
    /// good, as cL4S' thresholds (RRC or NAS tell the UE, and the UE its application).
    ///
    /// # Panics
    /// Where the carrier has no period of its own, or the UE reports to this sender already.
    pub fn tell(
        &mut self,
        flow: FlowId,
        report: PathReport,
        start: Instant,
        carrier: Carrier,
        faults: Faults,
    ) {
        let Carrier::Socket { every, lane } = carrier else {
            panic!("{carrier:?} waits for packets to ride on");
        };
        let state = &self.flows[flow.index()];
        assert!(state.feed.is_none(), "one feed a flow");
        let draw = self.draw.fork(purpose::BLOCKS, u64::from(flow.0));
        let mut feed = Feed::new(Source::Told(report), carrier, faults, every, draw);
        feed.begin(start);
        feed.lane = Some(self.report_lane(lane));
        feed.beat = Some(self.push(Component::Feed(flow.0)).index());
        self.flows[flow.index()].feed = Some(Box::new(feed));
    }

    /// Where the data of `flow` waits in the cell at `node`.
    fn flow_at(&mut self, node: NodeId, flow: FlowId) -> FlowAt {
        let cell = self.cell_mut(node);
        let passes = cell.flows.get(flow.index()).filter(|f| f.passes);
        let &CellFlow { ue, qfi, .. } = passes.expect("the flow passes the agent's cell");
        let bearer = cell.cell.bearer(ue, qfi);
        FlowAt { flow, ue, bearer }
    }

    /// Lays the way of reports from the cell at `node` to the sender of `flow`.
    fn subscribe(&mut self, node: NodeId, flow: FlowId) {
        let at = self.flow_at(node, flow);
        let lane = self.cell_mut(node).senders.as_ref();
        let lane = lane.and_then(|s| s.carrier.lane());
        let lane = lane.map(|lane| self.report_lane(lane));
        let cell = self.cell_mut(node);
        if let Some(senders) = &mut cell.senders {
            cell.agents[senders.agent].agent.add_flow(&at);
            senders.subscribe(at, lane);
        }
    }

    /// A lane that ends at the sender's host.
    fn report_lane(&mut self, config: LaneConfig) -> Idx<LaneNode> {
        self.push_lane(config, Hop::Host).1
    }

    /// Lets the edge function at `node` hear `report` at `at`; call it in the order of time.
    pub fn add_report(&mut self, node: NodeId, at: Instant, report: RanReport) {
        self.edge_mut(node).reports.push_back((at, report));
    }

    fn edge(&self, node: NodeId) -> Idx<EdgeNode> {
        match self.nodes.get(node.index()) {
            Some(&Component::Edge(edge)) => edge,
            _ => panic!("{node} is not an edge function"),
        }
    }

    fn edge_mut(&mut self, node: NodeId) -> &mut EdgeNode {
        let edge = self.edge(node);
        &mut self.edges[edge]
    }

    fn cell(&self, node: NodeId) -> Idx<CellNode> {
        match self.nodes.get(node.index()) {
            Some(&Component::Cell(cell)) => cell,
            _ => panic!("{node} is not a cell"),
        }
    }

    fn cell_mut(&mut self, node: NodeId) -> &mut CellNode {
        let cell = self.cell(node);
        &mut self.cells[cell]
    }

    /// Adds a flow. Its paths name nodes added before; each path has at least one hop.
    pub fn add_flow(&mut self, config: FlowConfig) -> FlowId {
        let id = FlowId(self.flows.len() as u32);
        let down = self.lay(id, Direction::Down, &config.down);
        let up = self.lay(id, Direction::Up, &config.up);
        if config.takes_reports() {
            for hop in &config.down {
                if let HopConfig::Cell { node, .. } = *hop
                    && self.cell_mut(node).senders.as_ref().is_some_and(|s| s.all)
                {
                    self.subscribe(node, id);
                }
            }
        }
        let draw = self.draw.fork(purpose::HOST, u64::from(id.0));
        let sender = side(config.direction);
        let hosts = Host::pair(id, config, draw);
        self.flows.push(Flow {
            hosts,
            first: [down, up],
            sender,
            messages: VecDeque::new(),
            told: 0,
            page: None,
            feed: None,
            mailbox: Mailbox::default(),
        });
        id
    }

    /// Adds a browser and its connections, one flow each, in their order: all with the same [`AppConfig::Page`]. Records
    /// name the first for a page that is there in full.
    pub fn add_page(&mut self, connections: Vec<FlowConfig>) -> Vec<FlowId> {
        let first = connections.first().expect("a page has a connection");
        let AppConfig::Page(page) = first.app else {
            panic!("the connections of a page carry one");
        };
        let (start, stop) = (first.start, first.stop);
        let number = self.pages.len() as u32;
        let draw = self.draw.fork(purpose::PAGE, u64::from(number));
        let flows: Vec<FlowId> = connections.into_iter().map(|c| self.add_flow(c)).collect();
        for flow in &flows {
            self.flows[flow.index()].page = Some(number);
        }
        self.pages
            .push(Page::new(flows[0], page, start, stop, draw));
        flows
    }

    /// Turns a path into hops, from its end to its start; returns the name of its first node and the first hop.
    fn lay(&mut self, flow: FlowId, direction: Direction, path: &[HopConfig]) -> (NodeId, Hop) {
        let (last, before) = path.split_last().expect("a path has at least one hop");
        let mut first = self.lay_hop(flow, direction, last, Hop::Host);
        for hop in before.iter().rev() {
            first = self.lay_hop(flow, direction, hop, first.1);
        }
        first
    }

    /// Lets `flow` pass `hop` on its way to `next`.
    fn lay_hop(
        &mut self,
        flow: FlowId,
        direction: Direction,
        hop: &HopConfig,
        next: Hop,
    ) -> (NodeId, Hop) {
        match *hop {
            HopConfig::Lane(config) => {
                let (id, lane) = self.push_lane(config, next);
                (id, Hop::Lane(lane))
            }
            HopConfig::Link(id) => {
                let Some(&Component::Link(link)) = self.nodes.get(id.index()) else {
                    panic!("{id} is not a link");
                };
                let table = &mut self.links[link].next;
                table.resize(table.len().max(flow.index() + 1), Hop::Host);
                table[flow.index()] = next;
                (id, Hop::Link(link))
            }
            HopConfig::Cell { node, ue, qfi } => {
                let cell = self.cell_mut(node);
                let n = cell.flows.len().max(flow.index() + 1);
                cell.flows.resize(n, CellFlow::default());
                let entry = &mut cell.flows[flow.index()];
                (entry.passes, entry.ue, entry.qfi) = (true, ue, qfi);
                entry.next[side(direction)] = next;
                for installed in cell.agents.iter_mut().filter(|a| a.function.is_some()) {
                    let bearer = cell.cell.bearer(ue, qfi);
                    installed.agent.add_flow(&FlowAt { flow, ue, bearer });
                }
                (node, Hop::Cell(self.cell(node)))
            }
            HopConfig::Edge { node, ue, gbr_flow } => {
                let edge = self.edge_mut(node);
                let n = edge.flows.len().max(flow.index() + 1);
                edge.flows.resize(n, EdgeFlow::default());
                let entry = &mut edge.flows[flow.index()];
                (entry.passes, entry.ue, entry.gbr_flow) = (true, ue, gbr_flow);
                entry.next[side(direction)] = next;
                (node, Hop::Edge(self.edge(node)))
            }
        }
    }

    /// Lets cells take what arrives on lanes that end at them: no event for each packet.
    fn feed_cells(&mut self) {
        for node in self.lanes.iter_mut() {
            if let Exit::Hop(Hop::Cell(cell)) = node.exit
                && self.cells[cell].inbox.reach(node.lane.longest())
            {
                node.exit = Exit::Inbox(cell);
            }
        }
    }

    /// The world, at time zero, telling `recorder` what happens.
    pub fn build<R: Recorder>(mut self, recorder: R) -> World<R> {
        if !recorder.in_order() {
            self.feed_cells();
        }
        let sampled = self.nodes.iter().filter_map(|node| match *node {
            Component::Link(link) => Some(Sampled::Link(link)),
            Component::Cell(cell) => Some(Sampled::Cell(cell)),
            Component::Edge(edge) => Some(Sampled::Edge(edge)),
            _ => None,
        });
        let sampled = sampled.collect();

        let mut components = self.nodes;
        let first_host = components.len();
        for flow in 0..self.flows.len() as u32 {
            components.extend([0, 1].map(|host| Component::Host { flow, host }));
        }
        components.push(Component::Sampler);
        let first_page = components.len();
        components.extend((0..self.pages.len() as u32).map(Component::Page));

        let mut kernel = Kernel::new(components.len());
        for (n, component) in components.iter().enumerate() {
            let timer = match *component {
                // Empty, a lane and a link have nothing to do.
                Component::Lane(_) | Component::Link(_) => None,
                // Most feeds begin with the first packet of their flow.
                Component::Feed(flow) => {
                    let feed = self.flows[flow as usize].feed.as_ref();
                    feed.and_then(|feed| feed.next_timer())
                }
                // A cell sleeps until something comes, but for its reports.
                Component::Cell(cell) if !self.cells[cell].reports_to_functions() => None,
                Component::Cell(cell) => self.cells[cell].next_timer(),
                Component::Edge(edge) => self.edges[edge].next_timer(),
                Component::Host { flow, host } => {
                    self.flows[flow as usize].hosts[usize::from(host)].next_timer()
                }
                Component::Sampler => recorder.sampling().map(|_| Instant::ZERO),
                Component::Page(page) => self.pages[page as usize].next_timer(),
            };
            kernel.arm(n, timer);
        }

        World {
            kernel,
            components,
            lanes: self.lanes,
            links: self.links,
            cells: self.cells,
            edges: self.edges,
            sampled,
            flows: self.flows,
            first_host,
            pages: self.pages,
            first_page,
            recorder,
            now: Instant::ZERO,
            events: 0,
            packets: Vec::new(),
            served: Vec::new(),
            outcomes: Outcomes::default(),
            cell_out: CellOut::new(),
            batch: Vec::new(),
            reports: VecDeque::new(),
            values: Vec::new(),
            host_events: HostEvents::default(),
            late: Duration::ZERO,
        }
    }
}
