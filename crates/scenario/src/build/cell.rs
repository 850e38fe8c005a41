//! Cells and UEs of a scenario.

use slackwater_core::{Draw, Duration, Instant, Qfi, Rnti};
use slackwater_queue::{Law as QueueLaw, LawConfig};
use slackwater_ran::cell::{BearerConfig, CellConfig, UeConfig};
use slackwater_ran::mac::{FiveQi, SharePolicy};
use slackwater_ran::phy::channel::{Budget, ChannelConfig, Given};
use slackwater_ran::phy::fading::FadingConfig;
use slackwater_ran::phy::link::AmcModel;
use slackwater_ran::phy::mobility::{Mobility, Position};
use slackwater_ran::phy::pathloss::{Shadowing, ShadowingKind};
use slackwater_ran::phy::tables::McsTable;
use slackwater_ran::rlc::RlcConfig;
use slackwater_ran::tdd::{Duplex, TddPattern};

use super::link::{law, limits, queue};
use crate::cell::{self, Amc, Cell, Mode, Rat};
use crate::field::Field as _;
use crate::law::Law;
use crate::plugins::Plugins;
use crate::ue::{self, Bearer, Channel, Ue};
use crate::upf::OwnVaqm;
use crate::{Scenario, data::Series};

/// The cell and its UEs.
pub(super) fn configs(
    cell: &Cell,
    scenario: &Scenario,
    draw: &mut impl FnMut() -> Draw,
) -> (CellConfig, Vec<UeConfig>) {
    let config = radio(cell, scenario.plugins());
    let ues = scenario.expanded_ues();
    let modes = scenario.rlc_modes();
    let configs = ues.iter().enumerate().map(|(i, ue)| UeConfig {
        channel: channel(cell, &config, ue),
        bearers: bearers(cell, ue, &modes[i], scenario.plugins(), draw),
        // C-RNTIs start at 0x3D at the earliest (TS 36.321, 7.1); dense from 0x46 as common stacks give them.
        rnti: Rnti((0x46 + i) as u16),
    });
    let configs = configs.collect();
    (config, configs)
}

/// The carrier: technology, numerology and blocks.
fn carrier(cell: &Cell) -> CellConfig {
    let mhz = cell.bandwidth.0 as f64 / 1e6;
    let c = match cell.rat {
        Rat::Nr => {
            let mu = (cell.scs.0 / 15_000).trailing_zeros() as u8;
            CellConfig::nr((mhz + 0.5) as u32, mu)
        }
        Rat::Lte => CellConfig::lte(mhz),
    };
    match cell.n_rb {
        Some(n) => c.with_blocks(n),
        None => c,
    }
}

/// Downlink blocks of the cell.
pub(crate) fn blocks(cell: &Cell) -> u16 {
    carrier(cell).n_rb_dl
}

pub(crate) fn radio(cell: &Cell, plugins: &Plugins) -> CellConfig {
    let nr = cell.rat == Rat::Nr;
    let mut c = carrier(cell);
    c.duplex = match cell.duplex {
        cell::Duplex::Fdd => Duplex::Fdd,
        cell::Duplex::Tdd => {
            let s = cell.special;
            let special = format!("{}:{}:{}", s.down, s.guard, s.up);
            let pattern = TddPattern::parse(cell.tdd.as_str(), &special);
            Duplex::Tdd(pattern.expect("the scenario checked the pattern"))
        }
    };
    c.layers = cell.layers;
    c.mcs_table = match (nr, cell.mcs_table) {
        (false, cell::McsTable::Qam256) => McsTable::Lte256,
        (false, _) => McsTable::Lte64,
        (true, cell::McsTable::Qam64) => McsTable::Nr64,
        (true, cell::McsTable::Qam256) => McsTable::Nr256,
        (true, cell::McsTable::LowSe) => McsTable::NrLowSe,
    };
    let scheduler = plugins.scheduler(&cell.scheduler);
    c.scheduler = scheduler.unwrap_or_else(|e| panic!("{e}, after the scenario was checked"));
    c.average_window = cell.pf_window;
    if let Some(n) = cell.ues_per_slot {
        c.share = SharePolicy::Split(n);
    }
    if let Some(n) = cell.schedulable_prbs {
        c.schedulable_dl = n;
    }
    c.cqi = cell.cqi.clone();
    c.olla = cell.olla.clone();
    c.harq = cell.harq.clone();
    c.timing = cell.timing.clone();
    c.uplink = cell.uplink.clone();
    c.link.gap_db = cell.gap.0;
    c.link.amc = match cell.amc {
        Amc::Gap => AmcModel::Threshold,
        Amc::Piro => AmcModel::Piro { ber: 5e-5 },
        Amc::Ns3 => AmcModel::Ns3Mi,
    };
    if cell.fading.0.is_some() {
        // A block that sees fading is blurred: the data's recommendation is 0.5 to 1 dB.
        c.link.width_db = c.link.width_db.max(0.5);
    }
    c.tx_power_dbm = cell.tx_power.0;
    c.ue_tx_power_dbm = cell.ue_tx_power.0;
    c.carrier_ghz = cell.carrier.0 as f64 / 1e9;
    c.noise_figure_db = cell.noise_figure.0;
    c.noise_figure_ul_db = cell.bs_noise_figure.0;
    c
}

