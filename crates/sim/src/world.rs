//! The world: nodes and hosts on one kernel.

mod agents;
mod builder;
mod carrier;
mod cell;
mod edge;
mod feed;
mod gtpu;
mod hosts;
mod pages;
mod path;
mod sample;
mod senders;
mod slots;

use std::collections::VecDeque;

pub use agents::{AgentId, counter_agent, report_delay, rlc_reporter, tbs_agent};
pub use builder::WorldBuilder;
pub use carrier::{Carrier, Faults, Sink};
use cell::CellNode;
use edge::EdgeNode;
use feed::Feed;
pub use gtpu::Profile;
use pages::Page;
use path::{Component, Hop, LaneNode, LinkNode};
use sample::Sampled;
use slackwater_core::{Direction, Duration, FlowId, Instant, NodeId, Packet, Recorder};
use slackwater_edge::RanReport;
use slackwater_ran::CellOut;
use slackwater_ran::cell::Cell;
use slackwater_transport::rtp::Mailbox;

use crate::arena::Arena;
use crate::clock::{Clock, SyncStatus};
use crate::flow::{Host, HostEvents};
use crate::kernel::Kernel;
use crate::link::Outcomes;

/// Index of a cell's samples that cover its whole downlink.
pub const CELL_DOWN: u32 = u32::MAX - 1;
/// Index of a cell's samples that cover its whole uplink.
pub const CELL_UP: u32 = u32::MAX;

struct Flow {
    /// The hosts, at the network (0) and at the UE (1).
    hosts: [Host; 2],
    /// First hop of packets going down and up, and its name in records.
    first: [(NodeId, Hop); 2],
    /// The host that sends the flow's data.
    sender: usize,
    /// Messages on their way: position of their end in the byte stream, start, size.
    messages: VecDeque<(u64, Instant, u64)>,
    /// Up to where in the byte stream arrivals were told.
    told: u64,
    /// The page that it is a connection of.
    page: Option<u32>,
    /// The UE's transport blocks for the sender.
    feed: Option<Box<Feed>>,
    /// What RTCP on its way says.
    mailbox: Mailbox,
}

impl Flow {
    /// Which way its data goes.
    const fn direction(&self) -> Direction {
        match self.sender {
            0 => Direction::Down,
            _ => Direction::Up,
        }
    }
}

/// Index of a direction, and of the host that sends in it.
const fn side(direction: Direction) -> usize {
    match direction {
        Direction::Down => 0,
        Direction::Up => 1,
    }
}

/// A simulated network at some point of its time.
pub struct World<R> {
    /// Whose turn it is next.
    kernel: Kernel,
    /// Who acts, by the number that the kernel knows it by.
    components: Vec<Component>,
    /// Paths without a bottleneck.
    lanes: Arena<LaneNode>,
    /// Bottleneck links.
    links: Arena<LinkNode>,
    /// Cells.
    cells: Arena<CellNode>,
    /// Edge functions.
    edges: Arena<EdgeNode>,
    /// Nodes of which there are samples, in the order of their numbers.
    sampled: Vec<Sampled>,
    /// Flows, by [`FlowId`].
    flows: Vec<Flow>,
    /// Component of the first flow's host at the network; two a flow follow one another.
    first_host: usize,
    /// Browsers.
    pages: Vec<Page>,
    /// Component of the first page.
    first_page: usize,
    /// What takes down what happens.
    recorder: R,
    /// Up to when the world has run.
    now: Instant,
    /// Events handled so far.
    events: u64,
    // Buffers reused by every event.
    /// What a host emits.
    packets: Vec<Packet>,
    /// What leaves a link, with its queue delay.
    served: Vec<(Packet, Duration)>,
    /// What a link's queue drops and marks.
    outcomes: Outcomes,
    /// What a cell drops, marks and delivers.
    cell_out: CellOut<Packet>,
    /// A message of reports to an edge function.
    batch: Vec<RanReport>,
    /// Reports for functions outside of the world, each with the time at which it was made.
    reports: VecDeque<(Instant, RanReport)>,
    /// Named internals of a flow.
    values: Vec<(&'static str, f64)>,
    /// What hosts have to report beyond packets.
    host_events: HostEvents,
    /// The largest lag behind the clock.
    late: Duration,
}

impl<R: Recorder> World<R> {
    /// The time up to which the world has run.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Events handled so far.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// The largest lag behind the clock (zero in virtual time).
    pub fn late(&self) -> Duration {
        self.late
    }

