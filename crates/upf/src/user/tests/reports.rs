use slackwater_core::UeId;
use slackwater_wire::gtpu::extension::{MAX_CONTENT, NR_RAN_CONTAINER};
use slackwater_wire::gtpu::report::{FlowCounters, Packer, Scope, Tunnels, counted};
use slackwater_wire::report::FiveTuple;

use super::*;

/// The sender's names: UE n has tunnel n, flow f is QoS flow 9 of UE f.
struct Cell;

impl Tunnels for Cell {
    fn session(&self, ue: UeId) -> Option<Teid> {
        Some(uplink(ue.0))
    }
    fn flow(&self, flow: FlowId) -> Option<(Teid, Qfi)> {
        Some((uplink(flow.0), QFI))
    }
}

fn congestion(n: u32, at: Instant, per_10k: u16) -> RanReport {
    RanReport::Congestion {
        at,
        flow: FlowId(n),
        per_10k,
    }
}

/// A report as profile B (`None`) or C, in the tunnel of reports.
fn frame(reports: &[RanReport], multi: Option<Teid>, seq: u32, ue: u32) -> Vec<u8> {
    let (scope, teid) = match multi {
        Some(teid) => (Scope::Multi, teid),
        None => (Scope::Session(uplink(ue)), uplink(ue)),
    };
    let mut content = [0; MAX_CONTENT];
    let clock = NtpClock::default();
    let mut packer = Packer::new(reports, scope, &Cell, clock, seq, MAX_CONTENT).unwrap();
    let n = packer.next_frame(&mut content).unwrap().unwrap();
    let mut octets = vec![0; MAX_CONTENT + 20];
    let n = Header::g_pdu(teid)
        .write(&[(NR_RAN_CONTAINER, &content[..n])], 0, &mut octets)
        .unwrap();
    octets.truncate(n);
    octets
}

/// Share of ECT(1) packets of the UE `n` that leave with a mark.
fn marked(upf: &mut Upf, now: Instant, n: u32) -> f64 {
    let mut marks = 0;
    for _ in 0..100 {
        upf.on_n6(now, datagram(n, Direction::Down, 60, Ecn::Ect1));
        for output in drain(upf, now) {
            let Output::N3 { tos, .. } = output else {
                panic!();
            };
            marks += u32::from(tos & 3 == 3);
        }
    }
    f64::from(marks) / 100.0
}

fn marker(ues: u32) -> Upf {
    let mut config = config();
    config.user.functions.vaqm = None;
    upf_with(config, ues, |_, _| {}).0
}

#[test]
fn each_profile_marks_the_flow_that_it_names() {
    let mut upf = marker(2);
    // B.
    let report = frame(&[congestion(1, MS(1), 2_500)], None, 1, 1);
    upf.on_n3(MS(1), GNB, report, Ecn::NotEct);
    assert_eq!(
        (marked(&mut upf, MS(2), 1), marked(&mut upf, MS(2), 0)),
        (0.25, 0.0)
    );
    // A, beside a packet: 50 %.
    let mut container = slackwater_wire::gtpu::report::container::empty(QFI);
    container.dl_congestion = Some(5_000);
    let mut content = [0; 64];
    let n = Container::Uplink(container).write(&mut content).unwrap();
    let up = datagram(0, Direction::Up, 60, Ecn::NotEct);
    let mut octets = vec![0; 64];
    let at = Header::g_pdu(uplink(0))
        .write(
            &[(PDU_SESSION_CONTAINER, &content[..n])],
            up.len(),
            &mut octets,
        )
        .unwrap();
    octets.truncate(at);
    octets.extend(&up);
    upf.on_n3(MS(3), GNB, octets, Ecn::NotEct);
    assert_eq!(drain(&mut upf, MS(3)), [Output::N6(up.into())]);
    assert_eq!(marked(&mut upf, MS(3), 0), 0.5);
    // C: both sessions by the tunnel of reports, which a session of its own has.
    let tunnel = Teid(0xf000);
    let seid = upf.sessions().add(MS(3), 0, 0);
    let mut pdr = pdr(1, Interface::Access, 99);
    pdr.tunnel.as_mut().unwrap().teid = tunnel;
    pdr.reports = true;
    let own = Rules {
        pdrs: vec![pdr],
        ..Rules::default()
    };
    upf.sessions().set_rules(seid, own);
    let both = [congestion(0, MS(4), 10_000), congestion(1, MS(4), 0)];
    upf.on_n3(MS(4), GNB, frame(&both, Some(tunnel), 1, 0), Ecn::NotEct);
    assert_eq!(
        (marked(&mut upf, MS(4), 0), marked(&mut upf, MS(4), 1)),
        (1.0, 0.0)
    );
    let counters = upf.user().counters();
    assert_eq!((counters.reports, counters.report_values_skipped), (4, 0));
}

