//! The function in the simulator, with a log of all that it was told and of all that it let go.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex};

use slackwater_core::record::DropReason;
use slackwater_core::{
    Bytes, Direction, Duration, Ecn, FlowId, Instant, NoRecorder, Packet, PacketView as _, Qfi,
    Teid, UeId,
};
use slackwater_edge::gnb::{ReporterConfig, RlcReporter};
use slackwater_edge::{EdgeFunction, RanReport, ReportCarrier, Session, Verdict};
use slackwater_scenario::Scenario;
use slackwater_scenario::build::build;
use slackwater_scenario::plugins::{Parts, Plugins, System};
use slackwater_signal::MarkingScheme;
use slackwater_sim::NoClock;
use slackwater_wire::gtpu::extension::{MAX_CONTENT, NR_RAN_CONTAINER};
use slackwater_wire::gtpu::report::{Names, Packer, Scope, Source, Tunnels, Units, receive};
use slackwater_wire::gtpu::{Header, Message, NtpClock};
use slackwater_wire::packet::encode;
use slackwater_wire::{IpPacket, IpVersion};

/// The tunnel for reports of all sessions.
pub(crate) const REPORTS: Teid = Teid(0xffff_fff0);
/// Our end of a session's tunnel.
pub(crate) const fn uplink(ue: UeId) -> Teid {
    Teid(0x100 + ue.0)
}
/// What the packets of a simulated flow without a guaranteed rate are marked with.
pub(crate) const fn qfi_of(flow: FlowId) -> Qfi {
    Qfi(10 + flow.0 as u8)
}

/// What the function was told.
#[derive(Clone, Debug)]
pub(crate) enum Told {
    Packet(Direction, Option<Qfi>, Packet),
    Reports(Vec<RanReport>),
    /// It let go what was due.
    Run,
}

/// A packet that left: when, which way, and its octets without checksums.
pub(crate) type Left = (Instant, Direction, Vec<u8>);

/// Octets of a packet but for the checksums, which are found right here.
pub(crate) fn comparable(octets: &[u8]) -> Vec<u8> {
    let mut bytes = octets.to_vec();
    let ip = IpPacket::new(&mut bytes[..]).expect("an IP packet");
    assert!(ip.checksums_hold());
    let at = match ip.protocol() {
        Some(6) => 36,
        Some(17) => 26,
        other => panic!("protocol {other:?}"),
    };
    bytes[10..12].fill(0);
    bytes[at..at + 2].fill(0);
    bytes
}

/// A run of the simulator.
#[derive(Debug, Default)]
pub(crate) struct Run {
    pub(crate) told: Vec<(Instant, Told)>,
    pub(crate) sessions: Vec<Session>,
    pub(crate) left: Vec<Left>,
    pub(crate) dropped: u64,
    pub(crate) held: Bytes,
    pub(crate) marked: u64,
    pub(crate) waited: u64,
    pub(crate) rewritten: u64,
    pub(crate) reports: u64,
    /// The UE of each flow.
    pub(crate) ues: BTreeMap<FlowId, UeId>,
    /// Windows and acknowledgments of uplink packets as they came.
    came: BTreeMap<(u32, u32), u16>,
}

impl Run {
    fn leaves(&mut self, now: Instant, direction: Direction, packet: &Packet) {
        self.marked += u64::from(packet.ecn() == Ecn::Ce);
        let mut octets = Vec::new();
        encode(packet, IpVersion::V4, usize::MAX, &mut octets);
        if let (Direction::Up, Some(tcp)) = (direction, packet.tcp()) {
            let came = self.came.get(&(packet.flow.0, tcp.ack.0));
            self.rewritten += u64::from(came != Some(&tcp.window));
        }
        self.left.push((now, direction, comparable(&octets)));
    }
}

impl Tunnels for Run {
    fn session(&self, ue: UeId) -> Option<Teid> {
        Some(uplink(ue))
    }
    fn flow(&self, flow: FlowId) -> Option<(Teid, Qfi)> {
        if let Some((ue, bearer)) = RlcReporter::bearer_of(flow) {
            return Some((uplink(ue), Qfi(bearer.0)));
        }
        Some((uplink(*self.ues.get(&flow)?), qfi_of(flow)))
    }
}

/// The same names the other way.
struct Back<'a>(&'a RefCell<BTreeMap<(Teid, Qfi), FlowId>>);

impl Names for Back<'_> {
    fn ue(&self, teid: Teid) -> Option<UeId> {
        Some(UeId(teid.0 - uplink(UeId(0)).0))
    }
    fn flow(&self, teid: Teid, qfi: Qfi) -> Option<FlowId> {
        self.0.borrow().get(&(teid, qfi)).copied()
    }
}

/// Reports as datagrams of profile C.
pub(crate) fn datagrams(run: &Run, reports: &[RanReport], seq: u32) -> Vec<Vec<u8>> {
    let mut content = [0; MAX_CONTENT];
    let clock = NtpClock::default();
    let mut packer = Packer::new(reports, Scope::Multi, run, clock, seq, MAX_CONTENT).unwrap();
    let mut all = Vec::new();
    while let Some(n) = packer.next_frame(&mut content).unwrap() {
        let mut octets = vec![0; MAX_CONTENT + 20];
        let extension = (NR_RAN_CONTAINER, &content[..n]);
        let n = Header::g_pdu(REPORTS)
            .write(&[extension], 0, &mut octets)
            .unwrap();
        octets.truncate(n);
        all.push(octets);
    }
    all
}

