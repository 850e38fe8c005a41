//! What a run will take, told before it takes it.

use std::time::Duration as Wall;

use slackwater_core::NodeId;
use slackwater_results::record::{Bin, RecorderConfig};
use slackwater_scenario::Scenario;

/// Bytes of a flow's hosts, histograms and series before it sends: 8,000 flows of which one sends take 175 MB.
const FLOW: u64 = 18_000;
/// Bytes of a UE's bearers and queues: 8,000 idle ones take 30 MB.
const UE: u64 = 4_000;
/// Bytes of a sampled row with a controller's internals.
const ROW: u64 = 250;
/// Bytes of a packet's row, where packets are recorded.
const PACKET: u64 = 60;
/// A list that grows holds up to twice what is in it.
const GROWTH: u64 = 2;

/// About how many bytes a run of `scenario` holds at its end.
pub fn memory(scenario: &Scenario) -> u64 {
    let record = RecorderConfig::of(scenario, NodeId(0), None);
    let end = scenario.duration.as_nanos();
    // The width follows from all flows: once is enough.
    let bin = record.bin().as_nanos();
    let bins: u64 = record
        .flows
        .iter()
        .map(|f| f.stop.as_nanos().min(end).div_ceil(bin))
        .sum();
    let flows = record.flows.len() as u64;
    let rows = end / record.sampling().as_nanos().max(1) * flows;
    let packets = if record.packets { record.max_rows } else { 0 };
    let lists = bins * size_of::<Bin>() as u64 + rows * ROW + packets * PACKET;
    GROWTH * lists + flows * FLOW + scenario.expanded_ues().len() as u64 * UE
}

/// Of a run that goes on for so long before its end is told.
const AFTER: Wall = Wall::from_secs(2);

/// Tells once how long a run will last, when it has run for two seconds.
#[derive(Clone, Copy, Debug, Default)]
pub struct Forecast {
    told: bool,
}

impl Forecast {
    /// The run has done `share` of its time in `elapsed`. The time from its beginning to its end, the first time that it can be told.
    pub fn see(&mut self, share: f64, elapsed: Wall) -> Option<Wall> {
        if self.told || elapsed < AFTER || share <= 0.0 {
            return None;
        }
        self.told = true;
        Some(elapsed.div_f64(share.min(1.0)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn scenario(duration: &str, count: u32) -> Scenario {
        let text = format!(
            "name = \"s\"\nduration = \"{duration}\"\n[link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\n\
             [[flow]]\ncontroller = \"cubic\"\ncount = {count}\n"
        );
        Scenario::parse("s", &text, Path::new(".")).expect("a scenario")
    }

    #[test]
    fn memory_grows_with_time_and_flows() {
        // A flow of 30 days: 260,000 bins of 40 bytes, and half a million rows.
        let month = memory(&scenario("2592000 s", 1));
        assert!((200 << 20..400 << 20).contains(&month), "{month}");
        let many = memory(&scenario("100 ms", 8000));
        assert!((100 << 20..300 << 20).contains(&many), "{many}");
        assert!(memory(&scenario("30 s", 1)) < 64 << 20);
    }

    #[test]
    fn the_time_is_told_once() {
        let mut f = Forecast::default();
        let s = Wall::from_secs;
        assert_eq!(f.see(0.001, s(1)), None);
        assert_eq!(f.see(0.0, s(3)), None);
        assert_eq!(f.see(0.01, s(3)), Some(s(300)));
        assert_eq!(f.see(0.02, s(6)), None);
    }
}
