//! Why an element could not be read, in the terms of a refusal.

use thiserror::Error;

use super::cause;
use crate::WireError;
use crate::octets::Reader;

/// Why an element could not be read, and what a refusal says about it (TS 29.244, 7.6.3 to 7.6.5).
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{error}, in element {offending}")]
pub struct ElementError {
    /// The cause of the refusal ([`cause`]).
    pub cause: u8,
    /// Type of the innermost element at fault: the one that is wrong or missing.
    pub offending: u16,
    /// Where, what was found and what was expected.
    pub error: WireError,
}

impl ElementError {
    pub(super) const fn length(offending: u16, error: WireError) -> Self {
        Self {
            cause: cause::INVALID_LENGTH,
            offending,
            error,
        }
    }

    pub(super) fn missing(group: &Reader<'_>, offending: u16, what: &str) -> Self {
        Self {
            cause: cause::MANDATORY_MISSING,
            offending,
            error: WireError::new(group.at(), "none of its kind in the group", what),
        }
    }

    pub(super) const fn wrong(offending: u16, error: WireError) -> Self {
        Self {
            cause: cause::MANDATORY_INCORRECT,
            offending,
            error,
        }
    }
}
