//! Who is how good in each cell, who lies on the front, and who dominates whom.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slackwater_results::metrics::{Better, Estimate, discoveries, paired};
use slackwater_results::output::frame::{Column, Frame, Words};

use super::measure::{MEASURES, Measure, RIVAL, Values};
use super::overall::Overall;
use super::set::{Class, NOBODY, Place};
use super::task::{Plan, Row, Task};

/// At most this share of the differences called significant in a cell may be chance.
const FALSE_DISCOVERIES: f64 = 0.05;

/// The results of an arena.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// Version of the program.
    pub version: String,
    /// A quick look.
    pub quick: bool,
    /// Seeds of each cell and system.
    pub seeds: Vec<u64>,
    /// Cells, in the order of the set.
    pub cells: Vec<CellTable>,
    /// Cells that were not run, and why.
    pub skipped: Vec<(String, String)>,
    /// What became of each system over all drawn cells.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub overall: Vec<Overall>,
}

/// One cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CellTable {
    /// Name.
    pub name: String,
    /// Its scenario, for `slackwater run`.
    #[serde(default)]
    pub scenario: String,
    /// Heading.
    pub title: String,
    /// What it is.
    pub about: String,
    /// Who competes.
    pub class: Class,
    /// Keys of what is drawn against each other: more is better of the first, less of the second.
    pub front: [String; 2],
    /// Systems, in the order of the set.
    pub systems: Vec<Entry>,
    /// Who dominates whom: indices into `systems`.
    pub wins: Vec<Win>,
}

/// A system in a cell.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Name.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Registry name of the controller, for its colour.
    pub controller: String,
    /// Name of the edge function.
    pub edge: String,
    /// Means over seeds with their 95 % intervals, by measure.
    pub values: BTreeMap<String, Estimate>,
    /// The seeds' own values, by measure: by these a page tells who is best. Not among the results.
    #[serde(skip)]
    pub seeds: BTreeMap<String, Vec<Option<f64>>>,
    /// The seeds' own values of the two measures of the front.
    pub samples: Vec<[f64; 2]>,
    /// No other system's means are at least as good in both measures of the front and better in one.
    pub on_front: bool,
    /// The command that runs its first seed again.
    pub command: String,
}

/// One system is better than another: its mean is at least as good in both measures of the front, and in at least one the
/// difference is significant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Win {
    /// Who.
    pub winner: usize,
    /// Over whom.
    pub loser: usize,
    /// Significant in the first and in the second measure of the front.
    pub significant: [bool; 2],
}

/// The values of a system in a cell, by seed.
type BySeed = BTreeMap<u64, Values>;

impl Table {
    /// The table of `rows`, which are the rows of `plan`.
    pub fn new<'a>(plan: &Plan, rows: impl IntoIterator<Item = &'a Row>) -> Self {
        let mut all: BTreeMap<(String, String), BySeed> = BTreeMap::new();
        for row in rows {
            let name = (row.task.cell.clone(), row.task.system.clone());
            let of = all.entry(name).or_default();
            of.insert(row.task.seed, row.values.clone());
        }
        let first = plan.options.first_seed;
        let cells = plan.set.places.iter();
        let cells: Vec<CellTable> = cells.filter_map(|p| cell(plan, p, &all)).collect();
        let drawn = |cell: &&CellTable| {
            let place = plan.set.place(&cell.name);
            place.is_some_and(|p| p.drawn.is_some())
        };
        let drawn: Vec<&CellTable> = cells.iter().filter(drawn).collect();
        Self {
            overall: Overall::of(&drawn, &plan.options.systems),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            quick: plan.options.quick,
            seeds: (first..first + plan.options.seeds).collect(),
            cells,
            skipped: plan.skipped.clone(),
        }
    }

    /// A row a cell, system and measure, with mean and interval.
    pub fn frame(&self) -> Frame {
        let mut texts: [Words; 4] = Default::default();
        let (mut mean, mut low, mut high) = (vec![], vec![], vec![]);
        for cell in &self.cells {
            for s in &cell.systems {
                for (key, e) in &s.values {
                    for (words, text) in
                        texts
                            .iter_mut()
                            .zip([&cell.name, &s.name, &s.controller, key])
                    {
                        words.push(text, 1);
                    }
                    mean.push(e.mean);
                    low.push(e.interval.map_or(f64::NAN, |i| i.low));
                    high.push(e.interval.map_or(f64::NAN, |i| i.high));
                }
            }
        }
        let [cells, systems, controllers, measures] = texts.map(Words::column);
        Frame {
            columns: vec![
                ("cell", cells),
                ("system", systems),
                ("controller", controllers),
                ("measure", measures),
                ("mean", Column::Float(mean)),
                ("low_95", Column::Float(low)),
                ("high_95", Column::Float(high)),
            ],
        }
    }
}

