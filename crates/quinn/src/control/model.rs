//! What a connection, a reporter and the host's task do to one [`Shared`], in every order that they can (`make loom`).
//!
//! All state is behind mutexes, so no memory order can be wrong. What can be wrong is a wake-up that is lost, or locks that wait for each
//! other: the model then has a thread that never goes on, and fails.

use core::future::poll_fn;
use std::time::Instant as StdInstant;

use loom::future::block_on;
use loom::thread;
use quinn_proto::congestion::Controller as _;
use slackwater_control::{Config, build};
use slackwater_core::Draw;

use super::*;

fn shared(clock: Clock) -> Shared {
    let cc = build("reno", &Config::new(1200, Draw::new(7))).expect("a known controller");
    Shared::new(Epoch::new(), cc, 1200, None, clock)
}

/// Hears something for the controller, as `live`'s directory of reports does: under the lock, and then the task is woken.
fn hear(shared: &Shared) {
    shared.get().mtu += 1;
    shared.wake();
}

/// The host's task: looks at the state, and waits for news where it is not the last, until it has seen `last`.
fn attend(shared: &Shared, last: u16) {
    while shared.get().mtu != last {
        block_on(poll_fn(|cx| shared.poll_news(cx)));
    }
}

#[test]
fn no_report_is_left_unseen() {
    loom::model(|| {
        let shared = shared(Clock::Told);
        let reporters: Vec<_> = (0..2)
            .map(|_| {
                let own = shared.clone();
                thread::spawn(move || hear(&own))
            })
            .collect();
        attend(&shared, 1202);
        for reporter in reporters {
            reporter.join().expect("it ends");
        }
    });
}

/// The connection reads the window, which takes both locks, while the host sets the time, a report comes and the task looks.
#[test]
fn a_window_that_the_pacer_closes_is_news_and_no_lock_waits_for_another() {
    loom::model(|| {
        let shared = shared(Clock::Told);
        {
            // More than the segments that are never paced, and an RTT: the next packet waits.
            let mut state = shared.get();
            let epoch = state.epoch();
            let at = |ms| epoch.std(Instant::from_millis(ms));
            drop(state);
            let mut adapter = Adapter(shared.clone());
            send(&mut adapter, &at);
            state = shared.get();
            assert!(
                state
                    .next_departure(Instant::from_millis(101))
                    .is_some_and(|next| next > Instant::from_millis(101))
            );
        }
        let connection = {
            let own = Adapter(shared.clone());
            thread::spawn(move || own.window())
        };
        let host = {
            let own = shared.clone();
            thread::spawn(move || own.at(Instant::from_millis(101)))
        };
        // The pacer holds the window closed, which alone wakes the task here.
        block_on(poll_fn(|cx| shared.poll_news(cx)));
        assert_eq!(connection.join().expect("it ends"), 0);
        host.join().expect("it ends");
    });
}

/// Fills the first window, has half of it acknowledged after 100 ms, and sends two packets behind it, which are paced.
fn send(adapter: &mut Adapter, at: &dyn Fn(u64) -> StdInstant) {
    let begin = Instant::from_millis(1);
    for _ in 0..10 {
        adapter.on_sent(at(1), 1200, 0);
    }
    let mut state = adapter.0.get();
    for _ in 0..5 {
        state.on_packet_acked(begin, 1200, Duration::from_millis(100));
    }
    drop(state);
    adapter.on_end_acks(at(101), 5 * 1200, false, None);
    for _ in 0..2 {
        adapter.on_sent(at(101), 1200, 0);
    }
}
