//! YUV4MPEG2 files: raw pictures behind lines of text, as the tools of MJPEG write them (`man 5 yuv4mpeg`).
//!
//! The first line has the size and the form of samples; `FRAME` and a line's end stand before each picture. Only 4:2:0 with
//! a byte a sample is read. The file belongs to the caller: anything that can be read and wound back.

use core::fmt;
use std::io::{self, BufRead, Read as _, Seek, SeekFrom, Write};

use super::{Picture, Size, Video};
use crate::codec::CodecError;

/// What the first line starts with.
const MAGIC: &str = "YUV4MPEG2";
/// What stands before each picture.
const FRAME: &str = "FRAME";
/// Lines are no longer (ours; tools write some fifty bytes).
const LONGEST_LINE: u64 = 1 << 10;
/// No picture is wider or higher (ours: as many as a level of H.264 has at its side, A.3.1).
const MOST: usize = 4096;

/// What was found, and what was expected; the file's name comes to it later.
type Wrong = (String, &'static str);

fn failed(error: &io::Error) -> Wrong {
    (format!("\"{error}\""), "a file that can be read")
}

fn named(name: &str, (found, expected): Wrong) -> CodecError {
    CodecError {
        during: name.to_owned(),
        found,
        expected,
    }
}

/// What the first line says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    size: Size,
}

impl Header {
    fn parse(line: &str) -> Result<Self, Wrong> {
        let mut words = line.split_ascii_whitespace();
        let magic = words.next().unwrap_or_default();
        if magic != MAGIC {
            let found: String = line.chars().take(20).collect();
            return Err((format!("{found:?}"), "\"YUV4MPEG2\" and parameters"));
        }

        let (mut width, mut height) = (None, None);
        for word in words {
            let (key, value) = word.split_at(word.chars().next().map_or(0, char::len_utf8));
            match key {
                "W" => width = value.parse().ok(),
                "H" => height = value.parse().ok(),
                // Forms of 4:2:0 differ in the place of chroma alone, until bits stand behind ("420p10").
                "C" if !["420", "420jpeg", "420paldv", "420mpeg2"].contains(&value) => {
                    return Err((format!("C{value}"), "C420 of 8 bits"));
                }
                "I" if value != "p" && value != "?" => {
                    return Err((format!("I{value}"), "Ip, progressive"));
                }
                _ => {}
            }
        }
        let even = |side: Option<usize>| side.filter(|s| (2..=MOST).contains(s) && s % 2 == 0);
        match (even(width), even(height)) {
            (Some(width), Some(height)) => Ok(Self {
                size: Size { width, height },
            }),
            _ => Err((
                format!("{:?}", line.trim_end()),
                "W and H, both even, from 2 to 4096",
            )),
        }
    }
}

/// One line with its end, which is not part of it.
fn line(file: &mut impl BufRead) -> Result<String, Wrong> {
    let mut bytes = Vec::new();
    file.take(LONGEST_LINE)
        .read_until(b'\n', &mut bytes)
        .map_err(|e| failed(&e))?;
    if bytes.pop_if(|b| *b == b'\n').is_none() && bytes.len() as u64 == LONGEST_LINE {
        return Err(("a line of 1024 bytes".to_owned(), "a shorter one"));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Pictures of a file, again and again.
pub struct Reader<F> {
    /// What errors call the file.
    name: String,
    file: F,
    header: Header,
    /// Where the first picture's line starts, in bytes.
    first: u64,
    /// Pictures since the last start.
    count: u64,
}

impl<F> fmt::Debug for Reader<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reader")
            .field("size", &self.header.size)
            .field("count", &self.count)
            .finish_non_exhaustive()
    }
}

