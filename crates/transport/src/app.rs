//! Applications: when how many bytes are handed to the transport.
//!
//! An [`App`] is a generator: [`App::next_timer`] says when it acts, [`App::on_timer`] gives the [`Message`]s to
//! send, [`App::on_delivered`] tells it that the last one arrived. It knows nothing of the transport below, so the same
//! frames go over TCP and over datagrams.

mod frames;
mod page;
mod steady;
mod transfers;
mod video;

pub use frames::{FrameClock, FramesConfig};
pub use page::{Browser, Fetch, Loaded, PageConfig};
pub use steady::CbrConfig;
pub use transfers::TransfersConfig;
pub use video::VideoConfig;

use slackwater_core::{Draw, Duration, Instant};

use frames::Frames;
use steady::Cbr;
use transfers::Transfers;
use video::Video;

/// Bytes that belong together: a file, a chunk, a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Message {
    /// Size of this piece.
    pub bytes: u64,
    /// Completion is of interest when this piece has arrived: it ends the message that began at this time.
    pub ends: Option<Instant>,
    /// Size of the whole message.
    pub total: u64,
}

/// What a sender sends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum AppConfig {
    /// Endless data.
    Bulk,
    /// One file after the other.
    Transfers(TransfersConfig),
    /// Video chunks with pauses.
    Video(VideoConfig),
    /// Video frames at a frame rate.
    Frames(FramesConfig),
    /// A constant bit rate.
    Cbr(CbrConfig),
    /// Web pages: a [`Browser`] says what is asked for, and an [`App`] sends nothing of itself.
    Page(PageConfig),
}

/// A running application.
#[derive(Clone, Debug)]
pub struct App {
    kind: Kind,
    stop: Instant,
}

#[derive(Clone, Debug)]
enum Kind {
    Bulk,
    Transfers(Transfers),
    Video(Video),
    Frames(Frames),
    Cbr(Cbr),
    Page,
}

impl App {
    /// An application that acts from `start` until `stop`.
    pub fn new(config: &AppConfig, start: Instant, stop: Instant, draw: Draw) -> Self {
        let kind = match config {
            AppConfig::Bulk => Kind::Bulk,
            AppConfig::Transfers(c) => Kind::Transfers(Transfers::new(*c, start, draw)),
            AppConfig::Video(c) => Kind::Video(Video::new(*c, start)),
            AppConfig::Frames(c) => Kind::Frames(Frames::new(*c, start, draw)),
            AppConfig::Cbr(c) => Kind::Cbr(Cbr::new(*c, start)),
            AppConfig::Page(_) => Kind::Page,
        };
        Self { kind, stop }
    }

    /// True for endless data, which has no messages.
    pub const fn is_bulk(&self) -> bool {
        matches!(self.kind, Kind::Bulk)
    }

    /// When the next message is due; `None` where none will come, or none before the last one arrived.
    pub fn next_timer(&self) -> Option<Instant> {
        let next = match &self.kind {
            Kind::Bulk | Kind::Page => None,
            Kind::Transfers(a) => a.next(),
            Kind::Video(a) => Some(a.next()),
            Kind::Frames(a) => Some(a.next()),
            Kind::Cbr(a) => Some(a.next()),
        };
        next.filter(|t| *t < self.stop)
    }

    /// The message due at `now`, if one is.
    pub fn on_timer(&mut self, now: Instant) -> Option<Message> {
        if self.next_timer().is_none_or(|t| t > now) {
            return None;
        }
        match &mut self.kind {
            Kind::Bulk | Kind::Page => None,
            Kind::Transfers(a) => Some(a.take(now)),
            Kind::Video(a) => a.take(),
            Kind::Frames(a) => Some(a.take()),
            Kind::Cbr(a) => Some(a.take()),
        }
    }

    /// Everything sent so far has arrived.
    pub fn on_delivered(&mut self, now: Instant) {
        if let Kind::Transfers(a) = &mut self.kind {
            a.on_delivered(now);
        }
    }

    /// True where each message opens a connection of its own.
    pub const fn reconnects(&self) -> bool {
        match &self.kind {
            Kind::Transfers(a) => a.reconnects(),
            _ => false,
        }
    }
}

/// The first multiple of `period` after `start` that lies after `now`.
fn next_multiple(start: Instant, period: Duration, now: Instant) -> Instant {
    start + period * (now.since(start) / period + 1)
}

#[cfg(test)]
mod tests;
