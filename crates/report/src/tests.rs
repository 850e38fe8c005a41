use slackwater_results::stats::Bounds;

use super::decimate::{instants, min_max, quantiles};
use super::html::{escape, script_safe};
use super::*;

const HOSTILE: &str = "</script><script>alert(1)</script><!-- \"'&\u{2028}";

fn data_of(page: &str) -> serde_json::Value {
    let start = page.find("id=\"data\">").expect("the page has data") + "id=\"data\">".len();
    let end = start + page[start..].find("</script>").expect("the block ends");
    serde_json::from_str(&page[start..end]).expect("the block is JSON")
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a developer says where to leave the pages"
)]
fn the_demo_pages_are_complete() {
    let pages = [("compare", demo::comparison()), ("run", demo::single())]
        .map(|(name, report)| (name, render(&report)));
    for (name, page) in &pages {
        for part in [
            "<title>",
            "<table",
            "id=\"plots\"",
            "<noscript>",
            "lang=\"en\"",
        ] {
            assert!(page.contains(part), "{name} lacks {part}");
        }
        assert!(page.len() < 8 << 20, "{name} has {} bytes", page.len());
    }
    if let Ok(folder) = std::env::var("SLACKWATER_REPORT_DEMO") {
        for (name, page) in &pages {
            let path = std::path::Path::new(&folder).join(format!("{name}.html"));
            std::fs::write(&path, page).expect("the demo folder can be written");
        }
    }
}

#[test]
fn the_first_seed_of_each_controller_is_drawn() {
    let data = data_of(&render(&demo::comparison()));
    let shown: Vec<&str> = data["runs"]
        .as_array()
        .expect("runs")
        .iter()
        .filter(|run| run["shown"] == true)
        .map(|run| run["name"].as_str().expect("a name"))
        .collect();
    assert_eq!(shown.len(), 7);
    assert!(shown.iter().all(|name| name.ends_with("-seed1")));
}

#[test]
fn a_chosen_run_stays_chosen() {
    let mut report = demo::comparison();
    report.runs[3].shown = true;
    let data = data_of(&render(&report));
    let shown = data["runs"].as_array().expect("runs");
    assert_eq!(shown.iter().filter(|run| run["shown"] == true).count(), 1);
    assert_eq!(shown[3]["shown"], true);
}

#[test]
fn nothing_is_loaded_from_elsewhere() {
    for report in [demo::comparison(), demo::single()] {
        let page = render(&report);
        // An address in a licence comment and the name of the SVG namespace are not requests.
        let known = [
            "https://github.com/leeoniya/uPlot",
            "http://www.w3.org/2000/svg",
        ];
        for (at, _) in page.match_indices("://") {
            let start = page[..at]
                .rfind(|c: char| !c.is_ascii_alphanumeric())
                .map_or(0, |i| i + 1);
            assert!(
                known
                    .iter()
                    .any(|address| page[start..].starts_with(address)),
                "an address: {}",
                page[start..].chars().take(60).collect::<String>()
            );
        }
        for request in [
            "src=", "<link", "@import", "url(\"", "fetch(", "XMLHttp", "<img", "<iframe",
        ] {
            assert!(!page.contains(request), "the page has {request}");
        }
        assert!(page.contains("default-src 'none'"));
    }
}

