//! Figures 3 and 4: sessions with an AMBR, QoS flows with guaranteed and maximum rates, and instances that differ.

use super::prelude::*;

const SCENARIO: &str = include_str!("../../scenarios/vaqm/flows.toml");

/// Mbit/s, as in the scenario.
const AMBR: f64 = 2.0;
const GBR: f64 = 2.0;
const MBR: f64 = 2.0;

const PROFILES: [Variant; 2] = [
    Variant::new("paper", "the article's shaper", "vaqm-literal", &[LITERAL]),
    Variant::new("product", "vAQM", "vaqm", &[VAQM]),
];

fn reduce(run: &RunResult, out: &mut Outcome) {
    keep(run, out);
    let over = |out: &Outcome, value: &str, of: f64| out.kept(value).map(|v| v / of);
    out.value("ambr_used", over(out, "session_rate", AMBR));
    out.value("gbr_kept", over(out, "guaranteed_rate", GBR));
    out.value("mbr_used", over(out, "limited_rate", MBR));
    let plain = out.kept("plain_p50").unwrap_or(f64::NAN);
    out.value("measured_over", over(out, "measured_p50", plain));
    out.value("throughput_over", over(out, "throughput_p50", plain));
}

const CLAIMS: [(&str, &str); 5] = [
    ("ambr", "ambr_used"),
    ("gbr", "gbr_kept"),
    ("mbr", "mbr_used"),
    ("other-algorithm", "measured_over"),
    ("other-parameters", "throughput_over"),
];

fn measures() -> Vec<Measure> {
    CLAIMS
        .into_iter()
        .flat_map(|(claim, value)| {
            [
                Measure::paper(claim, move |o| o.get("flows/paper").estimate(value)),
                Measure::product(claim, move |o| o.get("flows/product").estimate(value)),
            ]
        })
        .collect()
}

pub(super) fn part(options: &Options) -> Result<Part, StudyError> {
    let experiments = PROFILES
        .iter()
        .map(|variant| {
            let mut changes = vec![("duration", length(options.quick))];
            changes.extend(variant.changes);
            Experiment::new(format!("flows/{}", variant.key), SCENARIO, changes, reduce)
        })
        .collect::<Result<_, _>>()?;
    Ok(Part {
        id: "flows",
        measures: measures(),
        experiments,
        draw: Box::new(draw),
    })
}

fn draw(o: &Outcomes) -> Figure {
    const COLUMNS: [Entry; 7] = [
        Entry::plain("downloads below an AMBR of 2", "Mbit/s", "session_rate"),
        Entry::plain("GBR flow of 2", "Mbit/s", "guaranteed_rate"),
        Entry::plain("4 offered above an MBR of 2", "Mbit/s", "limited_rate"),
        Entry::plain("RTT, as all", "ms", "plain_p50"),
        Entry::plain("RTT, measured alone", "ms", "measured_p50"),
        Entry::plain("RTT, throughput", "ms", "throughput_p50"),
        Entry::plain("RTT, PIE", "ms", "pie_p50"),
    ];
    let rows: Vec<(String, &str, &Runs)> = PROFILES
        .iter()
        .map(|w| {
            (
                w.title.to_owned(),
                w.colour,
                o.get(&format!("flows/{}", w.key)),
            )
        })
        .collect();
    let p = |value: &str| o.get("flows/product").mean(value);
    Figure {
        title: "Figures 3 and 4: sessions and QoS flows".to_owned(),
        setup: "Five users of one cell. The first has an AMBR of 2 Mbit/s, two downloads in it, and two QoS flows of guaranteed rate: \
                one offers its GBR of 2 Mbit/s, one twice its MBR of 2. The sessions of the others differ in algorithm and parameters."
            .to_owned(),
        claim: "The UPF enforces the AMBR across the non-GBR flows of a session and the GBR of each GBR flow; instances \"can contain \
                implementations of completely different AQM algorithms or be configured with different default parameters\"."
            .to_owned(),
        seen: format!(
            "The downloads get {:.2} Mbit/s, the GBR flow {:.2}, the one above its MBR {:.2}. Median RTTs in one cell: {:.0} ms, {:.0} \
             where vAQM measures alone, {:.0} with the throughput preset, {:.0} with PIE.",
            p("session_rate"),
            p("guaranteed_rate"),
            p("limited_rate"),
            p("plain_p50"),
            p("measured_p50"),
            p("throughput_p50"),
            p("pie_p50"),
        ),
        panels: vec![table("table", "Sessions and QoS flows", "profile", &COLUMNS, &rows).wide()],
        ..Figure::default()
    }
}
