//! A world as it is put together: the bottleneck first, then the UPF, then flow after flow.
//!
//! The order in which parts go into the world decides their numbers, and so the order of ties and the draws: it is a part of
//! a scenario's result.

use slackwater_control::Controller as _;
use slackwater_control::registry::{AnyController, Config as ControllerConfig};
use slackwater_core::{Direction, Draw, Duration, FlowId, Instant, Qfi, Recorder, UeId};
use slackwater_edge::{Agent, Place as Stand};
use slackwater_queue::LawConfig;
use slackwater_signal::{MarkingScheme, Observer, PathReport};
use slackwater_sim::{self as sim, FlowConfig, Sink, World, WorldBuilder};
use slackwater_transport::app::AppConfig;

use super::path::{self, Place};
use super::{BuildError, Hosts, Layout, cell, feedback, flow, link, upf};
use crate::flow::Way;
use crate::{Bottleneck, FlowInstance, Law, Link, Queue, Scenario, Ue};

/// Purposes of the assembly's draws.
mod purpose {
    pub(super) const QUEUE: u64 = 100;
    pub(super) const CONTROLLER: u64 = 101;
}

/// A controller of the caller's for the flow of a number, where it gives one.
pub(super) type Given<'a> = dyn FnMut(usize, &ControllerConfig) -> Option<AnyController> + 'a;

/// A world that is being put together.
pub(super) struct Assembly<'a> {
    /// What it shall be.
    scenario: &'a Scenario,
    /// Its UEs, each by itself.
    ues: Vec<&'a Ue>,
    /// The seed of the run.
    seed: u64,
    /// Who stands at the ends of the flows.
    hosts: Hosts,
    /// Draws of the run.
    draw: Draw,
    /// Queues that have their draw.
    queues: u64,
    /// What is there of it.
    world: WorldBuilder,
    /// Where its parts are.
    layout: Layout,
    /// Length of a slot of the cell; zero for a link.
    slot: Duration,
    /// The connections so far of a page that is not complete.
    page: Vec<FlowConfig>,
    /// Flows whose sender takes reports of transport blocks, and the RTT of their wired part.
    feeds: Vec<(FlowId, Duration)>,
    /// Flows whose sender takes the base station's counters, which way their data goes, and the RTT of their wired part.
    counted: Vec<(FlowId, Direction, Duration)>,
    /// Flows whose sender is told the marker's thresholds, with its start and the RTT of the way.
    told: Vec<(FlowId, MarkingScheme, Duration, Duration)>,
    /// An agent of the program that reports from the UEs.
    ue_agent: Option<Box<dyn Agent + Send>>,
}

impl<'a> Assembly<'a> {
    /// A world without parts for `scenario`.
    ///
    /// # Errors
    /// Where the scenario names a law or a scheduler that is not there.
    pub(super) fn new(scenario: &'a Scenario, seed: u64, hosts: Hosts) -> Result<Self, BuildError> {
        scenario
            .check_own()
            .map_err(|e| BuildError::Own(Box::new(e)))?;
        Ok(Self {
            scenario,
            ues: scenario.expanded_ues(),
            seed,
            hosts,
            draw: Draw::new(seed),
            queues: 0,
            world: WorldBuilder::new(seed),
            layout: Layout::default(),
            slot: Duration::ZERO,
            page: Vec::new(),
            feeds: Vec::new(),
            counted: Vec::new(),
            told: Vec::new(),
            ue_agent: None,
        })
    }

    /// Adds all parts; `recorder` makes the recorder once the layout is known.
    pub(super) fn finish<R: Recorder>(
        mut self,
        observer: Option<Box<dyn Observer + Send>>,
        recorder: impl FnOnce(&Layout) -> R,
        given: &mut Given<'_>,
    ) -> Result<(World<R>, Layout), BuildError> {
        self.add_wired();
        self.add_bottleneck(observer)?;
        self.add_upf()?;
        for flow in self.scenario.expanded_flows() {
            self.add_flow(&flow, given)?;
        }
        self.add_feeds();
        self.add_counted();
        self.add_told();
        let recorder = recorder(&self.layout);
        Ok((self.world.build(recorder), self.layout))
    }

