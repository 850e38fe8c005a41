//! The user plane function: control plane and user plane of all sessions, without sockets and without a clock.
//!
//! Octets of N3, N6 and N4 go in with the time; [`Upf::poll`] hands out what leaves, and [`Upf::next_timer`] says when to call
//! it again.

use std::net::SocketAddr;

use slackwater_core::{Ecn, Instant};

use crate::sessions::Sessions;
use crate::user::{Buf, Event, NoUsage, Output, User, UserConfig};

/// What the function is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The user plane.
    pub user: UserConfig,
}

/// The function.
///
/// ```
/// use slackwater_core::Instant;
/// use slackwater_upf::upf::{Config, Upf};
///
/// let mut upf = Upf::new(Config::default());
/// upf.on_n6(Instant::ZERO, vec![0x45; 20]);
/// assert!(upf.poll(Instant::ZERO).is_none());
/// assert_eq!(upf.user().counters().n6_in, 1);
/// ```
#[derive(Debug)]
pub struct Upf {
    sessions: Sessions,
    user: User,
    usage: NoUsage,
}

impl Upf {
    /// No session yet.
    pub fn new(config: Config) -> Self {
        Self {
            sessions: Sessions::default(),
            user: User::new(config.user),
            usage: NoUsage,
        }
    }

    /// A UDP datagram came on N3 or N9, with the ECN field `outer` in its IP header.
    pub fn on_n3(&mut self, now: Instant, from: SocketAddr, datagram: impl Into<Buf>, outer: Ecn) {
        let Self {
            sessions,
            user,
            usage,
        } = self;
        user.on_n3(now, sessions, usage, from, datagram.into(), outer);
    }

    /// An IP packet came from the data network. Room in front of it ([`Buf::ROOM`]) saves a copy.
    pub fn on_n6(&mut self, now: Instant, packet: impl Into<Buf>) {
        let Self {
            sessions,
            user,
            usage,
        } = self;
        user.on_n6(now, sessions, usage, packet.into());
    }

    /// What leaves next, at the time `now`; call until it returns `None`.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        if let Some(output) = self.user.take_output() {
            return Some(output);
        }
        self.user.run(now, &mut self.sessions);
        self.user.take_output()
    }

    /// What the control plane is to be told next.
    pub fn take_event(&mut self) -> Option<Event> {
        self.user.take_event()
    }

    /// When to call [`Upf::poll`] again; a time that has passed means at once.
    pub fn next_timer(&self) -> Option<Instant> {
        self.user.next_timer()
    }

    /// The sessions, for those who set them without PFCP. What is changed holds from the next call on.
    pub const fn sessions(&mut self) -> &mut Sessions {
        &mut self.sessions
    }

    /// The sessions, to look at.
    pub const fn all(&self) -> &Sessions {
        &self.sessions
    }

    /// The user plane: counters, states of sessions and functions.
    pub const fn user(&self) -> &User {
        &self.user
    }
}
