//! A made-up run whose every number can be worked out by hand.

use slackwater_core::{Body, Datagram, Ecn, Rate, Segment};

use super::*;
use crate::metrics::{METRICS, summarize};

const LINK: NodeId = NodeId(3);

fn ms(n: u64) -> Instant {
    Instant::from_millis(n)
}

fn info(label: &str) -> FlowInfo {
    FlowInfo {
        label: label.to_owned(),
        controller: label.to_owned(),
        ue: None,
        up: false,
        mss: 1000,
        media: false,
        protocol: Protocol::Tcp,
        start: Instant::ZERO,
        stop: ms(2000),
    }
}

fn config(flows: Vec<FlowInfo>) -> RecorderConfig {
    RecorderConfig {
        flows,
        bottleneck: LINK,
        cell: false,
        up_node: None,
        wired: Some(NodeId(9)),
        from: ms(1000),
        to: ms(2000),
        interval: Duration::from_millis(100),
        packets: true,
        tables: Tables {
            packets: true,
            slots: true,
        },
        capture: true,
        max_rows: 1000,
        late: Duration::from_millis(30),
        budget: Duration::from_millis(10),
    }
}

fn segment(payload: u16) -> Body {
    Body::Tcp(Segment {
        payload,
        ..Segment::default()
    })
}

fn packet(flow: u32, created: Instant) -> Packet {
    Packet {
        created,
        flow: FlowId(flow),
        len: 1052,
        body: segment(1000),
        ecn: Ecn::Ect0,
        ..Packet::default()
    }
}

fn near(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-9 + 0.004 * b.abs(), "{a} is not {b}");
}

/// Two flows for two seconds: one packet each 10 ms to flow 0, each 30 ms to flow 1; delays grow in the second half.
fn run() -> RunRecorder {
    let mut r = RunRecorder::new(config(vec![info("a"), info("b")]));
    for step in 0..200u64 {
        let now = ms(10 * step + 5);
        for flow in 0..2u32 {
            if flow == 1 && step % 3 != 0 {
                continue;
            }
            let late = step >= 150;
            let queue = Duration::from_millis(if late { 20 } else { 5 });
            let p = packet(flow, now);
            r.packet(now, LINK, &p, PacketEvent::Sent);
            r.packet(
                now + queue,
                LINK,
                &p,
                PacketEvent::Dequeued {
                    sojourn: queue,
                    radio: None,
                },
            );
            r.packet(
                now + queue,
                NodeId(9),
                &p,
                PacketEvent::Dequeued {
                    sojourn: Duration::from_millis(1),
                    radio: None,
                },
            );
            r.packet(
                now + queue + Duration::from_millis(15),
                LINK,
                &p,
                PacketEvent::Delivered,
            );
            let ack = Packet {
                dir: Direction::Up,
                body: segment(0),
                ..p
            };
            r.packet(now, LINK, &ack, PacketEvent::Delivered);
        }
    }
    for step in 0..=20u64 {
        let now = ms(100 * step);
        for flow in 0..2 {
            let mut s = FlowSample::default();
            s.cwnd = Bytes(1000 * (step + 1));
            s.srtt = Duration::from_millis(step);
            s.delivered = Bytes(10_000 * step);
            s.retransmits = step;
            r.flow(now, FlowId(flow), &s);
        }
        r.internals(now, FlowId(0), &[("w_max", step as f64)]);
        let mut l = LinkSample::default();
        l.hol = Duration::from_millis(step);
        l.capacity = Bytes(20_000 * step);
        l.carried = Bytes(15_000 * step);
        r.link(now, LINK, 0, &l);
    }
    r
}

#[test]
fn counters_leave_out_the_warm_up_and_the_acknowledgments() {
    let r = run();
    assert_eq!(r.flows[0].sent, 100);
    assert_eq!(r.flows[1].sent, 33, "steps 102 to 198");
    // Rows are kept of everything, up to the limit.
    assert_eq!(r.rows.len(), 1000);
    let events = 267 * 5;
    assert_eq!(r.left_out.packet_rows, events - 1000);
    // A quarter of the row limit: 250 of the 267 packets and as many acknowledgments.
    assert_eq!(r.captured.len(), 250);
    assert_eq!(r.left_out.captured, 267 * 2 - 250);
    assert!(r.captured[0].sent && !r.captured[1].sent);
}

