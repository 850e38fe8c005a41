//! Controllers of ours in the kernel's TCP: XRC here, `ebb` beside it. Loads `bpf/xrc.bpf.c` and says which connections get it.
//!
//! The congestion control is known to the whole kernel while [`Loaded`] lives; the program on a cgroup gives it to
//! connections that begin below that cgroup, and reads the agent's option on their ACKs. Connections keep XRC when it is
//! unloaded, without new reports: they go on as `NewReno`.

mod cgroup;
pub(crate) mod command;
mod ebb;
mod senders;

use std::fs::File;
use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd as _, AsRawFd as _};
use std::path::{Path, PathBuf};

use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use libbpf_rs::{Link, MapHandle, OpenObject};
use nix::sched::{CloneFlags, setns};

pub use self::cgroup::{OwnCgroup, cgroup_root};
pub use self::command::{Ends, run};
pub use self::ebb::{EbbCounts, EbbSenders, LoadedEbb, report_sockets};
pub use self::senders::Senders;
use crate::{LiveError, sys};

#[expect(
    unsafe_code,
    clippy::pedantic,
    unreachable_pub,
    reason = "libbpf-cargo writes it"
)]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/xrc.skel.rs"));
}

/// Which of XRC's profiles the kernel runs (`control::phy::xrc::Params`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Profile {
    /// The product's.
    #[default]
    Default,
    /// The paper's words.
    Paper,
}

/// Whose connections get a controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those of processes in this cgroup (version 2) and below.
    Cgroup(PathBuf),
    /// Those in the network namespace of this file.
    Netns(PathBuf),
    /// Those of them that chose it (`TCP_CONGESTION`); all others keep what they have.
    Chosen(PathBuf),
    /// As [`Scope::Chosen`], in any network namespace.
    ChosenAnywhere,
}

/// What the programs counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Connections that were given XRC.
    pub connections: u64,
    /// Reports that were read and believed.
    pub read: u64,
    /// Reports that were not.
    pub refused: u64,
    /// ACKs by the mode of the sender: the codes of `control::phy::xrc::MODES`.
    pub modes: [u64; 12],
}

/// The sender that heard the last ACK. Times are us.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Last {
    /// Window, segments.
    pub cwnd: f64,
    /// Target window, segments.
    pub twnd: f64,
    /// The target window's factor.
    pub gamma: f64,
    /// Reported rate, bit/s.
    pub rate_bps: u64,
    /// Reported head-of-line delay.
    pub hol_us: u64,
    /// Queuing delay of the last window of data (XRC, eq. 3).
    pub sigma_us: u64,
    /// Least round-trip time.
    pub min_rtt_us: u64,
    /// Mean jitter of the radio.
    pub jitter_us: u64,
    /// Delay on the way back beyond that of the least round-trip time.
    pub back_us: u64,
    /// Verdicts that the bottleneck lies beyond the radio.
    pub verdicts: u64,
}

/// The loaded programs; unloaded when dropped.
pub struct Loaded {
    // Links go before what they link.
    _links: [Link; 2],
    skel: skel::XrcSkel<'static>,
}

impl core::fmt::Debug for Loaded {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Loaded")
            .field("counts", &self.counts())
            .finish_non_exhaustive()
    }
}

fn refused(what: &str) -> impl FnOnce(libbpf_rs::Error) -> LiveError + '_ {
    move |e| {
        LiveError::Usage(format!(
            "{what}: {e:#}; it needs root and a kernel of 6.10 or newer with BTF"
        ))
    }
}

impl Scope {
    /// True where a connection keeps what it has unless it chooses.
    const fn is_chosen(&self) -> bool {
        matches!(self, Self::Chosen(_) | Self::ChosenAnywhere)
    }
}

