//! Real packets through the simulated cell: the emulator.
//!
//! Buffers that a TUN device hands over become the packets of a [`slackwater_sim::World`]: what queues, cells and edge
//! functions read of a packet is taken out of its headers, and what they change is written back when it leaves. The world
//! is the one of a simulation; its clock is the machine's. See `docs/design/0015-live.md` and `docs/emulate.md`. All of it but
//! [`program`] is for Linux.
//!
//! | module | holds |
//! |---|---|
//! | [`emulate`] | a command behind a cell: scenario, namespaces, devices, the loop, logs; [`bridge`] joins buffers and world |
//! | [`gnb`] | the cell behind N3: GTP-U in place of the device for servers |
//! | [`privilege`] | whose rights commands and files have under `sudo` |
//! | [`kernel`] | a scenario with the kernel's own TCP senders |
//! | [`validate`] | the kernel's senders beside the simulated ones |
//! | [`quinn`] | QUIC on sockets under our controllers |
//! | [`gtpu`] | the sockets of N3: batches, outer traffic class |
//! | [`core_network`] | function, gNB and UEs in one command |
//! | [`packet`] | an interface by `AF_PACKET`: frames in and out |
//! | [`upf`] | a user plane function on sockets and a TUN device or an interface |
//! | `bpf` | XRC in the kernel's TCP, with the feature `bpf`, which [`upf`] has a path in the kernel with |

#[cfg(all(feature = "bpf", target_os = "linux"))]
pub mod bpf;
#[cfg(target_os = "linux")]
pub mod core_network;
#[cfg(target_os = "linux")]
pub mod counted;
#[cfg(target_os = "linux")]
pub mod emulate;
#[cfg(target_os = "linux")]
pub mod gnb;
#[cfg(target_os = "linux")]
pub mod gtpu;
#[cfg(target_os = "linux")]
pub mod kernel;
#[cfg(target_os = "linux")]
mod mapping;
#[cfg(target_os = "linux")]
pub mod packet;
#[cfg(target_os = "linux")]
pub mod privilege;
pub mod program;
#[cfg(target_os = "linux")]
pub mod quinn;
#[cfg(target_os = "linux")]
pub mod rtc;
#[cfg(target_os = "linux")]
pub mod split;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
pub mod upf;
#[cfg(target_os = "linux")]
pub mod validate;

use std::io;

#[cfg(target_os = "linux")]
pub use self::emulate::{beside, bridge, cells, flows, inside, logs};

/// Why there is no emulation.
#[derive(Debug, thiserror::Error)]
pub enum LiveError {
    /// The kernel refused something; what, and what would help.
    #[error("{what}: {cause}{hint}")]
    Kernel {
        /// What was tried.
        what: String,
        /// What the kernel said.
        cause: io::Error,
        /// What would help, as the end of the message; may be empty.
        hint: &'static str,
    },
    /// The cell or link cannot be had.
    #[error(transparent)]
    Scenario(#[from] slackwater_scenario::ScenarioError),
    /// The world cannot be built.
    #[error(transparent)]
    Build(#[from] slackwater_scenario::build::BuildError),
    /// A signal asked for an end before anything was measured.
    #[error("interrupted")]
    Interrupted {
        /// What the program ends with: 128 and the signal's number.
        code: u8,
    },
    /// Anything else that a user can mend.
    #[error("{0}")]
    Usage(String),
}

#[cfg(target_os = "linux")]
impl LiveError {
    pub(crate) fn kernel(what: impl Into<String>, cause: impl Into<io::Error>) -> Self {
        Self::Kernel {
            what: what.into(),
            cause: cause.into(),
            hint: "",
        }
    }

    pub(crate) fn hint(self, hint: &'static str) -> Self {
        match self {
            Self::Kernel { what, cause, .. } => Self::Kernel { what, cause, hint },
            other => other,
        }
    }
}
