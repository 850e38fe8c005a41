//! `slackwater claims`: what the papers say that can be tested.

use std::process::ExitCode;

use anyhow::Result;
use clap::Args;
use slackwater_papers::Study;
use slackwater_report::paper::{bound_of, short};
use slackwater_results::table::{Cell, Column, Table};

use super::repro::Paper;
use crate::say::say;
use crate::terminal::TableArgs;

/// `slackwater claims`
#[derive(Debug, Args)]
pub(crate) struct ClaimsArgs {
    /// The paper
    #[arg(value_enum, default_value = "all")]
    paper: Paper,
    /// Print JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

pub(crate) fn claims(args: &ClaimsArgs) -> Result<ExitCode> {
    let studies = args.paper.studies();
    if args.json {
        let papers: Vec<serde_json::Value> = studies.iter().map(|s| json(s)).collect();
        say!("{}", serde_json::to_string_pretty(&papers)?);
        return Ok(ExitCode::SUCCESS);
    }
    let all = || studies.iter().filter(|s| !s.ledger().claims.is_empty());
    if args.table.csv {
        let mut table = table("claim").all();
        all().for_each(|study| rows(&mut table, study));
        return args.table.print(&table).map(|()| ExitCode::SUCCESS);
    }
    for study in all() {
        let mut table = table(study.name);
        rows(&mut table, study);
        args.table.show(&table)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// A table of claims, whose rows stand under `heading`.
fn table(heading: &str) -> Table {
    Table::with([
        Column::new(heading).key("claim"),
        Column::new("where").rank(3),
        Column::new("what the paper says").key("says"),
        Column::new("paper").rank(2),
        Column::new("bound").rank(1),
        Column::new("profiles").rank(5),
        Column::new("figure").rank(4),
        Column::new("ledger").rank(6).extra(true),
    ])
}

fn rows(table: &mut Table, study: &Study) {
    for c in &study.ledger().claims {
        let (reference, tolerance) = c.bound();
        let profiles: Vec<&str> = c.profiles.iter().map(|p| p.name()).collect();
        let bound = match c.impossible {
            Some(_) => "not tested".to_owned(),
            None => bound_of(&c.unit, reference, tolerance),
        };
        table.cells([
            c.id.as_str().into(),
            c.place.as_str().into(),
            c.says.as_str().into(),
            Cell::shown(short(c.value.value), c.value.value),
            bound.into(),
            profiles.join(", ").into(),
            c.figure.as_str().into(),
            study.name.into(),
        ]);
    }
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
                "note": c.note,
                "profiles": profiles,
                "impossible": c.impossible,
            })
        })
        .collect();
    serde_json::json!({ "paper": study.name, "citation": study.citation, "claims": claims })
}
