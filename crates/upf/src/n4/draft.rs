//! The rules of a session as a request would have them: all of it holds in the end, or none of it.
//!
//! What goes is taken out first, then comes what is new, then what changes. References are looked up at the end, so that
//! the order in the message is of no account.

mod far;
mod other;
mod pdr;

use slackwater_wire::pfcp::{Element, RuleId, cause, kind, modification};

use super::config::Config;
use super::refusal::Refusal;
use super::tunnels::Tunnels;
use crate::rules::{Action, Filter, LocalTunnel, RemoteTunnel, Rules};
use crate::sessions::{Seid, Sessions};

/// What a request does to the usage that is counted, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum UsageOrder {
    /// Reports at once.
    Query(u32),
    /// Reports, and is gone.
    Remove(u32),
    /// Begins.
    Create(u32),
    /// Has other terms.
    Update {
        /// The rule.
        id: u32,
        /// The quota of volume was given anew.
        volume: bool,
        /// The quota of time was given anew.
        time: bool,
    },
}

/// A draft.
pub(super) struct Draft<'a> {
    config: &'a Config,
    tunnels: &'a mut Tunnels,
    sessions: &'a Sessions,
    /// The session; `None` for one that is to come.
    seid: Option<Seid>,
    /// Its rules.
    pub(super) rules: Rules,
    /// Tunnels by CHOOSE ID, within this request (TS 29.244, 8.2.3).
    choices: Vec<(u8, LocalTunnel)>,
    /// Tunnels chosen for new rules.
    pub(super) created: Vec<(u16, LocalTunnel)>,
    /// Tunnels chosen for rules that were there.
    pub(super) updated: Vec<(u16, LocalTunnel)>,
    /// Tunnels that an end marker leaves by.
    pub(super) end_markers: Vec<RemoteTunnel>,
    /// What is done to usage.
    pub(super) usage: Vec<UsageOrder>,
}

impl<'a> Draft<'a> {
    pub(super) fn new(
        config: &'a Config,
        tunnels: &'a mut Tunnels,
        sessions: &'a Sessions,
        seid: Option<Seid>,
    ) -> Self {
        let session = seid.and_then(|s| sessions.get(s));
        Self {
            config,
            tunnels,
            sessions,
            seid,
            rules: session.map(|s| s.rules.clone()).unwrap_or_default(),
            choices: Vec::new(),
            created: Vec::new(),
            updated: Vec::new(),
            end_markers: Vec::new(),
            usage: Vec::new(),
        }
    }

