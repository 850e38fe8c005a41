//! The commands on both sides, for the time of a run.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::process::{Child, Stdio};
use std::time::Duration;

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
            let before = Open::now();
            let server = self
                .server
                .insert(spawn(&words, address, None, commands.who)?);
            wait_for_listener(server, &before, since, LOOKS)?;
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

/// Time between two looks for a server's sockets.
const LOOK: Duration = Duration::from_millis(20);
/// Looks before a server that listens nowhere is an error: 30 s, in which a busy machine starts any.
const LOOKS: u32 = 1_500;
/// Looks in a row that find a socket of UDP before it counts: one that asks for a name is gone sooner.
const FIRM: u32 = 5;

/// The sockets of this namespace that others can reach, by inode.
#[derive(Debug, Default)]
struct Open {
    /// Those that listen on TCP.
    tcp: BTreeSet<String>,
    /// Those of UDP that are bound and not connected.
    udp: BTreeSet<String>,
}

impl Open {
    fn now() -> Self {
        // proc_pid_net(5): the fourth column is the state, 0A of a listener and 07 of a socket without a peer; the tenth the inode.
        let of = |files: [&str; 2], state: &str| {
            let mut inodes = BTreeSet::new();
            for file in files {
                let table = std::fs::read_to_string(format!("/proc/thread-self/net/{file}"));
                let table = table.unwrap_or_default();
                let rows = table.lines().map(str::split_whitespace);
                let open = rows.filter(|r| r.clone().nth(3) == Some(state));
                inodes.extend(open.filter_map(|mut r| r.nth(9).map(str::to_owned)));
            }
            inodes
        };
        Self {
            tcp: of(["tcp", "tcp6"], "0A"),
            udp: of(["udp", "udp6"], "07"),
        }
    }
}

/// Which new sockets were seen, look after look.
#[derive(Debug, Default)]
struct Watch {
    /// Sockets of UDP, and in how many looks in a row.
    udp: BTreeMap<String, u32>,
}

impl Watch {
    /// True where a server listens: a socket of `now` that was not there `before`.
    fn listens(&mut self, before: &Open, now: &Open) -> bool {
        let fresh = now.udp.difference(&before.udp);
        self.udp = fresh
            .map(|inode| (inode.clone(), self.udp.get(inode).map_or(1, |n| n + 1)))
            .collect();
        !now.tcp.is_subset(&before.tcp) || self.udp.values().any(|n| *n >= FIRM)
    }
}

/// A server needs a moment before it listens, by TCP or UDP. Nothing is waited for once a signal came `since`. One that ends in failure, or
/// listens nowhere in so many `looks`, is an error; one that ends well may have left a daemon.
/// Who listened `before` it was started is somebody else.
fn wait_for_listener(
    server: &mut Child,
    before: &Open,
    since: Signals,
    looks: u32,
) -> Result<(), LiveError> {
    let mut watch = Watch::default();
    for _ in 0..looks {
        if watch.listens(before, &Open::now()) || sys::signals() != since {
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
        std::thread::sleep(LOOK);
    }
    Err(LiveError::Usage(format!(
        "--server: found one that listens neither on TCP nor on UDP after {} s, expected a server",
        (LOOK * looks).as_secs()
    )))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::process::Command;

    use super::*;

    #[test]
    fn a_socket_that_was_there_before_is_not_the_servers() {
        let before = Open::now();
        let server = TcpListener::bind("127.0.0.1:0").expect("a port");
        let datagrams = UdpSocket::bind("127.0.0.1:0").expect("a port");
        let now = Open::now();
        assert!(Watch::default().listens(&before, &now));
        // With a baseline that knows them, nothing new is open; others may come and go meanwhile.
        let row = |file: &str, port: u16| {
            let port = format!("0100007F:{port:04X}");
            let table = std::fs::read_to_string(format!("/proc/thread-self/net/{file}"));
            let table = table.expect("a table");
            let row = table
                .lines()
                .map(|l| l.split_whitespace().collect::<Vec<_>>())
                .find(|r| r.get(1) == Some(&port.as_str()));
            row.expect("a row")[9].to_owned()
        };
        let inode = row("tcp", server.local_addr().expect("bound").port());
        assert!(now.tcp.contains(&inode) && !before.tcp.contains(&inode));
        let inode = row("udp", datagrams.local_addr().expect("bound").port());
        assert!(now.udp.contains(&inode) && !before.udp.contains(&inode));
    }

    fn open(tcp: &[&str], udp: &[&str]) -> Open {
        let set = |inodes: &[&str]| inodes.iter().map(|&i| i.to_owned()).collect();
        Open {
            tcp: set(tcp),
            udp: set(udp),
        }
    }

    #[test]
    fn a_socket_of_udp_counts_once_it_stays() {
        let (before, mut watch) = (open(&["1"], &["2"]), Watch::default());
        // One after the other, as questions for names come and go.
        for inode in ["3", "4", "5", "6", "7", "8"] {
            assert!(!watch.listens(&before, &open(&["1"], &["2", inode])));
        }
        for look in 1..FIRM {
            assert!(
                !watch.listens(&before, &open(&["1"], &["2", "9"])),
                "{look}"
            );
        }
        assert!(watch.listens(&before, &open(&["1"], &["2", "9"])));
        assert!(watch.listens(&before, &open(&["1", "10"], &[])));
    }

    #[test]
    fn a_server_that_never_listens_is_an_error() {
        let mut server = Command::new("sleep").arg("600").spawn().expect("it starts");
        let said = wait_for_listener(&mut server, &Open::default(), sys::signals(), 0);
        let said = said.expect_err("no look found anything").to_string();
        assert!(said.contains("neither on TCP nor on UDP"), "{said}");
        server.kill().expect("it runs");
        server.wait().expect("it was killed");
    }
}
