//! What `slackwater rtc` encodes and decodes by, and from which file to which.

use std::path::{Path, PathBuf};

use anyhow::{Result, bail};
use clap::{Args, ValueEnum};
use slackwater_lab::core::Rate;
use slackwater_live::rtc::RtcError;
use slackwater_live::rtc::codec::{Decoder, Encoder};

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Kind {
    /// Frames of zeros, of any size (VP8)
    #[default]
    Synthetic,
    /// H.264, where the command was built with it
    H264,
}

/// What a sender encodes.
#[derive(Debug, Args)]
pub(super) struct EncoderArgs {
    /// What makes frames
    #[arg(long, value_enum, default_value_t)]
    encoder: Kind,
    /// What a real encoder encodes, again and again: YUV4MPEG2, 4:2:0 (default: a moving pattern of 640x360)
    #[arg(long, value_name = "FILE.y4m")]
    video: Option<PathBuf>,
}

/// What a receiver does with pictures.
#[derive(Debug, Default, Args)]
pub(super) struct DecoderArgs {
    /// Write decoded pictures to a file, as YUV4MPEG2 (H.264 alone)
    #[arg(long, value_name = "FILE.y4m")]
    save: Option<PathBuf>,
}

impl EncoderArgs {
    /// Pictures are encoded; otherwise frames are synthetic.
    pub(super) fn is_real(&self) -> bool {
        self.encoder == Kind::H264
    }

    /// What makes encoders; each call opens the file anew.
    ///
    /// # Errors
    /// Where there is no such encoder or video.
    pub(super) fn made(
        &self,
        fps: f64,
        start: Rate,
        most: Rate,
    ) -> Result<impl Fn() -> Made<dyn Encoder> + use<>> {
        let real = self.encoder == Kind::H264;
        if !real && let Some(file) = &self.video {
            bail!(
                "--video: found {} and the synthetic encoder, expected --encoder h264",
                file.display()
            );
        }
        if real && cfg!(not(feature = "h264")) {
            bail!("--encoder h264: {WITHOUT}");
        }
        let video = self.video.clone();
        let made = move || {
            real.then(|| encoder(video.as_deref(), fps, start, most))
                .transpose()
        };
        // What cannot be read is said before anybody waits for an answer.
        made()?;
        Ok(made)
    }
}

impl DecoderArgs {
    /// What makes decoders; the last one made has the file.
    ///
    /// # Errors
    /// Where there is no decoder for what is to be saved.
    pub(super) fn made(&self) -> Result<impl Fn() -> Made<dyn Decoder> + use<>> {
        if self.save.is_some() && cfg!(not(feature = "h264")) {
            bail!("--save: {WITHOUT}");
        }
        let save = self.save.clone();
        let made = move || decoder(save.as_deref());
        made()?;
        Ok(made)
    }
}

/// A codec, none, or why there is none.
type Made<T> = Result<Option<Box<T>>, RtcError>;

/// What to do where the command has no codec.
const WITHOUT: &str = "this command was built without H.264; build it with: cargo build --release -p slackwater-cli --features h264";

#[cfg(not(feature = "h264"))]
fn encoder(_: Option<&Path>, _: f64, _: Rate, _: Rate) -> Result<Box<dyn Encoder>, RtcError> {
    unreachable!("the arguments were refused: {WITHOUT}")
}

#[cfg(not(feature = "h264"))]
#[expect(clippy::unnecessary_wraps, reason = "with the feature it can fail")]
fn decoder(_: Option<&Path>) -> Made<dyn Decoder> {
    Ok(None)
}

#[cfg(feature = "h264")]
mod real {
    use std::fs::File;
    use std::io::{BufReader, BufWriter, Error};

    use slackwater_live::rtc::codec::CodecError;
    use slackwater_live::rtc::h264;
    use slackwater_live::rtc::video::pattern::{Pattern, USUAL};
    use slackwater_live::rtc::video::{Video, y4m};

    use super::{Decoder, Encoder, Made, Path, Rate, RtcError};

    /// What players play a saved file at, in pictures a second: no packet says what the sender has.
    const PLAYED: u32 = 30;

    fn wrong(file: &Path, error: &Error, expected: &'static str) -> CodecError {
        CodecError {
            during: file.display().to_string(),
            found: format!("\"{error}\""),
            expected,
        }
    }

    pub(super) fn encoder(
        video: Option<&Path>,
        fps: f64,
        start: Rate,
        most: Rate,
    ) -> Result<Box<dyn Encoder>, RtcError> {
        let video: Box<dyn Video> = match video {
            None => Box::new(Pattern::new(USUAL)),
            Some(path) => {
                let file = File::open(path);
                let file = file.map_err(|e| wrong(path, &e, "a file that can be read"))?;
                let name = path.display().to_string();
                Box::new(y4m::Reader::new(BufReader::new(file), &name)?)
            }
        };
        Ok(Box::new(h264::Encoder::new(video, fps, start, most)?))
    }

    pub(super) fn decoder(save: Option<&Path>) -> Made<dyn Decoder> {
        let sink = match save {
            None => None,
            Some(path) => {
                let file = File::create(path);
                let file = file.map_err(|e| wrong(path, &e, "a file that can be written"))?;
                let name = path.display().to_string();
                let mut writer = y4m::Writer::new(BufWriter::new(file), &name, PLAYED);
                Some(Box::new(move |picture: &_| writer.write(picture)) as h264::Sink)
            }
        };
        Ok(Some(Box::new(h264::Decoder::new(sink)?)))
    }
}

#[cfg(feature = "h264")]
use real::{decoder, encoder};
