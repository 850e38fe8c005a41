//! Keys that stood in another place: each is an error that names the new one.

use crate::error::ScenarioError;
use crate::field::At;
use crate::tree::{Entry, Table, Value};

/// Old place and new place; what follows a space says how values changed.
const MOVED: &[(&str, &str)] = &[
    ("feedback.agent", "feedback.xrc.agent"),
    ("feedback.window", "feedback.xrc.window"),
    ("feedback.flow_timeout", "feedback.xrc.flow_timeout"),
    ("feedback.f1_delay", "feedback.xrc.f1_delay"),
    ("feedback.blocks", "feedback.tyrus.blocks"),
    ("feedback.every", "feedback.tyrus.every"),
    ("feedback.loss", "feedback.faults.loss"),
    ("feedback.stop", "feedback.faults.stop"),
    ("feedback.stale", "feedback.faults.stale"),
    ("feedback.rate_scale", "feedback.faults.rate_scale"),
    ("feedback.hol_scale", "feedback.faults.hol_scale"),
    ("upf.detour", "upf.detour.extra"),
    ("upf.detour_period", "upf.detour.period"),
    ("upf.detour_told", "upf.detour.notice"),
    (
        "upf.aqm",
        "upf.vaqm.mode (\"window\" for \"vaqm\", \"off\" for \"none\")",
    ),
    (
        "upf.mode",
        "upf.vaqm.mode (\"measure\" for \"off\", which now means not there)",
    ),
    ("upf.preset", "upf.vaqm.preset"),
    ("upf.fraction", "upf.vaqm.fraction"),
    ("upf.min_target", "upf.vaqm.min_target"),
    ("upf.max_target", "upf.vaqm.max_target"),
    ("upf.module", "upf.vaqm.module"),
    ("upf.police", "upf.vaqm.police"),
    ("upf.cecc", "upf.cecc.mode"),
    ("upf.schedule", "upf.cecc.schedule"),
    ("upf.standard", "upf.cecc.standard"),
    ("upf.margin", "upf.cecc.margin"),
    ("upf.zhuge", "upf.zhuge.on"),
    ("upf.zhuge_window", "upf.zhuge.window"),
    ("upf.zhuge_most", "upf.zhuge.most"),
    ("upf.l4s_marker", "upf.l4s.on"),
    ("upf.l4s_low", "upf.l4s.low"),
    ("upf.l4s_high", "upf.l4s.high"),
    ("upf.l4s_hold", "upf.l4s.hold"),
    ("upf.report_period", "upf.reports.period"),
    ("upf.report_phase", "upf.reports.phase"),
    ("upf.report_delay", "upf.reports.delay"),
    ("upf.report_jitter", "upf.reports.jitter"),
    ("upf.report_loss", "upf.reports.loss"),
    ("upf.report_stop", "upf.reports.stop"),
];

/// Complains about the first key of `root` that stands in its old place.
///
/// # Errors
/// The complaint, with the new place.
pub(super) fn check(at: &At<'_>, root: &Table) -> Result<(), ScenarioError> {
    for (old, new) in MOVED {
        let Some((section, key)) = old.split_once('.') else {
            continue;
        };
        let Some(entry) = entry(root, section, key) else {
            continue;
        };
        // Some sections have the name of an old key.
        if matches!(entry.node.value, Value::Table(_)) {
            continue;
        }
        let mut error = ScenarioError::new(
            *old,
            "a key in its old place",
            format!("the new one: {old} is now {new}"),
        );
        error.locate(at.cx.file, at.cx.text, entry.span.clone());
        return Err(error);
    }
    Ok(())
}

/// The key of a section, where both are there.
fn entry<'a>(root: &'a Table, section: &str, key: &str) -> Option<&'a Entry> {
    let Value::Table(table) = &root.get(section)?.value else {
        return None;
    };
    table.entries.iter().find(|e| e.key == key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Scenario, schema};

    const CELL: &str = "name = \"x\"\nduration = \"1 s\"\n[cell]\n[[flow]]\n";

    /// A value of the kind that the key had.
    fn with(old: &str) -> Result<Scenario, ScenarioError> {
        let base = Scenario::from_toml(CELL, ".").expect("a scenario");
        base.with(old, "\"1 ms\"")
    }

    #[test]
    fn each_old_key_names_its_new_place() {
        for (old, new) in MOVED {
            let error = with(old).expect_err(old).to_string();
            let wanted = format!("{old} is now {new}");
            assert!(error.contains(&wanted), "{error}");
            assert!(error.starts_with("--set: "), "{error}");
        }
    }

    #[test]
    fn each_new_place_exists() {
        let schema = schema();
        for (_, new) in MOVED {
            let path = new.split(' ').next().unwrap_or_default();
            let mut node = &schema;
            for part in path.split('.') {
                node = &node["properties"][part];
            }
            assert!(!node.is_null(), "{path}");
        }
    }

    #[test]
    fn a_file_gets_line_and_column() {
        let text = format!("{CELL}[upf]\nn3 = \"1 ms\"\nmargin = \"1 ms\"\n");
        let error = Scenario::parse("x.toml", &text, std::path::Path::new("."));
        let error = error.expect_err("an old key").to_string();
        let wanted = "x.toml:7:1: upf.margin: found a key in its old place, expected the new one: \
                      upf.margin is now upf.cecc.margin";
        assert_eq!(error, wanted);
    }

    #[test]
    fn a_list_of_values_names_the_new_place_too() {
        let text = format!("{CELL}[vary]\n\"upf.cecc\" = [\"off\", \"hold\"]\n");
        let error = Scenario::from_toml(&text, ".").expect_err("an old key");
        assert_eq!(error.key, "vary.upf.cecc");
        assert!(
            error.expected.contains("upf.cecc is now upf.cecc.mode"),
            "{error}"
        );
    }
}
