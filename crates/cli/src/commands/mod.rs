//! One module a subcommand.

pub(crate) mod arena;
pub(crate) mod bench;
pub(crate) mod claims;
pub(crate) mod compare;
pub(crate) mod doctor;
#[cfg(target_os = "linux")]
pub(crate) mod emulate;
pub(crate) mod explain;
pub(crate) mod folders;
#[cfg(target_os = "linux")]
pub(crate) mod gnb;
#[cfg(not(target_os = "linux"))]
mod linux_only;
pub(crate) mod list;
#[cfg(target_os = "linux")]
pub(crate) mod live;
pub(crate) mod new;
pub(crate) mod python;
#[cfg(target_os = "linux")]
pub(crate) mod quic;
pub(crate) mod repro;
#[cfg(target_os = "linux")]
pub(crate) mod rtc;
pub(crate) mod run;
pub(crate) mod serve;
#[cfg(target_os = "linux")]
pub(crate) mod tcp;
pub(crate) mod trace;
#[cfg(target_os = "linux")]
pub(crate) mod upf;
pub(crate) mod validate;

#[cfg(not(target_os = "linux"))]
pub(crate) use linux_only::{emulate, gnb, live, quic, refuse, rtc, tcp, upf};
