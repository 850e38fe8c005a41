//! `slackwater repro PAPER --live`: a paper's figures on real packets, beside the simulated ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, bail};
use slackwater_lab::core::Duration;
use slackwater_lab::parallel;
use slackwater_lab::run::Control;
use slackwater_live::core_network::senders::{self, Delay, Flow, Measured};
use slackwater_live::emulate::{Outcome, netns};
use slackwater_live::kernel::run_live;
use slackwater_live::privilege::as_caller;
use slackwater_papers::live::{Case, Compared, Late, Live, Place as Where, Seen, SeenFlow};
use slackwater_papers::{Options, Study};
use slackwater_report::paper::render;
use slackwater_results::output::Place;
use slackwater_scenario::{Scenario, bounded};

use super::{ReproArgs, revision};
use crate::files;
use crate::leaves::caller;
use crate::manifest::manifest;
use crate::outcome::{json, lag_line};
use crate::progress;
use crate::results::plain;
use crate::say::say;
use crate::start::command_line;
use crate::terminal;

/// Share of slots, in percent, beyond which a run says nothing.
const VOID_ABOVE: f64 = 1.0;
/// How often a run is tried before a void one counts.
const TRIES: u32 = 3;
/// Quantiles that are kept of the delays of a flow's packets.
const QUANTILES: u64 = 1_000;

/// Runs the cases of `study` simulated and in real time.
pub(super) fn run(args: &ReproArgs, study: &Study, options: &Options) -> Result<ExitCode> {
    let Some(live) = Live::of(study.name, args.seconds, options)? else {
        bail!(
            "--live: found \"{}\", expected vaqm, cecc or al4s: the others have no figure on real packets",
            study.name
        );
    };
    if !netns::privileged() {
        bail!("--live: found no rights to make devices and namespaces, expected root");
    }
    let who = caller(false);
    let folder = args.out.clone().unwrap_or_else(|| {
        let name = format!("repro-{}-live", study.name);
        Path::new("runs").join(name)
    });
    let place = if args.no_files {
        None
    } else {
        let manifest = manifest("reproduction", study.name);
        Some(as_caller(who, || Place::claim(&folder, manifest, args.force)).map_err(plain)?)
    };
    let simulated = simulate(&live, options)?;

    let mut all = Vec::new();
    let mut left = Vec::new();
    for (case, simulated) in live.cases.iter().zip(simulated) {
        let (seen, document, void) = match live.place {
            Where::CoreNetwork => {
                let run = || in_real_time(case, options.first_seed);
                let (measured, void) = measure(case, run, |m: &Measured| &m.outcome)?;
                (
                    Some(seen(&case.scenario, &measured)),
                    document(&measured, void),
                    void,
                )
            }
            Where::Emulation => {
                let run = || emulated(case, options.first_seed);
                let (outcome, void) = measure(case, run, |o: &Outcome| o)?;
                (case.see(&outcome.result), json(&outcome, void), void)
            }
        };
        all.push(Compared {
            simulated,
            live: seen,
            void,
        });
        left.push((case, document));
    }

    let made = made(args, study, options);
    let mut page = None;
    if let Some(place) = place {
        let write = || -> Result<PathBuf> {
            let aside = place.aside().map_err(plain)?;
            write(aside, &live, &all, &left, &made)?;
            Ok(place.put().map_err(plain)?.join("index.html"))
        };
        page = Some(as_caller(who, write)?);
    }
    if let Some(docs) = &args.docs {
        as_caller(who, || write_docs(docs, &live, &all, &made))?;
    }
    if args.json {
        say!("{}", serde_json::to_string_pretty(&live.json(&all))?);
    } else if args.table.csv {
        terminal::print(&live.text(&all).csv());
    } else {
        say!("{}", terminal::text(&live.text(&all)));
        if let Some(page) = page {
            say!("{}", page.display());
        }
    }
    let void = all.iter().any(|c| c.void);
    Ok(ExitCode::from(u8::from(void)))
}

/// How the table was made.
fn made(args: &ReproArgs, study: &Study, options: &Options) -> String {
    let only = if options.only.is_empty() {
        String::new()
    } else {
        format!(" --only {}", options.only.join(","))
    };
    let docs = args.docs.as_deref();
    let revision = docs.and_then(revision);
    let revision = revision.map_or(String::new(), |r| format!(" at revision {r}"));
    format!(
        "Made by `sudo slackwater repro {} --live --seconds {}{only} --docs docs/{}.md`{revision}; simulated: mean and 95 % interval of {} \
         seeds; real packets: one run each.",
        study.name, args.seconds, study.name, options.seeds
    )
}

