//! Figures 1, 3, 4, 5 and 6 and a wired hop with one thing changed, each reduced as its figure reduces it.

use super::super::prelude::*;
use super::super::{fig1, fig3, fig4, fig5, fig6, internet};
use super::changes::{EVERY_FLOW, FIRST_FLOW, Group, Keys, name};

const ONE: &str = include_str!("../../../scenarios/xrc/fig1.toml");
const WINDOW: &str = include_str!("../../../scenarios/xrc/fig3.toml");
const FOUR: &str = include_str!("../../../scenarios/xrc/fig4.toml");
const TWO: &str = include_str!("../../../scenarios/xrc/fig5.toml");
const VIDEO: &str = include_str!("../../../scenarios/xrc/fig6.toml");
const INTERNET: &str = include_str!("../../../scenarios/xrc/internet.toml");

/// A flow that takes longer to reach its share than the ten seconds in which it is to be slow (XRC, III-B).
const SLOW: Keys = &[("flow[1].rtt", "300 ms")];
/// Half of the paper's buffer.
const HALF: Keys = &[("cell.rlc.buffer", "64 packets")];
/// The first five seconds are left out of what is measured.
const SETTLED: Keys = &[("warmup", "5 s")];

pub(super) static GROUPS: [Group; 7] = [
    Group {
        id: "jumps",
        caption: "One flow of Figure 1",
        text: ONE,
        first: EVERY_FLOW,
        all: &[],
        keep: fig1::reduce,
        columns: &[
            Entry::more("utilisation", "%", "utilisation").times(100.0),
            Entry::less("HoL p90", "ms", "hol_p90"),
        ],
        rows: &[
            ("xrc", "", &[]),
            ("xrc", "", HALF),
            ("xrc-paper", "", &[]),
            ("xrc-paper", "", HALF),
            ("cubic", "", &[]),
            ("cubic", "", HALF),
            ("reno", "", &[]),
            ("reno", "", HALF),
            ("veno", "", &[]),
            ("veno", "", HALF),
        ],
    },
    Group {
        id: "turn",
        caption: "Alone in Figure 3: the delay at which XRC turns",
        text: WINDOW,
        first: FIRST_FLOW,
        all: &[("duration", "10 s"), ("flow[1].start", "9999 ms")],
        keep: fig3::reduce_alone,
        columns: &[
            Entry::plain("mean", "ms", "sigma"),
            Entry::plain("least", "ms", "sigma_least"),
            Entry::plain("most", "ms", "sigma_most"),
            Entry::plain("from reset to reset", "s", "period"),
        ],
        rows: &[
            ("xrc", "", &[]),
            ("xrc:lambda=10", "", &[]),
            ("xrc-paper", "", &[]),
            ("xrc-paper:lambda=9", "", &[]),
        ],
    },
    Group {
        id: "joined",
        caption: "Joined by another in Figure 3",
        text: WINDOW,
        first: FIRST_FLOW,
        all: &[],
        keep: fig3::reduce,
        columns: &[
            Entry::more("Jain, 15 to 30 s", "", "jain_late"),
            Entry::plain("second's rate over half", "", "other_of_share"),
            Entry::plain("from reset to reset, 5 to 15 s", "s", "period_early"),
            Entry::plain("until even", "s", "even"),
        ],
        rows: &[
            ("xrc-paper", "illinois", &[]),
            ("xrc-paper:theta=3", "illinois", &[]),
            ("xrc-paper", "illinois:growth=1", &[]),
            ("xrc-paper", "illinois:growth=1", SLOW),
            ("xrc-paper", "cubic", &[]),
            ("xrc-paper:theta=3", "cubic", &[]),
            ("xrc", "illinois", &[]),
            ("xrc", "illinois:growth=1", &[]),
            ("xrc", "illinois:growth=1", SLOW),
        ],
    },
    Group {
        id: "within",
        caption: "Four flows of Figure 4: the budget",
        text: FOUR,
        first: EVERY_FLOW,
        all: &[],
        keep: fig4::reduce,
        columns: &[
            Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
            Entry::more("Jain (common)", "", "jain"),
            Entry::more("utilisation", "%", "utilisation").times(100.0),
        ],
        rows: &[
            ("xrc", "", &[]),
            ("xrc:lambda=8", "", &[]),
            ("xrc:lambda=7", "", &[]),
            ("xrc-paper", "", &[]),
            ("xrc-paper:lambda=8", "", &[]),
            ("xrc-paper:lambda=7", "", &[]),
        ],
    },
    Group {
        id: "paper",
        caption: "The paper's XRC beside another (Figure 5)",
        text: TWO,
        first: FIRST_FLOW,
        all: &[],
        keep: fig5::reduce,
        columns: &[
            Entry::plain("first's share", "%", "share").times(100.0),
            Entry::more("Jain (common)", "", "jain"),
            Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
        ],
        rows: &[
            ("xrc-paper", "cubic", &[]),
            ("xrc-paper:theta=3", "cubic", &[]),
            ("xrc-paper:lambda=8", "cubic", &[]),
            ("xrc-paper", "illinois", &[]),
            ("xrc-paper:theta=3", "illinois", &[]),
            ("xrc-paper:lambda=8", "illinois", &[]),
        ],
    },
    Group {
        id: "video",
        caption: "Beside video (Figure 6), by the video's controller",
        text: VIDEO,
        first: FIRST_FLOW,
        all: &[],
        keep: fig6::reduce,
        columns: &[
            Entry::more("HoL ≤ 10 ms", "%", "hol_within").times(100.0),
            Entry::less("HoL p99", "ms", "hol_p99"),
        ],
        rows: &[
            ("xrc", "cubic", &[]),
            ("xrc", "xrc", &[]),
            ("xrc-paper", "cubic", &[]),
            ("xrc-paper", "xrc-paper", &[]),
            ("xrc-paper:lambda=8", "xrc-paper:lambda=8", &[]),
            ("cubic", "cubic", &[]),
        ],
    },
    Group {
        id: "deep",
        caption: "Alone on a wired hop of 10 Mbit/s, 500 ms of buffer",
        text: INTERNET,
        first: FIRST_FLOW,
        all: &[("flow[1].start", "39999 ms")],
        keep: internet::reduce,
        columns: &[
            Entry::more("rate", "Mbit/s", "rate"),
            Entry::less("wired queue p50", "ms", "wired_p50"),
            Entry::less("wired queue p90", "ms", "wired_p90"),
            Entry::less("wired queue p99", "ms", "wired_p99"),
        ],
        rows: &[
            ("xrc", "", &[]),
            ("xrc", "", SETTLED),
            ("xrc:pace=off", "", &[]),
            ("xrc:pace=off", "", SETTLED),
            ("xrc:theta=0", "", SETTLED),
            ("xrc:lambda=8", "", SETTLED),
            ("xrc:lambda=5", "", SETTLED),
        ],
    },
];

