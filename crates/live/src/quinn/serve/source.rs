//! What a client may ask for.
//!
//! Folders and files are looked at on threads of their own: a disk that is slow, or gone, holds up nobody else's connection.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use slackwater_scenario::bounded;
use tokio::task::spawn_blocking;

/// The most that is read at once, bytes.
const PIECE: usize = 1 << 16;

/// What a client wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// The file of this name in the folder.
    File(String),
    /// So many zeros.
    Zeros(u64),
}

impl Wish {
    /// The wish in a line of our own protocol.
    ///
    /// # Errors
    /// Where it is none, in words for the client.
    pub(super) fn read(line: &str) -> Result<Self, String> {
        match line.split_once(' ') {
            Some(("ZEROS", count)) => count
                .parse()
                .map(Self::Zeros)
                .map_err(|_| "expected a number of bytes".to_owned()),
            Some(("FILE", name)) => Ok(Self::File(name.to_owned())),
            _ => Err("expected FILE name or ZEROS count".to_owned()),
        }
    }
}

/// What there is to send.
#[derive(Debug)]
pub(super) enum Source {
    File(Arc<File>, u64),
    Zeros(u64),
}

impl Source {
    /// Finds what is wanted.
    ///
    /// # Errors
    /// Why it cannot be had, in words for the client.
    pub(super) async fn find(wish: Wish, root: Option<PathBuf>) -> Result<Self, String> {
        let found = spawn_blocking(move || find(&wish, root.as_deref())).await;
        found.unwrap_or_else(|_| Err("the server cannot look".to_owned()))
    }

    pub(super) const fn length(&self) -> u64 {
        match self {
            Self::File(_, n) | Self::Zeros(n) => *n,
        }
    }

    /// Up to 64 KiB of what is left.
    ///
    /// # Errors
    /// Where the file cannot be read, or has become shorter.
    pub(super) async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        static ZEROS: [u8; PIECE] = [0; PIECE];
        let next = self.length().min(PIECE as u64) as usize;
        match self {
            Self::Zeros(0) | Self::File(_, 0) => Ok(None),
            Self::Zeros(left) => {
                *left -= next as u64;
                Ok(Some(Bytes::from_static(&ZEROS[..next])))
            }
            Self::File(file, left) => {
                let file = Arc::clone(file);
                let read = spawn_blocking(move || {
                    let mut piece = vec![0; next];
                    (&*file).read_exact(&mut piece)?;
                    Ok::<_, io::Error>(piece)
                });
                let piece = read.await.map_err(io::Error::other)??;
                *left -= piece.len() as u64;
                Ok(Some(piece.into()))
            }
        }
    }
}

fn find(wish: &Wish, root: Option<&Path>) -> Result<Source, String> {
    let name = match wish {
        Wish::Zeros(count) => return Ok(Source::Zeros(*count)),
        Wish::File(name) => name,
    };
    let root = root.ok_or("this server has no files")?;
    let path = Path::new(name);
    let inside = path.components().all(|c| matches!(c, Component::Normal(_)));
    let none = || format!("no file {name:?}");
    if !inside || name.is_empty() {
        return Err(none());
    }
    // A link inside of the folder may lead out of it.
    let (root, path) = root
        .canonicalize()
        .and_then(|root| Ok((root.clone(), root.join(path).canonicalize()?)))
        .map_err(|_| none())?;
    if !path.starts_with(&root) {
        return Err(none());
    }
    let (file, length) = bounded::open(&path).map_err(|_| none())?;
    Ok(Source::File(Arc::new(file), length))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    #[test]
    fn a_pipe_is_no_file_and_nobody_waits_for_it() {
        let folder = std::env::temp_dir().join(format!("slackwater-quic-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let made = std::process::Command::new("mkfifo")
            .arg(folder.join("pipe"))
            .status();
        assert!(made.is_ok_and(|s| s.success()), "mkfifo");
        let large = File::create(folder.join("large")).expect("a file");
        large.set_len(1 << 40).expect("a sparse file");
        let find = |name: &str| find(&Wish::File(name.to_owned()), Some(&folder));
        assert_eq!(find("pipe").expect_err("a pipe"), "no file \"pipe\"");
        // One of a terabyte is sent piece by piece.
        assert_eq!(find("large").expect("a file").length(), 1 << 40);
        std::fs::remove_dir_all(&folder).expect("it is ours");
    }

    /// A pipe stands for a disk that does not answer: what it holds comes from the very thread that waits for it.
    #[test]
    fn a_file_that_does_not_answer_holds_nobody_else_up() {
        let path = std::env::temp_dir().join(format!("slackwater-slow-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.is_ok_and(|s| s.success()), "mkfifo");
        // Both ways: to open it does not wait for the other end (fifo(7)).
        let pipe = File::options().read(true).write(true).open(&path);
        let pipe = Arc::new(pipe.expect("the pipe opens"));
        std::fs::remove_file(&path).expect("it was made");
        let mut source = Source::File(Arc::clone(&pipe), 4);
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let read = runtime.expect("a runtime").block_on(async {
            let late = async { (&*pipe).write_all(b"here") };
            let (piece, written) = tokio::join!(source.piece(), late);
            written.expect("it has room");
            piece
        });
        assert_eq!(read.expect("it is read").as_deref(), Some(&b"here"[..]));
        assert_eq!(source.length(), 0);
    }
}