/// By case, what each seed of the simulation shows.
fn simulate(live: &Live, options: &Options) -> Result<Vec<Vec<Seen>>> {
    let seeds = options.seeds as usize;
    let one = |k: usize| {
        let case = &live.cases[k / seeds];
        let seed = options.first_seed + (k % seeds) as u64;
        let mut progress = |_| {
            if progress::interrupted() {
                Control::Stop
            } else {
                Control::Continue
            }
        };
        case.simulate(seed, &mut progress)
    };
    eprintln!("simulating {} runs", live.cases.len() * seeds);
    let found = parallel::map(live.cases.len() * seeds, options.jobs, one);
    let found: Vec<Seen> = found.into_iter().collect::<Result<_, _>>()?;
    Ok(found.chunks(seeds).map(<[Seen]>::to_vec).collect())
}

/// What `run` gives of the case in real time, and whether the machine could not keep up.
fn measure<T>(
    case: &Case,
    run: impl Fn() -> Result<T>,
    outcome: impl Fn(&T) -> &Outcome,
) -> Result<(T, bool)> {
    let mut tries = 0;
    loop {
        tries += 1;
        eprintln!("{}: {} in real time", case.id, case.scenario.duration);
        let measured = run()?;
        let health = &outcome(&measured).health;
        let missed = health.missed() * 100.0 > VOID_ABOVE;
        eprintln!("{}", lag_line(health));
        if outcome(&measured).code > 128 {
            bail!("interrupted");
        }
        if !missed || tries == TRIES {
            return Ok((measured, missed));
        }
        eprintln!("slackwater: void: more than {VOID_ABOVE} % of the slots were missed; once more");
    }
}

