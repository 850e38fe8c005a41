//! The arena's page: a table to filter, a front for each cell, a heat table, and who dominates whom.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Serialize;
use slackwater_lab::arena::{
    CellTable, Class, Entry, MEASURES, Measure, Overall, Table, cost::Cost,
};
use slackwater_results::metrics;
use slackwater_results::stats::Interval;

use super::html::{Kind, escape, foot, head, script_safe, summary, summary_over};
use super::model::{Cell, Column, Estimate, Row, SummaryTable};
use super::palette::{self, Paint};

/// Its figures are SVG of its own script.
const PAGE: Kind = Kind {
    css: include_str!("../assets/arena.css"),
    script: include_str!("../assets/built/arena.js"),
    plots: false,
};

/// What the page says beside the table.
#[derive(Clone, Debug, Default)]
pub struct ArenaPage {
    /// The command that makes it again.
    pub command: String,
    /// Runs and wall time, in words.
    pub effort: String,
    /// What a packet costs, where it was measured, and on what.
    pub costs: Vec<Cost>,
    /// Folders of runs that were kept, below the page's: `runs/<cell>/<system>`.
    pub records: bool,
}

#[derive(Serialize)]
struct Payload<'a> {
    controllers: BTreeMap<&'a str, Paint>,
    states: BTreeMap<&'a str, Paint>,
    link: Paint,
    measures: Vec<MeasureData>,
    table: &'a Table,
    records: bool,
}

#[derive(Serialize)]
struct MeasureData {
    key: &'static str,
    label: &'static str,
    unit: &'static str,
    decimals: usize,
    better: Option<&'static str>,
    help: &'static str,
}

/// Makes the page.
pub fn render(table: &Table, page: &ArenaPage) -> String {
    let names = table.cells.iter().flat_map(|c| &c.systems);
    let payload = Payload {
        controllers: names
            .map(|s| (s.controller.as_str(), palette::controller(&s.controller)))
            .collect(),
        states: BTreeMap::new(),
        link: palette::LINK,
        measures: MEASURES
            .iter()
            .map(|m| MeasureData {
                key: m.key,
                label: m.label,
                unit: m.unit,
                decimals: m.decimals,
                better: match m.better {
                    metrics::Better::Higher => Some("higher"),
                    metrics::Better::Lower => Some("lower"),
                    metrics::Better::Neither => None,
                },
                help: m.help,
            })
            .collect(),
        table,
        records: page.records,
    };
    let data = script_safe(&serde_json::to_string(&payload).expect("a table always makes JSON"));
    let title = match (table.overall.is_empty(), table.quick) {
        (false, _) => "The arena in drawn cells",
        (true, true) => "The arena (quick look)",
        (true, false) => "The arena",
    };
    let made_by = format!("slackwater {}", table.version);
    let mut out = head(&PAGE, title, &made_by, data.len());
    header(&mut out, title, &made_by, table, page);
    out.push_str("<main>\n<noscript><p class=\"warning\">Plots, the heat table and filters need JavaScript. The tables of cells and of dominance do not.</p></noscript>\n");
    out.push_str(
        "<section class=\"box\" id=\"hero\" aria-labelledby=\"hero-h\"><div class=\"bar\"><h2 id=\"hero-h\">All cells in one picture</h2></div>\
         <div data-hero></div></section>\n",
    );
    let mut tables = 0;
    for drawn in &table.overall {
        beside(&mut out, &mut tables, drawn);
    }
    for class in [Class::Sender, Class::Vr, Class::Media] {
        overall(&mut out, &mut tables, table, class, &page.costs);
    }
    out.push_str(
        "<section class=\"box\" id=\"heat\" aria-labelledby=\"heat-h\"><div class=\"bar\"><h2 id=\"heat-h\">System by cell</h2></div>\
         <div data-heat></div></section>\n\
         <section class=\"box\" id=\"all\" aria-labelledby=\"all-h\"><div class=\"bar\"><h2 id=\"all-h\">Every result</h2></div>\
         <div data-all></div></section>\n",
    );
    for (i, cell) in table.cells.iter().enumerate() {
        one(&mut out, &mut tables, i, cell);
    }
    for class in [Class::Sender, Class::Vr, Class::Media] {
        dominance(&mut out, table, class);
    }
    reading(&mut out, table, page);
    foot(&PAGE, &mut out, &data);
    out
}

