//! What is refused, and how the error reads.

use super::*;

/// What a run could not survive is refused where the scenario is read.
#[test]
fn what_parses_can_run() {
    let nr = |tdd: &str, special: &str| {
        let cell = format!("[cell]\nrat = \"nr\"\ntdd = \"{tdd}\"\nspecial = \"{special}\"");
        swap(CELL, "[cell]\nrat = \"lte\"", &cell)
    };
    let long = "D".repeat(20) + "U";
    assert!(error(&nr(&long, "10:2:2")).contains("1 to 20 letters"));
    let one_way = error(&nr("SU", "0:14:0"));
    assert!(one_way.contains("cell.tdd: found \"SU\""), "{one_way}");

    let series = |kind: &str, points: &str| {
        swap(
            CELL,
            "count = 2",
            &format!("channel = {{ kind = \"{kind}\", points = {points} }}"),
        )
    };
    for kind in ["mcs-series", "cqi-series"] {
        let short = error(&series(kind, "[[0, 5], [1e-9, 6]]"));
        assert!(short.contains("a round of at least \"1 ms\""), "{short}");
        let far = error(&series(kind, "[[0, 5], [18446744073, 6]]"));
        assert!(far.contains("from 0 to 1000000"), "{far}");
    }
    let link = "name = \"a\"\nduration = \"1 s\"\n[link]\nkind = \"series\"\npoints = [[0, 1], [1e-9, 2]]\n[[flow]]\n";
    let short = error(link);
    assert!(short.contains("a round of at least \"1 ms\""), "{short}");

    let far = crate::data::parse_series("time_s,mcs\n0,5\n18446744073,6\n", "mcs");
    assert_eq!(far.expect_err("past thirty years").line, 3);
}

