//! The built-in controllers: the tables of the families, one after the other.

use super::{AnyMedia, Entry, Kind, Listed, base};
use crate::{media, phy, rate, window};

/// A family's table: the entries of each of its modules.
type Family = &'static [&'static [Entry]];

/// The families in the order in which their controllers are listed.
const FAMILIES: [Family; 3] = [window::TABLE, rate::TABLE, phy::TABLE];

/// The built-in controllers of TCP and QUIC.
pub fn transport_entries() -> impl Iterator<Item = &'static Entry> + Clone {
    FAMILIES.into_iter().flatten().copied().flatten()
}

/// The built-in controllers of media.
pub fn media_entries() -> impl Iterator<Item = &'static Entry<AnyMedia>> + Clone {
    media::TABLE.iter().copied().flatten()
}

/// Every built-in controller.
pub fn entries() -> impl Iterator<Item = Listed> + Clone {
    let media = media_entries().map(Entry::listed);
    transport_entries().map(Entry::listed).chain(media)
}

/// The built-in controller called `name`, an alias or parameters included.
pub fn find(name: &str) -> Option<Listed> {
    let name = base(name);
    entries().find(|e| e.name == name)
}

/// The names that [`build`](super::build) knows for TCP and QUIC, each with one line about it. Aliases are left out.
pub fn names() -> Vec<(&'static str, &'static str)> {
    of(Kind::Transport)
}

/// The names that [`build_media`](super::build_media) knows, each with one line about it.
pub fn media_names() -> Vec<(&'static str, &'static str)> {
    of(Kind::Media)
}

fn of(kind: Kind) -> Vec<(&'static str, &'static str)> {
    let entries = entries().filter(|e| e.kind == kind);
    entries.map(|e| (e.name, e.about)).collect()
}

/// Names of the states that the controller's `mode` (see [`Controller::snapshot`](crate::Controller::snapshot)) counts
/// through; `None` for a controller without states.
pub fn modes(name: &str) -> Option<&'static [&'static str]> {
    find(name)?.modes
}

/// How text and figures call a controller: `cubic` is CUBIC. A name that no built-in controller has stays as it is, and so
/// does one with parameters.
pub fn title(name: &str) -> &str {
    let entry = entries().find(|e| e.name == name);
    entry.map_or(name, |e| e.title)
}

/// The name that an alias stands for; other names are returned as they are.
pub fn canonical(name: &str) -> &str {
    let entry = entries().find(|e| e.aliases.contains(&name));
    entry.map_or(name, |e| e.name)
}