    /// The draw of the next queue.
    fn queue_draw(&mut self) -> Draw {
        self.queues += 1;
        self.draw.fork(purpose::QUEUE, self.queues)
    }

    /// Adds the wired bottleneck, where there is one.
    fn add_wired(&mut self) {
        if let Some(wired) = &self.scenario.wired {
            let draw = self.queue_draw();
            let config = link::wired(wired, self.scenario.plugins(), draw);
            self.layout.wired = Some(self.world.add_link(config));
            if self.scenario.flows.iter().any(|f| f.direction == Way::Up) {
                let draw = self.queue_draw();
                let config = link::wired(wired, self.scenario.plugins(), draw);
                self.layout.wired_up = Some(self.world.add_link(config));
            }
        }
    }

    /// Adds the bottleneck, and the link of the way back.
    fn add_bottleneck(
        &mut self,
        observer: Option<Box<dyn Observer + Send>>,
    ) -> Result<(), BuildError> {
        match &self.scenario.bottleneck {
            Bottleneck::Link(config) => self.add_links(config),
            Bottleneck::Cell(config) => self.add_cell(config, observer)?,
        }
        Ok(())
    }

    fn add_links(&mut self, config: &Link) {
        let plugins = self.scenario.plugins();
        let (down, up) = link::both(config, plugins, &mut || self.queue_draw());
        self.layout.bottleneck = self.world.add_link(down);
        self.layout.up_node = up.map(|up| self.world.add_link(up));
    }

    fn add_cell(
        &mut self,
        config: &crate::Cell,
        observer: Option<Box<dyn Observer + Send>>,
    ) -> Result<(), BuildError> {
        let scenario = self.scenario;
        let (mut cell, ues) = cell::configs(config, scenario, &mut || self.queue_draw());
        let mut own = feedback::own_agent(scenario, &cell, ues.len(), self.seed)?;
        if own.as_ref().is_some_and(|a| a.place() == Stand::Ue) {
            self.ue_agent = own.take();
        }
        let reports = feedback::is_wanted(scenario, AnyController::takes_reports);
        cell.observe_gone = feedback::is_counted(scenario, Way::Down);
        cell.observe_gone_up =
            feedback::is_counted(scenario, Way::Up) || (self.hosts.may_turn() && cell.observe_gone);
        cell.observe_pdcp |= cell.observe_gone
            || cell.observe_gone_up
            || reports
            || self.ue_agent.is_some()
            || upf::has_own_system(scenario);
        self.slot = cell.slot_duration();
        let node = self
            .world
            .add_cell(&cell, ues, observer)
            .map_err(|e| BuildError::Cell(e.to_string()))?;
        if reports {
            let xrc = || Box::new(feedback::xrc_agent(scenario, &cell)) as Box<_>;
            let agent = self.world.add_agent(node, own.unwrap_or_else(xrc));
            let (carrier, faults) = feedback::way(scenario);
            self.world.connect(agent, carrier, faults, Sink::Senders);
        }
        self.layout.cell = true;
        self.layout.bottleneck = node;
        Ok(())
    }

    /// Adds the functions of the UPF, where there is one.
    fn add_upf(&mut self) -> Result<(), BuildError> {
        let Some(config) = &self.scenario.upf else {
            return Ok(());
        };
        if self.hosts == Hosts::BeyondN3 {
            upf::report_outside(&mut self.world, config, self.layout.bottleneck);
            return Ok(());
        }
        let plugins = self.scenario.plugins();
        let own = |name| plugins.system(name, config, self.seed);
        let own = config.system.as_deref().map(own).transpose();
        let own = own.map_err(BuildError::System)?;
        self.layout.upf = upf::add(
            &mut self.world,
            config,
            self.layout.bottleneck,
            &self.ues,
            self.scenario.duration,
            plugins,
            own,
        );
        Ok(())
    }