fn header(out: &mut String, title: &str, made_by: &str, table: &Table, page: &ArenaPage) {
    let systems: std::collections::BTreeSet<&str> = table
        .cells
        .iter()
        .flat_map(|c| c.systems.iter().map(|s| s.name.as_str()))
        .collect();
    let _ = write!(
        out,
        "<header class=\"top\">\n<div class=\"heading\"><h1>{title}</h1>\
         <button type=\"button\" id=\"theme\" class=\"quiet\" hidden>Dark</button></div>\n\
         <p class=\"subtitle\">{} systems on {} cells and links, the same seeds for each: who wins, where, and at what cost.</p>\n\
         <ul class=\"verdicts\" aria-label=\"Cells\">",
        systems.len(),
        table.cells.len(),
    );
    for cell in &table.cells {
        let _ = write!(
            out,
            "<li><a href=\"#{}\">{}</a></li>",
            escape(&cell.name),
            escape(&cell.name)
        );
    }
    out.push_str("</ul>\n<dl class=\"facts\">");
    if !page.command.is_empty() {
        let _ = write!(
            out,
            "<div><dt>Command</dt><dd><code>{}</code></dd></div>",
            escape(&page.command)
        );
    }
    let seeds = match table.seeds.as_slice() {
        [first, .., last] => format!("{first} to {last}"),
        [one] => format!("{one} (no intervals)"),
        [] => String::new(),
    };
    for (name, value) in [
        ("Seeds", seeds.as_str()),
        ("Runs", &page.effort),
        ("Made by", made_by),
    ] {
        if !value.is_empty() {
            let _ = write!(out, "<div><dt>{name}</dt><dd>{}</dd></div>", escape(value));
        }
    }
    out.push_str("</dl>\n</header>\n");
}

/// How a class is called.
const fn word(class: Class) -> &'static str {
    match class {
        Class::Sender => "Senders",
        Class::Vr => "VR",
        Class::Media => "Media",
    }
}

/// What became of each system over all cells of its class.
fn overall(out: &mut String, tables: &mut usize, table: &Table, class: Class, costs: &[Cost]) {
    struct Sum<'a> {
        entry: &'a Entry,
        cells: f64,
        front: f64,
        wins: f64,
        losses: f64,
    }
    let mut sums: Vec<Sum<'_>> = vec![];
    for cell in table.cells.iter().filter(|c| c.class == class) {
        for (i, entry) in cell.systems.iter().enumerate() {
            let at = sums.iter().position(|s| s.entry.name == entry.name);
            let at = at.unwrap_or_else(|| {
                sums.push(Sum {
                    entry,
                    cells: 0.0,
                    front: 0.0,
                    wins: 0.0,
                    losses: 0.0,
                });
                sums.len() - 1
            });
            let sum = &mut sums[at];
            sum.cells += 1.0;
            sum.front += f64::from(u8::from(entry.on_front));
            let rivals = (cell.systems.len() - 1).max(1) as f64;
            let share = |n: usize| n as f64 / rivals * 100.0;
            sum.wins += share(cell.wins.iter().filter(|w| w.winner == i).count());
            sum.losses += share(cell.wins.iter().filter(|w| w.loser == i).count());
        }
    }
    if sums.is_empty() {
        return;
    }
    sums.sort_by(|a, b| {
        let score = |s: &Sum<'_>| (s.wins - s.losses) / s.cells;
        score(b).total_cmp(&score(a))
    });
    let higher = Some(super::Better::Higher);
    let lower = Some(super::Better::Lower);
    let mut columns = vec![
        Column::new("cells", "", None, "Cells in which it ran."),
        Column::new(
            "on the front",
            "%",
            higher,
            "Share of those cells in which nobody is at least as good in both measures drawn there and better in one.",
        ),
        Column::new(
            "dominates",
            "%",
            higher,
            "Share of the other systems of a cell that it dominates, mean over cells.",
        ),
        Column::new(
            "is dominated by",
            "%",
            lower,
            "Share of the other systems of a cell that dominate it, mean over cells.",
        ),
    ];
    let has_costs = sums
        .iter()
        .any(|s| costs.iter().any(|c| c.system == s.entry.name));
    if has_costs && class == Class::Sender {
        columns.push(Column::new(
            "CPU",
            "ns/packet",
            lower,
            "CPU time of the simulation over packets delivered (hosts, cell, controller, reports, edge function), on the machine that made this page. Not part of the results that every machine repeats.",
        ));
    }
    let number = |v: f64| Cell::Number(Estimate::from(v));
    let rows = sums
        .iter()
        .map(|s| {
            let share = |v: f64| number((v / s.cells).round());
            let mut cells = vec![
                number(s.cells),
                share(s.front * 100.0),
                share(s.wins),
                share(s.losses),
            ];
            if columns.len() > cells.len() {
                let cost = costs.iter().find(|c| c.system == s.entry.name);
                cells.push(cost.map_or(Cell::Missing, |c| number(c.ns.round())));
            }
            Row {
                label: s.entry.title.clone(),
                controller: s.entry.controller.clone(),
                cells,
            }
        })
        .collect();
    let shown = SummaryTable {
        caption: format!("{} over all cells", word(class)),
        row_heading: "System".to_owned(),
        columns,
        rows,
    };
    summary(out, *tables, &shown);
    *tables += 1;
}

