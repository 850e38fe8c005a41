//! Pictures in, payloads out.

use bytes::Bytes;
use openh264::encoder::{
    BitRate, Complexity, Encoder as Open, EncoderConfig, FrameRate, FrameType, Level as Named,
    Profile, RateControlMode, UsageType,
};
use openh264::formats::YUVSlices;
use openh264::{OpenH264API, Timestamp};
use openh264_sys2::{
    ENCODER_OPTION, ENCODER_OPTION_BITRATE, ENCODER_OPTION_MAX_BITRATE, SBitrateInfo,
    SPATIAL_LAYER_0,
};
use rtc::rtp::codec::h264::H264Payloader;
use rtc::rtp::packetizer::Payloader as _;
use slackwater_core::{Instant, Rate};
use slackwater_transport::rtp::Wanted;

use crate::codec::{Codec, CodecError, Encoded, Encoder as Encodes};
use crate::level::Level;
use crate::video::{Picture, Size, Video};

/// An encoder and the video that it encodes.
pub struct Encoder {
    video: Box<dyn Video>,
    picture: Picture,
    open: Open,
    payloader: H264Payloader,
    /// Pictures a second.
    fps: f64,
    /// What its stream has.
    level: Level,
    /// Target in bit/s that the encoder has.
    rate: i32,
    /// When the first picture was captured: the encoder counts from there.
    first: Option<Instant>,
}

impl core::fmt::Debug for Encoder {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Encoder")
            .field("video", &self.video)
            .field("rate", &self.rate)
            .finish_non_exhaustive()
    }
}

impl Encoder {
    /// An encoder of `video` at `fps` pictures a second that starts at `rate`, and whose rates are `most` at most.
    ///
    /// # Errors
    /// Where no level up to 5.2 has such pictures, or the encoder cannot be made.
    pub fn new(
        video: Box<dyn Video>,
        fps: f64,
        rate: Rate,
        most: Rate,
    ) -> Result<Self, CodecError> {
        let size = video.size();
        let level = Level::of(size, fps, most.max(rate))
            .ok_or_else(|| above(size, fps, "level 5.2 or less: at most 4096x2304 at 56"))?;
        let rate = bps(rate, level);
        Ok(Self {
            picture: Picture::black(size),
            video,
            open: open(fps, rate, level)?,
            payloader: H264Payloader::default(),
            fps,
            level,
            rate,
            first: None,
        })
    }

    /// What it encodes.
    pub fn size(&self) -> Size {
        self.picture.size()
    }

    /// From the next frame on the target is `rate`.
    fn follow(&mut self, rate: Rate) -> Result<(), CodecError> {
        let rate = bps(rate, self.level);
        if rate == self.rate {
            return Ok(());
        }
        // Targets above the greatest are refused, and that is the first target at first.
        let most = bps(self.level.rate(), self.level);
        for (option, value) in [
            (ENCODER_OPTION_MAX_BITRATE, most),
            (ENCODER_OPTION_BITRATE, rate),
        ] {
            set(&mut self.open, option, value)?;
        }
        self.rate = rate;
        Ok(())
    }
}

impl Encodes for Encoder {
    fn codec(&self) -> Codec {
        Codec::H264
    }

    fn level(&self) -> Option<Level> {
        Some(self.level)
    }

    fn limit(&mut self, level: Level) -> Result<(), CodecError> {
        let size = self.size();
        if !level.holds(size, self.fps) {
            return Err(above(
                size,
                self.fps,
                "pictures within the level that the other end decodes",
            ));
        }
        let level = self.level.min(level);
        if level != self.level {
            self.level = level;
            self.rate = self.rate.min(bps(level.rate(), level));
            self.open = open(self.fps, self.rate, level)?;
        }
        Ok(())
    }

    fn encode(&mut self, wanted: &Wanted, room: usize) -> Result<Encoded, CodecError> {
        self.video.next(&mut self.picture)?;
        let first = *self.first.get_or_insert(wanted.captured);
        if first != wanted.captured {
            // The library makes itself at the first picture, and takes options from then on.
            self.follow(wanted.target)?;
            if wanted.key {
                self.open.force_intra_frame();
            }
        }

        let Size { width, height } = self.picture.size();
        let [y, u, v] = self.picture.planes();
        let slices = YUVSlices::new((y, u, v), (width, height), (width, width / 2, width / 2));
        let time = Timestamp::from_millis(wanted.captured.since(first).as_millis());
        let stream = self
            .open
            .encode_at(&slices, time)
            .map_err(|e| failed("encoding H.264", &e))?;

        let key = match stream.frame_type() {
            FrameType::IDR => true,
            FrameType::Skip | FrameType::Invalid => return Ok(Encoded::default()),
            _ => false,
        };
        let bytes = Bytes::from(stream.to_vec());
        let payloads = self
            .payloader
            .payload(room, &bytes)
            .map_err(|e| failed("packing H.264", &e))?;
        Ok(Encoded { key, payloads })
    }
}

