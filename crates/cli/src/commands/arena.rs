//! `slackwater arena`: every system on the same cells under the same conditions.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use clap::Args;
use slackwater_lab::arena::store::Store;
use slackwater_lab::arena::{self, Class, Drawing, Options, Overall, Plan, Row, Table, Task, cost};
use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunResult};
use slackwater_report::arena as page;
use slackwater_results::output::{Place, Update, content, parquet};
use slackwater_results::table::{Cell, Column, Table as Text, Tone};
use slackwater_scenario::{Plugins, bounded};

use crate::manifest::manifest;
use crate::progress::{self, Signal};
use crate::results::{plain, write, write_report};
use crate::say::say;
use crate::start::command_line;
use crate::terminal::{self, TableArgs};

/// The table of all cells: a folder without it is no finished arena.
const TABLE: &str = "arena.json";
/// The page.
const PAGE: &str = "index.html";
/// Seeds of a quick look and of the whole.
const SEEDS: [u64; 2] = [5, 10];

/// `slackwater arena`
#[derive(Debug, Args)]
pub(crate) struct ArenaArgs {
    /// Fewer cells and systems and shorter runs: a one-minute preview
    #[arg(long)]
    quick: bool,
    /// Seeds of each cell and system (default: 10, with --quick 5, with --drawn 1)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1000))]
    seeds: Option<u64>,
    /// The first seed
    #[arg(long, value_name = "SEED", default_value_t = 1, value_parser = crate::seed())]
    seed: u64,
    /// These cells alone, for example --cells lte-steps,rival
    #[arg(long, value_delimiter = ',', value_name = "CELL,..")]
    cells: Vec<String>,
    /// These systems alone, for example --systems xrc,cubic,cubic+vaqm; names as of --also too
    #[arg(long, value_delimiter = ',', value_name = "SYSTEM,..")]
    systems: Vec<String>,
    /// Further rows, SENDER or SENDER+EDGE: any controller behind any edge, those that the program adds among them
    #[arg(long, value_delimiter = ',', value_name = "SYSTEM,..")]
    also: Vec<String>,
    /// Cells that nobody chose in place of the set's: scenarios drawn at random, for example --drawn bulk:1-60,media:1-30. Kinds
    /// are bulk, apps, hop, rival, link, vr and media; `slackwater run drawn/bulk-17` runs one alone
    #[arg(long, value_delimiter = ',', value_name = "KIND:FIRST-LAST,..")]
    drawn: Vec<Drawing>,
    /// Print cells and systems, and run nothing
    #[arg(long)]
    list: bool,
    /// Estimate how long it would take, and run nothing
    #[arg(long)]
    estimate: bool,
    /// Keep the records and the report of the first seed of each cell and system, in `runs/` below the results
    #[arg(long)]
    records: bool,
    /// Where results go (default: `runs/arena`, with --quick `runs/arena-quick`)
    #[arg(long, short, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Threads (default: all cores)
    #[arg(long, short, value_name = "N")]
    jobs: Option<usize>,
    /// Spread the runs over this Ray cluster: auto, local, HOST:PORT or `ray://...` (Python: `slackwater[ray]`)
    #[arg(long, value_name = "ADDRESS")]
    ray: Option<String>,
    /// Write the results into this Markdown file, between its lines `<!-- arena -->` and `<!-- /arena -->`
    #[arg(long, value_name = "FILE")]
    docs: Option<PathBuf>,
    /// Open the page in a browser at the end, where there is one
    #[arg(long)]
    open: bool,
    /// Print the table as JSON to standard output, and nothing else there
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    table: TableArgs,
}

