//! Where a terminal is. The base station stands at the origin; coordinates in metres.
//!
//! Every motion is a function of (draw, time). Random walks keep the leg of the last call so that asking in the order
//! of time is cheap; asking for an earlier time gives the same answer, only slower.

use slackwater_core::{Draw, Duration, Instant};

/// A place in the plane, metres from the base station.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Position {
    /// East.
    pub x: f64,
    /// North.
    pub y: f64,
}

impl Position {
    /// A place.
    pub const fn new(x: f64, y: f64) -> Self {
        Self { x, y }
    }

    /// The place `metres` east of the base station.
    pub const fn at_distance(metres: f64) -> Self {
        Self::new(metres, 0.0)
    }

    /// Metres from the base station.
    pub fn distance(self) -> f64 {
        libm::sqrt(self.x * self.x + self.y * self.y)
    }

    fn towards(self, other: Self, share: f64) -> Self {
        Self::new(
            self.x + (other.x - self.x) * share,
            self.y + (other.y - self.y) * share,
        )
    }

    fn from(self, other: Self) -> f64 {
        Self::new(self.x - other.x, self.y - other.y).distance()
    }
}

/// How a terminal moves.
#[derive(Clone, Debug, PartialEq)]
pub enum Mobility {
    /// Not at all.
    Static(Position),
    /// In straight lines between places at given times, which rise; it waits at both ends.
    Waypoints(Vec<(Instant, Position)>),
    /// To a fresh distance, uniform in [`min_m`, `max_m`], in a fresh direction, at every multiple of `period`.
    RandomSteps {
        /// Least distance in m.
        min_m: f64,
        /// Greatest distance in m.
        max_m: f64,
        /// Time between steps.
        period: Duration,
    },
    /// At constant speed, in a fresh direction every `interval`, reflected at the sides of a rectangle.
    RandomWalk {
        /// Where it begins.
        start: Position,
        /// Speed in m/s.
        speed_mps: f64,
        /// Time between changes of direction.
        interval: Duration,
        /// South-west corner.
        low: Position,
        /// North-east corner.
        high: Position,
    },
}

impl Default for Mobility {
    fn default() -> Self {
        Self::Static(Position::at_distance(100.0))
    }
}

/// A terminal in motion.
#[derive(Clone, Debug)]
pub struct Mover {
    mobility: Mobility,
    draw: Draw,
    /// Metres travelled up to each way point.
    travelled: Box<[f64]>,
    /// Way points: the index of the last point passed. Random walk: the current leg.
    leg: u64,
    /// Random walk: where the leg began, as if the walls were mirrors one walks through.
    leg_start: Position,
    /// Random walk: where the leg before began, for those who look a little ahead and come back.
    last_start: Position,
}

impl Mover {
    /// A terminal that moves so; `draw` is its own.
    ///
    /// Panics where way points are missing or not in the order of time, or a period is zero.
    pub fn new(mobility: &Mobility, draw: Draw) -> Self {
        let mut travelled = Vec::new();
        let mut leg_start = Position::default();
        match mobility {
            Mobility::Static(_) => {}
            Mobility::Waypoints(points) => {
                assert!(!points.is_empty(), "way points are missing");
                assert!(
                    points.is_sorted_by(|a, b| a.0 < b.0),
                    "way points are not in the order of time"
                );
                let mut sum = 0.0;
                for (i, (_, p)) in points.iter().enumerate() {
                    sum += if i == 0 { 0.0 } else { p.from(points[i - 1].1) };
                    travelled.push(sum);
                }
            }
            Mobility::RandomSteps { period, .. } => {
                assert!(!period.is_zero(), "random steps need a period");
            }
            Mobility::RandomWalk {
                interval, start, ..
            } => {
                assert!(!interval.is_zero(), "a random walk needs an interval");
                leg_start = *start;
            }
        }
        Self {
            mobility: mobility.clone(),
            draw,
            travelled: travelled.into(),
            leg: 0,
            leg_start,
            last_start: leg_start,
        }
    }

