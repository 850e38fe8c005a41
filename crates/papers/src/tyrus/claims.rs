//! What is measured for the poster's claims of Figure 3.

use slackwater_results::metrics::Estimate;

use super::super::study::{Measure, Outcomes};
use super::links::{Place, Scene, experiment_name};
use super::stats;

/// Who stands for Tyrus: the trained network over QUIC, or what ships.
const PAPER: &str = "poster";
const PRODUCT: &str = "tyrus";
/// Whom the poster draws beside it.
const OTHERS: [&str; 4] = ["bbr", "cubic", "vegas", "sprout"];

/// The links of a scene.
#[derive(Clone)]
pub(super) struct Links {
    places: Vec<Place>,
    /// What is behind the names of senders where the links differ from Figure 3's.
    changed: &'static str,
}

impl Links {
    /// As Figure 3 has them.
    pub(super) fn of(places: &[Place], scene: Scene) -> Self {
        let chosen = places.iter().filter(|p| p.scene == scene);
        Self {
            places: chosen.cloned().collect(),
            changed: "",
        }
    }

    /// The same links with the change `changed`.
    pub(super) fn with(&self, changed: &'static str) -> Self {
        Self {
            places: self.places.clone(),
            changed,
        }
    }

    /// What `who` has of `value` on a link, seed by seed.
    fn values(&self, o: &Outcomes, place: &Place, who: &str, value: &str) -> Vec<f64> {
        let who = format!("{who}{}", self.changed);
        o.get(&experiment_name(place, &who)).values(value)
    }

    /// What `who` has of `value`.
    pub(super) fn estimate(&self, o: &Outcomes, who: &str, value: &str) -> Option<Estimate> {
        let of = |p: &Place| self.values(o, p, who, value);
        stats::estimate(&self.places.iter().map(of).collect::<Vec<_>>())
    }

    /// `f` of what `who` and `other` have of `value`, link by link and seed by seed.
    fn pairs(
        &self,
        o: &Outcomes,
        (who, other): (&str, &str),
        value: &str,
        f: impl Fn(f64, f64) -> f64,
    ) -> Vec<Vec<f64>> {
        let of = |place: &Place, sender: &str| self.values(o, place, sender, value);
        self.places
            .iter()
            .map(|p| {
                let pairs = of(p, who).into_iter().zip(of(p, other));
                pairs
                    .map(|(a, b)| f(a, b))
                    .filter(|v| v.is_finite())
                    .collect()
            })
            .collect()
    }

    pub(super) fn ratio(&self, o: &Outcomes, who: (&str, &str), value: &str) -> Option<Estimate> {
        stats::estimate(&self.pairs(o, who, value, |a, b| a / b))
    }

    /// The ratio at the link where it is least, seed by seed.
    pub(super) fn least_ratio(
        &self,
        o: &Outcomes,
        who: (&str, &str),
        value: &str,
    ) -> Option<Estimate> {
        let by_link = self.pairs(o, who, value, |a, b| a / b);
        let seeds = by_link.iter().map(Vec::len).min().unwrap_or(0);
        let least = |k: usize| by_link.iter().map(|l| l[k]).fold(f64::INFINITY, f64::min);
        Estimate::of(&(0..seeds).map(least).collect::<Vec<f64>>())
    }

    /// The smallest of the ratios of throughput to those of BBR, CUBIC and Vegas, link by link and seed by seed.
    pub(super) fn over_best(&self, o: &Outcomes, who: &str) -> Option<Estimate> {
        let all: Vec<Vec<Vec<f64>>> = ["bbr", "cubic", "vegas"]
            .iter()
            .map(|other| self.pairs(o, (who, other), "used", |a, b| a / b))
            .collect();
        let strata: Vec<Vec<f64>> = (0..self.places.len())
            .map(|link| {
                let seeds = all.iter().map(|a| a[link].len()).min().unwrap_or(0);
                let least = |k: usize| all.iter().map(|a| a[link][k]).fold(f64::INFINITY, f64::min);
                (0..seeds).map(least).collect()
            })
            .collect();
        stats::estimate(&strata)
    }

