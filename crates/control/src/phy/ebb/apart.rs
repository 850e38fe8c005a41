//! What a host applies by itself between two looks at this sender, as a kernel does whose sender is a process beside it.
//!
//! Only reports open the window: between them each byte that is sent leaves room for one less, and an ACK changes nothing. So a bound on
//! all that was sent says the same as a window, and stays true however late it is applied.
//!
//! A kernel sends when an ACK comes, or a timer of its pacer. A sender that has no room has no such timer, and waits for an ACK after the next
//! report: through an uplink that grants them together that costs 7 % of a cell (docs/design/0127). So the bound grows with its age by the
//! pace, and the pace decides until the next report.

use slackwater_core::{Bytes, Duration, Instant, Rate};
use slackwater_signal::Counters;

use super::Ebb;
use crate::Controller as _;

/// The most segments of a window, as for XRC in the kernel.
const MOST: u64 = 1 << 20;
/// The bound grows for so long at least, in which rule 5 makes up for what is too much or too little: the next report may be lost.
const GROWS: Duration = Duration::from_millis(10);
/// It grows by so many bytes/s at most: 100 Gbit/s, which no radio has.
const FASTEST: u64 = 12_500_000_000;
/// Nanoseconds of a second.
const SECOND: u64 = 1_000_000_000;

/// What the sender wants until it is looked at again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Order {
    /// The radio steers. Else the host's own CUBIC does, which begins with `window`.
    pub steers: bool,
    /// So many payload bytes may have been sent in all when it was made, those that were sent again included.
    pub limit: u64,
    /// Payload is paced by this.
    pub pace: Rate,
    /// The limit grows by the pace for so long.
    pub grows: Duration,
    /// The window without a radio, payload bytes.
    pub window: Bytes,
}

impl Order {
    /// The window in segments of `mss` bytes, one at least, where the order is `age` old, `sent` payload bytes were sent in all and
    /// `in_flight` segments are in flight.
    pub fn segments(&self, age: Duration, sent: u64, in_flight: u32, mss: u32) -> u32 {
        let pace = (self.pace.as_bps() / 8).min(FASTEST);
        let age = age.min(self.grows).as_nanos().min(SECOND);
        let grown = pace * age / SECOND;
        let limit = self.limit.saturating_add(grown);
        let room = limit.saturating_sub(sent) / u64::from(mss.max(1));
        u64::from(in_flight).saturating_add(room).clamp(1, MOST) as u32
    }
}

impl Ebb {
    /// What it wants now that `sent` payload bytes have left, those that were sent again included.
    pub fn order(&self, sent: u64) -> Order {
        let intent = self.intent();
        let window = intent.window.unwrap_or(Bytes(u64::from(self.clock.mss)));
        let steers = self.clock.steers();
        let room = if steers {
            self.clock.payload(self.clock.room()) as u64
        } else {
            0
        };
        let pace = intent.pacing.filter(|_| steers).unwrap_or(Rate::ZERO);
        Order {
            steers,
            limit: sent.saturating_add(room),
            pace: Rate::from_bps(self.clock.payload(pace.as_bps() as f64) as u64),
            grows: GROWS.max(Duration::from_secs_f64(self.clock.interval)),
            window,
        }
    }

    /// Payload of the full packets that `counters` show at the radio, beyond those that were sent as far as the host knows: it may know of a
    /// packet only when it does something again.
    pub fn unseen(&self, now: Instant, counters: &Counters) -> u64 {
        let packet = u64::from(self.clock.mss + self.clock.headers);
        self.clock.unseen(now, counters) / packet * u64::from(self.clock.mss)
    }

    /// `payload` bytes of what [`Self::unseen`] has shown were not sent: the counters hold packets of others.
    pub fn take_back(&mut self, now: Instant, payload: u64) {
        let packets = payload.div_ceil(u64::from(self.clock.mss));
        let headers = packets * u64::from(self.clock.headers);
        self.clock.take_back(now, payload, headers);
    }
}
