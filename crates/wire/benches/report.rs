//! Time of a message of reports through GTP-U, written and read, with 1, 6, 100 and 1,000 queues.

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use slackwater_core::{Bytes, FlowId, Instant, Qfi, Teid, UeId};
use slackwater_signal::RanReport;
use slackwater_wire::gtpu::extension::{MAX_CONTENT, NR_RAN_CONTAINER};
use slackwater_wire::gtpu::report::{Names, Packer, Scope, Source, Tunnels, Units, receive};
use slackwater_wire::gtpu::{Header, Message, NtpClock};

const REPORTS: Teid = Teid(u32::MAX);

/// UE n has the tunnel n + 1 and one flow, of the same number.
struct Cell;

impl Tunnels for Cell {
    fn session(&self, ue: UeId) -> Option<Teid> {
        Some(Teid(ue.0 + 1))
    }
    fn flow(&self, flow: FlowId) -> Option<(Teid, Qfi)> {
        Some((Teid(flow.0 + 1), Qfi(1)))
    }
}

impl Names for Cell {
    fn ue(&self, teid: Teid) -> Option<UeId> {
        teid.0.checked_sub(1).map(UeId)
    }
    fn flow(&self, teid: Teid, _qfi: Qfi) -> Option<FlowId> {
        teid.0.checked_sub(1).map(FlowId)
    }
}

/// Writes `message` as frames on the tunnel of reports and reads each; returns the octets and the reports read.
fn cross(now: Instant, message: &[RanReport]) -> (usize, usize) {
    let clock = NtpClock::default();
    let source = Source {
        names: &Cell,
        clock,
        units: Units::default(),
        multi: Some(REPORTS),
    };
    let (mut content, mut octets) = ([0; MAX_CONTENT], [0; MAX_CONTENT + 20]);
    let (mut length, mut read) = (0, 0);
    let mut packer = Packer::new(message, Scope::Multi, &Cell, clock, 1, MAX_CONTENT)
        .expect("a frame holds a report");
    while let Some(n) = packer.next_frame(&mut content).expect("there is room") {
        let extension = (NR_RAN_CONTAINER, &content[..n]);
        let n = Header::g_pdu(REPORTS)
            .write(&[extension], 0, &mut octets)
            .expect("there is room");
        let message = Message::parse(&octets[..n]).expect("it was just written");
        let intake = receive(&message, now, &source, |report| {
            black_box(report);
        });
        length += n;
        read += intake.expect("it was just written").reports;
    }
    (length, read)
}

fn reports(c: &mut Criterion) {
    let mut group = c.benchmark_group("reports");
    let at = Instant::from_millis(1_000);
    for queues in [1_u32, 6, 100, 1_000] {
        let message: Vec<RanReport> = (0..queues)
            .map(|n| RanReport::Backlog {
                at,
                ue: UeId(n),
                flow: FlowId(n),
                bytes: Bytes(u64::from(n) * 1_500),
            })
            .collect();
        let (octets, read) = cross(at, &message);
        assert_eq!(read, message.len());
        group.throughput(Throughput::Elements(u64::from(queues)));
        group.bench_with_input(
            BenchmarkId::new(format!("{octets} octets"), queues),
            &message,
            |b, message| {
                b.iter(|| cross(at, black_box(message)));
            },
        );
    }
    group.finish();
}

criterion_group!(benches, reports);
criterion_main!(benches);
