use std::collections::VecDeque;

use slackwater_core::PacketView;
use slackwater_queue::QueueView;

use super::*;

/// A FIFO without limit, to test the service alone.
#[derive(Default)]
struct Plain(VecDeque<(Packet, Instant)>);

impl Queue<Packet> for Plain {
    fn enqueue(&mut self, now: Instant, packet: Packet, _sink: &mut dyn Sink<Packet>) {
        self.0.push_back((packet, now));
    }
    fn dequeue(
        &mut self,
        _now: Instant,
        _sink: &mut dyn Sink<Packet>,
    ) -> Option<(Packet, Instant)> {
        self.0.pop_front()
    }
    fn backlog(&self) -> QueueView {
        let bytes = self.0.iter().map(|p| u64::from(p.0.len())).sum();
        QueueView {
            bytes: Bytes(bytes),
            packets: self.0.len() as u32,
        }
    }
    fn head_since(&self) -> Option<Instant> {
        self.0.front().map(|p| p.1)
    }
}

fn link(service: Service) -> Link {
    Link::new(LinkConfig {
        service,
        queue: Box::<Plain>::default(),
    })
}

fn packet(len: u16) -> Packet {
    Packet {
        len,
        ..Packet::default()
    }
}

/// Runs the link until it is idle; departures as (ns, length).
fn drain(link: &mut Link) -> Vec<(u64, u16)> {
    let mut all = vec![];
    let mut out = vec![];
    while let Some(at) = link.next_timer() {
        link.on_timer(at, &mut out, &mut Outcomes::default());
        all.extend(out.drain(..).map(|(p, _)| (at.as_nanos(), p.len)));
    }
    all
}

fn trace(ms: &[u64], period: u64) -> Service {
    Service::Trace {
        opportunities: Arc::from(ms),
        period,
    }
}

#[test]
fn a_full_packet_takes_one_opportunity_and_the_trace_repeats() {
    let mut l = link(trace(&[1, 3, 3], 5));
    let mut o = Outcomes::default();
    for _ in 0..5 {
        l.arrive(Instant::ZERO, packet(1_500), &mut o);
    }
    let at: Vec<u64> = drain(&mut l).iter().map(|d| d.0 / 1_000_000).collect();
    assert_eq!(at, [1, 3, 3, 6, 8]);
}

#[test]
fn small_packets_share_an_opportunity_and_remainders_carry_over() {
    let mut l = link(trace(&[1, 2, 3], 3));
    let mut o = Outcomes::default();
    // 3 x 504 link bytes leave 8 over from the third packet: it ends with the second opportunity.
    for _ in 0..3 {
        l.arrive(Instant::ZERO, packet(500), &mut o);
    }
    assert_eq!(
        drain(&mut l),
        [(1_000_000, 500), (1_000_000, 500), (2_000_000, 500)]
    );
    assert_eq!(l.sample(Instant::from_millis(2)).capacity, Bytes(2 * 1_504));
}

#[test]
fn unused_opportunities_are_lost_including_one_at_the_arrival() {
    let mut l = link(trace(&[1, 2, 3], 3));
    l.arrive(
        Instant::from_millis(2),
        packet(1_500),
        &mut Outcomes::default(),
    );
    assert_eq!(drain(&mut l), [(3_000_000, 1_500)]);
    assert_eq!(l.sample(Instant::from_millis(3)).carried, Bytes(1_504));
    assert_eq!(l.sample(Instant::from_millis(7)).capacity, Bytes(7 * 1_504));
}

#[test]
fn a_rate_step_splits_a_transmission() {
    // 1,000 bytes at 8 Mbit/s take 1 ms; the rate halves after 0.5 ms, so the second half takes 1 ms.
    let steps = Arc::from([
        (Instant::ZERO, Rate::from_mbps(8.0)),
        (Instant::from_nanos(500_000), Rate::from_mbps(4.0)),
    ]);
    let mut l = link(Service::Rate {
        steps,
        period: None,
    });
    l.arrive(Instant::ZERO, packet(1_000), &mut Outcomes::default());
    assert_eq!(drain(&mut l), [(1_500_000, 1_000)]);
    assert_eq!(
        l.sample(Instant::from_nanos(1_500_000)).capacity,
        Bytes(1_000)
    );
}

#[test]
fn a_link_at_rate_zero_waits_for_the_next_repetition_or_for_ever() {
    let steps: Arc<[_]> = Arc::from([
        (Instant::ZERO, Rate::from_mbps(8.0)),
        (Instant::from_millis(1), Rate::ZERO),
    ]);
    let mut once = link(Service::Rate {
        steps: steps.clone(),
        period: None,
    });
    once.arrive(
        Instant::from_millis(2),
        packet(1_000),
        &mut Outcomes::default(),
    );
    assert_eq!(once.next_timer(), None);
    let mut again = link(Service::Rate {
        steps,
        period: Some(Duration::from_millis(10)),
    });
    again.arrive(
        Instant::from_millis(2),
        packet(1_000),
        &mut Outcomes::default(),
    );
    assert_eq!(drain(&mut again), [(11_000_000, 1_000)]);
    let mut dead = link(Service::constant(Rate::ZERO));
    dead.arrive(Instant::ZERO, packet(100), &mut Outcomes::default());
    assert_eq!(dead.next_timer(), None);
}
