//! How a run with real packets went, in words and as JSON.

use serde_json::{Value, json};
use slackwater_live::emulate::{Health, Outcome};
use slackwater_live::gnb::n3::Found;

/// How late the emulator was, in words.
pub(crate) fn lag_line(health: &Health) -> String {
    let ms = |q| {
        let lag = health.lag.histogram.quantile(q).unwrap_or_default();
        format!("{:.3}", lag.as_millis_f64())
    };
    format!(
        "late by {} ms (p50), {} ms (p99), {} ms (p99.9); {} of {} slots missed{}",
        ms(0.5),
        ms(0.99),
        ms(0.999),
        health.lag.missed_slots,
        health.slots,
        if health.realtime {
            ""
        } else {
            "; no real-time priority"
        },
    )
}

/// Where the hypervisor took time from the machine, how much.
pub(crate) fn stolen_words(health: &Health) -> String {
    let stolen = health.stolen.as_secs_f64();
    if stolen == 0.0 {
        return String::new();
    }
    format!("; its hypervisor took {stolen:.2} s of processor time meanwhile")
}

/// How it went, as JSON.
pub(crate) fn json(outcome: &Outcome, void: bool) -> Value {
    let health = &outcome.health;
    let late = |q| {
        let lag = health.lag.histogram.quantile(q).unwrap_or_default();
        lag.as_millis_f64()
    };
    let quic = |(flow, [down, up]): &(String, [u64; 2])| json!({ "flow": flow, "spin_edges_down": down, "spin_edges_up": up });
    let mut document = json!({
        "exit_code": outcome.code,
        "seconds": outcome.length.as_secs_f64(),
        "void": void,
        "late_ms": { "p50": late(0.5), "p99": late(0.99), "p999": late(0.999) },
        "slots": health.slots,
        "missed_slots": health.lag.missed_slots,
        "realtime": health.realtime,
        "malformed_frames": health.malformed,
        "refused_packets": health.refused,
        "out_of_reach_packets": health.out_of_reach,
        "reports_sent": health.reports,
        "quic": outcome.spins.iter().map(quic).collect::<Vec<_>>(),
        "cpu_seconds": health.cpu.as_secs_f64(),
        "stolen_seconds": health.stolen.as_secs_f64(),
        "summary": outcome.result.summary,
    });
    if let Some(found) = &outcome.n3 {
        document["n3"] = n3(found);
    }
    document
}

/// What came over N3.
fn n3(found: &Found) -> Value {
    let c = &found.counters;
    let both =
        |[first, second]: [u64; 2], names: [&str; 2]| json!({ names[0]: first, names[1]: second });
    let ways = ["down", "up"];
    let ends = ["sent", "received"];
    let peer = |(peer, alive): &(std::net::SocketAddr, Option<bool>)| json!({ "peer": peer.to_string(), "answers_echo": alive });
    json!({
        "packets": both(c.packets, ways),
        "octets": both(c.octets, ways),
        "echo": both(c.echoes, ["requests_received", "responses_received"]),
        "error_indications": both(c.error_indications, ends),
        "supported_headers_notifications": both(c.notifications, ends),
        "held_back": c.held_back,
        "end_markers": c.end_markers,
        "malformed": c.malformed,
        "unknown_teid": c.unknown_teid,
        "unknown_qfi": c.unknown_qfi,
        "without_container": c.without_container,
        "header_not_understood": c.not_understood,
        "other_messages": c.others,
        "dropped_for_outer_ce": c.dropped_ce,
        "beyond_length_field": c.beyond,
        "measurement_answers": c.answers,
        "empty_packets": c.empty,
        "reports": { "messages": found.reported.messages, "reports": found.reported.reports,
            "counters": found.reported.counters, "skipped": found.reported.skipped },
        "socket_overflows": found.overflowed,
        "refused_datagrams": found.refused,
        "longer_than_path": found.fragmented,
        "peers": found.peers.iter().map(peer).collect::<Vec<_>>(),
    })
}
