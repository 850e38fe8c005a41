//! The whole function: sessions by PFCP, packets by GTP-U and IP, reports back.

use slackwater_core::{Body, Bytes, Datagram, Direction, Duration, FlowId, Packet, Qfi, Teid};
use slackwater_wire::IpVersion;
use slackwater_wire::gtpu;
use slackwater_wire::packet::encode;
use slackwater_wire::pfcp::{
    Element, FTeid, Far, Kind, Message, OuterHeader, action, cause, interface,
};

use super::*;
use crate::testing;
use crate::testing::{
    CHOOSE, GNB_ADDRESS, SMF_ADDRESS, UE, association, counted, downlink, qer, uplink, urr,
};
pub(crate) use crate::testing::{GNB, SMF};

pub(crate) const GNB_TEID: Teid = Teid(0xabc);
pub(crate) const MS: fn(u64) -> Instant = Instant::from_millis;

pub(crate) struct Smf {
    pub(crate) upf: Upf,
    pub(crate) seq: u32,
}

impl Smf {
    pub(crate) fn new() -> Self {
        let upf = Upf::new(testing::config());
        Self { upf, seq: 0 }
    }

    /// Sends a message; what leaves.
    pub(crate) fn send(
        &mut self,
        now: Instant,
        kind: Kind,
        seid: Option<u64>,
        elements: &[Element<'_>],
    ) -> Vec<Output> {
        self.seq += 1;
        let octets = testing::message(kind, seid, self.seq, elements);
        self.upf.on_n4(now, SMF, &octets);
        self.drain(now)
    }

    pub(crate) fn drain(&mut self, now: Instant) -> Vec<Output> {
        std::iter::from_fn(|| self.upf.poll(now)).collect()
    }
}

/// The one PFCP message of what left.
pub(crate) fn n4(out: &[Output]) -> &[u8] {
    let mut all = out.iter().filter_map(|o| match o {
        Output::N4 { to, bytes } => Some((to, bytes)),
        _ => None,
    });
    let (Some((to, bytes)), None) = (all.next(), all.next()) else {
        panic!("{out:?}");
    };
    assert_eq!(*to, SMF);
    bytes
}

pub(crate) fn elements(octets: &[u8]) -> Vec<Element<'_>> {
    let message = Message::parse(octets).unwrap();
    message.elements().map(Result::unwrap).collect()
}

/// 10.0.0.1.
pub(crate) fn datagram(dir: Direction, len: u16) -> Vec<u8> {
    let packet = Packet {
        flow: FlowId(1),
        len,
        dir,
        body: Body::Datagram(Datagram {
            payload: len - 28,
            ..Datagram::default()
        }),
        ..Packet::default()
    };
    let mut out = Vec::new();
    encode(&packet, IpVersion::V4, usize::MAX, &mut out);
    out
}

pub(crate) fn establishment() -> Vec<Element<'static>> {
    let qfi = Some(Qfi(9));
    let pdrs = [uplink(1, CHOOSE, qfi), downlink(2, UE)].map(counted);
    let kept = Far {
        action: Some(action::BUFFER | action::NOTIFY),
        ..Far::forward(2, interface::ACCESS, None)
    };
    let fars = [Far::forward(1, interface::CORE, None), kept];
    testing::establishment(0x1122, pdrs, fars, qer(100.0, qfi), Some(urr()))
}

