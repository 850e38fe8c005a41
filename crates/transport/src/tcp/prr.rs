//! Proportional rate reduction (RFC 9937; Linux `tcp_cwnd_reduction`).

use super::config::PrrBound;

/// The state of one reduction, in bytes.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Prr {
    /// Window when the reduction began; at least one segment while it lasts (`RecoverFS`).
    prior: u64,
    /// The window to reach (`ssthresh`).
    target: u64,
    /// Bytes delivered since.
    delivered: u64,
    /// Bytes sent since.
    out: u64,
    /// The window now.
    window: u64,
}

impl Prr {
    /// A reduction from `prior` to `target` begins. Until the first ACK is counted the window stays.
    pub(crate) fn start(prior: u64, target: u64, mss: u64) -> Self {
        Self {
            prior: prior.max(mss),
            target: target.max(mss),
            delivered: 0,
            out: 0,
            window: prior.max(mss),
        }
    }

    /// The window in force.
    #[inline]
    pub(crate) const fn window(&self) -> u64 {
        self.window
    }

    /// `bytes` were sent, new or again.
    #[inline]
    pub(crate) fn on_sent(&mut self, bytes: u64) {
        self.out += bytes;
    }

    /// An ACK delivered `newly` bytes and left `in_flight` in the pipe. `progress`: it moved the cumulative point and
    /// showed no further loss (RFC 9937, 6.2: `SafeACK`).
    pub(crate) fn on_ack(
        &mut self,
        newly: u64,
        in_flight: u64,
        progress: bool,
        bound: PrrBound,
        mss: u64,
    ) {
        if newly == 0 {
            return;
        }
        self.delivered += newly;
        let send = if in_flight > self.target {
            let due = u128::from(self.target) * u128::from(self.delivered);
            let due = due.div_ceil(u128::from(self.prior)) as u64;
            due.saturating_sub(self.out)
        } else {
            let owed = self.delivered.saturating_sub(self.out);
            let limit = match bound {
                PrrBound::Conservative => owed,
                PrrBound::SlowStart => owed.max(newly) + mss,
                PrrBound::Heuristic => owed.max(newly) + if progress { mss } else { 0 },
            };
            limit.min(self.target - in_flight)
        };
        // RFC 9937, 6.2: the first retransmission goes out whatever the pipe says.
        let send = if self.out == 0 { send.max(mss) } else { send };
        self.window = in_flight + send;
    }

    /// A loss was found without an ACK (the reordering timer): one segment may leave, so that recovery starts.
    pub(crate) fn on_silence(&mut self, in_flight: u64, mss: u64) {
        let owed = self.delivered.saturating_sub(self.out);
        self.window = in_flight + if self.out == 0 { owed.max(mss) } else { owed };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    #[test]
    fn sends_in_proportion_to_what_is_delivered() {
        // RFC 9937, figure 1: RecoverFS 20, target 10: one segment out for every two delivered.
        let mut prr = Prr::start(20 * MSS, 10 * MSS, MSS);
        let mut pipe = 19 * MSS;
        let mut sent = 0;
        for _ in 0..18 {
            pipe -= MSS;
            prr.on_ack(MSS, pipe, false, PrrBound::Heuristic, MSS);
            while pipe + MSS <= prr.window() {
                pipe += MSS;
                sent += 1;
                prr.on_sent(MSS);
            }
        }
        assert_eq!((sent, pipe), (9, 10 * MSS));
    }

    #[test]
    fn below_the_target_the_bounds_differ() {
        let window = |bound, progress| {
            let mut prr = Prr::start(20 * MSS, 10 * MSS, MSS);
            prr.on_sent(MSS);
            prr.on_ack(MSS, 4 * MSS, progress, bound, MSS);
            prr.window() / MSS
        };
        assert_eq!(window(PrrBound::Conservative, true), 4);
        assert_eq!(window(PrrBound::SlowStart, false), 6);
        assert_eq!(window(PrrBound::Heuristic, false), 5);
        assert_eq!(window(PrrBound::Heuristic, true), 6);
    }

    #[test]
    fn the_first_retransmission_is_never_held_back() {
        let mut prr = Prr::start(20 * MSS, 2 * MSS, MSS);
        prr.on_ack(MSS, 18 * MSS, false, PrrBound::Heuristic, MSS);
        assert_eq!(prr.window(), 19 * MSS);
    }
}
