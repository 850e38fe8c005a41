//! `[cell]`: an LTE or NR cell.

use slackwater_core::Duration;
use slackwater_ran::cell::range;
pub use slackwater_ran::cell::{
    BufferStatus, CqiConfig, HarqConfig, OllaConfig, Rat, Timing, UplinkConfig,
};
use slackwater_ran::mac::SchedulerKind;
pub use slackwater_ran::pdcp::PdcpConfig;
pub use slackwater_ran::phy::fading::Profile;
pub use slackwater_ran::phy::harq::Combining;
pub use slackwater_ran::phy::pathloss::{LogDistance, PathLoss, Sight, Tr38901};
pub use slackwater_ran::rlc::{Mode, Timers};
use slackwater_ran::tdd::MAX_PERIOD;

use crate::error::ScenarioError;
use crate::field::{At, Field, choice, optional, section};
use crate::law::Law;
use crate::link::Queue;
use crate::scheduler::Scheduler;
use crate::tree::Value;
use crate::units::{Db, Dbm, Hertz, Limit, Metres};

choice! {
    /// How the directions share the carrier.
    pub enum Duplex {
        /// Each on its own carrier.
        Fdd = "fdd",
        /// In turns.
        Tdd = "tdd",
    }
}
choice! {
    /// Which MCS and CQI tables hold.
    pub enum McsTable {
        /// Up to 64QAM (36.213 table 7.1.7.1-1; 38.214 table 5.1.3.1-1).
        Qam64 = "64qam",
        /// Up to 256QAM (36.213 table 7.1.7.1-1A; 38.214 table 5.1.3.1-2).
        Qam256 = "256qam",
        /// Low spectral efficiency (38.214 table 5.1.3.1-3).
        LowSe = "low-se",
    }
}
choice! {
    /// How spectral efficiency follows from SINR.
    pub enum Amc {
        /// Shannon with a gap in dB.
        Gap = "gap",
        /// Piro's formula, as ns-3 has it, for a BER of 5e-5.
        Piro = "piro",
        /// Block error thresholds, and one CQI below an exact match, as ns-3's default has it.
        Ns3 = "ns3",
    }
}
optional! {
    /// RLC mode; none, by what a bearer carries: acknowledged with a flow over TCP or QUIC, unacknowledged with media and
    /// datagrams alone.
    pub struct RlcMode or "by-transport" of Mode;
}

section! {
    /// The RLC entity of each bearer.
    pub struct Rlc {
        /// Mode of all bearers. "by-transport": AM for a bearer that carries a flow over TCP or QUIC in either direction, UM for one
        /// that carries media and datagrams alone, as networks configure them.
        pub mode: RlcMode = RlcMode(None),
        /// Transmission buffer of each bearer.
        pub buffer: Limit = Limit::Bytes(slackwater_core::Bytes(192_000)),
        /// Law of the transmission buffer.
        pub law: Law = Law::NONE,
        /// How downlink packets wait in it, in place of one queue, first in first out, under `law`. Both its limit and `buffer`
        /// hold, in IP bytes. Left out, one queue.
        pub queue: Option<Queue> = None,
        ..
        /// Timers and counters.
        pub timers: Timers,
    }
    check(me, at) {
        if me.queue.is_some() && me.law != Law::NONE {
            return Err(at.error("both `queue` and `law`", "one of them: a queue has its own law"));
        }
    }
}
optional! {
    /// Fast fading by a profile; none leaves path loss and shadowing alone.
    pub struct Fading or "none" of Profile;
}

/// A TDD pattern: one letter a slot, `D`, `S` or `U`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct TddPattern(String);

impl TddPattern {
    /// The pattern, where it has 1 to [`MAX_PERIOD`] slots of `D`, `S`, `U` with at least one `U` and one of `D` or `S`.
    pub fn new(text: &str) -> Option<Self> {
        let ok = (1..=MAX_PERIOD).contains(&text.len())
            && text.bytes().all(|b| matches!(b, b'D' | b'S' | b'U'))
            && text.contains('U')
            && text.contains(['D', 'S']);
        ok.then(|| Self(text.to_owned()))
    }

