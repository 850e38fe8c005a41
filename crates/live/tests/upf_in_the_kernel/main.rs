//! The path in the kernel of a user plane function, in a network namespace of its own: needs root, BTF and a build with the feature
//! `bpf`; skips with a reason elsewhere.
#![cfg(feature = "bpf")]

mod lab;

use std::collections::VecDeque;
use std::net::Ipv4Addr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use slackwater_core::{Bytes, Qfi, Teid};
use slackwater_live::upf::{Server, UpfConfig};
use slackwater_upf::sessions::Seid;
use slackwater_upf::testing;
use slackwater_wire::checksum;
use slackwater_wire::pfcp::{Element, Far, Kind, Message, action};

use lab::{
    Lab, MOST, N6, SERVER, UE, apart, can_run, carried, config, down, down_to, far, ipv4, links,
    tcp, unbounded, up,
};

/// Without what differs: an outer datagram of the kernel's path has no sum, and no number of fragments, as it must not be cut.
fn compared(mut packet: Vec<u8>) -> Vec<u8> {
    let sound = checksum::finish(checksum::sum(&packet[..20])) == [0, 0];
    assert!(sound, "{packet:?}");
    for at in [4..6, 10..12, 26..28] {
        packet[at].fill(0);
    }
    packet
}

/// Packets and bytes of a session, down and up.
type Passed = [(u64, Bytes); 2];

/// What leaves both ways for the same packets, and who forwarded them.
fn forwarded(n6: N6, path: &'static str, vaqm: &'static str) -> (Vec<Vec<u8>>, [u64; 6], Passed) {
    apart(move || {
        let mut lab = Lab::new(n6, path, vaqm);
        let (seid, teid) = lab.establish(unbounded());
        if path == "kernel" {
            lab.wait_for_kernel(seid);
        }
        lab.warm(teid);
        let (before, [down_before, up_before]) = (lab.counters(), lab.traffic(seid));
        let mut all = Vec::new();
        for length in [28, 40, 700, MOST] {
            for tos in [0, 1, 2, 3, 0xb8, 0xb9] {
                lab.data_network.send(&down(tos, length));
                all.push(compared(lab.radio.next()));
            }
        }
        for contained in [true, false] {
            for inner in 0..4 {
                for outer in (0..4).filter(|outer| inner != 0 || *outer != 3) {
                    let fields = [0xb8 | inner, outer];
                    lab.radio.send(&up(teid, UE, fields, contained));
                    all.push(lab.data_network.next());
                }
            }
        }
        let (after, [down, up]) = (lab.counters(), lab.traffic(seid));
        let counted = [
            after.n6_in - before.n6_in,
            after.n3_in - before.n3_in,
            after.n3_out - before.n3_out,
            after.n6_out - before.n6_out,
            after.kernel_down - before.kernel_down,
            after.kernel_up - before.kernel_up,
        ];
        let passed = [
            (
                down.packets - down_before.packets,
                down.bytes - down_before.bytes,
            ),
            (up.packets - up_before.packets, up.bytes - up_before.bytes),
        ];
        (all, counted, passed)
    })
}

#[test]
fn the_kernels_path_writes_what_the_functions_does() {
    if !can_run() {
        return;
    }
    for n6 in [N6::Port, N6::Tun] {
        let (here, counted, passed) = forwarded(n6, "off", "off");
        assert_eq!(counted, [24, 30, 24, 30, 0, 0]);
        // With vAQM too: its instance has nothing to decide.
        for vaqm in ["off", "auto"] {
            let (kernel, by_kernel, kernels) = forwarded(n6, "kernel", vaqm);
            assert_eq!(here.len(), kernel.len());
            for (k, (a, b)) in here.iter().zip(&kernel).enumerate() {
                assert_eq!(a, b, "packet {k}, {n6:?}");
            }
            assert_eq!(passed, kernels);
            assert_eq!(by_kernel, [24, 30, 24, 30, 24, 30]);
        }
    }
}

