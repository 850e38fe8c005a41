//! Policies: small networks computed by hand, with weights from safetensors bytes.
//!
//! Tyrus's network has three hidden layers of 16 neurons with `ReLU` (Tyrus, section 2, "Neural Network"). Beside it stand
//! the residual policies: a weighted sum of features, or one hidden layer of eight tanh neurons, that correct a rule.
//!
//! # The file
//! Tensors are `F32`, row-major, output first, as `PyTorch`'s `Linear` keeps them. A running normaliser of the inputs is
//! folded into the first layer before a policy is written.
//!
//! | kind | tensors |
//! |---|---|
//! | `mlp` | `layer0.weight` `[16, 5]`, `layer0.bias` `[16]`, `layer1.*` and `layer2.*` `[16, 16]`, `head.weight` `[actions, 16]`, `head.bias` |
//! | `residual-linear` | `residual.weight` `[1, 14]`, `residual.bias` `[1]` |
//! | `residual-tanh` | `hidden.weight` `[8, 14]`, `hidden.bias` `[8]`, `out.weight` `[1, 8]`, `out.bias` `[1]` |
//!
//! Metadata (all strings): `format` = `slackwater-policy`, `version` = `1`, `kind`, `interval_ms`, `tbs` (`capacity`,
//! `allocated` or `allocated+idle`), and for `mlp` also `obs`, `actions`, `choice` (`greedy`, `mean` or `sample:SEED`); for
//! residual policies `bound` and `z`. What else stands there (seeds, reward, hashes of traces, revision) is kept for cards.

use core::fmt;
use std::collections::BTreeMap;

use safetensors::{Dtype, SafeTensors};
use slackwater_core::{Draw, Duration};

use super::action::{Action, ActionSet, Choice, MAX_ACTIONS};
use super::observe::{FEATURES, INPUTS, ObsMode, Signals, features, inputs, is_finite};

/// Neurons of a hidden layer (Tyrus, section 2).
pub const HIDDEN: usize = 16;
/// Neurons of the residual network's hidden layer.
const TANH: usize = 8;
/// Outputs are computed so many at a time.
const LANES: usize = 8;
/// What `format` must say.
pub const FORMAT: &str = "slackwater-policy";
/// What `version` must say.
pub const VERSION: &str = "1";

/// Why a file is no policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PolicyError {
    /// The bytes are not safetensors; the reader's words.
    NotSafetensors(String),
    /// A metadata key is absent or says something else.
    Metadata {
        /// The key.
        key: &'static str,
        /// What it says; `None` where it is absent.
        found: Option<String>,
        /// What it may say.
        expected: &'static str,
    },
    /// A tensor is absent or has another shape or type.
    Tensor {
        /// Its name.
        name: String,
        /// What was found.
        found: String,
        /// The shape that is expected.
        expected: String,
    },
    /// A weight is not a finite number.
    NotFinite {
        /// The tensor.
        name: String,
    },
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotSafetensors(why) => write!(f, "not a safetensors file: {why}"),
            Self::Metadata {
                key,
                found: None,
                expected,
            } => {
                write!(f, "metadata \"{key}\" is missing; expected {expected}")
            }
            Self::Metadata {
                key,
                found: Some(found),
                expected,
            } => {
                write!(
                    f,
                    "metadata \"{key}\": found \"{found}\", expected {expected}"
                )
            }
            Self::Tensor {
                name,
                found,
                expected,
            } => {
                write!(f, "tensor \"{name}\": found {found}, expected {expected}")
            }
            Self::NotFinite { name } => {
                write!(f, "tensor \"{name}\" holds a weight that is not finite")
            }
        }
    }
}

impl core::error::Error for PolicyError {}

/// A layer: for each input the weights of all outputs side by side, so that one input updates all outputs at once.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::phy) struct Dense<const I: usize, const O: usize> {
    weight: [[f32; O]; I],
    bias: [f32; O],
}

impl<const I: usize, const O: usize> Dense<I, O> {
    #[inline]
    pub(in crate::phy) fn apply(&self, x: &[f32; I]) -> [f32; O] {
        let mut y = self.bias;
        for (row, &x) in self.weight.iter().zip(x) {
            for (y, &w) in y.iter_mut().zip(row) {
                *y += w * x;
            }
        }
        y
    }

    /// From an output-major matrix.
    pub(in crate::phy) fn new(weight: &[f32], bias: &[f32]) -> Self {
        let mut layer = Self {
            weight: [[0.0; O]; I],
            bias: [0.0; O],
        };
        layer.bias.copy_from_slice(bias);
        for (o, row) in weight.chunks_exact(I).enumerate() {
            for (i, &w) in row.iter().enumerate() {
                layer.weight[i][o] = w;
            }
        }
        layer
    }
}

