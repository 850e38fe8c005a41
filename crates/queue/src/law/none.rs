//! No law: the buffer's limit alone drops.

use crate::Law;

/// Lets everything pass.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLaw;

impl Law for NoLaw {}