#[test]
fn the_summary_is_what_a_hand_works_out() {
    let summary = summarize(&run());
    let f = &summary.flows[0];
    // 10,000 bytes each 100 ms.
    near(f.goodput_mbps, 0.8);
    near(summary.goodput_mbps, 1.6);
    near(summary.utilisation.expect("sampled"), 0.75);
    near(summary.links[0].capacity_mbps.expect("sampled"), 1.6);
    assert_eq!(summary.links[0].name, "link");
    // Samples 10 to 20 lie in the measured second.
    let srtt = f.srtt_ms.expect("sampled");
    assert_eq!(
        (srtt.min, srtt.p50, srtt.max, srtt.count),
        (10.0, 15.0, 20.0, 11)
    );
    assert_eq!(srtt.p95, 20.0);
    let cwnd = f.cwnd_packets.expect("sampled");
    assert_eq!((cwnd.min, cwnd.p50, cwnd.max), (11.0, 16.0, 21.0));
    assert_eq!(f.retransmits, 10);
    // Sample 10 is exactly at the budget: only the ten beyond it count.
    near(f.over_budget.expect("sampled"), 10.0 / 11.0);
    assert_eq!(f.loss, 0.0);
    let queue = f.queue_delay_ms.expect("packets");
    near(queue.min, 5.0);
    near(queue.max, 20.0);
    near(f.wired_delay_ms.expect("packets").p50, 1.0);
    // One-way delay is 20 ms, and 35 ms from step 150 on; late is beyond 30 ms.
    near(f.one_way_ms.expect("packets").p10, 20.0);
    near(f.one_way_ms.expect("packets").p90, 35.0);
    assert!((f.late_share.expect("packets") - 0.5).abs() < 0.03);
}

#[test]
fn fairness_names_its_three_readings() {
    let summary = summarize(&run());
    let jain = summary.jain.expect("two flows");
    // Flow 0 delivers three packets for each of flow 1.
    let expected = 16.0 / 20.0;
    assert!((jain.long_term - expected).abs() < 0.01, "{jain:?}");
    assert!((jain.mean_1s.expect("a second") - expected).abs() < 0.01);
    assert!(jain.mean_100ms.expect("tenths") < jain.long_term + 0.02);
    assert_eq!((jain.from_s, jain.to_s), (1.0, 2.0));
}

#[test]
fn a_datagram_stream_takes_no_share() {
    let mut c = config(vec![info("a"), info("b")]);
    c.flows[1].controller = String::new();
    let mut r = RunRecorder::new(c);
    for flow in 0..2 {
        r.packet(
            ms(1500),
            LINK,
            &packet(flow, ms(1490)),
            PacketEvent::Delivered,
        );
    }
    let summary = summarize(&r);
    assert_eq!(summary.jain, None);
    near(summary.flows[1].goodput_mbps, 0.008);
}

/// Of many flows the samples are far apart: a flow that starts between two delivers a part, or all, before the next one.
#[test]
fn what_a_flow_delivers_before_its_first_sample_is_in_its_goodput() {
    // It starts at 1.05 s, and has 40,000 bytes by the sample at 1.1 s and 80,000 by the last one at 2 s, with three segments sent again.
    let goodput = |start: Instant, first: u64, resent: u64| {
        let mut c = config(vec![info("a")]);
        c.flows[0].start = start;
        let mut r = RunRecorder::new(c);
        for step in 0..=20u64 {
            let mut s = FlowSample::default();
            s.delivered = Bytes(if step < 11 { 0 } else { first });
            s.retransmits = if step < 11 { 0 } else { resent };
            if step == 20 {
                s.delivered = Bytes(80_000);
            }
            r.flow(ms(100 * step), FlowId(0), &s);
        }
        let f = &summarize(&r).flows[0];
        (f.goodput_mbps, f.retransmits)
    };
    let (mbps, retransmits) = goodput(ms(1050), 40_000, 3);
    near(mbps, 0.64 / 0.95);
    assert_eq!(retransmits, 3);
    // All of it before that sample.
    near(goodput(ms(1050), 80_000, 0).0, 0.64 / 0.95);
    // A flow that starts with a sample has the same as before, and one that starts in the warm-up loses what it delivered there.
    near(goodput(ms(1000), 0, 0).0, 0.64);
    near(goodput(ms(500), 0, 0).0, 0.64);
}

#[test]
fn drops_and_marks_are_counted_by_reason() {
    let mut r = RunRecorder::new(config(vec![info("a")]));
    let p = packet(0, ms(1500));
    for _ in 0..8 {
        r.packet(ms(1500), LINK, &p, PacketEvent::Sent);
    }
    r.packet(ms(1501), LINK, &p, PacketEvent::Dropped(DropReason::Full));
    r.packet(ms(1502), LINK, &p, PacketEvent::Dropped(DropReason::Law));
    r.packet(ms(1502), LINK, &p, PacketEvent::Marked);
    r.packet(ms(500), LINK, &p, PacketEvent::Dropped(DropReason::Full));
    r.transfer(ms(1700), FlowId(0), ms(1450), Bytes(5));
    let f = &summarize(&r).flows[0];
    assert_eq!((f.loss, f.mark_share), (0.25, 0.125));
    assert_eq!(f.drops.get("full"), Some(&1));
    assert_eq!(f.drops.get("law"), Some(&1));
    assert_eq!(r.flows[0].drop_times.len(), 3, "plots show the warm-up");
    near(f.fct_ms.expect("one transfer").p50, 250.0);
}

