//! What the scheduler of a cell gave each UE over time, of the grants that `record.slots` keeps.

use slackwater_lab::run::RunResult;
use slackwater_results::record::slots::SlotRows;

use super::MAX_FLOWS;
use crate::{Series, SeriesKind};

/// Grants of one UE in one direction, within one stretch of time.
#[derive(Clone, Copy, Debug, Default)]
struct Stretch {
    /// New blocks.
    new: u32,
    /// Sum of the MCS indices of new blocks.
    mcs: u64,
    /// Bytes of new blocks.
    bytes: u64,
    /// Grants for a block that was sent before.
    again: u32,
}

impl Stretch {
    fn add(&mut self, rows: &SlotRows, at: usize) {
        if rows.round[at] > 0 {
            self.again += 1;
            return;
        }
        self.new += 1;
        self.mcs += u64::from(rows.mcs[at]);
        self.bytes += rows.tbs[at];
    }

    /// `sum` over new blocks; NaN, a gap, where there is none.
    fn mean(self, sum: u64) -> f64 {
        if self.new == 0 {
            f64::NAN
        } else {
            sum as f64 / f64::from(self.new)
        }
    }

    /// Share of grants that repeat a block, in percent.
    fn repeated(self) -> f64 {
        match self.new + self.again {
            0 => f64::NAN,
            n => f64::from(self.again) / f64::from(n) * 100.0,
        }
    }
}

/// Curves of MCS, block size and retransmissions of each UE with a flow, in the direction in which it has more bytes; none without
/// records of slots.
pub(super) fn curves(run: &RunResult) -> Vec<Series> {
    let rows = &run.records.slots;
    let bin = run.records.bin().as_nanos();
    // The slot that starts as the run ends has no stretch of its own.
    let end = run.scenario.duration.as_nanos();
    let mut out = vec![];
    for (flow, ue) in run.layout.ues.iter().enumerate().take(MAX_FLOWS) {
        if run.layout.ues[..flow].contains(ue) {
            continue;
        }
        let controller = run.layout.controllers[flow].as_str();
        out.extend(of_ue(rows, ue.0, controller, (bin, end)));
    }
    out
}

/// Where the curves stop before the run does, since the record had no room for more grants.
pub(super) fn cut(run: &RunResult) -> Option<String> {
    let rows = &run.records.slots;
    let last = rows.time.last().filter(|_| rows.left_out > 0)?;
    Some(format!(
        "Curves of the radio end after {:.1} s: `record.max_rows` kept {} grants and left out {}.",
        *last as f64 / 1e9,
        rows.time.len(),
        rows.left_out
    ))
}

/// Curves of one UE, in stretches of `bin` nanoseconds before `end`.
fn of_ue(rows: &SlotRows, ue: u32, controller: &str, (bin, end): (u64, u64)) -> Vec<Series> {
    let mine: Vec<usize> = (0..rows.time.len())
        .filter(|&i| rows.ue[i] == ue && rows.time[i] < end)
        .collect();
    let bytes = |up: u8| -> u64 {
        let way = mine.iter().filter(|&&i| rows.up[i] == up);
        way.filter(|&&i| rows.round[i] == 0)
            .map(|&i| rows.tbs[i])
            .sum()
    };
    let up = u8::from(bytes(1) > bytes(0));
    let mut stretches: Vec<Stretch> = vec![];
    for &i in mine.iter().filter(|&&i| rows.up[i] == up) {
        let at = (rows.time[i] / bin) as usize;
        if stretches.len() <= at {
            stretches.resize(at + 1, Stretch::default());
        }
        stretches[at].add(rows, i);
    }
    if stretches.is_empty() {
        return vec![];
    }
    let label = format!("UE {ue}, {}", if up == 1 { "uplink" } else { "downlink" });
    // A value stands at the end of its stretch, as throughput does.
    let t: Vec<f64> = (1..=stretches.len() as u64)
        .map(|k| (k * bin) as f64 / 1e9)
        .collect();
    let series = |id: &str, kind, unit: &str, value: &dyn Fn(Stretch) -> f64| Series {
        id: format!("{id}-ue{ue}"),
        label: label.clone(),
        controller: controller.to_owned(),
        kind,
        unit: unit.to_owned(),
        t: t.clone(),
        y: stretches.iter().map(|s| value(*s)).collect(),
    };
    vec![
        series("mcs", SeriesKind::Mcs, "", &|s| s.mean(s.mcs)),
        series("tbs", SeriesKind::BlockSize, "kB", &|s| {
            s.mean(s.bytes) * 1e-3
        }),
        series("harq", SeriesKind::Repeated, "%", &|s| s.repeated()),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A stretch in nanoseconds.
    const BIN: u64 = 100_000_000;

    /// Rows of grants: time in ms, up, UE, round, MCS, bytes.
    fn rows(grants: &[(u64, u8, u32, u8, u8, u64)]) -> SlotRows {
        let mut rows = SlotRows::default();
        for &(ms, up, ue, round, mcs, tbs) in grants {
            rows.time.push(ms * 1_000_000);
            rows.up.push(up);
            rows.ue.push(ue);
            rows.round.push(round);
            rows.mcs.push(mcs);
            rows.tbs.push(tbs);
        }
        rows
    }

    #[test]
    fn new_blocks_give_mcs_and_size_and_the_others_a_share() {
        let rows = rows(&[
            (1, 0, 3, 0, 10, 1000),
            (2, 0, 3, 0, 20, 3000),
            // Another UE, and acknowledgments on the way up.
            (2, 0, 4, 0, 28, 9000),
            (3, 1, 3, 0, 5, 50),
            // The first block again: its size counts once.
            (9, 0, 3, 1, 10, 1000),
            // Nothing in the second stretch.
            (250, 0, 3, 0, 15, 2000),
            // As the run ends.
            (300, 0, 3, 0, 28, 9000),
        ]);
        let found = of_ue(&rows, 3, "cubic", (BIN, 300_000_000));
        let of = |kind: SeriesKind| {
            let series = found.iter().find(|s| s.kind == kind).expect("a curve");
            assert_eq!(series.label, "UE 3, downlink");
            assert_eq!(series.t, [0.1, 0.2, 0.3]);
            series.y.clone()
        };
        let mcs = of(SeriesKind::Mcs);
        assert_eq!((mcs[0], mcs[2]), (15.0, 15.0));
        assert!(mcs[1].is_nan(), "a gap");
        let size = of(SeriesKind::BlockSize);
        assert_eq!((size[0], size[2]), (2.0, 2.0));
        let again = of(SeriesKind::Repeated);
        assert!((again[0] - 100.0 / 3.0).abs() < 1e-9, "{again:?}");
        assert_eq!(again[2], 0.0);
    }

    #[test]
    fn an_upload_is_drawn_by_its_uplink() {
        let found = of_ue(
            &rows(&[(1, 0, 0, 0, 3, 20), (5, 1, 0, 0, 7, 900)]),
            0,
            "bbr",
            (BIN, 1_000_000_000),
        );
        assert_eq!(found[0].label, "UE 0, uplink");
        assert_eq!(found[0].y, [7.0]);
        assert!(of_ue(&SlotRows::default(), 0, "bbr", (BIN, 1)).is_empty());
    }
}
