//! Records as tables of columns: the shape that Parquet files and Python's data frames share.

use core::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use slackwater_core::{Instant, record};

use crate::record::columns::EVENT_NAMES;
use crate::record::slots::SlotRows;
use crate::record::{FlowSeries, RunRecorder};

/// A column.
#[derive(Clone, Debug, PartialEq)]
pub enum Column {
    /// Whole numbers; times are nanoseconds since the start of the run.
    Int(Vec<i64>),
    /// Numbers; NaN for "none".
    Float(Vec<f64>),
    /// Texts out of few: indices into a dictionary.
    Text {
        /// By row.
        codes: Vec<u32>,
        /// The texts.
        words: Arc<[String]>,
    },
}

impl Column {
    /// Rows.
    pub fn len(&self) -> usize {
        match self {
            Self::Int(v) => v.len(),
            Self::Float(v) => v.len(),
            Self::Text { codes, .. } => codes.len(),
        }
    }

    /// True where there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Collects texts out of few.
#[derive(Debug, Default)]
pub struct Words {
    known: BTreeMap<String, u32>,
    texts: Vec<String>,
    codes: Vec<u32>,
}

impl Words {
    /// Another `times` rows with `word`.
    pub fn push(&mut self, word: &str, times: usize) {
        let code = self.known.get(word).copied().unwrap_or_else(|| {
            let next = self.texts.len() as u32;
            self.texts.push(word.to_owned());
            self.known.insert(word.to_owned(), next);
            next
        });
        self.codes.extend(core::iter::repeat_n(code, times));
    }

    /// The column that was collected.
    pub fn column(self) -> Column {
        Column::Text {
            codes: self.codes,
            words: self.texts.into(),
        }
    }
}

/// Columns of one length, with names that end in their unit.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// Name and values.
    pub columns: Vec<(&'static str, Column)>,
}

impl Frame {
    /// Rows.
    pub fn rows(&self) -> usize {
        self.columns.first().map_or(0, |c| c.1.len())
    }

