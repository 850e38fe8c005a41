//! What was counted of the flows of one UE, or of one link that stands for a cell.

use slackwater_core::{BearerId, Duration, FlowId, Instant};
use slackwater_signal::Counters;

/// A flow without a packet for so long, and none inside, is not active (XRC, section III-A).
const ACTIVE: Duration = Duration::from_millis(200);
/// A flow that is idle for so long is forgotten, unless its sender takes reports.
const FORGOTTEN: Duration = Duration::from_secs(10);
/// Time over which the part that the other flows take is averaged. Ours.
const COMPANY: Duration = Duration::from_millis(100);

/// The counters of one flow, IP bytes.
#[derive(Clone, Copy, Debug)]
struct Counts {
    /// The flow.
    flow: FlowId,
    /// Where its data waits.
    bearer: BearerId,
    /// Bytes that entered.
    arrived: u64,
    /// Bytes that left for good.
    gone: u64,
    /// Of those, what was dropped.
    dropped: u64,
    /// When the last packet entered.
    last: Instant,
    /// Its sender takes reports.
    reported: bool,
    /// Its part of what was offered.
    offered: f64,
    /// What was offered to all by the last report.
    seen: f64,
    /// What others' bytes were gone by the last report.
    others: u64,
    /// When that was.
    at: Instant,
    /// Means of what all were offered and of what the others took, bytes/s.
    means: [f64; 2],
}

impl Counts {
    const fn backlog(&self) -> u64 {
        self.arrived.saturating_sub(self.gone)
    }

    fn is_active(&self, now: Instant) -> bool {
        self.backlog() > 0 || now.since(self.last) < ACTIVE
    }
}

/// The counters of flows that share what is offered. A flow's part is what all of them have over their number, or what the
/// others leave, whichever is more.
#[derive(Clone, Debug, Default)]
pub struct FlowCounts {
    /// The flows, few.
    flows: Vec<Counts>,
    /// IP bytes that were offered to all.
    offered: f64,
    /// Who counts.
    instance: u8,
    /// The span of the last report: spans repeat.
    span: Span,
}

/// The time between two reports of a flow.
#[derive(Clone, Copy, Debug, Default)]
struct Span {
    /// As it is,
    time: Duration,
    /// and in seconds.
    seconds: f64,
    /// How much of a mean over [`COMPANY`] it is.
    weight: f64,
}

impl Span {
    #[cold]
    fn of(time: Duration) -> Self {
        let seconds = time.as_secs_f64();
        Self {
            time,
            seconds,
            weight: 1.0 - libm::exp(-seconds / COMPANY.as_secs_f64()),
        }
    }
}

impl FlowCounts {
    /// Without flows; `instance` differs from that of a base station, or of a start of it, that counted before.
    pub fn of_instance(instance: u8) -> Self {
        Self {
            instance,
            ..Self::default()
        }
    }

    /// The counters of `flow`, which are new where it is.
    #[inline]
    fn flow(&mut self, now: Instant, flow: FlowId, bearer: BearerId) -> &mut Counts {
        let at = self.flows.iter().position(|f| f.flow == flow);
        let at = at.unwrap_or_else(|| self.begin(now, flow, bearer));
        &mut self.flows[at]
    }

    /// Counts `flow` from now on, and returns its place. What was idle for long makes room.
    #[cold]
    fn begin(&mut self, now: Instant, flow: FlowId, bearer: BearerId) -> usize {
        let kept = |f: &Counts| f.reported || f.backlog() > 0 || now.since(f.last) < FORGOTTEN;
        self.flows.retain(kept);
        self.flows.push(Counts {
            flow,
            bearer,
            arrived: 0,
            gone: 0,
            dropped: 0,
            last: now,
            reported: false,
            offered: 0.0,
            seen: self.offered,
            others: 0,
            at: now,
            means: [0.0; 2],
        });
        self.flows.len() - 1
    }

