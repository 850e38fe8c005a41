//! Building a world.

use std::collections::VecDeque;

use slackwater_core::{
    Direction, Draw, Duration, FlowId, Instant, NodeId, Packet, Qfi, Recorder, UeId,
};
use slackwater_edge::{EdgeAgent, EdgeFunction, RanReport, ReportAgent, ReportCarrier, Session};
use slackwater_ran::CellOut;
use slackwater_ran::cell::{Cell, CellConfig, ConfigError, UeConfig};
use slackwater_signal::Observer;
use slackwater_transport::app::AppConfig;
use slackwater_transport::rtp::Mailbox;

use super::blocks::{BlocksConfig, Feed, Source};
use super::cell::{Blocks, CellFlow, CellNode};
use super::edge::{EdgeFlow, EdgeNode};
use super::feedback::{Feedback, FeedbackConfig};
use super::pages::Page;
use super::path::{Component, Exit, Hop, LaneNode, LinkNode};
use super::reports::{ReportConfig, Reports};
use super::sample::Sampled;
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

    /// Puts an agent at the cell `node`: it sees the cell's slots, and its reports travel to the senders of flows whose
    /// controller takes them. Add it before the flows.
    pub fn add_agent(
        &mut self,
        node: NodeId,
        agent: Box<dyn ReportAgent + Send>,
        config: FeedbackConfig,
    ) {
        let draw = self.draw.fork(purpose::FEEDBACK, u64::from(node.0));
        let cell = self.cell_mut(node);
        cell.feedback = Some(Box::new(Feedback::new(agent, config, draw)));
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

    /// Lets the cell at `cell` report its downlink queues to the edge function at `edge`.
    pub fn add_reports(&mut self, cell: NodeId, edge: NodeId, config: ReportConfig) {
        let to = self.edge(edge);
        let key = u64::from(cell.0) << 32 | u64::from(edge.0);
        let draw = self.draw.fork(purpose::REPORTS, key);
        let of_cell = self.cell_mut(cell).cell.config();
        let reports = Reports::new(of_cell, config, to, draw);
        self.push_reports(cell, reports);
    }

    /// Lets `agent` watch the cell at `cell` and report by `carrier` to the edge function at `edge`. Packets at PDCP are
    /// shown to it where the cell's configuration observes them.
    pub fn add_edge_agent(
        &mut self,
        cell: NodeId,
        edge: NodeId,
        agent: Box<dyn EdgeAgent + Send>,
        carrier: Box<dyn ReportCarrier + Send>,
    ) {
        let to = self.edge(edge);
        self.push_reports(cell, Reports::own(agent, carrier, to));
    }

    fn push_reports(&mut self, cell: NodeId, mut reports: Reports) {
        let node = self.cell_mut(cell);
        for (k, flow) in node.flows.iter().enumerate().filter(|(_, f)| f.passes) {
            reports.add_flow(&node.cell, FlowId(k as u32), flow.ue, flow.qfi);
        }
        node.reports.push(reports);
    }

    /// Lets the UE of `flow` tell the sender about its transport blocks at `node`, a link or a cell in the flow's path
    /// down. `ue` matters to a cell only.
    pub fn add_feed(&mut self, flow: FlowId, node: NodeId, ue: UeId, config: BlocksConfig) {
        let draw = self.draw.fork(purpose::BLOCKS, u64::from(flow.0));
        let (source, slot) = match self.nodes.get(node.index()) {
            Some(&Component::Cell(cell)) => {
                let node = &mut self.cells[cell];
                let of_cell = node.cell.config();
                let slot = of_cell.slot_duration();
                let blocks = || Box::new(Blocks::new(of_cell));
                node.blocks.get_or_insert_with(blocks).agent.watch(ue);
                (Source::Cell { cell, ue }, slot)
            }
            Some(&Component::Link(link)) => {
                let meter = self.links[link].link.meter();
                (Source::Link { link, meter }, Duration::from_millis(1))
            }
            _ => panic!("{node} is neither a cell nor a link"),
        };
        let mut feed = Feed::new(config, source, slot, draw);
        if let Some(lane) = config.carrier.lane() {
            feed.lane = Some(self.report_lane(lane));
            feed.beat = Some(self.push(Component::Feed(flow.0)).index());
        }
        self.flows[flow.index()].feed = Some(Box::new(feed));
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
                if let HopConfig::Cell { node, ue, qfi } = *hop {
                    self.subscribe(id, node, ue, qfi);
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
                for reports in &mut cell.reports {
                    reports.add_flow(&cell.cell, flow, ue, qfi);
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

    /// Lays the way of the reports to the sender of `flow`.
    fn subscribe(&mut self, flow: FlowId, node: NodeId, ue: UeId, qfi: Qfi) {
        let Some(config) = self.cell_mut(node).feedback.as_ref().map(|f| f.config) else {
            return;
        };
        let lane = config.carrier.lane().map(|lane| self.report_lane(lane));
        let cell = self.cell_mut(node);
        let bearer = cell.cell.bearer(ue, qfi);
        let feedback = cell.feedback.as_mut().expect("seen above");
        feedback.subscribe(flow, ue, bearer, lane);
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
                // Empty, a lane and a link have nothing to do; a feed begins with its flow.
                Component::Lane(_) | Component::Link(_) | Component::Feed(_) => None,
                // A cell sleeps until something comes, but for its reports.
                Component::Cell(cell) if self.cells[cell].reports.is_empty() => None,
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
            values: Vec::new(),
            host_events: HostEvents::default(),
            late: Duration::ZERO,
        }
    }
}
