//! Usage: what is counted (URR) and what was (usage report). TS 29.244, 7.5.2.4 and 7.5.8.3.

use slackwater_core::{Bytes, Duration};

use super::frame::{frames, group};
use super::number as n;
use super::{ElementError, opt};
use crate::WireError;
use crate::octets::{Reader, Writer, fits};

/// What makes a report leave (reporting triggers, TS 29.244, 8.2.19). Bit 0 is the first of the first octet.
pub mod trigger {
    /// PERIO: an interval passed.
    pub const PERIODIC: u32 = 1;
    /// VOLTH: a threshold of volume was reached.
    pub const VOLUME_THRESHOLD: u32 = 1 << 1;
    /// TIMTH: a threshold of time was reached.
    pub const TIME_THRESHOLD: u32 = 1 << 2;
    /// QUHTI: no packet came for the holding time of a quota.
    pub const QUOTA_HOLDING: u32 = 1 << 3;
    /// START: traffic began.
    pub const START: u32 = 1 << 4;
    /// STOPT: traffic ended.
    pub const STOP: u32 = 1 << 5;
    /// VOLQU: the quota of volume is used up.
    pub const VOLUME_QUOTA: u32 = 1 << 8;
    /// TIMQU: the quota of time is used up.
    pub const TIME_QUOTA: u32 = 1 << 9;
    /// All of these, which have the same bits in a report's cause (usage report trigger, TS 29.244, 8.2.41).
    pub const ALL: u32 = 0x33f;
    /// IMMER, of a report's cause alone: it was ordered at once.
    pub const IMMEDIATE: u32 = 1 << 7;
    /// TERMR, of a report's cause alone: the rule or the session ended.
    pub const TERMINATION: u32 = 1 << 11;
}

/// How a rule measures (TS 29.244, 8.2.40).
pub mod method {
    /// Time.
    pub const DURATION: u8 = 1;
    /// Volume.
    pub const VOLUME: u8 = 2;
    /// Events.
    pub const EVENT: u8 = 4;
}

/// MBQE of the measurement information (TS 29.244, 8.2.68): measured before `QoS` is enforced.
pub const BEFORE_QOS: u8 = 1;
/// MNOP of the measurement information (TS 29.244, 8.2.68): packets are counted too.
pub const COUNT_PACKETS: u8 = 1 << 4;

/// A volume of both directions together and of each (volume threshold and quota, TS 29.244, 8.2.13 and 8.2.50).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Volumes {
    /// Both directions.
    pub total: Option<Bytes>,
    /// Uplink.
    pub up: Option<Bytes>,
    /// Downlink.
    pub down: Option<Bytes>,
}

impl Volumes {
    fn bits(&self) -> u8 {
        u8::from(self.total.is_some())
            | u8::from(self.up.is_some()) << 1
            | u8::from(self.down.is_some()) << 2
    }

    fn read_by(flags: u8, r: &mut Reader<'_>) -> Result<Self, WireError> {
        let mut one = |bit| r.when(flags & bit != 0, |r| r.u64("a volume").map(Bytes));
        Ok(Self {
            total: one(1)?,
            up: one(2)?,
            down: one(4)?,
        })
    }

    fn read(r: &mut Reader<'_>) -> Result<Self, WireError> {
        let flags = r.u8("a volume")?;
        Self::read_by(flags, r)
    }

    fn put_values(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        let values = [self.total, self.up, self.down];
        values.iter().flatten().try_for_each(|v| out.u64(v.get()))
    }

    fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        out.u8(self.bits())?;
        self.put_values(out)
    }
}

/// Usage reporting rule. An update leaves out what stays as it was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Urr {
    /// Its number within the session.
    pub id: u32,
    /// How it measures ([`method`]).
    pub method: Option<u8>,
    /// What makes a report leave ([`trigger`]).
    pub triggers: Option<u32>,
    /// The interval of reports, in whole seconds.
    pub period: Option<Duration>,
    /// A report leaves at each of these.
    pub volume_threshold: Option<Volumes>,
    /// Packets end beyond it.
    pub volume_quota: Option<Volumes>,
    /// A report leaves after so much time, in whole seconds.
    pub time_threshold: Option<Duration>,
    /// Packets end beyond it; in whole seconds.
    pub time_quota: Option<Duration>,
    /// A report leaves after so long without packets, in whole seconds (quota holding time).
    pub holding: Option<Duration>,
    /// Time without packets after which time is not counted, in whole seconds.
    pub inactivity: Option<Duration>,
    /// Measurement information ([`BEFORE_QOS`], [`COUNT_PACKETS`]).
    pub information: Option<u8>,
    /// The first element that changes what is to be done and is not read here, by its type. Never written.
    pub beyond: Option<u16>,
}

