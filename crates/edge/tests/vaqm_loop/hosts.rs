//! The ends: AIMD senders and the UE.

use std::collections::{BTreeMap, BTreeSet};

use slackwater_core::{
    Body, Direction, Duration, Ecn, FlowId, Instant, Packet, SackBlock, Segment, SeqNum, TcpFlags,
};

use super::{Event, HEADERS, Loop, MSS, at, ms};

#[derive(Debug, Default)]
pub(super) struct Sender {
    segments: u32,
    ecn: Ecn,
    pub(super) next: u32,
    una: u32,
    cwnd: f64,
    ssthresh: f64,
    sacked: BTreeSet<u32>,
    repeated: BTreeSet<u32>,
    recover: u32,
    in_recovery: bool,
    sent_at: BTreeMap<u32, Instant>,
    srtt: f64,
    rto_epoch: u32,
    backoff: u32,
}

impl Sender {
    pub(super) fn new(segments: u32, ecn: Ecn) -> Self {
        Self {
            segments,
            ecn,
            cwnd: 10.0,
            ssthresh: f64::INFINITY,
            ..Self::default()
        }
    }

    fn in_flight(&self) -> u32 {
        let lost = if self.in_recovery {
            self.lost().filter(|s| !self.repeated.contains(s)).count()
        } else {
            0
        };
        let sacked = self.sacked.range(..self.next).count() + lost;
        (self.next - self.una).saturating_sub(sacked as u32)
    }

    /// Segments with three selectively acknowledged ones behind them.
    fn lost(&self) -> impl Iterator<Item = u32> + '_ {
        let limit = self.sacked.iter().rev().nth(2).copied().unwrap_or(0);
        (self.una..limit.max(self.una)).filter(|s| !self.sacked.contains(s))
    }
}

#[derive(Debug, Default)]
pub(super) struct Receiver {
    pub(super) next: u32,
    held: BTreeSet<u32>,
    pub(super) waiting: u32,
    pub(super) epoch: u32,
    ce: bool,
}

impl Loop {
    pub(super) fn at_ue(&mut self, packet: Packet) {
        let i = packet.flow.index();
        self.out
            .arrivals
            .push((self.now, packet.flow.0, u32::from(packet.len)));
        let Some(arrived) = packet.segment() else {
            return;
        };
        let receiver = &mut self.receivers[i];
        let segment = arrived.seq.0 / MSS;
        receiver.ce |= packet.ecn == Ecn::Ce;
        let in_order = segment == receiver.next;
        if segment >= receiver.next {
            receiver.held.insert(segment);
        }
        while receiver.held.remove(&receiver.next) {
            receiver.next += 1;
        }
        receiver.waiting += 1;
        if !in_order || !receiver.held.is_empty() || receiver.waiting >= 2 {
            self.acknowledge(i);
        } else {
            let epoch = receiver.epoch;
            self.at(self.now + ms(40), Event::UeTimer(i, epoch));
        }
    }

    pub(super) fn acknowledge(&mut self, i: usize) {
        let receiver = &mut self.receivers[i];
        receiver.waiting = 0;
        receiver.epoch += 1;
        let mut ack = Segment {
            ack: SeqNum(receiver.next * MSS),
            flags: TcpFlags::ACK,
            ..Segment::default()
        };
        if std::mem::take(&mut receiver.ce) {
            ack.flags = ack.flags.with(TcpFlags::ECE);
        }
        // The ranges held, the last first.
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for s in &receiver.held {
            match ranges.last_mut() {
                Some((_, end)) if *end == *s => *end += 1,
                _ => ranges.push((*s, *s + 1)),
            }
        }
        let block = |(start, end): &(u32, u32)| SackBlock {
            start: SeqNum(start * MSS),
            end: SeqNum(end * MSS),
        };
        let blocks: Vec<SackBlock> = ranges.iter().rev().take(3).map(block).collect();
        ack.set_sack_blocks(&blocks);
        let packet = Packet {
            created: self.now,
            flow: FlowId(i as u32),
            len: HEADERS,
            dir: Direction::Up,
            body: Body::Tcp(ack),
            ..Packet::default()
        };
        let jitter = self.net.uplink_jitter.mul_f64(self.chance());
        let arrival = (self.now + at(&self.net.radio_delay, self.now) + jitter).max(self.last_up);
        self.last_up = arrival;
        self.at(arrival, Event::UpAtUpf(packet));
    }

