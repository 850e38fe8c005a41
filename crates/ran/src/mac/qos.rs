//! Classes of service: standardized 5QI values and what they promise (TS 23.501, table 5.7.4-1).

use slackwater_core::Duration;

/// A standardized 5QI.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct FiveQi(u8);

/// What a bearer's resources are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Resource {
    /// A guaranteed rate.
    Gbr,
    /// No guaranteed rate.
    NonGbr,
    /// A guaranteed rate, and a packet later than the budget counts as lost.
    DelayCritical,
}

/// One row of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    /// The 5QI.
    value: u8,
    resource: Resource,
    /// Default priority level: the lowest goes first.
    priority: u8,
    /// Packet delay budget between UE and UPF.
    budget_ms: u16,
    /// Packet error rate.
    error_rate: f64,
}

const fn row(value: u8, resource: Resource, priority: u8, budget_ms: u16, error_rate: f64) -> Row {
    Row {
        value,
        resource,
        priority,
        budget_ms,
        error_rate,
    }
}

/// TS 23.501 (release 17), table 5.7.4-1, in the order of the values.
const TABLE: [Row; 31] = {
    use Resource::{DelayCritical, Gbr, NonGbr};
    [
        row(1, Gbr, 20, 100, 1e-2),
        row(2, Gbr, 40, 150, 1e-3),
        row(3, Gbr, 30, 50, 1e-3),
        row(4, Gbr, 50, 300, 1e-6),
        row(5, NonGbr, 10, 100, 1e-6),
        row(6, NonGbr, 60, 300, 1e-6),
        row(7, NonGbr, 70, 100, 1e-3),
        row(8, NonGbr, 80, 300, 1e-6),
        row(9, NonGbr, 90, 300, 1e-6),
        row(10, NonGbr, 90, 1100, 1e-6),
        row(65, Gbr, 7, 75, 1e-2),
        row(66, Gbr, 20, 100, 1e-2),
        row(67, Gbr, 15, 100, 1e-3),
        row(69, NonGbr, 5, 60, 1e-6),
        row(70, NonGbr, 55, 200, 1e-6),
        row(71, Gbr, 56, 150, 1e-6),
        row(72, Gbr, 56, 300, 1e-4),
        row(73, Gbr, 56, 300, 1e-8),
        row(74, Gbr, 56, 500, 1e-8),
        row(76, Gbr, 56, 500, 1e-4),
        row(79, NonGbr, 65, 50, 1e-2),
        row(80, NonGbr, 68, 10, 1e-6),
        row(82, DelayCritical, 19, 10, 1e-4),
        row(83, DelayCritical, 22, 10, 1e-4),
        row(84, DelayCritical, 24, 30, 1e-5),
        row(85, DelayCritical, 21, 5, 1e-5),
        row(86, DelayCritical, 18, 5, 1e-4),
        row(87, DelayCritical, 25, 5, 1e-3),
        row(88, DelayCritical, 25, 10, 1e-3),
        row(89, DelayCritical, 25, 15, 1e-4),
        row(90, DelayCritical, 25, 20, 1e-4),
    ]
};

impl FiveQi {
    /// What a default bearer has: buffered video and TCP (TS 23.501, table 5.7.4-1).
    pub const DEFAULT: Self = Self(9);

    /// The standardized values.
    pub fn values() -> impl Iterator<Item = u8> {
        TABLE.iter().map(|row| row.value)
    }

    /// The 5QI of that value, where it is standardized.
    pub fn new(value: u8) -> Option<Self> {
        Self::values().any(|v| v == value).then_some(Self(value))
    }

    /// Its value.
    pub const fn get(self) -> u8 {
        self.0
    }

    fn row(self) -> &'static Row {
        TABLE
            .iter()
            .find(|row| row.value == self.0)
            .expect("a 5QI is one of the table")
    }

    /// Guaranteed rate or not.
    pub fn resource(self) -> Resource {
        self.row().resource
    }

    /// Default priority level: the lowest goes first.
    pub fn priority(self) -> u8 {
        self.row().priority
    }

    /// Packet delay budget between UE and UPF.
    pub fn delay_budget(self) -> Duration {
        Duration::from_millis(u64::from(self.row().budget_ms))
    }

    /// The share of packets that may be lost, or with delay-critical resources late.
    pub fn error_rate(self) -> f64 {
        self.row().error_rate
    }
}

impl Default for FiveQi {
    fn default() -> Self {
        Self::DEFAULT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_its_values_are_the_standards() {
        assert!(TABLE.windows(2).all(|w| w[0].value < w[1].value));
        assert_eq!(FiveQi::new(68), None);
        let voice = FiveQi::new(1).expect("standardized");
        assert_eq!(voice.delay_budget(), Duration::from_millis(100));
        assert_eq!((voice.priority(), voice.error_rate()), (20, 1e-2));
        assert_eq!(FiveQi::default().resource(), Resource::NonGbr);
        let discrete = FiveQi::new(82).expect("standardized");
        assert_eq!(discrete.resource(), Resource::DelayCritical);
        assert_eq!(discrete.delay_budget(), Duration::from_millis(10));
    }
}
