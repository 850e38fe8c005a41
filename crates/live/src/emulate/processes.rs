//! The commands on both sides, for the time of a run.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::process::{Child, Stdio};

use super::inside;
use super::netns::Namespace;
use crate::LiveError;
use crate::privilege::Caller;
use crate::sys::{self, Signals};

/// What runs beside the packets.
#[derive(Debug, Default)]
pub(crate) struct Commands {
    /// The address of the server side, where there is one.
    pub(crate) server: Option<String>,
    /// A shell's command on the server side.
    pub(crate) serve: Option<String>,
    /// By UE: the words of its command, none where nothing runs there, and its address.
    pub(crate) ues: Vec<(Vec<OsString>, String)>,
    /// Whose rights they get, where not this process's.
    pub(crate) who: Option<Caller>,
}

impl Commands {
    /// True where some UE has one: it has this process's terminal.
    pub(crate) fn any(&self) -> bool {
        self.ues.iter().any(|(words, _)| !words.is_empty())
    }
}

/// The commands; all end when this is dropped.
#[derive(Default)]
pub(crate) struct Processes {
    server: Option<Child>,
    commands: Vec<Child>,
    /// Exit codes of the commands.
    codes: Vec<Option<u8>>,
}

impl Drop for Processes {
    fn drop(&mut self) {
        self.stop();
    }
}

impl Processes {
    /// Starts the server and, once it listens, the commands of the UEs in their `spaces`, where no signal came `since`.
    pub(crate) fn start(
        &mut self,
        commands: &Commands,
        spaces: &[Namespace],
        since: Signals,
    ) -> Result<(), LiveError> {
        let address = commands.server.as_deref();
        if let Some(server) = &commands.serve {
            let server = server.replace("{server}", address.unwrap_or_default());
            let words = ["sh".into(), "-c".into(), server.into()];
            let before = listeners();
            let server = self
                .server
                .insert(spawn(&words, address, None, commands.who)?);
            wait_for_listener(server, &before, since)?;
        }
        // Without a command nobody else has heard the signal, at a terminal neither.
        if sys::signals() != since {
            return Err(LiveError::Interrupted {
                code: sys::signal_code(),
            });
        }
        for (ue, (space, (words, own))) in spaces.iter().zip(&commands.ues).enumerate() {
            if words.is_empty() {
                continue;
            }
            let words = words.iter().map(|w| fill_in(w, address, own, ue));
            let words: Vec<OsString> = words.collect();
            let child = space.inside(|| spawn(&words, address, Some((ue, own)), commands.who))?;
            self.commands.push(child);
            self.codes.push(None);
        }
        Ok(())
    }

    /// The exit code of the first command, once all have ended; `None` for good where there is none.
    pub(crate) fn ended(&mut self) -> Option<u8> {
        for (child, code) in self.commands.iter_mut().zip(&mut self.codes) {
            if code.is_none() {
                *code = match child.try_wait() {
                    Ok(Some(status)) => Some(inside::code_of(status)),
                    Ok(None) => None,
                    Err(_) => Some(125),
                };
            }
        }
        let all = self.codes.iter().all(Option::is_some);
        self.codes.first().copied().flatten().filter(|_| all)
    }

    pub(crate) fn stop(&mut self) {
        for child in self.commands.iter_mut().chain(&mut self.server) {
            // One that has ended already cannot be killed, and that is well.
            let _ignored = child.kill();
            let _ignored = child.wait();
        }
        self.server = None;
    }
}

/// A word of the command with its place-holders filled in; words that are not text have none.
fn fill_in(word: &OsStr, server: Option<&str>, own: &str, ue: usize) -> OsString {
    word.to_str().map_or_else(
        || word.to_owned(),
        |w| {
            let w = server.map_or_else(|| w.to_owned(), |server| w.replace("{server}", server));
            w.replace("{address}", own)
                .replace("{ue}", &ue.to_string())
                .into()
        },
    )
}

/// Starts `words` in the calling thread's namespace, so that it cannot outlive the emulator.
fn spawn(
    words: &[OsString],
    server: Option<&str>,
    ue: Option<(usize, &str)>,
    who: Option<Caller>,
) -> Result<Child, LiveError> {
    let mut command = crate::program::command()
        .map_err(|e| LiveError::kernel("cannot find the program itself", e))?;
    command
        .arg(inside::WORD)
        .arg("outer")
        .arg(std::process::id().to_string())
        .arg(Caller::word(who))
        .args(words);
    if let Some(server) = server {
        command
            .env("SLACKWATER_SERVER", server)
            // The name that Mahimahi's users know: in a nest of emulators the address outside of them all.
            .env(
                "MAHIMAHI_BASE",
                std::env::var_os("MAHIMAHI_BASE").unwrap_or_else(|| server.into()),
            );
    }
    match ue {
        Some((ue, own)) => {
            command
                .env("SLACKWATER_UE", ue.to_string())
                .env("SLACKWATER_ADDRESS", own);
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

/// A server needs a moment before it listens. One that never does (it uses UDP) is not waited for long, and nothing is once a signal
/// came `since`. One that ends in failure is an error; one that ends well may have left a daemon.
/// Who listened `before` it was started is somebody else.
fn wait_for_listener(
    server: &mut Child,
    before: &BTreeSet<String>,
    since: Signals,
) -> Result<(), LiveError> {
    for _ in 0..50 {
        if !listeners().is_subset(before) || sys::signals() != since {
            return Ok(());
        }
        if let Ok(Some(status)) = server.try_wait()
            && !status.success()
        {
            return Err(LiveError::Usage(format!(
                "--server: found one that ended with code {} before it listened, expected a server",
                inside::code_of(status)
            )));
        }
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    Ok(())
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
