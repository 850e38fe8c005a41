//! `slackwater upf`: a user plane function between an SMF, a gNB and a data network.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Args;
use slackwater_live::LiveError;
use slackwater_live::upf::{Orders, Question, Server, UpfConfig, status};
use slackwater_scenario::bounded::document;
use tokio::net::TcpListener;
use tracing::{error, info};
use tracing_subscriber::Layer as _;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt as _;
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::say::say;

/// Questions that wait at most; more are refused.
const QUESTIONS: usize = 16;
/// A question is answered within the function's next look, or not at all.
const PATIENCE: Duration = Duration::from_secs(5);

/// `slackwater upf`
#[derive(Debug, Args)]
pub(crate) struct UpfArgs {
    /// The file that says where it listens and what it does (docs/upf.md)
    #[arg(long, short, value_name = "FILE")]
    config: PathBuf,
    /// Read the file, print it with every default, and end
    #[arg(long)]
    check: bool,
    /// How events are written to standard error; `SLACKWATER_LOG=debug`, or `warn,slackwater_live=info` there, selects them
    #[arg(long, value_enum, default_value_t = Format::Text)]
    log: Format,
}

/// How an event is written.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum Format {
    /// A line for people.
    Text,
    /// A line of JSON.
    Json,
}

/// Writes events from now on.
fn write_events(format: Format) -> Result<()> {
    const VARIABLE: &str = "SLACKWATER_LOG";
    let wanted = std::env::var(VARIABLE).unwrap_or_else(|_| "info".to_owned());
    let targets: Targets = wanted
        .parse()
        .with_context(|| format!("{VARIABLE}: found {wanted:?}, expected levels such as info"))?;
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(false);
    let layer = match format {
        Format::Text => layer.with_target(false).boxed(),
        Format::Json => layer.json().flatten_event(true).boxed(),
    };
    tracing_subscriber::registry()
        .with(layer.with_filter(targets))
        .init();
    Ok(())
}

pub(crate) fn upf(args: &UpfArgs) -> Result<ExitCode> {
    let config = read(&args.config)?;
    if args.check {
        say!("{}", config.to_toml());
        return Ok(ExitCode::SUCCESS);
    }

    write_events(args.log)?;
    let orders = Orders::listen()?;
    let mut server = Server::new(&config)?;
    let (questions, asked) = sync_channel(QUESTIONS);
    let http =
        (config.http.port != 0).then(|| SocketAddr::new(config.http.address.0, config.http.port));
    if let Some(address) = http {
        listen(address, questions)?;
    }
    let n4 = config.n4.address.map_or_else(
        || "none".to_owned(),
        |a| SocketAddr::new(a.0, config.n4.port).to_string(),
    );
    let at = http.map_or_else(|| "none".to_owned(), |a| format!("http://{a}/"));
    info!(
        %n4,
        n3 = %SocketAddr::new(config.n3.address.0, config.n3.port),
        n6 = server.interface(),
        status = %at,
        "listening"
    );
    server.run(&asked, orders, || read(&args.config))?;
    info!(counters = status::closing(&server), "ended");
    Ok(ExitCode::SUCCESS)
}

/// What the file says.
fn read(path: &Path) -> Result<UpfConfig, LiveError> {
    let file = path.display().to_string();
    let text = document(path).map_err(|cause| LiveError::Kernel {
        what: format!("cannot read {file}"),
        cause,
        hint: "",
    })?;
    Ok(UpfConfig::parse(&file, &text)?)
}

/// Answers HTTP on a thread of its own.
fn listen(address: SocketAddr, questions: SyncSender<Question>) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?;
    let listener = runtime
        .block_on(TcpListener::bind(address))
        .with_context(|| format!("cannot listen at {address} (http.address, http.port)"))?;
    let routes = Router::new()
        .route("/", get(overview))
        .route("/metrics", get(metrics))
        .route("/status", get(overview))
        .route("/sessions", get(sessions))
        .with_state(questions);
    std::thread::Builder::new()
        .name("http".to_owned())
        .spawn(move || {
            runtime.block_on(async {
                if let Err(e) = axum::serve(listener, routes).await {
                    error!(why = %e, "no more status");
                }
            });
        })?;
    Ok(())
}

/// The answer to `question`, given by the thread that forwards packets.
async fn ask(
    questions: SyncSender<Question>,
    kind: &'static str,
    question: fn(&Server) -> String,
) -> Response {
    let (answer, answered) = tokio::sync::oneshot::channel();
    let question: Question = Box::new(move |server: &mut Server| {
        let _gone = answer.send(question(server));
    });
    if questions.try_send(question).is_err() {
        return (StatusCode::SERVICE_UNAVAILABLE, "busy\n").into_response();
    }
    match tokio::time::timeout(PATIENCE, answered).await {
        Ok(Ok(text)) => ([(header::CONTENT_TYPE, kind)], text).into_response(),
        _ => (StatusCode::SERVICE_UNAVAILABLE, "no answer\n").into_response(),
    }
}

async fn overview(State(questions): State<SyncSender<Question>>) -> Response {
    ask(questions, "application/json", status::overview).await
}

async fn sessions(State(questions): State<SyncSender<Question>>) -> Response {
    ask(questions, "application/json", status::sessions).await
}

async fn metrics(State(questions): State<SyncSender<Question>>) -> Response {
    const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
    ask(questions, OPEN_METRICS, status::metrics).await
}
