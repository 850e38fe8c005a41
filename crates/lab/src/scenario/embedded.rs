//! Scenarios inside the program, so that a demonstration needs no file.

/// Name and text of every built-in scenario.
pub const ALL: &[(&str, &str)] = &[
    (
        "constant-12mbps",
        include_str!("../../../../scenarios/tour/constant-12mbps.toml"),
    ),
    (
        "varying-link",
        include_str!("../../../../scenarios/tour/varying-link.toml"),
    ),
    ("quic", include_str!("../../../../scenarios/tour/quic.toml")),
    (
        "lte-demo",
        include_str!("../../../../scenarios/tour/lte-demo.toml"),
    ),
    (
        "nr-demo",
        include_str!("../../../../scenarios/tour/nr-demo.toml"),
    ),
    (
        "media-demo",
        include_str!("../../../../scenarios/tour/media-demo.toml"),
    ),
];

/// The text of the built-in scenario `name`.
pub fn embedded(name: &str) -> Option<&'static str> {
    ALL.iter().find(|(n, _)| *n == name).map(|(_, text)| *text)
}

/// Name and title of every built-in scenario.
pub fn embedded_names() -> Vec<(&'static str, &'static str)> {
    ALL.iter()
        .map(|(name, text)| (*name, title(text)))
        .collect()
}

/// The title in a scenario's text; built-in scenarios write it on a line of its own.
fn title(text: &'static str) -> &'static str {
    text.lines()
        .find_map(|l| l.strip_prefix("title = \"")?.strip_suffix('"'))
        .unwrap_or("")
}
