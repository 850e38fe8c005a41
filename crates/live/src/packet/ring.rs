//! The ring of slots that the kernel and this process share (packet(7), `TPACKET_V2`).
//!
//! A slot has one owner at a time, named by the status word at its start. The kernel writes that word last, and this process gives the
//! slot back by it. The tests run under Miri too (`.ci/miri`), with a thread in the kernel's place.
#![expect(
    unsafe_code,
    reason = "the ring is memory that the kernel writes: each slot is read only while its status word says that it is ours"
)]

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use crate::emulate::frame::HEADER;

/// Where the kernel puts an address behind the head of a slot (`linux/if_packet.h`, `TPACKET2_HDRLEN`).
const ADDRESS_AT: usize = 32;
/// Octets of a slot before the network header at most: head, address, room for a hardware header, virtio header, alignment.
pub(super) const SLOT_FRONT: usize = 128;

/// The slots, and which of them is filled next.
#[derive(Debug)]
pub(super) struct Ring {
    /// The first slot.
    start: *mut u8,
    /// Octets of a slot.
    slot: usize,
    /// How many there are.
    slots: usize,
    /// The slot that is filled next.
    next: usize,
}

// SAFETY: one value alone reads the slots, and it takes `&mut self` to do so.
unsafe impl Send for Ring {}

/// A frame that the kernel has filled in.
#[derive(Debug)]
pub(super) struct Taken<'a> {
    /// It is to this host, and of no VLAN.
    pub(super) ours: bool,
    /// When the kernel had it: seconds and nanoseconds since 1970.
    pub(super) at: (u32, u32),
    /// What it holds.
    pub(super) octets: Octets<'a>,
}

/// What a slot holds of its frame.
#[derive(Debug)]
pub(super) enum Octets<'a> {
    /// All of it, from its virtio header on.
    Whole(&'a [u8]),
    /// A part: the frame is lost.
    Cut,
    /// The frame did not fit, and waits whole in the socket's queue.
    Queued,
}

impl Ring {
    /// `slots` slots of `slot` octets each from `start` on.
    ///
    /// # Safety
    /// That memory outlives this value and is aligned to 16 octets. Others write it by the rules of packet(7) alone: they touch a slot
    /// only while its status is `TP_STATUS_KERNEL`, and set it to `TP_STATUS_USER` with release ordering.
    pub(super) const unsafe fn over(start: *mut u8, slot: usize, slots: usize) -> Self {
        Self {
            start,
            slot,
            slots,
            next: 0,
        }
    }

    /// Hands the next frame to `each` and gives its slot back; false where none waits.
    #[expect(
        clippy::cast_ptr_alignment,
        reason = "the kernel aligns slots to 16 octets (linux/if_packet.h, TPACKET_ALIGNMENT)"
    )]
    pub(super) fn read(&mut self, each: impl FnOnce(Taken<'_>)) -> bool {
        let slot = self.start.wrapping_add(self.next * self.slot);
        // SAFETY: the slot lies in the memory of `over`, and begins with its status.
        let status = unsafe { AtomicU32::from_ptr(slot.cast()) };
        let found = status.load(Ordering::Acquire);
        if found & libc::TP_STATUS_USER == 0 {
            return false;
        }
        self.next = (self.next + 1) % self.slots;
        self.fetch_next();

        // The status word is left out of what is read: it alone is shared.
        // SAFETY: nobody else touches the slot until its status is given back below.
        let (length, whole, mac, at, kind, rest) = unsafe {
            let head = slot.cast::<libc::tpacket2_hdr>();
            let length = (&raw const (*head).tp_snaplen).read() as usize;
            let whole = (&raw const (*head).tp_len).read() as usize == length;
            let mac = usize::from((&raw const (*head).tp_mac).read());
            let at = (
                (&raw const (*head).tp_sec).read(),
                (&raw const (*head).tp_nsec).read(),
            );
            let kind = ptr::read(slot.add(ADDRESS_AT).cast::<libc::sockaddr_ll>()).sll_pkttype;
            let rest = slot.add(STATUS).cast_const();
            (
                length,
                whole,
                mac,
                at,
                kind,
                std::slice::from_raw_parts(rest, self.slot - STATUS),
            )
        };
        let octets = if found & libc::TP_STATUS_COPY != 0 {
            Octets::Queued
        } else {
            let from = mac.saturating_sub(HEADER + STATUS);
            match rest.get(from..(mac + length).saturating_sub(STATUS)) {
                Some(octets) if whole => Octets::Whole(octets),
                _ => Octets::Cut,
            }
        };
        each(Taken {
            ours: kind == libc::PACKET_HOST && found & libc::TP_STATUS_VLAN_VALID == 0,
            at,
            octets,
        });

        status.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        true
    }

    /// Asks the cache for the next frame while this one is looked at: another core has written it, and a copy would wait for
    /// each of its lines.
    #[cfg_attr(
        all(target_arch = "x86_64", not(miri)),
        expect(
            clippy::cast_ptr_alignment,
            reason = "the kernel aligns slots to 16 octets (linux/if_packet.h, TPACKET_ALIGNMENT)"
        )
    )]
    fn fetch_next(&self) {
        // Miri knows no cache.
        #[cfg(all(target_arch = "x86_64", not(miri)))]
        {
            use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            /// Octets of a line of the cache.
            const LINE: usize = 64;
            let slot = self.start.wrapping_add(self.next * self.slot);
            // SAFETY: the slot begins with its status, as in `read`. What is fetched lies in the slot, and a prefetch reads
            // nothing that the program sees.
            unsafe {
                let status = AtomicU32::from_ptr(slot.cast()).load(Ordering::Acquire);
                if status & libc::TP_STATUS_USER == 0 {
                    return;
                }
                let head = slot.cast::<libc::tpacket2_hdr>();
                let length = (&raw const (*head).tp_snaplen).read() as usize;
                let end = (SLOT_FRONT + length).min(self.slot);
                for at in (0..end).step_by(LINE) {
                    _mm_prefetch::<_MM_HINT_T0>(slot.wrapping_add(at).cast());
                }
            }
        }
    }
}

