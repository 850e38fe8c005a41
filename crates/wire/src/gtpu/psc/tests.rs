use super::*;
use proptest::option;
use proptest::prelude::*;

fn written(container: &Container) -> Vec<u8> {
    let mut out = [0; MAX];
    let n = container.write(&mut out).expect("MAX suffices");
    out[..n].to_vec()
}

fn u24() -> impl Strategy<Value = u32> {
    0u32..1 << 24
}

prop_compose! {
    fn downlink()(
        qfi in 0u8..64,
        reflective: bool,
        paging in option::of((0u8..8, option::of(u24()), option::of(any::<u16>()))),
        sent: Option<u64>,
        seq in option::of(u24()),
        mbs_seq: Option<u32>,
    ) -> Container {
        Container::Downlink(Downlink {
            qfi: Qfi(qfi),
            reflective,
            paging: paging.map(|(ppi, burst, next_burst)| Paging { ppi, burst, next_burst }),
            sent: sent.map(Ntp),
            seq,
            mbs_seq,
        })
    }
}

prop_compose! {
    fn uplink()(
        qfi in 0u8..64,
        stamps: Option<[u64; 3]>,
        delays: [Option<u32>; 3],
        seq in option::of(u24()),
        d1_included: Option<bool>,
        congestion: [Option<u16>; 2],
        bitrate: [Option<u32>; 2],
    ) -> Container {
        let [dl_delay, ul_delay, n3_n9_delay] = delays;
        Container::Uplink(Uplink {
            qfi: Qfi(qfi),
            stamps: stamps.map(|[a, b, c]| Stamps {
                dl_sent: Ntp(a),
                dl_received: Ntp(b),
                ul_sent: Ntp(c),
            }),
            dl_delay,
            ul_delay,
            seq,
            n3_n9_delay,
            d1_included,
            ul_congestion: congestion[0],
            dl_congestion: congestion[1],
            ul_bitrate: bitrate[0],
            dl_bitrate: bitrate[1],
        })
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(container in prop_oneof![downlink(), uplink()], pad in 0usize..9) {
        let mut bytes = written(&container);
        bytes.resize(bytes.len() + pad, 0);
        prop_assert_eq!(Container::parse(&bytes), Ok(container));
    }

    #[test]
    fn each_cut_is_an_error_and_each_room_too_small(container in prop_oneof![downlink(), uplink()]) {
        let bytes = written(&container);
        for n in 0..bytes.len() {
            prop_assert!(Container::parse(&bytes[..n]).is_err());
            prop_assert!(container.write(&mut vec![0; n]).is_err());
        }
    }

    #[test]
    fn any_octets_are_read_or_refused(bytes: Vec<u8>) {
        if let Ok(container) = Container::parse(&bytes) {
            // What was understood says the same when it is written again.
            prop_assert_eq!(Container::parse(&written(&container)), Ok(container));
        }
    }
}

#[test]
fn the_flags_of_release_18_stand_where_the_standard_has_them() {
    let report = Container::Uplink(Uplink {
        qfi: Qfi(9),
        dl_delay: Some(7),
        dl_congestion: Some(2500),
        dl_bitrate: Some(36_000),
        ..Uplink::default()
    });
    let bytes = written(&report);
    let expected = [0x14, 0x49, 0, 0, 0, 7, 0x14, 0x09, 0xc4, 0, 0, 0x8c, 0xa0];
    assert_eq!(bytes, expected);
}

#[test]
fn flags_that_we_do_not_know_leave_those_that_we_do() {
    // New IE flags with an extension octet and a spare bit: downlink congestion first, then something new.
    let bytes = [0x10, 0x41, 0x80 | 0x20 | 0x04, 0x7f, 0x01, 0x02, 0xaa, 0xbb];
    let Ok(Container::Uplink(up)) = Container::parse(&bytes) else {
        panic!("an uplink container");
    };
    assert_eq!((up.dl_congestion, up.ul_congestion), (Some(0x0102), None));
    assert!(Container::parse(&[0x20, 0]).is_err(), "PDU type 2");
}

#[test]
fn numbers_that_do_not_fit_are_refused() {
    let mut out = [0; MAX];
    let qfi = Container::Uplink(Uplink {
        qfi: Qfi(64),
        ..Uplink::default()
    });
    assert!(qfi.write(&mut out).is_err());
    let seq = Container::Downlink(Downlink {
        seq: Some(1 << 24),
        ..Downlink::default()
    });
    assert!(seq.write(&mut out).is_err());
}
