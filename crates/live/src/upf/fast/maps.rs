//! The programs in the kernel, and their maps.
#![expect(
    unsafe_code,
    clippy::pedantic,
    reason = "libbpf-rs has no call for tcx yet; the skeleton is libbpf-cargo's"
)]

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd as _, BorrowedFd};
use std::ptr::{self, NonNull};

use libbpf_rs::skel::{OpenSkel as _, SkelBuilder as _};
use libbpf_rs::{AsRawLibbpf as _, Link, OpenObject, ProgramMut, libbpf_sys};
use slackwater_upf::user::fast::{FastDown, FastUp};

use super::super::config::UpfConfig;
use super::super::n6::End;
use super::counters::{Counters, Counts};
use super::table::{Entry, Table};
use super::unread::Unread;
use crate::LiveError;
use crate::packet::PacketSocket;

#[expect(unreachable_pub, reason = "libbpf-cargo writes it")]
mod skel {
    include!(concat!(env!("OUT_DIR"), "/upf.skel.rs"));
}

/// `SESSIONS` of the program.
pub(super) const SESSIONS: u32 = 16_384;
/// Outer IPv4, UDP and GTP-U, and the container behind them.
const OUTER: usize = 20 + 8 + 8;
/// See [`OUTER`].
const CONTAINER: usize = 8;

/// Loaded programs.
pub(super) struct Maps {
    // Links go before what they link.
    _links: [Link; 2],
    skel: skel::UpfSkel<'static>,
    counters: Counters,
    /// Sessions by the UE's address, downlink.
    downs: Table,
    /// Sessions by our TEID, uplink.
    ups: Table,
    /// Packets whose headers the function has not read yet.
    pub(super) unread: Unread,
    /// Longest packet of N3's interface.
    n3_mtu: usize,
    /// Places among the counters that are free; the one that is free for longest comes first.
    free: VecDeque<u32>,
}

impl core::fmt::Debug for Maps {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Maps").finish_non_exhaustive()
    }
}

pub(super) fn refused(what: &'static str) -> impl FnOnce(libbpf_rs::Error) -> LiveError {
    move |e| {
        LiveError::Usage(format!(
            "fast.path: {what}: {e:#}; it needs root, or CAP_BPF, CAP_PERFMON and CAP_NET_ADMIN, and a kernel of 6.6 or newer with BTF"
        ))
    }
}

fn needs(found: &str, expected: &str) -> LiveError {
    LiveError::Usage(format!("fast.path: found {found}, expected {expected}"))
}

/// A number of the kernel's settings for IPv4.
fn setting(name: &str, default: u8) -> u8 {
    let text = std::fs::read_to_string(format!("/proc/sys/net/ipv4/{name}"));
    text.ok()
        .and_then(|t| t.trim().parse().ok())
        .unwrap_or(default)
}

fn index(name: &str) -> Result<u32, LiveError> {
    nix::net::if_::if_nametoindex(name)
        .map_err(|e| LiveError::kernel(format!("no interface \"{name}\""), e))
}

fn attach(program: &ProgramMut<'_>, index: u32) -> Result<Link, LiveError> {
    let program = program.as_libbpf_object().as_ptr();
    // SAFETY: the program is loaded and lives across the call; no options is a null pointer.
    let link = unsafe { libbpf_sys::bpf_program__attach_tcx(program, index as i32, ptr::null()) };
    let link = NonNull::new(link).ok_or_else(|| {
        LiveError::kernel(
            "fast.path: the kernel has no tcx, which came with 6.6",
            std::io::Error::last_os_error(),
        )
    })?;
    // SAFETY: libbpf has just made it, and nobody else has it.
    Ok(unsafe { Link::from_ptr(link) })
}