    /// The letters.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Field for TddPattern {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        match &at.node.value {
            Value::Str(s) => Self::new(s),
            _ => None,
        }
        .ok_or_else(|| at.wrong(Self::describe()))
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Str(self.0.clone()))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "pattern": format!("^[DSU]{{1,{MAX_PERIOD}}}$") })
    }
    fn describe() -> String {
        format!("1 to {MAX_PERIOD} letters D, S, U, with downlink and uplink (\"DDDSU\")")
    }
    fn example() -> Self {
        Self("DDDSU".to_owned())
    }
}

/// Symbols of the special slot: downlink, guard, uplink; 14 together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SpecialSlot {
    /// Downlink symbols.
    pub down: u8,
    /// Guard symbols.
    pub guard: u8,
    /// Uplink symbols.
    pub up: u8,
}

impl Field for SpecialSlot {
    type Bound = ();
    fn decode(at: &At<'_>) -> Result<Self, ScenarioError> {
        let parse = |s: &str| {
            let parts: Vec<u8> = s
                .split(':')
                .map(str::parse)
                .collect::<Result<_, _>>()
                .ok()?;
            match *parts.as_slice() {
                [down, guard, up] if u16::from(down) + u16::from(guard) + u16::from(up) == 14 => {
                    Some(Self { down, guard, up })
                }
                _ => None,
            }
        };
        match &at.node.value {
            Value::Str(s) => parse(s),
            _ => None,
        }
        .ok_or_else(|| at.wrong(Self::describe()))
    }
    fn encode(&self) -> Option<Value> {
        Some(Value::Str(format!(
            "{}:{}:{}",
            self.down, self.guard, self.up
        )))
    }
    fn schema() -> serde_json::Value {
        serde_json::json!({ "type": "string", "pattern": "^[0-9]+:[0-9]+:[0-9]+$" })
    }
    fn describe() -> String {
        "downlink:guard:uplink symbols, 14 together (\"10:2:2\")".to_owned()
    }
    fn example() -> Self {
        Self {
            down: 10,
            guard: 2,
            up: 2,
        }
    }
}

