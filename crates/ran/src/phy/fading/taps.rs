//! Tapped delay lines: TS 36.101, table B.2-1 (EPA, EVA, ETU) and TR 38.901, tables 7.7.2-1 to 7.7.2-5; the three
//! simplified profiles with fixed delays are those of TS 38.101-4, annex B.2.

#![expect(
    clippy::approx_constant,
    reason = "delays are copied as printed; one of them resembles 2/pi"
)]

/// One tap of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Tap {
    /// Excess delay: ns, or in units of the delay spread for TDL-A to TDL-E.
    pub(super) delay: f64,
    /// Mean power in dB.
    pub(super) power_db: f64,
    /// A steady path instead of a Rayleigh one.
    pub(super) los: bool,
}

impl Tap {
    const fn new(delay: f64, power_db: f64) -> Self {
        Self {
            delay,
            power_db,
            los: false,
        }
    }

    const fn los(delay: f64, power_db: f64) -> Self {
        Self {
            delay,
            power_db,
            los: true,
        }
    }
}

/// One Rayleigh tap.
pub(super) static FLAT: [Tap; 1] = [Tap::new(0.0, 0.0)];

/// EPA.
pub(super) static EPA: [Tap; 7] = [
    Tap::new(0.0, 0.0),
    Tap::new(30.0, -1.0),
    Tap::new(70.0, -2.0),
    Tap::new(90.0, -3.0),
    Tap::new(110.0, -8.0),
    Tap::new(190.0, -17.2),
    Tap::new(410.0, -20.8),
];

/// EVA.
pub(super) static EVA: [Tap; 9] = [
    Tap::new(0.0, 0.0),
    Tap::new(30.0, -1.5),
    Tap::new(150.0, -1.4),
    Tap::new(310.0, -3.6),
    Tap::new(370.0, -0.6),
    Tap::new(710.0, -9.1),
    Tap::new(1090.0, -7.0),
    Tap::new(1730.0, -12.0),
    Tap::new(2510.0, -16.9),
];

/// ETU.
pub(super) static ETU: [Tap; 9] = [
    Tap::new(0.0, -1.0),
    Tap::new(50.0, -1.0),
    Tap::new(120.0, -1.0),
    Tap::new(200.0, 0.0),
    Tap::new(230.0, 0.0),
    Tap::new(500.0, 0.0),
    Tap::new(1600.0, -3.0),
    Tap::new(2300.0, -5.0),
    Tap::new(5000.0, -7.0),
];

/// TDL-A.
pub(super) static TDL_A: [Tap; 23] = [
    Tap::new(0.0, -13.4),
    Tap::new(0.3819, 0.0),
    Tap::new(0.4025, -2.2),
    Tap::new(0.5868, -4.0),
    Tap::new(0.461, -6.0),
    Tap::new(0.5375, -8.2),
    Tap::new(0.6708, -9.9),
    Tap::new(0.575, -10.5),
    Tap::new(0.7618, -7.5),
    Tap::new(1.5375, -15.9),
    Tap::new(1.8978, -6.6),
    Tap::new(2.2242, -16.7),
    Tap::new(2.1718, -12.4),
    Tap::new(2.4942, -15.2),
    Tap::new(2.5119, -10.8),
    Tap::new(3.0582, -11.3),
    Tap::new(4.081, -12.7),
    Tap::new(4.4579, -16.2),
    Tap::new(4.5695, -18.3),
    Tap::new(4.7966, -18.9),
    Tap::new(5.0066, -16.6),
    Tap::new(5.3043, -19.9),
    Tap::new(9.6586, -29.7),
];

/// TDL-B.
pub(super) static TDL_B: [Tap; 23] = [
    Tap::new(0.0, 0.0),
    Tap::new(0.1072, -2.2),
    Tap::new(0.2155, -4.0),
    Tap::new(0.2095, -3.2),
    Tap::new(0.287, -9.8),
    Tap::new(0.2986, -1.2),
    Tap::new(0.3752, -3.4),
    Tap::new(0.5055, -5.2),
    Tap::new(0.3681, -7.6),
    Tap::new(0.3697, -3.0),
    Tap::new(0.57, -8.9),
    Tap::new(0.5283, -9.0),
    Tap::new(1.1021, -4.8),
    Tap::new(1.2756, -5.7),
    Tap::new(1.5474, -7.5),
    Tap::new(1.7842, -1.9),
    Tap::new(2.0169, -7.6),
    Tap::new(2.8294, -12.2),
    Tap::new(3.0219, -9.8),
    Tap::new(3.6187, -11.4),
    Tap::new(4.1067, -14.9),
    Tap::new(4.279, -9.2),
    Tap::new(4.7834, -11.3),
];

