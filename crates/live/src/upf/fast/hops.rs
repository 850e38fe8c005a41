//! The next hops to base stations, as the kernel's routes have them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Stdio;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::LiveError;

/// How often known routes are read again.
const RENEW: Duration = Duration::from_secs(10);

/// Next hops by one interface, looked up by a thread that ends with this value.
#[derive(Debug)]
pub(super) struct Hops {
    /// `None` where packets to the address do not leave by the interface, or nobody has looked yet.
    known: HashMap<Ipv4Addr, Option<Ipv4Addr>>,
    wanted: Sender<Ipv4Addr>,
    found: Receiver<(Ipv4Addr, Option<Ipv4Addr>)>,
}

impl Hops {
    /// Next hops of packets from `own` by `interface`.
    pub(super) fn of(own: IpAddr, interface: &str) -> Result<Self, LiveError> {
        let (wanted, requests) = channel();
        let (answers, found) = channel();
        let interface = interface.to_owned();
        std::thread::Builder::new()
            .name("hops".to_owned())
            .spawn(move || look_after(own, &interface, &requests, &answers))
            .map_err(|e| LiveError::kernel("cannot start a thread", e))?;
        Ok(Self {
            known: HashMap::new(),
            wanted,
            found,
        })
    }

    /// The next hop to `peer`. `None`: it is not known yet, and [`Hops::changed`] gives `peer` once it is.
    pub(super) fn to(&mut self, peer: Ipv4Addr) -> Option<Ipv4Addr> {
        *self.known.entry(peer).or_insert_with(|| {
            let _thread_is_there = self.wanted.send(peer);
            None
        })
    }

    /// The peers whose next hop is another one now.
    pub(super) fn changed(&mut self) -> Vec<Ipv4Addr> {
        let mut changed = Vec::new();
        for (peer, hop) in self.found.try_iter() {
            if self.known.insert(peer, hop) != Some(hop) {
                changed.push(peer);
            }
        }
        changed
    }
}

fn look_after(
    own: IpAddr,
    interface: &str,
    requests: &Receiver<Ipv4Addr>,
    answers: &Sender<(Ipv4Addr, Option<Ipv4Addr>)>,
) {
    let mut peers = Vec::new();
    loop {
        let again = match requests.recv_timeout(RENEW) {
            Ok(peer) => {
                peers.push(peer);
                &peers[peers.len() - 1..]
            }
            Err(RecvTimeoutError::Timeout) => &peers[..],
            Err(RecvTimeoutError::Disconnected) => return,
        };
        for peer in again {
            let hop = routed(own, *peer).and_then(|row| hop(&row, *peer, interface));
            if answers.send((*peer, hop)).is_err() {
                return;
            }
        }
    }
}

/// The kernel's route to `peer`.
fn routed(own: IpAddr, peer: Ipv4Addr) -> Option<serde_json::Value> {
    let said = crate::program::of_system("ip", "iproute2")
        .ok()?
        .args(["-j", "route", "get", &peer.to_string()])
        .args(["from", &own.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let rows: serde_json::Value = serde_json::from_slice(&said.stdout).ok()?;
    rows.get(0).cloned()
}

/// The next hop of a route by `interface`.
fn hop(row: &serde_json::Value, peer: Ipv4Addr, interface: &str) -> Option<Ipv4Addr> {
    let ours = row.get("dev")?.as_str()? == interface;
    let broad = matches!(row.get("type").and_then(|t| t.as_str()), Some(kind) if kind != "unicast");
    if !ours || broad {
        return None;
    }
    if row.get("via").is_some() {
        // A router of the other family.
        return None;
    }
    match row.get("gateway") {
        None => Some(peer),
        Some(gateway) => gateway.as_str()?.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_route_by_another_interface_or_none_gives_no_next_hop() {
        let peer = Ipv4Addr::new(198, 51, 100, 2);
        let router = Ipv4Addr::new(198, 51, 100, 254);
        for (row, expected) in [
            (json!({ "dev": "n3" }), Some(peer)),
            (
                json!({ "dev": "n3", "gateway": "198.51.100.254" }),
                Some(router),
            ),
            (json!({ "dev": "eth0" }), None),
            (json!({ "dev": "n3", "type": "broadcast" }), None),
            (json!({ "dev": "n3", "type": "unicast" }), Some(peer)),
            (
                json!({ "dev": "n3", "via": { "family": "inet6", "host": "fe80::1" } }),
                None,
            ),
            (json!({}), None),
        ] {
            assert_eq!(hop(&row, peer, "n3"), expected, "{row}");
        }
    }
}
