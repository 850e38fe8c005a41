//! A cell's delays in slots, which is how it counts them.

use slackwater_core::Duration;

use super::{CellConfig, Rat};

/// What follows in slots from the times of a [`CellConfig`] and from its technology.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delays {
    /// From the scheduler's decision to the air: the scheduling pipeline.
    pub mac_to_air: u8,
    /// From downlink assignment to PDSCH (TS 38.214, 5.1.2.1).
    pub k0: u8,
    /// From PDSCH to HARQ feedback on the uplink, at least.
    pub k1: u8,
    /// From uplink grant to PUSCH, at least.
    pub k2: u8,
    /// From the slot of the feedback to the first decision that knows it.
    pub feedback_to_mac: u8,
    /// From a failed uplink transmission to the next one (LTE, synchronous: 8; TS 36.321, 5.4.2.2); `None` where the
    /// scheduler chooses (NR).
    pub uplink_retransmission: Option<u8>,
    /// The UE fills an uplink block this many slots before PUSCH.
    pub uplink_prepare: u8,
    /// Between CQI reports of one UE; UEs take turns.
    pub cqi_period: u16,
    /// From measurement to first use by the scheduler.
    pub cqi_delay: u16,
    /// Between scheduling-request opportunities of one UE; UEs take turns.
    pub sr_period: u16,
    /// From the slot of the scheduling request to the first decision that knows it.
    pub sr_to_mac: u8,
    /// After the latest uplink grant, until data that still waits makes a UE ask anew (retxBSR-Timer; TS 36.321 and
    /// TS 38.321, 5.4.5).
    pub retx_bsr: u32,
    /// Until a block that has no room for padding carries a buffer status report all the same (periodicBSR-Timer); 0: each
    /// block does.
    pub periodic_bsr: u32,
}

impl Delays {
    /// The delays of a cell. Where a key is left out, its technology's: a decision reaches the air after 1 slot, chances
    /// for scheduling requests come each 10 ms.
    pub fn of(config: &CellConfig) -> Self {
        let slot = config.slot_duration();
        let slots = |time: Duration| time.as_nanos().div_ceil(slot.as_nanos());
        let (timing, uplink, lte) = (&config.timing, &config.uplink, config.rat == Rat::Lte);
        // What does not fit is beyond what `CellConfig` lets through.
        let few = |time| u8::try_from(slots(time)).unwrap_or(u8::MAX);
        let wide = |time| u16::try_from(slots(time)).unwrap_or(u16::MAX);
        let long = |time| u32::try_from(slots(time)).unwrap_or(u32::MAX);
        let retx_bsr = Duration::from_millis(if lte { 320 } else { 80 });
        let mac_to_air = timing.processing.map_or(1, few);
        let feedback_to_mac = if lte {
            // From decision to decision a HARQ process takes 8 subframes (TS 36.321, 7.7), unless told otherwise: what the
            // way to the air takes, the scheduler does not have for the feedback. Beyond 8, processes run out.
            let rtt = config.harq.rtt.map_or(8, few);
            rtt.saturating_sub(mac_to_air)
                .saturating_sub(timing.k1)
                .max(1)
        } else {
            config.feedback_to_mac
        };
        Self {
            mac_to_air,
            k0: timing.k0,
            k1: timing.k1,
            k2: timing.k2,
            feedback_to_mac,
            uplink_retransmission: lte.then_some(8),
            uplink_prepare: match uplink.prepare {
                Some(p) => few(p),
                None if lte => 2,
                None => 1,
            },
            cqi_period: wide(config.cqi.period),
            cqi_delay: wide(config.cqi.delay),
            sr_period: wide(uplink.sr_period.unwrap_or(Duration::from_millis(10))),
            sr_to_mac: 1,
            retx_bsr: long(uplink.retx_bsr.unwrap_or(retx_bsr)),
            periodic_bsr: uplink.periodic_bsr.map_or(0, long),
        }
    }
}
