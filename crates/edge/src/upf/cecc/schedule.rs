//! Who may send: Algorithm 1 of the paper.

use slackwater_core::Duration;

/// A flow that could send in this cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The flow.
    pub id: u32,
    /// Its queue in the radio network.
    pub queue: u32,
    /// True where that queue holds bytes already.
    pub busy: bool,
    /// Frames of other flows since this flow's last one: `priority` of Algorithm 1.
    pub priority: u64,
    /// `(RBS + TxSize + FrameSize) / TH`: what eq. 4 gives where the flow is alone.
    pub alone: Duration,
    /// It was kicked for too long and must not be kicked again.
    pub forced: bool,
}

/// What Algorithm 1 decides against.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// `WiredD + ProcessingD` of eq. 3.
    pub base: Duration,
    /// The delay standard.
    pub standard: Duration,
    /// Queues that hold bytes, those of candidates included.
    pub busy: u64,
    /// Keep the flow of highest priority whatever its delay: where nothing is queued, waiting gains nothing.
    pub keep_one: bool,
}

/// `PreDelay` by eq. 3 and 4 for a flow that shares the cell with `n` queues in all.
pub fn pre_delay(limits: &Limits, alone: Duration, n: u64) -> Duration {
    limits.base + Duration::from_nanos(alone.as_nanos().saturating_mul(n))
}

/// The set M of Algorithm 1, grown from the flow of highest priority.
///
/// The paper removes flows from the lowest priority on until none that remains is predicted to miss the standard. Delays
/// only shrink by that, so what remains is the longest run from the highest priority on that meets it: growing that run
/// looks at the flows that may go and at one more, however many wait.
#[derive(Clone, Copy, Debug)]
pub struct Admission {
    limits: Limits,
    /// Queues that hold bytes or belong to a flow of the set.
    n: u64,
    /// The largest `alone` of the set.
    worst: Duration,
    flows: u64,
}

impl Admission {
    /// The empty set.
    pub const fn new(limits: Limits) -> Self {
        Self {
            limits,
            n: limits.busy,
            worst: Duration::ZERO,
            flows: 0,
        }
    }

    /// Takes the next flow in unless that would break the standard; `opens` where its queue counts in N of eq. 4 only with
    /// it: the queue holds nothing and no flow of the set has it. Forced flows come first.
    ///
    /// N counts the queues that hold bytes or belong to a flow of the set: were it the former alone, line 16
    /// ("recalculate") could change nothing.
    pub fn admits(&mut self, alone: Duration, opens: bool, forced: bool) -> bool {
        let n = self.n + u64::from(opens);
        let worst = self.worst.max(alone);
        let kept = forced || (self.limits.keep_one && self.flows == 0);
        if !kept && pre_delay(&self.limits, worst, n) > self.limits.standard {
            return false;
        }
        (self.n, self.worst) = (n, worst);
        self.flows += 1;
        true
    }
}

