//! The frame of a paper's page: claims, verdicts and tables can be read without a script.

use std::fmt::Write as _;

use slackwater_results::check::{Check, Origin, Tally, Tolerance};
use slackwater_results::stats::{Estimate, Interval};

use super::{Drawing, Figure, Page, payload};
use crate::html::{Kind, escape, foot, head, script_safe, summary};
use crate::verdicts::{self, Line};

/// A paper's page.
const PAGE: Kind = Kind {
    css: include_str!("../../assets/paper.css"),
    script: include_str!("../../assets/built/paper.js"),
    plots: true,
};

/// Makes the page.
pub fn render(page: &Page) -> String {
    let json = serde_json::to_string(&payload::payload(page)).expect("a page always makes JSON");
    let data = script_safe(&json);
    let mut out = head(&PAGE, &page.title, &page.generated_by, data.len());
    header(&mut out, page);
    out.push_str("<main>\n<noscript><p class=\"warning\">The plots need JavaScript. Claims, verdicts and tables do not.</p></noscript>\n");
    ledger(&mut out, page);
    // A study without a ledger is of no paper.
    let ours = page.claims.is_empty() && page.left_out == 0;
    let expected = if ours { "Expected" } else { "The paper" };
    let mut tables = 0;
    for (i, f) in page.figures.iter().enumerate() {
        figure(&mut out, i, f, expected, &mut tables);
    }
    reading(&mut out, page);
    foot(&PAGE, &mut out, &data);
    out
}

fn header(out: &mut String, page: &Page) {
    let _ = write!(
        out,
        "<header class=\"top\">\n<div class=\"heading\"><h1>{}</h1>\
         <button type=\"button\" id=\"theme\" class=\"quiet\" hidden>Dark</button></div>\n\
         <p class=\"subtitle\">{}</p>\n",
        escape(&page.title),
        escape(&page.citation)
    );
    for text in &page.about {
        let _ = writeln!(out, "<p class=\"about\">{}</p>", escape(text));
    }
    let headline = page.headline();
    let (first, more) = headline.split_first().expect("a headline has a sentence");
    let _ = write!(
        out,
        "<p class=\"about\"><strong>{}</strong> {}</p>\n<ul class=\"verdicts\" aria-label=\"Figures\">",
        escape(first),
        escape(&more.join(" ")),
    );
    for f in &page.figures {
        let claims = f.checks.iter().filter(|c| c.origin == Origin::Claim);
        let tally = Tally::of(claims.map(Check::verdict));
        let _ = write!(
            out,
            "<li><a href=\"#{}\">{}",
            escape(&f.id),
            escape(link_text(&f.title)),
        );
        if tally.tested() > 0 {
            let class = if tally.misses == 0 { "ok" } else { "miss" };
            let _ = write!(
                out,
                " <b class=\"{class}\">{}/{}</b>",
                tally.holds,
                tally.tested()
            );
        }
        out.push_str("</a></li>");
    }
    out.push_str("</ul>\n<dl class=\"facts\">");
    if !page.command.is_empty() {
        let _ = write!(
            out,
            "<div><dt>Command</dt><dd><code>{}</code></dd></div>",
            escape(&page.command)
        );
    }
    for (name, value) in [
        ("Seeds", &page.seed_note),
        ("Runs", &page.effort),
        ("Made by", &page.generated_by),
    ] {
        if !value.is_empty() {
            let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
        }
    }
    out.push_str("</dl>\n</header>\n");
}

/// The ledger: every claim of the paper in its order.
fn ledger(out: &mut String, page: &Page) {
    if page.claims.is_empty() {
        return;
    }
    out.push_str(
        "<section class=\"figure\" id=\"claims\">\n<h2>The paper's claims</h2>\n\
         <p class=\"setup\">Misses come first, by their cause; what holds is folded. A bound is the number as the paper prints it, to half a unit of its last digit; \
         where it is another, the row says why.</p>\n",
    );
    let rows = page.claims.iter();
    let lines: Vec<_> = rows
        .map(|(figure, check)| line(Some(figure), check))
        .collect();
    verdicts::all(out, "the paper's claims", &lines, false);
    out.push_str("</section>\n");
}

fn figure(out: &mut String, index: usize, f: &Figure, expected: &str, tables: &mut usize) {
    let _ = write!(
        out,
        "<section class=\"figure\" id=\"{}\">\n<h2>{}</h2>\n",
        escape(&f.id),
        escape(&f.title)
    );
    if !f.setup.is_empty() {
        let _ = writeln!(out, "<p class=\"setup\">{}</p>", escape(&f.setup));
    }
    out.push_str("<div class=\"says\">");
    for (class, heading, text) in [
        ("theirs", expected, &f.claim),
        ("ours", "Our runs", &f.seen),
    ] {
        if !text.is_empty() {
            let _ = write!(
                out,
                "<div class=\"{class}\"><h3>{heading}</h3><p>{}</p></div>",
                escape(text)
            );
        }
    }
    let _ = writeln!(
        out,
        "</div>\n<div class=\"panels\" data-panels=\"{index}\"></div>"
    );
    for panel in &f.panels {
        if let Drawing::Table(table) = &panel.drawing {
            summary(out, *tables, table);
            *tables += 1;
        }
    }
    if !f.checks.is_empty() {
        let lines: Vec<_> = f.checks.iter().map(|c| line(None, c)).collect();
        verdicts::all(out, &f.title, &lines, true);
    }
    if !f.notes.is_empty() {
        out.push_str("<ul class=\"notes\">");
        for note in &f.notes {
            let _ = write!(out, "<li>{}</li>", escape(note));
        }
        out.push_str("</ul>\n");
    }
    if !f.scenarios.is_empty() {
        let names: Vec<String> = f
            .scenarios
            .iter()
            .map(|s| format!("<code>{}</code>", escape(s)))
            .collect();
        let _ = writeln!(
            out,
            "<p class=\"scenarios\">Scenarios: {}</p>",
            names.join(", ")
        );
    }
    out.push_str("</section>\n");
}

