//! Tables as data: columns with units and weights, cells with the numbers behind their texts. `slackwater` draws them
//! for a terminal; [`Table::csv`] is the same table for programs.

use crate::stats::Estimate;

/// A table with a heading.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
}

/// A column.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Column {
    /// Name for `--columns` and CSV.
    pub key: String,
    /// Name for readers.
    pub label: String,
    /// Unit of its numbers; empty where there is none.
    pub unit: String,
    /// Its cells are means with intervals: three fields of CSV each.
    pub spread: bool,
    /// What is left out first where there is no room: the largest. A column of rank 0 always stays.
    pub rank: usize,
    /// It is shown where it is named alone.
    pub extra: bool,
}

/// What a cell says of its row beyond its text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tone {
    /// Nothing.
    #[default]
    Plain,
    /// A bound holds.
    Good,
    /// A bound is missed.
    Bad,
    /// Not decided.
    Open,
    /// Stands out.
    Strong,
}

/// A cell: its text, and the numbers behind it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Cell {
    /// What readers see.
    pub text: String,
    /// What it says.
    pub tone: Tone,
    value: Value,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum Value {
    /// The text is all.
    #[default]
    Text,
    /// There is none.
    Missing,
    Number(f64),
    Mean(Estimate),
}

/// What stands where there is no number.
pub const MISSING: &str = "-";

impl Column {
    /// A column by its heading: `p50 queue (ms)` has a name and a unit, and the key `p50_queue`.
    pub fn new(heading: &str) -> Self {
        let (label, unit) = heading
            .strip_suffix(')')
            .and_then(|h| h.rsplit_once(" ("))
            .unwrap_or((heading, ""));
        Self {
            key: key(label),
            label: label.to_owned(),
            unit: unit.to_owned(),
            ..Self::default()
        }
    }

    /// Under another key.
    #[must_use]
    pub fn key(mut self, key: &str) -> Self {
        key.clone_into(&mut self.key);
        self
    }

    /// With cells that are means with intervals.
    #[must_use]
    pub const fn spread(mut self) -> Self {
        self.spread = true;
        self
    }

    /// With a rank.
    #[must_use]
    pub const fn rank(mut self, rank: usize) -> Self {
        self.rank = rank;
        self
    }

    /// Shown where it is named alone.
    #[must_use]
    pub const fn extra(mut self, extra: bool) -> Self {
        self.extra = extra;
        self
    }

    /// Name and unit in one line.
    pub fn heading(&self) -> String {
        match self.unit.as_str() {
            "" => self.label.clone(),
            unit => format!("{} ({unit})", self.label),
        }
    }
}

/// Letters and digits of `label` in lower case, `_` between them.
fn key(label: &str) -> String {
    let lower = label.to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric());
    let words: Vec<&str> = words.filter(|w| !w.is_empty()).collect();
    words.join("_")
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self {
            text,
            ..Self::default()
        }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl Cell {
    /// A number with `decimals` digits after its point; CSV has all of them.
    pub fn number(value: Option<f64>, decimals: usize) -> Self {
        value.map_or_else(Self::missing, |v| Self::shown(format!("{v:.decimals$}"), v))
    }

    /// A number that readers see as `text`.
    pub fn shown(text: impl Into<String>, value: f64) -> Self {
        Self {
            text: text.into(),
            value: Value::Number(value),
            tone: Tone::Plain,
        }
    }

    /// A mean with its interval.
    pub fn mean(estimate: Option<Estimate>, decimals: usize) -> Self {
        estimate.map_or_else(Self::missing, |e| Self {
            text: e.text(decimals),
            value: Value::Mean(e),
            tone: Tone::Plain,
        })
    }

    /// No number.
    pub fn missing() -> Self {
        Self {
            text: MISSING.to_owned(),
            value: Value::Missing,
            tone: Tone::Plain,
        }
    }

    /// With `more` after its text.
    #[must_use]
    pub fn followed(mut self, more: &str) -> Self {
        self.text.push_str(more);
        self
    }

    /// In a tone.
    #[must_use]
    pub const fn tone(mut self, tone: Tone) -> Self {
        self.tone = tone;
        self
    }

    /// The fields of CSV; three for a column of means.
    fn fields(&self, spread: bool) -> Vec<String> {
        let mut fields = match self.value {
            Value::Text => vec![self.text.clone()],
            Value::Missing => vec![String::new()],
            Value::Number(v) => vec![v.to_string()],
            Value::Mean(e) => {
                let ends = e.interval.map(|i| [i.low, i.high].map(|v| v.to_string()));
                let mut all = vec![e.mean.to_string()];
                all.extend(ends.into_iter().flatten());
                all
            }
        };
        fields.resize(if spread { 3 } else { 1 }, String::new());
        fields
    }
}

