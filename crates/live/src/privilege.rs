//! Whose rights things have: under `sudo`, commands and files are the caller's, not root's.
//!
//! The emulator needs root for devices and namespaces. The command behind it does not: it gets the identity of whoever called
//! `sudo`, no capability, and no way to gain one (`no_new_privs`). SECURITY.md says what is promised.

use std::ffi::{CString, OsStr, OsString};
use std::io;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use nix::unistd::{
    Gid, Uid, User, geteuid, initgroups, setfsgid, setfsuid, setgroups, setresgid, setresuid,
};

use crate::sys;

/// Somebody other than root.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caller {
    uid: u32,
    gid: u32,
}

impl Caller {
    /// Who called `sudo`. `None` where nobody did, where it was root, and where this process is not root.
    pub fn of_sudo() -> Option<Self> {
        let number = |name| std::env::var(name).ok()?.parse().ok();
        if !geteuid().is_root() {
            return None;
        }
        Self::new(number("SUDO_UID")?, number("SUDO_GID")?)
    }

    /// `None` for root.
    fn new(uid: u32, gid: u32) -> Option<Self> {
        (uid != 0).then_some(Self { uid, gid })
    }

    /// As [`Caller::from_word`] reads it.
    pub(crate) fn word(who: Option<Self>) -> String {
        who.map_or_else(|| "-".to_owned(), |who| format!("{}:{}", who.uid, who.gid))
    }

    /// From the word of a process that started this one; a word that is none is an error.
    pub(crate) fn from_word(word: &str) -> Result<Option<Self>, ()> {
        if word == "-" {
            return Ok(None);
        }
        let (uid, gid) = word.split_once(':').ok_or(())?;
        let caller = Self::new(uid.parse().map_err(|_| ())?, gid.parse().map_err(|_| ())?);
        caller.map(Some).ok_or(())
    }

    /// Runs `f` with the calling thread's files the caller's: what it makes belongs to them, and it opens what they may open.
    pub fn writes<T>(self, f: impl FnOnce() -> T) -> T {
        self.own_files();
        let done = f();
        setfsuid(geteuid());
        setfsgid(nix::unistd::getegid());
        done
    }

    /// The calling thread's files are the caller's from now on.
    pub(crate) fn own_files(self) {
        setfsgid(Gid::from_raw(self.gid));
        setfsuid(Uid::from_raw(self.uid));
    }

    /// Makes this process the caller's for good, and runs `program`. Comes back with an error alone.
    pub(crate) fn execute(
        self,
        program: &OsStr,
        args: impl Iterator<Item = OsString>,
    ) -> io::Error {
        let mut command = Command::new(program);
        command.args(args);
        match self.become_for_good(&mut command) {
            Ok(()) => command.exec(),
            Err(e) => io::Error::new(e.kind(), format!("as user {}: {e}", self.uid)),
        }
    }

    fn become_for_good(self, command: &mut Command) -> io::Result<()> {
        let (uid, gid) = (Uid::from_raw(self.uid), Gid::from_raw(self.gid));
        match User::from_uid(uid).ok().flatten() {
            Some(user) => {
                initgroups(&CString::new(user.name.clone())?, gid)?;
                command
                    .env("HOME", &user.dir)
                    .env("USER", &user.name)
                    .env("LOGNAME", &user.name);
            }
            None => setgroups(&[gid])?,
        }
        sys::drop_bounding()?;
        // With all three ids the capabilities go as well (capabilities(7)).
        setresgid(gid, gid, gid)?;
        setresuid(uid, uid, uid)?;
        nix::sys::prctl::set_no_new_privs()?;
        Ok(())
    }
}

/// Runs `f`, with files of `who` where there is somebody.
pub fn as_caller<T>(who: Option<Caller>, f: impl FnOnce() -> T) -> T {
    match who {
        Some(who) => who.writes(f),
        None => f(),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};

    use super::*;

    #[test]
    fn words_name_a_caller_or_nobody() {
        let somebody = Caller::new(1_000, 1_001);
        for who in [None, somebody] {
            assert_eq!(Caller::from_word(&Caller::word(who)), Ok(who));
        }
        assert_eq!(Caller::word(somebody), "1000:1001");
        // Root is nobody to step down to; a word that is none must not leave rights as they are.
        for wrong in ["", "0:0", "1000", "x:y", "1000:"] {
            assert_eq!(Caller::from_word(wrong), Err(()), "{wrong}");
        }
    }

    #[test]
    fn files_are_the_callers() {
        if !geteuid().is_root() {
            eprintln!("skipped: not root");
            return;
        }
        let file = std::env::temp_dir().join(format!("slackwater-caller-{}", std::process::id()));
        let owner = |file| std::fs::metadata(file).map(|m| (m.uid(), m.gid())).unwrap();
        let caller = Caller::new(65_534, 65_533).expect("not root");
        caller.writes(|| std::fs::write(&file, "x").unwrap());
        assert_eq!(owner(&file), (65_534, 65_533));
        std::fs::remove_file(&file).unwrap();
        // Afterwards they are root's again, and theirs alone while it lasts.
        std::fs::write(&file, "x").unwrap();
        assert_eq!(owner(&file).0, 0);
        let mode = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(&file, mode).unwrap();
        assert!(caller.writes(|| std::fs::read(&file)).is_err());
        std::fs::remove_file(&file).unwrap();
    }
}
