//! What became of each system over all drawn cells, beside one of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use slackwater_results::metrics::Estimate;

use super::measure::Measure;
use super::set::Class;
use super::table::{CellTable, Entry};

/// A rate below this counts as this: 1 kbit/s, in Mbit/s.
const LEAST_RATE: f64 = 1e-3;
/// A time below this counts as this, ms: the shortest slot of a cell is longer.
const LEAST_TIME: f64 = 0.1;

/// All systems of the drawn cells of one kind.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Overall {
    /// The kind: `bulk`, and so on.
    pub kind: String,
    /// Who competes.
    pub class: Class,
    /// Keys of the two measures.
    pub front: [String; 2],
    /// True where a measure is compared by ratios, as rates and times are; else by differences, as shares and counts.
    pub ratio: [bool; 2],
    /// Name of the system that the others are compared with.
    pub base: String,
    /// Cells.
    pub cells: usize,
    /// Systems: the base first.
    pub systems: Vec<Standing>,
}

/// One system over all cells that it shares with the base.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Standing {
    /// Name.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// Registry name of the controller, for its colour.
    pub controller: String,
    /// Cells that it shares with the base.
    pub cells: usize,
    /// In how many of them it is on the front.
    pub front: usize,
    /// Beside the base, by measure: the geometric mean of ratios, or the mean of differences, with an interval over cells.
    pub beside: [Option<Estimate>; 2],
    /// The worst cell beside the base, by measure: its ratio or difference, and its name.
    pub worst: [Option<(f64, String)>; 2],
    /// Beside the base in each cell, by measure: logarithms of ratios, or differences. By these a page tells who is best.
    #[serde(skip)]
    pub by_cell: [Vec<Option<f64>>; 2],
}

impl Overall {
    /// One for each kind of `cells`. The base is the first of `wanted` that is in all cells of the kind, and without one the
    /// first system that is.
    pub(super) fn of(cells: &[&CellTable], wanted: &[String]) -> Vec<Self> {
        let mut groups: BTreeMap<&str, Vec<&CellTable>> = BTreeMap::new();
        for cell in cells {
            let (kind, _) = cell.name.rsplit_once('-').unwrap_or((&cell.name, ""));
            groups.entry(kind).or_default().push(cell);
        }
        let of = |(kind, cells): (&str, Vec<&CellTable>)| one(kind, &cells, wanted);
        groups.into_iter().filter_map(of).collect()
    }
}

/// The entry of `system` in `cell`.
fn find<'a>(cell: &'a CellTable, system: &str) -> Option<&'a Entry> {
    cell.systems.iter().find(|s| s.name == system)
}

/// The cells of `kind`, which have one class and one pair of measures.
fn one(kind: &str, cells: &[&CellTable], wanted: &[String]) -> Option<Overall> {
    let CellTable { class, front, .. } = cells.first()?;
    let everywhere = |name: &str| cells.iter().all(|cell| find(cell, name).is_some());
    let mut names: Vec<&str> = vec![];
    for entry in cells.iter().flat_map(|cell| &cell.systems) {
        if !names.contains(&entry.name.as_str()) {
            names.push(&entry.name);
        }
    }
    let base = wanted.iter().map(String::as_str);
    let mut base = base.chain(names.iter().copied());
    let base = base.find(|name| everywhere(name))?;
    names.sort_by_key(|name| *name != base);

    let scales = front.each_ref().map(|key| Scale::of(key));
    let systems = names.iter().map(|name| {
        let entries: Vec<&Entry> = cells.iter().filter_map(|cell| find(cell, name)).collect();
        let title = entries.first().copied();
        let by_cell = [0, 1].map(|k| -> Vec<Option<f64>> {
            let of = |cell: &&CellTable| difference(cell, [name, base], &front[k], scales[k]);
            cells.iter().map(of).collect()
        });
        let [first, second] = [0, 1].map(|k| beside(cells, &by_cell[k], scales[k]));
        Standing {
            name: (*name).to_owned(),
            title: title.map_or_else(String::new, |e| e.title.clone()),
            controller: title.map_or_else(String::new, |e| e.controller.clone()),
            cells: entries.len(),
            front: entries.iter().filter(|entry| entry.on_front).count(),
            beside: [first.0, second.0],
            worst: [first.1, second.1],
            by_cell,
        }
    });
    Some(Overall {
        kind: kind.to_owned(),
        class: *class,
        front: front.clone(),
        ratio: scales.map(|s| s.ratio),
        base: base.to_owned(),
        cells: cells.len(),
        systems: systems.collect(),
    })
}

/// How a measure is compared.
#[derive(Clone, Copy)]
struct Scale {
    /// By ratios.
    ratio: bool,
    /// The least value that counts.
    least: f64,
    /// 1 where more is better, else -1.
    sign: f64,
}

impl Scale {
    fn of(key: &str) -> Self {
        let measure = Measure::find(key);
        let least = match measure.map_or("", |m| m.unit) {
            "Mbit/s" => Some(LEAST_RATE),
            "ms" => Some(LEAST_TIME),
            _ => None,
        };
        Self {
            ratio: least.is_some(),
            least: least.unwrap_or(0.0),
            sign: super::table::sign(key),
        }
    }

