//! HTTP/3 under clients that take what they can; those that do as they should are in the command's tests.

use ::quinn::{ApplicationClose, ConnectionError};

use super::limits::client_of;
use super::serve::{Limits, http};
use super::*;

/// The frame of a request's header section (RFC 9114, 7.2.2).
const HEADERS: u8 = 0x01;
/// A request's `:path` and what must stand beside it, by QPACK's static table (RFC 9204, A): GET, https, the authority "x".
fn get(path: &str) -> Vec<u8> {
    let mut fields = vec![0, 0, 0xd1, 0xd7, 0x50, 1, b'x', 0x51, path.len() as u8];
    fields.extend(path.bytes());
    let mut frame = vec![HEADERS, fields.len() as u8];
    frame.extend(fields);
    frame
}

fn closed(e: ConnectionError) -> ApplicationClose {
    match e {
        ConnectionError::ApplicationClosed(why) => why,
        other => panic!("{other}"),
    }
}

fn limited(limits: Limits) -> serve::Options {
    serve::Options {
        limits,
        ..options("cubic")
    }
}

/// A frame of a gigabyte would be kept until all of it is there.
#[test]
fn a_frame_without_end_ends_the_connection() {
    let server = Running::start(options("cubic"));
    // HEADERS, and a type that is nobody's (RFC 9114, 7.2.8), on a request; the latter on a stream of one direction, as settings.
    for (both, start) in [
        (true, &[HEADERS, 0xbf, 0xff, 0xff, 0xff][..]),
        (true, &[0x21, 0xbf, 0xff, 0xff, 0xff]),
        (false, &[0x00, 0x04, 0xbf, 0xff, 0xff, 0xff]),
    ] {
        let (why, bytes) = client_of(http::ALPN, &server.at, WINDOW, async |connection| {
            let mut send = if both {
                connection.open_bi().await.expect("a stream").0
            } else {
                connection.open_uni().await.expect("a stream")
            };
            let mut bytes = 0;
            let mut next = send.write(start).await;
            while let Ok(count) = next {
                bytes += count;
                next = send.write(&[0; 1024]).await;
            }
            (closed(connection.closed().await), bytes)
        });
        // H3_EXCESSIVE_LOAD (RFC 9114, 8.1).
        assert_eq!(why.error_code, 0x107_u32.into(), "{why}");
        // What the client could write, in flight and all, with room for what is on the way.
        assert!(bytes < 256 << 10, "{start:?}: {bytes}");
    }
    server.end();
}

#[test]
fn who_wants_nothing_over_http_is_sent_away() {
    let server = Running::start(limited(Limits {
        patience: Wall::from_millis(100),
        ..Limits::default()
    }));
    let why = client_of(http::ALPN, &server.at, WINDOW, async |connection| {
        closed(connection.closed().await)
    });
    assert_eq!(&why.reason[..], b"nothing was wanted");
    // Half a request is none.
    let answer = client_of(http::ALPN, &server.at, WINDOW, async |connection| {
        let (mut send, mut recv) = connection.open_bi().await.expect("a stream");
        send.write_all(&get("/zeros?bytes=9")[..9])
            .await
            .expect("sent");
        recv.read_to_end(LINE).await
    });
    assert!(
        answer.is_err() || answer.is_ok_and(|a| a.is_empty()),
        "no answer"
    );
    server.end();
}

#[test]
fn who_takes_nothing_over_http_holds_little_and_is_sent_away() {
    let limits = Limits {
        // A quarter of a megabyte for each.
        memory: 64 << 18,
        patience: Wall::from_millis(300),
        ..Limits::default()
    };
    let server = Running::start(limited(limits));
    let unread = 1 << 16;
    let reset = client_of(http::ALPN, &server.at, unread, async |connection| {
        let (mut send, mut recv) = connection.open_bi().await.expect("a stream");
        send.write_all(&get("/zeros?bytes=99999999"))
            .await
            .expect("sent");
        send.finish().expect("sent");
        let reset = recv.received_reset().await;
        connection.close(0_u32.into(), b"");
        reset
    });
    // H3_INTERNAL_ERROR.
    assert_eq!(
        reset.expect("the connection is there"),
        Some(0x102_u32.into())
    );
    let (served, _) = server.end();
    assert_eq!(served.len(), 1);
    let most = (64 << 18) / 64 + u64::from(unread);
    assert!(!served[0].complete && served[0].bytes <= most, "{served:?}");
    assert_eq!(served[0].request, "GET /zeros?bytes=99999999");
}
