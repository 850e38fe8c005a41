//! The two ends over a link with a rate, a delay, the linear ramp of marks, and losses.

mod path;

use proptest::prelude::*;
use slackwater_control::registry::Config as ControlConfig;
use slackwater_control::{Intent, build_media};
use slackwater_core::{Body, Bytes, Draw, Duration, Ecn, FlowId, Instant, Media, Packet, Rate};
use slackwater_wire::rtcp;

use self::path::{Path, START, run, steady, with};
use super::feedback::nack_len;
use super::*;

fn frame_of(packet: &Packet) -> u32 {
    match &packet.body {
        Body::Media(media) => media.frame,
        _ => panic!("not media: {packet:?}"),
    }
}

fn no_noise() -> RtpConfig {
    let mut config = RtpConfig::default();
    config.sender.source.sizes = Sizes::Even(0.0);
    config
}

/// What a sender of 5 Mbit/s, paced at 1.05 times that, sends in 10 s where it is called each `tick` alone: Mbit/s, and the
/// most bytes of one call.
fn called_each(tick: Duration, late: Duration) -> (f64, u64) {
    let mut config = no_noise();
    config.sender.late = late;
    // A hurried pacer would make up for it otherwise, by another rate.
    config.sender.overflow = Overflow::Keep;
    let draw = Draw::new(1);
    let controller = steady(5.0, 1.0);
    let mut sender = RtpSender::new(
        FlowId(0),
        false,
        &config,
        controller,
        START,
        Instant::MAX,
        draw,
    );
    let (mut out, mut all, mut most) = (vec![], 0, 0);
    for call in 1.. {
        let now = START.saturating_add(tick * call);
        if now.since(START) > Duration::from_secs(10) {
            break;
        }
        sender.on_timer(now, &mut out);
        let bytes: u64 = out.drain(..).map(|p| u64::from(p.len)).sum();
        all += bytes;
        most = most.max(bytes);
    }
    (all as f64 * 8.0 / 10.0 / 1e6, most)
}

#[test]
fn a_late_caller_loses_no_rate_and_sends_a_bounded_burst() {
    let (exact, _) = called_each(Duration::from_micros(100), Duration::ZERO);
    let late = Duration::from_millis(10);
    for tick in [1, 4, 9] {
        let tick = Duration::from_millis(tick);
        let (rate, most) = called_each(tick, late);
        assert!((rate / exact - 1.0).abs() < 0.01, "{tick}: {rate} {exact}");
        // What is due since the last call, in whole packets, and one more.
        let due = Rate::from_mbps(5.25).bytes_in(tick).0;
        assert!(most <= due + 2 * 1200, "{tick}: {most}");
    }
    // Later than what may be made up for: the burst stays, and the rate falls.
    let (rate, most) = called_each(Duration::from_millis(40), late);
    assert!(
        most <= Rate::from_mbps(5.25).bytes_in(late).0 + 2 * 1200,
        "{most}"
    );
    assert!(rate < exact * 0.5, "{rate}");
    // Without: what a pacer that takes lateness for silence loses.
    let (rate, _) = called_each(Duration::from_millis(9), Duration::ZERO);
    assert!(rate < exact * 0.5, "{rate}");
}

#[test]
fn a_frame_is_cut_evenly_paced_and_shown() {
    let config = no_noise();
    let r = run(&config, steady(5.0, 1.0), &Path::default(), 10);
    let stats = r.receiver.stats();
    assert_eq!(r.sender.stats().frames, 600);
    assert_eq!(
        (stats.shown, stats.lost, stats.freezes, stats.late),
        (600, 0, 0, 0)
    );
    let wire: u64 = r.media.iter().map(|p| u64::from(p.payload())).sum();
    assert_eq!(r.receiver.delivered(), Bytes(wire));
    let rate = wire as f64 * 8.0 / 10.0 / 1e6;
    // 5 Mbit/s in full packets are 5.217 on the wire, of which ten headers a frame leave 4.977.
    assert!((rate - 4.977).abs() < 0.001, "{rate}");
    // 10,369 bytes of a frame in ten packets of one size.
    let frame: Vec<_> = r.media.iter().filter(|p| frame_of(p) == 100).collect();
    assert_eq!(frame.len(), 10);
    assert!(frame.iter().all(|p| p.payload().abs_diff(1037) <= 1));
    assert!(
        frame
            .iter()
            .all(|p| p.len == p.payload() + 50 && p.ecn == Ecn::Ect1)
    );
    // They leave over the interval, not at once.
    let spread = frame[9].created - frame[0].created;
    assert!(spread > Duration::from_millis(13), "{spread}");
    let f = r.frames.iter().find(|f| f.number == 100).unwrap();
    let delay = f.delay().unwrap();
    assert!(delay > Duration::from_millis(18) && delay < Duration::from_millis(25));
    assert!(f.shown.unwrap() >= f.completed.unwrap() && f.packets == 10);
    // Faster than the target, it leaves sooner.
    let fast = run(&config, steady(5.0, 2.5), &Path::default(), 1);
    let f = fast.frames.iter().find(|f| f.number == 30).unwrap();
    assert!(f.delay().unwrap() < delay);
}