/// `e` with so many digits after the point.
fn rounded(e: &Estimate, decimals: usize) -> Estimate {
    let scale = 10f64.powi(decimals as i32);
    let round = |v: f64| (v * scale).round() / scale;
    Estimate {
        mean: round(e.mean),
        interval: e.interval.map(|i| Interval {
            low: round(i.low),
            high: round(i.high),
        }),
        n: e.n,
    }
}

/// All systems over the drawn cells, beside one of them.
fn beside(out: &mut String, tables: &mut usize, drawn: &Overall) {
    let mut columns = vec![
        Column::new("cells", "", None, "Cells that it shares with the base."),
        Column::new(
            "on the front",
            "",
            Some(super::Better::Higher),
            "Those in which no other system is at least as good in both measures and better in one.",
        ),
    ];
    for (key, ratio) in drawn.front.iter().zip(drawn.ratio) {
        let measure = Measure::find(key);
        let better = measure.map(|m| match m.better {
            metrics::Better::Lower => super::Better::Lower,
            _ => super::Better::Higher,
        });
        let label = measure.map_or("", |m| m.label);
        let (mean, worst) = if ratio {
            (
                "Geometric mean over cells of the ratio to the base, with its 95 % interval. Rates below 1 kbit/s count as that, times below 0.1 ms too.",
                "The ratio in the cell where it is worst.",
            )
        } else {
            (
                "Mean over cells of the difference to the base, with its 95 % interval.",
                "The difference in the cell where it is worst.",
            )
        };
        columns.push(Column::new(
            label,
            if ratio { "x" } else { "+" },
            better,
            mean,
        ));
        columns.push(Column::new("worst", "", better, worst));
        columns.push(Column::new("in", "", None, "That cell."));
    }
    let rows = drawn.systems.iter().map(|s| {
        let number = |v: f64| Cell::Number(super::model::Estimate::from(v));
        let mut cells = vec![number(s.cells as f64), number(s.front as f64)];
        for k in 0..2 {
            let mean = s.beside[k].map(|e| Cell::Seeds(rounded(&e, 3), s.by_cell[k].clone()));
            cells.push(mean.unwrap_or(Cell::Missing));
            let worst = s.worst[k].as_ref().filter(|_| s.name != drawn.base);
            let [value, name] = worst.map_or([Cell::Missing, Cell::Missing], |(v, name)| {
                [
                    Cell::Number(rounded(&(*v).into(), 2)),
                    Cell::Text(name.clone()),
                ]
            });
            cells.extend([value, name]);
        }
        Row {
            label: s.title.clone(),
            controller: s.controller.clone(),
            cells,
        }
    });
    let shown = SummaryTable {
        caption: format!(
            "{}: {} drawn cells beside {}",
            drawn.kind, drawn.cells, drawn.base
        ),
        row_heading: "System".to_owned(),
        rows: rows.collect(),
        columns,
    };
    summary_over("cell", out, *tables, &shown);
    *tables += 1;
}

