//! A penalised cubic spline: the smooth curve through a cloud of points.
//!
//! Minimises `sum (y - S(x))^2 + c 10^rho integral S''^2` over natural cubic splines on `m` equidistant nodes. This is what
//! Verus fits its delay profile with (ALGLIB 3.9, `spline1dfitpenalized`), and `c` is ALGLIB's: the largest squared norm of
//! a cardinal spline over the points, divided by its largest roughness, so that `rho` means the same under any scale.
//!
//! ALGLIB solves for the values at the nodes with full matrices. Here the unknowns are the coefficients of uniform cubic
//! B-splines (de Boor, "A Practical Guide to Splines", IX), which span the same curves with matrices of seven diagonals:
//! linear in points and nodes.

/// Diagonals above the main one.
const REACH: usize = 3;
/// A cardinal spline falls by 2 - sqrt(3) from node to node; so many nodes away it is below 1e-13.
const TAIL: usize = 24;

/// A symmetric matrix of seven diagonals: each row holds its diagonal and what lies right of it.
#[derive(Clone, Debug)]
struct Banded(Vec<[f64; REACH + 1]>);

impl Banded {
    fn new(n: usize) -> Self {
        Self(vec![[0.0; REACH + 1]; n])
    }

    /// Adds to element `(i, j)`, `i <= j`.
    fn add(&mut self, i: usize, j: usize, v: f64) {
        self.0[i][j - i] += v;
    }

    /// `v' M v`, where `v` starts at row `from`.
    fn quadratic(&self, from: usize, v: &[f64]) -> f64 {
        let rows = self.0[from..].iter().zip(v).enumerate();
        rows.map(|(i, (row, a))| {
            let right = row[1..].iter().zip(&v[i + 1..]);
            let right: f64 = right.map(|(m, b)| m * b).sum();
            a * (row[0] * a + 2.0 * right)
        })
        .sum()
    }

    /// Solves `M x = b` by Cholesky's decomposition; `None` where the matrix is not positive.
    fn solve(mut self, mut b: Vec<f64>) -> Option<Vec<f64>> {
        let n = self.0.len();
        for i in 0..n {
            let pivot = self.0[i][0];
            if !(pivot.is_finite() && pivot > 0.0) {
                return None;
            }
            let row = self.0[i].map(|v| v / pivot);
            for d in 1..=REACH.min(n - 1 - i) {
                for e in d..=REACH.min(n - 1 - i) {
                    self.0[i + d][e - d] -= row[d] * row[e] * pivot;
                }
                b[i + d] -= row[d] * b[i];
            }
            b[i] /= pivot;
            self.0[i] = row;
        }
        for i in (0..n).rev() {
            for d in 1..=REACH.min(n - 1 - i) {
                b[i] -= self.0[i][d] * b[i + d];
            }
        }
        Some(b)
    }
}

/// The fitted curve; straight outside of its points.
#[derive(Clone, Debug)]
pub struct Spline {
    /// The first point.
    start: f64,
    /// Nodes per unit of `x`.
    scale: f64,
    /// Coefficients of the B-splines at the nodes. Those beyond the ends follow from a second derivative of zero there.
    coefficients: Vec<f64>,
}

/// The piece that `t` (in nodes) lies in, of `pieces`, and how far into it.
fn piece(t: f64, pieces: usize) -> (usize, f64) {
    let j = (t as usize).min(pieces - 1);
    (j, t - j as f64)
}

/// What the coefficients of nodes `j - 1` to `j + 2` count at `u` behind node `j`.
fn weights(u: f64) -> [f64; 4] {
    let v = 1.0 - u;
    [
        v * v * v / 6.0,
        (u * u * (3.0 * u - 6.0) + 4.0) / 6.0,
        (v * v * (3.0 * v - 6.0) + 4.0) / 6.0,
        u * u * u / 6.0,
    ]
}

/// The same where the nodes beyond the ends are replaced by `2 c_0 - c_1` and its mirror image: indices from `first` on.
fn inner(j: usize, u: f64, nodes: usize) -> (usize, [f64; 4]) {
    let mut w = weights(u);
    if j + 2 == nodes {
        w[2] += 2.0 * w[3];
        w[1] -= w[3];
        w[3] = 0.0;
    }
    if j > 0 {
        return (j - 1, w);
    }
    (0, [w[1] + 2.0 * w[0], w[2] - w[0], w[3], 0.0])
}

