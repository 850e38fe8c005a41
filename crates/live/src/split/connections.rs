//! All connections of a loader: samples and reports find theirs.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use slackwater_control::phy::ebb::Ebb;
use slackwater_core::Instant;
use slackwater_wire::report::FlowKey;

use super::agenda::Agenda;
use super::connection::Connection;
use super::event::{self, Event, Kind};
use crate::counted::{CounterReport, Heard, Key, Serials};

/// Connections that are kept at most, as many as the kernel's map of orders holds.
const MOST: usize = 65_536;

/// Where a connection goes to, and the port of its own end: hosts with several addresses have one number of ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Peer {
    remote: SocketAddr,
    local: u16,
}

/// All connections.
#[derive(Debug)]
pub struct Connections {
    /// What each connection begins with.
    sender: Ebb,
    /// What reports are signed with, if they are.
    key: Option<Key>,
    /// The kernel's clock at [`Instant::ZERO`], ns.
    epoch: u64,
    /// By cookie.
    open: BTreeMap<u64, Connection>,
    /// Their cookies.
    by_peer: BTreeMap<Peer, u64>,
    /// When each is to be looked at.
    agenda: Agenda,
    serials: Serials<Peer>,
    /// What became of reports.
    pub heard: Heard,
}

impl Connections {
    /// None yet; each will begin with `sender`. `epoch` is the kernel's clock, ns. Counters count where `key` has signed them, if there is one.
    pub fn new(sender: Ebb, key: Option<Key>, epoch: u64) -> Self {
        Self {
            sender,
            key,
            epoch,
            open: BTreeMap::new(),
            by_peer: BTreeMap::new(),
            agenda: Agenda::default(),
            serials: Serials::default(),
            heard: Heard::default(),
        }
    }

    /// The kernel's clock of `ns`.
    pub const fn at(&self, ns: u64) -> Instant {
        Instant::from_nanos(ns.saturating_sub(self.epoch))
    }

    /// Takes what the ring has. The cookie of a connection that is over is returned: it has no order any more.
    pub fn on_event(&mut self, octets: &[u8]) -> Option<u64> {
        let event = Event::read(octets)?;
        match event.kind {
            Kind::Sample => {
                let (now, sent_at) = (self.at(event.now_ns), self.at(event.sent_at_ns));
                if let Some(connection) = self.open.get_mut(&event.cookie) {
                    connection.on_sample(now, sent_at, &event);
                    self.agenda.plan(event.cookie, connection);
                }
                None
            }
            Kind::Open { local, remote } => {
                let peer = Peer {
                    remote,
                    local: local.port(),
                };
                if self.open.len() < MOST {
                    // Addresses come again, and the end of a connection may have found no room.
                    if let Some(old) = self.by_peer.insert(peer, event.cookie)
                        && let Some(mut gone) = self.open.remove(&old)
                    {
                        self.agenda.forget(old, &mut gone);
                    }
                    self.serials.open(peer);
                    self.open
                        .insert(event.cookie, Connection::new(self.sender.clone(), peer));
                }
                None
            }
            Kind::Close => {
                let mut gone = self.open.remove(&event.cookie)?;
                self.agenda.forget(event.cookie, &mut gone);
                if self.by_peer.get(&gone.peer) == Some(&event.cookie) {
                    self.by_peer.remove(&gone.peer);
                    self.serials.close(gone.peer);
                }
                Some(event.cookie)
            }
        }
    }

    /// A datagram of a base station came at `now`.
    pub fn on_datagram(&mut self, now: Instant, bytes: &[u8]) {
        if !CounterReport::is_one(bytes) {
            self.heard.malformed += 1;
            return;
        }
        let report = match CounterReport::open(bytes, self.key.as_ref()) {
            Ok(report) => report,
            Err(refusal) => {
                let count = if refusal.is_forgery() {
                    &mut self.heard.forged
                } else {
                    &mut self.heard.malformed
                };
                *count += 1;
                return;
            }
        };
        let found = match report.flow {
            FlowKey::FiveTuple(tuple) => {
                let peer = Peer {
                    remote: SocketAddr::new(tuple.destination, tuple.destination_port),
                    local: tuple.source_port,
                };
                let cookie = self.by_peer.get(&peer).copied();
                cookie.and_then(|cookie| Some((cookie, self.open.get_mut(&cookie)?)))
            }
            FlowKey::ConnectionId(_) => None,
        };
        let Some((cookie, connection)) = found else {
            self.heard.strangers += 1;
            return;
        };
        if !self.serials.pass(connection.peer, report.serial) {
            self.heard.forged += 1;
            return;
        }
        self.heard.told += 1;
        if !connection.is_due() {
            self.agenda.add_due(cookie);
        }
        connection.on_report(now, report.counters);
    }

