//! The user plane function: a session by PFCP, then whatever comes on N3, N4 and N6.

use slackwater_core::{Bytes, Duration, Ecn, Instant, Qfi, Teid};
use slackwater_edge::upf::cecc::CeccConfig;
use slackwater_upf::testing::{
    self, GNB, GNB_ADDRESS, HERE, SMF, SMF_ADDRESS, UE, association, downlink, qer, uplink,
};
use slackwater_upf::{Buf, Config, Output, Upf};
use slackwater_wire::IpPacket;
use slackwater_wire::pfcp::{FTeid, Far, Kind, Message, OuterHeader, interface};

use super::input::Input;

/// Messages that one event may give rise to.
const OUTPUTS: usize = 10_000;
const EVENTS: usize = 300;

fn config() -> Config {
    let mut config = testing::config();
    config.user.measure = Some(Duration::from_millis(10));
    config.user.functions.cecc = Some(CeccConfig::default());
    config
}

/// A function with one session: 10.0.0.1, tunnel 1 up, tunnel 0xabc down.
fn with_session(now: Instant) -> Upf {
    let mut upf = Upf::new(config());
    let setup = Kind::AssociationSetupRequest;
    let setup = testing::message(setup, None, 1, &association(SMF_ADDRESS, 7));
    upf.on_n4(now, SMF, &setup);

    let tunnel = FTeid::Given {
        teid: Teid(1),
        v4: Some(HERE),
        v6: None,
    };
    let qfi = Some(Qfi(9));
    let pdrs = [uplink(1, tunnel, qfi), downlink(2, UE)];
    let outer = OuterHeader::gtpu(Teid(0xabc), GNB_ADDRESS);
    let fars = [
        Far::forward(1, interface::CORE, None),
        Far::forward(2, interface::ACCESS, Some(outer)),
    ];
    let elements = testing::establishment(0x1122, pdrs, fars, qer(20.0, qfi), None);
    let establish = Kind::SessionEstablishmentRequest;
    let establish = testing::message(establish, Some(0), 2, &elements);
    upf.on_n4(now, SMF, &establish);
    upf
}

fn drain(upf: &mut Upf, now: Instant) {
    let mut left = 0;
    while let Some(output) = upf.poll(now) {
        left += 1;
        assert!(left < OUTPUTS, "messages without end");
        match output {
            Output::N6(packet) => {
                assert!(IpPacket::new(packet.as_ref()).is_ok(), "N6 has IP packets");
            }
            Output::N4 { bytes, .. } => {
                let message = Message::parse(&bytes).expect("N4 has PFCP");
                assert!(message.elements().all(|e| e.is_ok()), "{bytes:?}");
            }
            Output::N3 { .. } => {}
        }
    }
    while upf.take_event().is_some() {}
}

pub(crate) fn upf(data: &[u8]) {
    let mut input = Input(data);
    let mut now = Instant::ZERO + Duration::from_secs(1);
    let mut upf = with_session(now);
    drain(&mut upf, now);
    assert_eq!(upf.all_sessions().len(), 1, "the session stands");
    for _ in 0..EVENTS {
        if input.is_empty() {
            break;
        }
        let what = input.u8();
        match what % 6 {
            0 => upf.on_n4(now, SMF, input.bytes()),
            1 | 2 => upf.on_n3(
                now,
                GNB,
                Buf::copied(input.bytes()),
                Ecn::from_bits(what >> 6),
            ),
            3 => upf.on_n6(now, Buf::copied(input.bytes())),
            4 => now = now.saturating_add(input.step()),
            _ => {
                for _ in 0..what >> 4 {
                    if let Some(timer) = upf.next_timer() {
                        now = now.max(timer);
                        drain(&mut upf, now);
                    }
                }
            }
        }
        drain(&mut upf, now);
        assert!(upf.user().held() < Bytes(1 << 26), "memory is bounded");
    }
}
