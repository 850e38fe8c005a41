//! The congestion state and the episode in progress: where it ends, whether it may be undone, and its window.

use slackwater_control::Recovery;
use slackwater_core::Instant;

use super::config::PrrBound;
use super::prr::Prr;
use super::timestamps::tick;

/// Where F-RTO stands (RFC 5682, 2.1).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Frto {
    /// The timeout is taken for real.
    Off,
    /// Step 2: the first segment was sent again, and the next ACK decides.
    Resent,
    /// Step 2b: new data was sent, and it waits for what that brings.
    NewData,
}

/// What F-RTO concludes from an ACK after a timeout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrtoVerdict {
    /// Nothing: loss recovery goes on.
    None,
    /// Something that was sent before the timeout arrived: the timeout was spurious (step 3b).
    Spurious,
    /// New data is to leave before more is repeated, if there is any (step 2b).
    TryNewData,
}

/// The congestion state of Linux, and what a reduction leaves until it is over.
#[derive(Clone, Debug)]
pub(super) struct Episode {
    /// The congestion state (Linux `icsk_ca_state`).
    state: Recovery,
    /// The present episode ends when this position is acknowledged.
    end: u64,
    /// Where the episode began, while it can be undone.
    undo: Option<u64>,
    /// Segments sent again since then that no DSACK named; `None` before the first (Linux `undo_retrans` = -1).
    undo_resent: Option<u32>,
    /// Time-stamp tick of the episode's first retransmission.
    resent_at: Option<u32>,
    /// Bytes lost in this episode.
    lost: u64,
    /// Where F-RTO stands.
    frto: Frto,
    /// Timeouts in a row without progress.
    timeouts: u32,
    /// The window's way down, where it goes by proportional rate reduction.
    reduction: Option<Prr>,
}

impl Episode {
    pub(super) const fn new() -> Self {
        Self {
            state: Recovery::Open,
            end: 0,
            undo: None,
            undo_resent: None,
            resent_at: None,
            lost: 0,
            frto: Frto::Off,
            timeouts: 0,
            reduction: None,
        }
    }

    // --- the state ---

    /// The congestion state.
    #[inline]
    pub(super) const fn state(&self) -> Recovery {
        self.state
    }

    /// No loss, mark or disorder is known.
    #[inline]
    pub(super) fn is_open(&self) -> bool {
        self.state == Recovery::Open
    }

    /// What is lost is being sent again.
    #[inline]
    pub(super) const fn is_recovering(&self) -> bool {
        matches!(self.state, Recovery::Fast | Recovery::Timeout)
    }

    /// It ends when this position is acknowledged.
    #[inline]
    pub(super) const fn end(&self) -> u64 {
        self.end
    }

    /// Bytes lost in it.
    pub(super) const fn lost(&self) -> u64 {
        self.lost
    }

    /// `bytes` more are lost.
    pub(super) const fn add_lost(&mut self, bytes: u64) {
        self.lost += bytes;
    }

    // --- its beginning ---

    /// The window is reduced for a mark; `nxt` is the next new position. The state follows once the controller answered.
    pub(super) const fn begin_marked(&mut self, nxt: u64) {
        self.undo = None;
        self.end = nxt;
    }

    /// The window was reduced for a mark.
    pub(super) const fn marked(&mut self) {
        self.state = Recovery::Cwr;
    }

    /// A loss was found: `lost` bytes, with all before `una` acknowledged.
    pub(super) fn begin_fast(&mut self, una: u64, lost: u64) {
        self.undo = (self.state != Recovery::Cwr).then_some(una);
        self.undo_resent = None;
        self.lost = lost;
    }

    /// The episode lasts until `nxt` is acknowledged.
    pub(super) const fn extend(&mut self, nxt: u64) {
        self.end = nxt;
    }

    /// What is lost is sent again.
    pub(super) const fn fast(&mut self) {
        self.state = Recovery::Fast;
    }

