//! One direction of a cell: what the scheduler reads and writes each slot.

use slackwater_core::{Bytes, Direction, Draw, Instant, Prbs, UeId};
use slackwater_signal::{Grant, HarqFeedback};

use super::config::CellConfig;
use super::stats::DirStats;
use crate::mac::grants::{GrantTable, Share};
use crate::mac::{BitSet, Sampler, Scheduler, Setup};
use crate::phy::harq::limited_buffer_bits;
use crate::phy::math::from_db;
use crate::phy::{Bler, CodedBits, Combining, CqiTable, Heard, McsTable, TbsTable};
use crate::radio::{Kind, Radio};
use crate::rat::Rat;
use crate::rlc::Piece;
use crate::tdd::{MIN_PDSCH_SYMBOLS, MIN_PUSCH_SYMBOLS};

/// A transport block in its HARQ process.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) pieces: Vec<Piece>,
    /// Slot on the air of the latest transmission.
    pub(super) air: u64,
    /// Number of the block among its UE's, for the draw of its fate.
    pub(super) serial: u64,
    pub(super) tbs: u32,
    pub(super) prbs: u16,
    pub(super) mcs: u8,
    pub(super) round: u8,
    pub(super) decoded: bool,
    /// What the receiver holds of it after a failure.
    heard: Heard,
    /// Uplink: buffer status as of the filling, and the bytes granted and filled by then.
    pub(super) bsr: Option<u32>,
    pub(super) filled_by: u64,
}

/// One direction.
pub(super) struct Side {
    pub(super) dir: Direction,
    /// Sizes by kind of slot, from kind 1.
    pub(super) tables: Vec<GrantTable>,
    /// Kind of slot on the air by slot modulo period; 0 carries nothing.
    pub(super) kind: Vec<u8>,
    /// Bytes that the UE's queues need, as far as the cell knows.
    pub(super) want: Vec<u32>,
    /// Who could be given a block of new data.
    pub(super) wants: BitSet,
    /// UEs whose link adaptation must be looked at in the next slot.
    pub(super) fresh: Vec<u32>,
    pub(super) free: Vec<u32>,
    pub(super) blocks: Vec<Block>,
    pub(super) processes: usize,
    /// Blocks that wait for resources to be sent again.
    pub(super) again: Vec<(u32, u8)>,
    pub(super) scheduler: Box<dyn Scheduler>,
    /// What the scheduler goes by beside rates, where it wants that.
    pub(super) sampler: Option<Sampler>,
    /// The UE whose MCS values free resource blocks.
    pub(super) reference: usize,
    pub(super) serial: Vec<u64>,
    pub(super) mcs: Vec<u8>,
    /// By kind of slot, from kind 1: bytes of one block for each UE at its MCS, in 1/256 byte.
    block_q8: Vec<Vec<u32>>,
    /// How often any of those changed.
    block_changes: u64,
    offset_db: Vec<f64>,
    offset_limit: f64,
    /// What the report in use tells of the SINR, in dB.
    told_db: Vec<f64>,
    /// The slot in which the next one is known.
    valid_until: Vec<u64>,
    /// By slot modulo the reporting period: no report of a UE that wants something brings news before.
    quiet_until: Vec<u64>,
    rated: Vec<bool>,
    bler: Bler,
    combining: Combining,
    mcs_table: McsTable,
    /// Linear distance of the link from Shannon's bound.
    gap: f64,
    /// NR downlink: bits that the soft buffer of a block holds at most.
    soft_bits: Option<f64>,
    draw: Draw,
    cqi_period: u64,
    cqi_delay: u64,
    target: f64,
    step_down: f64,
    step_up: f64,
    pub(super) stats: DirStats,
    pub(super) ue_stats: Vec<DirStats>,
    /// Someone looks at the grants and the feedback of this slot; else they are not kept.
    pub(super) watched: bool,
    pub(super) grants: Vec<Grant>,
    pub(super) feedback: Vec<HarqFeedback>,
    skipped: Vec<usize>,
}

