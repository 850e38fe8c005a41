//! `[[ue]]`: who is in the cell, where, and how the channel is known.

use slackwater_core::{Duration, Rate};
use slackwater_ran::mac::FiveQi;

use crate::data::{CqiFile, LEAST_ROUND, McsFile, Series};
use crate::error::ScenarioError;
use crate::field::{At, Field, section, tagged};
use crate::units::{KmPerHour, Limit, Metres};
use crate::upf::{OwnVaqm, Vaqm};

section! {
    /// Stays where it is.
    pub struct Static {
        /// Distance from the base station.
        #[within(Metres(1.0), Metres(100_000.0))]
        pub distance: Metres = Metres(100.0),
    }
}
section! {
    /// Jumps to a distance drawn uniformly, every period.
    pub struct Steps {
        /// Nearest.
        #[within(Metres(1.0), Metres(100_000.0))]
        pub min: Metres = Metres(60.0),
        /// Farthest.
        #[within(Metres(1.0), Metres(100_000.0))]
        pub max: Metres = Metres(600.0),
        /// Time at each distance.
        #[within(Duration::from_millis(1), Duration::from_secs(100_000))]
        pub period: Duration = Duration::from_secs(2),
    }
    check(me, at) { check_min_max(at, me.min, me.max)?; }
}
section! {
    /// Moves between points in a straight line; stays at the last.
    pub struct Waypoints {
        /// Pairs of seconds and metres from the base station, in rising time.
        pub points: Vec<[f64; 2]>,
    }
    check(me, at) {
        let mut last = -1.0;
        for (i, [t, m]) in me.points.iter().enumerate() {
            if !(*t > last && *t >= 0.0 && *t <= 1e6) {
                return Err(at.error(format!("the time {t} in points[{i}]"), "seconds that rise, from 0 to 1000000"));
            }
            if !(*m >= 1.0 && *m <= 100_000.0) {
                return Err(at.error(format!("the distance {m} in points[{i}]"), "metres from 1 to 100000"));
            }
            last = *t;
        }
        if me.points.is_empty() {
            return Err(at.error("no points", "one point or more"));
        }
    }
}
section! {
    /// Walks in a random direction, turning now and then, inside a ring around the base station.
    pub struct Walk {
        /// Nearest.
        #[within(Metres(1.0), Metres(100_000.0))]
        pub min: Metres = Metres(20.0),
        /// Farthest.
        #[within(Metres(1.0), Metres(100_000.0))]
        pub max: Metres = Metres(500.0),
        /// Speed.
        #[within(KmPerHour(0.0), KmPerHour(500.0))]
        pub speed: KmPerHour = KmPerHour(3.0),
        /// Time between two turns.
        #[within(Duration::from_millis(1), Duration::from_secs(100_000))]
        pub turn: Duration = Duration::from_secs(5),
    }
    check(me, at) { check_min_max(at, me.min, me.max)?; }
}

fn check_min_max(at: &At<'_>, min: Metres, max: Metres) -> Result<(), ScenarioError> {
    if max < min {
        return Err(at.error(
            format!("max = \"{max}\" below min = \"{min}\""),
            "max of at least min",
        ));
    }
    Ok(())
}

tagged! {
    /// How a UE moves.
    pub enum Mobility by "kind" {
        /// Not at all.
        Static(Static) = "static",
        /// In jumps to random distances.
        Steps(Steps) = "steps",
        /// From point to point.
        Waypoints(Waypoints) = "waypoints",
        /// At random, on foot or wheels.
        Walk(Walk) = "walk",
    }
}