/// A number as a reader wants it: three significant digits or so, more where a share is close to one.
pub fn short(v: f64) -> String {
    if !v.is_finite() {
        return "–".to_owned();
    }
    let text = match v.abs() {
        a if a == 0.0 || (a >= 1000.0) => format!("{v:.0}"),
        a if a >= 100.0 => format!("{v:.1}"),
        a if a >= 10.0 => format!("{v:.2}"),
        _ => format!("{v:.4}"),
    };
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// `text` in a cell of a Markdown table.
pub(super) fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}

/// The bound, in words.
pub fn bound(c: &Check) -> String {
    bound_of(&c.unit, c.reference, c.tolerance)
}

/// As [`bound`], of the parts.
pub fn bound_of(unit: &str, reference: f64, tolerance: Tolerance) -> String {
    let unit = if unit.is_empty() {
        String::new()
    } else {
        format!(" {unit}")
    };
    let reference = short(reference);
    match tolerance {
        Tolerance::AtMost => format!("≤ {reference}{unit}"),
        Tolerance::AtLeast => format!("≥ {reference}{unit}"),
        Tolerance::Relative(share) => format!("{reference}{unit} ± {} %", short(share * 100.0)),
        Tolerance::Absolute(by) => format!("{reference} ± {}{unit}", short(by)),
    }
}

/// Ours with its interval.
pub fn ours(c: &Check) -> String {
    ours_of(c.ours, c.interval)
}

/// As [`ours`], of the parts: to two digits of the interval.
pub(crate) fn ours_of(ours: f64, interval: Option<Interval>) -> String {
    let e = Estimate {
        mean: ours,
        interval,
        n: 0,
    };
    match e
        .half_width()
        .filter(|half| *half > 0.0 && half.is_finite())
    {
        Some(half) if ours.is_finite() => {
            let places = (1.0 - half.log10().floor()).clamp(0.0, 6.0) as usize;
            e.text(places)
        }
        _ => short(ours),
    }
}

/// A comparison for the tables; `figure`: the section that it links to, where that is another one.
fn line<'a>(figure: Option<&str>, c: &'a Check) -> Line<'a> {
    let place = match (&c.source, figure) {
        (Some(place), Some(figure)) => {
            format!("<a href=\"#{}\">{}</a>", escape(figure), escape(place))
        }
        (place, _) => place.as_deref().map_or_else(String::new, escape),
    };
    Line {
        place,
        name: &c.name,
        profile: c.profile.unwrap_or(""),
        claimed: c.claimed,
        bound: bound(c),
        ours: ours(c),
        verdict: c.verdict(),
        seeds: c.seeds_to_decide(),
        origin: c.origin,
        note: c.note.as_deref(),
    }
}

fn reading(out: &mut String, page: &Page) {
    out.push_str(
        "<details class=\"box\" id=\"reading\"><summary>How to read this page</summary>\n<ul>\n",
    );
    for note in &page.notes {
        let _ = writeln!(out, "<li>{}</li>", escape(note));
    }
    out.push_str(
        "<li>A verdict is that of the whole 95 % interval: <em>holds</em> where it keeps the bound, <em>misses</em> where it breaks it, \
         <em>not decided</em> where the bound lies inside. An open claim gets more seeds, up to a limit. The profile <em>paper</em> is \
         the paper's own system, end to end; <em>product</em> is what ships. Targets of our own never count.</li>\n\
         <li>Values are means over the seeds; ± is half of the 95 % interval of the mean, [from, to] the interval where its sides differ. Curves over time \
         are one run, that of the first seed; distributions pool the seeds.</li>\n\
         <li>A controller has one colour everywhere. Several flows of one controller differ by dash and shade.</li>\n\
         <li>Pointer: move to read values, drag to zoom, double-click to see all. Click a name above a plot to hide its \
         curve, Shift-click to see it alone. Keyboard: Tab to a plot, then <kbd>←</kbd> <kbd>→</kbd> <kbd>+</kbd> \
         <kbd>−</kbd> <kbd>0</kbd>.</li>\n\
         <li>The same numbers: <code>checks.json</code>, and one Parquet file for each plot in <code>data/</code>; the \
         scenarios as they were run in <code>scenarios/</code>.</li>\n</ul>\n</details>\n",
    );
}

/// What a link to a figure says: `Figure 7` of a paper's figure, the subject of one beyond the paper.
fn link_text(title: &str) -> &str {
    match title.split_once(": ") {
        Some((lead, subject)) if lead.starts_with("Beyond") => subject,
        Some((lead, _)) => lead,
        None => title,
    }
}
