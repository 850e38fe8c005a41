//! The user plane function: control plane and user plane of all sessions, without sockets and without a clock.
//!
//! Octets of N3, N6 and N4 go in with the time; [`Upf::poll`] hands out what leaves, and [`Upf::next_timer`] says when to call
//! it again.

use std::net::SocketAddr;

use slackwater_core::{Direction, Ecn, Instant, Qfi};
use slackwater_wire::gtpu::report::FlowCounters;

use crate::n4::{self, Node};
use crate::sessions::{Seid, Sessions};
use crate::usage::Usage;
use crate::user::fast::{FastPath, Forwarded};
use crate::user::{Buf, Event, Output, User, UserConfig};

/// What the function is told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Config {
    /// The user plane.
    pub user: UserConfig,
    /// The control plane.
    pub n4: n4::Config,
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
    pub(crate) sessions: Sessions,
    pub(crate) user: User,
    pub(crate) usage: Usage,
    pub(crate) node: Node,
    /// The associations that the journal has; `None` where none is kept.
    pub(crate) associations: Option<Vec<n4::kept::Association>>,
}

impl Upf {
    /// No session yet.
    pub fn new(config: Config) -> Self {
        Self {
            sessions: Sessions::default(),
            user: User::new(config.user),
            usage: Usage::default(),
            node: Node::new(config.n4),
            associations: None,
        }
    }

    /// A UDP datagram came on N4.
    pub fn on_n4(&mut self, now: Instant, from: SocketAddr, bytes: &[u8]) {
        let Self {
            sessions,
            user,
            usage,
            node,
            ..
        } = self;
        node.on_message(now, from, bytes, sessions, usage);
        user.follow(now, sessions, usage);
    }

    /// A UDP datagram came on N3 or N9, with the ECN field `outer` in its IP header.
    pub fn on_n3(&mut self, now: Instant, from: SocketAddr, datagram: impl Into<Buf>, outer: Ecn) {
        let (sessions, usage) = (&mut self.sessions, &mut self.usage);
        self.user
            .on_n3(now, sessions, usage, from, datagram.into(), outer);
        self.report(now);
    }

    /// An IP packet came from the data network. Room in front of it ([`Buf::ROOM`]) saves a copy.
    pub fn on_n6(&mut self, now: Instant, packet: impl Into<Buf>) {
        let (sessions, usage) = (&mut self.sessions, &mut self.usage);
        self.user.on_n6(now, sessions, usage, packet.into());
        self.report(now);
    }

    /// Tells the control plane what the user plane saw.
    fn report(&mut self, now: Instant) {
        while let Some(event) = self.user.take_event() {
            match event {
                Event::Data { seid, pdr } => {
                    self.node.on_downlink_data(now, seid, pdr, &self.sessions);
                }
                Event::ErrorIndication { seid, tunnel } => {
                    self.node
                        .on_error_indication(now, seid, tunnel, &self.sessions);
                }
            }
        }
    }

    /// What leaves next, at the time `now`; call until it returns `None`.
    pub fn poll(&mut self, now: Instant) -> Option<Output> {
        if let Some(output) = self.user.take_output() {
            return Some(output);
        }
        let (sessions, usage) = (&mut self.sessions, &mut self.usage);
        self.user.run(now, sessions, usage);
        if self.node.next_timer(usage).is_some_and(|at| at <= now) {
            self.node.on_timer(now, sessions, usage);
            // Sessions of a node that is lost go.
            self.user.follow(now, sessions, usage);
        }
        self.report(now);
        let n4 = || {
            let (to, bytes) = self.node.poll_transmit()?;
            Some(Output::N4 { to, bytes })
        };
        self.user.take_output().or_else(n4)
    }

    /// Counters of flows that came since the last call, each for the sender of its flow ([`UserConfig::counters`]).
    ///
    /// [`UserConfig::counters`]: crate::user::UserConfig::counters
    pub fn take_counted(&mut self) -> Vec<FlowCounters> {
        self.user.take_counted()
    }

    /// Lists from now on the sessions whose path outside may be another one: all that there are, to begin with.
    pub fn keep_fast(&mut self) {
        let all = self.sessions.iter().map(|s| s.seid);
        self.user.keep_fast(all);
    }

    /// The sessions that came, changed or went since the last call, for a path outside ([`crate::user::fast`]).
    pub fn take_fast_changes(&mut self, now: Instant) -> Vec<Seid> {
        let (sessions, usage) = (&mut self.sessions, &mut self.usage);
        self.user.follow(now, sessions, usage);
        self.user.take_fast_changes()
    }

    /// What of a session a path outside may do; nothing of one that is gone.
    pub fn fast_path(&self, now: Instant, seid: Seid) -> FastPath {
        let session = self.sessions.get(seid);
        session.map_or_else(FastPath::default, |s| self.user.fast_path(now, s))
    }

    /// True where vAQM or a meter has a session's packets at present, so that a path outside is to look again later.
    pub fn acts(&self, now: Instant, seid: Seid) -> bool {
        self.sessions
            .get(seid)
            .is_some_and(|s| self.user.acts(now, s))
    }

    /// A path outside has forwarded a packet of the session at the time `now`: its first octets, which have its headers, and the `QoS`
    /// flow of its direction. True where the next may go there too.
    pub fn on_bypassed(
        &mut self,
        now: Instant,
        seid: Seid,
        direction: Direction,
        qfi: Option<Qfi>,
        head: &mut [u8],
    ) -> bool {
        let sessions = &self.sessions;
        self.user
            .on_bypassed(now, sessions, seid, direction, qfi, head)
    }

    /// The sessions whose counts are wanted by `now`: a report of them may be due.
    pub fn counts_wanted(&self, now: Instant) -> Vec<Seid> {
        self.usage.timers_by(now).collect()
    }

    /// Counts what a path outside has forwarded of a session, to the rules `urrs`.
    pub fn add_forwarded(
        &mut self,
        now: Instant,
        seid: Seid,
        direction: Direction,
        urrs: &[u32],
        what: Forwarded,
    ) {
        let usage = &mut self.usage;
        self.user
            .add_forwarded(now, usage, seid, direction, urrs, what);
    }

    /// Counts packets that a path outside lost for want of room for a header.
    pub const fn add_no_room(&mut self, packets: u64) {
        self.user.add_no_room(packets);
    }

    /// What happened to associations; call until it returns `None`.
    pub fn take_event(&mut self) -> Option<n4::Event> {
        self.node.poll_event()
    }

    /// When to call [`Upf::poll`] again; a time that has passed means at once.
    pub fn next_timer(&self) -> Option<Instant> {
        let node = self.node.next_timer(&self.usage);
        [self.user.next_timer(), node].into_iter().flatten().min()
    }

    /// The sessions, for those who set them without PFCP. What is changed holds from the next call on.
    pub const fn sessions(&mut self) -> &mut Sessions {
        &mut self.sessions
    }

    /// The sessions, to be looked at.
    pub const fn all_sessions(&self) -> &Sessions {
        &self.sessions
    }

    /// The user plane: counters, states of sessions and functions.
    pub const fn user(&self) -> &User {
        &self.user
    }

    /// The control plane: associations and counters.
    pub const fn node(&self) -> &Node {
        &self.node
    }
}

#[cfg(test)]
pub(crate) mod tests;
