//! The validation page: every claim of every paper, ours beside it with its interval, the verdict, and why where it misses.
//!
//! It is made of what studies leave (`checks.json`), so that papers reproduced on other days or machines stand on it too.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use slackwater_results::check::Tolerance;

use super::html::{escape, foot, head};
use super::paper::html::{asked_of, ours_of, short};

const CSS: &str = include_str!("../assets/paper.css");
const JS: &str = include_str!("../assets/validation.js");

/// What a study leaves of its checks.
#[derive(Clone, Debug, Deserialize)]
pub struct Verdicts {
    /// Name of the study.
    pub paper: String,
    /// Heading of its page.
    pub title: String,
    /// Version of the program.
    pub version: String,
    /// Seeds.
    pub seeds: Vec<u64>,
    /// The checks.
    pub checks: Vec<Claim>,
    /// The study's own page, as this page links to it; empty for none.
    #[serde(skip)]
    pub page: String,
}

/// One claim and what became of it, as [`slackwater_results::check::Check`] has it.
#[derive(Clone, Debug, Deserialize)]
pub struct Claim {
    /// The figure that it belongs to.
    pub figure: String,
    /// What is compared.
    pub name: String,
    /// Unit of both values.
    pub unit: String,
    /// What is asked for.
    pub reference: Option<f64>,
    /// Our value.
    pub ours: Option<f64>,
    /// Half-width of our 95 % interval.
    pub interval: Option<f64>,
    /// How far ours may lie from it.
    pub tolerance: Tolerance,
    /// The verdict.
    pub holds: bool,
    /// A miss counts.
    pub tested: bool,
    /// What the authors report.
    pub claimed: Option<f64>,
    /// Which profile of ours.
    pub profile: Option<String>,
    /// Where the relation stands.
    pub source: Option<String>,
    /// Why it misses, or is not tested.
    pub note: Option<String>,
}

impl Verdicts {
    /// Those that `text`, a `checks.json`, holds.
    ///
    /// # Errors
    /// Where the text is of another version.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Those that a study left in `folder`; `None` where there are none of this version.
    pub fn saved(folder: &Path) -> Option<Self> {
        let text = std::fs::read_to_string(folder.join("checks.json")).ok()?;
        let found = Self::parse(&text).ok()?;
        (found.version == env!("CARGO_PKG_VERSION")).then_some(found)
    }

    fn of(&self, wanted: fn(&Claim) -> bool) -> impl Iterator<Item = &Claim> {
        self.checks.iter().filter(move |c| wanted(c))
    }
}

const fn misses(c: &Claim) -> bool {
    c.tested && !c.holds
}

const fn holds(c: &Claim) -> bool {
    c.tested && c.holds
}

const fn untested(c: &Claim) -> bool {
    !c.tested
}

