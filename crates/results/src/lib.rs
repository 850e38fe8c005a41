//! What a run leaves: records, the numbers made of them, and the files that hold both.
//!
//! [`record`] takes in what happens in a world; [`metrics`] says what the numbers mean, once; [`output`] writes them down.
//! [`stats`] says how sure a mean over seeds is. A [`check::Check`] sets one of them beside a reference, with a tolerance.

pub mod check;
pub mod metrics;
pub mod output;
pub mod record;
pub mod stats;
pub mod table;
