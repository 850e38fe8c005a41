//! Counters of flows, from a base station's reports to the flows' senders.

use std::path::Path;

use slackwater_wire::gtpu::report::FlowCounters;

use super::config::FlowCounters as Config;
use crate::LiveError;
use crate::counted::{Key, Signer};
use crate::emulate::beside;
use crate::emulate::bridge::Beside;

/// Writes them as datagrams for N6.
#[derive(Debug)]
pub(super) struct Forwarder {
    /// UDP port of senders.
    port: u16,
    signer: Signer,
}

impl Forwarder {
    /// What `config` orders; `None` where counters go nowhere.
    ///
    /// # Errors
    /// Where the key cannot be read or is too short.
    pub(super) fn new(config: &Config) -> Result<Option<Self>, LiveError> {
        let Some(port) = config.port else {
            return Ok(None);
        };
        let key = config.key.as_ref().map(|path| Key::read(Path::new(path)));
        Ok(Some(Self {
            port,
            signer: Signer::new(key.transpose()?),
        }))
    }

    /// The IP packet that takes `counters` to the sender of their flow. It comes from the address of the UE, whose answer would
    /// pass the same way.
    pub(super) fn packet(&mut self, counters: &FlowCounters) -> Vec<u8> {
        let report = Beside::Counters(counters.octets);
        beside::to_sender(counters.flow, report, self.port, self.signer.next_serial())
    }
}
