//! The arena: every system on the same cells under the same conditions.
//!
//! What competes where is data (`arena/set.toml`): cells, what stands at their edge, and senders. A [`Plan`] makes tasks of
//! it, one a cell, system and seed; [`work`] runs one; a [`store::Store`] keeps what it left, so that an interruption costs
//! the runs under way and no others; a [`Table`] says who is how good and who dominates whom.

pub mod cost;
mod drawn;
mod measure;
mod overall;
mod own;
mod set;
pub mod store;
mod table;
mod task;

pub use drawn::Drawing;
pub use measure::{MEASURES, Measure, Values};
pub use overall::{Overall, Standing};
pub use set::{Class, Place, Set, System, recorded};
pub use table::{CellTable, Entry, Table, Win};
pub use task::{Options, Plan, Row, Task, TaskError, estimate, work};

#[cfg(test)]
mod tests;