/// Integral of the squared second derivative, in nodes.
fn roughness(nodes: usize) -> Banded {
    // The second derivative is straight between nodes, c_{j-1} - 2 c_j + c_{j+1} there and zero at the ends.
    const D: [f64; 3] = [1.0, -2.0, 1.0];
    let mut p = Banded::new(nodes);
    for j in 1..nodes - 1 {
        for (a, x) in D.iter().enumerate() {
            for (b, y) in D.iter().enumerate() {
                if a <= b {
                    p.add(j - 1 + a, j - 1 + b, 2.0 / 3.0 * x * y);
                }
                // Beside the next node's; the pair counts twice, as the matrix is symmetric.
                if j + 2 < nodes {
                    let (low, high) = (j - 1 + a, j + b);
                    let twice = if low == high { 2.0 } else { 1.0 };
                    p.add(low.min(high), low.max(high), twice * x * y / 6.0);
                }
            }
        }
    }
    p
}

/// Coefficients of the spline that is one at node `b` and zero at the others, near `b`, and where they start.
fn cardinal(b: usize, nodes: usize, out: &mut Vec<f64>) -> usize {
    let from = b.saturating_sub(TAIL);
    let to = (b + TAIL + 1).min(nodes);
    out.clear();
    out.resize(to - from, 0.0);
    // Rows (1 4 1) / 6 inside, and c_0 = f_0 at an end (Thomas's algorithm).
    let mut above = vec![0.0; to - from];
    for i in from..to {
        let f = f64::from(u8::from(i == b));
        let k = i - from;
        if i == 0 || i == nodes - 1 {
            out[k] = f;
            continue;
        }
        let left = if k == 0 {
            (0.0, 0.0)
        } else {
            (above[k - 1], out[k - 1])
        };
        let pivot = 4.0 - left.0;
        above[k] = 1.0 / pivot;
        out[k] = (6.0 * f - left.1) / pivot;
    }
    for k in (0..out.len().saturating_sub(1)).rev() {
        out[k] -= above[k] * out[k + 1];
    }
    from
}

impl Spline {
    /// The curve through `points`, whose `x` ascend, on `nodes` nodes (at least four); `None` where they are too few.
    pub fn fit(points: &[(f64, f64)], nodes: usize, rho: f64) -> Option<Self> {
        let (start, end) = (points.first()?.0, points.last()?.0);
        if nodes < 4 || end <= start {
            return None;
        }
        let scale = (nodes - 1) as f64 / (end - start);
        let mut gram = Banded::new(nodes);
        let mut right = vec![0.0; nodes];
        for &(x, y) in points {
            let (j, u) = piece((x - start) * scale, nodes - 1);
            let (first, w) = inner(j, u, nodes);
            let used = w.len().min(nodes - first);
            for a in 0..used {
                right[first + a] += w[a] * y;
                for b in a..used {
                    gram.add(first + a, first + b, w[a] * w[b]);
                }
            }
        }

        let rough = roughness(nodes);
        let mut largest = (0.0_f64, 0.0_f64);
        let mut c = Vec::new();
        for b in 0..nodes {
            let from = cardinal(b, nodes, &mut c);
            largest.0 = largest.0.max(gram.quadratic(from, &c));
            largest.1 = largest.1.max(rough.quadratic(from, &c));
        }
        let penalty = libm::pow(10.0, rho) * largest.0 / largest.1;
        for (row, p) in gram.0.iter_mut().zip(&rough.0) {
            for (v, p) in row.iter_mut().zip(p) {
                *v += penalty * p;
            }
        }
        let coefficients = gram.solve(right)?;
        coefficients.iter().all(|c| c.is_finite()).then_some(Self {
            start,
            scale,
            coefficients,
        })
    }

    /// The last point; the curve is straight beyond it.
    pub fn end(&self) -> f64 {
        self.start + (self.coefficients.len() - 1) as f64 / self.scale
    }

