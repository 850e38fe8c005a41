//! Others that fill the queue: a sender that holds little beside one that holds much gets little.
//!
//! Others may be of its own kind, and meet it likewise. So each holds less than the others do, and yields now and then to see whether they
//! follow: then nobody has to hold anything.

use slackwater_core::{Duration, Instant};
use slackwater_signal::Counters;

/// Others whose bytes take the link longer than this, seconds, and are more packets than this of each, for [`MET_AFTER`] ...
const MET: f64 = 0.025;
/// Two packets are what a slow sender of this kind has on its way at least, and two more come between reports. Ours.
const MET_PACKETS: f64 = 4.0;
const MET_AFTER: Duration = Duration::from_millis(300);
/// ... are met with this part of what they hold, until theirs take less than [`LEFT`]. With 1.15 flows of this kind raised each other's queue without
/// end; below one it ends by itself. Chosen by random cells and by shares beside others (docs/design/0135).
const GAIN: f64 = 0.75;
/// The same for media, whose encoder holds less than it may: with a part below one it has 42 % beside CUBIC, and yields alone end what media flows raise.
const GAIN_OF_MEDIA: f64 = 1.15;
const LEFT: f64 = 0.008;
/// The first yield comes after this, the next ones after twice as long each time, up to [`YIELDS_MOST`].
const YIELDS_AFTER: Duration = Duration::from_secs(1);
const YIELDS_MOST: Duration = Duration::from_secs(32);
/// Others follow where they hold less than this part of what they held before.
const FOLLOWS: f64 = 0.9;

/// Nothing of its own is held, to see whether the others hold less then.
#[derive(Clone, Copy, Debug)]
struct Yield {
    /// What waits has left by then, and what came meanwhile shows what the others do.
    until: Instant,
    /// How long the others' bytes took the link before, seconds.
    before: f64,
}

/// Others are met.
#[derive(Clone, Copy, Debug)]
struct Met {
    /// When the next yield begins.
    next: Instant,
    /// The time before it.
    pause: Duration,
    /// The present yield.
    yields: Option<Yield>,
}

impl Met {
    /// Others' bytes take the link `seconds`, and the queue and the way to it take `turn` to show what a yield does.
    fn look(&mut self, now: Instant, seconds: f64, turn: Duration) {
        let begin = Yield {
            until: now + turn,
            before: seconds,
        };
        match self.yields {
            Some(current) if now < current.until => {}
            Some(current) if seconds < FOLLOWS * current.before => self.yields = Some(begin),
            Some(_) => {
                self.yields = None;
                self.pause = (self.pause * 2).min(YIELDS_MOST);
                self.next = now + self.pause;
            }
            None if now >= self.next => self.yields = Some(begin),
            None => {}
        }
    }
}

/// Whether others fill the queue.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Company {
    /// Since when they do.
    since: Option<Instant>,
    /// They have for long.
    met: Option<Met>,
}

impl Company {
    /// `rate` is this flow's part of the radio, bytes/s; `base` is the least loop, and `packet` has bytes of a packet.
    pub(super) fn look(
        &mut self,
        now: Instant,
        counters: &Counters,
        rate: f64,
        base: Duration,
        packet: f64,
    ) {
        if counters.company == 0 {
            // Nobody is there, as in most cells: no need to find out how long they take.
            *self = Self::default();
            return;
        }

        let link = rate * f64::from(counters.active.max(1));
        let seconds = f64::from(counters.company) / link.max(1.0);
        let each = Self::each(counters);
        if let Some(met) = &mut self.met {
            if seconds > LEFT {
                met.look(now, seconds, counters.hol + base);
            } else {
                *self = Self::default();
            }
        } else if seconds > MET && each > MET_PACKETS * packet {
            let since = *self.since.get_or_insert(now);
            if now.since(since) >= MET_AFTER {
                self.met = Some(Met {
                    next: now + YIELDS_AFTER,
                    pause: YIELDS_AFTER,
                    yields: None,
                });
            }
        } else {
            self.since = None;
        }
    }

    /// Bytes that each of the others has in the queue.
    fn each(counters: &Counters) -> f64 {
        let others = f64::from(counters.active.max(2) - 1);
        f64::from(counters.company) / others
    }

    /// Others fill the queue.
    pub(super) const fn is_met(&self) -> bool {
        self.met.is_some()
    }

