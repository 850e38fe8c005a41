//! `QoS` enforcement, usage reporting and buffering action rules (TS 29.244, 7.5.2.4 to 7.5.2.6 and 7.5.4.4 to 7.5.4.11).

use slackwater_core::{Bytes, Duration};
use slackwater_wire::pfcp::{
    self, BEFORE_QOS, BitRates, EdgeOptions, RuleId, Volumes, cause, kind, method, trigger,
};

use super::super::refusal::Refusal;
use super::{Draft, UsageOrder};
use crate::rules::{Bar, Qer, Rates, Urr, Volume};

impl Draft<'_> {
    pub(super) fn create_qer(&mut self, wire: &pfcp::Qer) -> Result<(), Refusal> {
        self.room(self.rules.qers.len(), kind::CREATE_QER)?;
        if self.rules.qer(wire.id).is_some() {
            return Err(Refusal::failed(RuleId::Qer(wire.id), kind::QER_ID));
        }
        let mut qer = Qer {
            id: wire.id,
            correlation: None,
            gate_up: false,
            gate_down: false,
            maximum: None,
            guaranteed: None,
            qfi: None,
            reflective: false,
            edge: EdgeOptions::default(),
        };
        merge_qer(&mut qer, wire);
        self.rules.qers.push(qer);
        Ok(())
    }

    pub(super) fn update_qer(&mut self, wire: &pfcp::Qer) -> Result<(), Refusal> {
        let qer = self.rules.qers.iter_mut().find(|q| q.id == wire.id);
        let qer = qer.ok_or(Refusal::failed(RuleId::Qer(wire.id), kind::QER_ID))?;
        merge_qer(qer, wire);
        Ok(())
    }

    pub(super) fn create_urr(&mut self, wire: &pfcp::Urr) -> Result<(), Refusal> {
        self.room(self.rules.urrs.len(), kind::CREATE_URR)?;
        if self.rules.urr(wire.id).is_some() {
            return Err(Refusal::failed(RuleId::Urr(wire.id), kind::URR_ID));
        }
        let mut urr = Urr {
            id: wire.id,
            ..Urr::default()
        };
        merge_urr(&mut urr, wire)?;
        self.rules.urrs.push(urr);
        self.usage.push(UsageOrder::Create(wire.id));
        Ok(())
    }

    pub(super) fn update_urr(&mut self, wire: &pfcp::Urr) -> Result<(), Refusal> {
        let urr = self.rules.urrs.iter_mut().find(|u| u.id == wire.id);
        let urr = urr.ok_or(Refusal::failed(RuleId::Urr(wire.id), kind::URR_ID))?;
        merge_urr(urr, wire)?;
        self.usage.push(UsageOrder::Update {
            id: wire.id,
            volume: wire.volume_quota.is_some(),
            time: wire.time_quota.is_some(),
        });
        Ok(())
    }

    pub(super) fn create_bar(&mut self, wire: &pfcp::Bar) -> Result<(), Refusal> {
        self.room(self.rules.bars.len(), kind::CREATE_BAR)?;
        if self.rules.bar(wire.id).is_some() {
            return Err(Refusal::failed(RuleId::Bar(wire.id), kind::BAR_ID));
        }
        self.rules.bars.push(Bar {
            id: wire.id,
            notification_delay: wire.notification_delay.unwrap_or(Duration::ZERO),
            packets: wire.packets,
        });
        Ok(())
    }

    pub(super) fn update_bar(&mut self, wire: &pfcp::Bar) -> Result<(), Refusal> {
        let bar = self.rules.bars.iter_mut().find(|b| b.id == wire.id);
        let bar = bar.ok_or(Refusal::failed(RuleId::Bar(wire.id), kind::BAR_ID))?;
        bar.notification_delay = wire.notification_delay.unwrap_or(bar.notification_delay);
        bar.packets = wire.packets.or(bar.packets);
        Ok(())
    }
}

