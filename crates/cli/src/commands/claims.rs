//! `slackwater claims`: what the papers say that can be tested.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use slackwater_papers::Study;
use slackwater_report::paper::{asked_of, short};
use slackwater_results::table::Table;

use super::repro::Paper;
use crate::say::say;

/// `slackwater claims`
#[derive(Debug, Args)]
pub(crate) struct ClaimsArgs {
    /// The paper
    #[arg(value_enum, default_value = "all")]
    paper: Paper,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn claims(args: &ClaimsArgs) -> Result<ExitCode> {
    let studies = args.paper.studies();
    if args.json {
        let papers: Vec<serde_json::Value> = studies.iter().map(|s| json(s)).collect();
        say!("{}", serde_json::to_string_pretty(&papers)?);
        return Ok(ExitCode::SUCCESS);
    }
    for study in studies {
        let ledger = study.ledger();
        if ledger.claims.is_empty() {
            continue;
        }
        let mut table = Table::new(&[
            study.name,
            "where",
            "what the paper says",
            "paper",
            "bound",
            "profiles",
            "figure",
        ]);
        for c in &ledger.claims {
            let (reference, tolerance) = c.bound();
            let profiles: Vec<&str> = c.profiles.iter().map(|p| p.name()).collect();
            let bound = match c.impossible {
                Some(_) => "not tested".to_owned(),
                None => asked_of(&c.unit, reference, tolerance),
            };
            table.row(&[
                c.id.clone(),
                c.place.clone(),
                c.says.clone(),
                short(c.value.value),
                bound,
                profiles.join(", "),
                c.figure.clone(),
            ]);
        }
        say!("{table}");
    }
    Ok(ExitCode::SUCCESS)
}

fn json(study: &Study) -> serde_json::Value {
    let claims: Vec<serde_json::Value> = study
        .ledger()
        .claims
        .iter()
        .map(|c| {
            let (reference, tolerance) = c.bound();
            let profiles: Vec<&str> = c.profiles.iter().map(|p| p.name()).collect();
            serde_json::json!({
                "id": c.id,
                "figure": c.figure,
                "place": c.place,
                "says": c.says,
                "value": c.value.value,
                "unit": c.unit,
                "reference": reference,
                "tolerance": tolerance,
                "because": c.because,
                "profiles": profiles,
                "impossible": c.impossible,
            })
        })
        .collect();
    serde_json::json!({ "paper": study.name, "citation": study.citation, "claims": claims })
}