#[test]
fn hostile_names_stay_text() {
    let mut report = demo::single();
    report.title = HOSTILE.into();
    report.subtitle = HOSTILE.into();
    report.command = HOSTILE.into();
    report.seed_note = HOSTILE.into();
    report.scenario_toml = HOSTILE.into();
    report.generated_by = HOSTILE.into();
    report.notes = vec![HOSTILE.into()];
    report.tables[0].caption = HOSTILE.into();
    report.tables[0].row_heading = HOSTILE.into();
    report.tables[0].columns[0] = Column::new(HOSTILE, HOSTILE, None, HOSTILE);
    report.tables[0].rows[0].label = HOSTILE.into();
    report.tables[0].rows[0].controller = HOSTILE.into();
    report.tables[0].rows[0].cells[0] = Cell::Text(HOSTILE.into());
    let run = &mut report.runs[0];
    run.name = HOSTILE.into();
    run.label = HOSTILE.into();
    run.controllers = vec![HOSTILE.into()];
    run.series[1].label = HOSTILE.into();
    run.series[1].controller = HOSTILE.into();
    run.series[1].kind = SeriesKind::Other(HOSTILE.into());
    run.series[1].unit = HOSTILE.into();
    run.cdfs[0].quantity = HOSTILE.into();
    run.events[0].label = HOSTILE.into();
    run.bands[0].bands[0].state = HOSTILE.into();

    let page = render(&report);
    let clean = render(&demo::single());
    assert_eq!(
        page.matches("<script").count(),
        clean.matches("<script").count()
    );
    assert_eq!(
        page.matches("</script").count(),
        clean.matches("</script").count()
    );
    assert!(!page.contains("alert(1)</script"));
    assert_eq!(page.matches("<!--").count(), clean.matches("<!--").count());
    // The names arrive whole, as data.
    let data = data_of(&page);
    assert_eq!(data["runs"][0]["name"], HOSTILE);
    assert_eq!(data["runs"][0]["series"][1]["unit"], HOSTILE);
    assert!(data["states"].get(HOSTILE).is_some());
}

#[test]
fn escapes_are_complete() {
    assert_eq!(
        escape("<a b=\"c\" d='e'>&"),
        "&lt;a b=&quot;c&quot; d=&#39;e&#39;&gt;&amp;"
    );
    let json = serde_json::to_string(HOSTILE).expect("a string makes JSON");
    let safe = script_safe(&json);
    assert!(!safe.contains(['<', '>', '&', '\u{2028}']));
    let back: String = serde_json::from_str(&safe).expect("still JSON");
    assert_eq!(back, HOSTILE);
}

#[test]
fn a_report_survives_json() {
    // Numbers with few digits, since parsing rounds to within an ulp unless asked for more.
    let short = |values: &mut Vec<f64>| {
        values.truncate(50);
        for value in values {
            *value = (*value * 4.0).round() / 4.0;
        }
    };
    let mut report = demo::single();
    report.trade_off = demo::comparison().trade_off;
    for run in &mut report.runs {
        for series in &mut run.series {
            short(&mut series.t);
            short(&mut series.y);
        }
        for cdf in &mut run.cdfs {
            short(&mut cdf.x);
            short(&mut cdf.p);
        }
        for track in &mut run.events {
            short(&mut track.t);
        }
        run.bands[2].bands.truncate(2);
    }
    report.tables[0].rows.drain(..3);
    for point in &mut report.trade_off.as_mut().expect("a trade-off").points {
        point.samples.clear();
        point.x = Estimate::symmetric(2.5, 0.25, 5);
        point.y = 4.0.into();
    }
    let text = serde_json::to_string(&report).expect("a report makes JSON");
    let mut back: Report = serde_json::from_str(&text).expect("and JSON a report");

    let gaps = |report: &mut Report| {
        let all = report.runs.iter_mut().flat_map(|run| &mut run.series);
        let mut count = 0;
        for y in all.flat_map(|series| &mut series.y).filter(|y| y.is_nan()) {
            *y = -1.0;
            count += 1;
        }
        count
    };
    let (before, after) = (gaps(&mut report), gaps(&mut back));
    assert!(before > 0 && before == after, "{before} gaps, then {after}");
    assert!(report == back, "a value changed on the way");
}

/// What the page's script does with a packed column.
fn unpack(packed: &serde_json::Value) -> Vec<f64> {
    let float = |v: &serde_json::Value| v.as_f64().unwrap_or(f64::NAN);
    if let Some(values) = packed.as_array() {
        return values.iter().map(float).collect();
    }
    let q = float(&packed["q"]);
    if let Some(steps) = packed["d"].as_array() {
        return steps
            .iter()
            .scan(0.0, |sum, step| {
                *sum += float(step);
                Some(*sum * q)
            })
            .collect();
    }
    let n = packed["n"].as_u64().expect("a count");
    (0..n)
        .map(|i| (float(&packed["a"]) + i as f64 * float(&packed["s"])) * q)
        .collect()
}