fn one(out: &mut String, tables: &mut usize, index: usize, cell: &CellTable) {
    let _ = write!(
        out,
        "<section class=\"figure\" id=\"{}\">\n<h2>{}</h2>\n<p class=\"setup\">{} <code>{}</code></p>\n\
         <div data-front=\"{index}\"></div>\n",
        escape(&cell.name),
        escape(&cell.title),
        escape(&cell.about),
        escape(&cell.scenario),
    );
    let has = |key: &str| cell.systems.iter().any(|s| s.values.contains_key(key));
    let shown: Vec<_> = MEASURES.iter().filter(|m| has(m.key)).collect();
    let columns = shown.iter().map(|m| {
        let better = match m.better {
            metrics::Better::Higher => Some(super::Better::Higher),
            metrics::Better::Lower => Some(super::Better::Lower),
            metrics::Better::Neither => None,
        };
        Column::new(m.label, m.unit, better, m.help)
    });
    let rows = cell.systems.iter().map(|s| Row {
        label: s.title.clone(),
        controller: s.controller.clone(),
        cells: shown
            .iter()
            .map(|m| {
                s.values.get(m.key).map_or(Cell::Missing, |e| {
                    // Digits that the measure has: a table of three hundred numbers is read by its first ones.
                    let shown = rounded(e, m.decimals);
                    match s.seeds.get(m.key) {
                        Some(seeds) => Cell::Seeds(shown, seeds.clone()),
                        None => Cell::Number(shown),
                    }
                })
            })
            .collect(),
    });
    let table = SummaryTable {
        caption: format!("{}: all measures", cell.title),
        row_heading: "System".to_owned(),
        columns: columns.collect(),
        rows: rows.collect(),
    };
    summary(out, *tables, &table);
    *tables += 1;
    out.push_str("</section>\n");
}

