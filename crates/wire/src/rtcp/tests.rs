use proptest::prelude::*;
use rtc_rtcp::payload_feedbacks::full_intra_request::FullIntraRequest;
use rtc_rtcp::receiver_report::ReceiverReport as TheirReceiverReport;
use rtc_rtcp::sender_report::SenderReport as TheirSenderReport;
use rtc_rtcp::transport_feedbacks::cc_feedback_report::CcFeedbackReport;
use rtc_rtcp::transport_feedbacks::transport_layer_cc::{
    PacketStatusChunk, SymbolTypeTcc, TransportLayerCc,
};
use rtc_rtcp::transport_feedbacks::transport_layer_nack::{NackPair, TransportLayerNack};
use rtc_shared::marshal::{Marshal, Unmarshal};
use slackwater_core::{Duration, Ecn, Instant};

use super::*;

fn encoded(message: &Message) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    assert!(bytes.len().is_multiple_of(4));
    bytes
}

/// Reads the one packet in `bytes`.
fn decoded(bytes: &[u8]) -> Result<Message, WireError> {
    let mut all = messages(bytes);
    let first = all.next().expect("a packet");
    assert!(first.is_err() || all.next().is_none());
    first
}

/// Reads `bytes` as their type, checks that they write the same bytes, and gives it.
fn theirs<T: Marshal + Unmarshal>(bytes: &[u8]) -> T {
    let packet = T::unmarshal(&mut &*bytes).expect("they can read it");
    assert_eq!(&packet.marshal().expect("they can write it")[..], bytes);
    packet
}

fn sample_ccfb() -> Ccfb {
    let arrival = |ecn, ms| Some(Arrival::new(ecn, Some(Duration::from_millis(ms))));
    Ccfb {
        sender: 1,
        streams: vec![
            Stream {
                ssrc: 0x0a0b_0c0d,
                begin: 0xffff,
                packets: vec![arrival(Ecn::Ect1, 10), None, arrival(Ecn::Ce, 0)],
            },
            Stream {
                ssrc: 2,
                begin: 7,
                packets: vec![
                    arrival(Ecn::Ect0, 9000),
                    Some(Arrival::new(Ecn::NotEct, None)),
                ],
            },
            Stream {
                ssrc: 3,
                begin: 9,
                packets: Vec::new(),
            },
        ],
        timestamp: 0x1234_5678,
    }
}

#[test]
fn ccfb_has_the_bytes_that_it_should() {
    let ccfb = sample_ccfb();
    let bytes = encoded(&Message::Ccfb(ccfb.clone()));
    assert_eq!(bytes.len(), ccfb.encoded_len());
    // 10 ms are 10.24 units; 9 s are over the range.
    #[rustfmt::skip]
    let expected = [
        0x8b, 205, 0, 11, 0, 0, 0, 1,
        0x0a, 0x0b, 0x0c, 0x0d, 0xff, 0xff, 0, 3, 0xa0, 0x0a, 0, 0, 0xe0, 0, 0, 0,
        0, 0, 0, 2, 0, 7, 0, 2, 0xdf, 0xfe, 0x9f, 0xff,
        0, 0, 0, 3, 0, 9, 0, 0,
        0x12, 0x34, 0x56, 0x78,
    ];
    assert_eq!(bytes, expected);
    assert_eq!(decoded(&bytes), Ok(Message::Ccfb(ccfb)));
    let packet: CcFeedbackReport = theirs(&bytes);
    assert_eq!(packet.report_timestamp, 0x1234_5678);
    assert_eq!(packet.report_blocks.len(), 3);
    let metrics = &packet.report_blocks[0].metric_blocks;
    assert_eq!(
        metrics.iter().map(|m| m.received).collect::<Vec<_>>(),
        [true, false, true]
    );
    assert_eq!(metrics[2].ecn as u8, 3);
    assert_eq!(metrics[0].arrival_time_offset, 10);
}