#[test]
fn one_report_a_frame_or_one_an_interval() {
    let mut config = no_noise();
    let r = run(&config, steady(5.0, 1.0), &Path::default(), 10);
    assert_eq!(r.receiver.stats().reports, 600);
    assert_eq!(r.sender.stats().reports, 600);
    assert_eq!(r.told("received"), r.sender.stats().packets as f64);
    assert_eq!((r.told("lost"), r.told("out_of_order")), (0.0, 0.0));
    // Ten packets: 20 bytes and 2 for each, under IP, UDP and SRTCP.
    assert!(r.rtcp.iter().all(|p| p.len == 40 + 42));
    // Both ways, and the transmission of a packet.
    assert!((r.told("rtt") - 10.4).abs() < 0.5, "{}", r.told("rtt"));
    config.receiver.cadence = Cadence::Interval(Duration::from_millis(50));
    let r = run(&config, steady(5.0, 1.0), &Path::default(), 10);
    assert_eq!(r.receiver.stats().reports, 200);
    assert_eq!(r.told("received"), r.sender.stats().packets as f64);
}

#[test]
fn reports_survive_losses_both_ways_without_counting_twice() {
    for (format, nack) in [
        (Format::Ccfb, false),
        (Format::Twcc, true),
        (Format::Ccfb, true),
    ] {
        let mut config = no_noise();
        config.format = format;
        config.receiver.nack = nack;
        let path = Path {
            loss: [0.02, 0.0],
            ..Path::default()
        };
        let r = run(&config, steady(5.0, 1.2), &path, 20);
        // All that was dropped is found, but for the last few.
        let (dropped, found) = (r.drops as f64, r.told("lost"));
        assert!(
            found <= dropped && found >= dropped - 4.0,
            "{found} {dropped}"
        );
        let sent = r.sender.stats().packets as f64;
        assert_eq!(r.told("received") + dropped, sent, "{format:?} {nack}");
        let stats = r.receiver.stats();
        assert_eq!(stats.shown + stats.lost, 1200);
        if nack {
            assert!(stats.lost <= 1, "{stats:?}");
            assert!(r.sender.stats().retransmits as f64 >= dropped * 0.9);
            assert!(r.frames.iter().any(|f| f.retransmitted > 0));
        } else {
            // Ten packets a frame: one frame in five or six is hit.
            assert!((150..300).contains(&stats.lost), "{stats:?}");
            assert_eq!(r.sender.stats().retransmits, 0);
        }
        let path = Path {
            loss: [0.0, 0.3],
            ..Path::default()
        };
        let r = run(&config, steady(5.0, 1.2), &path, 20);
        let told = r.told("received");
        // What a lost report spoke of is not repeated, and is neither received nor lost.
        assert_eq!((r.told("lost"), r.drops > 300), (0.0, true));
        assert!(told <= r.sender.stats().packets as f64);
        assert!(told > 0.6 * r.sender.stats().packets as f64);
        let path = Path {
            loss: [0.02, 0.3],
            ..Path::default()
        };
        let r = run(&config, steady(5.0, 1.2), &path, 20);
        let (lost, sent) = (r.told("lost"), r.sender.stats().packets as f64);
        // Of the packets that were lost, those that an arrived report speaks of.
        assert!(lost > 0.01 * sent && lost < 0.02 * sent, "{lost} {sent}");
    }
}

#[test]
fn marks_are_told_by_ccfb_and_hidden_by_twcc() {
    let mut config = no_noise();
    let path = Path {
        rate: Rate::from_mbps(5.2),
        ..Path::default()
    };
    let r = run(&config, steady(5.0, 1.0), &path, 5);
    assert!(r.marks > 100);
    assert_eq!(r.told("marked"), r.marks as f64);
    assert_eq!(r.receiver.stats().marked, r.marks);
    config.format = Format::Twcc;
    let r = run(&config, steady(5.0, 1.0), &path, 5);
    assert!(r.marks > 100 && r.told("marked") == 0.0);
    assert_eq!(r.media[0].len - r.media[0].payload(), 58);
}

