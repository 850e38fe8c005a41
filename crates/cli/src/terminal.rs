//! What a terminal gets: tables of its width, and colour where it is wanted. A pipe gets whole tables without colour.

mod layout;

use std::fmt::Write as _;
use std::io::{IsTerminal as _, stdout};
use std::sync::OnceLock;

use anstream::AutoStream;
use anyhow::{Result, bail};
use clap::{Args, ColorChoice};
use slackwater_results::metrics::{METRICS, Metric};
use slackwater_results::table::{Cell, Table, Tone};
use slackwater_scenario::error::nearest;
use unicode_width::UnicodeWidthStr as _;

use crate::say::say;

pub(crate) use layout::wrapped;

/// How standard output is written to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Columns of the terminal; `None` where there is none, and nothing has to fit.
    pub(crate) width: Option<usize>,
    /// With colour.
    pub(crate) colour: bool,
}

static LOOK: OnceLock<Look> = OnceLock::new();

/// Decides by `--color` how results look, for all of the process.
pub(crate) fn begin(colour: ColorChoice) {
    follow(colour);
    let colour = match colour {
        ColorChoice::Always => true,
        ColorChoice::Never => false,
        // NO_COLOR, CLICOLOR_FORCE, CLICOLOR and TERM, in this order, then whether it is a terminal (bixense.com/clicolors).
        ColorChoice::Auto => AutoStream::choice(&stdout()) != anstream::ColorChoice::Never,
    };
    let size = || terminal_size::terminal_size_of(stdout());
    let width = stdout().is_terminal().then(size).flatten();
    let _ = LOOK.set(Look {
        // A terminal that says nothing of its width has 80 columns; one of none is no terminal that one reads.
        width: stdout().is_terminal().then(|| {
            let told = width.map(|(w, _)| usize::from(w.0));
            told.filter(|w| *w > 0).unwrap_or(80)
        }),
        colour,
    });
}

/// Lets the libraries that colour by themselves (help, complaints of usage, tables) do as `--color` says.
pub(crate) fn follow(colour: ColorChoice) {
    match colour {
        ColorChoice::Always => anstream::ColorChoice::Always,
        ColorChoice::Never => anstream::ColorChoice::Never,
        ColorChoice::Auto => anstream::ColorChoice::Auto,
    }
    .write_global();
}

/// What `--color` says among `words`, before they are parsed: a complaint about them is coloured too.
pub(crate) fn colour_of(words: &[std::ffi::OsString]) -> ColorChoice {
    let mut words = words.iter().map(|w| w.to_str().unwrap_or_default());
    while let Some(word) = words.next().filter(|w| *w != "--") {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => None,
        };
        match value {
            Some("always") => return ColorChoice::Always,
            Some("never") => return ColorChoice::Never,
            _ => {}
        }
    }
    ColorChoice::Auto
}

/// How standard output is written to.
pub(crate) fn look() -> Look {
    LOOK.get().copied().unwrap_or_default()
}

/// Columns of running text, in a pipe too: COLUMNS, else the terminal's, else 80.
pub(crate) fn text_width() -> usize {
    // Narrower, words would stand alone on their lines.
    const LEAST: usize = 40;
    let told = std::env::var("COLUMNS")
        .ok()
        .and_then(|c| c.trim().parse().ok());
    told.or(look().width).unwrap_or(80).max(LEAST)
}

/// `name`, `room` columns wide, and what it is, both behind `indent`, in lines of `width`; ends its last line.
pub(crate) fn described(
    indent: usize,
    name: &str,
    room: usize,
    about: &str,
    width: usize,
) -> String {
    const GAP: usize = 2;
    let column = indent + room + GAP;
    let mut out = format!("{:indent$}{name:<room$}  ", "");
    // A name that is wider has its meaning below.
    if name.width() > room {
        out.truncate(out.trim_end().len());
        let _ = write!(out, "\n{:column$}", "");
    }
    let room = width.saturating_sub(column);
    let lines = wrapped(about, "", room);
    out.push_str(&lines.trim_end().replace('\n', &format!("\n{:column$}", "")));
    out.push('\n');
    out
}

/// Options of commands that print a table.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct TableArgs {
    /// Columns of the table, by the names in the first line of --csv; a metric may be any of docs/metrics.md
    #[arg(long, value_delimiter = ',', value_name = "NAME,..")]
    columns: Vec<String>,
    /// Print the table as CSV to standard output, and nothing else there
    #[arg(long, conflicts_with = "json")]
    pub(crate) csv: bool,
}

impl TableArgs {
    /// True where columns are named.
    pub(crate) const fn chosen(&self) -> bool {
        !self.columns.is_empty()
    }

    /// Complains before anything is run where a name is no metric and no other column of a run or a comparison.
    pub(crate) fn check_metrics(&self) -> Result<()> {
        const OTHERS: [&str; 4] = ["flow", "run", "seeds", "pairs"];
        let known = |name: &str| Metric::find(name).is_some() || OTHERS.contains(&name);
        match self.columns.iter().find(|name| !known(name)) {
            None => Ok(()),
            Some(name) => {
                let metrics = METRICS.iter().map(|m| m.key);
                bail!("--columns: {}", unknown(name, metrics.chain(OTHERS)))
            }
        }
    }

    /// Complains where `table` lacks a column that is named: before anything is run, where its columns are known then.
    pub(crate) fn check(&self, table: &Table) -> Result<()> {
        self.of(table).map(|_| ())
    }