pub(in crate::phy) fn relu<const N: usize>(x: [f32; N]) -> [f32; N] {
    x.map(|v| v.max(0.0))
}

/// Tyrus's network: five inputs, three hidden layers of sixteen, an output for each action.
#[derive(Clone, Debug, PartialEq)]
pub struct Mlp {
    first: Dense<INPUTS, HIDDEN>,
    second: Dense<HIDDEN, HIDDEN>,
    third: Dense<HIDDEN, HIDDEN>,
    /// Outputs in groups of [`LANES`]; the last is filled up.
    head: Vec<Dense<HIDDEN, LANES>>,
    actions: usize,
}

impl Mlp {
    /// Weights as `PyTorch` keeps them: output-major matrices, each with its bias, the head's rows being the actions.
    fn new(layers: [(&[f32], &[f32]); 4]) -> Self {
        let [a, b, c, (weight, bias)] = layers;
        let head = weight
            .chunks(HIDDEN * LANES)
            .zip(bias.chunks(LANES))
            .map(|(weight, bias)| {
                let mut w = [0.0; HIDDEN * LANES];
                let mut b = [0.0; LANES];
                w[..weight.len()].copy_from_slice(weight);
                b[..bias.len()].copy_from_slice(bias);
                Dense::new(&w, &b)
            });
        Self {
            first: Dense::new(a.0, a.1),
            second: Dense::new(b.0, b.1),
            third: Dense::new(c.0, c.1),
            head: head.collect(),
            actions: bias.len(),
        }
    }

    /// The outputs (logits) of `x`, of which the first [`Mlp::actions`] count.
    #[inline]
    pub fn forward(&self, x: &[f32; INPUTS]) -> [f32; MAX_ACTIONS] {
        let h = relu(self.first.apply(x));
        let h = relu(self.second.apply(&h));
        let h = relu(self.third.apply(&h));
        let mut out = [0.0; MAX_ACTIONS];
        for (out, group) in out.chunks_exact_mut(LANES).zip(&self.head) {
            out.copy_from_slice(&group.apply(&h));
        }
        out
    }

    /// How many actions it chooses from.
    pub const fn actions(&self) -> usize {
        self.actions
    }
}

/// What computes a correction of a rule.
#[derive(Clone, Debug, PartialEq)]
enum Residual {
    Linear(Box<Dense<FEATURES, 1>>),
    Tanh(Box<(Dense<FEATURES, TANH>, Dense<TANH, 1>)>),
}

impl Residual {
    fn forward(&self, x: &[f32; FEATURES]) -> f32 {
        match self {
            Self::Linear(layer) => layer.apply(x)[0],
            Self::Tanh(layers) => {
                let h = layers.0.apply(x).map(libm::tanhf);
                layers.1.apply(&h)[0]
            }
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
enum Kind {
    Mlp {
        net: Box<Mlp>,
        obs: ObsMode,
        /// Logarithms of the factors, by action.
        ratios: Vec<f64>,
        set: ActionSet,
        choice: Choice,
    },
    Residual {
        net: Residual,
        bound: f64,
    },
}

/// What the transport blocks of a feed count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TbsMode {
    /// What the link could have carried.
    #[default]
    Capacity,
    /// What was scheduled for this UE.
    Allocated,
    /// That, and a share of what nobody used.
    AllocatedIdle,
    /// Nothing: rates come from the ACKs.
    Absent,
}

impl TbsMode {
    /// The mode called `name`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "capacity" => Self::Capacity,
            "allocated" => Self::Allocated,
            "allocated+idle" => Self::AllocatedIdle,
            "none" => Self::Absent,
            _ => return None,
        })
    }

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capacity => "capacity",
            Self::Allocated => "allocated",
            Self::AllocatedIdle => "allocated+idle",
            Self::Absent => "none",
        }
    }
}

/// A policy as it ships: network, scales, actions, interval.
#[derive(Clone, Debug, PartialEq)]
pub struct Policy {
    kind: Kind,
    interval: Duration,
    tbs: TbsMode,
    /// Margin of the rule below a residual policy.
    z: f64,
    metadata: BTreeMap<String, String>,
}

