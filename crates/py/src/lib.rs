//! The native half of the Python package `slackwater`.
//!
//! It holds no logic of its own: it turns Python's arguments into scenarios, lets the interpreter go on while a run
//! lasts, and hands the results over as Arrow tables.

mod arena;
mod catalogue;
mod column;
mod columns;
mod command;
mod controller;
mod error;
mod gym;
mod json;
mod policy;
mod raised;
mod rows;
mod run;
mod samples;
mod statistics;
mod table;

#[pyo3::pymodule]
mod _slackwater {
    #[pymodule_export]
    use crate::arena::{ArenaPlan, arena_task};
    #[pymodule_export]
    use crate::catalogue::{controllers, scenarios, schema};
    #[pymodule_export]
    use crate::column::Column;
    #[pymodule_export]
    use crate::command::command;
    #[pymodule_export]
    use crate::error::ScenarioError;
    #[pymodule_export]
    use crate::gym::{Batch, calibration, examples, foretold, log_ratios, scores_json};
    #[pymodule_export]
    use crate::run::{Progress, Run, run};
    #[pymodule_export]
    use crate::samples::{
        Ack, Config, CongestionEvent, Ecn, Feedback, PacketReport, Path, RateSample, Sent,
    };
    #[pymodule_export]
    use crate::statistics::paired;
    #[pymodule_export]
    use crate::table::Table;

    #[pymodule_export]
    #[expect(non_upper_case_globals, reason = "Python's name for it")]
    const __version__: &str = env!("CARGO_PKG_VERSION");
}
