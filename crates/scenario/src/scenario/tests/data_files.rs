//! Data files beside a scenario.

use super::*;

#[test]
fn a_bad_line_in_a_data_file_is_named() {
    let data = Data::new(
        "bad-data",
        &[
            ("back.down", "1\n5\n3\n"),
            ("word.down", "1\nfive\n"),
            ("rates.csv", "time_s,mbps\n0,1\n1,-2\n"),
            ("order.csv", "time_s,mbps\n1,1\n0,2\n"),
            ("columns.csv", "when,what\n0,1\n"),
            ("mcs.csv", "time_s,mcs\n0,20\n1,40\n"),
            ("broken.xz", "not an archive"),
            ("broken.gz", "not an archive"),
            ("broken.zst", "not an archive"),
        ],
    );
    let trace = |file: &str| {
        swap(
            LINK,
            "kind = \"rate\"\nrate = \"12 Mbit/s\"",
            &format!("kind = \"trace\"\nfile = \"{file}\""),
        )
    };
    let series = |file: &str| {
        swap(
            LINK,
            "kind = \"rate\"\nrate = \"12 Mbit/s\"",
            &format!("kind = \"series\"\nfile = \"{file}\""),
        )
    };
    let mcs = |file: &str| {
        swap(
            CELL,
            "count = 2",
            &format!("count = 2\nchannel = {{ kind = \"mcs-series\", file = \"{file}\" }}"),
        )
    };
    for (text, expected) in [
        (
            trace("back.down"),
            "link.file: found time 3 ms after 5 ms in line 3 of \"back.down\", expected times that never go back",
        ),
        (
            trace("word.down"),
            "link.file: found `five` in line 2 of \"word.down\", expected a whole number",
        ),
        (trace("broken.xz"), "expected a file as its name ends, .xz"),
        (trace("broken.gz"), "expected a file as its name ends, .gz"),
        (
            trace("broken.zst"),
            "expected a file as its name ends, .zst",
        ),
        (
            series("rates.csv"),
            "link.file: found \"-2\" in line 3 of \"rates.csv\", expected a number from 0 to 1e15 for `mbps`",
        ),
        (
            series("order.csv"),
            "link.file: found the time 0 s after 1 s in line 3 of \"order.csv\", expected times that rise",
        ),
        (
            series("columns.csv"),
            "link.file: found the columns when, what in line 1 of \"columns.csv\", expected a column `time_s` or `time_ms`",
        ),
        (
            series("rates.csv#ul"),
            "link.file: found the columns time_s, mbps in line 1 of \"rates.csv\", expected a column `ul`",
        ),
        (
            mcs("mcs.csv"),
            "ue[0].channel.file: found 40 at 1 s in \"mcs.csv\", expected at most 28",
        ),
    ] {
        let got = data.load(&text).expect_err("a bad file").to_string();
        assert!(got.contains(expected), "got {got}\nexpected {expected}");
        assert!(
            got.contains("t.toml:5:8: ") || got.contains("t.toml:7:"),
            "{got}"
        );
    }
}

#[test]
fn data_files_are_read_beside_the_scenario_and_survive_a_round_trip() {
    let data = Data::new(
        "good-data",
        &[
            ("a.down", "0\n1\n1\n4\n"),
            ("b.down", "2\n"),
            ("r.csv", "time_s,ul,mbps\n0,9,1.5\n2.5,8,0\n"),
        ],
    );
    let text = swap(
        LINK,
        "kind = \"rate\"\nrate = \"12 Mbit/s\"",
        "kind = \"trace\"\nfile = \"a.down\"\nup_file = \"b.down\"",
    ) + "[vary]\n\"link.file\" = [\"a.down\", \"b.down\"]\n";
    let scenario = data.load(&text).unwrap_or_else(|e| panic!("{e}"));
    let runs = scenario.expand().unwrap_or_else(|e| panic!("{e}"));
    let opportunities: Vec<Vec<u64>> = runs
        .iter()
        .map(|r| match r.scenario.link() {
            Some(Link::Trace(t)) => t.file.opportunities.to_vec(),
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(opportunities, [vec![0, 1, 1, 4], vec![2]]);
    assert_eq!(runs[1].name(), "b.down");

    let text = swap(
        LINK,
        "kind = \"rate\"\nrate = \"12 Mbit/s\"",
        "kind = \"series\"\nfile = \"r.csv#ul\"",
    );
    let scenario = data.load(&text).unwrap_or_else(|e| panic!("{e}"));
    let Some(Link::Series(s)) = scenario.link() else {
        panic!("a series")
    };
    assert_eq!(
        s.rates(),
        [
            (Duration::ZERO, slackwater_core::Rate::from_mbps(9.0)),
            (
                Duration::from_millis(2500),
                slackwater_core::Rate::from_mbps(8.0)
            ),
        ]
    );
    assert_eq!(s.round(), Duration::from_secs(5));
    let again = Scenario::from_toml(&scenario.to_toml(), &data.0).unwrap_or_else(|e| panic!("{e}"));
    assert_eq!(again, scenario);
}
