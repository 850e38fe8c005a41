//! The links: recorded ones where they are, and our own.

use std::fmt::Write as _;
use std::path::Path;

use slackwater_control::phy::Policy;
use slackwater_core::Draw;
use slackwater_lab::run::RunResult;
use slackwater_scenario::Scenario;
use slackwater_scenario::packed::plain_name;

use super::super::study::{Experiment, Outcome, StudyError, read};
use crate::recordings::{self, recording, trace};

/// What the user does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scene {
    /// Sits.
    Stationary,
    /// Walks or drives.
    Moving,
}

impl Scene {
    pub(super) const ALL: [Self; 2] = [Self::Stationary, Self::Moving];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Stationary => "stationary",
            Self::Moving => "moving",
        }
    }
}

/// A link to measure on.
#[derive(Clone, Debug)]
pub(super) struct Place {
    /// Unique and short.
    pub(super) name: String,
    pub(super) scene: Scene,
    /// Recorded by others, or made here.
    pub(super) recorded: bool,
    /// One bulk flow over this link. It is read once: a recording takes longer to unpack than any change to make.
    scenario: Scenario,
}

/// The name of the experiment of `sender` on `place` in Figure 3.
pub(super) fn experiment_name(place: &Place, sender: &str) -> String {
    format!("fig3/{}-{sender}", place.name)
}

/// Names of recorded traces (none of those that shaped the generator of training links, `gym::pattern::CALIBRATION`), what their users did, and what they are in words.
const RECORDED: [(&str, Scene); 6] = [
    ("downlink-3g-no-cross-times-1.pps", Scene::Stationary),
    ("downlink-3g-with-cross-times-1.pps", Scene::Stationary),
    ("ATT-LTE-driving.down", Scene::Moving),
    ("Verizon-LTE-short.down", Scene::Moving),
    ("trace-3199718-timessquare", Scene::Moving),
    ("trace-3205967-timessquare", Scene::Moving),
];

/// The trace of figure 1: of the recordings that are to be had, the one of a drive.
const DRIVE: &str = "ATT-LTE-driving.down";

/// The links of both scenes; `quick` takes one of each kind.
pub(super) fn all(quick: bool) -> Result<Vec<Place>, StudyError> {
    let mut out = vec![];
    for scene in Scene::ALL {
        let made = if quick { 1 } else { 3 };
        for k in 0..made {
            out.push(Place::own(scene, k)?);
        }
        let named = RECORDED.iter().filter(|r| r.1 == scene);
        let found = named.filter_map(|(name, _)| Some((name, recording(name)?)));
        for (name, path) in found.take(if quick { 1 } else { RECORDED.len() }) {
            out.push(Place::recorded(name, scene, &path)?);
        }
    }
    Ok(out)
}

/// The link of figure 1, and what it is.
pub(super) fn drive() -> Result<Place, StudyError> {
    recording(DRIVE).map_or_else(
        || Place::own(Scene::Moving, 0),
        |path| Place::recorded(DRIVE, Scene::Moving, &path),
    )
}

/// Refuses recordings that one of `policies`, each with its name, was trained on.
pub(super) fn unseen<'a>(
    policies: impl Iterator<Item = (&'a str, &'a Policy)>,
) -> Result<(), StudyError> {
    for (name, policy) in policies {
        let files = policy.metadata().get("trace_files");
        let files: Vec<String> = files
            .and_then(|text| serde_json::from_str(text).ok())
            .unwrap_or_default();
        let used = RECORDED.iter().map(|r| r.0);
        let mut used = used.chain(core::iter::once(DRIVE));
        if let Some(file) = used.find(|r| files.iter().any(|f| plain_name(f) == *r)) {
            return Err(StudyError::InSample {
                file: file.to_owned(),
                policy: name.to_owned(),
            });
        }
    }
    Ok(())
}

/// Why recordings are missing, where they are.
pub(super) fn missing() -> Option<String> {
    recordings::missing(RECORDED.iter().map(|r| r.0))
}

/// Seconds of a link of our own.
const SECONDS: f64 = 180.0;
/// The rate holds for so long, seconds.
const STEP: f64 = 0.02;