pub(crate) fn arena(args: &ArenaArgs, plugins: &Plugins) -> Result<ExitCode> {
    progress::catch_interrupts();
    args.table.check(&columns("", ["", ""]))?;
    let seeds = if args.drawn.is_empty() {
        SEEDS[usize::from(!args.quick)]
    } else {
        1
    };
    let options = Options {
        seeds: args.seeds.unwrap_or(seeds),
        first_seed: args.seed,
        quick: args.quick,
        cells: args.cells.clone(),
        systems: args.systems.clone(),
        also: args.also.clone(),
        drawn: args.drawn.clone(),
    };
    let plan = Plan::with_plugins(&options, plugins, &program(plugins)?)?;
    if args.list {
        list(&plan);
        return Ok(ExitCode::SUCCESS);
    }
    for (cell, why) in &plan.skipped {
        eprintln!("note: {cell} is left out: {why}");
    }
    if plan.tasks.is_empty() {
        bail!(
            "nothing to run: no system of --systems is in a cell of --cells; --list shows who is where"
        );
    }
    let name = match (args.drawn.is_empty(), args.quick) {
        (false, _) => "arena-drawn",
        (true, true) => "arena-quick",
        (true, false) => "arena",
    };
    let folder = args
        .out
        .clone()
        .unwrap_or_else(|| Path::new("runs").join(name));
    // One arena at a time in a folder: two would run each task twice.
    let update = (!args.estimate)
        .then(|| Update::claim(&folder).map_err(plain))
        .transpose()?;
    let mut store = Store::open(&folder, &plan).map_err(|e| anyhow::anyhow!("{e}"))?;
    let mut left = store.left(&plan);
    if args.ray.is_some() && !args.drawn.is_empty() {
        bail!(
            "--ray: found --drawn, expected cells of the published set: the workers know no other"
        );
    }
    if args.ray.is_some()
        && let [own, ..] = &plan.added(&left)[..]
    {
        bail!(
            "--ray: found {own}, expected systems of the published set: the workers are Python processes that know no other; \
             run {own} without --ray first, into the same folder"
        );
    }
    let jobs = args.jobs.unwrap_or_else(parallel::cores);
    if !left.is_empty() {
        tell(&plan, &left, jobs)?;
    }
    let Some(update) = update else {
        return Ok(ExitCode::SUCCESS);
    };
    let start = Instant::now();
    if !left.is_empty() {
        if let Some(address) = &args.ray {
            on_ray(&folder, &left, address)?;
        } else {
            store = here(args, &plan, &folder, store, &left, jobs)?;
        }
        store.read(&plan).map_err(|e| anyhow::anyhow!("{e}"))?;
        left = store.left(&plan);
        if !left.is_empty() {
            bail!("{} runs are missing; the same command goes on", left.len());
        }
    }
    let table = Table::new(&plan, store.rows());
    let spent: f64 = store.rows().map(|r| r.cpu_s).sum();
    let effort = format!(
        "{} runs, {:.0} s of CPU time; {:.0} s on {jobs} threads this time",
        plan.tasks.len(),
        spent,
        start.elapsed().as_secs_f64()
    );
    let made = leave(args, &plan, &folder, &update, &table, &effort)?;
    if args.json {
        say!("{}", serde_json::to_string_pretty(&table)?);
    } else {
        show(&args.table, &table)?;
    }
    if !args.json && !args.table.csv {
        say!("{effort}");
        say!("{}", made.display());
    }
    if args.open {
        open(&made);
    }
    Ok(ExitCode::SUCCESS)
}

/// Identifies this program where it adds parts: a hash of its file, so that no result of another build is taken for one of
/// these parts. The file is read only where there are such parts.
fn program(plugins: &Plugins) -> Result<String> {
    if plugins.is_empty() {
        return Ok(String::new());
    }
    let file = std::env::current_exe().context("cannot find the program's own file")?;
    content::of_file(&file).with_context(|| format!("cannot read {}", file.display()))
}