    /// Gives `order` what the kernel is to do from `now_ns` on: the cookie of a connection, and the octets of its order.
    pub fn orders(&mut self, now_ns: u64, mut order: impl FnMut(u64, &[u8])) {
        let now = self.at(now_ns);
        let due = self.agenda.take(now);
        for cookie in &due {
            self.look(*cookie, now_ns, &mut order);
        }
        self.agenda.reuse(due);
    }

    /// Gives `order` what the connection `cookie` orders, and plans the next look at it.
    fn look(&mut self, cookie: u64, now_ns: u64, order: &mut impl FnMut(u64, &[u8])) {
        let now = self.at(now_ns);
        let Some(connection) = self.open.get_mut(&cookie) else {
            return;
        };
        // It was taken from there, or stands there for later than now.
        connection.planned = connection.planned.filter(|planned| *planned > now);
        connection.on_timer(now);
        if let Some(wanted) = connection.order(now) {
            order(cookie, &event::write(&wanted, now_ns, connection.mss()));
        }
        self.agenda.plan(cookie, connection);
    }

    /// Connections that are open.
    pub fn open(&self) -> usize {
        self.open.len()
    }

    /// When a connection is to be looked at again.
    pub fn next_timer(&self) -> Option<Instant> {
        self.agenda.next()
    }

    /// Appends the internals of the sender of `cookie`.
    pub fn internals(&self, cookie: u64, out: &mut Vec<(&'static str, f64)>) {
        if let Some(connection) = self.open.get(&cookie) {
            connection.snapshot(out);
        }
    }
}

#[cfg(test)]
mod tests {
    use slackwater_control::{AnyController, Config, registry::build};
    use slackwater_core::{Draw, rng::uniform};
    use slackwater_signal::Counters;
    use slackwater_wire::report::FiveTuple;

    use super::super::event::tests::PLAIN;
    use super::*;

    const MS: u64 = 1_000_000;
    const EPOCH: u64 = 5_000 * MS;
    const MSS: u64 = 1_448;
    const WIRE: u64 = 1_500;

    fn none(key: Option<Key>) -> Connections {
        let config = Config::new(1_448, Draw::new(0));
        let Ok(AnyController::Ebb(sender)) = build("ebb", &config) else {
            unreachable!("it is in the registry")
        };
        Connections::new(*sender, key, EPOCH)
    }

    fn tuple(port: u16) -> FiveTuple {
        FiveTuple {
            source: "192.0.2.1".parse().expect("an address"),
            destination: "198.51.100.7".parse().expect("an address"),
            source_port: 443,
            destination_port: port,
            protocol: 6,
        }
    }

    fn open(connections: &mut Connections, cookie: u64, port: u16) {
        let local = "192.0.2.1:443".parse().expect("an address");
        let remote = SocketAddr::new(tuple(port).destination, port);
        let kind = Kind::Open { local, remote };
        let event = Event {
            cookie,
            kind,
            ..PLAIN
        };
        assert_eq!(connections.on_event(&event.octets()), None);
    }

    fn report(port: u16, counters: Counters) -> Vec<u8> {
        CounterReport::seal(FlowKey::FiveTuple(tuple(port)), counters.encode(), None)
    }

    /// What the kernel was given last for a connection: limit, pace, window, and whether the radio steers.
    fn read(octets: &[u8]) -> (u64, u64, u32, bool) {
        let long = |at: usize| u64::from_ne_bytes(octets[at..at + 8].try_into().expect("eight"));
        let word = |at: usize| u32::from_ne_bytes(octets[at..at + 4].try_into().expect("four"));
        (long(0), long(8), word(24), word(28) == 1)
    }

