//! `slackwater bench`: CPU seconds per simulated second.

mod media;

use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};
use serde_json::json;
use slackwater_lab::bench::{CASES, Case, Cost, measure};
use slackwater_lab::validate::beside_ns3::Ns3Run;
use slackwater_results::table::Table;

use crate::ns3::{Ns3, Ns3Args};
use crate::say::say;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Peer {
    /// ns-3's LTE, built and run here
    Ns3,
}

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
    /// In place of that: nanoseconds that a reported packet costs each media controller
    #[arg(long, conflicts_with_all = ["case", "seconds", "lean", "full", "peer"])]
    media: bool,
    /// Only without records
    #[arg(long, conflicts_with = "full")]
    lean: bool,
    /// Only with records
    #[arg(long)]
    full: bool,
    /// Run this simulator as well, turn by turn with ours, in the cases that it can run
    #[arg(long, value_enum)]
    peer: Option<Peer>,
    #[command(flatten)]
    where_ns3: Ns3Args,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// A case, what it costs, and what it costs the peer.
struct Row {
    cost: Cost,
    peer: Option<Ns3Run>,
}

pub(crate) fn bench(args: &BenchArgs) -> Result<ExitCode> {
    if args.media {
        return media::bench(args.runs, args.json);
    }
    let peer = match args.peer {
        None => None,
        Some(Peer::Ns3) => match Ns3::prepare(&args.where_ns3) {
            Ok(ns3) => Some(ns3),
            Err(reason) => {
                eprintln!("without ns-3: {reason}");
                None
            }
        },
    };
    let beside = args.peer.is_some();
    let wanted = |c: &&Case| match &args.case {
        Some(name) => name == c.name,
        None => !beside || c.ns3.is_some(),
    };
    let cases: Vec<&Case> = CASES.iter().filter(wanted).collect();
    if cases.is_empty() {
        let names: Vec<_> = CASES.iter().map(|c| c.name).collect();
        bail!(
            "--case: found {:?}, expected one of {}",
            args.case.as_deref().unwrap_or_default(),
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

    // A process has one greatest resident set: where several things are measured, each gets a process.
    let alone = cases.len() * modes.len() == 1;
    let mut rows: Vec<Row> = vec![];
    for case in cases {
        rows.extend(measured(args, case, &modes, alone, peer.as_ref())?);
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&as_json(&rows)?)?);
    } else if beside {
        crate::terminal::print(&crate::terminal::text(&beside_peer(&rows)));
    } else {
        crate::terminal::print(&crate::terminal::text(&table(&rows)));
    }
    Ok(ExitCode::SUCCESS)
}

/// The least of all repetitions of `case` in each mode; the peer takes its turn in each repetition.
fn measured(
    args: &BenchArgs,
    case: &Case,
    modes: &[bool],
    alone: bool,
    peer: Option<&Ns3>,
) -> Result<Vec<Row>> {
    let mut best: Vec<Option<Cost>> = vec![None; modes.len()];
    let mut best_peer: Option<Ns3Run> = None;
    for _ in 0..args.runs {
        for (best, &lean) in best.iter_mut().zip(modes) {
            let cost = if alone {
                measure(case, args.seconds, lean)?
            } else {
                in_a_process(case.name, args.seconds, lean)?
            };
            if best.as_ref().is_none_or(|b| cost.cost < b.cost) {
                *best = Some(cost);
            }
        }
        let Some((ns3, arguments)) = peer.zip(case.ns3) else {
            continue;
        };
        let run = ns3.run(&peer_arguments(arguments, args.seconds))?;
        if best_peer.as_ref().is_none_or(|b| run.cpu_s < b.cpu_s) {
            best_peer = Some(run);
        }
    }
    let row = |cost| Row {
        cost,
        peer: best_peer.clone(),
    };
    Ok(best.into_iter().flatten().map(row).collect())
}