    /// Adds the rows of `other`, which has the same columns.
    pub fn append(&mut self, other: Self) {
        if self.columns.is_empty() {
            *self = other;
            return;
        }
        for ((_, a), (_, b)) in self.columns.iter_mut().zip(other.columns) {
            match (a, b) {
                (Column::Int(a), Column::Int(b)) => a.extend(b),
                (Column::Float(a), Column::Float(b)) => a.extend(b),
                (Column::Text { codes: a, .. }, Column::Text { codes: b, .. }) => a.extend(b),
                _ => unreachable!("frames of one table have the same columns"),
            }
        }
    }
}

fn int<T: Copy + TryInto<i64>>(values: &[T]) -> Column {
    Column::Int(
        values
            .iter()
            .map(|v| (*v).try_into().unwrap_or(i64::MAX))
            .collect(),
    )
}

fn same(value: usize, rows: usize) -> Column {
    Column::Int(vec![value as i64; rows])
}

/// A lazily made part of a table.
pub type Parts<'a> = Box<dyn Iterator<Item = Frame> + 'a>;

/// Every table of a run, in parts that are made when they are asked for.
pub fn frames(run: &RunRecorder) -> Vec<(&'static str, Parts<'_>)> {
    let labels: Arc<[String]> = run.config().flows.iter().map(|f| f.label.clone()).collect();
    let flows = move || 0..run.flows.len();
    let text = {
        let labels = labels.clone();
        move |flow: usize, rows: usize| Column::Text {
            codes: vec![flow as u32; rows],
            words: labels.clone(),
        }
    };
    let (text2, text3, text4) = (text.clone(), text.clone(), text.clone());
    let mut all: Vec<(&'static str, Parts<'_>)> = vec![
        (
            "flows",
            Box::new(flows().map(move |i| flow_frame(i, &run.flows[i].series, &text))),
        ),
        ("links", Box::new(run.links.iter().map(link_frame))),
        (
            "throughput",
            Box::new(flows().map(move |i| {
                let bins = &run.flows[i].bins;
                let rows = bins.len();
                let column =
                    |f: fn(&crate::record::Bin) -> i64| Column::Int(bins.iter().map(f).collect());
                Frame {
                    columns: vec![
                        (
                            "time_ns",
                            Column::Int(
                                (0..rows as i64)
                                    .map(|k| k * run.bin().as_nanos() as i64)
                                    .collect(),
                            ),
                        ),
                        ("flow", same(i, rows)),
                        ("label", text2(i, rows)),
                        ("delivered_bytes", column(|b| b.delivered as i64)),
                        ("dequeued_packets", column(|b| i64::from(b.dequeued))),
                        ("marked_packets", column(|b| i64::from(b.marked))),
                        ("queue_delay_sum_ns", column(|b| b.queue_sum as i64)),
                        ("queue_delay_max_ns", column(|b| b.queue_max as i64)),
                    ],
                }
            })),
        ),
        (
            "internals",
            Box::new({
                let words: OnceCell<Arc<[String]>> = OnceCell::new();
                flows().map(move |i| {
                    internals_frame(run, i, words.get_or_init(|| internal_names(run)))
                })
            }),
        ),
        (
            "transfers",
            Box::new(flows().map(move |i| {
                let t = &run.flows[i].transfers;
                let column = |f: fn(&crate::record::Transfer) -> u64| {
                    int(&t.iter().map(f).collect::<Vec<_>>())
                };
                Frame {
                    columns: vec![
                        ("start_ns", column(|t| t.start.as_nanos())),
                        ("end_ns", column(|t| t.end.as_nanos())),
                        ("flow", same(i, t.len())),
                        ("label", text3(i, t.len())),
                        ("bytes", column(|t| t.bytes.get())),
                    ],
                }
            })),
        ),
        ("events", Box::new(flows().map(|i| events_frame(run, i)))),
    ];
    if run.flows.iter().any(|f| !f.media.frames.is_empty()) {
        let parts = flows().map(move |i| media_frame(i, &run.flows[i].media.frames, &text4));
        all.push(("frames", Box::new(parts)));
    }
    if run.config().tables.packets && !run.rows.is_empty() {
        all.push(("packets", Box::new(packet_frames(run))));
    }
    if run.config().tables.slots && !run.slots.time.is_empty() {
        all.push(("slots", Box::new(core::iter::once(slot_frame(&run.slots)))));
    }
    all
}

/// Frames of media. Times are those of the sender's clock; -1 stands for "never".
fn media_frame(
    i: usize,
    frames: &[record::Frame],
    text: &impl Fn(usize, usize) -> Column,
) -> Frame {
    let rows = frames.len();
    let column =
        |f: fn(&record::Frame) -> i64| Column::Int(frames.iter().map(f).collect::<Vec<_>>());
    let ns = |t: Option<Instant>| t.map_or(-1, |t| t.as_nanos() as i64);
    Frame {
        columns: vec![
            ("captured_ns", column(|f| f.captured.as_nanos() as i64)),
            ("flow", same(i, rows)),
            ("label", text(i, rows)),
            ("number", column(|f| i64::from(f.number))),
            ("key", column(|f| i64::from(f.key))),
            ("sent_ns", column(|f| f.sent.as_nanos() as i64)),
            (
                "completed_ns",
                Column::Int(frames.iter().map(|f| ns(f.completed)).collect()),
            ),
            (
                "shown_ns",
                Column::Int(frames.iter().map(|f| ns(f.shown)).collect()),
            ),
            ("bytes", column(|f| f.bytes.get() as i64)),
            ("packets", column(|f| i64::from(f.packets))),
            ("arrived", column(|f| i64::from(f.arrived))),
            ("retransmitted", column(|f| i64::from(f.retransmitted))),
            ("late", column(|f| i64::from(f.late))),
            ("frozen_ns", column(|f| f.frozen.as_nanos() as i64)),
        ],
    }
}

fn slot_frame(s: &SlotRows) -> Frame {
    Frame {
        columns: vec![
            ("time_ns", int(&s.time)),
            ("slot", int(&s.slot)),
            ("up", int(&s.up)),
            ("ue", int(&s.ue)),
            ("rnti", int(&s.rnti)),
            ("harq", int(&s.harq)),
            ("round", int(&s.round)),
            ("ndi", int(&s.ndi)),
            ("mcs", int(&s.mcs)),
            ("prbs", int(&s.prbs)),
            ("tbs_bytes", int(&s.tbs)),
            ("free_prbs", int(&s.free_prbs)),
        ],
    }
}

fn flow_frame(i: usize, s: &FlowSeries, text: &impl Fn(usize, usize) -> Column) -> Frame {
    let rows = s.time.len();
    Frame {
        columns: vec![
            ("time_ns", int(&s.time)),
            ("flow", same(i, rows)),
            ("label", text(i, rows)),
            ("cwnd_bytes", int(&s.cwnd)),
            ("ssthresh_bytes", Column::Float(s.ssthresh.clone())),
            ("in_flight_bytes", int(&s.in_flight)),
            ("srtt_ns", int(&s.srtt)),
            ("rtt_ns", int(&s.rtt)),
            ("min_rtt_ns", int(&s.min_rtt)),
            ("pacing_bps", Column::Float(s.pacing.clone())),
            ("target_bps", Column::Float(s.target.clone())),
            ("acked_bytes", int(&s.acked)),
            ("delivered_bytes", int(&s.delivered)),
            ("retransmits", int(&s.retransmits)),
            ("timeouts", int(&s.timeouts)),
        ],
    }
}

fn link_frame(l: &crate::record::LinkRecord) -> Frame {
    let s = &l.series;
    let rows = s.time.len();
    Frame {
        columns: vec![
            ("time_ns", int(&s.time)),
            ("node", same(l.node.index(), rows)),
            ("index", same(l.index as usize, rows)),
            ("backlog_bytes", int(&s.backlog)),
            ("packets", int(&s.packets)),
            ("hol_ns", int(&s.hol)),
            ("capacity_bytes", int(&s.capacity)),
            ("carried_bytes", int(&s.carried)),
        ],
    }
}

/// The names of all internals of all flows, in order.
fn internal_names(run: &RunRecorder) -> Arc<[String]> {
    let names: BTreeSet<&str> = run
        .flows
        .iter()
        .flat_map(|f| f.internals.columns.iter().map(|c| c.0))
        .collect();
    names.into_iter().map(str::to_owned).collect()
}

/// Controllers name their internals as they like, so they come as rows: time, flow, name, value.
fn internals_frame(run: &RunRecorder, i: usize, words: &Arc<[String]>) -> Frame {
    let s = &run.flows[i].internals;
    let (mut time, mut codes, mut values) = (Vec::new(), Vec::new(), Vec::new());
    for (name, column) in &s.columns {
        let code = words.binary_search_by(|w| w.as_str().cmp(name));
        let code = code.unwrap_or(0) as u32;
        for (t, v) in s.time.iter().zip(column).filter(|(_, v)| !v.is_nan()) {
            time.push(*t);
            codes.push(code);
            values.push(*v);
        }
    }
    Frame {
        columns: vec![
            ("time_ns", int(&time)),
            ("flow", same(i, time.len())),
            (
                "name",
                Column::Text {
                    codes,
                    words: words.clone(),
                },
            ),
            ("value", Column::Float(values)),
        ],
    }
}

fn events_frame(run: &RunRecorder, i: usize) -> Frame {
    let f = &run.flows[i];
    let kinds = [&f.drop_times, &f.mark_times, &f.resend_times];
    let time: Vec<u64> = kinds
        .iter()
        .flat_map(|k| k.iter().map(|t| t.as_nanos()))
        .collect();
    let codes: Vec<u32> = kinds
        .iter()
        .zip(0..)
        .flat_map(|(k, code)| core::iter::repeat_n(code, k.len()))
        .collect();
    let words: Arc<[String]> = ["drop", "mark", "retransmission"].map(str::to_owned).into();
    Frame {
        columns: vec![
            ("time_ns", int(&time)),
            ("flow", same(i, time.len())),
            ("event", Column::Text { codes, words }),
        ],
    }
}

fn packet_frames(run: &RunRecorder) -> impl Iterator<Item = Frame> + '_ {
    const PART: usize = 100_000;
    let r = &run.rows;
    let words: Arc<[String]> = EVENT_NAMES.map(str::to_owned).into();
    (0..r.len()).step_by(PART).map(move |start| {
        let end = (start + PART).min(r.len());
        Frame {
            columns: vec![
                ("time_ns", int(&r.time[start..end])),
                ("node", int(&r.node[start..end])),
                ("flow", int(&r.flow[start..end])),
                ("up", int(&r.up[start..end])),
                (
                    "event",
                    Column::Text {
                        codes: r.event[start..end].iter().map(|e| u32::from(*e)).collect(),
                        words: words.clone(),
                    },
                ),
                ("seq", int(&r.seq[start..end])),
                ("len_bytes", int(&r.len[start..end])),
                ("payload_bytes", int(&r.payload[start..end])),
                ("ecn", int(&r.ecn[start..end])),
                ("delay_ns", int(&r.delay[start..end])),
                ("radio_ns", int(&r.radio[start..end])),
            ],
        }
    })
}