#[test]
fn ccfb_times_round_and_saturate_as_rfc_8888_says() {
    let offset = |d| Arrival::new(Ecn::NotEct, d).offset;
    assert_eq!(offset(Some(Duration::from_nanos(488_281))), 0);
    assert_eq!(offset(Some(Duration::from_nanos(488_282))), 1);
    // 8,189/1024 s is the last that fits.
    assert_eq!(
        offset(Some(Duration::from_secs_f64(8189.0 / 1024.0))),
        0x1ffd
    );
    assert_eq!(
        offset(Some(Duration::from_secs_f64(8190.0 / 1024.0))),
        0x1ffe
    );
    assert_eq!(offset(Some(Duration::MAX)), 0x1ffe);
    assert_eq!(offset(None), 0x1fff);
    let back = |offset| {
        Arrival {
            ecn: Ecn::Ce,
            offset,
        }
        .before_report()
    };
    assert_eq!(back(1024), Some(Duration::from_secs(1)));
    assert_eq!((back(0x1ffe), back(0x1fff)), (None, None));
    assert_eq!(Ccfb::timestamp_of(Instant::from_millis(1500)), 0x0001_8000);
}

#[test]
fn ccfb_refuses_more_reports_than_the_format_allows() {
    let mut bytes = encoded(&Message::Ccfb(Ccfb {
        streams: vec![Stream {
            packets: vec![None; 20_000],
            ..Stream::default()
        }],
        ..Ccfb::default()
    }));
    let Ok(Message::Ccfb(read)) = decoded(&bytes) else {
        panic!("CCFB")
    };
    assert_eq!(read.streams[0].packets.len(), 16_384);
    bytes[14..16].copy_from_slice(&16_385_u16.to_be_bytes());
    assert_eq!(decoded(&bytes).unwrap_err().offset, 14);
}

#[test]
fn twcc_has_the_bytes_that_it_should() {
    // 5 ms after a reference of 3 x 64 ms, then 1 ms later, a gap, 100 ms later and 2 ms back. Without padding.
    let start = 3 * 256 + 20;
    let arrivals = [
        Some(start),
        Some(start + 4),
        None,
        Some(start + 404),
        Some(start + 396),
    ];
    let twcc = Twcc {
        sender: 1,
        media: 2,
        ..Twcc::of(0xfffe, 9, &arrivals).unwrap()
    };
    let bytes = encoded(&Message::Twcc(twcc.clone()));
    #[rustfmt::skip]
    let expected = [
        0x8f, 205, 0, 6, 0, 0, 0, 1, 0, 0, 0, 2, 0xff, 0xfe, 0, 5, 0, 0, 3, 9,
        // Two-bit symbols 1 1 0 2 2.
        0xd4, 0xa0, 20, 4, 0x01, 0x90, 0xff, 0xf8,
    ];
    assert_eq!(bytes, expected);
    assert_eq!(bytes.len(), twcc.encoded_len());
    let times: Vec<_> = twcc.arrivals().map(|a| a.map(u64::from)).collect();
    assert_eq!(times, arrivals);
    let packet: TransportLayerCc = theirs(&bytes);
    let deltas: Vec<_> = packet.recv_deltas.iter().map(|d| d.delta / 250).collect();
    assert_eq!(deltas, [20, 4, 400, -8]);
    assert_eq!(decoded(&bytes), Ok(Message::Twcc(twcc)));
}

#[test]
fn twcc_chooses_the_chunk_that_covers_most() {
    let of = |arrivals: &[Option<u64>]| {
        let bytes = encoded(&Message::Twcc(Twcc::of(0, 0, arrivals).unwrap()));
        theirs::<TransportLayerCc>(&bytes).packet_chunks
    };
    let steady: Vec<_> = (0..10_000).map(Some).collect();
    let chunks = of(&steady);
    let runs: Vec<_> = chunks
        .iter()
        .map(|c| match c {
            PacketStatusChunk::RunLengthChunk(r) => (r.packet_status_symbol, r.run_length),
            PacketStatusChunk::StatusVectorChunk(_) => panic!("a run"),
        })
        .collect();
    let small = SymbolTypeTcc::PacketReceivedSmallDelta;
    assert_eq!(runs, [(small, 8191), (small, 1809)]);
    // Every second packet is missing: 14 symbols a chunk.
    let gaps: Vec<_> = (0..28).map(|i| (i % 2 == 0).then_some(i)).collect();
    assert_eq!(of(&gaps).len(), 2);
    // A large delta in the middle of what one-bit symbols could say.
    let mut late = gaps;
    for at in late[8..].iter_mut().flatten() {
        *at += 1000;
    }
    assert_eq!(of(&late).len(), 3);
}

