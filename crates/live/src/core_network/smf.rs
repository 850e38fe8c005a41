//! As much of a session management function as a run needs: an association, a session for each UE, heartbeats, and the end.

use std::io::ErrorKind;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use slackwater_core::{Qfi, Teid};
use slackwater_wire::pfcp::{
    Element, FSeid, FTeid, Far, Gates, Header, Kind, Message, NodeId, OuterHeader, PORT, Pdi, Pdr,
    Qer, UeIp, cause, interface,
};

use crate::LiveError;

/// Time after which a request is sent again, and how often (T1 and N1; TS 29.244, 6.4).
const T1: Duration = Duration::from_secs(1);
const N1: u32 = 10;
/// How often the end of the run is looked for.
const LOOK: Duration = Duration::from_millis(50);
/// A message of ours at most.
const MESSAGE: usize = 2_000;

/// A UE as its session is ordered.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ue {
    /// Its address.
    pub(super) address: Ipv4Addr,
    /// Its gNB.
    pub(super) gnb: Ipv4Addr,
    /// The downlink tunnel there.
    pub(super) downlink: Teid,
    /// Its `QoS` flow.
    pub(super) qfi: Qfi,
}

/// The control plane.
#[derive(Debug)]
pub(super) struct Smf {
    socket: UdpSocket,
    own: Ipv4Addr,
    upf: SocketAddr,
    seq: u32,
    /// The function's endpoint of each session.
    sessions: Vec<u64>,
}

impl Smf {
    /// Associates with the function at `upf`.
    ///
    /// # Errors
    /// Where the address is taken, or the function does not answer or refuses.
    pub(super) fn associate(own: Ipv4Addr, upf: Ipv4Addr) -> Result<Self, LiveError> {
        let socket = UdpSocket::bind((own, PORT))
            .map_err(|e| LiveError::kernel(format!("cannot listen for PFCP at {own}"), e))?;
        let mut smf = Self {
            socket,
            own,
            upf: SocketAddr::new(upf.into(), PORT),
            seq: 0,
            sessions: Vec::new(),
        };
        let elements = [Element::NodeId(NodeId::V4(own)), Element::Recovery(1)];
        smf.request(Kind::AssociationSetupRequest, None, &elements, |_| ())?;
        Ok(smf)
    }

    /// Orders a session; the uplink tunnel that the function has chosen.
    ///
    /// # Errors
    /// Where the function does not answer, refuses, or names no tunnel.
    pub(super) fn establish(&mut self, ue: &Ue) -> Result<Teid, LiveError> {
        let pdr = |id: u16, source, tunnel: Option<FTeid>| {
            let from_network = tunnel.is_none();
            Element::CreatePdr(Pdr {
                id,
                precedence: Some(100),
                outer_removal: (!from_network).then_some(0),
                pdi: Some(Pdi {
                    source,
                    tunnel,
                    ue: Some(UeIp {
                        v4: Some(ue.address),
                        destination: from_network,
                        ..UeIp::default()
                    }),
                    ..Pdi::default()
                }),
                far: Some(u32::from(id)),
                qers: vec![1],
                ..Pdr::default()
            })
        };
        let far = |id, to, outer| Element::CreateFar(Far::forward(id, to, outer));
        let choose = FTeid::Choose {
            v4: true,
            v6: false,
            id: None,
        };
        let elements = [
            Element::NodeId(NodeId::V4(self.own)),
            Element::FSeid(FSeid {
                seid: self.sessions.len() as u64 + 1,
                v4: Some(self.own),
                v6: None,
            }),
            pdr(1, interface::ACCESS, Some(choose)),
            pdr(2, interface::CORE, None),
            far(1, interface::CORE, None),
            far(
                2,
                interface::ACCESS,
                Some(OuterHeader::gtpu(ue.downlink, ue.gnb)),
            ),
            Element::CreateQer(Qer {
                id: 1,
                gates: Some(Gates {
                    up: true,
                    down: true,
                }),
                qfi: Some(ue.qfi),
                ..Qer::default()
            }),
        ];
        // TS 29.244, 7.2.2.4.2: 0 where the receiver's endpoint is not known yet.
        let (mut seid, mut uplink) = (None, None);
        self.request(
            Kind::SessionEstablishmentRequest,
            Some(0),
            &elements,
            |e| match e {
                Element::FSeid(f) => seid = Some(f.seid),
                Element::CreatedPdr(created) => {
                    if let Some(FTeid::Given { teid, .. }) = created.tunnel {
                        uplink = Some(teid);
                    }
                }
                _ => {}
            },
        )?;
        let (Some(seid), Some(uplink)) = (seid, uplink) else {
            return Err(LiveError::Usage(
                "the user plane function accepted a session and named no tunnel".to_owned(),
            ));
        };
        self.sessions.push(seid);
        Ok(uplink)
    }

