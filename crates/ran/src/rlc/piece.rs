//! What a transport block carries of one bearer.

/// What a transport block carries of one bearer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Index of the bearer in its UE.
    pub bearer: u8,
    /// What it is.
    pub kind: PieceKind,
    /// The PDU's number, or the status report's.
    pub number: u32,
    /// First byte of the stream.
    pub start: u64,
    /// The byte after the last.
    pub end: u64,
    /// The sender requests a status report (AM: the poll bit).
    pub poll: bool,
}

/// What a [`Piece`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Bytes of the stream that go out for the first time.
    New,
    /// Bytes that go out again (AM).
    Again,
    /// A status report about the stream of the other direction (AM).
    Status,
}