    /// A radio of 12 Mbit/s, a packet each ms, 40 ms of RTT, and a kernel that obeys; a report each 5 ms until `silent`. The order at
    /// each of them.
    fn drive(connections: &mut Connections, until: u64, silent: u64) -> Vec<(u64, u64, u32, bool)> {
        let mut said = Vec::new();
        let mut order = (10 * MSS, 0, 10, false);
        let (mut sent, mut gone, mut stamp, mut credit) = (0u64, 0u64, 0u32, 0u64);
        // Packets reach the radio after 20 ms, and are acknowledged 20 ms after they left it.
        let (mut sends, mut leaves) = (vec![0u64; until as usize], vec![0u64; until as usize]);
        for ms in 0..until {
            let arrived_at_radio: u64 = sends[..(ms as usize).saturating_sub(20)].iter().sum();
            if arrived_at_radio > gone {
                leaves[ms as usize] = 1;
                gone += 1;
            }
            let acked: u64 = leaves[..(ms as usize).saturating_sub(20)].iter().sum();
            let in_flight = sent - acked;
            let room = if order.3 {
                // Paced, and within the bound, which grows.
                credit = (credit + order.1 / 1_000).min(4 * MSS);
                let limit = order.0 + order.1 * (ms % 5) / 1_000;
                (limit.saturating_sub(sent * MSS).min(credit)) / MSS
            } else {
                10u64.saturating_sub(in_flight)
            };
            credit = credit.saturating_sub(room * MSS);
            sends[ms as usize] = room;
            sent += room;
            let event = Event {
                now_ns: EPOCH + ms * MS,
                sent_at_ns: EPOCH + ms * MS,
                sent: sent * MSS,
                segments: sent,
                arrived: acked * MSS,
                in_flight: (sent - acked) as u32,
                srtt_us: if acked > 0 { 41_000 } else { 0 },
                min_rtt_us: if acked > 0 { 41_000 } else { 0 },
                ..PLAIN
            };
            connections.on_event(&event.octets());
            let now = EPOCH + ms * MS;
            if ms % 5 == 0 {
                if ms < silent {
                    stamp += 40;
                    let backlog = (arrived_at_radio - gone) * WIRE;
                    let counters = Counters {
                        stamp,
                        gone: (gone * WIRE) as u32,
                        offered: (ms * WIRE) as u32,
                        backlog: backlog as u32,
                        active: 1,
                        instance: 3,
                        ..Counters::default()
                    };
                    let at = connections.at(now);
                    connections.on_datagram(at, &report(50_000, counters));
                }
                connections.orders(now, |cookie, octets| {
                    assert_eq!(cookie, PLAIN.cookie);
                    order = read(octets);
                });
                said.push(order);
            }
        }
        said
    }

    #[test]
    fn reports_make_the_radio_steer_and_silence_gives_it_back() {
        let mut connections = none(None);
        open(&mut connections, PLAIN.cookie, 50_000);
        let said = drive(&mut connections, 2_000, 1_500);
        // From the second RTT or so on, until two RTTs or 100 ms of silence.
        assert!(!said[0].3 && said[30].3 && said[299].3 && said[310].3);
        assert!(!said[330].3, "{:?}", said[330]);
        // Paced by the radio's rate, 1.5 MB/s in all: an order has the headers taken out.
        let paces: u64 = said[200..300].iter().map(|order| order.1).sum();
        let rate = paces as f64 / 100.0 / (1_500_000.0 * 1_448.0 / 1_500.0);
        assert!((0.9..1.1).contains(&rate), "{rate}");
        // CUBIC begins with what was aimed at: a loop to the radio and back takes 21 packets or so, and some wait there.
        assert!((20..45).contains(&said[330].2), "{:?}", said[330]);
        assert_eq!(connections.heard.told, 300);
    }

    /// A sample of a kernel that has sent so many full segments in all; so many more may leave before the next one.
    fn sample(connections: &mut Connections, us: u64, segments: u64, ready: u64) {
        let event = Event {
            now_ns: EPOCH + 1_000 * us,
            sent_at_ns: EPOCH + 1_000 * us,
            sent: segments * MSS,
            segments,
            arrived: 0,
            ready: (ready * MSS) as u32,
            ..PLAIN
        };
        connections.on_event(&event.octets());
    }

    /// A report at the sender's own radio: so many full packets left it in all, and so many wait there.
    fn upload(connections: &mut Connections, ms: u64, gone: u64, waits: u64) {
        let counters = Counters {
            stamp: (8 * ms) as u32,
            gone: (gone * WIRE) as u32,
            offered: (ms * WIRE) as u32,
            backlog: (waits * WIRE) as u32,
            active: 1,
            upload: true,
            ..Counters::default()
        };
        let at = connections.at(EPOCH + ms * MS);
        connections.on_datagram(at, &report(50_000, counters));
    }

