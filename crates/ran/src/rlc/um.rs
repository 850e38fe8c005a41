//! The receiving side of unacknowledged mode: the reordering window.

use std::collections::VecDeque;

use slackwater_core::{Duration, Instant};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// On its way.
    Pending,
    Received,
    /// HARQ gave up. The receiver cannot know; it learns by its timer.
    Lost,
    /// Lost, and the SDUs that it hit are dropped already.
    Flushed,
}

#[derive(Clone, Copy, Debug)]
struct Pdu {
    end: u64,
    state: State,
}

/// What the window hands on, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Step {
    /// The stream is complete up to this offset.
    Good(u64),
    /// The stream is lost up to this offset.
    Bad(u64),
}

/// The PDUs between the next expected one and the last that was sent.
#[derive(Debug)]
pub(super) struct Window {
    /// How long a gap holds up what lies behind it.
    reassembly: Duration,
    /// Number of the front of `pdus`: VR(UR).
    next: u32,
    pdus: VecDeque<Pdu>,
    /// The number after the highest received: VR(UH).
    highest: u32,
    /// VR(UX), while the timer runs.
    limit: u32,
    pub(super) deadline: Option<Instant>,
}

impl Window {
    pub(super) fn new(reassembly: Duration) -> Self {
        Self {
            reassembly,
            next: 0,
            pdus: VecDeque::new(),
            highest: 0,
            limit: 0,
            deadline: None,
        }
    }

    /// The sender made a PDU that ends at `end`; returns its number.
    #[inline]
    pub(super) fn sent(&mut self, end: u64) -> u32 {
        let number = self.next.wrapping_add(self.pdus.len() as u32);
        self.pdus.push_back(Pdu {
            end,
            state: State::Pending,
        });
        number
    }

    /// PDU `number` was decoded.
    #[inline]
    pub(super) fn received(&mut self, now: Instant, number: u32, mut step: impl FnMut(Step)) {
        let index = number.wrapping_sub(self.next) as usize;
        if index >= self.pdus.len() {
            // The timer gave up on it before; TS 36.322, 5.1.2.2.2 discards it.
            return;
        }
        if (number.wrapping_sub(self.highest) as i32) >= 0 {
            self.highest = number.wrapping_add(1);
        }
        if index == 0 && self.pdus.len() == 1 {
            let pdu = self.pdus.pop_front().expect("the window has one PDU");
            self.next = self.highest;
            self.deadline = None;
            step(Step::Good(pdu.end));
            return;
        }
        self.pdus[index].state = State::Received;
        self.advance(&mut step);
        self.after(now);
    }

    /// HARQ gave up on PDU `number`.
    pub(super) fn lost(&mut self, number: u32, mut step: impl FnMut(Step)) {
        let index = number.wrapping_sub(self.next) as usize;
        if let Some(pdu) = self.pdus.get_mut(index) {
            pdu.state = State::Lost;
            self.advance(&mut step);
        }
    }

    /// Hands on from the front what is complete; flushes lost PDUs at the front without passing them.
    fn advance(&mut self, step: &mut impl FnMut(Step)) {
        while let Some(front) = self.pdus.front_mut() {
            match front.state {
                State::Received => {
                    step(Step::Good(front.end));
                    self.pdus.pop_front();
                    self.next = self.next.wrapping_add(1);
                }
                State::Lost => {
                    front.state = State::Flushed;
                    let end = front.end;
                    step(Step::Bad(end));
                    self.flush_behind(step);
                    return;
                }
                State::Flushed => {
                    self.flush_behind(step);
                    return;
                }
                State::Pending => return,
            }
        }
    }

    /// Behind a flushed front, flushes further lost PDUs, so that no SDU stays in limbo when nothing follows.
    fn flush_behind(&mut self, step: &mut impl FnMut(Step)) {
        for pdu in self.pdus.iter_mut().skip(1) {
            match pdu.state {
                State::Flushed => {}
                State::Lost => {
                    pdu.state = State::Flushed;
                    step(Step::Bad(pdu.end));
                }
                State::Received | State::Pending => return,
            }
        }
    }

    /// Stops or starts the timer (TS 36.322, 5.1.2.2.3).
    fn after(&mut self, now: Instant) {
        if self.deadline.is_some() && (self.next.wrapping_sub(self.limit) as i32) >= 0 {
            self.deadline = None;
        }
        if self.deadline.is_none() && (self.highest.wrapping_sub(self.next) as i32) > 0 {
            self.limit = self.highest;
            self.deadline = Some(now + self.reassembly);
        }
    }

    /// The timer ran out: gives up on what is missing below VR(UX) (TS 36.322, 5.1.2.2.4).
    pub(super) fn expire(&mut self, now: Instant, mut step: impl FnMut(Step)) {
        self.deadline = None;
        while (self.limit.wrapping_sub(self.next) as i32) > 0 {
            let pdu = self
                .pdus
                .pop_front()
                .expect("PDUs below the highest received were sent");
            self.next = self.next.wrapping_add(1);
            match pdu.state {
                State::Received => step(Step::Good(pdu.end)),
                State::Lost | State::Pending => step(Step::Bad(pdu.end)),
                State::Flushed => {}
            }
        }
        self.advance(&mut step);
        self.after(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GAP: Duration = Duration::from_millis(50);
    const T0: Instant = Instant::from_millis(10);

    fn window(n: u64) -> Window {
        let mut window = Window::new(GAP);
        for k in 1..=n {
            assert_eq!(window.sent(k * 100), k as u32 - 1);
        }
        window
    }

    #[test]
    fn a_gap_holds_until_it_is_filled() {
        let (mut w, mut out) = (window(3), Vec::new());
        w.received(T0, 1, |s| out.push(s));
        assert!(out.is_empty());
        assert_eq!(w.deadline, Some(T0 + GAP));
        w.received(T0, 0, |s| out.push(s));
        assert_eq!(out, [Step::Good(100), Step::Good(200)]);
        assert_eq!(w.deadline, None);
        w.received(T0, 2, |s| out.push(s));
        assert_eq!(out.last(), Some(&Step::Good(300)));
    }

    #[test]
    fn the_timer_gives_up_and_latecomers_are_discarded() {
        let (mut w, mut out) = (window(4), Vec::new());
        w.received(T0, 1, |s| out.push(s));
        w.received(T0, 3, |s| out.push(s));
        let t = w.deadline.unwrap();
        w.expire(t, |s| out.push(s));
        assert_eq!(out, [Step::Bad(100), Step::Good(200)]);
        // PDU 2 is still missing below the highest received: the timer runs again.
        assert!(w.deadline.is_some());
        w.received(t, 0, |s| out.push(s));
        assert_eq!(out.len(), 2);
        w.received(t, 2, |s| out.push(s));
        assert_eq!(out[2..], [Step::Good(300), Step::Good(400)]);
        assert_eq!(w.deadline, None);
    }

    #[test]
    fn a_loss_at_the_end_is_flushed_at_once_and_still_holds_up_what_follows() {
        let (mut w, mut out) = (window(2), Vec::new());
        w.received(T0, 0, |s| out.push(s));
        w.lost(1, |s| out.push(s));
        assert_eq!(out, [Step::Good(100), Step::Bad(200)]);
        assert_eq!(w.deadline, None);
        assert_eq!(w.sent(300), 2);
        w.received(T0, 2, |s| out.push(s));
        assert_eq!(out.len(), 2);
        let t = w.deadline.unwrap();
        w.expire(t, |s| out.push(s));
        assert_eq!(out[2..], [Step::Good(300)]);
    }
}
