//! A real encoder and decoder over the link, in virtual time.

use std::sync::{Arc, Mutex};

use slackwater_control::{Config, build_media};
use slackwater_core::{Draw, Duration, Instant, Rate};
use slackwater_rtc::Codec;
use slackwater_rtc::codec::{CodecError, Encoded, Encoder};
use slackwater_rtc::h264;
use slackwater_rtc::level::Level;
use slackwater_rtc::video::Size;
use slackwater_rtc::video::pattern::{Pattern, USUAL};
use slackwater_rtc::{Receiver, Sender};
use slackwater_transport::rtp::{Format, RtpConfig, Wanted};

use crate::world::{LINK, Link, RECEIVER, SENDER, World, at};

/// A frame that was made: for what, and how large.
#[derive(Clone, Copy, Debug)]
struct Made {
    captured: Instant,
    target: Rate,
    bytes: usize,
    key: bool,
}

/// The encoder, with a record of what it was told and gave.
#[derive(Debug)]
struct Recorded(h264::Encoder, Arc<Mutex<Vec<Made>>>);

impl Encoder for Recorded {
    fn codec(&self) -> Codec {
        self.0.codec()
    }

    fn level(&self) -> Option<Level> {
        self.0.level()
    }

    fn limit(&mut self, level: Level) -> Result<(), CodecError> {
        self.0.limit(level)
    }

    fn encode(&mut self, wanted: &Wanted, room: usize) -> Result<Encoded, CodecError> {
        let frame = self.0.encode(wanted, room)?;
        self.1.lock().unwrap().push(Made {
            captured: wanted.captured,
            target: wanted.target,
            bytes: frame.payloads.iter().map(bytes::Bytes::len).sum(),
            key: frame.key,
        });
        Ok(frame)
    }
}

fn world(cc: &str, format: Format, link: Link, most: f64) -> (World, Arc<Mutex<Vec<Made>>>) {
    let config = RtpConfig {
        format,
        ..RtpConfig::default()
    };
    world_of(cc, &config, link, most, str::to_owned)
}

/// The receiver gets what `signalling` makes of the offer.
fn world_of(
    cc: &str,
    config: &RtpConfig,
    link: Link,
    most: f64,
    signalling: impl Fn(&str) -> String,
) -> (World, Arc<Mutex<Vec<Made>>>) {
    let record = Arc::new(Mutex::new(Vec::new()));
    let video = Box::new(Pattern::new(USUAL));
    let encoder =
        h264::Encoder::new(video, 30.0, Rate::from_mbps(1.0), Rate::from_mbps(most)).unwrap();
    let encoder = Recorded(encoder, Arc::clone(&record));
    let decoder = h264::Decoder::new(None).unwrap();
    let codec = Some((Box::new(encoder) as _, Box::new(decoder) as _));
    let most = Rate::from_mbps(most);
    let world = World::with_config(cc, config, link, most, codec, signalling);
    (world, record)
}

/// A sender of pictures of 1920x1080 (level 4.0) gets the answer that `answered` makes of the receiver's.
fn agree(answered: impl Fn(&str) -> String) -> Result<String, String> {
    let now = Instant::from_millis(1_000_000);
    let rate = Rate::from_mbps(1.0);
    let size = Size {
        width: 1920,
        height: 1080,
    };
    let encoder = h264::Encoder::new(Box::new(Pattern::new(size)), 30.0, rate, rate).unwrap();
    let decoder = h264::Decoder::new(None).unwrap();
    let config = RtpConfig::default();
    let name = Config::new(u32::from(config.payload()), Draw::new(7));
    let controller = build_media("cl4s", &name).unwrap();
    let draw = Draw::new(7);
    let made = Some(Box::new(encoder) as _);
    let mut sender = Sender::with_encoder(now, at(SENDER), config, controller, draw, made).unwrap();
    let taken = Some(Box::new(decoder) as _);
    let mut receiver = Receiver::with_decoder(now, at(RECEIVER), config, taken).unwrap();

    let offer = sender.offer(now).unwrap();
    let answer = answered(&receiver.answer(now, &offer).unwrap());
    let accepted = sender.accept(now, &answer);
    accepted.map(|()| offer).map_err(|e| e.to_string())
}

