//! What the kernel is to send: the flows of a scenario, and the settings of its TCP.

use slackwater_control::Controller as _;
use slackwater_control::registry::base;
use slackwater_core::{Draw, Duration};
use slackwater_scenario::Scenario;
use slackwater_scenario::flow::{App, Protocol, Tcp, TcpEcn, Way};

use crate::LiveError;

/// The receivers' ports: this one and up, by flow.
pub(crate) const PORT: u16 = 5300;
/// Controllers that the kernel has, by our names.
pub(crate) const CONTROLLERS: [&str; 3] = ["reno", "cubic", "bbr"];
/// Those that this program brings along, where it was built with BPF.
pub(super) const XRC: &str = "xrc";
/// This one has its state machine in a process beside the kernel.
pub(super) const EBB: &str = "ebb";

/// One flow of the scenario.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Its name, in the kernel or here.
    pub(super) controller: String,
    /// The UE that it goes to or comes from.
    pub(super) ue: u32,
    /// The UE sends.
    pub(super) up: bool,
    /// First byte, from the start of the run.
    pub(super) start: Duration,
    /// Last byte, from the start of the run.
    pub(super) stop: Duration,
    /// The receiver's port; of a flow over QUIC the server's.
    pub(super) port: u16,
    /// Over QUIC, by `quinn` with our controller.
    pub(super) quic: bool,
    /// Over WebRTC, with our media controller.
    pub(super) media: bool,
}

/// The flows of `scenario`.
///
/// # Errors
/// Where a flow wants what the kernel has not.
pub(super) fn tasks(scenario: &Scenario) -> Result<Vec<Task>, LiveError> {
    let flows = scenario.expanded_flows();
    if flows.len() > 1_000 {
        return Err(LiveError::Usage(format!(
            "found {} flows, expected at most 1000 of real sockets",
            flows.len()
        )));
    }
    let task = |(i, flow): (usize, &slackwater_scenario::FlowInstance<'_>)| {
        let wrong = |found: &str, expected: &str| {
            LiveError::Usage(format!(
                "flow \"{}\": found {found}, expected {expected} with kernel senders",
                flow.label
            ))
        };
        let name = flow.spec.controller.as_str();
        let media = matches!(flow.spec.app, App::Media(_));
        if media {
            return Ok(Task {
                controller: name.to_owned(),
                ue: flow.ue.unwrap_or(0),
                up: flow.spec.direction == Way::Up,
                start: flow.start,
                stop: flow.stop,
                port: PORT + i as u16,
                quic: false,
                media,
            });
        }
        if !matches!(flow.spec.app, App::Bulk(_)) {
            return Err(wrong(
                "another application",
                "app = { kind = \"bulk\" } or \"media\"",
            ));
        }
        let quic = flow.spec.protocol() == Protocol::Quinn;
        if quic {
            let known = scenario.plugins().controllers();
            let (cc, _) = crate::quinn::controller(known, name, None, Draw::new(0))?;
            if cc.takes_blocks() {
                return Err(wrong(
                    &format!("{name:?}, which takes a UE's own reports"),
                    "a controller without",
                ));
            }
            // Feedback for the uplink is not defined (XRC, III).
            if cc.takes_reports() && flow.spec.direction == Way::Up {
                return Err(wrong(
                    &format!("{name:?} at the UE, which takes reports of downloads alone"),
                    "a download, or a controller without",
                ));
            }
        }
        let ours = name == XRC || base(name) == EBB;
        if ours && !quic && cfg!(not(feature = "bpf")) {
            return Err(wrong(
                &format!("{name:?} in a program without BPF"),
                "one that was built with: cargo build --release -p slackwater-cli --features bpf; or \"reno\", \"cubic\", \"bbr\"",
            ));
        }
        if !ours && !quic && !CONTROLLERS.contains(&name) {
            return Err(wrong(
                &format!("{name:?}"),
                "\"reno\", \"cubic\", \"bbr\", \"xrc\" or \"ebb\", or transport = \"quinn\" for any",
            ));
        }
        if flow.rtt != scenario.path.rtt && flow.ue.is_none() {
            return Err(wrong("an RTT of its own", "that of [path]"));
        }
        if flow.spec.tcp != flows[0].spec.tcp {
            return Err(wrong(
                "tcp keys of its own",
                "those of the first flow: the kernel's settings are a namespace's",
            ));
        }
        Ok(Task {
            controller: name.to_owned(),
            ue: flow.ue.unwrap_or(0),
            up: flow.spec.direction == Way::Up,
            start: flow.start,
            stop: flow.stop,
            port: PORT + i as u16,
            quic,
            media,
        })
    };
    flows.iter().enumerate().map(task).collect()
}

/// Sets the kernel's TCP in the calling thread's namespace as `tcp` has it, where there is a setting for it. All others,
/// the delayed ACK for one, are the kernel's own.
pub(crate) fn configure(tcp: &Tcp) -> Result<(), LiveError> {
    let ecn = match tcp.ecn {
        // ip-sysctl, tcp_ecn: requests no ECN, and accepts it from a peer that requests it.
        TcpEcn::Off => 2,
        TcpEcn::Classic => 1,
        TcpEcn::Accurate => {
            return Err(LiveError::Usage(
                "found tcp.ecn = \"accurate\", expected \"off\" or \"classic\" with kernel senders"
                    .to_owned(),
            ));
        }
    };
    // Half of a receive buffer is window, as long as the kernel does not know how much memory a segment takes
    // (`tcp_adv_win_scale`); of what it holds, the sender's socket counts memory as well.
    let settings = [
        ("ecn", ecn.to_string()),
        ("sack", u8::from(tcp.sack).to_string()),
        ("timestamps", u8::from(tcp.timestamps).to_string()),
        ("rmem", format!("4096 131072 {}", tcp.recv_buffer.0 * 2)),
        ("wmem", format!("4096 16384 {}", tcp.send_buffer.0 * 2)),
        ("rto_min_us", tcp.min_rto.as_micros().to_string()),
    ];
    for (key, value) in settings {
        let path = format!("/proc/sys/net/ipv4/tcp_{key}");
        if !std::path::Path::new(&path).exists() {
            continue;
        }
        std::fs::write(&path, &value)
            .map_err(|e| LiveError::kernel(format!("cannot write {value} to {path}"), e))?;
    }
    Ok(())
}
