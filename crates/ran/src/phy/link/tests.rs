use super::*;
use slackwater_core::Draw;

fn links() -> Vec<(McsTable, Bler)> {
    McsTable::ALL
        .into_iter()
        .map(|t| {
            let link = Bler::new(&LinkModel::default(), t, CqiTable::for_mcs(t));
            (t, link)
        })
        .collect()
}

#[test]
fn thresholds_follow_the_published_awgn_curves() {
    // SINR of 10 % errors per CQI on an AWGN channel, as published for LTE.
    let published = [
        -6.75, -4.97, -2.97, -1.02, 0.94, 2.83, 4.87, 6.66, 8.69, 10.51, 12.40, 14.30, 16.04,
        17.81, 19.94,
    ];
    let model = LinkModel::default();
    let squares: f64 = (1..)
        .zip(published)
        .map(|(c, p)| {
            let d = model.threshold_10(CqiTable::Qam64.efficiency(c)) - p;
            assert!(d.abs() < 0.9, "{c}: {d}");
            d * d
        })
        .sum();
    assert!(libm::sqrt(squares / 15.0) < 0.4);
}

#[test]
fn threshold_and_efficiency_invert() {
    let m = LinkModel::default();
    for se in [0.05, 0.5, 2.0, 5.5, 9.0] {
        assert!((m.efficiency_10(m.threshold_10(se)) - se).abs() < 1e-9);
    }
}

#[test]
fn errors_are_logistic_and_fall_with_sinr() {
    for (table, link) in links() {
        for mcs in 0..table.len() as u8 {
            let at = link.threshold_db(mcs);
            assert!((link.bler(mcs, at) - 0.1).abs() < 1e-4);
            assert!((link.bler(mcs, at - 0.3) - 0.5).abs() < 1e-4);
            assert_eq!(link.bler(mcs, at - 30.0), 1.0);
            assert_eq!(link.bler(mcs, at + 30.0), 0.0);
            let mut last = 1.0;
            for step in -400..400 {
                let x = at + f64::from(step) * 0.01;
                let b = link.bler(mcs, x);
                let exact =
                    1.0 / (1.0 + libm::exp((x - link.s50[usize::from(mcs)]) / link.model.width_db));
                assert!(b <= last && (b - exact).abs() < 2e-5, "{mcs} {x}");
                last = b;
            }
        }
    }
}

#[test]
fn a_wider_curve_keeps_its_10_percent_point() {
    let wide = LinkModel {
        width_db: 0.8,
        ..LinkModel::default()
    };
    let link = Bler::new(&wide, McsTable::Nr64, CqiTable::Qam64);
    let at = wide.threshold_10(McsTable::Nr64.efficiency(12));
    assert!((link.bler(12, at) - 0.1).abs() < 1e-4);
    assert!(link.bler(12, at - 1.0) < 0.4);
}

#[test]
fn the_chosen_mcs_is_the_highest_that_meets_the_target() {
    let draw = Draw::new(7);
    for (table, link) in links() {
        for k in 0..3000 {
            let sinr = -15.0 + 60.0 * draw.uniform(k);
            for target in [0.1, 0.01, 0.37] {
                let expected = (0..table.len() as u8)
                    .rev()
                    .find(|&m| link.bler(m, sinr) <= target)
                    .unwrap_or(0);
                let got = link.mcs_for(sinr, target);
                // Equal but for a SINR within rounding of a threshold.
                assert!(
                    got == expected || (link.bler(got.max(expected), sinr) - target).abs() < 1e-9,
                    "{} {sinr} {target}: {got} {expected}",
                    table.name()
                );
            }
        }
        assert_eq!(link.mcs_for(-100.0, 0.1), 0);
        assert_eq!(usize::from(link.mcs_for(100.0, 0.1)), table.len() - 1);
        assert_eq!(link.mcs_for(f64::NAN, 0.1), 0);
    }
}

#[test]
fn a_table_for_another_target_answers_the_same() {
    let link = Bler::new(&LinkModel::default(), McsTable::Lte64, CqiTable::Qam64);
    let fast = link.clone().with_target(0.02);
    for k in -100..300 {
        let sinr = f64::from(k) * 0.1;
        assert_eq!(link.mcs_for(sinr, 0.02), fast.mcs_for(sinr, 0.02));
    }
}

