//! What a cell is made of.

use core::fmt;

use slackwater_core::{Draw, Duration, Qfi, Rate, Rnti};
use slackwater_queue::{Law, QueueConfig};
use slackwater_schema::field::Field as _;

use super::delays::Delays;
use super::keys::{BufferStatus, CqiConfig, HarqConfig, OllaConfig, Timing, UplinkConfig, range};
use crate::mac::{FiveQi, SchedulerKind, SharePolicy};
use crate::pdcp::PdcpConfig;
use crate::phy::bandwidth;
use crate::phy::{AmcModel, Budget, ChannelConfig, LinkModel, McsTable};
use crate::rat::Rat;
use crate::rlc::RlcConfig;
use crate::tdd::{Duplex, TddPattern};

/// A cell.
#[derive(Clone, Debug)]
pub struct CellConfig {
    /// Technology.
    pub rat: Rat,
    /// FDD, or TDD with its pattern.
    pub duplex: Duplex,
    /// Numerology: 15 kHz times `2^mu`, slots of 1 ms over `2^mu`. Zero in LTE.
    pub mu: u8,
    /// Resource blocks, downlink.
    pub n_rb_dl: u16,
    /// Resource blocks, uplink.
    pub n_rb_ul: u16,
    /// Blocks that the downlink scheduler may give in a slot, at most `n_rb_dl` (ns-3's proportional fair gives 48 of
    /// 50).
    pub schedulable_dl: u16,
    /// Blocks that the uplink scheduler may give in a slot.
    pub schedulable_ul: u16,
    /// Blocks per resource block group, downlink.
    pub rbg_dl: u16,
    /// Blocks per grant step, uplink.
    pub rbg_ul: u16,
    /// Spatial layers, downlink.
    pub layers: u8,
    /// Spatial layers, uplink.
    pub layers_ul: u8,
    /// Downlink MCS table.
    pub mcs_table: McsTable,
    /// Uplink MCS table.
    pub mcs_table_ul: McsTable,
    /// Downlink scheduler.
    pub scheduler: SchedulerKind,
    /// Uplink scheduler.
    pub scheduler_ul: SchedulerKind,
    /// Time over which schedulers average the rates that UEs were given.
    pub average_window: Duration,
    /// Sharing of a slot.
    pub share: SharePolicy,
    /// HARQ.
    pub harq: HarqConfig,
    /// CQI.
    pub cqi: CqiConfig,
    /// OLLA.
    pub olla: OllaConfig,
    /// Slots between control and data.
    pub timing: Timing,
    /// How UEs get grants.
    pub uplink: UplinkConfig,
    /// NR: slots from that of the HARQ feedback to the first decision that knows it. In LTE it follows from `harq.rtt`.
    pub feedback_to_mac: u8,
    /// From the end of a slot on the air to the packet at the receiver's PDCP.
    pub decode: Duration,
    /// SINR to block error rate.
    pub link: LinkModel,
    /// Symbols of a downlink slot that carry control (NR).
    pub control_symbols: u8,
    /// Resource elements per PRB and slot that reference signals take (NR).
    pub dmrs_re: u8,
    /// Further overhead per PRB and slot (NR `xOverhead`: 0, 6, 12, 18).
    pub overhead_re: u8,
    /// Transmit power of the cell over its whole carrier.
    pub tx_power_dbm: f64,
    /// Transmit power of a UE.
    pub ue_tx_power_dbm: f64,
    /// Carrier frequency.
    pub carrier_ghz: f64,
    /// Noise figure of a UE.
    pub noise_figure_db: f64,
    /// Noise figure of the cell.
    pub noise_figure_ul_db: f64,
    /// True: packets that enter PDCP are told to the observer.
    pub observe_pdcp: bool,
    /// True: the observer learns of downlink packets that are gone, when the base station knows it.
    pub observe_gone: bool,
    /// True: it learns of uplink packets that are gone, and of uplink slots in which the cell slept.
    pub observe_gone_up: bool,
}

/// One radio bearer of a UE, both directions.
#[derive(Default)]
pub struct BearerConfig {
    /// Its `QoS` flows. The UE's first bearer takes those that none names.
    pub qfis: Vec<Qfi>,
    /// Lower goes first, strictly; equals take turns.
    pub priority: u8,
    /// Class of service, for schedulers that go by it.
    pub class: FiveQi,
    /// Guaranteed rate, for schedulers that go by it.
    pub guaranteed: Option<Rate>,
    /// RLC.
    pub rlc: RlcConfig,
    /// PDCP.
    pub pdcp: PdcpConfig,
    /// Law of the downlink queue: it goes by the sojourn time at dequeue and the head's age at enqueue.
    pub law: Option<Box<dyn Law>>,
    /// Law of the uplink queue.
    pub law_ul: Option<Box<dyn Law>>,
    /// A container for the downlink in place of one queue, first in first out, under `law`; the draw decides what it leaves
    /// to chance. Its limits hold in place of the RLC's.
    pub queue: Option<(QueueConfig, Draw)>,
}

