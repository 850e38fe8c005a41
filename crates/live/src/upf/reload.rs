//! The file read again while the function runs: what of it may change, and the sessions that it orders.

use std::collections::BTreeMap;
use std::net::IpAddr;

use slackwater_core::{Instant, Teid};
use slackwater_schema::field::Section as _;
use slackwater_schema::tree::{Node, Table, Value};
use slackwater_upf::sessions::{Seid, Sessions};

use super::config::{N3, StaticSession, UpfConfig};
use super::fixed;
use crate::LiveError;

/// What may change without a restart: a section, or a key in one.
const MAY_CHANGE: [&str; 5] = [
    "functions",
    "turns",
    "session",
    "n3.networks",
    "n6.networks",
];

/// What a file that was read again changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reloaded {
    /// The edge functions are others.
    pub functions: bool,
    /// The networks are.
    pub networks: bool,
    /// Sessions of the file.
    pub sessions: Ordered,
}

/// What became of the sessions that the file orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ordered {
    /// New ones.
    pub added: usize,
    /// Those with the same UE and tunnel, and other rules.
    pub changed: usize,
    /// Those that it no longer has.
    pub removed: usize,
}

/// The keys in which the files differ and that hold until a restart.
fn needs_restart(old: &UpfConfig, new: &UpfConfig) -> Vec<String> {
    let table = |config: &UpfConfig| {
        let mut table = Table::default();
        config.encode_table(&mut table);
        table
    };
    let mut keys = Vec::new();
    differences("", &table(old), &table(new), &mut keys);
    keys
}

fn differences(above: &str, old: &Table, new: &Table, out: &mut Vec<String>) {
    let mut keys: Vec<&str> = Vec::new();
    for entry in old.entries.iter().chain(&new.entries) {
        if !keys.contains(&entry.key.as_str()) {
            keys.push(&entry.key);
        }
    }
    for key in keys {
        let name = format!("{above}{key}");
        let (old, new) = (old.get(key), new.get(key));
        if old == new || MAY_CHANGE.contains(&name.as_str()) {
            continue;
        }
        let tables = |old: Option<&Node>, new: Option<&Node>| match (&old?.value, &new?.value) {
            (Value::Table(old), Value::Table(new)) => Some((old.clone(), new.clone())),
            _ => None,
        };
        match tables(old, new) {
            Some((old, new)) => differences(&format!("{name}."), &old, &new, out),
            None => out.push(name),
        }
    }
}

/// An error where the files differ in what holds until a restart; it names the keys.
pub(super) fn check(old: &UpfConfig, new: &UpfConfig) -> Result<(), LiveError> {
    let keys = needs_restart(old, new);
    if keys.is_empty() {
        return Ok(());
    }
    let keys = keys.join(", ");
    Err(LiveError::Usage(format!(
        "{keys}: changed, which needs a restart"
    )))
}

/// What makes a session of the file the same one after a change: its UE and its tunnel here.
type Key = (IpAddr, u32);

const fn key(session: &StaticSession) -> Key {
    (session.ue.0, session.teid)
}

/// The sessions that the file orders.
#[derive(Debug, Default)]
pub(super) struct Fixed {
    all: BTreeMap<Key, (StaticSession, Seid)>,
}

impl Fixed {
    /// An error where a session of `config` has the tunnel or the address of one that the control plane has ordered.
    pub(super) fn check(&self, sessions: &Sessions, config: &UpfConfig) -> Result<(), LiveError> {
        let ours = |seid: Seid| self.all.values().any(|(_, s)| *s == seid);
        for (k, session) in config.session.iter().enumerate() {
            if self.all.contains_key(&key(session)) {
                continue;
            }
            let by_tunnel = sessions.by_tunnel(Teid(session.teid));
            let by_address = sessions.by_address(session.ue.0);
            for (name, other) in [("teid", by_tunnel), ("ue", by_address)] {
                if other.is_some_and(|other| !ours(other.seid)) {
                    return Err(LiveError::Usage(format!(
                        "session[{k}].{name}: found one that a session of the control plane has, expected a free one"
                    )));
                }
            }
        }
        Ok(())
    }

