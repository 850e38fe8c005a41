//! Every controller in the cells that the program shows first.

use slackwater_control::registry::transport_entries;
use slackwater_lab::run::{Control, run_scenario};
use slackwater_scenario::Scenario;

// Checks of the engine are on in tests: a timer in the past stopped Vivace here.
#[test]
fn every_controller_runs_in_the_cells_shown_first() {
    for cell in ["lte-demo", "nr-demo"] {
        let text = slackwater_scenario::embedded(cell).expect("built in");
        let path = std::path::Path::new(".");
        let shown = Scenario::from_toml(&text, path).expect("a good scenario");
        let short = shown
            .with("duration", "6 s")
            .and_then(|s| s.with("warmup", "0 s"))
            .expect("a good change");
        for entry in transport_entries() {
            let Ok(scenario) = short.with("flow.controller", entry.name) else {
                // It needs what this cell does not have, and says so.
                continue;
            };
            let run = run_scenario(&scenario, 1, &mut |_| Control::Continue);
            let run = run.unwrap_or_else(|e| panic!("{cell}, {}: {e}", entry.name));
            let delivered = run.records.flows[0].delivered_payload;
            assert!(delivered > 100_000, "{cell}, {}: {delivered}", entry.name);
        }
    }
}