#[test]
fn times_are_as_coarse_as_the_format_and_by_the_receivers_clock() {
    for (format, grain) in [(Format::Ccfb, 0.5e6), (Format::Twcc, 0.25e6)] {
        let mut config = no_noise();
        config.format = format;
        config.receiver.clock_offset = Duration::from_secs(1000);
        let path = Path {
            rate: Rate::from_mbps(1000.0),
            ..Path::default()
        };
        let r = run(&config, steady(5.0, 1.0), &path, 5);
        let delay = 1e12 + 5e6;
        let (least, most) = (r.told("least") - delay, r.told("most") - delay);
        assert!(least > -grain - 2e4 && most < grain + 4e4, "{least} {most}");
        assert!(most - least > 0.2e6, "{format:?}: not exact");
    }
}

#[test]
fn lost_frames_freeze_the_picture_and_ask_for_a_key() {
    let mut config = no_noise();
    config.receiver.nack = false;
    config.receiver.needs_key = true;
    let path = Path {
        loss: [0.01, 0.0],
        delay: Duration::from_millis(100),
        ..Path::default()
    };
    let r = run(&config, steady(5.0, 1.2), &path, 20);
    let stats = r.receiver.stats();
    assert!(stats.plis > 10 && stats.freezes > 10, "{stats:?}");
    assert!(stats.frozen > Duration::from_secs(2), "{stats:?}");
    assert_eq!(stats.shown + stats.lost, 1200);
    assert!(r.frames.iter().filter(|f| f.key).count() > 10);
    // Shown frames come in order, and a gap ends with a key frame.
    let mut shown = r.frames.iter().filter(|f| f.shown.is_some());
    let mut last = shown.next().unwrap();
    for f in shown {
        assert!(f.shown > last.shown && f.number > last.number);
        assert!(f.number == last.number + 1 || f.key);
        last = f;
    }
    // Without the need, single frames are missing.
    config.receiver.needs_key = false;
    let r = run(&config, steady(5.0, 1.2), &path, 20);
    let concealed = r.receiver.stats();
    assert_eq!(concealed.plis, 0);
    assert!(concealed.lost < stats.lost && concealed.freezes == 0);
}

#[test]
fn a_slow_link_makes_frames_late() {
    let config = no_noise();
    let path = Path {
        rate: Rate::from_mbps(4.0),
        ..Path::default()
    };
    let r = run(&config, steady(5.0, 1.0), &path, 5);
    let stats = r.receiver.stats();
    assert!(stats.late > 150, "{stats:?}");
    let late = r.frames.iter().filter(|f| f.late && f.completed.is_some());
    assert_eq!(late.count() as u64, stats.late);
}

#[test]
fn what_waits_for_the_pacer_hurries_or_goes() {
    let mut config = no_noise();
    let slow = || {
        with(Intent {
            target: Some(Rate::from_mbps(5.0)),
            pacing: Some(Rate::from_mbps(2.5)),
            ..Intent::default()
        })
    };
    let waits = |config: &RtpConfig| {
        let stats = run(config, slow(), &Path::default(), 10).sender.stats();
        (stats.longest_wait, stats.discarded)
    };
    config.sender.overflow = Overflow::Keep;
    let (kept, none) = waits(&config);
    assert!(kept > Duration::from_secs(4) && none == 0, "{kept}");
    config.sender.overflow = Overflow::Hurry(Some(Duration::from_millis(500)));
    let (hurried, none) = waits(&config);
    assert!(
        hurried < Duration::from_millis(600) && none == 0,
        "{hurried}"
    );
    config.sender.overflow = Overflow::Discard(Duration::from_millis(200));
    let (thrown, frames) = waits(&config);
    assert!(
        thrown < Duration::from_millis(230) && frames > 200,
        "{thrown} {frames}"
    );
    // Nobody asks for what never left.
    let r = run(&config, slow(), &Path::default(), 10);
    assert_eq!((r.receiver.stats().nacks, r.told("lost")), (0, 0.0));
    // The factor of the configuration goes before the controller's rate.
    config.sender.pacing = Some(1.2);
    let (paced, frames) = waits(&config);
    assert!(paced < Duration::from_millis(20) && frames == 0, "{paced}");
}