/// Shows `page` in a browser. Without a screen nothing happens: the page's name was printed.
fn open(page: &Path) {
    let has = |name| std::env::var_os(name).is_some();
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if has("DISPLAY") || has("WAYLAND_DISPLAY") {
        "xdg-open"
    } else {
        return;
    };
    let quiet = Stdio::null;
    let started = Command::new(opener)
        .arg(page)
        .stdout(quiet())
        .stderr(quiet())
        .status();
    if started.is_err() {
        eprintln!("note: {opener} could not be started");
    }
}

/// Says beforehand what there is to do and how long it takes.
fn tell(plan: &Plan, left: &[Task], jobs: usize) -> Result<()> {
    let cpu = arena::estimate(plan, left)?;
    let known = plan.tasks.len() - left.len();
    let kept = match known {
        0 => String::new(),
        n => format!(" ({n} of {} are there already)", plan.tasks.len()),
    };
    eprintln!(
        "{} runs{kept}, about {} on {jobs} threads",
        left.len(),
        duration(cpu / jobs as f64)
    );
    Ok(())
}

fn duration(seconds: f64) -> String {
    match seconds {
        s if s < 90.0 => format!("{:.0} s", s.max(1.0)),
        s if s < 5400.0 => format!("{:.0} min", s / 60.0),
        s => format!("{:.1} h", s / 3600.0),
    }
}

/// Runs what is left on this machine. What ended before an interruption is kept.
fn here(
    args: &ArenaArgs,
    plan: &Plan,
    folder: &Path,
    store: Store,
    left: &[Task],
    jobs: usize,
) -> Result<Store> {
    let bar = progress::bar(left.len());
    let signal = Signal::new(folder, true, "arena");
    let store = Mutex::new(store);
    let failed = AtomicBool::new(false);
    let results = parallel::map(left.len(), jobs, |i| -> Result<()> {
        let task = &left[i];
        let mut kept: Result<()> = Ok(());
        let mut keep = |run: &RunResult| {
            if args.records && task.seed == plan.options.first_seed {
                let folder = folder.join("runs").join(&task.cell).join(&task.system);
                kept = record(&folder, run);
            }
        };
        let stop = || progress::interrupted() || failed.load(Ordering::Relaxed);
        let mut control = |_| {
            if stop() {
                Control::Stop
            } else {
                Control::Continue
            }
        };
        let row = if stop() {
            bail!("interrupted");
        } else {
            arena::work(plan, task, &mut control, &mut keep)
        };
        let added = row.map_err(Into::into).and_then(|row: Row| {
            kept?;
            let mut store = store.lock().expect("a thread that fails says so before");
            store.add(row).map_err(|e| anyhow::anyhow!("{e}"))
        });
        if added.is_err() {
            failed.store(true, Ordering::Relaxed);
        }
        bar.inc(progress::STEPS);
        signal.share(bar.position() as f64 / (progress::STEPS * left.len() as u64) as f64);
        added
    });
    bar.finish_and_clear();
    if progress::interrupted() {
        let done = left.len() - store.lock().map_or(0, |s| s.left(plan).len());
        bail!(
            "interrupted after {done} runs, which {} keeps; the same command goes on",
            folder.display()
        );
    }
    // A run that failed explains more than those that were stopped for its sake.
    let (mut causes, stopped): (Vec<_>, Vec<_>) = results
        .into_iter()
        .filter_map(Result::err)
        .partition(|e| !e.to_string().ends_with("interrupted"));
    causes.extend(stopped);
    if let Some(cause) = causes.into_iter().next() {
        return Err(cause);
    }
    Ok(store.into_inner().expect("all threads ended"))
}

/// Leaves the records of `run` in `folder`, whole.
fn record(folder: &Path, run: &RunResult) -> Result<()> {
    let manifest = manifest("run", &run.scenario.name);
    // An arena's folder of records is the arena's own.
    let place = Place::claim(folder, manifest, true).map_err(plain)?;
    let aside = place.aside().map_err(plain)?;
    write_report(aside, std::slice::from_ref(run))?;
    write(aside, run)?;
    place.put().map_err(plain)?;
    Ok(())
}

