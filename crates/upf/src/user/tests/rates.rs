use super::*;

/// Mbit/s that pass in `seconds` of an offer of `load` times `rate`, in packets of 1000 bytes each way.
fn carried(upf: &mut Upf, ues: &[u32], direction: Direction, mbps: f64, load: f64) -> f64 {
    const SECONDS: f64 = 20.0;
    let packets = 4_000.0_f64
        .max(mbps * 1e6 * load * SECONDS / 8_000.0)
        .min(40_000.0);
    // Fewer seconds of a high rate: the number of packets is bounded, and the bucket's depth is half a percent of the time.
    let seconds = packets * 8_000.0 / (mbps * 1e6 * load);
    let gap = seconds * 1e9 / packets;
    let mut bytes = 0;
    for k in 0..packets as u64 {
        let now = Instant::from_nanos((k as f64 * gap) as u64);
        let ue = ues[k as usize % ues.len()];
        match direction {
            Direction::Down => upf.on_n6(now, datagram(ue, direction, 1_000, Ecn::NotEct)),
            Direction::Up => {
                let up = datagram(ue, direction, 1_000, Ecn::NotEct);
                upf.on_n3(now, GNB, g_pdu(uplink(ue), Some(QFI), &up), Ecn::NotEct);
            }
        }
        while let Some(output) = upf.poll(now) {
            assert!(matches!(output, Output::N3 { .. } | Output::N6(_)));
            bytes += 1_000_u64;
        }
    }
    bytes as f64 * 8e-6 / seconds
}

fn bounded(mbps: f64, config: Config, ues: u32, correlation: Option<u32>) -> Upf {
    let rate = Rate::from_mbps(mbps);
    upf_with(config, ues, |_, rules| {
        rules.qers[0].correlation = correlation;
        rules.qers[0].maximum = Some(Rates {
            up: rate,
            down: rate,
        });
    })
    .0
}

#[test]
fn the_ambr_is_kept_both_ways_shaped_or_policed() {
    let mut policed = config();
    policed.user.functions.vaqm = None;
    for (name, config, way) in [
        ("shaped", config(), Direction::Down),
        ("policed", policed.clone(), Direction::Down),
        ("policed", policed, Direction::Up),
    ] {
        for mbps in [1.0, 10.0] {
            let mut upf = bounded(mbps, config.clone(), 1, None);
            let got = carried(&mut upf, &[0], way, mbps, 2.0) / mbps;
            assert!((got - 1.0).abs() < 0.02, "{name} {way:?} {mbps}: {got}");
        }
    }
}

#[test]
fn sessions_of_one_correlation_number_share_a_rate() {
    for (correlation, times) in [(None, 3.0), (Some(5), 1.0)] {
        let mut config = config();
        config.user.functions.vaqm = None;
        let mut upf = bounded(2.0, config, 3, correlation);
        let got = carried(&mut upf, &[0, 1, 2], Direction::Up, 2.0, 6.0) / 2.0;
        assert!((got / times - 1.0).abs() < 0.02, "{correlation:?}: {got}");
    }
}

#[test]
fn a_guaranteed_flow_is_not_part_of_the_ambr() {
    // The rest of the session is full; a flow of 1 Mbit/s guaranteed, at most 2, offers 3.
    let (mut upf, _) = upf_with(config(), 1, |n, rules| {
        let rate = |mbps| {
            Some(Rates {
                up: Rate::from_mbps(mbps),
                down: Rate::from_mbps(mbps),
            })
        };
        rules.qers[0].maximum = rate(1.0);
        let mut voice = pdr(3, Interface::Core, n);
        voice.precedence = 1;
        voice.far = Some(2);
        voice.qers = vec![2];
        voice.filters = vec![Filter {
            tos: Some((0xb8, 0xfc)),
            ..Filter::default()
        }];
        rules.pdrs.push(voice);
        rules.qers.push(Qer {
            guaranteed: rate(1.0),
            maximum: rate(2.0),
            ..qer(2, Some(Qfi(1)))
        });
    });
    let mut bytes = [0_u64; 2];
    for k in 0..10_000_u64 {
        let now = Instant::from_nanos(k * 1_000_000);
        for voice in [false, true] {
            let mut down = datagram(0, Direction::Down, 375, Ecn::NotEct);
            down[1] |= if voice { 0xb8 } else { 0 };
            upf.on_n6(now, down);
        }
        while let Some(output) = upf.poll(now) {
            let Output::N3 { bytes: b, .. } = output else {
                panic!("{output:?}");
            };
            let message = Message::parse(b.as_ref()).unwrap();
            bytes[usize::from(message.payload()[1] & 0xfc == 0xb8)] += 375;
        }
    }
    let [rest, voice] = bytes.map(|b| b as f64 * 8e-6 / 10.0);
    assert!((rest - 1.0).abs() < 0.02, "{rest}");
    assert!((voice / 2.0 - 1.0).abs() < 0.02, "{voice}");
}

