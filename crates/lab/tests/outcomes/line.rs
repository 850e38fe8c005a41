//! One run as a line of a table.

use slackwater_lab::run::{Control, run_scenario};
use slackwater_results::metrics::summary::{FlowSummary, Quantiles, RunSummary};
use slackwater_scenario::Scenario;

/// Column names of [`line`].
pub(crate) const HEAD: &str = "events; packets sent, delivered, dropped, marked, resent; timeouts; goodput in kbit/s; queue delay p50, p95 in us; one-way delay p95 in us; cwnd p50 in hundredths of a packet; of media: target p50 in kbit/s, frame delay p95 in us, freezes";

/// The numbers of all flows of a run of `scenario`: sums of counts, means of quantiles.
pub(crate) fn line(scenario: &Scenario) -> String {
    let run = run_scenario(scenario, scenario.seed, &mut |_| Control::Continue).expect("it runs");
    let summary = &run.summary;
    let media = media(summary);
    let flows = &summary.flows;
    let sum = |of: &dyn Fn(&FlowSummary) -> u64| flows.iter().map(of).sum::<u64>();

    format!(
        "{:>8} | {:>6} {:>6} {:>5} {:>5} {:>5} {:>2} | {:>7.0} {:>7} {:>7} {:>7} {:>6}{media}",
        run.events,
        sum(&|f| f.sent),
        sum(&|f| f.delivered),
        sum(&|f| f.drops.values().sum()),
        sum(&|f| f.marks),
        sum(&|f| f.retransmits),
        sum(&|f| f.timeouts),
        1e3 * summary.goodput_mbps,
        thousandfold(summary.queue_delay_ms.as_ref(), |q| q.p50),
        thousandfold(summary.queue_delay_ms.as_ref(), |q| q.p95),
        thousandfold(summary.one_way_ms.as_ref(), |q| q.p95),
        mean(flows.iter().map(|f| f.cwnd_packets.as_ref()), |q| 1e2
            * q.p50),
    )
}

fn media(summary: &RunSummary) -> String {
    let media: Vec<_> = summary
        .flows
        .iter()
        .filter_map(|f| f.media.as_ref())
        .collect();
    if media.is_empty() {
        return String::new();
    }
    format!(
        " | {:>6} {:>7} {:>3}",
        mean(media.iter().map(|m| m.target_mbps.as_ref()), |q| 1e3
            * q.p50),
        mean(media.iter().map(|m| m.frame_delay_ms.as_ref()), |q| 1e3
            * q.p95),
        media.iter().map(|m| m.freezes).sum::<u64>(),
    )
}

fn thousandfold(of: Option<&Quantiles>, what: impl Fn(&Quantiles) -> f64) -> String {
    mean(std::iter::once(of), |q| 1e3 * what(q))
}

/// The mean of those that have one, rounded; a dash where none has.
fn mean<'a>(
    of: impl Iterator<Item = Option<&'a Quantiles>>,
    what: impl Fn(&Quantiles) -> f64,
) -> String {
    let found: Vec<f64> = of.flatten().map(what).collect();
    if found.is_empty() {
        return "-".to_owned();
    }
    format!("{:.0}", found.iter().sum::<f64>() / found.len() as f64)
}
