//! The bytes of packets on their way.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// How far a packet may be overtaken and still be found, in packets.
const REORDER: u32 = 4096;

/// Datagrams of one direction of one flow, under the numbers of the packets that stand for them.
#[derive(Debug, Default)]
pub struct Mailbox {
    first: u32,
    held: VecDeque<Bytes>,
}

impl Mailbox {
    /// Leaves a datagram; the number is for the packet that carries it.
    pub fn put(&mut self, datagram: Bytes) -> u32 {
        self.held.push_back(datagram);
        self.first.wrapping_add(self.held.len() as u32 - 1)
    }

    /// The datagram of a packet that arrived, maybe again; `None` where later ones by far arrived before. Forgets what
    /// is older by far.
    pub fn get(&mut self, number: u32) -> Option<BytesMut> {
        let place = number.wrapping_sub(self.first);
        let datagram = BytesMut::from(&self.held.get(place as usize)?[..]);
        for _ in REORDER..place {
            self.held.pop_front();
            self.first = self.first.wrapping_add(1);
        }
        Some(datagram)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_datagram_is_found_twice_and_forgotten_when_it_is_old() {
        let mut mailbox = Mailbox::default();
        for n in 0..10_000u32 {
            assert_eq!(mailbox.put(Bytes::copy_from_slice(&n.to_be_bytes())), n);
        }
        for n in [0, 0, 3, 9_999, 5_904] {
            assert_eq!(&mailbox.get(n).unwrap()[..], n.to_be_bytes());
        }
        assert!(mailbox.get(3).is_none() && mailbox.get(10_000).is_none());
        assert!(mailbox.held.len() <= REORDER as usize + 1);
    }
}