#[test]
fn usage_adds_up_to_the_octet_and_other_packets_are_the_functions() {
    if !can_run() {
        return;
    }
    for n6 in [N6::Port, N6::Tun] {
        apart(move || counts_add_up(n6));
    }
}

fn counts_add_up(n6: N6) {
    let mut lab = Lab::new(n6, "kernel", "off");
    let (seid, teid) = lab.establish(unbounded());
    lab.wait_for_kernel(seid);
    for k in 0..500 {
        lab.data_network.send(&down(0, 100 + k));
        let _out = lab.radio.next();
        lab.radio.send(&up(teid, UE, [0, 0], k % 2 == 0));
        let _out = lab.data_network.next();
    }

    // Another's address, ECN fields that contradict each other, and a packet that is too long: nothing of these comes out.
    lab.radio.send(&up(teid, SERVER, [0, 0], true));
    lab.radio.send(&up(teid, UE, [0, 3], true));
    lab.data_network.send(&down(0, MOST + 1));
    let answer = lab.data_network.next();
    assert_eq!(
        (answer[9], &answer[20..22]),
        (1, &[3, 4][..]),
        "ICMP: too long"
    );
    lab.radio.send(&up(teid, UE, [0, 0], true));
    let _out = lab.data_network.next();
    let counters = lab.counters();
    let wrong = (
        counters.spoofed,
        counters.ecn_contradicts,
        counters.too_long,
    );
    assert_eq!(wrong, (1, 1, 1));
    assert_eq!((counters.kernel_down, counters.kernel_up), (500, 501));

    // The last report of the session.
    let answer = lab.order(Kind::SessionDeletionRequest, Some(seid), &[]);
    let message = Message::parse(&answer).unwrap();
    let volume = message
        .elements()
        .map(Result::unwrap)
        .find_map(|e| match e {
            Element::Usage(_, report) => report.volume,
            _ => None,
        });
    let volume = volume.expect("a report");
    let down: u64 = (100..600).sum();
    assert_eq!(volume.down, Some(Bytes(down)));
    assert_eq!(volume.up, Some(Bytes(501 * 328)));

    // Its packets are nobody's now.
    lab.data_network.send(&self::down(0, 100));
    while lab.counters().unknown_address == 0 {}
}

#[test]
fn a_rule_that_changes_leaves_packets_to_the_function() {
    if !can_run() {
        return;
    }
    apart(|| {
        let mut lab = Lab::new(N6::Port, "kernel", "off");
        let (seid, _teid) = lab.establish(unbounded());
        lab.wait_for_kernel(seid);
        lab.data_network.send(&down(0, 100));
        let _out = lab.radio.next();

        // Packets are buffered from the answer on.
        let buffer = Far {
            action: Some(action::BUFFER),
            forwarding: None,
            ..far(2, None)
        };
        lab.order(
            Kind::SessionModificationRequest,
            Some(seid),
            &[Element::UpdateFar(buffer)],
        );
        for length in 200..220 {
            lab.data_network.send(&down(0, length));
        }
        while lab.counters().buffered < 20 {}
        // And go on in their order, before the next.
        let forward = Far {
            action: Some(action::FORWARD),
            forwarding: None,
            ..far(2, None)
        };
        lab.order(
            Kind::SessionModificationRequest,
            Some(seid),
            &[Element::UpdateFar(forward)],
        );
        lab.wait_for_kernel(seid);
        lab.data_network.send(&down(0, 300));
        let lengths: Vec<usize> = (0..21).map(|_| lab.radio.next().len() - 44).collect();
        let expected: Vec<usize> = (200..220).chain([300]).collect();
        assert_eq!(lengths, expected);
        assert_eq!(lab.counters().kernel_down, 2);
    });
}

