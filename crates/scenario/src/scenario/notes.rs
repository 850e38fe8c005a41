//! What a user should know of flows that run, but not as their controller was made for.

use slackwater_control::registry::{self, Marks};
use slackwater_control::{AnyController, Controller as _, EcnMode, MediaController as _};
use slackwater_core::Ecn;
use slackwater_queue::LawConfig;

use super::{Bottleneck, Scenario};
use crate::build::feedback;
use crate::flow::{Flow, Protocol, Way};
use crate::law::Law;
use crate::link::Queue;

impl Scenario {
    /// A line for each controller that goes by something which its path lacks: a base station's reports, or the marks of a queue.
    pub fn notes(&self) -> Vec<String> {
        let mut notes: Vec<String> = Vec::new();
        let all = self.flows.iter();
        for note in all.flat_map(|flow| {
            [
                self.without_cell(flow),
                self.without_uplink(flow),
                self.without_marks(flow),
            ]
        }) {
            notes.extend(note.filter(|n| !notes.contains(n)));
        }
        notes
    }

    /// A sender by reports of its fair share on a link, which makes none. A link reports transport blocks and counters as a cell does.
    fn without_cell(&self, flow: &Flow) -> Option<String> {
        if self.cell().is_some() || matches!(flow.protocol(), Protocol::Udp | Protocol::Rtp) {
            return None;
        }
        let config = registry::Config::new(1448, slackwater_core::Draw::new(0));
        let controllers = self.plugins.controllers();
        let built = crate::build::controller::build(controllers, &flow.controller, &config).ok()?;
        AnyController::takes_reports(&built).then(|| {
            format!(
                "{} goes by what a base station says, and a [link] has none: it sends by its fall-back",
                flow.controller
            )
        })
    }

    /// A sender by reports that tell of downloads alone, for an upload. Counters tell of both.
    fn without_uplink(&self, flow: &Flow) -> Option<String> {
        let lacks =
            |c: &AnyController| (c.takes_reports() || c.takes_blocks()) && !c.takes_counters();
        (flow.direction == Way::Up && feedback::wants_of(self, flow, lacks)).then(|| {
            format!(
                "{} goes by reports, and they tell of downloads alone: its upload sends by its fall-back",
                flow.controller
            )
        })
    }

    /// A sender by marks where no queue on its way marks.
    fn without_marks(&self, flow: &Flow) -> Option<String> {
        let name = flow.controller.as_str();
        let marks = registry::find(name)?.marks;
        let config = registry::Config::new(1448, slackwater_core::Draw::new(0));
        let controllers = self.plugins.controllers();
        let mode = match flow.protocol() {
            Protocol::Udp => return None,
            Protocol::Rtp => controllers.build_media(name, &config).ok()?.intent().ecn,
            _ => controllers.build(name, &config).ok()?.intent().ecn,
        };
        let ecn = match mode {
            EcnMode::L4s => Ecn::Ect1,
            EcnMode::Off | EcnMode::Classic | EcnMode::Dctcp => Ecn::Ect0,
        };

        let way = flow.direction;
        let (whose, found) = match marks {
            Marks::None => return None,
            Marks::Queue => {
                let packets = if ecn == Ecn::Ect1 { "ECT(1)" } else { "ECT(0)" };
                let found = self.marks(way, &|law| law.may_mark(ecn), ecn);
                (format!("marks of {packets}"), found)
            }
            Marks::Law(law) => {
                let found = self.marks(way, &|there| there.name() == law, Ecn::NotEct);
                (format!("marks by the law `{law}`"), found)
            }
        };
        (!found).then(|| {
            format!("{name} goes by {whose}, and no queue on its way makes any: it runs without")
        })
    }

