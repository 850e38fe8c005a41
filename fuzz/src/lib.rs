//! What is fuzzed: each target takes any bytes, and panics where a law is broken.
//!
//! Two programs run these functions: libFuzzer, guided by coverage (`make fuzz`), and a test of the workspace
//! (`cargo test -p slackwater-cli --test fuzz`) on the corpus and on mutations of it, for machines with a stable toolchain alone.
//! docs/reliability.md has the figures.

mod agent;
mod bridge;
mod edge;
mod ends;
mod files;
mod input;
mod upf;
mod wire;

/// A name, by which its corpus is called too, and the function.
pub type Target = (&'static str, fn(&[u8]));

/// All targets.
pub const TARGETS: [Target; 21] = [
    ("ip", wire::ip),
    ("frame", wire::frame),
    ("gtpu", wire::gtpu),
    ("pfcp", wire::pfcp),
    ("rtp", wire::rtp),
    ("rtcp", wire::rtcp),
    ("trace", files::trace),
    ("series", files::series),
    ("packed", files::packed),
    ("scenario", files::scenario),
    ("policy", files::policy),
    ("configs", files::configs),
    ("results", files::results),
    ("reports", edge::reports),
    ("vaqm", edge::vaqm),
    ("cecc", edge::cecc),
    ("xrc_agent", agent::xrc_agent),
    ("bridge", bridge::bridge),
    ("upf", upf::upf),
    ("tcp", ends::tcp),
    ("quic_media", ends::quic_media),
];

/// Runs the target called `name`; the entry of each program in `fuzz_targets`.
///
/// # Panics
/// Where there is no such target, and where the target finds something.
pub fn run(name: &str, data: &[u8]) {
    let target = TARGETS.iter().find(|t| t.0 == name);
    target.expect("a target of this list").1(data);
}
