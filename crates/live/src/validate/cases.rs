//! The worlds in which both kinds of senders run.

use std::path::PathBuf;

use slackwater_core::Duration;
use slackwater_scenario::Scenario;

use super::{Plan, made};
use crate::LiveError;

/// The controllers of each case: those that the kernel has and that we model as it has them.
pub const CONTROLLERS: [&str; 3] = ["reno", "cubic", "bbr"];

/// Where a case finds its trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trace {
    /// It has none.
    None,
    /// A made one.
    Made,
    /// A recorded one, below the folder that `SLACKWATER_TRACES` names.
    Recorded(&'static str),
}

/// A world.
#[derive(Clone, Copy, Debug)]
pub struct Case {
    /// Its name.
    pub name: &'static str,
    text: &'static str,
    trace: Trace,
}

macro_rules! case {
    ($name:literal, $trace:expr) => {
        Case {
            name: $name,
            text: include_str!(concat!("../../scenarios/validation/", $name, ".toml")),
            trace: $trace,
        }
    };
}

/// All of them.
pub const CASES: [Case; 11] = [
    case!("constant", Trace::None),
    case!("buffer-1mb", Trace::None),
    case!("buffer-16mb", Trace::None),
    case!("steps", Trace::None),
    case!("trace", Trace::Made),
    case!(
        "recorded",
        Trace::Recorded("mahimahi/mahimahi-mit/Verizon-LTE-short.down.xz")
    ),
    case!("lte", Trace::None),
    case!("jumps", Trace::None),
    case!("nr", Trace::None),
    case!("two", Trace::None),
    case!("ecn", Trace::None),
];

impl Case {
    /// Its scenario, `length` long where one is given; or why it cannot be had here.
    ///
    /// # Errors
    /// Where the scenario is broken, or the made trace cannot be written.
    pub fn scenario(
        &self,
        length: Option<Duration>,
    ) -> Result<Result<Scenario, String>, LiveError> {
        let made;
        let base = match self.trace {
            Trace::None => PathBuf::from("."),
            Trace::Made => {
                made = made::Folder::new()?;
                made.path().to_owned()
            }
            Trace::Recorded(file) => match recorded(file) {
                Ok(folder) => folder,
                Err(reason) => return Ok(Err(reason)),
            },
        };
        let mut scenario = Scenario::parse(self.name, self.text, &base)?;
        if let Some(length) = length {
            scenario = scenario.with("duration", &length.to_string())?;
        }
        Ok(Ok(scenario))
    }
}

/// The folder of recorded traces, where it has `file`.
fn recorded(file: &str) -> Result<PathBuf, String> {
    const VARIABLE: &str = "SLACKWATER_TRACES";
    let folder = std::env::var_os(VARIABLE)
        .ok_or_else(|| format!("{VARIABLE} names no folder of recorded traces"))?;
    let folder = PathBuf::from(folder);
    let path = folder.join(file);
    path.exists()
        .then_some(folder)
        .ok_or_else(|| format!("found no {}", path.display()))
}

/// Every name of `plan` must be one.
pub(super) fn check_names(plan: &Plan) -> Result<(), LiveError> {
    let known = CASES.map(|c| c.name);
    for (found, known) in [
        (&plan.cases, &known[..]),
        (&plan.controllers, &CONTROLLERS[..]),
    ] {
        if let Some(wrong) = found.iter().find(|f| !known.contains(&f.as_str())) {
            return Err(LiveError::Usage(format!(
                "found \"{wrong}\", expected one of {}",
                known.join(", ")
            )));
        }
    }
    Ok(())
}
