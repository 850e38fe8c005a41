//! Runs a cell with backlogged UEs, for counting instructions per slot:
//! `cell_load <lte|nr> <UEs> <seconds> [constant|moving]`. The difference of a long and a short run, divided by the
//! difference in slots, leaves out building the cell.

use slackwater_core::{BearerId, Direction, Draw, Instant, Packet, Qfi, Rnti, UeId};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::phy::{ChannelConfig, Mobility, Position};
use slackwater_ran::{Cell, CellOut};
use slackwater_signal::NoObserver;

fn main() {
    let mut args = std::env::args().skip(1);
    let rat = args.next().unwrap_or_else(|| "lte".to_owned());
    let ues: u32 = args.next().map_or(1, |n| n.parse().expect("UEs"));
    let seconds: u64 = args.next().map_or(1, |n| n.parse().expect("seconds"));
    let moving = args.next().is_some_and(|mode| mode == "moving");
    let config = match rat.as_str() {
        "nr" => CellConfig::nr(100, 1),
        _ => CellConfig::lte(10.0),
    };
    let ue = |k: u32| UeConfig {
        channel: ChannelConfig {
            mobility: if moving {
                Mobility::RandomWalk {
                    start: Position {
                        x: 100.0 + f64::from(k % 50) * 8.0,
                        y: 0.0,
                    },
                    speed_mps: 8.0,
                    interval: slackwater_core::Duration::from_secs(5),
                    low: Position {
                        x: -600.0,
                        y: -600.0,
                    },
                    high: Position { x: 600.0, y: 600.0 },
                }
            } else {
                Mobility::Static(Position {
                    x: 100.0 + f64::from(k % 50) * 8.0,
                    y: 0.0,
                })
            },
            downlink: config.downlink_budget(),
            uplink: config.uplink_budget(),
            ..ChannelConfig::default()
        },
        bearers: vec![BearerConfig::default()],
        rnti: Rnti(k as u16),
    };
    let mut cell: Cell<Packet> =
        Cell::new(&config, (0..ues).map(ue).collect(), Draw::new(1)).expect("a valid cell");
    let mut out = CellOut::new();
    let packet = Packet {
        len: 1500,
        ..Packet::default()
    };
    for k in 0..ues {
        for _ in 0..100 {
            cell.enqueue(
                Instant::ZERO,
                Direction::Down,
                UeId(k),
                Qfi(0),
                packet,
                &mut out,
            );
        }
    }
    let end = Instant::from_millis(seconds * 1000);
    let (mut slots, mut packets) = (0u64, 0u64);
    while let Some(at) = cell.next_slot().filter(|&at| at < end) {
        cell.run_slot(at, &mut out, &mut NoObserver);
        slots += 1;
        // Every delivered packet is replaced: the backlog stays.
        for d in out.delivered.drain(..) {
            packets += 1;
            if d.dir == Direction::Down {
                cell.enqueue(
                    at,
                    Direction::Down,
                    d.ue,
                    Qfi(0),
                    packet,
                    &mut CellOut::new(),
                );
            }
        }
        for (_, p, _) in out.dropped.drain(..) {
            let _ = p;
        }
    }
    let hol = cell
        .rlc_view(end, Direction::Down, UeId(0), BearerId(0))
        .hol;
    #[expect(clippy::print_stdout, reason = "an example prints its result")]
    {
        println!(
            "{slots} slots, {packets} packets, head of line {hol}, {:?}",
            cell.stats().down
        );
    }
}