#[test]
fn curves_come_back_from_the_page() {
    let mut report = demo::single();
    report.runs[0].series.truncate(2);
    for series in &mut report.runs[0].series {
        series.t.truncate(900);
        series.y.truncate(900);
    }
    let data = data_of(&render(&report));
    for (at, series) in report.runs[0].series.iter().enumerate() {
        let packed = &data["runs"][0]["series"][at];
        let column = |key: &str| {
            let index = packed[key].as_u64().expect("an index") as usize;
            unpack(&data["columns"][index])
        };
        let (t, y) = (column("t"), column("y"));
        assert_eq!(t.len(), 900);
        for i in 0..900 {
            assert!((t[i] - series.t[i]).abs() < 1e-6);
            assert!((y[i] - series.y[i]).abs() <= 1e-4 * series.y[i].abs());
        }
    }
}

#[test]
fn one_link_is_stored_once() {
    let data = data_of(&render(&demo::comparison()));
    let capacity = |run: usize| data["runs"][run]["series"][0]["y"].clone();
    // Runs 0 and 5 are the first seeds of two controllers on the same link; both are drawn, hence thinned alike.
    assert_eq!(capacity(0), capacity(5));
    assert_ne!(capacity(0), capacity(1));
}

#[test]
fn thinning_keeps_the_extremes() {
    let n = 100_000;
    let t: Vec<f64> = (0..n).map(|i| f64::from(i) * 1e-3).collect();
    let mut y: Vec<f64> = t.iter().map(|t| t.sin()).collect();
    y[31_416] = 50.0;
    y[77_777] = -50.0;
    let (thin_t, thin_y) = min_max(&t, &y, 4000);
    assert!(thin_t.len() <= 4000 && thin_t.len() > 3000);
    assert!(thin_t.is_sorted());
    assert!(thin_y.contains(&50.0) && thin_y.contains(&-50.0));
    assert_eq!((thin_t[0], thin_y[0]), (t[0], y[0]));
    assert_eq!(thin_t.last(), t.last());
    // The peak stays where it was.
    let at = thin_y.iter().position(|y| *y == 50.0).expect("the peak");
    assert_eq!(thin_t[at], t[31_416]);
}

#[test]
fn thinning_keeps_gaps_and_short_curves() {
    let t: Vec<f64> = (0..10_000).map(f64::from).collect();
    let mut y = t.clone();
    y[5000..5200].fill(f64::NAN);
    let (thin_t, thin_y) = min_max(&t, &y, 300);
    assert!(thin_t.len() <= 300);
    assert!(
        thin_t
            .iter()
            .zip(&thin_y)
            .any(|(t, y)| y.is_nan() && (5000.0..5200.0).contains(t))
    );
    let (same_t, same_y) = min_max(&t[..100], &y[..100], 300);
    assert_eq!(
        (same_t.as_slice(), same_y.as_slice()),
        (&t[..100], &y[..100])
    );
    assert_eq!(min_max(&[], &[], 300), (vec![], vec![]));
    let (one_time, _) = min_max(&[2.0; 500], &y[..500], 100);
    assert!(one_time.len() <= 100);
}

#[test]
fn distributions_keep_their_tail() {
    let n = 50_000;
    let x: Vec<f64> = (0..n).map(f64::from).collect();
    let p: Vec<f64> = (1..=n).map(|i| f64::from(i) / f64::from(n)).collect();
    let (thin_x, thin_p) = quantiles(&x, &p, 400);
    assert!(thin_x.len() <= 400);
    assert!(thin_p.is_sorted() && thin_x.is_sorted());
    assert_eq!(thin_p.last(), Some(&1.0));
    assert_eq!(thin_x.last(), x.last());
    assert!(thin_p.iter().filter(|p| **p > 0.98).count() > 80);
    let gap = thin_p.windows(2).map(|w| w[1] - w[0]).fold(0.0, f64::max);
    assert!(gap < 0.005, "a step of {gap}");
}

#[test]
fn instants_thin_evenly() {
    let t: Vec<f64> = (0..9000).map(|i| f64::from(i) * 0.01).collect();
    let kept = instants(&t, 1500);
    assert!(kept.len() <= 1500 && kept.len() > 700);
    assert_eq!(kept[0], 0.0);
    assert_eq!(instants(&[1.0, 2.0], 1500), [1.0, 2.0]);
}

