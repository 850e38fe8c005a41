//! The agent's arithmetic as the paper has it (XRC, section III-A).

use slackwater_core::Rate;

use super::ue::Own;

/// "It then calculates the capacity available to a UE as a function of the TBS assigned by the scheduler and the MCS
/// observed on that UE, together with the fair share of the free resource blocks", "averaged over the most recent 40 TTI":
/// bytes of transport blocks per slot.
///
/// `own` is what new blocks carried; `free_q8`, in 1/256 byte, what the free blocks of `slots` would have carried at the
/// UE's MCS; `ues` share those. Of its own the UE keeps the part `kept`: all, in the paper.
#[inline]
pub(super) fn capacity(own: Own, kept: f64, free_q8: u64, ues: u32, slots: u64) -> f64 {
    let assigned = own.granted.bytes as f64 * kept / own.span;
    if free_q8 == 0 {
        return assigned;
    }
    assigned + free_q8 as f64 / (256.0 * f64::from(ues) * slots as f64)
}

/// "The expected fair-share capacity as the ratio between the capacity per UE to the total active flows at the UE", eq. 1:
/// `C_i = C / af`.
#[inline]
pub(super) const fn fair_share(capacity: Rate, active_flows: u32) -> Rate {
    match active_flows {
        // Mostly one flow is alone, and a division is slow.
        1 => capacity,
        af => Rate::from_bps(capacity.as_bps() / af as u64),
    }
}
