//! What any order could reach: frames known beforehand, served slot by slot by an ideal cell.

use std::collections::VecDeque;

use slackwater_lab::ran::phy::tbs::nr_tbs_bits;
use slackwater_lab::ran::phy::{McsTable, NrTbsParams};

use super::prelude::*;

/// The cells that are compared, with their rates in Mbit/s.
const CELLS: [(usize, f64); 2] = [(0, 860.0), (3, RATE_D)];
/// Rate of cell D.
pub(super) const RATE_D: f64 = 640.0;
/// Its MCS and its resource blocks (`places::QAM64`).
const MCS_D: u8 = 28;
const BLOCKS_D: u16 = 1136;

/// From the server to the cell: half of the path's round trip and the way from the UPF.
const WAY: f64 = 0.5e-3;
/// From the decision on a slot until its bytes have arrived: two slots ahead, the slot, the UE (the least of Figure 6 less [`WAY`]).
const SERVED: f64 = 2.75e-3;
const SLOT: f64 = 1e-3;
/// Downlink share of the special slot of DDDSU, 10:2:2.
const SPECIAL: f64 = 10.0 / 14.0;
/// TCP's payload in a packet of 1,500 bytes with time stamps, and the other bytes: 52 of TCP and IP, 3 of PDCP, 6 of MAC and RLC (`Headers::NR_AM`).
const PAYLOAD: f64 = 1448.0;
const HEADERS: f64 = 61.0;
/// The delay standard and the share that may be late (CECC, II).
const STANDARD: f64 = 10e-3;
const ALLOWED: f64 = 1e-4;

/// A frame: when it was written and its bytes.
pub(super) type Sent = (f64, f64);

/// An ideal cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ideal {
    /// Seconds from the server to the cell.
    pub(super) way: f64,
    /// Seconds from the decision on a slot until its bytes have arrived.
    pub(super) served: f64,
    /// Bytes that a full downlink slot carries.
    pub(super) full: f64,
    /// What the special slot carries of that.
    pub(super) special: f64,
}

impl Ideal {
    /// A cell of `rate` Mbit/s with the paper's times.
    pub(super) const fn of(rate: f64) -> Self {
        Self {
            way: WAY,
            served: SERVED,
            full: rate * 1e6 / 8.0 * (5.0 * SLOT) / (3.0 + SPECIAL),
            special: SPECIAL,
        }
    }

    /// The same, whose bytes arrive `later` seconds later.
    pub(super) const fn later(self, later: f64) -> Self {
        Self {
            served: self.served + later,
            ..self
        }
    }

    /// The same with the times of the simulated cell. `path.rtt` of `vr.toml` is 0.6 ms, of which `upf.n3` is a part. `cell.timing.processing` is
    /// two slots, then the slot is on the air, and decoding takes 0.1 ms (`CellConfig::decode`).
    pub(super) const fn timed(self) -> Self {
        Self {
            way: 0.3e-3,
            served: 3.1e-3,
            ..self
        }
    }

    /// The same with the slots of the simulated cell D, each one transport block. One symbol of 14, and of 10, is control, and 12
    /// resource elements are reference signals (`CellConfig::nr`). Each packet has headers.
    pub(super) fn in_slots_of_d(self) -> Self {
        let block = |symbols| {
            let params = NrTbsParams {
                qm: McsTable::Nr64.qm(MCS_D),
                rate_x1024: McsTable::Nr64.code_rate_x1024(MCS_D),
                layers: 1,
                n_prb: BLOCKS_D,
                n_symb: symbols,
                n_dmrs_re: 12,
                n_oh: 0,
            };
            f64::from(nr_tbs_bits(&params)) / 8.0
        };
        let (full, special) = (block(13), block(9));
        Self {
            full: full * PAYLOAD / (PAYLOAD + HEADERS),
            special: special / full,
            ..self
        }
    }
}

