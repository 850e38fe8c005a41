//! What we write, tshark must read without complaint.

use std::io::Write;
use std::process::{Command, Stdio};

use slackwater_core::{
    Body, Datagram, Direction, Ecn, FlowId, Instant, Packet, SackBlock, Segment, SegmentBits,
    SeqNum, SynOptions, TcpFlags,
};
use slackwater_signal::ReportBody;
use slackwater_wire::IpVersion;
use slackwater_wire::packet::encode;
use slackwater_wire::pcapng::{Capture, Passage, PcapngWriter};
use slackwater_wire::report;

/// tshark's output for `capture`; `None` where there is no tshark.
fn tshark(capture: &[u8], arguments: &[&str]) -> Option<String> {
    let mut child = Command::new("tshark")
        .args(["-r", "-", "-o", "ip.check_checksum:TRUE"])
        .args([
            "-o",
            "tcp.check_checksum:TRUE",
            "-o",
            "udp.check_checksum:TRUE",
        ])
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(capture).expect("tshark reads its input");
    drop(stdin);
    let output = child.wait_with_output().expect("tshark ends");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "tshark: {errors}");
    for complaint in [
        "cut short",
        "appears to have been",
        "isn't a capture",
        "Malformed",
    ] {
        assert!(!errors.contains(complaint), "tshark: {errors}");
    }
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A handshake, data with marks, an acknowledgment with blocks and a report, a datagram, all also as IPv6.
fn capture(snaplen: usize) -> (Vec<u8>, usize) {
    let block = |a, b| SackBlock {
        start: SeqNum(a),
        end: SeqNum(b),
    };
    let mut opening = Segment {
        window: 65_535,
        flags: TcpFlags::SYN,
        bits: SegmentBits::TIMESTAMPS,
        ..Segment::default()
    };
    opening.set_syn_options(SynOptions {
        mss: Some(1460),
        ..SynOptions::default()
    });
    let syn = Packet {
        flow: FlowId(3),
        len: 60,
        dir: Direction::Up,
        body: Body::Tcp(opening),
        ..Packet::default()
    };
    let pushed = Segment {
        seq: SeqNum(1),
        ack: SeqNum(1),
        payload: 1448,
        window: 500,
        flags: TcpFlags::ACK.with(TcpFlags::PSH),
        bits: SegmentBits::TIMESTAMPS,
        tsval: 10,
        tsecr: 20,
        ..Segment::default()
    };
    let data = Packet {
        flow: FlowId(3),
        len: 1500,
        ecn: Ecn::Ce,
        body: Body::Tcp(pushed),
        ..Packet::default()
    };
    let mut reported = Segment {
        payload: 0,
        ack: SeqNum(1449),
        flags: TcpFlags::ACK,
        ..pushed
    };
    reported.set_sack_blocks(&[block(2897, 4345), block(5793, 7241)]);
    reported.set_report([0, 0, 0, 7, 0, 0, 0, 8]);
    let ack = Packet {
        len: 80,
        dir: Direction::Up,
        body: Body::Tcp(reported),
        ..data
    };
    let datagram = Packet {
        flow: FlowId(4),
        len: 1028,
        ecn: Ecn::Ect1,
        body: Body::Datagram(Datagram {
            payload: 1000,
            ..Datagram::default()
        }),
        ..Packet::default()
    };
    let mut writer = PcapngWriter::new("slackwater test");
    let points = [writer.interface("server", 0), writer.interface("cell", 0)];
    let mut count = 0;
    for version in [IpVersion::V4, IpVersion::V6] {
        for packet in [syn, data, ack, datagram] {
            let mut bytes = Vec::new();
            let original_len = encode(&packet, version, snaplen, &mut bytes);
            let capture = Capture {
                bytes: &bytes,
                original_len,
                passage: Some(Passage::Outbound),
                comment: (count == 1).then_some("marked CE"),
            };
            writer.packet(
                Instant::from_nanos(1_000_000_001 + count),
                points[count as usize % 2],
                &capture,
            );
            count += 1;
        }
    }
    (writer.take(), count as usize)
}

