//! Network namespaces that no one has to clean up: they have no name, and end with the last process and descriptor in
//! them.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::AsRawFd as _;
use std::process::Stdio;

use nix::sched::{CloneFlags, setns, unshare};

use crate::LiveError;

/// A network namespace, held by a descriptor.
#[derive(Debug)]
pub struct Namespace(File);

impl Namespace {
    /// That of the calling thread.
    ///
    /// # Errors
    /// Where `/proc` is not there.
    pub fn current() -> Result<Self, LiveError> {
        const PATH: &str = "/proc/thread-self/ns/net";
        File::open(PATH)
            .map(Self)
            .map_err(|e| LiveError::kernel(format!("cannot open {PATH}"), e))
    }

    /// A new one; the calling thread stays where it is.
    ///
    /// # Errors
    /// Without the rights to make one.
    pub fn create() -> Result<Self, LiveError> {
        let home = Self::current()?;
        unshare(CloneFlags::CLONE_NEWNET).map_err(|e| {
            LiveError::kernel("cannot make a network namespace", e).hint("; run as root")
        })?;
        let new = Self::current();
        home.join()?;
        new
    }

    /// The one that `ip netns` calls `name`.
    ///
    /// # Errors
    /// Where there is none of that name.
    pub fn named(name: &str) -> Result<Self, LiveError> {
        let path = std::path::Path::new("/run/netns").join(name);
        File::open(&path).map(Self).map_err(|e| {
            LiveError::kernel(
                format!("cannot open the network namespace {}", path.display()),
                e,
            )
            .hint("; `ip netns add` makes one")
        })
    }

    /// The one that `file` stands for, as [`Namespace::file`] names it.
    ///
    /// # Errors
    /// Where there is no such file.
    pub fn of_file(file: &str) -> Result<Self, LiveError> {
        File::open(file)
            .map(Self)
            .map_err(|e| LiveError::kernel(format!("cannot open the network namespace {file}"), e))
    }

    /// Another handle on the same namespace.
    ///
    /// # Errors
    /// Where the process has no descriptor left.
    pub fn share(&self) -> Result<Self, LiveError> {
        let copy = self.0.try_clone();
        copy.map(Self)
            .map_err(|e| LiveError::kernel("cannot copy a descriptor", e))
    }

    /// A file by which others enter it, for as long as this process has it.
    pub fn file(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    fn join(&self) -> Result<(), LiveError> {
        setns(&self.0, CloneFlags::CLONE_NEWNET)
            .map_err(|e| LiveError::kernel("cannot enter a network namespace", e))
    }

    /// Runs `f` with the calling thread inside.
    ///
    /// # Errors
    /// Where the namespace cannot be entered or left, or `f` fails.
    pub fn inside<T>(&self, f: impl FnOnce() -> Result<T, LiveError>) -> Result<T, LiveError> {
        let home = Self::current()?;
        self.join()?;
        let result = f();
        home.join()?;
        result
    }
}

/// True where this process may make devices and namespaces as it is.
pub fn privileged() -> bool {
    // The effective set; CAP_NET_ADMIN is bit 12 and CAP_SYS_ADMIN bit 21 (linux/capability.h).
    const WANTED: u64 = 1 << 12 | 1 << 21;
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|l| l.strip_prefix("CapEff:"));
    let set = line.and_then(|l| u64::from_str_radix(l.trim(), 16).ok());
    set.is_some_and(|s| s & WANTED == WANTED)
}

/// Moves this process, which must have one thread, into a network namespace of its own; without privileges into a user
/// namespace as well, in which it is root.
///
/// # Errors
/// Where the kernel does not let it.
pub fn isolate() -> Result<(), LiveError> {
    if privileged() {
        unshare(CloneFlags::CLONE_NEWNET)
            .map_err(|e| LiveError::kernel("cannot make a network namespace", e))?;
    } else {
        let (uid, gid) = (nix::unistd::geteuid(), nix::unistd::getegid());
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNET).map_err(|e| {
            LiveError::kernel("not root, and cannot make a user namespace", e).hint(
                "; run as root, or let users make namespaces (sysctl user.max_user_namespaces, \
                 kernel.unprivileged_userns_clone, kernel.apparmor_restrict_unprivileged_userns)",
            )
        })?;
        // user_namespaces(7): one line each, and no setgroups.
        let maps = [
            ("setgroups", "deny".to_owned()),
            ("uid_map", format!("0 {uid} 1")),
            ("gid_map", format!("0 {gid} 1")),
        ];
        for (file, line) in maps {
            let path = format!("/proc/self/{file}");
            std::fs::write(&path, line)
                .map_err(|e| LiveError::kernel(format!("cannot write {path}"), e))?;
        }
    }
    ip("link set lo up\n", true)
}

/// Runs `ip` with a batch of commands in the calling thread's namespace. Where `must` is false, commands that fail are
/// passed over.
///
/// # Errors
/// Where `ip` is missing, or a command that must succeed fails.
pub fn ip(batch: &str, must: bool) -> Result<(), LiveError> {
    // Its options are the batch alone.
    let mut command = crate::program::of_system("ip", "iproute2")?;
    if !must {
        command.arg("-force");
    }
    let mut child = command
        .args(["-batch", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|e| LiveError::kernel("cannot run `ip`", e).hint("; install iproute2"))?;
    if let Some(mut input) = child.stdin.take() {
        // A command that ends early says why on its own.
        let _ignored: io::Result<()> = input.write_all(batch.as_bytes());
    }
    let done = child
        .wait_with_output()
        .map_err(|e| LiveError::kernel("cannot wait for `ip`", e))?;
    if must && !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        return Err(LiveError::Usage(format!(
            "`ip` failed: {}",
            said.trim().replace('\n', "; ")
        )));
    }
    Ok(())
}
