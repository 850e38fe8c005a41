//! What comes and goes leaves nothing behind: the octets that a thread holds after so many connections and sessions, and after four
//! times as many, in virtual time.

#![expect(
    unsafe_code,
    reason = "an allocator that counts is one, and hands every call on as it came"
)]
#![expect(clippy::print_stdout, reason = "the figures are for reading")]

mod emulator;
mod upf;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Octets that this thread asked for and did not give back.
    static LIVE: Cell<isize> = const { Cell::new(0) };
}

struct Counting;

// SAFETY: each call goes to the system's allocator with the arguments that came.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        LIVE.set(LIVE.get() + layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        LIVE.set(LIVE.get() - layout.size() as isize);
        // SAFETY: as above.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Octets that this thread holds.
fn live() -> isize {
    LIVE.get()
}
