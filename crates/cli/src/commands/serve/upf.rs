//! The sessions of a user plane function that runs, on a page of their own: `slackwater serve --upf URL`.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, ToSocketAddrs as _};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail, ensure};
use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use serde_json::{Value, json};

use super::{blocking, refuse};

/// The function answers between two packets, or not at all.
const PATIENCE: Duration = Duration::from_secs(5);
/// The longest answer: ten times that of 65,536 sessions.
const MOST: u64 = 256 << 20;

/// Where a function says what it does (`[http]` of its file).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    host: String,
}

impl std::str::FromStr for Function {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self> {
        let host = text.strip_prefix("http://").unwrap_or(text);
        let host = host.trim_end_matches('/');
        let plain = |c: char| c.is_ascii_alphanumeric() || ".-:[]".contains(c);
        ensure!(
            host.contains(':') && host.chars().all(plain),
            "found {text:?}, expected http://HOST:PORT"
        );
        Ok(Self {
            host: host.to_owned(),
        })
    }
}

impl Function {
    fn address(&self) -> Result<SocketAddr> {
        let mut all = self.host.to_socket_addrs()?;
        all.next().ok_or_else(|| anyhow!("no such host"))
    }

    /// The JSON at a path.
    fn get(&self, path: &str) -> Result<Value> {
        let mut stream = TcpStream::connect_timeout(&self.address()?, PATIENCE)?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let host = &self.host;
        write!(
            stream,
            "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )?;
        let mut answer = Vec::new();
        stream.take(MOST).read_to_end(&mut answer)?;
        let answer = String::from_utf8(answer)?;
        let (head, body) = answer
            .split_once("\r\n\r\n")
            .ok_or_else(|| anyhow!("no answer in HTTP"))?;
        let first = head.lines().next().unwrap_or_default();
        if !first.contains(" 200 ") {
            bail!("it says {first:?} to {path}");
        }
        serde_json::from_str(body).context("no JSON")
    }

    /// What the page shows: the function as a whole, and each session.
    fn look(&self) -> Result<Value> {
        let (status, sessions) = (self.get("/status")?, self.get("/sessions")?);
        Ok(json!({ "status": status, "sessions": sessions }))
    }
}

/// `/api/upf`
pub(super) async fn look(State(function): State<Option<Function>>) -> Response {
    let Some(function) = function else {
        let why = "no function: start `slackwater serve` with --upf http://HOST:PORT";
        return refuse(StatusCode::NOT_FOUND, &why);
    };
    let host = function.host.clone();
    match blocking(move || function.look()).await {
        Ok(Ok(found)) => axum::Json(found).into_response(),
        Ok(Err(why)) => refuse(
            StatusCode::BAD_GATEWAY,
            &format!("the function at {host}: {why}"),
        ),
        Err(refused) => refused,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_and_a_port_are_an_address() {
        for text in ["http://127.0.0.1:9805", "http://[::1]:9805/", "upf-1:9805"] {
            assert!(text.parse::<Function>().is_ok(), "{text}");
        }
        for text in [
            "",
            "127.0.0.1",
            "https://127.0.0.1:9805",
            "http://a:1/b",
            "http://a:1\r\nX: y",
        ] {
            assert!(text.parse::<Function>().is_err(), "{text}");
        }
    }
}
