//! What a sender costs, and what it loses to a busy machine: a sender and a receiver over the loopback, a thread each.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration as Wall;

use nix::time::{ClockId, clock_gettime};
use slackwater_core::{Duration, Instant};

use super::{Lateness, Port, Received, Receiver, RtcError, RtpConfig, Sender, Sent};
use crate::LiveError;

/// Media that are not measured: the connection is made, and the first frames leave.
const WARM_UP: u64 = 1;

/// What is measured.
#[derive(Clone, Copy, Debug)]
pub struct Bench {
    /// The ends' configuration.
    pub config: RtpConfig,
    /// Seconds that are measured.
    pub seconds: u64,
    /// Threads that do nothing but work, beside.
    pub load: usize,
    /// The ends have the real-time class, where they may.
    pub urgent: bool,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// The sender's counters, of the seconds that are measured.
    pub sent: Sent,
    /// IP bytes that left in these seconds.
    pub bytes: u64,
    /// Packets that left in these seconds.
    pub packets: u64,
    /// The receiver's counters since the start.
    pub received: Received,
    /// Processor time of the sender's thread in these seconds.
    pub processor: Duration,
    /// Processor time of the receiver's thread since the start.
    pub receiver: Duration,
    /// The seconds.
    pub wall: Duration,
    /// How late the sender's timers were.
    pub late: Lateness,
    /// The sender's thread had the real-time class.
    pub urgent: bool,
}

/// Processor time of this thread so far.
fn processor() -> Duration {
    let spent = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(Wall::ZERO, Wall::from);
    Duration::from_nanos(u64::try_from(spent.as_nanos()).unwrap_or(u64::MAX))
}

/// Runs the ends that `made` and `receiver` give, beside the load.
///
/// # Errors
/// Where the kernel refuses a socket, or the stack a connection.
pub fn run(
    bench: &Bench,
    made: impl FnOnce(Instant, SocketAddr) -> Result<Sender, RtcError>,
    receiver: impl FnOnce(Instant, SocketAddr) -> Result<Receiver, RtcError>,
) -> Result<Found, LiveError> {
    let loopback = SocketAddr::from(([127, 0, 0, 1], 0));
    let (mut ours, mut theirs) = (Port::open(loopback)?, Port::open(loopback)?);
    let stack = |e: RtcError| LiveError::Usage(e.to_string());
    let mut sender = made(ours.now(), ours.address()).map_err(stack)?;
    let mut receiver = receiver(theirs.now(), theirs.address()).map_err(stack)?;
    let offer = sender.offer(ours.now()).map_err(stack)?;
    let answer = receiver.answer(theirs.now(), &offer).map_err(stack)?;
    sender.accept(ours.now(), &answer).map_err(stack)?;

    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for _ in 0..bench.load {
            scope.spawn(|| {
                let mut x = 1_u64;
                while !over.load(Ordering::Relaxed) {
                    for _ in 0..10_000 {
                        x = core::hint::black_box(x.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                    }
                }
            });
        }
        let receives = scope.spawn(|| {
            if bench.urgent {
                Port::urgent();
            }
            let done = theirs.drive(&mut receiver, &over, |_, _, _| true);
            done.map(|()| (receiver.stats(), processor()))
        });
        let sends = scope.spawn(|| {
            let found = send(bench, &mut ours, &mut sender);
            over.store(true, Ordering::Relaxed);
            found
        });
        let joined = |panic| std::panic::resume_unwind(panic);
        let mut found = sends.join().unwrap_or_else(joined)?;
        (found.received, found.receiver) = receives
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
        Ok(found)
    })
}

fn send(bench: &Bench, port: &mut Port, sender: &mut Sender) -> Result<Found, LiveError> {
    let urgent = bench.urgent && Port::urgent();
    let mut connected = None;
    let mut start = None;
    let mut end = None;
    // Where no connection is made, ICE gives up by itself.
    port.drive(sender, &AtomicBool::new(false), |_, sender, second| {
        if !sender.connected() {
            return true;
        }
        let since = second - *connected.get_or_insert(second);
        if since >= WARM_UP && start.is_none() {
            start = Some((std::time::Instant::now(), processor(), sender.stats()));
        }
        if since < WARM_UP + bench.seconds {
            return true;
        }
        end = Some((std::time::Instant::now(), processor(), sender.stats()));
        false
    })?;
    let (Some((began, spent, before)), Some((ended, all, sent))) = (start, end) else {
        return Err(LiveError::Usage(
            "no connection over the loopback".to_owned(),
        ));
    };
    let wall = u64::try_from((ended - began).as_nanos()).unwrap_or(u64::MAX);
    Ok(Found {
        sent,
        bytes: sent.media.bytes.0 - before.media.bytes.0,
        packets: sent.media.packets - before.media.packets,
        received: Received::default(),
        processor: all.saturating_sub(spent),
        receiver: Duration::ZERO,
        wall: Duration::from_nanos(wall),
        late: port.late().clone(),
        urgent,
    })
}
