//! The senders: Tyrus in every policy that is there, and what it is measured against.

use std::path::{Path, PathBuf};

use slackwater_control::registry;
use slackwater_scenario::build::controller;

use super::super::study::StudyError;
use super::links;

/// A sender of the study.
#[derive(Clone, Debug)]
pub(super) struct Sender {
    /// Short, for names of experiments.
    pub(super) id: String,
    /// As scenarios name it.
    pub(super) controller: String,
    /// In text.
    pub(super) label: String,
    /// For its colour.
    pub(super) colour: String,
    /// Other keys of its scenario.
    pub(super) changes: &'static [(&'static str, &'static str)],
    /// A policy that was trained, with the group of seeds that it belongs to.
    pub(super) group: Option<String>,
}

/// What Tyrus is measured against; the last knows the capacity.
const OTHERS: [(&str, &str); 11] = [
    ("bbr", "BBR"),
    ("cubic", "CUBIC"),
    ("vegas", "Vegas"),
    ("sprout", "Sprout"),
    ("claw", "CLAW"),
    ("pbe", "PBE-CC"),
    ("copa", "Copa"),
    ("rule", "rule"),
    ("rule2", "rule2"),
    ("rule2-acks", "rule2 without PHY"),
    ("oracle", "oracle"),
];

/// The policy that `tyrus` names.
pub(super) fn shipped() -> Sender {
    Sender {
        id: "tyrus".to_owned(),
        controller: "tyrus".to_owned(),
        label: "Tyrus".to_owned(),
        colour: "tyrus".to_owned(),
        changes: &[],
        group: None,
    }
}

/// The poster's system: its network, trained by PPO, over a real QUIC stack, whose reports go in datagrams (RFC 9221).
fn poster() -> Sender {
    Sender {
        id: "poster".to_owned(),
        controller: "tyrus:policy=poster".to_owned(),
        label: "Tyrus, the poster's network over QUIC".to_owned(),
        colour: "tyrus-poster".to_owned(),
        changes: &[
            ("flow.transport", "quinn"),
            ("feedback.carrier", "datagram"),
        ],
        group: None,
    }
}

/// Tyrus as it ships and as the poster has it, and its baselines.
pub(super) fn senders() -> Vec<Sender> {
    let other = |(id, label): (&str, &str)| Sender {
        id: id.to_owned(),
        controller: id.to_owned(),
        label: label.to_owned(),
        colour: id.to_owned(),
        changes: &[],
        group: None,
    };
    [shipped(), poster()]
        .into_iter()
        .chain(OTHERS.into_iter().map(other))
        .collect()
}

/// Every policy below `folder`.
fn below(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for path in entries.flatten().map(|e| e.path()) {
        if path.is_dir() {
            below(&path, out);
        } else if path.extension().is_some_and(|e| e == "safetensors") {
            out.push(path);
        }
    }
}

/// Refuses recordings that the shipped policy or a trained one was trained on.
pub(super) fn unseen() -> Result<(), StudyError> {
    let shipped = registry::shipped();
    let poster = registry::poster();
    links::unseen([("tyrus", &*shipped), ("tyrus:policy=poster", &*poster)].into_iter())?;
    for sender in trained() {
        let file = sender.controller.trim_start_matches("tyrus:policy=");
        // A file that is no policy is named where it is flown.
        if let Ok(policy) = controller::read(Path::new(file)) {
            links::unseen(core::iter::once((file, &policy)))?;
        }
    }
    Ok(())
}

/// Trained policies: those in `models/`, and those that `slackwater train tyrus` left, seed by seed.
pub(super) fn trained() -> Vec<Sender> {
    trained_in(&[Path::new("models"), Path::new("runs/train-tyrus")])
}

fn trained_in(folders: &[&Path]) -> Vec<Sender> {
    let mut files = vec![];
    for folder in folders {
        below(folder, &mut files);
    }
    files.sort();
    files
        .into_iter()
        // Forecasts of `ebb` lie beside policies.
        .filter(|path| controller::read_forecast(path).is_err())
        .map(|path| {
            let shown = path.with_extension("");
            let label = shown.to_string_lossy().replace(['\\', '/'], " ");
            let group = path
                .parent()
                .and_then(Path::parent)
                .filter(|p| !p.as_os_str().is_empty())
                .map_or_else(|| label.clone(), |p| p.to_string_lossy().into_owned());
            Sender {
                id: label.replace(' ', "-"),
                controller: format!("tyrus:policy={}", path.display()),
                label,
                colour: "tyrus".to_owned(),
                changes: &[],
                group: Some(group),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forecasts_of_ebb_in_models_are_no_policies() {
        let models = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
        if !models.join("ebb.safetensors").exists() {
            eprintln!("skipped: no models/ outside of the checkout");
            return;
        }
        let trained = trained_in(&[&models]);
        assert!(trained.len() >= 4, "{trained:?}");
        for sender in trained {
            let file = sender.controller.trim_start_matches("tyrus:policy=");
            let read = controller::read(Path::new(file));
            assert!(read.is_ok(), "{}", read.err().unwrap_or_default());
        }
    }
}
