//! Measurement from what passes: round-trip times and bytes in flight without a word from either end.
