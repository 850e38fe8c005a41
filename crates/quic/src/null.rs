//! A cryptographic session without cryptography: the messages of TLS 1.3 by their lengths, keys that change nothing.
//!
//! It is for simulation only: nothing is secret, nothing is authentic. What costs time or draws random numbers in a real
//! session is left out; what the path and the peer notice is there: the lengths of the handshake's messages, the 16 bytes
//! that an AEAD adds, the levels at which keys become known.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    self, AeadKey, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey,
    KeyPair, Keys, PacketKey, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};
use slackwater_core::Draw;

/// A `ClientHello` with its usual extensions, in bytes.
const CLIENT_HELLO: usize = 290;
/// A `ServerHello`.
const SERVER_HELLO: usize = 90;
/// A `Finished` (RFC 8446, 4.4.4, with SHA-256).
const FINISHED: usize = 36;
/// The AEAD's tag.
const TAG: usize = 16;
/// A message is its length in two bytes and the encoded transport parameters, padded.
const PREFIX: usize = 2;

/// Configures either side.
#[derive(Clone, Copy, Debug)]
pub struct Null {
    /// Bytes of the server's flight after its hello: extensions, certificates, proof.
    pub certificates: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Hello,
    Proof,
    Finish,
    Done,
}

struct NullSession {
    side: Side,
    ours: Vec<u8>,
    theirs: Option<TransportParameters>,
    certificates: usize,
    /// What to write, and what to read, next.
    write: Step,
    read: Step,
    inbox: Vec<u8>,
}

fn message(body: &[u8], least: usize, out: &mut Vec<u8>) {
    let len = least.max(PREFIX + body.len());
    out.extend((len as u16).to_be_bytes());
    out.extend(body);
    out.resize(out.len() + len - PREFIX - body.len(), 0);
}

fn keys() -> Keys {
    Keys {
        header: KeyPair {
            local: Box::new(NoKey),
            remote: Box::new(NoKey),
        },
        packet: KeyPair {
            local: Box::new(NoKey),
            remote: Box::new(NoKey),
        },
    }
}

impl NullSession {
    fn new(side: Side, params: &TransportParameters, null: Null) -> Box<Self> {
        let mut ours = Vec::new();
        params.write(&mut ours);
        Box::new(Self {
            side,
            ours,
            theirs: None,
            certificates: usize::from(null.certificates),
            write: if side.is_client() {
                Step::Hello
            } else {
                // Not before the client's hello was read.
                Step::Done
            },
            read: Step::Hello,
            inbox: Vec::new(),
        })
    }

    /// A whole message was read.
    fn on_message(&mut self, body: &[u8]) -> Result<(), TransportError> {
        let parameters = match (self.side, self.read) {
            (Side::Server, Step::Hello) => {
                (self.read, self.write) = (Step::Finish, Step::Hello);
                true
            }
            (Side::Client, Step::Hello) => {
                (self.read, self.write) = (Step::Proof, Step::Proof);
                false
            }
            (Side::Client, Step::Proof) => {
                (self.read, self.write) = (Step::Done, Step::Finish);
                true
            }
            _ => {
                self.read = Step::Done;
                false
            }
        };
        if parameters {
            let read = TransportParameters::read(self.side, &mut &body[2..]);
            self.theirs = Some(read?);
        }
        Ok(())
    }
}

/// The parameters in a message: their length and they.
fn framed(params: &[u8]) -> Vec<u8> {
    let mut body = (params.len() as u16).to_be_bytes().to_vec();
    body.extend(params);
    body
}

