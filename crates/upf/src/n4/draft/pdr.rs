//! Packet detection rules (TS 29.244, 7.5.2.2 and 7.5.4.2).

use slackwater_core::Teid;
use slackwater_wire::pfcp::{self, FTeid, Pdi, RuleId, SdfFilter, UeIp, cause, interface, kind};

use super::super::config::{LocalEnd, network_name};
use super::super::filter;
use super::super::refusal::Refusal;
use super::Draft;
use crate::rules::{Filter, Interface, LocalTunnel, Pdr, Prefix, UeAddress};

/// Bits of the shortest prefix of a UE: sessions are found by the first 64 bits, and 256 of those can be looked up.
const SHORTEST_PREFIX: u8 = 56;

impl Draft<'_> {
    pub(super) fn create_pdr(&mut self, wire: &pfcp::Pdr<'_>) -> Result<(), Refusal> {
        let rule = RuleId::Pdr(wire.id);
        self.room(self.rules.pdrs.len(), kind::CREATE_PDR)?;
        if self.rules.pdrs.iter().any(|p| p.id == wire.id) {
            return Err(Refusal::failed(rule, kind::PDR_ID));
        }
        let mut pdr = Pdr {
            id: wire.id,
            precedence: 0,
            source: Interface::Access,
            tunnel: None,
            network: None,
            ue: None,
            filters: Vec::new(),
            qfis: Vec::new(),
            remove_outer: false,
            reports: false,
            far: None,
            qers: Vec::new(),
            urrs: Vec::new(),
        };
        let chosen = self.merge_pdr(&mut pdr, wire)?;
        self.created.extend(chosen.map(|tunnel| (wire.id, tunnel)));
        self.rules.pdrs.push(pdr);
        Ok(())
    }

    pub(super) fn update_pdr(&mut self, wire: &pfcp::Pdr<'_>) -> Result<(), Refusal> {
        let at = self.rules.pdrs.iter().position(|p| p.id == wire.id);
        let at = at.ok_or(Refusal::failed(RuleId::Pdr(wire.id), kind::PDR_ID))?;
        let mut pdr = self.rules.pdrs[at].clone();
        let chosen = self.merge_pdr(&mut pdr, wire)?;
        self.updated.extend(chosen.map(|tunnel| (wire.id, tunnel)));
        self.rules.pdrs[at] = pdr;
        Ok(())
    }

    /// Puts what the element names into the rule; the tunnel that was chosen, if one was.
    fn merge_pdr(
        &mut self,
        pdr: &mut Pdr,
        wire: &pfcp::Pdr<'_>,
    ) -> Result<Option<LocalTunnel>, Refusal> {
        let rule = RuleId::Pdr(wire.id);
        if let Some(element) = wire.beyond {
            return Err(Refusal::beyond(rule, element));
        }
        pdr.precedence = wire.precedence.unwrap_or(pdr.precedence);
        pdr.remove_outer = match wire.outer_removal {
            None => pdr.remove_outer,
            // GTP-U over IPv4, over IPv6, over either (TS 29.244, 8.2.64).
            Some(0 | 1 | 6) => true,
            Some(_) => return Err(Refusal::beyond(rule, kind::OUTER_REMOVAL)),
        };
        pdr.far = wire.far.or(pdr.far);
        // Lists that are there replace those before (TS 29.244, 7.5.4.2).
        let bound = |list: &[u32], kind| self.room(list.len().saturating_sub(1), kind);
        bound(&wire.qers, kind::QER_ID)?;
        bound(&wire.urrs, kind::URR_ID)?;
        if !wire.qers.is_empty() {
            pdr.qers.clone_from(&wire.qers);
        }
        if !wire.urrs.is_empty() {
            pdr.urrs.clone_from(&wire.urrs);
        }
        let chosen = match &wire.pdi {
            Some(pdi) => self.merge_pdi(pdr, pdi)?,
            None => None,
        };
        // A header of a family that the tunnel does not have cannot be removed.
        let there = pdr.tunnel.is_none_or(|t| match wire.outer_removal {
            Some(0) => t.v4.is_some(),
            Some(1) => t.v6.is_some(),
            _ => true,
        });
        if !there {
            let wrong = Refusal::new(cause::MANDATORY_INCORRECT, kind::OUTER_REMOVAL);
            return Err(wrong.of(rule));
        }
        Ok(chosen)
    }

    /// A PDI replaces the one before, whole (TS 29.244, 7.5.4.2).
    fn merge_pdi(&mut self, pdr: &mut Pdr, pdi: &Pdi<'_>) -> Result<Option<LocalTunnel>, Refusal> {
        let rule = RuleId::Pdr(pdr.id);
        pdr.source = side(pdi.source).ok_or(Refusal::beyond(rule, kind::SOURCE))?;
        pdr.network = pdi.network.map(<[u8]>::to_vec);
        pdr.reports = pdi.edge.reports;
        self.room(pdi.qfis.len().saturating_sub(1), kind::CREATE_PDR)?;
        pdr.qfis.clone_from(&pdi.qfis);
        self.room(pdi.filters.len().saturating_sub(1), kind::SDF_FILTER)?;
        let filters = pdi.filters.iter().map(|f| whole_filter(rule, f));
        pdr.filters = filters.collect::<Result<_, _>>()?;
        pdr.ue = match &pdi.ue {
            None => None,
            Some(ue) => Some(self.ue(rule, ue)?),
        };
        pdr.tunnel = None;
        match pdi.tunnel {
            None => Ok(None),
            Some(FTeid::Given { teid, v4, v6 }) => {
                let tunnel = LocalTunnel { teid, v4, v6 };
                self.check_given(pdr, tunnel)?;
                pdr.tunnel = Some(tunnel);
                Ok(None)
            }
            Some(FTeid::Choose { v4, v6, id }) => {
                let tunnel = self.choose(pdr, v4, v6, id)?;
                pdr.tunnel = Some(tunnel);
                Ok(Some(tunnel))
            }
        }
    }

    /// A UE's addresses, which no other session has.
    fn ue(&self, rule: RuleId, wire: &UeIp) -> Result<UeAddress, Refusal> {
        let refused = |cause| Err(Refusal::new(cause, kind::UE_IP).of(rule));
        if wire.choose_v4 || wire.choose_v6 {
            return refused(cause::NOT_SUPPORTED);
        }
        // IP6PL gives the length; else what is delegated comes off the 64 bits (TS 29.244, 8.2.62).
        let bits = match (wire.prefix, wire.delegated) {
            (Some(bits), _) => Some(bits),
            (None, delegated) => 64u8.checked_sub(delegated.unwrap_or(0)),
        };
        let v6 = match (wire.v6, bits) {
            (None, _) => None,
            (Some(_), Some(bits)) if bits < SHORTEST_PREFIX => {
                return refused(cause::NOT_SUPPORTED);
            }
            (Some(a), bits) => match bits.and_then(|bits| Prefix::new(a.into(), Some(bits))) {
                Some(Prefix {
                    address: std::net::IpAddr::V6(a),
                    bits,
                }) => Some((a, bits)),
                _ => return refused(cause::MANDATORY_INCORRECT),
            },
        };
        let ue = UeAddress { v4: wire.v4, v6 };
        if ue == UeAddress::default() {
            return refused(cause::MANDATORY_INCORRECT);
        }
        if self.sessions.has_address(ue, self.seid) {
            return refused(cause::RULE_FAILURE);
        }
        Ok(ue)
    }

    /// A given tunnel ends here and is no other session's.
    fn check_given(&self, pdr: &Pdr, tunnel: LocalTunnel) -> Result<(), Refusal> {
        let rule = RuleId::Pdr(pdr.id);
        let ours = |end: &LocalEnd| {
            end.interface == pdr.source
                && (tunnel.v4.is_none() || tunnel.v4 == end.v4)
                && (tunnel.v6.is_none() || tunnel.v6 == end.v6)
        };
        let somewhere = tunnel.v4.is_some() || tunnel.v6.is_some();
        if tunnel.teid == Teid(0) || !somewhere || !self.config.ends.iter().any(ours) {
            let wrong = Refusal::new(cause::MANDATORY_INCORRECT, kind::F_TEID);
            return Err(wrong.of(rule));
        }
        let owner = self.sessions.by_tunnel(tunnel.teid).map(|s| s.seid);
        if owner.is_some() && owner != self.seid {
            return Err(Refusal::failed(rule, kind::F_TEID));
        }
        Ok(())
    }

    fn choose(
        &mut self,
        pdr: &Pdr,
        v4: bool,
        v6: bool,
        id: Option<u8>,
    ) -> Result<LocalTunnel, Refusal> {
        let rule = RuleId::Pdr(pdr.id);
        let refused = |cause| Refusal::new(cause, kind::F_TEID).of(rule);
        if !v4 && !v6 {
            return Err(refused(cause::F_TEID_ALLOCATION));
        }
        // The same number, the same tunnel (TS 29.244, 8.2.3).
        let same = self.choices.iter().find(|(i, _)| Some(*i) == id);
        if let Some((_, tunnel)) = same {
            return Ok(*tunnel);
        }
        let fits = |end: &&LocalEnd| {
            end.interface == pdr.source
                && end.network.as_ref().is_none_or(|n| {
                    Some(network_name(n)) == pdr.network.as_deref().map(network_name)
                })
                && (!v4 || end.v4.is_some())
                && (!v6 || end.v6.is_some())
        };
        let end = self.config.ends.iter().find(fits);
        let end = end.ok_or(refused(cause::NO_RESOURCES))?;
        let (sessions, choices) = (self.sessions, &self.choices);
        let mine = self.rules.pdrs.iter().filter_map(|p| p.tunnel);
        let mine: Vec<Teid> = mine
            .chain(choices.iter().map(|c| c.1))
            .map(|t| t.teid)
            .collect();
        let taken = |teid| sessions.has_tunnel(teid) || mine.contains(&teid);
        let teid = self.tunnels.choose(taken);
        let tunnel = LocalTunnel {
            teid: teid.ok_or(refused(cause::NO_RESOURCES))?,
            v4: end.v4.filter(|_| v4),
            v6: end.v6.filter(|_| v6),
        };
        self.choices.extend(id.map(|id| (id, tunnel)));
        Ok(tunnel)
    }
}

/// The interface of that number.
pub(super) const fn side(octet: u8) -> Option<Interface> {
    match octet {
        interface::ACCESS => Some(Interface::Access),
        interface::CORE => Some(Interface::Core),
        interface::SGI_LAN => Some(Interface::SgiLan),
        interface::CONTROL => Some(Interface::Control),
        _ => None,
    }
}

fn whole_filter(rule: RuleId, wire: &SdfFilter<'_>) -> Result<Filter, Refusal> {
    let wrong = Refusal::new(cause::MANDATORY_INCORRECT, kind::SDF_FILTER).of(rule);
    let flow = match wire.description {
        None => None,
        Some(text) => Some(filter::parse(text).ok_or(wrong)?),
    };
    let filter = Filter {
        flow,
        tos: wire.tos.map(|t| ((t >> 8) as u8, t as u8)),
        spi: wire.spi,
        flow_label: wire.flow_label,
        id: wire.id,
    };
    if filter == Filter::default() {
        return Err(wrong);
    }
    Ok(filter)
}
