//! Radio link control: queues of SDUs, filled into transport blocks and put together again.
//!
//! Both ends of a bearer live in one [`Entity`]. An SDU that is scheduled for the first time gets its end offset in
//! the bearer's byte stream; a transport block holds `(number, start, end)` of that stream. Segmentation,
//! concatenation and reassembly are comparisons of offsets: there is no list of pieces, and packets wait in one place
//! until the last of their bytes has arrived.

mod am;
pub mod config;
pub mod entity;
mod flight;
mod headers;
mod piece;
mod place;
mod um;

pub use config::{Mode, RlcConfig, Timers};
pub use entity::{Entity, Waiting};
pub use flight::Moved;
pub use headers::Headers;
pub use piece::{Piece, PieceKind};
pub use place::Place;
pub use slackwater_schema::units::Limit;