/// What [`Side::choose`] found.
pub(super) struct Choice {
    pub(super) ue: usize,
    pub(super) process: u8,
    pub(super) part: Share,
    pub(super) tbs: u32,
}

impl Side {
    pub(super) fn new(config: &CellConfig, dir: Direction, ues: usize, draw: Draw) -> Self {
        let down = dir == Direction::Down;
        let (mcs_table, n_rb, schedulable, group, layers) = if down {
            (
                config.mcs_table,
                config.n_rb_dl,
                config.schedulable_dl,
                config.rbg_dl,
                config.layers,
            )
        } else {
            (
                config.mcs_table_ul,
                config.n_rb_ul,
                config.schedulable_ul,
                config.rbg_ul,
                config.layers_ul,
            )
        };
        // Kinds of slots, by data symbols.
        let mut kinds: Vec<u8> = Vec::new();
        let kind = (0..config.duplex.period())
            .map(|s| {
                let symbols = if down {
                    let n = config.duplex.down_symbols(s);
                    if n < MIN_PDSCH_SYMBOLS {
                        0
                    } else {
                        n - config.control_symbols.min(n)
                    }
                } else {
                    let n = config.duplex.up_symbols(s);
                    if n < MIN_PUSCH_SYMBOLS { 0 } else { n }
                };
                if symbols == 0 {
                    return 0;
                }
                let at = kinds.iter().position(|&k| k == symbols).unwrap_or_else(|| {
                    kinds.push(symbols);
                    kinds.len() - 1
                });
                at as u8 + 1
            })
            .collect();
        let tables: Vec<GrantTable> = kinds
            .iter()
            .map(|&symbols| {
                let sizes = match config.rat {
                    Rat::Lte => TbsTable::lte(mcs_table, layers, n_rb),
                    Rat::Nr => TbsTable::nr(
                        mcs_table,
                        layers,
                        n_rb,
                        symbols,
                        config.dmrs_re,
                        config.overhead_re,
                    ),
                };
                GrantTable::new(mcs_table.len() as u8, schedulable, group, |mcs, prbs| {
                    sizes.bytes(mcs, prbs)
                })
            })
            .collect();
        let target = config.olla.target.fraction();
        let step = if config.olla.enabled {
            config.olla.step.0
        } else {
            0.0
        };
        let delays = config.delays();
        let processes = usize::from(config.processes());
        let setup = Setup::new(ues, config.slot_duration(), config.average_window);
        let scheduler = if down {
            config.scheduler.build(&setup)
        } else {
            config.scheduler_ul.build(&setup)
        };
        Self {
            dir,
            block_q8: tables
                .iter()
                .map(|table| vec![table.block_bytes_q8(0); ues])
                .collect(),
            block_changes: 0,
            tables,
            kind,
            want: vec![0; ues],
            wants: BitSet::new(ues),
            fresh: Vec::new(),
            free: vec![(1u32 << processes) - 1; ues],
            blocks: vec![Block::default(); ues * processes],
            processes,
            again: Vec::new(),
            sampler: scheduler.wants_samples().then(|| Sampler::new(&setup)),
            scheduler,
            reference: 0,
            serial: vec![0; ues],
            mcs: vec![0; ues],
            offset_db: vec![0.0; ues],
            offset_limit: config.olla.limit.0,
            told_db: vec![0.0; ues],
            valid_until: vec![0; ues],
            quiet_until: vec![0; usize::from(delays.cqi_period)],
            rated: vec![false; ues],
            bler: Bler::new(&config.link, mcs_table, CqiTable::for_mcs(mcs_table))
                .with_target(target),
            combining: config.harq.combining,
            mcs_table,
            gap: from_db(config.link.gap_db),
            // TS 38.212, 7.2.5: always in the downlink; in the uplink where RRC says so.
            soft_bits: (config.rat == Rat::Nr && down).then(|| {
                let qm = mcs_table.qm(mcs_table.len() as u8 - 1);
                limited_buffer_bits(n_rb, layers, qm.max(6))
            }),
            draw: draw.fork(0x4841_5251, u64::from(!down)),
            cqi_period: u64::from(delays.cqi_period),
            cqi_delay: u64::from(delays.cqi_delay),
            target,
            step_down: step,
            step_up: step * target / (1.0 - target),
            stats: DirStats::default(),
            ue_stats: vec![DirStats::default(); ues],
            watched: false,
            grants: Vec::new(),
            feedback: Vec::new(),
            skipped: Vec::new(),
        }
    }

