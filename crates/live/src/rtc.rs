//! WebRTC on a socket: [`slackwater_rtc`]'s ends with a wall clock, and ECN fields that are set and read.
//!
//! One thread, one socket, one connection. Signalling belongs to the caller; [`post`] is the client's side of it: an offer
//! goes out as the body of a POST, and the answer is the body of what comes back (WHIP, RFC 9725, 4.2; WHEP alike).

pub mod bench;
mod loss;
mod reports;

use std::io::{self, IoSliceMut, Read as _, Write as _};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, ToSocketAddrs as _, UdpSocket};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration as Wall, SystemTime};

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;
use quinn_udp::{EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use slackwater_core::{Draw, Duration, Ecn, Instant};
#[cfg(feature = "h264")]
pub use slackwater_rtc::h264;
pub use slackwater_rtc::peer::format_of;
pub use slackwater_rtc::{
    Codec, Format, Outgoing, Received, Receiver, RtcError, RtpConfig, Sender, Sent, Trouble,
};
pub use slackwater_rtc::{codec, video};
use slackwater_signal::PathReport;

use self::loss::Loss;
use self::reports::Reports;
pub use crate::counted::{Heard, Key};
use crate::kernel::hosts::HOST_PRIORITY;
use crate::{LiveError, sys};

/// The longest sleep: how soon Ctrl-C is seen.
const NAP: Duration = Duration::from_millis(50);
/// Room for what the kernel joins into one read (GRO: 64 kB).
const ROOM: usize = 1 << 16;
/// An answer is no longer, headers included (ours).
const LONGEST_ANSWER: u64 = 128 << 10;
/// A signalling server answers within this, or not at all (ours).
const PATIENCE: Wall = Wall::from_secs(10);

/// Either end of a connection.
pub trait End {
    /// A datagram came with this ECN field.
    fn on_datagram(&mut self, now: Instant, from: SocketAddr, ecn: Ecn, bytes: &[u8]);
    /// Time has come.
    fn on_timer(&mut self, now: Instant);
    /// When [`End::on_timer`] should be called.
    fn next_timer(&mut self) -> Option<Instant>;
    /// The next datagram that leaves.
    fn poll_datagram(&mut self) -> Option<Outgoing>;
    /// The connection is over.
    fn gone(&self) -> bool;
    /// Says goodbye.
    fn close(&mut self);
    /// A base station reports a flow to `to`; false where none of ours goes there.
    fn on_report(&mut self, now: Instant, to: SocketAddr, report: &PathReport) -> bool {
        let _ = (now, to, report);
        false
    }
}

impl End for Sender {
    fn on_datagram(&mut self, now: Instant, from: SocketAddr, _: Ecn, bytes: &[u8]) {
        Self::on_datagram(self, now, from, bytes);
    }
    fn on_timer(&mut self, now: Instant) {
        Self::on_timer(self, now);
    }
    fn next_timer(&mut self) -> Option<Instant> {
        Self::next_timer(self)
    }
    fn poll_datagram(&mut self) -> Option<Outgoing> {
        Self::poll_datagram(self)
    }
    fn gone(&self) -> bool {
        Self::gone(self)
    }
    fn close(&mut self) {
        Self::close(self);
    }
    fn on_report(&mut self, now: Instant, to: SocketAddr, report: &PathReport) -> bool {
        Self::on_report(self, now, to, report)
    }
}

impl End for Receiver {
    fn on_datagram(&mut self, now: Instant, from: SocketAddr, ecn: Ecn, bytes: &[u8]) {
        Self::on_datagram(self, now, from, ecn, bytes);
    }
    fn on_timer(&mut self, now: Instant) {
        Self::on_timer(self, now);
    }
    fn next_timer(&mut self) -> Option<Instant> {
        Self::next_timer(self)
    }
    fn poll_datagram(&mut self) -> Option<Outgoing> {
        Self::poll_datagram(self)
    }
    fn gone(&self) -> bool {
        Self::gone(self)
    }
    fn close(&mut self) {
        Self::close(self);
    }
}

/// The time since 1970 by a clock that never goes back: ends on one machine agree on it.
#[derive(Clone, Copy, Debug)]
struct Clock {
    began: std::time::Instant,
    since_1970: Wall,
}

impl Clock {
    fn start() -> Self {
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
        Self {
            began: std::time::Instant::now(),
            since_1970: since_1970.unwrap_or_default(),
        }
    }

    fn now(self) -> Instant {
        let nanos = (self.since_1970 + self.began.elapsed()).as_nanos();
        Instant::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }
}

/// A socket with ECN, and a clock.
#[derive(Debug)]
pub struct Port {
    socket: UdpSocket,
    state: UdpSocketState,
    clock: Clock,
    address: SocketAddr,
    /// Datagrams that the kernel did not take.
    refused: u64,
    /// Media packets that are not sent, or not taken, on purpose.
    loss: Loss,
    late: Lateness,
    /// What a base station reports beside the connection.
    reports: Option<Reports>,
}

/// How late timers woke this thread, in steps of a twentieth of a millisecond.
#[derive(Clone, Debug, Default)]
pub struct Lateness {
    steps: Vec<u64>,
}

impl Lateness {
    const STEP: Duration = Duration::from_micros(50);
    /// Later counts as this late: 100 ms.
    const STEPS: usize = 2_000;

    fn add(&mut self, late: Duration) {
        let step = (late / Self::STEP).min(Self::STEPS as u64 - 1) as usize;
        self.steps.resize(Self::STEPS, 0);
        self.steps[step] += 1;
    }

    /// Wake-ups by a timer.
    pub fn count(&self) -> u64 {
        self.steps.iter().sum()
    }

    /// The quantile `share`; zero without a wake-up.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = self.count() as f64 * share;
        let mut passed = 0;
        let step = self.steps.iter().position(|n| {
            passed += n;
            passed as f64 >= wanted && passed > 0
        });
        Self::STEP * step.unwrap_or(0) as u64
    }
}

