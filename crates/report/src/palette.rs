//! The one place where colours are given: a controller looks the same in every plot of every page.
//!
//! The hues start from Okabe and Ito's set and were moved until the eight controllers compared most often keep apart
//! for normal sight, protanopia and deuteranopia (a test measures it), on a light and on a dark page. Colour is never
//! alone: points in a trade-off have shapes, and flows of one controller differ by dash.

use serde::Serialize;

/// Background of plots on the light page.
#[cfg(test)]
pub(super) const LIGHT_PAPER: &str = "#ffffff";
/// Background of plots on the dark page.
#[cfg(test)]
pub(super) const DARK_PAPER: &str = "#14181d";

/// How something is painted, on light and on dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Paint {
    /// `#rrggbb` on the light page.
    pub light: &'static str,
    /// `#rrggbb` on the dark page.
    pub dark: &'static str,
    /// Shape of a point.
    pub shape: Shape,
}

/// Shape of a point in a scatter plot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Shape {
    /// A disc.
    Circle,
    /// A square.
    Square,
    /// A triangle that points up.
    Up,
    /// A triangle that points down.
    Down,
    /// A square on its corner.
    Diamond,
    /// A cross, upright.
    Plus,
    /// A cross, slanted.
    Cross,
    /// A five-pointed star.
    Star,
}

const fn paint(light: &'static str, dark: &'static str, shape: Shape) -> Paint {
    Paint { light, dark, shape }
}

/// Controllers with a colour of their own. The first eight are those held against each other most often.
pub const CONTROLLERS: &[(&str, Paint)] = &[
    ("cubic", paint("#00539b", "#3f8cff", Shape::Circle)),
    ("reno", paint("#4a4a4a", "#9da3ab", Shape::Square)),
    ("vegas", paint("#008f68", "#2ccb98", Shape::Up)),
    ("veno", paint("#c9589e", "#f59ad0", Shape::Down)),
    ("illinois", paint("#6f6a00", "#f2da4e", Shape::Diamond)),
    ("westwood", paint("#2e97cc", "#8fe3ff", Shape::Plus)),
    ("bbr", paint("#e8620c", "#ff8a33", Shape::Cross)),
    ("xrc", paint("#8e3be0", "#c9a2ff", Shape::Star)),
    ("tyrus", paint("#7a4b1e", "#d9a873", Shape::Square)),
    ("ebb", paint("#0b7285", "#66d9e8", Shape::Star)),
    ("ebb-media", paint("#0b7285", "#66d9e8", Shape::Diamond)),
    ("copa", paint("#00848f", "#4fc9cf", Shape::Up)),
    ("prague", paint("#c4163f", "#ff6b86", Shape::Diamond)),
    ("gcc", paint("#4f7d12", "#a6d13a", Shape::Down)),
    ("scream", paint("#8c2a5e", "#d6568f", Shape::Plus)),
    ("dctcp", paint("#1e2f8f", "#7a6be8", Shape::Cross)),
    ("al4s", paint("#b2430e", "#ff9d6e", Shape::Star)),
    ("al4s-c", paint("#b2430e", "#ff9d6e", Shape::Star)),
    ("al4s-s", paint("#1f5fa8", "#74b2ff", Shape::Circle)),
    ("l4s-cc", paint("#75731a", "#d6d35e", Shape::Square)),
    ("cecc", paint("#9a5b00", "#ffc46b", Shape::Star)),
    ("vaqm", paint("#2f6f4f", "#7fd6a8", Shape::Circle)),
    ("bbr3", paint("#b8860b", "#ffd166", Shape::Diamond)),
    ("rule2", paint("#9c4a8b", "#e08fd0", Shape::Plus)),
    ("rule", paint("#9c4a8b", "#e08fd0", Shape::Cross)),
    ("pbe", paint("#3d6b99", "#86b6e6", Shape::Down)),
    ("claw", paint("#5d7a2f", "#b5d47a", Shape::Square)),
    ("sprout", paint("#2f8f4a", "#6fdc8c", Shape::Diamond)),
    ("abc", paint("#a61e9d", "#f078e6", Shape::Up)),
    ("abc-basic", paint("#a61e9d", "#f078e6", Shape::Down)),
    ("udp", paint("#7a5c5c", "#c9a9a9", Shape::Cross)),
    ("fixed", paint("#6b7280", "#9ca3af", Shape::Plus)),
    ("oracle", paint("#0f766e", "#5eead4", Shape::Star)),
    // What stands at the edge, and its variants: never a sender's colour.
    ("no-aqm", paint("#5f6670", "#a3abb5", Shape::Square)),
    ("codel", paint("#b45309", "#fbbf24", Shape::Cross)),
    ("fq-codel", paint("#4d7c0f", "#a3e635", Shape::Up)),
    ("vaqm-told", paint("#0369a1", "#7dd3fc", Shape::Diamond)),
    ("vaqm-int", paint("#047857", "#34d399", Shape::Up)),
    ("vaqm-literal", paint("#854d0e", "#facc15", Shape::Square)),
    ("vaqm-drain", paint("#9a3412", "#fdba74", Shape::Down)),
    ("vaqm-direct", paint("#6d28d9", "#c4b5fd", Shape::Star)),
    ("vaqm-throughput", paint("#1d4ed8", "#93c5fd", Shape::Plus)),
    ("vaqm-pie", paint("#be185d", "#f9a8d4", Shape::Cross)),
    ("cecc-paper", paint("#7c2d12", "#fb923c", Shape::Square)),
    ("cecc-credit", paint("#6d28d9", "#c4b5fd", Shape::Diamond)),
    ("cecc-hold", paint("#9a5b00", "#ffc46b", Shape::Star)),
    ("cecc-alg1", paint("#155e75", "#67e8f9", Shape::Plus)),
    ("cecc-udp", paint("#be185d", "#f9a8d4", Shape::Cross)),
    ("vaqm-cecc", paint("#4338ca", "#a5b4fc", Shape::Diamond)),
    ("marker", paint("#9f1239", "#fb7185", Shape::Diamond)),
    ("router", paint("#14532d", "#86efac", Shape::Square)),
    ("zhuge", paint("#1e40af", "#60a5fa", Shape::Star)),
];

