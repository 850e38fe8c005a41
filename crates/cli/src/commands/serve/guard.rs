//! Who may see the page.
//!
//! On loopback any page in the user's browser could ask our address under a name of its own (DNS rebinding), so the
//! `Host` must be ours. A token, where one is set, comes once in the address and stays in a cookie.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

const COOKIE: &str = "slackwater";

/// What a request must show.
#[derive(Debug)]
pub(super) struct Guard {
    address: SocketAddr,
    token: Option<String>,
}

impl Guard {
    pub(super) const fn new(address: SocketAddr, token: Option<String>) -> Self {
        Self { address, token }
    }

    /// The `Host` is ours. Behind a token the name does not matter: who knows the token may come by any.
    fn is_ours(&self, host: &str) -> bool {
        let port = self.address.port();
        let names = ["127.0.0.1", "localhost", "[::1]"];
        self.token.is_some()
            || host == self.address.to_string()
            || names.iter().any(|name| host == format!("{name}:{port}"))
    }

    /// The token is right, where one is asked for: (it is, it came in the address).
    fn knows(&self, headers: &HeaderMap, query: &str) -> (bool, bool) {
        let Some(token) = &self.token else {
            return (true, false);
        };
        if values(query, "token").iter().any(|t| same(t, token)) {
            return (true, true);
        }
        let cookies = headers.get_all(header::COOKIE).iter();
        let mut pairs = cookies
            .filter_map(|v| v.to_str().ok())
            .flat_map(|v| v.split(';'))
            .filter_map(|pair| pair.trim().split_once('='));
        (
            pairs.any(|(name, value)| name == COOKIE && same(value, token)),
            false,
        )
    }
}

/// Equal, in a time that does not tell how far.
fn same(a: &str, b: &str) -> bool {
    a.len() == b.len() && a.bytes().zip(b.bytes()).fold(0, |d, (a, b)| d | (a ^ b)) == 0
}

pub(super) async fn check(
    State(guard): State<Arc<Guard>>,
    request: Request,
    next: Next,
) -> Response {
    let headers = request.headers();
    let host = headers
        .get(header::HOST)
        .and_then(|h| h.to_str().ok())
        .unwrap_or_default();
    if !guard.is_ours(host) {
        let why = format!("this page answers to its own address only, not to {host:?}\n");
        return (StatusCode::MISDIRECTED_REQUEST, why).into_response();
    }
    let (known, fresh) = guard.knows(headers, request.uri().query().unwrap_or_default());
    if !known {
        let why = "open the address with ?token=WORD that the command printed\n";
        return (StatusCode::UNAUTHORIZED, why).into_response();
    }
    let mut response = next.run(request).await;
    let out = response.headers_mut();
    out.insert(
        header::X_CONTENT_TYPE_OPTIONS,
        HeaderValue::from_static("nosniff"),
    );
    out.insert(
        header::REFERRER_POLICY,
        HeaderValue::from_static("no-referrer"),
    );
    out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let (true, Some(token)) = (fresh, &guard.token) {
        let cookie = format!("{COOKIE}={token}; HttpOnly; SameSite=Strict; Path=/");
        out.extend(
            HeaderValue::from_str(&cookie)
                .ok()
                .map(|v| (header::SET_COOKIE, v)),
        );
    }
    response
}

/// The values of `key` in a query string, decoded.
pub(super) fn values(query: &str, key: &str) -> Vec<String> {
    query
        .split('&')
        .filter_map(|pair| pair.split_once('='))
        .filter(|(k, _)| *k == key)
        .filter_map(|(_, value)| decode(value))
        .collect()
}

/// `application/x-www-form-urlencoded`; `None` where it is not.
fn decode(text: &str) -> Option<String> {
    let mut bytes = text.bytes();
    let mut out = vec![];
    while let Some(b) = bytes.next() {
        out.push(match b {
            b'+' => b' ',
            b'%' => {
                let digit = |b: Option<u8>| char::from(b?).to_digit(16);
                let (high, low) = (digit(bytes.next())?, digit(bytes.next())?);
                (high * 16 + low) as u8
            }
            other => other,
        });
    }
    String::from_utf8(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_decoded() {
        assert_eq!(values("run=a%2Fb+c&x=1&run=%C3%A9", "run"), ["a/b c", "é"]);
        assert!(values("run=%zz&run=%f", "run").is_empty());
    }

    #[test]
    fn a_foreign_host_is_not_ours() {
        let guard = Guard::new("127.0.0.1:8765".parse().unwrap(), None);
        for host in ["127.0.0.1:8765", "localhost:8765", "[::1]:8765"] {
            assert!(guard.is_ours(host), "{host}");
        }
        for host in ["", "localhost", "localhost:80", "evil.example:8765"] {
            assert!(!guard.is_ours(host), "{host}");
        }
    }

    #[test]
    fn a_token_is_asked_for_and_kept_in_a_cookie() {
        let guard = Guard::new(
            "0.0.0.0:1".parse().unwrap(),
            Some("abcdefghabcdefgh".to_owned()),
        );
        let mut headers = HeaderMap::new();
        assert_eq!(guard.knows(&headers, ""), (false, false));
        assert_eq!(
            guard.knows(&headers, "token=abcdefghabcdefgX"),
            (false, false)
        );
        assert_eq!(
            guard.knows(&headers, "token=abcdefghabcdefgh"),
            (true, true)
        );
        headers.insert(
            header::COOKIE,
            HeaderValue::from_static("a=b; slackwater=abcdefghabcdefgh"),
        );
        assert_eq!(guard.knows(&headers, ""), (true, false));
    }
}
