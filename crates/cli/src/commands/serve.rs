//! `slackwater serve`: the folder of results as a local page.
//!
//! The page itself is built from `web/` and kept in `assets/page`; nothing is fetched from elsewhere.

mod guard;
mod lists;
mod upf;

use std::convert::Infallible;
use std::fmt::Display;
use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use axum::Router;
use axum::body::Body;
use axum::extract::{FromRef, Path as UrlPath, RawQuery, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::middleware;
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Args;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use serde_json::Value;
use slackwater_report::shelf::{self, Shelf, live};
use slackwater_report::{self as report, PLOT_JS};
use slackwater_scenario::bounded;
use tokio::net::TcpListener;
use tokio::sync::{Semaphore, watch};
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::say::say;
use guard::Guard;
use lists::List;

/// How often the page hears of what runs.
const BEAT: Duration = Duration::from_secs(1);
/// A connection says what it wants within this time, or is closed.
const PATIENCE: Duration = Duration::from_secs(10);
/// Connections at a time; more wait.
const CONNECTIONS: usize = 256;
/// The policy of files below the folder of results.
const RESULTS: &str = "sandbox allow-scripts allow-downloads allow-popups; frame-ancestors 'none'";

/// What the routes share.
#[derive(Clone, Debug)]
struct Site {
    shelf: Arc<Shelf>,
    runs: Arc<List>,
    arenas: Arc<List>,
    news: watch::Receiver<News>,
    /// The user plane function whose sessions are shown.
    upf: Option<upf::Function>,
}

impl FromRef<Site> for Arc<Shelf> {
    fn from_ref(site: &Site) -> Self {
        site.shelf.clone()
    }
}

impl FromRef<Site> for Option<upf::Function> {
    fn from_ref(site: &Site) -> Self {
        site.upf.clone()
    }
}

/// `slackwater serve`
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The folder of results
    #[arg(default_value = "runs", value_name = "DIR")]
    folder: PathBuf,
    /// Port; 0 for any that is free
    #[arg(long, default_value_t = 8765)]
    port: u16,
    /// Address to listen on; one that other machines reach needs --token
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "IP")]
    listen: IpAddr,
    /// Password for other machines, at least 16 characters; open the page as http://HOST:PORT/?token=WORD
    #[arg(long, value_name = "WORD")]
    token: Option<String>,
    /// Show the sessions of a user plane function that runs, at /upf: where it listens by HTTP, such as `http://127.0.0.1:9805`
    #[arg(long, value_name = "URL")]
    upf: Option<upf::Function>,
}

pub(crate) fn serve(args: &ServeArgs) -> Result<ExitCode> {
    if let Some(token) = &args.token
        && (token.len() < 16 || !token.chars().all(|c| c.is_ascii_alphanumeric()))
    {
        bail!("--token: expected at least 16 letters and digits");
    }
    if !args.listen.is_loopback() && args.token.is_none() {
        bail!(
            "--listen {}: other machines could read every result there; give a --token, or listen on 127.0.0.1",
            args.listen
        );
    }
    if !args.folder.is_dir() {
        let found = if args.folder.exists() {
            "a file"
        } else {
            "no such folder"
        };
        bail!(
            "{}: found {found}, expected a folder of results or one above some",
            args.folder.display()
        );
    }
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .context("cannot start the server")?;
    runtime.block_on(listen(args))?;
    Ok(ExitCode::SUCCESS)
}