    /// A timeout found `lost` bytes lost. `frto`: it may prove spurious.
    pub(super) fn begin_timeout(&mut self, una: u64, nxt: u64, lost: u64, frto: bool) {
        let fresh = matches!(self.state, Recovery::Open | Recovery::Disorder)
            || una >= self.end
            || (self.state == Recovery::Timeout && self.timeouts == 0);
        let first = !self.is_recovering();
        if fresh {
            self.undo = Some(una);
            self.undo_resent = None;
            self.resent_at = None;
            self.lost = 0;
        }
        self.lost += lost;
        self.state = Recovery::Timeout;
        self.end = nxt;
        self.frto = if frto && (first || self.timeouts > 0) {
            Frto::Resent
        } else {
            Frto::Off
        };
    }

    /// A timeout was answered.
    pub(super) const fn count_timeout(&mut self) {
        self.timeouts += 1;
    }

    /// The cumulative point moved.
    #[inline]
    pub(super) const fn on_progress(&mut self) {
        self.timeouts = 0;
    }

    // --- its end ---

    /// A reduction for a mark is over.
    pub(super) const fn open(&mut self) {
        self.state = Recovery::Open;
    }

    /// Recovery is over: open until [`Episode::calm`] knows better.
    pub(super) const fn leave(&mut self) {
        self.undo = None;
        self.frto = Frto::Off;
        self.lost = 0;
        self.state = Recovery::Open;
    }

    /// Neither lost nor marked: open, or in disorder where something is `SACKed` or duplicated.
    pub(super) const fn calm(&mut self, disorder: bool) {
        self.state = if disorder {
            Recovery::Disorder
        } else {
            Recovery::Open
        };
    }

    /// Nothing that was sent again is in flight.
    pub(super) const fn forget_resent(&mut self) {
        self.resent_at = None;
    }

    // --- undo ---

    /// It cannot be undone any more: a mark is never spurious.
    pub(super) const fn forbid_undo(&mut self) {
        self.undo = None;
    }

    /// It may be undone.
    pub(super) const fn may_undo(&self) -> bool {
        self.undo.is_some()
    }

    /// A segment leaves again.
    pub(super) fn on_resent(&mut self, now: Instant) {
        self.resent_at.get_or_insert(tick(now));
        self.undo_resent = Some(self.undo_resent.unwrap_or(0) + 1);
    }

    /// A DSACK names `segments` up to `end`, all before `una` being acknowledged.
    pub(super) fn on_dsack(&mut self, end: u64, una: u64, segments: u32) {
        if let (Some(marker), Some(n)) = (self.undo, self.undo_resent)
            && end > marker
            && end <= una.max(self.end)
        {
            self.undo_resent = Some(n.saturating_sub(segments));
        }
    }

    /// The retransmissions of this episode were all in vain (DSACK).
    pub(super) fn all_resent_in_vain(&self) -> bool {
        self.may_undo() && self.undo_resent == Some(0)
    }

    /// The `echo` is older than the first retransmission: the original arrived (Eifel, RFC 3522, 3.2).
    pub(super) const fn is_delayed(&self, echo: Option<u32>) -> bool {
        match (self.resent_at, echo) {
            (Some(at), Some(echo)) => (echo.wrapping_sub(at) as i32) < 0,
            _ => false,
        }
    }

    /// An ACK with this `echo` shows that the episode was spurious.
    pub(super) fn is_spurious(&self, echo: Option<u32>) -> bool {
        self.may_undo() && (self.undo_resent == Some(0) || self.is_delayed(echo))
    }

    /// The reduction is taken back. True in fast recovery, which [`Episode::calm`] ends.
    pub(super) fn take_back(&mut self) -> bool {
        self.undo = None;
        self.reduction = None;
        self.state == Recovery::Fast
    }

    /// Fast recovery proved needless.
    pub(super) const fn end_fast(&mut self) {
        self.frto = Frto::Off;
        self.lost = 0;
    }

    // --- F-RTO ---

    /// New data comes before more is repeated.
    #[inline]
    pub(super) fn tries_new_data(&self) -> bool {
        self.frto == Frto::NewData
    }

