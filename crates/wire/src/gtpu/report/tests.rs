use proptest::collection::vec;
use proptest::prelude::*;
use slackwater_core::{Bytes, Duration, FlowId, Instant, Qfi, Rate, Teid, UeId};
use slackwater_signal::RanReport;

use super::container::{answer, round_trip};
use super::entry::{Phase, Slots};
use super::*;
use crate::gtpu::extension::{MAX_CONTENT, NR_RAN_CONTAINER, PDU_SESSION_CONTAINER};
use crate::gtpu::nru::{Assistance, Fields, Frame};
use crate::gtpu::psc::{self, Container, Downlink, Stamps, Uplink};
use crate::gtpu::{Header, Message, Ntp, NtpClock};

/// UE n has the tunnel 100 + n, and `QoS` flow 1 + k of it is flow 4 n + k, for k up to 3 and n up to 199.
struct Cell;

const UES: u32 = 200;

impl Names for Cell {
    fn ue(&self, teid: Teid) -> Option<UeId> {
        let n = teid.0.checked_sub(100)?;
        (n < UES).then_some(UeId(n))
    }
    fn flow(&self, teid: Teid, qfi: Qfi) -> Option<FlowId> {
        let ue = self.ue(teid)?;
        (1..5)
            .contains(&qfi.0)
            .then(|| FlowId(4 * ue.0 + u32::from(qfi.0) - 1))
    }
}

impl Tunnels for Cell {
    fn session(&self, ue: UeId) -> Option<Teid> {
        (ue.0 < UES).then_some(Teid(100 + ue.0))
    }
    fn flow(&self, flow: FlowId) -> Option<(Teid, Qfi)> {
        let teid = self.session(UeId(flow.0 / 4))?;
        Some((teid, Qfi(1 + (flow.0 % 4) as u8)))
    }
}

const CLOCK: NtpClock = NtpClock::new(Ntp(0xe000_0000_8000_0000));
const REPORTS: Teid = Teid(7);

fn source() -> Source<'static, Cell> {
    Source {
        names: &Cell,
        clock: CLOCK,
        units: Units::default(),
        multi: Some(REPORTS),
    }
}

fn any_report() -> impl Strategy<Value = RanReport> {
    let at = (0u64..4).prop_map(|ms| Instant::from_nanos(5_000_000_001 + ms * 1_000_000));
    let ids = (0..UES, 0u32..4, prop::option::of(0u8..64));
    (
        0..6,
        at,
        ids,
        any::<u32>(),
        any::<u32>(),
        any::<u16>(),
        0u8..7,
        any::<bool>(),
    )
        .prop_map(|(kind, at, (n, k, qfi), a, b, c, numerology, polled)| {
            let (ue, flow, qfi) = (UeId(n), FlowId(4 * n + k), qfi.map(Qfi));
            let slot = entry::slot(numerology);
            match kind {
                0 => RanReport::Backlog {
                    at,
                    ue,
                    flow,
                    bytes: Bytes(u64::from(a)),
                },
                1 => RanReport::LinkState {
                    at,
                    ue,
                    // At most 4 Tbit/s.
                    slot_bytes: Bytes(u64::from(a) >> 13),
                    slot,
                },
                2 => RanReport::Congestion {
                    at,
                    flow,
                    per_10k: c % 10_001,
                },
                3 => RanReport::PathDelay {
                    at,
                    ue,
                    qfi,
                    rtt: Duration::from_micros(u64::from(a) % 10_000_001),
                },
                4 => RanReport::Available {
                    at,
                    ue,
                    qfi,
                    rate: Rate::from_bps(u64::from(a) * 1_000),
                    backlog: Bytes(u64::from(b)),
                },
                _ => RanReport::SlotPattern {
                    at,
                    ue,
                    start: Instant::from_nanos(u64::from(a)),
                    slot,
                    period: 1 + (b % 32) as u8,
                    down: a,
                    special: b,
                    special_q8: c as u8,
                    lead: Duration::from_micros(u64::from(c)),
                    processing: Duration::from_micros(u64::from(!c)),
                    polled,
                },
            }
        })
}

