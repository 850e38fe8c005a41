//! Functions that end and come back, in one process.

use slackwater_core::{Bytes, Direction, Duration, Ecn, Rate, Teid};
use slackwater_wire::pfcp::{
    Bar, BitRates, Element, FTeid, Far, Forwarding, Kind, Message, NodeId, OuterHeader, Qer,
    SdfFilter, action, cause, interface, kind,
};

use super::*;
use crate::n4::Event;
use crate::testing::config;
use crate::upf::tests::{GNB, GNB_TEID, MS, SMF, Smf, datagram, elements, establishment, n4};
use crate::user::Output;

fn origin() -> Origin {
    Origin {
        clock: Ntp(0xe000_0000_0000_0000),
        boot: "this run".to_owned(),
    }
}

/// A control plane with a function that keeps a journal, and the file.
struct Kept {
    smf: Smf,
    file: Vec<u8>,
    seid: u64,
    uplink: Teid,
}

impl Kept {
    /// Associated, with one session whose packets go to the base station.
    fn new() -> Self {
        let mut smf = Smf::new();
        smf.upf.keep_journal();
        let file = smf.upf.snapshot(&origin());
        let mut kept = Self {
            smf,
            file,
            seid: 0,
            uplink: Teid(0),
        };
        let association = [
            Element::NodeId(NodeId::V4([192, 0, 2, 10].into())),
            Element::Recovery(7),
        ];
        kept.send(MS(0), Kind::AssociationSetupRequest, None, &association);
        let request = Kind::SessionEstablishmentRequest;
        let out = kept.send(MS(1), request, Some(0), &establishment());
        for element in elements(n4(&out)) {
            match element {
                Element::FSeid(f) => kept.seid = f.seid,
                Element::CreatedPdr(c) => {
                    if let Some(FTeid::Given { teid, .. }) = c.tunnel {
                        kept.uplink = teid;
                    }
                }
                _ => {}
            }
        }
        kept.modify(MS(2), &[Element::UpdateFar(to_gnb())]);
        kept
    }