#[test]
fn a_closed_gate_and_a_rule_without_action_stop_packets() {
    let (mut upf, seids) = upf_with(config(), 2, |n, rules| match n {
        0 => rules.qers[0].gate_down = false,
        _ => rules.pdrs[1].far = None,
    });
    for n in 0..2 {
        upf.on_n6(MS(0), datagram(n, Direction::Down, 100, Ecn::NotEct));
        let up = datagram(n, Direction::Up, 100, Ecn::NotEct);
        upf.on_n3(MS(0), GNB, g_pdu(uplink(n), Some(QFI), &up), Ecn::NotEct);
    }
    assert_eq!(drain(&mut upf, MS(0)).len(), 2, "uplink passes");
    let counters = upf.user().counters();
    assert_eq!((counters.gated, counters.forbidden), (1, 1));
    assert_eq!(upf.user().status(seids[0]).unwrap().down.refused, 1);
}

#[test]
fn a_maximum_of_zero_lets_nothing_pass() {
    // TS 29.244, 8.2.8; shaped, policed, shared, and of a guaranteed flow.
    let mut policed = config();
    policed.user.functions.vaqm = None;
    for (config, correlation, guaranteed) in [
        (config(), None, None),
        (policed, None, None),
        (config(), Some(3), None),
        (config(), None, Some(Rate::from_mbps(1.0))),
    ] {
        let (mut upf, seids) = upf_with(config, 1, |_, rules| {
            let qer = &mut rules.qers[0];
            qer.correlation = correlation;
            qer.maximum = Some(Rates::default());
            qer.guaranteed = guaranteed.map(|down| Rates { up: down, down });
        });
        let both = |upf: &mut Upf, at: u64| {
            upf.on_n6(MS(at), datagram(0, Direction::Down, 100, Ecn::NotEct));
            let up = datagram(0, Direction::Up, 100, Ecn::NotEct);
            upf.on_n3(MS(at), GNB, g_pdu(uplink(0), Some(QFI), &up), Ecn::NotEct);
            drain(upf, MS(at)).len()
        };
        assert_eq!((both(&mut upf, 0), both(&mut upf, 60_000)), (0, 0));
        assert_eq!(upf.user().counters().metered, 4);
        // A rate again, one way.
        let mut changed = upf.all_sessions().get(seids[0]).unwrap().rules.clone();
        changed.qers[0].maximum = Some(Rates {
            up: Rate::ZERO,
            down: Rate::from_mbps(10.0),
        });
        upf.sessions().set_rules(seids[0], changed);
        assert_eq!(both(&mut upf, 60_001), 1);
    }
}

#[test]
fn a_change_of_queue_management_keeps_what_waits() {
    use slackwater_wire::pfcp::Aqm;
    // 1 Mbit/s: a packet of 500 bytes each 4 ms. What waits is numbered in its payload.
    let (mut upf, seids) = upf_with(config(), 1, |_, rules| {
        rules.qers[0].maximum = Some(Rates {
            up: Rate::from_mbps(1.0),
            down: Rate::from_mbps(1.0),
        });
    });
    let numbers = |out: Vec<Output>| -> Vec<u8> {
        let number = |o: &Output| match o {
            Output::N3 { bytes, .. } => bytes.as_ref()[bytes.as_ref().len() - 1],
            other => panic!("{other:?}"),
        };
        out.iter().map(number).collect()
    };
    for n in 0..40 {
        let mut down = datagram(0, Direction::Down, 500, Ecn::NotEct);
        down[499] = n;
        upf.on_n6(MS(1), down);
    }
    let mut got = numbers(drain(&mut upf, MS(1)));
    let held = upf.user().held();
    assert!(held > Bytes(15_000), "{held:?}");
    let options = [
        Some(Aqm::Off),
        Some(Aqm::Direct),
        None,
        Some(Aqm::Shaper),
        Some(Aqm::L4s),
    ];
    for (k, aqm) in options.into_iter().enumerate() {
        let now = MS(2 + k as u64);
        let mut changed = upf.all_sessions().get(seids[0]).unwrap().rules.clone();
        changed.qers[0].edge.aqm = aqm;
        upf.sessions().set_rules(seids[0], changed);
        got.extend(numbers(drain(&mut upf, now)));
    }
    // Whatever the variant, the session's rate held: 4 ms make one packet.
    assert!(got.len() < 10, "{got:?}");
    for ms in 7..300 {
        got.extend(numbers(drain(&mut upf, MS(ms))));
    }
    assert_eq!(upf.user().held(), Bytes::ZERO);
    assert_eq!(upf.user().counters().session_gone, 0);
    // CoDel may drop of what waited; nothing else is missing, and the order is that of arrival.
    let dropped = upf.user().counters().queue_dropped as usize;
    assert_eq!(got.len() + dropped, 40);
    assert!(got.is_sorted() && dropped < 10, "{got:?}");
}