    pub(super) fn at_server(&mut self, packet: &Packet) {
        let i = packet.flow.index();
        let now = self.now;
        let sender = &mut self.senders[i];
        let arrived = packet.segment().expect("an acknowledgment");
        let ack = arrived.ack.0 / MSS;
        for block in arrived.sack_blocks() {
            for s in block.start.0 / MSS..block.end.0 / MSS {
                if s >= ack.max(sender.una) {
                    sender.sacked.insert(s);
                }
            }
        }
        if ack > sender.una {
            let newest = ack - 1;
            if !sender.repeated.contains(&newest)
                && !sender.sacked.contains(&newest)
                && let Some(sent) = sender.sent_at.get(&newest)
            {
                let rtt = now.since(*sent);
                self.out.rtts.push((now, i as u32, rtt));
                let s = rtt.as_secs_f64();
                sender.srtt = if sender.srtt == 0.0 {
                    s
                } else {
                    0.875 * sender.srtt + 0.125 * s
                };
            }
            // Two segments an ACK at most (RFC 3465), so that a repaired hole makes no burst.
            let acked = f64::from(ack - sender.una).min(2.0);
            sender.una = ack;
            sender.next = sender.next.max(ack);
            sender.backoff = 0;
            sender.sacked = sender.sacked.split_off(&ack);
            sender.repeated = sender.repeated.split_off(&ack);
            sender.sent_at = sender.sent_at.split_off(&ack);
            if sender.in_recovery && ack >= sender.recover {
                sender.in_recovery = false;
            }
            if !sender.in_recovery {
                // CUBIC's friendliness aside: as fast as needed to fill a mobile buffer, as NewReno halves.
                let gain = if sender.cwnd < sender.ssthresh {
                    acked
                } else {
                    acked / sender.cwnd
                };
                sender.cwnd += gain;
            }
            if ack >= sender.segments {
                self.out.done.entry(i as u32).or_insert(now);
            }
            self.arm_rto(i);
        }
        let sender = &mut self.senders[i];
        let congested = arrived.flags.contains(TcpFlags::ECE)
            || sender.lost().any(|s| !sender.repeated.contains(&s));
        if congested && !sender.in_recovery {
            sender.in_recovery = true;
            sender.recover = sender.next;
            sender.ssthresh = (sender.cwnd * 0.7).max(2.0);
            sender.cwnd = sender.ssthresh;
        }
        self.transmit(i);
    }

    pub(super) fn arm_rto(&mut self, i: usize) {
        let sender = &mut self.senders[i];
        sender.rto_epoch += 1;
        let rto = (sender.srtt * 2.0).max(0.25) * f64::from(1 << sender.backoff.min(6));
        let epoch = sender.rto_epoch;
        self.at(
            self.now + Duration::from_secs_f64(rto),
            Event::Rto(i, epoch),
        );
    }

    pub(super) fn timeout(&mut self, i: usize, epoch: u32) {
        let sender = &mut self.senders[i];
        if epoch != sender.rto_epoch || sender.una == sender.next {
            return;
        }
        self.out.timeouts += 1;
        sender.backoff += 1;
        sender.ssthresh = (sender.cwnd * 0.5).max(2.0);
        sender.cwnd = 1.0;
        sender.in_recovery = false;
        // Go back: everything unacknowledged may be sent again.
        sender.next = sender.una;
        sender.repeated = (sender.una..=sender.una).collect();
        self.transmit(i);
        self.arm_rto(i);
    }

    pub(super) fn transmit(&mut self, i: usize) {
        loop {
            let sender = &mut self.senders[i];
            if f64::from(sender.in_flight()) >= sender.cwnd {
                return;
            }
            let lost = if sender.in_recovery {
                sender.lost().find(|s| !sender.repeated.contains(s))
            } else {
                None
            };
            let segment = match lost {
                Some(s) => {
                    sender.repeated.insert(s);
                    s
                }
                None if sender.next < sender.segments => {
                    let s = sender.next;
                    sender.next += 1;
                    if sender.sacked.contains(&s) {
                        continue;
                    }
                    if sender.sent_at.contains_key(&s) {
                        sender.repeated.insert(s);
                    }
                    s
                }
                None => return,
            };
            let first = sender.una == segment && sender.rto_epoch == 0;
            sender.sent_at.insert(segment, self.now);
            let packet = Packet {
                created: self.now,
                flow: FlowId(i as u32),
                len: MSS as u16 + HEADERS,
                ecn: sender.ecn,
                body: Body::Tcp(Segment {
                    seq: SeqNum(segment * MSS),
                    payload: MSS as u16,
                    flags: TcpFlags::ACK,
                    ..Segment::default()
                }),
                ..Packet::default()
            };
            self.at(self.now + self.net.wired, Event::AtUpf(packet));
            if first {
                self.arm_rto(i);
            }
        }
    }
}