    /// Internals of the only connection.
    fn internals<const N: usize>(connections: &Connections, names: [&str; N]) -> [f64; N] {
        let mut all = Vec::new();
        connections.internals(PLAIN.cookie, &mut all);
        names.map(|name| {
            let found = all.iter().find(|(key, _)| *key == name);
            found.expect("it is one of them").1
        })
    }

    #[test]
    fn what_leaves_after_a_sample_is_known_by_the_radio() {
        // Ten segments leave at once. The kernel's half is called before that, and not again until an ACK comes.
        let after = |told: bool| {
            let mut connections = none(None);
            open(&mut connections, PLAIN.cookie, 50_000);
            sample(&mut connections, 0, 0, 10);
            if told {
                sample(&mut connections, 0, 10, 0);
            }
            let mut seen = Vec::new();
            for ms in (5..60).step_by(5) {
                upload(&mut connections, ms, ms.min(10), 10 - ms.min(10));
                seen.push(internals(&connections, ["outstanding", "loop", "base"]));
            }
            sample(&mut connections, 60_000, 12, 0);
            upload(&mut connections, 65, 10, 2);
            seen.push(internals(&connections, ["outstanding", "loop", "base"]));
            seen
        };
        assert_eq!(after(false), after(true));
        assert_eq!(after(false)[11], [2.0 * 1_500.0, 10.0, 10.0]);
    }

    #[test]
    fn packets_of_others_are_not_taken_for_what_leaves_after_a_sample() {
        let mut connections = none(None);
        open(&mut connections, PLAIN.cookie, 50_000);
        // The receiver's window is shut. What left the radio are six ACKs, long ones.
        sample(&mut connections, 0, 0, 10);
        upload(&mut connections, 5, 4, 2);
        upload(&mut connections, 10, 6, 0);
        // A sample from before the report says nothing of it ...
        sample(&mut connections, 9_000, 0, 10);
        upload(&mut connections, 15, 6, 0);
        assert_eq!(internals(&connections, ["outstanding"]), [0.0]);
        // ... and the next one that nothing was sent by then.
        sample(&mut connections, 20_000, 0, 10);
        sample(&mut connections, 21_000, 3, 0);
        upload(&mut connections, 25, 7, 2);
        assert_eq!(internals(&connections, ["outstanding"]), [2.0 * 1_500.0]);
    }

    /// Gives `order` the same as [`Connections::orders`], by a look at each connection.
    fn by_each(connections: &mut Connections, now_ns: u64) -> BTreeMap<u64, Vec<u8>> {
        let now = connections.at(now_ns);
        let mut all = BTreeMap::new();
        for (cookie, connection) in &mut connections.open {
            connection.on_timer(now);
            if let Some(wanted) = connection.order(now) {
                let octets = event::write(&wanted, now_ns, connection.mss());
                all.insert(*cookie, octets.to_vec());
            }
        }
        all
    }

