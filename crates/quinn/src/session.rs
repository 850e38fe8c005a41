//! A cryptographic session whose acknowledgments are heard.
//!
//! quinn checks the counts of ECN in an ACK frame and tells a controller that there was a mark, not how many. Its
//! cryptography is a trait, and what a key decrypts is the packet's frames in the clear: [`client`] and [`server`] wrap the
//! configuration of any session, rustls' too, with keys that read them ([`crate::ecn`]).
//!
//! By the same keys it is known how much leaves. Of some packets quinn tells no controller: of its probes of the path's MTU.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use quinn_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey,
    ServerConfig, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectError, ConnectionId, Side, TransportError};

use crate::control::Shared;
use crate::ecn;

/// The session that `inner` configures, heard by `shared`: for one connection of a client.
pub fn client(inner: Arc<dyn ClientConfig>, shared: Shared) -> Arc<dyn ClientConfig> {
    Arc::new(Client { inner, shared })
}

/// The session that `inner` configures, heard by `shared`: for one connection of a server, which takes a
/// `quinn_proto::ServerConfig` with it (`Endpoint::accept`, `Incoming::accept_with`).
pub fn server(inner: Arc<dyn ServerConfig>, shared: Shared) -> Arc<dyn ServerConfig> {
    Arc::new(Server { inner, shared })
}

struct Client {
    inner: Arc<dyn ClientConfig>,
    shared: Shared,
}

impl ClientConfig for Client {
    fn start_session(
        self: Arc<Self>,
        version: u32,
        name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        let inner = Arc::clone(&self.inner).start_session(version, name, params)?;
        let shared = self.shared.clone();
        Ok(Box::new(Heard { inner, shared }))
    }
}

struct Server {
    inner: Arc<dyn ServerConfig>,
    shared: Shared,
}

impl ServerConfig for Server {
    fn initial_keys(&self, version: u32, id: &ConnectionId) -> Result<Keys, UnsupportedVersion> {
        let keys = self.inner.initial_keys(version, id)?;
        Ok(heard(keys, &self.shared))
    }
    fn retry_tag(&self, version: u32, id: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, id, packet)
    }
    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        let inner = Arc::clone(&self.inner).start_session(version, params);
        let shared = self.shared.clone();
        Box::new(Heard { inner, shared })
    }
}

struct Heard {
    inner: Box<dyn Session>,
    shared: Shared,
}

fn heard(mut keys: Keys, shared: &Shared) -> Keys {
    keys.packet = pair(keys.packet, shared);
    keys
}

fn pair(keys: KeyPair<Box<dyn PacketKey>>, shared: &Shared) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair {
        local: key(keys.local, shared),
        remote: key(keys.remote, shared),
    }
}

fn key(inner: Box<dyn PacketKey>, shared: &Shared) -> Box<dyn PacketKey> {
    let shared = shared.clone();
    Box::new(HeardKey { inner, shared })
}

impl Session for Heard {
    fn initial_keys(&self, id: &ConnectionId, side: Side) -> Keys {
        heard(self.inner.initial_keys(id, side), &self.shared)
    }
    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }
    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }
    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        // Packets of 0-RTT hold no acknowledgments (RFC 9000, 12.4).
        self.inner.early_crypto()
    }
    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }
    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }
    fn read_handshake(&mut self, bytes: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(bytes)
    }
    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }
    fn write_handshake(&mut self, out: &mut Vec<u8>) -> Option<Keys> {
        let keys = self.inner.write_handshake(out)?;
        Some(heard(keys, &self.shared))
    }
    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let keys = self.inner.next_1rtt_keys()?;
        Some(pair(keys, &self.shared))
    }
    fn is_valid_retry(&self, id: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(id, header, payload)
    }
    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

struct HeardKey {
    inner: Box<dyn PacketKey>,
    shared: Shared,
}

impl PacketKey for HeardKey {
    fn encrypt(&self, packet: u64, bytes: &mut [u8], header: usize) {
        self.inner.encrypt(packet, bytes, header);
        self.shared.get().on_encrypted(bytes.len() as u64);
    }
    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)?;
        let mut state = self.shared.get();
        let swap = state.sends_ect1();
        // Each number space has counts of its own (RFC 9000, 19.3.2); the handshake's packets are few, and a long header
        // tells them (RFC 9000, 17.2).
        let data = header.first().is_some_and(|first| first & 0x80 == 0);
        ecn::read(payload, swap, |counts| {
            if data {
                state.on_counts(counts);
            }
        });
        Ok(())
    }
    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }
    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }
    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}
