//! The channels of all UEs, as the cell asks for them: by slot.

use slackwater_core::{Direction, Draw, Instant};

use crate::phy::{Channel, ChannelConfig, ChannelPlan, Given, Mobility};

/// What is known of a UE's downlink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An SINR.
    Sinr,
    /// The MCS itself.
    Mcs,
    /// The CQI.
    Cqi,
}

/// All channels.
#[derive(Debug)]
pub(crate) struct Radio {
    slot_ns: u64,
    channels: Vec<Channel>,
    kinds: Vec<Kind>,
    /// SINR down and up where nothing changes.
    fixed: Vec<Option<[f64; 2]>>,
    /// UEs whose downlink is a given series of MCS or CQI: looked up each slot.
    series: Vec<u32>,
    constant: bool,
}

impl Radio {
    pub(crate) fn new(configs: &[ChannelConfig], slot_ns: u64, draw: Draw) -> Self {
        let mut channels: Vec<Channel> = Vec::with_capacity(configs.len());
        let (mut kinds, mut fixed, mut series) = (Vec::new(), Vec::new(), Vec::new());
        let mut plan: Option<(&ChannelConfig, ChannelPlan)> = None;
        for (ue, config) in configs.iter().enumerate() {
            // UEs of one configuration share its tables.
            let same = plan.as_ref().filter(|(of, _)| *of == config);
            let shared = match same {
                Some((_, plan)) => plan.clone(),
                None => ChannelPlan::new(config),
            };
            plan = Some((config, shared.clone()));
            let mut channel = shared.channel(draw.fork(0x4348_414e, ue as u64));
            kinds.push(match config.given {
                None | Some(Given::SinrSeries(_)) => Kind::Sinr,
                Some(Given::FixedMcs(_) | Given::McsSeries(_)) => Kind::Mcs,
                Some(Given::CqiSeries(_)) => Kind::Cqi,
            });
            let still = matches!(config.mobility, Mobility::Static(_)) && config.fading.is_none();
            let moving = matches!(
                config.given,
                Some(Given::SinrSeries(_) | Given::McsSeries(_) | Given::CqiSeries(_))
            );
            fixed.push((still && !moving).then(|| {
                [
                    channel.sinr_db(Instant::ZERO),
                    channel.ul_sinr_db(Instant::ZERO),
                ]
            }));
            if matches!(
                config.given,
                Some(Given::McsSeries(_) | Given::CqiSeries(_))
            ) {
                series.push(ue as u32);
            }
            channels.push(channel);
        }
        Self {
            slot_ns,
            constant: fixed.iter().all(Option::is_some),
            channels,
            kinds,
            fixed,
            series,
        }
    }

    /// True where no report can bring anything new.
    #[inline]
    pub(crate) fn is_constant(&self) -> bool {
        self.constant
    }

    /// The same of one UE.
    #[inline]
    pub(crate) fn is_fixed(&self, ue: usize) -> bool {
        self.fixed[ue].is_some()
    }

    /// UEs to look up each slot.
    pub(crate) fn series(&self) -> &[u32] {
        &self.series
    }

    /// What is known of `ue` in direction `dir`.
    #[inline]
    pub(crate) fn kind(&self, ue: usize, dir: Direction) -> Kind {
        match dir {
            Direction::Down => self.kinds[ue],
            Direction::Up => Kind::Sinr,
        }
    }

    fn time(&self, slot: u64) -> Instant {
        Instant::from_nanos(slot * self.slot_ns)
    }

    pub(crate) fn mcs(&mut self, ue: usize, slot: u64) -> u8 {
        let at = self.time(slot);
        self.channels[ue].given_mcs(at).unwrap_or(0)
    }

    pub(crate) fn cqi(&mut self, ue: usize, slot: u64) -> u8 {
        let at = self.time(slot);
        self.channels[ue].given_cqi(at).unwrap_or(0)
    }

    /// Error rate of first transmissions on a given MCS or CQI.
    pub(crate) fn given_bler(&self, ue: usize) -> f64 {
        self.channels[ue].given_bler().unwrap_or(0.0)
    }

    /// Effective SINR over the carrier. Uplink: with the UE's power spread over all of it (no power control, as ns-3).
    #[inline]
    pub(crate) fn sinr_db(&mut self, ue: usize, dir: Direction, slot: u64) -> f64 {
        if let Some(fixed) = self.fixed[ue] {
            return fixed[dir as usize];
        }
        let at = self.time(slot);
        match dir {
            Direction::Down => self.channels[ue].sinr_db(at),
            Direction::Up => self.channels[ue].ul_sinr_db(at),
        }
    }

    /// The first slot in which the SINR of `ue` may differ from the one that was asked for last.
    #[inline]
    pub(crate) fn steady_until(&self, ue: usize) -> u64 {
        let until = self.channels[ue].steady_until();
        until.as_nanos().div_ceil(self.slot_ns)
    }
}
