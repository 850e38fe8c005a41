//! Packets, captures, logs and link traces as bytes.
//!
//! Everything here works on slices and strings that the caller holds; nothing reads a file. Parsers return errors
//! that name the line, what was found and what was expected, and never panic, whatever the bytes.

pub mod trace;