fn merge_qer(qer: &mut Qer, wire: &pfcp::Qer) {
    let rates = |r: BitRates| Rates {
        up: r.up,
        down: r.down,
    };
    qer.correlation = wire.correlation.or(qer.correlation);
    if let Some(gates) = wire.gates {
        (qer.gate_up, qer.gate_down) = (gates.up, gates.down);
    }
    qer.maximum = wire.maximum.map(rates).or(qer.maximum);
    qer.guaranteed = wire.guaranteed.map(rates).or(qer.guaranteed);
    qer.qfi = wire.qfi.or(qer.qfi);
    qer.reflective = wire.reflective.unwrap_or(qer.reflective);
    if wire.edge != EdgeOptions::default() {
        qer.edge = wire.edge;
    }
}

fn merge_urr(urr: &mut Urr, wire: &pfcp::Urr) -> Result<(), Refusal> {
    let rule = RuleId::Urr(urr.id);
    if let Some(element) = wire.beyond {
        return Err(Refusal::beyond(rule, element));
    }
    if let Some(bits) = wire.method {
        let known = method::DURATION | method::VOLUME | method::EVENT;
        if bits & known == 0 || bits & !known != 0 {
            return Err(Refusal::new(cause::MANDATORY_INCORRECT, kind::METHOD).of(rule));
        }
        urr.duration = bits & method::DURATION != 0;
        urr.volume = bits & method::VOLUME != 0;
        urr.event = bits & method::EVENT != 0;
    }
    if let Some(bits) = wire.triggers {
        if bits & !trigger::ALL != 0 {
            return Err(Refusal::beyond(rule, kind::TRIGGERS));
        }
        let [a, b, c, _] = bits.to_le_bytes();
        urr.triggers = [a, b, c];
    }
    let volume = |v: Volumes| Volume {
        total: v.total,
        up: v.up,
        down: v.down,
    };
    urr.volume_threshold = wire.volume_threshold.map_or(urr.volume_threshold, volume);
    urr.volume_quota = wire.volume_quota.map_or(urr.volume_quota, volume);
    urr.time_threshold = wire.time_threshold.or(urr.time_threshold);
    urr.time_quota = wire.time_quota.or(urr.time_quota);
    urr.period = wire.period.or(urr.period);
    urr.holding = wire.holding.or(urr.holding);
    // Zero means that time is counted without a break (TS 29.244, 8.2.17).
    let inactivity = wire.inactivity.or(urr.inactivity);
    urr.inactivity = inactivity.filter(|t| !t.is_zero());
    if let Some(bits) = wire.information {
        urr.before_qos = bits & BEFORE_QOS != 0;
    }
    complete(urr).map_err(|(cause, kind)| Refusal::new(cause, kind).of(rule))
}

/// What a trigger needs is there, and never zero: that would be a report for each packet, or without end.
fn complete(urr: &Urr) -> Result<(), (u8, u16)> {
    let [a, b, c] = urr.triggers;
    let triggers = u32::from_le_bytes([a, b, c, 0]);
    let when = |bit, value: Option<Duration>, kind| match value {
        _ if triggers & bit == 0 => Ok(()),
        None => Err((cause::CONDITIONAL_MISSING, kind)),
        Some(t) if t.is_zero() => Err((cause::MANDATORY_INCORRECT, kind)),
        Some(_) => Ok(()),
    };
    when(trigger::PERIODIC, urr.period, kind::PERIOD)?;
    when(
        trigger::TIME_THRESHOLD,
        urr.time_threshold,
        kind::TIME_THRESHOLD,
    )?;
    when(trigger::QUOTA_HOLDING, urr.holding, kind::HOLDING_TIME)?;
    // Traffic has ended where none came for the inactivity time.
    when(trigger::STOP, urr.inactivity, kind::INACTIVITY)?;
    let threshold = urr.volume_threshold;
    let volumes = [threshold.total, threshold.up, threshold.down];
    if volumes.contains(&Some(Bytes(0))) {
        return Err((cause::MANDATORY_INCORRECT, kind::VOLUME_THRESHOLD));
    }
    if triggers & trigger::VOLUME_THRESHOLD != 0 && volumes == [None; 3] {
        return Err((cause::CONDITIONAL_MISSING, kind::VOLUME_THRESHOLD));
    }
    Ok(())
}