impl Port {
    /// A socket at `address`; port 0 takes any.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn open(address: SocketAddr) -> Result<Self, LiveError> {
        let failed = |e| LiveError::kernel(format!("cannot open a UDP socket at {address}"), e);
        let socket = UdpSocket::bind(address).map_err(failed)?;
        // Sets IP_RECVTOS, and makes the socket one that does not block.
        let state = UdpSocketState::new((&socket).into()).map_err(failed)?;
        let address = socket.local_addr().map_err(failed)?;
        Ok(Self {
            socket,
            state,
            clock: Clock::start(),
            address,
            refused: 0,
            loss: Loss::new(0.0, Draw::new(0)),
            late: Lateness::default(),
            reports: None,
        })
    }

    /// Takes reports of a base station at `address`, with a `key` signed ones alone. Returns where that is.
    ///
    /// # Errors
    /// Where the kernel refuses.
    pub fn take_reports(
        &mut self,
        address: SocketAddr,
        key: Option<Key>,
    ) -> Result<SocketAddr, LiveError> {
        let reports = Reports::open(address, key)?;
        let address = reports.address();
        self.reports = Some(reports);
        Ok(address)
    }

    /// What came to the socket of reports.
    pub fn heard(&self) -> Heard {
        self.reports
            .as_ref()
            .map_or_else(Heard::default, Reports::heard)
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// What the clock says.
    pub fn now(&self) -> Instant {
        self.clock.now()
    }

    /// Throws away this share (0 to 1) of the media packets that leave or come, as `draw` decides.
    pub const fn lose(&mut self, share: f64, draw: Draw) {
        self.loss = Loss::new(share, draw);
    }

    /// Datagrams that the kernel did not take.
    pub const fn refused(&self) -> u64 {
        self.refused
    }

    /// How late the timers were.
    pub const fn late(&self) -> &Lateness {
        &self.late
    }

    /// Gives the calling thread the real-time class; false where it may not have it. Without it other work of the machine
    /// decides when packets leave.
    pub fn urgent() -> bool {
        sys::realtime(HOST_PRIORITY).is_ok()
    }

    /// Drives `end` until it is over, `stop` is set or `each` says so, which is called once a second with the seconds since
    /// the start.
    ///
    /// # Errors
    /// Where the kernel refuses to wait or to read.
    pub fn drive<E: End>(
        &mut self,
        end: &mut E,
        stop: &AtomicBool,
        mut each: impl FnMut(Instant, &mut E, u64) -> bool,
    ) -> Result<(), LiveError> {
        let start = self.now();
        let mut second = 0;
        let mut buffer = vec![0; ROOM];
        loop {
            let now = self.now();
            end.on_timer(now);
            self.send(end);
            let seconds = now.since(start) / Duration::from_secs(1);
            let mut go_on = !end.gone() && !stop.load(Ordering::Relaxed);
            if go_on && seconds > second {
                second = seconds;
                go_on = each(now, end, second);
            }
            if !go_on {
                end.close();
                self.send(end);
                return Ok(());
            }
            let next = end.next_timer().unwrap_or(Instant::MAX);
            let nap = next.since(self.now()).min(NAP);
            let timeout = TimeSpec::from(Wall::from_nanos(nap.as_nanos()));
            let media = self.socket.as_fd();
            let beside = self.reports.as_ref().map(Reports::as_fd);
            // Without a second socket the second place is not looked at.
            let mut fds =
                [media, beside.unwrap_or(media)].map(|fd| PollFd::new(fd, PollFlags::POLLIN));
            let sockets = 1 + usize::from(beside.is_some());
            match ppoll(&mut fds[..sockets], Some(timeout), None) {
                Ok(0) => {
                    if nap < NAP {
                        self.late.add(self.now().since(next));
                    }
                }
                Err(nix::Error::EINTR) => {}
                Ok(_) => {
                    self.receive(end, &mut buffer)?;
                    self.hear(end)?;
                }
                Err(e) => return Err(LiveError::kernel("cannot wait for packets", e)),
            }
        }
    }

    fn hear(&mut self, end: &mut impl End) -> Result<(), LiveError> {
        let now = self.now();
        let Some(reports) = &mut self.reports else {
            return Ok(());
        };
        reports
            .read(|to, report| end.on_report(now, to, report))
            .map_err(|e| LiveError::kernel("cannot read the socket of reports", e))?;
        self.send(end);
        Ok(())
    }

    fn receive(&mut self, end: &mut impl End, buffer: &mut [u8]) -> Result<(), LiveError> {
        loop {
            let mut meta = [RecvMeta::default()];
            let room = &mut [IoSliceMut::new(buffer)];
            match self.state.recv((&self.socket).into(), room, &mut meta) {
                Ok(0) => return Ok(()),
                Ok(_) => {}
                // An ICMP error of an earlier datagram: its path's end is what timers notice.
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => continue,
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => return Ok(()),
                Err(e) => return Err(LiveError::kernel("cannot read the UDP socket", e)),
            }
            let [meta] = meta;
            let ecn = match meta.ecn {
                None => Ecn::NotEct,
                Some(EcnCodepoint::Ect0) => Ecn::Ect0,
                Some(EcnCodepoint::Ect1) => Ecn::Ect1,
                Some(EcnCodepoint::Ce) => Ecn::Ce,
            };
            let now = self.now();
            for datagram in buffer[..meta.len].chunks(meta.stride.max(1)) {
                if self.loss.takes(datagram) {
                    continue;
                }
                end.on_datagram(now, meta.addr, ecn, datagram);
            }
            self.send(end);
        }
    }

    fn send(&mut self, end: &mut impl End) {
        while let Some(out) = end.poll_datagram() {
            if self.loss.takes(&out.bytes) {
                continue;
            }
            let transmit = Transmit {
                destination: out.to,
                ecn: match out.ecn {
                    Ecn::NotEct => None,
                    Ecn::Ect0 => Some(EcnCodepoint::Ect0),
                    Ecn::Ect1 => Some(EcnCodepoint::Ect1),
                    Ecn::Ce => Some(EcnCodepoint::Ce),
                },
                contents: &out.bytes,
                segment_size: None,
                src_ip: None,
            };
            // A datagram that the kernel refuses is lost, which reports show.
            let sent = self.state.try_send((&self.socket).into(), &transmit);
            self.refused += u64::from(sent.is_err());
        }
    }
}

