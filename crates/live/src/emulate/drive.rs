//! Devices, world and clock of a run: the loop that joins them.

mod input;

use std::io::IsTerminal as _;
use std::os::fd::BorrowedFd;
use std::sync::{Arc, Mutex};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use slackwater_core::{Duration, FlowId, Instant};
use slackwater_lab::run::Prepared;
use slackwater_ran::cell::Cell;
use slackwater_results::record::slots::SlotRows;
use slackwater_scenario::Scenario;
use slackwater_scenario::build::Layout;
use slackwater_signal::{PathReport, ReportBody};
use slackwater_wire::gtpu::report::FlowCounters;

use super::beside::{self, Ports};
use super::bridge::{Beside, Bridge, Counters, Departure, Left, Probe, Tap};
use super::clock::WallClock;
use super::flows::FlowTable;
use super::frame;
use super::merge::{Merger, Port};
use super::meter::{Meter, View};
use super::moderation::Moderation;
use super::netns::Namespace;
use super::reach::Reach;
use super::setup::Network;
use super::side::Side;
use super::teller::Teller;
use super::tun::Tun;
use super::{Health, Outcome};
use crate::LiveError;
use crate::counted::Signer;
use crate::sys::{self, Signals};

use input::Looked;

/// How often the command is looked at for its end.
const CHECK_EVERY: Duration = Duration::from_millis(10);
/// Real-time priority: above everything ordinary, below the kernel's own threads.
pub(crate) const PRIORITY: i32 = 10;

/// Devices, world and clock of a run: the loop that joins them.
pub(crate) struct Drive {
    network: Network,
    bridge: Bridge,
    layout: Layout,
    rows: Option<Arc<Mutex<SlotRows>>>,
    clock: WallClock,
    /// A slot of the cell, or a link's millisecond.
    slot: Duration,
    merger: Merger,
    moderation: Moderation,
    refused: u64,
    ports: Ports,
    reach: Reach,
    out_of_reach: u64,
    reports: u64,
    /// Signs the counters of `ebb`.
    signer: Signer,
    meter: Meter,
    /// CPU time of the thread before the run.
    cpu: Duration,
    /// Stolen time before the run.
    stolen: Duration,
}

impl Drive {
    pub(crate) fn new(
        network: Network,
        run: Prepared<Tap>,
        flows: FlowTable,
        mtu: usize,
        view: View,
        name: &str,
    ) -> Self {
        let slot = run
            .world
            .cell(run.layout.bottleneck)
            .map_or(Duration::from_millis(1), Cell::slot_duration);
        Self {
            network,
            bridge: Bridge::new(run.world, flows, mtu),
            layout: run.layout,
            rows: run.rows,
            clock: WallClock::start(),
            slot,
            merger: Merger::default(),
            moderation: Moderation::default(),
            refused: 0,
            ports: Ports::default(),
            reach: Reach::All,
            out_of_reach: 0,
            reports: 0,
            signer: Signer::default(),
            meter: Meter::new(view, name),
            cpu: thread_time(),
            stolen: sys::stolen(),
        }
    }

    /// The meter shows the run to the page of results too.
    pub(crate) fn tell(&mut self, teller: Teller, limit: Option<Duration>) {
        self.meter.tell(teller, limit);
    }

    /// Where reports go that do not ride on packets.
    pub(crate) fn set_ports(&mut self, ports: Ports) {
        self.signer = Signer::new(ports.key.clone());
        self.ports = ports;
    }

    /// What UEs may reach.
    pub(super) fn set_reach(&mut self, reach: Reach) {
        self.reach = reach;
    }

    /// The namespace of the UE number `ue`.
    pub(crate) fn space(&self, ue: u32) -> &Namespace {
        &self.network.spaces[ue as usize]
    }

    pub(crate) fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Lets `probe` tell the state of the sender of `flow`.
    pub(crate) fn probe(&mut self, flow: FlowId, probe: Probe) {
        self.bridge.world.recorder_mut().probe(flow, probe);
    }

