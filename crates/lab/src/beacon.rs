//! What is running now: each command that takes long keeps a small file in its folder of results, which a page reads.
//!
//! `running.json` is replaced as a whole at most three times a second and removed at the end. A file whose writer died is
//! told by its age.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use serde::{Deserialize, Serialize};
use slackwater_scenario::bounded;

/// Name of the file in the folder of a command's results.
pub const FILE: &str = "running.json";
/// Time between two writes.
const PERIOD: Duration = Duration::from_millis(330);
/// A file that was not renewed for this long belongs to a command that died.
const DEAD: Duration = Duration::from_secs(15);
/// Points of a curve that are kept.
const POINTS: usize = 600;

/// What a running command says.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Live {
    /// `simulation`, `training`, `emulation`.
    pub kind: String,
    /// The scenario, or what else is under way.
    pub title: String,
    /// Share that is done, 0 to 1; `None` where the end is unknown.
    pub share: Option<f64>,
    /// Seconds since the start.
    pub elapsed_s: f64,
    /// Curves so far.
    pub curves: Vec<LiveCurve>,
}

/// A curve that grows.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LiveCurve {
    /// Name.
    pub name: String,
    /// Unit of `y`.
    pub unit: String,
    /// Where each point stands: seconds, or steps.
    pub x: VecDeque<f64>,
    /// Values.
    pub y: VecDeque<f64>,
}

/// A running command's hand on its file. Dropping it removes the file.
#[derive(Debug)]
pub struct Beacon {
    file: PathBuf,
    begun: Instant,
    written: Option<Instant>,
    live: Live,
}

impl Beacon {
    /// Says that `title` is under way in `folder`, which is made where it does not exist. Nothing here fails: a page that
    /// shows no progress is no reason to end a run.
    pub fn light(folder: &Path, kind: &str, title: &str) -> Self {
        let _ = fs::create_dir_all(folder);
        let mut beacon = Self {
            file: folder.join(FILE),
            begun: Instant::now(),
            written: None,
            live: Live {
                kind: kind.to_owned(),
                title: title.to_owned(),
                ..Live::default()
            },
        };
        beacon.write(true);
        beacon
    }

    /// The share that is done.
    pub fn share(&mut self, share: f64) {
        self.live.share = Some(share);
        self.write(false);
    }

    /// A new point of the curve `name`.
    pub fn point(&mut self, name: &str, unit: &str, x: f64, y: f64) {
        let curves = &mut self.live.curves;
        let at = curves
            .iter()
            .position(|c| c.name == name)
            .unwrap_or_else(|| {
                curves.push(LiveCurve {
                    name: name.to_owned(),
                    unit: unit.to_owned(),
                    ..LiveCurve::default()
                });
                curves.len() - 1
            });
        let curve = &mut curves[at];
        curve.x.push_back(x);
        curve.y.push_back(y);
        if curve.x.len() > POINTS {
            curve.x.pop_front();
            curve.y.pop_front();
        }
        self.write(false);
    }

    fn write(&mut self, now: bool) {
        if !now && self.written.is_some_and(|at| at.elapsed() < PERIOD) {
            return;
        }
        self.written = Some(Instant::now());
        self.live.elapsed_s = self.begun.elapsed().as_secs_f64();
        let Ok(text) = serde_json::to_vec(&self.live) else {
            return;
        };
        // Replaced as a whole: a reader never sees half a file.
        let part = self.file.with_extension("part");
        if fs::write(&part, text).is_ok() {
            let _ = fs::rename(&part, &self.file);
        }
    }
}

impl Drop for Beacon {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.file);
    }
}

/// What the command that keeps `file` says; `None` where the file is gone, is no such file, or was not renewed for so long
/// that its command has died.
pub fn read(file: &Path) -> Option<Live> {
    let written = fs::metadata(file).and_then(|m| m.modified()).ok()?;
    let age = SystemTime::now()
        .duration_since(written)
        .unwrap_or_default();
    if age >= DEAD {
        return None;
    }
    serde_json::from_slice(&bounded::read(file, bounded::DOCUMENT).ok()?).ok()
}