    #[inline]
    pub(super) fn kind_of(&self, slot: u64) -> usize {
        let at = match self.kind.len() {
            // FDD; a division is slow.
            1 => 0,
            period => (slot % period as u64) as usize,
        };
        usize::from(self.kind[at])
    }

    #[inline]
    pub(super) fn block(&mut self, ue: usize, process: u8) -> &mut Block {
        &mut self.blocks[ue * self.processes + usize::from(process)]
    }

    /// Brings the MCS of `ue` up to what is known in `slot`.
    #[inline]
    pub(super) fn refresh(&mut self, ue: usize, slot: u64, radio: &mut Radio) {
        if slot >= self.valid_until[ue] {
            self.report(ue, slot, radio);
        }
    }

    /// The first slot in which something new may be known of `ue`; `MAX` where its channel never changes.
    #[inline]
    pub(super) fn valid_until(&self, ue: usize) -> u64 {
        self.valid_until[ue]
    }

    /// Takes the latest report of `ue` that the scheduler knows in `slot`.
    fn report(&mut self, ue: usize, slot: u64, radio: &mut Radio) {
        let kind = radio.kind(ue, self.dir);
        let at = if kind == Kind::Sinr {
            let phase = ue as u64 % self.cqi_period;
            let known = self.cqi_delay + phase;
            // Before the first report, the channel at the start stands in for it.
            let (at, next) = match slot.checked_sub(known) {
                Some(past) => {
                    let k = past / self.cqi_period;
                    (k * self.cqi_period + phase, (k + 1) * self.cqi_period)
                }
                None => (0, 0),
            };
            self.valid_until[ue] = next + known;
            at
        } else {
            // Given values stand for what the scheduler uses in a slot.
            self.valid_until[ue] = slot + 1;
            slot
        };
        if radio.is_fixed(ue) {
            self.valid_until[ue] = u64::MAX;
        }
        match kind {
            Kind::Mcs => self.take_mcs(ue, radio.mcs(ue, at)),
            Kind::Cqi => self.take_mcs(ue, self.bler.mcs_of_cqi(radio.cqi(ue, at))),
            Kind::Sinr => {
                let sinr = radio.sinr_db(ue, self.dir, at);
                self.skip_reports(ue, radio.steady_until(ue));
                let cqi = self.bler.cqi_for(sinr);
                if self.step_down == 0.0 {
                    self.take_mcs(ue, self.bler.mcs_of_cqi(cqi));
                    return;
                }
                // The outer loop starts from the SINR that the CQI stands for.
                self.told_db[ue] = self.bler.sinr_of_cqi(cqi);
                self.adapt(ue);
            }
        }
    }

    /// Reports on slots before `change` say what the present one says: they need no look.
    #[inline]
    fn skip_reports(&mut self, ue: usize, change: u64) {
        let phase = ue as u64 % self.cqi_period;
        let reports = change.saturating_sub(phase).div_ceil(self.cqi_period);
        let known = (reports * self.cqi_period).saturating_add(phase + self.cqi_delay);
        self.valid_until[ue] = self.valid_until[ue].max(known);
    }

    /// Chooses the MCS from the last report of an SINR and the outer loop.
    #[inline]
    fn adapt(&mut self, ue: usize) {
        let sinr = self.told_db[ue] + self.offset_db[ue];
        self.take_mcs(ue, self.bler.mcs_for(sinr, self.target));
    }