    fn send(
        &mut self,
        now: Instant,
        kind: Kind,
        seid: Option<u64>,
        elements: &[Element<'_>],
    ) -> Vec<Output> {
        let out = self.smf.send(now, kind, seid, elements);
        self.write();
        out
    }

    fn modify(&mut self, now: Instant, elements: &[Element<'_>]) -> Vec<Output> {
        let kind = Kind::SessionModificationRequest;
        self.send(now, kind, Some(self.seid), elements)
    }

    fn write(&mut self) {
        let more = self.smf.upf.take_journal();
        self.file.extend(more);
    }

    fn down(&mut self, now: Instant, len: u16) -> usize {
        self.smf.upf.on_n6(now, datagram(Direction::Down, len));
        let out = self.smf.drain(now);
        out.iter()
            .filter(|o| matches!(o, Output::N3 { to, .. } if *to == GNB))
            .count()
    }

    /// The function is gone; another takes its file up.
    fn restart(&mut self, now: Instant) {
        self.smf.upf = Upf::restored(config(), now, &self.file).expect("a state");
        self.smf.upf.keep_journal();
        self.file = self.smf.upf.snapshot(&origin());
    }

    /// What the session used, by its deletion.
    fn used(&mut self, now: Instant) -> (Option<Bytes>, Option<Bytes>) {
        let out = self
            .smf
            .send(now, Kind::SessionDeletionRequest, Some(self.seid), &[]);
        let used = elements(n4(&out)).into_iter().find_map(|e| match e {
            Element::Usage(_, report) => report.volume,
            _ => None,
        });
        let used = used.expect("a report");
        (used.up, used.down)
    }
}

fn to_gnb() -> Far<'static> {
    let outer = OuterHeader::gtpu(GNB_TEID, [192, 0, 2, 33].into());
    Far::forward(2, interface::ACCESS, Some(outer))
}

#[test]
fn a_function_that_comes_back_has_its_sessions_and_what_they_used() {
    let mut kept = Kept::new();
    assert_eq!(kept.down(MS(10), 1_000), 1);
    kept.smf.upf.note_usage();
    kept.write();
    let before = kept.smf.upf.all_sessions().iter().next().unwrap().clone();

    kept.restart(MS(5_000));
    assert!(matches!(kept.smf.upf.take_event(), Some(Event::TakenUp(_))));
    let after = kept.smf.upf.all_sessions().iter().next().unwrap().clone();
    let same = crate::rules::Rules {
        since: after.rules.since,
        ..before.rules
    };
    assert_eq!(after.rules, same);
    assert_eq!(
        (after.seid, after.peer_seid, after.node),
        (before.seid, 0x1122, before.node)
    );

    // The first thing it does is a heartbeat, with the time stamp of before: nothing was lost (TS 29.244, 6.2.2).
    let out = kept.smf.drain(MS(5_000));
    let request = n4(&out);
    assert_eq!(
        Message::parse(request).unwrap().header.kind,
        Kind::HeartbeatRequest
    );
    let own = crate::n4::Config::default().clock.stamp(Instant::ZERO).0 >> 32;
    assert_eq!(elements(request), [Element::Recovery(own as u32)]);

    // Packets pass both ways, and what they use adds up.
    assert_eq!(kept.down(MS(5_001), 500), 1);
    let up = datagram(Direction::Up, 200);
    let mut octets = vec![0; 16];
    let extension = (
        slackwater_wire::gtpu::extension::PDU_SESSION_CONTAINER,
        &[0x10, 9][..],
    );
    slackwater_wire::gtpu::Header::g_pdu(kept.uplink)
        .write(&[extension], up.len(), &mut octets)
        .unwrap();
    octets.extend(&up);
    kept.smf.upf.on_n3(MS(5_002), GNB, octets, Ecn::NotEct);
    assert_eq!(kept.smf.drain(MS(5_002)), [Output::N6(up.into())]);
    assert_eq!(kept.used(MS(5_003)), (Some(Bytes(200)), Some(Bytes(1_500))));
}

#[test]
fn a_report_is_not_made_twice() {
    let mut kept = Kept::new();
    kept.down(MS(10), 1_000);
    let out = kept.modify(MS(11), &[Element::QueryUrr(1)]);
    assert!(
        elements(n4(&out))
            .iter()
            .any(|e| matches!(e, Element::Usage(..)))
    );
    kept.restart(MS(5_000));
    kept.smf.drain(MS(5_000));
    assert_eq!(kept.used(MS(5_001)), (Some(Bytes(0)), Some(Bytes(0))));
}

#[test]
fn a_control_plane_that_started_again_meanwhile_loses_its_sessions() {
    for (recovery, left) in [(7, 1), (8, 0)] {
        let mut kept = Kept::new();
        kept.restart(MS(5_000));
        let out = kept.smf.drain(MS(5_000));
        let request = Message::parse(n4(&out)).unwrap().header;
        let answer = slackwater_wire::pfcp::Header {
            kind: Kind::HeartbeatResponse,
            ..request
        };
        let mut octets = vec![0; 64];
        let n = answer
            .write(&[Element::Recovery(recovery)], &mut octets)
            .unwrap();
        kept.smf.upf.on_n4(MS(5_010), SMF, &octets[..n]);
        assert_eq!(kept.smf.upf.all_sessions().len(), left, "{recovery}");
        // The file follows.
        kept.write();
        kept.restart(MS(6_000));
        assert_eq!(kept.smf.upf.all_sessions().len(), left);
        assert_eq!(kept.smf.upf.node().associations().count(), left);
    }
}

#[test]
fn a_request_whose_answer_was_lost_is_answered_alike() {
    let mut kept = Kept::new();
    kept.smf.seq += 40;
    let mut other = establishment();
    for element in &mut other {
        if let Element::CreatePdr(pdr) = element
            && let Some(ue) = pdr.pdi.as_mut().and_then(|p| p.ue.as_mut())
        {
            ue.v4 = Some([10, 0, 0, 2].into());
        }
    }
    let request = Kind::SessionEstablishmentRequest;
    let first = kept.send(MS(20), request, Some(0), &other);
    kept.restart(MS(3_000));
    kept.smf.drain(MS(3_000));
    kept.smf.seq -= 1;
    let again = kept.send(MS(3_001), request, Some(0), &other);
    assert_eq!(n4(&first), n4(&again));
    assert_eq!(kept.smf.upf.all_sessions().len(), 2);
}

#[test]
fn a_control_plane_that_starts_again_gets_no_answer_of_its_former_life_from_the_file() {
    let mut kept = Kept::new();
    // The next life counts from the same number, and the function starts again in the middle of it.
    kept.smf.seq = 0;
    let association = |recovery| {
        [
            Element::NodeId(NodeId::V4([192, 0, 2, 10].into())),
            Element::Recovery(recovery),
        ]
    };
    let request = Kind::AssociationSetupRequest;
    kept.send(MS(100), request, None, &association(8));
    assert_eq!(kept.smf.upf.all_sessions().len(), 0);
    kept.smf.upf = Upf::restored(config(), MS(200), &kept.file).expect("a state");
    kept.smf.upf.keep_journal();
    kept.smf.drain(MS(200));
    let out = kept.send(
        MS(201),
        Kind::SessionEstablishmentRequest,
        Some(0),
        &establishment(),
    );
    assert_eq!(kept.smf.upf.all_sessions().len(), 1);
    // An answer of before would have made none.
    assert_eq!(elements(n4(&out))[1], Element::Cause(cause::ACCEPTED));
    assert_eq!(kept.smf.upf.node().counters().repeated, 0);
}

#[test]
fn every_kind_of_rule_comes_back_as_it_was() {
    let mut kept = Kept::new();
    let filter = |text: &'static [u8], id| SdfFilter {
        description: Some(text),
        tos: Some(0xb8fc),
        spi: Some(9),
        flow_label: Some(0xabcde),
        id: Some(id),
    };
    let pdr = |id, ue: &str, filters| {
        Element::CreatePdr(slackwater_wire::pfcp::Pdr {
            id,
            precedence: Some(3),
            pdi: Some(slackwater_wire::pfcp::Pdi {
                source: interface::CORE,
                network: Some(b"\x08internet"),
                ue: Some(slackwater_wire::pfcp::UeIp {
                    v6: Some(ue.parse().unwrap()),
                    prefix: Some(60),
                    destination: true,
                    ..Default::default()
                }),
                filters,
                ..Default::default()
            }),
            far: Some(2),
            qers: vec![1, 7],
            urrs: vec![1],
            ..Default::default()
        })
    };
    let filters = vec![
        filter(
            b"permit out 17 from 192.0.2.0/24 53,5000-5010 to assigned 7",
            1,
        ),
        filter(b"permit out ip from any to 2001:db8::/32", 2),
    ];
    let rates = |up, down| {
        Some(BitRates {
            up: Rate::from_bps(up),
            down: Rate::from_bps(down),
        })
    };
    let out = kept.modify(
        MS(20),
        &[
            pdr(9, "2001:db8:0:10::", filters),
            Element::CreateQer(Qer {
                id: 7,
                gates: Some(slackwater_wire::pfcp::Gates {
                    up: false,
                    down: true,
                }),
                correlation: Some(4),
                maximum: rates(0, 20_000_000_000),
                guaranteed: rates(1_000, 2_000),
                reflective: Some(true),
                edge: slackwater_wire::pfcp::EdgeOptions {
                    aqm: Some(slackwater_wire::pfcp::Aqm::Direct),
                    target_milli: Some(250),
                    ..Default::default()
                },
                ..Qer::default()
            }),
            Element::CreateBar(Bar {
                id: 3,
                notification_delay: Some(Duration::from_millis(150)),
                packets: Some(12),
            }),
            Element::UpdateFar(Far {
                id: 2,
                action: Some(action::BUFFER | action::NOTIFY),
                bar: Some(3),
                forwarding: Some(Forwarding {
                    marking: Some((0xb8, 0xfc)),
                    ..Forwarding::default()
                }),
                ..Far::default()
            }),
        ],
    );
    assert_eq!(
        elements(n4(&out))[0],
        Element::Cause(cause::ACCEPTED),
        "{:?}",
        elements(n4(&out))
    );
    let before = kept
        .smf
        .upf
        .all_sessions()
        .iter()
        .next()
        .unwrap()
        .rules
        .clone();
    assert_eq!(
        (before.pdrs.len(), before.qers.len(), before.bars.len()),
        (3, 2, 1)
    );
    kept.restart(MS(5_000));
    let after = kept
        .smf
        .upf
        .all_sessions()
        .iter()
        .next()
        .unwrap()
        .rules
        .clone();
    let same = crate::rules::Rules {
        since: after.since,
        ..before
    };
    assert_eq!(after, same);
}