#[test]
fn cqi_goes_there_and_back() {
    for amc in [
        AmcModel::Threshold,
        AmcModel::Piro { ber: 5e-5 },
        AmcModel::Ns3Mi,
    ] {
        let model = LinkModel {
            amc,
            ..LinkModel::default()
        };
        for t in McsTable::ALL {
            let link = Bler::new(&model, t, CqiTable::for_mcs(t));
            for cqi in 1..=15 {
                let at = link.sinr_of_cqi(cqi);
                assert!(link.cqi_for(at + 1e-6) >= cqi, "{amc:?} {} {cqi}", t.name());
                assert!(link.cqi_for(at - 1e-6) < cqi, "{amc:?} {} {cqi}", t.name());
                assert!(link.mcs_of_cqi(cqi) >= link.mcs_of_cqi(cqi - 1));
            }
            assert_eq!(link.cqi_for(link.sinr_of_cqi(0)), 0);
            assert_eq!(link.cqi_for(60.0), 15);
        }
    }
}

#[test]
fn the_top_cqi_gives_the_top_mcs() {
    for (table, link) in links() {
        let top = link.mcs_of_cqi(15);
        let expected = match table {
            McsTable::Lte64 | McsTable::Nr64 | McsTable::LteUl | McsTable::NrLowSe => 28,
            McsTable::Lte256 | McsTable::Nr256 => 27,
            // Its CQI table stops at 256QAM.
            McsTable::Nr1024 => 22,
        };
        assert_eq!(top, expected, "{}", table.name());
    }
}

/// SINR of ns-3's LTE scenario: 30 dBm over 50 blocks of 180 kHz, 9 dB noise figure, 38.6 dB at 1 m, exponent 3.
fn ns3_sinr_db(metres: f64) -> f64 {
    let noise = -174.0 + to_db(180e3) + 9.0;
    30.0 - to_db(50.0) - (38.6 + 30.0 * libm::log10(metres)) - noise
}

#[test]
fn ns3s_default_model_meets_both_ends_of_its_measured_channel() {
    let ns3 = LinkModel {
        amc: AmcModel::Ns3Mi,
        ..LinkModel::default()
    };
    let link = Bler::new(&ns3, McsTable::Lte64, CqiTable::Qam64);
    let mcs = |metres| link.mcs_of_cqi(link.cqi_for(ns3_sinr_db(metres)));
    assert!((ns3_sinr_db(600.0) - 3.52).abs() < 0.01);
    assert_eq!((mcs(600.0), mcs(100.0)), (8, 28));
    // Its measured series has even schemes only.
    assert!((60..=600).all(|d| mcs(f64::from(d)) % 2 == 0));
}

#[test]
fn the_bit_error_rate_model_needs_more_signal() {
    let piro = LinkModel {
        amc: AmcModel::Piro { ber: 5e-5 },
        ..LinkModel::default()
    };
    let link = Bler::new(&piro, McsTable::Lte64, CqiTable::Qam64);
    let mcs = |sinr| link.mcs_of_cqi(link.cqi_for(sinr));
    // G = -ln(2.5e-4) / 1.5 = 5.529: CQI 15 needs (2^5.55 - 1) G = 24.04 dB.
    assert!((link.sinr_of_cqi(15) - 24.04).abs() < 0.01);
    assert_eq!(mcs(ns3_sinr_db(100.0)), 28);
    // With a 9 dB noise figure it stops at MCS 4 at 600 m; MCS 8 takes 3.2 to 4.9 dB more.
    assert_eq!(mcs(ns3_sinr_db(600.0)), 4);
    assert_eq!(mcs(ns3_sinr_db(600.0) + 3.1), 6);
    assert_eq!(mcs(ns3_sinr_db(600.0) + 4.0), 8);
    assert_eq!(mcs(ns3_sinr_db(600.0) + 5.0), 10);
    // MCS 2 (CQI - 1), as in its own tables.
    for cqi in 1..=15 {
        assert_eq!(link.mcs_of_cqi(cqi), 2 * (cqi - 1));
    }
}