#[test]
fn tshark_finds_nothing_wrong() {
    let fields = [
        "-T",
        "fields",
        "-E",
        "separator=|",
        "-e",
        "frame.time_epoch",
        "-e",
        "frame.interface_name",
        "-e",
        "frame.len",
        "-e",
        "ip.checksum.status",
        "-e",
        "tcp.checksum.status",
        "-e",
        "udp.checksum.status",
        "-e",
        "_ws.malformed",
        "-e",
        "tcp.options.mss_val",
        "-e",
        "tcp.options.sack.count",
        "-e",
        "frame.comment",
    ];
    let (file, count) = capture(usize::MAX);
    let Some(text) = tshark(&file, &fields) else {
        eprintln!("skipped: there is no tshark on this machine");
        return;
    };
    let rows: Vec<Vec<&str>> = text.lines().map(|l| l.split('|').collect()).collect();
    assert_eq!(rows.len(), count, "{text}");
    for (i, row) in rows.iter().enumerate() {
        // Nanoseconds survive, and so do the names of the points.
        assert_eq!(row[0], format!("1.{:09}", 1 + i), "{text}");
        assert_eq!(row[1], ["server", "cell"][i % 2]);
        let (v4, udp) = (i < 4, i % 4 == 3);
        // 1 is "good".
        assert_eq!(row[3], if v4 { "1" } else { "" }, "{text}");
        assert_eq!(
            (row[4], row[5]),
            if udp { ("", "1") } else { ("1", "") },
            "{text}"
        );
        assert_eq!(row[6], "", "{text}");
    }
    let lengths: Vec<&str> = rows.iter().map(|r| r[2]).collect();
    assert_eq!(
        lengths,
        ["60", "1500", "80", "1028", "80", "1520", "100", "1048"]
    );
    assert_eq!((rows[0][7], rows[2][8]), ("1460", "2"));
    assert_eq!(rows[1][9], "marked CE");
}

#[test]
fn packets_cut_short_are_read_too() {
    let (file, count) = capture(0);
    let arguments = [
        "-T",
        "fields",
        "-E",
        "separator=|",
        "-e",
        "frame.len",
        "-e",
        "frame.cap_len",
    ];
    let Some(text) = tshark(&file, &arguments) else {
        eprintln!("skipped: there is no tshark on this machine");
        return;
    };
    assert_eq!(text.lines().count(), count);
    assert_eq!(text.lines().nth(1), Some("1500|52"));
}

#[test]
fn tshark_reads_an_ack_that_got_a_report_on_its_way() {
    let block = SackBlock {
        start: SeqNum(2897),
        end: SeqNum(4345),
    };
    let mut acknowledging = Segment {
        seq: SeqNum(1),
        ack: SeqNum(1449),
        window: 500,
        flags: TcpFlags::ACK,
        bits: SegmentBits::TIMESTAMPS,
        tsval: 10,
        tsecr: 20,
        ..Segment::default()
    };
    acknowledging.set_sack_blocks(&[block, block]);
    let ack = Packet {
        flow: FlowId(3),
        len: 72,
        dir: Direction::Up,
        body: Body::Tcp(acknowledging),
        ..Packet::default()
    };
    let mut writer = PcapngWriter::new("slackwater test");
    let point = writer.interface("cell", 0);
    for version in [IpVersion::V4, IpVersion::V6] {
        let mut bytes = Vec::new();
        encode(&ack, version, usize::MAX, &mut bytes);
        report::insert(&mut bytes, ReportBody([1, 2, 3, 4, 5, 6, 7, 8]), 1500)
            .expect("there is room");
        let capture = Capture {
            bytes: &bytes,
            original_len: bytes.len() as u32,
            passage: None,
            comment: None,
        };
        writer.packet(Instant::ZERO, point, &capture);
    }
    let mut arguments = vec!["-T", "fields", "-E", "separator=|"];
    for field in [
        "ip.checksum.status",
        "tcp.checksum.status",
        "_ws.malformed",
        "tcp.hdr_len",
        "tcp.options.timestamp.tsval",
        "tcp.options.sack.count",
        "tcp.options.experimental.exid",
        "tcp.options.experimental.data",
    ] {
        arguments.extend(["-e", field]);
    }
    let Some(text) = tshark(&writer.take(), &arguments) else {
        eprintln!("skipped: there is no tshark on this machine");
        return;
    };
    let rows: Vec<&str> = text.lines().collect();
    let options = "1||60|10|2|0x5852|";
    assert_eq!(rows.len(), 2, "{text}");
    for (row, ip) in rows.iter().zip(["1", ""]) {
        assert!(row.starts_with(&format!("{ip}|{options}")), "{text}");
    }
}
