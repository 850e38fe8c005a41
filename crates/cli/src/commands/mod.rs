//! One module a subcommand.

pub(crate) mod arena;
pub(crate) mod bench;
pub(crate) mod claims;
pub(crate) mod compare;
pub(crate) mod doctor;
pub(crate) mod emulate;
pub(crate) mod explain;
pub(crate) mod folders;
pub(crate) mod gnb;
pub(crate) mod list;
pub(crate) mod live;
pub(crate) mod new;
pub(crate) mod python;
pub(crate) mod quic;
pub(crate) mod repro;
pub(crate) mod rtc;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod tcp;
pub(crate) mod trace;
pub(crate) mod upf;
pub(crate) mod validate;
