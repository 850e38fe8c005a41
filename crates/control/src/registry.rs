//! Controllers by name.