#[test]
fn late_bytes_of_a_transfer_are_counted_one_by_one() {
    let mut r = RunRecorder::new(config(vec![info("a")]));
    // Late is beyond 30 ms.
    r.piece(ms(1520), FlowId(0), ms(1500), Bytes(100));
    r.piece(ms(1530), FlowId(0), ms(1500), Bytes(30));
    r.piece(ms(1531), FlowId(0), ms(1500), Bytes(7));
    r.transfer(ms(1531), FlowId(0), ms(1500), Bytes(137));
    r.piece(ms(1540), FlowId(0), ms(1516), Bytes(10));
    r.transfer(ms(1540), FlowId(0), ms(1516), Bytes(10));
    let late: Vec<u64> = r.flows[0].transfers.iter().map(|t| t.late.get()).collect();
    assert_eq!(late, [7, 0]);
}

#[test]
fn late_bytes_of_a_frame_that_lost_a_packet_are_not_those_of_another() {
    let mut r = RunRecorder::new(config(vec![info("a")]));
    let datagram = |created| Packet {
        body: Body::Datagram(Datagram {
            payload: 1000,
            ..Datagram::default()
        }),
        ..packet(0, created)
    };
    // Late is beyond 30 ms. Of the first frame a packet is lost, and two of the second one overtake its last.
    let arrivals = [(1540, 1500), (1560, 1516), (1561, 1500), (1562, 1516)];
    for (now, created) in arrivals {
        let p = datagram(ms(created));
        r.packet(ms(now), LINK, &p, PacketEvent::Delivered);
    }
    r.transfer(ms(1562), FlowId(0), ms(1516), Bytes(2000));
    r.transfer(ms(1570), FlowId(0), ms(1560), Bytes(2000));
    let late: Vec<u64> = r.flows[0].transfers.iter().map(|t| t.late.get()).collect();
    assert_eq!(late, [2000, 0]);
}

#[test]
fn a_run_in_which_nothing_happened_has_a_summary() {
    let summary = summarize(&RunRecorder::new(config(vec![info("a"), info("b")])));
    assert_eq!(summary.goodput_mbps, 0.0);
    assert_eq!(summary.jain, None);
    for m in METRICS {
        let _ = m.of_run(&summary);
    }
}

#[test]
fn a_cell_keeps_the_queues_that_carry_data() {
    let mut c = config(vec![info("a"), info("b")]);
    c.cell = true;
    (c.flows[0].ue, c.flows[1].ue) = (Some(0), Some(2));
    c.flows[1].up = true;
    let mut r = RunRecorder::new(c);
    for step in 0..3 {
        for index in [0, 1, 2, 3, 4, 5, CELL_DOWN, CELL_UP] {
            let mut s = LinkSample::default();
            s.packets = index;
            r.link(ms(step), LINK, index, &s);
        }
    }
    let kept: Vec<(u32, Vec<u32>)> = r
        .links
        .iter()
        .map(|l| (l.index, l.series.packets.clone()))
        .collect();
    let row = |i: u32| (i, vec![i; 3]);
    assert_eq!(kept, [row(0), row(5), row(CELL_DOWN), row(CELL_UP)]);
    assert_eq!(r.link_of(FlowId(0)).map(|l| l.index), Some(0));
    assert_eq!(r.link_of(FlowId(1)).map(|l| l.index), Some(5));
}

#[test]
fn many_flows_are_sampled_less_often() {
    let mut c = config(vec![info("a"); 1000]);
    c.interval = Duration::from_millis(10);
    c.to = ms(60_000);
    // 6,000 steps of 2,000 rows are twelve million: every twelfth is kept.
    assert_eq!(c.sampling(), Duration::from_millis(120));
    c.flows.truncate(1);
    assert_eq!(c.sampling(), Duration::from_millis(10));
}

#[test]
fn internals_that_come_and_go_leave_gaps() {
    let mut i = Internals::default();
    i.push(ms(1), &[("x", 1.0)]);
    i.push(ms(2), &[("y", 2.0)]);
    i.push(ms(3), &[("x", 3.0), ("y", 4.0)]);
    assert_eq!(i.columns[0].0, "x");
    assert!(i.columns[0].1[1].is_nan() && i.columns[1].1[0].is_nan());
    assert_eq!((i.columns[0].1[2], i.columns[1].1[2]), (3.0, 4.0));
}