#[test]
fn frames_of_a_prompt_controller_leave_before_the_next_one_comes() {
    let mut config = RtpConfig::default();
    // Sizes as Chromium's: at 1.1 rates some wait for many others.
    config.sender.source.sizes = Sizes::CHROMIUM;
    let path = Path {
        rate: Rate::from_mbps(100.0),
        ..Path::default()
    };
    let longest = |prompt| {
        let run = run(&config, path::prompt(5.0, 1.1, prompt), &path, 30);
        run.sender.stats().longest_wait.as_millis_f64()
    };
    let (prompt, patient) = (longest(true), longest(false));
    // Twice the time of a frame: the pacer counts half of what the oldest waited.
    assert!(prompt < 2.0 * 1e3 / config.sender.source.fps, "{prompt}");
    assert!(patient > 200.0, "{patient}");
}

#[test]
fn a_pacer_at_the_targets_rate_keeps_up_with_headers_noise_and_retransmissions() {
    for (mbps, loss) in [(0.4, 0.0), (1.3, 0.0), (5.0, 0.02), (24.0, 0.0)] {
        let mut config = RtpConfig::default();
        config.sender.pacing = Some(1.0);
        config.sender.overflow = Overflow::Keep;
        let path = Path {
            loss: [loss, 0.0],
            rate: Rate::from_mbps(100.0),
            ..Path::default()
        };
        let r = run(&config, steady(mbps, 9.0), &path, 60);
        let stats = r.sender.stats();
        let wait = stats.longest_wait;
        assert!(wait < Duration::from_millis(50), "{mbps}: {wait}");
        // The rate on the wire is the target's, with the headers of full packets.
        let rate = stats.bytes.0 as f64 * 8.0 / 60.0 / 1e6;
        let wanted = mbps * 1200.0 / 1150.0;
        assert!((rate / wanted - 1.0).abs() < 0.01, "{rate} {wanted}");
    }
}

#[test]
fn a_window_holds_media_back_and_reports_open_it() {
    let config = no_noise();
    let window = Bytes(6000);
    let held = with(Intent {
        target: Some(Rate::from_mbps(10.0)),
        pacing: Some(Rate::from_mbps(15.0)),
        window: Some(window),
        ..Intent::default()
    });
    let path = Path {
        delay: Duration::from_millis(20),
        loss: [0.0, 0.2],
        ..Path::default()
    };
    let r = run(&config, held, &path, 10);
    // A window each round trip, and the wait for the end of a frame: far from 10 Mbit/s, and never stuck.
    let bytes = r.sender.stats().bytes.0 as f64 * 8.0 / 10.0 / 1e6;
    assert!((0.2..1.3).contains(&bytes), "{bytes}");
    assert!(r.sender.sample().in_flight <= window);
    let last = r.media.last().unwrap().created;
    assert!(last > START + Duration::from_secs(9), "{last}");
}

/// A window and a half (`SCReAM`'s room where the queue varies) is less than a round trip and a frame's time.
#[test]
fn what_no_report_can_speak_of_yet_leaves_room_in_a_window() {
    let target = Rate::from_mbps(4.0);
    let rtt = Duration::from_millis(40);
    let frame = Duration::from_secs_f64(1.0 / 30.0);
    let held = with(Intent {
        target: Some(target),
        pacing: Some(target.mul_f64(1.5)),
        window: Some(target.bytes_in(rtt * 3 / 2)),
        ..Intent::default()
    });
    let path = Path {
        delay: rtt / 2,
        ..Path::default()
    };
    let wait = |unreported| {
        let mut config = no_noise();
        config.sender.source.fps = 30.0;
        config.sender.overflow = Overflow::Keep;
        config.sender.unreported = unreported;
        let r = run(&config, held.clone(), &path, 10);
        r.sender.stats().longest_wait
    };
    let (without, with) = (wait(Duration::ZERO), wait(frame));
    assert!(without > Duration::from_millis(300), "{without}");
    assert!(with < frame, "{with}");
}

#[test]
fn padding_fills_what_media_leaves() {
    let config = no_noise();
    let probing = with(Intent {
        target: Some(Rate::from_mbps(1.0)),
        pacing: Some(Rate::from_mbps(2.5)),
        padding: Rate::from_mbps(6.0),
        ..Intent::default()
    });
    let r = run(&config, probing, &Path::default(), 10);
    let stats = r.sender.stats();
    let rate = stats.bytes.0 as f64 * 8.0 / 10.0 / 1e6;
    assert!((rate - 6.0).abs() < 0.2 && stats.padding > 3000, "{rate}");
    assert_eq!(r.receiver.stats().shown, 600);
    assert_eq!(r.receiver.stats().nacks, 0);
    let mut config = no_noise();
    config.sender.source.most = Rate::from_mbps(1.0);
    let limited = run(&config, steady(5.0, 1.0), &Path::default(), 2);
    assert_eq!(limited.told("limited"), 1.0);
    assert_eq!(r.told("limited"), 0.0);
}