#[test]
fn twcc_says_which_arrivals_do_not_fit() {
    assert_eq!(Twcc::of(0, 0, &[]), Err(TwccError::Count(0)));
    assert_eq!(
        Twcc::of(0, 0, &vec![None; 65_536]),
        Err(TwccError::Count(65_536))
    );
    assert_eq!(
        Twcc::of(0, 0, &[Some(0), None, Some(32_768)]),
        Err(TwccError::TooFar(2))
    );
    assert_eq!(
        Twcc::of(0, 0, &[Some(9), Some(0)]).unwrap().deltas,
        [Some(9), Some(-9)]
    );
}

#[test]
fn a_nack_packs_its_numbers() {
    let missing = [65_530, 65_531, 0, 10, 11, 27, 60];
    let nack = Nack::of(1, 2, missing);
    assert_eq!(nack.entries, [(65_530, 0x8021), (11, 0x8000), (60, 0)]);
    assert_eq!(nack.missing().collect::<Vec<_>>(), missing);
    let bytes = encoded(&Message::Nack(nack.clone()));
    assert_eq!(bytes[..4], [0x81, 205, 0, 5]);
    let packet: TransportLayerNack = theirs(&bytes);
    let numbers: Vec<u16> = packet
        .nacks
        .iter()
        .flat_map(NackPair::packet_list)
        .collect();
    assert_eq!(numbers, missing);
    assert_eq!(decoded(&bytes), Ok(Message::Nack(nack)));
}

#[test]
fn a_full_intra_request_is_read_by_others() {
    let fir = Fir {
        sender: 3,
        entries: vec![(1, 255), (9, 0)],
    };
    let bytes = encoded(&Message::Fir(fir.clone()));
    let their: FullIntraRequest = theirs(&bytes);
    let entries = their.fir.iter().map(|e| (e.ssrc, e.sequence_number));
    assert_eq!(entries.collect::<Vec<_>>(), fir.entries);
    assert_eq!(decoded(&bytes), Ok(Message::Fir(fir)));
    // Half an entry is none.
    let mut half = bytes[..bytes.len() - 4].to_vec();
    half[3] -= 1;
    assert!(decoded(&half).is_err());
}

#[test]
fn reports_and_compounds_are_read_by_others() {
    let block = Block {
        ssrc: 2,
        fraction_lost: 128,
        lost: -5,
        highest: 0x0001_0002,
        jitter: 3,
        last_sr: 4,
        delay: 5,
    };
    let sr = SenderReport {
        ssrc: 1,
        ntp: 0x0102_0304_0506_0708,
        timestamp: 90_000,
        packets: 6,
        octets: 7,
        blocks: vec![block; 31],
    };
    let rr = ReceiverReport {
        ssrc: 3,
        blocks: vec![block],
    };
    let sr_bytes = encoded(&Message::SenderReport(sr.clone()));
    let rr_bytes = encoded(&Message::ReceiverReport(rr.clone()));
    let their: TheirSenderReport = theirs(&sr_bytes);
    assert_eq!((their.ntp_time, their.rtp_time), (sr.ntp, 90_000));
    assert_eq!(their.reports.len(), 31);
    let their: TheirReceiverReport = theirs(&rr_bytes);
    assert_eq!(their.reports[0].last_sequence_number, 0x0001_0002);
    assert_eq!(their.reports[0].total_lost, 0x00ff_fffb);
    let mut bytes = sr_bytes;
    bytes.extend(rr_bytes);
    Message::Pli(Pli {
        sender: 3,
        media: 1,
    })
    .encode(&mut bytes);
    bytes.extend([0x81, 204, 0, 1, 0, 0, 0, 9]);
    let read: Vec<_> = messages(&bytes).map(Result::unwrap).collect();
    let expected = [
        Message::SenderReport(sr),
        Message::ReceiverReport(rr),
        Message::Pli(Pli {
            sender: 3,
            media: 1,
        }),
        Message::Other {
            kind: 204,
            count: 1,
        },
    ];
    assert_eq!(read, expected);
}

#[test]
fn what_is_cut_short_is_refused_where_it_ends() {
    let whole = encoded(&Message::Ccfb(sample_ccfb()));
    for cut in 1..whole.len() {
        assert!(decoded(&whole[..cut]).is_err());
    }
    // The header's length, too, may promise less than the reports need.
    for words in 0..11_u16 {
        let mut bytes = whole.clone();
        bytes[2..4].copy_from_slice(&words.to_be_bytes());
        let first = messages(&bytes).next().unwrap();
        let same = first == Ok(Message::Ccfb(sample_ccfb()));
        assert!(!same);
    }
    let mut wrong = whole;
    wrong[0] = 0x4b;
    assert_eq!(decoded(&wrong).unwrap_err().offset, 0);
}