/// Two addresses whose last 17 bits are the same have one place in the kernel's table, and both are forwarded there.
#[test]
fn sessions_that_share_a_place_are_both_the_kernels() {
    if !can_run() {
        return;
    }
    apart(|| {
        let mut lab = Lab::new(N6::Port, "kernel", "off");
        let twin = Ipv4Addr::from_bits(UE.to_bits() + (1 << 17));
        let (first, _teid) = lab.establish(unbounded());
        let (second, _teid) = lab.establish_of(twin, Teid(0x23), unbounded());
        lab.wait_for_kernel(first);
        lab.wait_for_kernel(second);
        // Outer IPv4 and UDP, flags, type and length stand before it (TS 29.281, 5.1).
        let tunnel = |packet: &[u8]| packet[32..36].to_vec();
        for (ue, theirs) in [(UE, 0x22), (twin, 0x23)] {
            lab.data_network.send(&down_to(ue, 0, 100));
            assert_eq!(tunnel(&lab.radio.next()), [0, 0, 0, theirs]);
        }
        assert_eq!(lab.counters().kernel_down, 2);

        // The one at the place goes, and the other stays.
        lab.order(Kind::SessionDeletionRequest, Some(first), &[]);
        lab.data_network.send(&down_to(twin, 0, 100));
        assert_eq!(tunnel(&lab.radio.next()), [0, 0, 0, 0x23]);
        assert_eq!(lab.counters().kernel_down, 3);
    });
}

/// A meter of 20 Mbit/s, which is in the tests' QER: what it lets pass at once goes by the kernel, and packets beyond it are dropped.
#[test]
fn a_session_that_exceeds_its_rate_is_the_functions_until_it_has_paid() {
    if !can_run() {
        return;
    }
    apart(|| {
        let mut lab = Lab::new(N6::Port, "kernel", "off");
        let (seid, teid) = lab.establish(testing::qer(20.0, Some(Qfi(9))));
        lab.wait_for_kernel(seid);
        lab.warm(teid);
        for length in [100, 1_400] {
            lab.data_network.send(&down(0, length));
            assert_eq!(lab.radio.next().len(), length + 44);
        }
        assert_eq!(lab.counters().kernel_down, 2);

        while lab.counters().metered == 0 {
            for _ in 0..100 {
                lab.data_network.send(&down(0, 1_400));
            }
        }
        let beyond = lab.counters();
        assert_eq!(beyond.n3_out + beyond.metered, beyond.n6_in);
        // 50 ms at this rate are 125,000 bytes.
        assert!(beyond.kernel_down >= 89, "{}", beyond.kernel_down);

        lab.wait_for_kernel(seid);
        let before = lab.counters();
        lab.data_network.send(&down(0, 100));
        while lab.radio.next().len() != 144 {}
        let after = lab.counters();
        assert_eq!(after.kernel_down, before.kernel_down + 1);
    });
}

/// What vAQM measures of a session, and whether the kernel has it.
fn measured(lab: &Lab, seid: u64) -> (u64, u64, bool) {
    lab.ask(move |server| {
        let functions = server.upf().user().functions();
        let passed = functions.vaqm_stats().map_or(0, |stats| stats.passed);
        let trips = functions.round_trips().count();
        (passed, trips, server.in_kernel(Seid(seid)) == [true; 2])
    })
}

