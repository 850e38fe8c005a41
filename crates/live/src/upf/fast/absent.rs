//! No path in the kernel: this program was built without BPF.

use std::os::fd::BorrowedFd;

use slackwater_core::Instant;
use slackwater_upf::Upf;
use slackwater_upf::sessions::Seid;

use super::config::UpfConfig;
use super::n6::End;
use crate::LiveError;
use crate::packet::PacketSocket;

/// There is none.
#[derive(Debug)]
pub(super) enum Fast {}

impl Fast {
    /// Refuses.
    ///
    /// # Errors
    /// Always.
    pub(super) fn open(
        _: Instant,
        _: &UpfConfig,
        _: &PacketSocket,
        _: &End<'_>,
    ) -> Result<Self, LiveError> {
        Err(LiveError::Usage(
            "fast.path: found \"kernel\" in a program without BPF, expected one built by: cargo build --profile dist \
             -p slackwater-cli --features bpf"
                .to_owned(),
        ))
    }

    pub(super) fn before(&mut self, _: &mut Upf, _: Instant, _: &[u8]) {
        match *self {}
    }

    pub(super) fn follow(&mut self, _: &mut Upf, _: Instant) {
        match *self {}
    }

    pub(super) fn read(&mut self, _: &mut Upf, _: Instant) -> usize {
        match *self {}
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        match *self {}
    }

    pub(super) fn put_in(&mut self, _: &mut Upf, _: Instant) {
        match *self {}
    }

    pub(super) fn look(&mut self, _: &mut Upf, _: Instant) {
        match *self {}
    }

    pub(super) fn count_all(&mut self, _: &mut Upf, _: Instant) {
        match *self {}
    }

    pub(super) fn has(&self, _: Seid) -> [bool; 2] {
        match *self {}
    }

    pub(super) fn close(&mut self, _: &mut Upf, _: Instant) {
        match *self {}
    }
}
