//! Functions of the user plane function: what acts where a session's packets enter the mobile network.

pub mod cecc;
pub mod passive;
pub mod vaqm;