#[test]
fn rules_that_cannot_be_followed_end_their_packets() {
    let (mut upf, _) = upf_with(config(), 2, |n, rules| match n {
        0 => rules.pdrs[0].remove_outer = false,
        _ => rules.fars[1].outer = None,
    });
    let up = datagram(0, Direction::Up, 100, Ecn::NotEct);
    upf.on_n3(MS(0), GNB, g_pdu(uplink(0), Some(QFI), &up), Ecn::NotEct);
    upf.on_n6(MS(0), datagram(1, Direction::Down, 100, Ecn::NotEct));
    assert_eq!(drain(&mut upf, MS(0)), []);
    let counters = upf.user().counters();
    assert_eq!((counters.header_kept, counters.no_tunnel), (1, 1));
}

#[test]
fn an_element_of_ours_chooses_what_vaqm_does() {
    use slackwater_edge::upf::vaqm::Mode;
    use slackwater_wire::pfcp::Aqm;
    let (mut upf, seids) = upf_with(config(), 3, |n, rules| {
        rules.qers[0].edge.aqm = [None, Some(Aqm::Off), Some(Aqm::Direct)][n as usize];
        rules.qers[0].edge.target_milli = (n == 2).then_some(250);
    });
    drain(&mut upf, MS(0));
    let modes = |upf: &Upf| -> Vec<(Mode, f64)> {
        seids
            .iter()
            .map(|s| upf.user().functions().vaqm_config(s.ue(), None).unwrap())
            .map(|c| (c.mode, c.fraction))
            .collect()
    };
    assert_eq!(
        modes(&upf),
        [
            (Mode::Auto, 0.5),
            (Mode::Measure, 0.5),
            (Mode::Direct, 0.25)
        ]
    );
    // A change of the rules changes it.
    let mut changed = rules(1);
    changed.qers[0].edge.aqm = Some(Aqm::Shaper);
    upf.sessions().set_rules(seids[1], changed);
    drain(&mut upf, MS(1));
    assert_eq!(modes(&upf)[1], (Mode::Window, 0.5));
}

#[test]
fn marks_drops_and_waits_are_counted_by_cause() {
    // 2 Mbit/s into 1: a flow that takes marks, and one that does not.
    let (mut upf, _) = upf_with(config(), 2, |_, rules| {
        rules.qers[0].maximum = Some(Rates {
            up: Rate::from_mbps(1.0),
            down: Rate::from_mbps(1.0),
        });
    });
    let mut ce = 0;
    for k in 0..4_000_u64 {
        let now = MS(k * 2);
        for (n, ecn) in [(0, Ecn::Ect0), (1, Ecn::NotEct)] {
            upf.on_n6(now, datagram(n, Direction::Down, 500, ecn));
        }
        while let Some(output) = upf.poll(now) {
            let Output::N3 { bytes, .. } = output else {
                panic!("{output:?}");
            };
            let message = Message::parse(bytes.as_ref()).unwrap();
            ce += u64::from(message.payload()[1] & 3 == Ecn::Ce as u8);
        }
    }
    let counters = *upf.user().counters();
    assert!(ce > 0);
    assert_eq!((counters.marked, counters.marked_law), (ce, ce));
    let dropped: u64 = counters.dropped().map(|(_, n)| n).sum();
    assert!(counters.queue_law > 0, "{counters:?}");
    assert_eq!(
        counters.queue_dropped,
        counters.queue_law + counters.queue_full + counters.queue_unanswering
    );
    // Each packet left, waits, or ended by one cause.
    let waiting = upf.user().held().0 / 500;
    assert_eq!(counters.n3_out + dropped + waiting, 8_000, "{counters:?}");
    let delays = upf.user().delays(Direction::Down);
    assert_eq!(delays.count(), counters.n3_out);
    // Half of what came had to wait, in a queue that law and limit keep below a second on the average.
    let mean = delays.sum_s() / delays.count() as f64;
    assert!((0.001..1.0).contains(&mean), "{mean}");
    assert_eq!(upf.user().delays(Direction::Up).count(), 0);
}