    /// Adds the agent of transport blocks, where a sender takes its reports.
    fn add_feeds(&mut self) {
        if self.feeds.is_empty() {
            return;
        }
        let (scenario, node) = (self.scenario, self.layout.bottleneck);
        let mode = feedback::mode(scenario);
        let agent = if self.layout.cell {
            let tyrus = sim::tbs_agent(self.world.cell_config(node), mode);
            let own = self.ue_agent.take();
            self.world
                .add_agent(node, own.unwrap_or_else(|| Box::new(tyrus)))
        } else {
            self.world.add_link_agent(node, mode)
        };
        for &(flow, rtt) in &self.feeds {
            let (carrier, faults) = feedback::way_of_blocks(scenario, rtt);
            self.world
                .connect(agent, carrier, faults, Sink::Sender(flow));
        }
    }

    /// Adds what counts flows at the base station, or at the link, where a sender takes its counters.
    fn add_counted(&mut self) {
        let in_direction = |direction| {
            let flows = self.counted.iter().filter(|(_, way, _)| *way == direction);
            let flows = flows.map(|&(flow, _, rtt)| (flow, rtt));
            flows.collect::<Vec<_>>()
        };
        let (down, up) = (in_direction(Direction::Down), in_direction(Direction::Up));
        self.add_counted_in(Direction::Down, &down, Sink::Sender);
        self.add_counted_in(Direction::Up, &up, Sink::Sender);
        if self.hosts.may_turn() {
            let turned: Vec<_> = down
                .iter()
                .map(|&(flow, _)| (flow, Duration::ZERO))
                .collect();
            self.add_counted_in(Direction::Up, &turned, Sink::Turned);
        }
    }

    /// Adds the agent that counts the flows of `counted` in `direction`. Each has the RTT of its reports, which go to `sink`.
    fn add_counted_in(
        &mut self,
        direction: Direction,
        counted: &[(FlowId, Duration)],
        sink: fn(FlowId) -> Sink,
    ) {
        let node = match direction {
            Direction::Up if !self.layout.cell => self.layout.up_node,
            _ => Some(self.layout.bottleneck),
        };
        // A link's way back that never delays has nothing to count.
        let Some(node) = node.filter(|_| !counted.is_empty()) else {
            return;
        };

        let scenario = self.scenario;
        // Of an upload the report crosses the radio to the UE, and nothing else.
        let mut radio = Duration::ZERO;
        let agent = if self.layout.cell {
            let cell = self.world.cell_config(node);
            if direction == Direction::Up {
                radio = sim::report_delay(cell);
            }
            let agent = sim::counter_agent(cell, direction, feedback::ip_scale(scenario));
            self.world.add_agent(node, Box::new(agent))
        } else {
            self.world.add_link_counters(node)
        };
        for &(flow, rtt) in counted {
            let (carrier, faults) = feedback::way_of_counters(scenario, rtt / 2 + radio);
            self.world.connect(agent, carrier, faults, sink(flow));
        }
    }

    /// Lets UEs tell their senders what they know from the network. After all flows: these parts take no number of theirs.
    fn add_told(&mut self) {
        for &(flow, scheme, start, rtt) in &self.told {
            let (carrier, faults) = feedback::way_of_scheme(self.scenario, rtt);
            let (report, start) = (PathReport::MarkingScheme(scheme), Instant::ZERO + start);
            self.world.tell(flow, report, start, carrier, faults);
        }
    }

