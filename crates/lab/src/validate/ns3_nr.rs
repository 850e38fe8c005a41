//! 5G-LENA.

use slackwater_results::check::Tolerance;

use super::{Number, Numbers, number};

pub(super) const SCENARIO: &str = include_str!("../../scenarios/validation/ns3-nr.toml");

/// By the number of flows.
pub(super) fn numbers() -> Vec<Numbers> {
    vec![
        ("1", ns3_nr(3.05, 3.79, 4.63, 5.09, 6.09)),
        ("3", ns3_nr(3.03, 3.81, 4.84, 5.79, 7.11)),
        ("5", ns3_nr(3.03, 3.84, 4.95, 6.03, 7.89)),
    ]
}

/// 5G-LENA: one-way delay of the packets of all VR flows.
fn ns3_nr(min: f64, p50: f64, p90: f64, p99: f64, max: f64) -> Vec<Number> {
    let tol = Tolerance::Absolute(0.3);
    vec![
        number("one-way min", "ms", min, tol, |f| Some(f.one_way_ms?.min)),
        number("one-way p50", "ms", p50, tol, |f| Some(f.one_way_ms?.p50)),
        number("one-way p90", "ms", p90, tol, |f| Some(f.one_way_ms?.p90)),
        number("one-way p99", "ms", p99, tol, |f| Some(f.one_way_ms?.p99)),
        number("one-way max", "ms", max, tol, |f| Some(f.one_way_ms?.max)),
    ]
}