impl Loaded {
    /// Loads XRC for `scope`.
    ///
    /// # Errors
    /// Where the kernel refuses the programs, a congestion control `xrc` is there already, or the scope does not exist.
    pub fn new(scope: &Scope, profile: Profile) -> Result<Self, LiveError> {
        let (cgroup, cookie) = place(scope)?;
        // The programs live as long as the process that loaded them.
        let object: &'static mut MaybeUninit<OpenObject> =
            Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = skel::XrcSkelBuilder::default()
            .open(object)
            .map_err(refused("cannot read the programs"))?;
        let settings = open
            .maps
            .rodata_data
            .as_mut()
            .ok_or_else(|| LiveError::Usage("the programs have no settings".to_owned()))?;
        settings.netns = cookie;
        settings.chosen = u8::from(scope.is_chosen());
        settings.paper = u8::from(profile == Profile::Paper);
        let mut skel = open
            .load()
            .map_err(refused("the kernel does not take the programs"))?;
        let control = skel.maps.xrc.attach_struct_ops().map_err(refused(
            "the kernel does not take the congestion control `xrc` (one may be loaded already)",
        ))?;
        let options = skel
            .progs
            .xrc_options
            .attach_cgroup(cgroup.as_raw_fd())
            .map_err(refused("the cgroup does not take the program"))?;
        Ok(Self {
            _links: [control, options],
            skel,
        })
    }

    /// What the programs counted so far.
    pub fn counts(&self) -> Counts {
        let Some(data) = self.skel.maps.bss_data.as_ref() else {
            return Counts::default();
        };
        let mut modes = [0; 12];
        modes.copy_from_slice(&data.acks_in_mode[..12]);
        Counts {
            connections: data.connections,
            read: data.options_read,
            refused: data.options_refused,
            modes,
        }
    }

    /// The state of single senders, which can be read as long as the programs are loaded.
    ///
    /// # Errors
    /// Where the map cannot be opened a second time.
    pub fn senders(&self) -> Result<Senders, LiveError> {
        MapHandle::try_from(&self.skel.maps.socks)
            .map(Senders::new)
            .map_err(refused("cannot read the senders"))
    }

    /// The sender that heard the last ACK; torn where one comes while this reads.
    pub fn last(&self) -> Last {
        let Some(data) = self.skel.maps.bss_data.as_ref() else {
            return Last::default();
        };
        let x = &data.last;
        let q16 = |v: u64| v as f64 / 65536.0;
        Last {
            cwnd: q16(x.cwnd),
            twnd: q16(x.twnd),
            gamma: q16(x.gamma),
            rate_bps: x.rate_bps,
            hol_us: x.hol_us,
            sigma_us: x.sigma_us,
            min_rtt_us: x.min_rtt_us,
            jitter_us: x.jitter_q8 >> 8,
            back_us: x.back_q8 >> 8,
            verdicts: x.internet.verdicts,
        }
    }
}

/// The cgroup whose connections a program of `scope` sees, and the cookie of the namespace that it looks for; zero for all.
fn place(scope: &Scope) -> Result<(File, u64), LiveError> {
    let (cgroup, cookie) = match scope {
        Scope::Cgroup(path) => (path.clone(), 0),
        Scope::Netns(path) | Scope::Chosen(path) => (cgroup_root()?, cookie_of(path)?),
        Scope::ChosenAnywhere => (cgroup_root()?, 0),
    };
    let opened = File::open(&cgroup).map_err(|e| {
        LiveError::kernel(format!("cannot open the cgroup {}", cgroup.display()), e)
    })?;
    Ok((opened, cookie))
}

fn cookie_of(path: &Path) -> Result<u64, LiveError> {
    let cookie = inside(path, || {
        let socket = std::net::UdpSocket::bind((std::net::Ipv4Addr::UNSPECIFIED, 0))?;
        sys::netns_cookie(socket.as_fd())
    })?;
    cookie.map_err(|e| {
        let what = format!("cannot look into the network namespace {}", path.display());
        LiveError::kernel(what, e)
    })
}

/// Does `work` in the network namespace of the file `path`.
fn inside<T: Send + 'static>(
    path: &Path,
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> Result<io::Result<T>, LiveError> {
    let file = File::open(path)
        .map_err(|e| LiveError::kernel(format!("no network namespace {}", path.display()), e))?;
    // A thread of its own goes there and ends there.
    let there = std::thread::spawn(move || {
        setns(file.as_fd(), CloneFlags::CLONE_NEWNET).map_err(io::Error::from)?;
        work()
    });
    Ok(there
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the thread died"))))
}
