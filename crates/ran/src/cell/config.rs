//! What a cell is made of.

use core::fmt;

use slackwater_core::{Draw, Duration, Qfi, Rate, Rnti};
use slackwater_queue::{Law, QueueConfig};
use slackwater_schema::units::{Db, Percent};
use slackwater_schema::{choice, field::Field as _, section};

use crate::mac::{FiveQi, SchedulerKind, SharePolicy};
use crate::pdcp::PdcpConfig;
use crate::phy::bandwidth;
use crate::phy::{AmcModel, Budget, ChannelConfig, Combining, LinkModel, McsTable};
use crate::rlc::RlcConfig;
use crate::tdd::{Duplex, TddPattern};

choice! {
    /// Radio access technology.
    pub enum Rat {
        /// LTE (36 series).
        Lte = "lte",
        /// NR (38 series).
        Nr = "nr",
    }
}

/// Ranges of values, least and most, that a cell can work with; scenarios take theirs from here.
pub mod range {
    /// HARQ processes of a UE and direction; NR allows 32 for some bands, the cell has bits for 16.
    pub const PROCESSES: (u8, u8) = (1, 16);
    /// Transmissions of a block, the first included.
    pub const TRANSMISSIONS: (u8, u8) = (1, 16);
    /// Slots from data to its HARQ feedback.
    pub const K1: (u8, u8) = (1, 16);
    /// Slots from an uplink grant to its data.
    pub const K2: (u8, u8) = (1, 16);
    /// Slots from the scheduler's decision to the air.
    pub const MAC_TO_AIR: (u8, u8) = (0, 8);
    /// Spatial layers.
    pub const LAYERS: (u8, u8) = (1, 4);
    /// Resource blocks of an LTE carrier (TS 36.101, 5.6).
    pub const LTE_BLOCKS: (u16, u16) = (1, 110);
}

/// Hybrid ARQ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HarqConfig {
    /// Processes per UE and direction, 1 to 16.
    pub processes: u8,
    /// Transmissions of a block, the first included.
    pub max_tx: u8,
    /// False: every block is sent once.
    pub enabled: bool,
    /// What a receiver makes of several transmissions of a block.
    pub combining: Combining,
    /// Uplink retransmissions come this many slots after the failed one (LTE, synchronous: 8; TS 36.321, 5.4.2.2);
    /// `None` lets the scheduler choose (NR).
    pub uplink_period: Option<u8>,
}

/// Channel quality reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CqiConfig {
    /// Slots between reports of one UE; UEs take turns.
    pub period: u16,
    /// Slots from measurement to first use by the scheduler.
    pub delay: u16,
    /// True: a report is one of 16 CQI, and link adaptation starts from the SINR that its CQI stands for (or, without
    /// the outer loop, from the CQI's MCS). False: the SINR itself is known.
    pub quantised: bool,
}

section! {
    /// Outer-loop link adaptation: steps on the SINR offset that hold the block error rate at the target.
    pub struct OllaConfig {
        /// On or off.
        pub enabled: bool = true,
        /// Share of first transmissions that may fail.
        #[within(Percent(0.001), Percent(50.0))]
        pub target: Percent = Percent(10.0),
        /// Step down after a failure; the step up follows from the target.
        #[within(Db(0.0), Db(10.0))]
        pub step: Db = Db(0.5),
        /// Largest offset either way.
        #[within(Db(0.0), Db(40.0))]
        pub limit: Db = Db(10.0),
    }
}