/// In how many cells a system of a row dominates one of a column.
fn dominance(out: &mut String, table: &Table, class: Class) {
    let mut names: Vec<&Entry> = vec![];
    for entry in table
        .cells
        .iter()
        .filter(|c| c.class == class)
        .flat_map(|c| &c.systems)
    {
        if !names.iter().any(|n| n.name == entry.name) {
            names.push(entry);
        }
    }
    if names.is_empty() {
        return;
    }
    let at = |name: &str| names.iter().position(|n| n.name == name);
    let mut won = vec![vec![0usize; names.len()]; names.len()];
    let mut met = vec![vec![0usize; names.len()]; names.len()];
    for cell in table.cells.iter().filter(|c| c.class == class) {
        let places: Vec<usize> = cell.systems.iter().filter_map(|s| at(&s.name)).collect();
        for a in &places {
            for b in &places {
                met[*a][*b] += 1;
            }
        }
        for win in &cell.wins {
            won[places[win.winner]][places[win.loser]] += 1;
        }
    }
    let id = format!("dominance-{}", word(class).to_lowercase());
    let _ = write!(
        out,
        "<section class=\"box\" id=\"{id}\" aria-labelledby=\"{id}-h\"><h2 id=\"{id}-h\">{}: who dominates whom</h2>\
         <p class=\"help\">Cells in which the system of the row is at least as good as that of the column in both measures drawn \
         there, and significantly better in one (paired over seeds; at most 5 % of such differences in a cell by chance).</p>\
         <div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-labelledby=\"{id}-h\"><table class=\"matrix\"><thead><tr><th></th>",
        word(class)
    );
    for n in &names {
        let _ = write!(
            out,
            "<th scope=\"col\"><span>{}</span></th>",
            escape(&n.title)
        );
    }
    out.push_str("</tr></thead><tbody>");
    for (i, n) in names.iter().enumerate() {
        let paint = palette::controller(&n.controller);
        let _ = write!(
            out,
            "<tr><th scope=\"row\"><span class=\"swatch\" style=\"--l:{};--d:{}\"></span>{}</th>",
            paint.light,
            paint.dark,
            escape(&n.title)
        );
        for (j, other) in names.iter().enumerate() {
            let (w, m) = (won[i][j], met[i][j]);
            if i == j {
                out.push_str("<td class=\"self\"></td>");
            } else if w == 0 {
                out.push_str("<td class=\"nought\">·</td>");
            } else {
                let _ = write!(
                    out,
                    "<td style=\"--share:{:.0}%\" title=\"{} dominates {} in {w} of {m} cells\">{w}</td>",
                    100.0 * w as f64 / m as f64,
                    escape(&n.title),
                    escape(&other.title)
                );
            }
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div></section>\n");
}

fn reading(out: &mut String, table: &Table, page: &ArenaPage) {
    out.push_str(
        "<details class=\"box\" id=\"reading\"><summary>How to read this page</summary>\n<ul>\n",
    );
    if table.quick {
        out.push_str("<li>Made with --quick: few cells, systems and seeds, short runs. A look, not a measurement.</li>\n");
    }
    for m in MEASURES {
        let _ = writeln!(
            out,
            "<li><b>{}</b>: {}</li>",
            escape(m.label),
            escape(m.help)
        );
    }
    out.push_str(
        "<li>± is half the 95 % interval of the mean over seeds, [from, to] the interval where its sides differ.</li>\n\
         <li>Every number leads to its run: choose a row of \"Every result\", or a field of \"System by cell\", for the command that \
         repeats it with its report.</li>\n",
    );
    if !page.costs.is_empty() {
        out.push_str(
            "<li>CPU time a packet was measured on the machine that made this page.</li>\n",
        );
    }
    for (cell, why) in &table.skipped {
        let _ = writeln!(
            out,
            "<li>{} was left out: {}.</li>",
            escape(cell),
            escape(why)
        );
    }
    out.push_str("</ul></details>\n");
}

/// The results as Markdown: for each cell the measures that are drawn and who dominates how many.
pub fn markdown(table: &Table, page: &ArenaPage) -> String {
    let mut out = String::new();
    let _ = writeln!(
        out,
        "\nMade by `{}` (slackwater {}): {}. Seeds {} to {}; ± is half the 95 % interval, [from, to] the interval where its sides differ. **Bold**: on the Pareto front.\n",
        page.command,
        table.version,
        page.effort,
        table.seeds.first().copied().unwrap_or_default(),
        table.seeds.last().copied().unwrap_or_default(),
    );
    for cell in &table.cells {
        let _ = writeln!(
            out,
            "### {}\n\n{} (`arena/{}`)\n",
            cell.title, cell.about, cell.name
        );
        let has = |key: &str| cell.systems.iter().any(|s| s.values.contains_key(key));
        let shown: Vec<_> = MEASURES
            .iter()
            .filter(|m| has(m.key) && m.key != "loss")
            .collect();
        out.push_str("| system |");
        for m in &shown {
            let unit = if m.unit.is_empty() { "" } else { ", " };
            let _ = write!(out, " {}{unit}{} |", m.label, m.unit);
        }
        out.push_str(" dominates | dominated by |\n|---|");
        out.push_str(&"---:|".repeat(shown.len() + 2));
        out.push('\n');
        for (i, s) in cell.systems.iter().enumerate() {
            let bold = if s.on_front { "**" } else { "" };
            let _ = write!(out, "| {bold}{}{bold} |", s.title);
            for m in &shown {
                let places = m.decimals;
                match s.values.get(m.key) {
                    Some(e) => {
                        let _ = write!(out, " {} |", e.text(places));
                    }
                    None => out.push_str(" |"),
                }
            }
            let wins = cell.wins.iter().filter(|w| w.winner == i).count();
            let losses = cell.wins.iter().filter(|w| w.loser == i).count();
            let _ = writeln!(out, " {wins} | {losses} |");
        }
        out.push('\n');
    }
    for (cell, why) in &table.skipped {
        let _ = writeln!(out, "{cell} was left out: {why}.\n");
    }
    out
}
