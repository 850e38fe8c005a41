//! Rows that the set lacks: controllers and parts at the edge by name, among them those that the running program adds.

use slackwater_control::Controller as _;
use slackwater_control::registry::{self, Config};
use slackwater_core::Draw;
use slackwater_queue::LawConfig;
use slackwater_ran::mac::SchedulerKind;

use super::set::{
    Changes, Class, Edge, Kind, Set, System, UDP, joined, joined_titles, sender_title,
};
use super::task::TaskError;

impl Set {
    /// Adds the systems that `names` call and the set lacks: `SENDER` or `SENDER+EDGE`. Each is in every cell of its class
    /// that can have it.
    ///
    /// # Errors
    /// Where there is no such sender or edge.
    pub(super) fn add<'a>(
        &mut self,
        names: impl Iterator<Item = &'a String>,
    ) -> Result<(), TaskError> {
        for name in names {
            if !self.systems.iter().any(|s| s.name == *name) {
                let systems = self.added(name)?;
                self.systems.extend(systems);
            }
        }
        Ok(())
    }

    /// The system called `name` in each class that has a use for its sender.
    fn added(&mut self, name: &str) -> Result<Vec<System>, TaskError> {
        // A controller may have a plus in its name or in its parameters.
        let known =
            |part: &(&str, &str)| self.sender(part.0).is_some() && self.edge(part.1).is_some();
        let (sender, edge) = name
            .rsplit_once('+')
            .filter(known)
            .unwrap_or((name, "none"));
        let (Some((classes, needs_cell)), Some(edge)) = (self.sender(sender), self.edge(edge))
        else {
            return Err(self.unknown(name));
        };
        // What listens to a base station has no business on a link.
        let cells = needs_cell.then(|| {
            let cells = self.places.iter().filter(|p| p.kind() != Kind::Link);
            cells.map(|p| p.name.clone()).collect()
        });
        let system = |class: &Class| System {
            name: joined(sender, &edge.name, edge.name == "none"),
            title: joined_titles(sender_title(sender), &edge.title),
            class: *class,
            sender: sender.to_owned(),
            edge: edge.name.clone(),
            quick: true,
            added: true,
            own: edge.own || !is_built_in(sender),
            cells: Option::clone(&cells),
        };
        let systems = classes.iter().map(system).collect();
        if !self.edges.iter().any(|e| e.name == edge.name) {
            self.edges.push(edge);
        }
        Ok(systems)
    }

    /// Where the sender called `name` competes, and whether it needs a base station's reports.
    fn sender(&self, name: &str) -> Option<(&'static [Class], bool)> {
        if name == UDP {
            return Some((&[Class::Vr], false));
        }
        let known = self.plugins.controllers();
        let is = |names: &[(&str, &str)]| names.iter().any(|n| n.0 == registry::base(name));
        if is(&known.media_names()) {
            return Some((&[Class::Media], false));
        }
        // Parameters that it refuses are an error of the scenario, which says where they stand.
        let built = || known.build(name, &Config::new(1448, Draw::new(0)));
        let takes_reports = || built().is_ok_and(|c| c.takes_reports());
        let classes: &[Class] = &[Class::Sender, Class::Vr];
        is(&known.names()).then(|| (classes, takes_reports()))
    }

    /// What stands at the edge under this name: a part of the set, or else a system, agent, law or scheduler.
    fn edge(&self, name: &str) -> Option<Edge> {
        if let Some(known) = self.edges.iter().find(|e| e.name == name) {
            return Some(known.clone());
        }
        let base = name.split_once(':').map_or(name, |(base, _)| base);
        let set = |keys: &[&str]| -> Option<Changes> {
            let keys = keys.iter();
            Some(keys.map(|k| ((*k).to_owned(), name.to_owned())).collect())
        };
        let edge = |about: &str, own: bool| Edge {
            name: name.to_owned(),
            title: name.to_owned(),
            about: about.to_owned(),
            cell: None,
            wired: None,
            link: None,
            own,
        };
        if let Some((_, about)) = self.plugins.systems().iter().find(|s| s.0 == base) {
            let keys = set(&["upf.system"]);
            return Some(Edge {
                cell: keys.clone(),
                wired: keys,
                ..edge(about, true)
            });
        }
        if let Some((_, about)) = self.plugins.agents().iter().find(|a| a.0 == base) {
            let keys = set(&["feedback.own_agent"]);
            return Some(Edge {
                cell: keys.clone(),
                wired: keys,
                ..edge(about, true)
            });
        }
        if let Some((_, about)) = self.plugins.laws().iter().find(|l| l.0 == base) {
            return Some(Edge {
                cell: set(&["cell.rlc.law"]),
                wired: set(&["cell.rlc.law", "wired.queue.law"]),
                link: set(&["link.queue.law"]),
                ..edge(about, !LawConfig::NAMES.contains(&base))
            });
        }
        let schedulers = self.plugins.schedulers();
        let (_, about) = schedulers.iter().find(|s| s.0 == base)?;
        let keys = set(&["cell.scheduler"]);
        Some(Edge {
            cell: keys.clone(),
            wired: keys,
            ..edge(about, !SchedulerKind::NAMES.contains(&base))
        })
    }

    /// What there is in place of the system `found`.
    fn unknown(&self, found: &str) -> TaskError {
        let mut names: Vec<&str> = self.systems.iter().map(|s| s.name.as_str()).collect();
        let controllers = self.plugins.controllers();
        let all = [controllers.names(), controllers.media_names()].concat();
        names.extend(all.iter().map(|n| n.0).filter(|n| !is_built_in(n)));
        names.sort_unstable();
        names.dedup();
        TaskError::Unknown {
            kind: "system",
            found: found.to_owned(),
            known: names.join(", "),
        }
    }
}

/// True where every program knows this sender.
fn is_built_in(sender: &str) -> bool {
    sender == UDP || registry::find(sender).is_some()
}
