//! Applications that do not always send.

use super::World;
use super::dice::Dice;
use super::place::Place;

/// An application, as keys of a flow and in words.
fn app(dice: &mut Dice) -> (String, String) {
    let kind = dice.one(&["page", "transfers", "video", "vr"]);
    let bytes = dice.factor(3e4, 3e6) as u64;
    let rate = dice.factor(1.0, 15.0);
    let transport = dice.one(&["tcp", "tcp", "quic"]);
    let gap = dice.one(&["200 ms", "1 s", "3 s"]);
    let often = dice.one(&[true, false]);
    let connections = dice.one(&[1, 6]);
    let keys = match kind {
        "page" => {
            let bytes = bytes.max(100_000);
            format!(
                "size = \"{bytes} B\", connections = {connections}, multiplexed = {often}, gap = \"{gap}\""
            )
        }
        "transfers" => {
            let least = bytes / 10;
            format!(
                "min = \"{least} B\", max = \"{bytes} B\", reconnect = {often}, gap = \"{gap}\""
            )
        }
        "video" => {
            let (on, period) = if often {
                ("500 ms", "2 s")
            } else {
                ("2 s", "5 s")
            };
            format!(
                "rate = \"{rate:.2} Mbit/s\", on = \"{on}\", period = \"{period}\", burst = true"
            )
        }
        _ => format!("rate = \"{rate:.2} Mbit/s\", transport = \"{transport}\""),
    };
    let carries = if kind == "vr" {
        String::new()
    } else {
        format!("transport = \"{transport}\"\n")
    };
    let words = format!("{kind} over {transport}");
    (
        format!("app = {{ kind = \"{kind}\", {keys} }}\n{carries}"),
        words,
    )
}

/// A world in which each user has `app`, called `words`.
fn world(place: &Place, words: &str, app: &str, direction: &str) -> World {
    World {
        about: format!(
            "{words}, {}, {} {direction}, {}",
            place.rat,
            place.users,
            place.path()
        ),
        seconds: 20,
        warmup: 2,
        text: format!(
            "{}\n[[flow]]\ncontroller = \"cubic\"\nue = \"each\"\ndirection = \"{direction}\"\n{app}",
            place.text(place.users)
        ),
    }
}

/// One application for each user.
pub(super) fn apps(dice: &mut Dice) -> World {
    let mut place = Place::new(dice);
    let (app, words) = app(dice);
    if words.ends_with("quic") {
        place.over_quic();
    }
    // A page's data come down.
    let direction = if words.starts_with("page") {
        "down"
    } else {
        place.direction
    };
    world(&place, &words, &app, direction)
}

/// VR frames for each user.
pub(super) fn vr(dice: &mut Dice) -> World {
    let place = Place::new(dice);
    let rate = dice.factor(1.0, 30.0);
    let fps = dice.one(&[30, 60, 72, 90, 120]);
    let clock = dice.one(&["gaps", "grid"]);
    let phase = dice.one(&[true, false]);
    let lead = dice.one(&["0 s", "50 ms", "1 s"]);
    let app = format!(
        "app = {{ kind = \"vr\", transport = \"tcp\", rate = \"{rate:.2} Mbit/s\", fps = {fps}, clock = \"{clock}\", random_phase = {phase}, lead = \"{lead}\" }}\n"
    );
    let words = format!("VR of {rate:.1} Mbit/s at {fps}/s");
    let mut world = world(&place, &words, &app, "down");
    world.text.push_str("\n[upf]\nn3 = \"1 ms\"\n");
    world
}
