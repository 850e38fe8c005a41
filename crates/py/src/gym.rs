//! Environments for `slackwater.gym`: arrays go over as bytes, which numpy takes without a copy.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};
use serde::Deserialize;
use slackwater_lab::control::phy::ebb::{INPUTS, Network};
use slackwater_lab::control::phy::{Action, ObsMode, Policy};
use slackwater_lab::gym::{self, Actor, Domain, DomainError, Ground, Scheme, batch::action_set};
use slackwater_lab::parallel;

#[expect(clippy::needless_pass_by_value, reason = "as `map_err` hands it over")]
fn wrong(error: DomainError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

/// A scheme as JSON.
#[derive(Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
enum Asked {
    Relative {
        #[serde(default = "bdp")]
        obs: String,
        #[serde(default = "sym")]
        actions: String,
    },
    Residual {
        #[serde(default = "z")]
        z: f64,
        #[serde(default = "bound")]
        bound: f64,
    },
}

fn bdp() -> String {
    "bdp".to_owned()
}

fn sym() -> String {
    "sym".to_owned()
}

const fn z() -> f64 {
    0.5
}

const fn bound() -> f64 {
    1.5
}

pub(crate) fn scheme(text: &str) -> PyResult<Scheme> {
    let asked: Asked = serde_json::from_str(text).map_err(|e| {
        let said = e.to_string();
        let found = said.split(" at line ").next().unwrap_or_default();
        PyValueError::new_err(format!("scheme: found {found}, expected a scheme"))
    })?;
    Ok(match asked {
        Asked::Relative { obs, actions } => Scheme::Relative {
            obs: ObsMode::parse(&obs).ok_or_else(|| {
                wrong(DomainError::new(
                    "obs",
                    obs,
                    "one of literal, scaled, log, bdp",
                ))
            })?,
            actions: action_set(&actions).map_err(wrong)?,
        },
        Asked::Residual { z, bound } => Scheme::Residual { z, bound },
    })
}

fn ground(domain: &str) -> PyResult<Arc<Ground>> {
    let domain = Domain::from_json(domain).map_err(wrong)?;
    Ground::new(domain).map(Arc::new).map_err(wrong)
}

fn policy(bytes: &[u8]) -> PyResult<Policy> {
    Policy::from_safetensors(bytes).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// Numbers as the bytes that numpy reads in place.
fn floats<'py>(py: Python<'py>, values: &[f32]) -> PyResult<Bound<'py, PyBytes>> {
    PyBytes::new_with(py, values.len() * 4, |out| {
        for (out, v) in out.chunks_exact_mut(4).zip(values) {
            out.copy_from_slice(&v.to_ne_bytes());
        }
        Ok(())
    })
}

fn flags<'py>(py: Python<'py>, values: &[bool]) -> PyResult<Bound<'py, PyBytes>> {
    let values: Vec<f32> = values.iter().map(|v| f32::from(u8::from(*v))).collect();
    floats(py, &values)
}

/// Environments in lock step; the interpreter goes on while they run.
#[pyclass(frozen, module = "slackwater")]
pub(crate) struct Batch {
    /// A world may move between threads, but two must not look at it at once.
    inner: Mutex<gym::Batch>,
    count: usize,
    scheme: Scheme,
    actions: Vec<f64>,
}

#[pymethods]
impl Batch {
    #[new]
    #[pyo3(signature = (domain, scheme, count, seed, jobs = None))]
    fn new(
        py: Python<'_>,
        domain: &str,
        scheme: &str,
        count: usize,
        seed: u64,
        jobs: Option<usize>,
    ) -> PyResult<Self> {
        let scheme = self::scheme(scheme)?;
        if count == 0 {
            return Err(PyValueError::new_err("count: found 0, expected at least 1"));
        }
        let jobs = jobs.unwrap_or_else(parallel::cores);
        let made = py.detach(|| {
            let ground = ground(domain)?;
            gym::Batch::new(ground, scheme, count, seed, jobs).map_err(wrong)
        });
        let actions = match scheme {
            Scheme::Relative { actions, .. } => actions.log_ratios(),
            Scheme::Residual { .. } => vec![],
        };
        Ok(Self {
            inner: Mutex::new(made?),
            count,
            scheme,
            actions,
        })
    }

