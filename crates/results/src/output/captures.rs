//! Packet captures of the senders.

use slackwater_wire::pcapng::{Capture, Passage, PcapngWriter};
use slackwater_wire::{IpVersion, packet};

use crate::record::RunRecorder;

/// Bytes kept of each packet: headers and options; simulated payload is zeros.
const SNAPLEN: usize = 96;

/// The captured packets as one pcapng file with an interface for each sender.
pub fn pcapng(run: &RunRecorder) -> Vec<u8> {
    let mut writer = PcapngWriter::new(concat!("slackwater ", env!("CARGO_PKG_VERSION")));
    let interfaces: Vec<_> = run
        .config()
        .flows
        .iter()
        .map(|f| writer.interface(&f.label, SNAPLEN as u32))
        .collect();
    let mut bytes = Vec::new();
    for c in &run.captured {
        let Some(interface) = interfaces.get(c.packet.flow.index()) else {
            continue;
        };
        bytes.clear();
        let original_len = packet::encode(&c.packet, IpVersion::V4, SNAPLEN, &mut bytes);
        writer.packet(
            c.at,
            *interface,
            &Capture {
                bytes: &bytes,
                original_len,
                passage: Some(if c.sent {
                    Passage::Outbound
                } else {
                    Passage::Inbound
                }),
                comment: None,
            },
        );
    }
    writer.take()
}
