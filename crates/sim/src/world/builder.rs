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

use super::blocks::{BlocksConfig, Feed};
use super::cell::{Blocks, CellFlow, CellNode};
use super::edge::{EdgeFlow, EdgeNode};
use super::feedback::{Feedback, FeedbackConfig};
use super::pages::Page;
use super::reports::{ReportConfig, Reports};
use super::{Flow, Hop, Node, World, side};
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
    nodes: Vec<Node>,
    flows: Vec<Flow>,
    pages: Vec<Page>,
}

impl WorldBuilder {
    /// An empty world whose every random draw follows from `seed`.
    pub fn new(seed: u64) -> Self {
        Self {
            draw: Draw::new(seed),
            nodes: Vec::new(),
            flows: Vec::new(),
            pages: Vec::new(),
        }
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        NodeId(self.nodes.len() as u32 - 1)
    }

    /// Adds a bottleneck link; it serves any flow whose path names it.
    pub fn add_link(&mut self, config: LinkConfig) -> NodeId {
        self.push(Node::Link {
            link: Box::new(Link::new(config)),
            next: Vec::new(),
        })
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
        let draw = self.draw.fork(purpose::CELL, self.nodes.len() as u64);
        let cell = Cell::new(config, ues, draw)?;
        Ok(self.push(Node::Cell(Box::new(CellNode::new(cell, observer)))))
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
        self.push(Node::Edge(Box::new(EdgeNode::new(function))))
    }

    /// Tells the edge function at `node` of a session that is there from the start.
    pub fn add_session(&mut self, node: NodeId, session: &Session) {
        let function = &mut self.edge_mut(node).function;
        function.on_session(Instant::ZERO, session);
    }

    /// Lets the cell at `cell` report its downlink queues to the edge function at `edge`.
    pub fn add_reports(&mut self, cell: NodeId, edge: NodeId, config: ReportConfig) {
        self.edge_mut(edge);
        let key = u64::from(cell.0) << 32 | u64::from(edge.0);
        let draw = self.draw.fork(purpose::REPORTS, key);
        let of_cell = self.cell_mut(cell).cell.config();
        let reports = Reports::new(of_cell, config, edge.index(), draw);
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
        self.edge_mut(edge);
        self.push_reports(cell, Reports::own(agent, carrier, edge.index()));
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
        let mut feed = Feed::new(config, node.index(), ue, draw);
        match &mut self.nodes[node.index()] {
            Node::Cell(cell) => {
                let of_cell = cell.cell.config();
                feed.slot = of_cell.slot_duration();
                let blocks = || Box::new(Blocks::new(of_cell));
                cell.blocks.get_or_insert_with(blocks).agent.watch(ue);
            }
            Node::Link { link, .. } => feed.meter = Some(link.meter()),
            _ => {}
        }
        if let Some(lane) = config.carrier.lane() {
            let lane = self.report_lane(lane);
            feed.lane = Some(lane);
            feed.beat = Some(self.push(Node::Beat(flow.index())).index());
        }
        self.flows[flow.index()].feed = Some(Box::new(feed));
    }

    /// A lane that ends at the sender's host.
    fn report_lane(&mut self, config: LaneConfig) -> Hop {
        let draw = self.draw.fork(purpose::LANE, self.nodes.len() as u64);
        let lane = Lane::new(config, draw, self.draw);
        let next = Hop::Host;
        Hop::Node(self.push(Node::Lane { lane, next }).0)
    }

    /// Lets the edge function at `node` hear `report` at `at`; call it in the order of time.
    pub fn add_report(&mut self, node: NodeId, at: Instant, report: RanReport) {
        self.edge_mut(node).reports.push_back((at, report));
    }

    fn edge_mut(&mut self, node: NodeId) -> &mut EdgeNode {
        match self.nodes.get_mut(node.index()) {
            Some(Node::Edge(edge)) => edge,
            _ => panic!("{node} is not an edge function"),
        }
    }

    fn cell_mut(&mut self, node: NodeId) -> &mut CellNode {
        match self.nodes.get_mut(node.index()) {
            Some(Node::Cell(cell)) => cell,
            _ => panic!("{node} is not a cell"),
        }
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

    /// Turns a path into hops, from its end to its start; returns the first hop.
    fn lay(&mut self, flow: FlowId, direction: Direction, path: &[HopConfig]) -> Hop {
        assert!(!path.is_empty(), "a path has at least one hop");
        let mut next = Hop::Host;
        for hop in path.iter().rev() {
            let node = match *hop {
                HopConfig::Lane(config) => {
                    let draw = self.draw.fork(purpose::LANE, self.nodes.len() as u64);
                    self.push(Node::Lane {
                        lane: Lane::new(config, draw, self.draw),
                        next,
                    })
                }
                HopConfig::Link(id) => {
                    let Some(Node::Link { next: table, .. }) = self.nodes.get_mut(id.index())
                    else {
                        panic!("{id} is not a link");
                    };
                    table.resize(table.len().max(flow.index() + 1), Hop::Host);
                    table[flow.index()] = next;
                    id
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
                    node
                }
                HopConfig::Edge { node, ue, gbr_flow } => {
                    let edge = self.edge_mut(node);
                    let n = edge.flows.len().max(flow.index() + 1);
                    edge.flows.resize(n, EdgeFlow::default());
                    let entry = &mut edge.flows[flow.index()];
                    (entry.passes, entry.ue, entry.gbr_flow) = (true, ue, gbr_flow);
                    entry.next[side(direction)] = next;
                    node
                }
            };
            next = Hop::Node(node.0);
        }
        next
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
        for n in 0..self.nodes.len() {
            let Node::Lane {
                lane,
                next: Hop::Node(cell),
            } = &self.nodes[n]
            else {
                continue;
            };
            let (longest, cell) = (lane.longest(), *cell);
            if let Node::Cell(node) = &mut self.nodes[cell as usize]
                && node.inbox.reach(longest)
            {
                let node = core::mem::replace(&mut self.nodes[n], Node::Beat(usize::MAX));
                let Node::Lane { lane, .. } = node else {
                    unreachable!("it was one a moment ago")
                };
                self.nodes[n] = Node::Feeder { lane, cell };
            }
        }
    }

    /// The world, at time zero, telling `recorder` what happens.
    pub fn build<R: Recorder>(mut self, recorder: R) -> World<R> {
        if !recorder.in_order() {
            self.feed_cells();
        }
        let hosts = self.nodes.len();
        let sampler = hosts + 2 * self.flows.len();
        let mut kernel = Kernel::new(sampler + 1 + self.pages.len());
        for (i, flow) in self.flows.iter().enumerate() {
            for (s, host) in flow.hosts.iter().enumerate() {
                kernel.arm(hosts + 2 * i + s, host.next_timer());
            }
        }
        for (n, node) in self.nodes.iter().enumerate() {
            match node {
                Node::Edge(edge) => kernel.arm(n, edge.next_timer()),
                // A cell sleeps until something comes, but for its reports.
                Node::Cell(cell) if !cell.reports.is_empty() => kernel.arm(n, cell.next_timer()),
                _ => {}
            }
        }
        for (i, page) in self.pages.iter().enumerate() {
            kernel.arm(sampler + 1 + i, page.next_timer());
        }
        if recorder.sampling().is_some() {
            kernel.arm(sampler, Some(Instant::ZERO));
        }
        let tells = |n: &usize| matches!(self.nodes[*n], Node::Cell(_) | Node::Edge(_));
        World {
            kernel,
            tellers: (0..hosts).filter(tells).collect(),
            nodes: self.nodes,
            flows: self.flows,
            pages: self.pages,
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
