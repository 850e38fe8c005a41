//! `slackwater bench --media`: what one reported packet costs each media controller.

use std::process::ExitCode;

use anyhow::Result;
use slackwater_lab::bench::feedback::{FeedbackCost, feedback};
use slackwater_lab::control::registry::Config;
use slackwater_lab::control::{build_media, media_names};
use slackwater_lab::core::Draw;
use slackwater_results::table::Table;

use crate::say::say;

/// Payload bytes of a packet.
const PAYLOAD: u32 = 1160;

/// Measures all of them, each `runs` times.
pub(super) fn bench(runs: u32, json: bool) -> Result<ExitCode> {
    let mut costs: Vec<FeedbackCost> = Vec::new();
    for (name, _) in media_names() {
        let controller = build_media(name, &Config::new(PAYLOAD, Draw::new(1)))?;
        costs.push(feedback(name, controller, runs));
    }
    if json {
        say!("{}", serde_json::to_string_pretty(&costs)?);
    } else {
        crate::terminal::print(&crate::terminal::text(&table(&costs)));
    }
    Ok(ExitCode::SUCCESS)
}

fn table(costs: &[FeedbackCost]) -> Table {
    let mut table = Table::new(&["controller", "ns a packet", "goal", "ratio"]);
    for cost in costs {
        table.row(&[
            cost.controller.clone(),
            format!("{:.0}", cost.ns),
            format!("{:.0}", cost.goal_ns),
            format!("{:.2}", cost.ratio),
        ]);
    }
    table
}
