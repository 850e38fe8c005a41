//! What a terminal shows whose command uses it.

use super::on_terminal::on_terminal;
use super::{allowed, text};

/// `seen` without the sequences by which a title is kept, set and restored, and how often it was set.
fn untitled(seen: &str) -> (String, usize) {
    let plain = seen.replace("\u{1b}[22;2t", "").replace("\u{1b}[23;2t", "");
    let mut parts = plain.split("\u{1b}]2;");
    let mut rest = parts.next().unwrap_or_default().to_owned();
    let mut titles = 0;
    for part in parts {
        let (title, after) = part.split_once('\u{7}').expect("a title ends");
        assert!(title.starts_with("emulate: down "), "{title}");
        rest += after;
        titles += 1;
    }
    (rest, titles)
}

#[test]
fn nothing_is_written_into_the_commands_lines() {
    if !allowed() {
        return;
    }
    let shell = "printf 'who> '; read who; printf 'hello %s|\\n' \"$who\"; exit 7";
    // The title was drawn more than once when the answer comes: a redraw meets the prompt.
    let done = on_terminal("80", Some(("Mbit/s", 4, "me")))
        .args(["emulate", "--rate", "12", "--isolated", "--no-files"])
        .args(["--", "sh", "-c", shell])
        .output()
        .expect("python3 starts");
    let seen = String::from_utf8_lossy(&done.stdout);
    assert_eq!(done.status.code(), Some(7), "{seen}{}", text(&done.stderr));

    let (rest, titles) = untitled(&seen);
    assert!(titles >= 2, "{seen:?}");
    // The terminal echoes what is typed.
    let lines = "who> me\r\nhello me|\r\n";
    assert!(rest.starts_with(lines), "{rest:?}");
    // What comes after the command's end is the table of the run.
    assert!(!rest.contains('\u{1b}'), "{rest:?}");
    assert!(seen.contains("\u{1b}[23;2t"), "{seen:?}");
}
