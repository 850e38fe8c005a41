//! A paper's claims as Markdown, for a page of the documentation.

use std::fmt::Write as _;

use slackwater_results::check::{Check, Verdict};

use super::html::{asked, ours, short};
use super::{Page, html};

impl Page {
    /// The headline, how and at which revision of the code it was made, a row for each claim with what it came to by profile, and why
    /// those that miss do.
    pub fn claims_markdown(&self, revision: Option<&str>) -> String {
        let mut out = String::new();
        for sentence in self.headline() {
            let _ = writeln!(out, "{}", html::cell(&sentence));
        }
        let at = revision.map_or_else(String::new, |r| format!(" at revision {r}"));
        let _ = writeln!(
            out,
            "\nMade by `{}`{at}; seeds {}.\n",
            self.command, self.seed_note
        );
        out.push_str(
            "| Claim | Where | Paper | Bound | `paper` | `product` |\n|---|---|---|---|---|---|\n",
        );
        let mut rest = self.claims.as_slice();
        while let Some((_, first)) = rest.first() {
            let same = rest
                .iter()
                .take_while(|(_, c)| c.claim == first.claim)
                .count();
            row(&mut out, &rest[..same]);
            rest = &rest[same..];
        }
        self.why(&mut out);
        out
    }

    /// Claims that do not hold, each with what is known of the cause.
    fn why(&self, out: &mut String) {
        let notes: Vec<(&Check, &str)> = self
            .claims
            .iter()
            .filter(|(_, c)| matches!(c.verdict(), Verdict::Misses | Verdict::NotTested))
            .filter_map(|(_, c)| Some((c, c.note.as_deref()?)))
            .collect();
        if notes.is_empty() {
            return;
        }
        out.push_str("\nWhy those that miss do, and why some cannot be tested:\n\n");
        for (c, note) in notes {
            let profile = c.profile.map_or_else(String::new, |p| format!(" (`{p}`)"));
            let _ = writeln!(out, "- {}{profile}: {}", c.name.trim_end_matches('.'), note);
        }
    }
}

/// The row of one claim, given with each of its profiles.
fn row(out: &mut String, profiles: &[(String, Check)]) {
    let Some((_, c)) = profiles.first() else {
        return;
    };
    let came_to = |profile: &str| {
        let mut checks = profiles.iter().map(|(_, c)| c);
        let found = checks.find(|c| c.profile == Some(profile));
        found.map_or_else(String::new, |c| {
            let verdict = match c.verdict() {
                Verdict::Misses => "**misses**",
                other => other.word(),
            };
            format!("{} {verdict}", ours(c))
        })
    };
    let (paper, product) = if c.tested {
        (came_to("paper"), came_to("product"))
    } else {
        ("not tested".to_owned(), "not tested".to_owned())
    };
    let _ = writeln!(
        out,
        "| {} | {} | {} | {} | {paper} | {product} |",
        html::cell(&c.name),
        html::cell(c.source.as_deref().unwrap_or("")),
        c.claimed.map_or_else(String::new, short),
        asked(c),
    );
}