section! {
    /// The channel follows from the place: path loss, shadowing, fading, link adaptation.
    pub struct ByPlace {}
}
section! {
    /// Always the same MCS.
    pub struct FixedMcs {
        /// MCS index of the cell's table.
        #[within(0, 28)]
        pub mcs: u8,
    }
}
section! {
    /// The MCS follows a file.
    pub struct McsSeries {
        /// Values from a file.
        pub file: Option<McsFile> = None,
        /// Values given here, as pairs of seconds and value.
        pub points: Vec<[f64; 2]> = Vec::new(),
        /// Start again when the file ends; otherwise the last value holds.
        pub repeat: bool = true,
    }
    check(me, at) {
        check_series(at, me.file.is_some(), &me.points, 28.0)?;
        check_round(at, &me.series(), me.repeat)?;
    }
}
section! {
    /// The CQI follows a file; the MCS follows the CQI.
    pub struct CqiSeries {
        /// Values from a file.
        pub file: Option<CqiFile> = None,
        /// Values given here, as pairs of seconds and value.
        pub points: Vec<[f64; 2]> = Vec::new(),
        /// Start again when the file ends; otherwise the last value holds.
        pub repeat: bool = true,
    }
    check(me, at) {
        check_series(at, me.file.is_some(), &me.points, 15.0)?;
        check_round(at, &me.series(), me.repeat)?;
    }
}

tagged! {
    /// How the channel of a UE is known.
    pub enum Channel by "kind" {
        /// By its place.
        Place(ByPlace) = "place",
        /// A fixed MCS.
        Mcs(FixedMcs) = "mcs",
        /// MCS values from a file.
        McsSeries(McsSeries) = "mcs-series",
        /// CQI values from a file.
        CqiSeries(CqiSeries) = "cqi-series",
    }
}

/// Points must rise in time and hold whole numbers up to `max`; either they or a file must be there.
fn check_series(
    at: &At<'_>,
    file: bool,
    points: &[[f64; 2]],
    max: f64,
) -> Result<(), ScenarioError> {
    if file != points.is_empty() {
        let found = if file {
            "both `file` and `points`"
        } else {
            "neither `file` nor `points`"
        };
        return Err(at.error(found, "one of them"));
    }
    let mut last = -1.0;
    for (i, [t, v]) in points.iter().enumerate() {
        if !(*t > last && *t >= 0.0 && *t <= 1e6) {
            return Err(at.error(
                format!("the time {t} in points[{i}]"),
                "seconds that rise, from 0 to 1000000",
            ));
        }
        if !(*v >= 0.0 && *v <= max && v.fract() == 0.0) {
            return Err(at.error(
                format!("the value {v} in points[{i}]"),
                format!("a whole number from 0 to {max}"),
            ));
        }
        last = *t;
    }
    Ok(())
}

/// A round of nanoseconds would never let the clock get on.
fn check_round(at: &At<'_>, series: &Series, repeat: bool) -> Result<(), ScenarioError> {
    let round = series.round();
    if repeat && round < LEAST_ROUND {
        return Err(at.error(
            format!("a series that repeats each \"{round}\""),
            format!("a round of at least \"{LEAST_ROUND}\""),
        ));
    }
    Ok(())
}

/// The series of a file, or of points.
fn series_of(file: Option<&Series>, points: &[[f64; 2]]) -> Series {
    file.cloned().unwrap_or_else(|| Series {
        times: points
            .iter()
            .map(|p| Duration::from_secs_f64(p[0]))
            .collect(),
        values: points.iter().map(|p| p[1]).collect(),
    })
}

impl Ue {
    /// The vAQM of its session, then of each `QoS` flow of guaranteed rate, where `all` is the function's.
    pub fn vaqm(&self, all: &Vaqm) -> Vec<(Option<u8>, Vaqm)> {
        let session = all.with(&self.vaqm);
        let guaranteed = self.bearers.iter().filter(|b| b.gbr.is_some());
        let flows: Vec<(Option<u8>, Vaqm)> = guaranteed
            .flat_map(|b| b.qfi.iter().map(|q| (Some(*q), session.with(&b.vaqm))))
            .collect();
        core::iter::once((None, session)).chain(flows).collect()
    }

    /// Guaranteed and maximum rate of the `QoS` flow `qfi`, where it has any.
    pub fn guarantee(&self, qfi: u8) -> Option<(Rate, Option<Rate>)> {
        let bearer = self.bearers.iter().find(|b| b.qfi.contains(&qfi))?;
        Some((bearer.gbr?, bearer.mbr))
    }
}