impl Table {
    /// A table without rows; the first column stays, the last is the first to go.
    pub fn new(headings: &[impl AsRef<str>]) -> Self {
        let columns = headings.iter().enumerate();
        Self::with(columns.map(|(rank, h)| Column::new(h.as_ref()).rank(rank)))
    }

    /// A table of `columns` without rows.
    pub fn with(columns: impl IntoIterator<Item = Column>) -> Self {
        Self {
            columns: columns.into_iter().collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells beyond the heading are left out, missing ones are empty.
    pub fn row(&mut self, cells: &[impl AsRef<str>]) {
        self.cells(cells.iter().map(|c| c.as_ref().into()));
    }

    /// As [`Table::row`], with cells that know their numbers.
    pub fn cells(&mut self, cells: impl IntoIterator<Item = Cell>) {
        let mut row: Vec<Cell> = cells.into_iter().take(self.columns.len()).collect();
        row.resize(self.columns.len(), Cell::default());
        self.rows.push(row);
    }

    /// The table with every column shown.
    #[must_use]
    pub fn all(mut self) -> Self {
        for column in &mut self.columns {
            column.extra = false;
        }
        self
    }

    /// Its columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// Its rows: a cell for each column.
    pub fn rows(&self) -> &[Vec<Cell>] {
        &self.rows
    }

    /// The columns at `places`, in that order.
    #[must_use]
    pub fn only(&self, places: &[usize]) -> Self {
        let rows = self.rows.iter();
        Self {
            columns: places.iter().map(|c| self.columns[*c].clone()).collect(),
            rows: rows
                .map(|r| places.iter().map(|c| r[*c].clone()).collect())
                .collect(),
        }
    }

    /// The table as CSV (RFC 4180, lines that end with a line feed): keys, then a line a row. A mean takes three fields, for itself and the
    /// ends of its 95 % interval; what is missing is empty.
    pub fn csv(&self) -> String {
        let heads = self.columns.iter().flat_map(|c| {
            let ends: &[&str] = if c.spread {
                &["", "_low_95", "_high_95"]
            } else {
                &[""]
            };
            ends.iter().map(|end| quoted(&format!("{}{end}", c.key)))
        });
        let mut out = heads.collect::<Vec<_>>().join(",");
        out.push('\n');
        for row in &self.rows {
            let cells = self.columns.iter().zip(row);
            let fields = cells.flat_map(|(c, cell)| cell.fields(c.spread));
            let fields: Vec<String> = fields.map(|f| quoted(&f)).collect();
            out.push_str(&fields.join(","));
            out.push('\n');
        }
        out
    }
}

/// A field of CSV (RFC 4180).
pub(crate) fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_a_name_a_unit_and_a_key() {
        let c = Column::new("p50 queue (ms)");
        assert_eq!((c.label.as_str(), c.unit.as_str()), ("p50 queue", "ms"));
        assert_eq!(
            (c.key.as_str(), c.heading().as_str()),
            ("p50_queue", "p50 queue (ms)")
        );
        let c = Column::new("idle %");
        assert_eq!(
            (c.label.as_str(), c.unit.as_str(), c.key.as_str()),
            ("idle %", "", "idle")
        );
    }

    #[test]
    fn csv_has_the_numbers_and_not_their_texts() {
        let mut t = Table::with([
            Column::new("run"),
            Column::new("total goodput (Mbit/s)")
                .key("goodput_total")
                .spread(),
            Column::new("size"),
        ]);
        let e = Estimate::symmetric(10.125, 0.5, 3);
        t.cells([
            "a, \"b\"".into(),
            Cell::mean(Some(e), 1).followed(" *"),
            Cell::shown("1.2 MB", 1_234_567.0),
        ]);
        t.cells(["c".into(), Cell::missing()]);
        t.cells(["d".into(), Cell::mean(Estimate::of(&[2.0]), 1)]);
        assert_eq!(
            t.csv(),
            "run,goodput_total,goodput_total_low_95,goodput_total_high_95,size\n\
             \"a, \"\"b\"\"\",10.125,9.625,10.625,1234567\nc,,,,\nd,2,,,\n"
        );
        assert_eq!(t.rows()[0][1].text, "10.1 ± 0.5 *");
        assert_eq!(
            t.only(&[2, 0]).csv(),
            "size,run\n1234567,\"a, \"\"b\"\"\"\n,c\n,d\n"
        );
    }
}
