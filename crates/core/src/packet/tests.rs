use super::*;

#[test]
fn metadata_fits_a_cache_line() {
    assert_eq!(size_of::<Packet>(), 64);
    assert_eq!(size_of::<Body>(), size_of::<Segment>());
}

#[test]
fn ecn_round_trips() {
    for bits in 0..4 {
        assert_eq!(Ecn::from_bits(bits) as u8, bits);
    }
}

#[test]
fn a_syn_shows_its_options_and_an_ack_its_blocks() {
    let mut segment = Segment {
        flags: TcpFlags::SYN,
        ..Segment::default()
    };
    for mss in [None, Some(0), Some(1448)] {
        for window_scale in [None, Some(0), Some(7), Some(14)] {
            for sack_permitted in [false, true] {
                let options = SynOptions {
                    mss,
                    window_scale,
                    sack_permitted,
                };
                segment.set_syn_options(options);
                let syn = Packet {
                    body: Body::Tcp(segment),
                    ..Packet::default()
                };
                assert_eq!(syn.syn_options(), Some(options));
                assert!(syn.sack().is_empty());
            }
        }
    }
    let block = |n| SackBlock {
        start: SeqNum(n),
        end: SeqNum(n + 1),
    };
    let mut segment = Segment {
        flags: TcpFlags::ACK,
        ..Segment::default()
    };
    segment.set_sack_blocks(&[block(1), block(3)]);
    segment.set_report([1, 2, 3, 4, 5, 6, 7, 8]);
    let ack = Packet {
        body: Body::Tcp(segment),
        ..Packet::default()
    };
    assert_eq!(ack.syn_options(), None);
    assert_eq!(&*ack.sack(), [block(1), block(3)]);
    assert_eq!(segment.report(), Some([1, 2, 3, 4, 5, 6, 7, 8]));
}

#[test]
fn an_ack_of_quic_has_as_many_ranges_as_were_written() {
    let mut ack = QuicAck::default();
    assert!(ack.ranges().is_empty());
    for n in 0..3 {
        ack.room.blocks_mut()[n] = SackBlock {
            start: SeqNum(10 - 3 * n as u32),
            end: SeqNum(12 - 3 * n as u32),
        };
        assert_eq!(ack.ranges().len(), n + 1);
    }
    assert!(ack.set_report([9; 8]), "the third range makes room");
    assert_eq!((ack.ranges().len(), ack.report()), (2, Some([9; 8])));
}

#[test]
fn only_a_short_header_of_quic_shows_the_spin_bit() {
    let of = |body| Packet {
        body,
        ..Packet::default()
    };
    let data = |bits| {
        of(Body::QuicData(QuicData {
            bits,
            ..QuicData::default()
        }))
    };
    let spinning = data(QuicBits::SPIN.with(QuicBits::STREAM));
    assert_eq!((spinning.spin_bit(), spinning.tcp()), (Some(true), None));
    assert!(spinning.quic().unwrap().is_eliciting());
    assert_eq!(data(QuicBits::ACK).spin_bit(), Some(false));
    let passive = QuicBits::ACK
        .with(QuicBits::BACK)
        .with(QuicBits::RETRANSMISSION);
    assert!(!passive.is_eliciting());
    assert_eq!(of(Body::QuicLong(QuicLong::default())).spin_bit(), None);
    assert_eq!(of(Body::default()).spin_bit(), None);
}

#[test]
fn the_two_directions_of_a_flow_have_keys_of_their_own() {
    let down = Packet {
        flow: FlowId(7),
        ..Packet::default()
    };
    let up = Packet {
        dir: Direction::Up,
        ..down
    };
    assert_ne!(down.flow_key(), up.flow_key());
    assert_eq!(down.reverse_key(), up.flow_key());
    assert_eq!(up.reverse_key(), down.flow_key());
    assert_eq!(up.flow(), Some(FlowId(7)));
}
