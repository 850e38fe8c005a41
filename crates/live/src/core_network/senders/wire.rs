//! What passes the two ends of the network: the device of the servers and those of the UEs.
//!
//! Delays of packets from the one to the other are the network's as the paper of CECC has them: from the server's network
//! interface to the UE. The kernel stamps both ends by one clock.

use std::collections::VecDeque;
use std::io::IoSliceMut;
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::socket::{ControlMessageOwned, MsgFlags, recvmsg, setsockopt, sockopt};
use slackwater_core::Duration;

use crate::LiveError;

/// Octets of a packet that are looked at: the longest headers of IPv4 and TCP (RFC 791, 3.1; RFC 9293, 3.1).
const HEADERS: usize = 60 + 60;
/// Segments that left and are looked for at most, of one flow: more than any window of these runs.
const UNDER_WAY: usize = 65_536;
/// Milliseconds after which the thread looks for the end of the run.
const LOOK: u16 = 50;

/// A stretch of a TCP flow that passed a point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Passed {
    /// When, from the start of the run.
    pub(super) at: Duration,
    /// The receiver's port.
    pub(super) port: u16,
    /// Sequence number of its first byte.
    pub(super) seq: u32,
    /// Its bytes.
    pub(super) bytes: u32,
}

/// How long some bytes took from the server's interface to the UE's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delay {
    /// When they arrived, from the start of the run.
    pub at: Duration,
    /// How long they took.
    pub took: Duration,
    /// How many they are.
    pub bytes: u32,
}

/// Port, sequence number and bytes of the TCP segment in an IPv4 `packet`, of which the headers alone need be there.
fn segment(packet: &[u8]) -> Option<(u16, u32, u32)> {
    let [first, _, high, low, ..] = packet else {
        return None;
    };
    // RFC 791, 3.1: version, length of the header in words of four octets, total length; protocol 6 is TCP.
    let header = usize::from(first & 15) * 4;
    if first >> 4 != 4 || packet.get(9) != Some(&6) {
        return None;
    }
    let total = usize::from(u16::from_be_bytes([*high, *low]));
    let tcp = packet.get(header..header + 20)?;
    let port = u16::from_be_bytes([tcp[2], tcp[3]]);
    let seq = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
    // RFC 9293, 3.1: data offset in words.
    let front = header + usize::from(tcp[12] >> 4) * 4;
    let bytes = total.checked_sub(front).filter(|n| *n > 0)?;
    Some((port, seq, bytes as u32))
}

/// The delays of what came of one flow, in the order in which it came. Bytes that left twice count from the last time before
/// they came. Bytes that were not seen to leave are left out, and counted.
pub(super) fn delays(left: &[Passed], came: &[Passed]) -> (Vec<Delay>, u64) {
    let mut found = Vec::with_capacity(came.len());
    let mut unseen = 0;
    let mut under_way: VecDeque<Passed> = VecDeque::new();
    let mut left = left.iter().peekable();
    for packet in came {
        while let Some(next) = left.next_if(|l| l.at <= packet.at) {
            under_way.push_back(*next);
            if under_way.len() > UNDER_WAY {
                under_way.pop_front();
            }
        }
        let mut done = 0;
        while done < packet.bytes {
            let seq = packet.seq.wrapping_add(done);
            let holds = |l: &&Passed| seq.wrapping_sub(l.seq) < l.bytes;
            let Some(from) = under_way.iter().rev().find(holds) else {
                unseen += u64::from(packet.bytes - done);
                break;
            };
            let bytes = (from.bytes - seq.wrapping_sub(from.seq)).min(packet.bytes - done);
            found.push(Delay {
                at: packet.at,
                took: packet.at.saturating_sub(from.at),
                bytes,
            });
            done += bytes;
        }
    }
    (found, unseen)
}

/// Listens at all interfaces until the run is over.
pub(super) struct Listener {
    thread: JoinHandle<Vec<Vec<Passed>>>,
}

