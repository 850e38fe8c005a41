//! Worlds to learn in: one sender whose decisions come from outside, on links and cells drawn at random.
//!
//! A [`Domain`] says what may be drawn, an [`Episode`] is one draw, and an [`Env`] runs it decision by decision: lean, with
//! the observation function and the controller of deployment. [`Batch`] runs many on all cores, and [`Batch::rollout`] plays whole
//! trajectories of a policy without leaving Rust.

pub mod batch;
pub mod domain;
pub mod env;
pub mod episode;
pub mod examples;
pub mod listen;
pub mod pattern;
pub mod reward;
pub mod score;

pub use batch::{Batch, Rollout, Steps};
pub use domain::{Domain, DomainError, Place, Transport};
pub use env::{Actor, Env, Ground, Scheme};
pub use episode::Episode;
pub use examples::examples;
pub use listen::{Listener, Totals};
pub use pattern::{Family, Pattern};
pub use reward::Reward;
pub use score::{Score, score, scores};

#[cfg(test)]
mod tests;
