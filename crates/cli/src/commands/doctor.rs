//! `slackwater doctor`: what this machine offers.

use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Result;
use serde_json::json;

use crate::say::say;

struct Finding {
    what: &'static str,
    found: Option<String>,
    /// What it is for; printed where it is missing.
    used_for: &'static str,
}

fn version(command: &str, args: &[&str]) -> Option<String> {
    let out = Command::new(command)
        .args(args)
        .output()
        .ok()
        .filter(|o| o.status.success())?;
    let text =
        String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    text.lines().next().map(|l| l.trim().to_owned())
}

fn findings() -> Vec<Finding> {
    let exists = |p: &str| Path::new(p).exists().then(|| p.to_owned());
    vec![
        Finding {
            what: "cores",
            found: Some(slackwater_lab::parallel::cores().to_string()),
            used_for: "comparisons run one simulation on each",
        },
        Finding {
            what: "results folder",
            found: tempfile_here(),
            used_for: "runs/ is written to the current folder; use --out elsewhere",
        },
        Finding {
            what: "python3",
            found: version("python3", &["--version"]),
            used_for: "the Python package (3.11 or newer)",
        },
        Finding {
            what: "tshark",
            found: version("tshark", &["--version"]),
            used_for: "reading pcapng captures",
        },
        Finding {
            what: "valgrind",
            found: version("valgrind", &["--version"]),
            used_for: "instruction counts of `make bench`",
        },
        Finding {
            what: "TUN device",
            found: exists("/dev/net/tun"),
            used_for: "emulation on real packets",
        },
        Finding {
            what: "ip",
            found: version("ip", &["-V"]),
            used_for: "addresses and routes of `slackwater emulate` (iproute2)",
        },
        Finding {
            what: "network namespaces",
            found: namespaces(),
            used_for: "UEs of `slackwater emulate` and `slackwater gnb` (root, or CAP_NET_ADMIN and CAP_SYS_ADMIN)",
        },
        Finding {
            what: "UDP port 2152",
            found: free_port(),
            used_for: "N3 of `slackwater gnb`; another program has it on all addresses: use n3.port",
        },
        Finding {
            what: "BPF type information",
            found: exists("/sys/kernel/btf/vmlinux"),
            used_for: "controllers in the Linux kernel",
        },
        Finding {
            what: "packet sockets",
            found: has(&[NET_ADMIN, NET_RAW]).then(|| "this process may open them".to_owned()),
            used_for: "n3.interface and n6.port of `slackwater upf` (root, or CAP_NET_ADMIN and CAP_NET_RAW)",
        },
        Finding {
            what: "path in the kernel",
            found: path_in_the_kernel(),
            used_for: "fast.path of `slackwater upf` (a build with BPF; Linux 6.6 with BPF type information; root, or \
                       CAP_NET_ADMIN, CAP_NET_RAW, CAP_BPF and CAP_PERFMON)",
        },
    ]
}

/// Numbers of capabilities (capabilities(7)).
const NET_ADMIN: u32 = 12;
/// See [`NET_ADMIN`].
const NET_RAW: u32 = 13;
/// See [`NET_ADMIN`].
const PERFMON: u32 = 38;
/// See [`NET_ADMIN`].
const BPF: u32 = 39;

/// True where this process has all these capabilities.
fn has(capabilities: &[u32]) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mut lines = status.lines();
    let set = lines.find_map(|l| l.strip_prefix("CapEff:"));
    let set = set.and_then(|set| u64::from_str_radix(set.trim(), 16).ok());
    set.is_some_and(|set| capabilities.iter().all(|c| set >> c & 1 == 1))
}

/// True where `release` is of a kernel that runs programs at tcx.
fn has_tcx(release: &str) -> bool {
    let mut numbers = release.split(['.', '-']).map(str::parse);
    let mut next = || numbers.next().and_then(Result::ok);
    let version: (Option<u32>, Option<u32>) = (next(), next());
    version >= (Some(6), Some(6))
}

/// What `fast.path = "kernel"` needs is there.
fn path_in_the_kernel() -> Option<String> {
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    let kernel = has_tcx(&release) && Path::new("/sys/kernel/btf/vmlinux").exists();
    let rights = has(&[NET_ADMIN, NET_RAW, PERFMON, BPF]);
    (cfg!(feature = "bpf") && kernel && rights).then(|| "this process may load it".to_owned())
}

/// What this process may do.
#[cfg(target_os = "linux")]
fn namespaces() -> Option<String> {
    let may = slackwater_live::emulate::netns::privileged();
    may.then(|| "this process may make them".to_owned())
}

/// Other systems have none.
#[cfg(not(target_os = "linux"))]
const fn namespaces() -> Option<String> {
    None
}

/// The port of GTP-U (TS 29.281, 4.4.2), where nobody has it on all addresses.
fn free_port() -> Option<String> {
    let socket = std::net::UdpSocket::bind(("0.0.0.0", slackwater_lab::wire::gtpu::PORT));
    socket.ok().map(|_| "free".to_owned())
}

/// The current folder, where a file can be made in it.
fn tempfile_here() -> Option<String> {
    let probe = format!(".slackwater-doctor-{}", std::process::id());
    std::fs::write(&probe, b"").ok()?;
    std::fs::remove_file(&probe).ok()?;
    Some("the current folder can be written to".to_owned())
}

pub(crate) fn doctor(json: bool) -> Result<ExitCode> {
    let findings = findings();
    if json {
        let rows: Vec<_> = findings
            .iter()
            .map(|f| json!({ "what": f.what, "found": f.found, "used_for": f.used_for }))
            .collect();
        say!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        say!("slackwater {}", env!("CARGO_PKG_VERSION"));
        for f in &findings {
            match &f.found {
                Some(found) => say!("  ok       {:<22} {found}", f.what),
                None => say!("  missing  {:<22} {}", f.what, f.used_for),
            }
        }
        say!("Simulation needs nothing of the above but a folder to write to.");
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_since_6_6_have_tcx() {
        for release in ["6.6.0", "6.18.44-generic", "7.0-rc1", "10.2.3"] {
            assert!(has_tcx(release), "{release}");
        }
        for release in ["6.5.13", "5.19.0", "6", "", "six.seven"] {
            assert!(!has_tcx(release), "{release}");
        }
    }
}
