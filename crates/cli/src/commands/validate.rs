//! `slackwater validate`: our simulations beside measurements of other systems.

mod beside_ns3;
#[cfg(target_os = "linux")]
mod live;

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;
use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunError};
use slackwater_lab::validate::{Reference, ValidateError, validate as compare};
use slackwater_results::check::Check;
use slackwater_results::stats::Estimate;
use slackwater_results::table::Table;

use beside_ns3::{BesideNs3, Group};

use crate::ns3::{Ns3, Ns3Args};
use crate::progress;
use crate::say::say;
use crate::terminal;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    /// Kernel TCP over a 12 Mbit/s link
    Linux,
    /// ns-3 LTE, its channel replayed
    Ns3Lte,
    /// What ns-3's link adaptation gives by distance
    Ns3LteRates,
    /// ns-3 LTE with our own path loss and link adaptation
    Ns3LteOwn,
    /// 5G-LENA, VR flows
    Ns3Nr,
    /// Everything
    All,
}

#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// What to compare with
    #[arg(value_enum, default_value = "all")]
    with: Which,
    /// Run ns-3 here and now, and ours on the channels that it wrote, in place of stored measurements
    #[arg(long, conflicts_with = "with", group = "now")]
    ns3: bool,
    #[command(flatten)]
    where_ns3: Ns3Args,
    #[command(flatten)]
    beside_ns3: BesideNs3,
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print Markdown, as in docs/validation
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
    /// Run this kernel's reno, cubic and bbr through the emulator, in real time, beside ours (needs root)
    #[arg(long, conflicts_with = "with", group = "now")]
    live: bool,
    /// Two short repeats in place of four
    #[arg(long, requires = "live")]
    quick: bool,
    /// Repeats of each run of the kernel (4 where left out), or of ns-3 on each channel (2)
    #[arg(long, requires = "now", value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100))]
    repeats: Option<u64>,
    /// Emulations at once; a run in which the emulator came late is void, and repeated
    #[arg(long, requires = "live", value_name = "N", default_value_t = parallel::cores())]
    at_once: usize,
    /// Cases beside the kernel or ns-3, by name; all where left out
    #[arg(long, requires = "now", value_name = "NAME", value_delimiter = ',')]
    case: Vec<String>,
    /// Live controllers, by name; all where left out
    #[arg(long, requires = "live", value_name = "NAME", value_delimiter = ',')]
    controller: Vec<String>,
}

pub(crate) fn validate(args: &ValidateArgs) -> Result<ExitCode> {
    if args.live {
        #[cfg(target_os = "linux")]
        return live::validate(args);
        #[cfg(not(target_os = "linux"))]
        return super::refuse("--live");
    }
    progress::catch_interrupts();
    if args.ns3 {
        return ns3(args);
    }
    let references = match args.with {
        Which::Linux => vec![Reference::Linux],
        Which::Ns3Lte => vec![Reference::Ns3Lte],
        Which::Ns3LteRates => vec![Reference::Ns3LteRates],
        Which::Ns3LteOwn => vec![Reference::Ns3LteOwn],
        Which::Ns3Nr => vec![Reference::Ns3Nr],
        Which::All => Reference::ALL.to_vec(),
    };
    let go = |_: usize, _: f64| {
        if progress::interrupted() {
            Control::Stop
        } else {
            Control::Continue
        }
    };
    let (mut all, wanted) = (vec![], references.len());
    let bar = progress::bar(wanted);
    bar.set_message("comparing with references".to_owned());
    for reference in references {
        match compare(reference, &go) {
            Ok(checks) => {
                all.push((reference, checks));
                bar.inc(progress::STEPS);
            }
            // Those that are whole are shown.
            Err(ValidateError::Run(RunError::Interrupted)) if !all.is_empty() => break,
            Err(error) => return Err(error.into()),
        }
    }
    bar.finish_and_clear();
    let checks = || all.iter().flat_map(|a| &a.1);
    if args.json {
        let rows: Vec<_> = all
            .iter()
            .map(|(r, checks)| json!({ "reference": r.name(), "title": r.title(), "checks": checks }))
            .collect();
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        for (reference, checks) in &all {
            let command = format!("slackwater validate {}", reference.name());
            section(reference.title(), &command, checks, args.markdown);
        }
    }
    Ok(cut(all.len(), wanted, "references").unwrap_or_else(|| verdict(checks(), args)))
}