/// Pipes could block for ever, devices need not end, and an archive may unpack to more than the memory holds.
#[cfg(target_os = "linux")]
#[test]
fn only_regular_files_of_bounded_size_are_read() {
    use crate::data::{read_bounded, read_bytes};
    use crate::packed::Packing;
    let found = |path: &str| read_bounded(FsPath::new(path), 16).expect_err(path).found;
    assert_eq!(found("/dev/zero"), "a pipe or a device");
    assert_eq!(found("/"), "a folder");
    assert_eq!(
        found(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml")),
        "a larger file"
    );
    assert_eq!(found("/no/such/file"), "no such file");

    // 272 MiB of zeros take some kilobytes: the same 16 MiB again and again.
    let dir = Data::new("bomb", &[]);
    for packing in Packing::ALL {
        let part = packing.pack(&vec![0; 16 << 20]).expect("memory");
        let bomb = dir.0.join(format!("bomb{}", packing.ending()));
        std::fs::write(&bomb, part.repeat(17)).expect("a writable folder");
        let e = read_bytes(&bomb).expect_err("272 MiB");
        assert_eq!(
            (e.found.as_str(), e.expected.as_str()),
            ("a larger file", "at most 256 MiB"),
            "{packing:?}"
        );
    }
}

/// Each mistake gives one line that names the place, the key, what was found and what was expected.
#[test]
fn mistakes_are_told_in_one_clear_line() {
    let time = "a time in ns, us, ms, s, min, h (\"30 ms\")";
    let rate = "a rate in bit/s, kbit/s, Mbit/s, Gbit/s (\"12 Mbit/s\")";
    let cases: &[(&str, &str, &str, String)] = &[
        // Unknown keys, with and without a near one.
        (LINK, "controller =", "controler =",
            "t.toml:7:1: flow[0].controler: found an unknown key, expected `controller`?".into()),
        (LINK, "kind = \"rate\"", "kind = \"rate\"\nbandwidth = \"10 MHz\"",
            "t.toml:5:1: link.bandwidth: found an unknown key, expected one of rate, up_rate, opportunities, queue, up_queue, kind".into()),
        (LINK, "duration", "durration",
            "t.toml:2:1: durration: found an unknown key, expected `duration`?".into()),
        // Units.
        (LINK, "\"10 s\"", "\"10 sec\"", "t.toml:2:12: duration: found \"10 sec\", expected \"10 s\"?".into()),
        (LINK, "\"10 s\"", "10", format!("t.toml:2:12: duration: found the number 10, expected {time}")),
        (LINK, "\"10 s\"", "\"-10 s\"", format!("t.toml:2:12: duration: found \"-10 s\", expected {time}")),
        (LINK, "\"10 s\"", "\"1e3 s\"", format!("t.toml:2:12: duration: found \"1e3 s\", expected {time}")),
        (LINK, "12 Mbit/s", "12 Mbps", "t.toml:5:8: link.rate: found \"12 Mbps\", expected \"12 Mbit/s\"?".into()),
        (CELL, "rat = \"lte\"", "bandwidth = \"10 kHzz\"",
            "t.toml:4:13: cell.bandwidth: found \"10 kHzz\", expected a frequency in Hz, kHz, MHz, GHz (\"10 MHz\")".into()),
        (LINK, "rate = \"12 Mbit/s\"", "rate = \"12 Mbit/s\"\nqueue = { kind = \"fifo\", limit = \"0 packets\" }",
            "t.toml:6:34: link.queue.limit: found \"0 packets\", expected 1 packet or more".into()),
        // Ranges.
        (LINK, "\"10 s\"", "\"0 s\"", "t.toml:2:12: duration: found \"0 s\", expected 1 ms to 10000000 s".into()),
        (CELL, "rat = \"lte\"", "layers = 5", "t.toml:4:10: cell.layers: found the number 5, expected 1 to 4".into()),
        (CELL, "rat = \"lte\"", "rat = \"nr\"\nscs = \"45 kHz\"",
            "t.toml:5:7: cell.scs: found \"45 kHz\", expected 15, 30, 60 or 120 kHz".into()),
        (CELL, "rat = \"lte\"", "bandwidth = \"7 MHz\"",
            "t.toml:4:13: cell.bandwidth: found \"7 MHz\", expected 1.4, 3, 5, 10, 15 or 20 MHz for LTE (36.101, 5.6)".into()),
        (LINK, "duration = \"10 s\"", "duration = \"10 s\"\nwarmup = \"10 s\"",
            "t.toml:3:10: warmup: found \"10 s\", expected less than duration = \"10 s\"".into()),
        // Words.
        (CELL, "\"lte\"", "\"5g\"", "t.toml:4:7: cell.rat: found \"5g\", expected one of \"lte\", \"nr\"".into()),
        (LINK, "\"rate\"", "\"wire\"",
            "t.toml:4:8: link.kind: found \"wire\", expected one of \"trace\", \"rate\", \"series\"".into()),
        (LINK, "kind = \"rate\"\n", "",
            "t.toml:3:1: link: found no key `kind`, expected one of \"trace\", \"rate\", \"series\"".into()),
        (CELL, "rat = \"lte\"", "rat = \"nr\"\ntdd = \"DDXSU\"",
            "t.toml:5:7: cell.tdd: found \"DDXSU\", expected 1 to 20 letters D, S, U, with downlink and uplink (\"DDDSU\")".into()),
        (CELL, "rat = \"lte\"", "rat = \"nr\"\nspecial = \"10:2:3\"",
            "t.toml:5:11: cell.special: found \"10:2:3\", expected downlink:guard:uplink symbols, 14 together (\"10:2:2\")".into()),
        // What is missing or does not fit together.
        (LINK, "rate = \"12 Mbit/s\"\n", "",
            format!("t.toml:3:1: link: found no key `rate`, expected {rate}")),
        (LINK, "name = \"t\"\n", "", "t.toml: found no key `name`, expected text".into()),
        (LINK, "\"t\"", "\"../t\"",
            "t.toml:1:8: name: found \"../t\", expected 1 to 100 letters, digits, \"-\", \"_\" or \".\", not starting with \".\"".into()),
        (LINK, "[[flow]]\ncontroller = \"cubic\"\n", "", "t.toml: found no [[flow]], expected one or more".into()),
        (LINK, "[[flow]]", "[cell]\n[[flow]]",
            "t.toml:6:1: cell: found both [link] and [cell], expected one of them".into()),
        (LINK, "[[flow]]", "[[ue]]\n[[flow]]",
            "t.toml:6:1: ue: found a [[ue]] beside [link], expected [[ue]] only with [cell]".into()),
        (CELL, "\"each\"", "2", "t.toml:8:6: flow[0].ue: found UE 2, expected 0 to 1 (2 in all)".into()),
        (LINK, "\"cubic\"", "\"cubic\"\nstart = \"5 s\"\nstop = \"4 s\"",
            "t.toml:6:1: flow[0]: found stop = \"4 s\" and start = \"5 s\", expected stop after start".into()),
        (LINK, "kind = \"rate\"\nrate = \"12 Mbit/s\"", "kind = \"series\"",
            "t.toml:3:1: link: found neither `file` nor `points`, expected one of them".into()),
        (LINK, "kind = \"rate\"\nrate = \"12 Mbit/s\"", "kind = \"series\"\npoints = [[0, 1], [0, 2]]",
            "t.toml:3:1: link: found the time 0 in points[1], expected seconds that rise, from 0 to 1000000".into()),
        (LINK, "kind = \"rate\"\nrate = \"12 Mbit/s\"", "kind = \"trace\"\nfile = \"no.down\"",
            "t.toml:5:8: link.file: found no such file in \"no.down\", expected a readable file".into()),
        // Lists to vary.
        (LINK, "[[flow]]", "[vary]\nseed = []\n[[flow]]",
            "t.toml:7:8: vary.seed: found a list of 0, expected one value or more".into()),
        (LINK, "[[flow]]", "[vary]\nseed = 3\n[[flow]]",
            "t.toml:7:8: vary.seed: found the number 3, expected a list".into()),
        (LINK, "[[flow]]", "[vary]\n\"flow.contoller\" = [\"bbr\"]\n[[flow]]",
            "t.toml:7:21: vary.flow.contoller: found an unknown key at flow[0].contoller, expected `controller`?".into()),
        (LINK, "[[flow]]", "[vary]\n\"link.rate\" = [\"1 Mbit/s\", \"2 MHz\"]\n[[flow]]",
            format!("t.toml:7:28: vary.link.rate: found \"2 MHz\", expected {rate}")),
        (LINK, "[[flow]]", "[vary]\n\"cell.layers\" = [1]\n[[flow]]",
            "t.toml:7:18: vary.cell.layers: found the key `cell`, expected a key of this scenario that may vary".into()),
        // A vAQM of one's own.
        (CELL, "[[flow]]", "[[ue]]\nvaqm.mode = \"off\"\n[[flow]]",
            "t.toml:8:1: ue[1].vaqm: found mode = \"off\" for one instance, expected \"measure\", which measures alone".into()),
        (CELL, "[[flow]]", "[[ue]]\nbearers = [{ qfi = [1], vaqm = { module = \"pie\" } }]\n[[flow]]",
            "t.toml:8:12: ue[1].bearers[0]: found vaqm without a gbr, expected a gbr: other flows share the instance of the session".into()),
        (CELL, "[[flow]]", "[upf]\nvaqm.max_target = \"30 ms\"\n[[ue]]\nvaqm.preset = \"throughput\"\n[[flow]]",
            "t.toml:5:1: ue: found a vaqm with max_target = \"30 ms\" below min_target = \"40 ms\", expected max_target of at least min_target".into()),
        // Not TOML at all.
        (LINK, "[link]", "[link", "t.toml:3:6: found unclosed table, expected `]`".into()),
    ];
    let mut wrong = Vec::new();
    for (base, from, to, expected) in cases {
        let got = error(&swap(base, from, to));
        assert!(!got.contains('\n'), "{got}");
        if got != *expected {
            wrong.push(format!("got:      {got}\nexpected: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
