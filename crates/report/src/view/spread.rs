//! What all seeds of a variant show over time, beside the curves of its first.

use crate::{RunView, SeriesKind, Spread};

/// Stretches that a band has at most.
const STRETCHES: usize = 300;

/// For each curve of `first` that the other seeds have at the same times: from the least to the greatest over all of them, in at most
/// [`STRETCHES`] stretches. The curve itself lies within.
pub(super) fn spreads(first: &RunView, others: &[RunView]) -> Vec<Spread> {
    let drawn = |kind: &SeriesKind| {
        matches!(
            kind,
            SeriesKind::Throughput
                | SeriesKind::QueueDelay
                | SeriesKind::Cwnd
                | SeriesKind::Rtt
                | SeriesKind::Marks
                | SeriesKind::Mcs
                | SeriesKind::BlockSize
                | SeriesKind::Repeated
        )
    };
    let mains = first.series.iter().filter(|s| drawn(&s.kind));
    mains
        .filter_map(|series| {
            let alike = others.iter().filter_map(|run| {
                let same = run.series.iter().find(|s| s.id == series.id)?;
                // One may end earlier: its last packets came sooner.
                let alike = same.t.iter().zip(&series.t).all(|(a, b)| a == b);
                alike.then_some(same.y.as_slice())
            });
            let mut seeds: Vec<&[f64]> = vec![&series.y];
            seeds.extend(alike);
            if seeds.len() < 2 || series.t.is_empty() {
                return None;
            }
            let mut found = Spread {
                series: series.id.clone(),
                seeds: seeds.len(),
                t: vec![],
                low: vec![],
                high: vec![],
            };
            let each = series.t.len().div_ceil(STRETCHES);
            for (at, times) in series.t.chunks(each).enumerate() {
                let stretch = at * each..at * each + times.len();
                let part = |y: &&[f64]| {
                    y.iter()
                        .copied()
                        .take(stretch.end)
                        .skip(stretch.start)
                        .collect::<Vec<_>>()
                };
                let values = seeds.iter().flat_map(part);
                let finite = values.filter(|v| v.is_finite());
                let ends = finite.fold(None, |ends: Option<(f64, f64)>, v| {
                    Some(ends.map_or((v, v), |(low, high)| (low.min(v), high.max(v))))
                });
                let (low, high) = ends.unwrap_or((f64::NAN, f64::NAN));
                found.t.push(times[0]);
                found.low.push(low);
                found.high.push(high);
            }
            Some(found)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Series;

    fn view(y: &[f64]) -> RunView {
        RunView {
            series: vec![Series {
                id: "throughput-0".to_owned(),
                label: "flow".to_owned(),
                controller: "cubic".to_owned(),
                kind: SeriesKind::Throughput,
                unit: "Mbit/s".to_owned(),
                t: (0..y.len()).map(|i| i as f64).collect(),
                y: y.to_vec(),
            }],
            ..RunView::default()
        }
    }

    #[test]
    fn a_band_goes_from_the_least_to_the_greatest_seed() {
        let first = view(&[1.0, f64::NAN, 3.0]);
        let mut other = view(&[99.0, 99.0, 99.0]);
        other.series[0].t = vec![0.5, 1.5, 2.5];
        let others = [
            view(&[2.0, 5.0, 0.5]),
            view(&[1.5, 4.0, 2.0]),
            view(&[9.0]),
            other,
        ];
        let found = spreads(&first, &others);
        // One ends early; the last has other times.
        assert_eq!((found.len(), found[0].seeds), (1, 4));
        assert_eq!(found[0].low, [1.0, 4.0, 0.5]);
        assert_eq!(found[0].high, [9.0, 5.0, 3.0]);
        assert!(spreads(&first, &[]).is_empty());
    }

    #[test]
    fn a_long_curve_lies_within_its_band() {
        let y = |k: usize| -> Vec<f64> { (0..5000).map(|i| ((i * k) % 97) as f64).collect() };
        let found = spreads(&view(&y(3)), &[view(&y(5))]);
        let band = &found[0];
        assert!(band.t.len() <= STRETCHES && band.t.len() > STRETCHES / 2);
        for (i, v) in y(3).iter().enumerate() {
            let at = band.t.partition_point(|t| *t <= i as f64) - 1;
            assert!(band.low[at] <= *v && *v <= band.high[at]);
        }
    }
}