    /// Until `ended` gives an exit code, the time is up or a signal that came `since` asks for an end; the exit code.
    pub(crate) fn run(
        &mut self,
        since: Signals,
        limit: Option<Duration>,
        ended: &mut dyn FnMut() -> Option<u8>,
    ) -> Result<u8, LiveError> {
        let mut buffer = vec![0; frame::FRAME_MAX];
        let mut check = Instant::ZERO;
        // At a terminal, the command has had the signal as well, and decides.
        let interactive = std::io::stdin().is_terminal();
        self.clock = WallClock::start();
        self.network.side.start(self.clock.stamps());
        loop {
            let now = self.clock.now();
            let due = self.bridge.next_event().filter(|due| *due <= now);
            if let Some(due) = due {
                self.clock.lag.woke(now - due, self.slot);
            }
            self.bridge.run_until(now, &mut self.clock);
            let Looked { found, more } = self.read(&mut buffer)?;
            self.write();
            let now = self.clock.now();
            self.moderation.woke(now, found || due.is_some());
            if now >= check {
                check = now + CHECK_EVERY;
                let came = sys::signals();
                let interrupted = came.interrupts > since.interrupts && !interactive;
                let killed = came.terminations > since.terminations || came.hangups > since.hangups;
                let signalled = interrupted || killed;
                let late = limit.is_some_and(|l| now >= Instant::ZERO + l);
                let code = ended()
                    .or_else(|| signalled.then(sys::signal_code))
                    .or_else(|| late.then_some(0));
                if let Some(code) = code {
                    self.meter.finish();
                    return Ok(code);
                }
                let counters = &mut self.bridge.world.recorder_mut().counters;
                self.meter.show(now, counters, &self.clock.lag);
            }
            if !more {
                let own = match &self.network.side {
                    Side::Servers(_) => None,
                    Side::N3(n3) => n3.node.next_timer(),
                };
                let next = self.bridge.next_event().into_iter().chain(own).min();
                self.sleep(next.map_or(check, |next| next.min(check)))?;
            }
        }
    }

    /// Gives back to the kernel what left the world.
    fn write(&mut self) {
        let now = self.clock.now();
        let Network { side, ues, .. } = &mut self.network;
        let (refused, merger) = (&mut self.refused, &mut self.merger);
        {
            let (mut servers, gnb) = match side {
                Side::Servers(servers) => (Some(&mut servers.tun), None),
                Side::N3(n3) => (None, Some(n3)),
            };
            let mut send =
                |(up, ue): Port, header: &[u8; frame::HEADER], bytes: &[u8], packets: u32| {
                    let tun: Option<&mut Tun> = if up {
                        servers.as_deref_mut()
                    } else {
                        ues.get_mut(ue as usize)
                    };
                    if !tun.is_some_and(|tun| tun.write(header, bytes)) {
                        *refused += u64::from(packets);
                    }
                };
            match gnb {
                None => self.bridge.departures(|departure: Departure| {
                    merger.push((departure.up, departure.ue), departure.bytes, &mut send);
                }),
                Some(gnb) => {
                    self.bridge.departures(|departure: Departure| {
                        if departure.up {
                            gnb.uplink(now, &departure);
                        } else {
                            let place = departure.ue;
                            gnb.node.delivered(now, place, departure.came, departure.at);
                            let port = (false, gnb.node.ue_of(place));
                            merger.push(port, departure.bytes, &mut send);
                        }
                    });
                    gnb.run(now, self.bridge.world.drain_reports());
                }
            }
            merger.flush(&mut send);
        }
        self.report();
    }

    /// Sends the reports that travel on their own.
    fn report(&mut self) {
        if self.bridge.reports.is_empty() {
            return;
        }
        let reports = core::mem::take(&mut self.bridge.reports);
        let flows = &self.bridge.flows;
        if let Side::N3(n3) = &mut self.network.side {
            let up = reports.iter().filter(|left| left.up);
            let counted = up.filter_map(|left| match left.report {
                Beside::Counters(octets) => {
                    let counters = FlowCounters {
                        flow: flows.tuple(left.flow)?,
                        octets,
                    };
                    // Flows are those of places.
                    Some((n3.node.ue_of(flows.ue_of(left.flow)), counters))
                }
                Beside::Report(_) => None,
            });
            let counted: Vec<_> = counted.collect();
            self.reports += counted.len() as u64;
            n3.count(&counted);
        }
        for left in &reports {
            let sent = match left.report {
                Beside::Report(body)
                    if matches!(body.report(), Some(PathReport::TransportBlocks { .. })) =>
                {
                    self.report_blocks(left.flow, body)
                }
                _ if left.up => self.report_to_server(left),
                _ => self.report_to_ue(left),
            };
            if let Some(taken) = sent {
                self.reports += 1;
                self.refused += u64::from(!taken);
            }
        }
    }

    /// The modem tells of the UE of `flow`, whatever its connections. False where the kernel refuses it; `None` where nobody wants it.
    fn report_blocks(&mut self, flow: FlowId, body: ReportBody) -> Option<bool> {
        let Side::Servers(servers) = &self.network.side else {
            return None;
        };
        let flows = &self.bridge.flows;
        let port = self.ports.blocks.filter(|_| flows.is_first(flow))?;
        let ue = flows.ue_of(flow);
        let packet = beside::to_ue(servers.plan.ue(ue).into(), body, port);
        Some(self.network.ues[ue as usize].write(&[0; frame::HEADER], &packet))
    }