    /// The sender of `flow`, whose data waits in `bearer`, takes reports.
    pub fn subscribe(&mut self, flow: FlowId, bearer: BearerId) {
        self.flow(Instant::ZERO, flow, bearer).reported = true;
    }

    /// A packet of `flow` entered the queue of `bearer`; `bytes` are those of IP, here and below.
    #[inline]
    pub fn on_arrival(&mut self, now: Instant, flow: FlowId, bearer: BearerId, bytes: u64) {
        let counts = self.flow(now, flow, bearer);
        counts.arrived += bytes;
        counts.last = now;
    }

    /// A packet of `flow` is gone: `delivered` or dropped.
    #[inline]
    pub fn on_gone(&mut self, now: Instant, flow: FlowId, bytes: u64, delivered: bool) {
        let counts = self.flow(now, flow, BearerId(0));
        counts.gone += bytes;
        counts.dropped += if delivered { 0 } else { bytes };
    }

    /// Bytes of all flows that entered and are not gone.
    #[inline]
    pub fn backlog(&self) -> u64 {
        self.flows.iter().map(Counts::backlog).sum()
    }

    /// All flows together could have `bytes` more.
    #[inline]
    pub fn offer(&mut self, bytes: f64) {
        self.offered += bytes;
    }

    /// What the sender of `flow` hears; `hol` is the age of the oldest byte in the queue of `bearer`.
    #[inline]
    pub fn report(
        &mut self,
        now: Instant,
        flow: FlowId,
        bearer: BearerId,
        hol: Duration,
    ) -> Counters {
        let (offered, instance) = (self.offered, self.instance);
        let (mut active, mut company, mut others) = (1, 0, 0);
        let mut own = None;
        for (place, other) in self.flows.iter().enumerate() {
            if other.flow == flow {
                own = Some(place);
                continue;
            }
            others += other.gone;
            active += u32::from(other.is_active(now));
            let beside = other.bearer == bearer;
            company += if beside { other.backlog() } else { 0 };
        }
        let own = own.unwrap_or_else(|| self.begin(now, flow, bearer));

        let counts = &mut self.flows[own];
        let time = now.since(counts.at);
        if !time.is_zero() {
            if self.span.time != time {
                self.span = Span::of(time);
            }
            let Span {
                seconds, weight, ..
            } = self.span;
            let new = offered - counts.seen;
            counts.means[0] += weight * (new / seconds - counts.means[0]);
            // A flow that was forgotten takes its bytes along.
            let taken = others.saturating_sub(counts.others);
            let rate = if taken == 0 {
                0.0
            } else {
                taken as f64 / seconds
            };
            counts.means[1] += weight * (rate - counts.means[1]);
            counts.offered += if active == 1 {
                // All of it: nobody shares.
                new
            } else {
                let left = 1.0 - counts.means[1] / counts.means[0].max(1.0);
                new * left.clamp(1.0 / f64::from(active), 1.0)
            };
            (counts.seen, counts.others, counts.at) = (offered, others, now);
        }
        let narrow = |bytes: u64| u32::try_from(bytes).unwrap_or(u32::MAX);
        Counters {
            stamp: Counters::stamp_of(now),
            gone: counts.gone as u32,
            offered: counts.offered as i64 as u32,
            dropped: Counters::dropped_of(counts.dropped),
            backlog: narrow(counts.backlog()),
            company: narrow(company),
            hol,
            active: active.min(255) as u8,
            instance,
            upload: false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_that_are_gone_for_long_take_no_room() {
        let mut counts = FlowCounts::default();
        counts.subscribe(FlowId(0), BearerId(0));
        for n in 1..1000 {
            let now = Instant::from_millis(100 * u64::from(n));
            counts.on_arrival(now, FlowId(n), BearerId(0), 100);
            counts.on_gone(now, FlowId(n), 100, true);
        }
        assert!(counts.flows.len() <= 102);
        assert!(counts.flows.iter().any(|f| f.flow == FlowId(0)));
    }
}