impl fmt::Debug for BearerConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BearerConfig")
            .field("qfis", &self.qfis)
            .field("priority", &self.priority)
            .field("class", &self.class)
            .field("guaranteed", &self.guaranteed)
            .field("rlc", &self.rlc)
            .field("pdcp", &self.pdcp)
            .field("law", &self.law.is_some())
            .field("law_ul", &self.law_ul.is_some())
            .field("queue", &self.queue)
            .finish()
    }
}

/// A UE.
#[derive(Debug)]
pub struct UeConfig {
    /// Its channel.
    pub channel: ChannelConfig,
    /// Its bearers, the default one first.
    pub bearers: Vec<BearerConfig>,
    /// Its identifier on the control channel.
    pub rnti: Rnti,
}

/// Why a cell cannot be built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// A value is out of range: the field, what was found, what was expected.
    Range {
        /// The field.
        field: &'static str,
        /// Its value.
        found: String,
        /// What would do.
        expected: String,
    },
    /// A UE has no bearer.
    NoBearer(usize),
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Range {
                field,
                found,
                expected,
            } => write!(f, "{field}: found {found}, expected {expected}"),
            Self::NoBearer(ue) => write!(f, "UE {ue} has no bearer"),
        }
    }
}

impl core::error::Error for ConfigError {}

/// Slot length at numerology `mu`: 1 ms over `2^mu` (TS 38.211, 4.3.2).
const fn slot_duration(mu: u8) -> Duration {
    Duration::from_nanos(1_000_000 >> mu)
}

impl CellConfig {
    /// An LTE FDD cell of 1.4, 3, 5, 10, 15 or 20 MHz; other widths take 5 blocks per MHz.
    ///
    /// Timing by TS 36.213: downlink data to feedback 4 subframes (10.1), grant to PUSCH 4 (8.0), PUSCH to PHICH 4
    /// (9.1.2), so that both HARQ loops take 8. A decision reaches the air 1 subframe later and feedback is known to the
    /// scheduler 3 after its subframe, as eNBs of that time budgeted. Scheduling requests every 10 ms.
    pub fn lte(bandwidth_mhz: f64) -> Self {
        let khz = (bandwidth_mhz * 1000.0 + 0.5) as u32;
        let n_rb = bandwidth::lte_n_rb(khz).unwrap_or(((khz / 200).clamp(1, 110)) as u16);
        Self {
            rat: Rat::Lte,
            duplex: Duplex::Fdd,
            mu: 0,
            n_rb_dl: n_rb,
            n_rb_ul: n_rb,
            schedulable_dl: n_rb,
            schedulable_ul: n_rb,
            rbg_dl: bandwidth::lte_rbg_size(n_rb),
            rbg_ul: 1,
            layers: 1,
            layers_ul: 1,
            mcs_table: McsTable::Lte64,
            mcs_table_ul: McsTable::LteUl,
            scheduler: SchedulerKind::ProportionalFair,
            scheduler_ul: SchedulerKind::RoundRobin,
            average_window: Duration::from_millis(100),
            share: SharePolicy::WholeSlot,
            harq: HarqConfig::example(),
            cqi: CqiConfig::example(),
            olla: OllaConfig::example(),
            timing: Timing::example(),
            uplink: UplinkConfig {
                first_grant: 64,
                ..UplinkConfig::example()
            },
            feedback_to_mac: 3,
            decode: Duration::ZERO,
            link: LinkModel::default(),
            control_symbols: 0,
            dmrs_re: 0,
            overhead_re: 0,
            tx_power_dbm: 46.0,
            ue_tx_power_dbm: 23.0,
            carrier_ghz: 2.0,
            noise_figure_db: 9.0,
            noise_figure_ul_db: 5.0,
            observe_pdcp: false,
            observe_gone: false,
            observe_gone_up: false,
        }
    }

