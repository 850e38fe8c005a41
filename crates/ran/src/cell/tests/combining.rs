//! What the combining of a block's transmissions is worth to a UE whose channel falls all at once.

use super::*;
use crate::phy::Combining;

/// The UE falls from 21 dB to `low` for every second half of a second, link adaptation following each subframe.
fn falls(combining: Combining, low: f64) -> DirStats {
    let mut config = CellConfig::lte_ns3(10.0);
    config.harq.combining = combining;
    let half = Instant::from_millis(500);
    let channel = ChannelConfig {
        given: Some(Given::SinrSeries(vec![(Instant::ZERO, 21.0), (half, low)])),
        given_repeat: Some(Duration::from_secs(1)),
        ..ChannelConfig::default()
    };
    let ue = ue(channel, RlcConfig::default());
    saturate(&config, ue, Direction::Down, 10).stats().down
}

#[test]
fn blocks_of_a_falling_channel_are_saved_by_redundancy() {
    // MCS 28 needs 20 dB; four transmissions of it are worth 13.8 dB with redundancy, 6 without.
    let [ir, chase, none] =
        [Combining::Redundancy, Combining::Chase, Combining::Nothing].map(|how| falls(how, 7.0));
    assert_eq!(ir.lost, 0, "{ir:?}");
    // Every block in flight, at each of ten falls.
    assert!(
        chase.lost >= 20 && none.lost >= chase.lost,
        "{chase:?} {none:?}"
    );
    assert!(ir.delivered > chase.delivered, "{ir:?} {chase:?}");
}

#[test]
fn a_shallow_fall_is_chases_too() {
    let [chase, none] = [Combining::Chase, Combining::Nothing].map(|how| falls(how, 15.5));
    assert_eq!(chase.lost, 0, "{chase:?}");
    assert!(none.lost >= 20, "{none:?}");
}

#[test]
fn nothing_saves_what_lies_too_deep() {
    let ir = falls(Combining::Redundancy, 2.0);
    assert!(ir.lost >= 20, "{ir:?}");
}
