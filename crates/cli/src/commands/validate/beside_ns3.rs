//! `slackwater validate --ns3`: our cell beside ns-3's, both run now and on the same channels.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use slackwater_lab::parallel;
use slackwater_lab::run::{Control, RunError};
use slackwater_lab::validate::beside_ns3::{CASES, Case, Job, Pair, compare, remark};
use slackwater_results::check::Check;
use slackwater_scenario::bounded;

use crate::ns3::Ns3;
use crate::progress;

/// How much is run.
#[derive(Clone, Debug, Args)]
pub(super) struct BesideNs3 {
    /// With --ns3: channels
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=1000), requires = "ns3")]
    channels: u32,
    /// With --ns3: simulated seconds of each run
    #[arg(long, value_name = "S", default_value_t = 60, value_parser = clap::value_parser!(u32).range(4..=10_000), requires = "ns3")]
    seconds: u32,
    /// With --ns3: keep the channels that ns-3 wrote in this folder
    #[arg(long, value_name = "DIR", requires = "ns3")]
    keep: Option<PathBuf>,
}

/// One case: its verdicts and what ns-3 counted.
pub(super) struct Group {
    pub(super) case: Case,
    pub(super) checks: Vec<Check>,
    pub(super) remark: String,
}

/// Runs of ns-3 on each channel, of which the tolerances follow.
const REPEATS: u32 = 2;

/// The cases called `names`; all where there are none.
pub(super) fn cases(names: &[String]) -> Result<Vec<Case>> {
    if names.is_empty() {
        return Ok(CASES.to_vec());
    }
    names
        .iter()
        .map(|name| {
            let found = CASES.iter().find(|c| c.name == name);
            found.copied().with_context(|| {
                let all: Vec<_> = CASES.iter().map(|c| c.name).collect();
                format!("--case: found {name:?}, expected one of {}", all.join(", "))
            })
        })
        .collect()
}

impl BesideNs3 {
    /// Runs both programs; where it is interrupted, the cases that are whole come back.
    pub(super) fn run(
        &self,
        ns3: &Ns3,
        cases: &[Case],
        repeats: Option<u64>,
    ) -> Result<Vec<Group>> {
        let repeats = repeats.map_or(REPEATS, |r| r as u32);
        let own = std::env::temp_dir().join(format!("slackwater-ns3-{}", std::process::id()));
        let folder = self.keep.clone().unwrap_or_else(|| own.clone());
        std::fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
        let groups = self.cases(ns3, cases, repeats, &folder);
        if self.keep.is_none() {
            // What is left in a temporary folder harms nobody.
            let _ = std::fs::remove_dir_all(&own);
        }
        groups
    }

    fn cases(&self, ns3: &Ns3, cases: &[Case], repeats: u32, folder: &Path) -> Result<Vec<Group>> {
        let mut whole = vec![];
        for case in cases {
            match self.case(ns3, *case, repeats, folder) {
                Ok(group) => whole.push(group),
                Err(_) if progress::interrupted() && !whole.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(whole)
    }

    fn case(&self, ns3: &Ns3, case: Case, repeats: u32, folder: &Path) -> Result<Group> {
        let jobs: Vec<Job> = (1..=self.channels)
            .flat_map(|place| (1..=repeats).map(move |repeat| (place, repeat)))
            .map(|(place, repeat)| Job {
                case,
                place,
                repeat,
                seconds: self.seconds,
            })
            .collect();
        eprintln!("{}: {} runs of ns-3", case.name, jobs.len());
        let pairs = parallel::map(jobs.len(), parallel::cores(), |i| {
            pair(ns3, jobs[i], folder)
        });
        let pairs: Vec<Pair> = pairs.into_iter().collect::<Result<_>>()?;
        let checks = compare(&pairs, &go)?;
        Ok(Group {
            case,
            checks,
            remark: remark(&pairs),
        })
    }
}

fn go() -> Control {
    if progress::interrupted() {
        Control::Stop
    } else {
        Control::Continue
    }
}

fn pair(ns3: &Ns3, job: Job, folder: &Path) -> Result<Pair> {
    if progress::interrupted() {
        return Err(RunError::Interrupted.into());
    }
    let file = folder.join(format!(
        "{}-{}-{}.csv",
        job.case.name, job.place, job.repeat
    ));
    let run = ns3.run(&job.arguments(&file))?;
    let channel =
        bounded::text(&file, bounded::RESULTS).with_context(|| file.display().to_string())?;
    Ok(Pair {
        job,
        ns3: run,
        channel,
    })
}
