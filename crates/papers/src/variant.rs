//! Variants of one scenario that a figure compares.

/// Keys of a scenario with their values, as `[vary]` has them.
pub(super) type Changes = &'static [(&'static str, &'static str)];

/// One of the configurations that a figure sets side by side: a queue law, a mode, a sender.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    /// Its part of an experiment's name.
    pub(super) key: &'static str,
    /// What tables and legends call it.
    pub(super) title: &'static str,
    /// The controller or function whose colour it has.
    pub(super) colour: &'static str,
    /// What it changes in the scenario.
    pub(super) changes: Changes,
}

impl Variant {
    /// The variant `key`.
    pub(super) const fn new(
        key: &'static str,
        title: &'static str,
        colour: &'static str,
        changes: Changes,
    ) -> Self {
        Self {
            key,
            title,
            colour,
            changes,
        }
    }
}

/// A load under which variants are compared: a scenario of its own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    /// Its part of an experiment's name.
    pub(super) key: &'static str,
    /// What tables call it.
    pub(super) title: &'static str,
    /// The scenario.
    pub(super) text: &'static str,
    /// What it changes there.
    pub(super) changes: Changes,
}

impl Case {
    /// The case `key`.
    pub(super) const fn new(
        key: &'static str,
        title: &'static str,
        text: &'static str,
        changes: Changes,
    ) -> Self {
        Self {
            key,
            title,
            text,
            changes,
        }
    }
}
