//! Zhuge: acknowledgments tell a sender what its next packets will meet, not what its last ones met (Meng et al.,
//! "Achieving Consistent Low Latency for Wireless Real-Time Communications with the Shortest Control Loop", SIGCOMM 2022).
//!
//! When a wireless link slows down, the news of it waits in the queue that it makes: an ACK comes after its packet has
//! left that queue. Zhuge stands where the queue is, foretells the delay of a packet when it comes (the "Fortune
//! Teller", `predict`), and lets the ACKs that pass upwards carry it at once by holding them (the "Feedback Updater").
//! Neither end is changed. An ACK is held by what the packet that comes now will wait beyond what the packet that leaves
//! now has waited, so that a sender's round trip is that of the packets it is about to send.
//!
//! This is the paper's out-of-band half, for protocols whose feedback says "now" (TCP, QUIC). Its in-band half rewrites the
//! arrival times in RTCP feedback, which is encrypted in today's calls; RTP passes untouched here. The paper adds
//! the differences between the delays of successive packets to ACKs, and balances those below zero with tokens; ours is their
//! sum over the packets in the queue, which needs neither. The queue is the cell's RLC, the function stands at the UPF and
//! knows the queue by the reports that CECC uses, so it is late by a report's way. `docs/controllers.md` says more.

mod predict;

use std::collections::BTreeMap;

use slackwater_core::{Bytes, Direction, Duration, Instant, PacketView, UeId};

use crate::{EdgeFunction, RanReport, Verdict};
use predict::Teller;

/// What Zhuge can be told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZhugeConfig {
    /// The rate of the queue is that of so much time (ours).
    pub window: Duration,
    /// The longest hold. Linux lets no retransmission timeout run earlier than this after the smoothed RTT
    /// (`TCP_RTO_MIN`), so a hold alone makes none.
    pub most: Duration,
    /// Without a report for so long nothing is held any more.
    pub stale: Duration,
}

impl Default for ZhugeConfig {
    fn default() -> Self {
        Self {
            window: Duration::from_millis(40),
            most: Duration::from_millis(200),
            stale: Duration::from_millis(20),
        }
    }
}

/// Counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct ZhugeStats {
    /// Acknowledgments that were held for some time.
    pub held: u64,
    /// Acknowledgments that passed at once.
    pub passed: u64,
    /// The time that ACKs were held, together.
    pub time: Duration,
}

/// A connection whose data goes down here.
#[derive(Clone, Copy, Debug)]
struct Flow {
    /// When its last packet upwards leaves: none may overtake it.
    due: Instant,
    /// When its last packet passed, either way.
    used: Instant,
}

/// Connections that are silent are forgotten beyond this many.
const FLOWS: usize = 16_384;
/// How long a connection must have been silent for that.
const SILENT: Duration = Duration::from_secs(60);

/// The function.
#[derive(Clone, Debug)]
pub struct Zhuge<P> {
    config: ZhugeConfig,
    /// By UE.
    tellers: Vec<Teller>,
    /// By the flow key of the packets that go up.
    flows: BTreeMap<u32, Flow>,
    /// Held packets by the time at which they go on, in the order in which they came.
    held: BTreeMap<(Instant, u64), P>,
    /// Bytes of them.
    bytes: u64,
    /// Packets held so far.
    serial: u64,
    stats: ZhugeStats,
}

impl<P> Zhuge<P> {
    /// A function that has heard nothing.
    pub const fn new(config: ZhugeConfig) -> Self {
        Self {
            config,
            tellers: Vec::new(),
            flows: BTreeMap::new(),
            held: BTreeMap::new(),
            bytes: 0,
            serial: 0,
            stats: ZhugeStats {
                held: 0,
                passed: 0,
                time: Duration::ZERO,
            },
        }
    }

    /// Counters.
    pub const fn stats(&self) -> &ZhugeStats {
        &self.stats
    }

