//! Verdicts as a page shows them: how many came to what, the misses by their cause, then the rest.

use std::fmt::Write as _;

use slackwater_results::check::{Check, Origin, Tally, Verdict};

use super::html::escape;
use super::paper::html::short;

/// At most so many rows of what holds stand open below a figure.
const FEW: usize = 6;
/// At most so many rows that are not decided stand open.
const MANY: usize = 40;

/// One comparison, as a table shows it.
#[derive(Clone, Debug)]
pub(super) struct Line<'a> {
    /// Where the relation stands, as HTML; empty for nowhere.
    pub place: String,
    /// What is compared.
    pub name: &'a str,
    /// Which profile of ours; empty for none.
    pub profile: &'a str,
    /// The paper's number.
    pub claimed: Option<f64>,
    /// The bound, in words.
    pub bound: String,
    /// Our value with its interval.
    pub ours: String,
    /// What it came to.
    pub verdict: Verdict,
    /// How many seeds would decide it.
    pub seeds: Option<usize>,
    /// Whose bound it is.
    pub origin: Origin,
    /// Why it misses, or is not tested.
    pub note: Option<&'a str>,
}

impl Line<'_> {
    /// The verdict in words, with the seeds that would decide an open one.
    fn verdict(&self) -> String {
        match (self.verdict, self.seeds) {
            (Verdict::CannotTell, Some(n)) => format!("not decided (about {n} seeds would)"),
            (Verdict::CannotTell, None) => "not decided".to_owned(),
            (verdict, _) => verdict.word().to_owned(),
        }
    }
}

/// Rows under a heading of their own.
struct Group<'a> {
    /// The cause that they share; `None` for rows that need no heading.
    cause: Option<&'a str>,
    lines: Vec<&'a Line<'a>>,
}

/// Everything that `lines` came to. `figure`: it stands below a figure, where few rows need no click.
pub(super) fn all(out: &mut String, title: &str, lines: &[Line<'_>], figure: bool) {
    counts(out, lines);
    let of = |wanted| {
        lines
            .iter()
            .filter(move |l: &&Line<'_>| l.origin != Origin::Target && l.verdict == wanted)
    };
    misses(out, &format!("Misses of {title}"), of(Verdict::Misses));
    undecided(out, of(Verdict::CannotTell));
    let holds = of(Verdict::Holds);
    let few = figure && holds.clone().count() <= FEW;
    rest(out, "Held", holds, few);
    rest(out, "Not tested", of(Verdict::NotTested), false);
    targets(out, lines.iter());
}

/// How many of `lines` came to what; targets of our own apart.
pub(super) fn counts(out: &mut String, lines: &[Line<'_>]) {
    let (own, counted): (Vec<_>, Vec<_>) = lines.iter().partition(|l| l.origin == Origin::Target);
    out.push_str("<ul class=\"counts\" aria-label=\"Verdicts\">");
    let tally = Tally::of(counted.iter().map(|l| l.verdict));
    for (verdict, n) in by_verdict(tally) {
        let _ = write!(
            out,
            "<li class=\"{}\"><b>{n}</b> {}</li>",
            verdict.class(),
            past(verdict)
        );
    }
    if !own.is_empty() {
        let _ = write!(
            out,
            "<li>{}</li>",
            targets_text(Tally::of(own.iter().map(|l| l.verdict)))
        );
    }
    out.push_str("</ul>\n");
}

/// Those of `lines` that miss, each cause once with its rows; nothing where none does.
pub(super) fn misses<'a>(
    out: &mut String,
    title: &str,
    lines: impl Iterator<Item = &'a Line<'a>>,
) -> bool {
    let groups = by_cause(lines);
    if groups.is_empty() {
        return false;
    }
    out.push_str("<section class=\"box\">");
    table(out, title, &groups, false);
    out.push_str("</section>\n");
    true
}

/// Those that more seeds would decide: open, but for a list that hides what follows.
pub(super) fn undecided<'a>(out: &mut String, lines: impl Iterator<Item = &'a Line<'a>> + Clone) {
    let open = lines.clone().count() <= MANY;
    rest(out, "Not decided", lines, open);
}

/// `lines` behind a heading that has their number; nothing where there are none.
pub(super) fn rest<'a>(
    out: &mut String,
    what: &str,
    lines: impl Iterator<Item = &'a Line<'a>>,
    open: bool,
) {
    let lines: Vec<_> = lines.collect();
    if !lines.is_empty() {
        let heading = format!("{what}: {}", lines.len());
        // What decides an open one stands in its verdict; of the others the heading has it.
        let verdicts = lines.iter().any(|l| l.verdict == Verdict::CannotTell);
        let groups = [Group { cause: None, lines }];
        folded(out, &heading, &groups, open, verdicts);
    }
}

