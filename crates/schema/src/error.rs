//! One clear line about what is wrong with a scenario.

use core::fmt;
use core::ops::Range;

/// What is wrong with a scenario, where, and what was expected: `file:line:column: key: found X, expected Y`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// The file, or a name such as `<json>`.
    pub file: String,
    /// Line and column, counted from 1, where the value came from a file.
    pub position: Option<(usize, usize)>,
    /// The full key, such as `cell.rlc.buffer`; empty for the document.
    pub key: String,
    /// What stands there.
    pub found: String,
    /// What should.
    pub expected: String,
}

impl ScenarioError {
    /// An error that does not know its place yet.
    pub fn new(
        key: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            file: String::new(),
            position: None,
            key: key.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// Adds the place where `span` starts.
    pub fn locate(&mut self, file: &str, text: Option<&str>, span: Option<Range<usize>>) {
        file.clone_into(&mut self.file);
        self.position = match (text, span) {
            (Some(text), Some(span)) => Some(line_and_column(text, span.start)),
            _ => None,
        };
    }
}

/// Line and column of a byte offset, counted from 1; columns count characters.
pub(crate) fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before: Vec<u8> = text.bytes().take(offset).collect();
    let line = before.split(|b| *b == b'\n').count();
    let start = before
        .iter()
        .rposition(|b| *b == b'\n')
        .map_or(0, |at| at + 1);
    // UTF-8 continuation bytes (0b10xxxxxx) start no character.
    let column = before[start..]
        .iter()
        .filter(|b| **b & 0xC0 != 0x80)
        .count()
        + 1;
    (line, column)
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.file.is_empty() {
            write!(f, "{}:", self.file)?;
            if let Some((line, column)) = self.position {
                write!(f, "{line}:{column}:")?;
            }
            f.write_str(" ")?;
        }
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "found {}, expected {}", self.found, self.expected)
    }
}

/// The name of `names` nearest to `word`, where one is near enough to be a slip of the fingers.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word: Vec<char> = word.chars().take(64).collect();
    names
        .into_iter()
        .map(|name| (distance(&word, &name.chars().collect::<Vec<_>>()), name))
        .min()
        .filter(|(d, name)| *d <= 1 + name.chars().count() / 4)
        .map(|(_, name)| name)
}

/// Edits (insert, delete, replace, swap of neighbours) from `a` to `b`: optimal string alignment.
fn distance(a: &[char], b: &[char]) -> usize {
    let width = b.len() + 1;
    let mut d = vec![0; (a.len() + 1) * width];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            d[i * width + j] = if i == 0 || j == 0 {
                i + j
            } else {
                let cost = usize::from(a[i - 1] != b[j - 1]);
                let mut best = (d[(i - 1) * width + j] + 1)
                    .min(d[i * width + j - 1] + 1)
                    .min(d[(i - 1) * width + j - 1] + cost);
                if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                    best = best.min(d[(i - 2) * width + j - 2] + 1);
                }
                best
            };
        }
    }
    d[d.len() - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_a_stranger_is_not() {
        let names = ["controller", "count", "label"];
        assert_eq!(nearest("controler", names), Some("controller"));
        assert_eq!(nearest("cotnroller", names), Some("controller"));
        assert_eq!(nearest("lable", names), Some("label"));
        assert_eq!(nearest("bandwidth", names), None);
    }

    #[test]
    fn columns_count_characters() {
        assert_eq!(line_and_column("a\nüb", 4), (2, 2));
        assert_eq!(line_and_column("", 9), (1, 1));
    }
}
