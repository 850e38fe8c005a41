//! The socket of a base station's reports beside a connection of media, keyed by the addresses of its packets (docs/wire.md).
//!
//! Anyone may write to it. A report counts only of the address that media go to; with a key, only if it was signed.

use std::io;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant as Wall;

use slackwater_signal::PathReport;

use crate::LiveError;
use crate::counted::{Budget, Heard, Key, Serials};

/// Longer than any report.
const ROOM: usize = 512;

/// The socket, and what came to it.
#[derive(Debug)]
pub(super) struct Reports {
    socket: UdpSocket,
    address: SocketAddr,
    key: Option<Key>,
    serials: Serials<SocketAddr>,
    budget: Budget,
    heard: Heard,
}

impl Reports {
    /// A socket at `address`; with a `key` unsigned counters count for nothing.
    pub(super) fn open(address: SocketAddr, key: Option<Key>) -> Result<Self, LiveError> {
        let failed =
            |e| LiveError::kernel(format!("cannot open a socket of reports at {address}"), e);
        let socket = UdpSocket::bind(address).map_err(failed)?;
        socket.set_nonblocking(true).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self {
            socket,
            address,
            key,
            serials: Serials::default(),
            budget: Budget::new(Wall::now()),
            heard: Heard::default(),
        })
    }

    pub(super) const fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) const fn heard(&self) -> Heard {
        self.heard
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }

    /// Reads what waits. `take` gets the address that a reported flow goes to, and returns false if it is nobody's.
    pub(super) fn read(
        &mut self,
        mut take: impl FnMut(SocketAddr, &PathReport) -> bool,
    ) -> io::Result<()> {
        let mut buffer = [0; ROOM];
        loop {
            let length = match self.socket.recv(&mut buffer) {
                Ok(length) => length,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) if e.kind() == io::ErrorKind::Interrupted => continue,
                Err(e) => return Err(e),
            };
            if !self.budget.take(Wall::now()) {
                self.heard.flooded += 1;
                continue;
            }
            self.hear(&buffer[..length], &mut take);
        }
    }

    fn hear(&mut self, bytes: &[u8], take: &mut impl FnMut(SocketAddr, &PathReport) -> bool) {
        let Some((to, read)) = self.heard.open(bytes, self.key.as_ref()) else {
            return;
        };
        if !self.serials.pass(to, read.serial) {
            self.heard.forged += 1;
        } else if take(to, &read.body) {
            self.heard.told += 1;
        } else {
            self.serials.close(to);
            self.heard.strangers += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_signal::Counters;
    use slackwater_wire::report::{FiveTuple, FlowKey};

    use super::*;
    use crate::counted::CounterReport;

    fn to(port: u16) -> SocketAddr {
        SocketAddr::from(([10, 0, 0, 7], port))
    }

    fn sealed(port: u16, gone: u32, key: Option<(&Key, u64)>) -> Vec<u8> {
        let flow = FlowKey::FiveTuple(FiveTuple {
            source: "192.0.2.1".parse().unwrap(),
            destination: to(port).ip(),
            source_port: 9,
            destination_port: port,
            protocol: 17,
        });
        let counters = Counters {
            gone,
            ..Counters::default()
        };
        CounterReport::seal(flow, counters.encode(), key)
    }

    fn reports(key: Option<Key>) -> Reports {
        Reports::open(SocketAddr::from(([127, 0, 0, 1], 0)), key).unwrap()
    }

    /// The bytes that are gone by each report that `reports` passes on of port 4.
    fn gone(reports: &mut Reports, all: &[Vec<u8>]) -> Vec<u32> {
        let mut gone = vec![];
        for bytes in all {
            reports.hear(bytes, &mut |flow, report| {
                if let (true, PathReport::Counters(counters)) = (flow == to(4), report) {
                    gone.push(counters.gone);
                }
                flow == to(4)
            });
        }
        gone
    }

    #[test]
    fn a_report_counts_of_the_address_that_media_go_to() {
        let mut plain = reports(None);
        let all = [sealed(4, 1, None), sealed(5, 2, None), vec![7; 44]];
        assert_eq!(gone(&mut plain, &all), [1]);
        let heard = plain.heard();
        assert_eq!((heard.told, heard.strangers, heard.malformed), (1, 1, 1));
    }

    #[test]
    fn with_a_key_a_signed_report_counts_once() {
        let [ours, other] = [1, 2].map(|n| Key::new(&[n; 16]).unwrap());
        let mut keyed = reports(Some(ours.clone()));
        let all = [
            sealed(4, 1, None),
            sealed(4, 2, Some((&other, 10))),
            sealed(4, 3, Some((&ours, 10))),
            sealed(4, 4, Some((&ours, 10))),
            sealed(4, 5, Some((&ours, 11))),
        ];
        assert_eq!(gone(&mut keyed, &all), [3, 5]);
        assert_eq!((keyed.heard().told, keyed.heard().forged), (2, 3));
    }
}
