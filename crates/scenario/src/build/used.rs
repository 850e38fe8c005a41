//! What a world is built of, as text: two scenarios with the same text run the same.

use std::fmt::Write as _;

use slackwater_core::{Draw, Duration, NodeId, Qfi, UeId};

use super::path::{self, Place};
use super::{Layout, cell, feedback, flow, link, upf};
use crate::{Bottleneck, Scenario};

/// The configurations of all parts of the world.
pub(crate) fn used(scenario: &Scenario) -> String {
    let plugins = scenario.plugins();
    let mut text = String::new();
    let mut put = |part: &dyn core::fmt::Debug| writeln!(text, "{part:?}").expect("text");
    let mut draw = || Draw::new(1);
    let mut layout = Layout::default();
    let mut slot = Duration::ZERO;
    if let Some(wired) = &scenario.wired {
        layout.wired = Some(NodeId(9));
        layout.wired_up = Some(NodeId(6));
        put(&link::wired(wired, plugins, draw()).service);
        put(&link::queue(&wired.queue, plugins));
    }
    match &scenario.bottleneck {
        Bottleneck::Link(config) => {
            let (_, up) = link::both(config, plugins, &mut draw);
            layout.up_node = up.as_ref().map(|_| NodeId(8));
            put(&link::service(config));
            put(&up.map(|up| up.service));
            put(&config.queues().map(|q| link::queue(q, plugins)));
        }
        Bottleneck::Cell(config) => {
            layout.cell = true;
            // A bearer says of its law only that there is one.
            put(&link::law(&config.rlc.law, plugins));
            let (config, ues) = cell::configs(config, scenario, &mut draw);
            slot = config.slot_duration();
            put(&(&config, ues));
            put(&feedback::xrc_agent(scenario, &config));
        }
    }
    put(&(feedback::way(scenario), feedback::mode(scenario)));
    let ues = scenario.expanded_ues();
    if let Some(config) = &scenario.upf {
        layout.upf = vec![NodeId(7)];
        put(&upf::used(config, &ues, plugins));
    }
    for (number, one) in scenario.expanded_flows().iter().enumerate() {
        let (ue, qfi) = (UeId(one.ue.unwrap_or(0)), Qfi(one.spec.qfi));
        let guarantee = ues.get(ue.index()).and_then(|u| u.guarantee(qfi.0));
        let gbr_flow = guarantee.map(|_| qfi);
        let place = Place {
            ue,
            qfi,
            gbr_flow,
            slot,
        };
        let (down, up) = path::of(scenario, &layout, one, place);
        let config = flow::config(scenario, one, down, up, Draw::new(number as u64), |_| None);
        put(&(&one.label, one.stop, config));
        put(&feedback::way_of_blocks(scenario, one.rtt));
        put(&feedback::way_of_counters(scenario, one.rtt / 2));
    }
    put(&(scenario.duration, scenario.seed));
    text
}
