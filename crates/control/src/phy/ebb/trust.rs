//! Whether the base station's word holds: what left the radio is counted by the same report as what it offered, and both bind
//! each other. No report is authenticated, and a wrong one must not starve a sender or fill a queue.

use slackwater_core::{Duration, Instant};

/// The least time over which sums are compared, and loops that it takes at least.
pub(super) const WINDOW: Duration = Duration::from_millis(100);
const WINDOW_ROUNDS: u64 = 2;
/// So many of them prove that more left than was offered: what is known late is a small part of it.
const PROOF: u64 = 4;
/// Sums that differ by no more agree: what left is known some milliseconds after it was offered.
const AGREE: f64 = 1.2;
/// The same of a probe that tests a doubt: what is believed too little costs rate for as long as nothing shows it. Ours.
const BARELY: f64 = 1.05;
/// Packets that may have left beyond that.
const SLACK: f64 = 2.0;
/// A queue of this, by the report and by the loop, all over a window: then what is offered is what leaves.
const QUEUE: Duration = Duration::from_millis(20);
/// Fewer packets than this are no sums that can be compared: one leaves in this window, and the next one in the window after it.
const SHORT_PACKETS: f64 = 4.0;
/// So much of what left was dropped as well, and so many times as much was offered: the queue was full. A short buffer drops and
/// idles by turns, but not as much.
const FLOODED: f64 = 0.1;
const FLOODS: f64 = 2.0;
/// More is sent for a while, to see whether more leaves: this time after the last such probe, and after the first reports. Where a probe
/// has shown that the word does not hold, the next ones come as the first one, and each twice as late as the one before.
const EVERY: Duration = Duration::from_secs(10);
const FIRST: Duration = Duration::from_secs(1);
/// How much more.
const PROBE: f64 = 1.75;
/// The word is corrected by this factor at most.
const MOST: f64 = 100.0;
/// More than this part of what left, and this many packets of it, in a window, were never sent: the counters are wrong.
const FOREIGN: f64 = 0.25;
const FOREIGN_PACKETS: f64 = 20.0;
/// The least time over which what left and what was acknowledged are compared, and loops that it takes at least.
const HELD: Duration = Duration::from_secs(1);
const HELD_ROUNDS: u64 = 8;
/// A base station whose word cannot be corrected is not heard for so long.
const BAN: Duration = Duration::from_secs(10);

/// What is compared.
#[derive(Clone, Copy, Debug)]
struct Window {
    /// When it began, or will.
    begun: Instant,
    /// Bytes that left and that were offered since, and those that the flow's part of the queue was due of them.
    left: f64,
    offered: f64,
    due: f64,
    /// Bytes beyond what was sent, and those that were dropped.
    foreign: f64,
    dropped: f64,
    /// A queue stood all the time.
    queued: bool,
    /// More was sent, to see whether more leaves.
    of_probe: bool,
}

impl Window {
    const fn new(begun: Instant) -> Self {
        Self {
            begun,
            left: 0.0,
            offered: 0.0,
            due: 0.0,
            foreign: 0.0,
            dropped: 0.0,
            queued: true,
            of_probe: false,
        }
    }
}

/// What one report adds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Span {
    /// Bytes that were delivered and that were offered since the last report.
    pub left: f64,
    pub offered: f64,
    /// Part of what is offered that the flow can have had: a queue serves it by its part of the bytes there. 1 for a sender that
    /// always has data.
    pub part: f64,
    /// Bytes that were dropped.
    pub dropped: f64,
    /// The queue by the report, and by what the loop took beyond the least one.
    pub hol: Duration,
    pub excess: Duration,
    /// Bytes that the counters hold beyond all that was sent, more than ever before.
    pub foreign: f64,
}

/// What left by the counters and what was acknowledged, in all, IP bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Heard {
    /// Bytes that left the radio.
    pub gone: i64,
    /// Bytes that were acknowledged.
    pub acked: u64,
    /// Bytes in flight, by the host.
    pub flying: u64,
}

