//! The targets of `fuzz/` on their corpora and on mutations of them, on a stable toolchain.
//!
//! `PROPTEST_CASES` says how many mutations each target gets; `--nocapture` prints how many inputs it had. libFuzzer, which
//! looks for what the corpora do not reach, runs by `make fuzz`.

use std::path::{Path, PathBuf};

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

#[path = "../../../fuzz/src/lib.rs"]
#[expect(
    unreachable_pub,
    reason = "a library of its own where libFuzzer runs it"
)]
mod targets;

/// Mutations of each target where nobody says.
const CASES: u32 = 200;
/// No input of a corpus is longer, and no mutation.
const LONGEST: usize = 8 << 10;

/// What is done to an input.
#[derive(Clone, Debug)]
enum Change {
    Set(Index, u8),
    Flip(Index, u8),
    /// The ends of ranges, which random bytes do not meet.
    Edge(Index, u8),
    Insert(Index, Vec<u8>),
    Remove(Index, u8),
    /// The rest of another input in place of this one's.
    Cross(Index, Index),
    Cut(Index),
}

fn change() -> impl Strategy<Value = Change> {
    let at = any::<Index>;
    prop_oneof![
        3 => (at(), any::<u8>()).prop_map(|(at, v)| Change::Set(at, v)),
        // Digits, for what is text.
        2 => (at(), b'0'..=b'9').prop_map(|(at, v)| Change::Set(at, v)),
        2 => (at(), 0_u8..8).prop_map(|(at, bit)| Change::Flip(at, bit)),
        2 => (at(), any::<u8>()).prop_map(|(at, v)| Change::Edge(at, v)),
        2 => (at(), vec(any::<u8>(), 1..9)).prop_map(|(at, v)| Change::Insert(at, v)),
        1 => (at(), vec(b'0'..=b'9', 1..12)).prop_map(|(at, v)| Change::Insert(at, v)),
        2 => (at(), 1_u8..33).prop_map(|(at, n)| Change::Remove(at, n)),
        1 => (at(), at()).prop_map(|(other, at)| Change::Cross(other, at)),
        1 => at().prop_map(Change::Cut),
    ]
}

fn apply(input: &mut Vec<u8>, corpus: &[Vec<u8>], change: &Change) {
    let place = |at: &Index, n: usize| at.index(n + 1);
    match change {
        Change::Set(at, value) => {
            let at = place(at, input.len());
            if let Some(b) = input.get_mut(at) {
                *b = *value;
            }
        }
        Change::Flip(at, bit) => {
            let at = place(at, input.len());
            if let Some(b) = input.get_mut(at) {
                *b ^= 1 << bit;
            }
        }
        Change::Edge(at, which) => {
            let at = place(at, input.len());
            let n = 1_usize << (which & 3);
            let value = [0x00, 0xff, 0x7f, 0x80][usize::from(which >> 2) % 4];
            for (k, b) in input.iter_mut().skip(at).take(n).enumerate() {
                *b = match (k, value) {
                    (0, v) => v,
                    (_, 0x7f) => 0xff,
                    (_, 0x80) => 0,
                    (_, v) => v,
                };
            }
        }
        Change::Insert(at, bytes) => {
            let at = place(at, input.len());
            input.splice(at..at, bytes.iter().copied());
        }
        Change::Remove(at, n) => {
            let at = place(at, input.len());
            let end = (at + usize::from(*n)).min(input.len());
            input.drain(at..end);
        }
        Change::Cross(other, at) => {
            let other = &corpus[other.index(corpus.len())];
            let at = place(at, input.len());
            input.truncate(at);
            input.extend(other.iter().skip(at));
        }
        Change::Cut(at) => input.truncate(place(at, input.len())),
    }
    input.truncate(LONGEST);
}

fn folder(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name)
}

/// The inputs of a target, in the order of their names.
fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = folder(name);
    let entries = std::fs::read_dir(&folder).unwrap_or_else(|e| panic!("{name}: {e}"));
    let mut files: Vec<PathBuf> = entries.flatten().map(|e| e.path()).collect();
    files.sort();
    let inputs: Vec<Vec<u8>> = files
        .iter()
        .map(|f| std::fs::read(f).expect("a readable file"))
        .collect();
    assert!(!inputs.is_empty(), "{}: no input", folder.display());
    inputs
}

fn hold(name: &str) {
    let corpus = corpus(name);
    for input in &corpus {
        targets::run(name, input);
    }
    let cases = std::env::var("PROPTEST_CASES").ok();
    let config = Config {
        cases: cases.and_then(|c| c.parse().ok()).unwrap_or(CASES),
        failure_persistence: None,
        ..Config::default()
    };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config.clone(), rng);
    let inputs = (any::<Index>(), vec(change(), 1..12));
    let found = runner.run(&inputs, |(start, changes)| {
        let mut input = corpus[start.index(corpus.len())].clone();
        for change in &changes {
            apply(&mut input, &corpus, change);
        }
        targets::run(name, &input);
        Ok(())
    });
    if let Err(error) = found {
        panic!("{name}: {error}");
    }
    eprintln!(
        "{name}: {} inputs, none fails",
        corpus.len() + config.cases as usize
    );
}

macro_rules! each {
    ($($name:ident)+) => {
        $(#[test]
        fn $name() {
            hold(stringify!($name));
        })+

        #[test]
        fn every_target_is_tried_and_has_a_program() {
            let tried = [$(stringify!($name)),+];
            assert_eq!(targets::TARGETS.map(|t| t.0), tried);
            let programs = folder("../fuzz_targets");
            let manifest = std::fs::read_to_string(folder("../Cargo.toml")).expect("a manifest");
            for name in tried {
                let program = std::fs::read_to_string(programs.join(format!("{name}.rs")));
                assert!(program.expect("a program").contains(&format!("run(\"{name}\"")));
                assert!(manifest.contains(&format!("name = \"{name}\"")), "{name}");
            }
        }
    };
}

each! {
    ip frame gtpu pfcp rtp rtcp trace series packed scenario policy configs results reports vaqm cecc xrc_agent bridge upf tcp quic_media
}
