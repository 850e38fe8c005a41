//! Scenarios inside the program, so that a demonstration needs no file.

use std::borrow::Cow;

use crate::drawn::Drawn;

/// Name and text of every built-in scenario.
pub const ALL: &[(&str, &str)] = &[
    (
        "constant-12mbps",
        include_str!("../scenarios/tour/constant-12mbps.toml"),
    ),
    (
        "varying-link",
        include_str!("../scenarios/tour/varying-link.toml"),
    ),
    ("quic", include_str!("../scenarios/tour/quic.toml")),
    ("lte-demo", include_str!("../scenarios/tour/lte-demo.toml")),
    ("nr-demo", include_str!("../scenarios/tour/nr-demo.toml")),
    (
        "media-demo",
        include_str!("../scenarios/tour/media-demo.toml"),
    ),
];

/// Name and text of the arena's cells; the arena says who competes there.
pub const ARENA: &[(&str, &str)] = &[
    (
        "arena/handover",
        include_str!("../scenarios/arena/handover.toml"),
    ),
    (
        "arena/lossy-feedback",
        include_str!("../scenarios/arena/lossy-feedback.toml"),
    ),
    (
        "arena/lte-fading",
        include_str!("../scenarios/arena/lte-fading.toml"),
    ),
    (
        "arena/lte-fading-um",
        include_str!("../scenarios/arena/lte-fading-um.toml"),
    ),
    (
        "arena/lte-steps",
        include_str!("../scenarios/arena/lte-steps.toml"),
    ),
    (
        "arena/lte-ten",
        include_str!("../scenarios/arena/lte-ten.toml"),
    ),
    (
        "arena/media-cell",
        include_str!("../scenarios/arena/media-cell.toml"),
    ),
    (
        "arena/media-cell-chromium",
        include_str!("../scenarios/arena/media-cell-chromium.toml"),
    ),
    (
        "arena/media-link",
        include_str!("../scenarios/arena/media-link.toml"),
    ),
    (
        "arena/media-link-chromium",
        include_str!("../scenarios/arena/media-link-chromium.toml"),
    ),
    (
        "arena/media-lossy",
        include_str!("../scenarios/arena/media-lossy.toml"),
    ),
    (
        "arena/media-lossy-chromium",
        include_str!("../scenarios/arena/media-lossy-chromium.toml"),
    ),
    (
        "arena/media-rival",
        include_str!("../scenarios/arena/media-rival.toml"),
    ),
    (
        "arena/media-rival-chromium",
        include_str!("../scenarios/arena/media-rival-chromium.toml"),
    ),
    (
        "arena/nr-fading",
        include_str!("../scenarios/arena/nr-fading.toml"),
    ),
    (
        "arena/nr-fifty",
        include_str!("../scenarios/arena/nr-fifty.toml"),
    ),
    ("arena/rival", include_str!("../scenarios/arena/rival.toml")),
    (
        "arena/rival-users",
        include_str!("../scenarios/arena/rival-users.toml"),
    ),
    ("arena/trace", include_str!("../scenarios/arena/trace.toml")),
    (
        "arena/upload",
        include_str!("../scenarios/arena/upload.toml"),
    ),
    (
        "arena/upload-nr",
        include_str!("../scenarios/arena/upload-nr.toml"),
    ),
    (
        "arena/vr-mixed",
        include_str!("../scenarios/arena/vr-mixed.toml"),
    ),
    (
        "arena/vr-tdd",
        include_str!("../scenarios/arena/vr-tdd.toml"),
    ),
    ("arena/web", include_str!("../scenarios/arena/web.toml")),
    (
        "arena/wired-hop",
        include_str!("../scenarios/arena/wired-hop.toml"),
    ),
];

/// The text of the built-in scenario `name`, which may be one of those that are drawn (`drawn/bulk-17`).
pub fn embedded(name: &str) -> Option<Cow<'static, str>> {
    let known = ALL.iter().chain(ARENA).find(|(n, _)| *n == name);
    let known = known.map(|(_, text)| Cow::Borrowed(*text));
    known.or_else(|| Drawn::named(name).map(|drawn| drawn.text.into()))
}

/// The built-in scenario whose name is nearest to `name`, where one is near.
pub fn nearest_to(name: &str) -> Option<&'static str> {
    let names = ALL.iter().chain(ARENA).map(|(n, _)| *n);
    slackwater_schema::error::nearest(name, names)
}

/// Name and title of every built-in scenario but the arena's cells, which `slackwater arena --list` names.
pub fn embedded_names() -> Vec<(&'static str, &'static str)> {
    ALL.iter()
        .map(|(name, text)| (*name, title(text)))
        .collect()
}

/// The title in a scenario's text; built-in scenarios write it on a line of its own.
pub fn title(text: &str) -> &str {
    text.lines()
        .find_map(|l| l.strip_prefix("title = \"")?.strip_suffix('"'))
        .unwrap_or("")
}
