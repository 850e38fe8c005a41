//! The built command, from outside: what it prints, what it leaves on disk, and how it fails.

#[path = "../peers/aioquic.rs"]
mod aioquic;
mod arena;
mod errors;
mod explain;
mod folders;
#[path = "../peers/go.rs"]
mod go;
mod http;
mod interrupts;
mod kills;
mod new;
#[path = "../peers/terminal.rs"]
mod on_terminal;
mod pion;
mod quic;
mod repro;
mod results;
mod rtc;
mod serve;
mod shell;
#[path = "../peers/signal.rs"]
mod signal;
#[cfg(feature = "bpf")]
mod tcp;
mod terminal;
mod tools;
mod traces;