    /// Number of environments.
    #[getter]
    fn count(&self) -> usize {
        self.count
    }

    /// Length of an observation.
    #[getter]
    fn width(&self) -> usize {
        self.scheme.width()
    }

    /// Logarithms of the factors that actions stand for; empty where an action is the logarithm itself.
    #[getter]
    fn log_ratios(&self) -> Vec<f64> {
        self.actions.clone()
    }

    /// Starts environment i with the episode `seeds[i]`.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "PyO3 hands arguments over by value"
    )]
    fn reset(&self, py: Python<'_>, seeds: Vec<u64>) -> PyResult<()> {
        if seeds.len() != self.count {
            let said = format!("seeds: found {}, expected {}", seeds.len(), self.count);
            return Err(PyValueError::new_err(said));
        }
        py.detach(|| self.lock().reset(&seeds)).map_err(wrong)
    }

    /// Float32 `[count, width]`.
    fn observations<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        floats(py, &self.lock().observations())
    }

    /// Takes an action in each environment.
    #[expect(
        clippy::needless_pass_by_value,
        reason = "PyO3 hands arguments over by value"
    )]
    fn step<'py>(&self, py: Python<'py>, actions: Vec<f64>) -> PyResult<Bound<'py, PyDict>> {
        if actions.len() != self.count {
            let said = format!("actions: found {}, expected {}", actions.len(), self.count);
            return Err(PyValueError::new_err(said));
        }
        let actions: Vec<Action> = actions
            .iter()
            .map(|a| self.action(*a))
            .collect::<PyResult<_>>()?;
        let steps = py.detach(|| self.lock().step(&actions)).map_err(wrong)?;
        let out = PyDict::new(py);
        out.set_item("obs", floats(py, &steps.obs)?)?;
        out.set_item("rewards", floats(py, &steps.rewards)?)?;
        out.set_item("truncated", flags(py, &steps.truncated)?)?;
        out.set_item("last", floats(py, &steps.last)?)?;
        Ok(out)
    }

    /// Plays `steps` decisions of a policy in each environment.
    fn rollout<'py>(
        &self,
        py: Python<'py>,
        policy: &[u8],
        steps: usize,
        seed: u64,
    ) -> PyResult<Bound<'py, PyDict>> {
        let policy = self::policy(policy)?;
        let played = py
            .detach(|| self.lock().rollout(&policy, steps, seed))
            .map_err(wrong)?;
        let out = PyDict::new(py);
        for (name, values) in [
            ("obs", &played.obs),
            ("actions", &played.actions),
            ("log_probs", &played.log_probs),
            ("rewards", &played.rewards),
            ("next", &played.next),
        ] {
            out.set_item(name, floats(py, values)?)?;
        }
        out.set_item("truncated", flags(py, &played.truncated)?)?;
        let returns: Vec<u8> = played
            .returns
            .iter()
            .flat_map(|r| r.to_ne_bytes())
            .collect();
        out.set_item("returns", PyBytes::new(py, &returns))?;
        Ok(out)
    }
}

impl Batch {
    fn lock(&self) -> MutexGuard<'_, gym::Batch> {
        // A panic ends a step of one environment between two of its events: the others are whole.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn action(&self, value: f64) -> PyResult<Action> {
        match self.scheme {
            Scheme::Residual { bound, .. } => Ok(Action::Residual(value.clamp(-bound, bound))),
            Scheme::Relative { .. } => {
                let known = self.actions.get(value as usize).filter(|_| value >= 0.0);
                let ratio = known.ok_or_else(|| {
                    let said = format!(
                        "action: found {value}, expected 0 to {}",
                        self.actions.len() - 1
                    );
                    PyValueError::new_err(said)
                })?;
                Ok(Action::LogRatio(*ratio))
            }
        }
    }
}

