//! What the programs in the kernel have counted, read where they write it.

use std::io;
use std::os::fd::BorrowedFd;

use slackwater_upf::user::fast::Forwarded;

use super::maps::SESSIONS;
use crate::mapping::Mapping;

/// Words of `struct counts` of the program: a cache line.
const WORDS: usize = 8;

/// What the kernel has counted at one place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// Downlink.
    pub(super) down: Forwarded,
    /// Uplink.
    pub(super) up: Forwarded,
    /// Packets without room for a header.
    pub(super) lost: u64,
}

impl Counts {
    /// What was counted since `then`.
    pub(super) const fn since(self, then: Self) -> Self {
        const fn forwarded(now: Forwarded, then: Forwarded) -> Forwarded {
            Forwarded {
                packets: now.packets.wrapping_sub(then.packets),
                bytes: now.bytes.wrapping_sub(then.bytes),
            }
        }
        Self {
            down: forwarded(self.down, then.down),
            up: forwarded(self.up, then.up),
            lost: self.lost.wrapping_sub(then.lost),
        }
    }
}

/// The counters of all places, one set for each processor.
#[derive(Debug)]
pub(super) struct Counters {
    mapping: Mapping,
    processors: usize,
}

impl Counters {
    /// Those of the map `fd`, which has [`SESSIONS`] places for each processor.
    ///
    /// # Errors
    /// Where the kernel does not share them.
    pub(super) fn of(fd: BorrowedFd<'_>, processors: usize) -> io::Result<Self> {
        let length = processors * SESSIONS as usize * WORDS * size_of::<u64>();
        let mapping = Mapping::of(fd, length, false)?;
        Ok(Self {
            mapping,
            processors,
        })
    }

    /// What all processors have counted at a place; nothing at one that is none.
    pub(super) fn at(&self, slot: u32) -> Counts {
        let mut all = Counts::default();
        if slot >= SESSIONS {
            return all;
        }
        for processor in 0..self.processors {
            let place = processor * SESSIONS as usize + slot as usize;
            let add = |sum: &mut u64, k| {
                let word = self.mapping.word(place * WORDS + k);
                *sum = sum.wrapping_add(word.unwrap_or(0));
            };
            add(&mut all.down.packets, 0);
            add(&mut all.down.bytes, 1);
            add(&mut all.up.packets, 2);
            add(&mut all.up.bytes, 3);
            add(&mut all.lost, 4);
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_go_on_behind_the_greatest_number() {
        let at = |packets, lost| Counts {
            down: Forwarded {
                packets,
                bytes: packets,
            },
            lost,
            ..Counts::default()
        };
        assert_eq!(at(2, 7).since(at(u64::MAX, 7)), at(3, 0));
    }

    #[test]
    fn a_place_has_the_sum_of_all_processors() {
        use std::io::Write as _;
        use std::os::fd::AsFd as _;

        let memory = nix::sys::memfd::memfd_create("counters", nix::sys::memfd::MFdFlags::empty());
        let mut file = std::fs::File::from(memory.unwrap());
        let places = SESSIONS as usize;
        let mut words = vec![0_u64; 2 * places * WORDS];
        words[5 * WORDS..][..5].copy_from_slice(&[1, 20, 3, 40, 5]);
        words[(places + 5) * WORDS..][..5].copy_from_slice(&[100, 2_000, 300, 4_000, 500]);
        let octets: Vec<u8> = words.iter().flat_map(|w| w.to_ne_bytes()).collect();
        file.write_all(&octets).unwrap();

        let counters = Counters::of(file.as_fd(), 2).unwrap();
        let forwarded = |packets, bytes| Forwarded { packets, bytes };
        let expected = Counts {
            down: forwarded(101, 2_020),
            up: forwarded(303, 4_040),
            lost: 505,
        };
        assert_eq!(counters.at(5), expected);
        assert_eq!(counters.at(4), Counts::default());
        assert_eq!(counters.at(SESSIONS), Counts::default());
    }
}
