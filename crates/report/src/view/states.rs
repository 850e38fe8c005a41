//! States as bands under the curves: of senders, of edge functions, and of the marking that media follow.
//!
//! They come from samples by name, so that a run in memory and one read back from its files look the same.

use slackwater_edge::upf::vaqm::State;

use crate::{Band, BandTrack, Series, SeriesKind};

/// Samples of an internal: nanoseconds and value.
pub(crate) type Samples = Vec<(u64, f64)>;

/// Plots of what edge functions think: the function, what it is of, its unit, and internals by name and meaning.
type EdgePlot = (
    &'static str,
    &'static str,
    &'static str,
    &'static [(&'static str, &'static str)],
);

const EDGE_PLOTS: [EdgePlot; 6] = [
    (
        "vAQM",
        "round-trip times to the UE",
        "ms",
        &[
            ("vaqm_average_ms", "average"),
            ("vaqm_path_ms", "path"),
            ("vaqm_target_ms", "target"),
        ],
    ),
    (
        "vAQM",
        "bytes",
        "kB",
        &[
            ("vaqm_flight_kb", "in flight"),
            ("vaqm_cap_kb", "cap"),
            ("vaqm_backlog_kb", "waiting at the UPF"),
        ],
    ),
    (
        "vAQM",
        "rates",
        "Mbit/s",
        &[
            ("vaqm_delivered_mbps", "delivered"),
            ("vaqm_rate_mbps", "dequeue rate"),
        ],
    ),
    (
        "CECC",
        "bytes",
        "kB",
        &[
            ("cecc_held_kb", "held at the UPF"),
            ("cecc_rbs_kb", "waiting in the cell"),
        ],
    ),
    (
        "CECC",
        "admissions",
        "",
        &[
            ("cecc_governed", "frames are ordered"),
            ("cecc_waits", "a frame waits"),
        ],
    ),
    (
        "Zhuge",
        "delays",
        "ms",
        &[
            ("zhuge_delay_ms", "foretold for the next packet"),
            ("zhuge_hold_ms", "held back"),
        ],
    ),
];

/// What CECC does with a session's frames.
const ADMISSION: [&str; 3] = ["passed by", "admitted", "waits"];
/// What a marker does with packets: nothing, some of them, (nearly) all.
const MARKING: [&str; 3] = ["no marks", "some marked", "all marked"];
/// The share of marked packets from which nearly all are.
const NEARLY_ALL: f64 = 0.95;

/// Curves of what the edge functions of a UE think.
pub(crate) fn edge_curves(
    ue: usize,
    flow: usize,
    samples: &dyn Fn(&str) -> Option<Samples>,
) -> Vec<Series> {
    let mut out = vec![];
    for (kind, plot, unit, parts) in EDGE_PLOTS {
        for (name, what) in parts {
            let Some(values) = samples(name) else {
                continue;
            };
            out.push(Series {
                id: format!("{name}-{flow}"),
                label: format!("UE {ue}, {what}"),
                controller: kind.to_lowercase(),
                kind: SeriesKind::Other(format!("{kind}: {plot}")),
                unit: unit.to_owned(),
                t: values.iter().map(|(t, _)| *t as f64 * 1e-9).collect(),
                y: values.iter().map(|(_, v)| *v).collect(),
            });
        }
    }
    out
}

/// States of the edge functions of a UE: vAQM's, CECC's admissions, the marker's.
pub(crate) fn edge_bands(ue: usize, samples: &dyn Fn(&str) -> Option<Samples>) -> Vec<BandTrack> {
    let mut out = vec![];
    let mut track = |function: &str, names: &[&str], codes: Samples| {
        let bands = bands_of(names, codes.into_iter());
        if !bands.is_empty() {
            out.push(BandTrack {
                label: format!("UE {ue}, {function}"),
                controller: function.to_lowercase(),
                bands,
            });
        }
    };
    if let Some(states) = samples("vaqm_state") {
        track("vAQM", &State::ALL.map(State::name), states);
    }
    if let (Some(governed), Some(waits)) = (samples("cecc_governed"), samples("cecc_waits")) {
        let both = governed.into_iter().zip(waits);
        let codes = both.map(|((t, governed), (_, waits))| {
            let code = match (governed > 0.0, waits > 0.0) {
                (false, _) => 0.0,
                (true, false) => 1.0,
                (true, true) => 2.0,
            };
            (t, code)
        });
        track("CECC", &ADMISSION, codes.collect());
    }
    if let Some(chance) = samples("l4s_marker_chance") {
        let codes = chance.into_iter().map(|(t, c)| (t, marking_code(c)));
        track("marker", &MARKING, codes.collect());
    }
    out
}

