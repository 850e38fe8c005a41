//! What comes from devices and sockets goes into the world.

use slackwater_core::Instant;

use super::Drive;
use crate::LiveError;
use crate::emulate::frame;
use crate::emulate::side::Side;

/// Frames read from one device before the world has its turn again.
const BURST: usize = 64;

/// What a look at devices and sockets was.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Looked {
    /// One of them had something.
    pub(super) found: bool,
    /// One of them may have more.
    pub(super) more: bool,
}

impl Looked {
    /// One of them had `count` frames, and [`BURST`] is all that is read at once.
    fn add(&mut self, count: usize) {
        self.found |= count > 0;
        self.more |= count == BURST;
    }
}

impl Drive {
    /// Takes what devices and sockets have, a burst each.
    pub(super) fn read(&mut self, buffer: &mut [u8]) -> Result<Looked, LiveError> {
        let gone = |e| LiveError::kernel("a TUN device is gone", e);
        let mut looked = Looked::default();
        looked.add(self.read_side(buffer)?);
        for ue in 0..self.network.ues.len() {
            let mut count = 0;
            while count < BURST {
                let Some(n) = self.network.ues[ue].read(buffer).map_err(gone)? else {
                    break;
                };
                count += 1;
                let now = self.catch_up();
                let (side, bridge) = (&self.network.side, &mut self.bridge);
                let (reach, out) = (&self.reach, &mut self.out_of_reach);
                let whole = frame::packets(&buffer[..n], |packet| {
                    if let Side::Servers(servers) = side
                        && !reach.lets(servers.plan, &packet)
                    {
                        *out += 1;
                        return;
                    }
                    let place = match side {
                        Side::Servers(_) => ue as u32,
                        Side::N3(n3) => n3.node.classify(now, ue as u32, &packet),
                    };
                    bridge.arrive(now, true, place, packet);
                });
                self.count_malformed(whole);
            }
            looked.add(count);
        }
        Ok(looked)
    }

    /// The same of the network side; how many frames it had, [`BURST`] at most.
    fn read_side(&mut self, buffer: &mut [u8]) -> Result<usize, LiveError> {
        let gone = |e| LiveError::kernel("a TUN device is gone", e);
        for count in 0..BURST {
            let Side::Servers(servers) = &mut self.network.side else {
                return self.read_n3();
            };
            let Some(n) = servers.tun.read(buffer).map_err(gone)? else {
                return Ok(count);
            };
            let now = self.catch_up();
            let whole = match self.ue_of(&buffer[frame::HEADER..n]) {
                Some(ue) => frame::packets(&buffer[..n], |packet| {
                    self.bridge.arrive(now, false, ue, packet);
                }),
                // Multicast of the server side's own kernel: no UE to go to, and nothing wrong with it.
                None => true,
            };
            self.count_malformed(whole);
        }
        Ok(BURST)
    }

    /// The same of N3, where a read may give several datagrams.
    fn read_n3(&mut self) -> Result<usize, LiveError> {
        for count in 0..BURST {
            let now = self.catch_up();
            let (side, bridge) = (&mut self.network.side, &mut self.bridge);
            let Side::N3(n3) = side else {
                return Ok(count);
            };
            let any = n3.read(now, |node, down| {
                if let Some(came) = bridge.arrive(now, false, down.place, down.bytes) {
                    node.entered(down.place, came);
                }
            })?;
            if !any {
                return Ok(count);
            }
        }
        Ok(BURST)
    }

    /// The UE that a server's packet goes to.
    fn ue_of(&self, packet: &[u8]) -> Option<u32> {
        let Side::Servers(servers) = &self.network.side else {
            return None;
        };
        // With one UE everything is its own, emulators behind it included.
        let ue = if self.network.ues.len() == 1 {
            Some(0)
        } else {
            destination(packet).and_then(|a| servers.plan.ue_at(a))
        };
        ue.filter(|u| (*u as usize) < self.network.ues.len())
    }

    /// Runs the world up to now, which it returns.
    fn catch_up(&mut self) -> Instant {
        let now = self.clock.now();
        self.bridge.run_until(now, &mut self.clock);
        now
    }

    fn count_malformed(&mut self, whole: bool) {
        if !whole {
            self.bridge.world.recorder_mut().counters.malformed += 1;
        }
    }
}

/// The destination address of an IP packet.
fn destination(packet: &[u8]) -> Option<&[u8]> {
    match packet.first()? >> 4 {
        4 => packet.get(16..20),
        6 => packet.get(24..40),
        _ => None,
    }
}
