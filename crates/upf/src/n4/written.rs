//! The rules of a session as the elements that would order them anew, for the state file.

use std::fmt::Write as _;
use std::net::IpAddr;

use slackwater_wire::pfcp::{
    self, BEFORE_QOS, BitRates, EdgeOptions, Element, FTeid, Forwarding, Gates, OuterHeader, Pdi,
    SdfFilter, UeIp, Volumes, action, interface, method,
};

use crate::rules::{
    Action, Bar, Far, FlowDescription, FlowEnd, Interface, Pdr, Qer, RemoteTunnel, Rules, Urr,
    Volume,
};

/// The text of a flow description, as `filter::parse` reads it (RFC 6733, 4.3.1).
pub(super) fn flow_text(flow: &FlowDescription) -> String {
    let protocol = flow
        .protocol
        .map_or_else(|| "ip".to_owned(), |p| p.to_string());
    format!(
        "permit out {protocol} from {} to {}",
        end_text(&flow.remote),
        end_text(&flow.ue)
    )
}

fn end_text(end: &FlowEnd) -> String {
    let mut text = match end.address {
        _ if end.assigned => "assigned".to_owned(),
        None => "any".to_owned(),
        Some(prefix) => format!("{}/{}", prefix.address, prefix.bits),
    };
    for (k, (first, last)) in end.ports.iter().enumerate() {
        text.push(if k == 0 { ' ' } else { ',' });
        let _ = write!(text, "{first}-{last}");
    }
    text
}

/// The texts of all filters, which elements borrow: by PDR, then by filter.
pub(super) fn texts(rules: &Rules) -> Vec<Vec<Option<String>>> {
    let of = |p: &Pdr| {
        let filters = p.filters.iter();
        filters.map(|f| f.flow.as_ref().map(flow_text)).collect()
    };
    rules.pdrs.iter().map(of).collect()
}

/// All rules, each as its creation.
pub(super) fn elements<'a>(rules: &'a Rules, texts: &'a [Vec<Option<String>>]) -> Vec<Element<'a>> {
    let pdrs = rules.pdrs.iter().zip(texts);
    let pdrs = pdrs.map(|(p, t)| Element::CreatePdr(pdr(p, t)));
    let fars = rules.fars.iter().map(|f| Element::CreateFar(far(f)));
    let qers = rules.qers.iter().map(|q| Element::CreateQer(qer(q)));
    let urrs = rules.urrs.iter().map(|u| Element::CreateUrr(urr(u)));
    let bars = rules.bars.iter().map(|b| Element::CreateBar(bar(b)));
    pdrs.chain(fars)
        .chain(qers)
        .chain(urrs)
        .chain(bars)
        .collect()
}

const fn octet(interface: Interface) -> u8 {
    match interface {
        Interface::Access => interface::ACCESS,
        Interface::Core => interface::CORE,
        Interface::SgiLan => interface::SGI_LAN,
        Interface::Control => interface::CONTROL,
    }
}

fn pdr<'a>(pdr: &'a Pdr, texts: &'a [Option<String>]) -> pfcp::Pdr<'a> {
    let filters = pdr.filters.iter().zip(texts).map(|(f, text)| SdfFilter {
        description: text.as_ref().map(String::as_bytes),
        tos: f.tos.map(|(value, mask)| u16::from_be_bytes([value, mask])),
        spi: f.spi,
        flow_label: f.flow_label,
        id: f.id,
    });
    pfcp::Pdr {
        id: pdr.id,
        precedence: Some(pdr.precedence),
        pdi: Some(Pdi {
            source: octet(pdr.source),
            tunnel: pdr.tunnel.map(|t| FTeid::Given {
                teid: t.teid,
                v4: t.v4,
                v6: t.v6,
            }),
            network: pdr.network.as_deref(),
            ue: pdr.ue.map(|ue| UeIp {
                v4: ue.v4,
                v6: ue.v6.map(|(a, _)| a),
                prefix: ue.v6.map(|(_, bits)| bits),
                destination: pdr.source != Interface::Access,
                ..UeIp::default()
            }),
            filters: filters.collect(),
            qfis: pdr.qfis.clone(),
            edge: EdgeOptions {
                reports: pdr.reports,
                ..EdgeOptions::default()
            },
        }),
        // 6: of either family (TS 29.244, 8.2.64).
        outer_removal: pdr.remove_outer.then_some(6),
        far: pdr.far,
        qers: pdr.qers.clone(),
        urrs: pdr.urrs.clone(),
        beyond: None,
    }
}

fn outer(tunnel: RemoteTunnel) -> OuterHeader {
    let (description, v4, v6) = match tunnel.address {
        IpAddr::V4(a) => (0x0100, Some(a), None),
        IpAddr::V6(a) => (0x0200, None, Some(a)),
    };
    OuterHeader {
        description,
        teid: Some(tunnel.teid),
        v4,
        v6,
        port: None,
    }
}

fn far(far: &Far) -> pfcp::Far<'_> {
    let does = match far.action {
        Action::Drop => action::DROP,
        Action::Forward => action::FORWARD,
        Action::Buffer { notify: false } => action::BUFFER,
        Action::Buffer { notify: true } => action::BUFFER | action::NOTIFY,
    };
    let forwarding = Forwarding {
        destination: far.destination.map(octet),
        network: far.network.as_deref(),
        outer: far.outer.map(outer),
        marking: far.marking,
        end_marker: false,
    };
    pfcp::Far {
        id: far.id,
        action: Some(does),
        forwarding: (forwarding != Forwarding::default()).then_some(forwarding),
        bar: far.bar,
        beyond: None,
    }
}

fn qer(qer: &Qer) -> pfcp::Qer {
    let rates = |r: crate::rules::Rates| BitRates {
        up: r.up,
        down: r.down,
    };
    pfcp::Qer {
        id: qer.id,
        correlation: qer.correlation,
        gates: Some(Gates {
            up: qer.gate_up,
            down: qer.gate_down,
        }),
        maximum: qer.maximum.map(rates),
        guaranteed: qer.guaranteed.map(rates),
        qfi: qer.qfi,
        reflective: Some(qer.reflective),
        edge: qer.edge,
    }
}

fn urr(urr: &Urr) -> pfcp::Urr {
    let bit = |set: bool, bit: u8| if set { bit } else { 0 };
    let volume = |v: Volume| {
        (v != Volume::default()).then_some(Volumes {
            total: v.total,
            up: v.up,
            down: v.down,
        })
    };
    let [a, b, c] = urr.triggers;
    pfcp::Urr {
        id: urr.id,
        method: Some(
            bit(urr.duration, method::DURATION)
                | bit(urr.volume, method::VOLUME)
                | bit(urr.event, method::EVENT),
        ),
        triggers: Some(u32::from_le_bytes([a, b, c, 0])),
        period: urr.period,
        volume_threshold: volume(urr.volume_threshold),
        volume_quota: volume(urr.volume_quota),
        time_threshold: urr.time_threshold,
        time_quota: urr.time_quota,
        holding: urr.holding,
        inactivity: urr.inactivity,
        information: urr.before_qos.then_some(BEFORE_QOS),
        beyond: None,
    }
}

const fn bar(bar: &Bar) -> pfcp::Bar {
    pfcp::Bar {
        id: bar.id,
        notification_delay: Some(bar.notification_delay),
        packets: bar.packets,
    }
}
