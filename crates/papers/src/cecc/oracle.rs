//! What any order could reach: frames known beforehand, served slot by slot by an ideal cell.

use std::collections::VecDeque;

use super::prelude::*;

/// The cells that are compared, with their rates in Mbit/s.
const CELLS: [(usize, f64); 2] = [(0, 860.0), (3, RATE_D)];
/// Rate of cell D.
pub(super) const RATE_D: f64 = 640.0;

/// From the server to the cell: half of the path's round trip and the way from the UPF.
const WAY: f64 = 0.5e-3;
/// From the decision on a slot until its bytes have arrived: two slots ahead, the slot, the UE (the least of Figure 6 less [`WAY`]).
const SERVED: f64 = 2.75e-3;
const SLOT: f64 = 1e-3;
/// Downlink shares of the slots of DDDSU, special 10:2:2.
const SHARES: [f64; 5] = [1.0, 1.0, 1.0, 10.0 / 14.0, 0.0];
/// The delay standard and the share that may be late (CECC, II).
const STANDARD: f64 = 10e-3;
const ALLOWED: f64 = 1e-4;

/// A frame: when it was written and its bytes.
pub(super) type Sent = (f64, f64);

/// An ideal cell.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ideal {
    /// Its rate in Mbit/s.
    pub(super) rate: f64,
    /// By how many seconds bytes arrive later than [`SERVED`] has them.
    pub(super) later: f64,
}

impl Ideal {
    /// A cell of `rate` Mbit/s.
    pub(super) const fn of(rate: f64) -> Self {
        Self { rate, later: 0.0 }
    }
}

/// Late bytes as a share of each flow's, of frames from [`SETTLED`] on: slots go to the frames of `first` in order of their
/// writing, what is left to the others.
fn late(flows: &[Vec<Sent>], first: &[bool], cell: Ideal) -> Vec<f64> {
    let full = cell.rate * 1e6 / 8.0 * (5.0 * SLOT) / SHARES.iter().sum::<f64>();
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
            .is_some_and(|(written, ..)| written + WAY <= now)
        {
            let frame = coming.pop_front().expect("just seen");
            queues[usize::from(!first[frame.1])].push_back(frame);
        }
        // The decision is on the slot two ahead.
        let mut left = full * SHARES[(slot + 2) % SHARES.len()];
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
                    if now + SERVED + cell.later - *written > STANDARD {
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
        let slow = Ideal {
            later: 10e-3,
            ..Ideal::of(860.0)
        };
        assert_eq!(satisfied(&together(1), slow), (0.0, 0.0));
        assert_eq!(satisfied(&together(3), Ideal::of(60.0)), (0.0, 0.0));
    }
}