impl<F: BufRead + Seek> Reader<F> {
    /// Reads the head of `file`, which errors call `name`.
    ///
    /// # Errors
    /// What was found and expected, where it is no such file or has no whole picture.
    pub fn new(mut file: F, name: &str) -> Result<Self, CodecError> {
        let wrong = |wrong| named(name, wrong);
        let header = line(&mut file).and_then(|l| Header::parse(&l));
        let header = header.map_err(wrong)?;
        let first = file.stream_position().map_err(|e| wrong(failed(&e)))?;
        let mut reader = Self {
            name: name.to_owned(),
            file,
            header,
            first,
            count: 0,
        };
        let mut picture = Picture::black(header.size);
        reader.read(&mut picture).map_err(wrong)?;
        reader.rewind().map_err(wrong)?;
        Ok(reader)
    }

    fn rewind(&mut self) -> Result<(), Wrong> {
        let place = SeekFrom::Start(self.first);
        self.file.seek(place).map_err(|e| failed(&e))?;
        self.count = 0;
        Ok(())
    }

    /// Reads a picture, where the file goes on.
    fn read(&mut self, picture: &mut Picture) -> Result<bool, Wrong> {
        if self.count > 0 && self.file.fill_buf().map_err(|e| failed(&e))?.is_empty() {
            return Ok(false);
        }
        let line = line(&mut self.file)?;
        // Parameters may stand behind it, and change nothing that is read here.
        if line.split_ascii_whitespace().next() != Some(FRAME) {
            let found: String = line.chars().take(20).collect();
            let found = format!("{found:?} before picture {}", self.count + 1);
            return Err((found, "\"FRAME\""));
        }
        self.file
            .read_exact(picture.bytes_mut())
            .map_err(|e| match e.kind() {
                io::ErrorKind::UnexpectedEof => (
                    format!("the file's end inside of picture {}", self.count + 1),
                    "a whole picture",
                ),
                _ => failed(&e),
            })?;
        self.count += 1;
        Ok(true)
    }
}

impl<F: BufRead + Seek + Send> Video for Reader<F> {
    fn size(&self) -> Size {
        self.header.size
    }

    fn next(&mut self, picture: &mut Picture) -> Result<(), CodecError> {
        let read = self.read(picture).and_then(|goes_on| {
            if goes_on {
                return Ok(());
            }
            self.rewind()?;
            self.read(picture).map(drop)
        });
        read.map_err(|wrong| named(&self.name, wrong))
    }
}

/// Writes pictures of one size.
pub struct Writer<F> {
    /// What errors call the file.
    name: String,
    file: F,
    /// Pictures a second; the file's players go by it.
    fps: u32,
    /// That of the first picture.
    size: Option<Size>,
}

impl<F> fmt::Debug for Writer<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("size", &self.size)
            .finish_non_exhaustive()
    }
}

impl<F: Write> Writer<F> {
    /// A writer to `file`, which errors call `name`; it is played at `fps` pictures a second.
    pub fn new(file: F, name: &str, fps: u32) -> Self {
        Self {
            name: name.to_owned(),
            file,
            fps,
            size: None,
        }
    }

    /// Appends a picture.
    ///
    /// # Errors
    /// Where it has another size than the first, or the file cannot be written.
    pub fn write(&mut self, picture: &Picture) -> Result<(), CodecError> {
        let size @ Size { width, height } = picture.size();
        if self.size.is_some_and(|s| s != size) {
            let found = format!("a picture of {width}x{height}");
            return Err(named(&self.name, (found, "the size of the first one")));
        }
        let mut write = || {
            if self.size.is_none() {
                writeln!(
                    self.file,
                    "{MAGIC} W{width} H{height} F{}:1 Ip C420jpeg",
                    self.fps
                )?;
            }
            writeln!(self.file, "{FRAME}")?;
            self.file.write_all(picture.bytes())
        };
        write().map_err(|e| {
            named(
                &self.name,
                (format!("\"{e}\""), "a file that can be written"),
            )
        })?;
        self.size = Some(size);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    const SIZE: Size = Size {
        width: 4,
        height: 2,
    };

    fn filled(value: u8) -> Picture {
        let mut picture = Picture::black(SIZE);
        picture.bytes_mut().fill(value);
        picture
    }

    fn file(pictures: &[u8]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, "a.y4m", 30);
        for value in pictures {
            writer.write(&filled(*value)).unwrap();
        }
        bytes
    }

