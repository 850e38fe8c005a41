//! Files that others may have written: none is read without a bound.

use std::fs::{self, File};
use std::io::{self, ErrorKind, Read as _};
use std::path::Path;

/// The largest text that somebody wrote by hand: a scenario, a configuration.
pub const DOCUMENT: usize = 16 << 20;
/// The largest table of results that is read whole.
pub const RESULTS: usize = 256 << 20;

/// The whole of the file at `path`, where it is a regular file of at most `limit` bytes: a pipe could block for ever, and a
/// device need not end.
///
/// # Errors
/// As the system says, and where it is no regular file ([`ErrorKind::InvalidInput`]) or a larger one
/// ([`ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    // Before it is opened: to open a pipe may block.
    let meta = fs::metadata(path)?;
    if meta.is_file() {
        return at_most(path, limit);
    }
    let found = if meta.is_dir() {
        "a folder"
    } else {
        "a pipe or a device"
    };
    Err(io::Error::new(ErrorKind::InvalidInput, found))
}

/// A text of at most [`DOCUMENT`] bytes, from a pipe too: `slackwater run <(make-one)`.
///
/// # Errors
/// As the system says, where it is longer ([`ErrorKind::FileTooLarge`]), and where it is no UTF-8 ([`ErrorKind::InvalidData`]).
pub fn document(path: &Path) -> io::Result<String> {
    let bytes = at_most(path, DOCUMENT)?;
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "bytes that are not UTF-8"))
}

fn at_most(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?
        .take(limit as u64 + 1)
        .read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        let found = format!("a file of more than {} MiB", limit >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, found));
    }
    Ok(bytes)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_end_or_is_too_large_is_refused() {
        let kind = |path: &str| read(Path::new(path), 100).map_err(|e| e.kind());
        assert_eq!(kind("/dev/zero"), Err(ErrorKind::InvalidInput));
        assert_eq!(kind("/"), Err(ErrorKind::InvalidInput));
        assert_eq!(kind("/no/such/file"), Err(ErrorKind::NotFound));
        let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/bounded.rs");
        let of = |limit| read(&own, limit).map(|b| b.len()).map_err(|e| e.kind());
        let len = of(1 << 20).expect("this file");
        assert_eq!(of(len), Ok(len));
        assert_eq!(of(len - 1), Err(ErrorKind::FileTooLarge));
        // A document may come from a device or a pipe, and ends at its bound all the same.
        let kind = |path: &str| document(Path::new(path)).map_err(|e| e.kind());
        assert_eq!(kind("/dev/zero"), Err(ErrorKind::FileTooLarge));
        assert_eq!(kind("/dev/null"), Ok(String::new()));
    }
}
