//! Behaviour of the whole function.