/// Colours for names that the list above does not know; a name always gets the same one.
const OTHERS: &[Paint] = &[
    paint("#5a6f8c", "#a8bcd8", Shape::Circle),
    paint("#a0522d", "#e8a27c", Shape::Up),
    paint("#6b8e23", "#bcd67a", Shape::Square),
    paint("#b0446a", "#ef8fb0", Shape::Diamond),
    paint("#2f7f7f", "#7fd0d0", Shape::Down),
    paint("#7d6b91", "#c8b6dc", Shape::Star),
];

/// Names that mean a controller of the list.
const ALIASES: &[(&str, &str)] = &[
    ("newreno", "reno"),
    ("cl4s", "al4s-c"),
    ("sl4s", "al4s-s"),
    ("new-reno", "reno"),
    ("westwood+", "westwood"),
    ("westwoodplus", "westwood"),
    ("bbrv1", "bbr"),
    ("bbrv2", "bbr"),
    ("bbrv3", "bbr3"),
    ("bbr1", "bbr"),
    ("bbr2", "bbr"),
];

/// Links and capacity: grey, never a controller's colour.
pub const LINK: Paint = paint("#8b929a", "#7d868f", Shape::Circle);

/// The colour of a controller. Variants look like their parent: `veno-ns3` like `veno`, `xrc:n=5` like `xrc`.
pub fn controller(name: &str) -> Paint {
    let name = name.to_ascii_lowercase();
    let stem = name
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '+')
        .next()
        .unwrap_or_default();
    let base = name.split(':').next().unwrap_or_default();
    known(base)
        .or_else(|| known(stem))
        .unwrap_or_else(|| OTHERS[hash(&name) as usize % OTHERS.len()])
}

fn known(name: &str) -> Option<Paint> {
    let name = ALIASES
        .iter()
        .find(|(alias, _)| *alias == name)
        .map_or(name, |(_, name)| name);
    CONTROLLERS
        .iter()
        .find(|(known, _)| *known == name)
        .map(|(_, paint)| *paint)
}