/// Delays, in slots unless stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timing {
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
    /// The UE fills an uplink block this many slots before PUSCH.
    pub uplink_prepare: u8,
    /// From the end of a slot on the air to the packet at the receiver's PDCP.
    pub decode: Duration,
    /// Slots between scheduling-request opportunities of one UE; UEs take turns.
    pub sr_period: u16,
    /// From the slot of the scheduling request to the first decision that knows it.
    pub sr_to_mac: u8,
    /// True: scheduling requests tell the backlog, and are sent as long as there is one (ns-3's UEs report it each
    /// subframe out of band).
    pub sr_tells_backlog: bool,
    /// Bytes granted in answer to a scheduling request, before the buffer status is known.
    pub sr_grant: u32,
    /// Slots after the latest uplink grant in which data that still waits makes a UE ask anew (retxBSR-Timer; TS 36.321 and
    /// TS 38.321, 5.4.5).
    pub retx_bsr: u32,
    /// Slots after which a block that has no room for padding carries a buffer status report all the same
    /// (periodicBSR-Timer); 0: each block does.
    pub periodic_bsr: u32,
}

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
    /// Uplink grants hold at least this many bytes where resource blocks are left.
    pub min_grant_ul: u32,
    /// HARQ.
    pub harq: HarqConfig,
    /// CQI.
    pub cqi: CqiConfig,
    /// OLLA.
    pub olla: OllaConfig,
    /// Delays.
    pub timing: Timing,
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
            min_grant_ul: 0,
            harq: HarqConfig {
                processes: 8,
                max_tx: 4,
                enabled: true,
                combining: Combining::Redundancy,
                uplink_period: Some(8),
            },
            cqi: CqiConfig {
                period: 5,
                delay: 6,
                quantised: true,
            },
            olla: OllaConfig::example(),
            timing: Timing {
                mac_to_air: 1,
                k0: 0,
                k1: 4,
                k2: 4,
                feedback_to_mac: 3,
                uplink_prepare: 2,
                decode: Duration::ZERO,
                sr_period: 10,
                sr_to_mac: 1,
                sr_tells_backlog: false,
                sr_grant: 64,
                retx_bsr: 320,
                periodic_bsr: 0,
            },
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
            min_grant_ul: 1500,
            timing: Timing {
                // lte-enb-phy.cc, MacToChannelDelay; lte-common.h, UL_PUSCH_TTIS_DELAY.
                mac_to_air: 2,
                feedback_to_mac: 2,
                uplink_prepare: 4,
                sr_period: 1,
                sr_tells_backlog: true,
                ..base.timing
            },
            cqi: CqiConfig {
                period: 1,
                delay: 2,
                quantised: true,
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
            harq: HarqConfig {
                processes: 16,
                max_tx: 4,
                enabled: true,
                combining: Combining::Redundancy,
                uplink_period: None,
            },
            cqi: CqiConfig {
                period: 10 << mu,
                delay: 6,
                quantised: true,
            },
            timing: Timing {
                mac_to_air: 1,
                k0: 0,
                k1: 4,
                k2: 4,
                feedback_to_mac: 2,
                uplink_prepare: 1,
                decode: Duration::from_micros(100),
                sr_period: 10 << mu,
                sr_to_mac: 1,
                sr_tells_backlog: false,
                sr_grant: 100,
                retx_bsr: 80 << mu,
                periodic_bsr: 0,
            },
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
                mac_to_air: 2,
                k1: 2,
                k2: 2,
                feedback_to_mac: 1,
                uplink_prepare: 2,
                ..base.timing
            },
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
        Duration::from_nanos(1_000_000 >> self.mu)
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
        let lte = self.rat == Rat::Lte;
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
        within("harq.processes", self.harq.processes, range::PROCESSES)?;
        within("harq.max_tx", self.harq.max_tx, range::TRANSMISSIONS)?;
        range(
            "cqi.period",
            self.cqi.period.to_string(),
            "at least 1 slot",
            self.cqi.period >= 1,
        )?;
        range(
            "olla.target",
            self.olla.target.to_string(),
            "above 0 % and below 100 %",
            self.olla.target.0 > 0.0 && self.olla.target.0 < 100.0,
        )?;
        range(
            "timing.sr_period",
            self.timing.sr_period.to_string(),
            "at least 1 slot",
            self.timing.sr_period >= 1,
        )?;
        within("timing.k1", self.timing.k1, range::K1)?;
        within("timing.k2", self.timing.k2, range::K2)?;
        within(
            "timing.mac_to_air",
            self.timing.mac_to_air,
            range::MAC_TO_AIR,
        )?;
        range(
            "control_symbols",
            self.control_symbols.to_string(),
            "at most 3",
            self.control_symbols <= 3,
        )
    }
}
