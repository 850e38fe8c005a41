//! The validation page: every claim of every paper, ours beside it with its interval, the verdict, and why where it misses; then
//! what is ours, apart.
//!
//! It is made of what studies leave (`checks.json`), so that papers reproduced on other days or machines stand on it too.

use std::fmt::Write as _;
use std::path::Path;

use serde::Deserialize;
use slackwater_results::check::{Origin, Tally, Tolerance, Verdict};
use slackwater_results::stats::Interval;
use slackwater_scenario::bounded;

use super::html::{Kind, escape, foot, head};
use super::palette;
use super::paper::headline;
use super::paper::html::{bound_of, ours_of};
use super::verdicts::{self, Line};

/// Text and tables.
const PAGE: Kind = Kind {
    css: include_str!("../assets/paper.css"),
    script: include_str!("../assets/built/validation.js"),
    plots: false,
};

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
    /// The paper's claims, in its order.
    pub claims: Vec<Row>,
    /// What is compared besides.
    pub relations: Vec<Row>,
    /// Claims whose figures were not made.
    pub left_out: usize,
    /// What is missing, where the study was interrupted.
    #[serde(default)]
    pub partial: Option<String>,
    /// The study's own page, as this page links to it; empty for none.
    #[serde(skip)]
    pub page: String,
}

/// One comparison and what became of it, as [`slackwater_results::check::Check`] has it.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    /// The figure that it belongs to.
    pub figure: String,
    /// What is compared.
    pub name: String,
    /// Unit of both values.
    pub unit: String,
    /// The bound.
    pub reference: Option<f64>,
    /// Our value.
    pub ours: Option<f64>,
    /// Our 95 % interval.
    pub interval: Option<Interval>,
    /// How far ours may lie from it.
    pub tolerance: Tolerance,
    /// What it came to.
    pub verdict: Verdict,
    /// Whose bound it is.
    pub origin: Origin,
    /// What the authors report.
    pub claimed: Option<f64>,
    /// Which profile of ours.
    pub profile: Option<String>,
    /// Where the relation stands.
    pub source: Option<String>,
    /// Why it misses, or is not tested.
    pub note: Option<String>,
    /// How many seeds would decide it, where it is open.
    pub seeds_to_decide: Option<usize>,
}

impl Verdicts {
    /// Those that `text`, a `checks.json`, holds.
    ///
    /// # Errors
    /// Where the text is of another version.
    pub fn parse(text: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(text)
    }

    /// Those that a study left in `folder`; `None` where there are none of this version, or a part of them alone.
    pub fn saved(folder: &Path) -> Option<Self> {
        let text = bounded::read(&folder.join("checks.json"), bounded::RESULTS).ok()?;
        let found = Self::parse(std::str::from_utf8(&text).ok()?).ok()?;
        let whole = found.version == env!("CARGO_PKG_VERSION") && found.partial.is_none();
        whole.then_some(found)
    }

    /// Its comparisons as the tables show them; `named`: with the paper's name.
    fn lines(&self, named: bool) -> impl Iterator<Item = Line<'_>> {
        let all = self.claims.iter().chain(&self.relations);
        all.map(move |row| row.line(self, named))
    }
}

impl Row {
    fn line<'a>(&'a self, of: &'a Verdicts, named: bool) -> Line<'a> {
        let place = escape(self.source.as_deref().unwrap_or(&self.figure));
        let place = if of.page.is_empty() {
            place
        } else {
            let (page, figure) = (escape(&of.page), escape(&self.figure));
            format!("<a href=\"{page}#{figure}\">{place}</a>")
        };
        Line {
            place: if named {
                let paper = escape(&of.paper);
                format!("<a href=\"#{paper}\">{paper}</a>: {place}")
            } else {
                place
            },
            name: &self.name,
            profile: self.profile.as_deref().unwrap_or(""),
            claimed: self.claimed,
            bound: bound_of(
                &self.unit,
                self.reference.unwrap_or(f64::NAN),
                self.tolerance,
            ),
            ours: ours_of(self.ours.unwrap_or(f64::NAN), self.interval),
            verdict: self.verdict,
            seeds: self.seeds_to_decide,
            origin: self.origin,
            note: self.note.as_deref(),
        }
    }
}

