//! `report.html`: one file that shows a run, or runs side by side, without a network.
//!
//! Fill a [`Report`] and write what [`render`] returns. The page carries its own scripts and styles; curves travel as
//! one block of JSON, thinned so that a page of many runs still opens at once: each bucket of time keeps its least
//! and its greatest value, so no peak is lost.

pub mod arena;
mod decimate;
#[cfg(test)]
mod demo;
mod html;
mod model;
pub mod palette;
pub mod paper;
mod payload;
pub mod shelf;
#[cfg(test)]
mod tests;
pub mod validation;
mod verdicts;
pub mod view;

pub use html::{PLOT_JS, render};
pub use model::{
    Band, BandTrack, Better, Cdf, Cell, Column, Estimate, EventKind, EventTrack, Report, Row,
    RunView, Series, SeriesKind, Spread, SummaryTable, TradeOff, TradeOffPoint,
};
pub use payload::{POINTS_HIDDEN, POINTS_SHOWN};

/// A curve thinned to at most `max` points (or a few more where it has gaps); each stretch of time keeps its extremes.
pub fn thin(t: &[f64], y: &[f64], max: usize) -> (Vec<f64>, Vec<f64>) {
    decimate::min_max(t, y, max)
}