#[test]
fn pictures_above_the_level_of_the_other_end_are_refused() {
    let level = |to: &'static str| {
        move |answer: &str| {
            let (before, after) = answer.split_once("profile-level-id=42e0").unwrap();
            format!("{before}profile-level-id=42e0{to}{}", &after[2..])
        }
    };
    let offer = agree(str::to_owned).expect("ends of ours agree");
    assert!(offer.contains("profile-level-id=42e028"), "{offer}");
    agree(level("28")).expect("level 4.0 holds them");
    for (low, expected) in [
        ("1f", "found 30 pictures of 1920x1080"),
        ("1e", "level_idc 30"),
    ] {
        let error = agree(level(low)).unwrap_err();
        assert!(error.contains(expected), "{low}: {error}");
    }
}

#[test]
fn frames_are_decoded_and_marks_hold_the_rate() {
    for (cc, format) in [("cl4s", Format::Ccfb), ("gcc", Format::Twcc)] {
        let link = Link {
            rate: Rate::from_mbps(3.0),
            ..LINK
        };
        let (mut world, made) = world(cc, format, link, 10.0);
        world.run(Duration::from_secs(8));
        let rate = world.rate(8);
        let (got, sent) = (world.receiver.stats(), world.sender.stats());
        eprintln!("{cc}: {rate:.2} Mbit/s, {:?}, {sent:?} {got:?}", world.seen);
        assert!((1.2..3.1).contains(&rate), "{cc}: {rate} Mbit/s");
        assert_eq!(world.sender.failure(), None);
        assert_eq!(world.receiver.failure(), None);

        // What was made was decoded, but for what is on its way.
        let real = made.lock().unwrap().iter().filter(|m| m.bytes > 0).count() as u64;
        let decoded = got.decoded;
        assert!(
            real > 400 && decoded.failed == 0,
            "{cc}: {real} {decoded:?}"
        );
        assert!(decoded.frames + 15 > real, "{cc}: {real} {decoded:?}");
        assert_eq!(got.frames, got.media.shown, "{cc}");
        assert!(decoded.psnr.is_some_and(|q| q > 28.0), "{cc}: {decoded:?}");
        let mean = decoded.delays / decoded.frames;
        assert!(mean > Duration::from_millis(10), "{cc}: {mean:?}");
        if cc == "cl4s" {
            assert!(world.seen.marked > 20, "{:?}", world.seen);
            assert!(mean < Duration::from_millis(120), "{mean:?}");
        }
    }
}

/// "A real encoder that follows the target within a frame or two": from the third frame after a fall of the link on, frames
/// have the controller's target, whatever it does, as a mean over five ("settled" in docs/design/0101).
#[test]
fn the_encoder_follows_a_step_of_the_target_within_two_frames() {
    let (mut world, made) = world("cl4s", Format::Ccfb, LINK, 4.0);
    world.run(Duration::from_secs(6));
    for mbps in [1.0, 10.0, 1.5, 10.0, 0.8, 10.0] {
        world.link.rate = Rate::from_mbps(mbps);
        world.run(Duration::from_secs(4));
    }

    let made = made.lock().unwrap();
    // The first frames after a start are a key frame's, which the rate control pays back.
    let settled = &made[60..];
    let mut worst = (1.0, 1.0);
    let mut steps = 0;
    for window in settled.windows(9) {
        // A step: the target of a frame is far from that of the one before, and stays near for some.
        let step = window[1].target.as_bps() as f64 / window[0].target.as_bps() as f64;
        let stays = window[2..].iter().all(|m| {
            let share = m.target.as_bps() as f64 / window[1].target.as_bps() as f64;
            (0.7..1.4).contains(&share)
        });
        if (0.8..1.25).contains(&step) || !stays {
            continue;
        }
        steps += 1;
        // Frames 0 and 1 may be off; the five from frame 2 on are not.
        let wanted: f64 = window[3..8]
            .iter()
            .map(|m| m.target.as_bps() as f64 / 240.0)
            .sum();
        let bytes: usize = window[3..8].iter().map(|m| m.bytes).sum();
        let share = bytes as f64 / wanted;
        eprintln!("step {step:.2} at {:?}: {share:.2}", window[1].captured);
        worst = (f64::min(worst.0, share), f64::max(worst.1, share));
    }
    eprintln!("{steps} steps, {worst:?}");
    assert!(steps > 2);
    assert!(worst.0 > 0.7 && worst.1 < 1.35, "{worst:?}");
}

