//! The ledgers of claims: what they name is measured, and what a quick look comes to is pinned.
//!
//! A verdict that changes is a difference in `tests/snapshots`: look at it, then accept it (`INSTA_UPDATE=always cargo test -p
//! slackwater-papers --test ledger`) in the commit that changed it.

use std::fmt::Write as _;

use slackwater_lab::run::Control;
use slackwater_papers::{ALL, Options, Study, find};
use slackwater_results::check::Verdict;

/// Recordings, without which some figures of Tyrus and aL4S are not made.
fn recordings() -> bool {
    std::env::var_os("SLACKWATER_TRACES").is_some()
}

#[test]
fn every_claim_is_measured_and_every_measure_has_its_claim() {
    for study in ALL {
        for quick in [false, true] {
            let options = Options {
                quick,
                ..Options::default()
            };
            let mut found = study.disagreements(&options).expect("a plan");
            if !recordings() {
                found.retain(|line| !line.contains("no figure is named"));
            }
            assert_eq!(found, [""; 0], "{} (quick: {quick})", study.name);
        }
    }
}

/// Seeds of a quick look: more where a seed costs less.
fn seeds(study: &Study) -> u64 {
    match study.name {
        "xrc" | "al4s" => 3,
        _ => 5,
    }
}

/// A line for each claim and profile. Where a quick look cannot tell, the side on which its mean lies.
fn verdicts(study: &Study) -> String {
    let options = Options {
        seeds: seeds(study),
        max_seeds: 0,
        quick: true,
        claims_only: true,
        ..Options::default()
    };
    let made = study
        .run(&options, &|_, _| Control::Continue)
        .expect("it runs");
    let mut text = String::new();
    for (_, check) in &made.page.claims {
        let verdict = match (check.verdict(), check.holds) {
            (Verdict::CannotTell, true) => "cannot tell, the mean holds",
            (Verdict::CannotTell, false) => "cannot tell, the mean misses",
            (other, _) => other.word(),
        };
        let profile = check.profile.unwrap_or("-");
        let claim = check.claim.as_deref().unwrap_or_default();
        let _ = writeln!(text, "{claim:<40} {profile:<8} {verdict}");
    }
    text
}

fn pin(name: &str) {
    let study = find(name).expect("a study");
    if !study.ledger().claims.is_empty() {
        insta::assert_snapshot!(name, verdicts(study));
    }
}

#[test]
fn a_quick_look_at_xrc_comes_to_the_pinned_verdicts() {
    pin("xrc");
}

#[test]
fn a_quick_look_at_cecc_comes_to_the_pinned_verdicts() {
    pin("cecc");
}

#[test]
fn a_quick_look_at_vaqm_comes_to_the_pinned_verdicts() {
    pin("vaqm");
}

#[test]
fn a_quick_look_at_al4s_comes_to_the_pinned_verdicts() {
    if !recordings() {
        eprintln!("skipped: SLACKWATER_TRACES names no folder of recordings");
        return;
    }
    pin("al4s");
}

#[test]
fn a_quick_look_at_tyrus_comes_to_the_pinned_verdicts() {
    if !recordings() {
        eprintln!("skipped: SLACKWATER_TRACES names no folder of recordings");
        return;
    }
    pin("tyrus");
}
