//! Which columns of a table a width has room for, and how they are drawn.
//!
//! A row stays a row: numbers are never broken. Headings take up to a line a word, texts are wrapped inside of their column, and what
//! then has no room goes by its rank and is named below the table.

use comfy_table::{
    Attribute, Cell as Drawn, CellAlignment, Color, ColumnConstraint, ContentArrangement,
    ContentLineStyle, LineStyle, TableStyle, Width,
};
use slackwater_results::table::{Cell, Column, MISSING, Table, Tone};
use unicode_width::UnicodeWidthStr;

use super::Look;

/// Between two columns.
const GAP: usize = 2;
/// A text that is wrapped has so much room at least.
const TEXT: usize = 18;

const STYLE: TableStyle = TableStyle::new()
    .header_lines(ContentLineStyle::none().junction(' '))
    .header_separator(LineStyle::none().fill('-').junction(' '))
    .content_lines(ContentLineStyle::none().junction(' '));

/// How a heading is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Heading {
    /// `p50 queue (ms)`.
    Line,
    /// The unit below.
    Unit,
    /// A line a word.
    Words,
}

impl Heading {
    /// Lines of a heading. A text's heading is wrapped as the text is.
    fn lines(self, column: &Column, number: bool) -> Vec<String> {
        let unit = (!column.unit.is_empty()).then(|| column.unit.clone());
        match self {
            Self::Line => vec![column.heading()],
            Self::Unit => [column.label.clone()].into_iter().chain(unit).collect(),
            Self::Words if !number => vec![column.heading()],
            Self::Words => {
                let words = column.label.split(' ').map(str::to_owned);
                words.chain(unit).collect()
            }
        }
    }
}

impl Heading {
    /// The least width of a heading.
    fn width(self, column: &Column, number: bool) -> usize {
        let lines = self.lines(column, number);
        let widest = |words: &str| words.split(' ').map(UnicodeWidthStr::width).max();
        match self {
            Self::Words => lines.iter().filter_map(|l| widest(l)).max(),
            _ => lines.iter().map(|l| l.width()).max(),
        }
        .unwrap_or(0)
    }
}

/// What a column needs.
struct Need {
    /// Its cells are numbers: to the right, and never broken.
    number: bool,
    /// The widest cell.
    body: usize,
    /// The widest word.
    word: usize,
}

/// Begins like a number, or says that there is none.
fn is_number(text: &str) -> bool {
    let first = text.chars().next();
    text == MISSING
        || text == "–"
        || first.is_some_and(|c| c.is_ascii_digit())
        || (text.len() > 1 && matches!(first, Some('-' | '+' | '[' | '≤' | '≥')))
}

impl Need {
    fn of(table: &Table, at: usize) -> Self {
        let texts = || table.rows().iter().map(|r| r[at].text.as_str());
        let words = || texts().flat_map(str::split_whitespace);
        let filled = || texts().filter(|t| !t.is_empty());
        Self {
            number: at > 0 && filled().count() > 0 && filled().all(is_number),
            body: texts().map(UnicodeWidthStr::width).max().unwrap_or(0),
            word: words().map(UnicodeWidthStr::width).max().unwrap_or(0),
        }
    }

    fn width(&self, heading: usize, wraps: bool) -> usize {
        let body = if wraps && !self.number {
            self.body.min(self.word.max(TEXT))
        } else {
            self.body
        };
        body.max(heading)
    }
}

/// Width of a table whose columns need `needs`.
fn total(columns: &[Column], needs: &[Need], heading: Heading, wraps: bool) -> usize {
    let widths = columns
        .iter()
        .zip(needs)
        .map(|(c, need)| need.width(heading.width(c, need.number), wraps));
    widths.sum::<usize>() + GAP * columns.len().saturating_sub(1)
}

/// The heading with which `table` fits into `width`, and whether its texts are wrapped; `None` where it does not.
fn fit(table: &Table, width: usize) -> Option<(Heading, bool)> {
    let needs: Vec<Need> = (0..table.columns().len())
        .map(|c| Need::of(table, c))
        .collect();
    [
        (Heading::Line, false),
        (Heading::Unit, false),
        (Heading::Words, false),
        (Heading::Words, true),
    ]
    .into_iter()
    .find(|(heading, wraps)| total(table.columns(), &needs, *heading, *wraps) <= width)
}

/// `table` without columns that say nothing.
fn filled(table: &Table) -> Table {
    let says = |c: &usize| {
        *c == 0 || table.rows().is_empty() || table.rows().iter().any(|r| !r[*c].text.is_empty())
    };
    let places: Vec<usize> = (0..table.columns().len()).filter(says).collect();
    table.only(&places)
}