/// States of controllers and senders, by the names that the papers and Linux give them.
const STATES: &[(&str, Paint)] = &[
    ("startup", paint("#e69f00", "#ffc04d", Shape::Circle)),
    ("slow_start", paint("#e69f00", "#ffc04d", Shape::Circle)),
    ("drain", paint("#cc3311", "#ff7a5c", Shape::Circle)),
    ("probe_bw", paint("#56b4e9", "#56b4e9", Shape::Circle)),
    ("probe_bw_up", paint("#2a8fd0", "#7cc8f5", Shape::Circle)),
    ("probe_bw_down", paint("#8fcdf0", "#3a86b3", Shape::Circle)),
    (
        "probe_bw_cruise",
        paint("#56b4e9", "#56b4e9", Shape::Circle),
    ),
    (
        "probe_bw_refill",
        paint("#3a6fb0", "#9fb8ff", Shape::Circle),
    ),
    ("probe_rtt", paint("#882255", "#e07bb0", Shape::Circle)),
    (
        "congestion_avoidance",
        paint("#8fae9f", "#5f8272", Shape::Circle),
    ),
    ("open", paint("#8fae9f", "#5f8272", Shape::Circle)),
    // vAQM's (`open` is above), CECC's, and markers'.
    ("shape", paint("#cc3311", "#ff7a5c", Shape::Circle)),
    ("grow", paint("#2a8fd0", "#7cc8f5", Shape::Circle)),
    ("passed_by", paint("#8b929a", "#7d868f", Shape::Circle)),
    ("admitted", paint("#2f9e8a", "#66d0bf", Shape::Circle)),
    ("waits", paint("#e69f00", "#ffc04d", Shape::Circle)),
    ("no_marks", paint("#8fae9f", "#5f8272", Shape::Circle)),
    ("some_marked", paint("#ddaa33", "#ffd166", Shape::Circle)),
    ("all_marked", paint("#cc3311", "#ff7a5c", Shape::Circle)),
    ("disorder", paint("#ddcc77", "#ddcc77", Shape::Circle)),
    ("cwr", paint("#aa4499", "#d98acb", Shape::Circle)),
    ("recovery", paint("#cc3311", "#ff7a5c", Shape::Circle)),
    // XRC's.
    ("no_feedback", paint("#8b929a", "#7d868f", Shape::Circle)),
    ("start", paint("#e69f00", "#ffc04d", Shape::Circle)),
    ("fast", paint("#2a8fd0", "#7cc8f5", Shape::Circle)),
    ("probe", paint("#8fcdf0", "#3a86b3", Shape::Circle)),
    ("reset", paint("#2f9e8a", "#66d0bf", Shape::Circle)),
    ("slow", paint("#ddcc77", "#ddcc77", Shape::Circle)),
    ("unfair", paint("#b02fb0", "#f07cf0", Shape::Circle)),
    ("internet", paint("#7a4b1e", "#d9a873", Shape::Circle)),
    ("iprobe", paint("#c29a63", "#a3773f", Shape::Circle)),
    ("loss", paint("#7a1010", "#ff4d4d", Shape::Circle)),
    ("timeout", paint("#7a1010", "#ff4d4d", Shape::Circle)),
];

/// The colour of a controller's state.
pub fn state(name: &str) -> Paint {
    let name: String = name
        .to_ascii_lowercase()
        .chars()
        .map(|c| if c == ' ' || c == '-' { '_' } else { c })
        .collect();
    STATES.iter().find(|(known, _)| *known == name).map_or_else(
        || OTHERS[hash(&name) as usize % OTHERS.len()],
        |(_, paint)| *paint,
    )
}

