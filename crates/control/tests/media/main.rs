//! Media controllers in closed loop over a toy link, and against hostile feedback.

mod al4s;
mod gcc;
mod hostile;
mod link;
mod pion;
mod scream;
