//! Real packets through the simulated cell: the emulator.
//!
//! Buffers that a TUN device hands over become the packets of a [`slackwater_sim::World`]: what queues, cells and edge
//! functions read of a packet is taken out of its headers, and what they change is written back when it leaves. The world
//! is the one of a simulation; its clock is the machine's. See `docs/design/0015-live.md` and `docs/emulate.md`.
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

#[cfg(feature = "bpf")]
pub mod bpf;
pub mod core_network;
pub mod counted;
pub mod emulate;
pub mod gnb;
pub mod gtpu;
pub mod kernel;
mod mapping;
pub mod packet;
pub mod privilege;
pub mod program;
pub mod quinn;
pub mod rtc;
pub mod split;
mod sys;
pub mod upf;
pub mod validate;

use std::io;

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