    /// The columns of `table` that are shown: those that are named, behind the first, or the usual ones.
    fn of(&self, table: &Table) -> Result<Table> {
        let columns = table.columns();
        if !self.chosen() {
            let usual = (0..columns.len()).filter(|c| !columns[*c].extra);
            return Ok(table.only(&usual.collect::<Vec<_>>()));
        }
        let mut places = Vec::new();
        for name in &self.columns {
            let Some(at) = columns.iter().position(|c| c.key == *name) else {
                if Metric::find(name).is_some()
                    && columns.iter().any(|c| Metric::find(&c.key).is_some())
                {
                    // There is such a metric, and these results have none of it.
                    continue;
                }
                let all = columns.iter().map(|c| c.key.as_str());
                bail!("--columns: {}", unknown(name, all));
            };
            if !places.contains(&at) {
                places.push(at);
            }
        }
        if !places.contains(&0) {
            places.insert(0, 0);
        }
        Ok(table.only(&places))
    }

    /// The text of `table` for readers.
    pub(crate) fn text(&self, table: &Table) -> Result<String> {
        let own = self.of(table)?;
        Ok(layout::draw(&own, look(), self.chosen(), true))
    }

    /// Prints `table`, as CSV where that is wanted.
    pub(crate) fn print(&self, table: &Table) -> Result<()> {
        if self.csv {
            print(&self.of(table)?.csv());
        } else {
            print(&self.text(table)?);
        }
        Ok(())
    }

    /// As [`TableArgs::print`], with an empty line between the table and what follows it.
    pub(crate) fn show(&self, table: &Table) -> Result<()> {
        self.print(table)?;
        if !self.csv {
            say!();
        }
        Ok(())
    }
}

/// What is wrong with a name that is none of `all`: the nearest one, or all of them.
fn unknown<'a>(name: &str, all: impl Iterator<Item = &'a str> + Clone) -> String {
    let expected = match nearest(name, all.clone()) {
        Some(near) => format!("{near:?}?"),
        None => format!("some of {}", all.collect::<Vec<_>>().join(", ")),
    };
    format!("found {name:?}, expected {expected}")
}

/// Prints text that ends its lines itself.
pub(crate) fn print(text: &str) {
    crate::say::print(format_args!("{text}"));
}

/// The text of a table whose columns nobody chooses; an empty line after it is the caller's.
pub(crate) fn text(table: &Table) -> String {
    let usual = TableArgs::default().of(table);
    usual.map_or_else(
        |_| String::new(),
        |t| layout::draw(&t, look(), false, false),
    )
}

/// A row whose last text says whether a bound holds.
pub(crate) fn judged(row: &[String], holds: bool) -> Vec<Cell> {
    let mut cells: Vec<Cell> = row.iter().map(|t| t.as_str().into()).collect();
    if let Some(last) = cells.pop() {
        cells.push(last.tone(if holds { Tone::Good } else { Tone::Bad }));
    }
    cells
}

/// As [`text`], for standard error.
#[cfg(target_os = "linux")]
pub(crate) fn text_on_error(table: &Table) -> String {
    let error = std::io::stderr();
    let told = terminal_size::terminal_size_of(&error).map(|(w, _)| usize::from(w.0));
    let look = Look {
        width: error.is_terminal().then_some(told.unwrap_or(80)),
        colour: false,
    };
    let usual = TableArgs::default().of(table);
    usual.map_or_else(|_| String::new(), |t| layout::draw(&t, look, false, false))
}

#[cfg(test)]
mod tests {
    use super::*;
    use slackwater_results::table::Column;

    fn words(text: &str) -> Vec<std::ffi::OsString> {
        text.split(' ').map(Into::into).collect()
    }

    #[test]
    fn colour_is_known_before_words_are_parsed() {
        for (text, wanted) in [
            ("run x", ColorChoice::Auto),
            ("run x --color never", ColorChoice::Never),
            ("--color=always run", ColorChoice::Always),
            ("emulate --rate 1 -- ls --color=always", ColorChoice::Auto),
            ("run --color", ColorChoice::Auto),
        ] {
            assert_eq!(colour_of(&words(text)), wanted, "{text}");
        }
    }

    #[test]
    fn a_description_stays_in_its_column() {
        let of = |name| described(2, name, 4, "what it is, in words", 20);
        assert_eq!(of("cell"), "  cell  what it is,\n        in words\n");
        // A name that is wider has its meaning below.
        assert_eq!(
            of("cells"),
            "  cells\n        what it is,\n        in words\n"
        );
    }

    #[test]
    fn columns_are_chosen_by_their_keys() {
        let mut table = Table::with([
            Column::new("flow"),
            Column::new("a (ms)"),
            Column::new("b").extra(true),
        ]);
        table.row(&["x", "1", "2"]);
        let of = |names: &[&str]| {
            let args = TableArgs {
                columns: names.iter().map(|n| (*n).to_owned()).collect(),
                csv: true,
            };
            args.of(&table).map(|t| t.csv())
        };
        assert_eq!(of(&[]).expect("fine"), "flow,a\nx,1\n");
        assert_eq!(of(&["b", "a", "b"]).expect("fine"), "flow,b,a\nx,2,1\n");
        assert_eq!(of(&["b", "flow"]).expect("fine"), "b,flow\n2,x\n");
        let error = |name| of(&[name]).expect_err("no such column").to_string();
        assert_eq!(
            error("delay"),
            "--columns: found \"delay\", expected some of flow, a, b"
        );
        assert_eq!(
            error("flwo"),
            "--columns: found \"flwo\", expected \"flow\"?"
        );
    }
}