/// A download through the kernel is measured. Acknowledgments that come late bring it to the function, and it returns to the kernel
/// when they come at once again.
#[test]
fn vaqm_measures_what_the_kernel_forwards_and_takes_a_session_that_has_a_queue() {
    if !can_run() {
        return;
    }
    apart(|| {
        const PAYLOAD: [u8; 1_000] = [7; 1_000];
        let mut lab = Lab::new(N6::Port, "kernel", "auto");
        let (seid, teid) = lab.establish(unbounded());
        lab.wait_for_kernel(seid);
        lab.warm(teid);
        let mut number = 0;
        let mut send = |lab: &mut Lab| {
            let segment = tcp([443, 5_000], number, &PAYLOAD);
            // ECT(0): what vAQM decides is a mark, and no drop.
            lab.data_network.send(&ipv4(SERVER, UE, 2, 6, &segment));
            let _out = lab.radio.next();
            number += 1_000;
            number
        };
        let acknowledge = |lab: &mut Lab, number: u32| {
            let ack = ipv4(UE, SERVER, 0, 6, &tcp([5_000, 443], number, &[]));
            lab.radio.send(&carried(teid, &ack, 0, true));
            let _out = lab.data_network.next();
        };

        let before = lab.counters();
        for _ in 0..50 {
            let sent = send(&mut lab);
            acknowledge(&mut lab, sent);
        }
        let after = lab.counters();
        let kernels = after.kernel_down - before.kernel_down;
        assert_eq!((kernels, after.kernel_up - before.kernel_up), (50, 50));
        while measured(&lab, seid).1 < 50 {}
        assert_eq!(measured(&lab, seid), (50, 50, true));

        // A queue of a fifth of a second, far above any target.
        let late = Duration::from_millis(200);
        let mut unanswered = VecDeque::new();
        while measured(&lab, seid).2 {
            unanswered.push_back((Instant::now(), send(&mut lab)));
            while let Some((_, sent)) = unanswered.pop_front_if(|(at, _)| at.elapsed() > late) {
                acknowledge(&mut lab, sent);
            }
        }
        let taken = lab.counters().kernel_down;
        let sent = send(&mut lab);
        acknowledge(&mut lab, sent);
        assert_eq!(lab.counters().kernel_down, taken, "it is the function's");

        while !measured(&lab, seid).2 {
            let sent = send(&mut lab);
            acknowledge(&mut lab, sent);
        }
        let returned = lab.counters().kernel_down;
        send(&mut lab);
        assert_eq!(lab.counters().kernel_down, returned + 1);
    });
}

/// The rights of `packaging/systemd/kernel-path.conf`, and its file.
const RIGHTS: [&str; 4] = ["CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_BPF", "CAP_PERFMON"];

/// Starts a function where the test below has left the rights alone.
#[test]
#[ignore = "the test below starts it, in a namespace and with few rights"]
fn with_few_rights() {
    let config =
        UpfConfig::parse("upf.toml", &config(N6::Port, "kernel", "auto")).expect("it is sound");
    Server::new(&config).expect("it starts");
}

#[test]
fn the_rights_of_the_drop_in_suffice() {
    let drop_in = "../../packaging/systemd/kernel-path.conf";
    let drop_in = Path::new(env!("CARGO_MANIFEST_DIR")).join(drop_in);
    let (true, Ok(drop_in)) = (can_run(), std::fs::read_to_string(drop_in)) else {
        eprintln!("skipped: no drop-in beside this crate, or see above");
        return;
    };
    for key in ["AmbientCapabilities", "CapabilityBoundingSet"] {
        let line = format!("{key}={}", RIGHTS.join(" "));
        assert!(drop_in.lines().any(|l| l == line), "{line}");
    }
    let with = |rights: &[&str]| {
        let set = rights.iter().fold("-all".to_owned(), |set, right| {
            set + ",+" + &right["CAP_".len()..].to_lowercase()
        });
        apart(move || {
            links(N6::Port);
            Command::new("setpriv")
                .args(["--no-new-privs", &format!("--inh-caps={set}")])
                .arg(format!("--bounding-set={set}"))
                .arg(std::env::current_exe().expect("it runs"))
                .args(["--exact", "with_few_rights", "--ignored"])
                .output()
        })
    };
    let Ok(done) = with(&RIGHTS) else {
        eprintln!("skipped: no setpriv (util-linux)");
        return;
    };
    let said = String::from_utf8_lossy(&done.stdout);
    assert!(done.status.success() && said.contains("1 passed"), "{said}");
    // Each is needed.
    for k in 0..RIGHTS.len() {
        let mut fewer = RIGHTS.to_vec();
        let without = fewer.remove(k);
        let done = with(&fewer).expect("it ran before");
        assert!(!done.status.success(), "without {without}");
    }
}