    /// `S` of `who` less that of `other`.
    pub(super) fn ahead(&self, o: &Outcomes, who: (&str, &str)) -> Option<Estimate> {
        stats::estimate(&self.pairs(o, who, "score", |a, b| a - b))
    }

    /// How many of the others have more throughput and less delay, by means over the links; `None` where nothing ran.
    fn better(&self, o: &Outcomes, who: &str) -> Option<Estimate> {
        let seeds = self.values(o, self.places.first()?, who, "used").len();
        let mut count = 0;
        for other in OTHERS {
            let used = self.ratio(o, (who, other), "used")?;
            let p95 = self.ratio(o, (who, other), "p95")?;
            count += u32::from(used.mean < 1.0 && p95.mean > 1.0);
        }
        Some(Estimate::symmetric(f64::from(count), 0.0, seeds))
    }
}

type Value = fn(&Links, &Outcomes, &str) -> Option<Estimate>;

/// Claims with the scenes' names behind, by what is measured for them.
const OF_TYRUS: [(&str, &str, Value); 8] = [
    (
        "fig3-competitive-stationary",
        "fig3-competitive-moving",
        |l, o, who| l.over_best(o, who),
    ),
    (
        "fig3-above-sprout-stationary",
        "fig3-above-sprout-moving",
        |l, o, who| l.least_ratio(o, (who, "sprout"), "used"),
    ),
    (
        "fig3-delay-bbr-stationary",
        "fig3-delay-bbr-moving",
        |l, o, who| l.ratio(o, (who, "bbr"), "p95"),
    ),
    (
        "fig3-delay-cubic-stationary",
        "fig3-delay-cubic-moving",
        |l, o, who| l.ratio(o, (who, "cubic"), "p95"),
    ),
    (
        "fig3-delay-vegas-stationary",
        "fig3-delay-vegas-moving",
        |l, o, who| l.ratio(o, (who, "vegas"), "p95"),
    ),
    (
        "fig3-winner-stationary",
        "fig3-winner-moving",
        |l, o, who| l.better(o, who),
    ),
    ("fig3-phy-stationary", "fig3-phy-moving", |l, o, who| {
        l.ahead(o, (who, "rule2-acks"))
    }),
    (
        "fig3-vegas-queue-stationary",
        "fig3-vegas-queue-moving",
        |l, o, who| l.ratio(o, ("vegas", who), "p95"),
    ),
];

/// Claims of others than Tyrus: share of the capacity that Vegas and Sprout use.
const OF_OTHERS: [(&str, &str, &str); 2] = [
    (
        "fig3-vegas-leaves-stationary",
        "fig3-vegas-leaves-moving",
        "vegas",
    ),
    (
        "fig3-sprout-leaves-stationary",
        "fig3-sprout-leaves-moving",
        "sprout",
    ),
];

/// The measures of Figure 3.
pub(super) fn fig3(places: &[Place]) -> Vec<Measure> {
    let scenes = Scene::ALL.map(|scene| Links::of(places, scene));
    let mut all = vec![];
    for (stationary, moving, value) in OF_TYRUS {
        for (claim, links) in [stationary, moving].into_iter().zip(&scenes) {
            let (paper, product) = (links.clone(), links.clone());
            all.push(Measure::paper(claim, move |o| value(&paper, o, PAPER)));
            all.push(Measure::product(claim, move |o| {
                value(&product, o, PRODUCT)
            }));
        }
    }
    for (stationary, moving, who) in OF_OTHERS {
        for (claim, links) in [stationary, moving].into_iter().zip(&scenes) {
            let links = links.clone();
            all.push(Measure::product(claim, move |o| {
                links.estimate(o, who, "used")
            }));
        }
    }
    all
}