impl Session for NullSession {
    fn initial_keys(&self, _: &ConnectionId, _: Side) -> Keys {
        keys()
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }
    fn early_data_accepted(&self) -> Option<bool> {
        None
    }
    fn is_handshaking(&self) -> bool {
        self.read != Step::Done
    }
    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inbox.extend(buf);
        while let Some(&[a, b]) = self.inbox.get(..PREFIX) {
            let len = usize::from(u16::from_be_bytes([a, b]));
            if self.inbox.len() < len.max(PREFIX) {
                break;
            }
            let body: Vec<u8> = self.inbox.drain(..len.max(PREFIX)).skip(PREFIX).collect();
            let held = match body.get(..2) {
                Some(&[a, b]) => usize::from(u16::from_be_bytes([a, b])),
                _ => 0,
            };
            self.on_message(&body[..body.len().min(2 + held)])?;
        }
        Ok(false)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.theirs)
    }
    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        match (self.side, self.write) {
            (Side::Client, Step::Hello) => {
                self.write = Step::Done;
                message(&framed(&self.ours), CLIENT_HELLO, buf);
                None
            }
            (Side::Server, Step::Hello) => {
                self.write = Step::Proof;
                message(&[], SERVER_HELLO, buf);
                Some(keys())
            }
            (Side::Server, Step::Proof) => {
                self.write = Step::Done;
                message(&framed(&self.ours), self.certificates, buf);
                Some(keys())
            }
            (Side::Client, Step::Proof) => {
                // The server's hello was read: the next level's keys are known.
                self.write = Step::Done;
                Some(keys())
            }
            (Side::Client, Step::Finish) => {
                self.write = Step::Done;
                message(&[], FINISHED, buf);
                Some(keys())
            }
            _ => None,
        }
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(keys().packet)
    }
    fn is_valid_retry(&self, _: &ConnectionId, _: &[u8], _: &[u8]) -> bool {
        true
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        _: &[u8],
        _: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        output.fill(0);
        Ok(())
    }
}

impl crypto::ClientConfig for Null {
    fn start_session(
        self: Arc<Self>,
        _: u32,
        _: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(NullSession::new(Side::Client, params, *self))
    }
}

impl crypto::ServerConfig for Null {
    fn initial_keys(&self, _: u32, _: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }
    fn retry_tag(&self, _: u32, _: &ConnectionId, _: &[u8]) -> [u8; 16] {
        [0; 16]
    }
    fn start_session(self: Arc<Self>, _: u32, params: &TransportParameters) -> Box<dyn Session> {
        NullSession::new(Side::Server, params, *self)
    }
}

/// A key that leaves everything as it is.
struct NoKey;

impl PacketKey for NoKey {
    fn encrypt(&self, _: u64, _: &mut [u8], _: usize) {}
    fn decrypt(&self, _: u64, _: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
        let len = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(len);
        Ok(())
    }
    fn tag_len(&self) -> usize {
        TAG
    }
    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }
    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl HeaderKey for NoKey {
    fn decrypt(&self, _: usize, _: &mut [u8]) {}
    fn encrypt(&self, _: usize, _: &mut [u8]) {}
    fn sample_size(&self) -> usize {
        TAG
    }
}

/// Reset tokens: a keyed function of the connection ID.
pub(crate) struct ResetKey(pub(crate) Draw);

impl HmacKey for ResetKey {
    fn sign(&self, data: &[u8], out: &mut [u8]) {
        let key = data
            .chunks(8)
            .fold(self.0, |draw, c| draw.fork(c.len() as u64, word(c)));
        for (i, cell) in out.chunks_mut(8).enumerate() {
            let bits = key.bits(i as u64).to_be_bytes();
            cell.copy_from_slice(&bits[..cell.len()]);
        }
    }
    fn signature_len(&self) -> usize {
        32
    }
    fn verify(&self, data: &[u8], signature: &[u8]) -> Result<(), CryptoError> {
        let mut right = [0; 32];
        self.sign(data, &mut right);
        (signature == right).then_some(()).ok_or(CryptoError)
    }
}

fn word(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |w, b| w << 8 | u64::from(*b))
}

/// Tokens in the clear; none is ever sent.
pub(crate) struct NoTokens;

impl HandshakeTokenKey for NoTokens {
    fn aead_from_hkdf(&self, _: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Self)
    }
}

impl AeadKey for NoTokens {
    fn seal(&self, _: &mut Vec<u8>, _: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
    fn open<'a>(&self, data: &'a mut [u8], _: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}