#[test]
fn a_session_from_its_set_up_to_the_count_of_what_it_used() {
    let mut smf = Smf::new();
    let association = association(SMF_ADDRESS, 7);
    smf.send(MS(0), Kind::AssociationSetupRequest, None, &association);
    assert!(matches!(
        smf.upf.take_event(),
        Some(n4::Event::Associated(_))
    ));
    let out = smf.send(
        MS(1),
        Kind::SessionEstablishmentRequest,
        Some(0),
        &establishment(),
    );
    let (mut seid, mut teid) = (0, Teid(0));
    for element in elements(n4(&out)) {
        match element {
            Element::Cause(c) => assert_eq!(c, cause::ACCEPTED),
            Element::FSeid(f) => seid = f.seid,
            Element::CreatedPdr(c) => {
                if let Some(FTeid::Given { teid: t, .. }) = c.tunnel {
                    teid = t;
                }
            }
            _ => {}
        }
    }

    // The UE is idle: packets wait, and one notice leaves.
    for _ in 0..3 {
        smf.upf.on_n6(MS(2), datagram(Direction::Down, 500));
    }
    let out = smf.drain(MS(2));
    let report = Message::parse(n4(&out)).unwrap();
    assert_eq!(report.header.kind, Kind::SessionReportRequest);
    assert_eq!(report.header.seid, Some(0x1122));
    assert!(elements(n4(&out)).contains(&Element::DownlinkData(vec![2])));

    // Its tunnel is known: they leave by it.
    let outer = OuterHeader::gtpu(GNB_TEID, GNB_ADDRESS);
    let update = Far::forward(2, interface::ACCESS, Some(outer));
    let out = smf.send(
        MS(3),
        Kind::SessionModificationRequest,
        Some(seid),
        &[Element::UpdateFar(update)],
    );
    let down: Vec<_> = out
        .iter()
        .filter_map(|o| match o {
            Output::N3 { to, bytes, .. } => Some((*to, bytes)),
            _ => None,
        })
        .collect();
    assert_eq!(down.len(), 3);
    for (to, bytes) in down {
        let message = gtpu::Message::parse(bytes.as_ref()).unwrap();
        assert_eq!((to, message.header.teid), (GNB, GNB_TEID));
    }

    // Uplink, and an error indication of the base station.
    let up = datagram(Direction::Up, 200);
    let mut octets = vec![0; 16];
    let content = [0x10, 9];
    let extension = (gtpu::extension::PDU_SESSION_CONTAINER, &content[..]);
    gtpu::Header::g_pdu(teid)
        .write(&[extension], up.len(), &mut octets)
        .unwrap();
    octets.extend(&up);
    smf.upf.on_n3(MS(4), GNB, octets, Ecn::NotEct);
    assert_eq!(smf.drain(MS(4)), [Output::N6(up.into())]);
    let mut error = vec![0x32, 26, 0, 16, 0, 0, 0, 0, 0, 0, 0, 0, 16];
    error.extend(GNB_TEID.0.to_be_bytes());
    error.extend([133, 0, 4, 192, 0, 2, 33]);
    smf.upf.on_n3(MS(5), GNB, error, Ecn::NotEct);
    let out = smf.drain(MS(5));
    let report = Message::parse(n4(&out)).unwrap();
    assert_eq!(report.header.kind, Kind::SessionReportRequest);

    // What it used, to the byte.
    let out = smf.send(MS(6), Kind::SessionDeletionRequest, Some(seid), &[]);
    let used = elements(n4(&out)).into_iter().find_map(|e| match e {
        Element::Usage(_, report) => report.volume,
        _ => None,
    });
    let used = used.expect("a report");
    assert_eq!((used.up, used.down), (Some(Bytes(200)), Some(Bytes(1_500))));
    assert!(smf.upf.all_sessions().is_empty());
    smf.upf.on_n6(MS(7), datagram(Direction::Down, 500));
    assert_eq!(smf.upf.user().counters().unknown_address, 1);
}

#[test]
fn a_control_plane_that_is_lost_takes_its_sessions_along_in_time() {
    let mut smf = Smf::new();
    let association = association(SMF_ADDRESS, 7);
    smf.send(MS(0), Kind::AssociationSetupRequest, None, &association);
    let request = Kind::SessionEstablishmentRequest;
    smf.send(MS(1), request, Some(0), &establishment());
    smf.upf.on_n6(MS(2), datagram(Direction::Down, 500));
    assert_eq!(smf.upf.user().held(), Bytes(500));
    // By its own timers alone.
    let mut now = MS(2);
    while now < Instant::ZERO + Duration::from_secs(600) && !smf.upf.all_sessions().is_empty() {
        smf.drain(now);
        let Some(timer) = smf.upf.next_timer() else {
            break;
        };
        now = timer.max(now + Duration::from_nanos(1));
    }
    assert!(smf.upf.all_sessions().is_empty());
    assert_eq!(smf.upf.user().held(), Bytes::ZERO);
    assert_eq!(smf.upf.user().counters().session_gone, 1);
}