/// The status of a check that was interrupted with `whole` of `wanted` of its `parts` whole, and says so; `None` where all are.
fn cut(whole: usize, wanted: usize, parts: &str) -> Option<ExitCode> {
    (whole < wanted).then(|| {
        eprintln!("slackwater: interrupted with {whole} of {wanted} {parts} whole");
        ExitCode::from(130)
    })
}

/// Beside ns-3, run now; where there is none, the reason.
fn ns3(args: &ValidateArgs) -> Result<ExitCode> {
    let cases = beside_ns3::cases(&args.case)?;
    let ns3 = match Ns3::prepare(&args.where_ns3) {
        Ok(ns3) => ns3,
        Err(reason) if args.json => {
            say!("{}", json!({ "skipped": reason }));
            return Ok(ExitCode::SUCCESS);
        }
        Err(reason) => {
            say!("skipped: {reason}");
            return Ok(ExitCode::SUCCESS);
        }
    };
    let groups = args.beside_ns3.run(&ns3, &cases, args.repeats)?;
    if args.json {
        let rows: Vec<_> = groups
            .iter()
            .map(|g| json!({ "case": g.case.name, "release": ns3.release, "checks": g.checks, "counted": g.remark }))
            .collect();
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        for Group {
            case,
            checks,
            remark,
        } in &groups
        {
            let title = format!(
                "{}, {} and `{}`: {} UE(s), RLC {}",
                ns3.release,
                case.tcp,
                case.controller,
                case.ues,
                case.rlc.to_uppercase()
            );
            let command = format!("slackwater validate --ns3 --case {}", case.name);
            section(&title, &command, checks, args.markdown);
            say!("{remark}\n");
        }
    }
    let checks = groups.iter().flat_map(|g| &g.checks);
    Ok(cut(groups.len(), cases.len(), "cases").unwrap_or_else(|| verdict(checks, args)))
}

/// Failure where a number misses and no cause of it is known.
fn verdict<'a>(checks: impl Iterator<Item = &'a Check> + Clone, args: &ValidateArgs) -> ExitCode {
    let missed = checks.clone().filter(|c| !c.holds);
    let unexplained = missed.filter(|c| c.note.is_none()).count();
    if !args.json && !args.markdown {
        say!(
            "{} of {} checks hold; of the misses {unexplained} have no known cause",
            checks.clone().filter(|c| c.holds).count(),
            checks.count()
        );
    }
    ExitCode::from(u8::from(unexplained > 0))
}

/// One table, and below it why what misses does.
fn section(title: &str, command: &str, checks: &[Check], as_markdown: bool) {
    if as_markdown {
        say!("## {title}\n");
        say!("`{command} --markdown`\n");
        say!("| | reference | ours | difference | tolerance | |\n|---|---|---|---|---|---|");
        for c in checks {
            say!("| {} |", row(c).join(" | "));
        }
        say!();
    } else {
        say!("{title}");
        let mut table = Table::new(&["", "reference", "ours", "difference", "tolerance", ""]);
        for c in checks {
            table.cells(terminal::judged(&row(c), c.holds));
        }
        say!("{}", crate::terminal::text(&table));
    }
    for (cause, names) in causes(checks) {
        say!("- {}: {cause}.", names.join(", "));
    }
    if checks.iter().any(Check::misses) {
        say!();
    }
}

/// What misses, by cause, in the order of the first miss of each.
fn causes(checks: &[Check]) -> Vec<(&str, Vec<&str>)> {
    let mut out: Vec<(&str, Vec<&str>)> = Vec::new();
    for c in checks.iter().filter(|c| !c.holds) {
        let cause = c.note.as_deref().unwrap_or("cause not known");
        match out.iter_mut().find(|o| o.0 == cause) {
            Some(o) => o.1.push(&c.name),
            None => out.push((cause, vec![&c.name])),
        }
    }
    out
}

fn row(c: &Check) -> [String; 6] {
    let ours = Estimate {
        mean: c.ours,
        interval: c.interval,
        n: c.seeds.unwrap_or(1),
    };
    [
        c.name.clone(),
        format!("{} {}", reference(c), c.unit),
        format!("{} {}", ours.text(2), c.unit),
        format!("{:+.1} %", c.difference_percent()),
        c.tolerance_text(),
        if c.holds { "holds" } else { "MISSES" }.to_owned(),
    ]
}

/// A stored number as it was reported; one that was measured now, with its interval.
fn reference(c: &Check) -> String {
    match c.reference_interval {
        Some(half) => format!("{:.2} ± {half:.2}", c.reference),
        None => c.reference.to_string(),
    }
}