    /// Answers heartbeats until `ended`, then deletes the sessions and releases the association.
    ///
    /// # Errors
    /// Where the function does not answer or refuses.
    pub(super) fn attend(mut self, ended: &Arc<AtomicBool>) -> Result<(), LiveError> {
        let mut buffer = [0; MESSAGE];
        while !ended.load(Ordering::Relaxed) {
            if let Some(n) = self.receive(&mut buffer, LOOK)? {
                self.answer(&buffer[..n])?;
            }
        }
        for seid in core::mem::take(&mut self.sessions) {
            self.request(Kind::SessionDeletionRequest, Some(seid), &[], |_| ())?;
        }
        let elements = [Element::NodeId(NodeId::V4(self.own))];
        self.request(Kind::AssociationReleaseRequest, None, &elements, |_| ())
    }

    /// Sends a request until it is answered; `each` gets the elements of the answer.
    fn request(
        &mut self,
        kind: Kind,
        seid: Option<u64>,
        elements: &[Element<'_>],
        mut each: impl FnMut(&Element<'_>),
    ) -> Result<(), LiveError> {
        self.seq = (self.seq + 1) & 0x00ff_ffff;
        let header = Header {
            kind,
            seid,
            seq: self.seq,
            priority: None,
        };
        let mut buffer = [0; MESSAGE];
        for _ in 0..N1 {
            self.send(header, elements)?;
            while let Some(n) = self.receive(&mut buffer, T1)? {
                let answers = |m: &Message<'_>| {
                    m.header.seq == self.seq && m.header.kind.octet() == kind.octet() + 1
                };
                let Ok(message) = Message::parse(&buffer[..n]) else {
                    continue;
                };
                if !answers(&message) {
                    self.answer(&buffer[..n])?;
                    continue;
                }
                for element in message.elements().flatten() {
                    match element {
                        Element::Cause(c) if c != cause::ACCEPTED => {
                            return Err(LiveError::Usage(format!(
                                "the user plane function refused {kind:?} with cause {c}"
                            )));
                        }
                        other => each(&other),
                    }
                }
                return Ok(());
            }
        }
        Err(LiveError::Usage(format!(
            "the user plane function at {} did not answer {kind:?}",
            self.upf
        )))
    }

    /// Answers a heartbeat or a report; anything else is let be.
    fn answer(&self, bytes: &[u8]) -> Result<(), LiveError> {
        let Ok(message) = Message::parse(bytes) else {
            return Ok(());
        };
        let header = Header {
            priority: None,
            ..message.header
        };
        match message.header.kind {
            Kind::HeartbeatRequest => {
                let kind = Kind::HeartbeatResponse;
                self.send(Header { kind, ..header }, &[Element::Recovery(1)])
            }
            Kind::SessionReportRequest => {
                let kind = Kind::SessionReportResponse;
                self.send(
                    Header { kind, ..header },
                    &[Element::Cause(cause::ACCEPTED)],
                )
            }
            _ => Ok(()),
        }
    }

    fn send(&self, header: Header, elements: &[Element<'_>]) -> Result<(), LiveError> {
        let mut out = [0; MESSAGE];
        let n = header
            .write(elements, &mut out)
            .map_err(|e| LiveError::Usage(format!("PFCP: {e}")))?;
        self.socket
            .send_to(&out[..n], self.upf)
            .map(|_| ())
            .map_err(|e| LiveError::kernel(format!("cannot send PFCP to {}", self.upf), e))
    }

    /// The octets of the next message from the function, where one comes in time.
    fn receive(&self, buffer: &mut [u8], patience: Duration) -> Result<Option<usize>, LiveError> {
        let gone = |e| LiveError::kernel("the socket of N4 is gone", e);
        self.socket.set_read_timeout(Some(patience)).map_err(gone)?;
        match self.socket.recv_from(buffer) {
            Ok((n, from)) if from == self.upf => Ok(Some(n)),
            Ok(_) => Ok(None),
            Err(e)
                if matches!(
                    e.kind(),
                    ErrorKind::WouldBlock
                        | ErrorKind::TimedOut
                        | ErrorKind::Interrupted
                        | ErrorKind::ConnectionRefused
                ) =>
            {
                Ok(None)
            }
            Err(e) => Err(gone(e)),
        }
    }
}
