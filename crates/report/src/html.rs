//! The page's frame: what can be read without a script is written here.

use std::fmt::Write as _;

use slackwater_results::stats;

use super::model::{Better, Cell, Column, Estimate, Report, Row, SummaryTable};
use super::palette;
use super::payload;

/// What all pages share.
const PAGE_CSS: &str = concat!(
    include_str!("../assets/base.css"),
    include_str!("../assets/report.css")
);
/// The library that draws plots, as its authors publish it; its first line has its version. `make page` copies it.
pub const PLOT_JS: &str = include_str!("../assets/built/uPlot.iife.min.js");
const PLOT_CSS: &str = include_str!("../assets/built/uPlot.min.css");
const PLOT_LICENCE: &str = include_str!("../assets/built/uPlot.LICENSE");

/// What a kind of page has besides its text. `make page` builds the scripts of `web/src/reports`.
pub(super) struct Kind {
    /// Style, after the one that all pages share.
    pub css: &'static str,
    /// The page's script.
    pub script: &'static str,
    /// It has plots, so its script needs their library.
    pub plots: bool,
}

const RUN: Kind = Kind {
    css: "",
    script: include_str!("../assets/built/run.js"),
    plots: true,
};

/// Nothing may be loaded from anywhere, and nothing may be sent anywhere.
const POLICY: &str = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data: blob:; \
                      base-uri 'none'; form-action 'none'";

/// Makes the page.
///
/// Where no run is marked as shown, the first run of each set of controllers is.
pub fn render(report: &Report) -> String {
    if !report.runs.is_empty() && !report.runs.iter().any(|run| run.shown) {
        let mut marked = report.clone();
        marked.show_first_of_each();
        return page(&marked);
    }
    page(report)
}

fn page(report: &Report) -> String {
    let payload = payload::payload(report);
    let data = script_safe(&serde_json::to_string(&payload).expect("a report always makes JSON"));
    let (longest, kept) = payload.thinning();

    let mut out = head(&RUN, &report.title, &report.generated_by, data.len());
    out.push_str("<a class=\"skip\" href=\"#plots\">Skip to the plots</a>\n");
    header(&mut out, report);
    out.push_str("<main>\n");
    for (i, table) in report.tables.iter().enumerate() {
        summary(&mut out, i, table);
    }
    out.push_str(
        "<noscript><p class=\"warning\">The plots need JavaScript. The tables and the scenario do not.</p></noscript>\n\
         <div id=\"plots\" tabindex=\"-1\"></div>\n",
    );
    reading(&mut out, report, longest, kept);
    if !report.scenario_toml.is_empty() {
        let _ = writeln!(
            out,
            "<details class=\"box\"><summary>Scenario as it was run (TOML)</summary>\
             <pre tabindex=\"0\" aria-label=\"Scenario\"><code>{}</code></pre></details>",
            escape(&report.scenario_toml)
        );
    }
    foot(&RUN, &mut out, &data);
    out
}

/// The page up to and with the start of its body, with `room` for its data.
pub(super) fn head(kind: &Kind, title: &str, generator: &str, room: usize) -> String {
    let mut out = String::with_capacity(room + 128 * 1024);
    let _ = write!(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY}\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <meta name=\"generator\" content=\"{generator}\">\n<title>{title}</title>\n",
        title = escape(title),
        generator = escape(generator),
    );
    if kind.plots {
        let _ = write!(
            out,
            "<!-- Plots: uPlot\n{PLOT_LICENCE}-->\n<style>{PLOT_CSS}</style>\n"
        );
    }
    let _ = write!(
        out,
        "<style>\n{PAGE_CSS}{css}</style>\n</head>\n<body>\n",
        css = kind.css
    );
    out
}

/// The end of a page: its data, the plots' library where it has plots, and its script. `data` is JSON that [`script_safe`] made.
pub(super) fn foot(kind: &Kind, out: &mut String, data: &str) {
    let _ = write!(
        out,
        "</main>\n<div id=\"say\" class=\"unseen\" aria-live=\"polite\"></div>\n\
         <script type=\"application/json\" id=\"data\">{data}</script>\n"
    );
    if kind.plots {
        let _ = writeln!(out, "<script>{PLOT_JS}</script>");
    }
    let _ = write!(out, "<script>{}</script>\n</body>\n</html>\n", kind.script);
}

