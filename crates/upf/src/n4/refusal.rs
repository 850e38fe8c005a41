//! Why a request is refused, as its answer says it (TS 29.244, 7.6).

use slackwater_wire::pfcp::{Element, ElementError, RuleId, cause, kind};

/// A cause, the element at fault, and the rule that failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Refusal {
    /// The cause.
    pub(super) cause: u8,
    /// Type of the element at fault.
    pub(super) offending: Option<u16>,
    /// The rule that failed.
    pub(super) rule: Option<RuleId>,
}

impl Refusal {
    pub(super) const fn plain(cause: u8) -> Self {
        Self {
            cause,
            offending: None,
            rule: None,
        }
    }

    pub(super) const fn new(cause: u8, offending: u16) -> Self {
        Self {
            cause,
            offending: Some(offending),
            rule: None,
        }
    }

    /// With the rule that failed.
    pub(super) const fn of(mut self, rule: RuleId) -> Self {
        self.rule = Some(rule);
        self
    }

    /// A rule cannot be created or changed, for that element (cause 73).
    pub(super) const fn failed(rule: RuleId, offending: u16) -> Self {
        Self::new(cause::RULE_FAILURE, offending).of(rule)
    }

    /// An element of the rule orders what is not done here.
    pub(super) const fn beyond(rule: RuleId, element: u16) -> Self {
        let cause = match element {
            kind::POLICY => cause::FORWARDING_POLICY,
            kind::APPLICATION => cause::UNKNOWN_APPLICATION,
            kind::ACTIVATE_PREDEFINED => cause::UNKNOWN_PREDEFINED,
            _ => cause::NOT_SUPPORTED,
        };
        Self::new(cause, element).of(rule)
    }

    /// The elements of the answer.
    pub(super) fn elements(self) -> Vec<Element<'static>> {
        let mut elements = vec![Element::Cause(self.cause)];
        elements.extend(self.offending.map(Element::Offending));
        elements.extend(self.rule.map(Element::FailedRule));
        elements
    }
}

impl From<ElementError> for Refusal {
    fn from(error: ElementError) -> Self {
        Self::new(error.cause, error.offending)
    }
}
