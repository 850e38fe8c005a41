//! The control plane nodes with an association (TS 29.244, 6.2.6 to 6.2.8).

use std::net::{IpAddr, SocketAddr};

use slackwater_core::Instant;

use super::config::NodeName;

/// How an association stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The node answers.
    Up,
    /// It stopped answering; its sessions go at that time, if ever.
    Lost(Option<Instant>),
}

/// One association.
#[derive(Clone, Debug)]
pub(super) struct Peer {
    /// The node ID.
    pub(super) name: NodeName,
    /// Where the association was set up from.
    pub(super) from: SocketAddr,
    /// When the node started, in seconds of NTP.
    pub(super) recovery: u32,
    /// How it stands.
    pub(super) state: State,
    /// When the next heartbeat leaves; `None` while one is under way, or for none.
    pub(super) heartbeat: Option<Instant>,
}

/// All of them. A place is used again once its association is gone, and all of its sessions with it.
#[derive(Debug, Default)]
pub(super) struct Peers {
    places: Vec<Option<Peer>>,
}

impl Peers {
    pub(super) fn len(&self) -> usize {
        self.iter().count()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &Peer)> {
        let places = self.places.iter().enumerate();
        places.filter_map(|(at, peer)| Some((at as u32, peer.as_ref()?)))
    }

    pub(super) fn get(&self, at: u32) -> Option<&Peer> {
        self.places.get(at as usize)?.as_ref()
    }

    pub(super) fn get_mut(&mut self, at: u32) -> Option<&mut Peer> {
        self.places.get_mut(at as usize)?.as_mut()
    }

    /// That of this node ID.
    pub(super) fn named(&self, name: &NodeName) -> Option<u32> {
        self.iter().find(|(_, p)| p.name == *name).map(|(at, _)| at)
    }

    /// The one that a message without a node ID comes from: by address and port, or by address where that names one alone.
    pub(super) fn from(&self, from: SocketAddr) -> Option<u32> {
        let exact = self.iter().find(|(_, p)| p.from == from);
        let mut same = self.iter().filter(|(_, p)| p.from.ip() == from.ip());
        let (first, second) = (same.next(), same.next());
        let only = first.filter(|_| second.is_none());
        exact.or(only).map(|(at, _)| at)
    }

    /// True where an association has this address.
    pub(super) fn knows(&self, address: IpAddr) -> bool {
        self.iter().any(|(_, p)| p.from.ip() == address)
    }

    pub(super) fn add(&mut self, peer: Peer) -> u32 {
        let free = self.places.iter().position(Option::is_none);
        let at = free.unwrap_or_else(|| {
            self.places.push(None);
            self.places.len() - 1
        });
        self.places[at] = Some(peer);
        at as u32
    }

    /// Puts an association at a place that is free.
    pub(super) fn put(&mut self, at: u32, peer: Peer) -> bool {
        // Places are used again, so that there are never more than associations at once: far below this.
        let at = at as usize;
        if at >= 1 << 16 || self.places.get(at).is_some_and(Option::is_some) {
            return false;
        }
        if self.places.len() <= at {
            self.places.resize_with(at + 1, || None);
        }
        self.places[at] = Some(peer);
        true
    }

    pub(super) fn remove(&mut self, at: u32) -> Option<Peer> {
        self.places.get_mut(at as usize)?.take()
    }
}
