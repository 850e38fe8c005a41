//! A certificate of the server's own, made when it starts, and clients that know it by its fingerprint or trust anyone.

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use ::quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::PublicKeyData as _;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{CertificateError, DigitallySignedStruct, Error, SignatureScheme};

use super::serve::http;
use super::{ALPN, provider, usage};
use crate::LiveError;

fn digest(bytes: &[u8]) -> [u8; 32] {
    let digest = ring::digest::digest(&ring::digest::SHA256, bytes);
    let bytes = digest.as_ref().try_into();
    bytes.expect("SHA-256 has 32 bytes")
}

/// SHA-256 of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Fingerprint([u8; 32]);

impl Fingerprint {
    fn of(certificate: &[u8]) -> Self {
        Self(digest(certificate))
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl FromStr for Fingerprint {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let digits: Option<Vec<u8>> = text
            .chars()
            .filter(|c| *c != ':')
            .map(|c| c.to_digit(16).map(|d| d as u8))
            .collect();
        let digits = digits.filter(|d| d.len() == 64);
        let digits = digits.ok_or("expected 64 hexadecimal digits")?;
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = pair[0] << 4 | pair[1];
        }
        Ok(Self(bytes))
    }
}

/// SHA-256 of a public key with its kind (`SubjectPublicKeyInfo`; RFC 7469, 2.4), which Chromium takes in base64.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyHash([u8; 32]);

impl fmt::Display for KeyHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const DIGITS: &[u8; 64] =
            b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
        // RFC 4648, 4: three bytes are four digits, and two of the 32 are left.
        for group in self.0.chunks(3) {
            let bits = group
                .iter()
                .fold(0, |bits, byte| bits << 8 | u32::from(*byte));
            let bits = bits << (8 * (3 - group.len()));
            for digit in 0..=group.len() {
                let at = bits >> (18 - 6 * digit) & 0x3f;
                f.write_str(char::from(DIGITS[at as usize]).encode_utf8(&mut [0; 4]))?;
            }
        }
        f.write_str("=")
    }
}

/// The server's certificate.
#[derive(Clone)]
pub struct Identity {
    crypto: Arc<QuicServerConfig>,
    fingerprint: Fingerprint,
    key: KeyHash,
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.fingerprint).finish()
    }
}

impl Identity {
    /// A new key, and a certificate that it signs itself.
    ///
    /// # Errors
    /// Where the machine has no random numbers.
    pub fn new() -> Result<Self, LiveError> {
        let wrong = |e: &dyn fmt::Display| usage(format!("cannot make a certificate: {e}"));
        let made = rcgen::generate_simple_self_signed(vec!["slackwater".to_owned()])
            .map_err(|e| wrong(&e))?;
        let certificate = made.cert.der().clone();
        let fingerprint = Fingerprint::of(&certificate);
        let public = digest(&made.signing_key.subject_public_key_info());
        let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
        let mut tls = rustls::ServerConfig::builder_with_provider(provider())
            .with_protocol_versions(&[&rustls::version::TLS13])
            .and_then(|b| {
                b.with_no_client_auth()
                    .with_single_cert(vec![certificate], key.into())
            })
            .map_err(|e| wrong(&e))?;
        tls.alpn_protocols = vec![ALPN.to_vec(), http::ALPN.to_vec()];
        let crypto = QuicServerConfig::try_from(tls).map_err(|e| wrong(&e))?;
        Ok(Self {
            crypto: Arc::new(crypto),
            fingerprint,
            key: KeyHash(public),
        })
    }

    pub(super) fn crypto(&self) -> Arc<QuicServerConfig> {
        Arc::clone(&self.crypto)
    }

    /// By what a client knows it.
    pub const fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// By what Chromium knows it.
    pub const fn key(&self) -> KeyHash {
        self.key
    }
}

/// A client's side of `protocol`; without a fingerprint any certificate will do.
pub(super) fn client(
    wanted: Option<Fingerprint>,
    protocol: &[u8],
) -> Result<Arc<QuicClientConfig>, LiveError> {
    let wrong = |e: &dyn fmt::Display| usage(format!("cannot set TLS up: {e}"));
    let provider = provider();
    let check = Arc::new(Check {
        wanted,
        provider: Arc::clone(&provider),
    });
    let mut tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&rustls::version::TLS13])
        .map_err(|e| wrong(&e))?
        .dangerous()
        .with_custom_certificate_verifier(check)
        .with_no_client_auth();
    tls.alpn_protocols = vec![protocol.to_vec()];
    let crypto = QuicClientConfig::try_from(tls).map_err(|e| wrong(&e))?;
    Ok(Arc::new(crypto))
}

/// Takes the certificate of the fingerprint; names and dates are not looked at.
#[derive(Debug)]
struct Check {
    wanted: Option<Fingerprint>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Check {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let found = Fingerprint::of(certificate);
        if self.wanted.is_none_or(|w| w == found) {
            Ok(ServerCertVerified::assertion())
        } else {
            let why = CertificateError::ApplicationVerificationFailure;
            Err(Error::InvalidCertificate(why))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signed, known)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let known = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signed, known)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The value of RFC 4648, 10 ("fo") behind thirty zeros, which are forty digits.
    #[test]
    fn a_key_is_shown_in_base64() {
        let mut bytes = [0; 32];
        bytes[30..].copy_from_slice(b"fo");
        assert_eq!(
            KeyHash(bytes).to_string(),
            format!("{}Zm8=", "A".repeat(40))
        );
        assert_eq!(
            KeyHash([0xff; 32]).to_string(),
            format!("{}8=", "/".repeat(42))
        );
    }
}