    /// A value on the scale on which differences are taken.
    fn value(self, v: f64) -> f64 {
        if self.ratio {
            v.max(self.least).ln()
        } else {
            v
        }
    }

    /// A difference of two such values, as it is shown.
    fn shown(self, d: f64) -> f64 {
        if self.ratio { d.exp() } else { d }
    }
}

/// The first of `names` less the second in `cell`, by measure `key`.
fn difference(cell: &CellTable, names: [&str; 2], key: &str, scale: Scale) -> Option<f64> {
    let [a, b] = names.map(|name| Some(scale.value(find(cell, name)?.values.get(key)?.mean)));
    Some(a? - b?)
}

/// The mean over `cells` of `differences`, and the worst cell.
fn beside(
    cells: &[&CellTable],
    differences: &[Option<f64>],
    scale: Scale,
) -> (Option<Estimate>, Option<(f64, String)>) {
    let values: Vec<f64> = differences.iter().flatten().copied().collect();
    let estimate = Estimate::of(&values).map(|mut e| {
        e.mean = scale.shown(e.mean);
        if let Some(interval) = &mut e.interval {
            interval.low = scale.shown(interval.low);
            interval.high = scale.shown(interval.high);
        }
        e
    });

    let pairs = cells.iter().zip(differences);
    let pairs = pairs.filter_map(|(cell, d)| Some((d.as_ref()?, cell)));
    let worst = pairs.min_by(|a, b| (a.0 * scale.sign).total_cmp(&(b.0 * scale.sign)));
    let worst = worst.map(|(d, cell)| (scale.shown(*d), cell.name.clone()));
    (estimate, worst)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cell(name: &str, systems: &[(&str, f64, f64)]) -> CellTable {
        let entry = |(system, rate, late): &(&str, f64, f64)| Entry {
            name: (*system).to_owned(),
            title: system.to_uppercase(),
            controller: (*system).to_owned(),
            edge: "none".to_owned(),
            values: [("goodput", *rate), ("late", *late)]
                .into_iter()
                .filter_map(|(key, v)| Some((key.to_owned(), Estimate::of(&[v])?)))
                .collect(),
            seeds: BTreeMap::new(),
            samples: vec![],
            on_front: *system == "b",
            command: String::new(),
        };
        CellTable {
            name: name.to_owned(),
            scenario: format!("drawn/{name}"),
            title: String::new(),
            about: String::new(),
            class: Class::Sender,
            front: ["goodput", "late"].map(str::to_owned),
            systems: systems.iter().map(entry).collect(),
            wins: vec![],
        }
    }

    #[test]
    fn kinds_are_not_mixed() {
        let cells = ["x-1", "y-1", "x-2"].map(|name| cell(name, &[("a", 1.0, 1.0)]));
        let cells: Vec<&CellTable> = cells.iter().collect();
        let all = Overall::of(&cells, &[]);
        let found: Vec<_> = all.iter().map(|o| (o.kind.as_str(), o.cells)).collect();
        assert_eq!(found, [("x", 2), ("y", 1)]);
    }

    #[test]
    fn rates_are_compared_by_ratios_and_shares_by_differences() {
        let cells = [
            cell("x-1", &[("a", 1.0, 10.0), ("b", 2.0, 4.0), ("c", 0.0, 0.0)]),
            cell("x-2", &[("a", 4.0, 30.0), ("b", 2.0, 30.0)]),
            cell("x-3", &[("a", 1.0, 10.0), ("b", 8.0, 1.0)]),
        ];
        let cells: Vec<&CellTable> = cells.iter().collect();
        let wanted = ["c", "a"].map(str::to_owned);
        let all = Overall::of(&cells, &wanted);
        let [overall] = &all[..] else {
            panic!("{all:?}");
        };
        // `c` is not everywhere.
        assert_eq!((overall.base.as_str(), overall.cells), ("a", 3));
        assert_eq!(overall.ratio, [true, false]);
        let of = |name: &str| {
            let found = overall.systems.iter().find(|s| s.name == name);
            found.expect("it ran")
        };
        let b = of("b");
        let mean = |k: usize| b.beside[k].expect("a mean").mean;
        // The cube root of 2, 1/2 and 8 together; the mean of -6, 0 and -9.
        assert!((mean(0) - 2.0).abs() < 1e-9 && (mean(1) + 5.0).abs() < 1e-9);
        assert_eq!((b.cells, b.front), (3, 3));
        assert_eq!(b.worst[0], Some((0.5, "x-2".to_owned())));
        assert_eq!(b.worst[1], Some((0.0, "x-2".to_owned())));
        // A rate of zero counts as 1 kbit/s.
        let c = of("c");
        assert!((c.worst[0].as_ref().expect("one").0 - 1e-3).abs() < 1e-12);
        assert_eq!(c.cells, 1);
    }
}