/// `table` as text that ends its last line. `whole`: every column stays. `choice`: `--columns` chooses, and a note about what was left out
/// says so.
pub(super) fn draw(table: &Table, look: Look, whole: bool, choice: bool) -> String {
    let mut table = if whole { table.clone() } else { filled(table) };
    let Some(width) = look.width else {
        return drawn(&table, Heading::Line, None, look.colour);
    };
    let mut left = Vec::new();
    let (heading, _) = loop {
        if let Some(found) = fit(&table, width) {
            break found;
        }
        let columns = table.columns();
        let last = (0..columns.len()).filter(|c| *c > 0 && columns[*c].rank > 0);
        let Some(last) = last
            .max_by_key(|c| (columns[*c].rank, *c))
            .filter(|_| !whole)
        else {
            break (Heading::Words, true);
        };
        left.push(if choice {
            columns[last].key.clone()
        } else {
            columns[last].label.clone()
        });
        let others: Vec<usize> = (0..columns.len()).filter(|c| *c != last).collect();
        table = table.only(&others);
    };
    let mut text = drawn(&table, heading, Some(width), look.colour);
    if !left.is_empty() {
        left.reverse();
        let how = if choice {
            "--columns chooses"
        } else {
            "a pipe gets all"
        };
        let note = format!("Left out at {width} columns: {} ({how}).", left.join(", "));
        text.push_str(&wrapped(&note, "", width));
    }
    text
}

fn drawn(table: &Table, heading: Heading, width: Option<usize>, colour: bool) -> String {
    let mut out = comfy_table::Table::new();
    out.load_style(STYLE);
    out.style_text_only();
    if colour {
        // `--color always` is stronger than NO_COLOR, which the library reads too.
        crossterm::style::force_color_output(true);
        out.enforce_styling();
    } else {
        out.force_no_tty();
    }
    let needs: Vec<Need> = (0..table.columns().len())
        .map(|c| Need::of(table, c))
        .collect();
    let columns = table.columns().iter().zip(&needs);
    out.set_header(columns.map(|(c, need)| {
        let cell =
            Drawn::new(heading.lines(c, need.number).join("\n")).add_attribute(Attribute::Bold);
        align(cell, need)
    }));
    for row in table.rows() {
        let cells = row.iter().zip(&needs);
        out.add_row(cells.map(|(cell, need)| align(toned(cell), need)));
    }
    let all = table.columns().iter().zip(&needs);
    let mut least = all.map(|(c, need)| {
        let least = need.width(heading.width(c, need.number), true);
        u16::try_from(least).unwrap_or(u16::MAX - 1)
    });
    let last = needs.len().saturating_sub(1);
    for (at, (column, need)) in out.column_iter_mut().zip(&needs).enumerate() {
        let padding = u16::from(at < last);
        column.set_padding((0, padding));
        let least = least.next().unwrap_or_default();
        column.set_constraint(if need.number {
            ColumnConstraint::ContentWidth
        } else {
            ColumnConstraint::LowerBoundary(Width::Fixed(least + padding))
        });
    }
    match width {
        Some(width) => {
            out.set_content_arrangement(ContentArrangement::Dynamic);
            out.set_width(u16::try_from(width).unwrap_or(u16::MAX));
        }
        None => {
            out.set_content_arrangement(ContentArrangement::Disabled);
        }
    }
    let mut text = out.trim_fmt();
    text.push('\n');
    text
}

fn align(cell: Drawn, need: &Need) -> Drawn {
    if need.number {
        cell.set_alignment(CellAlignment::Right)
    } else {
        cell
    }
}

fn toned(cell: &Cell) -> Drawn {
    let drawn = Drawn::new(&cell.text);
    match cell.tone {
        Tone::Plain => drawn,
        Tone::Good => drawn.fg(Color::Green),
        Tone::Bad => drawn.fg(Color::Red).add_attribute(Attribute::Bold),
        Tone::Open => drawn.fg(Color::Yellow),
        Tone::Strong => drawn.add_attribute(Attribute::Bold),
    }
}

/// `text` in lines of at most `width` columns, each after the first behind `indent`; ends its last line.
pub(crate) fn wrapped(text: &str, indent: &str, width: usize) -> String {
    let mut out = String::new();
    let mut at = 0;
    for word in text.split_whitespace() {
        let takes = word.width();
        if at > 0 && at + 1 + takes > width {
            out.push('\n');
            out.push_str(indent);
            at = indent.width();
        } else if at > 0 {
            out.push(' ');
            at += 1;
        }
        out.push_str(word);
        at += takes;
    }
    out.push('\n');
    out
}

#[cfg(test)]
mod tests;
