//! Schedulers in a scenario: by name, from `ran`'s table of schedulers.

use slackwater_ran::mac::SchedulerKind;

use crate::error::ScenarioError;
use crate::field::{At, Field, one_of};
use crate::own::OwnName;
use crate::tree::Value;

/// Who gets the blocks.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduler {
    /// A built-in scheduler.
    BuiltIn(SchedulerKind),
    /// A scheduler that the running program adds.
    Own(OwnName),
}

impl Field for Scheduler {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        let Value::Str(name) = &at.node.value else {
            return Err(at.wrong(Self::describe()));
        };
        Ok(match SchedulerKind::from_name(name) {
            Some(kind) => Self::BuiltIn(kind),
            None => Self::Own(OwnName::new(name, at, SchedulerKind::NAMES)),
        })
    }
    fn encode(&self) -> Option<Value> {
        let name = match self {
            Self::BuiltIn(kind) => kind.name(),
            Self::Own(name) => name.text(),
        };
        Some(Value::Str(name.to_owned()))
    }
    fn schema() -> serde_json::Value {
        let own = serde_json::json!({
            "type": "string", "description": "A scheduler that the running program adds." });
        serde_json::json!({ "anyOf": [{ "enum": SchedulerKind::NAMES }, own] })
    }
    fn describe() -> String {
        one_of(SchedulerKind::NAMES)
    }
    fn example() -> Self {
        Self::BuiltIn(SchedulerKind::ProportionalFair)
    }
}