/// How far the word on what is offered is believed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trust {
    window: Option<Window>,
    /// What was heard, and when, since which what left is held against what was acknowledged.
    held: Option<(Instant, Heard)>,
    /// When so much had been acknowledged as is held against what leaves until a loop later.
    due: Option<(Instant, u64)>,
    /// What is offered, over what the report says.
    scale: f64,
    /// When the next probe begins, and when the present one ends.
    probe_at: Option<Instant>,
    /// Time from the next probe to the one after it.
    every: Duration,
    probe_ends: Option<Instant>,
    /// In the last probe more left than was offered.
    suspects: bool,
    /// In the present window more left than was offered: it goes on to [`PROOF`] times its length.
    extended: bool,
    /// Not heard until then.
    banned: Option<Instant>,
}

impl Default for Trust {
    fn default() -> Self {
        Self {
            window: None,
            held: None,
            due: None,
            scale: 1.0,
            probe_at: None,
            every: EVERY,
            probe_ends: None,
            suspects: false,
            extended: false,
            banned: None,
        }
    }
}

impl Trust {
    /// What is offered, over what the report says.
    pub(super) const fn scale(&self) -> f64 {
        self.scale
    }

    /// What is sent, over what is offered: more in a probe.
    pub(super) fn gain(&self, now: Instant) -> f64 {
        match self.probe_ends {
            Some(ends) if now < ends => PROBE,
            _ => 1.0,
        }
    }

    /// The last probe is to be confirmed.
    pub(super) const fn suspects(&self) -> bool {
        self.suspects
    }

    /// The base station is not heard.
    pub(super) fn is_banned(&self, now: Instant) -> bool {
        self.banned.is_some_and(|until| now < until)
    }

    /// The time in which the base station is not heard has ended; once.
    pub(super) fn is_heard_again(&mut self, now: Instant) -> bool {
        let ended = self.banned.is_some_and(|until| now >= until);
        if ended {
            *self = Self::default();
        }
        ended
    }

    /// A report; `base` is the least loop, `packet` the bytes of one. `probes` where more may be sent.
    pub(super) fn look(
        &mut self,
        now: Instant,
        span: Span,
        base: Duration,
        packet: f64,
        probes: bool,
    ) {
        let length = WINDOW.max(base * WINDOW_ROUNDS);
        self.probe(now, base, probes);

        let window = self.window.get_or_insert(Window::new(now));
        if now <= window.begun {
            return;
        }
        window.left += span.left;
        window.offered += span.offered;
        window.due += span.offered * span.part;
        window.foreign += span.foreign;
        window.dropped += span.dropped;
        window.queued &= span.hol > QUEUE && span.excess > QUEUE;
        let length = if window.of_probe { WINDOW } else { length };
        let windows = if self.extended { PROOF } else { 1 };
        if now.since(window.begun) < length * windows {
            return;
        }
        let window = *window;
        self.judge(now, &window, base, packet);
    }

    /// The sums of a window are compared.
    fn judge(&mut self, now: Instant, window: &Window, base: Duration, packet: f64) {
        self.window = Some(Window::new(now));
        if window.foreign > FOREIGN * window.left && window.foreign > FOREIGN_PACKETS * packet {
            // Handshakes and plain ACKs are no such part: more is said to have left than was sent.
            self.banned = Some(now + BAN);
            self.scale = 1.0;
            return;
        }
        let offered = window.offered * self.scale;
        // A rate of a few packets a window would hide in the slack for ever: what confirms has none.
        let doubted = self.scale < 1.0;
        let slack = if self.suspects || self.extended || doubted {
            0.0
        } else {
            SLACK
        };
        // Where no more is there than is believed, a probe makes little more leave.
        let agree = if doubted && window.of_probe {
            BARELY
        } else {
            AGREE
        };
        let more = window.left > agree * offered + slack * packet;
        if more && self.scale < 1.0 {
            // The word was doubted too far; it needs no proof.
            self.scale = (window.left / window.offered).min(1.0);
            if window.of_probe {
                self.probe_at = Some(now);
            }
            return;
        }
        let confirmed = more && (self.suspects || self.extended);
        self.suspects = more && !confirmed && window.of_probe;
        self.extended = more && !confirmed && !window.of_probe;
        // A block that HARQ or RLC repeats is known to have left in a later window than the one it was offered in: one
        // window is no proof, nor is one probe.
        if self.suspects {
            self.probe_at = Some(now);
        } else if self.extended {
            self.window = Some(*window);
        } else if confirmed {
            // More left than was offered.
            if window.offered * MOST < window.left {
                self.banned = Some(now + BAN);
                self.scale = 1.0;
                return;
            }
            self.scale = window.left / window.offered;
            self.probe_at = Some(now);
            self.every = FIRST;
        } else {
            let due = window.due * self.scale;
            let many = window.due > SHORT_PACKETS * packet;
            let short = many && window.queued && window.left * AGREE < due;
            // What a probe drops, and what the sender misses after it, is no sign.
            let probed = |ends: Instant| window.begun < ends + base * WINDOW_ROUNDS;
            let floods = !self.probe_ends.is_some_and(probed);
            let flooded =
                floods && window.dropped > FLOODED * window.left && window.left * FLOODS < due;
            if short || flooded {
                // Less left than was due, and a queue stood or was full.
                if self.scale >= 1.0 {
                    // Perhaps without cause.
                    self.probe_at = Some(now + FIRST);
                }
                self.scale = (window.left / window.due).max(1.0 / MOST);
            }
        }
    }

