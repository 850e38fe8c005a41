//! A paper's claims as Markdown, for a page of the documentation.

use std::fmt::Write as _;

use slackwater_results::check::{Check, Tally, Verdict};

use super::html::{bound, ours, short};
use super::{Page, html};

impl Page {
    /// The headline, how and at which revision of the code it was made, and for each figure, folded below its counts, a row for each
    /// claim with what it came to by profile, and why those that miss do.
    pub fn claims_markdown(&self, revision: Option<&str>) -> String {
        let mut out = String::new();
        for sentence in self.headline() {
            let _ = writeln!(out, "{}", html::cell(&sentence));
        }
        let at = revision.map_or_else(String::new, |r| format!(" at revision {r}"));
        let _ = writeln!(
            out,
            "\nMade by `{}`{at}; seeds {}.",
            self.command, self.seed_note
        );
        let mut figures: Vec<&str> = vec![];
        for (figure, _) in &self.claims {
            if !figures.contains(&figure.as_str()) {
                figures.push(figure);
            }
        }
        for id in figures {
            let claims = self.claims.iter().filter(|(figure, _)| figure == id);
            fold(&mut out, id, &claims.map(|(_, c)| c).collect::<Vec<_>>());
        }
        out
    }
}

/// The claims of one figure, below a line with their counts.
fn fold(out: &mut String, figure: &str, claims: &[&Check]) {
    let counts = ["paper", "product"].map(|profile| {
        let of = claims.iter().filter(|c| c.profile == Some(profile));
        let tally = Tally::of(of.map(|c| c.verdict()));
        (tally.tested() > 0).then(|| format!("{profile} {}", tally.text()))
    });
    let mut counts: Vec<String> = counts.into_iter().flatten().collect();
    let untested = claims.iter().filter(|c| !c.tested).count();
    if untested > 0 {
        counts.push(format!("{untested} not tested"));
    }
    let _ = writeln!(
        out,
        "\n<details>\n<summary><code>{figure}</code>: {}</summary>\n",
        counts.join("; ")
    );
    out.push_str(
        "| Claim | Where | Paper | Bound | `paper` | `product` |\n|---|---|---|---|---|---|\n",
    );
    let mut rest = claims;
    while let Some(first) = rest.first() {
        let same = rest.iter().take_while(|c| c.claim == first.claim).count();
        row(out, &rest[..same]);
        rest = &rest[same..];
    }
    why(out, claims);
    out.push_str("\n</details>\n");
}

/// What is known of the causes of misses, each cause once, with the claims that it explains.
fn why(out: &mut String, claims: &[&Check]) {
    let mut causes: Vec<(&str, Vec<String>)> = vec![];
    let mut unknown = 0;
    let failed = |c: &&&Check| matches!(c.verdict(), Verdict::Misses | Verdict::NotTested);
    for c in claims.iter().filter(failed) {
        let Some(note) = c.note.as_deref().filter(|n| *n != Check::UNKNOWN) else {
            unknown += 1;
            continue;
        };
        let profile = c.profile.map_or_else(String::new, |p| format!(" (`{p}`)"));
        let claim = format!("{}{profile}", c.name.trim_end_matches('.'));
        match causes.iter_mut().find(|(cause, _)| *cause == note) {
            Some((_, of)) => of.push(claim),
            None => causes.push((note, vec![claim])),
        }
    }
    if causes.is_empty() && unknown == 0 {
        return;
    }
    out.push('\n');
    for (cause, of) in &causes {
        let _ = writeln!(out, "- **{}** {}.", html::cell(cause), of.join("; "));
    }
    let (other, misses) = (
        if causes.is_empty() { "" } else { "other " },
        if unknown == 1 { "miss" } else { "misses" },
    );
    if unknown > 0 {
        let _ = writeln!(out, "- {unknown} {other}{misses}: the cause is not known.");
    }
}

/// The row of one claim, given with each of its profiles.
fn row(out: &mut String, profiles: &[&Check]) {
    let Some(c) = profiles.first() else {
        return;
    };
    let came_to = |profile: &str| {
        let found = profiles.iter().find(|c| c.profile == Some(profile));
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
        bound(c),
    );
}
