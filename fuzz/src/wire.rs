//! Packets and messages as bytes: nothing panics, and what is written is read as the same.

use slackwater_core::{Duration, Ecn, FlowId, Instant, PacketView as _, Qfi, SeqNum, Teid, UeId};
use slackwater_live::counted::{CounterReport, Key};
use slackwater_live::emulate::frame;
use slackwater_signal::{RanReport, ReportBody};
use slackwater_wire::gtpu::extension::{NR_RAN_CONTAINER, PDU_SESSION_CONTAINER};
use slackwater_wire::gtpu::nru::Frame;
use slackwater_wire::gtpu::psc::Container;
use slackwater_wire::gtpu::report::{Names, ROUND_TRIP_MAX, Source, Units, receive};
use slackwater_wire::gtpu::{self, Ntp, NtpClock};
use slackwater_wire::report::{self, Datagram};
use slackwater_wire::{IpPacket, ip as ip_codec, packet, pfcp, rtcp, rtp};

/// The longest packet.
const MTU: usize = 1_500;

fn look<B: AsRef<[u8]> + AsMut<[u8]>>(packet: &IpPacket<B>) {
    let _ = (packet.protocol(), packet.udp_payload(), packet.ends());
    let _ = (packet.traffic_class(), packet.flow_label(), packet.spi());
    let _ = (packet.flow_key(), packet.reverse_key(), packet.ports());
    let _ = (packet.tcp(), packet.sack(), packet.syn_options());
    let _ = (packet.spin_bit(), packet.fragment(), packet.dont_fragment());
    if let Some(body) = report::find(packet) {
        let _ = body.report();
    }
    for mtu in [28, 576] {
        for piece in ip_codec::fragments(packet, mtu).into_iter().flatten() {
            assert!(IpPacket::new(&piece[..]).is_ok(), "a fragment is a packet");
        }
    }
}

/// IP packets, with what functions rewrite in them, and reports in TCP options and datagrams.
pub(crate) fn ip(data: &[u8]) {
    if let Ok(mut packet) = IpPacket::new(data.to_vec()) {
        look(&packet);
        let held = packet.checksums_hold();
        packet.set_ecn(Ecn::Ce);
        packet.set_tcp_window(0x1234);
        packet.set_tcp_ack(SeqNum(0x8765_4321));
        look(&packet);
        assert!(
            !held || packet.checksums_hold(),
            "what is rewritten keeps its checksum"
        );
    }
    let body = ReportBody([9, 8, 7, 6, 5, 4, 3, 2]);
    let mut changed = data.to_vec();
    if report::insert(&mut changed, body, MTU).is_ok() {
        let packet = IpPacket::new(&changed[..]).expect("what has a report is a packet");
        assert_eq!(report::find(&packet), Some(body));
        assert!(report::strip(&mut changed), "and it can be taken out");
    }
    let _ = report::strip(&mut data.to_vec());
    let _ = CounterReport::open(data, Key::new(&[7; 16]).ok().as_ref());
    if let Ok(read) = CounterReport::open(data, None) {
        let out = CounterReport::seal(read.flow, read.counters.encode(), None);
        assert_eq!(CounterReport::open(&out, None), Ok(read));
    }
    if let Ok(read) = Datagram::decode(data) {
        let mut out = Vec::new();
        read.encode(&mut out);
        assert_eq!(Datagram::decode(&out), Ok(read));
    }
    let _ = packet::decode(data);
    if let Ok(body) = data.try_into().map(ReportBody)
        && let Some(report) = body.report()
    {
        let written = ReportBody::of(&report).expect("it came from eight bytes");
        assert_eq!(written.report(), Some(report));
    }
}

/// Frames of a TUN device.
pub(crate) fn frame(data: &[u8]) {
    let mut bytes = 0;
    frame::packets(data, |packet| {
        bytes += packet.len();
        if let Ok(packet) = IpPacket::new(packet) {
            look(&packet);
        }
    });
    // A segment of one byte has its headers again, and they are bounded.
    assert!(bytes <= data.len() * 513, "{bytes} out of {}", data.len());
}