/// Octets of the status word.
const STATUS: usize = size_of::<u32>();

#[cfg(test)]
#[expect(
    clippy::cast_ptr_alignment,
    reason = "the memory and its slots are aligned to 16 octets"
)]
mod tests {
    use super::*;

    /// Octets of a slot and slots of the tests' rings.
    const SLOT: usize = 256;
    const SLOTS: usize = 4;
    /// Where the kernel puts the Ethernet header.
    const MAC: usize = 80;

    /// Memory of a ring, aligned as the kernel's, which two threads reach.
    struct Memory(*mut u8);

    // SAFETY: who owns a slot follows from its status.
    unsafe impl Sync for Memory {}

    impl Memory {
        fn new() -> Self {
            let octets = vec![0_u128; SLOT * SLOTS / size_of::<u128>()];
            Self(Box::leak(octets.into_boxed_slice()).as_mut_ptr().cast())
        }

        fn ring(&self) -> Ring {
            // SAFETY: the memory is leaked until `drop`, which comes after the ring's; `fill` keeps the rules.
            unsafe { Ring::over(self.0, SLOT, SLOTS) }
        }

        fn status(&self, k: usize) -> &AtomicU32 {
            // SAFETY: slot `k` lies in the memory and begins with its status.
            unsafe { AtomicU32::from_ptr(self.0.add(k % SLOTS * SLOT).cast()) }
        }

        /// Fills slot `k` as the kernel does, with a frame whose octets are all `value`, of which `lost` are missing.
        fn fill(&self, k: usize, value: u8, length: usize, lost: usize, flags: u32) {
            assert_eq!(
                self.status(k).load(Ordering::Acquire),
                libc::TP_STATUS_KERNEL
            );
            // SAFETY: the status says that the slot is the writer's.
            unsafe {
                let slot = self.0.add(k % SLOTS * SLOT);
                let head = slot.cast::<libc::tpacket2_hdr>();
                (&raw mut (*head).tp_len).write((length + lost) as u32);
                (&raw mut (*head).tp_snaplen).write(length as u32);
                (&raw mut (*head).tp_mac).write(MAC as u16);
                (&raw mut (*head).tp_sec).write(k as u32);
                (&raw mut (*head).tp_nsec).write(7);
                let address = slot.add(ADDRESS_AT).cast::<libc::sockaddr_ll>();
                (&raw mut (*address).sll_pkttype).write(libc::PACKET_HOST);
                let front = slot.add(MAC - HEADER);
                ptr::write_bytes(front, value, (HEADER + length).min(SLOT - (MAC - HEADER)));
            }
            self.status(k)
                .store(libc::TP_STATUS_USER | flags, Ordering::Release);
        }
    }

    impl Drop for Memory {
        fn drop(&mut self) {
            let octets = ptr::slice_from_raw_parts_mut(
                self.0.cast::<u128>(),
                SLOT * SLOTS / size_of::<u128>(),
            );
            // SAFETY: `new` leaked this slice, and rings over it are gone.
            drop(unsafe { Box::from_raw(octets) });
        }
    }

    /// A thread in the kernel's place fills slots while this one reads: each frame comes once, whole and in order.
    #[test]
    fn frames_of_another_thread_come_whole_and_in_order() {
        let count = if cfg!(miri) { 40 } else { 20_000 };
        let memory = Memory::new();
        let mut ring = memory.ring();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for k in 0..count {
                    while memory.status(k).load(Ordering::Acquire) != libc::TP_STATUS_KERNEL {
                        std::thread::yield_now();
                    }
                    memory.fill(k, k as u8, 20 + k % 100, 0, 0);
                }
            });
            for k in 0..count {
                let mut found = None;
                while !ring.read(|taken| {
                    let Octets::Whole(octets) = taken.octets else {
                        panic!("{taken:?}");
                    };
                    found = Some((taken.ours, taken.at, octets.to_vec()));
                }) {
                    std::thread::yield_now();
                }
                let expected = vec![k as u8; HEADER + 20 + k % 100];
                assert_eq!(found, Some((true, (k as u32, 7), expected)));
            }
        });
        assert!(!ring.read(|taken| panic!("{taken:?}")));
    }

    /// A cut frame, one that waits elsewhere, and one whose length no slot has: each says so, and its slot goes back.
    #[test]
    fn what_is_not_whole_says_so() {
        let memory = Memory::new();
        let mut ring = memory.ring();
        memory.fill(0, 1, 60, 1, 0);
        memory.fill(1, 2, 60, 0, libc::TP_STATUS_COPY);
        memory.fill(2, 3, SLOT, 0, 0);
        memory.fill(3, 4, 60, 0, libc::TP_STATUS_VLAN_VALID);
        let mut said = Vec::new();
        while ring.read(|taken| said.push((taken.ours, format!("{:?}", taken.octets)))) {}
        let said: Vec<_> = said
            .iter()
            .map(|(ours, what)| (*ours, &what[..3]))
            .collect();
        assert_eq!(
            said,
            [(true, "Cut"), (true, "Que"), (true, "Cut"), (false, "Who")]
        );
        for k in 0..SLOTS {
            assert_eq!(
                memory.status(k).load(Ordering::Acquire),
                libc::TP_STATUS_KERNEL
            );
        }
    }
}