    /// The recorder.
    pub fn recorder(&self) -> &R {
        &self.recorder
    }

    /// Ends the run and hands back the recorder.
    pub fn into_recorder(mut self) -> R {
        // What arrived since their last slots was not told.
        self.catch_up_cells(self.now);
        self.recorder
    }

    /// Number of flows.
    pub fn flows(&self) -> usize {
        self.flows.len()
    }

    /// The cell at `node`, where there is one.
    pub fn cell(&self, node: NodeId) -> Option<&Cell<Packet>> {
        match *self.components.get(node.index())? {
            Component::Cell(cell) => Some(&self.cells[cell].cell),
            _ => None,
        }
    }

    /// The sending and the receiving host of `flow`.
    pub fn hosts(&self, flow: FlowId) -> (&Host, &Host) {
        let f = &self.flows[flow.index()];
        (&f.hosts[f.sender], &f.hosts[1 - f.sender])
    }

    /// When the next event is due.
    pub fn next_event(&self) -> Option<Instant> {
        self.kernel.peek().map(|(at, _)| at)
    }

    /// A host outside of the world emits `packet`, in its flow and direction ([`crate::Transport::External`]). All events up
    /// to `now` must have run, which [`World::run_until`] sees to.
    pub fn inject(&mut self, now: Instant, packet: &Packet) {
        debug_assert!(now >= self.now, "{now} is before {}", self.now);
        self.now = now;
        self.packets.push(*packet);
        self.emit(now, packet.flow.index(), side(packet.dir));
    }

    /// The data of `flow`, whose hosts are outside, goes in `direction`. From here on its sender gets the reports of that direction
    /// ([`Sink::Turned`]).
    pub fn set_direction(&mut self, flow: FlowId, direction: Direction) {
        let state = &mut self.flows[flow.index()];
        if state.direction() == direction {
            return;
        }
        state.sender = side(direction);
        if let Some(feed) = &mut state.feed {
            feed.turn();
            if let Some(beat) = feed.beat {
                self.kernel.arm(beat, feed.next_timer());
            }
        }
    }

    /// The packets that reached hosts outside of the world since the last call, with the times of their arrival.
    pub fn drain_handed(&mut self) -> impl Iterator<Item = (Instant, Packet)> {
        self.host_events.handed.drain(..)
    }

    /// The reports for functions outside of the world since the last call, each with the time at which it was made: those of
    /// one time are one message ([`WorldBuilder::hand_out`]).
    pub fn drain_reports(&mut self) -> impl Iterator<Item = (Instant, RanReport)> {
        self.reports.drain(..)
    }

    /// The recorder, for what it must hear from outside of the world.
    pub fn recorder_mut(&mut self) -> &mut R {
        &mut self.recorder
    }

    /// Runs all events up to and including `until`. Splitting a run into several calls changes nothing.
    pub fn run_until(&mut self, until: Instant, clock: &mut impl Clock) {
        while self.run_event(until, clock) {}
        self.now = self.now.max(until);
    }

    /// Runs the next event where it is due by `until`; false where none is. An agent outside stops a run this way.
    #[inline]
    pub fn run_event(&mut self, until: Instant, clock: &mut impl Clock) -> bool {
        let Some((at, component)) = self.kernel.peek().filter(|(at, _)| *at <= until) else {
            return false;
        };
        if let SyncStatus::Late(lag) = clock.synchronize(at) {
            self.late = self.late.max(lag);
        }
        debug_assert!(
            at >= self.now,
            "time goes backwards: component {component} at {at}, now {}",
            self.now
        );
        self.now = at;
        self.events += 1;
        self.dispatch(at, component);
        true
    }

    fn dispatch(&mut self, now: Instant, component: usize) {
        match self.components[component] {
            Component::Lane(lane) => self.run_lane(now, lane),
            Component::Link(link) => self.run_link(now, link),
            Component::Cell(cell) => self.run_cell(now, cell),
            Component::Edge(edge) => self.run_edge(now, edge),
            Component::Feed(flow) => self.beat(now, component, flow as usize),
            Component::Host { flow, host } => self.run_host(now, flow as usize, host.into()),
            Component::Sampler => {
                self.sample(now);
                let next = self.recorder.sampling().map(|p| now + p);
                self.kernel.arm(component, next);
            }
            Component::Page(page) => self.begin_page(now, page as usize),
        }
    }
}