/// Algorithm 1 over a list: leaves the set M in `candidates`, highest priority first.
///
/// Ties of priority go to the larger predicted delay, then to the larger id: those are removed first.
pub fn alg1(candidates: &mut Vec<Candidate>, limits: &Limits) {
    candidates.sort_unstable_by(|a, b| {
        (b.forced, b.priority)
            .cmp(&(a.forced, a.priority))
            .then(a.alone.cmp(&b.alone))
            .then(a.id.cmp(&b.id))
    });
    let mut set = Admission::new(*limits);
    let mut opened: Vec<u32> = Vec::new();
    let kept = candidates.iter().take_while(|c| {
        let opens = !c.busy && !opened.contains(&c.queue);
        let admitted = set.admits(c.alone, opens, c.forced);
        if admitted && opens {
            opened.push(c.queue);
        }
        admitted
    });
    let kept = kept.count();
    candidates.truncate(kept);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Algorithm 1 as printed, delays worked out anew after each removal.
    fn literal(mut set: Vec<Candidate>, limits: &Limits) -> Vec<u32> {
        loop {
            let mut idle: Vec<u32> = set.iter().filter(|c| !c.busy).map(|c| c.queue).collect();
            idle.sort_unstable();
            idle.dedup();
            let n = limits.busy + idle.len() as u64;
            let worst = set.iter().map(|c| pre_delay(limits, c.alone, n)).max();
            if worst.is_none_or(|w| w <= limits.standard)
                || (limits.keep_one && set.len() == 1)
                || set.iter().all(|c| c.forced)
            {
                let mut ids: Vec<u32> = set.iter().map(|c| c.id).collect();
                ids.sort_unstable();
                return ids;
            }
            let kick = (0..set.len())
                .min_by(|&a, &b| {
                    let (a, b) = (&set[a], &set[b]);
                    (a.forced, a.priority)
                        .cmp(&(b.forced, b.priority))
                        .then(b.alone.cmp(&a.alone))
                        .then(b.id.cmp(&a.id))
                })
                .expect("not empty");
            set.remove(kick);
        }
    }

    fn candidate(id: u32, priority: u64, alone_us: u64) -> Candidate {
        Candidate {
            id,
            queue: id,
            busy: false,
            priority,
            alone: Duration::from_micros(alone_us),
            forced: false,
        }
    }

    fn run(set: &[Candidate], limits: &Limits) -> Vec<u32> {
        let mut set = set.to_vec();
        alg1(&mut set, limits);
        let mut ids: Vec<u32> = set.iter().map(|c| c.id).collect();
        ids.sort_unstable();
        ids
    }

    const LIMITS: Limits = Limits {
        base: Duration::from_micros(4_000),
        standard: Duration::from_millis(10),
        busy: 0,
        keep_one: true,
    };

    // 0.2 ms wired, 3.8 ms processing, 107.5 MB/s: (RBS, TxSize, FrameSize, N) and the delay in ns.
    #[test]
    fn eq3_and_eq4_table() {
        for (rbs, tx, frame, n, delay) in [
            (0, 0, 0, 1, 4_000_000),
            (0, 0, 104_167, 1, 4_968_995),
            (0, 0, 104_167, 5, 8_844_975),
            (50_000, 10_000, 104_167, 3, 8_581_402),
            (400_000, 0, 104_167, 2, 13_379_850),
        ] {
            let alone: u64 = (rbs + tx + frame) * 1_000_000_000 / 107_500_000;
            assert_eq!(
                pre_delay(&LIMITS, Duration::from_nanos(alone), n),
                Duration::from_nanos(delay),
            );
        }
    }

    #[test]
    fn alg1_trace_of_five_flows() {
        // Five flows of 1.5 ms: 4 + 5 * 1.5 = 11.5 > 10, four: 10 <= 10. The one that just sent goes.
        let five: Vec<_> = (0..5)
            .map(|k| candidate(k, 4 - u64::from(k), 1_500))
            .collect();
        assert_eq!(run(&five, &LIMITS), [0, 1, 2, 3]);
        // Two queues of others in the cell: 4 + 7 * 1.5, then 6, 5, 4.
        let limits = Limits { busy: 2, ..LIMITS };
        assert_eq!(run(&five, &limits), [0, 1]);
        // Equal priorities: the longer delay goes first, then the larger id.
        let mut ties: Vec<_> = (0..5).map(|k| candidate(k, 1, 1_500)).collect();
        assert_eq!(run(&ties, &LIMITS), [0, 1, 2, 3]);
        ties[1].alone = Duration::from_micros(1_600);
        assert_eq!(run(&ties, &LIMITS), [0, 2, 3, 4]);
        // A forced flow stays where another can go.
        let mut forced = five.clone();
        forced[4].forced = true;
        assert_eq!(run(&forced, &LIMITS), [0, 1, 2, 4]);
        // A flow whose queue holds bytes counts however it is judged: kicking it does not shorten the others' wait.
        let mut busy = five.clone();
        busy[4].busy = true;
        let limits = Limits { busy: 1, ..LIMITS };
        assert_eq!(run(&busy, &limits), [0, 1, 2]);
    }

    #[test]
    fn a_flow_alone_is_kept_where_nothing_is_queued() {
        let slow = [candidate(0, 0, 20_000)];
        assert_eq!(run(&slow, &LIMITS), [0]);
        let limits = Limits {
            keep_one: false,
            ..LIMITS
        };
        assert!(run(&slow, &limits).is_empty());
    }

    // A kicked flow's priority grows with each frame of another flow, so it is the lowest at most n - 1 times running.
    #[test]
    fn starvation_ends_within_n_minus_1_frames() {
        for n in 2..9_u32 {
            let mut priority = vec![0_u64; n as usize];
            let mut waited = vec![0_u32; n as usize];
            // One flow at a time fits.
            let limits = Limits {
                base: Duration::from_millis(8),
                ..LIMITS
            };
            for _ in 0..200 {
                let set: Vec<_> = (0..n)
                    .map(|k| candidate(k, priority[k as usize], 1_500))
                    .collect();
                let m = run(&set, &limits);
                assert_eq!(m.len(), 1);
                for k in 0..n {
                    let k = k as usize;
                    if m[0] as usize == k {
                        waited[k] = 0;
                        for p in &mut priority {
                            *p += 1;
                        }
                        priority[k] = 0;
                    } else {
                        waited[k] += 1;
                        assert!(waited[k] < n, "flow {k} of {n}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn equals_the_printed_loop(
            flows in prop::collection::vec((0_u32..6, 0_u64..5, 0_u64..4_000, any::<bool>()), 0..12),
            busy in 0_u64..4,
            keep_one: bool,
        ) {
            let mut busy_queues: Vec<u32> = Vec::new();
            let set: Vec<_> = flows
                .iter()
                .enumerate()
                .map(|(k, &(queue, priority, alone, forced))| {
                    // Queues 0 and 1 hold bytes.
                    if queue < 2 && !busy_queues.contains(&queue) {
                        busy_queues.push(queue);
                    }
                    Candidate {
                        queue,
                        busy: queue < 2,
                        forced: forced && k % 3 == 0,
                        ..candidate(k as u32, priority, alone)
                    }
                })
                .collect();
            let limits = Limits { busy: busy + busy_queues.len() as u64, keep_one, ..LIMITS };
            prop_assert_eq!(run(&set, &limits), literal(set.clone(), &limits));
        }
    }
}
