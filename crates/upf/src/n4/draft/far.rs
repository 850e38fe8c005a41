//! Forwarding action rules (TS 29.244, 7.5.2.3 and 7.5.4.3).

use std::net::IpAddr;

use slackwater_core::Teid;
use slackwater_wire::pfcp::{self, Forwarding, OuterHeader, RuleId, action, cause, kind};

use super::super::refusal::Refusal;
use super::Draft;
use super::pdr::side;
use crate::rules::{Action, Far, RemoteTunnel};

/// Bits of the action that only tell how the control plane is told of buffered and dropped packets (BDPN, DDPN).
const NOTICES: u16 = 0x0600;

impl Draft<'_> {
    pub(super) fn create_far(&mut self, wire: &pfcp::Far<'_>) -> Result<(), Refusal> {
        let rule = RuleId::Far(wire.id);
        self.room(self.rules.fars.len(), kind::CREATE_FAR)?;
        if self.rules.far(wire.id).is_some() {
            return Err(Refusal::failed(rule, kind::FAR_ID));
        }
        let mut far = Far {
            id: wire.id,
            action: Action::Drop,
            // What is buffered or dropped goes nowhere until an update says so.
            destination: None,
            network: None,
            outer: None,
            marking: None,
            bar: None,
        };
        self.merge_far(&mut far, wire)?;
        destined(&far, wire, kind::FORWARDING)?;
        self.rules.fars.push(far);
        Ok(())
    }

    pub(super) fn update_far(&mut self, wire: &pfcp::Far<'_>) -> Result<(), Refusal> {
        let at = self.rules.fars.iter().position(|f| f.id == wire.id);
        let at = at.ok_or(Refusal::failed(RuleId::Far(wire.id), kind::FAR_ID))?;
        let mut far = self.rules.fars[at].clone();
        let left = far.outer;
        self.merge_far(&mut far, wire)?;
        destined(&far, wire, kind::UPDATE_FORWARDING)?;
        // SNDEM: the end marker goes by the tunnel that is left (TS 29.244, 5.2.3.2).
        if let Some(left) = left
            && wire.forwarding.is_some_and(|f| f.end_marker)
        {
            self.end_markers.push(left);
        }
        self.rules.fars[at] = far;
        Ok(())
    }

    fn merge_far(&self, far: &mut Far, wire: &pfcp::Far<'_>) -> Result<(), Refusal> {
        let rule = RuleId::Far(wire.id);
        if let Some(element) = wire.beyond {
            return Err(Refusal::beyond(rule, element));
        }
        if let Some(bits) = wire.action {
            far.action = what(bits).map_err(|cause| Refusal::new(cause, kind::ACTION).of(rule))?;
        }
        far.bar = wire.bar.or(far.bar);
        wire.forwarding
            .map_or(Ok(()), |f| self.merge_forwarding(far, &f))
    }

    fn merge_forwarding(&self, far: &mut Far, wire: &Forwarding<'_>) -> Result<(), Refusal> {
        let rule = RuleId::Far(far.id);
        if let Some(octet) = wire.destination {
            let side = side(octet).ok_or(Refusal::beyond(rule, kind::DESTINATION))?;
            far.destination = Some(side);
        }
        if let Some(network) = wire.network {
            far.network = Some(network.to_vec());
        }
        if let Some(header) = &wire.outer {
            let outer = self.remote(header);
            let refused = |cause| Refusal::new(cause, kind::OUTER_CREATION).of(rule);
            far.outer = Some(outer.map_err(refused)?);
        }
        far.marking = wire.marking.or(far.marking);
        Ok(())
    }

    /// The tunnel of a header; the cause of a refusal where it is none.
    fn remote(&self, header: &OuterHeader) -> Result<RemoteTunnel, u8> {
        // GTP-U over IPv4 and over IPv6 (TS 29.244, 8.2.56); the other headers are not made here.
        if header.description & !0x0300 != 0 {
            return Err(cause::NOT_SUPPORTED);
        }
        let has_v4 = self.config.ends.iter().any(|e| e.v4.is_some());
        let v4 = header.v4.map(IpAddr::V4);
        let v6 = header.v6.map(IpAddr::V6);
        // Where both are there, the family that tunnels end in here.
        let address = if has_v4 { v4.or(v6) } else { v6.or(v4) };
        match (header.teid, address) {
            (Some(Teid(0)) | None, _) | (_, None) => Err(cause::MANDATORY_INCORRECT),
            (_, Some(a)) if a.is_unspecified() || a.is_multicast() => {
                Err(cause::MANDATORY_INCORRECT)
            }
            (Some(teid), Some(address)) => Ok(RemoteTunnel { teid, address }),
        }
    }
}

/// What forwards says whereto: forwarding parameters are there where the action has FORW, and a destination interface in
/// them (TS 29.244, 7.5.2.3). An update may leave out what the rule has already (7.5.4.3).
fn destined(far: &Far, wire: &pfcp::Far<'_>, parameters: u16) -> Result<(), Refusal> {
    if far.action != Action::Forward || far.destination.is_some() {
        return Ok(());
    }
    let missing = match wire.forwarding {
        None => parameters,
        Some(_) => kind::DESTINATION,
    };
    Err(Refusal::new(cause::CONDITIONAL_MISSING, missing).of(RuleId::Far(far.id)))
}

/// One of drop, forward and buffer (TS 29.244, 8.2.26); the cause of a refusal where it is not.
fn what(bits: u16) -> Result<Action, u8> {
    let known = action::DROP | action::FORWARD | action::BUFFER | action::NOTIFY | NOTICES;
    if bits & !known != 0 {
        return Err(cause::NOT_SUPPORTED);
    }
    let notify = bits & action::NOTIFY != 0;
    match bits & (action::DROP | action::FORWARD | action::BUFFER) {
        action::DROP if !notify => Ok(Action::Drop),
        action::FORWARD if !notify => Ok(Action::Forward),
        action::BUFFER => Ok(Action::Buffer { notify }),
        _ => Err(cause::MANDATORY_INCORRECT),
    }
}
