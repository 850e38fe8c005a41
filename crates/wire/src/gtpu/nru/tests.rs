use super::*;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// The octets of a frame's lists, which the frame borrows.
type Lists = (Vec<u8>, Vec<u8>, Vec<u8>);

fn lists() -> impl Strategy<Value = Lists> {
    let fields = vec((any::<u8>(), vec(any::<u8>(), 0..6)), 0..20).prop_map(|fields| {
        let mut octets = Vec::new();
        for (kind, value) in fields {
            octets.extend([kind, value.len() as u8]);
            octets.extend(value);
        }
        octets
    });
    (
        vec(any::<[u8; 4]>(), 0..5).prop_map(|b| b.concat()),
        vec(any::<[u8; 6]>(), 0..5).prop_map(|b| b.concat()),
        fields,
    )
}

fn sn() -> impl Strategy<Value = Option<u32>> {
    option::of(0u32..1 << 24)
}

fn frames(
    lists: &Lists,
    flags: [bool; 8],
    sns: (u32, [Option<u32>; 6]),
    numbers: [Option<u32>; 3],
) -> [Frame<'_>; 3] {
    let (blocks, ranges, fields) = lists;
    let (seq, s) = sns;
    [
        Frame::UserData(UserData {
            seq,
            report_polling: flags[0],
            assistance_polling: flags[1],
            retransmission: flags[2],
            data_exist: flags[3],
            report_out_of_seq: flags[4],
            flush: s[0],
            discard: flags[5].then(|| Blocks::from_octets(blocks).expect("whole blocks")),
            report_delivered: s[1],
        }),
        Frame::Status(Status {
            final_frame: flags[0],
            desired_buffer: seq << 4,
            desired_rate: numbers[0],
            lost: flags[1].then(|| Ranges::from_octets(ranges).expect("whole ranges")),
            delivered: s[2],
            transmitted: s[3],
            cause: numbers[1].map(|n| n as u8),
            delivered_again: s[4],
            transmitted_again: s[5],
            rest: &[],
            ranges_follow: false,
        }),
        Frame::Assistance(Assistance {
            duplicate: flags[2].then_some(flags[3]),
            fields: flags[4].then(|| Fields::from_octets(fields).expect("whole fields")),
            ul_delay: numbers[1],
            dl_delay: numbers[2],
        }),
    ]
}

proptest! {
    #[test]
    fn what_is_written_is_read_and_each_cut_refused(
        lists in lists(),
        flags: [bool; 8],
        seq in 0u32..1 << 24,
        sns in [sn(), sn(), sn(), sn(), sn(), sn()],
        numbers: [Option<u32>; 3],
    ) {
        for frame in frames(&lists, flags, (seq, sns), numbers) {
            let mut out = [0; 256];
            let n = frame.write(&mut out).expect("room");
            prop_assert_eq!(Frame::parse(&out[..n]), Ok(frame));
            for cut in 0..n {
                prop_assert!(Frame::parse(&out[..cut]).is_err());
                prop_assert!(frame.write(&mut vec![0; cut]).is_err());
            }
        }
    }

    #[test]
    fn any_octets_are_read_or_refused(bytes: Vec<u8>) {
        if let Ok(frame) = Frame::parse(&bytes) {
            let mut out = [0; 2048];
            let n = frame.write(&mut out).expect("room");
            // What this codec does not know is there again too.
            prop_assert_eq!(Frame::parse(&out[..n]), Ok(frame));
            if let Frame::Assistance(Assistance { fields: Some(fields), .. }) = frame {
                prop_assert_eq!(fields.iter().count(), fields.len());
            }
        }
    }
}

/// Octets that a later version may put behind a status are written as they were read.
#[test]
fn the_rest_of_a_status_is_kept() {
    let status = Frame::Status(Status {
        final_frame: false,
        desired_buffer: 16,
        desired_rate: None,
        lost: None,
        delivered: None,
        transmitted: None,
        cause: None,
        delivered_again: None,
        transmitted_again: None,
        rest: &[7, 8, 9],
        ranges_follow: false,
    });
    let mut out = [0; 64];
    let n = status.write(&mut out).expect("room");
    assert!(out[..n].ends_with(&[7, 8, 9]), "{:?}", &out[..n]);
    assert_eq!(Frame::parse(&out[..n]), Ok(status));
}

#[test]
fn a_status_as_the_standard_lays_it_out() {
    let ranges = [0, 0, 5, 0, 0, 9];
    let status = Status {
        desired_buffer: 0x0001_0203,
        desired_rate: Some(125_000_000),
        lost: Ranges::from_octets(&ranges),
        delivered: Some(0x10),
        transmitted: Some(0x20),
        ..Status::default()
    };
    let mut out = [0; 64];
    let n = Frame::Status(status).write(&mut out).expect("room");
    let expected = [
        0x1d, 0x08, 0, 1, 2, 3, 0x07, 0x73, 0x59, 0x40, 1, 0, 0, 5, 0, 0, 9, 0, 0, 0x10, 0, 0, 0x20,
    ];
    assert_eq!(out[..n], expected);
    assert_eq!(
        status.lost.map(|l| l.iter().collect::<Vec<_>>()),
        Some(vec![(5, 9)])
    );
}

#[test]
fn lists_of_odd_length_are_no_lists() {
    assert_eq!(Ranges::from_octets(&[0; 7]), None);
    assert_eq!(Blocks::from_octets(&[0; 1024]), None, "256 blocks");
    assert_eq!(Fields::from_octets(&[1, 2, 3]), None);
    assert_eq!(Fields::from_octets(&[0; 512]), None, "256 fields");
    assert_eq!(Fields::from_octets(&[0; 510]).map(|f| f.len()), Some(255));
}

#[test]
fn a_status_keeps_ranges_of_later_releases() {
    // Flag of ranges delivered out of sequence, a desired buffer, one such range.
    let octets = [0x10, 0x10, 0, 0, 1, 0, 1, 0, 0, 7, 0, 0, 9];
    let frame = Frame::parse(&octets).expect("a status");
    let mut out = [0; 32];
    let n = frame.write(&mut out).expect("room");
    assert_eq!(out[..n], octets);
}
