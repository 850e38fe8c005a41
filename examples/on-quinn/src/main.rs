//! quinn under a controller of ours: `cargo run --release -- prague`. It sends ten megabytes to a plain quinn server over the loopback.

#![allow(clippy::print_stdout, reason = "a program that shows what it does")]

use std::net::{Ipv4Addr, UdpSocket};
use std::sync::Arc;
use std::time::Instant;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Endpoint, EndpointConfig, Runtime, ServerConfig, TokioRuntime};
use slackwater_control::{Config, Controller as _, build};
use slackwater_core::Draw;
use slackwater_quinn::clock::Epoch;
use slackwater_quinn::control::{Adapter, Clock, Shared};
use slackwater_quinn::host::{Marked, drive};
use slackwater_quinn::session;

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// A full UDP payload, which is what a controller calls a segment.
const MTU: u16 = 1452;
const BYTES: usize = 10_000_000;

/// Sends to `server` under the controller `name`; the certificate is the server's.
async fn send(
    name: &str,
    server: std::net::SocketAddr,
    roots: rustls::RootCertStore,
) -> Result<(), Failure> {
    // 1. The controller, in a state that quinn and this host share. One for each connection.
    let cc = build(name, &Config::new(MTU.into(), Draw::new(1)))?;
    let ecn = cc.intent().ecn;
    let control = Shared::new(Epoch::new(), cc, MTU, None, Clock::Read(Instant::now));
    // 2. quinn asks it for the window; our pacer counts single datagrams.
    let mut transport = quinn::TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(Adapter(control.clone())));
    transport.enable_segmentation_offload(false);
    // 3. The session's keys are wrapped, so that counts of CE are read from ACK frames.
    let tls = rustls::ClientConfig::builder()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let crypto = Arc::new(QuicClientConfig::try_from(tls)?);
    let mut config = ClientConfig::new(session::client(crypto, control.clone()));
    config.transport_config(Arc::new(transport));
    // 4. The socket sets ECT(1) where the controller wants it.
    let runtime: Arc<dyn Runtime> = Arc::new(TokioRuntime);
    let socket = runtime.wrap_udp_socket(UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0))?)?;
    let socket = Arc::new(Marked::new(socket, ecn));
    let endpoint = Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        None,
        socket,
        Arc::clone(&runtime),
    )?;
    let connection = endpoint.connect_with(config, server, "localhost")?.await?;
    // 5. A task lets quinn send when the pacer does. 100 is quinn's own number of streams.
    tokio::spawn(drive(
        connection.clone(),
        control.clone(),
        runtime,
        100u32.into(),
    ));

    let begun = Instant::now();
    let (mut out, mut back) = connection.open_bi().await?;
    out.write_all(&vec![0; BYTES]).await?;
    out.finish()?;
    let got = back.read_to_end(20).await?;
    println!(
        "{name}: the server got {} bytes in {:.2} s, round trip {:.2} ms, window {} bytes",
        String::from_utf8_lossy(&got),
        begun.elapsed().as_secs_f64(),
        connection.rtt().as_secs_f64() * 1e3,
        control.get().sample().cwnd.0,
    );
    connection.close(0u32.into(), b"done");
    endpoint.wait_idle().await;
    Ok(())
}

/// A server as anybody has it: it answers with the number of bytes that came.
async fn serve(endpoint: Endpoint) -> Result<(), Failure> {
    let incoming = endpoint.accept().await.ok_or("nobody came")?;
    let connection = incoming.await?;
    let (mut out, mut sent) = connection.accept_bi().await?;
    let got = sent.read_to_end(BYTES).await?;
    out.write_all(got.len().to_string().as_bytes()).await?;
    out.finish()?;
    connection.closed().await;
    Ok(())
}

fn main() -> Result<(), Failure> {
    let name = std::env::args()
        .nth(1)
        .unwrap_or_else(|| "prague".to_owned());
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = rustls::pki_types::PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone())?;
    let config = ServerConfig::with_single_cert(vec![made.cert.into()], key.into())?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(async {
            let server = Endpoint::server(config, (Ipv4Addr::LOCALHOST, 0).into())?;
            let address = server.local_addr()?;
            let served = tokio::spawn(serve(server));
            send(&name, address, roots).await?;
            served.await?
        })
}