    /// Bytes that this flow, of media or not, then holds in the queue.
    pub(super) fn held(&self, counters: &Counters, media: bool) -> Option<f64> {
        let met = self.met.as_ref()?;
        let gain = if media { GAIN_OF_MEDIA } else { GAIN };
        met.yields.is_none().then(|| gain * Self::each(counters))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(40);
    const STEP: Duration = Duration::from_millis(5);
    const PACKET: f64 = 1500.0;
    /// The rate of the link, bytes/s.
    const LINK: f64 = 2.5e6;

    /// What a flow sees of others that have `company` bytes in its queue, which has `queue` in all; flows are `active`.
    fn counters(company: f64, queue: f64, active: u8) -> Counters {
        Counters {
            stamp: 0,
            gone: 0,
            offered: 0,
            dropped: 0,
            backlog: 0,
            company: company as u32,
            hol: Duration::from_secs_f64(queue / LINK),
            active,
            instance: 0,
            upload: false,
        }
    }

    /// Flows of this kind that each begin with so much in the queue, with `own` bytes of it whatever they hold; what all have after a
    /// `time`, and how often it grew.
    fn peers(flows: usize, begin: f64, own: f64, time: Duration) -> (f64, u32) {
        let mut companies = vec![Company::default(); flows];
        let mut held = vec![begin; flows];
        let (mut last, mut grew) = (f64::MAX, 0);
        let mut now = Instant::ZERO;
        while now.since(Instant::ZERO) < time {
            let all: f64 = held.iter().sum();
            grew += u32::from(all > last);
            last = all;
            // What it wants is there when the queue has turned over: it follows by a part in each step.
            let follows = STEP.as_secs_f64() / (BASE.as_secs_f64() + all / LINK);
            let before = held.clone();
            for ((company, held), before) in companies.iter_mut().zip(&mut held).zip(before) {
                let seen = counters(all - before, all, flows as u8);
                company.look(now, &seen, LINK / flows as f64, BASE, PACKET);
                let wants = company.held(&seen, false).unwrap_or(0.0).max(own);
                *held += (wants - *held) * follows;
            }
            now += STEP;
        }
        (last, grew)
    }

    #[test]
    fn flows_that_meet_each_other_do_not_raise_their_queue() {
        let time = Duration::from_secs(30);
        for flows in [2, 4, 8] {
            // 100 ms of queue, left from a start.
            let begin = 0.1 * LINK / flows as f64;
            let (left, grew) = peers(flows, begin, 2.0 * PACKET, time);
            assert_eq!(grew, 0, "{flows}");
            assert!(left <= 2.1 * PACKET * flows as f64, "{flows}: {left}");
        }
    }

    #[test]
    fn few_packets_of_each_are_nobody_who_fills_the_queue() {
        let mut company = Company::default();
        // Four packets take a slow link 240 ms.
        for n in 0..1000 {
            let seen = counters(4.0 * PACKET, 6.0 * PACKET, 2);
            company.look(Instant::from_millis(5 * n), &seen, 12.5e3, BASE, PACKET);
        }
        assert!(!company.is_met());
    }

    /// Others hold `company` of a time, in ms; the times of reports at which something is held against them.
    fn held(company: impl Fn(u64) -> f64, until: u64) -> Vec<u64> {
        let mut sender = Company::default();
        let holds = |ms: &u64| {
            let seen = counters(company(*ms), company(*ms), 2);
            sender.look(Instant::from_millis(*ms), &seen, LINK / 2.0, BASE, PACKET);
            sender.held(&seen, false).is_some()
        };
        (0..until).step_by(5).filter(holds).collect()
    }

    #[test]
    fn others_who_do_not_follow_are_met_but_for_short_yields_that_come_more_and_more_rarely() {
        // 100 ms of queue: a yield takes 140.
        let held = held(|_| 0.1 * LINK, 20_000);
        assert_eq!(held[0], 300);
        let gaps: Vec<_> = held
            .windows(2)
            .filter(|w| w[1] - w[0] > 5)
            .map(|w| (w[0] + 5, w[1] - w[0] - 5))
            .collect();
        assert_eq!(gaps, [(1300, 140), (3440, 140), (7580, 140), (15_720, 140)]);
    }

    #[test]
    fn who_follows_a_yield_is_yielded_to_until_nobody_holds_anything() {
        // From the first yield on it halves each 140 ms.
        let queue = |ms: u64| 0.1 * LINK * 0.5_f64.powf(ms.saturating_sub(1300) as f64 / 140.0);
        let held = held(queue, 20_000);
        assert_eq!((held[0], held[held.len() - 1]), (300, 1295));
    }

    #[test]
    fn held_is_a_part_of_what_each_of_the_others_holds_and_more_than_that_for_media() {
        let mut company = Company::default();
        let seen = counters(300e3, 400e3, 4);
        for n in 0..100 {
            company.look(Instant::from_millis(5 * n), &seen, LINK / 4.0, BASE, PACKET);
        }
        assert_eq!(company.held(&seen, false), Some(75e3));
        let media = company.held(&seen, true).expect("they are met");
        assert!((media - 115e3).abs() < 1.0, "{media}");
    }
}
