//! What the definitions of keys take and refuse.

use std::path::Path;

use slackwater_schema::field::{At, Cx, Field as _};
use slackwater_schema::tree::{Entry, Node, Table, Value};
use slackwater_schema::units::Percent;
use slackwater_schema::{ScenarioError, choice, section};

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

/// A section of these keys.
fn read(entries: &[(&str, Value)]) -> Result<Harq, ScenarioError> {
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
    Harq::decode(&At {
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
    assert_eq!(read(&[]).expect("nothing is required"), Harq::example());
    assert_eq!(Harq::example().transmissions, 4);
}

#[test]
fn the_ends_of_a_range_are_taken_and_what_lies_beyond_is_refused() {
    for n in [1, 16] {
        let harq = read(&[("transmissions", Value::Int(n))]).expect("in range");
        assert_eq!(i64::from(harq.transmissions), n);
    }
    for n in [0, 17] {
        let e = read(&[("transmissions", Value::Int(n))]).expect_err("out of range");
        assert_eq!(e.key, "harq.transmissions");
        assert_eq!(e.expected, "1 to 16");
    }
    assert!(read(&[("target", word("50 %"))]).is_ok());
    let e = read(&[("target", word("50.1 %"))]).expect_err("out of range");
    assert_eq!(e.expected, "0 % to 50 %");
}

#[test]
fn each_word_is_read_and_written_alike() {
    for (choice, text) in Combining::ALL.iter().zip(Combining::WORDS) {
        let harq = read(&[("combining", word(text))]).expect("a word of it");
        assert_eq!(harq.combining, *choice);
        assert_eq!(choice.encode(), Some(word(text)));
    }
    let e = read(&[("combining", word("both"))]).expect_err("no word of it");
    assert_eq!(e.expected, "one of \"chase\", \"none\"");
}

#[test]
fn an_unknown_key_names_the_nearest_one() {
    let e = read(&[("transmisions", Value::Int(4))]).expect_err("no such key");
    assert_eq!(e.expected, "`transmissions`?");
}
