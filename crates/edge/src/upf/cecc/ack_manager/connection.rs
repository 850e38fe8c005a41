//! A TCP connection as its two ends show it.

use slackwater_core::{Duration, Instant, SeqNum, SynOptions, TcpFlags, TcpHeader};

use super::Down;

/// RFC 9293, 3.7.1: where no option says otherwise.
const DEFAULT_MSS: u16 = 536;
/// The time stamp option with its padding (RFC 7323, appendix A).
const STAMPS: u32 = 12;
/// Round trip to the server before the handshake has shown it.
const RTT_N6: Duration = Duration::from_micros(200);

/// How far a connection can be handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Not both SYNs were seen.
    Opening,
    /// Its window can be changed.
    Ready,
    /// It passes untouched for good.
    Bypass,
}

/// What an acknowledgment of the UE changed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    /// It has no payload.
    pub(super) pure: bool,
    /// It acknowledges new data.
    pub(super) advances: bool,
    /// It moves the right edge of the window.
    pub(super) moves: bool,
    /// The right edge of its window.
    pub(super) edge: SeqNum,
}

/// What the server sent and the UE acknowledged.
#[derive(Clone, Debug)]
pub(super) struct Connection {
    /// How far it can be handled.
    pub(super) stage: Stage,
    /// The shift of the UE's window field (RFC 7323, 2.3).
    pub(super) scale: u8,
    /// Duplicate ACKs in a row.
    dup: u8,
    /// Largest segment of the server, payload bytes.
    pub(super) mss: u32,
    /// The UE's SYN.
    up_syn: Option<SynOptions>,
    /// The server's SYN.
    down_syn: Option<SynOptions>,
    /// When the UE's SYN passed.
    syn_at: Instant,
    /// Round trip from here to the server, from the handshake.
    rtt_n6: Option<Duration>,
    /// The number after the last byte that the server sent.
    pub(super) snd_max: SeqNum,
    /// When it sent new payload last.
    pub(super) last_data: Instant,
    /// The number up to which the UE acknowledged.
    pub(super) a_max: SeqNum,
    /// When that number last grew.
    pub(super) advanced_at: Instant,
    /// The right edge of the window that the UE allows.
    pub(super) ue_edge: SeqNum,
    /// Losses are repaired until this number is acknowledged.
    pub(super) recover: Option<SeqNum>,
}

impl Connection {
    /// A connection of which the first packet seen is a SYN or not.
    pub(super) fn new(syn: bool) -> Self {
        Self {
            stage: if syn { Stage::Opening } else { Stage::Bypass },
            scale: 0,
            dup: 0,
            mss: u32::from(DEFAULT_MSS),
            up_syn: None,
            down_syn: None,
            syn_at: Instant::ZERO,
            rtt_n6: None,
            snd_max: SeqNum(0),
            last_data: Instant::ZERO,
            a_max: SeqNum(0),
            advanced_at: Instant::ZERO,
            ue_edge: SeqNum(0),
            recover: None,
        }
    }

    /// A segment of the server.
    pub(super) fn on_down(&mut self, now: Instant, h: &TcpHeader, syn: Option<SynOptions>) -> Down {
        if h.flags.contains(TcpFlags::SYN) {
            self.down_syn = syn;
            self.snd_max = h.seq + 1;
            self.on_answer(now);
            return Down::Empty;
        }
        if self.down_syn.is_some() {
            self.on_answer(now);
        }
        if h.flags.contains(TcpFlags::RST) {
            self.stage = Stage::Bypass;
        }

        let fin = u32::from(h.flags.contains(TcpFlags::FIN));
        let end = h.seq + h.payload + fin;
        if h.payload + fin == 0 {
            return Down::Empty;
        }
        if self.stage == Stage::Bypass {
            let fresh = end.gt(self.snd_max) || self.snd_max == SeqNum(0);
            self.snd_max = if fresh { end } else { self.snd_max };
            return if fresh { Down::Fresh } else { Down::Again };
        }
        if end.le(self.snd_max) {
            // Also a probe of an idle connection, which repeats a byte that is acknowledged.
            if self.a_max.lt(self.snd_max) && self.recover.is_none() {
                self.recover = Some(self.snd_max);
            }
            return Down::Again;
        }

        self.snd_max = end;
        self.mss = self.mss.max(h.payload.min(u32::from(u16::MAX)));
        self.last_data = now;
        Down::Fresh
    }

