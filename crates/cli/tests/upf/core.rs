//! N4 with a complete SMF that is not ours: free5GC's, with a small core around it (`core/main.go`). It is no module that a test can
//! fetch: docs/upf.md has how to build it. `SLACKWATER_SMF` names the program.

use std::ffi::OsStr;
use std::path::Path;

use super::{go, reason, run};

const CONFIG: &str = r#"
[n3]
address = "127.0.0.1"
[n4]
address = "127.0.0.1"
[n6]
address = "192.0.2.1"
"#;

/// UEs of the test, and of those how many sessions end in order.
const UES: u64 = 20;
const RELEASED: u64 = 10;
/// Octets of an IP packet of 1,000 octets of UDP payload, and of the one that wakes the idle UE.
const PACKET: u64 = 1028;
const WAKING: u64 = 28 + 7;

#[test]
fn free5gc_sets_up_changes_and_ends_sessions() {
    let Some(smf) = std::env::var_os("SLACKWATER_SMF") else {
        eprintln!("skipped: SLACKWATER_SMF names no SMF");
        return;
    };
    assert!(Path::new(&smf).exists(), "SLACKWATER_SMF: no such program");
    let core = match reason().map_or_else(|| go::build("upf/core", "core"), Err) {
        Ok(core) => core,
        Err(why) => {
            eprintln!("skipped: {why}");
            return;
        }
    };
    let words: [&OsStr; 2] = [core.as_os_str(), &smf];
    let (found, ()) = run(&words, CONFIG, "upf-core", |_| ());

    // Twice each: by the rule for all traffic, and by the guaranteed flow, to which the SMF gave QFI 3.
    assert_eq!(found["good"], 2 * UES, "{found}");
    assert_eq!(
        found["qfis"],
        serde_json::json!({"5000/1": UES, "5004/3": UES}),
        "{found}"
    );
    // TS 23.502, 4.2.3.3: data for an idle UE has it paged, and arrives.
    assert_eq!(found["paged"], "imsi-001010000000000", "{found}");
    assert_eq!(found["woken"], "wake up", "{found}");
    // What the SMF charged for the sessions that it released, to the octet.
    assert_eq!(
        found["charged"],
        serde_json::json!([2 * RELEASED * PACKET, 2 * RELEASED * PACKET + WAKING]),
        "{found}"
    );

    // TS 29.244, 8.2.1: each request was accepted (1).
    let n4 = &found["overview"]["n4"];
    assert_eq!(n4["malformed"], 0, "{n4}");
    assert_eq!(n4["unanswered"], 0, "{n4}");
    let causes = n4["answered_by_cause"].as_object().expect("causes");
    assert_eq!(causes.keys().collect::<Vec<_>>(), ["1"], "{n4}");
    assert_eq!(found["code"], 0, "{found}");
}
