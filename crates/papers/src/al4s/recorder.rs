//! Queue delay as the testbed's recorder has it.
//!
//! The paper's link was Jens (its reference 31), whose player is public: telekom/aml-jens, commit 8bb4880,
//! `pkg/drp_player/measuresession`. The queue's module states a packet's time in it in units of 1024 ns. The player
//! divides these by 1000 and drops the remainder (`RecordArray::AsPacketMeasure`). Each 10 ms it writes, by flow, the
//! mean over the packets, which is again a whole number (`AggregateMeasure.toDB_measure_packet`). The first packet of each
//! 10 ms sets the time and is not counted (`aggregateMeasures`). So 1.9 ms are written as 1.

use super::prelude::*;
use slackwater_results::metrics::Quantiles;
use slackwater_results::record::{EVENT_NAMES, PacketRows};

/// `SAMPLE_DURATION_MS`.
const SAMPLE_NS: u64 = 10_000_000;
/// `TC_JENS_TIMESHIFT`, and the division by 1000 that follows.
const UNIT_NS: u64 = 1000 << 10;

/// The recorder's samples of the queue delay of `flow`, in its whole milliseconds (of 1.024 ms). Needs `record.packets`.
pub(super) fn samples(rows: &PacketRows, flow: u32) -> Vec<f64> {
    let mut samples = vec![];
    // Beginning of the time that is under way, sum and count of its packets.
    let (mut from, mut sum, mut count) = (None::<u64>, 0_u64, 0_u64);
    for i in 0..rows.len() {
        if EVENT_NAMES[usize::from(rows.event[i])] != "dequeued" || rows.up[i] != 0 {
            continue;
        }
        let now = rows.time[i];
        let began = from.filter(|t| now - t < SAMPLE_NS);
        if began.is_none() {
            samples.extend(sum.checked_div(count).map(|mean| mean as f64));
            (from, sum, count) = (Some(now), 0, 0);
        } else if rows.flow[i] == flow {
            sum += rows.delay[i] / UNIT_NS;
            count += 1;
        }
    }
    samples.extend(sum.checked_div(count).map(|mean| mean as f64));
    samples
}

/// Quantiles of the recorder's samples, averaged over the run's flows: 95 and 99 %.
pub(super) fn quantiles(run: &RunResult) -> Option<(f64, f64)> {
    let flows = run.records.flows.len();
    let each: Vec<Quantiles> = (0..flows)
        .filter_map(|i| m::quantiles(&samples(&run.records.rows, i as u32)))
        .collect();
    let of = |f: fn(&Quantiles) -> f64| m::mean(&each.iter().map(f).collect::<Vec<_>>());
    Some((of(|q| q.p95)?, of(|q| q.p99)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of packets that left the queue: flow, time in us, time in the queue in us.
    fn rows(packets: &[(u32, u64, u64)]) -> PacketRows {
        let dequeued = EVENT_NAMES.iter().position(|n| *n == "dequeued");
        let mut rows = PacketRows::default();
        for (flow, time, delay) in packets {
            rows.time.push(time * 1000);
            rows.flow.push(*flow);
            rows.up.push(0);
            rows.event.push(dequeued.unwrap() as u8);
            rows.delay.push(delay * 1000);
        }
        rows
    }

    #[test]
    fn a_mean_of_whole_milliseconds_is_written_as_one() {
        // 1.9, 2.9 and 2.9 ms are 1, 2 and 2, and their mean is written as 1.
        let all = rows(&[
            (0, 0, 900),
            (0, 1000, 1900),
            (0, 2000, 2900),
            (0, 3000, 2900),
        ]);
        assert_eq!(samples(&all, 0), [1.0]);
        // A millisecond is 1.024 ms there.
        let all = rows(&[(0, 0, 0), (0, 1, 1023), (0, 10_000, 0), (0, 10_001, 1024)]);
        assert_eq!(samples(&all, 0), [0.0, 1.0]);
    }

    #[test]
    fn each_flow_has_its_own_samples_and_the_first_packet_counts_for_none() {
        let all = rows(&[
            (0, 0, 50_000),
            (1, 5000, 4200),
            (0, 9999, 8300),
            (1, 10_000, 90_000),
            (1, 30_000, 70_000),
            (0, 31_000, 2100),
        ]);
        assert_eq!(samples(&all, 0), [8.0, 2.0]);
        assert_eq!(samples(&all, 1), [4.0]);
    }
}