    /// The curve at `x`.
    pub fn at(&self, x: f64) -> f64 {
        let c = &self.coefficients;
        let last = c.len() - 1;
        let t = (x - self.start) * self.scale;
        if t <= 0.0 {
            return c[0] + t * (c[1] - c[0]);
        }
        if t >= last as f64 {
            return c[last] + (t - last as f64) * (c[last] - c[last - 1]);
        }
        let (j, u) = piece(t, last);
        let (first, w) = inner(j, u, last + 1);
        let near = w.iter().zip(&c[first..]);
        near.map(|(w, c)| w * c).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_straight_line_stays_one_whatever_the_penalty() {
        let points: Vec<_> = (1..=90)
            .map(|x| (f64::from(x), 3.0 + 0.5 * f64::from(x)))
            .collect();
        for rho in [-2.0, 2.0, 6.0] {
            let s = Spline::fit(&points, 6, rho).expect("enough points");
            for x in [-20.0, 1.0, 17.3, 90.0, 400.0] {
                assert!(
                    (s.at(x) - 3.0 - 0.5 * x).abs() < 1e-6,
                    "{rho}: {x}: {}",
                    s.at(x)
                );
            }
        }
    }

    #[test]
    fn a_cardinal_spline_is_one_at_its_node_and_natural_at_the_ends() {
        let mut c = Vec::new();
        for nodes in [4, 9, 80] {
            for b in [0, 1, nodes / 2, nodes - 1] {
                let from = cardinal(b, nodes, &mut c);
                let mut all = vec![0.0; nodes];
                all[from..from + c.len()].copy_from_slice(&c);
                let s = Spline {
                    start: 0.0,
                    scale: 1.0,
                    coefficients: all,
                };
                for i in 0..nodes {
                    let f = f64::from(u8::from(i == b));
                    assert!((s.at(i as f64) - f).abs() < 1e-12, "{nodes} {b} {i}");
                }
            }
        }
    }

    #[test]
    fn the_roughness_is_the_integral() {
        // Against a sum over second differences of the curve itself.
        let c = [0.0, 1.0, -0.5, 2.0, 2.5, 0.3, 0.0];
        let s = Spline {
            start: 0.0,
            scale: 1.0,
            coefficients: c.to_vec(),
        };
        let step = 1e-3;
        let second = |x: f64| (s.at(x - step) - 2.0 * s.at(x) + s.at(x + step)) / (step * step);
        let sum: f64 = (0..6000)
            .map(|i| second((f64::from(i) + 0.5) * step))
            .map(|d| d * d * step)
            .sum();
        let exact = roughness(c.len()).quadratic(0, &c);
        assert!((sum / exact - 1.0).abs() < 1e-3, "{sum} {exact}");
    }

    #[test]
    fn the_fit_is_the_least_of_its_sum() {
        // A dense solution of the same problem by coordinate descent would be the same point: no step improves the sum.
        let points: Vec<_> = (1..=60)
            .map(|x| {
                (
                    f64::from(x),
                    40.0 + f64::from(x * x) * 0.02 + f64::from(x % 7),
                )
            })
            .collect();
        let nodes = 5;
        let fit = Spline::fit(&points, nodes, 2.0).expect("enough points");
        let rough = roughness(nodes);
        let mut c = Vec::new();
        let mut gram = (0.0_f64, 0.0_f64);
        for b in 0..nodes {
            let from = cardinal(b, nodes, &mut c);
            let mut s = fit.clone();
            s.coefficients.fill(0.0);
            s.coefficients[from..from + c.len()].copy_from_slice(&c);
            let norm: f64 = points.iter().map(|p| s.at(p.0) * s.at(p.0)).sum();
            gram = (gram.0.max(norm), gram.1.max(rough.quadratic(from, &c)));
        }
        let penalty = 100.0 * gram.0 / gram.1;
        let sum = |s: &Spline| {
            let misses = points.iter().map(|p| (p.1 - s.at(p.0)) * (p.1 - s.at(p.0)));
            misses.sum::<f64>() + penalty * rough.quadratic(0, &s.coefficients)
        };
        let least = sum(&fit);
        for i in 0..nodes {
            for step in [-0.1, 0.1] {
                let mut other = fit.clone();
                other.coefficients[i] += step;
                assert!(sum(&other) > least, "{i} {step}");
            }
        }
    }

    #[test]
    fn too_few_points_fit_nothing() {
        assert!(Spline::fit(&[], 5, 2.0).is_none());
        assert!(Spline::fit(&[(1.0, 2.0)], 5, 2.0).is_none());
        assert!(Spline::fit(&[(1.0, 2.0), (3.0, 2.0)], 3, 2.0).is_none());
    }
}
