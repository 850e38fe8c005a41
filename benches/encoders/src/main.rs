//! Encodes raw frames by OpenH264 while the target moves: a line `target bytes ms` for each frame.
//!
//! usage: encoders FILE WIDTH HEIGHT FPS quality|bitrate KBITS@FRAME...

use std::error::Error;
use std::fs::File;
use std::io::Read as _;

use openh264::encoder::{
    BitRate, Complexity, Encoder, EncoderConfig, FrameRate, RateControlMode, UsageType,
};
use openh264::formats::YUVSlices;
use openh264::{OpenH264API, Timestamp};
use openh264_sys2::{
    ENCODER_OPTION, ENCODER_OPTION_BITRATE, ENCODER_OPTION_MAX_BITRATE, SBitrateInfo,
    SPATIAL_LAYER_0,
};

/// No target comes near it.
const MOST: i32 = 100_000_000;

/// CPU time of the process in ms: no other thread encodes.
fn cpu() -> Result<f64, Box<dyn Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    let ns: f64 = text.split(' ').next().ok_or("no time")?.parse()?;
    Ok(ns / 1e6)
}

fn set(encoder: &mut Encoder, option: ENCODER_OPTION, rate: i32) -> Result<(), Box<dyn Error>> {
    let mut info = SBitrateInfo {
        iLayer: SPATIAL_LAYER_0,
        iBitrate: rate,
    };
    // SAFETY: the option takes a pointer to this struct, and copies it.
    let code = unsafe { encoder.raw_api().set_option(option, (&raw mut info).cast()) };
    if code == 0 {
        Ok(())
    } else {
        Err(format!("option {option}: found code {code}, expected 0").into())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, width, height, fps, mode, steps @ ..] = &words[..] else {
        return Err("expected FILE WIDTH HEIGHT FPS MODE KBITS@FRAME...".into());
    };
    let (w, h): (usize, usize) = (width.parse()?, height.parse()?);
    let fps: u32 = fps.parse()?;
    let mut targets = Vec::new();
    for step in steps {
        let (kbits, from) = step.split_once('@').ok_or("expected KBITS@FRAME")?;
        targets.push((from.parse::<u64>()?, kbits.parse::<u32>()? * 1000));
    }
    let config = EncoderConfig::new()
        .bitrate(BitRate::from_bps(targets[0].1))
        .max_frame_rate(FrameRate::from_hz(fps as f32))
        .rate_control_mode(match mode.as_str() {
            "bitrate" => RateControlMode::Bitrate,
            _ => RateControlMode::Quality,
        })
        // Without it these modes hold no rate (the library warns).
        .skip_frames(true)
        .scene_change_detect(false)
        .usage_type(UsageType::CameraVideoRealTime)
        .complexity(Complexity::Low);
    let mut encoder = Encoder::with_api_config(OpenH264API::from_source(), config)?;
    let mut file = File::open(file)?;
    let mut frame = vec![0; w * h * 3 / 2];
    let mut target = targets[0].1;
    for n in 0.. {
        if file.read_exact(&mut frame).is_err() {
            break;
        }
        let (y, uv) = frame.split_at(w * h);
        let (u, v) = uv.split_at(w * h / 4);
        let picture = YUVSlices::new((y, u, v), (w, h), (w, w / 2, w / 2));
        if let Some((_, next)) = targets.iter().find(|(from, _)| *from == n && n > 0) {
            target = *next;
            // A target above the greatest is refused, and the greatest is the first target.
            set(&mut encoder, ENCODER_OPTION_MAX_BITRATE, MOST)?;
            set(&mut encoder, ENCODER_OPTION_BITRATE, target as i32)?;
        }
        let before = cpu()?;
        let time = Timestamp::from_millis(n * 1000 / u64::from(fps));
        let bytes = encoder.encode_at(&picture, time)?.to_vec().len();
        println!("{} {bytes} {:.3}", target / 8 / fps, cpu()? - before);
    }
    Ok(())
}
