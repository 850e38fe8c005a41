//! The emulator's core without its devices: buffers come from both sides at any moment, pass a cell or link with functions behind it, and
//! leave.

use std::sync::OnceLock;

use slackwater_core::{Direction, Duration, Instant, Rate};
use slackwater_lab::run::prepare;
use slackwater_live::bridge::{Bridge, Tap};
use slackwater_live::cells::{Edge, Middle, Wanted};
use slackwater_live::flows::FlowTable;
use slackwater_scenario::build::Hosts;
use slackwater_scenario::{Plugins, Scenario};
use slackwater_sim::NoClock;
use slackwater_wire::{IpPacket, IpVersion, packet};

use super::edge;
use super::input::Input;

/// Events of one input.
const EVENTS: usize = 150;
/// No packet that leaves is longer, where none came that was.
const MTU: usize = 1_500;
/// No packet comes later. A cell costs what it simulates, and not what comes; hours are those of `vaqm` and `cecc`.
const LAST: Instant = Instant::from_nanos(4_000_000_000);
/// After the last packet: what waits has left, of 150 packets behind a cell of a few Mbit/s.
const AFTER: Duration = Duration::from_secs(3);

/// Flows that are told apart: of two UEs of a cell, or all behind a link.
const FLOWS: u32 = 4;

/// What packets pass, as `emulate` makes it: a link, and a cell with each of these at its edge.
fn scenario(which: usize) -> &'static Scenario {
    static READ: OnceLock<Vec<Scenario>> = OnceLock::new();
    let all = READ.get_or_init(|| {
        let plugins = Plugins::default();
        let cell = |(rat, edge): (&str, &str)| {
            let edge = Edge::find(edge, &plugins).expect("a function of ours");
            wanted(Middle::Cell(rat.to_owned()), vec![edge])
        };
        let rate = Rate::from_mbps(12.0);
        let link = wanted(Middle::Rate { rate, exact: false }, vec![]);
        let edges = [
            ("lte", "vaqm"),
            ("nr", "cecc"),
            ("lte", "xrc"),
            ("lte", "ebb"),
        ];
        let cells = edges.map(cell);
        [link].into_iter().chain(cells).collect()
    });
    &all[which]
}

/// UEs of the middle of this number.
const fn ues(which: usize) -> u32 {
    if which == 0 { 1 } else { 2 }
}

fn wanted(middle: Middle, edge: Vec<Edge>) -> Scenario {
    let ues = ues(usize::from(matches!(middle, Middle::Cell(_))));
    let wanted = Wanted {
        name: "bridge".to_owned(),
        middle,
        ues,
        delay: Duration::from_millis(5),
        queue: None,
        datagrams: edge.contains(&Edge::Ebb),
        edge,
        blocks: false,
        seed: 1,
        flows: FLOWS / ues,
        set: Vec::new(),
        plugins: Plugins::default(),
    };
    wanted.scenario().expect("a good scenario")
}

/// A bridge between two devices.
pub(crate) fn bridge(data: &[u8]) {
    let mut input = Input(data);
    let which = usize::from(input.u8() % 5);
    let (scenario, ues) = (scenario(which), ues(which));
    let prepared = prepare(scenario, 1, Hosts::Found, |recorder| {
        Tap::new(recorder, Duration::from_millis(20), true).for_summary()
    });
    let world = prepared.expect("a world").world;
    let mut bridge = Bridge::new(world, FlowTable::new(ues, FLOWS / ues), MTU);
    let mut now = Instant::ZERO;
    let mut next = [1_000; 8];
    // Packets, those of them without payload upwards, and the longest.
    let (mut came, mut copied, mut left, mut longest) = (0_u64, 0_u64, 0_u64, MTU);
    for _ in 0..EVENTS {
        if input.is_empty() {
            break;
        }
        let what = input.u8();
        let (up, ue) = (what & 0x80 != 0, u32::from(what >> 6) % ues);
        let bytes = match what % 4 {
            // Anything.
            0 => input.bytes().to_vec(),
            // A packet of a connection, whole or with one octet changed.
            1 | 2 => {
                let mut made = edge::packet(&mut input, now, &mut next);
                made.dir = if up { Direction::Up } else { Direction::Down };
                let version = if what & 0x10 == 0 {
                    IpVersion::V4
                } else {
                    IpVersion::V6
                };
                let mut bytes = Vec::new();
                packet::encode(&made, version, usize::MAX, &mut bytes);
                if what % 4 == 2 {
                    let at = usize::from(input.u16()) % bytes.len();
                    bytes[at] ^= input.u8();
                }
                bytes
            }
            _ => {
                // At most 0.8 s, which costs a cell a thousand slots.
                let leap = Duration::from_micros(u64::from(input.u16()) * 12);
                now = now.saturating_add(leap).min(LAST);
                bridge.run_until(now, &mut NoClock);
                Vec::new()
            }
        };
        if what % 4 != 3 {
            longest = longest.max(bytes.len());
            if bridge.arrive(now, up, ue, bytes).is_some() {
                came += 1;
                copied += u64::from(up);
            }
        }
        left += departures(&mut bridge, now, longest);
    }
    let end = now.saturating_add(AFTER);
    bridge.run_until(end, &mut NoClock);
    left += departures(&mut bridge, end, longest);
    // CECC and agents send an acknowledgment in several copies: no more than one for each packet down.
    assert!(
        left <= came + copied * came,
        "{left} packets left, {came} came"
    );
}

/// Takes what left at `now` or before; how many.
fn departures(bridge: &mut Bridge, now: Instant, longest: usize) -> u64 {
    let mut count = 0;
    bridge.departures(|departure| {
        count += 1;
        assert!(
            departure.came <= departure.at && departure.at <= now,
            "{departure:?}"
        );
        assert!(departure.bytes.len() <= longest, "{departure:?}");
        let ip = IpPacket::new(&departure.bytes[..]);
        assert!(ip.is_ok(), "what leaves is a packet: {departure:?}");
    });
    count
}
