//! The test cases of RFC 8867 and, after them, the cellular ones of RFC 8869, for every media controller.

mod expected;
mod matrix;
mod series;

use super::study::Study;

/// The study.
pub const STUDY: Study = Study {
    name: "rfc8867",
    title: "RFC 8867 and RFC 8869: media controllers through the IETF's test cases",
    citation: "Z. Sarker, V. Singh, X. Zhu, M. Ramalho: Test Cases for Evaluating Congestion Control for Interactive \
               Real-Time Media, RFC 8867, 2021; Z. Sarker, X. Zhu, J. Fu: Evaluation Test Cases for Interactive \
               Real-Time Media over Wireless Networks, RFC 8869, 2021",
    about: &[
        "Eight wired and two cellular cases: capacity that varies, several flows, a congested way back, round-trip times, \
         TCP beside media, a pause, a loaded cell and a bad one. Each controller goes through all of them, once over the \
         RFC's drop-tail queue and once over a queue that marks L4S packets between 5 and 20 ms.",
    ],
    notes: &[
        "Media: 30 frames a second from 0.15 to 1.5 Mbit/s, RTCP after each frame (RFC 8888). Capacities and times are those \
         of the draft that became the RFC as ns3-rmcat has them; a queue of 300 ms is counted at the reference capacity.",
        "cL4S and sL4S are of the profile `default` with R0 = 1 Mbit/s and a service of 150 ms. Over drop-tail they live by \
         the guard for paths without marks; L4S-CC as published knows neither loss nor delay and can only grow there.",
        "The cellular cases are one cell without handover and arrivals of users, in place of the RFC's grid of sites.",
    ],
    claims: include_str!("../claims/rfc8867.toml"),
    parts: |options| {
        Ok(vec![
            matrix::part(options, &DROP_TAIL)?,
            matrix::part(options, &L4S)?,
            series::part(options, &DROP_TAIL)?,
            series::part(options, &L4S)?,
        ])
    },
};

/// What the bottleneck does.
struct Way {
    id: &'static str,
    series: &'static str,
    title: &'static str,
    /// Law of the queue.
    law: &'static str,
    /// It marks.
    marks: bool,
}

const DROP_TAIL: Way = Way {
    id: "droptail",
    series: "droptail-rates",
    title: "a drop-tail queue",
    law: "none",
    marks: false,
};

const L4S: Way = Way {
    id: "l4s",
    series: "l4s-rates",
    title: "a queue that marks from 5 to 20 ms",
    law: "{ kind = \"ramp\", low = \"5 ms\", high = \"20 ms\" }",
    marks: true,
};

/// Name in the registry, title, name of its colour.
const CONTROLLERS: [(&str, &str, &str); 5] = [
    ("al4s-c:r0=1", "cL4S", "al4s-c"),
    ("al4s-s:r0=1", "sL4S", "al4s-s"),
    ("l4s-cc", "L4S-CC", "l4s-cc"),
    ("scream", "SCReAMv2", "scream"),
    ("gcc", "GCC", "gcc"),
];

/// One test case.
struct Case {
    id: &'static str,
    title: &'static str,
    text: &'static str,
    /// Every flow is media.
    alone: bool,
    cell: bool,
}

const fn wired(id: &'static str, title: &'static str, text: &'static str, alone: bool) -> Case {
    Case {
        id,
        title,
        text,
        alone,
        cell: false,
    }
}

const fn cellular(id: &'static str, title: &'static str, text: &'static str) -> Case {
    Case {
        id,
        title,
        text,
        alone: false,
        cell: true,
    }
}

macro_rules! text {
    ($file:literal) => {
        include_str!(concat!("../scenarios/", $file, ".toml"))
    };
}

const CASES: [Case; 10] = [
    wired("5.1", "5.1 variable capacity", text!("rfc8867/5-1"), true),
    wired("5.2", "5.2 the same, two flows", text!("rfc8867/5-2"), true),
    wired("5.3", "5.3 congested feedback", text!("rfc8867/5-3"), true),
    wired("5.4", "5.4 three flows", text!("rfc8867/5-4"), true),
    wired(
        "5.5",
        "5.5 five round-trip times",
        text!("rfc8867/5-5"),
        true,
    ),
    wired("5.6", "5.6 a long TCP flow", text!("rfc8867/5-6"), false),
    wired("5.7", "5.7 short TCP flows", text!("rfc8867/5-7"), false),
    wired("5.8", "5.8 pause and resume", text!("rfc8867/5-8"), true),
    cellular("3.1", "RFC 8869, 3.1 a loaded cell", text!("rfc8869/3-1")),
    cellular("3.2", "RFC 8869, 3.2 bad coverage", text!("rfc8869/3-2")),
];

impl Case {
    /// The changes that make this case one of `controller` over `way`.
    fn changes<'a>(
        &self,
        way: &'a Way,
        controller: &'a str,
        quick: bool,
    ) -> Vec<(&'a str, &'a str)> {
        let mut changes = vec![
            (
                if self.alone {
                    "flow.controller"
                } else {
                    "flow[0].controller"
                },
                controller,
            ),
            (
                if self.cell {
                    "cell.rlc.law"
                } else {
                    "link.queue.law"
                },
                way.law,
            ),
        ];
        if self.id == "5.3" {
            changes.push(("link.up_queue.law", way.law));
        }
        // The cases follow a clock of their own; only those that repeat themselves are cut.
        if quick && (self.cell || matches!(self.id, "5.5" | "5.7")) {
            changes.push(("duration", "60 s"));
        }
        changes
    }
}
