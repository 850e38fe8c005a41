//! Packets that the kernel forwarded and the function measures: their headers, and when they passed.

use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::{MapCore, RingBuffer, RingBufferBuilder};
use slackwater_core::Direction;

use super::maps::refused;
use crate::LiveError;

/// `HEAD` of the program.
const HEAD: usize = 80;

/// `struct passed` of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// When it passed, in nanoseconds of `CLOCK_MONOTONIC`.
    pub(super) at: u64,
    /// The place of its session among the counters.
    pub(super) slot: u32,
    /// Which way.
    pub(super) direction: Direction,
    length: u8,
    octets: [u8; HEAD],
}

impl Passed {
    fn parse(octets: &[u8]) -> Option<Self> {
        let (at, rest) = octets.split_first_chunk()?;
        let (slot, rest) = rest.split_first_chunk()?;
        let (&[direction, length, _, _], rest) = rest.split_first_chunk()?;
        let direction = match direction {
            0 => Direction::Down,
            _ => Direction::Up,
        };
        Some(Self {
            at: u64::from_ne_bytes(*at),
            slot: u32::from_ne_bytes(*slot),
            direction,
            length: length.min(HEAD as u8),
            octets: *rest.first_chunk()?,
        })
    }

    /// The packet's first octets, which have its headers.
    pub(super) fn head(&mut self) -> &mut [u8] {
        &mut self.octets[..usize::from(self.length)]
    }
}

/// The ring that the programs write to.
pub(super) struct Unread {
    ring: RingBuffer<'static>,
    /// What the ring's reader found, in the order in which it passed.
    found: Arc<Mutex<Vec<Passed>>>,
}

impl Unread {
    /// That of a map.
    ///
    /// # Errors
    /// Where the kernel does not let it be read.
    pub(super) fn of(map: &dyn MapCore) -> Result<Self, LiveError> {
        let found = Arc::new(Mutex::new(Vec::new()));
        let finds = Arc::clone(&found);
        let mut builder = RingBufferBuilder::new();
        let reader = move |octets: &[u8]| {
            let mut finds = finds.lock().unwrap_or_else(PoisonError::into_inner);
            finds.extend(Passed::parse(octets));
            0
        };
        builder
            .add(map, reader)
            .map_err(refused("headers of packets cannot be read"))?;
        let ring = builder
            .build()
            .map_err(refused("headers of packets cannot be read"))?;
        Ok(Self { ring, found })
    }

    /// Moves what passed since the last time to the end of `to`.
    pub(super) fn read(&self, to: &mut Vec<Passed>) {
        // An error is that of a reader that wants to stop; this one does not.
        let _read = self.ring.consume();
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        to.append(&mut found);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_of_the_program_is_read_and_a_short_one_is_none() {
        let mut octets = [0_u8; 96];
        octets[..8].copy_from_slice(&7_u64.to_ne_bytes());
        octets[8..12].copy_from_slice(&9_u32.to_ne_bytes());
        octets[12..14].copy_from_slice(&[1, 40]);
        octets[16..].fill(5);
        let mut passed = Passed::parse(&octets).unwrap();
        let found = (passed.at, passed.slot, passed.direction);
        assert_eq!(found, (7, 9, Direction::Up));
        assert_eq!(passed.head(), [5; 40]);
        assert_eq!(Passed::parse(&octets[..95]), None);
    }
}
