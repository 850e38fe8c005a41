//! The ECN field across a tunnel (RFC 6040).

use slackwater_core::Ecn;

/// The outer field of a packet that enters a tunnel: normal mode (RFC 6040, 4.1).
pub const fn encapsulated(inner: Ecn) -> Ecn {
    inner
}

/// The field of a packet that leaves a tunnel; `None` where it must be dropped (RFC 6040, 4.2, figure 4).
pub const fn decapsulated(inner: Ecn, outer: Ecn) -> Option<Ecn> {
    Some(match (inner, outer) {
        (Ecn::NotEct, Ecn::Ce) => return None,
        (Ecn::NotEct, _) => Ecn::NotEct,
        (_, Ecn::Ce) => Ecn::Ce,
        (Ecn::Ect0, Ecn::Ect1) => Ecn::Ect1,
        (inner, _) => inner,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_sixteen_pairs() {
        use Ecn::{Ce, Ect0, Ect1, NotEct};
        // RFC 6040, figure 4: rows are the inner field, columns the outer: Not-ECT, ECT(0), ECT(1), CE.
        let table = [
            (NotEct, [Some(NotEct), Some(NotEct), Some(NotEct), None]),
            (Ect0, [Some(Ect0), Some(Ect0), Some(Ect1), Some(Ce)]),
            (Ect1, [Some(Ect1), Some(Ect1), Some(Ect1), Some(Ce)]),
            (Ce, [Some(Ce), Some(Ce), Some(Ce), Some(Ce)]),
        ];
        for (inner, row) in table {
            for (outer, expected) in [NotEct, Ect0, Ect1, Ce].into_iter().zip(row) {
                assert_eq!(decapsulated(inner, outer), expected, "{inner:?} {outer:?}");
            }
            assert_eq!(encapsulated(inner), inner);
        }
    }
}
