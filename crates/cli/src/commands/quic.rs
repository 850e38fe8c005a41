//! `slackwater quic`: files over QUIC on sockets, under a controller of ours.

use std::net::{IpAddr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use clap::{Args, Subcommand};
use slackwater_live::counted::Key;
use slackwater_live::quinn::EcnMode;
use slackwater_live::quinn::get::{self, Got, Wanted};
use slackwater_live::quinn::serve::{self, Limits, Listening, Served};
use slackwater_live::quinn::{Fingerprint, PORT};
use slackwater_scenario::Plugins;

use crate::progress;
use crate::quantity::duration;
use crate::say::say;

/// `slackwater quic`
#[derive(Debug, Args)]
pub(crate) struct QuicArgs {
    #[command(subcommand)]
    command: QuicCommand,
}

#[derive(Debug, Subcommand)]
enum QuicCommand {
    /// Serve files, and zeros for measurements, until Ctrl-C
    Serve(ServeArgs),
    /// Get a file from a server, or zeros
    Get(GetArgs),
}

#[derive(Debug, Args)]
struct ServeArgs {
    /// The folder of the files (default: zeros alone)
    #[arg(value_name = "FOLDER")]
    root: Option<PathBuf>,
    /// Where to listen: a port, or an address and a port (default: 4433 on every address)
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = place)]
    listen: Option<SocketAddr>,
    /// The congestion controller of each connection, one of `slackwater list`
    #[arg(long, value_name = "NAME", default_value = "cubic")]
    cc: String,
    /// Hear reports beside the connections there, as `slackwater emulate --edge xrc --reports PORT` sends them
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = place)]
    reports: Option<SocketAddr>,
    /// Take a base station's counters (ebb) with the tag of the key in this file alone, 16 octets at least
    #[arg(long, value_name = "FILE", requires = "reports")]
    report_key: Option<PathBuf>,
    /// End after this many transfers
    #[arg(long, value_name = "N")]
    transfers: Option<u64>,
    /// Do not set the spin bit
    #[arg(long)]
    no_spin: bool,
    /// How packets are marked (default: the choice of the controller, else classic)
    #[arg(long, value_name = "MODE")]
    ecn: Option<Ecn>,
    /// Refuse further connections while there are so many
    #[arg(long, value_name = "N", default_value_t = Limits::default().connections as u64, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    connections: u64,
    /// Refuse further connections of one address (IPv6: of one /64) while there are so many (default: half of --connections)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000))]
    connections_per_address: Option<u64>,
    /// Give so many bytes on one connection at most, such as 20MB (default: as many as the client wants)
    #[arg(long, value_name = "N", value_parser = bytes)]
    most: Option<u64>,
    /// Seed of the controllers' random draws
    #[arg(long, default_value_t = 1, value_parser = crate::seed())]
    seed: u64,
    /// Print a line of JSON for each transfer to standard output
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Ecn {
    /// Not ECN-capable
    Off,
    /// ECT(0): a mark is answered as a loss (RFC 3168)
    Classic,
    /// ECT(1): marks are answered in proportion (RFC 9331); for prague
    L4s,
}

impl Ecn {
    const fn mode(self) -> EcnMode {
        match self {
            Self::Off => EcnMode::Off,
            Self::Classic => EcnMode::Classic,
            Self::L4s => EcnMode::L4s,
        }
    }
}

#[derive(Debug, Args)]
struct GetArgs {
    /// The server: a name or address, and a port unless it is 4433
    #[arg(value_name = "HOST[:PORT]")]
    server: String,
    /// The file to get
    #[arg(value_name = "FILE", required_unless_present_any = ["bytes", "seconds"])]
    file: Option<String>,
    /// Get this number of zeros instead, and discard them
    #[arg(long, value_name = "N", conflicts_with = "file", value_parser = bytes)]
    bytes: Option<u64>,
    /// End after this many seconds; without a file or --bytes, get zeros for that time
    #[arg(long, value_name = "S", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: Option<u64>,
    /// Where the file goes (default: its name, here)
    #[arg(long, short, value_name = "FILE", requires = "file")]
    out: Option<PathBuf>,
    /// The server's certificate, as `slackwater quic serve` prints it (default: any)
    #[arg(long, value_name = "SHA256")]
    fingerprint: Option<Fingerprint>,
    /// Forward reports received at this address to the server, in DATAGRAM frames
    #[arg(long, value_name = "[ADDRESS:]PORT", value_parser = place)]
    relay: Option<SocketAddr>,
    /// Retry for this long to reach a server that is not up yet
    #[arg(long, alias = "patience", value_name = "TIME", default_value = "0 s", value_parser = duration)]
    connect_timeout: slackwater_lab::core::Duration,
    /// Do not set the spin bit
    #[arg(long)]
    no_spin: bool,
    /// Print the result as JSON, and show no progress
    #[arg(long)]
    json: bool,
}