/// All frames of the reports, each inside a message as it would go over N3.
fn messages(reports: &[RanReport], scope: Scope, limit: usize) -> (Vec<Vec<u8>>, usize) {
    let mut packer = Packer::new(reports, scope, &Cell, CLOCK, 42, limit).expect("room");
    let tunnel = match scope {
        Scope::Session(teid) => teid,
        Scope::Multi => REPORTS,
    };
    let mut all = Vec::new();
    let mut frame = [0; MAX_CONTENT];
    while let Some(n) = packer.next_frame(&mut frame).expect("room") {
        assert!(n <= limit);
        let extensions = [(NR_RAN_CONTAINER, &frame[..n])];
        let mut bytes = [0; 1100];
        let n = Header::g_pdu(tunnel)
            .write(&extensions, 0, &mut bytes)
            .expect("room");
        all.push(bytes[..n].to_vec());
    }
    assert_eq!(all.len(), usize::from(packer.parts()));
    (all, packer.skipped())
}

fn read(bytes: &[u8], now: Instant) -> (Vec<RanReport>, Intake) {
    let message = Message::parse(bytes).expect("a message");
    assert!(message.payload().is_empty());
    let mut reports = Vec::new();
    let intake = receive(&message, now, &source(), |r| reports.push(r)).expect("whole containers");
    assert_eq!(reports.len(), intake.reports);
    (reports, intake)
}

fn ue_of(report: &RanReport) -> UeId {
    match *report {
        RanReport::Congestion { flow, .. } => UeId(flow.0 / 4),
        RanReport::Backlog { ue, .. }
        | RanReport::LinkState { ue, .. }
        | RanReport::PathDelay { ue, .. }
        | RanReport::Available { ue, .. }
        | RanReport::SlotPattern { ue, .. } => ue,
        _ => panic!("not generated"),
    }
}

const NOW: Instant = Instant::from_millis(6_000);

