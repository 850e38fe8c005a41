//! Control by explicit feedback: the network says what a sender may take.

pub mod xrc;