#[test]
fn the_lean_recorder_counts_data_alone() {
    let mut r = LeanRecorder::new([false]);
    let p = packet(0, ms(1));
    let ack = Packet {
        dir: Direction::Up,
        body: segment(0),
        ..p
    };
    r.packet(ms(1), LINK, &p, PacketEvent::Sent);
    r.packet(ms(3), LINK, &p, PacketEvent::Delivered);
    r.packet(ms(3), LINK, &ack, PacketEvent::Sent);
    assert_eq!(r.sampling(), None);
    let f = r.flows[0];
    assert_eq!(
        (f.sent, f.delivered, f.payload, f.one_way),
        (1, 1, 1000, 2_000_000)
    );
    let rate = Rate::from_bytes_over(Bytes(f.payload), Duration::from_millis(2));
    assert_eq!(rate, Rate::from_mbps(4.0));
}

/// A queue that grows by a packet each instant, and a flow with one internal, sampled until `end` at the recorder's own times.
fn sample_until(r: &mut RunRecorder, end: Instant) {
    let mut now = Instant::ZERO;
    let mut link = LinkSample::default();
    while now < end {
        r.flow(now, FlowId(0), &FlowSample::default());
        r.internals(now, FlowId(0), &[("x", now.as_secs_f64())]);
        link.packets = (now.as_nanos() / 20_000_000) as u32;
        r.link(now, LINK, 0, &link);
        now += r.sampling().expect("it samples");
    }
}

#[test]
fn a_run_without_an_end_holds_no_more_samples_than_fit() {
    let mut r = RunRecorder::new(config(vec![info("a")]));
    // 21 values an instant: 13 of the sender, an internal with its time, 6 of the queue.
    r.open_ended(Duration::from_millis(20), 21 * 1000);
    let mut most = 0;
    for minutes in 1..=8 {
        let mut again = RunRecorder::new(config(vec![info("a")]));
        again.open_ended(Duration::from_millis(20), 21 * 1000);
        sample_until(&mut again, ms(minutes * 60_000));
        most = most.max(again.flows[0].series.time.len());
        r = again;
    }
    // An even number of instants is thinned, before one more comes.
    assert!((900..=1002).contains(&most), "{most} instants");

    // 24,000 instants of 20 ms: thinned five times, to 640 ms.
    let (flow, queue) = (&r.flows[0], &r.links[0].series);
    assert_eq!(r.interval(), Duration::from_millis(640));
    for time in [&flow.series.time, &flow.internals.time, &queue.time] {
        assert!(time.is_sorted_by(|a, b| b - a == 640_000_000), "{time:?}");
        assert_eq!(time.len(), 750);
    }
    // What is left is what was sampled at those times.
    let of_time = |t: &u64| *t as f64 * 1e-9;
    let x = &flow.internals.columns[0].1;
    assert!(
        x.iter().eq(flow
            .internals
            .time
            .iter()
            .map(of_time)
            .collect::<Vec<_>>()
            .iter())
    );
    assert!(
        queue
            .packets
            .iter()
            .zip(&queue.time)
            .all(|(p, t)| u64::from(*p) == t / 20_000_000)
    );
}

#[test]
fn a_run_without_an_end_joins_its_bins_and_keeps_their_sums() {
    let mut c = config(vec![info("a"), info("b")]);
    let minutes = 40 * 24 * 60;
    let end = ms(minutes * 60_000);
    (c.from, c.to) = (Instant::ZERO, end);
    for info in &mut c.flows {
        info.stop = end;
    }
    let mut r = RunRecorder::new(c);
    r.open_ended(Duration::from_secs(60), u64::MAX);
    // Both deliver a packet each minute for 40 days: 69 million tenths of a second.
    for k in 0..minutes {
        let now = ms(k * 60_000);
        for flow in 0..2 {
            r.packet(now, LINK, &packet(flow, now), PacketEvent::Delivered);
        }
        r.link(now, LINK, 0, &LinkSample::default());
    }
    let bins: usize = r.flows.iter().map(|f| f.bins.len()).sum();
    assert!(bins as u64 <= MAX_BINS, "{bins}");
    assert_eq!(r.bin(), Duration::from_secs(10));
    for flow in &r.flows {
        let delivered: u64 = flow.bins.iter().map(|b| b.delivered).sum();
        assert_eq!(delivered, 1000 * minutes);
        // A packet each minute is one in each sixth bin of ten seconds.
        assert!(
            flow.bins
                .iter()
                .enumerate()
                .all(|(k, b)| b.delivered == if k % 6 == 0 { 1000 } else { 0 })
        );
    }
    // Shares are equal, and no bin tells of a second.
    let jain = summarize(&r).jain.expect("two flows");
    assert_eq!(
        (jain.long_term, jain.mean_1s, jain.mean_100ms),
        (1.0, None, None)
    );
}