fn cell(plan: &Plan, place: &Place, all: &BTreeMap<(String, String), BySeed>) -> Option<CellTable> {
    let of = |system: &str| all.get(&(place.name.clone(), system.to_owned()));
    let solo = of(NOBODY);
    let mut entries = vec![];
    let mut seeds = vec![];
    for system in plan.set.systems_of(place) {
        let Some(mut runs) = of(&system.name).cloned().filter(|_| system.name != NOBODY) else {
            continue;
        };
        for (seed, values) in &mut runs {
            harm(values, solo.and_then(|s| s.get(seed)));
        }
        let (mut values, mut by_seed) = (BTreeMap::new(), BTreeMap::new());
        for m in MEASURES {
            let seeds: Vec<Option<f64>> = runs.values().map(|v| v.get(m.key).copied()).collect();
            let there: Vec<f64> = seeds.iter().flatten().copied().collect();
            if let Some(e) = Estimate::within(&there, m.bounds()) {
                values.insert(m.key.to_owned(), e);
                by_seed.insert(m.key.to_owned(), seeds);
            }
        }
        let [a, b] = &place.front;
        let samples = runs.values();
        let task = Task {
            cell: place.name.clone(),
            system: system.name.clone(),
            seed: *runs.keys().next()?,
            quick: plan.options.quick,
        };
        entries.push(Entry {
            samples: samples
                .filter_map(|v| Some([*v.get(a)?, *v.get(b)?]))
                .collect(),
            values,
            seeds: by_seed,
            name: system.name,
            title: system.title,
            controller: system.sender,
            edge: system.edge,
            on_front: false,
            command: plan.command(&task)?,
        });
        seeds.push(runs);
    }
    let wins = wins(&seeds, &place.front);
    mark_front(&mut entries, &place.front);
    (!entries.is_empty()).then(|| CellTable {
        name: place.name.clone(),
        scenario: place.scenario_name(),
        title: place.title(),
        about: place.about.clone(),
        class: place.class,
        front: place.front.clone(),
        systems: entries,
        wins,
    })
}

/// What the rival lost, of the same seed.
// Ware et al. 2019, section 4: (solo - with) / solo where more is better, (with - solo) / with where less is.
fn harm(values: &mut Values, solo: Option<&Values>) {
    let Some(solo) = solo else {
        return;
    };
    let [rate, delay] = RIVAL.map(|key| Some((*solo.get(key)?, *values.get(key)?)));
    if let Some((alone, with)) = rate.filter(|(alone, _)| *alone > 0.0) {
        values.insert("harm".to_owned(), (alone - with) / alone * 100.0);
    }
    if let Some((alone, with)) = delay.filter(|(_, with)| *with > 0.0) {
        values.insert("harm_delay".to_owned(), (with - alone) / with * 100.0);
    }
}

/// The sign that makes more better.
pub(super) fn sign(key: &str) -> f64 {
    match Measure::find(key).map(|m| m.better) {
        Some(Better::Lower) => -1.0,
        _ => 1.0,
    }
}

fn mark_front(entries: &mut [Entry], front: &[String; 2]) {
    let points: Vec<Option<[f64; 2]>> = entries
        .iter()
        .map(|e| {
            let at = |key: &String| e.values.get(key).map(|v| v.mean * sign(key));
            Some([at(&front[0])?, at(&front[1])?])
        })
        .collect();
    for (i, e) in entries.iter_mut().enumerate() {
        let Some(me) = points[i] else {
            continue;
        };
        let beaten = points.iter().flatten();
        let mut beaten =
            beaten.filter(|o| o[0] >= me[0] && o[1] >= me[1] && (o[0] > me[0] || o[1] > me[1]));
        e.on_front = beaten.next().is_none();
    }
}

fn wins(runs: &[BySeed], front: &[String; 2]) -> Vec<Win> {
    // Each pair of systems once, in both measures, over the seeds that both have.
    let mut pairs = vec![];
    let mut p = vec![];
    for i in 0..runs.len() {
        for j in 0..i {
            let tests = front.each_ref().map(|key| {
                let (a, b): (Vec<f64>, Vec<f64>) = runs[i]
                    .iter()
                    .filter_map(|(seed, v)| Some((*v.get(key)?, *runs[j].get(seed)?.get(key)?)))
                    .map(|(a, b)| (a * sign(key), b * sign(key)))
                    .unzip();
                paired(&a, &b)
            });
            if let [Some(x), Some(y)] = tests {
                p.extend([x.p, y.p]);
                pairs.push((i, j, [x.difference.mean, y.difference.mean]));
            }
        }
    }
    let stand = discoveries(&p, FALSE_DISCOVERIES);
    let mut out = vec![];
    for (at, (i, j, d)) in pairs.into_iter().enumerate() {
        let significant = [stand[2 * at], stand[2 * at + 1]];
        let (winner, loser) = if d.iter().all(|d| *d >= 0.0) {
            (i, j)
        } else if d.iter().all(|d| *d <= 0.0) {
            (j, i)
        } else {
            continue;
        };
        let significant = [0, 1].map(|k| significant[k] && d[k] != 0.0);
        if significant.contains(&true) {
            out.push(Win {
                winner,
                loser,
                significant,
            });
        }
    }
    out.sort_by_key(|w| (w.winner, w.loser));
    out
}