    #[test]
    fn the_agenda_orders_what_a_look_at_each_connection_would() {
        let (mut some, mut each) = (none(None), none(None));
        let mut stream = Draw::new(5).stream(0);
        let mut below = |n: u64| (uniform(&mut stream) * n as f64) as u64;
        let mut next = 0u64;
        let mut live: Vec<(u64, u16, u64)> = Vec::new();
        let mut orders = 0;
        for ms in 0..4_000u64 {
            let now_ns = EPOCH + ms * MS;
            let mut both = |event: &Event| {
                let octets = event.octets();
                assert_eq!(some.on_event(&octets), each.on_event(&octets));
            };
            // Connections begin, end, and take the place of others.
            if live.len() < 20 || below(100) == 0 {
                next += 1;
                let port = 40_000 + below(30) as u16;
                live.retain(|(_, other, _)| *other != port);
                live.push((next, port, 0));
                let local = "192.0.2.1:443".parse().expect("an address");
                let kind = Kind::Open {
                    local,
                    remote: SocketAddr::new(tuple(port).destination, port),
                };
                both(&Event {
                    cookie: next,
                    kind,
                    ..PLAIN
                });
            }
            if live.len() > 10 && below(100) == 0 {
                let (cookie, ..) = live.swap_remove(below(live.len() as u64) as usize);
                both(&Event {
                    cookie,
                    kind: Kind::Close,
                    ..PLAIN
                });
            }
            for (cookie, _, sent) in &mut live {
                if below(4) == 0 {
                    *sent += MSS * below(8);
                    both(&Event {
                        cookie: *cookie,
                        now_ns,
                        sent_at_ns: now_ns,
                        sent: *sent,
                        segments: *sent / MSS,
                        arrived: *sent / 2,
                        ..PLAIN
                    });
                }
            }
            for (_, port, sent) in &live {
                // Some are silent for seconds.
                if (ms / 300 + u64::from(*port)) % 3 > 0 && below(8) == 0 {
                    let counters = Counters {
                        stamp: (ms * 8) as u32,
                        gone: (*sent / 2) as u32,
                        offered: (ms * WIRE) as u32,
                        active: 1,
                        ..Counters::default()
                    };
                    let octets = report(*port, counters);
                    let now = some.at(now_ns);
                    some.on_datagram(now, &octets);
                    each.on_datagram(now, &octets);
                }
            }
            if below(3) == 0 {
                let wanted = by_each(&mut each, now_ns);
                let mut had = BTreeMap::new();
                some.orders(now_ns, |cookie, octets| {
                    assert!(had.insert(cookie, octets.to_vec()).is_none());
                });
                assert_eq!(had, wanted, "{ms} ms");
                orders += had.len();
            }
        }
        assert!(orders > 1_000, "{orders}");
        // What is over stands there no more.
        assert!(some.agenda.len() <= live.len());
    }

    #[test]
    fn an_order_of_the_radio_is_renewed_and_that_of_cubic_is_not() {
        let mut connections = none(None);
        open(&mut connections, PLAIN.cookie, 50_000);
        let mut orders = 0;
        connections.orders(EPOCH, |_, _| orders += 1);
        assert_eq!(orders, 0);
        drive(&mut connections, 600, 600);
        // The last report was at 595 ms. Without one it is said again after 40 ms, and not before.
        for (ms, said) in [(600, 0), (635, 1), (640, 1), (675, 2)] {
            let now = EPOCH + ms * MS;
            connections.orders(now, |_, octets| {
                orders += 1;
                assert!(read(octets).3);
                assert_eq!(octets[16..24], now.to_ne_bytes());
            });
            assert_eq!(orders, said, "{ms} ms");
        }
        // Silence: once, that it steers no more.
        for ms in [900, 901] {
            connections.orders(EPOCH + ms * MS, |_, octets| {
                orders += 1;
                assert!(!read(octets).3);
            });
        }
        assert_eq!(orders, 3);
    }

    #[test]
    fn reports_find_their_connection_or_are_counted() {
        let mut connections = none(None);
        open(&mut connections, 1, 50_000);
        open(&mut connections, 2, 50_001);
        let now = connections.at(EPOCH + 10 * MS);
        let counters = Counters::default();
        connections.on_datagram(now, &report(50_001, counters));
        connections.on_datagram(now, &report(50_002, counters));
        connections.on_datagram(now, b"no report");
        let heard = connections.heard;
        assert_eq!((heard.told, heard.strangers, heard.malformed), (1, 1, 1));

        // A connection at the address of another takes its place, and the end of that one does not end it.
        open(&mut connections, 3, 50_000);
        let end = |cookie| Event {
            cookie,
            kind: Kind::Close,
            ..PLAIN
        };
        assert_eq!(connections.on_event(&end(1).octets()), None);
        connections.on_datagram(now, &report(50_000, counters));
        assert_eq!(connections.on_event(&end(3).octets()), Some(3));
        connections.on_datagram(now, &report(50_000, counters));
        let heard = connections.heard;
        assert_eq!((heard.told, heard.strangers), (2, 2));
    }

    #[test]
    fn with_a_key_unsigned_reports_and_old_ones_count_for_nothing() {
        let key = Key::new(&[7; 16]).expect("long enough");
        let mut connections = none(Some(key.clone()));
        open(&mut connections, 1, 50_000);
        let now = connections.at(EPOCH);
        let flow = FlowKey::FiveTuple(tuple(50_000));
        let signed = CounterReport::seal(flow, Counters::default().encode(), Some((&key, 9)));
        for octets in [&report(50_000, Counters::default()), &signed, &signed] {
            connections.on_datagram(now, octets);
        }
        assert_eq!((connections.heard.told, connections.heard.forged), (1, 2));
    }
}