    #[inline]
    fn take_mcs(&mut self, ue: usize, mcs: u8) {
        let mcs = mcs.min(self.bler.mcs_count() as u8 - 1);
        if mcs != self.mcs[ue] || !self.rated[ue] {
            self.rated[ue] = true;
            self.mcs[ue] = mcs;
            for (table, row) in self.tables.iter().zip(&mut self.block_q8) {
                row[ue] = table.block_bytes_q8(mcs);
            }
            self.block_changes += 1;
            self.scheduler
                .rate_changed(ue, self.tables[0].slot_bytes(mcs));
        }
    }

    /// Looks at the reports that become known in `slot`.
    pub(super) fn reports(&mut self, slot: u64, radio: &mut Radio) {
        while let Some(ue) = self.fresh.pop() {
            let ue = ue as usize;
            self.refresh(ue, slot, radio);
            let quiet = &mut self.quiet_until[ue % self.cqi_period as usize];
            *quiet = self.valid_until[ue].min(*quiet);
        }
        if radio.is_constant() {
            return;
        }
        if self.dir == Direction::Down && !radio.series().is_empty() {
            for k in 0..radio.series().len() {
                let ue = radio.series()[k] as usize;
                if self.wants.contains(ue) {
                    self.refresh(ue, slot, radio);
                }
            }
        }
        let Some(past) = slot.checked_sub(self.cqi_delay) else {
            return;
        };
        let phase = (past % self.cqi_period) as usize;
        if slot < self.quiet_until[phase] {
            return;
        }
        let mut quiet = u64::MAX;
        for ue in (phase..self.want.len()).step_by(self.cqi_period as usize) {
            if self.wants.contains(ue) {
                self.refresh(ue, slot, radio);
                quiet = quiet.min(self.valid_until[ue]);
            }
        }
        self.quiet_until[phase] = quiet;
    }

    /// Decides whether the block that ended is decoded, and steers the outer loop by it.
    pub(super) fn decode(&mut self, ue: usize, process: u8, radio: &mut Radio) -> bool {
        let index = ue * self.processes + usize::from(process);
        let block = &self.blocks[index];
        let (air, mcs, round) = (block.air, block.mcs, block.round);
        let sinr_known = radio.kind(ue, self.dir) == Kind::Sinr;
        let mut sinr = 0.0;
        let bler = if sinr_known {
            sinr = radio.sinr_db(ue, self.dir, air);
            let effective = match round {
                0 => sinr,
                _ => self.combined_db(index, sinr),
            };
            self.bler.bler(mcs, effective)
        } else {
            // Each retransmission divides the odds by ten: 3 dB of combining is far more on the curves of `phy::link`,
            // and ten is what link-level curves show with fading within a block.
            radio.given_bler(ue) * [1.0, 0.1, 0.01, 0.001][usize::from(round.min(3))]
        };
        let key = (ue as u64) << 44 ^ block.serial << 4 ^ u64::from(round);
        let ok = bler <= 0.0 || self.draw.uniform(key) >= bler;
        let block = &mut self.blocks[index];
        block.decoded = ok;
        if !ok && sinr_known {
            block.heard = block.heard.with(round, sinr);
        }
        let (all, one) = (&mut self.stats, &mut self.ue_stats[ue]);
        for stats in [all, one] {
            stats.nacks += u64::from(!ok);
            stats.first_nacks += u64::from(!ok && round == 0);
        }
        if round == 0 && self.step_down > 0.0 && sinr_known {
            let offset = &mut self.offset_db[ue];
            // At the highest MCS success says nothing about the offset: without this it winds up on a good channel and a
            // sudden loss of 10 dB costs hundreds of milliseconds.
            let step = match ok {
                true if usize::from(mcs) + 1 == self.bler.mcs_count() => 0.0,
                true => self.step_up,
                false => -self.step_down,
            };
            *offset = (*offset + step).clamp(-self.offset_limit, self.offset_limit);
            self.adapt(ue);
        }
        ok
    }