    /// As [`Drive::report_blocks`], to a sender at the server side.
    fn report_to_server(&mut self, left: &Left) -> Option<bool> {
        let Side::Servers(servers) = &mut self.network.side else {
            return None;
        };
        let (port, down) = (
            self.ports.of(left.flow)?,
            self.bridge.flows.tuple(left.flow)?,
        );
        let packet = beside::to_sender(down, left.report, port, self.signer.next_serial());
        Some(servers.tun.write(&[0; frame::HEADER], &packet))
    }

    /// As [`Drive::report_blocks`], to a sender at the UE.
    fn report_to_ue(&mut self, left: &Left) -> Option<bool> {
        let flows = &self.bridge.flows;
        let (port, down) = (self.ports.of(left.flow)?, flows.tuple(left.flow)?);
        let place = flows.ue_of(left.flow);
        let ue = match &self.network.side {
            Side::Servers(_) => place,
            Side::N3(n3) => n3.node.ue_of(place),
        };
        let serial = self.signer.next_serial();
        let packet = beside::to_sender(down.reversed(), left.report, port, serial);
        Some(self.network.ues[ue as usize].write(&[0; frame::HEADER], &packet))
    }

    /// Until `next`, or until a frame or a signal comes; under load until the hold is over, whatever comes or is due.
    fn sleep(&self, next: Instant) -> Result<(), LiveError> {
        let now = self.clock.now();
        let hold = self.moderation.hold(now);
        let left = hold.unwrap_or(next).since(now);
        let timeout = TimeSpec::from_duration(std::time::Duration::from_nanos(left.as_nanos()));
        let wanted = |fd| PollFd::new(fd, PollFlags::POLLIN);
        let mut fds: Vec<BorrowedFd<'_>> = Vec::new();
        if hold.is_none() {
            fds = self.network.side.fds();
            fds.extend(self.network.ues.iter().map(Tun::fd));
        }
        let mut fds: Vec<PollFd<'_>> = fds.into_iter().map(wanted).collect();
        match ppoll(&mut fds, Some(timeout), None) {
            Ok(_) | Err(nix::errno::Errno::EINTR) => Ok(()),
            Err(e) => Err(LiveError::kernel("cannot wait for packets", e)),
        }
    }

    /// The result of the run, which ended at `end`.
    pub(crate) fn conclude(
        self,
        scenario: &Scenario,
        code: u8,
        realtime: bool,
        end: Instant,
    ) -> Outcome {
        let length = end - Instant::ZERO;
        let n3 = match &self.network.side {
            Side::Servers(_) => None,
            Side::N3(n3) => Some(n3.found()),
        };
        let used = self.bridge.flows.used();
        let spins = self.bridge.flows.spins();
        let mut scenario = scenario.clone();
        scenario.duration = length.max(Duration::from_millis(1));
        let mut log = Vec::new();
        let mut counters = Counters::default();
        let run = Prepared::resume(self.bridge.world, self.layout, self.rows);
        let mut result = run.conclude(&scenario, scenario.seed, |mut tap| {
            tap.inner.conclude(end, &used);
            log = tap.log.take().unwrap_or_default();
            counters = tap.counters;
            tap.inner
        });
        let kept = used.iter().map(|u| u.0.index());
        let layout = &mut result.layout;
        layout.ues = kept.clone().map(|f| layout.ues[f]).collect();
        layout.labels = used.iter().map(|u| u.1.clone()).collect();
        layout.up = result.records.config().flows.iter().map(|f| f.up).collect();
        layout.controllers = kept.map(|f| layout.controllers[f].clone()).collect();
        Outcome {
            health: Health {
                slots: length / self.slot,
                lag: self.clock.lag,
                realtime,
                malformed: counters.malformed,
                refused: self.refused,
                out_of_reach: self.out_of_reach,
                reports: self.reports,
                cpu: thread_time().saturating_sub(self.cpu),
                stolen: sys::stolen().saturating_sub(self.stolen),
            },
            result,
            code,
            log,
            length,
            spins,
            n3,
        }
    }
}

/// CPU time of the calling thread.
fn thread_time() -> Duration {
    let clock = nix::time::ClockId::CLOCK_THREAD_CPUTIME_ID;
    nix::time::clock_gettime(clock).map_or(Duration::ZERO, |t| {
        Duration::from_nanos(t.tv_sec() as u64 * 1_000_000_000 + t.tv_nsec() as u64)
    })
}