/// FNV-1a, 32 bits.
fn hash(name: &str) -> u32 {
    name.bytes().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Linear sRGB, 0 to 1 (IEC 61966-2-1).
    fn linear(hex: &str) -> [f64; 3] {
        [1, 3, 5].map(|at| {
            let byte = u8::from_str_radix(&hex[at..at + 2], 16).expect("two hexadecimal digits");
            let c = f64::from(byte) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    /// WCAG 2.2, contrast ratio.
    fn contrast(a: &str, b: &str) -> f64 {
        let luminance = |hex| {
            let [r, g, b] = linear(hex);
            0.2126 * r + 0.7152 * g + 0.0722 * b
        };
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    type Matrix = [[f64; 3]; 3];

    const NORMAL: Matrix = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    /// Machado, Oliveira, Fernandes 2009, severity 1.0.
    const PROTANOPIA: Matrix = [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ];
    /// Machado, Oliveira, Fernandes 2009, severity 1.0.
    const DEUTERANOPIA: Matrix = [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ];

    fn product(m: &Matrix, v: [f64; 3]) -> [f64; 3] {
        m.map(|row| row[0] * v[0] + row[1] * v[1] + row[2] * v[2])
    }

    /// Oklab (Ottosson 2020), in which equal distances look about equal.
    fn oklab(hex: &str, sight: &Matrix) -> [f64; 3] {
        let seen = product(sight, linear(hex)).map(|c| c.clamp(0.0, 1.0));
        let cones = product(
            &[
                [0.4122214708, 0.5363325363, 0.0514459929],
                [0.2119034982, 0.6806995451, 0.1073969566],
                [0.0883024619, 0.2817188376, 0.6299787005],
            ],
            seen,
        )
        .map(f64::cbrt);
        product(
            &[
                [0.2104542553, 0.7936177850, -0.0040720468],
                [1.9779984951, -2.4285922050, 0.4505937099],
                [0.0259040371, 0.7827717662, -0.8086757660],
            ],
            cones,
        )
    }

    fn distance(a: &str, b: &str, sight: &Matrix) -> f64 {
        let (a, b) = (oklab(a, sight), oklab(b, sight));
        a.iter()
            .zip(b)
            .map(|(a, b)| (a - b).powi(2))
            .sum::<f64>()
            .sqrt()
    }

    #[test]
    fn every_line_stands_out_from_the_page() {
        let named = CONTROLLERS.iter().map(|(name, paint)| (*name, *paint));
        let others = OTHERS.iter().map(|paint| ("other", *paint));
        for (name, paint) in named.chain(others).chain([("link", LINK)]) {
            // WCAG 2.2, 1.4.11: 3:1 for graphics.
            let light = contrast(paint.light, LIGHT_PAPER);
            let dark = contrast(paint.dark, DARK_PAPER);
            assert!(light >= 3.0, "{name} on light: {light:.2}");
            assert!(dark >= 3.0, "{name} on dark: {dark:.2}");
        }
    }

    /// No name stands twice, and what stands at the edge has no sender's colour.
    #[test]
    fn each_system_has_its_own_colour() {
        let edge = |name: &str| {
            let stem = name.split('-').next().unwrap_or_default();
            ["vaqm", "cecc", "codel", "fq", "no", "marker"].contains(&stem)
        };
        for (i, (a, first)) in CONTROLLERS.iter().enumerate() {
            for (b, second) in &CONTROLLERS[..i] {
                assert_ne!(a, b);
                let alike = (first.light, first.dark) == (second.light, second.dark);
                assert!(!alike || edge(a) == edge(b), "{a} looks like {b}");
            }
        }
        assert_ne!(controller("bbr3"), controller("bbr"));
        assert_eq!(controller("vaqm-new"), controller("vaqm"));
    }

    #[test]
    fn the_eight_keep_apart_for_colour_blind_readers() {
        for (i, (a, first)) in CONTROLLERS[..8].iter().enumerate() {
            for (b, second) in &CONTROLLERS[..i] {
                for (sight, matrix) in [
                    ("normal", NORMAL),
                    ("protanopia", PROTANOPIA),
                    ("deuteranopia", DEUTERANOPIA),
                ] {
                    let light = distance(first.light, second.light, &matrix);
                    let dark = distance(first.dark, second.dark, &matrix);
                    assert!(light > 0.05, "{a} and {b}, {sight}, light: {light:.3}");
                    assert!(dark > 0.05, "{a} and {b}, {sight}, dark: {dark:.3}");
                }
            }
        }
    }

    #[test]
    fn a_controller_keeps_its_colour_under_every_name() {
        assert_eq!(controller("BBRv1"), controller("bbr"));
        assert_eq!(controller("veno-ns3"), controller("veno"));
        assert_eq!(controller("cubic hystart++"), controller("cubic"));
        assert_eq!(controller("westwood+"), controller("westwood"));
        assert_eq!(controller("newreno"), controller("reno"));
        assert_ne!(controller("cubic"), controller("reno"));
        assert_eq!(controller("my-own"), controller("my-own"));
    }

    #[test]
    fn states_are_known_under_their_usual_spellings() {
        assert_eq!(state("PROBE_BW"), state("probe-bw"));
        assert_eq!(state("Slow start"), state("slow_start"));
        assert_ne!(state("STARTUP"), state("DRAIN"));
    }
}
