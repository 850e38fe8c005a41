//! HTTP/3 (RFC 9114): the same files and zeros for browsers and for any other client.
//!
//! `GET /NAME` is `FILE NAME` and `GET /zeros?bytes=N` is `ZEROS N` of our own protocol, with the same bounds.

mod streams;

use bytes::Bytes;
use h3::error::Code;
use h3::server::{RequestResolver, RequestStream};
use http::{Method, Request, Response, StatusCode, Uri, header};
use quinn::VarInt;

use self::streams::{Both, End, REQUEST, Streams};
use super::Client;
use super::limits::while_it_moves;
use super::source::{Source, Wish};

/// The protocol's name in TLS (RFC 9114, 3.1).
pub(in crate::quinn) const ALPN: &[u8] = b"h3";
/// Where zeros are.
const ZEROS: &str = "/zeros";
/// What a folder shows.
const INDEX: &str = "index.html";

type Stream = RequestStream<Both, Bytes>;

/// Answers the requests of one connection until it ends.
pub(super) async fn serve(client: &Client) {
    let patience = client.common.options.limits.patience;
    let streams = Streams::new(client.connection.clone());
    let last = streams.last();
    let mut settings = h3::server::builder();
    settings
        .max_field_section_size(REQUEST as u64)
        .send_grease(false);
    // A client that allows us no stream of our own has no settings of ours (RFC 9114, 6.2).
    let made = tokio::time::timeout(patience, settings.build(streams));
    let Ok(Ok(mut connection)) = made.await else {
        return;
    };
    loop {
        match tokio::time::timeout(patience, connection.accept()).await {
            Ok(Ok(Some(resolver))) => {
                let Some(end) = last.take() else {
                    return;
                };
                let busy = client.allowance.begin();
                let client = client.clone();
                tokio::spawn(async move {
                    answer(resolver, end, &client).await;
                    drop(busy);
                });
            }
            // It is over, in one way or another.
            Ok(_) => return,
            Err(_) if client.allowance.idle() => {
                let code = VarInt::from_u64(Code::H3_NO_ERROR.value()).expect("it has 62 bits");
                client.connection.close(code, b"nothing was wanted");
                return;
            }
            Err(_) => {}
        }
    }
}

async fn answer(resolver: RequestResolver<Streams, Bytes>, end: End, client: &Client) {
    let patience = client.common.options.limits.patience;
    // One that cannot be read has its answer by `h3`.
    let resolved = tokio::time::timeout(patience, resolver.resolve_request()).await;
    let Ok(Ok((request, mut stream))) = resolved else {
        return;
    };
    match find(&request, client).await {
        Ok(source) => give(&mut stream, source, &request, end, client).await,
        Err((status, why)) => {
            let body = Bytes::from(why + "\n");
            let head = head(status, body.len() as u64, "text/plain; charset=utf-8");
            let said = async {
                stream.send_response(head).await?;
                if request.method() != Method::HEAD {
                    stream.send_data(body).await?;
                }
                stream.finish().await
            };
            // The client may be gone already.
            let _ignored = while_it_moves(&client.control, patience, said).await;
        }
    }
    // Nobody reads the body of a request (RFC 9114, 4.1).
    stream.stop_sending(Code::H3_NO_ERROR);
}

/// What `request` is for, within what its connection may still be given; or the status and words that say why not.
async fn find(request: &Request<()>, client: &Client) -> Result<Source, (StatusCode, String)> {
    let head = request.method() == Method::HEAD;
    if request.method() != Method::GET && !head {
        let why = format!("found {}, expected GET or HEAD", request.method());
        return Err((StatusCode::METHOD_NOT_ALLOWED, why));
    }
    let wish = wish(request.uri()).map_err(|why| (StatusCode::BAD_REQUEST, why))?;
    let source = Source::find(wish, client.common.options.root.clone()).await;
    let source = source.map_err(|why| (StatusCode::NOT_FOUND, why))?;
    if !head {
        let taken = client.allowance.take(source.length());
        taken.map_err(|why| (StatusCode::FORBIDDEN, why))?;
    }
    Ok(source)
}

/// What a URI names.
///
/// # Errors
/// Where it is not readable, in words for the client.
fn wish(uri: &Uri) -> Result<Wish, String> {
    if uri.path() == ZEROS {
        let mut pairs = uri.query().unwrap_or_default().split('&');
        let count = pairs.find_map(|pair| pair.strip_prefix("bytes="));
        let count = count.and_then(|n| n.parse().ok());
        return count
            .map(Wish::Zeros)
            .ok_or_else(|| format!("expected {ZEROS}?bytes=N"));
    }
    let name =
        decoded(uri.path()).ok_or("expected a path in UTF-8 with two digits behind each %")?;
    let name = name.strip_prefix('/').unwrap_or(&name);
    let folder = name.is_empty() || name.ends_with('/');
    Ok(Wish::File(if folder {
        format!("{name}{INDEX}")
    } else {
        name.to_owned()
    }))
}