    /// Where the terminal is, and until when it stays exactly there: `now` for a terminal that moves.
    pub fn position(&mut self, now: Instant) -> (Position, Instant) {
        match &self.mobility {
            Mobility::Static(p) => (*p, Instant::MAX),
            Mobility::Waypoints(points) => {
                let i = self.leg as usize;
                let stale = points[i].0 > now || points.get(i + 1).is_some_and(|p| p.0 <= now);
                if stale {
                    self.leg = points.partition_point(|p| p.0 <= now).max(1) as u64 - 1;
                }
                let i = self.leg as usize;
                let (from, place) = points[i];
                if now < from {
                    return (place, from);
                }
                let Some(&(to, next)) = points.get(i + 1) else {
                    return (place, Instant::MAX);
                };
                if next == place {
                    return (place, to);
                }
                let share = (now - from).as_nanos() as f64 / (to - from).as_nanos() as f64;
                (place.towards(next, share), now)
            }
            Mobility::RandomSteps {
                min_m,
                max_m,
                period,
            } => {
                let step = now.as_nanos() / period.as_nanos();
                let distance = min_m + (max_m - min_m) * self.draw.uniform(2 * step);
                let angle = core::f64::consts::TAU * self.draw.uniform(2 * step + 1);
                let place = Position::new(distance * libm::cos(angle), distance * libm::sin(angle));
                let until = (step + 1).saturating_mul(period.as_nanos());
                (place, Instant::from_nanos(until))
            }
            Mobility::RandomWalk {
                start,
                speed_mps,
                interval,
                low,
                high,
            } => {
                let leg = now.as_nanos() / interval.as_nanos();
                let one_back = leg + 1 == self.leg;
                if leg < self.leg && !one_back {
                    self.leg = 0;
                    self.leg_start = *start;
                    self.last_start = *start;
                }
                let step = |from: Position, leg: u64, time: Duration| {
                    let angle = core::f64::consts::TAU * self.draw.uniform(leg);
                    let metres = speed_mps * time.as_secs_f64();
                    Position::new(
                        from.x + metres * libm::cos(angle),
                        from.y + metres * libm::sin(angle),
                    )
                };
                let mut at = if one_back {
                    self.last_start
                } else {
                    self.leg_start
                };
                for passed in self.leg..leg {
                    self.last_start = at;
                    at = step(at, passed, *interval);
                }
                if !one_back {
                    self.leg = leg;
                    self.leg_start = at;
                }
                let since = Duration::from_nanos(now.as_nanos() % interval.as_nanos());
                let unfolded = step(at, leg, since);
                let folded = Position::new(
                    fold(unfolded.x, low.x, high.x),
                    fold(unfolded.y, low.y, high.y),
                );
                (folded, now)
            }
        }
    }

    /// Metres from the base station.
    pub fn distance(&mut self, now: Instant) -> f64 {
        self.position(now).0.distance()
    }

    /// Speed in m/s. Random steps are jumps between places where the terminal stands.
    pub fn speed(&mut self, now: Instant) -> f64 {
        let leg = self.waypoint_leg(now);
        match &self.mobility {
            Mobility::Static(_) | Mobility::RandomSteps { .. } => 0.0,
            Mobility::RandomWalk { speed_mps, .. } => *speed_mps,
            Mobility::Waypoints(points) => leg.map_or(0.0, |i| {
                let time = points[i + 1].0 - points[i].0;
                (self.travelled[i + 1] - self.travelled[i]) / time.as_secs_f64()
            }),
        }
    }

    /// Metres travelled since the origin of time; never falls.
    pub fn travelled(&mut self, now: Instant) -> f64 {
        let leg = self.waypoint_leg(now);
        match &self.mobility {
            Mobility::Static(_) | Mobility::RandomSteps { .. } => 0.0,
            Mobility::RandomWalk { speed_mps, .. } => speed_mps * now.as_secs_f64(),
            Mobility::Waypoints(points) => match leg {
                Some(i) => {
                    let time = points[i + 1].0 - points[i].0;
                    let share = (now - points[i].0).as_nanos() as f64 / time.as_nanos() as f64;
                    self.travelled[i] + (self.travelled[i + 1] - self.travelled[i]) * share
                }
                None if now < points[0].0 => 0.0,
                None => *self.travelled.last().expect("way points are present"),
            },
        }
    }

    /// The leg between way points that `now` falls in, if any.
    fn waypoint_leg(&mut self, now: Instant) -> Option<usize> {
        if !matches!(self.mobility, Mobility::Waypoints(_)) {
            return None;
        }
        self.position(now);
        match &self.mobility {
            Mobility::Waypoints(points) => {
                let i = self.leg as usize;
                (points[i].0 <= now && i + 1 < points.len()).then_some(i)
            }
            _ => None,
        }
    }
}