#[test]
fn a_cut_end_confirmed_nothing_and_any_other_harm_is_found() {
    let kept = Kept::new();
    let whole = kept.file;
    let restored = |octets: &[u8]| Upf::restored(config(), MS(1), octets);
    let (mut taken, mut refused) = (0, 0);
    for end in 0..whole.len() {
        match restored(&whole[..end]) {
            Ok(upf) => {
                assert!(upf.all_sessions().len() <= 1);
                taken += 1;
            }
            // Without a header it is no state file.
            Err(_) => refused += 1,
        }
    }
    assert!(
        taken > 500 && (20..60).contains(&refused),
        "{taken} {refused}"
    );
    // An octet changed: found, or the end of the file is taken for cut.
    for at in 0..whole.len() {
        let mut octets = whole.clone();
        octets[at] ^= 0x10;
        if let Ok(upf) = restored(&octets) {
            for session in upf.all_sessions().iter() {
                assert_eq!(session.peer_seid, 0x1122, "octet {at}");
            }
        }
    }
    let mut later = whole.clone();
    later[7] = 2;
    let error = restored(&later).unwrap_err().to_string();
    assert!(
        error.contains("slackup\\x02") && error.contains("version 1"),
        "{error}"
    );
}

#[test]
fn what_the_configuration_no_longer_allows_is_not_taken_up() {
    let kept = Kept::new();
    let mut moved = config();
    moved.n4.ends[0].v4 = Some([192, 0, 2, 99].into());
    let mut barred = config();
    barred.n4.allowed = vec![crate::rules::Prefix::new([203, 0, 113, 1].into(), None).unwrap()];
    let mut elsewhere = config();
    elsewhere.n4.networks.plain = vec!["ims".to_owned()];
    for (config, said) in [
        (moved, format!("{:?}", kind::F_TEID)),
        (barred, "n4.peers".to_owned()),
    ] {
        let error = Upf::restored(config, MS(1), &kept.file)
            .unwrap_err()
            .to_string();
        assert!(error.contains(&said), "{error}");
    }
    // The session names no network: it holds.
    assert!(Upf::restored(elsewhere, MS(1), &kept.file).is_ok());
}