/// Two packets of a hundred are lost. What is sent again is decoded, in its order: from a sender of ours, whose packets say what
/// they are of, and from one that does not, as a browser.
#[test]
fn frames_with_lost_packets_are_decoded_when_these_come_again() {
    let labelled = |offer: &str| offer.to_owned();
    let bare = |offer: &str| {
        let kept = |line: &&str| !line.contains("frame-label");
        offer.lines().filter(kept).collect::<Vec<_>>().join("\r\n") + "\r\n"
    };
    let signallings: [&dyn Fn(&str) -> String; 2] = [&labelled, &bare];
    for (who, signalling) in ["ours", "another"].into_iter().zip(signallings) {
        let lossy = Link { loss: 2, ..LINK };
        let (mut world, made) = world_of("cl4s", &RtpConfig::default(), lossy, 3.0, signalling);
        world.run(Duration::from_secs(10));
        let (got, sent) = (world.receiver.stats(), world.sender.stats());
        eprintln!("{who}: {:?}\n{sent:?}\n{got:?}", world.seen);
        assert!(
            world.seen.lost > 15 && sent.media.retransmits > 15,
            "{who}: {sent:?}"
        );
        assert_eq!(
            (got.decoded.failed, got.media.plis),
            (0, 0),
            "{who}: {got:?}"
        );
        assert_eq!(
            made.lock().unwrap().iter().filter(|m| m.key).count(),
            1,
            "{who}"
        );
        assert!(got.decoded.frames > 280, "{who}: {got:?}");
        assert_eq!(world.receiver.failure(), None, "{who}");
    }
}

#[test]
fn a_lost_packet_that_nobody_sends_again_costs_frames_until_the_key_frame_of_the_pli() {
    let mut config = RtpConfig::default();
    config.receiver.nack = false;
    let (mut world, made) = world_of("cl4s", &config, LINK, 3.0, str::to_owned);
    world.run(Duration::from_secs(4));
    let before = world.receiver.stats();
    let keys = |made: &[Made]| made.iter().filter(|m| m.key).count();
    assert_eq!(before.decoded.failed, 0);
    assert_eq!(keys(&made.lock().unwrap()), 1);
    assert_eq!(before.media.plis, 0);

    world.lose = 1;
    world.run(Duration::from_secs(2));
    let after = world.receiver.stats();
    assert_eq!(world.seen.dropped, 0);
    assert_eq!(keys(&made.lock().unwrap()), 2, "{after:?}");
    assert_eq!(after.media.plis, 1);
    // The loss is seen with the next frame; PLI and key frame take a round trip of 20 ms, and the key frame is large.
    let failed = after.decoded.failed;
    assert!((1..=9).contains(&failed), "{failed}");
    eprintln!("{failed} frames lost of {}", after.decoded.frames);
    assert!(after.decoded.frames > before.decoded.frames + 45);
    assert_eq!(
        world.receiver.failure(),
        None,
        "no frame went in without its reference"
    );
}

#[test]
fn a_receiver_without_the_codec_is_refused() {
    let now = Instant::from_millis(1_000);
    let (mut world, _) = world("cl4s", Format::Ccfb, LINK, 3.0);
    let offer = world.sender.offer(now).unwrap();
    let config = slackwater_rtc::RtpConfig::default();
    let at = crate::world::at(crate::world::RECEIVER);
    let mut receiver = slackwater_rtc::Receiver::new(now, at, config).unwrap();
    let error = receiver.answer(now, &offer).unwrap_err().to_string();
    assert!(
        error.contains("found H264/90000, expected VP8/90000"),
        "{error}"
    );
}
