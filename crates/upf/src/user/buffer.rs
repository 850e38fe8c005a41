//! Buffers with room in front, so that a header is put before a packet without moving it.

/// Octets in a buffer of which the first part is free. Two are equal where their octets are, whatever room they have.
#[derive(Clone, Debug, Default)]
pub struct Buf {
    bytes: Vec<u8>,
    start: usize,
}

impl Buf {
    /// Room in front for every header that is put there: GTP-U with a container (12 and at most 20 octets), UDP (8), IPv6 (40).
    pub const ROOM: usize = 96;

    /// The octets of `bytes` from `start` on; what lies before is room.
    pub const fn new(bytes: Vec<u8>, start: usize) -> Self {
        let start = if start < bytes.len() {
            start
        } else {
            bytes.len()
        };
        Self { bytes, start }
    }

    /// A copy of `octets` with [`Buf::ROOM`] in front.
    pub fn copied(octets: &[u8]) -> Self {
        let mut bytes = Vec::with_capacity(Self::ROOM + octets.len());
        bytes.resize(Self::ROOM, 0);
        bytes.extend_from_slice(octets);
        Self {
            bytes,
            start: Self::ROOM,
        }
    }

    /// Octets of the packet.
    pub const fn len(&self) -> usize {
        self.bytes.len() - self.start
    }

    /// True where it holds no packet.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Free octets in front.
    pub const fn room(&self) -> usize {
        self.start
    }

    /// Memory that the buffer takes.
    pub const fn capacity(&self) -> usize {
        self.bytes.capacity()
    }

    /// Leaves out the first `n` octets; they become room.
    pub fn skip(&mut self, n: usize) {
        self.start = (self.start + n).min(self.bytes.len());
    }

    /// Keeps the first `n` octets.
    pub fn truncate(&mut self, n: usize) {
        self.bytes.truncate(self.start + n);
    }

    /// Puts `header` in front. Where the room is too small, all octets move once.
    pub fn prepend(&mut self, header: &[u8]) {
        if header.len() > self.start {
            let mut moved = Self::copied(self.as_ref());
            if header.len() > moved.start {
                let more = header.len() - moved.start;
                moved.bytes.splice(0..0, std::iter::repeat_n(0, more));
                moved.start += more;
            }
            *self = moved;
        }
        let from = self.start - header.len();
        self.bytes[from..self.start].copy_from_slice(header);
        self.start = from;
    }

    /// The memory, for another packet.
    pub fn into_memory(self) -> Vec<u8> {
        self.bytes
    }
}

impl PartialEq for Buf {
    fn eq(&self, other: &Self) -> bool {
        self.as_ref() == other.as_ref()
    }
}

impl Eq for Buf {}

impl From<Vec<u8>> for Buf {
    fn from(bytes: Vec<u8>) -> Self {
        Self::new(bytes, 0)
    }
}

impl AsRef<[u8]> for Buf {
    fn as_ref(&self) -> &[u8] {
        &self.bytes[self.start..]
    }
}

impl AsMut<[u8]> for Buf {
    fn as_mut(&mut self) -> &mut [u8] {
        &mut self.bytes[self.start..]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_go_in_front_with_room_and_without() {
        for room in [0, 1, 8, Buf::ROOM] {
            let mut memory = vec![0; room];
            memory.extend([5, 6, 7]);
            let mut buf = Buf::new(memory, room);
            buf.prepend(&[3, 4]);
            buf.prepend(&[1, 2]);
            assert_eq!(buf.as_ref(), [1, 2, 3, 4, 5, 6, 7], "{room}");
            buf.skip(3);
            buf.truncate(2);
            assert_eq!(buf.as_ref(), [4, 5]);
        }
        let mut buf = Buf::new(vec![9], 7);
        assert!(buf.is_empty());
        buf.skip(10);
        buf.prepend(&[1; 300]);
        assert_eq!(buf.len(), 300);
    }
}
