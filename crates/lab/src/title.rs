//! Names as they stand in text.

pub use slackwater_control::registry::title;
