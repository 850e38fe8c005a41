//! Segments of TCP that a user sends in a row leave a port as one super-packet, as a card's receive offload would join them. The kernel
//! takes it by one call and one buffer, and cuts it where the link needs that.

use crate::emulate::frame::HEADER;
use crate::emulate::merge::{self, Run};
use crate::packet::{ETHERNET, FRONT, SENDS};

/// Runs that are open at a time, as in a bucket of the kernel's receive offload (`net/core/gro.c`, `MAX_GRO_SKBS`).
const OPEN: usize = 8;

/// A frame or a part of one: memory, and where in it that begins.
pub(super) type Part = (Vec<u8>, usize);

#[derive(Debug)]
struct Open {
    run: Run,
    /// The first begins with [`FRONT`], each other with its payload.
    parts: Vec<Part>,
    /// The first was looked at and is sound.
    sound: bool,
}

impl Open {
    fn first(&self) -> &[u8] {
        self.parts
            .first()
            .map_or(&[], |(memory, start)| &memory[start + FRONT..])
    }
}

/// Joins what leaves in one turn.
#[derive(Debug, Default)]
pub(super) struct Joiner {
    open: Vec<Open>,
    /// Empty lists.
    spare: Vec<Vec<Part>>,
}

impl Joiner {
    /// Takes a frame of an IP packet behind its [`FRONT`]; `send` gets the parts of what cannot grow any more, and how many packets
    /// they are. Packets between two addresses stay in order. One longer than `mtu` stays alone: the kernel refuses it.
    pub(super) fn push(
        &mut self,
        frame: Part,
        mtu: usize,
        send: &mut impl FnMut(&mut Vec<Part>, u32),
    ) {
        let (memory, start) = &frame;
        let packet = &memory[start + FRONT..];
        let run = Run::begin(packet).filter(|_| packet.len() <= mtu);
        if run.is_some() {
            for (k, open) in self.open.iter_mut().enumerate() {
                let mut grown = open.run;
                let fits = open.parts.len() < SENDS;
                let Some(head) = grown.append(open.first(), packet).filter(|_| fits) else {
                    continue;
                };
                open.sound = open.sound || merge::sound(open.first());
                if !open.sound || !merge::sound(packet) {
                    break;
                }
                open.run = grown;
                let closed = grown.closed();
                let at = start + FRONT + head;
                open.parts.push((frame.0, at));
                if closed {
                    self.finish(k, send);
                }
                return;
            }
        }
        let same = |open: &Open| addresses(open.first()) == addresses(packet);
        while let Some(k) = self.open.iter().position(same) {
            self.finish(k, send);
        }
        let mut parts = self.spare.pop().unwrap_or_default();
        if let Some(run) = run.filter(|run| !run.closed()) {
            if self.open.len() >= OPEN {
                self.finish(0, send);
            }
            parts.push(frame);
            self.open.push(Open {
                run,
                parts,
                sound: false,
            });
        } else {
            parts.push(frame);
            send(&mut parts, 1);
            self.reuse(parts);
        }
    }

    /// Sends what waits.
    pub(super) fn flush(&mut self, send: &mut impl FnMut(&mut Vec<Part>, u32)) {
        while !self.open.is_empty() {
            self.finish(0, send);
        }
    }

    fn finish(&mut self, k: usize, send: &mut impl FnMut(&mut Vec<Part>, u32)) {
        let Open { run, mut parts, .. } = self.open.remove(k);
        if let Some((memory, start)) = parts.first_mut() {
            let header = run.finish(&mut memory[*start + FRONT..], ETHERNET);
            memory[*start..][..HEADER].copy_from_slice(&header);
        }
        send(&mut parts, run.segments());
        self.reuse(parts);
    }

    fn reuse(&mut self, mut parts: Vec<Part>) {
        parts.clear();
        if self.spare.len() < OPEN {
            self.spare.push(parts);
        }
    }
}

/// Source and destination of an IP packet.
fn addresses(packet: &[u8]) -> Option<&[u8]> {
    match packet.first()? >> 4 {
        4 => packet.get(12..20),
        6 => packet.get(8..40),
        _ => None,
    }
}

#[cfg(test)]
#[path = "join/tests.rs"]
mod tests;
