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
    ]
}

/// What this process may do.
fn namespaces() -> Option<String> {
    let may = slackwater_live::emulate::netns::privileged();
    may.then(|| "this process may make them".to_owned())
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
