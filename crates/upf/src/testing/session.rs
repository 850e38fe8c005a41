//! A session's rules as they stand once a control plane has ordered them.

use std::net::Ipv4Addr;

use slackwater_core::{Qfi, Teid};
use slackwater_wire::pfcp::EdgeOptions;

use super::GNB_ADDRESS;
use crate::rules::{
    Action, Far, Interface, LocalTunnel, Pdr, Qer, RemoteTunnel, Rules, UeAddress, Urr,
};

/// A rule of the session of `ue` for what comes from `source`; `teid` is its tunnel from the base station.
pub fn pdr(id: u16, source: Interface, ue: Ipv4Addr, teid: Teid) -> Pdr {
    let tunnel = (source == Interface::Access).then_some(LocalTunnel {
        teid,
        v4: Some(Ipv4Addr::LOCALHOST),
        v6: None,
    });
    Pdr {
        id,
        precedence: 100,
        source,
        remove_outer: tunnel.is_some(),
        tunnel,
        network: None,
        ue: Some(UeAddress {
            v4: Some(ue),
            v6: None,
        }),
        filters: Vec::new(),
        qfis: Vec::new(),
        reports: false,
        far: Some(u32::from(id)),
        qers: vec![1],
        urrs: vec![1],
    }
}

/// A rule that forwards to `destination`, in a tunnel where there is an `outer` one.
pub const fn far(id: u32, destination: Interface, outer: Option<RemoteTunnel>) -> Far {
    Far {
        id,
        action: Action::Forward,
        destination: Some(destination),
        network: None,
        outer,
        marking: None,
        bar: None,
    }
}

/// The session of `ue`, with a flow each way: packets come from the base station by our tunnel `ours`, and go to it by `theirs`.
pub fn rules(ue: Ipv4Addr, ours: Teid, theirs: Teid) -> Rules {
    let outer = RemoteTunnel {
        teid: theirs,
        address: GNB_ADDRESS.into(),
    };
    Rules {
        pdrs: vec![
            pdr(1, Interface::Access, ue, ours),
            pdr(2, Interface::Core, ue, ours),
        ],
        fars: vec![
            far(1, Interface::Core, None),
            far(2, Interface::Access, Some(outer)),
        ],
        qers: vec![Qer {
            id: 1,
            correlation: None,
            gate_up: true,
            gate_down: true,
            maximum: None,
            guaranteed: None,
            qfi: Some(Qfi(9)),
            reflective: false,
            edge: EdgeOptions::default(),
        }],
        urrs: vec![Urr {
            id: 1,
            volume: true,
            ..Urr::default()
        }],
        ..Rules::default()
    }
}
