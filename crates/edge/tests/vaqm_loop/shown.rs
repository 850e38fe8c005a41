//! What the UPF sees of a packet.

use slackwater_core::{Ecn, FlowId, Packet, PacketView, SackList, TcpHeader};

/// A packet as the UPF sees it: with the transport in the clear, or sealed like a VPN's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shown {
    pub(crate) packet: Packet,
    pub(crate) sealed: bool,
}

impl PacketView for Shown {
    fn len(&self) -> u32 {
        self.packet.len()
    }
    fn flow_key(&self) -> u32 {
        self.packet.flow_key()
    }
    fn reverse_key(&self) -> u32 {
        self.packet.reverse_key()
    }
    fn flow(&self) -> Option<FlowId> {
        self.packet.flow()
    }
    fn ecn(&self) -> Ecn {
        self.packet.ecn()
    }
    fn set_ecn(&mut self, ecn: Ecn) {
        self.packet.set_ecn(ecn);
    }
    fn tcp(&self) -> Option<TcpHeader> {
        if self.sealed { None } else { self.packet.tcp() }
    }
    fn sack(&self) -> SackList {
        if self.sealed {
            SackList::default()
        } else {
            self.packet.sack()
        }
    }
}