/// What `run` gives on a thread of its own, which may be in another network namespace afterwards.
fn apart<T: Send>(run: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = scope.spawn(run);
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Through a user plane function and the cell behind N3.
fn in_real_time(case: &Case, seed: u64) -> Result<Measured> {
    let mut scenario = case.scenario.clone();
    scenario.seed = seed;
    let cell = senders::cell_of(&scenario)?;
    let file = cell_file(&cell)?;
    let measured = apart(|| senders::run(&scenario, &file));
    let _gone = std::fs::remove_file(&file);
    Ok(measured?)
}

/// Through an emulation of the scenario's path.
fn emulated(case: &Case, seed: u64) -> Result<Outcome> {
    let mut scenario = case.scenario.clone();
    scenario.seed = seed;
    Ok(apart(|| run_live(&scenario, false))?)
}

/// A file of our own with `cell`.
fn cell_file(cell: &Scenario) -> Result<PathBuf> {
    use std::io::Write as _;
    let name = format!("slackwater-{}-{}.toml", std::process::id(), cell.name);
    let path = std::env::temp_dir().join(name);
    // Not through a link that somebody else has laid there.
    let file = std::fs::OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(&path);
    let written = file.and_then(|mut f| f.write_all(cell.to_toml().as_bytes()));
    written.with_context(|| format!("cannot write {}", path.display()))?;
    Ok(path)
}

/// What was seen of a run on real packets.
fn seen(scenario: &Scenario, measured: &Measured) -> Seen {
    let flows = measured.flows.iter().map(|f| seen_flow(scenario, f));
    let mut seen = Seen::default();
    seen.flows = flows.collect();
    seen
}

fn seen_flow(scenario: &Scenario, flow: &Flow) -> SeenFlow {
    let (warmup, end) = (scenario.warmup, scenario.duration);
    let limit = scenario.record.late;
    let share = |(late, all): (u64, u64)| late as f64 / all.max(1) as f64;
    let packets = |from: Duration| {
        let (mut late, mut all) = (0, 0);
        for d in flow.delays.iter().filter(|d| d.at >= from && d.at < end) {
            all += u64::from(d.bytes);
            late += if d.took > limit {
                u64::from(d.bytes)
            } else {
                0
            };
        }
        share((late, all))
    };
    let settled = flow
        .rtts
        .iter()
        .filter(|(at, _)| *at >= warmup && *at < end);
    let times = flow.times().filter(|(frame, _)| frame.start >= warmup);
    SeenFlow {
        label: flow.label.clone(),
        rtts: settled.map(|(_, rtt)| rtt.as_millis_f64()).collect(),
        rate: flow.read(warmup, end) as f64 * 8e-6 / (end - warmup).as_secs_f64(),
        times: times.map(|(_, took)| took.as_millis_f64()).collect(),
        delays: delays(&flow.delays, warmup, end),
        late_packets: Late {
            whole: packets(Duration::ZERO),
            steady: packets(warmup),
        },
        late_frames: Late {
            whole: share(flow.late(Duration::ZERO, limit)),
            steady: share(flow.late(warmup, limit)),
        },
    }
}

/// The least delay of a flow's bytes, quantiles at equal distances, and the largest.
fn delays(all: &[Delay], from: Duration, end: Duration) -> Vec<f64> {
    let settled = all.iter().filter(|d| d.at >= from && d.at < end);
    let mut all: Vec<(f64, u64)> = settled
        .map(|d| (d.took.as_millis_f64(), u64::from(d.bytes)))
        .collect();
    all.sort_unstable_by(|a, b| a.0.total_cmp(&b.0));
    let bytes: u64 = all.iter().map(|d| d.1).sum();
    let (Some(least), Some(most)) = (all.first(), all.last()) else {
        return Vec::new();
    };
    let mut found = vec![least.0];
    let mut passed = 0;
    let mut next = 0;
    for (took, n) in &all {
        passed += n;
        // The middle of each share, as a simulation's histogram is read.
        while next < QUANTILES && passed * 2 * QUANTILES >= (2 * next + 1) * bytes {
            found.push(*took);
            next += 1;
        }
    }
    found.push(most.0);
    found
}

/// What a run left, for its file.
fn document(measured: &Measured, void: bool) -> serde_json::Value {
    let parse = |text: &str| serde_json::from_str(text).unwrap_or(serde_json::Value::Null);
    let mut document = json(&measured.outcome, void);
    document["upf"] = parse(&measured.status);
    document["sessions"] = parse(&measured.sessions);
    let unseen: Vec<u64> = measured.flows.iter().map(|f| f.unseen).collect();
    document["bytes_not_seen_to_leave"] = unseen.into();
    document
}

/// Scenarios, what each run left, the numbers and the page.
fn write(
    folder: &Path,
    live: &Live,
    all: &[Compared],
    left: &[(&Case, serde_json::Value)],
    made: &str,
) -> Result<()> {
    let file = |path: PathBuf, text: &str| {
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)
                .with_context(|| format!("cannot make {}", parent.display()))?;
        }
        std::fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    for (case, document) in left {
        let scenario = folder.join("scenarios").join(format!("{}.toml", case.id));
        file(scenario, &case.scenario.to_toml())?;
        let own = folder.join("live").join(format!("{}.json", case.id));
        file(own, &format!("{document:#}\n"))?;
    }
    file(folder.join("live.json"), &format!("{:#}\n", live.json(all)))?;
    let notes = vec![made.to_owned()];
    let mut page = live.page(all, notes);
    page.command = command_line();
    file(folder.join("index.html"), &render(&page))
}

/// Puts the table between the marks of the file `docs`.
fn write_docs(docs: &Path, live: &Live, all: &[Compared], made: &str) -> Result<()> {
    let text = bounded::text(docs, bounded::DOCUMENT)
        .with_context(|| format!("cannot read {}", docs.display()))?;
    let table = live.markdown(all, made);
    let text = files::between(&text, "live", &table).with_context(|| {
        format!(
            "{}: found no lines <!-- live --> and <!-- /live -->",
            docs.display()
        )
    })?;
    files::replace(docs, &text).with_context(|| format!("cannot write {}", docs.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_delays_count_bytes() {
        let delay = |took: u64, bytes| Delay {
            at: Duration::from_millis(100),
            took: Duration::from_millis(took),
            bytes,
        };
        let early = Delay {
            at: Duration::ZERO,
            ..delay(99, 9)
        };
        let all = [early, delay(8, 100), delay(2, 900)];
        let found = delays(&all, Duration::from_millis(1), Duration::from_secs(1));
        assert_eq!(found.len(), 1_002);
        assert_eq!((found[0], found[1_001]), (2.0, 8.0));
        // A tenth of the bytes took longer.
        assert_eq!((found[900], found[901]), (2.0, 8.0));
        assert!(delays(&[], Duration::ZERO, Duration::MAX).is_empty());
    }
}
