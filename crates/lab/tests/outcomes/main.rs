//! What short runs come to, to the microsecond and the packet: a change of a sender, a queue law, a cell or a function of the
//! edge shows as changed lines of a table.
//!
//! A difference in `snapshots` is a change of what users measure: look at it, then accept it (`INSTA_UPDATE=always cargo test -p
//! slackwater-lab --test outcomes`) in the commit that changed it, and say there why.

mod arena;
mod keys;
mod line;
