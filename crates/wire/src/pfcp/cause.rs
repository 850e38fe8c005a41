//! Causes (TS 29.244, 8.2.1).

/// The request is accepted.
pub const ACCEPTED: u8 = 1;
/// It is refused, for no reason of those below.
pub const REJECTED: u8 = 64;
/// There is no such session.
pub const NO_SESSION: u8 = 65;
/// An element that must be there is not.
pub const MANDATORY_MISSING: u8 = 66;
/// An element that must be there under a condition that holds is not.
pub const CONDITIONAL_MISSING: u8 = 67;
/// An element has a length that cannot be.
pub const INVALID_LENGTH: u8 = 68;
/// An element that must be there is wrong.
pub const MANDATORY_INCORRECT: u8 = 69;
/// The forwarding policy is not known.
pub const FORWARDING_POLICY: u8 = 70;
/// The tunnel cannot be allocated in the way that the rule orders.
pub const F_TEID_ALLOCATION: u8 = 71;
/// There is no association with this node.
pub const NO_ASSOCIATION: u8 = 72;
/// A rule could not be created or changed.
pub const RULE_FAILURE: u8 = 73;
/// There are no resources left.
pub const NO_RESOURCES: u8 = 75;
/// What is ordered is not supported.
pub const NOT_SUPPORTED: u8 = 76;
/// The predefined rule is not known.
pub const UNKNOWN_PREDEFINED: u8 = 80;
/// The application is not known.
pub const UNKNOWN_APPLICATION: u8 = 81;
