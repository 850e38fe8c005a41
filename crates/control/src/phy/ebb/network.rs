//! A small network that foretells quantiles of the next round's rate, with the margins that were found for it. `slackwater train ebb` makes it.
//!
//! # The file
//! Tensors are `F32`, row-major, output first, as those of a policy ([`super::super::policy`]):
//!
//! | tensor | shape |
//! |---|---|
//! | `hidden.weight`, `hidden.bias` | `[24, 14]`, `[24]`; `ReLU` |
//! | `out.weight`, `out.bias` | `[3, 24]`, `[3]`: quantiles 0.25, 0.5 and 0.75 |
//!
//! Metadata (all strings): `format` = `slackwater-policy`, `version` = `1`, `kind` = `ebb-forecast`, the margins `z`, `q_ms` and
//! `within_ms`, and with `alone_` before them those that were found without the network. What else stands there is kept for cards.

use std::collections::BTreeMap;

use super::super::policy::{Dense, PolicyError, Reader, relu};

/// Numbers that the network sees: six blocks, six means, the error of the mixture, and the length of a round.
pub const INPUTS: usize = 14;
/// Neurons of the hidden layer.
const HIDDEN: usize = 24;
/// Quantiles that it foretells.
pub const QUANTILES: [f64; 3] = [0.25, 0.5, 0.75];
/// What `kind` must be.
const KIND: &str = "ebb-forecast";

/// Dials that were found together with a network.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    /// Errors of the forecast that are added to it.
    pub z: f64,
    /// The queue that the radio should hold, ms.
    pub q_ms: f64,
    /// Time within which what is too much or too little is made up, ms.
    pub within_ms: f64,
}

/// A network and its margins.
#[derive(Clone, Debug, PartialEq)]
pub struct Network {
    /// From what is seen.
    hidden: Dense<INPUTS, HIDDEN>,
    /// To the quantiles.
    out: Dense<HIDDEN, { QUANTILES.len() }>,
    /// What was found with it.
    margins: Margins,
    /// What was found without it.
    alone: Margins,
    /// All metadata.
    metadata: BTreeMap<String, String>,
}

impl Network {
    /// Reads a network from the bytes of a safetensors file.
    ///
    /// # Errors
    /// Where the bytes are not safetensors, the metadata name another format or kind, or a tensor has another shape.
    pub fn from_safetensors(bytes: &[u8]) -> Result<Self, PolicyError> {
        let read = Reader::open(bytes)?;
        read.exactly("kind", KIND)?;
        let margins = |[z, q_ms, within_ms]: [&'static str; 3]| -> Result<Margins, PolicyError> {
            Ok(Margins {
                z: read.number(z, "a number from 0 to 5", 0.0..=5.0)?,
                q_ms: read.number(q_ms, "a number from -100 to 1000", -100.0..=1000.0)?,
                within_ms: read.number(within_ms, "a number from 1 to 1000", 1.0..=1000.0)?,
            })
        };
        let with = margins(["z", "q_ms", "within_ms"])?;
        let alone = margins(["alone_z", "alone_q_ms", "alone_within_ms"])?;
        let (w, b) = read.layer("hidden", HIDDEN, INPUTS)?;
        let hidden = Dense::new(&w, &b);
        let (w, b) = read.layer("out", QUANTILES.len(), HIDDEN)?;
        Ok(Self {
            hidden,
            out: Dense::new(&w, &b),
            margins: with,
            alone,
            metadata: read.metadata,
        })
    }

    /// [`QUANTILES`] of how much the rate of the next round exceeds the mixture, in parts of it.
    pub fn quantiles(&self, x: &[f32; INPUTS]) -> [f32; QUANTILES.len()] {
        self.out.apply(&relu(self.hidden.apply(x)))
    }

    /// The margins that were found for it.
    pub const fn margins(&self) -> Margins {
        self.margins
    }

    /// Margins that were found for `ebb` without it.
    pub const fn margins_alone(&self) -> Margins {
        self.alone
    }

    /// All metadata.
    pub const fn metadata(&self) -> &BTreeMap<String, String> {
        &self.metadata
    }
}

#[cfg(test)]
pub(super) mod tests {
    use safetensors::Dtype;
    use safetensors::tensor::TensorView;

    use super::super::super::policy::{FORMAT, VERSION};
    use super::*;

    /// The file of a network whose hidden layer sees nothing, and whose outputs are `bias`.
    pub(crate) fn constant(bias: [f32; QUANTILES.len()], more: &[(&str, &str)]) -> Vec<u8> {
        let bytes =
            |values: &[f32]| -> Vec<u8> { values.iter().flat_map(|v| v.to_le_bytes()).collect() };
        let tensors = [
            (
                "hidden.weight",
                vec![HIDDEN, INPUTS],
                bytes(&[0.0; HIDDEN * INPUTS]),
            ),
            ("hidden.bias", vec![HIDDEN], bytes(&[0.0; HIDDEN])),
            ("out.weight", vec![3, HIDDEN], bytes(&[0.0; 3 * HIDDEN])),
            ("out.bias", vec![3], bytes(&bias)),
        ];
        let views = tensors.iter().map(|(name, shape, data)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), data).expect("it fits");
            (*name, view)
        });
        let metadata: BTreeMap<&str, &str> = [
            ("format", FORMAT),
            ("version", VERSION),
            ("kind", KIND),
            ("z", "0.5"),
            ("q_ms", "3"),
            ("within_ms", "20"),
            ("alone_z", "0.6"),
            ("alone_q_ms", "-1"),
            ("alone_within_ms", "30"),
        ]
        .iter()
        .chain(more)
        .copied()
        .collect();
        let texts = metadata.into_iter().filter(|(_, v)| !v.is_empty());
        let texts = texts.map(|(k, v)| (k.to_owned(), v.to_owned())).collect();
        safetensors::serialize(views, Some(texts)).expect("it is whole")
    }

    #[test]
    fn a_file_is_read_with_its_margins_and_what_is_wrong_is_named() {
        let network = Network::from_safetensors(&constant([-0.1, 0.0, 0.2], &[])).expect("whole");
        assert_eq!(network.quantiles(&[1.0; INPUTS]), [-0.1, 0.0, 0.2]);
        let Margins { z, q_ms, within_ms } = network.margins();
        assert_eq!([z, q_ms, within_ms], [0.5, 3.0, 20.0]);
        let Margins { z, q_ms, within_ms } = network.margins_alone();
        assert_eq!([z, q_ms, within_ms], [0.6, -1.0, 30.0]);

        for (key, value) in [
            ("kind", "mlp"),
            ("z", ""),
            ("q_ms", "5000"),
            ("within_ms", "x"),
            ("alone_z", ""),
        ] {
            let wrong = Network::from_safetensors(&constant([0.0; 3], &[(key, value)]))
                .expect_err("it is wrong");
            assert!(wrong.to_string().contains(&format!("\"{key}\"")), "{wrong}");
        }
        let wrong = Network::from_safetensors(&constant([f32::NAN, 0.0, 0.0], &[]));
        assert!(
            matches!(wrong, Err(PolicyError::NotFinite { .. })),
            "{wrong:?}"
        );
        assert!(Network::from_safetensors(b"no").is_err());
    }
}
