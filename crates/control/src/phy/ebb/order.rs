//! The lesser and the greater of two numbers, in one instruction each.

/// The lesser of two numbers. None of them is NaN here, which `f64::min` looks for with several instructions.
pub(super) fn lesser(a: f64, b: f64) -> f64 {
    if a < b { a } else { b }
}

/// The greater of two numbers, likewise.
pub(super) fn greater(a: f64, b: f64) -> f64 {
    if a > b { a } else { b }
}
