//! Answers kept for repeated requests: one request, one effect, one answer (TS 29.244, 6.4).

use std::collections::{HashMap, VecDeque};
use std::net::{IpAddr, SocketAddr};

use slackwater_core::{Duration, Instant};

use super::kept::KeptAnswer;

/// What makes a request the same: where it came from, its number and its type.
type Key = (SocketAddr, u32, u8);

/// The answers to one address.
#[derive(Debug, Default)]
struct Kept {
    by_key: HashMap<Key, Vec<u8>>,
    /// Oldest first.
    ends: VecDeque<(Instant, Key)>,
}

impl Kept {
    fn expire(&mut self, now: Instant) {
        while self.ends.front().is_some_and(|(end, _)| *end <= now) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some((_, key)) = self.ends.pop_front() {
            self.by_key.remove(&key);
        }
    }
}

/// The answers to all addresses. What one address sends never drives out answers to another.
#[derive(Debug)]
pub(super) struct Answers {
    by_address: HashMap<IpAddr, Kept>,
    /// How long each is kept.
    life: Duration,
    /// Answers to an address at most; the oldest goes.
    most: usize,
}

impl Answers {
    pub(super) fn new(life: Duration, most: usize) -> Self {
        Self {
            by_address: HashMap::new(),
            life,
            most,
        }
    }

    /// The answer that this request had before.
    pub(super) fn get(
        &mut self,
        now: Instant,
        from: SocketAddr,
        seq: u32,
        kind: u8,
    ) -> Option<&[u8]> {
        let kept = self.by_address.get_mut(&from.ip())?;
        kept.expire(now);
        kept.by_key.get(&(from, seq, kind)).map(Vec::as_slice)
    }

    /// Keeps an answer. Only those to addresses with an association are kept: their number is bounded.
    pub(super) fn keep(
        &mut self,
        now: Instant,
        from: SocketAddr,
        seq: u32,
        kind: u8,
        answer: Vec<u8>,
    ) {
        let kept = self.by_address.entry(from.ip()).or_default();
        kept.expire(now);
        let key = (from, seq, kind);
        if kept.by_key.insert(key, answer).is_none() {
            kept.ends.push_back((now + self.life, key));
        }
        while kept.by_key.len() > self.most {
            kept.drop_oldest();
        }
    }

    /// Lets go of the answers to `address`, or to one port of it.
    pub(super) fn forget(&mut self, address: IpAddr, port: Option<u16>) {
        let Some(kept) = self.by_address.get_mut(&address) else {
            return;
        };
        let stays = |key: &Key| port.is_some_and(|port| key.0.port() != port);
        kept.by_key.retain(|key, _| stays(key));
        kept.ends.retain(|(_, key)| stays(key));
    }

    /// All of them, oldest first for each address.
    pub(super) fn all(&self) -> Vec<KeptAnswer> {
        let life = self.life;
        let each = |kept: &Kept| -> Vec<KeptAnswer> {
            let ends = kept.ends.iter().filter_map(|(end, key)| {
                Some(KeptAnswer {
                    at: end.saturating_sub(life),
                    from: key.0,
                    seq: key.1,
                    request: key.2,
                    octets: kept.by_key.get(key)?.clone(),
                })
            });
            ends.collect()
        };
        self.by_address.values().flat_map(each).collect()
    }

    /// Lets go of what is too old, and of addresses without answers.
    pub(super) fn expire(&mut self, now: Instant) {
        self.by_address.retain(|_, kept| {
            kept.expire(now);
            !kept.by_key.is_empty()
        });
    }

    /// When the first answer is too old.
    pub(super) fn next_timer(&self) -> Option<Instant> {
        let ends = self.by_address.values().filter_map(|k| k.ends.front());
        ends.map(|(end, _)| *end).min()
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.by_address.values().map(|k| k.by_key.len()).sum()
    }
}
