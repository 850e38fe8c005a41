//! Cgroups of version 2: the root, and one for a single command.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Duration;

use crate::LiveError;

/// Where the kernel's cgroups of version 2 are mounted.
///
/// # Errors
/// Where they are not.
pub fn cgroup_root() -> Result<PathBuf, LiveError> {
    let mounts = fs::read_to_string("/proc/self/mounts")
        .map_err(|e| LiveError::kernel("cannot read /proc/self/mounts", e))?;
    let root = mounts.lines().find_map(|line| {
        let mut words = line.split(' ');
        let (_, at, kind) = (words.next()?, words.next()?, words.next()?);
        (kind == "cgroup2").then(|| PathBuf::from(at))
    });
    root.ok_or_else(|| {
        LiveError::Usage(
            "no cgroups of version 2: mount -t cgroup2 none /sys/fs/cgroup/unified".to_owned(),
        )
    })
}

/// A cgroup of our own for one command; all in it is killed, and it is removed, when dropped.
#[derive(Debug)]
pub struct OwnCgroup(PathBuf);

impl OwnCgroup {
    /// Makes one below the root.
    ///
    /// # Errors
    /// Where the kernel refuses: it needs root.
    pub fn new() -> Result<Self, LiveError> {
        let root = cgroup_root()?;
        let pid = std::process::id();
        for k in 0.. {
            let path = root.join(format!("slackwater-{pid}-{k}"));
            match fs::create_dir(&path) {
                Ok(()) => return Ok(Self(path)),
                // Numbers of processes come again, in a process namespace with each run: the folder is another's, or one
                // that was killed left it.
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => remove_stale(&path),
                Err(e) => {
                    let what = format!("cannot make the cgroup {}", path.display());
                    return Err(LiveError::kernel(what, e));
                }
            }
        }
        unreachable!("some number is free")
    }

    /// Its folder.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Lets `command` begin inside: a shell moves itself there first.
    pub fn inside(&self, command: &[std::ffi::OsString]) -> Command {
        let mut shell = Command::new("/bin/sh");
        shell
            .args(["-c", "echo $$ > \"$0/cgroup.procs\" && exec \"$@\""])
            .arg(&self.0)
            .args(command);
        shell
    }
}

/// Removes a cgroup that nobody has used for a minute. One with processes cannot be removed.
fn remove_stale(path: &Path) {
    let age = fs::metadata(path).and_then(|m| m.modified()).ok();
    if age.is_some_and(|t| t.elapsed().is_ok_and(|a| a > STALE)) {
        let _ = fs::remove_dir(path);
    }
}

/// A cgroup that is older and empty was left behind.
const STALE: Duration = Duration::from_secs(60);

/// Time between two tries to remove a cgroup whose processes are dying.
const LOOK: Duration = Duration::from_millis(5);
/// Tries before one is left to [`remove_stale`]: 30 s, in which a busy machine ends any process that can be ended.
const LOOKS: u32 = 6_000;

/// Kills every process of the cgroup at `path` and removes it. A process that moves there meanwhile is killed with the next try;
/// once the folder is gone none can.
pub(super) fn end(path: &Path) {
    for _ in 0..LOOKS {
        // It reaches those that are forked meanwhile (cgroup-v2, `cgroup.kill`: Linux 5.14).
        let _gone = fs::write(path.join("cgroup.kill"), "1");
        match fs::remove_dir(path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => thread::sleep(LOOK),
            _ => return,
        }
    }
}

impl Drop for OwnCgroup {
    fn drop(&mut self) {
        end(&self.0);
    }
}
