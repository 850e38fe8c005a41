//! The vocabulary of scenarios: how a value gets from a file into a configuration and back.
//!
//! A [`field::Field`] is a type that a scenario can hold. [`section!`] defines a struct with the name, the type, the default
//! and the range of each key; [`choice!`] an enum with its words; [`optional!`] the same with a word for none of them; [`tagged!`] an enum of sections. Each definition gives the
//! parser, the writer, the JSON Schema and the reference of the documentation, and it is the struct that the cell runs with.
//! [`tree`] is a scenario before it has meaning, [`units`] holds quantities such as `"10 MHz"`.
//!
//! ```
//! use slackwater_schema::field::{Field as _, Section as _};
//! use slackwater_schema::{choice, section};
//!
//! choice! {
//!     /// What a receiver makes of several transmissions.
//!     pub enum Combining {
//!         /// Energy adds up.
//!         Chase = "chase",
//!         /// Nothing.
//!         Nothing = "none",
//!     }
//! }
//! section! {
//!     /// Hybrid ARQ.
//!     pub struct Harq {
//!         /// Transmissions of a block.
//!         #[within(1, 16)]
//!         pub transmissions: u8 = 4,
//!         /// Combining.
//!         pub combining: Combining = Combining::Chase,
//!     }
//! }
//!
//! assert_eq!(Harq::example().transmissions, 4);
//! assert_eq!(Harq::rows()[0][3], "1 to 16");
//! assert_eq!(Combining::WORDS, ["chase", "none"]);
//! ```

pub mod error;
pub mod field;
pub mod tree;
pub mod units;

pub use error::ScenarioError;
#[doc(hidden)]
pub use serde_json;

/// The README's example, compiled and run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
