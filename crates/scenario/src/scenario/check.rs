//! Whether a run can have the parts that its scenario names.

use slackwater_control::{AnyController, Controller as _, registry};
use slackwater_ran::cell::CellConfig;

use super::{Bottleneck, Scenario};
use crate::error::{self, ScenarioError};
use crate::feedback;
use crate::flow::{self, Flow};
use crate::link::Queue;
use crate::plugins::AgentSetup;

impl Scenario {
    /// Complains about the first controller that cannot be had: no such name, wrong parameters, one for media where
    /// TCP needs one, or the other way round; one that takes the cell's reports, which its transport cannot carry; and
    /// about a system, law or scheduler that is not there.
    ///
    /// # Errors
    /// The complaint.
    pub fn check_controllers(&self) -> Result<(), ScenarioError> {
        self.check_own()?;
        if let Some(upf) = &self.upf
            && let Some(name) = &upf.system
            && let Err(expected) = self.plugins.system(name, upf, self.seed)
        {
            return Err(ScenarioError::new(
                "upf.system",
                format!("{name:?}"),
                expected,
            ));
        }
        self.check_agent()?;
        let config = registry::Config::new(1448, slackwater_core::Draw::new(0));
        let controllers = self.plugins.controllers();
        for (i, flow) in self.flows.iter().enumerate() {
            let (tcp, media) = (controllers.names(), controllers.media_names());
            let (known, other, wanted) = match flow.protocol() {
                flow::Protocol::Udp => continue,
                flow::Protocol::Tcp | flow::Protocol::Quic | flow::Protocol::Quinn => {
                    (tcp, media, "TCP; this one steers media")
                }
                flow::Protocol::Rtp => (media, tcp, "media; this one steers TCP"),
            };
            let name = flow.controller.as_str();
            let built = match flow.protocol() {
                flow::Protocol::Rtp => controllers.build_media(name, &config).map(|_| None),
                _ => crate::build::controller::build(controllers, name, &config).map(Some),
            };
            let expected = match built {
                Ok(controller) => {
                    if let Some(c) = controller {
                        self.check_reports(i, flow, &c)?;
                    }
                    continue;
                }
                Err(_) if other.iter().any(|k| k.0 == registry::base(name)) => {
                    format!("a controller for {wanted}")
                }
                Err(e) => match (e.reason, error::nearest(name, known.iter().map(|k| k.0))) {
                    (Some(reason), _) => reason,
                    (None, Some(near)) => format!("\"{near}\"?"),
                    (None, None) => {
                        let names: Vec<&str> = known.iter().map(|k| k.0).collect();
                        format!("one of {}", names.join(", "))
                    }
                },
            };
            let key = format!("flow[{i}].controller");
            // A parameter's own complaint: "n: found "abc", expected a whole number".
            let own = expected
                .split_once(": found ")
                .and_then(|(parameter, rest)| Some((parameter, rest.split_once(", expected ")?)));
            return Err(match own {
                Some((parameter, (found, expected))) => ScenarioError::new(
                    key,
                    format!("{found} for {parameter} in {name:?}"),
                    expected,
                ),
                None => ScenarioError::new(key, format!("{name:?}"), expected),
            });
        }
        Ok(())
    }

    /// Complains about an agent that the program does not add, or that has no cell.
    fn check_agent(&self) -> Result<(), ScenarioError> {
        let Some(name) = &self.feedback.own_agent else {
            return Ok(());
        };
        let wrong =
            |expected| ScenarioError::new("feedback.own_agent", format!("{name:?}"), expected);
        if self.cell().is_none() {
            return Err(wrong("a [cell] for it to observe".to_owned()));
        }
        // Which cell it is matters to no name and no parameter.
        let some = CellConfig::lte(10.0);
        let setup = AgentSetup::new(&some, 1, self.seed);
        self.plugins.agent(name, &setup).map(drop).map_err(wrong)
    }

    /// Complains about the first law or scheduler that neither this workspace nor the program has.
    ///
    /// # Errors
    /// The complaint.
    pub fn check_own(&self) -> Result<(), ScenarioError> {
        let mut queues: Vec<&Queue> = self.wired.iter().map(|w| &w.queue).collect();
        match &self.bottleneck {
            Bottleneck::Cell(cell) => {
                self.plugins.law(&cell.rlc.law)?;
                self.plugins.scheduler(&cell.scheduler)?;
                queues.extend(&cell.rlc.queue);
            }
            Bottleneck::Link(link) => queues.extend(link.queues()),
        }
        for queue in queues {
            if let Queue::Fifo(fifo) = queue {
                self.plugins.law(&fifo.law)?;
            }
        }
        if let Some(upf) = &self.upf {
            self.plugins.law(&upf.vaqm.module.0)?;
            for (_, own) in self.ues.iter().flat_map(|ue| ue.vaqm(&upf.vaqm)) {
                self.plugins.law(&own.module.0)?;
            }
        }
        Ok(())
    }

    /// An agent in the cell cannot put a report into an encrypted packet.
    fn check_reports(
        &self,
        i: usize,
        flow: &Flow,
        controller: &AnyController,
    ) -> Result<(), ScenarioError> {
        let encrypted = matches!(
            flow.protocol(),
            flow::Protocol::Quic | flow::Protocol::Quinn
        );
        let option = self.feedback.carrier == feedback::Carrier::TcpOption;
        let asks = controller.takes_reports() && flow.direction == flow::Way::Down;
        if self.cell().is_none() || !(encrypted && option && asks) {
            return Ok(());
        }
        Err(ScenarioError::new(
            "feedback.carrier",
            format!(
                "\"tcp-option\", and flow[{i}] with controller {:?} over QUIC",
                flow.controller
            ),
            "\"datagram\" or \"socket\": no option reaches a QUIC sender",
        ))
    }
}
