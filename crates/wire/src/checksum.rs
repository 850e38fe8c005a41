//! The Internet checksum (RFC 1071), several words at a time, and its incremental update (RFC 1624).

/// The one's complement sum of `bytes` in the machine's byte order, not folded. An odd last byte is padded with zero.
///
/// RFC 1071, 2 (B) and (C): the sum does not depend on byte order, and words of any even width may be added.
pub fn sum(bytes: &[u8]) -> u64 {
    let mut lanes = [0_u64; 4];
    let (blocks, rest) = bytes.as_chunks::<16>();
    for block in blocks {
        let (words, _) = block.as_chunks::<4>();
        for (lane, word) in lanes.iter_mut().zip(words) {
            *lane += u64::from(u32::from_ne_bytes(*word));
        }
    }
    let mut total: u64 = lanes.iter().sum();
    let (pairs, last) = rest.as_chunks::<2>();
    for pair in pairs {
        total += u64::from(u16::from_ne_bytes(*pair));
    }
    if let [last] = last {
        total += u64::from(u16::from_ne_bytes([*last, 0]));
    }
    total
}

/// Folds the carries of `sum` and complements it: the bytes of the checksum field.
pub const fn finish(mut sum: u64) -> [u8; 2] {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    (!(sum as u16)).to_ne_bytes()
}

/// The checksum after a word that it covers went from `old` to `new`: RFC 1624, equation 3, HC' = ~(~HC + ~m + m').
pub const fn update(checksum: u16, old: u16, new: u16) -> u16 {
    // The same in every byte order, as all three are read in one.
    let mut sum = !checksum as u32 + !old as u32 + new as u32;
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

/// What the pseudo-header adds beside addresses: protocol and length (RFC 9293, 3.1; RFC 8200, 8.1).
pub const fn pseudo(protocol: u8, length: u32) -> u64 {
    let high = (length >> 16) as u16;
    let low = length as u16;
    (u16::from_ne_bytes([0, protocol]) as u64)
        + (u16::from_ne_bytes(high.to_be_bytes()) as u64)
        + (u16::from_ne_bytes(low.to_be_bytes()) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071() {
        // RFC 1071, 3: the words 0001 f203 f4f5 f6f7 sum up to ddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(finish(sum(&bytes)), (!0xddf2_u16).to_be_bytes());
        assert_eq!(finish(sum(&[1])), (!0x0100_u16).to_be_bytes());
    }

    #[test]
    fn the_example_of_rfc_1624() {
        // RFC 1624, 4: HC = dd2f, m = 5555, m' = 3285 gives 0000.
        assert_eq!(update(0xdd2f, 0x5555, 0x3285), 0x0000);
    }

    #[test]
    fn any_split_on_even_bytes_adds_up() {
        let bytes: Vec<u8> = (0..97_u32).map(|k| (k * 37 % 251) as u8).collect();
        let whole = finish(sum(&bytes));
        for cut in (0..97).step_by(2) {
            let parts = sum(&bytes[..cut]) + sum(&bytes[cut..]);
            assert_eq!(finish(parts), whole, "cut at {cut}");
        }
    }
}
