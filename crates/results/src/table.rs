//! Tables for a terminal: the first column to the left, the others to the right.

use core::fmt;

/// A table with a heading.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Table {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(heading: &[impl AsRef<str>]) -> Self {
        Self {
            heading: heading.iter().map(|h| h.as_ref().to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row; cells beyond the heading are left out, missing ones are empty.
    pub fn row(&mut self, cells: &[impl AsRef<str>]) {
        let mut row: Vec<String> = cells.iter().map(|c| c.as_ref().to_owned()).collect();
        row.resize(self.heading.len(), String::new());
        self.rows.push(row);
    }
}

/// Columns that `text` takes on a terminal; good for what our tables hold, which is no East Asian script.
fn width(text: &str) -> usize {
    text.chars().count()
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths: Vec<usize> = (0..self.heading.len())
            .map(|c| {
                self.rows
                    .iter()
                    .map(|r| width(&r[c]))
                    .chain([width(&self.heading[c])])
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        let mut line = |cells: &[String]| {
            let mut text = String::new();
            for (c, cell) in cells.iter().enumerate() {
                let pad = " ".repeat(widths[c] - width(cell));
                match c {
                    0 => text.extend([cell.as_str(), &pad]),
                    _ => text.extend(["  ", &pad, cell.as_str()]),
                }
            }
            writeln!(f, "{}", text.trim_end())
        };
        line(&self.heading)?;
        line(&widths.iter().map(|w| "-".repeat(*w)).collect::<Vec<_>>())?;
        self.rows.iter().try_for_each(|r| line(r))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut t = Table::new(&["flow", "Mbit/s"]);
        t.row(&["cubic", "11.55"]);
        t.row(&["x", "9.1 ± 0.2"]);
        t.row(&["lone"]);
        assert_eq!(
            t.to_string(),
            "flow      Mbit/s\n-----  ---------\ncubic      11.55\nx      9.1 ± 0.2\nlone\n"
        );
    }
}
