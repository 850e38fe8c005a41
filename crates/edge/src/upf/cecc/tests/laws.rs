//! Whatever comes, payload is kept and the server is told the truth.

use std::collections::BTreeMap;

use proptest::prelude::*;
use slackwater_core::{Datagram, FlowId, Packet, SackBlock, SeqNum};

use super::super::*;
use super::bench::{Bench, MSS, segment, up};

/// What a server that follows Linux' rules believes.
#[derive(Default)]
struct Believes {
    acked: u32,
    edge: u32,
}

impl Believes {
    fn hear(&mut self, packet: &Packet, scale: u8, sent: u32) {
        let packet = segment(packet);
        let ack = packet.ack.0;
        assert!(ack <= sent, "acknowledges what was not sent");
        let edge = ack + (u32::from(packet.window) << scale);
        if ack > self.acked {
            (self.acked, self.edge) = (ack, edge);
        } else if ack == self.acked && edge > self.edge {
            self.edge = edge;
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Frame(u32),
    Acks(u8),
    Wait(u16),
    Dark(u16),
    Backlog(u32),
    UpData,
    Sack,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => (1_u32..150_000).prop_map(Step::Frame),
        4 => (1_u8..20).prop_map(Step::Acks),
        4 => (1_u16..20_000).prop_map(Step::Wait),
        1 => (1_u16..30_000).prop_map(Step::Dark),
        2 => (0_u32..500_000).prop_map(Step::Backlog),
        1 => Just(Step::UpData),
        1 => Just(Step::Sack),
    ];
    prop::collection::vec(step, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    // Nothing is lost, reordered or made up; the window is never more than the UE's; the edge moves left only with an
    // ACK that advances (a server would ignore any other); in the end everything is told.
    #[test]
    fn whatever_comes_payload_is_kept_and_the_server_is_told_the_truth(
        steps in steps(),
        scale in 0_u8..=9,
        mode in prop_oneof![Just(Mode::Hold), Just(Mode::Credit), Just(Mode::Paper)],
        syn: bool,
    ) {
        let mut bench = Bench::new(mode);
        if syn {
            bench.syn(Some(scale));
        }
        let window = u16::try_from((4_u32 << 20) >> scale).unwrap_or(u16::MAX);
        bench.ack(0, window);
        let (mut sent, mut received, mut up_seq) = (0_u32, 0_u32, 0_u32);
        let mut server = Believes::default();
        let mut heard = 0;
        let skip = usize::from(syn);
        let mut hear = |bench: &Bench, server: &mut Believes, sent: u32| {
            for p in bench.up.iter().skip(skip.max(heard)) {
                server.hear(p, scale, sent);
            }
            heard = bench.up.len();
        };
        hear(&bench, &mut server, sent);
        let mut data_up = 0;
        for step in steps {
            match step {
                Step::Frame(bytes) => {
                    let to = (sent + bytes).min(server.edge.max(sent));
                    bench.data(sent, to);
                    sent = to;
                }
                Step::Acks(parts) => {
                    let arrived: u32 = bench.down.iter().map(|p| u32::from(p.payload())).sum();
                    let from = received;
                    for k in 1..=u32::from(parts) {
                        received = from + ((u64::from(arrived - from) * u64::from(k)) / u64::from(parts)) as u32;
                        bench.ack(received, window);
                    }
                }
                Step::Wait(span) => bench.run(u64::from(span)),
                Step::Dark(span) => bench.dark(u64::from(span)),
                Step::Backlog(bytes) => bench.rbs = u64::from(bytes),
                Step::UpData => {
                    let mut packet = Packet { len: 140, ..up(received, window) };
                    let s = packet.segment_mut().unwrap();
                    (s.payload, s.seq) = (100, SeqNum(up_seq));
                    up_seq += 100;
                    data_up += 1;
                    bench.pass(Direction::Up, packet);
                }
                Step::Sack => {
                    let mut packet = up(received, window);
                    let s = packet.segment_mut().unwrap();
                    s.seq = SeqNum(up_seq);
                    s.set_sack_blocks(&[SackBlock { start: SeqNum(received + MSS), end: SeqNum(received + 2 * MSS) }]);
                    bench.pass(Direction::Up, packet);
                }
            }
            hear(&bench, &mut server, sent);
            prop_assert!(server.edge <= received + (u32::from(window) << scale));
            prop_assert!(server.acked <= received);
            prop_assert_eq!(bench.up.iter().filter(|p| p.payload() > 0).count(), data_up);
        }
        bench.dark(100_000);
        hear(&bench, &mut server, sent);
        prop_assert_eq!(bench.cecc.held(), Bytes::ZERO);
        let mut next = 0;
        for p in bench.down.iter().filter(|p| p.payload() > 0) {
            prop_assert_eq!(p.number(), next);
            next += u32::from(p.payload());
        }
        prop_assert_eq!(next, sent);
        bench.ack(received, window);
        hear(&bench, &mut server, sent);
        prop_assert_eq!(server.acked, received);
        prop_assert_eq!(server.edge, received + (u32::from(window) << scale));
    }

    // Datagrams of several flows with any reports: each flow's come out whole and in order.
    #[test]
    fn datagrams_come_out_whole_and_in_order(
        packets in prop::collection::vec((0_u32..3, 100_u16..1_500, 0_u64..3_000), 1..300),
        rbs in 0_u64..600_000,
    ) {
        let mut bench = Bench::new(Mode::Hold);
        bench.rbs = rbs;
        let mut sent: BTreeMap<u32, u32> = BTreeMap::new();
        for (flow, len, gap) in packets {
            let n = sent.entry(flow).or_default();
            let packet = Packet { flow: FlowId(flow), len, body: Datagram::new(*n, 0).into(), ..Packet::default() };
            *n += 1;
            bench.pass(Direction::Down, packet);
            bench.run(gap);
        }
        bench.dark(50_000);
        let mut got: BTreeMap<u32, u32> = BTreeMap::new();
        for p in &bench.down {
            let n = got.entry(p.flow.0).or_default();
            prop_assert_eq!(p.number(), *n);
            *n += 1;
        }
        prop_assert_eq!(got, sent);
    }
}