    /// Whether a law for which `is` holds watches over a queue on the way of packets in direction `way`, or what marks without one
    /// marks packets that come with `ecn`.
    fn marks(&self, way: Way, is: &dyn Fn(&LawConfig) -> bool, ecn: Ecn) -> bool {
        let law = |law: &Law| match law {
            Law::BuiltIn(law) => is(law),
            // What a law of the program does nobody knows.
            Law::Own(_) => true,
        };
        let queue = |queue: &Queue| match queue {
            Queue::Fifo(fifo) => law(&fifo.law),
            Queue::Fq(fq) => fq.ecn && ecn.is_capable(),
            Queue::Dual(_) => ecn.is_capable(),
        };

        if self.wired.iter().any(|w| queue(&w.queue)) {
            return true;
        }
        match &self.bottleneck {
            Bottleneck::Link(link) => {
                let [down, up] = link.queues();
                queue(if way == Way::Down { down } else { up })
            }
            // Nothing marks what waits in a UE.
            Bottleneck::Cell(_) if way == Way::Up => false,
            Bottleneck::Cell(cell) => {
                let upf = self.upf.as_ref().is_some_and(|upf| {
                    let vaqm = self.ues.iter().flat_map(|ue| ue.vaqm(&upf.vaqm));
                    let mut on = vaqm.filter(|(_, vaqm)| vaqm.mode.0.is_some());
                    upf.system.is_some()
                        || (upf.l4s.on && ecn == Ecn::Ect1)
                        || on.any(|(_, vaqm)| law(&vaqm.module.0))
                });
                upf || law(&cell.rlc.law) || cell.rlc.queue.as_ref().is_some_and(queue)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINK: &str = "name = \"n\"\nduration = \"1 s\"\n[link]\nkind = \"rate\"\nrate = \"12 Mbit/s\"\n[[flow]]\n";
    const CELL: &str = "name = \"n\"\nduration = \"1 s\"\n[cell]\nrat = \"lte\"\n[[ue]]\nchannel = { kind = \"mcs\", mcs = 12 }\n[[flow]]\n";

    fn notes(text: &str, changes: &[(&str, &str)]) -> Vec<String> {
        let mut s = Scenario::from_toml(text, ".").unwrap_or_else(|e| panic!("{e}"));
        for (key, value) in changes {
            s = s.with(key, value).unwrap_or_else(|e| panic!("{e}"));
        }
        s.notes()
    }

    #[test]
    fn a_sender_by_marks_is_told_where_nobody_marks() {
        let fifo = |law: &str| format!("{{ kind = \"fifo\", law = {law} }}");
        let (codel, no_ecn) = (fifo("\"codel\""), fifo("{ kind = \"codel\", ecn = false }"));
        let (abc, ramp) = (fifo("\"abc\""), fifo("\"ramp\""));
        let (fq, dual) = ("{ kind = \"fq-codel\" }", "{ kind = \"dualpi2\" }");
        let none = fifo("\"none\"");
        // Which queues each is content with.
        let cases: [(&str, &[&str], &[&str]); 4] = [
            ("abc", &[&abc], &[&none, &codel, &ramp, fq, dual]),
            ("dctcp", &[&codel, fq, dual, &abc], &[&none, &no_ecn, &ramp]),
            ("prague", &[&codel, fq, dual, &ramp], &[&none, &no_ecn]),
            ("cubic", &[&none, &codel], &[]),
        ];
        for (controller, good, bad) in cases {
            let told = |queue: &str, way| {
                let set = [("flow.controller", controller), (way, queue)];
                notes(LINK, &set)
            };
            for queue in good {
                let told = told(queue, "link.queue");
                assert!(told.is_empty(), "{controller} {queue}: {told:?}");
            }
            for queue in bad {
                let told = told(queue, "link.queue");
                let [one] = told.as_slice() else {
                    panic!("{controller} {queue}: {told:?}");
                };
                assert!(
                    one.starts_with(&format!("{controller} goes by marks ")),
                    "{one}"
                );
            }
            // A queue of the other direction is not on its way.
            let told = told(good[0], "link.up_queue");
            assert_eq!(told.is_empty(), controller == "cubic", "{controller}");
        }
    }

    #[test]
    fn a_sender_by_reports_of_downloads_is_told_that_its_upload_has_none() {
        let up = ("flow.direction", "up");
        for (controller, count) in [("xrc", 1), ("tyrus", 1), ("ebb", 0), ("cubic", 0)] {
            let told = notes(CELL, &[("flow.controller", controller), up]);
            assert_eq!(told.len(), count, "{controller}: {told:?}");
            let down = notes(CELL, &[("flow.controller", controller)]);
            assert!(down.is_empty(), "{controller}: {down:?}");
        }
    }

    #[test]
    fn a_cell_and_its_upf_may_mark() {
        let dctcp = ("flow.controller", "dctcp");
        let prague = ("flow.controller", "prague");
        assert_eq!(notes(CELL, &[dctcp]).len(), 1);
        let told = notes(CELL, &[("flow.controller", "abc-basic")]);
        assert_eq!(
            told,
            [
                "abc-basic goes by marks by the law `abc`, and no queue on its way makes any: it runs without"
            ]
        );
        assert_eq!(
            notes(CELL, &[("flow.controller", "abc"), ("cell.rlc.law", "abc")]).len(),
            0
        );
        assert_eq!(notes(CELL, &[dctcp, ("cell.rlc.law", "codel")]).len(), 0);
        assert_eq!(notes(CELL, &[dctcp, ("upf.vaqm.mode", "auto")]).len(), 0);
        // The UPF's marker is for ECT(1).
        assert_eq!(notes(CELL, &[dctcp, ("upf.l4s.on", "true")]).len(), 1);
        assert_eq!(notes(CELL, &[prague, ("upf.l4s.on", "true")]).len(), 0);
        let up = ("flow.direction", "up");
        assert_eq!(
            notes(CELL, &[prague, ("cell.rlc.law", "codel"), up]).len(),
            1
        );
    }

    #[test]
    fn senders_of_media_and_those_by_reports_are_told_too() {
        let media = LINK.replace("[[flow]]", "[[flow]]\napp = { kind = \"media\" }");
        for (controller, count) in [("al4s-c", 1), ("l4s-cc", 1), ("gcc", 0), ("scream", 0)] {
            let told = notes(&media, &[("flow.controller", controller)]);
            assert_eq!(told.len(), count, "{told:?}");
        }
        for (controller, count) in [("xrc", 1), ("tyrus", 0), ("pbe", 0), ("ebb", 0)] {
            let told = notes(LINK, &[("flow.controller", controller)]);
            assert_eq!(told.len(), count, "{told:?}");
            assert!(told.iter().all(|t| t.contains("base station")), "{told:?}");
            assert!(notes(CELL, &[("flow.controller", controller)]).is_empty());
        }
        // One line, however many flows.
        let two = format!("{LINK}[[flow]]\n");
        assert_eq!(notes(&two, &[("flow.controller", "xrc")]).len(), 1);
    }
}
