//! Cells of the arena with everyone who competes there, for a few seconds of one seed.

use std::fmt::Write as _;

use slackwater_lab::arena::{Set, Task};

use crate::line::{HEAD, line};

/// Everyone of `cell`, until `duration`.
fn table(cell: &str, duration: &str) -> String {
    let set = Set::published();
    let place = set.place(cell).expect("a cell of the set");
    let mut out = format!("{HEAD}\n\n");
    for system in set.systems_of(place) {
        let task = Task {
            cell: cell.to_owned(),
            system: system.name.clone(),
            seed: 7,
            quick: false,
        };
        let scenario = set.scenario(&task).expect("a task of the set");
        let short = [("warmup", "0 s"), ("duration", duration)];
        let scenario = short.iter().fold(scenario, |s, (key, value)| {
            s.with(key, value).expect("a shorter run")
        });
        writeln!(out, "{:<28}{}", system.name, line(&scenario)).expect("a string takes all");
    }
    out
}

macro_rules! cells {
    ($($test:ident: $cell:literal, $duration:literal;)*) => {
        $(
            #[test]
            fn $test() {
                insta::assert_snapshot!(table($cell, $duration));
            }
        )*
    };
}

// Of two cells that differ in little, one is here. Recorded links are not in the tree.
cells! {
    one_user_of_lte_that_fades: "lte-fading", "8 s";
    ten_users_of_lte: "lte-ten", "3 s";
    one_user_of_nr_that_fades: "nr-fading", "4 s";
    a_wired_hop_that_may_be_the_bottleneck: "wired-hop", "14 s";
    handovers: "handover", "10 s";
    reports_that_are_lost: "lossy-feedback", "8 s";
    a_rival_in_one_queue: "rival", "8 s";
    a_rival_of_another_user: "rival-users", "4 s";
    an_upload_beside: "upload", "8 s";
    short_transfers: "web", "8 s";
    frames_of_several_rates: "vr-mixed", "3 s";
    frames_of_one_rate: "vr-tdd", "2 s";
    media_on_a_link: "media-link", "20 s";
    media_in_a_cell: "media-cell", "15 s";
    media_that_loses: "media-lossy", "15 s";
    media_beside_a_rival: "media-rival", "15 s";
}
