//! Memory that is shared with the kernel.
#![expect(
    unsafe_code,
    reason = "a mapping is of the kernel's own memory, which it writes at any time"
)]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};
use std::ptr;
#[cfg(feature = "bpf")]
use std::sync::atomic::{AtomicU64, Ordering};

/// Memory of a socket or of a map, shared with the kernel.
#[derive(Debug)]
pub(crate) struct Mapping {
    /// Its first octet.
    start: *mut u8,
    /// Octets of it.
    length: usize,
    /// It can be written to.
    #[cfg(feature = "bpf")]
    writes: bool,
}

// SAFETY: the mapping is unmapped once, by the owner of this value.
unsafe impl Send for Mapping {}

impl Mapping {
    /// The first `length` octets of what the kernel shares by `fd`.
    ///
    /// # Errors
    /// Where the kernel shares less, or nothing to write to.
    pub(crate) fn of(fd: BorrowedFd<'_>, length: usize, writes: bool) -> io::Result<Self> {
        let write = if writes { libc::PROT_WRITE } else { 0 };
        // SAFETY: a new mapping, at a place that the kernel chooses.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                length,
                libc::PROT_READ | write,
                libc::MAP_SHARED,
                fd.as_raw_fd(),
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Self {
            start: start.cast(),
            length,
            #[cfg(feature = "bpf")]
            writes,
        })
    }

    /// Its first octet, at the start of a page.
    pub(crate) const fn start(&self) -> *mut u8 {
        self.start
    }

    /// Its word `n`, which the kernel may write meanwhile; `None` behind the end.
    #[cfg(feature = "bpf")]
    pub(crate) fn word(&self, n: usize) -> Option<u64> {
        Some(self.place(n)?.load(Ordering::Relaxed))
    }

    /// Writes its word `n`, as a whole and after all that was written before; nothing behind the end.
    #[cfg(feature = "bpf")]
    pub(crate) fn set_word(&self, n: usize, word: u64) {
        assert!(self.writes, "the mapping is for reading alone");
        if let Some(place) = self.place(n) {
            place.store(word, Ordering::Release);
        }
    }

    #[cfg(feature = "bpf")]
    fn place(&self, n: usize) -> Option<&AtomicU64> {
        let at = n.checked_mul(size_of::<u64>())?;
        if at.checked_add(size_of::<u64>())? > self.length {
            return None;
        }
        // SAFETY: eight octets within the mapping, at a multiple of eight from the start of a page, for as long as `self` is borrowed.
        // The kernel writes whole words.
        Some(unsafe { AtomicU64::from_ptr(self.start.add(at).cast()) })
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `start` and `length` are those of the mapping, which nothing refers to any more.
        unsafe { libc::munmap(self.start.cast(), self.length) };
    }
}
