//! What episodes may be drawn from.

use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use slackwater_scenario::data::read_bytes;
use slackwater_wire::trace::MahimahiTrace;

use super::pattern::Family;
use super::reward::Reward;

/// A kind of bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Place {
    /// A synthetic link (see [`super::pattern`]), or one of [`Domain::traces`] where there are some.
    Link,
    /// A link of constant rate: a wired bottleneck.
    Wired,
    /// A synthetic link behind a wired hop of [`Domain::hop_mbps`], which no transport block shows.
    Behind,
    /// An LTE cell of 10 MHz.
    Lte,
    /// An NR cell of 20 MHz, TDD.
    Nr,
}

/// What carries the flows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Transport {
    /// TCP.
    Tcp,
    /// QUIC, by the light model.
    Quic,
}

/// A rival that is flown by whoever flies the learner; beside an agent outside it is rule v2.
pub const SELF: &str = "self";

/// Ranges of an episode's draws. Every key has a default, unknown keys are refused.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Domain {
    /// Kinds of bottleneck; each as likely as often as it is named.
    pub places: Vec<Place>,
    /// Families of synthetic links.
    pub families: Vec<Family>,
    /// Files of Mahimahi traces that stand in for synthetic links.
    pub traces: Vec<String>,
    /// Mean rate of synthetic and of wired links, Mbit/s; uniform in the logarithm.
    pub mbps: [f64; 2],
    /// Round-trip time of the wired part, milliseconds, half of it each way.
    pub rtt_ms: [f64; 2],
    /// Room of the bottleneck's queue in packets; uniform in the logarithm.
    pub buffer: [f64; 2],
    /// Random loss on the way to the receiver, percent.
    pub loss_percent: [f64; 2],
    /// Share of the episodes that have such loss.
    pub lossy: f64,
    /// Extra delay of the radio's reports, milliseconds.
    pub feedback_delay_ms: [f64; 2],
    /// Share of the radio's reports that are lost, percent.
    pub feedback_loss_percent: [f64; 2],
    /// Milliseconds that ACKs wait for each other at the receiver; zero leaves TCP's own rule.
    pub ack_batch_ms: [f64; 2],
    /// Flows beside the learner's: from none to this many.
    pub competitors: u32,
    /// Controllers of these; `self` is the learner's own.
    pub against: Vec<String>,
    /// What carries all flows; each as likely as often as it is named.
    pub transports: Vec<Transport>,
    /// Share of the episodes in which the learner's data come in transfers of 50 kB to 2 MB, up to 1 s apart.
    pub idle: f64,
    /// Rate of the wired hop of [`Place::Behind`], Mbit/s; uniform in the logarithm.
    pub hop_mbps: [f64; 2],
    /// Initial window in segments; uniform in the logarithm.
    pub window: [f64; 2],
    /// Decisions of an episode.
    pub decisions: u32,
    /// Time between two decisions, milliseconds.
    pub interval_ms: u32,
    /// Time at the start of an episode that its score leaves out, milliseconds.
    pub warmup_ms: u32,
    /// What the radio's reports count: `capacity`, `allocated`, `allocated+idle`, or `none`.
    pub tbs: String,
    /// The reward.
    pub reward: String,
}

impl Default for Domain {
    /// What the shipped policies were trained on, a study's ranges: one-way delay 10 to 40 ms, 200 to 4000 packets.
    fn default() -> Self {
        Self {
            places: vec![Place::Link],
            families: Family::ALL.to_vec(),
            traces: vec![],
            mbps: [2.0, 40.0],
            rtt_ms: [20.0, 80.0],
            buffer: [200.0, 4000.0],
            loss_percent: [0.0, 1.0],
            lossy: 0.0,
            feedback_delay_ms: [0.0, 0.0],
            feedback_loss_percent: [0.0, 0.0],
            ack_batch_ms: [0.0, 0.0],
            competitors: 0,
            against: vec!["cubic".to_owned()],
            transports: vec![Transport::Tcp],
            idle: 0.0,
            hop_mbps: [1.0, 10.0],
            window: [4.0, 200.0],
            decisions: 400,
            interval_ms: 20,
            warmup_ms: 1000,
            tbs: "capacity".to_owned(),
            reward: Reward::Normalised.name().to_owned(),
        }
    }
}

/// What is wrong with a domain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{key}: found {found}, expected {expected}")]
pub struct DomainError {
    /// The key.
    pub key: String,
    /// What it holds.
    pub found: String,
    /// What it may hold.
    pub expected: String,
}

impl DomainError {
    /// `key` holds `found`.
    pub fn new(
        key: impl Into<String>,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        Self {
            key: key.into(),
            found: found.into(),
            expected: expected.into(),
        }
    }
}

/// A trace that was read.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The file's name.
    pub file: String,
    /// Milliseconds of its opportunities.
    pub opportunities: Arc<Vec<u64>>,
}

