//! Link traces inside the program, so that a scenario or a command that needs one runs without a file: `builtin:driving.down`.
//!
//! They are of our own making: each says the command that makes it, and a test of the command holds it to that.

use std::path::Path;

/// What stands before the name of a trace inside the program.
pub const PREFIX: &str = "builtin:";

/// A Mahimahi trace inside the program.
#[derive(Clone, Copy, Debug)]
pub struct Builtin {
    /// Its name, without [`PREFIX`].
    pub name: &'static str,
    /// What it resembles.
    pub about: &'static str,
    /// What `slackwater` is told to make it, but the file.
    pub made_by: &'static [&'static str],
    /// The trace, as .xz.
    pub packed: &'static [u8],
}

macro_rules! builtin {
    ($name:literal, $model:literal, $mean:literal, $seed:literal, $about:literal) => {
        Builtin {
            name: $name,
            about: $about,
            made_by: &[
                "trace", "make", $model, "--mean", $mean, "--length", "30 s", "--seed", $seed,
            ],
            packed: include_bytes!(concat!("../traces/", $name, ".xz")),
        }
    };
}

/// Every one.
pub const ALL: &[Builtin] = &[
    builtin!(
        "driving.down",
        "driving",
        "8 Mbit/s",
        "1",
        "a drive, towards the user: 8 Mbit/s in the mean, 30 s"
    ),
    builtin!(
        "driving.up",
        "driving",
        "2 Mbit/s",
        "2",
        "a drive, from the user: 2 Mbit/s in the mean, 30 s"
    ),
    builtin!(
        "walking.down",
        "walking",
        "12 Mbit/s",
        "3",
        "a walk, towards the user: 12 Mbit/s in the mean, 30 s"
    ),
    builtin!(
        "shared.down",
        "shared",
        "12 Mbit/s",
        "4",
        "a cell that others share: 12 Mbit/s in the mean, 30 s"
    ),
    builtin!(
        "handover.down",
        "handover",
        "12 Mbit/s",
        "5",
        "a handover each 10 s, with a gap of 50 ms: 12 Mbit/s in the mean, 30 s"
    ),
    builtin!(
        "outage.down",
        "outage",
        "12 Mbit/s",
        "6",
        "an outage of 1 s each 10 s: 12 Mbit/s in the mean, 30 s"
    ),
];

/// The name of the trace inside the program that `path` stands for, wherever relative paths start.
pub fn named(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix(PREFIX)
}

/// The trace called `name`.
///
/// # Errors
/// Where there is none: the nearest, or all.
pub fn find(name: &str) -> Result<&'static Builtin, String> {
    let known = ALL.iter().find(|b| b.name == name);
    known.ok_or_else(|| {
        let names = || ALL.iter().map(|b| b.name);
        if let Some(near) = slackwater_schema::error::nearest(name, names()) {
            format!("\"{PREFIX}{near}\"?")
        } else {
            let all: Vec<&str> = names().collect();
            format!("{PREFIX} with one of {}", all.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::DataCache;

    #[test]
    fn each_is_a_trace_of_its_length_and_a_scenario_may_name_it() {
        let cache = DataCache::default();
        for builtin in ALL {
            let path = Path::new("some/folder").join(format!("{PREFIX}{}", builtin.name));
            let times = cache.opportunities(&path).expect(builtin.name);
            assert_eq!(times.last(), Some(&30_000), "{}", builtin.name);
            assert!(builtin.packed.len() < 40_000, "{} is large", builtin.name);
        }
    }

    #[test]
    fn a_name_that_there_is_not_says_which_there_are() {
        let cache = DataCache::default();
        let wrong = |name| {
            cache
                .opportunities(Path::new(name))
                .unwrap_err()
                .to_string()
        };
        assert_eq!(
            wrong("builtin:drivng.down"),
            "found no such trace inside the program, expected \"builtin:driving.down\"?"
        );
        assert!(wrong("builtin:x").contains("one of driving.down, driving.up"));
    }
}
