//! RLC of each bearer, and its mode where that follows from what the bearer carries.

use slackwater_core::Qfi;
use slackwater_ran::rlc::Mode;
use slackwater_ran::sdap::QfiMap;

use crate::Scenario;
use crate::flow::{Protocol, UeRef};

/// What a bearer carries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Load {
    /// No flow of the scenario.
    Nothing,
    /// Media and datagrams alone.
    Datagrams,
    /// TCP or QUIC among others.
    Elastic,
}

impl Load {
    const fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Udp | Protocol::Rtp => Self::Datagrams,
            Protocol::Tcp | Protocol::Quic | Protocol::Quinn => Self::Elastic,
        }
    }

    /// Networks carry real-time media on UM and the rest on AM: srsRAN Project's `qos.yml` has UM for 5QI 1, 2 and 7 and AM for
    /// 5QI 9, which is the default bearer's (TS 23.501, table 5.7.4-1: "TCP-based").
    const fn mode(self) -> Mode {
        match self {
            Self::Datagrams => Mode::Um,
            Self::Nothing | Self::Elastic => Mode::Am,
        }
    }
}

impl Scenario {
    /// The RLC mode of each bearer of each UE, in the order of [`Scenario::expanded_ues`]. Empty where the bottleneck is a link.
    pub fn rlc_modes(&self) -> Vec<Vec<Mode>> {
        let Some(cell) = self.cell() else {
            return Vec::new();
        };
        let ues = self.expanded_ues();
        let bearers = ues.iter().map(|ue| ue.bearers.len().max(1));
        if let Some(mode) = cell.rlc.mode.0 {
            return bearers.map(|n| vec![mode; n]).collect();
        }
        let mut loads: Vec<Vec<Load>> = bearers.map(|n| vec![Load::Nothing; n]).collect();
        let maps: Vec<QfiMap> = self.ues.iter().map(qfis).collect();
        let entry = self.ues.iter().enumerate();
        let entry: Vec<usize> = entry
            .flat_map(|(i, ue)| core::iter::repeat_n(i, ue.count as usize))
            .collect();
        for flow in &self.flows {
            let load = Load::of(flow.protocol());
            let reached = match flow.ue {
                UeRef::Index(i) => i as usize..i as usize + 1,
                UeRef::Each => 0..ues.len(),
            };
            for ue in reached {
                let bearer = maps[entry[ue]].bearer(Qfi(flow.qfi));
                let known = &mut loads[ue][bearer];
                *known = load.max(*known);
            }
        }
        let modes = |ue: Vec<Load>| ue.into_iter().map(Load::mode).collect();
        loads.into_iter().map(modes).collect()
    }
}

/// Which bearer of a UE carries a `QoS` flow.
fn qfis(ue: &crate::ue::Ue) -> QfiMap {
    let named: Vec<Vec<Qfi>> = ue
        .bearers
        .iter()
        .map(|b| b.qfi.iter().copied().map(Qfi).collect())
        .collect();
    QfiMap::new(named.iter().map(Vec::as_slice))
}

#[cfg(test)]
mod tests {
    use super::Mode::{Am, Um};
    use super::*;

    /// The modes of two UEs in an LTE cell with these keys of `[cell]`, of the UEs and these flows.
    fn modes(cell: &str, ue: &str, flows: &str) -> Vec<Vec<Mode>> {
        let text = format!(
            "name = \"t\"\nduration = \"1 s\"\n[cell]\n{cell}\n[[ue]]\ncount = 2\n{ue}\n{flows}"
        );
        let scenario = Scenario::from_toml(&text, ".").unwrap_or_else(|e| panic!("{e}"));
        let again = Scenario::from_toml(&scenario.to_toml(), ".").unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(again.rlc_modes(), scenario.rlc_modes());
        scenario.rlc_modes()
    }

    #[test]
    fn a_bearer_takes_the_mode_of_what_it_carries() {
        let tcp = "[[flow]]\n";
        let media = "[[flow]]\ncontroller = \"gcc\"\napp = { kind = \"media\" }\n";
        let frames = "[[flow]]\napp = { kind = \"vr\" }\n";
        let quic = "[[flow]]\ntransport = \"quic\"\nue = 1\n";
        for (flows, expected) in [
            (tcp.to_owned(), [Am, Am]),
            (media.to_owned(), [Um, Am]),
            (frames.to_owned(), [Um, Am]),
            (format!("{media}{tcp}"), [Am, Am]),
            (format!("{frames}ue = \"each\"\n{quic}"), [Um, Am]),
            (
                format!("{frames}ue = 1\n{tcp}direction = \"up\"\n"),
                [Am, Um],
            ),
        ] {
            let found = modes("", "", &flows);
            assert_eq!(found, expected.map(|m| vec![m]), "{flows}");
        }
        assert_eq!(modes("rlc = { mode = \"um\" }", "", tcp), [[Um], [Um]]);
        assert_eq!(modes("rlc = { mode = \"am\" }", "", media), [[Am], [Am]]);
    }

    #[test]
    fn each_bearer_is_decided_by_itself() {
        let bearers = "bearers = [{ qfi = [9] }, { qfi = [1, 2] }]";
        let flows =
            "[[flow]]\nqfi = 9\n[[flow]]\nqfi = 2\napp = { kind = \"cbr\", rate = \"1 Mbit/s\" }\n";
        assert_eq!(modes("", bearers, flows), [[Am, Um], [Am, Am]]);
        // An unnamed QFI takes the first bearer.
        let flows = flows
            .replace("qfi = 9", "qfi = 2")
            .replacen("qfi = 2\napp", "qfi = 5\napp", 1);
        assert_eq!(modes("", bearers, &flows), [[Um, Am], [Am, Am]]);
    }
}