fn seconds(r: &mut Reader<'_>) -> Result<Duration, WireError> {
    r.u32("seconds").map(|s| Duration::from_secs(u64::from(s)))
}

fn put_seconds(out: &mut Writer<'_>, kind: u16, time: Option<Duration>) -> Result<(), WireError> {
    opt(out, time, |out, time| {
        let seconds = time.as_nanos() / 1_000_000_000;
        fits(out.len(), seconds, 32)?;
        group(out, kind, |o| o.u32(seconds as u32))
    })
}

/// The triggers of two octets, or three since Release 16.
fn read_triggers(r: &mut Reader<'_>) -> Result<u32, WireError> {
    let [a, b] = [r.u8("triggers")?, r.u8("triggers")?];
    let c = r.u8("triggers").unwrap_or(0);
    Ok(u32::from_le_bytes([a, b, c, 0]))
}

fn put_triggers(out: &mut Writer<'_>, kind: u16, bits: u32) -> Result<(), WireError> {
    fits(out.len(), u64::from(bits), 24)?;
    group(out, kind, |o| o.put(&bits.to_le_bytes()[..3]))
}

impl Urr {
    pub(super) fn read(r: &Reader<'_>, create: bool) -> Result<Self, ElementError> {
        let mut urr = Self::default();
        let mut id = None;
        for raw in frames(*r, n::CREATE_URR) {
            let raw = raw?;
            match raw.kind {
                n::URR_ID => id = Some(raw.leaf(|v| v.u32("a URR ID"))?),
                n::METHOD => urr.method = Some(raw.leaf(|v| v.u8("a method"))?),
                n::TRIGGERS => urr.triggers = Some(raw.leaf(read_triggers)?),
                n::PERIOD => urr.period = Some(raw.leaf(seconds)?),
                n::VOLUME_THRESHOLD => urr.volume_threshold = Some(raw.leaf(Volumes::read)?),
                n::VOLUME_QUOTA => urr.volume_quota = Some(raw.leaf(Volumes::read)?),
                n::TIME_THRESHOLD => urr.time_threshold = Some(raw.leaf(seconds)?),
                n::TIME_QUOTA => urr.time_quota = Some(raw.leaf(seconds)?),
                n::HOLDING_TIME => urr.holding = Some(raw.leaf(seconds)?),
                n::INACTIVITY => urr.inactivity = Some(raw.leaf(seconds)?),
                n::INFORMATION => urr.information = Some(raw.leaf(|v| v.u8("information"))?),
                // Monitoring time, dropped traffic, linked rules, events, and a FAR for what is beyond the quota.
                n::MONITORING_TIME
                | n::DROPPED_THRESHOLD
                | n::LINKED_URR
                | n::FAR_ID
                | n::EVENT_QUOTA
                | n::EVENT_THRESHOLD => urr.beyond = urr.beyond.or(Some(raw.kind)),
                _ => {}
            }
        }
        urr.id = id.ok_or_else(|| ElementError::missing(r, n::URR_ID, "a URR ID"))?;
        if create && urr.method.is_none() {
            return Err(ElementError::missing(r, n::METHOD, "a measurement method"));
        }
        if create && urr.triggers.is_none() {
            return Err(ElementError::missing(r, n::TRIGGERS, "reporting triggers"));
        }
        Ok(urr)
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        super::rule::writable(out, self.beyond)?;
        group(out, n::URR_ID, |o| o.u32(self.id))?;
        opt(out, self.method, |o, v| group(o, n::METHOD, |o| o.u8(v)))?;
        opt(out, self.triggers, |o, v| put_triggers(o, n::TRIGGERS, v))?;
        put_seconds(out, n::PERIOD, self.period)?;
        opt(out, self.volume_threshold, |o, v| {
            group(o, n::VOLUME_THRESHOLD, |o| v.put(o))
        })?;
        opt(out, self.volume_quota, |o, v| {
            group(o, n::VOLUME_QUOTA, |o| v.put(o))
        })?;
        put_seconds(out, n::TIME_THRESHOLD, self.time_threshold)?;
        put_seconds(out, n::TIME_QUOTA, self.time_quota)?;
        put_seconds(out, n::HOLDING_TIME, self.holding)?;
        put_seconds(out, n::INACTIVITY, self.inactivity)?;
        opt(out, self.information, |o, v| {
            group(o, n::INFORMATION, |o| o.u8(v))
        })
    }
}