    fn error(bytes: &[u8]) -> String {
        Reader::new(Cursor::new(bytes), "a.y4m")
            .unwrap_err()
            .to_string()
    }

    #[test]
    fn what_is_written_is_read_again_and_again() {
        let bytes = file(&[1, 2, 3]);
        assert!(bytes.starts_with(b"YUV4MPEG2 W4 H2 F30:1 Ip C420jpeg\nFRAME\n"));
        let mut reader = Reader::new(Cursor::new(&bytes), "a.y4m").unwrap();
        assert_eq!(reader.size(), SIZE);
        let mut picture = Picture::black(SIZE);
        for value in [1, 2, 3, 1, 2, 3, 1] {
            reader.next(&mut picture).unwrap();
            assert_eq!(picture, filled(value));
        }
    }

    #[test]
    fn parameters_that_change_nothing_are_passed_over() {
        let mut bytes = b"YUV4MPEG2 H2 W4 A1:1 XYSCSS=420 C420mpeg2 I?\nFRAME Ixyz\n".to_vec();
        bytes.extend([9; 12]);
        let mut reader = Reader::new(Cursor::new(&bytes), "a.y4m").unwrap();
        let mut picture = Picture::black(SIZE);
        reader.next(&mut picture).unwrap();
        assert_eq!(picture, filled(9));
    }

    #[test]
    fn errors_say_what_was_found_and_expected() {
        for (bytes, found) in [
            (&b""[..], "found \"\", expected \"YUV4MPEG2\""),
            (b"RIFF....", "found \"RIFF....\""),
            (
                b"YUV4MPEG2 W4\n",
                "found \"YUV4MPEG2 W4\", expected W and H",
            ),
            (b"YUV4MPEG2 W5 H2\n", "expected W and H, both even"),
            (b"YUV4MPEG2 W4 H99999\n", "expected W and H, both even"),
            (b"YUV4MPEG2 W4 H2 C444\n", "found C444, expected C420"),
            (b"YUV4MPEG2 W4 H2 C420p10\n", "found C420p10"),
            (b"YUV4MPEG2 W4 H2 It\n", "found It, expected Ip"),
            (b"YUV4MPEG2 W4 H2\n", "found \"\" before picture 1"),
            (b"YUV4MPEG2 W4 H2\nFRAME\n123", "end inside of picture 1"),
            (&[b'Y'; 2000], "found a line of 1024 bytes"),
        ] {
            let error = error(bytes);
            assert!(
                error.starts_with("a.y4m: found ") && error.contains(found),
                "{error:?}: {found:?}"
            );
        }
    }

    #[test]
    fn a_file_that_ends_inside_of_a_later_picture_is_an_error_there() {
        let mut bytes = file(&[1, 2]);
        bytes.pop();
        let mut reader = Reader::new(Cursor::new(&bytes), "a.y4m").unwrap();
        let mut picture = Picture::black(SIZE);
        reader.next(&mut picture).unwrap();
        let error = reader.next(&mut picture).unwrap_err().to_string();
        assert!(error.contains("end inside of picture 2"), "{error}");
    }

    #[test]
    fn a_file_has_one_size() {
        let mut writer = Writer::new(Vec::new(), "a.y4m", 30);
        writer.write(&filled(1)).unwrap();
        let other = Picture::black(Size {
            width: 8,
            height: 2,
        });
        let error = writer.write(&other).unwrap_err().to_string();
        assert!(error.contains("found a picture of 8x2"), "{error}");
    }

    proptest! {
        #[test]
        fn any_bytes_are_read_or_refused(head in "YUV4MPEG2 W[0-9] H[0-9] C420\nFRAME\n", rest: Vec<u8>) {
            let bytes = [head.as_bytes(), &rest].concat();
            if let Ok(mut reader) = Reader::new(Cursor::new(&bytes), "a.y4m") {
                let mut picture = Picture::black(reader.size());
                for _ in 0..9 {
                    let _ = reader.next(&mut picture);
                }
            }
        }
    }
}