impl McsSeries {
    /// The values, from wherever they come.
    pub fn series(&self) -> Series {
        series_of(self.file.as_ref().map(|f| &*f.series), &self.points)
    }
}

impl CqiSeries {
    /// The values, from wherever they come.
    pub fn series(&self) -> Series {
        series_of(self.file.as_ref().map(|f| &*f.series), &self.points)
    }
}

section! {
    /// A data radio bearer.
    pub struct Bearer {
        /// `QoS` flow identifiers that it carries; every other packet takes the first bearer.
        pub qfi: Vec<u8> = Vec::new(),
        /// Logical channel priority: 1 is served first (38.321, 5.4.3.1).
        #[within(1, 16)]
        pub priority: u8 = 8,
        /// Standardized 5QI (23.501, table 5.7.4-1), whose delay budget and error rate schedulers like EXP/PF go by.
        pub five_qi: u8 = FiveQi::DEFAULT.get(),
        /// Buffer; left out, as `cell.rlc.buffer`.
        pub buffer: Option<Limit> = None,
        /// Guaranteed rate of each of its `QoS` flows (GBR, TS 23.501, 5.7.2.5): vAQM gives each an instance of its own.
        /// Schedulers see it; none of the built-in ones heeds it.
        #[within(Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))]
        pub gbr: Option<Rate> = None,
        /// Their maximum rate (MBR), which vAQM enforces; left out, none.
        #[within(Rate::from_bps(1_000), Rate::from_bps(100_000_000_000))]
        pub mbr: Option<Rate> = None,
        /// What the vAQM of each of its flows of guaranteed rate has of its own; left out, as the session's.
        pub vaqm: OwnVaqm = OwnVaqm::example(),
    }
    check(me, at) {
        if me.gbr.is_some() && me.qfi.is_empty() {
            return Err(at.error("gbr without qfi", "the QFIs that the rate is for"));
        }
        if me.gbr.is_none() && me.vaqm != OwnVaqm::example() {
            return Err(at.error("vaqm without a gbr", "a gbr: other flows share the instance of the session"));
        }
        if me.mbr.is_some_and(|mbr| me.gbr.is_none_or(|gbr| gbr > mbr)) {
            return Err(at.error("mbr without a gbr of at most mbr", "both"));
        }
        if FiveQi::new(me.five_qi).is_none() {
            let values: Vec<String> = FiveQi::values().map(|v| v.to_string()).collect();
            return Err(at.error(
                format!("the 5QI {}", me.five_qi),
                format!("one of {} (23.501, table 5.7.4-1)", values.join(", ")),
            ));
        }
        if let Some(q) = me.qfi.iter().find(|q| **q > 63) {
            return Err(at.error(format!("the QFI {q}"), "0 to 63"));
        }
    }
}

section! {
    /// One UE, or `count` of them.
    pub struct Ue {
        /// How many.
        #[within(1, 100_000)]
        pub count: u32 = 1,
        /// How it moves.
        pub mobility: Mobility = Mobility::Static(Static::example()),
        /// How its channel is known.
        pub channel: Channel = Channel::Place(ByPlace {}),
        /// Speed for fast fading of a UE that does not walk.
        #[within(KmPerHour(0.0), KmPerHour(500.0))]
        pub speed: KmPerHour = KmPerHour(3.0),
        /// Bearers; left out, one.
        pub bearers: Vec<Bearer> = Vec::new(),
        /// Session AMBR, which vAQM enforces; left out, `upf.ambr`.
        #[within(Rate::from_bps(64_000), Rate::from_bps(100_000_000_000))]
        pub ambr: Option<Rate> = None,
        /// What the vAQM of its session has of its own; left out, as `upf.vaqm`.
        pub vaqm: OwnVaqm = OwnVaqm::example(),
    }
    check(me, at) {
        if me.bearers.len() > 8 {
            return Err(at.error(format!("{} bearers", me.bearers.len()), "at most 8"));
        }
    }
}