/// What a rule counted since its last report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UsageReport {
    /// The rule.
    pub urr: u32,
    /// Number of the report of this rule, from 0 (UR-SEQN).
    pub seqn: u32,
    /// Why it leaves ([`trigger`]).
    pub triggers: u32,
    /// Start, in seconds of NTP.
    pub start: Option<u32>,
    /// End, in seconds of NTP.
    pub end: Option<u32>,
    /// Octets.
    pub volume: Option<Volumes>,
    /// Packets: both directions, uplink, downlink. Only beside a volume.
    pub packets: [Option<u64>; 3],
    /// Time, in whole seconds.
    pub duration: Option<Duration>,
    /// When the first packet came, in seconds of NTP.
    pub first: Option<u32>,
    /// When the last packet came, in seconds of NTP.
    pub last: Option<u32>,
}

impl UsageReport {
    pub(super) fn read(r: &Reader<'_>) -> Result<Self, ElementError> {
        let mut report = Self::default();
        let (mut urr, mut seqn, mut triggers) = (None, None, None);
        for raw in frames(*r, n::USAGE_REPORT) {
            let raw = raw?;
            let stamp = || raw.leaf(|v| v.u32("a time")).map(Some);
            match raw.kind {
                n::URR_ID => urr = Some(raw.leaf(|v| v.u32("a URR ID"))?),
                n::UR_SEQN => seqn = Some(raw.leaf(|v| v.u32("a number"))?),
                n::USAGE_TRIGGER => triggers = Some(raw.leaf(read_triggers)?),
                n::START_TIME => report.start = stamp()?,
                n::END_TIME => report.end = stamp()?,
                n::FIRST_PACKET => report.first = stamp()?,
                n::LAST_PACKET => report.last = stamp()?,
                n::DURATION_MEASUREMENT => report.duration = Some(raw.leaf(seconds)?),
                n::VOLUME_MEASUREMENT => {
                    let (volume, packets) = raw.leaf(|v| {
                        let flags = v.u8("a volume")?;
                        let volume = Volumes::read_by(flags, v)?;
                        let mut packets = [None; 3];
                        for (i, p) in packets.iter_mut().enumerate() {
                            *p = v.when(flags & 8 << i != 0, |v| v.u64("packets"))?;
                        }
                        Ok((volume, packets))
                    })?;
                    report.volume = Some(volume);
                    report.packets = packets;
                }
                _ => {}
            }
        }
        let must =
            |v: Option<u32>, kind, what| v.ok_or_else(|| ElementError::missing(r, kind, what));
        report.urr = must(urr, n::URR_ID, "a URR ID")?;
        report.seqn = must(seqn, n::UR_SEQN, "a sequence number")?;
        report.triggers = must(triggers, n::USAGE_TRIGGER, "a trigger")?;
        Ok(report)
    }

    pub(super) fn put(&self, out: &mut Writer<'_>) -> Result<(), WireError> {
        group(out, n::URR_ID, |o| o.u32(self.urr))?;
        group(out, n::UR_SEQN, |o| o.u32(self.seqn))?;
        put_triggers(out, n::USAGE_TRIGGER, self.triggers)?;
        let stamp =
            |out: &mut Writer<'_>, kind, at| opt(out, at, |o, at| group(o, kind, |o| o.u32(at)));
        stamp(out, n::START_TIME, self.start)?;
        stamp(out, n::END_TIME, self.end)?;
        if let Some(volume) = self.volume {
            group(out, n::VOLUME_MEASUREMENT, |o| {
                let counted = (0..3).filter(|i| self.packets[*i].is_some());
                o.u8(counted.fold(volume.bits(), |flags, i| flags | 8 << i))?;
                volume.put_values(o)?;
                self.packets.iter().flatten().try_for_each(|p| o.u64(*p))
            })?;
        }
        put_seconds(out, n::DURATION_MEASUREMENT, self.duration)?;
        stamp(out, n::FIRST_PACKET, self.first)?;
        stamp(out, n::LAST_PACKET, self.last)
    }
}
