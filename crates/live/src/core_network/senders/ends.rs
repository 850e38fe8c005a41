//! Both ends of a flow: an application that writes into a kernel's socket, and one that reads.

use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddrV4, TcpListener, TcpStream};
use std::os::fd::AsFd as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Instant as WallInstant;

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use slackwater_core::{Draw, Duration, Instant};
use slackwater_transport::app::{App, AppConfig};

use super::{Frame, Read};
use crate::LiveError;
use crate::emulate::netns::Namespace;
use crate::kernel::hosts::{HOST_PRIORITY, PATIENCE, open, sample, waits};
use crate::sys;

/// Time between two looks at a sender.
const SAMPLE: core::time::Duration = core::time::Duration::from_millis(10);
/// Milliseconds after which a receiver without a connection looks for the end of the run.
const LOOK: u16 = 50;

/// One flow of the scenario.
#[derive(Clone, Debug)]
pub(super) struct Task {
    /// Its name.
    pub(super) label: String,
    /// The sender's algorithm, as the kernel calls it.
    pub(super) controller: String,
    /// The receiving UE.
    pub(super) ue: u32,
    /// What is sent when.
    pub(super) app: AppConfig,
    /// When it begins, from the start of the run.
    pub(super) start: Duration,
    /// When it ends.
    pub(super) stop: Duration,
    /// What its application draws from.
    pub(super) draw: Draw,
    /// The receiver's port.
    pub(super) port: u16,
}

/// What all threads of a run share.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// When it begins.
    pub(super) begins: WallInstant,
    /// It is over.
    pub(super) over: Arc<AtomicBool>,
}

impl Run {
    /// The time since the run began; zero before.
    fn now(&self) -> Duration {
        let since = WallInstant::now().saturating_duration_since(self.begins);
        Duration::from_nanos(since.as_nanos() as u64)
    }

    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    /// Sleeps until `at`, or until the run is over.
    fn sleep_until(&self, at: Duration) {
        let at = self.begins + core::time::Duration::from_nanos(at.as_nanos());
        while !self.is_over() {
            let left = at.saturating_duration_since(WallInstant::now());
            if left.is_zero() {
                return;
            }
            std::thread::sleep(left.min(PATIENCE));
        }
    }
}

/// What a flow's two ends saw.
#[derive(Clone, Debug, Default)]
pub(super) struct Seen {
    /// What was written: when its application was due to write, and all bytes until its end.
    pub(super) written: Vec<Frame>,
    /// Smoothed RTTs.
    pub(super) rtts: Vec<(Duration, Duration)>,
    /// What was read, connection by connection: when, and all bytes until then.
    pub(super) read: Vec<Read>,
}

/// The threads of a flow.
pub(super) struct Ends {
    sender: JoinHandle<Result<Vec<Frame>, LiveError>>,
    receiver: JoinHandle<Vec<Read>>,
    sampler: JoinHandle<Vec<(Duration, Duration)>>,
}

impl Ends {
    /// Starts both ends of `task`: the sender in the calling thread's namespace, the receiver at `address` in `space`.
    pub(super) fn start(
        task: Task,
        address: Ipv4Addr,
        space: &Namespace,
        run: &Run,
    ) -> Result<Self, LiveError> {
        let address = SocketAddrV4::new(address, task.port);
        let listener = space.inside(|| {
            let found =
                TcpListener::bind(address).and_then(|l| l.set_nonblocking(true).map(|()| l));
            found.map_err(|e| LiveError::kernel(format!("cannot listen at {address}"), e))
        })?;
        let (ended, arrivals) = channel();
        let stream = Arc::new(Mutex::new(None));
        let receiver = {
            let run = run.clone();
            spawn("receiver", move || {
                let _ignored = sys::realtime(HOST_PRIORITY);
                receive(&listener, &run, &ended)
            })?
        };
        let sampler = {
            let (run, stream) = (run.clone(), Arc::clone(&stream));
            spawn("sampler", move || look_at(&stream, &run))?
        };
        let run = run.clone();
        let sender = spawn("sender", move || {
            let _ignored = sys::realtime(HOST_PRIORITY);
            let host = Host {
                task: &task,
                address,
                run: &run,
                stream: &stream,
            };
            host.send(&arrivals)
        })?;
        Ok(Self {
            sender,
            receiver,
            sampler,
        })
    }

    /// What they saw, once the run is over.
    pub(super) fn end(self) -> Result<Seen, LiveError> {
        Ok(Seen {
            written: join(self.sender)?,
            rtts: join(self.sampler),
            read: join(self.receiver),
        })
    }
}

fn spawn<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<JoinHandle<T>, LiveError> {
    let builder = std::thread::Builder::new().name(name.to_owned());
    let thread = builder.spawn(run);
    thread.map_err(|e| LiveError::kernel("cannot start a thread", e))
}