    /// The counters began anew.
    pub(super) fn restart(&mut self) {
        (self.held, self.due) = (None, None);
    }

    /// Reports come again after a pause. What was acknowledged since is ahead of what they have counted, and sums over a pause say nothing.
    pub(super) fn resume(&mut self) {
        (self.held, self.due) = (None, None);
        self.window = None;
    }

    /// It is time for [`Self::hold`]; `base` is the least loop.
    pub(super) fn holds(&self, now: Instant, base: Duration) -> bool {
        if let Some((at, _)) = self.due {
            return now.since(at) >= base;
        }
        self.held
            .is_none_or(|(from, _)| now.since(from) >= HELD.max(base * HELD_ROUNDS))
    }

    /// What was acknowledged has left the radio: where much more is acknowledged than the counters show a loop later, they stand still.
    /// What was in flight at first may have left before; a report may be late, so what was acknowledged counts half.
    pub(super) fn hold(&mut self, now: Instant, heard: Heard, packet: f64) {
        let Some((_, first)) = self.held else {
            self.held = Some((now, heard));
            return;
        };
        // A report may come later than the ACK. After a pause all that is acknowledged may be younger than it.
        let Some((_, acked)) = self.due.take() else {
            self.due = Some((now, heard.acked));
            return;
        };
        self.held = Some((now, heard));

        let gone = heard.gone.saturating_sub(first.gone).max(0) as f64;
        let acked = acked.saturating_sub(first.acked) as f64;
        if acked / 2.0 > gone + first.flying as f64 + SLACK * packet {
            self.banned = Some(now + BAN);
        }
    }