async fn listen(args: &ServeArgs) -> Result<()> {
    let wanted = SocketAddr::new(args.listen, args.port);
    let listener = TcpListener::bind(wanted)
        .await
        .with_context(|| format!("cannot listen on {wanted}; --port 0 takes any that is free"))?;
    let address = listener.local_addr()?;
    let guard = Arc::new(Guard::new(address, args.token.clone()));
    let shelf = Arc::new(Shelf::new(&args.folder));
    let (send, news) = watch::channel(News::default());
    tokio::spawn(watch(shelf.clone(), send));
    let app = Router::new()
        .route(
            "/",
            get(async || {
                asset(
                    "text/html; charset=utf-8",
                    include_bytes!("../../assets/page/index.html"),
                )
            }),
        )
        .route(
            "/page.js",
            get(async || {
                asset(
                    "text/javascript; charset=utf-8",
                    include_bytes!("../../assets/page/page.js"),
                )
            }),
        )
        .route(
            "/uplot.js",
            get(async || asset("text/javascript; charset=utf-8", PLOT_JS.as_bytes())),
        )
        .route(
            "/page.css",
            get(async || {
                asset(
                    "text/css; charset=utf-8",
                    include_bytes!("../../assets/page/page.css"),
                )
            }),
        )
        .route(
            "/upf",
            get(async || {
                asset(
                    "text/html; charset=utf-8",
                    include_bytes!("../../assets/upf/index.html"),
                )
            }),
        )
        .route(
            "/upf.js",
            get(async || {
                asset(
                    "text/javascript; charset=utf-8",
                    include_bytes!("../../assets/built/upf.js"),
                )
            }),
        )
        .route(
            "/upf.css",
            get(async || {
                asset(
                    "text/css; charset=utf-8",
                    include_bytes!("../../assets/upf/upf.css"),
                )
            }),
        )
        .route("/api/upf", get(upf::look))
        .route("/api/shelf", get(contents))
        .route("/api/differences", get(differences))
        .route("/api/arenas", get(arenas))
        .route("/api/events", get(events))
        .route("/overlay", get(overlay))
        .route("/files/{*path}", get(file))
        .with_state(Site {
            shelf,
            runs: Arc::new(List::new(lists::runs)),
            arenas: Arc::new(List::new(lists::arenas)),
            news,
            upf: args.upf.clone(),
        })
        .layer(middleware::map_response(sealed))
        .layer(middleware::from_fn_with_state(guard, guard::check));
    let query = args
        .token
        .as_ref()
        .map_or_else(String::new, |t| format!("?token={t}"));
    say!("http://{address}/{query}");
    if args.upf.is_some() {
        say!("http://{address}/upf{query}");
    }
    let none = if args.folder.is_dir() {
        ""
    } else {
        " (there is no such folder yet)"
    };
    eprintln!("results below {}{none}; Ctrl-C ends", args.folder.display());
    accept(listener, app).await
}

/// Serves connections. One that sends half a request is closed, and many of them keep nobody out for longer than that.
async fn accept(listener: TcpListener, app: Router) -> Result<()> {
    let free = Arc::new(Semaphore::new(CONNECTIONS));
    loop {
        let place = free.clone().acquire_owned().await?;
        let Ok((stream, _)) = listener.accept().await else {
            // Out of file descriptors: those that end make room.
            tokio::time::sleep(BEAT).await;
            continue;
        };
        let service = TowerToHyperService::new(app.clone());
        tokio::spawn(async move {
            let mut http = http1::Builder::new();
            http.timer(TokioTimer::new()).header_read_timeout(PATIENCE);
            // A page that was closed is no error of ours.
            let _ = http.serve_connection(TokioIo::new(stream), service).await;
            drop(place);
        });
    }
}

/// A browser takes each answer for what we say that it is.
async fn sealed(mut answer: Response) -> Response {
    let headers = answer.headers_mut();
    headers.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    answer
}

fn asset(kind: &'static str, bytes: &'static [u8]) -> impl IntoResponse + use<> {
    // The page has scripts and styles of its own and nothing else: whatever a label of a run contains stays text.
    const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; \
                          frame-ancestors 'none'; base-uri 'none'; form-action 'none'";
    let headers = [
        (header::CONTENT_TYPE, kind),
        (header::CONTENT_SECURITY_POLICY, POLICY),
    ];
    (headers, bytes)
}

/// Files are read on a thread of their own: a slow disk must not hold the others up.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, Response> {
    let done = tokio::task::spawn_blocking(work).await;
    done.map_err(|e| refuse(StatusCode::INTERNAL_SERVER_ERROR, &e))
}

fn refuse(code: StatusCode, why: &dyn Display) -> Response {
    (code, format!("{why}\n")).into_response()
}

async fn contents(State(site): State<Site>) -> Response {
    shared(site.runs, site.shelf).await
}

/// A list that all pages share.
async fn shared(list: Arc<List>, shelf: Arc<Shelf>) -> Response {
    let arrived = Instant::now();
    match blocking(move || list.body(&shelf, arrived)).await {
        Ok(Ok(body)) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
        Ok(Err(e)) => refuse(StatusCode::INTERNAL_SERVER_ERROR, &e),
        Err(refused) => refused,
    }
}

/// Each row of seeds less the one that holds the run in `?run=`.
async fn differences(State(shelf): State<Arc<Shelf>>, RawQuery(query): RawQuery) -> Response {
    let runs = guard::values(query.as_deref().unwrap_or_default(), "run");
    let [run] = &runs[..] else {
        return refuse(StatusCode::BAD_REQUEST, &"expected ?run=NAME, once");
    };
    let name = run.clone();
    match blocking(move || shelf::differences(&shelf.entries(), &name)).await {
        Ok(Some(found)) => axum::Json(found).into_response(),
        Ok(None) => refuse(
            StatusCode::NOT_FOUND,
            &format!("{run}: no run of this name"),
        ),
        Err(refused) => refused,
    }
}

