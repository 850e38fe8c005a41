//! Every registered controller against its laws, on a small bottleneck, and beside the Linux kernel.

mod bottleneck;
mod cell;
mod draft_bbr;
mod kernel;
mod laws;
mod scenarios;
mod wire;
#[expect(
    clippy::print_stdout,
    reason = "the figures that the tests bound are worth reading"
)]
mod xrc;