proptest! {
    #[test]
    fn profile_c_carries_all_reports_of_all_sessions(
        reports in vec(any_report(), 0..300), limit in 60usize..=MAX_CONTENT,
    ) {
        let (messages, skipped) = messages(&reports, Scope::Multi, limit);
        prop_assert_eq!(skipped, 0);
        let mut back = Vec::new();
        for (i, bytes) in messages.iter().enumerate() {
            let (read, intake) = read(bytes, NOW);
            let part = Part { seq: 42, part: i as u8, parts: messages.len() as u8 };
            prop_assert_eq!(intake.part, Some(part));
            prop_assert_eq!(intake.skipped, 0);
            back.extend(read);
        }
        prop_assert_eq!(back, reports);
    }

    #[test]
    fn profile_b_carries_those_of_its_session(reports in vec(any_report(), 0..50), n in 0..UES) {
        let mut mine = reports.clone();
        // Half of them are of the session in question.
        for report in mine.iter_mut().step_by(2) {
            match report {
                RanReport::Congestion { flow, .. } => *flow = FlowId(4 * n + flow.0 % 4),
                RanReport::Backlog { ue, flow, .. } => {
                    (*ue, *flow) = (UeId(n), FlowId(4 * n + flow.0 % 4));
                }
                RanReport::LinkState { ue, .. }
                | RanReport::PathDelay { ue, .. }
                | RanReport::Available { ue, .. }
                | RanReport::SlotPattern { ue, .. } => *ue = UeId(n),
                _ => {}
            }
        }
        let (messages, skipped) = messages(&mine, Scope::Session(Teid(100 + n)), MAX_CONTENT);
        let back: Vec<RanReport> = messages.iter().flat_map(|m| read(m, NOW).0).collect();
        mine.retain(|r| ue_of(r) == UeId(n));
        prop_assert_eq!(back.len() + skipped, reports.len());
        prop_assert_eq!(back, mine);
    }

    #[test]
    fn profile_a_carries_what_has_a_field(
        per_10k in 0u16..=10_000, kbps: u32, rtt_ms in 0u64..9_900, way_us in 0u64..100_000, n in 0..UES, k in 0u8..4,
    ) {
        let at = Instant::from_millis(5_000);
        let (ue, qfi, flow) = (UeId(n), Qfi(k + 1), FlowId(4 * n + u32::from(k)));
        let rate = Rate::from_bps(u64::from(kbps) * 1_000);
        let rtt = Duration::from_millis(rtt_ms);
        let sent = [
            RanReport::Congestion { at, flow, per_10k },
            RanReport::Available { at, ue, qfi: Some(qfi), rate, backlog: Bytes::ZERO },
            RanReport::PathDelay { at, ue, qfi: Some(qfi), rtt },
        ];
        let mut up = container::empty(qfi);
        for report in &sent {
            prop_assert!(container::put(report, &mut up, CLOCK, &Units::default()));
        }
        let mut content = [0; psc::MAX];
        let len = Container::Uplink(up).write(&mut content).expect("room");
        let mut bytes = [0; 128];
        let extensions = [(PDU_SESSION_CONTAINER, &content[..len])];
        let len = Header::g_pdu(Teid(100 + n)).write(&extensions, 0, &mut bytes).expect("room");
        // The way that the message takes is part of the path that it measures.
        let way = Duration::from_micros(way_us);
        let (back, intake) = read(&bytes[..len], at + way);
        prop_assert_eq!(intake.skipped, 0);
        prop_assert_eq!(&back[..2], &sent[..2]);
        let RanReport::PathDelay { rtt: seen, at: seen_at, .. } = back[2] else {
            panic!("{:?}", back[2]);
        };
        prop_assert_eq!((seen, seen_at), (rtt + way, at));
    }

    #[test]
    fn hostile_octets_are_read_or_refused(
        reports in vec(any_report(), 1..30),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..20),
        tunnel: bool,
    ) {
        let scope = if tunnel { Scope::Multi } else { Scope::Session(Teid(100 + ue_of(&reports[0]).0)) };
        for mut bytes in messages(&reports, scope, MAX_CONTENT).0 {
            for (place, octet) in &changes {
                *place.get_mut(&mut bytes) = *octet;
            }
            let Ok(message) = Message::parse(&bytes) else { continue };
            let owner = source().names.ue(message.header.teid);
            let multi = message.header.teid == REPORTS;
            let _ = receive(&message, NOW, &source(), |report| {
                // Whatever it says: of a time not ahead, of its own session, with numbers that can be worked with.
                assert!(multi || owner == Some(ue_of(&report)));
                match report {
                    RanReport::SlotPattern { at, period, slot, .. } => {
                        assert!(at <= NOW && (1..=32).contains(&period) && !slot.is_zero());
                    }
                    RanReport::LinkState { at, slot, .. } => assert!(at <= NOW && !slot.is_zero()),
                    RanReport::Congestion { at, per_10k, .. } => assert!(at <= NOW && per_10k <= 10_000),
                    _ => {}
                }
            });
        }
    }

    #[test]
    fn any_field_is_an_entry_or_none(kind in 225u8..245, value: Vec<u8>) {
        if let Some(entry) = Entry::from_field(kind, &value) {
            let mut out = [0; 64];
            let n = entry::write(&[entry], &mut out).expect("room");
            let Ok(Frame::Assistance(Assistance { fields: Some(fields), .. })) = Frame::parse(&out[..n]) else {
                panic!("a frame");
            };
            let back = fields.iter().next().map(|(kind, value)| Entry::from_field(kind, value));
            prop_assert_eq!(back, Some(Some(entry)));
        }
    }
}

#[test]
fn a_packet_of_profile_c_holds_66_backlogs() {
    let backlog = |n: u32| RanReport::Backlog {
        at: Instant::from_millis(1),
        ue: UeId(n),
        flow: FlowId(4 * n),
        bytes: Bytes(1500),
    };
    let flows = |n: u32| (0..n).map(backlog).collect::<Vec<_>>();
    assert_eq!(messages(&flows(66), Scope::Multi, MAX_CONTENT).0.len(), 1);
    assert_eq!(messages(&flows(67), Scope::Multi, MAX_CONTENT).0.len(), 2);
    // A hundred flows each millisecond are two packets.
    assert_eq!(messages(&flows(100), Scope::Multi, MAX_CONTENT).0.len(), 2);
    // With the delay of the head of line beside the backlog there would be 47 (docs/wire.md).
    let group = [
        Entry::Tunnel(Teid(1)),
        Entry::Flow(Qfi(1)),
        Entry::Backlog(1),
        Entry::HeadOfLine(1),
    ];
    let part = Part {
        seq: 1,
        part: 0,
        parts: 1,
    };
    let mut entries = vec![Entry::Part(part), Entry::Sent(Ntp(1))];
    for _ in 0..47 {
        entries.extend(group);
    }
    assert!(entry::write(&entries, &mut [0; MAX_CONTENT]).is_ok());
    entries.extend(group);
    assert!(entry::write(&entries, &mut [0; MAX_CONTENT]).is_err());
}