/// Our address on the way to `peer`; without one on the default route, and where there is none the loopback's.
pub fn own_address(peer: Option<IpAddr>) -> IpAddr {
    // A connected UDP socket sends nothing; 192.0.2.1 is nobody's (RFC 5737).
    let peer = peer.unwrap_or(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    let any = match peer {
        IpAddr::V4(_) => SocketAddr::from(([0; 4], 0)),
        IpAddr::V6(_) => SocketAddr::from(([0; 16], 0)),
    };
    let address = UdpSocket::bind(any).and_then(|socket| {
        socket.connect(SocketAddr::new(peer, 9))?;
        socket.local_addr()
    });
    address.map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |a| a.ip())
}

/// A place to post an offer to: the parts of `http://host:port/path`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// `host:port`.
    host: String,
    path: String,
}

impl Place {
    /// Reads an address; without a path it has `path`.
    ///
    /// # Errors
    /// What was found and expected, where it is not of that form.
    pub fn parse(text: &str, path: &str) -> Result<Self, String> {
        let wrong =
            || format!("found \"{text}\", expected http://HOST:PORT or http://HOST:PORT/PATH");
        let rest = text.strip_prefix("http://").ok_or_else(wrong)?;
        let (host, own) = rest.find('/').map_or((rest, ""), |i| rest.split_at(i));
        let plain = |s: &str| s.bytes().all(|b| b.is_ascii_graphic());
        if host.is_empty() || !plain(rest) {
            return Err(wrong());
        }
        let named = host
            .rsplit_once(':')
            .is_some_and(|(_, p)| p.parse::<u16>().is_ok());
        Ok(Self {
            host: if named {
                host.to_owned()
            } else {
                format!("{host}:80")
            },
            path: if own.len() > 1 {
                own.to_owned()
            } else {
                path.to_owned()
            },
        })
    }