/// The coordinate between two mirrors of a point that walked through them.
fn fold(x: f64, low: f64, high: f64) -> f64 {
    let width = high - low;
    if width <= 0.0 {
        return low;
    }
    // `%` keeps the sign of the dividend.
    let u = ((x - low) % (2.0 * width) + 2.0 * width) % (2.0 * width);
    low + if u > width { 2.0 * width - u } else { u }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(s: f64) -> Instant {
        Instant::ZERO + Duration::from_secs_f64(s)
    }

    fn mover(m: &Mobility) -> Mover {
        Mover::new(m, Draw::new(4).fork(8, 1))
    }

    #[test]
    fn a_static_terminal_stays() {
        let mut m = mover(&Mobility::default());
        assert_eq!(
            m.position(at(9.0)),
            (Position::new(100.0, 0.0), Instant::MAX)
        );
        assert_eq!((m.speed(at(1.0)), m.travelled(at(1.0))), (0.0, 0.0));
    }

    #[test]
    fn way_points_are_joined_by_straight_lines() {
        let mut m = mover(&Mobility::Waypoints(vec![
            (at(1.0), Position::new(100.0, 0.0)),
            (at(3.0), Position::new(100.0, 40.0)),
            (at(4.0), Position::new(100.0, 40.0)),
            (at(5.0), Position::new(70.0, 0.0)),
        ]));
        assert_eq!(m.position(at(0.5)), (Position::new(100.0, 0.0), at(1.0)));
        assert_eq!(m.position(at(2.0)), (Position::new(100.0, 20.0), at(2.0)));
        assert_eq!((m.speed(at(2.0)), m.travelled(at(2.0))), (20.0, 20.0));
        assert_eq!(m.position(at(3.5)), (Position::new(100.0, 40.0), at(4.0)));
        assert_eq!((m.speed(at(3.5)), m.travelled(at(3.5))), (0.0, 40.0));
        assert_eq!(m.position(at(4.5)).0, Position::new(85.0, 20.0));
        assert_eq!(
            m.position(at(60.0)),
            (Position::new(70.0, 0.0), Instant::MAX)
        );
        assert_eq!((m.speed(at(60.0)), m.travelled(at(60.0))), (0.0, 90.0));
        // Back in time.
        assert_eq!(m.position(at(2.0)).0, Position::new(100.0, 20.0));
        assert_eq!((m.speed(at(0.0)), m.travelled(at(0.0))), (0.0, 0.0));
    }

    #[test]
    fn random_steps_are_uniform_in_distance_and_hold_for_a_period() {
        let mut m = mover(&Mobility::RandomSteps {
            min_m: 60.0,
            max_m: 600.0,
            period: Duration::from_secs(2),
        });
        let (first, until) = m.position(at(0.0));
        assert_eq!(until, at(2.0));
        assert_eq!(m.position(at(1.999)).0, first);
        assert_ne!(m.position(at(2.0)).0, first);
        let distances: Vec<f64> = (0..5000)
            .map(|k| m.distance(at(2.0 * f64::from(k))))
            .collect();
        assert!(distances.iter().all(|d| (60.0..600.0).contains(d)));
        let mean = distances.iter().sum::<f64>() / 5000.0;
        assert!((mean - 330.0).abs() < 10.0, "{mean}");
        let far = distances.iter().filter(|&&d| d > 465.0).count();
        assert!((far as f64 / 5000.0 - 0.25).abs() < 0.02, "{far}");
    }

    #[test]
    fn a_random_walk_keeps_its_speed_and_its_bounds() {
        let walk = Mobility::RandomWalk {
            start: Position::new(10.0, 20.0),
            speed_mps: 15.0,
            interval: Duration::from_millis(700),
            low: Position::new(-50.0, 0.0),
            high: Position::new(80.0, 60.0),
        };
        let mut m = mover(&walk);
        assert_eq!(m.position(at(0.0)).0, Position::new(10.0, 20.0));
        let mut last = m.position(at(0.0)).0;
        let mut places = Vec::new();
        for k in 1..100_000 {
            let p = m.position(at(f64::from(k) * 0.01)).0;
            assert!(
                (-50.0..=80.0).contains(&p.x) && (0.0..=60.0).contains(&p.y),
                "{p:?}"
            );
            assert!(p.from(last) < 0.15 + 1e-9, "{p:?} {last:?}");
            last = p;
            places.push(p);
        }
        // It gets about: both halves of the rectangle, both ways.
        assert!(places.iter().any(|p| p.x < 0.0) && places.iter().any(|p| p.x > 40.0));
        assert!(places.iter().any(|p| p.y < 20.0) && places.iter().any(|p| p.y > 40.0));
        // The same when asked in another order.
        for s in [77.77, 77.0, 76.9, 76.2, 75.0, 78.4] {
            assert_eq!(m.position(at(s)).0, mover(&walk).position(at(s)).0);
        }
        assert_eq!(m.position(at(0.0)).0, Position::new(10.0, 20.0));
    }

    #[test]
    fn folding_reflects() {
        assert_eq!(
            [
                fold(5.0, 0.0, 10.0),
                fold(12.0, 0.0, 10.0),
                fold(-3.0, 0.0, 10.0)
            ],
            [5.0, 8.0, 3.0]
        );
        assert_eq!([fold(23.0, 0.0, 10.0), fold(7.0, 2.0, 2.0)], [3.0, 2.0]);
    }
}