fn channel(cell: &Cell, config: &CellConfig, ue: &Ue) -> ChannelConfig {
    let block_hz = 12.0 * f64::from(15_000u32 << config.mu);
    let budget = |tx_power_dbm, blocks, noise_figure_db| Budget {
        tx_power_dbm,
        blocks,
        block_hz,
        antenna_gain_db: cell.antenna_gain.0,
        noise_figure_db,
        interference_margin_db: 0.0,
        other_loss_db: 0.0,
    };
    let carrier_ghz = config.carrier_ghz;
    let (given, repeat) = given(&ue.channel);
    ChannelConfig {
        given,
        given_repeat: repeat,
        bler: None,
        mobility: mobility(&ue.mobility),
        path_loss: cell.pathloss.clone(),
        carrier_ghz,
        shadowing: if cell.shadowing.0 > 0.0 {
            ShadowingKind::Given(Shadowing {
                sigma_db: cell.shadowing.0,
                correlation_m: cell.shadowing_distance.0,
            })
        } else {
            ShadowingKind::None
        },
        fading: cell.fading.0.map(|profile| FadingConfig {
            profile,
            delay_spread_ns: cell.delay_spread.as_nanos() as f64,
            carrier_ghz,
            speed_mps: ue.speed.metres_per_second(),
            bandwidth_hz: block_hz * f64::from(config.n_rb_dl),
            ..FadingConfig::default()
        }),
        reciprocal: matches!(config.duplex, Duplex::Tdd(_)),
        downlink: budget(config.tx_power_dbm, config.n_rb_dl, config.noise_figure_db),
        uplink: budget(
            config.ue_tx_power_dbm,
            config.n_rb_ul,
            config.noise_figure_ul_db,
        ),
    }
}

/// A given downlink channel and the time after which it begins anew.
fn given(channel: &Channel) -> (Option<Given>, Option<Duration>) {
    let rows = |s: &Series| -> Vec<(Instant, u8)> {
        s.times
            .iter()
            .zip(&s.values)
            .map(|(t, v)| (Instant::ZERO + *t, *v as u8))
            .collect()
    };
    let round = |s: &Series, repeat: bool| repeat.then(|| s.round());
    match channel {
        Channel::Place(_) => (None, None),
        Channel::Mcs(m) => (Some(Given::FixedMcs(m.mcs)), None),
        Channel::McsSeries(m) => {
            let series = m.series();
            (
                Some(Given::McsSeries(rows(&series))),
                round(&series, m.repeat),
            )
        }
        Channel::CqiSeries(c) => {
            let series = c.series();
            (
                Some(Given::CqiSeries(rows(&series))),
                round(&series, c.repeat),
            )
        }
    }
}

fn mobility(config: &ue::Mobility) -> Mobility {
    let at = Position::at_distance;
    match config {
        ue::Mobility::Static(s) => Mobility::Static(at(s.distance.0)),
        ue::Mobility::Steps(s) => Mobility::RandomSteps {
            min_m: s.min.0,
            max_m: s.max.0,
            period: s.period,
        },
        ue::Mobility::Waypoints(w) => Mobility::Waypoints(
            w.points
                .iter()
                .map(|[t, m]| (Instant::ZERO + Duration::from_secs_f64(*t), at(*m)))
                .collect(),
        ),
        // Along a line of one metre's width, which keeps the distance within the bounds.
        ue::Mobility::Walk(w) => Mobility::RandomWalk {
            start: at(w.min.0.midpoint(w.max.0)),
            speed_mps: w.speed.metres_per_second(),
            interval: w.turn,
            low: Position::new(w.min.0, 0.0),
            high: Position::new(w.max.0, 1.0),
        },
    }
}

fn bearers(
    cell: &Cell,
    ue: &Ue,
    modes: &[Mode],
    plugins: &Plugins,
    draw: &mut impl FnMut() -> Draw,
) -> Vec<BearerConfig> {
    if ue.bearers.is_empty() {
        return vec![bearer(
            cell,
            &Bearer {
                qfi: Vec::new(),
                priority: 8,
                five_qi: FiveQi::DEFAULT.get(),
                buffer: None,
                gbr: None,
                mbr: None,
                vaqm: OwnVaqm::example(),
            },
            modes[0],
            plugins,
            draw,
        )];
    }
    let bearers = ue.bearers.iter().zip(modes);
    bearers
        .map(|(b, mode)| bearer(cell, b, *mode, plugins, draw))
        .collect()
}

fn bearer(
    cell: &Cell,
    config: &Bearer,
    mode: Mode,
    plugins: &Plugins,
    draw: &mut impl FnMut() -> Draw,
) -> BearerConfig {
    let queue_law = match &cell.rlc.law {
        Law::BuiltIn(LawConfig::None) => None,
        other => Some(Box::new(law(other, plugins).build(draw())) as Box<dyn QueueLaw>),
    };
    let container = cell.rlc.queue.as_ref().map(|named| {
        let queue = queue(named, plugins);
        let room = limits(config.buffer.unwrap_or(cell.rlc.buffer));
        let both = queue.limits().both(room);
        (queue.with_limits(both), draw())
    });
    BearerConfig {
        qfis: config.qfi.iter().copied().map(Qfi).collect(),
        priority: config.priority,
        class: FiveQi::new(config.five_qi).unwrap_or_default(),
        guaranteed: config.gbr,
        rlc: RlcConfig {
            mode,
            buffer: config.buffer.unwrap_or(cell.rlc.buffer),
            timers: cell.rlc.timers.clone(),
        },
        pdcp: cell.pdcp.clone(),
        law: queue_law,
        law_ul: None,
        queue: container,
    }
}