    /// Its address.
    ///
    /// # Errors
    /// Where the name has none.
    pub fn resolve(&self) -> Result<SocketAddr, LiveError> {
        let failed = |e| LiveError::kernel(format!("cannot find {}", self.host), e);
        let mut all = self.host.to_socket_addrs().map_err(failed)?;
        all.next()
            .ok_or_else(|| failed(io::Error::from(io::ErrorKind::NotFound)))
    }
}

/// Posts `offer` to `place` and returns the answer.
///
/// # Errors
/// Where nobody answers, or with something else than an answer.
pub fn post(place: &Place, offer: &str) -> Result<String, LiveError> {
    let address = place.resolve()?;
    let failed = |e| LiveError::kernel(format!("cannot post the offer to {}", place.host), e);
    let answer = || -> io::Result<Vec<u8>> {
        let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        // HTTP/1.0: the answer ends with the connection and comes in one piece.
        write!(
            stream,
            "POST {} HTTP/1.0\r\nHost: {}\r\nContent-Type: application/sdp\r\nContent-Length: {}\r\n\r\n{offer}",
            place.path,
            place.host,
            offer.len()
        )?;
        let mut answer = Vec::new();
        stream.take(LONGEST_ANSWER).read_to_end(&mut answer)?;
        Ok(answer)
    };
    let answer = answer().map_err(failed)?;
    body(&String::from_utf8_lossy(&answer)).map_err(LiveError::Usage)
}

