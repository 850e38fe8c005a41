use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

/// What may be done to a good message: octets changed, the end cut off, octets added.
#[derive(Clone, Debug)]
struct Harm {
    changes: Vec<(prop::sample::Index, u8)>,
    cut: Option<prop::sample::Index>,
    more: usize,
}

fn harm() -> impl Strategy<Value = Harm> {
    (
        vec((any::<prop::sample::Index>(), any::<u8>()), 0..8),
        prop::option::of(any::<prop::sample::Index>()),
        0_usize..20,
    )
        .prop_map(|(changes, cut, more)| Harm { changes, cut, more })
}

impl Harm {
    fn done_to(&self, mut octets: Vec<u8>) -> Vec<u8> {
        for (at, value) in &self.changes {
            let at = at.index(octets.len());
            octets[at] = *value;
        }
        if let Some(at) = &self.cut {
            octets.truncate(at.index(octets.len()));
        }
        octets.resize(octets.len() + self.more, 0xa5);
        octets
    }
}

fn good(kind: u8) -> Vec<u8> {
    let up = datagram(1, Direction::Up, 120, Ecn::Ect0);
    match kind % 6 {
        0 => g_pdu(uplink(1), Some(QFI), &up),
        1 => g_pdu(uplink(1), None, &up),
        2 => vec![0x32, 1, 0, 4, 0, 0, 0, 0, 0, 1, 0, 0],
        3 => vec![
            0x32, 26, 0, 16, 0, 0, 0, 0, 0, 1, 0, 0, 16, 0, 0, 0x20, 1, 133, 0, 4, 192, 168, 1, 7,
        ],
        4 => vec![0x30, 254, 0, 0, 0, 0, 0x10, 1],
        _ => datagram(1, Direction::Down, 200, Ecn::Ect1),
    }
}

/// A function in which all is on: buffering, CECC, filters, time stamps.
fn busy() -> Upf {
    let mut config = config();
    config.user.measure = Some(Duration::from_millis(1));
    config.user.functions.cecc = Some(slackwater_edge::upf::cecc::CeccConfig::default());
    upf_with(config, 4, |n, rules| match n {
        2 => rules.fars[1].action = Action::Buffer { notify: true },
        3 => {
            rules.qers[0].maximum = Some(Rates {
                up: Rate::from_mbps(1.0),
                down: Rate::from_mbps(1.0),
            });
        }
        _ => rules.pdrs[0].reports = n == 0,
    })
    .0
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]
    /// Whatever comes by N3 and N6, nothing panics, and what is held and what leaves stays in bounds.
    #[test]
    fn arbitrary_octets_do_no_harm(
        messages in vec((any::<u8>(), any::<bool>(), harm(), any::<u8>()), 1..40),
        raw in vec(vec(any::<u8>(), 0..200), 0..10),
    ) {
        let mut upf = busy();
        let mut now = MS(1);
        let all = messages
            .into_iter()
            .map(|(kind, n3, harm, ecn)| (n3, harm.done_to(good(kind)), ecn))
            .chain(raw.into_iter().flat_map(|r| [(true, r.clone(), 0), (false, r, 0)]));
        for (n3, octets, ecn) in all {
            now += Duration::from_micros(300);
            let room = usize::from(ecn) % 7;
            let mut memory = vec![0; room];
            memory.extend(&octets);
            let buf = Buf::new(memory, room);
            if n3 {
                upf.on_n3(now, GNB, buf, Ecn::from_bits(ecn));
            } else {
                upf.on_n6(now, buf);
            }
            let mut left = 0;
            while let Some(output) = upf.poll(now) {
                left += 1;
                if let Output::N6(bytes) = &output {
                    prop_assert!(IpPacket::new(bytes.as_ref()).is_ok());
                }
            }
            prop_assert!(left < 100, "{left} at once");
        }
        prop_assert!(upf.user().held() < Bytes(1 << 20));
    }
}

#[test]
fn a_flood_holds_no_more_memory_than_it_may() {
    // 0.5 Mbit/s, and 100,000 packets of 1400 bytes at once: 140 MB.
    let (mut upf, _) = upf_with(config(), 2, |_, rules| {
        rules.qers[0].maximum = Some(Rates {
            up: Rate::from_mbps(0.5),
            down: Rate::from_mbps(0.5),
        });
    });
    let flood = datagram(0, Direction::Down, 1_400, Ecn::NotEct);
    let mut most = Bytes::ZERO;
    for k in 0..100_000_u64 {
        let now = Instant::from_nanos(k * 10_000);
        upf.on_n6(now, Buf::copied(&flood));
        drain(&mut upf, now);
        most = most.max(upf.user().held());
    }
    // vAQM's bound: what the session's rate carries in a second, 64 packets at least.
    assert!(most < Bytes(200_000), "{most:?}");
    let counters = upf.user().counters();
    let passed = counters.n3_out + counters.queue_dropped;
    assert!(passed + 200 > 100_000, "{counters:?}");
    // The other session notices nothing.
    upf.on_n6(MS(1_001), datagram(1, Direction::Down, 1_000, Ecn::NotEct));
    let out = drain(&mut upf, MS(1_001));
    assert!(out.iter().any(|o| matches!(o, Output::N3 { bytes, .. }
        if Message::parse(bytes.as_ref()).unwrap().header.teid == downlink(1).teid)));
}