#[test]
fn strangers_other_sessions_replays_and_old_reports_change_nothing() {
    let mut upf = marker(2);
    let report = frame(&[congestion(0, MS(1), 10_000)], None, 5, 0);
    let stranger = SocketAddr::from(([203, 0, 113, 9], 2152));
    upf.on_n3(MS(1), stranger, report.clone(), Ecn::NotEct);
    assert_eq!(
        (
            marked(&mut upf, MS(1), 0),
            upf.user().counters().report_strangers
        ),
        (0.0, 1)
    );
    // On its own tunnel a session speaks of itself alone: profile C's frame on the tunnel of UE 1.
    let other = frame(&[congestion(0, MS(1), 10_000)], Some(uplink(1)), 5, 0);
    upf.on_n3(MS(1), GNB, other, Ecn::NotEct);
    assert_eq!(marked(&mut upf, MS(1), 0), 0.0);
    // Too old when it comes.
    let old = frame(&[congestion(0, MS(1), 10_000)], None, 4, 0);
    upf.on_n3(MS(300), GNB, old, Ecn::NotEct);
    assert_eq!(
        (
            marked(&mut upf, MS(300), 0),
            upf.user().counters().report_stale
        ),
        (0.0, 1)
    );
    // The same twice, and one that was overtaken.
    let fresh = |seq, per_10k| frame(&[congestion(0, MS(301), per_10k)], None, seq, 0);
    upf.on_n3(MS(301), GNB, fresh(9, 5_000), Ecn::NotEct);
    upf.on_n3(MS(301), GNB, fresh(9, 10_000), Ecn::NotEct);
    upf.on_n3(MS(301), GNB, fresh(8, 10_000), Ecn::NotEct);
    assert_eq!(
        (
            marked(&mut upf, MS(301), 0),
            upf.user().counters().report_overtaken
        ),
        (0.5, 2)
    );
    // A base station that began anew after a silence is heard.
    let anew = frame(&[congestion(0, MS(1_400), 0)], None, 0, 0);
    upf.on_n3(MS(1_400), GNB, anew, Ecn::NotEct);
    assert_eq!(
        (
            marked(&mut upf, MS(1_400), 0),
            upf.user().counters().report_overtaken
        ),
        (0.0, 2)
    );
}

#[test]
fn a_time_stamp_that_comes_back_measures_the_path() {
    let mut config = config();
    config.user.measure = Some(Duration::from_millis(100));
    let (mut upf, seids) = upf_with(config, 1, |_, _| {});
    let sent = |upf: &mut Upf, now: Instant| {
        upf.on_n6(now, datagram(0, Direction::Down, 60, Ecn::NotEct));
        let out = drain(upf, now);
        let [Output::N3 { bytes, .. }] = &out[..] else {
            panic!("{out:?}");
        };
        let message = Message::parse(bytes.as_ref()).unwrap();
        let content = message.extension(PDU_SESSION_CONTAINER).unwrap().content;
        let Ok(Container::Downlink(down)) = Container::parse(content) else {
            panic!();
        };
        down
    };
    let down = sent(&mut upf, MS(10));
    assert!(down.sent.is_some());
    assert!(sent(&mut upf, MS(60)).sent.is_none(), "once each 100 ms");
    // 2 ms each way, and 30 and 10 ms inside the radio network, by its own clock.
    let theirs = NtpClock::new(slackwater_wire::gtpu::Ntp(77 << 40));
    let delays = [Duration::from_millis(30), Duration::from_millis(10)];
    let units = Units::default();
    let answer = slackwater_wire::gtpu::report::container::answer(
        &down,
        theirs.stamp(MS(500)),
        theirs.stamp(MS(503)),
        delays,
        &units,
    )
    .unwrap();
    let mut content = [0; 64];
    let n = Container::Uplink(answer).write(&mut content).unwrap();
    let mut octets = vec![0; 64];
    let at = Header::g_pdu(uplink(0))
        .write(&[(PDU_SESSION_CONTAINER, &content[..n])], 0, &mut octets)
        .unwrap();
    octets.truncate(at);
    upf.on_n3(MS(17), GNB, octets, Ecn::NotEct);
    assert_eq!(upf.user().counters().reports, 1);
    let seen = upf
        .user()
        .functions()
        .snapshot(seids[0].ue(), None)
        .unwrap();
    assert_eq!(seen.last_sample, MS(17));
    assert_eq!(seen.average, Duration::from_millis(44));
}

