//! Figure 6: a bulk flow beside video in chunks.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/xrc/fig6.toml");

const ALL: [&str; 6] = ["xrc", "xrc-paper", "cubic", "reno", "veno", "illinois"];

fn name(controller: &str) -> String {
    format!("fig6/{controller}")
}

/// What is measured for the claims of section IV-B on video.
fn measures() -> Vec<Measure> {
    let mut all = vec![];
    for (ours, who) in OURS {
        all.push(Measure::new("fig6-within", who, move |o| {
            o.get(&name(ours)).estimate("hol_within")
        }));
        for other in ["cubic", "reno", "veno", "illinois"] {
            all.push(Measure::new(format!("fig6-tail-{other}"), who, move |o| {
                let (ours, other) = (o.get(&name(ours)), o.get(&name(other)));
                other.ratio("hol_p99", ours, "hol_p99")
            }));
            let claim = format!("fig6-losses-{other}");
            all.push(Measure::new(claim, who, move |o| {
                let (ours, other) = (o.get(&name(ours)), o.get(&name(other)));
                other.difference("loss_least", ours)
            }));
            let claim = format!("fig6-longer-{other}");
            all.push(Measure::new(claim, who, move |o| {
                let (ours, other) = (o.get(&name(ours)), o.get(&name(other)));
                other.ratio("worst", ours, "worst")
            }));
        }
    }
    all
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let duration = if options.quick { "35 s" } else { "65 s" };
    let experiments = ALL
        .iter()
        .map(|c| {
            Experiment::new(
                name(c),
                SCENARIO,
                [("duration", duration), ("flow[0].controller", *c), agent(c)],
                reduce,
            )
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "fig6",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

pub(super) fn reduce(run: &RunResult, out: &mut Outcome) {
    let chunks = m::transfer_times(run, 1);
    if let Some((first, later)) = chunks.split_first() {
        out.value("first", Some(first * 1e-3));
        out.value("later", m::mean(later).map(|v| v * 1e-3));
        out.value(
            "later_worst",
            later.iter().copied().reduce(f64::max).map(|v| v * 1e-3),
        );
        out.value(
            "worst",
            chunks.iter().copied().reduce(f64::max).map(|v| v * 1e-3),
        );
    }
    out.distribution("chunks", chunks.iter().map(|c| c * 1e-3).collect());
    let drops = m::dropped(run, 0) + m::dropped(run, 1);
    out.value("drops", Some(drops as f64));
    // "severe packet losses across all competing flows" (XRC, IV-B): both flows lose at least this share of what they send.
    let lost = [0, 1].map(|i| {
        let (lost, sent) = m::drops(run, i);
        lost as f64 / sent.max(1) as f64 * 100.0
    });
    out.value("loss_0", Some(lost[0]));
    out.value("loss_1", Some(lost[1]));
    out.value("loss_least", Some(lost[0].min(lost[1])));
    let alone = m::rate(run, 0, (2.0, 5.0));
    let (mut during, mut after) = (vec![], vec![]);
    for t in &run.records.flows[1].transfers {
        let (start, end) = (t.start.as_secs_f64(), t.end.as_secs_f64());
        during.push(m::rate(run, 0, (start + 0.5, start + 2.0)) / alone);
        // 200 ms until the video flow is known to be silent, and two RTTs to fill the link.
        let from = end + 0.4;
        after.push(m::rate(run, 0, (from, from + 1.0)) / alone);
    }
    out.value("during", m::mean(&during));
    out.value("after", m::mean(&after));
    keep_hol(run, out, m::all(run));
    if out.is_drawn() {
        out.line("rate", m::capacity_line(run, PAYLOAD));
        out.line(
            "rate",
            m::rate_line(run, 0, 2, title(&run.layout.controllers[0])),
        );
        out.line("rate", m::rate_line(run, 1, 2, "video over CUBIC"));
        out.track("rate", m::track(run, 0, title(&run.layout.controllers[0])));
    }
}

fn draw(o: &Outcomes) -> Figure {
    let runs = |c: &str| o.get(&name(c));
    let mut panels: Vec<Panel> = [
        ("a", "xrc"),
        ("b", "cubic"),
        ("c", "veno"),
        ("d", "illinois"),
    ]
    .into_iter()
    .map(|(id, c)| rate_panel(id, &format!("({id}) {} and video", title(c)), runs(c)))
    .collect();
    panels.push(hol_cdf(
        "e",
        "(e) HoL delay",
        "",
        ALL.iter()
            .map(|c| runs(c).cdf("hol", title(c), c))
            .collect(),
    ));
    let bars = [("first", "first chunk"), ("later", "later chunks")]
        .into_iter()
        .flat_map(|(value, group)| {
            ALL.iter()
                .filter_map(move |c| bar(group, title(c), c, o.get(&name(c)), value, 1.0))
        })
        .collect();
    panels.push(Panel::new(
        "chunks",
        "Delivery time of a chunk",
        "From the first byte offered; a chunk is offered over 2 s.",
        Drawing::Bars {
            axis: Axis::new("Delivery time", "s"),
            bars,
            guides: vec![Guide::new(2.0, "2 s")],
        },
    ));
    let losses: Vec<(String, &str, &Runs)> = ALL
        .iter()
        .map(|c| (title(c).to_owned(), *c, runs(c)))
        .collect();
    panels.push(table(
        "Packets lost",
        "bulk flow",
        &[
            Entry::less("of the bulk flow", "%", "loss_0"),
            Entry::less("of the video", "%", "loss_1"),
            Entry::less("of the flow that loses less", "%", "loss_least"),
        ],
        &losses,
    ));
    let xrc = runs("xrc");
    Figure {
        title: "Figure 6: a bulk flow beside video".to_owned(),
        setup: "A bulk flow beside video over CUBIC: chunks of 2 s at 17 Mbit/s (of packets), one every 10 s, at 34 Mbit/s.".to_owned(),
        claim: "XRC slows down at once when the video sends and takes the link back when it stops; within 10 ms at 99 % of the \
                time, almost 4 times lower than the others. Beside the others a chunk takes longer than 2 s."
            .to_owned(),
        seen: format!(
            "Beside XRC the first chunk takes {:.2} s and the later ones {:.2} s; beside CUBIC {:.2} and {:.2} s. During a chunk \
             XRC takes {:.2} of its rate, and {:.3} of it from 0.4 s after the chunk. It is within 10 ms for {:.1} % of the \
             time, with {:.0} drops in all.",
            xrc.mean("first"),
            xrc.mean("later"),
            runs("cubic").mean("first"),
            runs("cubic").mean("later"),
            xrc.mean("during"),
            xrc.mean("after"),
            xrc.mean("hol_within") * 100.0,
            xrc.max("drops"),
        ),
        panels,
        notes: vec![
            "A chunk that is offered over 2 s cannot be delivered in less; what XRC adds is the time that the video's own \
             window needs to grow and one queue."
                .to_owned(),
        ],
        ..Figure::default()
    }
}