    /// An ACK after a timeout. `original`: something that was sent once and before the episode arrived; `news`: a SACK or a
    /// duplicate ACK; `advanced`: the cumulative point moved, to `una`.
    pub(super) fn on_frto_ack(
        &mut self,
        original: bool,
        news: bool,
        advanced: bool,
        una: u64,
    ) -> FrtoVerdict {
        match self.frto {
            Frto::Off => FrtoVerdict::None,
            _ if original && self.may_undo() => FrtoVerdict::Spurious,
            Frto::NewData => {
                if news {
                    // Step 3a: the timeout was real.
                    self.frto = Frto::Off;
                }
                FrtoVerdict::None
            }
            Frto::Resent if advanced && una < self.end => FrtoVerdict::TryNewData,
            Frto::Resent => FrtoVerdict::None,
        }
    }

    /// There is new data to try, up to `nxt` for now; or there is none.
    pub(super) const fn try_new_data(&mut self, nxt: u64, some: bool) {
        self.end = nxt;
        self.frto = if some { Frto::NewData } else { Frto::Off };
    }

    // --- the window's way down ---

    /// The window goes down by `reduction`, or at once.
    pub(super) const fn reduce(&mut self, reduction: Option<Prr>) {
        self.reduction = reduction;
    }

    /// The window of the reduction in progress.
    #[inline]
    pub(super) fn window(&self) -> Option<u64> {
        self.reduction.as_ref().map(Prr::window)
    }

    /// A reduction is in progress.
    #[inline]
    pub(super) const fn is_reducing(&self) -> bool {
        self.reduction.is_some()
    }

    /// `bytes` leave, new or again.
    #[inline]
    pub(super) fn on_sent(&mut self, bytes: u64) {
        if let Some(prr) = &mut self.reduction {
            prr.on_sent(bytes);
        }
    }

    /// See [`Prr::on_ack`].
    #[inline]
    pub(super) fn on_delivered(
        &mut self,
        newly: u64,
        in_flight: u64,
        progress: bool,
        bound: PrrBound,
        mss: u64,
    ) {
        if let Some(prr) = &mut self.reduction {
            prr.on_ack(newly, in_flight, progress, bound, mss);
        }
    }

    /// See [`Prr::on_silence`].
    pub(super) fn on_silence(&mut self, in_flight: u64, mss: u64) {
        if let Some(prr) = &mut self.reduction {
            prr.on_silence(in_flight, mss);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Three segments are lost, with all before 1,000 acknowledged, and two of them have been sent again at 5 ms.
    fn two_sent_again() -> Episode {
        let mut episode = Episode::new();
        episode.begin_fast(1000, 3000);
        episode.extend(10_000);
        episode.fast();
        for ms in [5, 6] {
            episode.on_resent(Instant::from_millis(ms));
        }
        episode
    }

    /// RFC 3708, 3: the answer was needless once DSACKs name all that was sent again, and not before.
    #[test]
    fn an_episode_is_spurious_once_duplicates_of_all_that_was_repeated_are_reported() {
        let mut episode = two_sent_again();
        assert!(!episode.is_spurious(None));
        episode.on_dsack(2000, 3000, 1);
        assert!(!episode.is_spurious(None), "one may have been needed");
        // What lies before the episode, or beyond it, says nothing of it.
        episode.on_dsack(1000, 3000, 1);
        episode.on_dsack(11_000, 3000, 1);
        assert!(!episode.is_spurious(None));
        episode.on_dsack(3000, 3000, 1);
        assert!(episode.is_spurious(None));
    }

    /// RFC 3522, 3.2: an echo older than the first retransmission is that of the original.
    #[test]
    fn an_echo_from_before_the_first_retransmission_proves_it_needless() {
        let episode = two_sent_again();
        assert!(episode.is_spurious(Some(4)));
        assert!(!episode.is_spurious(Some(5)));
        assert!(
            !Episode::new().is_spurious(Some(4)),
            "there is no answer to undo"
        );
    }
}