/// What a report says once it has crossed GTP-U; `None` where it names a flow that nobody knows yet.
fn crossed(run: &Run, now: Instant, report: &RanReport) -> Option<RanReport> {
    let names: RefCell<BTreeMap<(Teid, Qfi), FlowId>> = RefCell::default();
    if let RanReport::Backlog { flow, .. } | RanReport::Congestion { flow, .. } = report {
        let place = Tunnels::flow(run, *flow)?;
        RefCell::borrow_mut(&names).insert(place, *flow);
    }
    let octets = datagrams(run, std::slice::from_ref(report), 0).pop()?;
    let source = Source {
        names: &Back(&names),
        clock: NtpClock::default(),
        units: Units::default(),
        multi: Some(REPORTS),
    };
    let mut read = None;
    let message = Message::parse(&octets).unwrap();
    receive(&message, now, &source, |r| read = Some(r)).unwrap();
    read
}

/// A function whose calls are logged.
struct Logged<F> {
    function: F,
    run: Arc<Mutex<Run>>,
}

impl<F: EdgeFunction<Packet>> EdgeFunction<Packet> for Logged<F> {
    fn on_packet(&mut self, _: Instant, _: Direction, _: UeId, _: Packet) -> Verdict<Packet> {
        unreachable!("the simulator names the flow");
    }
    fn on_packet_of(
        &mut self,
        now: Instant,
        direction: Direction,
        ue: UeId,
        gbr_flow: Option<Qfi>,
        packet: Packet,
    ) -> Verdict<Packet> {
        let mut run = self.run.lock().unwrap();
        run.ues.insert(packet.flow, ue);
        if let (Direction::Up, Some(tcp)) = (direction, packet.tcp()) {
            run.came.insert((packet.flow.0, tcp.ack.0), tcp.window);
        }
        run.told
            .push((now, Told::Packet(direction, gbr_flow, packet)));
        let verdict = self
            .function
            .on_packet_of(now, direction, ue, gbr_flow, packet);
        match &verdict {
            Verdict::Forward(packet) => run.leaves(now, direction, packet),
            Verdict::Hold => run.waited += 1,
            Verdict::Mark(packet) => {
                let mut packet = *packet;
                packet.set_ecn(Ecn::Ce);
                run.leaves(now, direction, &packet);
            }
            Verdict::Drop(_) => run.dropped += 1,
        }
        verdict
    }
    fn on_report(&mut self, now: Instant, report: &RanReport) {
        let mut run = self.run.lock().unwrap();
        let Some(report) = crossed(&run, now, report) else {
            return;
        };
        run.reports += 1;
        match run.told.last_mut() {
            Some((at, Told::Reports(all))) if *at == now => all.push(report),
            _ => run.told.push((now, Told::Reports(vec![report]))),
        }
        self.function.on_report(now, &report);
    }
    fn on_session(&mut self, now: Instant, session: &Session) {
        assert_eq!(now, Instant::ZERO);
        self.run.lock().unwrap().sessions.push(*session);
        self.function.on_session(now, session);
    }
    fn release(&mut self, now: Instant) -> Option<(Direction, Packet)> {
        let released = self.function.release(now);
        let mut run = self.run.lock().unwrap();
        match &released {
            Some((direction, packet)) => run.leaves(now, *direction, packet),
            None => run.told.push((now, Told::Run)),
        }
        run.held = self.function.held();
        released
    }
    fn take_dropped(&mut self) -> Option<(Packet, DropReason)> {
        let dropped = self.function.take_dropped();
        self.run.lock().unwrap().dropped += u64::from(dropped.is_some());
        dropped
    }
    fn next_timer(&self) -> Option<Instant> {
        self.function.next_timer()
    }
    fn held(&self) -> Bytes {
        self.function.held()
    }
}

/// Reports arrive 200 us later.
struct Late;

impl ReportCarrier for Late {
    fn carry(&mut self, now: Instant, _: &mut Vec<RanReport>) -> Option<Instant> {
        Some(now + Duration::from_micros(200))
    }
}

/// Runs `text`, whose `upf.system` is `logged`, with what `make` makes at the UPF. `logged:reports` has the cell report its queues each
/// millisecond, `logged:congestion` the share of packets to mark.
pub(crate) fn simulate<F>(text: &str, make: impl Fn() -> F + Send + Sync + 'static) -> Run
where
    F: EdgeFunction<Packet> + Send + 'static,
{
    let run = Arc::new(Mutex::new(Run::default()));
    let log = Arc::clone(&run);
    let system = System::new("logged", "a log", move |_, _, reports| {
        let mut config = ReporterConfig::default();
        if reports == "congestion" {
            config.congestion = Some(MarkingScheme {
                low: Duration::from_millis(5),
                high: Duration::from_millis(25),
            });
        }
        let slot = Duration::from_micros(if reports == "reports" { 500 } else { 1_000 });
        let reporter = RlcReporter::new(config, slot);
        let agent: (
            Box<dyn slackwater_edge::Agent + Send>,
            Box<dyn ReportCarrier + Send>,
        ) = (Box::new(reporter), Box::new(Late));
        Ok(Parts {
            function: Box::new(Logged {
                function: make(),
                run: Arc::clone(&log),
            }),
            agent: (!reports.is_empty()).then_some(agent),
        })
    });
    let plugins = Plugins::new().with_system(system).unwrap();
    let scenario = Scenario::parse("parity", text, Path::new("."))
        .expect("a good scenario")
        .with_plugins(&plugins);
    let (mut world, _) = build(&scenario, 1, None, |_| NoRecorder).expect("a world");
    world.run_until(Instant::ZERO + scenario.duration, &mut NoClock);
    drop(world);
    let mut run = run.lock().unwrap();
    core::mem::take(&mut *run)
}