impl Listener {
    /// Sockets that `sys::listen` has opened; segments to `ports` are kept, with times from `begun` on.
    pub(super) fn start(
        sockets: Vec<OwnedFd>,
        ports: core::ops::Range<u16>,
        begun: SystemTime,
        over: Arc<AtomicBool>,
    ) -> Result<Self, LiveError> {
        for socket in &sockets {
            setsockopt(socket, sockopt::ReceiveTimestampns, &true)
                .map_err(|e| LiveError::kernel("cannot ask for stamps of packets", e))?;
        }
        let begun = begun.duration_since(UNIX_EPOCH).unwrap_or_default();
        let thread = std::thread::Builder::new()
            .name("wire".to_owned())
            .spawn(move || {
                let mut seen = vec![Vec::new(); sockets.len()];
                while !over.load(Ordering::Relaxed) {
                    let mut fds: Vec<PollFd<'_>> = sockets
                        .iter()
                        .map(|s| PollFd::new(s.as_fd(), PollFlags::POLLIN))
                        .collect();
                    if poll(&mut fds, PollTimeout::from(LOOK)).is_err() {
                        continue;
                    }
                    for (socket, seen) in sockets.iter().zip(&mut seen) {
                        read_all(socket, &ports, begun, seen);
                    }
                }
                seen
            })
            .map_err(|e| LiveError::kernel("cannot start a thread", e))?;
        Ok(Self { thread })
    }

    /// By socket, what passed.
    pub(super) fn end(self) -> Vec<Vec<Passed>> {
        self.thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

/// Keeps what waits at `socket`.
fn read_all(
    socket: &OwnedFd,
    ports: &core::ops::Range<u16>,
    begun: core::time::Duration,
    seen: &mut Vec<Passed>,
) {
    let mut headers = [0; HEADERS];
    let mut control = nix::cmsg_space!(nix::sys::time::TimeSpec);
    loop {
        let mut parts = [IoSliceMut::new(&mut headers)];
        let flags = MsgFlags::MSG_DONTWAIT;
        let fd = socket.as_raw_fd();
        let Ok(came) = recvmsg::<()>(fd, &mut parts, Some(&mut control), flags) else {
            return;
        };
        let stamp = came.cmsgs().ok().and_then(|mut all| {
            all.find_map(|c| match c {
                ControlMessageOwned::ScmTimestampns(at) => Some(at),
                _ => None,
            })
        });
        let n = came.bytes.min(HEADERS);
        let (Some(stamp), Some((port, seq, bytes))) = (stamp, segment(&headers[..n])) else {
            continue;
        };
        if !ports.contains(&port) {
            continue;
        }
        let at = core::time::Duration::new(stamp.tv_sec() as u64, stamp.tv_nsec() as u32);
        let at = at.saturating_sub(begun);
        seen.push(Passed {
            at: Duration::from_nanos(at.as_nanos() as u64),
            port,
            seq,
            bytes,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(at: u64, seq: u32, bytes: u32) -> Passed {
        Passed {
            at: Duration::from_millis(at),
            port: 5_300,
            seq,
            bytes,
        }
    }

    fn found(left: &[Passed], came: &[Passed]) -> (Vec<(u64, u32)>, u64) {
        let (found, unseen) = delays(left, came);
        let of = |d: &Delay| (d.took.as_millis(), d.bytes);
        (found.iter().map(of).collect(), unseen)
    }

    #[test]
    fn super_packets_are_told_apart_by_their_bytes() {
        // Two leave, cut otherwise they come, across the end of the numbers.
        let start = u32::MAX - 999;
        let left = [passed(10, start, 3_000), passed(14, 2_000, 1_000)];
        let came = [passed(15, start, 1_500), passed(20, 500, 2_500)];
        let (found, unseen) = found(&left, &came);
        assert_eq!(found, [(5, 1_500), (10, 1_500), (6, 1_000)]);
        assert_eq!(unseen, 0);
    }

    #[test]
    fn what_left_twice_counts_from_the_last_time_and_what_was_not_seen_is_counted() {
        let left = [
            passed(1, 0, 1_000),
            passed(50, 0, 1_000),
            passed(90, 0, 1_000),
        ];
        let came = [passed(60, 0, 1_000), passed(70, 5_000, 300)];
        assert_eq!(found(&left, &came), (vec![(10, 1_000)], 300));
    }

    #[test]
    fn a_segment_is_read_from_its_headers() {
        let mut packet = vec![0; 52];
        packet[0] = 0x45;
        packet[2..4].copy_from_slice(&40_052_u16.to_be_bytes());
        packet[9] = 6;
        packet[22..24].copy_from_slice(&5_301_u16.to_be_bytes());
        packet[24..28].copy_from_slice(&7_u32.to_be_bytes());
        packet[32] = 8 << 4;
        assert_eq!(segment(&packet), Some((5_301, 7, 40_000)));
        // An acknowledgment alone, a datagram, a cut header.
        packet[2..4].copy_from_slice(&52_u16.to_be_bytes());
        assert_eq!(segment(&packet), None);
        packet[9] = 17;
        assert_eq!(segment(&packet), None);
        assert_eq!(segment(&packet[..30]), None);
    }
}