/// The body of a response of success.
fn body(response: &str) -> Result<String, String> {
    let status = response.lines().next().unwrap_or_default();
    let Some((_, body)) = response.split_once("\r\n\r\n") else {
        return Err(format!(
            "signalling: found \"{status}\", expected a response of HTTP"
        ));
    };
    let mut words = status.split(' ');
    let http = words.next().is_some_and(|w| w.starts_with("HTTP/1."));
    if !http
        || !words
            .next()
            .is_some_and(|code| code.len() == 3 && code.starts_with('2'))
    {
        let why: String = body.chars().take(200).collect();
        return Err(format!(
            "signalling: found \"{status}\" ({}), expected 201",
            why.trim()
        ));
    }
    Ok(body.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read() {
        let place = |host: &str, path: &str| Place {
            host: host.to_owned(),
            path: path.to_owned(),
        };
        assert_eq!(
            Place::parse("http://a:1", "/whip"),
            Ok(place("a:1", "/whip"))
        );
        assert_eq!(Place::parse("http://a/b", "/whip"), Ok(place("a:80", "/b")));
        assert_eq!(
            Place::parse("http://[::1]:2/", "/w"),
            Ok(place("[::1]:2", "/w"))
        );
        for wrong in [
            "a:1",
            "https://a",
            "http://",
            "http://a b",
            "http://a/\r\nX: y",
        ] {
            assert!(Place::parse(wrong, "/").is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_a_success_has_an_answer() {
        assert_eq!(
            body("HTTP/1.1 201 Created\r\nA: b\r\n\r\nv=0"),
            Ok("v=0".to_owned())
        );
        for wrong in [
            "",
            "HTTP/1.1 201",
            "HTTP/1.1 503 x\r\n\r\nbusy",
            "SSH 201\r\n\r\nv",
            "HTTP/1.0 2\r\n\r\n",
        ] {
            assert!(
                body(wrong).unwrap_err().starts_with("signalling"),
                "{wrong}"
            );
        }
    }

    #[test]
    fn quantiles_of_lateness_are_those_of_the_steps() {
        let mut late = Lateness::default();
        assert_eq!(late.quantile(0.5), Duration::ZERO);
        for ms in 1..=100 {
            late.add(Duration::from_millis(ms));
        }
        assert_eq!(late.count(), 100);
        assert_eq!(late.quantile(0.5), Duration::from_millis(50));
        // The last step holds all that is later.
        assert_eq!(late.quantile(1.0), Duration::from_micros(99_950));
    }

    #[test]
    fn a_socket_sets_and_reads_ecn() {
        struct Ends(Vec<Outgoing>, Vec<(Ecn, Vec<u8>)>);
        impl End for Ends {
            fn on_datagram(&mut self, _: Instant, _: SocketAddr, ecn: Ecn, bytes: &[u8]) {
                self.1.push((ecn, bytes.to_vec()));
            }
            fn on_timer(&mut self, _: Instant) {}
            fn next_timer(&mut self) -> Option<Instant> {
                None
            }
            fn poll_datagram(&mut self) -> Option<Outgoing> {
                self.0.pop()
            }
            fn gone(&self) -> bool {
                self.1.len() == 4
            }
            fn close(&mut self) {}
        }
        // A datagram to oneself comes back as it left.
        let mut port = Port::open(SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        let all = [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce];
        let to = port.address();
        let out = all.map(|ecn| Outgoing {
            to,
            ecn,
            bytes: (&[ecn as u8][..]).into(),
        });
        let mut ends = Ends(out.to_vec(), vec![]);
        port.drive(&mut ends, &AtomicBool::new(false), |_, _, second| {
            second < 5
        })
        .unwrap();
        assert_eq!(ends.1.len(), 4);
        for (ecn, bytes) in ends.1 {
            assert_eq!(ecn as u8, bytes[0]);
        }
    }
}