#[test]
fn sl4s_fills_a_marking_link_and_keeps_its_queue_short() {
    let config = RtpConfig::default();
    let path = Path {
        rate: Rate::from_mbps(10.0),
        ..Path::default()
    };
    let control = ControlConfig::new(1150, Draw::new(1));
    let controller = build_media("sl4s", &control).unwrap();
    let r = run(&config, controller, &path, 40);
    let rate = r.receiver.delivered().0 as f64 * 8.0 / 40.0 / 1e6;
    assert!((6.5..9.8).contains(&rate), "{rate}");
    let mut delays: Vec<_> = r.frames.iter().filter_map(Frame::delay).collect();
    delays.sort_unstable();
    assert!(delays[delays.len() * 95 / 100] < Duration::from_millis(60));
}

#[test]
fn runs_repeat_to_the_byte() {
    let config = RtpConfig::default();
    let path = Path {
        loss: [0.01; 2],
        ..Path::default()
    };
    let a = run(&config, steady(5.0, 1.2), &path, 5);
    let b = run(&config, steady(5.0, 1.2), &path, 5);
    assert!(a.media == b.media && a.rtcp == b.rtcp && a.frames == b.frames);
}

#[test]
fn a_mailbox_gives_each_message_once_and_forgets() {
    let mut mailbox = Mailbox::default();
    let numbers: Vec<u32> = (0..3000).map(|_| mailbox.put(Rtcp::Pli)).collect();
    assert_eq!(numbers, (0..3000).collect::<Vec<_>>());
    assert_eq!(mailbox.take(0), None);
    assert_eq!(mailbox.take(2999), Some(Rtcp::Pli));
    assert_eq!(mailbox.take(2999), None);
    assert_eq!(mailbox.take(2990), Some(Rtcp::Pli));
    assert_eq!(mailbox.take(5000), None);
    for number in 0..3000 {
        mailbox.take(number);
    }
    assert_eq!(mailbox.put(Rtcp::Pli), 3000);
    assert_eq!(mailbox.take(3000), Some(Rtcp::Pli));
}

/// Arrivals at steps of up to 100 ms, some missing.
fn arrivals() -> impl Strategy<Value = Arrivals> {
    let packet = prop::option::weighted(0.8, (0..100_000_000_u64, 0..4_u8));
    let steps = prop::collection::vec(packet, 1..300);
    (any::<u16>(), steps).prop_map(|(first, steps)| {
        let mut at = 123_456_789;
        let packets = steps.into_iter().map(|step| {
            let (step, ecn) = step?;
            at += step / if ecn == 0 { 1 } else { 100 };
            Some((Instant::from_nanos(at), Ecn::from_bits(ecn)))
        });
        Arrivals {
            first: u32::from(first),
            packets: packets.collect(),
            made: None,
        }
    })
}

