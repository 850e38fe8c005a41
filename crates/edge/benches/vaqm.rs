//! What a packet costs in vAQM: `cargo bench -p slackwater-edge`.
fn main() {}