    /// A SYN of the UE.
    pub(super) fn on_up_syn(&mut self, now: Instant, syn: Option<SynOptions>) {
        self.up_syn = syn;
        self.syn_at = now;
    }

    /// What the server answers to the UE's SYN: its own SYN, or where that came first, its first segment after it.
    fn on_answer(&mut self, now: Instant) {
        if self.up_syn.is_some() && self.rtt_n6.is_none() {
            self.rtt_n6 = Some(now.since(self.syn_at));
        }
    }

    /// The first ACK of the UE after both SYNs.
    pub(super) fn establish(&mut self, h: &TcpHeader) {
        let (Some(up), Some(down)) = (self.up_syn, self.down_syn) else {
            self.stage = Stage::Bypass;
            return;
        };
        // Scaling holds only where both offered it (RFC 7323, 2.2).
        self.scale = match (up.window_scale, down.window_scale) {
            (Some(scale), Some(_)) => scale,
            _ => 0,
        };
        // Time stamps take their room from each segment (RFC 6691, 2): numbers are split where segments end.
        let stamps = if h.timestamps.is_some() { STAMPS } else { 0 };
        self.mss = u32::from(up.mss.unwrap_or(DEFAULT_MSS))
            .saturating_sub(stamps)
            .max(1);
        // The window that means "one segment" is rounded up to the scale's unit; a unit larger than a segment would let a
        // server send several. Linux 6.18 offers 10 (its tcp_rmem reaches 32 MiB): 1 KiB, less than a usual segment.
        if 1 << self.scale > self.mss {
            self.stage = Stage::Bypass;
            return;
        }
        self.a_max = h.ack;
        self.snd_max = self.snd_max.max(h.ack);
        self.ue_edge = self.edge_of(h);
        self.stage = Stage::Ready;
    }

    /// An acknowledgment of the UE.
    pub(super) fn on_ack(&mut self, now: Instant, h: &TcpHeader) -> Progress {
        let edge = self.edge_of(h);
        let progress = Progress {
            pure: h.payload == 0,
            advances: h.ack.gt(self.a_max),
            moves: edge != self.ue_edge,
            edge,
        };
        if progress.advances {
            (self.a_max, self.advanced_at, self.dup) = (h.ack, now, 0);
            self.snd_max = self.snd_max.max(h.ack);
        } else if progress.pure
            && !progress.moves
            && h.ack == self.a_max
            && self.snd_max.gt(self.a_max)
        {
            self.dup = self.dup.saturating_add(1);
        }
        if h.ack == self.a_max {
            self.ue_edge = edge;
        }
        progress
    }

    /// The ACK shows a loss: SACK blocks above a hole, or the third ACK with one number (RFC 5681, 3.2).
    pub(super) const fn shows_loss(&self, hole: bool) -> bool {
        self.recover.is_none() && (hole || self.dup >= 2)
    }

    /// The right edge that the window field of `h` puts.
    fn edge_of(&self, h: &TcpHeader) -> SeqNum {
        h.ack + (u32::from(h.window) << self.scale)
    }

    /// Bytes that the server may send up to `edge`.
    pub(super) fn room(&self, edge: SeqNum) -> u32 {
        if edge.gt(self.snd_max) {
            edge - self.snd_max
        } else {
            0
        }
    }

    /// Round trip to the server.
    pub(super) fn rtt_n6(&self) -> Duration {
        self.rtt_n6.unwrap_or(RTT_N6)
    }
}