/// Makes the page.
pub fn render(papers: &[Verdicts], command: &str) -> String {
    let generator = concat!("slackwater ", env!("CARGO_PKG_VERSION"));
    let mut out = head("Validation", generator, CSS, 64 * 1024);
    let count = |wanted: fn(&Claim) -> bool| papers.iter().map(|p| p.of(wanted).count()).sum();
    let (hold, miss, not): (usize, usize, usize) = (count(holds), count(misses), count(untested));
    let _ = write!(
        out,
        "<header class=\"top\">\n<div class=\"heading\"><h1>Validation</h1>\
         <button type=\"button\" id=\"theme\" class=\"quiet\" hidden>Dark</button></div>\n\
         <p class=\"subtitle\">What the papers claim, what our runs show, and why where they part.</p>\n\
         <p class=\"about\"><strong class=\"{}\">{hold} of {} tested relations hold, {miss} miss.</strong> {not} more are shown and \
         explained, not tested.</p>\n<ul class=\"verdicts\" aria-label=\"Papers\">",
        if miss == 0 { "ok" } else { "miss" },
        hold + miss,
    );
    for p in papers {
        let (h, m) = (p.of(holds).count(), p.of(misses).count());
        let _ = write!(
            out,
            "<li><a href=\"#{0}\">{0} {1}</a></li>",
            escape(&p.paper),
            match (h, m) {
                (0, 0) => "not tested".to_owned(),
                (h, 0) => format!("<b class=\"ok\">{h}/{h}</b>"),
                (h, m) => format!("<b class=\"miss\">{h}/{}</b>", h + m),
            }
        );
    }
    let _ = write!(
        out,
        "</ul>\n<dl class=\"facts\"><div><dt>Command</dt><dd><code>{}</code></dd></div><div><dt>Made by</dt><dd>{generator}</dd></div></dl>\n</header>\n<main>\n",
        escape(command)
    );
    section(&mut out, "misses", "What misses", papers, misses, true);
    for p in papers {
        let seeds = match p.seeds.as_slice() {
            [first, .., last] => format!("seeds {first} to {last}"),
            [one] => format!("seed {one}"),
            [] => String::new(),
        };
        let page = if p.page.is_empty() {
            String::new()
        } else {
            format!(
                " <a href=\"{}\">Its figures</a>, one section each.",
                escape(&p.page)
            )
        };
        let _ = write!(
            out,
            "<section class=\"figure\" id=\"{}\"><h2>{}</h2><p class=\"setup\">{seeds}.{page}</p>",
            escape(&p.paper),
            escape(&p.title)
        );
        let alone = std::slice::from_ref(p);
        let n = p.of(holds).count();
        if n > 0 {
            let _ = write!(
                out,
                "<details class=\"box\"><summary>{n} relations hold</summary>"
            );
            table(&mut out, alone, holds, false);
            out.push_str("</details>");
        }
        if p.of(untested).next().is_some() {
            out.push_str(
                "<details class=\"box\"><summary>Shown and explained, not tested</summary>",
            );
            table(&mut out, alone, untested, false);
            out.push_str("</details>");
        }
        out.push_str("</section>\n");
    }
    out.push_str(
        "<details class=\"box\" id=\"reading\"><summary>How to read this page</summary><ul>\
         <li>A relation has a bound that comes from the paper or from what was asked of us. \"asked\" is that bound, \"paper\" the authors' \
         own number where it is another one.</li>\
         <li>± is half the 95 % interval of the mean over seeds. A relation holds where the mean keeps the bound (or, where it says so, the \
         worst seed).</li>\
         <li>A relation that cannot be a test, because the paper's own parameters forbid its number, does not count.</li>\
         </ul></details>\n",
    );
    foot(&mut out, "{\"controllers\":{},\"states\":{}}", JS);
    out
}

fn section(
    out: &mut String,
    id: &str,
    heading: &str,
    papers: &[Verdicts],
    wanted: fn(&Claim) -> bool,
    named: bool,
) {
    let _ = write!(
        out,
        "<section class=\"figure\" id=\"{id}\"><h2>{heading}</h2>"
    );
    if papers.iter().any(|p| p.of(wanted).next().is_some()) {
        table(out, papers, wanted, named);
    } else {
        out.push_str("<p>Nothing.</p>");
    }
    out.push_str("</section>\n");
}