/// `rate` as the library takes it, within the level's.
fn bps(rate: Rate, level: Level) -> i32 {
    rate.min(level.rate()).as_bps().max(1) as i32
}

/// Pictures of a size are too many for a level.
fn above(size: Size, fps: f64, expected: &'static str) -> CodecError {
    let Size { width, height } = size;
    CodecError {
        during: "setting up H.264".to_owned(),
        found: format!("{fps} pictures of {width}x{height} a second"),
        expected,
    }
}

/// An encoder of this library at `rate` bit/s.
fn open(fps: f64, rate: i32, level: Level) -> Result<Open, CodecError> {
    // docs/design/0101: of the modes that hold a rate, the one whose frames deviate less.
    let config = EncoderConfig::new()
        .bitrate(BitRate::from_bps(rate.cast_unsigned()))
        .max_frame_rate(FrameRate::from_hz(fps as f32))
        .rate_control_mode(RateControlMode::Quality)
        .profile(Profile::Baseline)
        .level(named(level))
        // Without it these modes hold no rate (the library warns).
        .skip_frames(true)
        .scene_change_detect(false)
        .usage_type(UsageType::CameraVideoRealTime)
        .complexity(Complexity::Low)
        // One: the same bytes each time, and no thread of its own.
        .num_threads(1);
    Open::with_api_config(OpenH264API::from_source(), config)
        .map_err(|e| failed("setting up H.264", &e))
}

/// What the library calls `level`.
const fn named(level: Level) -> Named {
    match level.idc() {
        32 => Named::Level_3_2,
        40 => Named::Level_4_0,
        41 => Named::Level_4_1,
        42 => Named::Level_4_2,
        50 => Named::Level_5_0,
        51 => Named::Level_5_1,
        52 => Named::Level_5_2,
        // The least.
        _ => Named::Level_3_1,
    }
}

fn failed(during: &str, error: &dyn core::fmt::Display) -> CodecError {
    CodecError {
        during: during.to_owned(),
        found: format!("\"{error}\""),
        expected: "no error of the library",
    }
}

#[expect(
    unsafe_code,
    reason = "the library's binding has no safe way to change the target"
)]
fn set(open: &mut Open, option: ENCODER_OPTION, rate: i32) -> Result<(), CodecError> {
    let mut info = SBitrateInfo {
        iLayer: SPATIAL_LAYER_0,
        iBitrate: rate,
    };
    // SAFETY: both options take a pointer to this struct and copy it, and leave the encoder's memory as it is.
    let code = unsafe { open.raw_api().set_option(option, (&raw mut info).cast()) };
    if code == 0 {
        return Ok(());
    }
    Err(CodecError {
        during: "setting H.264's target".to_owned(),
        found: format!("code {code} for {rate} bit/s"),
        expected: "code 0",
    })
}

#[cfg(test)]
mod tests {
    use slackwater_core::Duration;

    use super::*;
    use crate::video::pattern::{Pattern, USUAL};

    /// Sizes in bytes of frames at 30 a second, each by the target that `target` gives for its number.
    fn sizes(frames: u64, target: impl Fn(u64) -> f64) -> Vec<(usize, bool)> {
        let rate = |n| Rate::from_mbps(target(n));
        let video = Box::new(Pattern::new(USUAL));
        // The greatest rate of level 3.1.
        let most = Rate::from_mbps(14.0);
        let mut encoder = Encoder::new(video, 30.0, rate(0), most).unwrap();
        let mut sizes = Vec::new();
        for n in 0..frames {
            let captured = Instant::from_millis(1000) + Duration::from_millis(n * 1000 / 30);
            let frame = encoder
                .encode(&wanted(captured, rate(n), n == 0), 1100)
                .unwrap();
            assert!(frame.payloads.iter().all(|p| p.len() <= 1100));
            sizes.push((frame.payloads.iter().map(Bytes::len).sum(), frame.key));
        }
        sizes
    }

    fn wanted(captured: Instant, target: Rate, key: bool) -> Wanted {
        Wanted::new(captured, target, key)
    }

    /// Mean of `sizes` in targets of `mbps`.
    fn share(sizes: &[(usize, bool)], mbps: f64) -> f64 {
        let bytes: usize = sizes.iter().map(|s| s.0).sum();
        bytes as f64 * 8.0 * 30.0 / sizes.len() as f64 / mbps / 1e6
    }

