//! The hardware address of the router behind a port, as the kernel finds it out by ARP or neighbour discovery.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::Duration;

use crate::LiveError;

/// How often the kernel's table is read: while the router is unknown, and later.
const SEARCH: Duration = Duration::from_millis(100);
/// See [`SEARCH`].
const RENEW: Duration = Duration::from_secs(10);
/// A datagram to this port says nothing (RFC 863), and makes the kernel ask for the address.
const DISCARD: u16 = 9;
/// Set where an address is known; beyond its 48 bits.
const KNOWN: u64 = 1 << 48;

/// A router, looked after by a thread that ends with this value.
#[derive(Debug)]
pub(super) struct Neighbour {
    mac: Arc<AtomicU64>,
    _ends: Sender<()>,
}

impl Neighbour {
    /// Looks for the router `address` behind `interface`.
    pub(super) fn seek(address: IpAddr, interface: &str) -> Result<Self, LiveError> {
        let mac = Arc::new(AtomicU64::new(0));
        let (ends, ended) = channel();
        let (found, interface) = (Arc::clone(&mac), interface.to_owned());
        std::thread::Builder::new()
            .name("neighbour".to_owned())
            .spawn(move || look_after(address, &interface, &found, &ended))
            .map_err(|e| LiveError::kernel("cannot start a thread", e))?;
        Ok(Self { mac, _ends: ends })
    }

    /// Its hardware address, once it is known.
    pub(super) fn mac(&self) -> Option<[u8; 6]> {
        let word = self.mac.load(Ordering::Relaxed);
        let [_, _, mac @ ..] = word.to_be_bytes();
        (word & KNOWN != 0).then_some(mac)
    }
}

fn look_after(address: IpAddr, interface: &str, mac: &AtomicU64, ended: &Receiver<()>) {
    let own: IpAddr = match address {
        IpAddr::V4(_) => Ipv4Addr::UNSPECIFIED.into(),
        IpAddr::V6(_) => Ipv6Addr::UNSPECIFIED.into(),
    };
    let socket = UdpSocket::bind((own, 0));
    loop {
        if let Ok(socket) = &socket {
            // Without a way there is no neighbour either: the table says so.
            let _sent = socket.send_to(&[], (address, DISCARD));
        }
        if let Some(found) = listed(address, interface) {
            let [a, b, c, d, e, f] = found;
            let word = u64::from_be_bytes([0, 0, a, b, c, d, e, f]) | KNOWN;
            mac.store(word, Ordering::Relaxed);
        }
        let known = mac.load(Ordering::Relaxed) != 0;
        match ended.recv_timeout(if known { RENEW } else { SEARCH }) {
            Err(RecvTimeoutError::Timeout) => {}
            _ => return,
        }
    }
}

/// What the kernel's table has.
fn listed(address: IpAddr, interface: &str) -> Option<[u8; 6]> {
    let said = crate::program::of_system("ip", "iproute2")
        .ok()?
        .args(["-j", "neigh", "show", "to", &address.to_string()])
        .args(["dev", interface])
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .output()
        .ok()?;
    let table: serde_json::Value = serde_json::from_slice(&said.stdout).ok()?;
    let rows = table.as_array()?;
    rows.iter()
        .find_map(|row| parsed(row.get("lladdr")?.as_str()?))
}

/// Six octets in hexadecimal, with colons.
fn parsed(text: &str) -> Option<[u8; 6]> {
    let mut mac = [0; 6];
    let mut parts = text.split(':');
    for octet in &mut mac {
        *octet = u8::from_str_radix(parts.next()?, 16).ok()?;
    }
    parts.next().is_none().then_some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_six_octets() {
        let mac = parsed("02:fc:00:00:00:ff").unwrap();
        assert_eq!(mac, [2, 0xfc, 0, 0, 0, 0xff]);
        for wrong in ["", "02:fc", "02:fc:00:00:00:ff:01", "02:fc:00:00:00:zz"] {
            assert_eq!(parsed(wrong), None, "{wrong}");
        }
    }
}