    /// The SINR that a block is decoded at when `sinr_db` is that of its latest retransmission.
    fn combined_db(&self, index: usize, sinr_db: f64) -> f64 {
        let block = &self.blocks[index];
        let code_rate = self.mcs_table.code_rate_x1024(block.mcs) / 1024.0;
        let bits = 8 * block.tbs;
        let coded = if self.mcs_table.is_lte() {
            CodedBits::TURBO
        } else {
            let coded = CodedBits::nr(bits, code_rate);
            self.soft_bits
                .map_or(coded, |room| coded.limited(bits, room))
        };
        self.combining.effective_db(
            block.heard.with(block.round, sinr_db),
            sinr_db,
            coded,
            code_rate,
            self.gap,
        )
    }

    /// The next UE for a block of new data out of `left` groups of a slot of `kind`: what it wants and `extra`
    /// bytes, at least `least`, in at most `share` groups.
    #[inline]
    pub(super) fn choose(
        &mut self,
        kind: usize,
        left: u16,
        share: u16,
        extra: u32,
        least: u32,
    ) -> Option<Choice> {
        while !self.wants.is_empty() {
            let ue = self.scheduler.pick(&self.wants);
            let free = self.free[ue];
            if free == 0 {
                self.skip(ue);
                continue;
            }
            let table = &self.tables[kind - 1];
            let mcs = self.mcs[ue];
            let most = left.min(share);
            let need = self.want[ue].saturating_add(extra).max(least);
            let part = table
                .fit(mcs, left, need)
                .filter(|part| part.groups <= most)
                .unwrap_or_else(|| table.top(left, most));
            return Some(Choice {
                ue,
                process: free.trailing_zeros() as u8,
                part,
                tbs: table.bytes(mcs, part.prbs),
            });
        }
        None
    }

    /// Takes `ue` out of the running for this slot.
    #[inline]
    pub(super) fn skip(&mut self, ue: usize) {
        self.wants.remove(ue);
        self.skipped.push(ue);
    }

    /// Ends a slot's scheduling: whoever was skipped is back.
    #[inline]
    pub(super) fn unskip(&mut self) {
        while let Some(ue) = self.skipped.pop() {
            self.wants.insert(ue);
        }
    }

    /// Bytes of a full slot for `ue` at its present MCS.
    pub(super) fn slot_bytes(&self, ue: usize) -> Bytes {
        Bytes(u64::from(self.tables[0].slot_bytes(self.mcs[ue])))
    }

    /// Values `groups` free groups of a slot of `kind`.
    #[inline]
    pub(super) fn count_free(&mut self, kind: usize, groups: u16) {
        let table = &self.tables[kind - 1];
        let bytes = table.bytes(self.mcs[self.reference], table.prbs(groups));
        self.stats.capacity += u64::from(bytes);
    }

    #[inline]
    pub(super) fn note_feedback(&mut self, feedback: HarqFeedback) {
        if self.watched {
            self.feedback.push(feedback);
        }
    }

    #[inline]
    pub(super) fn note_grant(&mut self, ue: usize, process: u8, rnti: slackwater_core::Rnti) {
        if !self.watched {
            return;
        }
        let block = &self.blocks[ue * self.processes + usize::from(process)];
        self.grants.push(Grant {
            ue: UeId(ue as u32),
            rnti,
            direction: self.dir,
            harq: process,
            round: block.round,
            ndi: block.round == 0,
            mcs: block.mcs,
            prbs: Prbs(block.prbs),
            tbs: Bytes(u64::from(block.tbs)),
        });
    }

    /// For each UE the bytes of one block of a slot of `kind`, in 1/256 byte.
    #[inline]
    pub(super) fn block_bytes_q8(&self, kind: usize) -> &[u32] {
        &self.block_q8[kind.max(1) - 1]
    }

    /// A number for the contents of [`Side::block_bytes_q8`]; never 0.
    #[inline]
    pub(super) fn block_version(&self, kind: usize) -> u64 {
        self.block_changes * self.block_q8.len() as u64 + kind.max(1) as u64
    }
}

/// The first instant of `slot`.
#[inline]
pub(super) fn slot_start(slot: u64, ns: u64) -> Instant {
    Instant::from_nanos(slot * ns)
}
