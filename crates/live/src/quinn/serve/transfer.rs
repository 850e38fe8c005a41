//! A client, and what is measured of each transfer to it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration as Wall, Instant};

use quinn::Connection;
use quinn::crypto::rustls::HandshakeData;
use slackwater_quinn::control::Shared;
use tokio::task::JoinHandle;

use super::Common;
use super::limits::Allowance;
use crate::quinn::mbps;

/// A transfer, as its sender saw it. Times are ms.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Served {
    /// The client.
    pub client: SocketAddr,
    /// What it asked for.
    pub request: String,
    /// The controller.
    pub controller: String,
    /// Stream bytes handed to quinn.
    pub bytes: u64,
    /// Bytes of QUIC packets that were acknowledged meanwhile.
    pub acknowledged: u64,
    /// From the request to the last byte's acknowledgment.
    pub seconds: f64,
    /// Of stream bytes; of acknowledged packets where the client went before the end.
    pub goodput_mbps: f64,
    /// Least round-trip time.
    pub min_rtt_ms: f64,
    /// Median of the smoothed round-trip time, sampled every 10 ms.
    pub srtt_p50_ms: f64,
    /// The same, 95 of 100.
    pub srtt_p95_ms: f64,
    /// Mean window, bytes.
    pub window_bytes: f64,
    /// QUIC packets sent on the connection so far.
    pub packets: u64,
    /// Those that were lost.
    pub lost: u64,
    /// Congestion events: losses and marks.
    pub congestion_events: u64,
    /// Packets that the client counted by their mark on the connection so far, and among them those marked on the path.
    pub ect0: u64,
    /// The same, ECT(1).
    pub ect1: u64,
    /// The same, CE.
    pub ce: u64,
    /// Reports told to the controller from beside the connection, so far.
    pub reports_beside: u64,
    /// Reports told to the controller in DATAGRAM frames, so far.
    pub reports_inside: u64,
    /// All bytes were acknowledged.
    pub complete: bool,
}

/// A client's connection.
#[derive(Clone)]
pub(super) struct Client {
    pub(super) connection: Connection,
    /// The controller of its packets.
    pub(super) control: Shared,
    /// Reports that came in DATAGRAM frames.
    pub(super) inside: Arc<AtomicU64>,
    /// What it may still be given.
    pub(super) allowance: Arc<Allowance>,
    /// What it shares with the other connections.
    pub(super) common: Arc<Common>,
}

impl Client {
    /// The protocol that both ends agreed on (RFC 7301).
    pub(super) fn protocol(&self) -> Option<Vec<u8>> {
        let data = self.connection.handshake_data()?;
        data.downcast::<HandshakeData>().ok()?.protocol
    }

    /// A transfer in answer to `request` begins.
    pub(super) fn begin(&self, request: String) -> Transfer {
        let samples = Arc::default();
        Transfer {
            client: self.clone(),
            request,
            begun: Instant::now(),
            before: self.control.get().delivered().0,
            sampler: tokio::spawn(sample(self.control.clone(), Arc::clone(&samples))),
            samples,
            bytes: 0,
        }
    }
}

/// A transfer under way.
pub(super) struct Transfer {
    client: Client,
    request: String,
    begun: Instant,
    /// Bytes of QUIC packets that had been acknowledged before it.
    before: u64,
    sampler: JoinHandle<()>,
    samples: Arc<Mutex<Samples>>,
    /// Bytes handed to quinn.
    pub(super) bytes: u64,
}

impl Transfer {
    /// It is over, and whole where all of it was acknowledged: tells of it.
    pub(super) fn end(self, complete: bool) {
        let seconds = self.begun.elapsed().as_secs_f64();
        self.sampler.abort();
        let Client {
            connection,
            control,
            inside,
            common,
            ..
        } = &self.client;
        // A short transfer ends before the first sample.
        look(control, &self.samples);
        let samples = core::mem::take(&mut *self.samples.lock().expect("no holder panics"));
        let stats = connection.stats().path;
        let min_rtt = control.get().sample().min_rtt;
        let counted = control.get().counted();
        let acknowledged = control.get().delivered().0 - self.before;
        let client = connection.remote_address();
        let served = Served {
            client,
            request: self.request,
            controller: common.options.controller.clone(),
            bytes: self.bytes,
            acknowledged,
            seconds,
            goodput_mbps: mbps(if complete { self.bytes } else { acknowledged }, seconds),
            min_rtt_ms: min_rtt.as_millis_f64(),
            srtt_p50_ms: samples.srtt(0.5),
            srtt_p95_ms: samples.srtt(0.95),
            window_bytes: samples.window(),
            packets: stats.sent_packets,
            lost: stats.lost_packets,
            congestion_events: stats.congestion_events,
            ect0: counted.ect0,
            ect1: counted.ect1,
            ce: counted.ce,
            reports_beside: common.directory.told(client),
            reports_inside: inside.load(Ordering::Relaxed),
            complete,
        };
        // Nobody listens any more where the server has ended.
        let _ignored = common.done.send(served);
    }
}

/// What the sender saw every 10 ms.
#[derive(Debug, Default)]
struct Samples {
    srtt: Vec<f64>,
    window: f64,
}

impl Samples {
    fn srtt(&self, quantile: f64) -> f64 {
        let mut all = self.srtt.clone();
        all.sort_by(f64::total_cmp);
        let at = (all.len() as f64 * quantile) as usize;
        all.get(at.min(all.len().saturating_sub(1)))
            .copied()
            .unwrap_or(0.0)
    }

    fn window(&self) -> f64 {
        self.window / (self.srtt.len() as f64).max(1.0)
    }
}

async fn sample(control: Shared, samples: Arc<Mutex<Samples>>) {
    loop {
        tokio::time::sleep(Wall::from_millis(10)).await;
        look(&control, &samples);
    }
}

fn look(control: &Shared, samples: &Mutex<Samples>) {
    let sample = control.get().sample();
    let mut samples = samples.lock().expect("no holder panics");
    samples.srtt.push(sample.srtt.as_millis_f64());
    samples.window += sample.cwnd.0 as f64;
}