    fn teller(&mut self, ue: UeId) -> &mut Teller {
        if self.tellers.len() <= ue.index() {
            self.tellers.resize_with(ue.index() + 1, Teller::default);
        }
        &mut self.tellers[ue.index()]
    }

    /// Data of a connection goes down.
    fn see(&mut self, now: Instant, up_key: u32) {
        if let Some(flow) = self.flows.get_mut(&up_key) {
            flow.used = now;
            return;
        }
        if self.flows.len() >= FLOWS {
            self.flows.retain(|_, flow| now.since(flow.used) < SILENT);
        }
        if self.flows.len() < FLOWS {
            let flow = Flow {
                due: Instant::ZERO,
                used: now,
            };
            self.flows.insert(up_key, flow);
        }
    }
}

/// What a packet upwards is to Zhuge.
enum Kind {
    /// It acknowledges, and nothing else that is known of.
    Ack,
    /// It carries more, and must not overtake acknowledgments of its connection.
    Data,
    /// Its feedback carries its own times, or nothing.
    Other,
}

fn kind(packet: &impl PacketView) -> Kind {
    match packet.tcp() {
        Some(tcp) if tcp.payload == 0 && packet.syn_options().is_none() => Kind::Ack,
        Some(_) => Kind::Data,
        // QUIC hides its acknowledgments; what goes up on a connection that brings data down is taken for one.
        None if packet.spin_bit().is_some() => Kind::Ack,
        None => Kind::Other,
    }
}

impl<P: PacketView> EdgeFunction<P> for Zhuge<P> {
    fn on_packet(&mut self, now: Instant, direction: Direction, ue: UeId, packet: P) -> Verdict<P> {
        if direction == Direction::Down {
            let len = u64::from(packet.len());
            self.teller(ue).on_sent(now, len);
            if !matches!(kind(&packet), Kind::Other) {
                self.see(now, packet.reverse_key());
            }
            return Verdict::Forward(packet);
        }
        let kind = kind(&packet);
        let key = packet.flow_key();
        if matches!(kind, Kind::Other) || !self.flows.contains_key(&key) {
            return Verdict::Forward(packet);
        }
        let config = self.config;
        let hold = match kind {
            Kind::Ack => self.teller(ue).surplus(now, &config).min(config.most),
            Kind::Data | Kind::Other => Duration::ZERO,
        };
        let flow = self.flows.get_mut(&key).expect("it was just seen");
        flow.used = now;
        let due = (now + hold).max(flow.due);
        if due <= now {
            self.stats.passed += 1;
            return Verdict::Forward(packet);
        }
        flow.due = due;
        self.stats.held += 1;
        self.stats.time += due.since(now);
        self.bytes += u64::from(packet.len());
        self.held.insert((due, self.serial), packet);
        self.serial += 1;
        Verdict::Hold
    }

    fn on_report(&mut self, now: Instant, report: &RanReport) {
        if let RanReport::Backlog {
            at,
            ue,
            flow,
            bytes,
        } = *report
        {
            let window = self.config.window;
            self.teller(ue)
                .on_backlog(now, at, flow, bytes.get(), window);
        }
    }

    fn release(&mut self, now: Instant) -> Option<(Direction, P)> {
        let (&key, _) = self.held.first_key_value()?;
        if key.0 > now {
            return None;
        }
        let packet = self.held.remove(&key).expect("it is the first");
        self.bytes -= u64::from(packet.len());
        Some((Direction::Up, packet))
    }

    fn next_timer(&self) -> Option<Instant> {
        self.held.first_key_value().map(|(key, _)| key.0)
    }

    fn held(&self) -> Bytes {
        Bytes(self.bytes)
    }

    fn internals(&self, ue: UeId, out: &mut Vec<(&'static str, f64)>) {
        if let Some(teller) = self.tellers.get(ue.index()) {
            let (delay, surplus) = teller.told();
            out.push(("zhuge_delay_ms", delay.as_millis_f64()));
            let hold = surplus.min(self.config.most);
            out.push(("zhuge_hold_ms", hold.as_millis_f64()));
        }
    }
}

#[cfg(test)]
mod tests;