/// Every tunnel is some UE's.
pub(crate) struct Anybody;

impl Names for Anybody {
    fn ue(&self, teid: Teid) -> Option<UeId> {
        Some(UeId(teid.0 % 4))
    }
    fn flow(&self, teid: Teid, qfi: Qfi) -> Option<FlowId> {
        Some(FlowId((teid.0 % 4) << 6 | u32::from(qfi.0)))
    }
}

/// Reports of a message, held to what its fields may say.
pub(crate) fn reports_of(
    message: &gtpu::Message<'_>,
    now: Instant,
    mut out: impl FnMut(RanReport),
) {
    let source = Source {
        names: &Anybody,
        clock: NtpClock::new(Ntp(1 << 40)),
        units: Units::default(),
        multi: Some(Teid(7)),
    };
    let _ = receive(message, now, &source, |report| {
        if let RanReport::PathDelay { rtt, .. } = report {
            assert!(rtt <= ROUND_TRIP_MAX, "{rtt}");
        }
        out(report);
    });
}

/// GTP-U with its extension headers, and the reports in them.
pub(crate) fn gtpu(data: &[u8]) {
    if let Ok(message) = gtpu::Message::parse(data) {
        for extension in message.extensions() {
            content(extension.kind, extension.content);
        }
        for element in gtpu::ie::Elements::new(message.payload(), message.payload_at()) {
            if element.is_err() {
                break;
            }
        }
        let now = Instant::ZERO + Duration::from_secs(100);
        reports_of(&message, now, |_| {});
    }
    // Contents alone as well: a header in front of them is in the way of a fuzzer.
    content(PDU_SESSION_CONTAINER, data);
    content(NR_RAN_CONTAINER, data);
}

/// What is read of an extension header is written as it was.
fn content(kind: u8, content: &[u8]) {
    let mut out = vec![0; content.len() + 64];
    if kind == PDU_SESSION_CONTAINER
        && let Ok(read) = Container::parse(content)
    {
        let n = read.write(&mut out).expect("what was read fits");
        assert_eq!(Container::parse(&out[..n]), Ok(read));
    }
    if kind == NR_RAN_CONTAINER
        && let Ok(read) = Frame::parse(content)
    {
        let n = read.write(&mut out).expect("what was read fits");
        assert_eq!(Frame::parse(&out[..n]), Ok(read));
    }
}

/// PFCP: writing is a fixed point of reading.
pub(crate) fn pfcp(data: &[u8]) {
    let Some(once) = pfcp_again(data) else {
        return;
    };
    let twice = pfcp_again(&once).expect("what was written is read");
    assert_eq!(once, twice);
}

fn pfcp_again(data: &[u8]) -> Option<Vec<u8>> {
    let message = pfcp::Message::parse(data).ok()?;
    assert!(message.len() <= data.len());
    let elements: Result<Vec<_>, _> = message.elements().collect();
    let mut out = vec![0; 4 * data.len() + 64];
    let n = message.header.write(&elements.ok()?, &mut out).ok()?;
    out.truncate(n);
    Some(out)
}

/// RTP with its header extensions.
pub(crate) fn rtp(data: &[u8]) {
    let Ok(view) = rtp::View::new(data) else {
        return;
    };
    let elements = view.elements().count();
    let held = view.payload().len() + view.csrcs().count() * 4 + elements;
    assert!(held <= data.len());
    for id in 0..=15 {
        let _ = view.transport_sequence(id);
    }
}

/// RTCP: writing is a fixed point of reading.
pub(crate) fn rtcp(data: &[u8]) {
    let again = |data: &[u8]| {
        let mut out = Vec::new();
        for message in rtcp::messages(data).map_while(Result::ok) {
            message.encode(&mut out);
        }
        out
    };
    let once = again(data);
    assert_eq!(again(&once), once);
}
