//! Fewer points for the same picture.

/// Keeps the extremes of a curve: time is cut into equal buckets and each gives its least and its greatest value, in
/// time order. The first and the last point stay, and so does the start of every gap (NaN) in a bucket. At most `max`
/// points come back; a curve that fits is returned as it is.
///
/// Times must ascend. Points with a time that is not finite are left out.
pub(super) fn min_max(t: &[f64], y: &[f64], max: usize) -> (Vec<f64>, Vec<f64>) {
    let points: Vec<(f64, f64)> = t
        .iter()
        .copied()
        .zip(y.iter().copied())
        .filter(|(t, _)| t.is_finite())
        .collect();
    let keep = if points.len() <= max {
        (0..points.len()).collect()
    } else {
        kept(&points, max)
    };
    keep.into_iter().map(|i| points[i]).unzip()
}

/// The indices that stay.
fn kept(points: &[(f64, f64)], max: usize) -> Vec<usize> {
    let last = points.len() - 1;
    let gaps = points.iter().any(|(_, y)| !y.is_finite());
    let each = if gaps { 3 } else { 2 };
    let buckets = (max.saturating_sub(2) / each).max(1);
    let start = points[0].0;
    let span = points[last].0 - start;
    let bucket_of = |time: f64| {
        if span > 0.0 {
            ((((time - start) / span) * buckets as f64) as usize).min(buckets - 1)
        } else {
            0
        }
    };

    let mut keep = vec![0];
    let mut from = 0;
    while from <= last {
        let bucket = bucket_of(points[from].0);
        let mut to = from;
        while to <= last && bucket_of(points[to].0) == bucket {
            to += 1;
        }
        let mut chosen = extremes(points, from, to);
        chosen.sort_unstable();
        keep.extend(chosen);
        from = to;
    }
    keep.push(last);
    keep.dedup();
    keep
}

/// Indices of the least value, the greatest value and the first gap in `points[from..to]`.
fn extremes(points: &[(f64, f64)], from: usize, to: usize) -> Vec<usize> {
    let mut least: Option<usize> = None;
    let mut greatest: Option<usize> = None;
    let mut gap: Option<usize> = None;
    for (i, &(_, y)) in (from..).zip(&points[from..to]) {
        if !y.is_finite() {
            gap = gap.or(Some(i));
            continue;
        }
        if least.is_none_or(|j| y < points[j].1) {
            least = Some(i);
        }
        if greatest.is_none_or(|j| y > points[j].1) {
            greatest = Some(i);
        }
    }
    [least, greatest, gap].into_iter().flatten().collect()
}

/// Thins a distribution to at most `max` points: even steps of probability, with a quarter of the points kept for the
/// upper 2 %, whose steps shrink towards the maximum.
pub(super) fn quantiles(x: &[f64], p: &[f64], max: usize) -> (Vec<f64>, Vec<f64>) {
    let n = x.len().min(p.len());
    if n <= max {
        return (x[..n].to_vec(), p[..n].to_vec());
    }
    let tail = max / 4;
    let body = max - tail - 1;
    let mut keep = Vec::with_capacity(max);
    let mut next = 0;
    let want = (0..body)
        .map(|i| 0.98 * i as f64 / body as f64)
        .chain((0..tail).map(|i| {
            let left = 1.0 - i as f64 / tail as f64;
            1.0 - 0.02 * left * left
        }));
    for want in want {
        while next + 1 < n && p[next] < want {
            next += 1;
        }
        keep.push(next);
    }
    keep.push(n - 1);
    keep.dedup();
    keep.into_iter().map(|i| (x[i], p[i])).unzip()
}

/// Thins instants so that no two kept ones are closer than a `max`-th of their span.
pub(super) fn instants(t: &[f64], max: usize) -> Vec<f64> {
    let t: Vec<f64> = t.iter().copied().filter(|t| t.is_finite()).collect();
    if t.len() <= max {
        return t;
    }
    let step = (t[t.len() - 1] - t[0]) / max.saturating_sub(1).max(1) as f64;
    let mut kept: Vec<f64> = Vec::with_capacity(max);
    for time in t {
        if kept.last().is_none_or(|last| time - last >= step) {
            kept.push(time);
        }
    }
    kept.truncate(max);
    kept
}