/// Late bytes as a share of each flow's, of frames from [`SETTLED`] on: slots go to the frames of `first` in order of their
/// writing, what is left to the others.
fn late(flows: &[Vec<Sent>], first: &[bool], cell: Ideal) -> Vec<f64> {
    let shares = [1.0, 1.0, 1.0, cell.special, 0.0];
    let mut coming: Vec<(f64, usize, f64)> = flows
        .iter()
        .enumerate()
        .flat_map(|(i, f)| f.iter().map(move |(t, bytes)| (*t, i, *bytes)))
        .collect();
    coming.sort_by(|(a, ..), (b, ..)| a.total_cmp(b));
    let mut coming = VecDeque::from(coming);
    let mut queues: [VecDeque<(f64, usize, f64)>; 2] = Default::default();
    let (mut late, mut all) = (vec![0.0; flows.len()], vec![0.0; flows.len()]);
    let mut slot = 0_usize;
    while !coming.is_empty() || queues.iter().any(|q| !q.is_empty()) {
        let now = slot as f64 * SLOT;
        while coming
            .front()
            .is_some_and(|(written, ..)| written + cell.way <= now)
        {
            let frame = coming.pop_front().expect("just seen");
            queues[usize::from(!first[frame.1])].push_back(frame);
        }
        // The decision is on the slot two ahead.
        let mut left = cell.full * shares[(slot + 2) % shares.len()];
        for queue in &mut queues {
            while left > 0.0 {
                let Some((written, flow, bytes)) = queue.front_mut() else {
                    break;
                };
                let take = left.min(*bytes);
                left -= take;
                *bytes -= take;
                if *written >= SETTLED {
                    all[*flow] += take;
                    if now + cell.served - *written > STANDARD {
                        late[*flow] += take;
                    }
                }
                if *bytes <= 0.0 {
                    queue.pop_front();
                }
            }
        }
        slot += 1;
    }
    let pairs = late.iter().zip(&all);
    pairs.map(|(l, a)| l / f64::max(*a, 1.0)).collect()
}

/// Satisfied flows: in order of their frames, and where the flow with most late gives way to all others until no more are satisfied.
pub(super) fn satisfied(flows: &[Vec<Sent>], cell: Ideal) -> (f64, f64) {
    let count = |late: &[f64]| late.iter().filter(|l| **l <= ALLOWED).count();
    let mut first = vec![true; flows.len()];
    let mut shares = late(flows, &first, cell);
    let edf = count(&shares);
    let mut most = edf;
    while first.iter().any(|f| *f) && most < first.iter().filter(|f| **f).count() {
        let still = (0..flows.len()).filter(|i| first[*i]);
        let Some(worst) = still.max_by(|a, b| shares[*a].total_cmp(&shares[*b])) else {
            break;
        };
        first[worst] = false;
        shares = late(flows, &first, cell);
        most = most.max(count(&shares));
    }
    (edf as f64, most as f64)
}

/// The frames of a run, flow by flow.
pub(super) fn written(run: &RunResult) -> Vec<Vec<Sent>> {
    let flows = run.records.flows.iter().map(|f| {
        let sent = f.transfers.iter();
        sent.map(|t| (t.start.as_secs_f64(), t.bytes.get() as f64))
            .collect()
    });
    flows.collect()
}

