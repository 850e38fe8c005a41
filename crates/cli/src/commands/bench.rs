//! `slackwater bench`: CPU seconds per simulated second.

use std::process::ExitCode;

use anyhow::{Result, bail};
use clap::Args;
use slackwater_lab::bench::{CASES, Cost, measure};
use slackwater_lab::table::Table;

use crate::say::say;

#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// Only this case (default: all)
    #[arg(long, value_name = "NAME")]
    case: Option<String>,
    /// Simulated seconds per case
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    seconds: u64,
    /// Repetitions; the least is reported
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs: u32,
    /// Only without records
    #[arg(long, conflicts_with = "full")]
    lean: bool,
    /// Only with records
    #[arg(long)]
    full: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn bench(args: &BenchArgs) -> Result<ExitCode> {
    let cases: Vec<_> = CASES
        .iter()
        .filter(|c| args.case.as_deref().is_none_or(|n| n == c.name))
        .collect();
    if cases.is_empty() {
        let names: Vec<_> = CASES.iter().map(|c| c.name).collect();
        bail!(
            "--case: found {:?}, expected one of {}",
            args.case,
            names.join(", ")
        );
    }
    let mut modes = vec![];
    if !args.lean {
        modes.push(false);
    }
    if !args.full {
        modes.push(true);
    }
    let mut costs: Vec<(&str, Cost)> = vec![];
    for case in cases {
        for &lean in &modes {
            let mut best: Option<Cost> = None;
            for _ in 0..args.runs {
                let cost = measure(case, args.seconds, lean)?;
                if best.as_ref().is_none_or(|b| cost.cost < b.cost) {
                    best = Some(cost);
                }
            }
            costs.extend(best.map(|b| (case.what, b)));
        }
    }
    if args.json {
        let rows: Vec<_> = costs.iter().map(|c| &c.1).collect();
        say!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(ExitCode::SUCCESS);
    }
    let mut table = Table::new(&[
        "case",
        "records",
        "goodput Mbit/s",
        "events/s",
        "CPU ms per s",
        "budget",
        "ratio",
        "x ns-3",
    ]);
    for (_, c) in &costs {
        table.row(&[
            c.case.to_owned(),
            if c.lean { "off" } else { "on" }.to_owned(),
            format!("{:.1}", c.goodput_mbps),
            format!("{:.0}", c.events_per_s),
            format!("{:.3}", c.cost * 1e3),
            format!("{:.3}", c.budget * 1e3),
            format!("{:.2}", c.cost / c.budget),
            c.times_ns3.map_or_else(String::new, |x| format!("{x:.0}")),
        ]);
    }
    say!("{}", table.to_string().trim_end());
    Ok(ExitCode::SUCCESS)
}