fn table(out: &mut String, papers: &[Verdicts], wanted: fn(&Claim) -> bool, named: bool) {
    let paper = if named {
        "<th scope=\"col\" class=\"text\">paper</th>"
    } else {
        ""
    };
    let _ = write!(
        out,
        "<div class=\"box\"><div class=\"scroll\" tabindex=\"0\"><table class=\"checks\"><thead><tr>\
         <th scope=\"col\" class=\"text\">claim</th>{paper}<th scope=\"col\" class=\"text opt\">figure</th>\
         <th scope=\"col\">paper's number</th><th scope=\"col\">asked</th><th scope=\"col\">ours</th>\
         <th scope=\"col\" class=\"text\">verdict</th></tr></thead><tbody>"
    );
    for p in papers {
        for c in p.of(wanted) {
            let (class, verdict) = match (c.tested, c.holds) {
                (false, _) => ("untested", "not tested"),
                (true, true) => ("ok", "holds"),
                (true, false) => ("miss", "misses"),
            };
            let note = c.note.as_deref().map_or_else(String::new, |n| {
                format!("<span class=\"why\">{}</span>", escape(n))
            });
            let why = if misses(c) && note.is_empty() {
                "<span class=\"why\">The reason is not known.</span>".to_owned()
            } else {
                note
            };
            let profile = c.profile.as_deref().map_or_else(String::new, |p| {
                format!(" <span class=\"untested\">({})</span>", escape(p))
            });
            let paper = if named {
                format!("<td class=\"text\">{}</td>", escape(&p.paper))
            } else {
                String::new()
            };
            let figure = if p.page.is_empty() {
                escape(&c.figure)
            } else {
                format!(
                    "<a href=\"{}#{1}\">{1}</a>",
                    escape(&p.page),
                    escape(&c.figure)
                )
            };
            let _ = write!(
                out,
                "<tr><th scope=\"row\">{}{profile}{why}</th>{paper}<td class=\"text opt\">{figure}</td><td class=\"n\">{}</td>\
                 <td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"text {class}\">{verdict}</td></tr>",
                escape(&c.name),
                c.claimed.map_or_else(String::new, short),
                escape(&asked_of(
                    &c.unit,
                    c.reference.unwrap_or(f64::NAN),
                    c.tolerance
                )),
                escape(&ours_of(c.ours.unwrap_or(f64::NAN), c.interval)),
            );
        }
    }
    out.push_str("</tbody></table></div></div>\n");
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAVED: &str = r#"{ "paper": "xrc", "title": "XRC", "version": "0", "seeds": [1, 2],
        "tested": 2, "missed": 1, "checks": [
        { "figure": "fig4", "name": "shares <b>", "unit": "", "reference": 0.9, "ours": 0.95, "interval": 0.01,
          "tolerance": "at_least", "holds": true, "tested": true, "profile": "paper" },
        { "figure": "fig5", "name": "queue", "unit": "ms", "reference": 10.0, "ours": 14.0, "interval": null,
          "tolerance": { "relative": 0.2 }, "holds": false, "tested": true, "claimed": 9.0, "note": "the channel is slower" },
        { "figure": "fig5", "name": "beyond", "unit": "ms", "reference": null, "ours": null, "interval": null,
          "tolerance": { "absolute": 1.0 }, "holds": false, "tested": false, "note": "cannot be" } ] }"#;

    #[test]
    fn every_claim_has_a_verdict_and_every_miss_a_reason() {
        let mut papers = vec![Verdicts::parse(SAVED).expect("as studies write it")];
        papers[0].page = "../repro-xrc/index.html".to_owned();
        let page = render(&papers, "slackwater repro all");
        assert!(
            page.contains("1 of 2 tested relations hold, 1 miss."),
            "counts"
        );
        for said in [
            "the channel is slower",
            "shares &lt;b&gt;",
            "repro-xrc/index.html#fig5",
            "0.95 ± 0.01",
            "10 ms ± 20 %",
            "not tested",
        ] {
            assert!(page.contains(said), "{said}");
        }
        let misses = page.find("id=\"misses\"").expect("a section");
        let holds = page.find("id=\"xrc\"").expect("a section");
        assert!(misses < holds, "what misses comes first");
        assert!(!page.contains("src=\"http"), "nothing is loaded");
    }

    #[test]
    fn what_another_version_left_is_not_taken() {
        let folder = std::env::temp_dir().join(format!("slackwater-saved-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let write = |text: &str| std::fs::write(folder.join("checks.json"), text).expect("a file");
        write(SAVED);
        assert!(Verdicts::saved(&folder).is_none());
        write(&SAVED.replace(
            "\"version\": \"0\"",
            concat!("\"version\": \"", env!("CARGO_PKG_VERSION"), "\""),
        ));
        assert!(Verdicts::saved(&folder).is_some_and(|v| v.checks.len() == 3));
        let _ = std::fs::remove_dir_all(&folder);
    }
}
