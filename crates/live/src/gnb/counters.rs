//! What is counted at N3.

/// What came over N3 and left by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Users' packets, down and up.
    pub packets: [u64; 2],
    /// Octets of these.
    pub octets: [u64; 2],
    /// Datagrams that are no GTP-U.
    pub malformed: u64,
    /// Packets for a tunnel that is not there.
    pub unknown_teid: u64,
    /// Packets of a `QoS` flow that the UE does not have; they take its first.
    pub unknown_qfi: u64,
    /// Packets without a PDU session container; they take the UE's first `QoS` flow.
    pub without_container: u64,
    /// Messages with an extension header that must be understood and is not.
    pub not_understood: u64,
    /// End markers (TS 29.281, 7.3.2).
    pub end_markers: u64,
    /// Echo requests, and responses to ours.
    pub echoes: [u64; 2],
    /// Error indications, sent and received.
    pub error_indications: [u64; 2],
    /// Notifications of supported extension headers, sent and received.
    pub notifications: [u64; 2],
    /// Error indications and notifications that were held back: too many.
    pub held_back: u64,
    /// Messages of other kinds.
    pub others: u64,
    /// Packets whose outer header said congestion where the user's could not (RFC 6040, 4.2): dropped.
    pub dropped_ce: u64,
    /// Packets of UEs beyond what the length field holds: dropped.
    pub beyond: u64,
    /// Answers to stamps of the user plane function.
    pub answers: u64,
    /// Packets without a user's packet, for a container alone.
    pub empty: u64,
}
