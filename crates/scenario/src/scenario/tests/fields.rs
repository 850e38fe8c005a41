//! Values of fields, written and read again.

use proptest::prelude::*;

use super::*;

fn same<T: Field + PartialEq + core::fmt::Debug>(v: &T) {
    let cache = DataCache::default();
    let node = Node::new(v.encode().expect("a value"));
    let cx = Cx {
        file: "",
        text: None,
        base_dir: FsPath::new("."),
        files: &cache,
    };
    let back = T::decode(&At {
        cx,
        node: &node,
        key: String::new(),
    });
    assert_eq!(back.as_ref(), Ok(v), "{node:?}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_makes_the_parser_panic(text in "\\PC{0,200}") {
        let _ = Scenario::from_toml(&text, "/nowhere");
    }

    /// A built-in scenario with a piece cut out and another put in.
    #[test]
    fn no_damage_makes_the_parser_panic(
        which in 0..embedded::ALL.len(),
        at in any::<prop::sample::Index>(),
        cut in 0usize..40,
        put in prop_oneof![
            "\\PC{0,12}", "[\\[\\]{}=\".,0-9 -]{0,8}", Just("99999999999999999999".to_owned()),
            Just("nan".to_owned()), Just("\"1000000000000000000000 s\"".to_owned()),
            Just("\"0.0000000000000000000000000001 ms\"".to_owned()), Just("-1".to_owned()),
            Just("1979-05-27".to_owned()), Just("[[ue]]\ncount=4000000000\n".to_owned()),
        ],
    ) {
        let text = embedded::ALL[which].1;
        let mut start = at.index(text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        let mut end = (start + cut).min(text.len());
        while !text.is_char_boundary(end) {
            end += 1;
        }
        let damaged = format!("{}{put}{}", &text[..start], &text[end..]);
        match Scenario::from_toml(&damaged, "/nowhere") {
            Err(e) => prop_assert!(!e.to_string().contains('\n'), "{e}"),
            Ok(s) => {
                let again = Scenario::from_toml(&s.to_toml(), "/nowhere");
                prop_assert_eq!(again.map_err(|e| format!("{e}\n{}", s.to_toml())), Ok(s));
            }
        }
    }

    #[test]
    fn no_data_file_makes_its_reader_panic(text in "(time_s,mbps\n)?[0-9,.\\-e\n#xa]{0,200}") {
        let _ = data::parse_series(&text, "mbps");
    }

    /// What a quantity prints, it reads.
    #[test]
    fn quantities_survive_a_round_trip(ns in any::<u64>(), db in -1e6..1e6f64, hz in 1u64..1 << 60) {
        use slackwater_core::{Bytes, Rate};
        // Printed as floats: 2^50 ns are thirteen days, which is more than a run may last.
        let ns = ns >> 14;
        same(&Duration::from_nanos(ns));
        same(&Rate::from_bps(ns));
        same(&Bytes(ns));
        same(&units::Hertz(hz >> 10));
        same(&units::Db(db));
        same(&units::Percent(db.abs()));
        same(&units::Metres(db.abs()));
    }
}