#[test]
fn a_frame_has_at_most_255_fields() {
    // Two fields of 7 octets together for each report, as the flow changes: the count ends before the octets do.
    let report = |n: u32| RanReport::Congestion {
        at: Instant::ZERO,
        flow: FlowId(n % 2),
        per_10k: 1,
    };
    let reports: Vec<RanReport> = (0..300).map(report).collect();
    let (messages, _) = messages(&reports, Scope::Session(Teid(100)), MAX_CONTENT);
    let counts: Vec<usize> = messages.iter().map(|m| read(m, NOW).0.len()).collect();
    // Part and time come first.
    assert_eq!(counts, [126, 126, 48]);
}

#[test]
fn a_session_cannot_report_for_another() {
    let entries = [
        Entry::Flow(Qfi(1)),
        Entry::Backlog(1),
        Entry::Tunnel(Teid(101)),
        Entry::Flow(Qfi(1)),
        Entry::Backlog(2),
        Entry::Tunnel(Teid(100)),
        Entry::Flow(Qfi(2)),
        Entry::Backlog(3),
        Entry::ActiveFlows(9),
    ];
    let mut content = [0; 128];
    let n = entry::write(&entries, &mut content).expect("room");
    let mut bytes = [0; 160];
    let extensions = [(NR_RAN_CONTAINER, &content[..n])];
    let n = Header::g_pdu(Teid(100))
        .write(&extensions, 0, &mut bytes)
        .expect("room");
    let (reports, intake) = read(&bytes[..n], NOW);
    let backlog = |flow, bytes| RanReport::Backlog {
        at: NOW,
        ue: UeId(0),
        flow: FlowId(flow),
        bytes: Bytes(bytes),
    };
    assert_eq!(reports, [backlog(0, 1), backlog(1, 3)]);
    assert_eq!((intake.skipped, intake.part), (2, None));
}

#[test]
fn a_rate_without_numerology_takes_that_of_the_slots_before_it() {
    let slots = Slots {
        numerology: 1,
        period: 10,
        down: 0x7f,
        processing_us: 700,
        phase: None,
    };
    let rate = Entry::PeakRate {
        kbps: 800_000,
        numerology: None,
    };
    for (entries, seen) in [(vec![rate], 0), (vec![Entry::Slots(slots), rate], 1)] {
        let mut content = [0; 64];
        let n = entry::write(&entries, &mut content).expect("room");
        let Ok(Frame::Assistance(frame)) = Frame::parse(&content[..n]) else {
            panic!("a frame");
        };
        let mut reports = Vec::new();
        let mut intake = Intake::default();
        assistance(&frame, Teid(100), NOW, &source(), &mut intake, |r| {
            reports.push(r);
        });
        assert_eq!(reports.len(), seen);
        // The paper's eight octets say how long a slot is, and not when one starts.
        assert_eq!(intake.skipped, 1);
        let slot = Duration::from_micros(500);
        for report in reports {
            let expected = RanReport::LinkState {
                at: NOW,
                ue: UeId(0),
                slot_bytes: Bytes(50_000),
                slot,
            };
            assert_eq!(report, expected);
        }
    }
}

#[test]
fn reports_that_no_field_holds_are_counted() {
    let odd = RanReport::LinkState {
        at: Instant::ZERO,
        ue: UeId(1),
        slot_bytes: Bytes(1),
        slot: Duration::from_micros(300),
    };
    let away = RanReport::PathSwitch { ue: UeId(1) };
    let stranger = RanReport::Backlog {
        at: Instant::ZERO,
        ue: UeId(UES),
        flow: FlowId(4 * UES),
        bytes: Bytes(1),
    };
    let (messages, skipped) = messages(&[odd, away, stranger], Scope::Multi, MAX_CONTENT);
    assert_eq!((messages.len(), skipped), (0, 3));
    assert!(Packer::new(&[], Scope::Multi, &Cell, CLOCK, 0, 4).is_err());
}