    /// Makes the sessions those of `config`. Those that it has as before are not touched.
    pub(super) fn order(
        &mut self,
        sessions: &mut Sessions,
        config: &UpfConfig,
        n3: &N3,
        now: Instant,
    ) -> Ordered {
        let mut done = Ordered::default();
        let mut before = core::mem::take(&mut self.all);
        let mut wanted = Vec::new();
        for session in &config.session {
            wanted.push((session, before.remove(&key(session))));
        }
        // First those that go: their addresses and tunnels may be others' now.
        done.removed = before.len();
        for (_, seid) in before.into_values() {
            sessions.remove(seid);
        }
        for (session, old) in wanted {
            let seid = match old {
                Some((as_before, seid)) if as_before == *session => seid,
                Some((_, seid)) => {
                    done.changed += 1;
                    sessions.set_rules(seid, fixed::rules(session, n3));
                    seid
                }
                None => {
                    done.added += 1;
                    let seid = sessions.add(now, u32::MAX, 0);
                    sessions.set_rules(seid, fixed::rules(session, n3));
                    seid
                }
            };
            self.all.insert(key(session), (session.clone(), seid));
        }
        done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "[n4]\naddress = \"127.0.0.1\"\n[n3]\naddress = \"10.0.0.1\"\n";

    fn config(more: &str) -> UpfConfig {
        UpfConfig::parse("upf.toml", &format!("{LEAST}{more}")).unwrap()
    }

    fn session(ue: &str, teid: u32, ambr: &str) -> String {
        format!(
            "[[session]]\nue = \"{ue}\"\nteid = {teid}\ngnb = \"192.0.2.2\"\ngnb_teid = 7\nambr_down = \"{ambr}\"\n"
        )
    }

    #[test]
    fn what_needs_a_restart_is_named() {
        let old = config("");
        for (more, keys) in [
            ("", &[][..]),
            (
                "networks = [\"access\"]\n[n6]\nnetworks = [\"internet\"]\n",
                &[],
            ),
            ("[functions]\nvaqm = \"off\"\ncecc = \"hold\"\n", &[]),
            ("[turns]\ngather = \"100 us\"\n", &[]),
            ("port = 2153\n", &["n3.port"]),
            (
                "mtu = 1400\n[n6]\naddress = \"10.0.0.9\"\n",
                &["n3.mtu", "n6.address"],
            ),
            (
                "[n6]\nroutes = [\"10.61.0.0/16\"]\n[http]\nport = 0\n",
                &["n6.routes", "http.port"],
            ),
        ] {
            let new = config(more);
            assert_eq!(needs_restart(&old, &new), keys, "{more}");
            assert_eq!(needs_restart(&new, &old), keys, "back: {more}");
            assert_eq!(check(&old, &new).is_ok(), keys.is_empty());
        }
        let all = config(&session("10.60.0.1", 1, "1 Mbit/s"));
        assert!(check(&old, &all).is_ok());
        let said = check(&old, &config("port = 2153\n"))
            .unwrap_err()
            .to_string();
        assert!(said.starts_with("n3.port: "), "{said}");
        // A key with a value where there was none.
        let state = LEAST.replace("[n3]", "state = \"upf.state\"\n[n3]");
        let state = UpfConfig::parse("upf.toml", &state).unwrap();
        assert_eq!(needs_restart(&old, &state), ["n4.state"]);
    }

    #[test]
    fn sessions_of_the_file_come_change_and_go_and_others_stay() {
        let now = Instant::ZERO;
        let (mut sessions, mut fixed) = (Sessions::default(), Fixed::default());
        let other = sessions.add(now, 0, 5);
        let order = |fixed: &mut Fixed, sessions: &mut Sessions, text: &str| {
            let config = config(text);
            fixed.check(sessions, &config).unwrap();
            let done = fixed.order(sessions, &config, &config.n3, now);
            let of = |teid| sessions.by_tunnel(Teid(teid)).map(|s| s.seid);
            (done, [1, 2, 3].map(of))
        };
        let first = session("10.60.0.1", 1, "1 Mbit/s") + &session("10.60.0.2", 2, "1 Mbit/s");
        let (done, [one, two, _]) = order(&mut fixed, &mut sessions, &first);
        assert_eq!((done.added, done.changed, done.removed), (2, 0, 0));

        let second = session("10.60.0.2", 2, "2 Mbit/s") + &session("10.60.0.1", 3, "1 Mbit/s");
        let (done, [gone, same, new]) = order(&mut fixed, &mut sessions, &second);
        assert_eq!((done.added, done.changed, done.removed), (1, 1, 1));
        assert_eq!((gone, same), (None, two));
        // The address of the one that went is the new one's.
        let found = sessions.by_address("10.60.0.1".parse().unwrap());
        assert_eq!(found.map(|s| s.seid), new);
        assert_ne!(new, one);
        let (done, _) = order(&mut fixed, &mut sessions, &second);
        assert_eq!(done, Ordered::default());

        let (done, _) = order(&mut fixed, &mut sessions, "");
        assert_eq!((done.removed, sessions.len()), (2, 1));
        assert!(sessions.get(other).is_some());
    }

    #[test]
    fn the_control_planes_tunnels_and_addresses_are_not_taken() {
        let mut sessions = Sessions::default();
        let text = session("10.60.0.1", 1, "1 Mbit/s");
        let taken = config(&text);
        let seid = sessions.add(Instant::ZERO, 0, 5);
        sessions.set_rules(seid, fixed::rules(&taken.session[0], &taken.n3));
        let fixed = Fixed::default();
        for (ue, teid, said) in [
            ("10.60.0.1", 2, "session[0].ue"),
            ("10.60.0.2", 1, "session[0].teid"),
        ] {
            let error = fixed.check(&sessions, &config(&session(ue, teid, "1 Mbit/s")));
            let error = error.unwrap_err().to_string();
            assert!(error.starts_with(said), "{error}");
        }
        let free = config(&session("10.60.0.2", 2, "1 Mbit/s"));
        fixed.check(&sessions, &free).unwrap();
    }
}
