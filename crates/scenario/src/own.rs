//! Names that no built-in part has: the running program may add a part of that name.

use crate::error::ScenarioError;
use crate::field::{At, one_of};

/// The name of a part that only the running program can know, perhaps with parameters after `:`.
#[derive(Clone, Debug)]
pub struct OwnName {
    /// As the scenario has it.
    text: String,
    /// What is wrong where the program knows no such part either; it says where the name stands.
    unknown: Box<ScenarioError>,
}

impl OwnName {
    /// The name `text`, which stands at `at` where one of `words` would be built in.
    pub(crate) fn new(text: &str, at: &At<'_>, words: &[&str]) -> Self {
        Self {
            text: text.to_owned(),
            unknown: Box::new(at.wrong(one_of(words))),
        }
    }

    /// The name with its parameters.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The error where no part has this name.
    pub(crate) fn unknown(&self, own: &[&str]) -> ScenarioError {
        let mut error = (*self.unknown).clone();
        if !own.is_empty() {
            error.expected = format!("{} or {}", error.expected, own.join(", "));
        }
        error
    }

    /// The error where a part has this name and refuses its parameters.
    pub(crate) fn refused(&self, expected: String) -> ScenarioError {
        ScenarioError {
            expected,
            ..(*self.unknown).clone()
        }
    }
}

impl PartialEq for OwnName {
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}
