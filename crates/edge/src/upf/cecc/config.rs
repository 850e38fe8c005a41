//! Settings, and what was done.

use slackwater_core::{Bytes, Duration};
use slackwater_schema::choice;

choice! {
    /// How a frame is kept back that may not go.
    pub enum Mode {
        /// Not at all.
        Off = "off",
        /// As the paper does: acknowledgments are kept and handed out two at a time, the first with a large window, the
        /// second with a small one. The waiting moves into the server, where frame delay shows it and network delay not.
        Paper = "paper",
        /// Only the right edge of the window moves: a first segment asks, a grant lets the frame go.
        Credit = "credit",
        /// Packets wait here; acknowledgments are not touched. The default.
        Hold = "hold",
    }
}

choice! {
    /// Who may go.
    pub enum Schedule {
        /// Earliest frame first, while the backlog at the time of arrival stays below a slot. The default.
        Edf = "edf",
        /// Algorithm 1 of the paper.
        Alg1 = "alg1",
    }
}

/// Settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CeccConfig {
    /// How TCP is governed. Datagrams are held in every mode but [`Mode::Off`].
    pub mode: Mode,
    /// Who may go. [`Mode::Paper`] always uses Algorithm 1.
    pub schedule: Schedule,
    /// The delay standard D (CECC, II).
    pub standard: Duration,
    /// No report for this long: everything passes until three come again.
    pub stale: Duration,
    /// Reports farther apart than this are no ground to act on.
    pub longest_period: Duration,
    /// One-way delay between UPF and gNB; `None` where the clocks are in step and it can be measured.
    pub wired: Option<Duration>,
    /// How long before the bytes are needed at the gNB they should be there.
    pub margin: Duration,
    /// Flows whose frames are smaller pass at once: they cost others nothing.
    pub small_frame: Bytes,
    /// Bytes that all flows together may hold back; beyond that, packets pass.
    pub memory: Bytes,
    /// `edf`: backlog up to which the next frame goes, in percent of a full downlink slot.
    pub budget_percent: u32,
}

impl Default for CeccConfig {
    fn default() -> Self {
        Self {
            mode: Mode::Hold,
            schedule: Schedule::Edf,
            standard: Duration::from_millis(10),
            stale: Duration::from_millis(10),
            longest_period: Duration::from_millis(5),
            wired: None,
            margin: Duration::from_micros(200),
            small_frame: Bytes(8 * 1024),
            memory: Bytes(64 << 20),
            budget_percent: 100,
        }
    }
}

/// What was done so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CeccStats {
    /// Frames that began.
    pub frames: u64,
    /// Packets that waited here.
    pub held: u64,
    /// Packets that passed because they or their flow had waited too long or too much.
    pub overdue: u64,
    /// Grants of `credit`, or ACK pairs of `paper`.
    pub grants: u64,
    /// Grants of `credit` before a flow asked.
    pub ahead: u64,
    /// Flows kicked by Algorithm 1, each once per cycle.
    pub kicked: u64,
    /// Flows admitted by force because they were kicked for a whole beat.
    pub forced: u64,
    /// Frames that `edf` put back because not all could be in time.
    pub put_back: u64,
}