#[test]
fn the_best_and_its_equals_are_bold() {
    let column = Column::new("Goodput", "Mbit/s", Some(Better::Higher), "");
    let row = |label: &str, e: Estimate| Row {
        label: label.into(),
        controller: String::new(),
        cells: vec![e.into()],
    };
    let report = Report {
        tables: vec![SummaryTable {
            caption: "Summary".into(),
            row_heading: "Controller".into(),
            columns: vec![column],
            rows: vec![
                row("a", Estimate::symmetric(11.5, 0.2, 5)),
                row("b", Estimate::symmetric(11.3, 0.1, 5)),
                row("c", Estimate::symmetric(10.0, 0.1, 5)),
                // Scatter makes no one as good.
                row("d", Estimate::symmetric(9.0, 30.0, 5)),
            ],
        }],
        ..Report::default()
    };
    let page = render(&report);
    assert!(!page.contains("class=\"best\" data-v=\"9\""));
    assert!(page.contains("class=\"best\" data-v=\"11.5\""));
    assert!(page.contains("class=\"best\" data-v=\"11.3\""));
    assert!(page.contains(
        "<td data-v=\"10\" data-l=\"9.9\" data-u=\"10.1\">10.00<span class=\"pm\"> ± 0.10</span>"
    ));
}

#[test]
fn seeds_that_agree_tell_rows_apart_whose_intervals_overlap() {
    let row = |label: &str, seeds: &[f64]| Row {
        label: label.into(),
        controller: String::new(),
        cells: vec![Cell::of_seeds(
            seeds.iter().copied().map(Some).collect(),
            Bounds::Positive,
        )],
    };
    let table = |second: &[f64]| SummaryTable {
        columns: vec![Column::new("Goodput", "Mbit/s", Some(Better::Higher), "")],
        rows: vec![
            row("a", &[12.0, 22.0, 32.0, 42.0]),
            row("b", second),
            row("c", &[1.0, 1.0, 1.0, 1.0]),
        ],
        ..SummaryTable::default()
    };
    let bold = |second: &[f64]| {
        let report = Report {
            tables: vec![table(second)],
            ..Report::default()
        };
        render(&report).matches("class=\"best\"").count()
    };
    assert_eq!(bold(&[11.0, 21.0, 31.0, 41.2]), 1, "behind with every seed");
    assert_eq!(bold(&[13.0, 21.0, 33.0, 40.0]), 2, "now ahead, now behind");
}

#[test]
fn an_empty_report_is_a_page() {
    let page = render(&Report::default());
    assert!(page.contains("</html>"));
    assert_eq!(data_of(&page)["runs"], serde_json::json!([]));
}

/// A kernel's row stands beside the simulated one of the same controller, and its curves with it.
#[test]
fn simulated_senders_and_a_kernels_are_both_drawn() {
    use slackwater_lab::run::{Control, run_variants};
    use slackwater_scenario::Scenario;

    let text = "name = \"n\"\nduration = \"1 s\"\n[link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\n[[flow]]\n\
                [vary]\nseed = [1, 2]\n\"flow.controller\" = [\"reno\", \"cubic\"]\n";
    let scenario = Scenario::from_toml(text, ".").expect("a good scenario");
    let variants = scenario.expand().expect("good variants");
    let simulated = run_variants(&variants, 1, &|_, _| Control::Continue).expect("runs");
    // The same once more stands for a kernel's.
    let kernel = run_variants(&variants, 1, &|_, _| Control::Continue).expect("runs");
    let labelled = |runs: Vec<slackwater_lab::run::RunResult>, hosts: &'static str| {
        runs.into_iter().map(move |mut run| {
            run.labels.push((view::HOSTS.to_owned(), hosts.to_owned()));
            let (scenario, seed) = (run.scenario.clone(), run.seed);
            run.summary.identify(&scenario, &run.labels, seed);
            run
        })
    };
    let all = labelled(simulated, "simulated").chain(labelled(kernel, "kernel"));
    let report = view::report(&all.collect::<Vec<_>>(), "slackwater run --live");
    let shown = report.runs.iter().filter(|r| r.shown);
    let mut names: Vec<&str> = shown.map(|r| r.name.as_str()).collect();
    names.sort_unstable();
    assert_eq!(names.len(), 4, "{names:?}");
    assert_eq!(
        names.iter().filter(|n| n.contains("kernel")).count(),
        2,
        "{names:?}"
    );
}
