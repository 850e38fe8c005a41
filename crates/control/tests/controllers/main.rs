//! Every registered controller against its laws, on a small bottleneck, and beside the Linux kernel.

mod bottleneck;
mod kernel;
mod laws;
mod scenarios;