/// Counters of a flow from a server to the UE with the address 10.`ue`, in the tunnel `teid`; `named` is the session that they are
/// said to be of.
fn counters(ue: u32, named: u32, teid: Teid, scope: Scope) -> (FlowCounters, Vec<u8>) {
    let flow = FiveTuple {
        source: IpAddr::from([192, 0, 2, 1]),
        destination: IpAddr::from(Ipv4Addr::from_bits(0x0a00_0000 + ue)),
        source_port: 443,
        destination_port: 50_000,
        protocol: 17,
    };
    let counters = FlowCounters {
        flow,
        octets: [ue as u8 + 1; 24],
    };
    let mut octets = vec![0; MAX_CONTENT + 20];
    let mut length = 0;
    let skipped = counted::frames(&[(uplink(named), counters)], scope, MAX_CONTENT, |frame| {
        let header = Header::g_pdu(teid);
        length = header
            .write(&[(NR_RAN_CONTAINER, frame)], 0, &mut octets)
            .unwrap();
    });
    assert_eq!(skipped, 0);
    octets.truncate(length);
    (counters, octets)
}

#[test]
fn counters_of_a_flow_are_passed_on_where_the_base_station_serves_its_ue() {
    let mut config = config();
    config.user.counters = true;
    let (mut upf, _) = upf_with(config, 2, |_, _| {});
    let own = Scope::Session(uplink(0));
    let (sent, octets) = counters(0, 0, uplink(0), own);
    upf.on_n3(MS(1), GNB, octets.clone(), Ecn::NotEct);
    assert_eq!(upf.take_counted(), [sent]);
    assert!(drain(&mut upf, MS(1)).is_empty());
    // A peer that serves nobody; the address of another UE; on one tunnel the session of another.
    let stranger = SocketAddr::from(([203, 0, 113, 9], 2152));
    upf.on_n3(MS(2), stranger, octets, Ecn::NotEct);
    upf.on_n3(MS(2), GNB, counters(1, 0, uplink(0), own).1, Ecn::NotEct);
    upf.on_n3(
        MS(2),
        GNB,
        counters(1, 1, uplink(0), Scope::Multi).1,
        Ecn::NotEct,
    );
    assert!(upf.take_counted().is_empty());
    let counted = upf.user().counters();
    assert_eq!(
        (counted.flow_counters, counted.flow_counters_refused),
        (1, 3)
    );
    assert_eq!((counted.report_strangers, counted.report_malformed), (1, 0));
}

#[test]
fn counters_are_bounded_and_without_order_none_are_kept() {
    for (ordered, kept) in [(true, 1 << 12), (false, 0)] {
        let mut config = config();
        config.user.counters = ordered;
        let (mut upf, _) = upf_with(config, 1, |_, _| {});
        let (_, octets) = counters(0, 0, uplink(0), Scope::Session(uplink(0)));
        for _ in 0..5_000 {
            upf.on_n3(MS(1), GNB, octets.clone(), Ecn::NotEct);
        }
        assert_eq!(upf.take_counted().len(), kept);
        let refused = upf.user().counters().flow_counters_refused;
        assert_eq!(refused, 5_000 - kept as u64);
    }
}