#[test]
fn hostile_chunks_are_refused() {
    let mut bytes = encoded(&Message::Twcc(Twcc::of(0, 0, &[Some(1); 8]).unwrap()));
    bytes[20..22].copy_from_slice(&0x6008_u16.to_be_bytes());
    assert!(decoded(&bytes).unwrap_err().found.contains("symbol 3"));
    bytes[20..22].copy_from_slice(&0x2000_u16.to_be_bytes());
    assert!(decoded(&bytes).unwrap_err().found.contains("run of 0"));
    bytes[14..16].copy_from_slice(&[0xff; 2]);
    bytes[20..22].copy_from_slice(&0x3fff_u16.to_be_bytes());
    assert!(decoded(&bytes).is_err());
}

fn arrivals() -> impl Strategy<Value = Vec<Option<u64>>> {
    let step = prop_oneof![
        4 => (0..20_i64).prop_map(Some),
        1 => (-300..600_i64).prop_map(Some),
        1 => Just(None),
    ];
    prop::collection::vec((step, 1..20_usize), 1..40).prop_map(|steps| {
        let mut at = 1_000_000_i64;
        let mut arrivals = Vec::new();
        for (step, times) in steps {
            for _ in 0..times {
                at += step.unwrap_or(0);
                arrivals.push(step.map(|_| at as u64));
            }
        }
        arrivals
    })
}

proptest! {
    #[test]
    fn twcc_comes_back_and_others_read_the_same(arrivals in arrivals(), base: u16, count: u8) {
        let twcc = Twcc::of(base, count, &arrivals).unwrap();
        let bytes = encoded(&Message::Twcc(twcc.clone()));
        prop_assert_eq!(bytes.len(), twcc.encoded_len());
        prop_assert_eq!(decoded(&bytes), Ok(Message::Twcc(twcc.clone())));
        let read: Vec<_> = twcc.arrivals().map(|a| a.map(u64::from)).collect();
        prop_assert_eq!(read, arrivals.clone());
        // The crate takes a message whose last chunk ends it for one cut short.
        if arrivals.iter().any(Option::is_some) {
            let packet: TransportLayerCc = theirs(&bytes);
            let deltas: Vec<_> = packet.recv_deltas.iter().map(|d| d.delta / 250).collect();
            let ours: Vec<_> = twcc.deltas.iter().flatten().map(|d| i64::from(*d)).collect();
            prop_assert_eq!(deltas, ours);
        }
    }

    #[test]
    fn ccfb_comes_back_and_others_read_the_same(
        streams in prop::collection::vec(
            (any::<u32>(), any::<u16>(), prop::collection::vec(prop::option::of((0..4_u8, 0..0x2000_u16)), 0..40)),
            0..4,
        ),
        timestamp: u32,
    ) {
        let ccfb = Ccfb {
            sender: 5,
            streams: streams.into_iter().map(|(ssrc, begin, packets)| Stream {
                ssrc,
                begin,
                packets: packets.into_iter().map(|p| {
                    p.map(|(ecn, offset)| Arrival { ecn: Ecn::from_bits(ecn), offset })
                }).collect(),
            }).collect(),
            timestamp,
        };
        let bytes = encoded(&Message::Ccfb(ccfb.clone()));
        prop_assert_eq!(bytes.len(), ccfb.encoded_len());
        prop_assert_eq!(decoded(&bytes), Ok(Message::Ccfb(ccfb)));
        theirs::<CcFeedbackReport>(&bytes);
    }

    #[test]
    fn hostile_bytes_do_no_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(messages(&bytes).count() <= bytes.len());
    }

    #[test]
    fn nearly_right_packets_do_no_harm(
        kind in prop_oneof![Just(200_u8), Just(201), Just(205), Just(206), Just(207)],
        count in prop_oneof![Just(1_u8), Just(11), Just(15), 0..32_u8],
        padded: bool,
        mut body in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        body.resize(body.len().next_multiple_of(4), 3);
        let mut bytes = vec![0x80 | u8::from(padded) << 5 | count, kind, 0, (body.len() / 4) as u8];
        bytes.extend(body);
        for message in messages(&bytes).flatten() {
            // What was read can be written, and read again.
            if !matches!(message, Message::Other { .. }) {
                prop_assert_eq!(decoded(&encoded(&message)), Ok(message));
            }
        }
    }
}
