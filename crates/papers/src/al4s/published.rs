//! What the paper's tables hold.

/// Marking schemes: number in the paper, low and high threshold in ms (section III).
pub(super) const CASES: [(&str, u64, u64); 3] = [("1", 2, 10), ("2", 5, 20), ("3", 20, 50)];

/// Services: title, target end-to-end delay in ms (section V).
pub(super) const SERVICES: [(&str, u64); 3] = [
    ("multimodal XR", 25),
    ("XR cloud gaming", 60),
    ("XR conference", 150),
];

/// One column of a table: link utilisation (%), 95 and 99 % quantiles of the queue delay (ms), TDQ (s) over the target
/// queue delay of the service, Jain's index (table 1 alone).
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) util: f64,
    pub(super) p95: f64,
    pub(super) p99: f64,
    /// Over 20, 55 and 145 ms; NaN where the paper leaves the cell out.
    pub(super) tdq: [f64; 3],
    pub(super) jain: f64,
}

const fn column(util: f64, p95: f64, p99: f64, tdq: [f64; 3], jain: f64) -> Column {
    Column {
        util,
        p95,
        p99,
        tdq,
        jain,
    }
}

/// A column of one service.
const fn of(service: usize, util: f64, p95: f64, p99: f64, tdq: f64, jain: f64) -> Column {
    let mut all = [f64::NAN; 3];
    all[service] = tdq;
    column(util, p95, p99, all, jain)
}

/// One case: cL4S, sL4S and L4S-CC by service, then GCC and `SCReAMv2`.
pub(super) type Case = ([[Column; 3]; 3], Column, Column);

const NONE: f64 = f64::NAN;

/// Table 1: two flows of one kind.
pub(super) const TABLE1: [Case; 3] = [
    (
        [
            [
                of(0, 39.7, 2.0, 9.0, 0.9, 0.97),
                of(0, 39.3, 2.0, 5.0, 0.6, 0.97),
                of(0, 38.0, 2.0, 4.0, 0.5, 0.97),
            ],
            [
                of(1, 40.4, 2.0, 6.0, 0.4, 0.98),
                of(1, 40.0, 2.0, 4.0, 0.4, 0.98),
                of(1, 38.6, 2.0, 5.0, 0.4, 0.97),
            ],
            [
                of(2, 40.3, 2.0, 11.0, 0.2, 0.98),
                of(2, 39.6, 2.0, 9.0, 0.5, 0.98),
                of(2, 38.9, 2.0, 7.0, 0.2, 0.96),
            ],
        ],
        column(39.2, 7.0, 37.0, [2.6, 1.4, 1.3], 0.97),
        column(29.8, 1.0, 21.0, [1.9, 0.3, 0.0], 0.96),
    ),
    (
        [
            [
                of(0, 40.2, 5.0, 15.0, 0.9, 0.97),
                of(0, 40.6, 6.0, 16.0, 1.2, 0.97),
                of(0, 38.4, 4.0, 11.0, 1.1, 0.97),
            ],
            [
                of(1, 41.0, 6.0, 15.0, 0.5, 0.98),
                of(1, 40.7, 6.0, 15.0, 0.4, 0.98),
                of(1, 39.4, 5.0, 14.0, 0.5, 0.97),
            ],
            [
                of(2, 41.3, 8.0, 35.0, 0.4, 0.98),
                of(2, 40.4, 6.0, 33.0, 1.3, 0.98),
                of(2, 40.6, 6.0, 32.0, 0.5, 0.96),
            ],
        ],
        column(38.7, 5.0, 49.0, [3.0, 1.4, 1.2], 0.98),
        column(31.9, 4.0, 33.0, [2.9, 0.4, 0.0], 0.95),
    ),
    (
        [
            [
                of(0, 35.2, 18.0, 41.0, 7.6, 0.89),
                of(0, 38.0, 20.0, 47.0, 8.1, 0.93),
                of(0, 35.9, 21.0, 49.0, 9.3, 0.92),
            ],
            [
                of(1, 40.3, 23.0, 50.0, 1.2, 0.97),
                of(1, 39.3, 22.0, 48.0, 1.1, 0.97),
                of(1, 39.0, 31.0, 63.0, 2.5, 0.96),
            ],
            [
                of(2, 41.1, 34.0, 66.0, 0.4, 0.97),
                of(2, 39.5, 24.0, 54.0, 0.9, 0.97),
                of(2, 39.7, 30.0, 59.0, 0.6, 0.96),
            ],
        ],
        column(38.6, 8.0, 56.0, [2.6, 1.5, 1.4], 0.97),
        column(34.9, 22.0, 55.0, [8.2, 0.9, 0.1], 0.92),
    ),
];

/// Table 2: one flow.
pub(super) const TABLE2: [Case; 3] = [
    (
        [
            [
                of(0, 84.7, 2.0, 8.0, 0.2, NONE),
                of(0, 83.6, 1.0, 6.0, 0.6, NONE),
                of(0, 69.1, 1.0, 4.0, 0.5, NONE),
            ],
            [
                of(1, 86.0, 2.0, 8.0, 0.5, NONE),
                of(1, 85.6, 1.0, 6.0, 0.2, NONE),
                of(1, 69.6, 1.0, 4.0, 0.3, NONE),
            ],
            [
                of(2, 86.6, 3.0, 10.0, 0.6, NONE),
                of(2, 85.5, 1.0, 11.0, 0.7, NONE),
                of(2, 70.6, 1.0, 5.0, 0.2, NONE),
            ],
        ],
        column(80.9, 45.0, 95.0, [16.3, 6.7, 1.2], NONE),
        column(40.6, 0.0, 14.0, [1.0, 0.0, 0.0], NONE),
    ),
    (
        [
            [
                of(0, 82.1, 5.0, 12.0, 0.5, NONE),
                of(0, 82.0, 7.0, 15.0, 0.6, NONE),
                of(0, 72.1, 4.0, 10.0, 0.5, NONE),
            ],
            [
                of(1, 86.3, 7.0, 13.0, 0.3, NONE),
                of(1, 82.4, 5.0, 14.0, 0.4, NONE),
                of(1, 80.6, 5.0, 17.0, 0.3, NONE),
            ],
            [
                of(2, 86.6, 9.0, 19.0, 0.6, NONE),
                of(2, 85.4, 6.0, 15.0, 0.5, NONE),
                of(2, 81.2, 7.0, 17.0, 0.5, NONE),
            ],
        ],
        column(80.5, 51.0, 99.0, [16.8, 6.9, 1.3], NONE),
        column(42.0, 1.0, 26.0, [2.4, 0.2, 0.0], NONE),
    ),
    (
        [
            [
                of(0, 60.2, 18.0, 37.0, 7.2, NONE),
                of(0, 64.1, 20.0, 42.0, 8.1, NONE),
                of(0, 70.8, 24.0, 45.0, 12.0, NONE),
            ],
            [
                of(1, 69.0, 22.0, 48.0, 0.9, NONE),
                of(1, 68.3, 24.0, 46.0, 0.7, NONE),
                of(1, 72.8, 28.0, 53.0, 1.6, NONE),
            ],
            [
                of(2, 80.2, 35.0, 67.0, 0.7, NONE),
                of(2, 75.7, 24.0, 48.0, 0.5, NONE),
                of(2, 74.0, 30.0, 58.0, 0.6, NONE),
            ],
        ],
        column(81.4, 57.0, 110.0, [17.2, 8.4, 1.2], NONE),
        column(53.2, 20.0, 47.0, [9.0, 1.2, 0.0], NONE),
    ),
];
