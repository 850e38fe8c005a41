//! `slackwater validate --live`: simulated senders beside the kernel's, in real time.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::json;
use slackwater_lab::core::Duration;
use slackwater_live::validate::{Group, Plan, Row, Suite, judge, unable};
use slackwater_results::metrics::Estimate;
use slackwater_results::table::Table;

use super::ValidateArgs;
use crate::progress;
use crate::say::say;

/// Length of a run with `--quick`.
const QUICK: Duration = Duration::from_secs(10);
/// Repeats: of the whole, and with `--quick`.
const REPEATS: [u64; 2] = [4, 2];

pub(super) fn validate(args: &ValidateArgs) -> Result<ExitCode> {
    if let Some(reason) = unable() {
        eprintln!("skipped: {reason}");
        return Ok(ExitCode::SUCCESS);
    }
    let suite = Suite::new(&Plan {
        cases: args.case.clone(),
        controllers: args.controller.clone(),
        repeats: args.repeats.unwrap_or(REPEATS[usize::from(args.quick)]),
        length: args.quick.then_some(QUICK),
        at_once: args.at_once,
    })?;
    for skipped in &suite.skipped {
        eprintln!("{}: skipped, {}", skipped.case, skipped.reason);
    }
    let skipped = suite.skipped.clone();
    let minutes = suite.length().as_secs_f64() / 60.0;
    eprintln!(
        "{} runs in real time, {} at once: {minutes:.0} min and more where some are void",
        suite.runs(),
        args.at_once
    );
    let bar = progress::bar(suite.runs());
    bar.set_message("in real time".to_owned());
    let wanted = suite.runs();
    let done = suite.run(&|said| match said {
        None => bar.inc(progress::STEPS),
        Some(line) => bar.suspend(|| eprintln!("{line}")),
    })?;
    bar.finish_and_clear();
    let whole = done.groups.iter().map(|g| g.pairs.len()).sum::<usize>();
    if let Some(code) = done.interrupted {
        eprintln!("slackwater: interrupted with {whole} of {wanted} runs whole");
        if whole == 0 {
            return Ok(ExitCode::from(code));
        }
    }
    // What a signal cut short has no result; a group whose runs were all void has, and fails.
    let cut = |g: &Group| done.interrupted.is_some() && g.pairs.is_empty();
    let judged: Vec<(Group, Vec<Row>)> = done
        .groups
        .into_iter()
        .filter(|g| !cut(g))
        .map(|g| {
            let rows = judge(&g);
            (g, rows)
        })
        .collect();
    let rows = || judged.iter().flat_map(|g| &g.1);
    let failed = rows().filter(|r| !r.holds).count();
    let empty = judged.iter().filter(|g| g.1.is_empty()).count();
    if args.json {
        let groups: Vec<_> = judged
            .iter()
            .map(|(g, rows)| json!({ "group": g, "rows": rows }))
            .collect();
        let partial = done.interrupted.is_some();
        let all = json!({ "groups": groups, "skipped": skipped, "partial": partial });
        say!("{}", serde_json::to_string_pretty(&all)?);
    } else {
        if args.markdown {
            markdown(&judged);
        } else {
            tables(&judged);
        }
        say!("{}", health(&judged));
        say!("{failed} of {} checks miss", rows().count());
    }
    let status = u8::from(failed > 0 || empty > 0);
    Ok(ExitCode::from(done.interrupted.unwrap_or(status)))
}

fn number(v: f64) -> String {
    let decimals = match v.abs() {
        v if v >= 1_000.0 => 0,
        v if v >= 100.0 => 1,
        _ => 2,
    };
    format!("{v:.decimals$}")
}

fn estimate(e: Estimate) -> String {
    let half = e
        .half_width()
        .map_or_else(String::new, |h| format!(" ± {}", number(h)));
    format!("{}{half}", number(e.mean))
}

/// Metric, simulated, kernel, difference, tolerance, verdict.
fn cells(row: &Row) -> [String; 6] {
    let unit = if row.unit.is_empty() {
        String::new()
    } else {
        format!(" {}", row.unit)
    };
    let percent = row
        .percent()
        .map_or_else(String::new, |p| format!(" ({p:+.1} %)"));
    let sign = if row.difference < 0.0 { "" } else { "+" };
    [
        row.what.to_owned(),
        format!("{}{unit}", estimate(row.simulated)),
        format!("{}{unit}", estimate(row.kernel)),
        format!("{sign}{}{percent}", number(row.difference)),
        format!("± {}", number(row.tolerance())),
        if row.holds { "holds" } else { "MISSES" }.to_owned(),
    ]
}

const HEADING: [&str; 6] = ["", "simulated", "kernel", "difference", "tolerance", ""];

fn tables(judged: &[(Group, Vec<Row>)]) {
    for (group, rows) in judged {
        say!("{}: {}", group.title, group.controller);
        let mut table = Table::new(&HEADING);
        for row in rows {
            table.cells(crate::terminal::judged(&cells(row), row.holds));
        }
        say!("{}", crate::terminal::text(&table));
    }
}

fn markdown(judged: &[(Group, Vec<Row>)]) {
    let mut title = "";
    for (group, rows) in judged {
        if group.title != title {
            title = &group.title;
            say!("\n### {title}\n");
            say!("| {} |\n|---|---|---|---|---|---|", HEADING.join(" | "));
        }
        for row in rows {
            say!("| {}: {} |", group.controller, cells(row).join(" | "));
        }
    }
    say!();
}

/// How well the emulator kept up, and what does not count.
fn health(judged: &[(Group, Vec<Row>)]) -> String {
    let pairs = || judged.iter().flat_map(|g| &g.0.pairs);
    let late = |i: usize| {
        let values = pairs().filter_map(|p| p.late_ms).map(|l| l[i]);
        values.fold(0.0, f64::max)
    };
    let voids: u32 = pairs().map(|p| p.voids).sum();
    let missing = pairs().filter(|p| p.kernel.is_none()).count();
    format!(
        "{} runs count, {voids} tries were void and repeated, {missing} runs never counted; the emulator was at most \
         {:.3} ms late in the median and {:.3} ms at 99 %",
        pairs().count() - missing,
        late(0),
        late(1),
    )
}
