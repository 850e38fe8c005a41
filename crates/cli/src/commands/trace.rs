//! `slackwater trace`: look at link traces and convert them.

mod format;
mod make;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand};
use serde_json::json;
use slackwater_lab::core::{Duration, Rate};
use slackwater_lab::wire::trace::rate::TimeUnit;
use slackwater_lab::wire::trace::stats::WINDOW;
use slackwater_lab::wire::trace::{MahimahiTrace, RateColumns, RateSeries, RateUnit, TraceStats};
use slackwater_results::table::Table;
use slackwater_scenario::data::read_text;
use slackwater_scenario::packed::Packing;

use self::format::Format;
use crate::say::say;

#[derive(Debug, Subcommand)]
pub(crate) enum TraceCommand {
    /// Make a trace by a model: fading, handovers, steps or outages
    Make(make::MakeArgs),
    /// Read a trace or a table of rates and write it as a Mahimahi trace or a rate series
    Import(ImportArgs),
    /// Draw a trace's rate over time in the terminal
    Show {
        /// A Mahimahi trace, or a CSV table with a rate column (.xz, .gz and .zst are unpacked)
        file: PathBuf,
        #[command(flatten)]
        columns: ColumnArgs,
    },
    /// Print rates, gaps and duration of traces
    Stats {
        /// Traces, as for show
        #[arg(required = true)]
        files: Vec<PathBuf>,
        #[command(flatten)]
        columns: ColumnArgs,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// A Mahimahi trace, or a CSV table with a rate column (.xz, .gz and .zst are unpacked)
    file: PathBuf,
    /// Where to write; a name that ends in .xz, .gz or .zst is packed
    #[arg(long, short)]
    out: PathBuf,
    /// What to write
    #[arg(long, value_enum, default_value = "mahimahi")]
    to: Format,
    #[command(flatten)]
    columns: ColumnArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ColumnArgs {
    /// Time column of a CSV table
    #[arg(long, value_name = "NAME")]
    time_column: Option<String>,
    /// Unit of the time column: s, ms, us
    #[arg(long, value_name = "UNIT")]
    time_unit: Option<String>,
    /// Rate column of a CSV table
    #[arg(long, value_name = "NAME")]
    rate_column: Option<String>,
    /// Unit of the rate column: bps, kbps, mbps, gbps, Bps
    #[arg(long, value_name = "UNIT")]
    unit: Option<String>,
}

impl ColumnArgs {
    fn columns(&self) -> Result<RateColumns> {
        let mut columns = RateColumns::default();
        if let Some(name) = &self.time_column {
            columns.time = vec![name.clone()];
        }
        if let Some(name) = &self.rate_column {
            columns.rate = vec![name.clone()];
        }
        if let Some(unit) = &self.time_unit {
            columns.time_unit = TimeUnit::from_name(unit)
                .with_context(|| format!("--time-unit: found {unit:?}, expected s, ms or us"))?;
        }
        if let Some(unit) = &self.unit {
            columns.rate_unit = RateUnit::from_name(unit).with_context(|| {
                format!("--unit: found {unit:?}, expected bps, kbps, mbps or gbps")
            })?;
        }
        Ok(columns)
    }
}

/// A trace of either kind.
enum Trace {
    Mahimahi(MahimahiTrace),
    Rate(RateSeries),
}

impl Trace {
    fn stats(&self) -> TraceStats {
        match self {
            Self::Mahimahi(t) => t.stats(),
            Self::Rate(t) => t.stats(),
        }
    }

    fn series(&self, window: Duration) -> RateSeries {
        match self {
            Self::Mahimahi(t) => t.to_rate(window),
            Self::Rate(t) => t.clone(),
        }
    }
}

/// Reads `file`; a first line with a comma makes it a table.
fn read(file: &Path, columns: &ColumnArgs) -> Result<Trace> {
    let text = read_text(file).with_context(|| file.display().to_string())?;
    let place =
        |e: slackwater_lab::wire::trace::TraceError| anyhow::anyhow!("{}: {e}", file.display());
    if text.lines().next().is_some_and(|l| l.contains(',')) {
        Ok(Trace::Rate(
            RateSeries::parse_with(text.as_bytes(), &columns.columns()?).map_err(place)?,
        ))
    } else {
        Ok(Trace::Mahimahi(
            MahimahiTrace::parse(text.as_bytes()).map_err(place)?,
        ))
    }
}

pub(crate) fn trace(command: TraceCommand) -> Result<ExitCode> {
    match command {
        TraceCommand::Make(args) => make::make(&args),
        TraceCommand::Import(args) => import(&args),
        TraceCommand::Show { file, columns } => show(&file, &columns),
        TraceCommand::Stats {
            files,
            columns,
            json,
        } => stats(&files, &columns, json),
    }
}

fn import(args: &ImportArgs) -> Result<ExitCode> {
    let trace = read(&args.file, &args.columns)?;
    let text = match (args.to, &trace) {
        (Format::Mahimahi, Trace::Mahimahi(t)) => t.to_text(),
        (Format::Mahimahi, Trace::Rate(r)) => {
            let Some(t) = MahimahiTrace::from_rate(r) else {
                bail!(
                    "{}: the series carries no whole packet in its length",
                    args.file.display()
                );
            };
            t.to_text()
        }
        (Format::Rate, t) => t.series(WINDOW).to_csv(),
    };
    as_named(&args.out, text.as_bytes())
        .and_then(|bytes| std::fs::write(&args.out, bytes))
        .with_context(|| format!("cannot write {}", args.out.display()))?;
    let s = trace.stats();
    say!(
        "{}: {:.1} s, mean {:.3} Mbit/s",
        args.out.display(),
        s.duration.as_secs_f64(),
        s.mean.as_mbps()
    );
    Ok(ExitCode::SUCCESS)
}

/// `text` packed as the name of its file ends.
fn as_named(path: &Path, text: &[u8]) -> std::io::Result<Vec<u8>> {
    match Packing::of(path) {
        Some(packing) => packing.pack(text),
        None => Ok(text.to_vec()),
    }
}

fn stats(files: &[PathBuf], columns: &ColumnArgs, json: bool) -> Result<ExitCode> {
    let mut table = Table::new(&[
        "trace",
        "s",
        "mean Mbit/s",
        "min",
        "p5",
        "p50",
        "p95",
        "max",
        "cv",
        "idle %",
        "longest gap ms",
    ]);
    let mut rows = vec![];
    for file in files {
        let s = read(file, columns)?.stats();
        let mbps = |r: Rate| format!("{:.3}", r.as_mbps());
        let name = file.file_name().map_or_else(
            || file.display().to_string(),
            |n| n.to_string_lossy().into(),
        );
        rows.push(json!({
            "file": file.display().to_string(), "duration_s": s.duration.as_secs_f64(),
            "mean_mbps": s.mean.as_mbps(), "min_mbps": s.min.as_mbps(), "max_mbps": s.max.as_mbps(),
            "p5_mbps": s.p5.as_mbps(), "p50_mbps": s.p50.as_mbps(), "p95_mbps": s.p95.as_mbps(),
            "cv": s.cv, "idle_share": s.idle, "longest_gap_s": s.longest_gap.as_secs_f64(),
        }));
        table.row(&[
            name,
            format!("{:.1}", s.duration.as_secs_f64()),
            mbps(s.mean),
            mbps(s.min),
            mbps(s.p5),
            mbps(s.p50),
            mbps(s.p95),
            mbps(s.max),
            format!("{:.3}", s.cv),
            format!("{:.1}", 100.0 * s.idle),
            format!("{:.0}", s.longest_gap.as_millis_f64()),
        ]);
    }
    if json {
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        crate::terminal::print(&crate::terminal::text(&table));
    }
    Ok(ExitCode::SUCCESS)
}

/// Draws mean rates of equal spans as bars.
fn show(file: &Path, columns: &ColumnArgs) -> Result<ExitCode> {
    const COLUMNS: u64 = 72;
    const ROWS: usize = 12;
    let trace = read(file, columns)?;
    let s = trace.stats();
    let span = Duration::from_nanos((s.duration.as_nanos() / COLUMNS).max(1_000_000));
    let series = trace.series(span);
    let mut sums = vec![0.0f64; COLUMNS as usize];
    for (from, to, rate) in series.segments() {
        let (mut t, end) = (from.as_nanos(), to.as_nanos());
        while t < end {
            let bin = (t / span.as_nanos()).min(COLUMNS - 1);
            let stop = if bin == COLUMNS - 1 {
                end
            } else {
                end.min((bin + 1) * span.as_nanos())
            };
            sums[bin as usize] += rate.as_mbps() * (stop - t) as f64 / span.as_nanos() as f64;
            t = stop;
        }
    }
    let top = sums.iter().copied().fold(f64::MIN_POSITIVE, f64::max);
    for row in (0..ROWS).rev() {
        let bars = sums.iter().map(|v| {
            let eighths =
                ((v / top * ROWS as f64 - row as f64) * 8.0 + 0.5).clamp(0.0, 8.0) as usize;
            [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'][eighths]
        });
        let label = top * (row + 1) as f64 / ROWS as f64;
        say!("{label:9.2} |{}", bars.collect::<String>());
    }
    say!("{:>9} +{}", "Mbit/s", "-".repeat(COLUMNS as usize));
    say!("{:>10} 0 s{:>69.1} s", "", s.duration.as_secs_f64());
    say!(
        "mean {:.3} Mbit/s, p5 {:.3}, p50 {:.3}, p95 {:.3}, longest gap {:.0} ms",
        s.mean.as_mbps(),
        s.p5.as_mbps(),
        s.p50.as_mbps(),
        s.p95.as_mbps(),
        s.longest_gap.as_millis_f64()
    );
    Ok(ExitCode::SUCCESS)
}
