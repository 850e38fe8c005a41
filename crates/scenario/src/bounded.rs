//! Files that others may have written: none is read without a bound.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom};
use std::path::Path;

/// The largest text that somebody wrote by hand: a scenario, a configuration.
pub const DOCUMENT: usize = 16 << 20;
/// The largest table of results that is read whole.
pub const RESULTS: usize = 256 << 20;

/// The file at `path` and its length, where it is a regular file: a pipe could block for ever, and a device need not end.
///
/// # Errors
/// As the system says, and where it is no regular file ([`ErrorKind::InvalidInput`]).
pub fn open(path: &Path) -> io::Result<(File, u64)> {
    let mut options = OpenOptions::new();
    options.read(true);
    // To open a pipe waits for its other end. What was opened is looked at, and not the name, which may be another's by then.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(
        &mut options,
        libc::O_NONBLOCK | libc::O_NOCTTY,
    );
    let file = options.open(path)?;
    let meta = file.metadata()?;
    if meta.is_file() {
        return Ok((file, meta.len()));
    }
    let found = if meta.is_dir() {
        "a folder"
    } else {
        "a pipe or a device"
    };
    Err(io::Error::new(ErrorKind::InvalidInput, found))
}

/// The whole of the file at `path`, where it is a regular file of at most `limit` bytes.
///
/// # Errors
/// As [`open`], and where it is larger ([`ErrorKind::FileTooLarge`]).
pub fn read(path: &Path, limit: usize) -> io::Result<Vec<u8>> {
    let (file, length) = open(path)?;
    if length > limit as u64 {
        return Err(too_large(limit));
    }
    // It may grow meanwhile.
    at_most(file, limit)
}

/// As [`read`], a text.
///
/// # Errors
/// As [`read`], and where it is no UTF-8 ([`ErrorKind::InvalidData`]).
pub fn text(path: &Path, limit: usize) -> io::Result<String> {
    utf8(read(path, limit)?)
}

/// The lines of a regular file without their ends, one at a time; those of more than `longest` bytes are left out.
///
/// # Errors
/// As [`open`]; each line as the system says.
pub fn lines(
    path: &Path,
    longest: usize,
) -> io::Result<impl Iterator<Item = io::Result<Vec<u8>>> + use<>> {
    let mut file = BufReader::new(open(path)?.0);
    let mut next = move || -> io::Result<Option<Vec<u8>>> {
        loop {
            let mut line = Vec::new();
            let room = longest as u64 + 1;
            file.by_ref().take(room).read_until(b'\n', &mut line)?;
            if line.last() == Some(&b'\n') {
                line.pop();
                return Ok(Some(line));
            }
            if line.len() <= longest {
                return Ok(Some(line).filter(|line| !line.is_empty()));
            }
            file.skip_until(b'\n')?;
        }
    };
    Ok(core::iter::from_fn(move || next().transpose()))
}

/// True where the regular file at `path` is empty or ends with `byte`.
///
/// # Errors
/// As [`open`].
pub fn ends_with(path: &Path, byte: u8) -> io::Result<bool> {
    let (mut file, length) = open(path)?;
    if length == 0 {
        return Ok(true);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last[0] == byte)
}

/// A text of at most [`DOCUMENT`] bytes, from a pipe too: `slackwater run <(make-one)`.
///
/// # Errors
/// As the system says, where it is longer ([`ErrorKind::FileTooLarge`]), and where it is no UTF-8 ([`ErrorKind::InvalidData`]).
pub fn document(path: &Path) -> io::Result<String> {
    utf8(at_most(File::open(path)?, DOCUMENT)?)
}

fn utf8(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes)
        .map_err(|_| io::Error::new(ErrorKind::InvalidData, "bytes that are not UTF-8"))
}

fn at_most(file: File, limit: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(limit as u64 + 1).read_to_end(&mut bytes)?;
    if bytes.len() > limit {
        return Err(too_large(limit));
    }
    Ok(bytes)
}

fn too_large(limit: usize) -> io::Error {
    let found = format!("a file of more than {} MiB", limit >> 20);
    io::Error::new(ErrorKind::FileTooLarge, found)
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

    /// A folder of the test's own, with a pipe that nobody writes to.
    fn folder(name: &str) -> std::path::PathBuf {
        let own = format!("slackwater-bounded-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(own);
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("a folder");
        let made = std::process::Command::new("mkfifo")
            .arg(folder.join("pipe"))
            .status();
        assert!(made.is_ok_and(|s| s.success()), "mkfifo");
        folder
    }

    #[test]
    fn a_pipe_is_refused_and_nobody_waits_for_it() {
        let folder = folder("pipe");
        let pipe = folder.join("pipe");
        let invalid = Some(ErrorKind::InvalidInput);
        assert_eq!(open(&pipe).err().map(|e| e.kind()), invalid);
        assert_eq!(read(&pipe, 100).err().map(|e| e.kind()), invalid);
        assert_eq!(text(&pipe, 100).err().map(|e| e.kind()), invalid);
        assert_eq!(lines(&pipe, 100).err().map(|e| e.kind()), invalid);
        assert_eq!(ends_with(&pipe, 0).err().map(|e| e.kind()), invalid);
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

    #[test]
    fn lines_that_are_too_long_are_left_out() {
        let folder = folder("lines");
        let file = folder.join("lines");
        let of = |content: &[u8]| -> Vec<String> {
            std::fs::write(&file, content).expect("a file");
            let lines = lines(&file, 4).expect("a regular file");
            lines
                .map(|l| String::from_utf8(l.expect("readable")).expect("text"))
                .collect()
        };
        assert_eq!(of(b""), [""; 0]);
        assert_eq!(of(b"a\n\nfour\n"), ["a", "", "four"]);
        assert_eq!(of(b"a\n12345\nb"), ["a", "b"]);
        assert_eq!(of(b"1234567890\n1234\n12345"), ["1234"]);
        assert_eq!(of(b"1234"), ["1234"]);
        let ends = |content: &[u8]| {
            std::fs::write(&file, content).expect("a file");
            ends_with(&file, b'\n').expect("a regular file")
        };
        assert!(ends(b"") && ends(b"a\n") && !ends(b"a\nb"));
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }
}
