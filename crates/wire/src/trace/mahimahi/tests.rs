use proptest::prelude::*;

use super::*;

fn error(text: &str) -> String {
    MahimahiTrace::parse(text.as_bytes())
        .expect_err("the trace is wrong")
        .to_string()
}

#[test]
fn reads_and_writes() {
    let t = MahimahiTrace::parse(b"0\n0\n5\r\n 7 \n\n").expect("valid");
    assert_eq!(t.times_ms(), [0, 0, 5, 7]);
    assert_eq!(t.to_text(), "0\n0\n5\n7\n");
    assert_eq!(t.period(), Duration::from_millis(7));
    assert_eq!(t.bytes_per_period(), Bytes(4 * 1504));
}

#[test]
fn loops() {
    let t = MahimahiTrace::parse(b"1\n4\n").expect("valid");
    let ms: Vec<u64> = (0..5)
        .map(|k| t.opportunity(k).as_nanos() / 1_000_000)
        .collect();
    assert_eq!(ms, [1, 4, 5, 8, 9]);
}

#[test]
fn errors_name_line_found_and_expected() {
    assert_eq!(
        error("1\n2\nx\n"),
        "line 3: found `x`, expected a whole number of milliseconds from 0 to 17592186044416"
    );
    assert_eq!(
        error("5\n4\n"),
        "line 2: found time 4 ms after 5 ms, expected times that never go back"
    );
    assert!(error("").starts_with("line 1: found no line with a time"));
    assert!(error("\n\n").starts_with("line 1: found no line with a time"));
    assert!(error("0\n0\n").starts_with("line 2: found a last time of 0 ms"));
    assert!(error("1\n\n2\n").starts_with("line 2: found a blank line"));
    assert!(error("1\n-2\n").starts_with("line 2: found `-2`"));
    assert!(error("1\n2.5\n").starts_with("line 2: found `2.5`"));
    assert!(error("99999999999999999999").starts_with("line 1: found `9999"));
    assert!(error("1\n\u{1b}[2J\n").contains("\\u{1b}"));
}

#[test]
fn twelve_megabits_come_back_as_a_rate() {
    let t = MahimahiTrace::from_millis((1..=1000).collect()).expect("in order");
    let series = t.to_rate(Duration::from_millis(100));
    assert_eq!(
        series.points(),
        [(Instant::ZERO, Rate::from_bps(12_032_000))]
    );
    assert_eq!(MahimahiTrace::from_rate(&series), Some(t));
}

#[test]
fn a_long_gap_costs_nothing() {
    let t = MahimahiTrace::from_millis(vec![1, 1 << 44]).expect("in order");
    let series = t.to_rate(Duration::from_millis(1));
    assert_eq!(series.points().len(), 3);
    assert_eq!(series.total(), t.bytes_per_period());
}

proptest! {
    #[test]
    fn any_bytes_give_a_trace_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = MahimahiTrace::parse(&bytes);
    }

    #[test]
    fn near_misses_give_a_trace_or_an_error(text in "[0-9\\n\\r -]{0,60}") {
        if let Ok(t) = MahimahiTrace::parse(text.as_bytes()) {
            prop_assert_eq!(MahimahiTrace::parse(t.to_text().as_bytes()), Ok(t));
        }
    }

    #[test]
    fn conversion_to_a_rate_keeps_every_byte(
        gaps in prop::collection::vec(0_u64..300, 1..200),
        window in 1_u64..700,
    ) {
        let mut t = 1;
        let times = gaps.iter().map(|g| { t += g; t }).collect();
        let trace = MahimahiTrace::from_millis(times).expect("in order");
        let series = trace.to_rate(Duration::from_millis(window));
        // Each step rounds down to a bit/s.
        let lost = trace.bytes_per_period().get() - series.total().get();
        prop_assert!(lost <= 1 + series.end().as_nanos() / 8_000_000_000 + 1, "{}", lost);
    }

    #[test]
    fn conversion_from_a_rate_is_within_an_opportunity(
        steps in prop::collection::vec((1_u64..2000, 0_u64..100_000_000), 1..20),
    ) {
        let mut t = Instant::ZERO;
        let mut points = Vec::new();
        for (ms, bps) in steps {
            points.push((t, Rate::from_bps(bps)));
            t += Duration::from_millis(ms);
        }
        let series = RateSeries::new(points, t).expect("in order");
        if let Some(trace) = MahimahiTrace::from_rate(&series) {
            let (a, b) = (trace.bytes_per_period().get(), series.total().get());
            prop_assert!(a.abs_diff(b) <= 1504, "{} {}", a, b);
            prop_assert_eq!(trace.period(), series.end().since(Instant::ZERO));
        }
    }
}