fn marking_code(share: f64) -> f64 {
    match share {
        s if s.is_nan() => f64::NAN,
        s if s <= 0.0 => 0.0,
        s if s < NEARLY_ALL => 1.0,
        _ => 2.0,
    }
}

/// The marking that a flow sees: nanoseconds, packets marked and packets that left the queue, by bin. Nothing where nothing
/// was marked.
pub(crate) fn marking(
    label: &str,
    controller: &str,
    bins: impl Iterator<Item = (u64, f64, f64)>,
) -> Option<BandTrack> {
    let shares: Samples = bins
        .map(|(t, marked, left)| (t, if left > 0.0 { marked / left } else { f64::NAN }))
        .collect();
    let is_marked = shares.iter().any(|(_, s)| *s > 0.0);
    let codes = shares.into_iter().map(|(t, s)| (t, marking_code(s)));
    is_marked.then(|| BandTrack {
        label: format!("{label}, marking"),
        controller: controller.to_owned(),
        bands: bands_of(&MARKING, codes),
    })
}

/// Bands of the states called `names` from samples of their number: time in ns, code.
pub(crate) fn bands_of(names: &[&str], samples: impl Iterator<Item = (u64, f64)>) -> Vec<Band> {
    let mut bands: Vec<Band> = vec![];
    for (t, mode) in samples {
        let at = t as f64 * 1e-9;
        let Some(state) = names.get(mode as usize).filter(|_| mode.is_finite()) else {
            continue;
        };
        match bands.last_mut() {
            Some(b) if b.state == *state => b.end = at,
            last => {
                if let Some(b) = last {
                    b.end = at;
                }
                bands.push(Band {
                    state: (*state).to_owned(),
                    start: at,
                    end: at,
                });
            }
        }
    }
    bands
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(track: &BandTrack) -> Vec<&str> {
        track.bands.iter().map(|b| b.state.as_str()).collect()
    }

    #[test]
    fn edge_functions_have_bands_by_their_internals() {
        let samples = |name: &str| -> Option<Samples> {
            let values: &[f64] = match name {
                "vaqm_state" => &[0.0, 1.0, 1.0, 2.0],
                "cecc_governed" => &[0.0, 1.0, 1.0, 1.0],
                "cecc_waits" => &[0.0, 1.0, 0.0, 0.0],
                "l4s_marker_chance" => &[0.0, 0.2, 1.0, f64::NAN],
                _ => return None,
            };
            Some(
                (0..)
                    .map(|k| k * 1_000_000)
                    .zip(values.iter().copied())
                    .collect(),
            )
        };
        let tracks = edge_bands(3, &samples);
        let labels: Vec<&str> = tracks.iter().map(|t| t.label.as_str()).collect();
        assert_eq!(labels, ["UE 3, vAQM", "UE 3, CECC", "UE 3, marker"]);
        assert_eq!(names(&tracks[0]), ["open", "shape", "grow"]);
        assert_eq!(names(&tracks[1]), ["passed by", "waits", "admitted"]);
        assert_eq!(names(&tracks[2]), ["no marks", "some marked", "all marked"]);
        assert!((tracks[0].bands[1].end - 0.003).abs() < 1e-12);
        assert!(edge_bands(0, &|_| None).is_empty());
    }

    #[test]
    fn a_flow_without_marks_has_no_band() {
        let bins = |marked: f64| (1..5).map(move |k| (k * 100, marked * k as f64, 10.0));
        assert!(marking("a", "gcc", bins(0.0)).is_none());
        let track = marking("a", "al4s-c", bins(2.0)).expect("marks");
        assert_eq!(names(&track), ["some marked"]);
        assert_eq!(track.label, "a, marking");
    }
}
