//! Sessions that `upf.toml` orders, as the rules that a control plane would have sent.

use std::net::IpAddr;

use slackwater_core::{Qfi, Rate, Teid};
use slackwater_upf::rules::{
    Action, Far, Interface, LocalTunnel, Pdr, Qer, Rates, RemoteTunnel, Rules, UeAddress,
};
use slackwater_wire::pfcp::EdgeOptions;

use super::config::{N3, StaticSession};

/// A bound that no link reaches, for the direction without one.
const UNBOUND: Rate = Rate::from_bps(1_000_000_000_000);

/// Uplink and downlink: one PDR and one FAR each, and one QER that both have, so that its maximum is the session's AMBR
/// (TS 29.244, 5.4.4).
pub fn rules(session: &StaticSession, n3: &N3) -> Rules {
    let local = n3.address.0;
    let v4 = |address| match address {
        IpAddr::V4(a) => Some(a),
        IpAddr::V6(_) => None,
    };
    let v6 = |address| match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(a) => Some(a),
    };
    let ue = Some(UeAddress {
        v4: v4(session.ue.0),
        v6: v6(session.ue.0).map(|a| (a, 64)),
    });
    let pdr = |id: u16, source, tunnel: Option<LocalTunnel>| Pdr {
        id,
        precedence: 100,
        source,
        remove_outer: tunnel.is_some(),
        tunnel,
        network: None,
        ue,
        filters: Vec::new(),
        qfis: Vec::new(),
        reports: session.reports && source == Interface::Access,
        far: Some(u32::from(id)),
        qers: vec![1],
        urrs: Vec::new(),
    };
    let far = |id, destination, outer| Far {
        id,
        action: Action::Forward,
        destination: Some(destination),
        network: None,
        outer,
        marking: None,
        bar: None,
    };
    let uplink = LocalTunnel {
        teid: Teid(session.teid),
        v4: v4(local),
        v6: v6(local),
    };
    let downlink = RemoteTunnel {
        teid: Teid(session.gnb_teid),
        address: session.gnb.0,
    };
    let bounded = session.ambr_up.is_some() || session.ambr_down.is_some();
    Rules {
        pdrs: vec![
            pdr(1, Interface::Access, Some(uplink)),
            pdr(2, Interface::Core, None),
        ],
        fars: vec![
            far(1, Interface::Core, None),
            far(2, Interface::Access, Some(downlink)),
        ],
        qers: vec![Qer {
            id: 1,
            correlation: None,
            gate_up: true,
            gate_down: true,
            maximum: bounded.then(|| Rates {
                up: session.ambr_up.unwrap_or(UNBOUND),
                down: session.ambr_down.unwrap_or(UNBOUND),
            }),
            guaranteed: None,
            qfi: (!session.epc).then_some(Qfi(session.qfi)),
            reflective: false,
            edge: EdgeOptions::default(),
        }],
        ..Rules::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::upf::UpfConfig;

    #[test]
    fn the_one_qer_is_the_sessions() {
        let text = "[n3]\naddress = \"192.0.2.1\"\n[[session]]\nue = \"10.60.0.1\"\nteid = 1\ngnb = \"192.0.2.2\"\n\
                    gnb_teid = 7\nambr_down = \"20 Mbit/s\"\n";
        let config = UpfConfig::parse("upf.toml", text).unwrap();
        let rules = rules(&config.session[0], &config.n3);
        let ambr: Vec<_> = rules.session_qers().filter_map(|q| q.maximum).collect();
        assert_eq!(ambr.len(), 1);
        assert_eq!(ambr[0].down, Rate::from_bps(20_000_000));
        assert_eq!(
            rules.far(2).and_then(|f| f.outer).map(|o| o.teid),
            Some(Teid(7))
        );
        assert_eq!(
            rules.pdrs[0].tunnel.and_then(|t| t.v4),
            "192.0.2.1".parse().ok()
        );
    }
}