pub(super) fn seen(o: &Outcomes) -> String {
    let mean = |group: &str, first, second, keys: Keys, value: &str| {
        o.get(&name(group, (first, second, keys))).mean(value)
    };
    let used = |c, keys| mean("jumps", c, "", keys, "utilisation") * 100.0;
    let turns = |c| mean("turn", c, "", &[], "sigma");
    let alone = |c| mean("turn", c, "", &[], "period");
    let joined = |first, second, keys, value| mean("joined", first, second, keys, value);
    let within = |c| mean("within", c, "", &[], "hol_within") * 100.0;
    let beside = |first, second, value| mean("paper", first, second, &[], value);
    let video = |first, second, value| mean("video", first, second, &[], value);
    let deep = |c, keys| mean("deep", c, "", keys, "wired_p99");
    let slow = "illinois:growth=1";
    let target = "xrc-paper:theta=3";
    let budget = "xrc-paper:lambda=8";
    [
        format!(
            "With 64 packets of buffer CUBIC uses {:.1} % of Figure 1's channel, NewReno {:.1}, Veno {:.1}, XRC {:.1} (`paper`) and \
             {:.1}.",
            used("cubic", HALF),
            used("reno", HALF),
            used("veno", HALF),
            used("xrc-paper", HALF),
            used("xrc", HALF),
        ),
        format!(
            "Alone in Figure 3 the paper's XRC turns at {:.1} ms, with a budget of 9 ms at {:.1}; the product, whose budget is 9 ms, at \
             {:.1}, with one of 10 ms at {:.1}.",
            turns("xrc-paper"),
            turns("xrc-paper:lambda=9"),
            turns("xrc"),
            turns("xrc:lambda=10"),
        ),
        format!(
            "From reset to reset it takes {:.2} s there (`paper` {:.2}), beside Illinois {:.2} ({:.2}), and beside one that takes more \
             than ten seconds to its share {:.2} ({:.2}).",
            alone("xrc"),
            alone("xrc-paper"),
            joined("xrc", "illinois", &[], "period_early"),
            joined("xrc-paper", "illinois", &[], "period_early"),
            joined("xrc", slow, SLOW, "period_early"),
            joined("xrc-paper", slow, SLOW, "period_early"),
        ),
        format!(
            "With 3 ms more in its target the paper's XRC has an index of {:.3} beside that Illinois, and leaves CUBIC {:.3} of half; in \
             Figure 5 it has {:.1} % and {:.3} beside CUBIC, {:.1} % and {:.3} beside Illinois.",
            joined(target, "illinois", &[], "jain_late"),
            joined(target, "cubic", &[], "other_of_share"),
            beside(target, "cubic", "share") * 100.0,
            beside(target, "cubic", "jain"),
            beside(target, "illinois", "share") * 100.0,
            beside(target, "illinois", "jain"),
        ),
        format!(
            "With a budget of 8 ms it is within 10 ms for {:.0} % of the time beside CUBIC, and for {:.1} % in Figure 4; with one of 7 ms \
             the product is for {:.1} %.",
            beside(budget, "cubic", "hol_within") * 100.0,
            within(budget),
            within("xrc:lambda=7"),
        ),
        format!(
            "Where the video is over XRC too, the delay is within 10 ms for {:.1} % of the time (`paper` {:.1}, with a budget of 8 ms \
             {:.1}), and its 99 % quantile is {:.1} ms ({:.1} and {:.1}; CUBIC's {:.1}).",
            video("xrc", "xrc", "hol_within") * 100.0,
            video("xrc-paper", "xrc-paper", "hol_within") * 100.0,
            video(budget, budget, "hol_within") * 100.0,
            video("xrc", "xrc", "hol_p99"),
            video("xrc-paper", "xrc-paper", "hol_p99"),
            video(budget, budget, "hol_p99"),
            video("cubic", "cubic", "hol_p99"),
        ),
        format!(
            "Alone on the wired hop the queue is {:.1} ms at 99 %, unpaced {:.1}, and {:.1} and {:.1} from five seconds on.",
            deep("xrc", &[]),
            deep("xrc:pace=off", &[]),
            deep("xrc", SETTLED),
            deep("xrc:pace=off", SETTLED),
        ),
    ]
    .join(" ")
}