impl Policy {
    /// Reads a policy from the bytes of a safetensors file.
    ///
    /// # Errors
    /// Where the bytes are not safetensors, metadata says another format, or a tensor has another shape.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self, PolicyError> {
        let read = Reader::open(bytes)?;
        let interval = read.number("interval_ms", "a number from 1 to 1000", 1.0..=1000.0)?;
        let tbs = read.parsed(
            "tbs",
            "one of capacity, allocated, allocated+idle, none",
            TbsMode::parse,
        )?;
        let kind = read.parsed("kind", "one of mlp, residual-linear, residual-tanh", |k| {
            Some(k.to_owned())
        })?;
        let (kind, z) = match kind.as_str() {
            "mlp" => (read.mlp()?, super::margin::Z_PHY),
            "residual-linear" => {
                let (w, b) = read.layer("residual", 1, FEATURES)?;
                let net = Residual::Linear(Box::new(Dense::new(&w, &b)));
                read.residual(net)?
            }
            "residual-tanh" => {
                let (w, b) = read.layer("hidden", TANH, FEATURES)?;
                let hidden = Dense::new(&w, &b);
                let (w, b) = read.layer("out", 1, TANH)?;
                read.residual(Residual::Tanh(Box::new((hidden, Dense::new(&w, &b)))))?
            }
            other => {
                return Err(PolicyError::Metadata {
                    key: "kind",
                    found: Some(other.to_owned()),
                    expected: "one of mlp, residual-linear, residual-tanh",
                });
            }
        };
        Ok(Self {
            kind,
            interval: Duration::from_secs_f64(interval / 1e3),
            tbs,
            z,
            metadata: read.metadata,
        })
    }

    /// The residual policy that leaves the rule alone.
    pub fn zero_residual() -> Self {
        let net = Residual::Linear(Box::new(Dense {
            weight: [[0.0]; FEATURES],
            bias: [0.0],
        }));
        Self {
            kind: Kind::Residual { net, bound: 1.5 },
            interval: Duration::from_millis(10),
            tbs: TbsMode::Capacity,
            z: super::margin::Z_PHY,
            metadata: BTreeMap::new(),
        }
    }

    /// Time between decisions.
    pub const fn interval(&self) -> Duration {
        self.interval
    }

    /// What the feed that it was trained on counts.
    pub const fn tbs(&self) -> TbsMode {
        self.tbs
    }

    /// Margin of the rule that a residual policy corrects (see [`super::rule::Rule2`]).
    pub const fn z(&self) -> f64 {
        self.z
    }

    /// The network and its scale, for a policy of actions.
    pub fn mlp(&self) -> Option<(&Mlp, ObsMode)> {
        match &self.kind {
            Kind::Mlp { net, obs, .. } => Some((net, *obs)),
            Kind::Residual { .. } => None,
        }
    }

    /// The set of actions, for a policy of actions.
    pub const fn actions(&self) -> Option<ActionSet> {
        match &self.kind {
            Kind::Mlp { set, .. } => Some(*set),
            Kind::Residual { .. } => None,
        }
    }

    /// All metadata.
    pub const fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }

    /// The answer to `signals` as decision number `decision`; `None` where an input or output is not finite.
    pub fn act(&self, signals: &Signals, decision: u64) -> Option<Action> {
        if !signals.is_finite() {
            return None;
        }
        match &self.kind {
            Kind::Mlp {
                net,
                obs,
                ratios,
                choice,
                ..
            } => {
                let x = inputs(*obs, signals);
                let out = net.forward(&x);
                let out = &out[..ratios.len()];
                if !is_finite(out) {
                    return None;
                }
                Some(Action::LogRatio(choose(*choice, out, ratios, decision)))
            }
            Kind::Residual { net, bound } => {
                let x = features(signals);
                let y = net.forward(&x);
                if !y.is_finite() {
                    return None;
                }
                Some(Action::Residual(f64::from(y).clamp(-bound, *bound)))
            }
        }
    }
}

/// The logarithm of the factor that `choice` takes from the outputs.
fn choose(choice: Choice, out: &[f32], ratios: &[f64], decision: u64) -> f64 {
    let mut best = 0;
    for (i, v) in out.iter().enumerate() {
        if *v > out[best] {
            best = i;
        }
    }
    if choice == Choice::Greedy {
        return ratios[best];
    }
    let weight = |v: f32| f64::from(libm::expf(v - out[best]));
    let total: f64 = out.iter().map(|&v| weight(v)).sum();
    match choice {
        Choice::Greedy => ratios[best],
        Choice::Mean => {
            let sum: f64 = out.iter().zip(ratios).map(|(&v, r)| weight(v) * r).sum();
            sum / total
        }
        Choice::Sample { seed } => {
            let mut left = Draw::new(seed).uniform(decision) * total;
            for (&v, &ratio) in out.iter().zip(ratios) {
                left -= weight(v);
                if left < 0.0 {
                    return ratio;
                }
            }
            ratios[ratios.len() - 1]
        }
    }
}