/// `path` with its percent-encoded octets (RFC 3986, 2.1); `None` where it is none, or no UTF-8.
fn decoded(path: &str) -> Option<String> {
    let mut parts = path.split('%');
    let mut bytes = parts.next()?.as_bytes().to_vec();
    for part in parts {
        let (digits, rest) = part.as_bytes().split_at_checked(2)?;
        let digit = |d: u8| char::from(d).to_digit(16).map(|d| d as u8);
        bytes.push(digit(digits[0])? << 4 | digit(digits[1])?);
        bytes.extend(rest);
    }
    String::from_utf8(bytes).ok()
}

/// The media type of a file by its ending: what a browser must know to show a page.
fn kind(path: &str) -> &'static str {
    match path.rsplit_once('.').map_or("", |(_, end)| end) {
        "html" => "text/html; charset=utf-8",
        "css" => "text/css; charset=utf-8",
        "js" | "mjs" => "text/javascript; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "txt" | "md" | "toml" | "csv" => "text/plain; charset=utf-8",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        "wasm" => "application/wasm",
        _ => "application/octet-stream",
    }
}

fn head(status: StatusCode, length: u64, kind: &str) -> Response<()> {
    let mut head = Response::builder()
        .status(status)
        .header(header::CONTENT_LENGTH, length)
        .header(header::CONTENT_TYPE, kind)
        // What a cache holds measures no network.
        .header(header::CACHE_CONTROL, "no-store");
    if status == StatusCode::METHOD_NOT_ALLOWED {
        head = head.header(header::ALLOW, "GET, HEAD");
    }
    head.body(())
        .expect("its fields are constants and a number")
}

/// Sends `source`, and for GET tells of the transfer when all of it is acknowledged.
async fn give(
    stream: &mut Stream,
    mut source: Source,
    request: &Request<()>,
    end: End,
    client: &Client,
) {
    let patience = client.common.options.limits.patience;
    let path = request.uri().path();
    let head = head(
        StatusCode::OK,
        source.length(),
        if path.ends_with('/') {
            kind(INDEX)
        } else {
            kind(path)
        },
    );
    if request.method() == Method::HEAD {
        let said = async {
            stream.send_response(head).await?;
            stream.finish().await
        };
        let _ignored = while_it_moves(&client.control, patience, said).await;
        return;
    }
    let target = request.uri().path_and_query().map_or(path, |p| p.as_str());
    let mut transfer = client.begin(format!("GET {target}"));
    let complete = body(stream, head, &mut source, client, &mut transfer.bytes).await;
    if !complete {
        stream.stop_stream(Code::H3_INTERNAL_ERROR);
    }
    let complete = complete
        && matches!(
            while_it_moves(&client.control, patience, end).await,
            Some(Ok(None))
        );
    transfer.end(complete);
}

/// Writes an answer whole; false where the client went before, takes nothing for long, or the file has shrunk.
async fn body(
    stream: &mut Stream,
    head: Response<()>,
    source: &mut Source,
    client: &Client,
    bytes: &mut u64,
) -> bool {
    let patience = client.common.options.limits.patience;
    let control = &client.control;
    let said = while_it_moves(control, patience, stream.send_response(head)).await;
    if !matches!(said, Some(Ok(()))) {
        return false;
    }
    loop {
        let piece = match source.piece().await {
            Ok(Some(piece)) => piece,
            Ok(None) => break,
            Err(_) => return false,
        };
        let length = piece.len() as u64;
        let sent = while_it_moves(control, patience, stream.send_data(piece)).await;
        if !matches!(sent, Some(Ok(()))) {
            return false;
        }
        *bytes += length;
    }
    stream.finish().await.is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(path: &str) -> Result<Wish, String> {
        wish(&path.parse().expect("a URI"))
    }

    #[test]
    fn a_path_names_a_file_or_zeros() {
        let file = |name: &str| Ok(Wish::File(name.to_owned()));
        assert_eq!(named("/data"), file("data"));
        assert_eq!(named("/a/b%20c.txt?x=1"), file("a/b c.txt"));
        assert_eq!(
            (named("/"), named("/a/")),
            (file("index.html"), file("a/index.html"))
        );
        // What leads out of the folder is found out where the file is looked for.
        assert_eq!(named("/%2e%2e%2fsecret"), file("../secret"));
        assert_eq!(named("//etc/passwd"), file("/etc/passwd"));
        assert_eq!(named("/zeros?x=1&bytes=600"), Ok(Wish::Zeros(600)));
        for wrong in [
            "/zeros",
            "/zeros?bytes=-1",
            "/zeros?bytes=",
            "/%2",
            "/%zz",
            "/%ff",
        ] {
            assert!(named(wrong).is_err(), "{wrong}");
        }
    }
}
