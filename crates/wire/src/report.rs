//! Explicit feedback on its way to a sender: a TCP option on ACKs, or a datagram beside them.
//!
//! Both carry the eight bytes of [`slackwater_signal::ReportBody`]. XRC names the carriers and gives no format (XRC, sections
//! III and V); these are ours. The option takes 12 bytes, so that it fits beside time stamps and two SACK blocks:
//!
//! | bytes | option | datagram |
//! |---|---|---|
//! | 0 | kind 253 (RFC 4727, 4) | 0-3: magic, "SWXR" |
//! | 1 | length 12 | |
//! | 2-3 | experiment identifier (RFC 6994, 3), "XR" | |
//! | 4-11 | body | 4: version, 5: kind of key, 6: its length, 7: protocol |
//! | | | 8-: key, then the body |
//!
//! The keys are the 5-tuple of the sender's packets (12 bytes in IPv4, 36 in IPv6) or a QUIC connection ID. Neither
//! carrier is authenticated: a receiver has to bound what a report can make it do.

pub mod datagram;
pub mod option;

pub use datagram::{ConnectionId, Datagram, FiveTuple, FlowKey};
pub use option::{EXID, Skip, find, insert, strip};
