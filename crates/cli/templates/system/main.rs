//! A system of one's own, run by name: an observer in the cell, a carrier, and a function at the UPF.
//!
//! Ebb keeps the time short that the cell needs to empty a UE's queue: `cargo run --release -- compare cell.toml`.

use slackwater_cli::lab::Plugins;
use slackwater_cli::lab::core::{Bytes, Direction, Draw, Duration, Ecn, Instant, PacketView, UeId};
use slackwater_cli::lab::edge::{Agent, CellView, EdgeFunction, RanReport, ReportCarrier, Verdict};
use slackwater_cli::lab::plugins::{Parts, System};
use slackwater_cli::lab::signal::{Observer, SlotView};

/// Names Ebb's reports among those of other systems.
const KIND: u16 = 0xEBB;

// 1. The observer: what does the cell see?

/// Counts what each UE is granted, and tells how long its queue would take at that rate.
#[derive(Default)]
struct Gauge {
    /// Bytes of new data granted in this period and, smoothed, in those before; by UE.
    granted: Vec<(u64, f64)>,
    next: Instant,
}

const PERIOD: Duration = Duration::from_millis(5);

impl Observer for Gauge {
    fn on_slot(&mut self, _now: Instant, slot: &SlotView<'_>) {
        for grant in slot.grants {
            if grant.ndi && grant.direction == Direction::Down {
                if self.granted.len() <= grant.ue.index() {
                    self.granted.resize(grant.ue.index() + 1, (0, 0.0));
                }
                self.granted[grant.ue.index()].0 += grant.tbs.get();
            }
        }
    }
}

impl Agent for Gauge {
    fn poll(&mut self, now: Instant, cell: &mut dyn CellView, out: &mut Vec<RanReport>) {
        self.next = now + PERIOD;
        for (fresh, mean) in &mut self.granted {
            *mean += (core::mem::take(fresh) as f64 - *mean) / 8.0;
        }
        for queue in cell.queues() {
            let (_, rate) = self
                .granted
                .get(queue.ue.index())
                .copied()
                .unwrap_or_default();
            let periods = queue.backlog.get() as f64 / rate.max(1.0);
            out.push(RanReport::Own {
                at: now,
                ue: queue.ue,
                kind: KIND,
                values: [PERIOD.mul_f64(periods.min(1e3)).as_nanos() / 1_000, 0],
            });
        }
    }
    fn next_timer(&self) -> Option<Instant> {
        Some(self.next)
    }
}

// 2. The carrier: what does it cost to say so?

/// One byte for each queue, in units of 2 ms; late by the way to the UPF, and one message in a hundred is lost.
struct OneByte {
    delay: Duration,
    draw: Draw,
    sent: u64,
}

impl ReportCarrier for OneByte {
    fn carry(&mut self, now: Instant, reports: &mut Vec<RanReport>) -> Option<Instant> {
        for report in reports {
            if let RanReport::Own { values, .. } = report {
                let byte = (values[0] / 2_000).min(255) as u8;
                values[0] = u64::from(byte) * 2_000;
            }
        }
        self.sent += 1;
        (self.draw.uniform(self.sent) >= 0.01).then_some(now + self.delay)
    }
}

// 3. The function: what is done about it?

/// Marks a packet, or drops one that cannot be marked, at most once in 100 ms while the queue takes longer than the limit.
struct Ebb {
    limit: Duration,
    /// Time that the queue takes, and the last signal; by UE.
    ues: Vec<(Duration, Option<Instant>)>,
}

impl<P: PacketView> EdgeFunction<P> for Ebb {
    fn on_packet(&mut self, now: Instant, direction: Direction, ue: UeId, packet: P) -> Verdict<P> {
        let Some((drain, last)) = self.ues.get_mut(ue.index()) else {
            return Verdict::Forward(packet);
        };
        let pause = last.is_some_and(|at| now.since(at) < Duration::from_millis(100));
        if direction == Direction::Up || *drain <= self.limit || pause {
            return Verdict::Forward(packet);
        }
        *last = Some(now);
        if packet.ecn() == Ecn::NotEct {
            Verdict::Drop(packet)
        } else {
            Verdict::Mark(packet)
        }
    }
    fn on_report(&mut self, _now: Instant, report: &RanReport) {
        if let RanReport::Own {
            ue,
            kind: KIND,
            values,
            ..
        } = *report
        {
            if self.ues.len() <= ue.index() {
                self.ues.resize(ue.index() + 1, (Duration::ZERO, None));
            }
            self.ues[ue.index()].0 = Duration::from_micros(values[0]);
        }
    }
    fn internals(&self, ue: UeId, out: &mut Vec<(&'static str, f64)>) {
        if let Some((drain, _)) = self.ues.get(ue.index()) {
            out.push(("ebb_drain_ms", drain.as_secs_f64() * 1e3));
        }
    }
    fn held(&self) -> Bytes {
        Bytes::ZERO
    }
}

// And a name for the three.

fn main() -> std::process::ExitCode {
    let ebb = System::new(
        "ebb",
        "short queues by one byte; ebb:40 for 40 ms",
        |upf, seed, limit| {
            let limit = match limit {
                "" => 30,
                ms => ms
                    .parse()
                    .map_err(|_| "whole milliseconds after \"ebb:\"")?,
            };
            let carrier = OneByte {
                delay: upf.reports.delay.unwrap_or(upf.n3),
                draw: Draw::new(seed).fork(KIND.into(), 0),
                sent: 0,
            };
            Ok(Parts {
                function: Box::new(Ebb {
                    limit: Duration::from_millis(limit),
                    ues: Vec::new(),
                }),
                agent: Some((Box::new(Gauge::default()), Box::new(carrier))),
            })
        },
    );
    let plugins = Plugins::new().with_system(ebb);
    slackwater_cli::main_with(&plugins.expect("no other system has this name"))
}