/// Link number `k` of `scene`: the logarithm of the rate is a slow and a fast Gauss-Markov process (shadowing and fading);
/// who moves changes more, faster, and has outages. Spreads as in recordings of LTE: 0.2 to 0.7 of a natural logarithm.
fn own(scene: Scene, k: u64) -> String {
    let (slow, fast, outages) = match scene {
        Scene::Stationary => ((0.15, 8.0), (0.2, 0.15), 0.0),
        Scene::Moving => ((0.55, 3.0), (0.4, 0.12), 0.03),
    };
    let draw = Draw::new(0x0054_7972_7573).fork(scene as u64, k);
    let mean = 6.0 * libm::exp(0.5 * k as f64);
    let mut x = [draw.normal(u64::MAX), draw.normal(u64::MAX - 1)];
    let mut until = -1.0;
    let mut points = String::new();
    let steps = (SECONDS / STEP) as u64;
    for i in 0..steps {
        let t = i as f64 * STEP;
        for (j, (_, tau)) in [slow, fast].into_iter().enumerate() {
            let keep = libm::exp(-STEP / tau);
            let drive = libm::sqrt(1.0 - keep * keep);
            x[j] = keep * x[j] + drive * draw.fork(1, j as u64).normal(i);
        }
        if draw.fork(2, 0).uniform(i) < outages * STEP {
            until = t - 0.4 * libm::log(1.0 - draw.fork(3, 0).uniform(i));
        }
        let shift = f64::midpoint(slow.0 * slow.0, fast.0 * fast.0);
        let rate = mean * libm::exp(slow.0 * x[0] + fast.0 * x[1] - shift);
        let rate = if t < until { 0.0 } else { rate.min(200.0) };
        let comma = if i == 0 { "" } else { ", " };
        let _ = write!(points, "{comma}[{t:.2}, {rate:.3}]");
    }
    format!("[link]\nkind = \"series\"\nperiod = \"{SECONDS} s\"\npoints = [{points}]\n")
}

/// What is between the ends of a flow beside the link, and for how long.
#[derive(Clone, Copy, Debug)]
pub(super) struct Around<'a> {
    pub(super) rtt: &'a str,
    /// Packets that the link's queue has room for.
    pub(super) queue: &'a str,
    pub(super) duration: &'a str,
}

impl Place {
    fn own(scene: Scene, k: u64) -> Result<Self, StudyError> {
        let name = format!("own-{}-{}", scene.name(), k + 1);
        Self::new(name, scene, false, &own(scene, k))
    }

    fn recorded(name: &str, scene: Scene, path: &Path) -> Result<Self, StudyError> {
        Self::new(name.to_owned(), scene, true, &trace(path))
    }

    /// `link` is the `[link]` section.
    fn new(name: String, scene: Scene, recorded: bool, link: &str) -> Result<Self, StudyError> {
        let text = format!(
            "name = \"tyrus\"\nduration = \"1 s\"\n{link}queue = {{ kind = \"fifo\", limit = \"1000 packets\" }}\n[feedback]\n[[flow]]\n\
             controller = \"cubic\"\n[record]\ninterval = \"20 ms\"\nqlog = false\n"
        );
        Ok(Self {
            scenario: read(&name, &text)?,
            name,
            scene,
            recorded,
        })
    }

    /// Bulk flows over this link: one, where no change says more.
    pub(super) fn experiment<'a>(
        &self,
        name: impl Into<String>,
        around: Around<'a>,
        changes: impl IntoIterator<Item = (&'a str, &'a str)>,
        reduce: impl Fn(&RunResult, &mut Outcome) + Send + Sync + 'static,
    ) -> Result<Experiment, StudyError> {
        let own = [
            ("path.rtt", around.rtt),
            ("link.queue.limit", around.queue),
            ("duration", around.duration),
        ];
        let all = own.into_iter().chain(changes);
        Experiment::of(name, &self.scenario, all, reduce)
    }
}

#[cfg(test)]
mod tests {
    use slackwater_lab::gym::pattern::CALIBRATION;

    use super::*;

    #[test]
    fn no_recording_of_the_figures_shaped_the_training() {
        assert!(RECORDED.iter().all(|r| !CALIBRATION.contains(&r.0)));
        assert!(!CALIBRATION.contains(&DRIVE));
    }

    #[test]
    fn a_recording_that_was_trained_on_is_refused_by_name() {
        let with = |files: &str| {
            let text = serde_json::json!({
                "__metadata__": {
                    "format": "slackwater-policy", "version": "1", "kind": "residual-linear", "interval_ms": "20",
                    "tbs": "capacity", "bound": "1.5", "z": "0.5", "trace_files": files,
                },
                "residual.weight": { "dtype": "F32", "shape": [1, 14], "data_offsets": [0, 56] },
                "residual.bias": { "dtype": "F32", "shape": [1], "data_offsets": [56, 60] },
            })
            .to_string();
            let mut file = (text.len() as u64).to_le_bytes().to_vec();
            file.extend(text.into_bytes());
            file.extend([0; 60]);
            Policy::from_safetensors(&file).expect("a policy")
        };
        let good = with("[\"home.xz\"]");
        let bad = with("[\"ATT-LTE-driving.down.xz\"]");
        assert!(unseen([("good", &good)].into_iter()).is_ok());
        let refused = unseen([("good", &good), ("bad", &bad)].into_iter()).unwrap_err();
        let words = refused.to_string();
        assert!(
            words.contains("ATT-LTE-driving.down: found a recording that bad was trained on"),
            "{words}"
        );
    }
}