    /// Applies all elements of a request.
    pub(super) fn apply(&mut self, elements: &[Element<'_>]) -> Result<(), Refusal> {
        elements.iter().try_for_each(|e| self.remove(e))?;
        elements.iter().try_for_each(|e| self.create(e))?;
        elements.iter().try_for_each(|e| self.update(e))?;
        self.finish()
    }

    fn remove(&mut self, element: &Element<'_>) -> Result<(), Refusal> {
        match element {
            Element::RemovePdr(id) => {
                let at = self.rules.pdrs.iter().position(|p| p.id == *id);
                let at = at.ok_or(Refusal::failed(RuleId::Pdr(*id), kind::PDR_ID))?;
                self.rules.pdrs.remove(at);
            }
            Element::RemoveFar(id) => {
                let at = self.rules.fars.iter().position(|f| f.id == *id);
                let at = at.ok_or(Refusal::failed(RuleId::Far(*id), kind::FAR_ID))?;
                self.rules.fars.remove(at);
            }
            Element::RemoveQer(id) => {
                let at = self.rules.qers.iter().position(|q| q.id == *id);
                let at = at.ok_or(Refusal::failed(RuleId::Qer(*id), kind::QER_ID))?;
                self.rules.qers.remove(at);
                for pdr in &mut self.rules.pdrs {
                    pdr.qers.retain(|q| q != id);
                }
            }
            Element::RemoveUrr(id) => {
                let at = self.rules.urrs.iter().position(|u| u.id == *id);
                let at = at.ok_or(Refusal::failed(RuleId::Urr(*id), kind::URR_ID))?;
                self.rules.urrs.remove(at);
                for pdr in &mut self.rules.pdrs {
                    pdr.urrs.retain(|u| u != id);
                }
                self.usage.push(UsageOrder::Remove(*id));
            }
            Element::RemoveBar(id) => {
                let at = self.rules.bars.iter().position(|b| b.id == *id);
                let at = at.ok_or(Refusal::failed(RuleId::Bar(*id), kind::BAR_ID))?;
                self.rules.bars.remove(at);
                for far in &mut self.rules.fars {
                    far.bar = far.bar.filter(|b| b != id);
                }
            }
            // Before anything changes: what was counted by then is reported.
            Element::QueryUrr(id) => {
                let there = self.before(*id);
                if !there {
                    return Err(Refusal::failed(RuleId::Urr(*id), kind::URR_ID));
                }
                self.usage.push(UsageOrder::Query(*id));
            }
            Element::Flags(flags) if flags & modification::QUERY_ALL != 0 => {
                let session = self.seid.and_then(|s| self.sessions.get(s));
                let all = session.iter().flat_map(|s| &s.rules.urrs);
                self.usage.extend(all.map(|u| UsageOrder::Query(u.id)));
            }
            _ => {}
        }
        Ok(())
    }

    /// True where the session had this URR before the request.
    fn before(&self, urr: u32) -> bool {
        let session = self.seid.and_then(|s| self.sessions.get(s));
        session.is_some_and(|s| s.rules.urr(urr).is_some())
    }

    fn create(&mut self, element: &Element<'_>) -> Result<(), Refusal> {
        match element {
            Element::CreatePdr(pdr) => self.create_pdr(pdr),
            Element::CreateFar(far) => self.create_far(far),
            Element::CreateQer(qer) => self.create_qer(qer),
            Element::CreateUrr(urr) => self.create_urr(urr),
            Element::CreateBar(bar) => self.create_bar(bar),
            Element::PdnType(1..=3) => Ok(()),
            Element::PdnType(_) => Err(Refusal::new(cause::NOT_SUPPORTED, kind::PDN_TYPE)),
            Element::Other {
                kind: kind @ (kind::CREATE_ENDPOINT | kind::CREATE_MAR),
                ..
            } => Err(Refusal::new(cause::NOT_SUPPORTED, *kind)),
            _ => Ok(()),
        }
    }

    fn update(&mut self, element: &Element<'_>) -> Result<(), Refusal> {
        match element {
            Element::UpdatePdr(pdr) => self.update_pdr(pdr),
            Element::UpdateFar(far) => self.update_far(far),
            Element::UpdateQer(qer) => self.update_qer(qer),
            Element::UpdateUrr(urr) => self.update_urr(urr),
            Element::UpdateBar(bar) => self.update_bar(bar),
            _ => Ok(()),
        }
    }

    /// Each rule that another names is there, and filters that stand for another's are filled in.
    fn finish(&mut self) -> Result<(), Refusal> {
        let rules = &self.rules;
        let networks = &self.config.networks;
        for pdr in &rules.pdrs {
            let failed = |kind| Err(Refusal::failed(RuleId::Pdr(pdr.id), kind));
            // A network instance that no interface here serves has no packets (8.2.4).
            let (tunnel, network) = pdr.instance();
            if !networks.serve(tunnel, network) {
                return failed(kind::NETWORK);
            }
            if pdr.far.is_some_and(|far| rules.far(far).is_none()) {
                return failed(kind::FAR_ID);
            }
            if pdr.qers.iter().any(|q| rules.qer(*q).is_none()) {
                return failed(kind::QER_ID);
            }
            if pdr.urrs.iter().any(|u| rules.urr(*u).is_none()) {
                return failed(kind::URR_ID);
            }
        }
        for far in &rules.fars {
            let failed = |kind| Err(Refusal::failed(RuleId::Far(far.id), kind));
            if far.bar.is_some_and(|bar| rules.bar(bar).is_none()) {
                return failed(kind::BAR_ID);
            }
            if let Some((tunnel, network)) = far.instance()
                && !networks.serve(tunnel, network)
            {
                return failed(kind::NETWORK);
            }
        }
        // Without Outer Header Removal a packet goes on in the tunnel's header that it came in (8.2.64): not done here.
        let kept = rules.pdrs.iter().find(|p| {
            let far = p.far.and_then(|far| rules.far(far));
            let forwards = far.is_some_and(|f| f.action == Action::Forward);
            p.tunnel.is_some() && !p.remove_outer && forwards
        });
        if let Some(pdr) = kept {
            return Err(Refusal::beyond(RuleId::Pdr(pdr.id), kind::OUTER_REMOVAL));
        }
        self.fill_in_filters()?;
        self.usage.sort_unstable();
        self.usage.dedup();
        Ok(())
    }

    /// A filter with a number alone is the one that came with that number (TS 29.244, 8.2.5).
    fn fill_in_filters(&mut self) -> Result<(), Refusal> {
        let filters = self.rules.pdrs.iter().flat_map(|p| &p.filters);
        let whole: Vec<Filter> = filters.filter(|f| !is_reference(f)).cloned().collect();
        for pdr in &mut self.rules.pdrs {
            for filter in pdr.filters.iter_mut().filter(|f| is_reference(f)) {
                let meant = whole.iter().find(|f| f.id == filter.id);
                let rule = RuleId::Pdr(pdr.id);
                *filter = meant
                    .ok_or(Refusal::failed(rule, kind::SDF_FILTER))?
                    .clone();
            }
        }
        Ok(())
    }

    /// An error where there are as many rules of a kind as a session may have.
    fn room(&self, there: usize, kind: u16) -> Result<(), Refusal> {
        if there < self.config.max_rules {
            return Ok(());
        }
        Err(Refusal::new(cause::NO_RESOURCES, kind))
    }
}

fn is_reference(filter: &Filter) -> bool {
    filter.flow.is_none()
        && filter.tos.is_none()
        && filter.spi.is_none()
        && filter.flow_label.is_none()
}