/// A port on every address, or an address with a port.
pub(super) fn place(text: &str) -> Result<SocketAddr, String> {
    let any = IpAddr::V6(Ipv6Addr::UNSPECIFIED);
    let port = text.parse().map(|port| SocketAddr::new(any, port));
    port.or_else(|_| text.parse())
        .map_err(|_| "expected a port, or an address such as 127.0.0.1:4433".to_owned())
}

/// 20000000, 20MB, 512 kB.
fn bytes(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let scale = match text[digits.len()..].to_ascii_lowercase().as_str() {
        "" | "b" => 1,
        "kb" => 1_000,
        "mb" => 1_000_000,
        "gb" => 1_000_000_000,
        _ => 0,
    };
    let count = digits.trim().parse::<u64>().ok();
    let count = count.and_then(|n| n.checked_mul(scale));
    count
        .filter(|n| *n > 0)
        .ok_or_else(|| "expected a number of bytes such as 20MB".to_owned())
}

/// The address of `HOST`, `HOST:PORT` or `[ADDRESS]:PORT`.
fn resolve(server: &str) -> Result<SocketAddr> {
    if let Ok(ip) = server.parse::<IpAddr>() {
        return Ok(SocketAddr::new(ip, PORT));
    }
    let named = if server.contains(':') {
        server.to_owned()
    } else {
        format!("{server}:{PORT}")
    };
    let mut all = named
        .to_socket_addrs()
        .with_context(|| format!("cannot find {server}"))?;
    all.next()
        .with_context(|| format!("{server} has no address"))
}

pub(crate) fn quic(args: &QuicArgs, plugins: &Plugins) -> Result<ExitCode> {
    progress::catch_interrupts();
    match &args.command {
        QuicCommand::Serve(args) => serve(args, plugins),
        QuicCommand::Get(args) => get(args),
    }
}

/// A flag that follows Ctrl-C.
fn stop() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let theirs = Arc::clone(&flag);
    std::thread::spawn(move || {
        while !progress::interrupted() {
            std::thread::sleep(Duration::from_millis(50));
        }
        theirs.store(true, Ordering::Relaxed);
    });
    flag
}

