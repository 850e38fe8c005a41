//! What a run writes.

use slackwater_core::Duration;

use crate::field::section;

section! {
    /// What a run writes.
    pub struct Record {
        /// Time between two samples of the series.
        #[within(Duration::from_micros(100), Duration::from_secs(1000))]
        pub interval: Duration = Duration::from_millis(10),
        /// One row for each packet at each node.
        pub packets: bool = false,
        /// One row for each grant of the cell.
        pub slots: bool = false,
        /// A packet capture of each sender.
        pub pcap: bool = false,
        /// A qlog of each sender; with `packets` or `pcap` it has the packets too.
        pub qlog: bool = true,
        /// A trace for ui.perfetto.dev: packets, grants, HARQ, counters of senders and queues.
        pub perfetto: bool = false,
        /// Rows kept of each record at most; the summary counts what was left out.
        #[within(1, 1_000_000_000)]
        pub max_rows: u64 = 5_000_000,
        /// Delay beyond which a packet counts as late (the share of packets over D).
        #[within(Duration::ZERO, Duration::from_secs(100))]
        pub late: Duration = Duration::from_millis(100),
        /// Queue delay that should not be exceeded (the time with queue delay over lambda).
        #[within(Duration::ZERO, Duration::from_secs(100))]
        pub budget: Duration = Duration::from_millis(10),
    }
}