async fn arenas(State(site): State<Site>) -> Response {
    shared(site.arenas, site.shelf).await
}

/// What all open pages hear.
#[derive(Clone, Debug, Default)]
struct News {
    /// What runs now, as JSON.
    running: String,
    /// Counts the times that results came or went.
    changes: u64,
}

/// Looks at the folder while a page is open, once for all of them, and for at most a twentieth of the time.
async fn watch(shelf: Arc<Shelf>, send: watch::Sender<News>) {
    let (mut last, mut changes) = (None, 0);
    loop {
        let start = Instant::now();
        if send.receiver_count() > 1 {
            let shelf = shelf.clone();
            let look = move || {
                let (glance, files) = shelf.glance();
                let running = live::running(&shelf, files)
                    .into_iter()
                    .map(|(path, live)| {
                        let mut value = serde_json::to_value(live).unwrap_or_default();
                        value["path"] = path.into();
                        value
                    });
                (glance, running.collect::<Value>())
            };
            let Ok((glance, running)) = blocking(look).await else {
                return;
            };
            changes += u64::from(last.replace(glance).is_some_and(|before| before != glance));
            let running = running.to_string();
            send.send_replace(News { running, changes });
        }
        tokio::time::sleep(BEAT.max(start.elapsed() * 20)).await;
    }
}

/// What runs, each second; and a word when results came or went.
async fn events(State(site): State<Site>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (send, receive) = tokio::sync::mpsc::channel(8);
    let mut news = site.news.clone();
    tokio::spawn(async move {
        let mut last = None;
        while news.changed().await.is_ok() {
            let News { running, changes } = news.borrow_and_update().clone();
            let mut said = vec![Event::default().event("live").data(running)];
            if last
                .replace(changes)
                .is_some_and(|before| before != changes)
            {
                said.push(Event::default().event("shelf").data("changed"));
            }
            for event in said {
                if send.send(Ok(event)).await.is_err() {
                    // The page was closed.
                    return;
                }
            }
        }
    });
    Sse::new(ReceiverStream::new(receive)).keep_alive(KeepAlive::default())
}

async fn overlay(State(shelf): State<Arc<Shelf>>, RawQuery(query): RawQuery) -> Response {
    let paths = guard::values(query.as_deref().unwrap_or_default(), "run");
    if paths.is_empty() {
        return refuse(
            StatusCode::BAD_REQUEST,
            &"expected ?run=NAME, up to four times",
        );
    }
    let page = blocking(move || shelf::overlay(&shelf, &paths).map(|r| report::render(&r)));
    match page.await {
        Ok(Ok(page)) => axum::response::Html(page).into_response(),
        Ok(Err(e)) => refuse(StatusCode::NOT_FOUND, &e),
        Err(refused) => refused,
    }
}

/// A file, piece by piece: a capture of gigabytes takes no more memory than a page.
async fn file(State(shelf): State<Arc<Shelf>>, UrlPath(path): UrlPath<String>) -> Response {
    const PIECE: usize = 64 * 1024;
    let open = blocking(move || {
        let full = shelf.resolve(&path)?;
        let (file, bytes) = bounded::open(&full).ok()?;
        Some((content_type(&full), file, bytes))
    });
    let (kind, mut file, bytes) = match open.await {
        Ok(Some(found)) => found,
        Ok(None) => {
            let why = "no such file below the folder of results";
            return refuse(StatusCode::NOT_FOUND, &why);
        }
        Err(refused) => return refused,
    };
    let (send, receive) = tokio::sync::mpsc::channel::<std::io::Result<Vec<u8>>>(4);
    tokio::task::spawn_blocking(move || {
        let mut left = bytes;
        while left > 0 {
            let mut piece = vec![0; left.min(PIECE as u64) as usize];
            let read = file.read_exact(&mut piece);
            left -= piece.len() as u64;
            let failed = read.is_err();
            // The reader went, or the file was cut short.
            if send.blocking_send(read.map(|()| piece)).is_err() || failed {
                return;
            }
        }
    });
    let headers = [
        (header::CONTENT_TYPE, kind.to_owned()),
        (header::CONTENT_LENGTH, bytes.to_string()),
        // What a folder of results holds is another's page: it gets scripts of its own and nothing of this origin.
        (header::CONTENT_SECURITY_POLICY, RESULTS.to_owned()),
    ];
    (headers, Body::from_stream(ReceiverStream::new(receive))).into_response()
}

fn content_type(path: &Path) -> &'static str {
    match path.extension().and_then(|e| e.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("json" | "sqlog") => "application/json",
        Some("toml" | "csv" | "txt" | "md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}
