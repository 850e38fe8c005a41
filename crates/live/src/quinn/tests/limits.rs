//! A server under clients that take what they can.

use ::quinn::{ClientConfig, ConnectionError, Endpoint};

use super::serve::Limits;
use super::*;

/// A connection of a client that does as it likes; it may hold so many bytes unread.
fn client<T>(at: &Listening, unread: u32, work: impl AsyncFnOnce(::quinn::Connection) -> T) -> T {
    client_of(ALPN, at, unread, work)
}

/// The same, of this protocol.
pub(super) fn client_of<T>(
    protocol: &[u8],
    at: &Listening,
    unread: u32,
    work: impl AsyncFnOnce(::quinn::Connection) -> T,
) -> T {
    let done = block_on(async {
        let endpoint = Endpoint::client(LOCAL).expect("a socket");
        let mut config = ClientConfig::new(tls::client(None, protocol).expect("a configuration"));
        let mut transport = transport(true);
        transport.stream_receive_window(unread.into());
        config.transport_config(Arc::new(transport));
        let connecting = endpoint.connect_with(config, at.address, "slackwater");
        let connection = connecting.expect("an address").await.expect("it is let in");
        let done = work(connection).await;
        endpoint.wait_idle().await;
        Ok(done)
    });
    done.expect("it runs")
}

fn limited(limits: Limits) -> serve::Options {
    serve::Options {
        limits,
        ..options("cubic")
    }
}

#[test]
fn one_connection_too_many_is_refused_and_let_in_later() {
    let server = Running::start(limited(Limits {
        connections: 2,
        ..Limits::default()
    }));
    let stop = Arc::new(AtomicBool::new(false));
    let (tell, told) = mpsc::channel();
    let hold = || {
        let (at, stop, tell) = (server.at.address, Arc::clone(&stop), tell.clone());
        std::thread::spawn(move || {
            let endless = wants(at, Wanted::Zeros(u64::MAX >> 4));
            get::get(
                &endless,
                |bytes, _| tell.send(bytes > 0).expect("the test waits"),
                &stop,
            )
        })
    };
    // The second one finds half of the seats taken, and proves its address first.
    let mut holders = Vec::new();
    for _ in 0..2 {
        holders.push(hold());
        while !told.recv().expect("it is let in") {}
        while told.try_recv().is_ok() {}
    }
    let third = wants(server.at.address, Wanted::Zeros(10));
    let refused = fetch(&third).expect_err("no seat").to_string();
    assert!(refused.contains("refused"), "{refused}");
    stop.store(true, Ordering::Relaxed);
    for holder in holders {
        assert!(holder.join().expect("it ends").is_ok());
    }
    // The server hears of their end some time later.
    let later = (0..10_000).find_map(|_| fetch(&third).ok());
    assert!(later.expect("a seat is free").complete);
    server.end();
}

#[test]
fn who_wants_nothing_is_sent_away() {
    let server = Running::start(limited(Limits {
        patience: Wall::from_millis(100),
        ..Limits::default()
    }));
    let closed = client(&server.at, WINDOW, async |connection| {
        connection.closed().await
    });
    let ConnectionError::ApplicationClosed(why) = closed else {
        panic!("{closed}");
    };
    assert_eq!(&why.reason[..], b"nothing was wanted");
    // Half a request is none.
    let asked = client(&server.at, WINDOW, async |connection| {
        let (mut send, mut recv) = connection.open_bi().await.expect("a stream");
        send.write_all(b"ZEROS 1").await.expect("sent");
        let answer = recv.read_to_end(LINE).await;
        connection.close(0_u32.into(), b"");
        answer
    });
    assert!(asked.is_ok_and(|a| a.is_empty()), "no answer");
    server.end();
}

#[test]
fn who_takes_nothing_holds_little_and_is_sent_away() {
    let folder = Folder::new("held");
    std::fs::write(folder.0.join("data"), vec![7; 4 << 20]).unwrap();
    let limits = Limits {
        // A quarter of a megabyte for each.
        memory: 64 << 18,
        patience: Wall::from_millis(300),
        ..Limits::default()
    };
    let server = Running::start(serve::Options {
        root: Some(folder.0.clone()),
        ..limited(limits)
    });
    let unread = 1 << 16;
    let reset = client(&server.at, unread, async |connection| {
        let (mut send, mut recv) = connection.open_bi().await.expect("a stream");
        send.write_all(b"FILE data\n").await.expect("sent");
        send.finish().expect("sent");
        let reset = recv.received_reset().await;
        connection.close(0_u32.into(), b"");
        reset
    });
    assert_eq!(reset.expect("the connection is there"), Some(1_u32.into()));
    let (served, _) = server.end();
    assert_eq!(served.len(), 1);
    let most = (64 << 18) / 64 + u64::from(unread);
    assert!(
        !served[0].complete && served[0].bytes <= most,
        "{most}: {served:?}"
    );
}

#[test]
fn a_connection_is_given_so_much_and_no_more() {
    let server = Running::start(limited(Limits {
        bytes: Some(1000),
        ..Limits::default()
    }));
    let zeros = |count| fetch(&wants(server.at.address, Wanted::Zeros(count)));
    let refused = zeros(1001).expect_err("too many").to_string();
    assert!(refused.contains("expected at most 1000"), "{refused}");
    assert!(zeros(1000).expect("as many as allowed").complete);
    // Of all requests of a connection together.
    let second = client(&server.at, WINDOW, async |connection| {
        let mut answer = Vec::new();
        for _ in 0..2 {
            let (mut send, mut recv) = connection.open_bi().await.expect("a stream");
            send.write_all(b"ZEROS 600\n").await.expect("sent");
            send.finish().expect("sent");
            answer = recv.read_to_end(2 * LINE).await.expect("an answer");
        }
        connection.close(0_u32.into(), b"");
        answer
    });
    let second = String::from_utf8_lossy(&second).into_owned();
    assert!(
        second.starts_with("ERROR ") && second.contains("at most 400"),
        "{second}"
    );
    server.end();
}