fn join<T>(thread: JoinHandle<T>) -> T {
    thread
        .join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// Smoothed RTTs of the sender, while it has a connection (`tcpi_rtt`).
fn look_at(stream: &Mutex<Option<TcpStream>>, run: &Run) -> Vec<(Duration, Duration)> {
    let mut seen = Vec::new();
    while !run.is_over() {
        std::thread::sleep(SAMPLE);
        let now = run.now();
        let Ok(stream) = stream.lock() else {
            break;
        };
        let found = stream.as_ref().and_then(|s| sample(s).ok());
        seen.extend(found.filter(|s| !s.srtt.is_zero()).map(|s| (now, s.srtt)));
    }
    seen
}

/// Reads until the run is over, one connection after the other. `ended` hears when one has come to its end.
fn receive(listener: &TcpListener, run: &Run, ended: &Sender<Duration>) -> Vec<Read> {
    let (mut reads, mut all) = (Vec::new(), 0);
    let mut buffer = vec![0; 1 << 18];
    while !run.is_over() {
        let mut fds = [PollFd::new(listener.as_fd(), PollFlags::POLLIN)];
        let _ignored = poll(&mut fds, PollTimeout::from(LOOK));
        let Ok((mut stream, _)) = listener.accept() else {
            continue;
        };
        if stream.set_nonblocking(false).is_err()
            || stream.set_read_timeout(Some(PATIENCE)).is_err()
        {
            break;
        }
        while !run.is_over() {
            match stream.read(&mut buffer) {
                Ok(0) => {
                    // Nobody waits for it where the sender has ended.
                    let _gone = ended.send(run.now());
                    break;
                }
                Ok(n) => {
                    all += n as u64;
                    reads.push(Read { at: run.now(), all });
                }
                Err(e) if waits(&e) => {}
                Err(_) => break,
            }
        }
    }
    reads
}

/// The sending end of a flow.
struct Host<'a> {
    /// What it sends.
    task: &'a Task,
    /// Where to.
    address: SocketAddrV4,
    /// The run.
    run: &'a Run,
    /// Its connection, for those who look at it.
    stream: &'a Mutex<Option<TcpStream>>,
}

impl Host<'_> {
    /// Sends from the flow's start to its end; `arrivals` has the ends of connections.
    fn send(&self, arrivals: &Receiver<Duration>) -> Result<Vec<Frame>, LiveError> {
        let task = self.task;
        self.run.sleep_until(task.start);
        let at = |d: Duration| Instant::ZERO + d;
        let mut app = App::new(&task.app, at(task.start), at(task.stop), task.draw);
        if app.is_bulk() {
            let mut stream = self.connect()?;
            let piece = vec![0; 1 << 16];
            while self.goes_on() && self.write(&mut stream, &piece) == piece.len() {}
            return Ok(Vec::new());
        }

        let mut stream = if app.reconnects() {
            None
        } else {
            Some(self.connect()?)
        };
        let (mut written, mut all) = (Vec::new(), 0);
        while self.goes_on() {
            let Some(due) = app.next_timer() else {
                // The next message follows the arrival of the last.
                match arrivals.recv_timeout(PATIENCE) {
                    Ok(arrived) => app.on_delivered(at(arrived)),
                    Err(RecvTimeoutError::Timeout) if !written.is_empty() => {}
                    Err(_) => break,
                }
                continue;
            };
            let due = due.since(Instant::ZERO);
            self.run.sleep_until(due);
            let Some(message) = app.on_timer(at(due)) else {
                continue;
            };
            let mut fresh = None;
            let to = match &mut stream {
                Some(stream) => stream,
                None => fresh.insert(self.connect()?),
            };
            let bytes = vec![0; message.bytes as usize];
            all += self.write(to, &bytes) as u64;
            written.push(Frame {
                start: due,
                bytes: message.bytes,
                end: all,
            });
            if let Some(fresh) = fresh {
                let _ignored = fresh.shutdown(std::net::Shutdown::Write);
            }
        }
        Ok(written)
    }

    fn goes_on(&self) -> bool {
        !self.run.is_over() && self.run.now() < self.task.stop
    }

    fn connect(&self) -> Result<TcpStream, LiveError> {
        let stream = open(&self.task.controller, self.address)?;
        let no_delay = stream.set_nodelay(true);
        no_delay.map_err(|e| LiveError::kernel("cannot set TCP_NODELAY", e))?;
        if let (Ok(mut place), Ok(copy)) = (self.stream.lock(), stream.try_clone()) {
            *place = Some(copy);
        }
        Ok(stream)
    }

    /// How much of `bytes` the kernel has taken: all, where the flow does not end meanwhile.
    fn write(&self, stream: &mut TcpStream, bytes: &[u8]) -> usize {
        let mut done = 0;
        while done < bytes.len() && self.goes_on() {
            match stream.write(&bytes[done..]) {
                Ok(n) => done += n,
                Err(e) if waits(&e) || e.kind() == io::ErrorKind::Interrupted => {}
                // The other side is gone: the run is over.
                Err(_) => break,
            }
        }
        done
    }
}