fn serve(args: &ServeArgs, plugins: &Plugins) -> Result<ExitCode> {
    let any = SocketAddr::new(IpAddr::V6(Ipv6Addr::UNSPECIFIED), PORT);
    let options = serve::Options {
        listen: args.listen.unwrap_or(any),
        root: args.root.clone(),
        controller: args.cc.clone(),
        controllers: plugins.controllers().clone(),
        reports: args.reports,
        key: args.report_key.as_deref().map(Key::read).transpose()?,
        transfers: args.transfers,
        spin: !args.no_spin,
        ecn: args.ecn.map(Ecn::mode),
        limits: Limits {
            connections: args.connections as usize,
            per_address: args
                .connections_per_address
                .unwrap_or_else(|| args.connections.div_ceil(2)) as usize,
            bytes: args.most,
            ..Limits::default()
        },
        seed: args.seed,
    };
    let started = |at: &Listening| {
        eprintln!("quic: {} at {}", args.cc, at.address);
        eprintln!("quic: certificate {}", at.fingerprint);
        eprintln!("quic: key {} (for browsers)", at.key);
        if let Some(reports) = at.reports {
            eprintln!("quic: reports at {reports}");
        }
    };
    let each = |served: &Served| {
        if args.json {
            say!("{}", serde_json::json!(served));
        } else {
            eprintln!("{}", line(served));
        }
    };
    let heard = serve::serve(&options, started, each, &stop())?;
    if args.reports.is_some() {
        eprintln!(
            "quic: {} reports told, {} malformed, {} of no connection, {} beyond the most in a second",
            heard.told, heard.malformed, heard.strangers, heard.flooded
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// Zeros that a client wants who ends by time: more than any connection carries, and a number that QUIC's streams can count to.
const ENDLESS: u64 = u64::MAX >> 4;

/// A request as readers see it.
fn shown(request: &str) -> &str {
    let count = request.strip_prefix("ZEROS ");
    match count.and_then(|n| n.parse().ok()) {
        Some(ENDLESS) => "ZEROS without end",
        _ => request,
    }
}

fn line(s: &Served) -> String {
    // What was handed to the stack of a transfer that broke off is not what arrived: up to the send buffer more.
    let arrived = if s.complete { s.bytes } else { s.acknowledged };
    format!(
        "quic: {} to {}: {:.1} MB in {:.2} s, {:.2} Mbit/s, RTT {:.1} ms (p50) of at least {:.1}, {} of {} packets lost, \
         {} marked, {} reports{}",
        shown(&s.request),
        s.client,
        arrived as f64 / 1e6,
        s.seconds,
        s.goodput_mbps,
        s.srtt_p50_ms,
        s.min_rtt_ms,
        s.lost,
        s.packets,
        s.ce,
        s.reports_beside + s.reports_inside,
        if s.complete {
            ""
        } else {
            "; the client left before the end"
        },
    )
}

fn get(args: &GetArgs) -> Result<ExitCode> {
    let wanted = match (&args.file, args.bytes) {
        (Some(name), _) => {
            let to = match &args.out {
                Some(out) => out.clone(),
                None => match Path::new(name).file_name() {
                    Some(own) => PathBuf::from(own),
                    None => bail!("FILE: found {name:?}, expected the name of a file"),
                },
            };
            Wanted::File {
                name: name.clone(),
                to: Some(to),
            }
        }
        (None, Some(count)) => Wanted::Zeros(count),
        // More than any link carries in a day.
        (None, None) => Wanted::Zeros(ENDLESS),
    };
    let endless = args.file.is_none() && args.bytes.is_none();
    let options = get::Options {
        server: resolve(&args.server)?,
        wanted,
        fingerprint: args.fingerprint,
        relay: args.relay,
        limit: args.seconds.map(Duration::from_secs),
        spin: !args.no_spin,
    };
    if args.fingerprint.is_none() && !args.json {
        eprintln!("quic: the server's certificate is not checked; --fingerprint does");
    }
    let bar = progress::transfer(args.json);
    let stop = stop();
    let began = std::time::Instant::now();
    let patience = Duration::from_nanos(args.connect_timeout.as_nanos());
    let got = loop {
        let show = |bytes, all| {
            if !endless {
                bar.set_length(all);
            }
            bar.set_position(bytes);
        };
        match get::get(&options, show, &stop) {
            Err(e) if began.elapsed() >= patience || !e.to_string().contains("no answer") => {
                return Err(e.into());
            }
            Err(_) => {}
            Ok(got) => break got,
        }
    };
    bar.finish_and_clear();
    if args.json {
        say!("{}", serde_json::to_string_pretty(&got)?);
    } else {
        table(&options.server, &got);
    }
    // An end that was asked for by time is a result; one by Ctrl-C is not.
    Ok(
        match (progress::interrupted(), got.complete, args.seconds) {
            (true, _, _) => ExitCode::from(130),
            (_, true, _) | (_, _, Some(_)) => ExitCode::SUCCESS,
            _ => ExitCode::FAILURE,
        },
    )
}

fn table(server: &SocketAddr, got: &Got) {
    say!("server          {server}");
    say!("bytes           {}", got.bytes);
    say!("seconds         {:.3}", got.seconds);
    say!("goodput         {:.2} Mbit/s", got.goodput_mbps);
    say!("handshake       {:.1} ms", got.handshake_ms);
    say!("first byte      {:.1} ms", got.first_byte_ms);
    say!("datagrams       {}", got.datagrams);
    say!("ECT(0), ECT(1)  {}, {}", got.ect0, got.ect1);
    say!("CE              {}", got.ce);
    if got.relayed > 0 {
        say!("reports sent on {}", got.relayed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zeros_without_end_are_no_number() {
        assert_eq!(shown("ZEROS 1152921504606846975"), "ZEROS without end");
        assert_eq!(shown("ZEROS 600"), "ZEROS 600");
        assert_eq!(shown("FILE a.bin"), "FILE a.bin");
    }

    /// Bytes over seconds are the rate, of a transfer that broke off too: what waits in the send buffer did not arrive.
    #[test]
    fn what_is_said_of_a_transfer_adds_up() {
        let mut served = Served {
            client: "127.0.0.1:5000".parse().expect("an address"),
            request: "ZEROS 1152921504606846975".to_owned(),
            controller: "cubic".to_owned(),
            bytes: 58_800_000,
            acknowledged: 27_500_000,
            seconds: 10.0,
            goodput_mbps: 22.0,
            min_rtt_ms: 40.0,
            srtt_p50_ms: 50.0,
            srtt_p95_ms: 60.0,
            window_bytes: 1e5,
            packets: 20_000,
            lost: 3,
            congestion_events: 1,
            ect0: 0,
            ect1: 0,
            ce: 0,
            reports_beside: 0,
            reports_inside: 0,
            complete: false,
        };
        let said = line(&served);
        assert!(said.contains("27.5 MB in 10.00 s, 22.00 Mbit/s"), "{said}");
        assert!(said.contains("ZEROS without end"), "{said}");
        served.complete = true;
        assert!(line(&served).contains("58.8 MB"));
    }

    #[test]
    fn sizes_and_places_are_read() {
        assert_eq!(bytes("20MB"), Ok(20_000_000));
        assert_eq!(bytes("512 kB"), Ok(512_000));
        assert_eq!(bytes("7"), Ok(7));
        for wrong in [
            "",
            "0",
            "MB",
            "-3",
            "1XB",
            "99999999999999999999",
            "99999999999999GB",
        ] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
        assert_eq!(place("4433").unwrap().to_string(), "[::]:4433");
        assert_eq!(place("127.0.0.1:1").unwrap().to_string(), "127.0.0.1:1");
        assert!(place("here").is_err());
        assert_eq!(resolve("127.0.0.1").unwrap().port(), PORT);
        assert_eq!(resolve("::1").unwrap().to_string(), "[::1]:4433");
        assert_eq!(resolve("127.0.0.1:9").unwrap().port(), 9);
    }
}
