//! Beyond the poster: feeds that are late, lossy, silent, stale or wrong.

use super::links;
use super::prelude::*;

/// How a feed is, in words and keys.
type Feed = (
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

/// What a radio may do to an honest feed.
const HONEST: [Feed; 14] = [
    ("ack", "on ACKs", &[]),
    (
        "datagram",
        "datagrams beside ACKs",
        &[("feedback.carrier", "datagram")],
    ),
    (
        "socket",
        "a socket, each 10 ms",
        &[("feedback.carrier", "socket")],
    ),
    (
        "every50",
        "a socket, each 50 ms",
        &[
            ("feedback.carrier", "socket"),
            ("feedback.tyrus.every", "50 ms"),
        ],
    ),
    (
        "late10",
        "10 ms late",
        &[("feedback.carrier", "socket"), ("feedback.delay", "10 ms")],
    ),
    (
        "late50",
        "50 ms late",
        &[("feedback.carrier", "socket"), ("feedback.delay", "50 ms")],
    ),
    (
        "late100",
        "100 ms late",
        &[("feedback.carrier", "socket"), ("feedback.delay", "100 ms")],
    ),
    (
        "late200",
        "200 ms late",
        &[("feedback.carrier", "socket"), ("feedback.delay", "200 ms")],
    ),
    ("loss10", "10 % lost", &[("feedback.faults.loss", "10 %")]),
    ("loss30", "30 % lost", &[("feedback.faults.loss", "30 %")]),
    ("loss50", "50 % lost", &[("feedback.faults.loss", "50 %")]),
    (
        "socket-loss50",
        "socket, 50 % lost",
        &[
            ("feedback.carrier", "socket"),
            ("feedback.faults.loss", "50 %"),
        ],
    ),
    (
        "allocated",
        "allocated, on ACKs",
        &[("feedback.tyrus.blocks", "allocated")],
    ),
    (
        "allocated-socket",
        "allocated, socket",
        &[
            ("feedback.tyrus.blocks", "allocated"),
            ("feedback.carrier", "socket"),
        ],
    ),
];

/// What a broken or lying UE may do.
const BROKEN: [Feed; 8] = [
    ("absent", "no feed", &[("feedback.faults.stop", "0 s")]),
    (
        "silent",
        "silent from the tenth second on",
        &[
            ("feedback.faults.stop", "10 s"),
            ("feedback.carrier", "socket"),
        ],
    ),
    (
        "stale",
        "repeats its tenth second",
        &[
            ("feedback.faults.stop", "10 s"),
            ("feedback.faults.stale", "true"),
        ],
    ),
    (
        "nothing",
        "claims nothing",
        &[("feedback.faults.rate_scale", "0")],
    ),
    (
        "tenth",
        "claims a tenth",
        &[("feedback.faults.rate_scale", "0.1")],
    ),
    (
        "half",
        "claims half",
        &[("feedback.faults.rate_scale", "0.5")],
    ),
    (
        "double",
        "claims the double",
        &[("feedback.faults.rate_scale", "2")],
    ),
    (
        "tenfold",
        "claims the tenfold",
        &[("feedback.faults.rate_scale", "10")],
    ),
];

const SENDERS: [&str; 2] = ["tyrus", "rule2"];

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let place = links::drive()?;
    let around = Around {
        rtt: "40 ms",
        queue: "1000 packets",
        duration: length(options.quick),
    };
    let one = |name: String, controller: &str, changes: &[(&'static str, &'static str)]| {
        let all = core::iter::once(("flow.controller", controller)).chain(changes.iter().copied());
        place.experiment(format!("feed/{name}"), around, all, keep)
    };
    let mut experiments = vec![
        one("cubic".to_owned(), "cubic", &[])?,
        one("rule2-acks".to_owned(), "rule2-acks", &[])?,
    ];
    for sender in SENDERS {
        for (id, _, changes) in HONEST.iter().chain(&BROKEN) {
            experiments.push(one(format!("{sender}-{id}"), sender, changes)?);
        }
    }
    // The link's time is the feed's: seeds start at the same place and differ by the draws of losses.
    Ok(Part {
        id: "feed",
        measures: vec![Measure::product("either-carrier", |o| {
            let ack = o.get("feed/tyrus-ack");
            o.get("feed/tyrus-socket").ratio("used", ack, "used")
        })],
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |sender: &str, id: &str| o.get(&format!("feed/{sender}-{id}"));
    let columns: [Entry; 6] = [
        Entry::more("throughput", "Mbit/s", "rate"),
        Entry::more("used", "%", "used").times(100.0),
        Entry::less("one-way p50", "ms", "p50"),
        Entry::less("one-way p95", "ms", "p95"),
        Entry::more("S", "", "score"),
        Entry::plain("turns to CUBIC", "", "fallbacks"),
    ];
    let rows = |feeds: &[Feed]| -> Vec<(String, &str, &Runs)> {
        let mut out: Vec<(String, &str, &Runs)> = vec![
            ("CUBIC".to_owned(), "cubic", o.get("feed/cubic")),
            (
                "rule2 without PHY".to_owned(),
                "rule2-acks",
                o.get("feed/rule2-acks"),
            ),
        ];
        for sender in SENDERS {
            for (id, what, _) in feeds {
                out.push((
                    format!("{}, {what}", title(sender)),
                    sender,
                    runs(sender, id),
                ));
            }
        }
        out
    };
    let cubic = o.get("feed/cubic");
    let mut checks = vec![];
    for (id, what, _) in &BROKEN {
        let ours = runs("tyrus", id);
        checks.push(Check::of(
            format!("{what}: throughput over CUBIC's"),
            "",
            0.95,
            ours.ratio("rate", cubic, "rate"),
            Tolerance::AtLeast,
        ));
        checks.push(Check::of(
            format!("{what}: p95 over CUBIC's"),
            "",
            1.05,
            ours.ratio("p95", cubic, "p95"),
            Tolerance::AtMost,
        ));
    }
    let score = |id: &str| runs("tyrus", id).mean("score");
    Figure {
        title: "Beyond (a): late, lossy, silent and lying feeds".to_owned(),
        setup: "The link of figure 1 with a queue of 1,000 packets, the same minute for all.".to_owned(),
        claim: "A lying, stale or absent feed makes Tyrus at most 5 % worse than its fallback, CUBIC (ours).".to_owned(),
        seen: format!(
            "S is {:.3} with reports on ACKs, {:.3} from a socket each 10 ms, {:.3}, {:.3} and {:.3} where they are 50, 100 and \
             200 ms late, {:.3} where half of them are lost; {:.3} with what was allocated in place of the capacity. Without any \
             it is {:.3} (CUBIC's {:.3}).",
            score("ack"),
            score("socket"),
            score("late50"),
            score("late100"),
            score("late200"),
            score("loss50"),
            score("allocated"),
            score("absent"),
            cubic.mean("score"),
        ),
        panels: vec![
            table("honest", "Honest feeds", "sender and feed", &columns, &rows(&HONEST)).wide(),
            table("broken", "Broken feeds", "sender and feed", &columns, &rows(&BROKEN)).wide(),
        ],
        checks,
        ..Figure::default()
    }
}