fn header(out: &mut String, report: &Report) {
    let _ = write!(
        out,
        "<header class=\"top\">\n<div class=\"heading\"><h1>{}</h1>\
         <button type=\"button\" id=\"theme\" class=\"quiet\" hidden>Dark</button></div>\n",
        escape(&report.title)
    );
    if !report.subtitle.is_empty() {
        let _ = writeln!(
            out,
            "<p class=\"subtitle\">{}</p>",
            escape(&report.subtitle)
        );
    }
    out.push_str("<dl class=\"facts\">");
    if !report.command.is_empty() {
        let _ = write!(
            out,
            "<div><dt>Command</dt><dd><code>{}</code></dd></div>",
            escape(&report.command)
        );
    }
    for (name, value) in [
        ("Seeds", &report.seed_note),
        ("Made by", &report.generated_by),
    ] {
        if !value.is_empty() {
            let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
        }
    }
    out.push_str("</dl>\n</header>\n");
}

/// Notes, and how the page is used.
fn reading(out: &mut String, report: &Report, longest: usize, kept: usize) {
    out.push_str(
        "<details class=\"box\" id=\"reading\"><summary>How to read this page</summary>\n<ul>\n",
    );
    for note in &report.notes {
        let _ = writeln!(out, "<li>{}</li>", escape(note));
    }
    if longest > kept {
        let _ = writeln!(
            out,
            "<li>Curves are thinned for drawing: the longest has {longest} points, at most {kept} of a curve are in \
             this page ({hidden} for runs not shown at first). Time is cut into equal buckets and each keeps its least \
             and greatest value, so peaks stay; tables and the numbers below a plot are made from every point.</li>",
            hidden = payload::POINTS_HIDDEN,
        );
    }
    out.push_str(
        "<li>Pointer: move to read values in every plot at the same time, drag to zoom, double-click to see all. Click a \
         name above a plot to hide its curve, Shift-click to see it alone.</li>\n\
         <li>Keyboard: Tab to a plot; <kbd>←</kbd> <kbd>→</kbd> move the cursor (with <kbd>Shift</kbd> by ten), \
         <kbd>+</kbd> <kbd>−</kbd> zoom at the cursor, <kbd>Home</kbd> <kbd>End</kbd> jump, <kbd>0</kbd> shows all.</li>\n\
         <li>A controller has one colour everywhere. Several flows or seeds of one controller differ by dash and \
         shade.</li>\n</ul>\n</details>\n",
    );
}

/// A table whose means are over seeds.
pub(super) fn summary(out: &mut String, index: usize, table: &SummaryTable) {
    summary_over("seed", out, index, table);
}

/// A table whose means are over several of `what`, a seed or a cell.
pub(super) fn summary_over(what: &str, out: &mut String, index: usize, table: &SummaryTable) {
    let _ = write!(
        out,
        "<section class=\"box\" aria-labelledby=\"table{index}\"><div class=\"bar\"><h2 id=\"table{index}\">{caption}</h2>\
         <button type=\"button\" class=\"quiet\" data-csv-table=\"{index}\" hidden>CSV</button></div>\n\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"table{index}\">\
         <table class=\"summary\" id=\"data-table{index}\" aria-labelledby=\"table{index}\">\n<thead><tr>\
         <th scope=\"col\" data-sort=\"text\">{heading}</th>",
        caption = escape(&table.caption),
        heading = escape(&table.row_heading),
    );
    for column in &table.columns {
        heading(out, column);
    }
    out.push_str("</tr></thead>\n<tbody>\n");
    let looks: Vec<Look> = (0..table.columns.len())
        .map(|at| Look::of(table, at))
        .collect();
    for (at, row) in table.rows.iter().enumerate() {
        row_of(out, at, row, &looks);
    }
    out.push_str("</tbody></table></div>\n");
    let intervals = numbers(table).any(|e| e.interval.is_some());
    let ranked = looks.iter().any(|look| !look.best.is_empty());
    let mut foot = Vec::new();
    if intervals {
        foot.push(format!("± is half the 95 % interval of the mean over {what}s; [from, to] is the interval where its sides differ."));
    }
    if ranked && intervals {
        foot.push(format!(
            "Bold: the best mean, and means within its interval than which no row is better {what} by {what} (paired test, 5 %).",
        ));
    } else if ranked {
        foot.push("Bold: the best.".to_owned());
    }
    if !foot.is_empty() {
        let _ = writeln!(out, "<p class=\"foot\">{}</p>", foot.join(" "));
    }
    out.push_str("</section>\n");
}

