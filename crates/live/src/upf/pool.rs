//! Memory of packets that have left, for those that come.

use slackwater_upf::user::Buf;

use crate::emulate::frame::Sink;

/// Buffers that are kept of either size.
const MOST: usize = 1_024;
/// Sizes of buffers with their room: of packets without data, and of all that fit a link of 1,500 octets. A packet that waits
/// takes no more memory than its size.
const SMALL: usize = 256;
/// See [`SMALL`].
const LARGE: usize = 2_048;

/// Buffers that hold no packet.
#[derive(Debug, Default)]
pub(super) struct Pool {
    small: Vec<Vec<u8>>,
    large: Vec<Vec<u8>>,
}

impl Pool {
    /// Memory for a packet of `length` octets, with [`Buf::ROOM`] octets in it.
    fn room(&mut self, length: usize) -> Vec<u8> {
        let whole = Buf::ROOM + length;
        let (free, size) = if whole <= SMALL {
            (&mut self.small, SMALL)
        } else {
            (&mut self.large, LARGE)
        };
        let mut memory = free
            .pop()
            .unwrap_or_else(|| Vec::with_capacity(size.max(whole)));
        memory.resize(Buf::ROOM, 0);
        memory
    }

    /// A packet of these octets.
    pub(super) fn copied(&mut self, octets: &[u8]) -> Buf {
        let mut memory = self.room(octets.len());
        memory.extend_from_slice(octets);
        Buf::new(memory, Buf::ROOM)
    }

    /// The packet's memory is free.
    pub(super) fn give(&mut self, memory: Vec<u8>) {
        let free = match memory.capacity() {
            SMALL => &mut self.small,
            LARGE => &mut self.large,
            _ => return,
        };
        if free.len() < MOST {
            free.push(memory);
        }
    }
}

/// A pool, and who takes the packets that are cut out of frames.
pub(super) struct Cut<'a, F>(pub(super) &'a mut Pool, pub(super) F);

impl<F: FnMut(Buf)> Sink for Cut<'_, F> {
    fn memory(&mut self, length: usize) -> Vec<u8> {
        self.0.room(length)
    }
    fn take(&mut self, packet: Vec<u8>) {
        (self.1)(Buf::new(packet, Buf::ROOM));
    }
}
