//! Octets in network order, read and written with bounds checked: what the codecs of binary protocols share.

use crate::WireError;

/// Reads from the front of a slice. `base` is where the slice begins in what the caller was given, so that errors name
/// offsets that the caller can look up.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self::based(bytes, 0)
    }

    pub(crate) const fn based(bytes: &'a [u8], base: usize) -> Self {
        Self {
            rest: bytes,
            at: base,
        }
    }

    /// Offset of the next octet.
    pub(crate) const fn at(&self) -> usize {
        self.at
    }

    /// What is left.
    pub(crate) const fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn take(&mut self, n: usize, what: &str) -> Result<&'a [u8], WireError> {
        let Some((taken, rest)) = self.rest.split_at_checked(n) else {
            return Err(WireError::new(
                self.at,
                format!("{} octets", self.rest.len()),
                format!("{n} of {what}"),
            ));
        };
        self.rest = rest;
        self.at += n;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self, what: &str) -> Result<[u8; N], WireError> {
        let taken = self.take(N, what)?;
        Ok(taken.try_into().expect("as many as asked for"))
    }

    pub(crate) fn u8(&mut self, what: &str) -> Result<u8, WireError> {
        Ok(self.array::<1>(what)?[0])
    }

    pub(crate) fn u16(&mut self, what: &str) -> Result<u16, WireError> {
        Ok(u16::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn u24(&mut self, what: &str) -> Result<u32, WireError> {
        let [a, b, c] = self.array(what)?;
        Ok(u32::from_be_bytes([0, a, b, c]))
    }

    pub(crate) fn u32(&mut self, what: &str) -> Result<u32, WireError> {
        Ok(u32::from_be_bytes(self.array(what)?))
    }

    /// The 40-bit numbers of TS 29.244 (8.2.8 and 8.2.9).
    pub(crate) fn u40(&mut self, what: &str) -> Result<u64, WireError> {
        let [a, b, c, d, e] = self.array(what)?;
        Ok(u64::from_be_bytes([0, 0, 0, a, b, c, d, e]))
    }

    pub(crate) fn u64(&mut self, what: &str) -> Result<u64, WireError> {
        Ok(u64::from_be_bytes(self.array(what)?))
    }

    pub(crate) fn v4(&mut self, what: &str) -> Result<[u8; 4], WireError> {
        self.array(what)
    }

    pub(crate) fn v6(&mut self, what: &str) -> Result<[u8; 16], WireError> {
        self.array(what)
    }

    /// `Some` where `present`.
    pub(crate) fn when<T>(
        &mut self,
        present: bool,
        read: impl FnOnce(&mut Self) -> Result<T, WireError>,
    ) -> Result<Option<T>, WireError> {
        present.then(|| read(self)).transpose()
    }
}

/// Writes into a caller's buffer from its front.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    out: &'a mut [u8],
    at: usize,
}

impl<'a> Writer<'a> {
    pub(crate) const fn new(out: &'a mut [u8]) -> Self {
        Self { out, at: 0 }
    }

    /// Octets written so far.
    pub(crate) const fn len(&self) -> usize {
        self.at
    }

    /// Octets that still fit.
    pub(crate) const fn room(&self) -> usize {
        self.out.len() - self.at
    }

    pub(crate) fn put(&mut self, bytes: &[u8]) -> Result<(), WireError> {
        let Some(place) = self.out.get_mut(self.at..self.at + bytes.len()) else {
            return Err(WireError::new(
                self.at,
                format!("room for {}", self.room()),
                format!("room for {} octets", bytes.len()),
            ));
        };
        place.copy_from_slice(bytes);
        self.at += bytes.len();
        Ok(())
    }

    pub(crate) fn u8(&mut self, value: u8) -> Result<(), WireError> {
        self.put(&[value])
    }

    pub(crate) fn u16(&mut self, value: u16) -> Result<(), WireError> {
        self.put(&value.to_be_bytes())
    }

    /// A number that must fit 24 bits.
    pub(crate) fn u24(&mut self, value: u32) -> Result<(), WireError> {
        fits(self.at, u64::from(value), 24)?;
        self.put(&value.to_be_bytes()[1..])
    }

    pub(crate) fn u32(&mut self, value: u32) -> Result<(), WireError> {
        self.put(&value.to_be_bytes())
    }

    /// A number that must fit 40 bits.
    pub(crate) fn u40(&mut self, value: u64) -> Result<(), WireError> {
        fits(self.at, value, 40)?;
        self.put(&value.to_be_bytes()[3..])
    }

    pub(crate) fn u64(&mut self, value: u64) -> Result<(), WireError> {
        self.put(&value.to_be_bytes())
    }

    /// Overwrites octets that were written before.
    pub(crate) fn patch(&mut self, at: usize, bytes: &[u8]) {
        debug_assert!(at + bytes.len() <= self.at, "only what was written");
        self.out[at..at + bytes.len()].copy_from_slice(bytes);
    }

    /// Forgets what was written after the first `len` octets.
    pub(crate) fn truncate(&mut self, len: usize) {
        self.at = self.at.min(len);
    }
}

/// An error unless `value` fits `bits` bits.
pub(crate) fn fits(at: usize, value: u64, bits: u32) -> Result<(), WireError> {
    if value >> bits == 0 {
        return Ok(());
    }
    Err(WireError::new(
        at,
        value.to_string(),
        format!("at most {} ({bits} bits)", (1u64 << bits) - 1),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_name_the_place_in_the_whole() {
        let mut reader = Reader::based(&[1, 2, 3], 10);
        assert_eq!(reader.u16("a length"), Ok(0x0102));
        let error = reader.u32("a TEID").expect_err("one octet is left");
        assert_eq!(
            error.to_string(),
            "byte 12: found 1 octets, expected 4 of a TEID"
        );
        assert_eq!((reader.at(), reader.rest()), (12, &[3][..]));
    }

    #[test]
    fn nothing_is_written_past_the_end() {
        let mut buffer = [0; 4];
        let mut writer = Writer::new(&mut buffer);
        writer.u24(0xab_cdef).expect("fits");
        assert!(writer.u24(0x100_0000).is_err(), "25 bits");
        assert!(writer.u16(1).is_err(), "one octet is left");
        assert_eq!((writer.len(), writer.room()), (3, 1));
        assert_eq!(buffer, [0xab, 0xcd, 0xef, 0]);
    }
}
