//! Cells with bulk flows.

use slackwater_core::Duration;

use super::World;
use super::dice::Dice;

/// A cell with its path and its reports, whose user is where it has a rate.
pub(super) struct Place {
    /// The radio, in words.
    pub(super) rat: String,
    pub(super) rtt: Duration,
    pub(super) buffer: &'static str,
    pub(super) users: u32,
    /// Which way data go.
    pub(super) direction: &'static str,
    /// Path and cell.
    cell: String,
    /// Keys of the reports to senders.
    feedback: String,
    /// What a user is, but how many there are.
    ue: String,
}

impl Place {
    pub(super) fn new(dice: &mut Dice) -> Self {
        let rtt = Duration::from_micros((dice.factor(4.0, 200.0) * 1e3) as u64);
        let loss = dice.one(&["0 %", "0 %", "0 %", "0.01 %", "0.1 %", "1 %"]);
        let jitter = dice.one(&["0 ms", "0 ms", "1 ms", "5 ms"]);
        let (rat, air) = radio(dice);
        let buffer = dice.one(&[
            "30 packets",
            "100 packets",
            "192 kB",
            "500 kB",
            "1 MB",
            "4 MB",
        ]);
        let mode = dice.one(&["am", "am", "um"]);
        let scheduler = dice.one(&["pf", "rr"]);
        let shadowing = dice.one(&["0 dB", "4 dB"]);
        let users = dice.one(&[1, 1, 1, 2, 4, 8]);
        let speed = dice.one(&["1", "3", "15", "60", "120"]);
        let distance = dice.factor(50.0, 250.0) as u64;
        let mobility = dice.one(&["static", "walk", "steps"]);
        let moves = match mobility {
            "walk" => format!("min = \"20 m\", max = \"{distance} m\", speed = \"{speed} km/h\""),
            "steps" => format!("min = \"40 m\", max = \"{distance} m\""),
            _ => format!("distance = \"{distance} m\""),
        };
        let every = dice.one(&["1 ms", "5 ms", "5 ms", "10 ms", "20 ms"]);
        let late = dice.one(&["0 ms", "0 ms", "5 ms", "20 ms"]);
        let lost = dice.one(&["0 %", "0 %", "20 %"]);
        let direction = dice.one(&["down", "down", "down", "up"]);

        let cell = format!(
            "[path]\nrtt = \"{rtt}\"\nloss = \"{loss}\"\njitter = \"{jitter}\"\n\n\
             [cell]\n{air}shadowing = \"{shadowing}\"\nscheduler = \"{scheduler}\"\nrlc = {{ mode = \"{mode}\", buffer = \"{buffer}\" }}\n"
        );
        let feedback = format!(
            "delay = \"{late}\"\nebb = {{ every = \"{every}\" }}\nfaults = {{ loss = \"{lost}\" }}\n"
        );
        let ue =
            format!("speed = \"{speed} km/h\"\nmobility = {{ kind = \"{mobility}\", {moves} }}\n");
        Self {
            rat,
            rtt,
            buffer,
            users,
            direction,
            cell,
            feedback,
            ue,
        }
    }

    /// Path, cell, feedback and `users` users.
    pub(super) fn text(&self, users: u32) -> String {
        format!(
            "{}\n[feedback]\n{}\n[[ue]]\ncount = {users}\n{}",
            self.cell, self.feedback, self.ue
        )
    }

    /// Reports come by datagrams: no TCP option reaches a QUIC sender.
    pub(super) fn over_quic(&mut self) {
        self.feedback.push_str("carrier = \"datagram\"\n");
    }

    /// Wired round trip and buffer, in words.
    pub(super) fn path(&self) -> String {
        format!("{:.1} ms, {}", self.rtt.as_millis_f64(), self.buffer)
    }
}

/// The radio, in words and as keys.
fn radio(dice: &mut Dice) -> (String, String) {
    if dice.one(&[true, false]) {
        let bandwidth = dice.one(&["3", "5", "10", "15", "20"]);
        let fading = dice.one(&["none", "flat", "epa", "eva", "etu"]);
        return (
            format!("LTE {bandwidth} MHz {fading}"),
            format!("rat = \"lte\"\nbandwidth = \"{bandwidth} MHz\"\nfading = \"{fading}\"\n"),
        );
    }
    let (bandwidth, scs) = dice.one(&[
        ("10", "15"),
        ("20", "15"),
        ("40", "30"),
        ("80", "30"),
        ("100", "60"),
    ]);
    let fading = dice.one(&["none", "tdl-a", "tdl-b", "tdl-c", "tdl-d", "tdl-e"]);
    let duplex = dice.one(&["fdd", "tdd"]);
    (
        format!("NR {duplex} {bandwidth} MHz {fading}"),
        format!(
            "rat = \"nr\"\nbandwidth = \"{bandwidth} MHz\"\nscs = \"{scs} kHz\"\nfading = \"{fading}\"\nduplex = \"{duplex}\"\n"
        ),
    )
}

/// So many bulk flows of each user of `place`, with `more` in the way, which is called `what`.
fn flows(place: &Place, flows: u32, what: &str, more: &str) -> World {
    let Place {
        rat,
        users,
        direction,
        ..
    } = place;
    World {
        about: format!(
            "{rat}{what}, {users} x {flows} {direction}, {}",
            place.path()
        ),
        seconds: 15,
        warmup: 3,
        text: format!(
            "{}{more}\n[[flow]]\ncontroller = \"cubic\"\nue = \"each\"\ncount = {flows}\ndirection = \"{direction}\"\n",
            place.text(*users)
        ),
    }
}

/// Bulk flows of each user.
pub(super) fn bulk(dice: &mut Dice) -> World {
    let place = Place::new(dice);
    let count = dice.one(&[1, 1, 2, 4]);
    flows(&place, count, "", "")
}

/// Bulk flows of each user through a wired hop.
pub(super) fn hop(dice: &mut Dice) -> World {
    let place = Place::new(dice);
    let count = dice.one(&[1, 1, 2, 4]);
    let rate = dice.factor(2.0, 100.0);
    let limit = dice.one(&["20 kB", "60 kB", "250 kB", "1 MB"]);
    let queue = dice.one(&["fifo", "fifo", "fifo", "codel", "fq-codel"]);
    let keys = match queue {
        "codel" => format!("kind = \"fifo\", limit = \"{limit}\", law = \"codel\""),
        kind => format!("kind = \"{kind}\", limit = \"{limit}\""),
    };
    flows(
        &place,
        count,
        &format!(", hop {rate:.1} Mbit/s {queue} {limit}"),
        &format!("\n[wired]\nrate = \"{rate:.3} Mbit/s\"\nqueue = {{ {keys} }}\n"),
    )
}

/// A bulk flow, and a CUBIC flow that the comparison leaves as it is.
pub(super) fn rival(dice: &mut Dice) -> World {
    let place = Place::new(dice);
    let (who, ue, users) = dice.one(&[("the same user", 0, 1), ("another user", 1, 2)]);
    let start = dice.one(&["0 s", "2 s"]);
    let direction = place.direction;
    World {
        about: format!(
            "{}, beside CUBIC of {who}, {direction}, {}",
            place.rat,
            place.path()
        ),
        seconds: 30,
        warmup: 5,
        text: format!(
            "{}\n[[flow]]\ncontroller = \"cubic\"\nue = 0\ndirection = \"{direction}\"\n\n\
             [[flow]]\ncontroller = \"cubic\"\nlabel = \"rival\"\nue = {ue}\nstart = \"{start}\"\ndirection = \"{direction}\"\n",
            place.text(users)
        ),
    }
}