    /// The LTE cell as ns-3 builds it: two subframes from MAC to air, 48 of 50 blocks schedulable by proportional
    /// fair at 10 MHz, buffer status told each subframe without a scheduling request's cycle, uplink grants that hold
    /// several acknowledgments. With a steady flow, a packet takes 3 subframes down and 5 up, after waiting for a
    /// subframe to begin.
    #[must_use]
    pub fn lte_ns3(bandwidth_mhz: f64) -> Self {
        let base = Self::lte(bandwidth_mhz);
        let whole = base.n_rb_dl / base.rbg_dl * base.rbg_dl;
        Self {
            schedulable_dl: whole,
            timing: Timing {
                // lte-enb-phy.cc, MacToChannelDelay; lte-common.h, UL_PUSCH_TTIS_DELAY.
                processing: Some(Duration::from_millis(2)),
                ..base.timing
            },
            uplink: UplinkConfig {
                prepare: Some(Duration::from_millis(4)),
                sr_period: Some(Duration::from_millis(1)),
                buffer_status: BufferStatus::OutOfBand,
                min_grant: 1500,
                ..base.uplink
            },
            cqi: CqiConfig {
                period: Duration::from_millis(1),
                delay: Duration::from_millis(2),
            },
            olla: OllaConfig {
                enabled: false,
                ..base.olla
            },
            link: LinkModel {
                amc: AmcModel::Ns3Mi,
                ..base.link
            },
            tx_power_dbm: 30.0,
            ..base
        }
    }

    /// An NR TDD cell (`DDDSU`) of `bandwidth_mhz` at numerology `mu`; `n_rb_dl` and `n_rb_ul` may be set afterwards
    /// where the carrier is none of TS 38.101's.
    ///
    /// K0 = 0, K1 and K2 at least 4 slots (`min_k1`, `min_k2` of srsRAN Project); one control symbol and 12 resource
    /// elements of DM-RS per PRB.
    pub fn nr(bandwidth_mhz: u32, mu: u8) -> Self {
        let n_rb = bandwidth::nr_n_rb(bandwidth_mhz, 15 << mu.min(6));
        let rbg = bandwidth::nr_rbg_size(n_rb, false);
        Self {
            rat: Rat::Nr,
            duplex: Duplex::Tdd(TddPattern::dddsu()),
            mu,
            n_rb_dl: n_rb,
            n_rb_ul: n_rb,
            schedulable_dl: n_rb,
            schedulable_ul: n_rb,
            rbg_dl: rbg,
            rbg_ul: rbg,
            mcs_table: McsTable::Nr256,
            mcs_table_ul: McsTable::Nr64,
            cqi: CqiConfig {
                period: Duration::from_millis(10),
                delay: slot_duration(mu) * 6,
            },
            uplink: UplinkConfig {
                first_grant: 100,
                ..UplinkConfig::example()
            },
            feedback_to_mac: 2,
            decode: Duration::from_micros(100),
            control_symbols: 1,
            dmrs_re: 12,
            overhead_re: 0,
            tx_power_dbm: 44.0,
            carrier_ghz: 3.5,
            ..Self::lte(20.0)
        }
    }

    /// Link budget of the downlink, for the channels of this cell's UEs.
    pub fn downlink_budget(&self) -> Budget {
        Budget {
            tx_power_dbm: self.tx_power_dbm,
            blocks: self.n_rb_dl,
            block_hz: bandwidth::prb_hz(15 << self.mu),
            noise_figure_db: self.noise_figure_db,
            ..Budget::DOWNLINK
        }
    }

    /// Link budget of the uplink, likewise.
    pub fn uplink_budget(&self) -> Budget {
        Budget {
            tx_power_dbm: self.ue_tx_power_dbm,
            blocks: self.n_rb_ul,
            block_hz: bandwidth::prb_hz(15 << self.mu),
            noise_figure_db: self.noise_figure_ul_db,
            ..Budget::UPLINK
        }
    }

    /// The NR cell as 5G-LENA builds it in CECC's set-up: 200 MHz at 15 kHz, `DDDSU` with data in 12 symbols of the
    /// special slot, two slots from MAC to air, N1 = N2 = 2, 0.1 ms to decode.
    #[must_use]
    pub fn nr_lena() -> Self {
        let n_rb = 1066;
        let base = Self::nr(200, 0);
        Self {
            duplex: Duplex::Tdd(
                TddPattern::parse("DDDSU", "12:0:2").expect("the pattern is well-formed"),
            ),
            // 4 % of guard bands: 192 MHz over 180 kHz.
            n_rb_dl: n_rb,
            n_rb_ul: n_rb,
            schedulable_dl: n_rb,
            schedulable_ul: n_rb,
            timing: Timing {
                k1: 2,
                k2: 2,
                processing: Some(Duration::from_millis(2)),
                ..base.timing
            },
            uplink: UplinkConfig {
                prepare: Some(Duration::from_millis(2)),
                ..base.uplink
            },
            feedback_to_mac: 1,
            tx_power_dbm: 30.0,
            noise_figure_db: 5.0,
            ..base
        }
    }

