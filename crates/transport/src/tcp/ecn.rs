//! ECN on the connection: negotiation, echo and its reading, classic (RFC 3168) and accurate (RFC 9768).

use slackwater_control::{EcnDelta, EcnMode};
use slackwater_core::{Ecn, TcpFlags};

/// The three flags that carry ECN: in `AccECN` together the ACE counter.
const FIELD: TcpFlags = TcpFlags(TcpFlags::AE.0 | TcpFlags::CWR.0 | TcpFlags::ECE.0);

/// ACE as a number (RFC 9768, 3.2.2: AE is the high bit).
const fn ace(flags: TcpFlags) -> u8 {
    ((flags.0 & FIELD.0) >> 6) as u8
}

const fn flags_of(ace: u8) -> TcpFlags {
    TcpFlags((ace as u16 & 7) << 6)
}

/// What the handshake settled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Negotiated {
    /// No ECN.
    #[default]
    Off,
    /// One echo bit (RFC 3168).
    Classic,
    /// A counter of CE packets (RFC 9768).
    Accurate,
}

/// Both halves of ECN at one end.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct EcnState {
    pub(crate) mode: Negotiated,
    /// Receiver, classic: ECE is set until CWR arrives (RFC 3168, 6.1.3).
    echo: bool,
    /// Receiver: CE packets received (`r.cep` of RFC 9768, 3.2.2).
    received_ce: u32,
    /// Receiver: the last data packet carried CE.
    last_ce: bool,
    /// Receiver: CE packets when the last ACK left.
    acked_ce: u32,
    /// Sender: CE packets that the peer reported (`s.cep`).
    reported_ce: u32,
    /// Sender, classic: the next new segment carries CWR.
    cwr: bool,
    /// The ECN field of the SYN/ACK as the last ACK of the handshake reports it.
    handshake: Option<Ecn>,
    /// Flags of the SYN/ACK.
    syn_ack: TcpFlags,
}

/// Flags by which a SYN asks for `mode` (RFC 3168, 6.1.1; RFC 9768, 3.1.1).
pub(crate) const fn syn_flags(mode: EcnMode) -> TcpFlags {
    match mode {
        EcnMode::Off => TcpFlags(0),
        EcnMode::Classic => TcpFlags(TcpFlags::ECE.0 | TcpFlags::CWR.0),
        EcnMode::L4s | EcnMode::Dctcp => FIELD,
    }
}

/// How `AccECN` reports the ECN field of a packet of the handshake (RFC 9768, table 2).
const fn handshake_code(ecn: Ecn) -> u8 {
    match ecn {
        Ecn::NotEct => 0b010,
        Ecn::Ect1 => 0b011,
        Ecn::Ect0 => 0b100,
        Ecn::Ce => 0b110,
    }
}

impl EcnState {
    /// The passive opener read `flags` on a SYN whose IP field was `ecn`.
    pub(crate) fn on_syn(&mut self, flags: TcpFlags, ecn: Ecn, accept: bool) {
        self.reset();
        self.syn_ack = match ace(flags) {
            _ if !accept => TcpFlags(0),
            0b111 => {
                self.mode = Negotiated::Accurate;
                flags_of(handshake_code(ecn))
            }
            0b011 => {
                self.mode = Negotiated::Classic;
                TcpFlags::ECE
            }
            _ => TcpFlags(0),
        };
    }

    /// The ECN flags of the SYN/ACK.
    pub(crate) const fn syn_ack(&self) -> TcpFlags {
        self.syn_ack
    }

    /// The active opener asked for `asked` and read `flags` on the SYN/ACK (RFC 9768, table 2).
    pub(crate) fn on_syn_ack(&mut self, asked: EcnMode, flags: TcpFlags, ecn: Ecn) {
        self.reset();
        self.mode = match (asked, ace(flags)) {
            (EcnMode::L4s | EcnMode::Dctcp, 0b010 | 0b011 | 0b100 | 0b110) => Negotiated::Accurate,
            (EcnMode::L4s | EcnMode::Dctcp | EcnMode::Classic, 0b001) => Negotiated::Classic,
            _ => Negotiated::Off,
        };
        if self.mode == Negotiated::Accurate {
            self.handshake = Some(ecn);
            if ecn == Ecn::Ce {
                self.received_ce += 1;
            }
        }
    }

