use proptest::prelude::*;
use rtc_shared::marshal::{Marshal, Unmarshal};

use super::*;

const HEAD: Header = Header {
    marker: true,
    payload_type: 96,
    sequence: 0xfffe,
    timestamp: 0x0102_0304,
    ssrc: 0xdead_beef,
};

#[test]
fn a_header_has_the_bytes_that_it_should() {
    let mut bytes = Vec::new();
    HEAD.encode(&[], &mut bytes);
    assert_eq!(
        bytes,
        [0x80, 0xe0, 0xff, 0xfe, 1, 2, 3, 4, 0xde, 0xad, 0xbe, 0xef]
    );
    bytes.clear();
    let number = Element {
        id: 3,
        data: &[0x12, 0x34],
    };
    HEAD.encode(&[number], &mut bytes);
    // RFC 8285, 4.2; draft-holmer-rmcat-transport-wide-cc-extensions-01, 2.
    assert_eq!(bytes[0], 0x90);
    assert_eq!(bytes[12..], [0xbe, 0xde, 0, 1, 0x31, 0x12, 0x34, 0]);
    let view = View::new(&bytes).unwrap();
    assert_eq!(view.transport_sequence(3), Some(0x1234));
    assert_eq!(view.transport_sequence(4), None);
    assert!(view.payload().is_empty());
}

#[test]
fn an_independent_reader_finds_what_we_wrote() {
    let mut bytes = Vec::new();
    let elements = [
        Element {
            id: 1,
            data: &[7; 16],
        },
        Element {
            id: 14,
            data: &[1, 2],
        },
    ];
    HEAD.encode(&elements, &mut bytes);
    bytes.extend([9; 100]);
    let packet = rtc_rtp::Packet::unmarshal(&mut &bytes[..]).unwrap();
    let h = &packet.header;
    assert_eq!((h.version, h.marker, h.payload_type), (2, true, 96));
    assert_eq!((h.sequence_number, h.timestamp), (0xfffe, 0x0102_0304));
    assert_eq!(h.ssrc, 0xdead_beef);
    assert_eq!(h.get_extension(1).unwrap()[..], [7; 16]);
    assert_eq!(h.get_extension(14).unwrap()[..], [1, 2]);
    assert_eq!(packet.payload[..], [9; 100]);
}

#[test]
fn we_find_what_an_independent_writer_wrote() {
    let mut packet = rtc_rtp::Packet {
        header: rtc_rtp::Header {
            version: 2,
            payload_type: 100,
            sequence_number: 5,
            timestamp: 6,
            ssrc: 7,
            csrc: vec![8, 9],
            ..Default::default()
        },
        payload: vec![1, 2, 3].into(),
    };
    packet
        .header
        .set_extension(5, vec![0xab, 0xcd].into())
        .unwrap();
    let bytes = packet.marshal().unwrap();
    let view = View::new(&bytes).unwrap();
    let header = view.header();
    assert_eq!((header.marker, header.payload_type), (false, 100));
    assert_eq!((header.sequence, header.timestamp, header.ssrc), (5, 6, 7));
    assert_eq!(view.csrcs().collect::<Vec<_>>(), [8, 9]);
    assert_eq!(view.transport_sequence(5), Some(0xabcd));
    assert_eq!(view.payload(), [1, 2, 3]);
}

#[test]
fn padding_is_cut_off_and_must_be_there() {
    let mut bytes = Vec::new();
    HEAD.encode(&[], &mut bytes);
    bytes[0] |= 0x20;
    assert!(View::new(&bytes).is_err());
    bytes.extend([1, 2, 3, 0, 0, 3]);
    assert_eq!(View::new(&bytes).unwrap().payload(), [1, 2, 3]);
    for wrong in [0, 7] {
        *bytes.last_mut().unwrap() = wrong;
        assert!(View::new(&bytes).is_err());
    }
}

#[test]
fn elements_with_two_byte_headers_are_read() {
    let mut bytes = Vec::new();
    HEAD.encode(&[], &mut bytes);
    bytes[0] |= 0x10;
    bytes.extend([0x10, 0x03, 0, 2, 0, 200, 2, 5, 6, 4, 0, 0]);
    let view = View::new(&bytes).unwrap();
    assert_eq!(view.transport_sequence(200), Some(0x0506));
    // An element may be empty in this form.
    assert_eq!(
        view.elements().map(|e| e.data.len()).collect::<Vec<_>>(),
        [2, 0]
    );
}

proptest! {
    #[test]
    fn what_is_written_is_read(
        marker: bool,
        payload_type in 0u8..128,
        sequence: u16,
        timestamp: u32,
        ssrc: u32,
        elements in prop::collection::vec((1u8..15, prop::collection::vec(any::<u8>(), 1..17)), 0..6),
        payload in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let header = Header { marker, payload_type, sequence, timestamp, ssrc };
        let written: Vec<Element<'_>> = elements.iter().map(|(id, data)| Element { id: *id, data }).collect();
        let mut bytes = Vec::new();
        header.encode(&written, &mut bytes);
        prop_assert_eq!(bytes.len() % 4, 0);
        bytes.extend(&payload);
        let view = View::new(&bytes).unwrap();
        prop_assert_eq!(view.header(), header);
        prop_assert_eq!(view.elements().collect::<Vec<_>>(), written);
        prop_assert_eq!(view.payload(), &payload[..]);
    }

    #[test]
    fn hostile_bytes_do_no_harm(mut bytes in prop::collection::vec(any::<u8>(), 0..80), right in any::<bool>()) {
        if right && let Some(first) = bytes.first_mut() {
            *first = *first & 0x3f | 0x80;
        }
        if let Ok(view) = View::new(&bytes) {
            prop_assert!(view.payload().len() <= bytes.len() - HEADER);
            prop_assert!(view.csrcs().count() <= 15);
            prop_assert!(view.elements().map(|e| e.data.len()).sum::<usize>() < bytes.len());
            view.transport_sequence(1);
        }
    }
}
