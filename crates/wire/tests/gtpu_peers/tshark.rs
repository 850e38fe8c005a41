//! tshark reads what we write.

use std::io::Write;
use std::process::{Command, Stdio};

use slackwater_core::{Instant, Teid};
use slackwater_wire::gtpu::Header;
use slackwater_wire::gtpu::extension::NR_RAN_CONTAINER;
use slackwater_wire::gtpu::psc::Container;
use slackwater_wire::pcapng::{Capture, PcapngWriter};
use slackwater_wire::pfcp::{self};

use crate::messages::{DOWN, INNER, frames, message, path_messages, session, tunnelled, up};

/// An IPv4 packet with a UDP datagram to `port`.
fn datagram(port: u16, payload: &[u8]) -> Vec<u8> {
    let mut packet = INNER.to_vec();
    let len = (28 + payload.len()) as u16;
    packet[2..4].copy_from_slice(&len.to_be_bytes());
    // UDP; the header checksum is not looked at.
    packet[9] = 17;
    packet.extend(port.to_be_bytes());
    packet.extend(port.to_be_bytes());
    packet.extend((len - 20).to_be_bytes());
    // No checksum.
    packet.extend([0, 0]);
    packet.extend(payload);
    packet
}

/// What tshark finds in the fields, one row per message; `None` where there is no tshark.
pub(crate) fn tshark(port: u16, messages: &[Vec<u8>], fields: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut writer = PcapngWriter::new("slackwater test");
    let point = writer.interface("n3", 0);
    for message in messages {
        let bytes = datagram(port, message);
        let capture = Capture {
            bytes: &bytes,
            original_len: bytes.len() as u32,
            passage: None,
            comment: None,
        };
        writer.packet(Instant::ZERO, point, &capture);
    }
    let mut arguments = vec!["-r", "-", "-T", "fields", "-E", "separator=|"];
    for field in ["_ws.malformed", "_ws.expert.severity"]
        .iter()
        .chain(fields)
    {
        arguments.extend(["-e", field]);
    }
    let mut child = Command::new("tshark")
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .ok()?;
    let mut stdin = child.stdin.take().expect("piped");
    stdin.write_all(&writer.take()).expect("tshark reads");
    drop(stdin);
    let output = child.wait_with_output().expect("tshark ends");
    assert!(
        output.status.success(),
        "tshark: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    let rows: Vec<Vec<String>> = String::from_utf8_lossy(&output.stdout)
        .lines()
        .map(|l| l.split('|').map(str::to_owned).collect())
        .collect();
    assert_eq!(rows.len(), messages.len(), "{rows:?}");
    for row in &rows {
        assert_eq!(row[0], "", "malformed: {row:?}");
        // Warnings (0x600000) and errors (0x800000); notes and chats may be.
        let worst = row[1].split(',').filter_map(|s| s.parse().ok()).max();
        assert!(worst.is_none_or(|s: u32| s < 0x0060_0000), "{row:?}");
    }
    Some(rows)
}

#[test]
fn tshark_reads_containers_and_frames() {
    let mut messages = vec![
        tunnelled(Container::Downlink(DOWN), &INNER),
        tunnelled(Container::Uplink(up()), &INNER),
    ];
    for frame in frames() {
        let extensions = [(NR_RAN_CONTAINER, frame.as_slice())];
        messages.push(message(&Header::g_pdu(Teid(7)), &extensions, &[]));
    }
    messages.extend(path_messages());
    let fields = [
        "gtp.message",
        "gtp.teid",
        "gtp.ext_hdr.pdu_ses_cont.ppi",
        "gtp.ext_hdr.pdu_ses_con.qos_flow_id",
        "nrup.pdu_type",
        "nrup.desrd_buff_sz_data_radio_bearer",
        "nrup.desrd_data_rate",
        "nrup.start_num_lost_nru_seq_num",
        "nrup.end_num_lost_nru_seq_num",
        "nrup.high_success_delivered_nr_pdcp_sn",
        "nrup.high_tx_nr_pdcp_sn",
        "nrup.seq_num",
        "nrup.dl_disc_nr_pdcp_pdu_sn_start",
        "nrup.disc_blk_sz",
        "nrup.dl_report_nr_pdcp_pdu_sn",
        "nrup.assistance_info_type",
        "nrup.num_octets_radio_qa_info",
        "gtp.teid_data",
        "gtp.gsn_ipv4",
    ];
    let Some(rows) = tshark(slackwater_wire::gtpu::PORT, &messages, &fields) else {
        return eprintln!("skipped: there is no tshark on this machine");
    };
    let row = |i: usize| -> Vec<&str> { rows[i][2..].iter().map(String::as_str).collect() };
    assert_eq!(row(0)[..4], ["0xff", "0x01020304", "5", "9"]);
    assert_eq!(row(1)[3], "33");
    let status = row(2);
    assert_eq!(
        status[4..11],
        ["1", "300000", "12500000", "5", "9", "16", "32"]
    );
    let data = row(3);
    assert_eq!(data[4], "0");
    assert_eq!(data[11..15], ["66051", "1,9", "4,2", "48"]);
    assert_eq!(row(4)[15], "237,234,232,231,233,229");
    assert_eq!(row(4)[16], "6,8,24,5,1,4");
    let types: Vec<&str> = row(5)[15].split(',').collect();
    assert_eq!(types.len(), 2 + 3 * 66);
    assert_eq!(types[..5], ["237", "234", "236", "233", "229"]);
    assert_eq!(row(6)[15..17], ["236,241,241", "4,38,62"]);
    let kinds: Vec<&str> = (7..11).map(|i| row(i)[0]).collect();
    assert_eq!(kinds, ["0x01", "0x02", "0x1a", "0xfe"]);
    assert_eq!(row(9)[17..], ["0x0a0b0c0d", "192.0.2.7"]);
}

#[test]
fn tshark_reads_sessions() {
    let fields = [
        "pfcp.msg_type",
        "pfcp.seid",
        "pfcp.seqno",
        "pfcp.pdr_id",
        "pfcp.f_teid.teid",
        "pfcp.ue_ip_addr_ipv4",
        "pfcp.qfi_value",
        "pfcp.gate_status.dlgate",
        "pfcp.enterprise_id",
        "pfcp.cause",
        "pfcp.qos_monitoring_measurement.downlink",
        "pfcp.qos_monitoring_measurement.roundtrip",
        "pfcp.ie_type",
    ];
    let Some(rows) = tshark(pfcp::PORT, &session(), &fields) else {
        return eprintln!("skipped: there is no tshark on this machine");
    };
    let row = |i: usize| -> Vec<&str> { rows[i][2..].iter().map(String::as_str).collect() };
    let kinds: Vec<&str> = (0..5).map(|i| row(i)[0]).collect();
    assert_eq!(kinds, ["50", "51", "52", "54", "56"]);
    let first = row(0);
    assert_eq!(
        first[2..8],
        [
            "5",
            "1,2",
            "0x0a000001",
            "10.45.0.2,10.45.0.2",
            "0x09,0x09,0x02",
            "0,0"
        ]
    );
    assert_eq!(first[8], "32473");
    assert_eq!(row(1)[9], "1");
    assert_eq!(row(4)[10..12], ["9", "13"]);
}
