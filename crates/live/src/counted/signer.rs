//! Who signs reports: a key, and serial numbers that are never the same twice.

use super::Key;

/// Gives each report its serial number.
#[derive(Debug, Default)]
pub(crate) struct Signer {
    /// None where reports have no tag.
    key: Option<Key>,
    /// That of the last report.
    serial: u64,
}

impl Signer {
    /// Signs with `key`, where there is one.
    pub(crate) const fn new(key: Option<Key>) -> Self {
        Self { key, serial: 0 }
    }

    /// Key and serial number of the next report, us since 1970: a signer that starts again goes on behind its last report.
    pub(crate) fn next_serial(&mut self) -> Option<(&Key, u64)> {
        let key = self.key.as_ref()?;
        let since = std::time::UNIX_EPOCH.elapsed().unwrap_or_default();
        self.serial = (self.serial + 1).max(since.as_micros() as u64);
        Some((key, self.serial))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn serial_numbers_grow_from_the_clock_and_there_are_none_without_a_key() {
        assert!(Signer::default().next_serial().is_none());
        let key = Key::new(&[7; 16]).expect("long enough");
        let mut signer = Signer::new(Some(key));
        let start = std::time::UNIX_EPOCH.elapsed().expect("after 1970");
        let mut last = start.as_micros() as u64 - 1;
        for _ in 0..100 {
            let serial = signer.next_serial().expect("a key").1;
            assert!(serial > last);
            last = serial;
        }
    }
}