#[test]
fn a_measurement_needs_no_common_clock() {
    let ms = Duration::from_millis;
    let units = Units::default();
    // The radio network's clock is 3 s behind; the way takes 2 ms down and 4 ms up, the answer waits 1 ms.
    let (upf, ran) = (
        NtpClock::new(Ntp(9 << 32)),
        NtpClock::new(Ntp(u64::MAX - 5)),
    );
    let t0 = Instant::from_millis(7_000);
    let ask = Downlink {
        qfi: Qfi(3),
        sent: Some(upf.stamp(t0)),
        ..Downlink::default()
    };
    let delays = [Duration::from_micros(4_200), ms(6)];
    let up = answer(
        &ask,
        ran.stamp(t0 + ms(2)),
        ran.stamp(t0 + ms(3)),
        delays,
        &units,
    )
    .expect("asked");
    let rtt = round_trip(&up, upf.stamp(t0 + ms(7)), &units).expect("whole");
    // 2 + 4 between, 4.2 rounded up to 5 and 6 inside; stamps are exact to a fraction of a nanosecond.
    assert!(rtt.as_nanos().abs_diff(ms(17).as_nanos()) <= 1, "{rtt:?}");
    assert_eq!(
        answer(&Downlink::default(), Ntp(0), Ntp(0), delays, &units),
        None
    );
    // Stamps that contradict each other are no measurement.
    assert_eq!(round_trip(&up, upf.stamp(t0), &units), None);
    let incomplete = Uplink {
        ul_delay: None,
        ..up
    };
    assert_eq!(round_trip(&incomplete, upf.stamp(t0 + ms(7)), &units), None);
}

#[test]
fn a_round_trip_beyond_belief_is_passed_over() {
    let stamp = CLOCK.stamp(NOW);
    let up = |delay| Uplink {
        stamps: Some(Stamps {
            dl_sent: stamp,
            dl_received: stamp,
            ul_sent: stamp,
        }),
        dl_delay: Some(delay),
        ul_delay: Some(delay),
        ..container::empty(Qfi(1))
    };
    let owner = container::Owner {
        ue: UeId(1),
        flow: None,
    };
    for (delay, reports, skipped) in [(5_000, 1, 0), (5_001, 0, 1), (u32::MAX, 0, 1)] {
        let mut read = 0;
        let units = Units::default();
        let passed = container::take(&up(delay), NOW, owner, CLOCK, &units, |_| read += 1);
        assert_eq!((read, passed), (reports, skipped), "{delay} ms");
    }
}

#[test]
fn a_delivery_status_tells_the_rate() {
    let status = Status {
        desired_buffer: 100_000,
        desired_rate: Some(1_250_000),
        ..Status::default()
    };
    let report = from_status(&status, NOW, UeId(1), None, Bytes(5));
    let expected = RanReport::Available {
        at: NOW,
        ue: UeId(1),
        qfi: None,
        rate: Rate::from_mbps(10.0),
        backlog: Bytes(5),
    };
    assert_eq!(report, Some(expected));
    let silent = Status::default();
    assert_eq!(from_status(&silent, NOW, UeId(1), None, Bytes(5)), None);
}

#[test]
fn capabilities_are_two_octets_so_far() {
    let all = Capabilities {
        container: true,
        session: true,
        multi: false,
    };
    assert_eq!(all.octets(), [1, 3]);
    assert_eq!(Capabilities::parse(&[9, 3, 4]), Ok(all));
    assert!(Capabilities::parse(&[0, 3]).is_err());
    assert!(Capabilities::parse(&[1]).is_err());
}

#[test]
fn slots_of_the_paper_take_eight_octets_and_ours_24() {
    let phase = Phase {
        special: 1 << 7,
        special_q8: 180,
        polled: true,
        lead_us: 1_050,
        start: Ntp(1 << 40),
    };
    for (phase, octets) in [(None, 8), (Some(phase), 24)] {
        let slots = Entry::Slots(Slots {
            numerology: 0,
            period: 5,
            down: 0b0_1111,
            processing_us: 900,
            phase,
        });
        let mut out = [0; 64];
        let n = entry::write(&[slots], &mut out).expect("room");
        assert_eq!(n, 3 + 2 + octets);
        let fields = Fields::from_octets(&out[3..n]).expect("whole");
        let (kind, value) = fields.iter().next().expect("one");
        assert_eq!((kind, value.len()), (232, octets));
        assert_eq!(Entry::from_field(kind, value), Some(slots));
    }
}