fn name(place: &Place, n: &str) -> String {
    format!("oracle/{}{n}", place.id)
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let mut experiments = vec![];
    for (k, rate) in CELLS {
        let place = &PLACES[k];
        for n in MANY {
            for variant in [&OFF, &HOLD] {
                experiments.push(shared(options, place, variant, n)?);
            }
            let mut changes = base(options).to_vec();
            changes.push(("ue.count", n));
            changes.extend(place.changes);
            changes.extend(UDP.changes);
            let reduce = move |run: &RunResult, out: &mut Outcome| {
                let (edf, most) = satisfied(&written(run), Ideal::of(rate));
                out.value("edf", Some(edf));
                out.value("most", Some(most));
            };
            experiments.push(Experiment::new(name(place, n), SCENARIO, changes, reduce)?);
        }
    }
    Ok(Part {
        id: "oracle",
        measures: vec![],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let rows: Vec<(&Place, &str)> = CELLS
        .iter()
        .flat_map(|(place, _)| MANY.iter().map(move |n| (&PLACES[*place], *n)))
        .collect();
    let labels: Vec<(String, &str)> = rows
        .iter()
        .map(|(p, n)| (format!("{}{n}", p.name), ""))
        .collect();
    let titles = [
        ("CUBIC", "frame_steady"),
        ("hold", "frame_steady"),
        ("earliest first, ideal cell", "edf"),
        ("any order, ideal cell", "most"),
    ];
    let columns: Vec<(String, &str)> = titles
        .map(|(title, value)| (title.to_owned(), value))
        .into();
    let table = grid(
        "table",
        "Satisfied flows by frame delay",
        "cell, flows",
        &columns,
        &labels,
        |r, c| {
            let (place, n) = rows[r];
            match c {
                0 => o.get(&super::places::name(place, "off", n)),
                1 => o.get(&super::places::name(place, "hold", n)),
                _ => o.get(&name(place, n)),
            }
        },
    );
    let most = |place: &Place| {
        let all = MANY.map(|n| o.get(&name(place, n)).mean("most"));
        all.into_iter().fold(f64::NAN, f64::max)
    };
    let cubic = |place: &Place| {
        let all = MANY.map(|n| {
            o.get(&super::places::name(place, "off", n))
                .mean("frame_steady")
        });
        all.into_iter().fold(f64::NAN, f64::max)
    };
    let bound = |k: usize| {
        let place = &PLACES[CELLS[k].0];
        format!(
            "{}: {:.1} over {:.1}",
            place.name,
            most(place),
            cubic(place)
        )
    };
    Figure {
        title: "Beyond: what any order can reach".to_owned(),
        setup: "Frames as a run wrote them, known beforehand, in an ideal cell that serves whole slots without headers or repetitions. Earliest \
                frame first is in time wherever any order is; where none is, the flow with most late gives way to all others."
            .to_owned(),
        claim: "1.5 to 2.5 times as many satisfied flows.".to_owned(),
        seen: format!(
            "Most flows that any order satisfies over CUBIC's most: {}; {}. What gives one flow away is not what `hold` does: there flows take \
             turns.",
            bound(0),
            bound(1),
        ),
        panels: vec![table.wide()],
        ..Figure::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_satisfies_what_fits_and_gives_one_away_where_it_does_not() {
        let together = |n: usize| -> Vec<Vec<Sent>> {
            // Each frame's first flow is another.
            let turn = |k: usize, i: usize| ((k + i) % n) as f64 * 1e-4;
            let flow = |i| {
                let frames = (120..240).map(|k| (k as f64 / 60.0 + turn(k, i), 104_167.0));
                frames.collect()
            };
            (0..n).map(flow).collect()
        };
        assert_eq!(satisfied(&together(3), Ideal::of(860.0)), (3.0, 3.0));
        let (edf, most) = satisfied(&together(7), Ideal::of(860.0));
        assert!(edf < most && most < 7.0, "{edf} {most}");
        // Who is served 10 ms later is late, and no order can be faster than the cell.
        let slow = Ideal::of(860.0).later(10e-3);
        assert_eq!(satisfied(&together(1), slow), (0.0, 0.0));
        assert_eq!(satisfied(&together(3), Ideal::of(60.0)), (0.0, 0.0));
    }

    // The cell of D carries 640 Mbit/s, as its name says, and its least delay is 3.4 ms (Figure 6 has 3.4 in the simulated cell).
    #[test]
    fn the_cell_of_d_has_its_rate_and_its_least_delay() {
        let cell = Ideal::of(RATE_D).timed().in_slots_of_d();
        let rate = cell.full * (3.0 + cell.special) * 8.0 / (5.0 * SLOT) / 1e6;
        assert!((rate / RATE_D - 1.0).abs() < 0.01, "{rate}");
        assert!((cell.special - 9.0 / 13.0).abs() < 0.03, "{}", cell.special);
        // A frame that is at the cell as a slot is decided on takes 3.4 ms; one that comes 0.1 ms later waits for the next decision.
        let frames = |phase: f64| -> Vec<Vec<Sent>> {
            let at = |k: u32| f64::from(k) / 50.0 + 2.0 - 0.3e-3 + phase;
            vec![(1..100).map(|k| (at(k), 1_000.0)).collect()]
        };
        let within = |phase: f64, standard: f64| {
            let cell = cell.later(STANDARD - standard);
            satisfied(&frames(phase), cell).0 > 0.0
        };
        assert!(within(-1e-6, 3.402e-3) && !within(-1e-6, 3.399e-3));
        assert!(within(0.1e-3, 4.302e-3) && !within(0.1e-3, 4.299e-3));
    }
}