impl Domain {
    /// A domain from JSON.
    ///
    /// # Errors
    /// Where a key is unknown or a value makes no sense.
    pub fn from_json(text: &str) -> Result<Self, DomainError> {
        let domain: Self = serde_json::from_str(text).map_err(|e| {
            // A line and a column of JSON that a program made tell its user nothing.
            let said = e.to_string();
            let found = said.split(" at line ").next().unwrap_or_default();
            DomainError::new("domain", found, "keys and values of a domain")
        })?;
        domain.check()?;
        Ok(domain)
    }

    /// Checks the values.
    ///
    /// # Errors
    /// The first that makes no sense.
    pub fn check(&self) -> Result<(), DomainError> {
        let ranges: [(&str, [f64; 2], [f64; 2]); 9] = [
            ("mbps", self.mbps, [0.1, 500.0]),
            ("rtt_ms", self.rtt_ms, [1.0, 2000.0]),
            ("buffer", self.buffer, [1.0, 1e6]),
            ("loss_percent", self.loss_percent, [0.0, 50.0]),
            ("feedback_delay_ms", self.feedback_delay_ms, [0.0, 2000.0]),
            (
                "feedback_loss_percent",
                self.feedback_loss_percent,
                [0.0, 100.0],
            ),
            ("ack_batch_ms", self.ack_batch_ms, [0.0, 400.0]),
            ("window", self.window, [1.0, 1000.0]),
            ("hop_mbps", self.hop_mbps, [0.1, 500.0]),
        ];
        for (key, [low, high], [least, most]) in ranges {
            if !(least <= low && low <= high && high <= most) {
                return Err(DomainError::new(
                    key,
                    format!("[{low}, {high}]"),
                    format!("two rising numbers from {least} to {most}"),
                ));
            }
        }
        for (key, share) in [("lossy", self.lossy), ("idle", self.idle)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(DomainError::new(key, share.to_string(), "0 to 1"));
            }
        }
        for (key, empty) in [
            ("places", self.places.is_empty()),
            ("transports", self.transports.is_empty()),
            (
                "families",
                self.families.is_empty() && self.traces.is_empty(),
            ),
            ("against", self.against.is_empty() && self.competitors > 0),
        ] {
            if empty {
                return Err(DomainError::new(key, "nothing", "at least one"));
            }
        }
        for (key, value, [least, most]) in [
            ("decisions", self.decisions, [2, 1_000_000]),
            ("interval_ms", self.interval_ms, [1, 1000]),
            ("warmup_ms", self.warmup_ms, [0, 1_000_000]),
            ("competitors", self.competitors, [0, 64]),
        ] {
            if !(least..=most).contains(&value) {
                let expected = format!("{least} to {most}");
                return Err(DomainError::new(key, value.to_string(), expected));
            }
        }
        let known = ["capacity", "allocated", "allocated+idle", "none"];
        if !known.contains(&self.tbs.as_str()) {
            let expected = format!("one of {}", known.join(", "));
            return Err(DomainError::new("tbs", format!("{:?}", self.tbs), expected));
        }
        self.reward
            .parse::<Reward>()
            .map_err(|_| {
                let names = Reward::ALL.map(Reward::name).join(", ");
                DomainError::new(
                    "reward",
                    format!("{:?}", self.reward),
                    format!("one of {names}"),
                )
            })
            .map(drop)
    }

    /// Reads the traces.
    ///
    /// # Errors
    /// Where a file cannot be read or is no trace.
    pub fn read_traces(&self) -> Result<Vec<Recorded>, DomainError> {
        let read = |file: &String| {
            let wrong = |found: String| {
                DomainError::new("traces", format!("{found} in {file}"), "a Mahimahi trace")
            };
            let bytes = read_bytes(Path::new(file)).map_err(|e| wrong(e.found))?;
            let trace = MahimahiTrace::parse(&bytes).map_err(|e| wrong(e.found))?;
            Ok(Recorded {
                file: file.clone(),
                opportunities: Arc::new(trace.times_ms().to_vec()),
            })
        };
        self.traces.iter().map(read).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_domain_says_what_is_wrong_with_it() {
        assert_eq!(Domain::from_json("{}"), Ok(Domain::default()));
        for (text, key) in [
            (r#"{"rtt": 3}"#, "domain"),
            (r#"{"rtt_ms": [40, 20]}"#, "rtt_ms"),
            (r#"{"places": []}"#, "places"),
            (r#"{"tbs": "grants"}"#, "tbs"),
            (r#"{"reward": "best"}"#, "reward"),
            (r#"{"decisions": 0}"#, "decisions"),
            (r#"{"lossy": 2}"#, "lossy"),
            (r#"{"idle": -1}"#, "idle"),
            (r#"{"transports": []}"#, "transports"),
            (r#"{"hop_mbps": [0, 3]}"#, "hop_mbps"),
        ] {
            let error = Domain::from_json(text).expect_err(text);
            assert_eq!(error.key, key, "{error}");
        }
        let missing = Domain {
            traces: vec!["no-such-file.down".to_owned()],
            ..Domain::default()
        };
        let error = missing.read_traces().expect_err("no file");
        assert!(error.to_string().contains("no-such-file.down"), "{error}");
    }
}