/// The targets among `lines`, behind a heading with what they came to: misses first, by their cause.
pub(super) fn targets<'a>(out: &mut String, lines: impl Iterator<Item = &'a Line<'a>>) {
    let own: Vec<_> = lines.filter(|l| l.origin == Origin::Target).collect();
    if own.is_empty() {
        return;
    }
    let heading = targets_text(Tally::of(own.iter().map(|l| l.verdict)));
    let mut groups = by_cause(own.iter().copied().filter(|l| l.verdict == Verdict::Misses));
    let mut others: Vec<_> = own
        .into_iter()
        .filter(|l| l.verdict != Verdict::Misses)
        .collect();
    others.sort_by_key(|l| l.verdict != Verdict::CannotTell);
    if !others.is_empty() {
        groups.push(Group {
            cause: None,
            lines: others,
        });
    }
    folded(out, &heading, &groups, false, true);
}

fn targets_text(tally: Tally) -> String {
    let parts = by_verdict(tally).map(|(verdict, n)| format!("{n} {}", past(verdict)));
    let parts: Vec<String> = parts.collect();
    format!(
        "Targets of our own, which never count: {}",
        parts.join(", ")
    )
}

fn by_verdict(tally: Tally) -> impl Iterator<Item = (Verdict, usize)> {
    [
        (Verdict::Holds, tally.holds),
        (Verdict::Misses, tally.misses),
        (Verdict::CannotTell, tally.cannot_tell),
        (Verdict::NotTested, tally.not_tested),
    ]
    .into_iter()
    .filter(|(_, n)| *n > 0)
}

/// The verdict after a number.
const fn past(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "held",
        Verdict::Misses => "missed",
        Verdict::CannotTell => "not decided",
        Verdict::NotTested => "not tested",
    }
}

/// `lines` by the cause that they share: that of most misses first, and last those of which it is not known.
fn by_cause<'a>(lines: impl Iterator<Item = &'a Line<'a>>) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = vec![];
    for line in lines {
        let cause = Some(line.note.unwrap_or(Check::UNKNOWN));
        match groups.iter_mut().find(|g| g.cause == cause) {
            Some(group) => group.lines.push(line),
            None => groups.push(Group {
                cause,
                lines: vec![line],
            }),
        }
    }
    // A stable sort: causes of as many misses stay in the paper's order.
    groups.sort_by_key(|g| {
        (
            g.cause == Some(Check::UNKNOWN),
            std::cmp::Reverse(g.lines.len()),
        )
    });
    groups
}

fn folded(out: &mut String, heading: &str, groups: &[Group<'_>], open: bool, verdicts: bool) {
    let open = if open { " open" } else { "" };
    let _ = write!(
        out,
        "<details class=\"box rows\"{open}><summary>{heading}</summary>"
    );
    table(out, heading, groups, verdicts);
    out.push_str("</details>\n");
}

/// A table of `groups`; `verdicts`: their rows differ in it.
fn table(out: &mut String, title: &str, groups: &[Group<'_>], verdicts: bool) {
    let _ = writeln!(
        out,
        "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table class=\"checks\"><thead><tr>\
         <th scope=\"col\">Claim or relation</th><th scope=\"col\" class=\"opt\">Paper's number</th>\
         <th scope=\"col\">Bound</th><th scope=\"col\">Ours</th>{}</tr></thead>",
        escape(title),
        if verdicts {
            "<th scope=\"col\" class=\"text\">Verdict</th>"
        } else {
            ""
        },
    );
    for group in groups {
        out.push_str("<tbody>");
        if let Some(cause) = group.cause {
            let n = group.lines.len();
            let _ = write!(
                out,
                "<tr class=\"cause\"><th scope=\"rowgroup\" colspan=\"{}\"><p><b>{n} {}</b> {}</p></th></tr>",
                4 + usize::from(verdicts),
                if n == 1 { "miss" } else { "misses" },
                prose(cause),
            );
        }
        for line in &group.lines {
            row(out, line, group.cause.is_none(), verdicts);
        }
        out.push_str("</tbody>\n");
    }
    out.push_str("</table></div>");
}

/// `text` as HTML, names between backticks as code.
fn prose(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, name, after)) = rest.split_once('`').and_then(|(before, after)| {
        after
            .split_once('`')
            .map(|(name, after)| (before, name, after))
    }) {
        let _ = write!(out, "{}<code>{}</code>", escape(before), escape(name));
        rest = after;
    }
    out + &escape(rest)
}