/// Makes the page.
pub fn render(papers: &[Verdicts], command: &str) -> String {
    let generator = concat!("slackwater ", env!("CARGO_PKG_VERSION"));
    let mut out = head(&PAGE, "Validation", generator, 64 * 1024);
    let rows = papers
        .iter()
        .flat_map(|p| p.claims.iter().chain(&p.relations));
    let text = headline(
        rows.map(|r| (r.origin, r.profile.as_deref(), r.verdict)),
        papers.iter().map(|p| p.left_out).sum(),
    );
    let (first, more) = text.split_first().expect("a headline has a sentence");
    out.push_str(
        "<header class=\"top\">\n<div class=\"heading\"><h1>Validation</h1>\
         <button type=\"button\" id=\"theme\" class=\"quiet\" hidden>Dark</button></div>\n\
         <p class=\"subtitle\">What the papers claim, what our runs show, and why where they part.</p>\n",
    );
    let lines: Vec<_> = papers.iter().flat_map(|p| p.lines(true)).collect();
    verdicts::counts(&mut out, &lines);
    let _ = write!(
        out,
        "<p class=\"about\"><strong>{}</strong> {}</p>\n<ul class=\"verdicts\" aria-label=\"Papers\">",
        escape(first),
        escape(&more.join(" ")),
    );
    for p in papers {
        let tally = Tally::of(p.claims.iter().map(|c| c.verdict));
        let _ = write!(
            out,
            "<li><a href=\"#{0}\">{0} {1}</a></li>",
            escape(&p.paper),
            match tally.tested() {
                0 => "no claim".to_owned(),
                n => format!(
                    "<b class=\"{}\">{}/{n}</b>",
                    if tally.misses == 0 { "ok" } else { "miss" },
                    tally.holds
                ),
            }
        );
    }
    let _ = write!(
        out,
        "</ul>\n<dl class=\"facts\"><div><dt>Command</dt><dd><code>{}</code></dd></div><div><dt>Made by</dt><dd>{generator}</dd></div></dl>\n</header>\n<main>\n",
        escape(command)
    );
    missed_and_open(&mut out, &lines);
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
        let lines: Vec<_> = p.lines(false).collect();
        verdicts::counts(&mut out, &lines);
        for (what, claims, verdict) in [
            ("Claims held", true, Verdict::Holds),
            ("Claims not tested", true, Verdict::NotTested),
            (
                "Bounds of standards and other programs held",
                false,
                Verdict::Holds,
            ),
        ] {
            let found = lines.iter().filter(|l| {
                let claim = l.origin == Origin::Claim;
                l.verdict == verdict && claim == claims && l.origin != Origin::Target
            });
            verdicts::rest(&mut out, what, found, false);
        }
        verdicts::targets(&mut out, lines.iter());
        out.push_str("</section>\n");
    }
    out.push_str(
        "<details class=\"box\" id=\"reading\"><summary>How to read this page</summary><ul>\
         <li>A claim's bound is the number as the paper prints it, to half a unit of its last digit; where it is another, the row says why.</li>\
         <li>± is half the 95 % interval of the mean over seeds, [from, to] the interval where its sides differ. A verdict is that of the whole interval.</li>\
         <li>Targets of our own are shown and never count.</li>\
         </ul></details>\n",
    );
    let colours = serde_json::json!({ "controllers": {}, "states": {}, "link": palette::LINK });
    foot(&PAGE, &mut out, &colours.to_string());
    out
}

/// What the reader looks for first: the misses by their cause, and what more seeds would decide.
fn missed_and_open(out: &mut String, lines: &[Line<'_>]) {
    let of = |wanted| {
        let counted = lines.iter().filter(|l| l.origin != Origin::Target);
        counted.filter(move |l| l.verdict == wanted)
    };
    out.push_str("<section class=\"figure\" id=\"misses\"><h2>What misses, by its cause</h2>");
    if !verdicts::misses(out, "What misses", of(Verdict::Misses)) {
        out.push_str("<p>Nothing.</p>");
    }
    out.push_str("</section>\n");
    let open = of(Verdict::CannotTell);
    if open.clone().next().is_some() {
        out.push_str(
            "<section class=\"figure\" id=\"open\"><h2>What these seeds do not decide</h2>",
        );
        verdicts::undecided(out, open);
        out.push_str("</section>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAVED: &str = r#"{ "paper": "xrc", "title": "XRC", "version": "0", "seeds": [1, 2], "left_out": 3,
        "claims": [
        { "figure": "fig4", "name": "shares <b>", "unit": "", "reference": 0.9, "ours": 0.95, "interval": { "low": 0.94, "high": 0.96 },
          "tolerance": "at_least", "verdict": "holds", "origin": "claim", "profile": "paper" },
        { "figure": "fig5", "name": "queue", "unit": "ms", "reference": 10.0, "ours": 14.0, "interval": null, "profile": "paper",
          "tolerance": { "relative": 0.2 }, "verdict": "misses", "origin": "claim", "claimed": 9.0, "note": "the channel is slower" },
        { "figure": "fig5", "name": "beyond", "unit": "ms", "reference": null, "ours": null, "interval": null,
          "tolerance": { "absolute": 1.0 }, "verdict": "not_tested", "origin": "claim", "note": "cannot be" } ],
        "relations": [
        { "figure": "fig5", "name": "aim", "unit": "", "reference": 1.0, "ours": 2.0, "interval": null,
          "tolerance": "at_least", "verdict": "holds", "origin": "target" } ] }"#;

    #[test]
    fn every_claim_has_a_verdict_and_every_miss_a_reason() {
        let mut papers = vec![Verdicts::parse(SAVED).expect("as studies write it")];
        papers[0].page = "../repro-xrc/index.html".to_owned();
        let page = render(&papers, "slackwater repro all");
        for sentence in [
            "with the paper&#39;s own system: 1 of 2 hold.",
            "1 claim cannot be tested",
            "3 claims belong to figures that were not made.",
            "Targets of our own, which do not count: 1 of 1 hold.",
        ] {
            assert!(page.contains(sentence), "{sentence}");
        }
        for said in [
            "the channel is slower",
            "shares &lt;b&gt;",
            "repro-xrc/index.html#fig5",
            "0.950 ± 0.010",
            "10 ms ± 20 %",
            "Claims not tested: 1",
            "<b>1 miss</b> the channel is slower",
            "Targets of our own, which never count: 1 held",
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
        assert!(Verdicts::saved(&folder).is_some_and(|v| v.claims.len() == 3));
        let _ = std::fs::remove_dir_all(&folder);
    }
}
