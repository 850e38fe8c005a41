use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

use super::extension::{NR_RAN_CONTAINER, PDU_SESSION_CONTAINER, UDP_PORT};
use super::ie::{Element, Elements};
use super::*;

fn written(header: &Header, extensions: &[(u8, &[u8])], payload: &[u8]) -> Vec<u8> {
    let mut out = vec![0xee; header.len(extensions) + payload.len()];
    let n = header
        .write(extensions, payload.len(), &mut out)
        .expect("room");
    out[n..].copy_from_slice(payload);
    out
}

prop_compose! {
    fn message()(
        kind: u8,
        teid: u32,
        seq: Option<u16>,
        n_pdu: Option<u8>,
        extensions in vec((1u8..=255, vec(any::<u8>(), 1..80)), 0..5),
        payload in vec(any::<u8>(), 0..60),
    ) -> (Header, Vec<(u8, Vec<u8>)>, Vec<u8>) {
        (Header { kind: Kind::from_octet(kind), teid: Teid(teid), seq, n_pdu }, extensions, payload)
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read((header, extensions, payload) in message(), tail in 0usize..4) {
        let borrowed: Vec<(u8, &[u8])> = extensions.iter().map(|(k, c)| (*k, c.as_slice())).collect();
        let mut bytes = written(&header, &borrowed, &payload);
        let whole = bytes.len();
        bytes.resize(whole + tail, 0xaa);
        let read = Message::parse(&bytes).expect("as written");
        prop_assert_eq!(read.header, header);
        prop_assert_eq!(read.payload(), payload.as_slice());
        prop_assert_eq!(&bytes[read.payload_at()..whole], payload.as_slice());
        prop_assert_eq!(read.extensions().count(), extensions.len());
        for (found, (kind, content)) in read.extensions().zip(&extensions) {
            prop_assert_eq!(found.kind, *kind);
            prop_assert_eq!((found.content.len() + 2) % 4, 0);
            let (front, pad) = found.content.split_at(content.len());
            prop_assert_eq!(front, content.as_slice());
            prop_assert!(pad.len() < 4 && pad.iter().all(|b| *b == 0));
            prop_assert_eq!(&bytes[found.at..found.at + content.len()], content.as_slice());
        }
        for cut in 0..whole {
            prop_assert!(Message::parse(&bytes[..cut]).is_err());
        }
    }

    #[test]
    fn hostile_octets_are_read_or_refused(
        (header, extensions, payload) in message(),
        changes in vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut: prop::sample::Index,
        noise: Vec<u8>,
    ) {
        let borrowed: Vec<(u8, &[u8])> = extensions.iter().map(|(k, c)| (*k, c.as_slice())).collect();
        let mut mutated = written(&header, &borrowed, &payload);
        for (place, octet) in changes {
            *place.get_mut(&mut mutated) = octet;
        }
        mutated.truncate(cut.index(mutated.len()) + 1);
        for bytes in [&mutated, &noise] {
            let Ok(message) = Message::parse(bytes) else { continue };
            prop_assert!(message.payload_at() + message.payload().len() <= bytes.len());
            for e in message.extensions() {
                prop_assert_eq!(&bytes[e.at..e.at + e.content.len()], e.content);
                let _ = psc::Container::parse(e.content);
                let _ = nru::Frame::parse(e.content);
            }
            let _ = Elements::new(message.payload(), message.payload_at()).count();
        }
    }

    #[test]
    fn elements_survive(
        recovery: u8, teid: u32, address in option::of(any::<[u8; 16]>()), kinds: Vec<u8>, vendor: u16, value: Vec<u8>,
    ) {
        let address = address.map_or(IpAddr::from(Ipv4Addr::LOCALHOST), |a| Ipv6Addr::from(a).into());
        let elements = [
            Element::Recovery(recovery),
            Element::TeidData(Teid(teid)),
            Element::PeerAddress(address),
            Element::HeaderTypes(&kinds),
            Element::Private { vendor, value: &value },
            Element::Other { kind: 140, value: &value },
        ];
        let mut out = [0; 1024];
        let n = ie::write(&elements, &mut out).expect("room");
        let read: Result<Vec<_>, _> = Elements::new(&out[..n], 12).collect();
        prop_assert_eq!(read, Ok(elements.to_vec()));
        prop_assert!(ie::write(&elements, &mut out[..n - 1]).is_err());
    }
}

#[test]
fn a_plain_user_packet_has_eight_octets_of_header() {
    let bytes = written(&Header::g_pdu(Teid(0x0102_0304)), &[], b"IP");
    assert_eq!(bytes, [0x30, 0xff, 0, 2, 1, 2, 3, 4, b'I', b'P']);
}

#[test]
fn the_length_octet_of_each_header_finds_the_payload() {
    // A measurement's answer is 28 octets long: who takes each header for four or eight loses the packet.
    let container = [0x18, 1].into_iter().chain([7; 24]).collect::<Vec<u8>>();
    let extensions = [
        (UDP_PORT, &[0, 80][..]),
        (0x20, &[1, 2]),
        (PDU_SESSION_CONTAINER, &container),
        (0xc1, &[9; 6]),
    ];
    let bytes = written(&Header::g_pdu(Teid(5)), &extensions, b"payload");
    let message = Message::parse(&bytes).expect("as written");
    assert_eq!(message.payload(), b"payload");
    let psc = message.extension(PDU_SESSION_CONTAINER).expect("is there");
    assert_eq!(psc.content, container);
}

#[test]
fn comprehension_follows_the_two_highest_bits() {
    let extensions = [
        (0x03, &[0; 2][..]),
        (0x40, &[0; 2]),
        (NR_RAN_CONTAINER, &[0x10, 0]),
        (0xc1, &[0; 2]),
    ];
    let bytes = written(&Header::g_pdu(Teid(5)), &extensions, &[]);
    let message = Message::parse(&bytes).expect("as written");
    let first = |role, known: &[u8]| message.not_understood(role, known).map(|e| e.kind);
    assert_eq!(first(Role::Endpoint, &[]), Some(NR_RAN_CONTAINER));
    assert_eq!(first(Role::Endpoint, &[NR_RAN_CONTAINER]), Some(0xc1));
    assert_eq!(first(Role::Endpoint, &[NR_RAN_CONTAINER, 0xc1]), None);
    assert_eq!(first(Role::Intermediate, &[]), Some(0xc1));
    let left_out: Vec<u8> = message
        .extensions()
        .filter(Extension::discard_in_passing)
        .map(|e| e.kind)
        .collect();
    assert_eq!(left_out, [0x40]);
}

#[test]
fn what_is_no_message_says_where_and_why() {
    let error = |bytes: &[u8]| Message::parse(bytes).expect_err("refused").to_string();
    assert!(error(&[0x48, 1, 0, 0]).starts_with("byte 0: found version 2"));
    // GTP' has protocol type 0.
    assert!(error(&[0x20; 8]).contains("protocol type 0"));
    let loops = [0x34, 0xff, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 0, 0, 0, 0x85];
    assert_eq!(
        error(&loops),
        "byte 12: found an extension header of length 0, expected at least 1 (times four octets)"
    );
    let long = [0x34, 0xff, 0, 8, 0, 0, 0, 1, 0, 0, 0, 0x85, 2, 0, 0, 0];
    assert!(error(&long).starts_with("byte 13: found 3 octets, expected 6"));
    // An extension header that the length in the header does not cover.
    let short = [0x34, 0xff, 0, 4, 0, 0, 0, 1, 0, 0, 0, 0x85, 1, 0, 0, 0];
    assert!(error(&short).starts_with("byte 12: found 0 octets"));
}

#[test]
fn the_next_type_counts_only_with_its_flag() {
    // Flag S alone: the octet of the next type is there and means nothing (TS 29.281, 5.1).
    let bytes = [0x32, 1, 0, 4, 0, 0, 0, 0, 0x12, 0x34, 0x56, 0x85];
    let message = Message::parse(&bytes).expect("an echo request");
    assert_eq!(message.header.seq, Some(0x1234));
    assert_eq!(message.header.n_pdu, None);
    assert_eq!(message.extensions().count(), 0);
    assert_eq!(message.payload(), &[] as &[u8]);
}

#[test]
fn what_cannot_be_said_is_not_written() {
    let header = Header::g_pdu(Teid(1));
    let mut out = vec![0; 70_000];
    assert!(header.write(&[], 65_535, &mut out).is_ok());
    assert!(header.write(&[], 65_536, &mut out).is_err());
    assert!(header.write(&[(0, &[1, 2])], 0, &mut out).is_err());
    assert!(header.write(&[(0x85, &[])], 0, &mut out).is_err());
    let longest = vec![1; extension::MAX_CONTENT + 1];
    assert!(header.write(&[(0x85, &longest[1..])], 0, &mut out).is_ok());
    assert!(header.write(&[(0x85, &longest)], 0, &mut out).is_err());
}

#[test]
fn an_element_of_unknown_length_ends_the_list() {
    let mut elements = Elements::new(&[14, 3, 99, 0, 0], 8);
    assert_eq!(elements.next(), Some(Ok(Element::Recovery(3))));
    let error = elements.next().expect("one more").expect_err("unknown");
    assert_eq!(error.offset, 10);
    assert_eq!(elements.next(), None);
}