proptest! {
    #[test]
    fn lengths_and_times_are_those_of_real_messages(report in arrivals(), wait in 0..1_000_000_000_u64) {
        let newest = report.packets.iter().flatten().map(|p| p.0).max().unwrap_or_default();
        let now = newest + Duration::from_nanos(wait);

        let mut ours = report.clone();
        ours.encode(now, Format::Ccfb);
        let timestamp = rtcp::Ccfb::timestamp_of(now);
        let made = Instant::from_nanos(u64::from(timestamp) * 1_000_000_000 / 65_536);
        prop_assert_eq!(ours.made, Some(made));
        let ccfb = rtcp::Ccfb {
            timestamp,
            streams: vec![rtcp::Stream {
                packets: report.packets.iter().map(|p| {
                    p.map(|(at, ecn)| rtcp::Arrival::new(ecn, Some(made.since(at))))
                }).collect(),
                ..rtcp::Stream::default()
            }],
            ..rtcp::Ccfb::default()
        };
        let mut bytes = Vec::new();
        ccfb.encode(&mut bytes);
        prop_assert_eq!(ours.len(Format::Ccfb), bytes.len());
        for (ours, theirs) in ours.packets.iter().zip(&ccfb.streams[0].packets) {
            prop_assert_eq!(ours.map(|p| p.1), theirs.map(|p| p.ecn));
            if let (Some((at, _)), Some(theirs)) = (ours, theirs)
                && let Some(before) = theirs.before_report()
            {
                prop_assert_eq!(*at, made.saturating_sub(before));
            }
        }

        let mut ours = report.clone();
        ours.packets.truncate(report.fitting(Format::Twcc));
        prop_assert_eq!(ours.packets.len(), report.packets.len(), "steps of 100 ms fit");
        ours.encode(now, Format::Twcc);
        let ticks: Vec<_> = report.packets.iter().map(|p| p.map(|(at, _)| at.as_nanos() / 250_000)).collect();
        let twcc = rtcp::Twcc::of(report.first as u16, 0, &ticks).unwrap();
        bytes.clear();
        twcc.encode(&mut bytes);
        prop_assert_eq!(ours.len(Format::Twcc), bytes.len());
        for (ours, theirs) in ours.packets.iter().zip(twcc.arrivals()) {
            prop_assert_eq!(ours.map(|p| p.0.as_nanos() / 250_000), theirs.map(u64::from));
        }
    }

    #[test]
    fn nacks_are_as_long_as_real_ones(steps in prop::collection::vec(1..40_u32, 1..50)) {
        let missing: Vec<u32> = steps.iter().scan(0, |at, step| { *at += step; Some(*at) }).collect();
        let mut bytes = Vec::new();
        rtcp::Nack::of(1, 2, missing.iter().map(|n| *n as u16)).encode(&mut bytes);
        prop_assert_eq!(nack_len(&missing), bytes.len());
    }

    #[test]
    fn impossible_packets_and_reports_do_no_harm(
        packets in prop::collection::vec((any::<u32>(), 0..12_u32, 0..12_u32, any::<u32>(), any::<u32>(), any::<u64>()), 0..60),
        reports in prop::collection::vec((any::<u32>(), arrivals(), 0..3_u8), 0..20),
        near: bool,
    ) {
        let config = RtpConfig::default();
        let mut mailbox = Mailbox::default();
        let mut out = Vec::new();
        let mut receiver = RtpReceiver::new(FlowId(0), false, &config);
        let mut sender = RtpSender::new(FlowId(0), false, &config, steady(5.0, 1.0), START, Instant::MAX, Draw::new(1));
        let mut now = START;
        for (seq, index, count, frame, sequence, time) in packets {
            now += Duration::from_millis(1);
            let keep = if near { 0x3ff } else { u32::MAX };
            let media = Media {
                captured: Instant::from_nanos(time),
                number: seq & keep,
                sequence: sequence & keep,
                frame: frame & keep,
                index,
                packets: count,
                payload: 10,
                ..Media::default()
            };
            let packet = Packet { body: Body::Media(media), ..Packet::default() };
            receiver.on_packet(now, &packet, &mut mailbox, &mut out);
            receiver.on_timer(now, &mut mailbox, &mut out);
        }
        for (first, mut report, kind) in reports {
            now += Duration::from_millis(5);
            sender.on_timer(now, &mut out);
            report.first = if near { first & 0x3f } else { first };
            let number = mailbox.put(match kind {
                0 => Rtcp::Arrivals(report),
                1 => Rtcp::Nack(vec![first, first & 0x3f]),
                _ => Rtcp::Pli,
            });
            let body = Body::Rtcp(slackwater_core::Rtcp { message: number });
            let packet = Packet { body, ..Packet::default() };
            sender.on_packet(now, &packet, &mut mailbox, &mut out);
            let in_flight: u64 = sender.stats().bytes.0;
            prop_assert!(sender.sample().in_flight.0 <= in_flight);
        }
    }
}

#[test]
fn a_packet_at_the_end_of_its_numbers_is_one_among_others() {
    let mut receiver = RtpReceiver::new(FlowId(0), true, &no_noise());
    let (mut mailbox, mut out) = (Mailbox::default(), Vec::new());
    for (index, packets) in [(u32::MAX, u32::MAX), (u32::MAX, 1), (0, u32::MAX)] {
        let media = Media {
            number: u32::MAX,
            sequence: u32::MAX,
            frame: u32::MAX,
            index,
            packets,
            payload: 1_000,
            ..Media::default()
        };
        let packet = Packet {
            len: 1_050,
            body: Body::Media(media),
            ..Packet::default()
        };
        receiver.on_packet(START, &packet, &mut mailbox, &mut out);
    }
    assert_eq!(receiver.stats().packets, 3);
}