/// The same time as ours: a tenth of `seconds` first, then `seconds` measured. Ours starts at once, ns-3's UEs attach
/// first. 46 dBm is our cells' default.
fn peer_arguments(case: &[&str], seconds: u64) -> Vec<String> {
    let warm = 0.5 + seconds as f64 * 0.1;
    let mut arguments: Vec<String> = case.iter().map(|a| (*a).to_owned()).collect();
    arguments.extend([
        "--record=false".to_owned(),
        "--power=46".to_owned(),
        format!("--warmup={warm}"),
        format!("--seconds={}", warm + seconds as f64),
    ]);
    arguments
}

/// Measures in a process of its own.
fn in_a_process(case: &str, seconds: u64, lean: bool) -> Result<Cost> {
    let mut program = slackwater_live::program::command().context("this program's own path")?;
    let mode = if lean { "--lean" } else { "--full" };
    let out = program
        .args(["bench", "--case", case, "--runs", "1", "--json", mode])
        .args(["--seconds", &seconds.to_string()])
        .output()
        .with_context(|| format!("bench --case {case}"))?;
    if !out.status.success() {
        bail!(
            "bench --case {case}: {}",
            String::from_utf8_lossy(&out.stderr).trim()
        );
    }
    let costs: Vec<Cost> = serde_json::from_slice(&out.stdout)
        .with_context(|| format!("what bench --case {case} prints"))?;
    costs
        .into_iter()
        .next()
        .with_context(|| format!("bench --case {case}: found no cost, expected one"))
}

fn as_json(rows: &[Row]) -> Result<Vec<serde_json::Value>> {
    rows.iter()
        .map(|r| {
            let mut value = serde_json::to_value(&r.cost)?;
            if let Some(peer) = &r.peer {
                value["ns3"] = json!({
                    "cost": peer.cpu_s / peer.seconds,
                    "cpu_s": peer.cpu_s,
                    "cpu_all_s": peer.cpu_all_s,
                    "goodput_mbps": peer.goodput_mbps(),
                    "peak_kib": peer.peak_kib,
                });
            }
            Ok(value)
        })
        .collect()
}

fn mode(cost: &Cost) -> String {
    if cost.lean { "off" } else { "on" }.to_owned()
}

fn mib(kib: Option<u64>) -> String {
    kib.map_or_else(String::new, |k| format!("{:.0}", k as f64 / 1024.0))
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "case",
        "records",
        "goodput Mbit/s",
        "events/s",
        "CPU ms per s",
        "goal",
        "ratio",
        "wall ms per s",
        "threads",
        "peak MiB",
    ]);
    for Row { cost: c, .. } in rows {
        table.row(&[
            c.case.clone(),
            mode(c),
            format!("{:.1}", c.goodput_mbps),
            format!("{:.0}", c.events_per_s),
            format!("{:.3}", c.cost * 1e3),
            c.goal
                .map_or_else(String::new, |g| format!("{:.3}", g * 1e3)),
            c.goal
                .map_or_else(String::new, |g| format!("{:.2}", c.cost / g)),
            format!("{:.3}", c.wall * 1e3),
            c.threads.to_string(),
            mib(c.peak_kib),
        ]);
    }
    table
}

fn beside_peer(rows: &[Row]) -> Table {
    let mut table = Table::new(&[
        "case",
        "records",
        "ours: goodput",
        "CPU ms per s",
        "peak MiB",
        "ns-3: goodput",
        "CPU ms per s",
        "peak MiB",
        "ns-3 / ours",
    ]);
    for Row { cost: c, peer } in rows {
        let of = |f: fn(&Ns3Run) -> String| peer.as_ref().map_or_else(String::new, f);
        table.row(&[
            c.case.clone(),
            mode(c),
            format!("{:.1}", c.goodput_mbps),
            format!("{:.3}", c.cost * 1e3),
            mib(c.peak_kib),
            of(|p| format!("{:.1}", p.goodput_mbps())),
            of(|p| format!("{:.0}", p.cpu_s / p.seconds * 1e3)),
            of(|p| mib(Some(p.peak_kib))),
            peer.as_ref().map_or_else(String::new, |p| {
                format!("{:.0}", p.cpu_s / p.seconds / c.cost)
            }),
        ]);
    }
    table
}