fn heading(out: &mut String, column: &Column) {
    let arrow = match column.better {
        Some(Better::Higher) => {
            " <span class=\"dir\" title=\"higher is better\" aria-label=\"higher is better\">↑</span>"
        }
        Some(Better::Lower) => {
            " <span class=\"dir\" title=\"lower is better\" aria-label=\"lower is better\">↓</span>"
        }
        None => "",
    };
    let _ = write!(
        out,
        "<th scope=\"col\" data-sort=\"number\" data-unit=\"{unit}\" title=\"{help}\"><span class=\"name\">{label}</span>{arrow}\
         <span class=\"unit\">{unit}</span></th>",
        unit = escape(&column.unit),
        help = escape(&column.help),
        label = escape(&column.label),
    );
}

fn row_of(out: &mut String, at: usize, row: &Row, looks: &[Look]) {
    let swatch = if row.controller.is_empty() {
        String::new()
    } else {
        let paint = palette::controller(&row.controller);
        format!(
            "<span class=\"swatch\" style=\"--l:{};--d:{}\"></span>",
            paint.light, paint.dark
        )
    };
    let _ = write!(
        out,
        "<tr><th scope=\"row\">{swatch}{}</th>",
        escape(&row.label)
    );
    for (cell, look) in row.cells.iter().zip(looks) {
        match cell {
            Cell::Number(e) | Cell::Seeds(e, _) if e.mean.is_finite() => {
                let class = if look.best.get(at) == Some(&true) {
                    " class=\"best\""
                } else {
                    ""
                };
                let _ = write!(out, "<td{class} data-v=\"{}\"", e.mean);
                let places = look.places;
                if let Some(i) = e.interval.filter(|i| (i.high - i.low).is_finite()) {
                    let _ = write!(
                        out,
                        " data-l=\"{}\" data-u=\"{}\">{:.places$}<span class=\"pm\">{}</span></td>",
                        i.low,
                        i.high,
                        e.mean,
                        e.spread(places)
                    );
                } else {
                    let _ = write!(out, ">{:.places$}</td>", e.mean);
                }
            }
            Cell::Text(text) => {
                let _ = write!(out, "<td class=\"text\">{}</td>", escape(text));
            }
            Cell::Number(_) | Cell::Seeds(..) | Cell::Missing => {
                out.push_str("<td class=\"none\"><span aria-label=\"no value\">–</span></td>");
            }
        }
    }
    for _ in row.cells.len()..looks.len() {
        out.push_str("<td class=\"none\"></td>");
    }
    out.push_str("</tr>\n");
}

fn numbers(table: &SummaryTable) -> impl Iterator<Item = &Estimate> {
    table
        .rows
        .iter()
        .flat_map(|row| &row.cells)
        .filter_map(Cell::number)
}

/// How a column is written.
struct Look {
    /// Digits after the point.
    places: usize,
    /// Which rows are best; empty where the column has no direction or ranks nobody.
    best: Vec<bool>,
}

impl Look {
    fn of(table: &SummaryTable, at: usize) -> Self {
        let column: Vec<_> = table
            .rows
            .iter()
            .map(|row| row.cells.get(at)?.seeds())
            .map(|cell| cell.filter(|(e, _)| e.mean.is_finite()))
            .collect();
        let cells = || column.iter().flatten().map(|(e, _)| e);
        let greatest = cells().map(|e| e.mean.abs()).fold(0.0, f64::max);
        let is_whole = |e: &Estimate| {
            let (low, high) = e.bounds();
            [e.mean, low, high].iter().all(|v| v.fract() == 0.0)
        };
        let places = match greatest {
            _ if cells().all(is_whole) => 0,
            g if g >= 1000.0 => 0,
            g if g >= 100.0 => 1,
            g if g >= 10.0 => 2,
            g if g >= 0.1 => 3,
            g if g >= 0.01 => 4,
            _ => 5,
        };
        let best = table.columns[at]
            .better
            .map(|better| stats::best(&column, better == Better::Higher));
        // A column in which everyone is as good as the best ranks nobody.
        let ranks = |best: &Vec<bool>| {
            let mut there = best.iter().zip(&column);
            there.any(|(best, cell)| cell.is_some() && !best)
        };
        Self {
            places,
            best: best.filter(ranks).unwrap_or_default(),
        }
    }
}

/// Text for an element or a quoted attribute.
pub(super) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

/// JSON that cannot end the script element that it stands in, nor open a comment there. Inside JSON these characters
/// occur in strings only, where an escape means the same.
pub(super) fn script_safe(json: &str) -> String {
    let mut out = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '<' => out.push_str("\\u003c"),
            '>' => out.push_str("\\u003e"),
            '&' => out.push_str("\\u0026"),
            '\u{2028}' => out.push_str("\\u2028"),
            '\u{2029}' => out.push_str("\\u2029"),
            c => out.push(c),
        }
    }
    out
}