/// Hands what is left to a Ray cluster, whose workers run the same tasks; rows come to the same file.
fn on_ray(folder: &Path, left: &[Task], address: &str) -> Result<()> {
    let tasks = folder.join("tasks.jsonl");
    let mut text = String::new();
    for task in left {
        text.push_str(&serde_json::to_string(task)?);
        text.push('\n');
    }
    std::fs::write(&tasks, text).with_context(|| format!("cannot write {}", tasks.display()))?;
    let words: [OsString; 6] = [
        "--tasks".into(),
        tasks.clone().into(),
        "--results".into(),
        folder.join(arena::store::LINES).into(),
        "--ray".into(),
        address.into(),
    ];
    let code = super::python::module("slackwater.workers", &words)?;
    let _ = std::fs::remove_file(tasks);
    if code != ExitCode::SUCCESS {
        bail!("the runs on Ray ended early; the same command goes on");
    }
    Ok(())
}

/// Writes the page and the data behind it.
fn leave(
    args: &ArenaArgs,
    plan: &Plan,
    folder: &Path,
    update: &Update,
    table: &Table,
    effort: &str,
) -> Result<PathBuf> {
    let aside = update.aside().map_err(plain)?;
    let file = |name: &str, text: &str| -> Result<()> {
        let path = aside.join(name);
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    let mut json = serde_json::to_string_pretty(table)?;
    json.push('\n');
    file(TABLE, &json)?;
    parquet::write(&aside.join("table.parquet"), std::iter::once(table.frame()))
        .map_err(|e| anyhow::anyhow!("{e}"))?;
    let costs = cost::measure(plan)?;
    file("cost.json", &serde_json::to_string_pretty(&costs)?)?;
    let made = page::ArenaPage {
        command: command_line(),
        effort: effort.to_owned(),
        costs,
        records: args.records,
    };
    file(PAGE, &page::render(table, &made))?;
    update.put(&[TABLE, PAGE]).map_err(plain)?;
    if let Some(docs) = &args.docs {
        let text = bounded::text(docs, bounded::DOCUMENT)
            .with_context(|| format!("cannot read {}", docs.display()))?;
        let tables = page::markdown(table, &made);
        let text = crate::files::between(&text, "arena", &tables).with_context(|| {
            format!(
                "{}: found no lines <!-- arena --> and <!-- /arena -->",
                docs.display()
            )
        })?;
        crate::files::replace(docs, &text)
            .with_context(|| format!("cannot write {}", docs.display()))?;
    }
    Ok(folder.join(PAGE))
}

fn list(plan: &Plan) {
    let mut cells = Text::new(&["cell", "class", "what it is", "systems"]);
    for place in &plan.set.places {
        let class = match place.class {
            Class::Sender => "sender",
            Class::Vr => "vr",
            Class::Media => "media",
        };
        let systems = plan.set.systems_of(place);
        let systems: Vec<&str> = systems.iter().map(|s| s.name.as_str()).collect();
        cells.row(&[
            place.name.clone(),
            class.to_owned(),
            place.about.clone(),
            systems.len().to_string(),
        ]);
    }
    say!("{}", terminal::text(&cells));
    let mut systems = Text::new(&["system", "class", "name", "quick"]);
    for s in &plan.set.systems {
        systems.row(&[
            s.name.clone(),
            format!("{:?}", s.class).to_lowercase(),
            s.title.clone(),
            if s.quick { "yes" } else { "" }.to_owned(),
        ]);
    }
    say!("{}", terminal::text(&systems));
    let mut edges = Text::new(&["edge", "what stands there"]);
    for (name, _, about) in plan.set.edges() {
        edges.row(&[name.to_owned(), about.to_owned()]);
    }
    say!("{}", terminal::text(&edges));
    say!("{} runs", plan.tasks.len());
}

/// Columns of the table of one cell, with the names of its two measures.
fn columns(heading: &str, [y, x]: [&str; 2]) -> Text {
    Text::with([
        Column::new(heading).key("system"),
        Column::new(y).key("rate").spread(),
        Column::new(x).key("delay").spread(),
        Column::new("dominates").rank(2),
        Column::new("front").rank(1),
        Column::new("cell").extra(true).rank(9),
        Column::new("rate measure").extra(true).rank(9),
        Column::new("delay measure").extra(true).rank(9),
    ])
}

/// The two measures of each cell's front, by system: a table a cell, or one for programs.
fn show(args: &TableArgs, table: &Table) -> Result<()> {
    for overall in table.overall.iter().filter(|_| !args.csv) {
        args.show(&beside(overall))?;
    }
    // Of many drawn cells each has its place in the page, and in the CSV.
    let each = table.overall.is_empty();
    let mut whole = columns("system", ["rate", "delay"]).all();
    for cell in &table.cells {
        let [y, x] = cell
            .front
            .each_ref()
            .map(|key| arena::Measure::find(key).expect("tests find the measures of each front"));
        let heads = [y, x].map(|m| match m.unit {
            "" => m.label.to_owned(),
            unit => format!("{} ({unit})", m.label),
        });
        let mut text = columns(&cell.title, [&heads[0], &heads[1]]);
        for (i, s) in cell.systems.iter().enumerate() {
            let number = |m: &arena::Measure| Cell::mean(s.values.get(m.key).copied(), m.decimals);
            let wins = cell.wins.iter().filter(|w| w.winner == i).count();
            let front = if s.on_front {
                Cell::from("front").tone(Tone::Good)
            } else {
                "".into()
            };
            let cells = [
                s.title.as_str().into(),
                number(y),
                number(x),
                Cell::shown(wins.to_string(), wins as f64),
                front,
                cell.name.as_str().into(),
                y.key.into(),
                x.key.into(),
            ];
            whole.cells(cells.clone());
            text.cells(cells);
        }
        if each && !args.csv {
            args.show(&text)?;
        }
    }
    if args.csv {
        args.print(&whole)?;
    }
    Ok(())
}

/// All systems over the drawn cells of a kind, beside the base.
fn beside(overall: &Overall) -> Text {
    let heads = [0, 1].map(|k| {
        let measure = arena::Measure::find(&overall.front[k]);
        let label = measure.map_or("", |m| m.label);
        if overall.ratio[k] {
            format!("{label}, x")
        } else {
            format!("{label}, +")
        }
    });
    let mut text = Text::with([
        Column::new(&format!("{}, beside {}", overall.kind, overall.base)).key("system"),
        Column::new("cells"),
        Column::new("front"),
        Column::new(&heads[0]).spread(),
        Column::new("worst").key("first_worst").rank(1),
        Column::new("in").key("first_worst_in").rank(1),
        Column::new(&heads[1]).spread(),
        Column::new("worst").key("second_worst").rank(1),
        Column::new("in").key("second_worst_in").rank(1),
    ]);
    for s in &overall.systems {
        let mean = |k: usize| Cell::mean(s.beside[k], 3);
        let worst = |k: usize| -> [Cell; 2] {
            let at = s.worst[k].as_ref().filter(|_| s.name != overall.base);
            at.map_or_else(
                || ["".into(), "".into()],
                |(value, cell)| {
                    [
                        Cell::shown(format!("{value:.2}"), *value),
                        cell.as_str().into(),
                    ]
                },
            )
        };
        let ([first, first_in], [second, second_in]) = (worst(0), worst(1));
        text.cells([
            s.title.as_str().into(),
            Cell::shown(s.cells.to_string(), s.cells as f64),
            Cell::shown(s.front.to_string(), s.front as f64),
            mean(0),
            first,
            first_in,
            mean(1),
            second,
            second_in,
        ]);
    }
    text
}