/// Logarithms of the factors that the actions of a scheme (JSON) stand for; empty where an action is the logarithm itself.
#[pyfunction]
pub(crate) fn log_ratios(scheme: &str) -> PyResult<Vec<f64>> {
    Ok(match self::scheme(scheme)? {
        Scheme::Relative { actions, .. } => actions.log_ratios(),
        Scheme::Residual { .. } => vec![],
    })
}

/// Names of the recordings whose statistics shaped the synthetic links.
#[pyfunction]
pub(crate) fn calibration() -> Vec<&'static str> {
    gym::pattern::CALIBRATION.to_vec()
}

/// What each of `actors` (bytes of a policy file, or names of controllers) gets in each episode, as JSON.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands arguments over by value"
)]
#[pyo3(signature = (domain, actors, seeds, jobs = None))]
pub(crate) fn scores_json(
    py: Python<'_>,
    domain: &str,
    actors: &Bound<'_, PyList>,
    seeds: Vec<u64>,
    jobs: Option<usize>,
) -> PyResult<String> {
    let mut known = vec![];
    for actor in actors {
        known.push(match actor.extract::<String>() {
            Ok(name) => Actor::Named(name),
            Err(_) => Actor::Policy(Arc::new(policy(actor.cast::<PyBytes>()?.as_bytes())?)),
        });
    }
    let jobs = jobs.unwrap_or_else(parallel::cores);
    let ground = ground(domain)?;
    let all = py
        .detach(|| gym::scores(&ground, &known, &seeds, jobs))
        .map_err(wrong)?;
    let rows: Vec<_> = all.chunks(seeds.len().max(1)).collect();
    serde_json::to_string(&rows).map_err(|e| PyValueError::new_err(e.to_string()))
}

/// What `ebb` saw of the offered rate in the episodes of `seeds`, and what then came: float32 `[n, 14]` of what a forecast sees; float32
/// `[n, 2]` of the mixture of rule 3 and of what came, bytes/s; how many of them each episode gave.
#[pyfunction]
#[expect(
    clippy::needless_pass_by_value,
    reason = "PyO3 hands arguments over by value"
)]
#[pyo3(signature = (domain, seeds, jobs = None))]
pub(crate) fn examples<'py>(
    py: Python<'py>,
    domain: &str,
    seeds: Vec<u64>,
    jobs: Option<usize>,
) -> PyResult<(Bound<'py, PyBytes>, Bound<'py, PyBytes>, Vec<usize>)> {
    let jobs = jobs.unwrap_or_else(parallel::cores);
    let ground = ground(domain)?;
    let all = py
        .detach(|| gym::examples(&ground, &seeds, jobs))
        .map_err(wrong)?;
    let counts = all.iter().map(Vec::len).collect();
    let (mut seen, mut rates) = (vec![], vec![]);
    for example in all.iter().flatten() {
        seen.extend(example.inputs);
        rates.extend([example.mixture as f32, example.came as f32]);
    }
    Ok((floats(py, &seen)?, floats(py, &rates)?, counts))
}

/// What the forecast of the bytes of a file makes of each of the inputs `[n, 14]`: float32 `[n, 3]`, quantiles of the excess over the mixture.
#[pyfunction]
pub(crate) fn foretold<'py>(
    py: Python<'py>,
    file: &[u8],
    inputs: &[u8],
) -> PyResult<Bound<'py, PyBytes>> {
    let network =
        Network::from_safetensors(file).map_err(|e| PyValueError::new_err(e.to_string()))?;
    if !inputs.len().is_multiple_of(4 * INPUTS) {
        return Err(PyValueError::new_err(format!(
            "inputs: found {} bytes, expected rows of {INPUTS} float32",
            inputs.len()
        )));
    }
    let out: Vec<f32> = inputs
        .chunks_exact(4 * INPUTS)
        .flat_map(|row| {
            let mut x = [0.0; INPUTS];
            for (x, b) in x.iter_mut().zip(row.chunks_exact(4)) {
                *x = f32::from_ne_bytes([b[0], b[1], b[2], b[3]]);
            }
            network.quantiles(&x)
        })
        .collect();
    floats(py, &out)
}
