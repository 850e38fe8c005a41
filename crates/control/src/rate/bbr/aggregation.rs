//! How much more is acknowledged at once than the rate explains: Wi-Fi, cellular slots and offloads bunch ACKs, and the
//! window must bridge the silence between (Linux `bbr_update_ack_aggregation`).

use slackwater_core::{Duration, Instant};

/// Rounds of each of the two slots of the filter (`bbr_extra_acked_win_rtts`).
const SLOT_ROUNDS: u32 = 5;
/// An epoch with this many packets is too old (`bbr_ack_epoch_acked_reset_thresh`).
const EPOCH_MAX: u32 = 1 << 20;
/// The window is raised by at most this much time at the estimated rate (`bbr_extra_acked_max_us`).
const MAX_TIME: Duration = Duration::from_millis(100);

/// The same in ns-3, bytes (`AckEpochAckedResetThresh`).
const EPOCH_MAX_NS3: u32 = 1 << 12;

/// Packets acknowledged beyond expectation: the larger of two slots of five rounds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Aggregation {
    /// Packets after which an epoch is too old in ns-3, where its age counts in whole seconds (`UpdateAckAggregation`). It
    /// then finds little but the largest ACK. `None` for Linux.
    coarse: Option<u32>,
    slots: [u32; 2],
    slot: usize,
    rounds: u32,
    epoch: Option<Instant>,
    epoch_acked: u32,
}

impl Aggregation {
    /// As ns-3 has it, for packets of `mss` bytes.
    pub fn coarse(mss: u32) -> Self {
        Self {
            coarse: Some(EPOCH_MAX_NS3.div_ceil(mss.max(1))),
            ..Self::default()
        }
    }

    /// A new epoch.
    pub fn restart(&mut self, now: Instant) {
        self.epoch = Some(now);
        self.epoch_acked = 0;
    }

    /// The filter's value in packets.
    pub fn max(&self) -> u32 {
        self.slots[0].max(self.slots[1])
    }

    /// What to add to the window at `bw` packets per second.
    pub fn extra(&self, bw: f64) -> u32 {
        self.max().min((bw * MAX_TIME.as_secs_f64()) as u32)
    }

    /// `acked` packets arrived at an estimate of `bw` packets per second with a window of `cwnd`.
    pub fn update(&mut self, now: Instant, acked: u32, cwnd: u32, bw: f64, round_start: bool) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= SLOT_ROUNDS {
                self.rounds = 0;
                self.slot ^= 1;
                self.slots[self.slot] = 0;
            }
        }
        let epoch = *self.epoch.get_or_insert(now);
        let age = now.since(epoch).as_secs_f64();
        let (age, most) = match self.coarse {
            Some(most) => (libm::floor(age), most),
            None => (age, EPOCH_MAX),
        };
        let mut expected = (bw * age) as u32;
        if self.epoch_acked <= expected || self.epoch_acked.saturating_add(acked) >= most {
            self.restart(now);
            expected = 0;
        }
        self.epoch_acked = self.epoch_acked.saturating_add(acked).min(EPOCH_MAX - 1);
        let extra = self.epoch_acked.saturating_sub(expected).min(cwnd);
        let slot = &mut self.slots[self.slot];
        *slot = (*slot).max(extra);
    }
}
