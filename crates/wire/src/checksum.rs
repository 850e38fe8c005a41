//! The Internet checksum (RFC 1071) and its incremental update (RFC 1624).

/// The one's complement sum of `bytes` as 16-bit words on top of `sum`; an odd last byte is padded with zero.
pub(crate) fn sum(mut sum: u64, bytes: &[u8]) -> u64 {
    let mut words = bytes.chunks_exact(2);
    for word in &mut words {
        sum += u64::from(u16::from_be_bytes([word[0], word[1]]));
    }
    if let [last] = words.remainder() {
        sum += u64::from(*last) << 8;
    }
    sum
}

/// Folds the carries of `sum` into 16 bits and complements it.
pub(crate) const fn finish(mut sum: u64) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// The checksum after a word that it covers went from `old` to `new`: RFC 1624, equation 3, HC' = ~(~HC + ~m + m').
pub(crate) const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    finish(!checksum as u64 + !old as u64 + new as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        // RFC 1071, 3: the bytes 00 01 f2 03 f4 f5 f6 f7 sum up to ddf2.
        let s = sum(0, &[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]);
        assert_eq!(finish(s), !0xddf2);
        assert_eq!(sum(0, &[1]), 0x100);
    }

    #[test]
    fn the_example_of_rfc_1624() {
        // RFC 1624, 4: HC = dd2f, m = 5555, m' = 3285 gives 0000.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }
}
