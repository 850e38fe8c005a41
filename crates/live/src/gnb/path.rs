//! Paths to user plane functions: whether they answer, and what they can read (TS 29.281, 7.2).

use std::net::SocketAddr;

use slackwater_core::{Duration, Instant};
use slackwater_wire::gtpu::report::Capabilities;

/// T3-RESPONSE: wait for an echo response. TS 29.281 leaves timer and number to the operator; ours.
const T3_RESPONSE: Duration = Duration::from_secs(3);
/// N3-REQUESTS: echo requests that are sent before the path counts as failed.
const N3_REQUESTS: u8 = 3;

/// A path to a peer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Path {
    /// The peer.
    pub(super) peer: SocketAddr,
    /// It answers; `None` before that is known.
    pub(super) alive: Option<bool>,
    /// What it reads, where it said so.
    pub(super) reads: Option<Capabilities>,
    /// The echo request that waits for its response: sequence number, and how often it was sent.
    waiting: Option<(u16, u8)>,
    next: Option<Instant>,
}

/// All paths.
#[derive(Debug)]
pub(super) struct Paths {
    every: Duration,
    seq: u16,
    pub(super) all: Vec<Path>,
}

impl Paths {
    /// Paths to `peers`, with an echo request `every` so often; never where that is zero.
    pub(super) fn new(mut peers: Vec<SocketAddr>, every: Duration) -> Self {
        peers.sort_unstable();
        peers.dedup();
        let path = |peer| Path {
            peer,
            alive: None,
            reads: None,
            waiting: None,
            next: (!every.is_zero()).then_some(Instant::ZERO),
        };
        Self {
            every,
            seq: 0,
            all: peers.into_iter().map(path).collect(),
        }
    }

    pub(super) fn next_timer(&self) -> Option<Instant> {
        self.all.iter().filter_map(|p| p.next).min()
    }

    /// The echo requests that are due: peer and sequence number. One that is sent again has the number of the first
    /// (TS 29.281, 7.2.1).
    pub(super) fn due(&mut self, now: Instant, mut send: impl FnMut(SocketAddr, u16)) {
        for path in &mut self.all {
            if path.next.is_none_or(|next| next > now) {
                continue;
            }
            match &mut path.waiting {
                Some((seq, tries)) if *tries < N3_REQUESTS => {
                    *tries += 1;
                    send(path.peer, *seq);
                    path.next = Some(now + T3_RESPONSE);
                }
                Some(_) => {
                    (path.alive, path.waiting) = (Some(false), None);
                    path.next = Some(now + self.every);
                }
                None => {
                    self.seq = self.seq.wrapping_add(1);
                    path.waiting = Some((self.seq, 1));
                    send(path.peer, self.seq);
                    path.next = Some(now + T3_RESPONSE);
                }
            }
        }
    }

    /// `peer` answered the request `seq`; false where none was sent to it.
    pub(super) fn answered(
        &mut self,
        now: Instant,
        peer: SocketAddr,
        seq: Option<u16>,
        reads: Option<Capabilities>,
    ) -> bool {
        let asked = |p: &&mut Path| p.peer == peer && p.waiting.map(|w| w.0) == seq;
        let Some(path) = self
            .all
            .iter_mut()
            .filter(|p| p.waiting.is_some())
            .find(asked)
        else {
            return false;
        };
        (path.alive, path.waiting, path.reads) = (Some(true), None, reads.or(path.reads));
        path.next = Some(now + self.every);
        true
    }

    /// What the peer at the IP address of `at` reads.
    pub(super) fn reads(&self, at: SocketAddr) -> Option<Capabilities> {
        self.all.iter().find(|p| p.peer.ip() == at.ip())?.reads
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sent(paths: &mut Paths, ms: u64) -> Vec<u16> {
        let mut out = Vec::new();
        paths.due(Instant::from_millis(ms), |_, seq| out.push(seq));
        out
    }

    #[test]
    fn a_request_is_repeated_until_the_path_has_failed() {
        let peer: SocketAddr = "10.0.0.1:2152".parse().expect("an address");
        let mut paths = Paths::new(vec![peer, peer], Duration::from_secs(60));
        assert_eq!(paths.all.len(), 1);
        assert_eq!(sent(&mut paths, 0), [1]);
        assert!(sent(&mut paths, 2_999).is_empty());
        assert_eq!(sent(&mut paths, 3_000), [1]);
        assert_eq!(sent(&mut paths, 6_000), [1]);
        assert_eq!(paths.all[0].alive, None);
        assert!(sent(&mut paths, 9_000).is_empty());
        assert_eq!(paths.all[0].alive, Some(false));
        // Not more often than once a minute.
        assert_eq!(paths.next_timer(), Some(Instant::from_millis(69_000)));
        assert_eq!(sent(&mut paths, 69_000), [2]);
        let now = Instant::from_millis(69_010);
        assert!(!paths.answered(now, peer, Some(1), None), "an old one");
        assert!(
            !paths.answered(now, peer, None, None),
            "one without a number"
        );
        let reads = Capabilities::default();
        assert!(paths.answered(now, peer, Some(2), Some(reads)));
        assert_eq!(paths.all[0].alive, Some(true));
        assert!(!paths.answered(now, peer, Some(2), None), "twice");
        assert_eq!(
            paths.reads("10.0.0.1:9".parse().expect("an address")),
            Some(reads)
        );
        assert_eq!(paths.next_timer(), Some(now + Duration::from_secs(60)));
    }
}