section! {
    /// The cell.
    pub struct Cell {
        /// Radio access technology.
        pub rat: Rat = Rat::Lte,
        /// Channel bandwidth; LTE 1.4, 3, 5, 10, 15 or 20 MHz.
        #[within(Hertz(1_400_000), Hertz(2_000_000_000))]
        pub bandwidth: Hertz = if rat == Rat::Lte { Hertz::from_mhz(10) } else { Hertz::from_mhz(100) },
        /// Resource blocks; left out, they follow from the bandwidth (36.101, 5.6; 38.101-1, 5.3.2; beyond those
        /// tables, whole blocks of 12 subcarriers in the bandwidth).
        #[within(1, 1320)]
        pub n_rb: Option<u16> = None,
        /// Subcarrier spacing: 15, 30, 60 or 120 kHz; LTE 15 kHz.
        #[within(Hertz::from_khz(15), Hertz::from_khz(120))]
        pub scs: Hertz = if rat == Rat::Lte { Hertz::from_khz(15) } else { Hertz::from_khz(30) },
        /// Duplex mode. LTE: FDD only.
        pub duplex: Duplex = if rat == Rat::Lte { Duplex::Fdd } else { Duplex::Tdd },
        /// TDD pattern.
        pub tdd: TddPattern = TddPattern::example(),
        /// Symbols of the pattern's S slots.
        pub special: SpecialSlot = SpecialSlot::example(),
        /// Downlink layers.
        #[within(range::LAYERS.0, range::LAYERS.1)]
        pub layers: u8 = 1,
        /// MCS and CQI tables.
        pub mcs_table: McsTable = if rat == Rat::Lte { McsTable::Qam64 } else { McsTable::Qam256 },
        /// Scheduler.
        pub scheduler: Scheduler = Scheduler::BuiltIn(SchedulerKind::ProportionalFair),
        /// Memory of the average rates that schedulers go by.
        #[within(Duration::from_millis(1), Duration::from_secs(10))]
        pub pf_window: Duration = Duration::from_millis(100),
        /// Blocks that the scheduler may give; left out, all (ns-3 gives whole groups: 48 of 50).
        #[within(1, 1320)]
        pub schedulable_prbs: Option<u16> = None,
        /// UEs that share a downlink slot in equal parts, at most; with 1 the cell polls: what a UE does not need of its
        /// slot is lost. Left out, the first takes what it needs and the rest goes to the next.
        #[within(1, 64)]
        pub ues_per_slot: Option<u8> = None,
        /// Carrier frequency.
        #[within(Hertz::from_mhz(400), Hertz::from_mhz(100_000))]
        pub carrier: Hertz = if rat == Rat::Lte { Hertz::from_mhz(2_120) } else { Hertz::from_mhz(3_500) },
        /// Power of the base station.
        #[within(Dbm(-30.0), Dbm(80.0))]
        pub tx_power: Dbm = if rat == Rat::Lte { Dbm(46.0) } else { Dbm(44.0) },
        /// Power of the UE.
        #[within(Dbm(-50.0), Dbm(40.0))]
        pub ue_tx_power: Dbm = Dbm(23.0),
        /// Gain of the base station's antenna.
        #[within(Db(-10.0), Db(50.0))]
        pub antenna_gain: Db = Db(0.0),
        /// Noise figure of the UE.
        #[within(Db(0.0), Db(30.0))]
        pub noise_figure: Db = Db(9.0),
        /// Noise figure of the base station.
        #[within(Db(0.0), Db(30.0))]
        pub bs_noise_figure: Db = Db(5.0),
        /// Path loss.
        pub pathloss: PathLoss = PathLoss::LogDistance(LogDistance::example()),
        /// Standard deviation of shadowing; 0 switches it off.
        #[within(Db(0.0), Db(20.0))]
        pub shadowing: Db = Db(0.0),
        /// Distance over which shadowing decorrelates.
        #[within(Metres(0.1), Metres(1000.0))]
        pub shadowing_distance: Metres = Metres(50.0),
        /// Fast fading.
        pub fading: Fading = Fading(None),
        /// Delay spread of the TDL profiles.
        #[within(Duration::from_nanos(1), Duration::from_micros(10))]
        pub delay_spread: Duration = Duration::from_nanos(100),
        /// How spectral efficiency follows from SINR.
        pub amc: Amc = Amc::Gap,
        /// SINR gap to Shannon's bound, with `amc = "gap"`.
        #[within(Db(0.0), Db(20.0))]
        pub gap: Db = Db(1.9),
        /// CQI reports.
        pub cqi: CqiConfig = CqiConfig::example(),
        /// Outer-loop link adaptation.
        pub olla: OllaConfig = OllaConfig::example(),
        /// HARQ.
        pub harq: HarqConfig = HarqConfig::example(),
        /// Slots between control and data.
        pub timing: Timing = Timing::example(),
        /// Uplink requests.
        pub uplink: UplinkConfig = UplinkConfig::example(),
        /// RLC.
        pub rlc: Rlc = Rlc::example(),
        /// PDCP.
        pub pdcp: PdcpConfig = PdcpConfig::example(),
    }
    check(me, at) {
        check_cell(me, at)?;
    }
}

