//! Arbitrary and mutated messages. Whatever comes: no panic, no session without an association, each tunnel and each UE's
//! address one session's alone, and nothing left behind by what is gone.

use std::collections::HashMap;

use proptest::collection::vec;
use proptest::prelude::*;
use slackwater_core::{Bytes, Direction};
use slackwater_wire::pfcp::{Volumes, trigger};

use super::*;

#[derive(Clone, Debug)]
enum Step {
    SetUp(u8, u32),
    Establish(u8, FTeid),
    Modify(u8, Box<Element<'static>>),
    Delete(u8),
    Release(u8),
    Packet(u8, u16),
    Data(u8),
    Wait(u32),
    Noise(Vec<u8>),
}

fn any_step() -> impl Strategy<Value = Step> {
    let tunnel = prop_oneof![
        Just(CHOOSE),
        (1u32..6).prop_map(|teid| FTeid::Given {
            teid: Teid(teid),
            v4: Some(HERE),
            v6: None
        }),
        any::<Option<u8>>().prop_map(|id| FTeid::Choose {
            v4: true,
            v6: false,
            id
        }),
    ];
    let element = prop_oneof![
        (0u16..5).prop_map(Element::RemovePdr),
        (0u32..4).prop_map(Element::RemoveFar),
        (0u32..3).prop_map(Element::RemoveQer),
        (0u32..3).prop_map(Element::RemoveUrr),
        (0u32..3).prop_map(Element::QueryUrr),
        (0u16..5, tunnel.clone()).prop_map(|(id, t)| Element::CreatePdr(uplink(id, t))),
        (0u16..5, 0u8..4)
            .prop_map(|(id, ue)| { Element::UpdatePdr(downlink(id, Ipv4Addr::new(10, 0, 0, ue))) }),
        (0u32..4).prop_map(|id| Element::CreateFar(Far::forward(id, interface::ACCESS, None))),
        (0u32..3, 0u32..4).prop_map(|(id, s)| {
            Element::CreateUrr(Urr {
                id,
                triggers: Some(trigger::PERIODIC | trigger::VOLUME_THRESHOLD),
                period: Some(Duration::from_secs(u64::from(s))),
                volume_threshold: Some(Volumes {
                    total: Some(Bytes(2_000)),
                    ..Volumes::default()
                }),
                ..urr()
            })
        }),
    ];
    prop_oneof![
        2 => (0u8..3, 0u32..3).prop_map(|(peer, at)| Step::SetUp(peer, at)),
        4 => (0u8..4, tunnel).prop_map(|(ue, tunnel)| Step::Establish(ue, tunnel)),
        4 => (any::<u8>(), element).prop_map(|(s, e)| Step::Modify(s, Box::new(e))),
        2 => any::<u8>().prop_map(Step::Delete),
        1 => (0u8..3).prop_map(Step::Release),
        3 => (any::<u8>(), any::<u16>()).prop_map(|(s, bytes)| Step::Packet(s, bytes)),
        1 => any::<u8>().prop_map(Step::Data),
        2 => (0u32..30_000).prop_map(Step::Wait),
        1 => vec(any::<u8>(), 0..64).prop_map(Step::Noise),
    ]
}

fn peer(at: u8) -> Ipv4Addr {
    Ipv4Addr::new(192, 0, 2, 10 + at)
}

fn pick(lab: &Lab, at: u8) -> Seid {
    let all: Vec<Seid> = lab.sessions.iter().map(|s| s.seid).collect();
    match all.len() {
        0 => Seid(u64::from(at)),
        n => all[usize::from(at) % n],
    }
}

/// Sends a request as it is, or with octets changed.
fn send(lab: &mut Lab, at: u8, header: Header, elements: &[Element<'_>], changes: &[(usize, u8)]) {
    lab.from.set_ip(peer(at % 3).into());
    let mut out = vec![0; 4_096];
    let n = header.write(elements, &mut out).expect("room");
    out.truncate(n);
    for (place, octet) in changes {
        let place = place % out.len();
        out[place] = *octet;
    }
    lab.octets(&out);
}

fn take(lab: &mut Lab, step: Step, seq: u32, changes: &[(usize, u8)]) {
    let header = |kind, seid| Header {
        kind,
        seid,
        seq,
        priority: None,
    };
    let node = |at: u8| Element::NodeId(NodeId::V4(peer(at)));
    match step {
        Step::SetUp(at, recovery) => {
            let header = header(Kind::AssociationSetupRequest, None);
            send(
                lab,
                at,
                header,
                &[node(at), Element::Recovery(recovery)],
                changes,
            );
        }
        Step::Establish(at, tunnel) => {
            let mut request = establishment(Ipv4Addr::new(10, 0, 0, at));
            request[0] = node(at % 3);
            request[2] = Element::CreatePdr(uplink(1, tunnel));
            let header = header(Kind::SessionEstablishmentRequest, Some(0));
            send(lab, at, header, &request, changes);
        }
        Step::Modify(at, element) => {
            let seid = pick(lab, at);
            let header = header(Kind::SessionModificationRequest, Some(seid.0));
            send(lab, at, header, &[*element], changes);
        }
        Step::Delete(at) => {
            let seid = pick(lab, at);
            let header = header(Kind::SessionDeletionRequest, Some(seid.0));
            send(lab, at, header, &[], changes);
        }
        Step::Release(at) => {
            let header = header(Kind::AssociationReleaseRequest, None);
            send(lab, at, header, &[node(at)], changes);
        }
        Step::Packet(at, bytes) => {
            let seid = pick(lab, at);
            let bytes = Bytes(u64::from(bytes));
            lab.usage
                .on_packet(lab.now, seid, &[0, 1], Direction::Up, bytes);
        }
        Step::Data(at) => {
            let seid = pick(lab, at);
            lab.node.on_downlink_data(lab.now, seid, 2, &lab.sessions);
        }
        Step::Wait(ms) => lab.wait(Duration::from_millis(u64::from(ms))),
        Step::Noise(octets) => lab.octets(&octets),
    }
}

fn check(lab: &mut Lab) -> Result<(), TestCaseError> {
    let (mut tunnels, mut ues) = (HashMap::new(), HashMap::new());
    for session in lab.sessions.iter() {
        prop_assert!(
            lab.node.peers.get(session.node).is_some(),
            "a session of nobody"
        );
        prop_assert!(lab.node.notices.contains_key(&session.seid));
        for pdr in &session.rules.pdrs {
            prop_assert!(pdr.far.is_none_or(|f| session.rules.far(f).is_some()));
            prop_assert!(pdr.urrs.iter().all(|u| session.rules.urr(*u).is_some()));
            if let Some(tunnel) = pdr.tunnel {
                prop_assert_ne!(tunnel.teid, Teid(0));
                let owner = *tunnels.entry(tunnel.teid).or_insert(session.seid);
                prop_assert_eq!(owner, session.seid, "a tunnel of two");
                let found = lab.sessions.by_tunnel(tunnel.teid).map(|s| s.seid);
                prop_assert_eq!(found, Some(session.seid));
            }
            if let Some(v4) = pdr.ue.and_then(|ue| ue.v4) {
                let owner = *ues.entry(v4).or_insert(session.seid);
                prop_assert_eq!(owner, session.seid, "a UE of two");
                let found = lab.sessions.by_address(v4.into()).map(|s| s.seid);
                prop_assert_eq!(found, Some(session.seid));
            }
        }
    }
    prop_assert_eq!(lab.node.notices.len(), lab.sessions.len());
    for urr in 0..3 {
        for session in lab.sessions.iter() {
            let counted = lab.usage.query(lab.now, session.seid, urr).is_some();
            prop_assert_eq!(counted, session.rules.urr(urr).is_some());
        }
    }
    prop_assert!(lab.node.answers.len() <= 3 * lab.node.config.max_answers);
    while let Some((_, octets)) = lab.node.poll_transmit() {
        let message = Message::parse(&octets).expect("what leaves can be read");
        prop_assert!(message.elements().all(|e| e.is_ok()));
    }
    while lab.node.poll_event().is_some() {}
    Ok(())
}

proptest! {
    #[test]
    fn whatever_comes_the_node_stays_whole(
        steps in vec((any_step(), 0u32..40, vec((any::<usize>(), any::<u8>()), 0..3), any::<bool>()), 1..60),
    ) {
        let mut lab = Lab::new(Config { max_answers: 8, ..config() });
        for (step, seq, changes, whole) in steps {
            let changes = if whole { &[][..] } else { &changes[..] };
            take(&mut lab, step, seq, changes);
            check(&mut lab)?;
        }
        // Nothing outlives those who ordered it.
        for at in 0..3 {
            take(&mut lab, Step::SetUp(at, 0x4000_0000), 100, &[]);
            take(&mut lab, Step::Release(at), 101, &[]);
        }
        check(&mut lab)?;
        lab.wait(lab.node.config.answer_life());
        prop_assert!(lab.usage.next_timer().is_none());
    }
}

#[test]
fn ten_thousand_sessions_come_and_go() {
    let mut lab = Lab::associated(config());
    let mut all = Vec::new();
    for n in 0..10_000u32 {
        let ue = Ipv4Addr::from_bits(0x0a00_0000 + n);
        all.push(lab.session(ue).0);
    }
    assert_eq!(lab.sessions.len(), 10_000);
    for seid in all {
        lab.delete(seid);
    }
    assert!(lab.sessions.is_empty() && lab.node.notices.is_empty());
    assert!(lab.node.answers.len() <= config().max_answers);
    assert_eq!(lab.usage.next_timer(), None);
}
