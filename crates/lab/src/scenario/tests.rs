//! Scenarios as people write them, right and wrong.

use std::path::Path as FsPath;

use super::embedded;
use super::*;

#[test]
fn every_built_in_scenario_loads_and_survives_a_round_trip() {
    for (name, text) in embedded::ALL {
        let scenario =
            Scenario::parse(name, text, FsPath::new(".")).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(scenario.name, *name);
        let resolved = scenario.to_toml();
        let again =
            Scenario::from_toml(&resolved, ".").unwrap_or_else(|e| panic!("{e}\n{resolved}"));
        assert_eq!(again, scenario, "{resolved}");
        assert_eq!(again.to_toml(), resolved);
        let json = Scenario::from_json(&scenario.to_json(), ".").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(json, scenario);
        assert!(
            !scenario
                .expand()
                .unwrap_or_else(|e| panic!("{e}"))
                .is_empty()
        );
    }
}
