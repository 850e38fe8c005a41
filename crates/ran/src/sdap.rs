//! Service data adaptation: from `QoS` flow to bearer (TS 37.324, 5.3).

use slackwater_core::Qfi;

/// Which bearer of a UE carries a `QoS` flow.
#[derive(Clone, Debug)]
pub struct QfiMap {
    bearer: [u8; 64],
}

impl QfiMap {
    /// Flows named by `bearers` go to the bearer that names them first, all others to bearer 0, the default bearer.
    pub fn new<'a>(bearers: impl IntoIterator<Item = &'a [Qfi]>) -> Self {
        let mut bearer = [u8::MAX; 64];
        for (index, qfis) in bearers.into_iter().enumerate() {
            for qfi in qfis {
                let slot = &mut bearer[usize::from(qfi.0 & 63)];
                if *slot == u8::MAX {
                    *slot = index as u8;
                }
            }
        }
        for slot in &mut bearer {
            if *slot == u8::MAX {
                *slot = 0;
            }
        }
        Self { bearer }
    }

    /// The bearer of `qfi`.
    #[inline]
    pub fn bearer(&self, qfi: Qfi) -> usize {
        usize::from(self.bearer[usize::from(qfi.0 & 63)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unmapped_flows_take_the_default_bearer() {
        let map = QfiMap::new([&[Qfi(9)][..], &[Qfi(1), Qfi(9)][..]]);
        assert_eq!(map.bearer(Qfi(9)), 0);
        assert_eq!(map.bearer(Qfi(1)), 1);
        assert_eq!(map.bearer(Qfi(5)), 0);
    }
}
