//! What the definitions of keys take and refuse.

use std::path::Path;

use slackwater_schema::field::{At, Cx, Field, Section as _};
use slackwater_schema::tree::{Entry, Node, Table, Value};
use slackwater_schema::units::Percent;
use slackwater_schema::{ScenarioError, choice, optional, section};

choice! {
    /// A way to combine.
    pub enum Combining {
        /// Energy.
        Chase = "chase",
        /// None.
        Nothing = "none",
    }
}
section! {
    /// A section.
    pub struct Harq {
        /// A count.
        #[within(1, 16)]
        pub transmissions: u8 = 4,
        /// A share.
        #[within(Percent(0.0), Percent(50.0))]
        pub target: Percent = Percent(10.0),
        /// A word.
        pub combining: Combining = Combining::Chase,
    }
}

optional! {
    /// A way to combine, or the choice of the receiver.
    pub struct Way or "any" of Combining;
}
section! {
    /// A section with the keys of another.
    pub struct Radio {
        /// A way.
        pub way: Way = Way(None),
        ..
        /// HARQ.
        pub harq: Harq,
    }
}

/// A section of these keys.
fn read<T: Field>(entries: &[(&str, Value)]) -> Result<T, ScenarioError> {
    let entries = entries.iter().map(|(key, value)| Entry {
        key: (*key).to_owned(),
        span: None,
        node: Node::new(value.clone()),
    });
    let node = Node::new(Value::Table(Table {
        entries: entries.collect(),
    }));
    let cx = Cx {
        file: "x.toml",
        text: None,
        base_dir: Path::new("."),
        files: &(),
    };
    T::decode(&At {
        cx,
        node: &node,
        key: "harq".to_owned(),
    })
}

fn word(text: &str) -> Value {
    Value::Str(text.to_owned())
}

#[test]
fn what_is_left_out_has_its_default() {
    assert_eq!(
        read::<Harq>(&[]).expect("nothing is required"),
        Harq::example()
    );
    assert_eq!(Harq::example().transmissions, 4);
}

#[test]
fn the_ends_of_a_range_are_taken_and_what_lies_beyond_is_refused() {
    for n in [1, 16] {
        let harq = read::<Harq>(&[("transmissions", Value::Int(n))]).expect("in range");
        assert_eq!(i64::from(harq.transmissions), n);
    }
    for n in [0, 17] {
        let e = read::<Harq>(&[("transmissions", Value::Int(n))]).expect_err("out of range");
        assert_eq!(e.key, "harq.transmissions");
        assert_eq!(e.expected, "1 to 16");
    }
    assert!(read::<Harq>(&[("target", word("50 %"))]).is_ok());
    let e = read::<Harq>(&[("target", word("50.1 %"))]).expect_err("out of range");
    assert_eq!(e.expected, "0 % to 50 %");
}

#[test]
fn each_word_is_read_and_written_alike() {
    for (choice, text) in Combining::ALL.iter().zip(Combining::WORDS) {
        let harq = read::<Harq>(&[("combining", word(text))]).expect("a word of it");
        assert_eq!(harq.combining, *choice);
        assert_eq!(choice.encode(), Some(word(text)));
    }
    let e = read::<Harq>(&[("combining", word("both"))]).expect_err("no word of it");
    assert_eq!(e.expected, "one of \"chase\", \"none\"");
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    let e = read::<Harq>(&[("transmisions", Value::Int(4))]).expect_err("no such key");
    assert_eq!(e.expected, "`transmissions`?");
}

/// Keys of both stand in one table, in order, and an unknown one is refused with all of them.
#[test]
fn a_section_takes_the_keys_of_another() {
    let radio: Radio = read(&[("way", word("chase")), ("transmissions", Value::Int(7))]).unwrap();
    assert_eq!(radio.way, Way(Some(Combining::Chase)));
    assert_eq!(
        (radio.harq.transmissions, radio.harq.target),
        (7, Percent(10.0))
    );

    let keys: Vec<String> = Radio::rows()
        .into_iter()
        .map(|row| row[0].clone())
        .collect();
    assert_eq!(keys, ["way", "transmissions", "target", "combining"]);
    assert_eq!(
        Radio::keys(),
        ["way", "transmissions", "target", "combining"]
    );
    let schema = Radio::schema();
    assert!(schema["properties"]["target"].is_object(), "{schema}");

    let Some(Value::Table(table)) = radio.encode() else {
        panic!("a table");
    };
    let node = Node::new(Value::Table(table));
    let entries: Vec<(&str, Value)> = match &node.value {
        Value::Table(t) => t
            .entries
            .iter()
            .map(|e| (e.key.as_str(), e.node.value.clone()))
            .collect(),
        _ => Vec::new(),
    };
    assert_eq!(read::<Radio>(&entries).unwrap(), radio);

    let e = read::<Radio>(&[("harq", Value::Int(1))]).unwrap_err();
    assert_eq!(e.expected, "one of way, transmissions, target, combining");
    let e = read::<Radio>(&[("transmissions", Value::Int(17))]).unwrap_err();
    assert_eq!(e.expected, "1 to 16");
}

#[test]
fn a_word_stands_for_no_choice() {
    assert_eq!(Way::words(), ["any", "chase", "none"]);
    assert_eq!(Way::schema()["enum"][0], "any");
    for (text, way) in [("any", Way(None)), ("none", Way(Some(Combining::Nothing)))] {
        let radio: Radio = read(&[("way", word(text))]).unwrap();
        assert_eq!(radio.way, way);
        assert_eq!(way.encode(), Some(word(text)));
    }
    let e = read::<Radio>(&[("way", word("no"))]).unwrap_err();
    assert_eq!(e.expected, Way::describe());
}
