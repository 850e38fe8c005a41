//! Logs as Mahimahi's `mm-link` writes them: one for each way.
//!
//! A line is a time in milliseconds and an event: `+` a packet came, `#` an opportunity, `-` a packet left (with its
//! delay in milliseconds), `d` packets were dropped (their number and bytes). Sizes are IP bytes.

use std::fmt::Write as _;

use slackwater_core::Duration;
use slackwater_wire::trace::MahimahiTrace;

use super::bridge::{LogEntry, LogEvent};

/// The log of one way of a run of `length`. `trace` gives the opportunities, where the way is a trace link.
pub fn mahimahi(
    entries: &[LogEntry],
    up: bool,
    trace: Option<&MahimahiTrace>,
    length: Duration,
    command: &str,
) -> String {
    let mut out = String::new();
    let way = if up { "uplink" } else { "downlink" };
    // Readers of these logs look for the base timestamp; ours count from the start of the run.
    let header = format!(
        "# mahimahi mm-link ({way})\n# command line: {}\n# base timestamp: 0\n",
        command.replace('\n', " ")
    );
    out.push_str(&header);
    let mut opportunities = (0..).map_while(|k| {
        let at = trace?.opportunity(k).as_nanos();
        (at <= length.as_nanos()).then_some(at)
    });
    let mut next = opportunities.next();
    for entry in entries.iter().filter(|e| e.up == up) {
        let now = entry.at.as_nanos();
        while let Some(at) = next.filter(|at| *at <= now) {
            let _infallible = writeln!(out, "{} # 1504", at / 1_000_000);
            next = opportunities.next();
        }
        let ms = now / 1_000_000;
        let bytes = entry.bytes;
        let _infallible = match entry.event {
            LogEvent::Arrived => writeln!(out, "{ms} + {bytes}"),
            LogEvent::Left(delay) => writeln!(out, "{ms} - {bytes} {}", delay.as_millis()),
            LogEvent::Dropped => writeln!(out, "{ms} d 1 {bytes}"),
        };
    }
    while let Some(at) = next {
        let _infallible = writeln!(out, "{} # 1504", at / 1_000_000);
        next = opportunities.next();
    }
    out
}

#[cfg(test)]
mod tests {
    use slackwater_core::Instant;

    use super::*;

    #[test]
    fn events_and_opportunities_stand_in_order() {
        let at = |ms, up, event| LogEntry {
            at: Instant::from_millis(ms),
            up,
            event,
            bytes: 1500,
        };
        let entries = [
            at(1, false, LogEvent::Arrived),
            at(1, true, LogEvent::Arrived),
            at(4, false, LogEvent::Left(Duration::from_millis(3))),
            at(5, false, LogEvent::Dropped),
        ];
        let trace = MahimahiTrace::from_millis(vec![2, 4]).expect("a good trace");
        let log = mahimahi(&entries, false, Some(&trace), Duration::from_millis(7), "x");
        let lines: Vec<&str> = log.lines().skip(3).collect();
        assert_eq!(
            lines,
            [
                "1 + 1500",
                "2 # 1504",
                "4 # 1504",
                "4 - 1500 3",
                "5 d 1 1500",
                "6 # 1504"
            ]
        );
        assert_eq!(
            mahimahi(&entries, true, None, Duration::ZERO, "x")
                .lines()
                .count(),
            4
        );
    }
}
