use proptest::prelude::*;

use super::*;

fn error(text: &str) -> String {
    RateSeries::parse(text.as_bytes())
        .expect_err("the table is wrong")
        .to_string()
}

#[test]
fn reads_named_columns_and_an_end_row() {
    let s =
        RateSeries::parse(b"time_s,capacity_mbps,x\n0,1.0,a\n40,2.5,b\n100,,c\n").expect("valid");
    assert_eq!(
        s.points(),
        [
            (Instant::ZERO, Rate::from_mbps(1.0)),
            (Instant::from_millis(40_000), Rate::from_mbps(2.5))
        ]
    );
    assert_eq!(s.end(), Instant::from_millis(100_000));
    assert_eq!(
        s.rate_at(Instant::from_millis(39_999)),
        Rate::from_mbps(1.0)
    );
    assert_eq!(
        s.rate_at(Instant::from_millis(40_000)),
        Rate::from_mbps(2.5)
    );
    assert_eq!(s.total(), Bytes(5_000_000 + 18_750_000));
}

#[test]
fn without_an_end_row_the_last_step_lasts_as_long_as_the_one_before() {
    let s = RateSeries::parse(b"# a comment\nmbps,time_s\r\n5,10\r\n6,10.5\r\n7,11.5\r\n")
        .expect("valid");
    assert_eq!(s.points()[2].0, Instant::from_millis(1500));
    assert_eq!(s.end(), Instant::from_millis(2500));
}

#[test]
fn a_mapping_reads_other_tables() {
    let columns = RateColumns {
        time: vec!["t".into()],
        time_unit: TimeUnit::Millis,
        rate: vec!["DL".into()],
        rate_unit: RateUnit::Kbps,
        only: Some(("trace".into(), "b".into())),
    };
    let s = RateSeries::parse_with(b"trace,t,DL\na,0,1\nb,100,8\nb,200,16\na,1,2\n", &columns)
        .expect("valid");
    assert_eq!(s.points().len(), 2);
    assert_eq!(
        s.points()[1],
        (Instant::from_millis(100), Rate::from_bps(16_000))
    );
    let none = RateColumns {
        only: Some(("trace".into(), "c".into())),
        ..columns
    };
    assert!(RateSeries::parse_with(b"trace,t,DL\na,0,1\n", &none).is_err());
}

#[test]
fn errors_name_line_found_and_expected() {
    assert_eq!(
        error("time_s,rate\n0,1\n"),
        "line 1: found the header `time_s,rate`, expected a column named `mbps` or `capacity_mbps`"
    );
    assert_eq!(
        error("time_s,mbps\n0,1\n1,fast\n"),
        "line 3: found `fast`, expected a rate as a finite number at or above 0"
    );
    assert_eq!(
        error("time_s,mbps\n0,1\n2,1\n1,1\n"),
        "line 4: found time 1 s, 1 s after the first row, expected a time later than the row before, which lies 2 s \
         after the first"
    );
    assert_eq!(
        error("time_s,mbps\n0\n"),
        "line 2: found a row of 1 cells, expected a rate as a finite number at or above 0 in cell 2"
    );
    assert!(error("time_s,mbps\n0,1\n0,1\n").starts_with("line 3: found time 0 s"));
    assert!(error("time_s,mbps\n0,1\n1,\n2,3\n").starts_with("line 3: found an empty rate"));
    assert!(error("time_s,mbps\n0,\n").starts_with("line 2: found ``"));
    assert!(
        error("time_s,mbps\n0,1\n").starts_with("line 3: found the end of the file after one row")
    );
    assert!(error("time_s,mbps\n").starts_with("line 2: found the end of the file after no row"));
    assert!(error("").starts_with("line 1: found an empty file"));
    for bad in ["NaN", "inf", "-1", "1e300", "\u{fffd}"] {
        assert!(error(&format!("time_s,mbps\n0,{bad}\n1,\n")).starts_with("line 2"));
    }
}

#[test]
fn a_log_falls_into_its_recordings() {
    let log = b"time_s,mbps\n-375,1\n-374,2\n10,3\n10.5,4\n10.5,5\n11,6\n0,7\n1,8\n3,\n50,9\n";
    let pieces = RateSeries::parse_pieces(log, &RateColumns::default(), Duration::from_secs(2))
        .expect("valid");
    let at = Instant::from_millis;
    let mbps = |m: u64| Rate::from_bps(m * 1_000_000);
    let want = [
        (vec![(at(0), mbps(1)), (at(1000), mbps(2))], at(2000)),
        (
            vec![(at(0), mbps(3)), (at(500), mbps(5)), (at(1000), mbps(6))],
            at(1500),
        ),
        (vec![(at(0), mbps(7)), (at(1000), mbps(8))], at(3000)),
    ];
    let want = want.map(|(points, end)| RateSeries::new(points, end).expect("in order"));
    assert_eq!(pieces, want);
}

proptest! {
    #[test]
    fn any_bytes_give_a_series_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = RateSeries::parse(&bytes);
    }

    #[test]
    fn near_misses_give_a_series_or_an_error(body in "[0-9.,eE\\n\\r -]{0,80}") {
        let text = format!("time_s,mbps\n{body}");
        let columns = RateColumns::default();
        let _ = RateSeries::parse_pieces(text.as_bytes(), &columns, Duration::from_secs(2));
        if let Ok(s) = RateSeries::parse(text.as_bytes()) {
            let _ = s.stats();
            prop_assert_eq!(RateSeries::parse(s.to_csv().as_bytes()), Ok(s));
        }
    }
}
