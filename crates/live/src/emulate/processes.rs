//! The commands on both sides, for the time of a run.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::process::{Child, Command, Stdio};

use super::setup::Network;
use super::{Options, inside};
use crate::LiveError;
use crate::sys::{self, Signals};

/// The commands; all end when this is dropped.
#[derive(Default)]
pub(super) struct Processes {
    server: Option<Child>,
    commands: Vec<Child>,
    /// Exit codes, by UE.
    codes: Vec<Option<u8>>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Processes {
    /// Starts the server and, once it listens, the commands, where no signal came `since`.
    pub(super) fn start(
        &mut self,
        options: &Options,
        network: &Network,
        since: Signals,
    ) -> Result<(), LiveError> {
        let address = network.plan.server().to_string();
        if let Some(server) = &options.server {
            let server = server.replace("{server}", &address);
            let words = ["sh".into(), "-c".into(), server.into()];
            let before = listeners();
            let child = spawn(&words, &address, None)?;
            self.server = Some(child);
            wait_for_listener(&before, since);
        }
        // Without a command nobody else has heard the signal, at a terminal neither.
        if sys::signals() != since {
            return Err(LiveError::Interrupted {
                code: sys::signal_code(),
            });
        }
        for (ue, space) in network.spaces.iter().enumerate() {
            let words: Vec<OsString> = options
                .command
                .iter()
                .map(|w| fill_in(w, &address, ue))
                .collect();
            let child = space.inside(|| spawn(&words, &address, Some((ue, network))))?;
            self.commands.push(child);
            self.codes.push(None);
        }
        Ok(())
    }

    /// The exit code of the first command, once all have ended.
    pub(super) fn ended(&mut self) -> Option<u8> {
        for (child, code) in self.commands.iter_mut().zip(&mut self.codes) {
            if code.is_none() {
                *code = match child.try_wait() {
                    Ok(Some(status)) => Some(inside::code_of(status)),
                    Ok(None) => None,
                    Err(_) => Some(125),
                };
            }
        }
        self.codes
            .iter()
            .all(Option::is_some)
            .then(|| self.codes.first().copied().flatten().unwrap_or(0))
    }

    pub(super) fn stop(&mut self) {
        for child in self.commands.iter_mut().chain(&mut self.server) {
            // One that has ended already cannot be killed, and that is well.
            let _ignored = child.kill();
            let _ignored = child.wait();
        }
        self.server = None;
    }
}

/// A word of the command with its place-holders filled in; words that are not text have none.
fn fill_in(word: &OsStr, server: &str, ue: usize) -> OsString {
    word.to_str().map_or_else(
        || word.to_owned(),
        |w| {
            w.replace("{server}", server)
                .replace("{ue}", &ue.to_string())
                .into()
        },
    )
}

/// Starts `words` in the calling thread's namespace, so that it cannot outlive the emulator.
fn spawn(
    words: &[OsString],
    server: &str,
    ue: Option<(usize, &Network)>,
) -> Result<Child, LiveError> {
    let exe = std::env::current_exe()
        .map_err(|e| LiveError::kernel("cannot find the program itself", e))?;
    let mut command = Command::new(exe);
    command
        .arg(inside::WORD)
        .arg("outer")
        .arg(std::process::id().to_string())
        .args(words)
        .env("SLACKWATER_SERVER", server)
        // The name that Mahimahi's users know: in a nest of emulators the address outside of them all.
        .env(
            "MAHIMAHI_BASE",
            std::env::var_os("MAHIMAHI_BASE").unwrap_or_else(|| server.into()),
        );
    match ue {
        Some((ue, network)) => {
            command
                .env("SLACKWATER_UE", ue.to_string())
                .env("SLACKWATER_ADDRESS", network.plan.ue(ue as u32).to_string());
            if ue > 0 {
                // A terminal's input is for the first.
                command.stdin(Stdio::null());
            }
        }
        None => {
            command.stdin(Stdio::null()).stdout(Stdio::null());
        }
    }
    command
        .spawn()
        .map_err(|e| LiveError::kernel("cannot start a process", e))
}

/// The sockets of this namespace that listen on TCP, by inode.
fn listeners() -> BTreeSet<String> {
    // proc_pid_net(5): the fourth column is the state, 0A that of a listener; the tenth the inode.
    let mut inodes = BTreeSet::new();
    for file in ["tcp", "tcp6"] {
        let table = std::fs::read_to_string(format!("/proc/thread-self/net/{file}"));
        let table = table.unwrap_or_default();
        let rows = table.lines().map(str::split_whitespace);
        let open = rows.filter(|r| r.clone().nth(3) == Some("0A"));
        inodes.extend(open.filter_map(|mut r| r.nth(9).map(str::to_owned)));
    }
    inodes
}

/// A server needs a moment before it listens. One that never does (it uses UDP, or died) is not waited for long,
/// and nothing is once a signal came `since`.
/// Who listened `before` it was started is somebody else.
fn wait_for_listener(before: &BTreeSet<String>, since: Signals) {
    for _ in 0..50 {
        if !listeners().is_subset(before) || sys::signals() != since {
            return;
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[test]
    fn a_listener_that_was_there_before_is_not_the_servers() {
        let before = listeners();
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let now = listeners();
        assert!(!now.is_subset(&before));
        // With a baseline that knows it, nothing new listens; others may come and go meanwhile.
        let port = format!("{:04X}", server.local_addr().expect("bound").port());
        let table = std::fs::read_to_string("/proc/thread-self/net/tcp").expect("a table");
        let row = table
            .lines()
            .find(|l| l.contains(&format!(":{port} 00000000:0000 0A")));
        let inode = row
            .and_then(|r| r.split_whitespace().nth(9))
            .expect("a row");
        assert!(now.contains(inode) && !before.contains(inode));
    }
}