    /// The same cell with `n` resource blocks in both directions, all of them schedulable, in groups of the size that
    /// belongs to them.
    #[must_use]
    pub fn with_blocks(self, n: u16) -> Self {
        let (rbg_dl, rbg_ul) = match self.rat {
            Rat::Lte => (bandwidth::lte_rbg_size(n), 1),
            Rat::Nr => (
                bandwidth::nr_rbg_size(n, false),
                bandwidth::nr_rbg_size(n, false),
            ),
        };
        Self {
            n_rb_dl: n,
            n_rb_ul: n,
            schedulable_dl: n,
            schedulable_ul: n,
            rbg_dl,
            rbg_ul,
            ..self
        }
    }

    /// Slot length: 1 ms over `2^mu` (TS 38.211, 4.3.2).
    pub const fn slot_duration(&self) -> Duration {
        slot_duration(self.mu)
    }

    /// Delays in slots.
    pub fn delays(&self) -> Delays {
        Delays::of(self)
    }

    /// HARQ processes of a UE and direction: 8 in LTE (TS 36.213, 7 and 8), 16 in NR (TS 38.214, 5.1), unless told otherwise.
    pub fn processes(&self) -> u8 {
        let own = match self.rat {
            Rat::Lte => 8,
            Rat::Nr => 16,
        };
        self.harq.processes.unwrap_or(own)
    }

    /// Checks ranges.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        let range = |field, found: String, expected: &str, ok: bool| {
            if ok {
                Ok(())
            } else {
                Err(ConfigError::Range {
                    field,
                    found,
                    expected: expected.to_owned(),
                })
            }
        };
        let within = |field, value: u8, (low, high): (u8, u8)| {
            let expected = format!("{low} to {high}");
            range(
                field,
                value.to_string(),
                &expected,
                (low..=high).contains(&value),
            )
        };
        let (lte, delays) = (self.rat == Rat::Lte, self.delays());
        range(
            "mu",
            self.mu.to_string(),
            "0 in LTE, 0 to 4 in NR",
            self.mu <= if lte { 0 } else { 4 },
        )?;
        let most = if lte { range::LTE_BLOCKS.1 } else { 4400 };
        range(
            "n_rb_dl",
            self.n_rb_dl.to_string(),
            "1 to 110 in LTE, 1 to 4400 in NR",
            (1..=most).contains(&self.n_rb_dl),
        )?;
        range(
            "n_rb_ul",
            self.n_rb_ul.to_string(),
            "1 to 110 in LTE, 1 to 4400 in NR",
            (1..=most).contains(&self.n_rb_ul),
        )?;
        range(
            "schedulable_dl",
            self.schedulable_dl.to_string(),
            "1 to n_rb_dl",
            (1..=self.n_rb_dl).contains(&self.schedulable_dl),
        )?;
        range(
            "schedulable_ul",
            self.schedulable_ul.to_string(),
            "1 to n_rb_ul",
            (1..=self.n_rb_ul).contains(&self.schedulable_ul),
        )?;
        within("layers", self.layers, range::LAYERS)?;
        within("layers_ul", self.layers_ul, range::LAYERS)?;
        range(
            "mcs_table",
            self.mcs_table.name().to_owned(),
            "a table of the cell's technology",
            self.mcs_table.is_lte() == lte,
        )?;
        range(
            "mcs_table_ul",
            self.mcs_table_ul.name().to_owned(),
            "a table of the cell's technology",
            self.mcs_table_ul.is_lte() == lte,
        )?;
        within("harq.processes", self.processes(), range::PROCESSES)?;
        within(
            "harq.transmissions",
            self.harq.transmissions,
            range::TRANSMISSIONS,
        )?;
        range(
            "cqi.period",
            self.cqi.period.to_string(),
            "at least 1 slot",
            delays.cqi_period >= 1,
        )?;
        range(
            "olla.target",
            self.olla.target.to_string(),
            "above 0 % and below 100 %",
            self.olla.target.0 > 0.0 && self.olla.target.0 < 100.0,
        )?;
        range(
            "uplink.sr_period",
            delays.sr_period.to_string(),
            "at least 1 slot",
            delays.sr_period >= 1,
        )?;
        within("timing.k1", self.timing.k1, range::K1)?;
        within("timing.k2", self.timing.k2, range::K2)?;
        let expected = format!("at most {} slots", range::MAC_TO_AIR.1);
        range(
            "timing.processing",
            format!("{} slots", delays.mac_to_air),
            &expected,
            delays.mac_to_air <= range::MAC_TO_AIR.1,
        )?;
        range(
            "control_symbols",
            self.control_symbols.to_string(),
            "at most 3",
            self.control_symbols <= 3,
        )
    }
}
