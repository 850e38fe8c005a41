//! Control of real-time media: the rate of an encoder, from reports about each packet.

pub mod feedback;
