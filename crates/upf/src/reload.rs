//! What changes while sessions go on: the edge functions and the networks.

use slackwater_core::Instant;

use crate::n4::{Networks, network_name};
use crate::upf::Upf;
use crate::user::FunctionConfig;

/// A network that was to go has sessions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{sessions} sessions have the network {name:?}")]
pub struct InUse {
    /// It lies behind N3 or N9, not behind N6.
    pub tunnels: bool,
    /// Its name.
    pub name: String,
    /// Sessions with it.
    pub sessions: usize,
}

impl Upf {
    /// Changes the edge functions of all sessions. Packets that wait stay, or leave where nothing holds them any more.
    pub fn set_functions(&mut self, now: Instant, functions: FunctionConfig) {
        let (sessions, usage) = (&mut self.sessions, &mut self.usage);
        self.user.set_functions(now, sessions, usage, functions);
    }

    /// Changes the networks that rules may name from now on.
    ///
    /// # Errors
    /// A session has one that is not among them. Nothing is changed then.
    pub fn set_networks(&mut self, networks: Networks) -> Result<(), InUse> {
        let mut lost: Option<InUse> = None;
        for session in self.sessions.iter() {
            let rules = &session.rules;
            let of_pdrs = rules.pdrs.iter().map(crate::rules::Pdr::instance);
            let of_fars = rules.fars.iter().filter_map(crate::rules::Far::instance);
            let mut all = of_pdrs.chain(of_fars);
            let unserved = all.find(|(tunnel, network)| !networks.serve(*tunnel, *network));
            if let Some((tunnels, network)) = unserved {
                let first = lost.get_or_insert_with(|| InUse {
                    tunnels,
                    name: network.map(network_name).unwrap_or_default(),
                    sessions: 0,
                });
                first.sessions += 1;
            }
        }
        if let Some(lost) = lost {
            return Err(lost);
        }
        self.node.set_networks(networks);
        Ok(())
    }
}
