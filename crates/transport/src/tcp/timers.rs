//! The deadlines of an endpoint.

use slackwater_core::Instant;

/// Deadlines; `MAX` for none. The receiver keeps its own, for a delayed ACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timers {
    /// Retransmission timeout (RFC 6298).
    pub(super) rto: Instant,
    /// Tail loss probe (RFC 8985, 7.2).
    pub(super) tlp: Instant,
    /// End of the reordering window (RFC 8985, 6.3).
    pub(super) reorder: Instant,
    /// The pacer lets the next segment go.
    pub(super) pace: Instant,
    /// Probe of a closed window (RFC 9293, 3.8.6.1).
    pub(super) persist: Instant,
    /// A SYN or SYN/ACK is sent again.
    pub(super) handshake: Instant,
    /// The controller's own.
    pub(super) controller: Instant,
    /// When the driver calls next: never after the earliest deadline, often before it, since a deadline that moves
    /// away leaves it where it is.
    wake: Instant,
}

impl Timers {
    pub(super) const fn new() -> Self {
        let never = Instant::MAX;
        Self {
            rto: never,
            tlp: never,
            reorder: never,
            pace: never,
            persist: never,
            handshake: never,
            controller: never,
            wake: never,
        }
    }

    /// When the driver calls next.
    #[inline]
    pub(super) const fn wake(&self) -> Instant {
        self.wake
    }

    /// The driver called: it needs a new time.
    pub(super) const fn woken(&mut self) {
        self.wake = Instant::MAX;
    }

    /// Sets the wake-up for the earliest deadline, `receiver` among them. One that lies earlier stays: it costs a look when
    /// it comes, where moving it would cost the driver's queue at each ACK.
    #[inline]
    pub(super) fn settle(&mut self, now: Instant, receiver: Instant) {
        let earliest = self
            .rto
            .min(self.tlp)
            .min(self.reorder)
            .min(self.pace)
            .min(self.persist)
            .min(self.handshake)
            .min(self.controller)
            .min(receiver);
        if earliest < self.wake || self.wake < now {
            self.wake = earliest;
        }
    }

    /// True where the wake-up must move although no deadline but `receiver` did.
    #[inline]
    pub(super) fn must_settle(&self, now: Instant, receiver: Instant) -> bool {
        receiver < self.wake || self.wake < now
    }
}