    fn probe(&mut self, now: Instant, base: Duration, probes: bool) {
        let at = *self.probe_at.get_or_insert(now + FIRST);
        if self.probe_ends.is_some_and(|ends| now < ends) || now < at || !probes {
            return;
        }
        self.probe_ends = Some(now + WINDOW);
        self.probe_at = Some(now + self.every);
        self.every = (self.every * 2).min(EVERY);
        self.extended = false;
        // What is sent from now on leaves a loop later.
        self.window = Some(Window {
            of_probe: true,
            ..Window::new(now + base)
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BASE: Duration = Duration::from_millis(40);
    const PACKET: f64 = 1500.0;

    /// Reports each 5 ms from `from` to `to` ms of what `of` says of a time.
    fn hear(trust: &mut Trust, from: u64, to: u64, of: impl Fn(&Trust, Instant) -> Span) {
        for ms in (from..to).step_by(5) {
            let now = Instant::from_millis(ms);
            let span = of(trust, now);
            trust.look(now, span, BASE, PACKET, true);
        }
    }

    /// A radio of 5,000 bytes a report that says `lie` times of it, and a sender that believes what trust makes of it; what it
    /// sends leaves a loop later.
    fn radio(lie: f64) -> impl Fn(&Trust, Instant) -> Span {
        move |trust, now| Span {
            left: (5000.0 * lie * trust.scale() * trust.gain(now - BASE)).min(5000.0),
            offered: 5000.0 * lie,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::ZERO,
            excess: Duration::ZERO,
            foreign: 0.0,
        }
    }

    #[test]
    fn an_honest_word_stays_as_it_is() {
        let mut trust = Trust::default();
        hear(&mut trust, 100, 30_000, radio(1.0));
        assert_eq!((trust.scale(), trust.banned), (1.0, None));
        // Standing queues included, and a wired hop that lets a third pass.
        hear(&mut trust, 30_000, 35_000, |_, _| Span {
            left: 5000.0,
            offered: 5000.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::from_millis(300),
            excess: Duration::from_millis(300),
            foreign: 0.0,
        });
        hear(&mut trust, 35_000, 40_000, |_, _| Span {
            left: 1700.0,
            offered: 5000.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::from_millis(1),
            excess: Duration::from_millis(80),
            foreign: 0.0,
        });
        assert_eq!((trust.scale(), trust.banned), (1.0, None));
    }

    #[test]
    fn what_a_starved_user_gets_late_is_no_lie() {
        // Nothing is offered for 150 ms, while blocks that were offered before are known to have left only now.
        let mut trust = Trust::default();
        hear(&mut trust, 100, 1_000, radio(1.0));
        hear(&mut trust, 1_000, 1_150, |_, now| Span {
            left: if now < Instant::from_millis(1_100) {
                1500.0
            } else {
                0.0
            },
            offered: 0.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::ZERO,
            excess: Duration::ZERO,
            foreign: 0.0,
        });
        hear(&mut trust, 1_150, 3_000, radio(1.0));
        assert_eq!((trust.scale(), trust.banned), (1.0, None));
    }

    /// Whether the base station is banned after each of `sums`: a time in ms, bytes that left and bytes that were acknowledged, none of
    /// them in flight.
    fn bans(trust: &mut Trust, sums: &[(u64, i64, u64)]) -> Vec<bool> {
        let hear = |&(ms, gone, acked): &(u64, i64, u64)| {
            let now = Instant::from_millis(ms);
            let flying = 0;
            let heard = Heard {
                gone,
                acked,
                flying,
            };
            if trust.holds(now, BASE) {
                trust.hold(now, heard, PACKET);
            }
            trust.is_banned(now)
        };
        sums.iter().map(hear).collect()
    }

    #[test]
    fn what_is_acknowledged_ahead_of_a_report_after_a_pause_is_no_lie() {
        // After a pause 60,000 bytes are acknowledged before a report has counted them: the next ones have.
        let (first, ahead) = ((1_000, 100_000, 100_000), (6_000, 100_000, 160_000));
        let mut trust = Trust::default();
        let counts = [first, ahead, (6_040, 160_000, 200_000)];
        assert_eq!(bans(&mut trust, &counts), [false; 3]);
        // The time after it is looked at as well.
        let later = [(7_100, 160_000, 260_000), (7_140, 160_000, 270_000)];
        assert_eq!(bans(&mut trust, &later), [false, true]);

        let mut trust = Trust::default();
        let stands = [first, ahead, (6_040, 100_000, 200_000)];
        assert_eq!(bans(&mut trust, &stands), [false, false, true]);
    }

    #[test]
    fn what_was_acknowledged_in_a_pause_of_the_reports_is_no_lie() {
        let mut trust = Trust::default();
        bans(&mut trust, &[(1_000, 100_000, 100_000)]);
        trust.resume();
        let late = [(6_000, 100_000, 160_000), (6_040, 100_000, 160_000)];
        assert_eq!(bans(&mut trust, &late), [false; 2]);
        let right = [(7_400, 400_000, 450_000), (7_440, 400_000, 450_000)];
        assert_eq!(bans(&mut trust, &right), [false; 2]);
    }

    #[test]
    fn a_tenth_is_found_out_within_two_seconds_of_the_first_probe() {
        let mut trust = Trust::default();
        hear(&mut trust, 100, 3_000, radio(0.1));
        assert!(trust.scale() * AGREE > 10.0, "{}", trust.scale());
    }

    #[test]
    fn tenfold_is_found_out_by_the_queue_and_truth_is_believed_again() {
        let mut trust = Trust::default();
        let lie = |_: &Trust, _: Instant| Span {
            left: 5000.0,
            offered: 50_000.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::from_millis(100),
            excess: Duration::from_millis(100),
            foreign: 0.0,
        };
        hear(&mut trust, 0, 300, lie);
        assert!((trust.scale() - 0.1).abs() < 0.01, "{}", trust.scale());
        hear(&mut trust, 300, 3_000, radio(1.0));
        assert!((trust.scale() - 1.0).abs() < 0.3, "{}", trust.scale());
    }

    #[test]
    fn tenfold_is_found_out_by_what_is_dropped_where_no_queue_is_told_of() {
        let mut trust = Trust::default();
        let lie = |_: &Trust, _: Instant| Span {
            left: 5000.0,
            part: 1.0,
            dropped: 3000.0,
            offered: 50_000.0,
            hol: Duration::ZERO,
            excess: Duration::ZERO,
            foreign: 0.0,
        };
        hear(&mut trust, 0, 300, lie);
        assert!((trust.scale() - 0.1).abs() < 0.01, "{}", trust.scale());
    }

    #[test]
    fn a_base_station_that_counts_what_nobody_sent_is_not_heard_as_long_as_it_does() {
        let mut trust = Trust::default();
        let lie = |_: &Trust, _: Instant| Span {
            left: 50_000.0,
            offered: 50_000.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::ZERO,
            excess: Duration::ZERO,
            foreign: 45_000.0,
        };
        hear(&mut trust, 0, 20_000, lie);
        assert!(trust.is_banned(Instant::from_millis(20_000)));
        hear(&mut trust, 20_000, 31_000, radio(1.0));
        assert!(!trust.is_banned(Instant::from_millis(31_000)));
    }

    #[test]
    fn counters_that_stand_still_while_data_is_acknowledged_are_not_heard() {
        let hear = |gone: i64, acked: u64| {
            let mut trust = Trust::default();
            for k in 0..=21 {
                let heard = Heard {
                    gone: gone * k as i64,
                    acked: acked * k,
                    flying: 6000,
                };
                let now = Instant::from_millis(50 * k);
                if trust.holds(now, BASE) {
                    trust.hold(now, heard, PACKET);
                }
            }
            trust.is_banned(Instant::from_millis(1051))
        };
        // A second of 20 steps, and a loop: 60 packets, of which none left; all; half, as in a report that is late.
        assert!(hear(0, 4500));
        assert!(!hear(4500, 4500));
        assert!(!hear(2250, 4500));
        // Outage: nothing is acknowledged either.
        assert!(!hear(0, 0));
    }

    #[test]
    fn a_base_station_that_offers_nothing_and_delivers_is_not_heard() {
        let mut trust = Trust::default();
        hear(&mut trust, 0, 500, |_, _| Span {
            left: 1500.0,
            offered: 0.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::ZERO,
            excess: Duration::ZERO,
            foreign: 0.0,
        });
        assert!(trust.is_banned(Instant::from_millis(500)));
        assert!(!trust.is_banned(Instant::from_millis(10_600)));
    }

    /// In each report of a window of 20, so much left and so much was offered; nothing waits and nothing is dropped.
    fn thin(left: f64, offered: f64) -> impl Fn(&Trust, Instant) -> Span {
        move |_, _| Span {
            left: left / 20.0,
            offered: offered / 20.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::ZERO,
            excess: Duration::ZERO,
            foreign: 0.0,
        }
    }

    #[test]
    fn a_fifth_and_two_packets_beyond_what_was_offered_are_no_lie() {
        // What left is known some milliseconds after it was offered: most of a thin flow may fall into another window.
        for (left, offered) in [(3900.0, 1000.0), (8500.0, 5000.0)] {
            let mut trust = Trust::default();
            hear(&mut trust, 0, 5_000, thin(left, offered));
            assert_eq!((trust.scale(), trust.banned), (1.0, None), "{left}");
        }
    }

    #[test]
    fn two_packets_do_not_hide_a_lie_over_four_windows() {
        // Three packets left where less than one was offered, then as much as was offered: 7,400 bytes of 4,000.
        let mut trust = Trust::default();
        hear(&mut trust, 0, 105, thin(4400.0, 1000.0));
        hear(&mut trust, 105, 410, thin(1000.0, 1000.0));
        assert!((1.7..2.0).contains(&trust.scale()), "{}", trust.scale());
    }

    #[test]
    fn media_that_waits_behind_others_is_due_its_part_of_the_queue_alone() {
        let scale = |part: f64| {
            let mut trust = Trust::default();
            hear(&mut trust, 0, 2_000, |_, _| Span {
                left: 1000.0,
                offered: 5000.0,
                part,
                dropped: 0.0,
                hol: Duration::from_millis(100),
                excess: Duration::from_millis(100),
                foreign: 0.0,
            });
            trust.scale()
        };
        assert_eq!(scale(0.2), 1.0);
        assert!(scale(1.0) < 0.25);
    }

    /// One packet leaves in 120 ms: most windows have none, and it waits for long.
    #[test]
    fn a_slow_radio_that_serves_now_and_then_is_not_doubted() {
        let mut trust = Trust::default();
        hear(&mut trust, 0, 10_000, |_, now| Span {
            left: if now.as_nanos() / 5_000_000 % 24 == 0 {
                PACKET
            } else {
                0.0
            },
            offered: PACKET / 24.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::from_millis(300),
            excess: Duration::from_millis(300),
            foreign: 0.0,
        });
        assert_eq!((trust.scale(), trust.banned), (1.0, None));
    }

    /// A tenth of .8 Mbit/s is less than a packet in a window.
    #[test]
    fn a_doubt_ends_within_seconds_also_at_a_rate_of_a_packet_a_window() {
        let mut trust = Trust::default();
        let slow = |trust: &Trust, now: Instant| Span {
            left: (500.0 * trust.scale() * trust.gain(now - BASE)).min(500.0),
            offered: 500.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::ZERO,
            excess: Duration::ZERO,
            foreign: 0.0,
        };
        hear(&mut trust, 100, 3_000, slow);
        hear(&mut trust, 3_000, 3_300, |_, _| Span {
            left: 50.0,
            offered: 500.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::from_millis(100),
            excess: Duration::from_millis(100),
            foreign: 0.0,
        });
        assert!(trust.scale() < 0.2, "{}", trust.scale());
        hear(&mut trust, 3_300, 7_000, slow);
        assert!(trust.scale() > 0.8, "{}", trust.scale());
    }

    /// Its first probe comes after 1.1 s, and is dropped for the most part; little leaves after it.
    #[test]
    fn what_its_own_probe_drops_is_no_sign_of_a_lie() {
        let mut trust = Trust::default();
        hear(&mut trust, 100, 1_140, radio(1.0));
        hear(&mut trust, 1_140, 1_300, |_, _| Span {
            left: 1000.0,
            offered: 5000.0,
            part: 1.0,
            dropped: 3000.0,
            hol: Duration::from_millis(5),
            excess: Duration::from_millis(5),
            foreign: 0.0,
        });
        hear(&mut trust, 1_300, 2_000, radio(1.0));
        assert_eq!(trust.scale(), 1.0);
    }

    /// A sixth too little: no probe finds a fifth more.
    #[test]
    fn a_small_doubt_ends_by_a_probe_as_well() {
        let mut trust = Trust::default();
        hear(&mut trust, 100, 3_000, radio(1.0));
        hear(&mut trust, 3_000, 3_300, |_, _| Span {
            left: 4150.0,
            offered: 5000.0,
            part: 1.0,
            dropped: 0.0,
            hol: Duration::from_millis(100),
            excess: Duration::from_millis(100),
            foreign: 0.0,
        });
        assert!((trust.scale() - 0.83).abs() < 0.01, "{}", trust.scale());
        hear(&mut trust, 3_300, 6_000, |trust, now| Span {
            left: (5000.0 * trust.scale() * trust.gain(now - BASE)).min(4900.0),
            ..radio(1.0)(trust, now)
        });
        assert!(trust.scale() > 0.95, "{}", trust.scale());
    }
}