/// Reads what a file must hold.
pub(in crate::phy) struct Reader<'a> {
    /// Its tensors.
    file: SafeTensors<'a>,
    /// Its metadata.
    pub(in crate::phy) metadata: BTreeMap<String, String>,
}

impl<'a> Reader<'a> {
    /// Opens the bytes of a safetensors file of our format.
    pub(in crate::phy) fn open(bytes: &'a [u8]) -> Result<Self, PolicyError> {
        let wrong = |e: safetensors::SafeTensorError| PolicyError::NotSafetensors(e.to_string());
        let file = SafeTensors::deserialize(bytes).map_err(wrong)?;
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(wrong)?;
        let texts = header.metadata().iter().flatten();
        let read = Self {
            file,
            metadata: texts.map(|(k, v)| (k.clone(), v.clone())).collect(),
        };
        read.exactly("format", FORMAT)?;
        read.exactly("version", VERSION)?;
        Ok(read)
    }

    fn parsed<T>(
        &self,
        key: &'static str,
        expected: &'static str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<T, PolicyError> {
        let found = self.metadata.get(key);
        found
            .and_then(|v| parse(v))
            .ok_or_else(|| PolicyError::Metadata {
                key,
                found: found.cloned(),
                expected,
            })
    }

    pub(in crate::phy) fn exactly(
        &self,
        key: &'static str,
        value: &'static str,
    ) -> Result<(), PolicyError> {
        self.parsed(key, value, |v| (v == value).then_some(()))
    }

    pub(in crate::phy) fn number(
        &self,
        key: &'static str,
        expected: &'static str,
        range: core::ops::RangeInclusive<f64>,
    ) -> Result<f64, PolicyError> {
        self.parsed(key, expected, |v| {
            v.parse().ok().filter(|v| range.contains(v))
        })
    }

    fn tensor(&self, name: &str, shape: &[usize]) -> Result<Vec<f32>, PolicyError> {
        let wrong = |found: String| PolicyError::Tensor {
            name: name.to_owned(),
            found,
            expected: format!("F32 {shape:?}"),
        };
        let view = self
            .file
            .tensor(name)
            .map_err(|_| wrong("nothing".to_owned()))?;
        if view.dtype() != Dtype::F32 || view.shape() != shape {
            return Err(wrong(format!("{:?} {:?}", view.dtype(), view.shape())));
        }
        let number = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
        let values: Vec<f32> = view.data().chunks_exact(4).map(number).collect();
        if is_finite(&values) {
            Ok(values)
        } else {
            Err(PolicyError::NotFinite {
                name: name.to_owned(),
            })
        }
    }

    pub(in crate::phy) fn layer(
        &self,
        name: &str,
        out: usize,
        inputs: usize,
    ) -> Result<(Vec<f32>, Vec<f32>), PolicyError> {
        let weight = self.tensor(&format!("{name}.weight"), &[out, inputs])?;
        let bias = self.tensor(&format!("{name}.bias"), &[out])?;
        Ok((weight, bias))
    }

    fn mlp(&self) -> Result<Kind, PolicyError> {
        let obs = self.parsed("obs", "one of literal, scaled, log, bdp", ObsMode::parse)?;
        let set = self.parsed("actions", "one of L0, L, F, sym", ActionSet::parse)?;
        let choice = self.parsed("choice", "greedy, mean or sample:SEED", |v| match v {
            "greedy" => Some(Choice::Greedy),
            "mean" => Some(Choice::Mean),
            _ => {
                let seed = v.strip_prefix("sample:")?.parse().ok()?;
                Some(Choice::Sample { seed })
            }
        })?;
        let ratios = set.log_ratios();
        let a = self.layer("layer0", HIDDEN, INPUTS)?;
        let b = self.layer("layer1", HIDDEN, HIDDEN)?;
        let c = self.layer("layer2", HIDDEN, HIDDEN)?;
        let d = self.layer("head", ratios.len(), HIDDEN)?;
        let net = Mlp::new([(&a.0, &a.1), (&b.0, &b.1), (&c.0, &c.1), (&d.0, &d.1)]);
        Ok(Kind::Mlp {
            net: Box::new(net),
            obs,
            ratios,
            set,
            choice,
        })
    }

    fn residual(&self, net: Residual) -> Result<(Kind, f64), PolicyError> {
        let bound = self.number("bound", "a number from 0 to 4", 0.0..=4.0)?;
        let z = self.number("z", "a number from 0 to 4", 0.0..=4.0)?;
        Ok((Kind::Residual { net, bound }, z))
    }
}

#[cfg(test)]
mod tests;
