//! Processes that run already and go behind a cell: the network namespace of each is a UE's side.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read as _, Seek as _};
use std::os::unix::fs::MetadataExt as _;

use super::netns::Namespace;
use crate::LiveError;

/// A process whose network is behind the cell.
#[derive(Debug)]
pub(crate) struct Attached {
    /// `/proc/PID/stat`, which stands for this process also where its number is given to another.
    stat: RefCell<File>,
    /// Its network namespace.
    pub(crate) space: Namespace,
}

impl Attached {
    /// The process `pid`.
    ///
    /// # Errors
    /// Where there is none, or it has the network of this process.
    pub(crate) fn new(pid: u32) -> Result<Self, LiveError> {
        let wrong = |found: &str, expected: &str| {
            LiveError::Usage(format!(
                "--attach: found {pid}, {found}, expected {expected}"
            ))
        };
        let nobody = |_| wrong("which is no process", "the number of one (`ps`)");
        let stat = File::open(format!("/proc/{pid}/stat")).map_err(nobody)?;
        let file = format!("/proc/{pid}/ns/net");
        let inode = |path: &str| std::fs::metadata(path).map(|m| (m.dev(), m.ino()));
        let own = inode("/proc/thread-self/ns/net").ok();
        let its = inode(&file)
            .map_err(|e| LiveError::kernel(format!("--attach: cannot open {file}"), e))?;
        if own == Some(its) {
            return Err(wrong(
                "whose network is that of this machine",
                "a process in a network namespace of its own",
            ));
        }
        let space = Namespace::of_file(&file)?;
        let attached = Self {
            stat: RefCell::new(stat),
            space,
        };
        // It may have ended, and another may have its number, between the two files.
        if attached.ended() {
            return Err(wrong("which has ended", "a process that runs"));
        }
        Ok(attached)
    }

    /// True once it has ended.
    pub(crate) fn ended(&self) -> bool {
        let mut stat = self.stat.borrow_mut();
        let mut text = String::new();
        // ESRCH of one that is gone.
        if stat.rewind().is_err() || stat.read_to_string(&mut text).is_err() {
            return true;
        }
        // proc_pid_stat(5): the state follows the name, which may hold brackets.
        let state = text
            .rsplit(')')
            .next()
            .and_then(|s| s.trim().chars().next());
        matches!(state, None | Some('Z' | 'X' | 'x'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_of_this_network_and_one_that_is_none_are_refused() {
        let own = Attached::new(std::process::id()).expect_err("this network");
        assert!(
            own.to_string().contains("network namespace of its own"),
            "{own}"
        );
        // Above the largest number that Linux gives (proc_sys_kernel(5), pid_max).
        let none = Attached::new(1 << 23).expect_err("no process");
        assert!(none.to_string().contains("no process"), "{none}");
    }
}