    /// Adds a flow, or a page with the last of its connections.
    fn add_flow(
        &mut self,
        flow: &FlowInstance<'_>,
        given: &mut Given<'_>,
    ) -> Result<(), BuildError> {
        let number = self.layout.labels.len();
        let id = FlowId(number as u32);
        let ue = UeId(flow.ue.unwrap_or(0));
        let mut config = self.flow_config(flow, ue, number, given)?;
        if self.hosts.are_outside() {
            config.transport = flow::external(&config.transport);
        }
        // The modem of a real UE reports to the UE itself, which sends the report on by a way of its own.
        let rtt = if self.hosts.are_outside() {
            Duration::ZERO
        } else {
            flow.rtt
        };
        if config.takes_blocks() {
            self.feeds.push((id, rtt));
        }
        if config.takes_counters() {
            // A base station's report crosses the wired part wherever its sender stands, unless that is the UE. Beyond N3 that part is
            // outside too.
            let rtt = if self.hosts == Hosts::BeyondN3 || flow::is_up(flow) {
                Duration::ZERO
            } else {
                flow.rtt
            };
            self.counted.push((id, config.direction, rtt));
        }

        if matches!(config.app, AppConfig::Page(_)) && !self.hosts.are_outside() {
            self.page.push(config);
            if flow.connection + 1 == flow.spec.app.connections() {
                self.world.add_page(core::mem::take(&mut self.page));
            }
        } else {
            let added = self.world.add_flow(config);
            debug_assert_eq!(added, id);
            self.tell_scheme(flow, id);
        }

        self.layout.labels.push(flow.label.clone());
        let controller = flow::controller_name(flow);
        self.layout.controllers.push(controller.to_owned());
        self.layout.ues.push(ue);
        self.layout.up.push(flow::is_up(flow));
        Ok(())
    }

    /// A media sender is told the thresholds of the marker on its path, where there is one. A flow has one feed: where its sender takes
    /// counters, it is not told.
    fn tell_scheme(&mut self, flow: &FlowInstance<'_>, id: FlowId) {
        let counted = self.counted.iter().any(|(flow, ..)| *flow == id);
        let told =
            flow.spec.app.media().is_some_and(|m| m.told) && !counted && !self.hosts.are_outside();
        let up = flow::is_up(flow);
        if let Some(scheme) = marking_scheme(self.scenario, up).filter(|_| told) {
            let rtt = if up { Duration::ZERO } else { flow.rtt };
            self.told.push((id, scheme, flow.start, rtt));
        }
    }

    /// The flow with its paths and its controller.
    fn flow_config(
        &self,
        flow: &FlowInstance<'_>,
        ue: UeId,
        number: usize,
        given: &mut Given<'_>,
    ) -> Result<FlowConfig, BuildError> {
        let qfi = Qfi(flow.spec.qfi);
        let guarantee = self.ues.get(ue.index()).and_then(|u| u.guarantee(qfi.0));
        let place = Place {
            ue,
            qfi,
            gbr_flow: guarantee.map(|_| qfi),
            slot: self.slot,
        };
        let (mut down, mut up) = path::of(self.scenario, &self.layout, flow, place);
        if self.hosts.are_outside() {
            // A simulation pays an event for a lane that does nothing; an emulator would pay it in delay.
            path::skip_idle(&mut down);
            path::skip_idle(&mut up);
        }
        let draw = self.draw.fork(purpose::CONTROLLER, number as u64);
        let given = |config: &ControllerConfig| given(number, config);
        flow::config(self.scenario, flow, down, up, draw, given).map_err(|wrong| BuildError::Flow {
            entry: flow.entry,
            key: wrong.key,
            label: flow.label.clone(),
            reason: wrong.reason,
        })
    }
}

/// The thresholds of the ramp that marks in the bottleneck, in the direction of the data; `None` where no ramp does.
pub fn marking_scheme(scenario: &Scenario, up: bool) -> Option<MarkingScheme> {
    let law = match &scenario.bottleneck {
        Bottleneck::Cell(cell) => (!up).then_some(&cell.rlc.law)?,
        Bottleneck::Link(link) => {
            let [down, back] = link.queues();
            match if up { back } else { down } {
                Queue::Fifo(fifo) => &fifo.law,
                Queue::Fq(_) | Queue::Dual(_) => return None,
            }
        }
    };
    match law {
        Law::BuiltIn(LawConfig::Ramp(ramp)) => Some(MarkingScheme {
            low: ramp.low,
            high: ramp.high,
        }),
        _ => None,
    }
}