/// TDL-C.
pub(super) static TDL_C: [Tap; 24] = [
    Tap::new(0.0, -4.4),
    Tap::new(0.2099, -1.2),
    Tap::new(0.2219, -3.5),
    Tap::new(0.2329, -5.2),
    Tap::new(0.2176, -2.5),
    Tap::new(0.6366, 0.0),
    Tap::new(0.6448, -2.2),
    Tap::new(0.656, -3.9),
    Tap::new(0.6584, -7.4),
    Tap::new(0.7935, -7.1),
    Tap::new(0.8213, -10.7),
    Tap::new(0.9336, -11.1),
    Tap::new(1.2285, -5.1),
    Tap::new(1.3083, -6.8),
    Tap::new(2.1704, -8.7),
    Tap::new(2.7105, -13.2),
    Tap::new(4.2589, -13.9),
    Tap::new(4.6003, -13.9),
    Tap::new(5.4902, -15.8),
    Tap::new(5.6077, -17.1),
    Tap::new(6.3065, -16.0),
    Tap::new(6.6374, -15.7),
    Tap::new(7.0427, -21.6),
    Tap::new(8.6523, -22.8),
];

/// TDL-D.
pub(super) static TDL_D: [Tap; 14] = [
    Tap::los(0.0, -0.2),
    Tap::new(0.0, -13.5),
    Tap::new(0.035, -18.8),
    Tap::new(0.612, -21.0),
    Tap::new(1.363, -22.8),
    Tap::new(1.405, -17.9),
    Tap::new(1.804, -20.1),
    Tap::new(2.596, -21.9),
    Tap::new(1.775, -22.9),
    Tap::new(4.042, -27.8),
    Tap::new(7.937, -23.6),
    Tap::new(9.424, -24.8),
    Tap::new(9.708, -30.0),
    Tap::new(12.525, -27.7),
];

/// TDL-E.
pub(super) static TDL_E: [Tap; 15] = [
    Tap::los(0.0, -0.03),
    Tap::new(0.0, -22.03),
    Tap::new(0.5133, -15.8),
    Tap::new(0.544, -18.1),
    Tap::new(0.563, -19.8),
    Tap::new(0.544, -22.9),
    Tap::new(0.7112, -22.4),
    Tap::new(1.9092, -18.6),
    Tap::new(1.9293, -20.8),
    Tap::new(1.9589, -22.6),
    Tap::new(2.6426, -22.3),
    Tap::new(3.7136, -25.6),
    Tap::new(5.4524, -20.2),
    Tap::new(12.0034, -29.8),
    Tap::new(20.6519, -29.2),
];

/// TDL-A30.
pub(super) static TDL_A30: [Tap; 12] = [
    Tap::new(0.0, -15.5),
    Tap::new(10.0, 0.0),
    Tap::new(15.0, -5.1),
    Tap::new(20.0, -5.1),
    Tap::new(25.0, -9.6),
    Tap::new(50.0, -8.2),
    Tap::new(65.0, -13.1),
    Tap::new(75.0, -11.5),
    Tap::new(105.0, -11.0),
    Tap::new(135.0, -16.2),
    Tap::new(150.0, -16.6),
    Tap::new(290.0, -26.2),
];

/// TDL-B100.
pub(super) static TDL_B100: [Tap; 12] = [
    Tap::new(0.0, 0.0),
    Tap::new(10.0, -2.2),
    Tap::new(20.0, -0.6),
    Tap::new(30.0, -0.6),
    Tap::new(35.0, -0.3),
    Tap::new(45.0, -1.2),
    Tap::new(55.0, -5.9),
    Tap::new(120.0, -2.2),
    Tap::new(170.0, -0.8),
    Tap::new(245.0, -6.3),
    Tap::new(330.0, -7.5),
    Tap::new(480.0, -7.1),
];

/// TDL-C300.
pub(super) static TDL_C300: [Tap; 12] = [
    Tap::new(0.0, -6.9),
    Tap::new(65.0, 0.0),
    Tap::new(70.0, -7.7),
    Tap::new(190.0, -2.5),
    Tap::new(195.0, -2.4),
    Tap::new(200.0, -9.9),
    Tap::new(240.0, -8.0),
    Tap::new(325.0, -6.6),
    Tap::new(520.0, -7.1),
    Tap::new(1045.0, -13.0),
    Tap::new(1510.0, -14.2),
    Tap::new(2595.0, -16.0),
];