fn check_cell(me: &Cell, at: &At<'_>) -> Result<(), ScenarioError> {
    // The node of a key, or of the last table on the way to it that the file holds.
    let place = |key: &str| {
        let mut node = at.node;
        for part in key.split('.') {
            let Value::Table(table) = &node.value else {
                break;
            };
            let Some(below) = table.get(part) else { break };
            node = below;
        }
        at.child(key, node)
    };
    let text = |v: &dyn core::fmt::Display| format!("\"{v}\"");
    match me.rat {
        Rat::Lte => {
            const WIDTHS: [u64; 6] = [
                1_400_000, 3_000_000, 5_000_000, 10_000_000, 15_000_000, 20_000_000,
            ];
            if !WIDTHS.contains(&me.bandwidth.0) && me.n_rb.is_none() {
                return Err(place("bandwidth").error(
                    text(&me.bandwidth),
                    "1.4, 3, 5, 10, 15 or 20 MHz for LTE (36.101, 5.6)",
                ));
            }
            if me.scs != Hertz::from_khz(15) {
                return Err(place("scs").error(text(&me.scs), "15 kHz for LTE"));
            }
            if me.duplex == Duplex::Tdd {
                return Err(place("duplex").error("\"tdd\"", "\"fdd\" for LTE"));
            }
            if me.mcs_table == McsTable::LowSe {
                return Err(
                    place("mcs_table").error("\"low-se\"", "\"64qam\" or \"256qam\" for LTE")
                );
            }
            if me.n_rb.is_some_and(|n| n > range::LTE_BLOCKS.1) {
                let (low, high) = range::LTE_BLOCKS;
                return Err(place("n_rb").wrong(format!("{low} to {high} for LTE")));
            }
            let Timing { k0, k1, k2, .. } = me.timing;
            if (k0, k1, k2) != (0, 4, 4) {
                return Err(place("timing").error(
                    format!("k0 = {k0}, k1 = {k1}, k2 = {k2}"),
                    "k0 = 0, k1 = 4, k2 = 4 for LTE (36.213, 7.3 and 8.0)",
                ));
            }
        }
        Rat::Nr => {
            if ![15, 30, 60, 120].map(Hertz::from_khz).contains(&me.scs) {
                return Err(place("scs").error(text(&me.scs), "15, 30, 60 or 120 kHz"));
            }
            if me.duplex == Duplex::Tdd {
                // Letters and symbols are right by themselves; together they may leave a direction without a slot.
                let special = format!("{}:{}:{}", me.special.down, me.special.guard, me.special.up);
                if let Err(e) = slackwater_ran::tdd::TddPattern::parse(me.tdd.as_str(), &special) {
                    return Err(place("tdd").error(
                        format!("\"{}\" with special = \"{special}\"", me.tdd.as_str()),
                        format!("a pattern with both directions ({e})"),
                    ));
                }
            }
            if let Some(rtt) = &me.harq.rtt {
                return Err(place("harq.rtt").error(
                    text(rtt),
                    "no such key for NR: `timing` has K1 and processing",
                ));
            }
        }
    }
    check_slots(me, &place)
}

/// Times that the cell counts in slots, and blocks: what cannot be is refused.
fn check_slots<'a>(me: &Cell, place: &dyn Fn(&str) -> At<'a>) -> Result<(), ScenarioError> {
    let slot = Duration::from_nanos(15_000_000_000 / me.scs.0);
    let slots = |d: Duration| d.as_nanos().div_ceil(slot.as_nanos());
    if let Some(p) = me.timing.processing
        && slots(p) > MOST_PROCESSING
    {
        return Err(place("timing.processing").error(
            format!("\"{p}\""),
            format!(
                "at most {MOST_PROCESSING} slots, \"{}\"",
                slot * MOST_PROCESSING
            ),
        ));
    }

    if let Some(p) = me.uplink.prepare
        && slots(p) > u64::from(me.timing.k2)
    {
        return Err(place("uplink.prepare").error(
            format!("\"{p}\""),
            format!("at most K2, \"{}\"", slot * u64::from(me.timing.k2)),
        ));
    }

    if let Some(rtt) = me.harq.rtt {
        // The block takes its way to the air, and its feedback K1: the scheduler knows a slot later at the earliest.
        let processing = me.timing.processing.unwrap_or(slot);
        let least = slots(processing) + u64::from(me.timing.k1) + 1;
        if slots(rtt) < least {
            return Err(place("harq.rtt").error(
                format!("\"{rtt}\""),
                format!("at least \"{}\": processing, K1 and a slot", slot * least),
            ));
        }
    }

    let blocks = crate::build::cell::blocks(me);
    if me.schedulable_prbs.is_some_and(|n| n > blocks) {
        return Err(place("schedulable_prbs").wrong(format!("1 to {blocks}, the cell's blocks")));
    }
    Ok(())
}

/// Most slots between a packet's arrival and the air.
const MOST_PROCESSING: u64 = range::MAC_TO_AIR.1 as u64;
