//! The half of a controller in the kernel that stays in user space: samples of connections come in, reports come in, orders go out.
//! No socket and no kernel call: `bpf::ebb` moves what it takes and gives.

mod agenda;
mod connection;
mod connections;
mod event;

pub use self::connections::Connections;
