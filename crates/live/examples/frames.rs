//! Sends frames of a file by an interface at a rate, or receives them and says how long they took: the ends of
//! `benches/upf.py`.
//!
//! ```sh
//! frames send INTERFACE FILE PACKETS_A_SECOND SECONDS [as-they-are]
//! frames receive INTERFACE SECONDS
//! ```
//!
//! The file has frames one behind the other, each behind a virtio header, and that behind the length of both in two octets, the
//! higher first. They leave in turns. The last 16 octets of each become a mark and the time, which the receiver goes by; not so
//! with `as-they-are`, which leaves checksums right.
#![expect(clippy::print_stdout, reason = "what it found is its output")]

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use slackwater_live::emulate::frame;
use slackwater_live::packet::{ETHERNET, PacketSocket};

/// Stands in front of the time.
const MARK: [u8; 8] = *b"slackw8r";
/// Octets at a frame's front that may differ from those of the first frame of its length: a virtio header, and all headers of a
/// packet in a tunnel. What is behind them is copied once for each memory, so that a packet costs the same in one flow and in 10,000.
const FRONT: usize = 160;
/// Frames of one call.
const BURST: u64 = 64;
/// How long the sender sleeps where nothing is due.
const NAP: Duration = Duration::from_micros(50);

type Failure = Box<dyn std::error::Error>;

fn date() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |d| d.as_nanos() as u64)
}

fn read_frames(file: &str) -> Result<Vec<Vec<u8>>, Failure> {
    let octets = std::fs::read(file)?;
    let mut rest = octets.as_slice();
    let mut frames = Vec::new();
    while let Some((length, behind)) = rest.split_first_chunk::<2>() {
        let length = usize::from(u16::from_be_bytes(*length));
        let frame = behind.get(..length).ok_or("a frame that is cut short")?;
        frames.push(frame.to_vec());
        rest = &behind[length..];
    }
    (!frames.is_empty())
        .then_some(frames)
        .ok_or("no frame".into())
}

/// Frames to be sent, one after the other.
enum Frames {
    /// As they are.
    Whole(Vec<Vec<u8>>),
    /// Their fronts, one behind the other, and what is behind each of them.
    Alike(Vec<[u8; FRONT]>, Vec<u8>),
}

impl Frames {
    fn of(all: Vec<Vec<u8>>) -> Self {
        let split = |frame: &Vec<u8>| {
            let (front, behind) = frame.split_first_chunk()?;
            Some((*front, behind.to_vec()))
        };
        let split: Option<Vec<_>> = all.iter().map(split).collect();
        let (fronts, behind): (Vec<_>, Vec<_>) = split.unwrap_or_default().into_iter().unzip();
        match behind.first() {
            Some(first) if behind.iter().all(|other| other == first) => {
                Self::Alike(fronts, first.clone())
            }
            _ => Self::Whole(all),
        }
    }

    /// Makes memory, in which an earlier frame was, the frame `k`.
    fn write(&self, k: u64, memory: &mut Vec<u8>) {
        match self {
            Self::Whole(all) => {
                memory.clear();
                memory.extend_from_slice(&all[(k % all.len() as u64) as usize]);
            }
            Self::Alike(fronts, behind) => {
                if memory.len() != FRONT + behind.len() {
                    memory.clear();
                    memory.extend_from_slice(&[0; FRONT]);
                    memory.extend_from_slice(behind);
                }
                let front = &fronts[(k % fronts.len() as u64) as usize];
                memory[..FRONT].copy_from_slice(front);
            }
        }
    }
}

fn send(
    interface: &str,
    file: &str,
    rate: f64,
    seconds: f64,
    stamped: bool,
) -> Result<(), Failure> {
    let frames = Frames::of(read_frames(file)?);
    let mut socket = PacketSocket::open(interface)?;
    let start = Instant::now();
    let mut sent = 0_u64;
    loop {
        let elapsed = start.elapsed().as_secs_f64();
        if elapsed >= seconds {
            break;
        }
        let due = ((elapsed * rate) as u64).saturating_sub(sent).min(BURST);
        if due == 0 {
            std::thread::sleep(NAP);
            continue;
        }
        let stamp = date().to_be_bytes();
        for k in sent..sent + due {
            let mut memory = socket.memory().unwrap_or_default();
            frames.write(k, &mut memory);
            if stamped {
                let end = memory.len();
                memory[end - 16..end - 8].copy_from_slice(&MARK);
                memory[end - 8..].copy_from_slice(&stamp);
            }
            socket.send(memory, 0);
        }
        socket.flush();
        sent += due;
    }
    let seconds = start.elapsed().as_secs_f64();
    let refused = socket.refused;
    println!("{{\"sent\": {sent}, \"refused\": {refused}, \"seconds\": {seconds}}}");
    Ok(())
}

/// The time since a packet was sent, in nanoseconds.
fn age(packet: &[u8], at: (u32, u32)) -> Option<u64> {
    let (mark, stamp) = packet.last_chunk::<16>()?.split_at(8);
    let sent = u64::from_be_bytes(stamp.try_into().ok()?);
    let came = u64::from(at.0) * 1_000_000_000 + u64::from(at.1);
    (mark == MARK).then(|| came.saturating_sub(sent))
}

fn receive(interface: &str, seconds: f64) -> Result<(), Failure> {
    let mut socket = PacketSocket::open(interface)?;
    let start = Instant::now();
    let mut ages = Vec::new();
    while start.elapsed().as_secs_f64() < seconds {
        let read = socket.read(|found| {
            let taken = |packet: Vec<u8>| ages.extend(age(&packet, found.at));
            frame::packets_behind(
                found.header,
                ETHERNET,
                found.payload,
                &mut frame::plain(taken),
            );
        });
        if !read {
            socket.check()?;
            let mut waits = [PollFd::new(socket.fd(), PollFlags::POLLIN)];
            poll(&mut waits, PollTimeout::from(10_u8))?;
        }
    }
    ages.sort_unstable();
    let at = |share: f64| {
        let place = (share * ages.len().saturating_sub(1) as f64) as usize;
        ages.get(place).copied().unwrap_or(0)
    };
    println!(
        "{{\"received\": {}, \"p50_ns\": {}, \"p90_ns\": {}, \"p99_ns\": {}, \"least_ns\": {}}}",
        ages.len(),
        at(0.5),
        at(0.9),
        at(0.99),
        at(0.0)
    );
    Ok(())
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["send", interface, file, rate, seconds] => {
            send(interface, file, rate.parse()?, seconds.parse()?, true)
        }
        ["send", interface, file, rate, seconds, "as-they-are"] => {
            send(interface, file, rate.parse()?, seconds.parse()?, false)
        }
        ["receive", interface, seconds] => receive(interface, seconds.parse()?),
        _ => Err(
            "frames send INTERFACE FILE RATE SECONDS, or frames receive INTERFACE SECONDS".into(),
        ),
    }
}
