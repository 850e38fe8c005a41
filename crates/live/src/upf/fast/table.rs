//! The sessions of one direction, as the programs in the kernel find them.

use std::os::fd::BorrowedFd;

use libbpf_rs::{MapCore, MapFlags};

use super::maps::SESSIONS;
use crate::LiveError;
use crate::mapping::Mapping;

/// `PLACES` of the programs; a power of two.
const PLACES: usize = 8 * SESSIONS as usize;
/// Words of `struct down` and of `struct up`.
pub(super) const WORDS: usize = 4;

/// Sessions whose place another one has, by key.
pub(super) trait Others {
    /// Puts one in; false where there is no room.
    fn put(&self, key: [u8; 4], entry: &[u8]) -> bool;
    /// Takes one out, if it is there.
    fn remove(&self, key: [u8; 4]);
}

impl<M: MapCore> Others for M {
    fn put(&self, key: [u8; 4], entry: &[u8]) -> bool {
        self.update(&key, entry, MapFlags::ANY).is_ok()
    }

    fn remove(&self, key: [u8; 4]) {
        // What is not there needs not to go.
        let _gone = self.delete(&key);
    }
}

/// What the programs know of a session in one direction. The first four octets are its key, which is not zero.
pub(super) type Entry = [u64; WORDS];

/// The places, which both sides have mapped. A place is found by the last bits of a key (an address, a TEID), as long as no other session
/// has it; those that find theirs taken are in the other table.
#[derive(Debug)]
pub(super) struct Table {
    places: Mapping,
}

/// The key of an entry.
const fn key_of(first: u64) -> [u8; 4] {
    let [a, b, c, d, ..] = first.to_ne_bytes();
    [a, b, c, d]
}

/// The first word of a place.
fn place_of(key: [u8; 4]) -> usize {
    (u32::from_be_bytes(key) as usize % PLACES) * WORDS
}

impl Table {
    /// That of the map `fd`.
    ///
    /// # Errors
    /// Where the kernel does not share it.
    pub(super) fn of(fd: BorrowedFd<'_>) -> Result<Self, LiveError> {
        let places = Mapping::of(fd, PLACES * WORDS * size_of::<u64>(), true)
            .map_err(|e| LiveError::kernel("fast.path: sessions cannot be written", e))?;
        Ok(Self { places })
    }

    /// Puts a session in; false where there is no room. Whoever changes one takes it out before.
    pub(super) fn set(&self, others: &impl Others, entry: Entry) -> bool {
        let key = key_of(entry[0]);
        let place = place_of(key);
        if self.holder(place) != [0; 4] {
            let octets: Vec<u8> = entry.iter().flat_map(|word| word.to_ne_bytes()).collect();
            return others.put(key, &octets);
        }

        // The first word makes the others valid.
        for (k, word) in entry.into_iter().enumerate().rev() {
            self.places.set_word(place + k, word);
        }
        true
    }

    /// Takes a session out, if it is there.
    pub(super) fn clear(&self, others: &impl Others, key: [u8; 4]) {
        let place = place_of(key);
        if self.holder(place) == key {
            self.places.set_word(place, 0);
        } else {
            others.remove(key);
        }
    }

    /// The key of the session that has a place; zero where none has.
    fn holder(&self, place: usize) -> [u8; 4] {
        key_of(self.places.word(place).unwrap_or(0))
    }
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::os::fd::AsFd as _;

    use super::*;

    /// Another table with room for `room` sessions.
    #[derive(Default)]
    struct Few {
        room: usize,
        held: RefCell<BTreeMap<[u8; 4], Vec<u8>>>,
    }

    impl Others for Few {
        fn put(&self, key: [u8; 4], entry: &[u8]) -> bool {
            let mut held = self.held.borrow_mut();
            let fits = held.len() < self.room;
            if fits {
                held.insert(key, entry.to_vec());
            }
            fits
        }

        fn remove(&self, key: [u8; 4]) {
            self.held.borrow_mut().remove(&key);
        }
    }

    fn table() -> Table {
        let memory = nix::sys::memfd::memfd_create("places", nix::sys::memfd::MFdFlags::empty());
        let file = File::from(memory.unwrap());
        file.set_len((PLACES * WORDS * size_of::<u64>()) as u64)
            .unwrap();
        Table::of(file.as_fd()).unwrap()
    }

    fn entry(key: u32, rest: u64) -> Entry {
        let [a, b, c, d] = key.to_be_bytes();
        let first = u64::from_ne_bytes([a, b, c, d, 1, 2, 3, 4]);
        [first, rest, rest + 1, rest + 2]
    }

    fn words(table: &Table, key: u32) -> Vec<u64> {
        let place = place_of(key.to_be_bytes());
        let words = (place..place + WORDS).map(|n| table.places.word(n).unwrap());
        words.collect()
    }

    #[test]
    fn a_session_lies_at_its_place_and_one_that_finds_it_taken_is_among_the_others() {
        let (table, others) = (
            table(),
            Few {
                room: 1,
                ..Few::default()
            },
        );
        let (first, second) = (0x0a3c_0001, 0x0a3c_0001 + PLACES as u32);
        assert!(table.set(&others, entry(first, 7)));
        assert!(table.set(&others, entry(second, 8)));
        assert_eq!(words(&table, first), entry(first, 7));
        let octets: Vec<u8> = entry(second, 8)
            .iter()
            .flat_map(|w| w.to_ne_bytes())
            .collect();
        let key = second.to_be_bytes();
        assert_eq!(others.held.borrow().get(&key), Some(&octets));
        let third = second + PLACES as u32;
        assert!(!table.set(&others, entry(third, 9)), "no room is left");

        // Each is taken out by its own key, and the place is free then.
        table.clear(&others, first.to_be_bytes());
        assert_eq!(words(&table, first)[0], 0);
        assert!(table.set(&others, entry(third, 9)));
        assert_eq!(words(&table, third), entry(third, 9));
        table.clear(&others, second.to_be_bytes());
        assert!(others.held.borrow().is_empty());
        assert_eq!(words(&table, third), entry(third, 9));
    }

    #[test]
    fn the_last_place_is_within_the_table() {
        let (table, others) = (table(), Few::default());
        assert!(table.set(&others, entry(u32::MAX, 3)));
        assert_eq!(words(&table, u32::MAX), entry(u32::MAX, 3));
    }
}