impl Maps {
    /// Loads and attaches the programs.
    pub(super) fn load(
        config: &UpfConfig,
        n3: &PacketSocket,
        n6: &End<'_>,
    ) -> Result<Self, LiveError> {
        let IpAddr::V4(own) = config.n3.address.0 else {
            return Err(needs("n3.address of IPv6", "one of IPv4"));
        };
        let gateway = match (n6, config.n6.gateway.map(|a| a.0)) {
            (End::Tun { .. }, _) => Ipv4Addr::UNSPECIFIED,
            (End::Port(_), Some(IpAddr::V4(gateway))) => gateway,
            (End::Port(_), _) => return Err(needs("n6.gateway of IPv6", "one of IPv4")),
        };
        // The programs live as long as the process that loads them.
        let object: &'static mut MaybeUninit<OpenObject> =
            Box::leak(Box::new(MaybeUninit::uninit()));
        let mut open = skel::UpfSkelBuilder::default()
            .open(object)
            .map_err(refused("cannot read the programs"))?;
        let settings = open
            .maps
            .rodata_data
            .as_mut()
            .ok_or_else(|| needs("programs without settings", "settings"))?;
        let network = |a: Ipv4Addr| u32::from_ne_bytes(a.octets());
        settings.own = network(own);
        settings.port = config.n3.port.to_be();
        settings.gateway = network(gateway);
        settings.ttl = setting("ip_default_ttl", 64);
        settings.dont_fragment = u8::from(setting("ip_no_pmtu_disc", 0) == 0);
        (settings.n3_index, settings.n6_index) = (index(n3.name())?, index(n6.name())?);
        settings.n6_mtu = n6.mtu() as u32;
        settings.n6_is_tun = u8::from(matches!(n6, End::Tun { .. }));
        let (n3_index, n6_index) = (settings.n3_index, settings.n6_index);
        let processors = libbpf_rs::num_possible_cpus().map_err(refused("how many processors"))?;
        let places = u32::try_from(processors)
            .ok()
            .and_then(|n| n.checked_mul(SESSIONS));
        let places = places.ok_or_else(|| needs("too many processors", "131,071 at most"))?;
        open.maps
            .counters
            .set_max_entries(places)
            .map_err(refused("no room for counters"))?;
        let skel = open
            .load()
            .map_err(refused("the kernel does not take the programs"))?;
        let from_n6 = match n6 {
            End::Port(_) => &skel.progs.send_down,
            End::Tun { .. } => &skel.progs.send_from_tun,
        };
        let links = [
            attach(from_n6, n6_index)?,
            attach(&skel.progs.send_up, n3_index)?,
        ];
        if let End::Port(n6) = n6 {
            n6.set_filter(skel.progs.decide_down.as_fd())?;
        }
        n3.set_filter(skel.progs.decide_up.as_fd())?;
        let unread = Unread::of(&skel.maps.unread)?;
        let counters = Counters::of(skel.maps.counters.as_fd(), processors)
            .map_err(|e| LiveError::kernel("fast.path: counters cannot be read", e))?;
        Ok(Self {
            downs: Table::of(skel.maps.downs.as_fd())?,
            ups: Table::of(skel.maps.ups.as_fd())?,
            _links: links,
            counters,
            unread,
            skel,
            n3_mtu: n3.mtu(),
            free: (0..SESSIONS).collect(),
        })
    }

    /// Readable where packets passed since the function last read.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.skel.maps.unread.as_fd()
    }

    /// A free place among the counters.
    pub(super) fn slot(&mut self) -> Option<u32> {
        self.free.pop_front()
    }

    /// Gives a place back.
    pub(super) fn give(&mut self, slot: u32) {
        self.free.push_back(slot);
    }

    /// What was counted at a place by all processors.
    pub(super) fn counts(&self, slot: u32) -> Counts {
        self.counters.at(slot)
    }

    /// Puts a session in, whose packets' headers the function gets where it is `watched`; false where there is no room, and then nothing of it is there.
    pub(super) fn set(
        &self,
        slot: u32,
        down: Option<(&FastDown, Ipv4Addr)>,
        up: Option<&FastUp>,
        watched: bool,
    ) -> bool {
        let maps = &self.skel.maps;
        let done = down.is_none_or(|(path, hop)| {
            let entry = self.entry_down(slot, path, hop, watched);
            self.downs.set(&maps.other_downs, entry)
        }) && up
            .is_none_or(|path| self.ups.set(&maps.other_ups, entry_up(slot, path, watched)));
        if !done {
            self.clear(down.map(|d| d.0), up);
        }
        done
    }

    /// Takes a session out.
    pub(super) fn clear(&self, down: Option<&FastDown>, up: Option<&FastUp>) {
        let maps = &self.skel.maps;
        if let Some(path) = down {
            self.downs.clear(&maps.other_downs, path.ue.octets());
        }
        if let Some(path) = up {
            self.ups.clear(&maps.other_ups, path.teid.0.to_be_bytes());
        }
    }

    /// `struct down` of the programs.
    fn entry_down(&self, slot: u32, path: &FastDown, hop: Ipv4Addr, watched: bool) -> Entry {
        let contained = path.qfi.is_some();
        let outer = OUTER + if contained { CONTAINER } else { 0 };
        let most = path.most.min(self.n3_mtu.saturating_sub(outer));
        let most = u16::try_from(most).unwrap_or(u16::MAX);
        let [m, n] = most.to_ne_bytes();
        let flow = path.qfi.map_or(0, |q| u8::from(path.reflective) << 6 | q.0);
        [
            word(path.ue.octets(), path.peer.octets()),
            word(path.teid.0.to_be_bytes(), hop.octets()),
            word(slot.to_ne_bytes(), [m, n, path.dscp, u8::from(contained)]),
            word([flow, u8::from(watched), 0, 0], [0; 4]),
        ]
    }
}

/// Two fields in the order of their octets.
const fn word(a: [u8; 4], b: [u8; 4]) -> u64 {
    u64::from_ne_bytes([a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]])
}

/// `struct up` of the programs.
fn entry_up(slot: u32, path: &FastUp, watched: bool) -> Entry {
    let flows = path.qfis.iter().flatten().filter(|q| q.0 < 64);
    let flows = flows.fold(0_u64, |all, q| all | 1 << q.0);
    let every = path.qfis.is_none();
    [
        word(path.teid.0.to_be_bytes(), path.ue.octets()),
        flows,
        word(
            slot.to_ne_bytes(),
            [u8::from(every), u8::from(watched), 0, 0],
        ),
        0,
    ]
}