    fn reset(&mut self) {
        // RFC 9768, 3.2.1: the packet counters start at 5, so that a cleared field is told from no CE.
        *self = Self {
            received_ce: 5,
            acked_ce: 5,
            reported_ce: 5,
            ..Self::default()
        };
    }

    /// The field of a data packet of a controller that marks by `intent`.
    #[inline]
    pub(crate) const fn mark(&self, intent: EcnMode, resent: bool) -> Ecn {
        match (self.mode, intent) {
            // RFC 3168, 6.1.5: retransmissions are not ECN-capable; RFC 9768 lifts that for scalable senders.
            (Negotiated::Classic | Negotiated::Accurate, EcnMode::Classic) if !resent => Ecn::Ect0,
            (Negotiated::Accurate, EcnMode::L4s) => Ecn::Ect1,
            (Negotiated::Accurate, EcnMode::Dctcp) => Ecn::Ect0,
            _ => Ecn::NotEct,
        }
    }

    /// A data packet arrived. True where an ACK should leave at once: on CE after none, and, with `AccECN`, at every
    /// change and each third CE (RFC 9768, 3.2.2.5.1).
    #[inline]
    pub(crate) fn on_data(&mut self, ecn: Ecn, flags: TcpFlags) -> bool {
        match self.mode {
            Negotiated::Off => false,
            Negotiated::Classic => {
                if flags.contains(TcpFlags::CWR) {
                    self.echo = false;
                }
                let ce = ecn == Ecn::Ce;
                let news = ce && !self.echo;
                self.echo |= ce;
                self.received_ce += u32::from(ce);
                news
            }
            Negotiated::Accurate => {
                let ce = ecn == Ecn::Ce;
                let changed = ce != self.last_ce;
                self.last_ce = ce;
                self.received_ce = self.received_ce.wrapping_add(u32::from(ce));
                changed || (ce && self.received_ce.wrapping_sub(self.acked_ce) >= 3)
            }
        }
    }

    /// ECN flags of a segment that leaves; `fresh` where it carries new data.
    #[inline]
    pub(crate) fn flags(&mut self, fresh: bool) -> TcpFlags {
        match self.mode {
            Negotiated::Off => TcpFlags(0),
            Negotiated::Classic => {
                let mut flags = TcpFlags(0);
                if self.echo {
                    flags = flags.with(TcpFlags::ECE);
                }
                if fresh && core::mem::take(&mut self.cwr) {
                    flags = flags.with(TcpFlags::CWR);
                }
                flags
            }
            Negotiated::Accurate => {
                self.acked_ce = self.received_ce;
                if let Some(ecn) = self.handshake.take() {
                    // RFC 9768, 3.2.2.1: the last ACK of the handshake reports the SYN/ACK.
                    return flags_of(handshake_code(ecn));
                }
                flags_of((self.received_ce & 7) as u8)
            }
        }
    }

    /// An ACK arrived that newly delivered `packets`; `first` for the last ACK of the handshake.
    #[inline]
    pub(crate) fn on_ack(&mut self, flags: TcpFlags, packets: u32, first: bool) -> EcnDelta {
        match self.mode {
            Negotiated::Off => EcnDelta::default(),
            Negotiated::Classic => EcnDelta {
                ce: u32::from(flags.contains(TcpFlags::ECE)),
                ..EcnDelta::default()
            },
            Negotiated::Accurate => {
                if first {
                    if ace(flags) == handshake_code(Ecn::Ce) {
                        self.reported_ce += 1;
                    }
                    return EcnDelta::default();
                }
                let step = u32::from(ace(flags)).wrapping_sub(self.reported_ce) & 7;
                // RFC 9768, appendix A.2: a counter of three bits may have wrapped where more than seven packets
                // are acknowledged; the least count is taken, as where no byte counter is there to tell.
                let ce = step.min(packets.max(step));
                self.reported_ce = self.reported_ce.wrapping_add(ce);
                EcnDelta {
                    ce,
                    ect1: packets.saturating_sub(ce),
                    ect0: 0,
                }
            }
        }
    }

    /// The window was reduced for an echo: tell the peer (RFC 3168, 6.1.2).
    pub(crate) fn reduced(&mut self) {
        self.cwr = self.mode == Negotiated::Classic;
    }