    /// The bound: "a real encoder that follows the target within a frame or two". From the third frame after a step
    /// on, means of five frames are within a quarter of the new target ("settled" in docs/design/0101).
    #[test]
    fn the_target_is_followed_within_two_frames() {
        let steps = [2.0, 3.0, 0.8, 2.0, 1.0];
        let frames = sizes(90 * steps.len() as u64, |n| steps[n as usize / 90]);
        for (k, mbps) in steps.iter().enumerate().skip(1) {
            let start = 90 * k + 2;
            for from in [start, start + 5] {
                let share = share(&frames[from..from + 5], *mbps);
                eprintln!(
                    "target {mbps} Mbit/s, frames {} to {} after: {share:.2}",
                    from - start + 2,
                    from - start + 6
                );
                assert!(
                    (0.75..1.25).contains(&share),
                    "step {k}, frame {from}: {share}"
                );
            }
            let all = share(&frames[90 * k..90 * (k + 1)], *mbps);
            assert!((0.9..1.1).contains(&all), "step {k}: {all}");
        }
        // The first frame alone is a key frame.
        assert_eq!(frames.iter().filter(|f| f.1).count(), 1);
        assert!(frames[0].1);
    }

    #[test]
    fn bytes_are_the_same_each_time() {
        assert_eq!(sizes(20, |_| 1.0), sizes(20, |_| 1.0));
    }

    #[test]
    fn a_key_frame_comes_when_it_is_wanted_with_its_parameter_sets() {
        let video = Box::new(Pattern::new(USUAL));
        let rate = Rate::from_mbps(2.0);
        let mut encoder = Encoder::new(video, 30.0, rate, rate).unwrap();
        for n in 0..40 {
            let captured = Instant::from_millis(1000 + n * 33);
            let want = n == 0 || n == 30;
            let frame = encoder.encode(&wanted(captured, rate, want), 1100).unwrap();
            assert_eq!(frame.key, want, "{n}");
            if want {
                // STAP-A with SPS and PPS (RFC 6184, 5.7.1), then FU-A of type 5 (5.8).
                assert_eq!(frame.payloads[0][0] & 31, 24);
                assert_eq!(frame.payloads[0][3] & 31, 7);
                let [indicator, header] = [frame.payloads[1][0], frame.payloads[1][1]];
                assert_eq!((indicator & 31, header), (28, 0x80 | 5));
                assert_eq!(frame.payloads.last().unwrap()[1], 0x40 | 5);
                // Constrained baseline, level 3.1, as signalling says: profile 66 with constraint_set1_flag.
                let sps = &frame.payloads[0][3..];
                assert_eq!((sps[1], sps[2] & 0x40, sps[3]), (66, 0x40, 31));
            }
        }
    }

    #[test]
    fn pictures_above_all_levels_are_refused() {
        let usual = Box::new(Pattern::new(USUAL));
        let rate = Rate::from_mbps(1.0);
        let error = Encoder::new(usual, 3000.0, rate, rate).unwrap_err();
        assert!(
            error.to_string().contains("found 3000 pictures of 640x360"),
            "{error}"
        );
    }

    /// What the encoder writes into the stream is what signalling names.
    #[test]
    fn the_stream_has_the_level_of_its_pictures_and_rate_within_what_the_other_end_decodes() {
        let idc = |size: Size, most: f64, limit: Option<u8>| {
            let video = Box::new(Pattern::new(size));
            let most = Rate::from_mbps(most);
            let mut encoder = Encoder::new(video, 30.0, Rate::from_mbps(1.0), most)?;
            if let Some(limit) = limit {
                encoder.limit(Level::named(limit).unwrap())?;
            }
            let frame = encoder.encode(&wanted(Instant::from_millis(1000), most, true), 1100)?;
            // A STAP-A: its octet, a length, then the parameter set.
            let sps = &frame.payloads[0][3..];
            assert_eq!(encoder.level().map(Level::idc), Some(sps[3]));
            Ok::<_, CodecError>(sps[3])
        };
        let full = Size {
            width: 1920,
            height: 1080,
        };
        assert_eq!(idc(USUAL, 3.0, None), Ok(31));
        assert_eq!(idc(USUAL, 20.0, None), Ok(32));
        assert_eq!(idc(full, 20.0, None), Ok(40));
        assert_eq!(idc(full, 20.0, Some(52)), Ok(40));
        // The rate gives way, pictures do not.
        assert_eq!(idc(USUAL, 20.0, Some(31)), Ok(31));
        let error = idc(full, 20.0, Some(31)).unwrap_err().to_string();
        assert!(error.contains("found 30 pictures of 1920x1080"), "{error}");
    }

    #[test]
    fn targets_above_the_level_have_the_levels() {
        let frames = sizes(60, |n| if n < 10 { 2.0 } else { 50.0 });
        let share = share(&frames[20..], 14.0);
        assert!((0.5..1.1).contains(&share), "{share}");
    }
}
