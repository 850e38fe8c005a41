//! `slackwater validate`: our simulations beside measurements of other systems.

use std::process::ExitCode;

use anyhow::Result;
use clap::{Args, ValueEnum};
use serde_json::json;
use slackwater_lab::check::Check;
use slackwater_lab::run::Control;
use slackwater_lab::table::Table;
use slackwater_lab::validate::{Reference, validate as compare};

use crate::progress;
use crate::say::say;

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Which {
    /// Kernel TCP over a 12 Mbit/s link
    Linux,
    /// The same beside a link that is never late
    LinuxPunctual,
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
    /// Print JSON
    #[arg(long)]
    json: bool,
    /// Print Markdown, as in docs/validation
    #[arg(long, conflicts_with = "json")]
    markdown: bool,
}

pub(crate) fn validate(args: &ValidateArgs) -> Result<ExitCode> {
    progress::catch_interrupts();
    let references = match args.with {
        Which::Linux => vec![Reference::Linux],
        Which::LinuxPunctual => vec![Reference::LinuxPunctual],
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
    let mut all = vec![];
    for reference in references {
        all.push((reference, compare(reference, &go)?));
    }
    let failed = all.iter().flat_map(|a| &a.1).filter(|c| !c.holds).count();
    if args.json {
        let rows: Vec<_> = all
            .iter()
            .map(|(r, checks)| json!({ "reference": r.name(), "title": r.title(), "checks": checks }))
            .collect();
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else if args.markdown {
        for (reference, checks) in &all {
            markdown(*reference, checks);
        }
    } else {
        for (reference, checks) in &all {
            say!("{}", reference.title());
            let mut table = Table::new(&["", "reference", "ours", "difference", "tolerance", ""]);
            for c in checks {
                table.row(&row(c));
            }
            say!("{table}");
        }
        say!(
            "{failed} of {} checks miss",
            all.iter().map(|a| a.1.len()).sum::<usize>()
        );
    }
    Ok(ExitCode::from(u8::from(failed > 0)))
}

fn row(c: &Check) -> [String; 6] {
    let interval = c
        .interval
        .map_or_else(String::new, |i| format!(" ± {i:.2}"));
    [
        c.name.clone(),
        format!("{} {}", c.reference, c.unit),
        format!("{:.2}{interval} {}", c.ours, c.unit),
        format!("{:+.1} %", c.difference_percent()),
        c.tolerance_text(),
        if c.holds { "holds" } else { "MISSES" }.to_owned(),
    ]
}

fn markdown(reference: Reference, checks: &[Check]) {
    say!("## {}\n", reference.title());
    say!("`slackwater validate {} --markdown`\n", reference.name());
    say!("| | reference | ours | difference | tolerance | |\n|---|---|---|---|---|---|");
    for c in checks {
        say!("| {} |", row(c).join(" | "));
    }
    say!();
}
