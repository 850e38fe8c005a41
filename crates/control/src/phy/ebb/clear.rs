//! Rule 2: the least loop without the flow's own queue. It is forgotten after some seconds. In a steady cell all later loops hold that
//! queue, which would become a part of the least one, and grow with it. A probe's queue is drained anyway. Here a little more is
//! drained, so that some bytes find no queue.

use slackwater_core::{Duration, Instant};

/// Ours: what does not drain within so many loops is not drained further.
const PATIENCE: u64 = 8;

/// After a probe less is on its way for a loop.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Clear {
    /// What comes next; `None` where no probe was, or all is done.
    next: Option<Next>,
    /// The shortest queue of the radio since the last probe and what followed it, as reports have it.
    queue: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// The present probe ends.
    End,
    /// Little enough is on its way, before this time.
    Little(Instant),
    /// At this time a report has counted bytes that found no queue.
    Counted(Instant),
}

impl Clear {
    /// The queue that has stood since the last probe, by reports: at least so long is drained.
    pub(super) fn standing(&self) -> Duration {
        self.queue.unwrap_or_default()
    }

    /// The oldest byte in the radio has waited for `hol`.
    pub(super) fn note(&mut self, hol: Duration, probes: bool) {
        if !probes && self.next.is_none() {
            self.queue = Some(self.queue.map_or(hol, |queue| queue.min(hol)));
        }
    }

    /// A report: whether no more than `little` may be on its way, of which `out` is. `probes` where more is sent than is offered; `base`
    /// is the least loop.
    pub(super) fn look(
        &mut self,
        now: Instant,
        probes: bool,
        out: f64,
        little: f64,
        base: Duration,
    ) -> bool {
        if probes {
            self.next = Some(Next::End);
            return false;
        }
        let next = match self.next {
            None => return false,
            Some(Next::End) => Some(Next::Little(now + base * PATIENCE)),
            waits @ Some(Next::Little(until)) if out > little => waits.filter(|_| now < until),
            Some(Next::Little(_)) => Some(Next::Counted(now + base)),
            waits @ Some(Next::Counted(until)) => waits.filter(|_| now < until),
        };
        self.next = next;
        if next.is_none() {
            self.queue = None;
        }
        next.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(40);

    /// The times of reports, each 5 ms, at which little may be on its way after a probe from 100 to 200 ms. `out` is of a time.
    fn held(out: impl Fn(u64) -> f64) -> Vec<u64> {
        let mut clear = Clear::default();
        let look = |ms: &u64| {
            let probes = (100..200).contains(ms);
            clear.look(Instant::from_millis(*ms), probes, out(*ms), 10.0, BASE)
        };
        (0..1_000).step_by(5).filter(look).collect()
    }

    #[test]
    fn after_a_probe_little_is_on_its_way_until_a_loop_after_its_queue_has_drained() {
        let held = held(|ms| if ms < 260 { 50.0 } else { 10.0 });
        assert_eq!((held[0], held[held.len() - 1]), (200, 295));
        assert_eq!(held.len(), 20, "and all the time");
    }

    #[test]
    fn a_queue_that_does_not_drain_is_waited_for_during_eight_loops() {
        let held = held(|_| 50.0);
        assert_eq!((held[0], held[held.len() - 1]), (200, 515));
    }

    #[test]
    fn a_probe_ends_what_the_one_before_began() {
        let mut clear = Clear::default();
        let mut look = |ms, probes| clear.look(Instant::from_millis(ms), probes, 50.0, 10.0, BASE);
        assert!(!look(0, false), "no probe yet");
        assert!(!look(5, true));
        assert!(look(10, false));
        assert!(!look(15, true));
        assert!(look(20, false));
        // Its own eight loops count.
        assert!(look(335, false));
        assert!(!look(340, false));
    }

    #[test]
    fn the_queue_that_stood_since_the_last_probe_is_the_shortest_one() {
        let mut clear = Clear::default();
        let mut look = |ms: u64, queue: u64| {
            let probes = (100..200).contains(&ms);
            clear.note(Duration::from_millis(queue), probes);
            clear.look(Instant::from_millis(ms), probes, 0.0, 10.0, BASE);
            clear.standing().as_millis()
        };
        let before = [look(0, 30), look(50, 20), look(90, 40)];
        let probe = [look(100, 0), look(195, 150)];
        // It has drained, and a loop has passed: then it begins anew.
        let after = [look(200, 150), look(205, 5), look(240, 0), look(250, 7)];
        assert_eq!((before, probe), ([30, 20, 20], [20, 20]));
        assert_eq!(after, [20, 20, 20, 0]);
        assert_eq!([look(255, 8), look(260, 9)], [8, 8]);
    }
}
