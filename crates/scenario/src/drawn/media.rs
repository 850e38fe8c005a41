//! Real-time media.

use std::fmt::Write as _;

use super::World;
use super::dice::Dice;
use super::link::Link;
use super::place::Place;

/// Media to or from each user of a cell, or on a link.
pub(super) fn media(dice: &mut Dice) -> World {
    let (place, mut text, ue) = if dice.one(&[true, true, false]) {
        let place = Place::new(dice);
        let direction = place.direction;
        let about = format!(
            "{}, {} {direction}, {}",
            place.rat,
            place.users,
            place.path()
        );
        let ue = format!("ue = \"each\"\ndirection = \"{direction}\"\n");
        (about, place.text(place.users), ue)
    } else {
        let link = Link::new(dice, &["fifo", "fifo", "codel", "pie"]);
        (link.about, link.text, String::new())
    };

    let fps = dice.one(&[30, 60]);
    let (start, max) = dice.one(&[("1", "5"), ("2", "20"), ("2", "100")]);
    let lag = dice.one(&["0 s", "0 s", "100 ms", "500 ms"]);
    let frames = dice.one(&["even", "chromium"]);
    let service = dice.one(&["40 ms", "60 ms", "100 ms"]);
    let keys = dice.one(&["", "", ", key_interval = \"4 s\", key_scale = 5"]);
    let lost = dice.one(&["0 %", "0 %", "0 %", "10 %"]);
    let feedback = dice.one(&["ccfb", "ccfb", "twcc"]);
    let _ = write!(
        text,
        "\n[[flow]]\n{ue}controller = \"gcc\"\n\
         app = {{ kind = \"media\", fps = {fps}, start = \"{start} Mbit/s\", max = \"{max} Mbit/s\", lag = \"{lag}\", frames = \"{frames}\", \
         service = \"{service}\", feedback = \"{feedback}\", feedback_loss = \"{lost}\"{keys} }}\n"
    );
    World {
        about: format!("{frames} media up to {max} Mbit/s at {fps}/s, {place}"),
        seconds: 30,
        warmup: 5,
        text,
    }
}