/// One row; `noted`: with its note, which is no heading above it.
fn row(out: &mut String, line: &Line<'_>, noted: bool, verdicts: bool) {
    let note = line.note.filter(|_| noted).map(prose);
    let place = Some(line.place.clone()).filter(|p| !p.is_empty());
    let why: Vec<String> = [place, note].into_iter().flatten().collect();
    let _ = write!(out, "<tr><th scope=\"row\">{}", escape(line.name));
    if !line.profile.is_empty() {
        let _ = write!(
            out,
            " <span class=\"untested\">({})</span>",
            escape(line.profile)
        );
    }
    if !why.is_empty() {
        let _ = write!(out, "<span class=\"why\">{}</span>", why.join(". "));
    }
    out.push_str("</th>");
    let _ = write!(
        out,
        "<td class=\"n opt\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>",
        line.claimed.map_or_else(|| "–".to_owned(), short),
        escape(&line.bound),
        escape(&line.ours),
    );
    if verdicts {
        let class = line.verdict.class();
        let _ = write!(out, "<td class=\"text {class}\">{}</td>", line.verdict());
    }
    out.push_str("</tr>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(name: &'static str, verdict: Verdict, note: Option<&'static str>) -> Line<'static> {
        Line {
            place: String::new(),
            name,
            profile: "paper",
            claimed: None,
            bound: "≤ 10 ms".to_owned(),
            ours: "14 ± 1".to_owned(),
            verdict,
            seeds: None,
            origin: Origin::Claim,
            note,
        }
    }

    /// Where each of `parts` begins in `text`, in that order.
    fn in_order(text: &str, parts: &[&str]) {
        let mut from = 0;
        for part in parts {
            let at = text[from..].find(part);
            from += at.unwrap_or_else(|| panic!("no {part:?} in its place of {text}")) + part.len();
        }
    }

    #[test]
    fn misses_stand_by_cause_and_before_what_holds() {
        let target = Line {
            origin: Origin::Target,
            ..line("an aim", Verdict::Misses, None)
        };
        let open = Line {
            seeds: Some(12),
            ..line("open", Verdict::CannotTell, None)
        };
        let lines = [
            line("kept", Verdict::Holds, Some("a note")),
            line("first", Verdict::Misses, Some("the agent is slow")),
            line("strange", Verdict::Misses, Some(Check::UNKNOWN)),
            line("without a note", Verdict::Misses, None),
            line("odd", Verdict::Misses, Some(Check::UNKNOWN)),
            line("second", Verdict::Misses, Some("a <short> `queue`: `")),
            line("third", Verdict::Misses, Some("a <short> `queue`: `")),
            open,
            target,
        ];
        let mut out = String::new();
        all(&mut out, "Figure 5", &lines, false);
        in_order(
            &out,
            &[
                "<b>1</b> held",
                "<b>6</b> missed",
                "<b>1</b> not decided",
                "Targets of our own, which never count: 1 missed",
                "<b>2 misses</b> a &lt;short&gt; <code>queue</code>: `<",
                "second",
                "third",
                "<b>1 miss</b> the agent is slow",
                "first",
                "<b>3 misses</b> The cause is not known.",
                "strange",
                "without a note",
                "odd",
                "<details class=\"box rows\" open><summary>Not decided: 1",
                "not decided (about 12 seeds would)",
                "<details class=\"box rows\"><summary>Held: 1",
                "kept",
                "a note",
                "<summary>Targets of our own",
                "an aim",
            ],
        );
        assert_eq!(out.matches("a &lt;short&gt;").count(), 1);
    }

    #[test]
    fn what_holds_below_a_figure_is_open_where_it_is_short() {
        let holds = vec![line("kept", Verdict::Holds, None); FEW + 1];
        for (n, open) in [(FEW, true), (FEW + 1, false)] {
            let mut out = String::new();
            all(&mut out, "Figure 5", &holds[..n], true);
            assert_eq!(out.contains("rows\" open"), open, "{n} rows");
            assert!(!out.contains("class=\"cause\""), "nothing misses");
        }
    }
}