    /// CE packets received.
    pub(crate) const fn received(&self) -> u32 {
        match self.mode {
            Negotiated::Off => 0,
            Negotiated::Classic => self.received_ce - 5,
            Negotiated::Accurate => self.received_ce.wrapping_sub(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(asked: EcnMode, accept: bool) -> (EcnState, EcnState) {
        let (mut client, mut server) = (EcnState::default(), EcnState::default());
        server.on_syn(syn_flags(asked), Ecn::NotEct, accept);
        client.on_syn_ack(asked, server.syn_ack(), Ecn::NotEct);
        (client, server)
    }

    #[test]
    fn both_ends_agree() {
        use Negotiated::{Accurate, Classic, Off};
        for (asked, accept, mode) in [
            (EcnMode::Off, true, Off),
            (EcnMode::Classic, true, Classic),
            (EcnMode::L4s, true, Accurate),
            (EcnMode::Dctcp, true, Accurate),
            (EcnMode::L4s, false, Off),
            (EcnMode::Classic, false, Off),
        ] {
            let (client, server) = pair(asked, accept);
            assert_eq!((client.mode, server.mode), (mode, mode));
        }
    }

    #[test]
    fn a_classic_server_makes_an_accurate_client_classic() {
        let mut client = EcnState::default();
        client.on_syn_ack(EcnMode::L4s, TcpFlags::ECE, Ecn::NotEct);
        assert_eq!(client.mode, Negotiated::Classic);
        // One echo bit is no share of marks: a scalable sender then goes without ECN.
        assert_eq!(client.mark(EcnMode::L4s, false), Ecn::NotEct);
        assert_eq!(client.mark(EcnMode::Dctcp, false), Ecn::NotEct);
    }

    #[test]
    fn a_scalable_sender_marks_by_its_law() {
        let (client, _) = pair(EcnMode::L4s, true);
        for resent in [false, true] {
            assert_eq!(client.mark(EcnMode::L4s, resent), Ecn::Ect1);
            assert_eq!(client.mark(EcnMode::Dctcp, resent), Ecn::Ect0);
        }
    }

    #[test]
    fn the_classic_echo_lasts_until_cwr() {
        let (mut tx, mut rx) = pair(EcnMode::Classic, true);
        assert!(rx.on_data(Ecn::Ce, TcpFlags(0)));
        for _ in 0..3 {
            assert_eq!(tx.on_ack(rx.flags(false), 1, false).ce, 1);
            rx.on_data(Ecn::Ect0, TcpFlags(0));
        }
        tx.reduced();
        let flags = tx.flags(true);
        assert!(flags.contains(TcpFlags::CWR));
        assert!(!tx.flags(true).contains(TcpFlags::CWR), "once");
        rx.on_data(Ecn::Ect0, flags);
        assert_eq!(tx.on_ack(rx.flags(false), 1, false).ce, 0);
    }

    #[test]
    fn the_accurate_counter_survives_its_wrap() {
        let (mut tx, mut rx) = pair(EcnMode::L4s, true);
        let _ = rx.flags(false);
        let mut sum = 0;
        for i in 0..100u32 {
            for k in 0..4 {
                let ecn = if k < i % 4 { Ecn::Ce } else { Ecn::Ect1 };
                rx.on_data(ecn, TcpFlags(0));
            }
            let delta = tx.on_ack(rx.flags(false), 4, false);
            assert_eq!(delta.ce, i % 4);
            assert_eq!(delta.ce + delta.ect1, 4);
            sum += delta.ce;
        }
        assert_eq!(sum, rx.received());
    }

    /// RFC 9768, 3.2.2.5.1: an ACK leaves when the field changes, and then at each third mark of a row at the latest, so
    /// that a counter of three bits cannot wrap unseen.
    #[test]
    fn a_row_of_marks_is_acknowledged_at_its_ends_and_at_each_third() {
        let (_, mut rx) = pair(EcnMode::L4s, true);
        let _ = rx.flags(false);
        let mut hears = |ecn| {
            let at_once = rx.on_data(ecn, TcpFlags(0));
            if at_once {
                let _ = rx.flags(false);
            }
            at_once
        };
        assert!(!hears(Ecn::Ect1));
        let row: Vec<bool> = (0..8).map(|_| hears(Ecn::Ce)).collect();
        assert_eq!(row, [true, false, false, true, false, false, true, false]);
        assert!(hears(Ecn::Ect1), "the row ends");
        assert!(!hears(Ecn::Ect1));
    }
}
