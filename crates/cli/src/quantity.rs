//! Quantities in options: as scenario files have them, or a bare number in the unit that Mahimahi and its users mean.

use slackwater_lab::core::{Duration, Rate};
use slackwater_scenario::{Limit, units};

/// What is expected, as a sentence of an option: `"12 Mbit/s"?` or the units that there are.
fn expected(what: impl core::fmt::Display) -> String {
    format!("expected {what}")
}

/// A time up to 50 s; a bare number is Mahimahi's: milliseconds.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let text = if text.bytes().all(|b| b.is_ascii_digit()) {
        format!("{text} ms")
    } else {
        text.to_owned()
    };
    let time = units::time(&text).map_err(expected)?;
    if time > Duration::from_secs(50) {
        return Err("expected a time from 0 to 50 s".to_owned());
    }
    Ok(time)
}

/// Room of a queue: as scenario files have it, or a bare number of packets, as Mahimahi's `packets=100`.
pub(crate) fn room(text: &str) -> Result<Limit, String> {
    let bare = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let read = if bare {
        units::limit(&format!("{text} packets"))
    } else {
        units::limit(text)
    };
    read.map_err(expected)
}

/// A rate: as scenario files have it, or a bare number of Mbit/s.
pub(crate) fn mbps(text: &str) -> Result<Rate, String> {
    let rate = match text.parse::<f64>() {
        Ok(number) => Rate::from_mbps(number),
        Err(_) => units::rate(text).map_err(expected)?,
    };
    let good = (0.01..=100_000.0).contains(&rate.as_mbps());
    good.then_some(rate)
        .ok_or_else(|| "expected a number of Mbit/s from 0.01 to 100000".to_owned())
}

#[cfg(test)]
mod tests {
    use slackwater_lab::core::Bytes;

    use super::*;

    #[test]
    fn spaces_may_be_left_out_and_bare_numbers_have_a_unit() {
        for text in ["20", "20ms", "20 ms"] {
            assert_eq!(duration(text), Ok(Duration::from_millis(20)), "{text}");
        }
        assert_eq!(duration("0s"), Ok(Duration::ZERO));
        for text in ["12", "12Mbit/s", "12 Mbit/s", "12000 kbit/s"] {
            assert_eq!(mbps(text), Ok(Rate::from_mbps(12.0)), "{text}");
        }
        for text in ["100", "100packets", "100 packets"] {
            assert_eq!(room(text), Ok(Limit::Packets(100)), "{text}");
        }
        assert_eq!(room("100kB"), Ok(Limit::Bytes(Bytes(100_000))));
        assert_eq!(room("unlimited"), Ok(Limit::Unlimited));
    }

    #[test]
    fn what_is_none_is_answered_with_what_is() {
        for (found, expected) in [
            (duration("soon").map(drop), "a time in ns"),
            (duration("1 h").map(drop), "0 to 50 s"),
            (mbps("0").map(drop), "0.01 to 100000"),
            (mbps("12 Mbps").map(drop), "12 Mbit/s"),
            (room("0").map(drop), "1 packet or more"),
            (room("much").map(drop), "a limit in packets"),
            (room("").map(drop), "a limit in packets"),
        ] {
            let said = found.expect_err(expected);
            assert!(said.contains(expected), "{said}");
        }
    }
}
