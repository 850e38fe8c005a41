//! Verdicts as tables: what misses first, by its cause, then what cannot be told, then what holds.

use std::cmp::Reverse;

use anyhow::Result;
use slackwater_report::paper::{bound, bound_of, ours, short};
use slackwater_report::validation::Verdicts;
use slackwater_results::check::{Check, Origin, Verdict};
use slackwater_results::stats::Estimate;
use slackwater_results::table::{Cell, Column, Table, Tone};

use crate::say::say;
use crate::terminal::{self, TableArgs};

/// Columns of the tables that readers see: what is compared under `heading`, and whose bound it is under `whose`.
pub(super) fn columns(heading: &str, whose: &str) -> Table {
    Table::with([
        Column::new(heading).key("claim"),
        Column::new("verdict").rank(0),
        Column::new("ours").rank(1),
        Column::new("bound").rank(2),
        Column::new("profile").rank(3),
        Column::new("seeds to decide").key("seeds").rank(4),
        Column::new("paper").rank(5),
        Column::new(whose).key("where").rank(6),
    ])
}

/// What a reader wants first.
const fn order(verdict: Verdict) -> u8 {
    match verdict {
        Verdict::Misses => 0,
        Verdict::CannotTell => 1,
        Verdict::Holds => 2,
        Verdict::NotTested => 3,
    }
}

/// The verdict, in letters that tell the three apart without colour too, and the number of its cause below the table.
fn verdict(check: &Check, cause: Option<usize>) -> Cell {
    let cause = cause.map_or_else(String::new, |n| format!(" ({})", n + 1));
    let verdict = check.verdict();
    let (word, tone) = match verdict {
        Verdict::Holds => (verdict.word(), Tone::Good),
        Verdict::Misses => ("MISSES", Tone::Bad),
        Verdict::CannotTell => (verdict.word(), Tone::Open),
        Verdict::NotTested => (verdict.word(), Tone::Plain),
    };
    Cell::from(word).followed(&cause).tone(tone)
}

/// The notes of those `checks` that do not hold, each once: that of most rows first, and last that the cause is not known.
fn causes<'a>(checks: &[&'a Check]) -> Vec<&'a str> {
    let mut causes: Vec<(&str, usize)> = Vec::new();
    let failed = checks.iter().filter(|c| c.verdict() != Verdict::Holds);
    for note in failed.filter_map(|c| c.note.as_deref()) {
        match causes.iter_mut().find(|(cause, _)| *cause == note) {
            Some((_, n)) => *n += 1,
            None => causes.push((note, 1)),
        }
    }
    causes.sort_by_key(|(cause, n)| (*cause == Check::UNKNOWN, Reverse(*n)));
    causes.into_iter().map(|(cause, _)| cause).collect()
}

/// `checks` as a table with its causes below it, each once by its number.
pub(super) fn show(
    args: &TableArgs,
    heading: &str,
    whose: &str,
    mut checks: Vec<&Check>,
) -> Result<()> {
    let causes = causes(&checks);
    let number = |c: &Check| {
        let note = c
            .note
            .as_deref()
            .filter(|_| c.verdict() != Verdict::Holds)?;
        causes.iter().position(|n| *n == note)
    };
    // Rows of one cause stand together, as on the page.
    checks.sort_by_key(|c| (order(c.verdict()), number(c).unwrap_or(usize::MAX)));
    let mut table = columns(heading, whose);
    for c in checks {
        let of = match c.origin {
            Origin::Target => "target",
            _ => c.source.as_deref().unwrap_or(""),
        };
        table.cells([
            c.claim.as_deref().unwrap_or(&c.name).into(),
            verdict(c, number(c)),
            ours(c).into(),
            bound(c).into(),
            c.profile.unwrap_or("").into(),
            c.seeds_to_decide()
                .map_or_else(String::new, |n| n.to_string())
                .into(),
            c.claimed.map_or_else(String::new, short).into(),
            of.into(),
        ]);
    }
    args.print(&table)?;
    for (n, cause) in causes.iter().enumerate() {
        let text = format!("({}) {cause}", n + 1);
        let width = terminal::look().width.unwrap_or(usize::MAX);
        terminal::print(&terminal::wrapped(&text, "    ", width));
    }
    say!();
    Ok(())
}

/// All verdicts of `papers` as one table, for programs.
pub(super) fn whole(papers: &[Verdicts]) -> Table {
    let mut table = Table::with([
        Column::new("claim"),
        Column::new("verdict"),
        Column::new("cause"),
        Column::new("ours").spread(),
        Column::new("bound"),
        Column::new("profile"),
        Column::new("paper"),
        Column::new("where"),
        Column::new("unit"),
        Column::new("ledger"),
        Column::new("figure"),
        Column::new("origin"),
    ]);
    for paper in papers {
        let mut rows: Vec<_> = paper.claims.iter().chain(&paper.relations).collect();
        let cause = |r: &slackwater_report::validation::Row| {
            let note = r.note.clone().filter(|_| r.verdict != Verdict::Holds);
            note.unwrap_or_default()
        };
        rows.sort_by_cached_key(|r| (order(r.verdict), cause(r)));
        for r in rows {
            let ours = r.ours.map(|mean| Estimate {
                mean,
                interval: r.interval,
                n: paper.seeds.len(),
            });
            let bound = r.reference.map_or_else(String::new, |reference| {
                bound_of(&r.unit, reference, r.tolerance)
            });
            let number = |v: Option<f64>| Cell::number(v, 4);
            table.cells([
                r.name.as_str().into(),
                r.verdict.word().into(),
                cause(r).into(),
                Cell::mean(ours, 4),
                bound.into(),
                r.profile.as_deref().unwrap_or("").into(),
                number(r.claimed),
                r.source.as_deref().unwrap_or("").into(),
                r.unit.as_str().into(),
                paper.paper.as_str().into(),
                r.figure.as_str().into(),
                format!("{:?}", r.origin).to_lowercase().into(),
            ]);
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use slackwater_results::check::Tolerance;

    use super::*;

    #[test]
    fn the_cause_of_most_rows_is_first_and_the_unknown_last() {
        let check =
            |ours, note| Check::new("x", "ms", 10.0, ours, None, Tolerance::AtMost).note(note);
        let checks = [
            check(14.0, Check::UNKNOWN),
            check(14.0, Check::UNKNOWN),
            check(14.0, Check::UNKNOWN),
            check(14.0, "the queue is short"),
            check(14.0, "the agent is slow"),
            check(14.0, "the agent is slow"),
            check(9.0, "this holds"),
        ];
        let all: Vec<_> = checks.iter().collect();
        let expected = ["the agent is slow", "the queue is short", Check::UNKNOWN];
        assert_eq!(causes(&all), expected);
    }
}
